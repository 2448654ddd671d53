"""Turn a row of `graph.py` into a Dagster asset: resolve, build or reuse, check, describe.

This is the only place where artifacts meet Dagster. An asset module gives three plain functions: `build`
(light assets; heavy ones name a worker), `describe` (metadata of an artifact) and checks that read the
artifact, so that a reused one is checked as well. (No postponed annotations: Dagster reads them.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetsDefinition,
    Config,
    DataVersion,
    Failure,
    MaterializeResult,
    MetadataValue,
    asset,
)
from pydantic import Field

from geo_assets.artifacts import Artifact, Store, digest
from geo_assets.defs import metadata
from geo_assets.defs.runner import run_worker
from geo_assets.errors import GeoAssetsError
from geo_assets.graph import GRAPH, AssetSpec, Resolver, restricted
from geo_assets.profile import home, load_profile
from geo_assets.settings import Settings
from geo_assets.workers.harness import Job

OWNER = "team:geo-assets"


class Launch(Config):
    """Launch configuration of every asset."""

    force: bool = Field(default=False, description="Rebuild the artifact although its recipe is unchanged.")


@dataclass(frozen=True)
class Whole:
    """A whole artifact as checks and descriptions see it."""

    path: Path
    settings: Settings
    upstream: Mapping[str, Path]
    figures: Mapping[str, Any]
    recipes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a check found."""

    passed: bool
    message: str
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One asset check. `blocking` ones stop everything downstream; the others warn.

    `look` sees the whole artifact, or what the caller of `result` has found out for several checks at once.
    """

    name: str
    description: str
    look: Callable[[Any], Outcome]
    blocking: bool = True

    def spec(self, asset_name: str, also_after: Sequence[str] = ()) -> AssetCheckSpec:
        """`also_after`: further assets that the check reads."""
        return AssetCheckSpec(
            self.name, asset=asset_name, description=self.description, blocking=self.blocking,
            additional_deps=also_after,
        )  # fmt: skip

    def result(self, asset_name: str, seen: Any) -> AssetCheckResult:
        outcome = self.look(seen)
        return AssetCheckResult(
            passed=outcome.passed,
            check_name=self.name,
            asset_key=asset_name,
            severity=AssetCheckSeverity.ERROR if self.blocking else AssetCheckSeverity.WARN,
            description=outcome.message,
            metadata=metadata.clean(outcome.figures),
        )


def geo_asset(
    name: str,
    *,
    build: Callable[[Job], None] | None = None,
    describe: Callable[[Whole], Mapping[str, Any]] | None = None,
    checks: tuple[Check, ...] = (),
) -> AssetsDefinition:
    """The Dagster asset of the graph's row `name`."""
    spec = GRAPH[name]

    @asset(
        name=name,
        deps=[*spec.upstream, *spec.shows],
        group_name=spec.group,
        description=spec.description,
        kinds=set(spec.kinds),
        owners=[OWNER],
        tags={"compute": "gpu"} if spec.gpu else {},
        pool="gpu" if spec.gpu else None,
        code_version=_code_version(spec),
        check_specs=[check.spec(name) for check in checks],
    )
    def materialise(context: AssetExecutionContext, config: Launch) -> MaterializeResult:
        try:
            artifact, whole = _artifact(context, config, spec, build)
        except GeoAssetsError as error:
            raise Failure(description=str(error), allow_retries=False) from None
        context.log.info(f"{name} {artifact.path.name}: {'reused' if artifact.reused else 'built'}")
        return MaterializeResult(
            data_version=DataVersion(artifact.content),
            metadata=_page(artifact, whole, describe),
            check_results=[check.result(name, whole) for check in checks],
        )

    return materialise


def current_paths(*names: str) -> list[Path]:
    """Where the current artifacts of `names` lie, for checks that run apart from their asset.

    Raises:
        ArtifactError: one is not built under the current profile.
    """
    resolver = Resolver(load_profile(), Store(home()))
    return [resolver.need(name).path for name in names]


def _artifact(
    context: AssetExecutionContext, config: Launch, spec: AssetSpec, build: Callable[[Job], None] | None
) -> tuple[Artifact, Whole]:
    settings = load_profile()
    store = Store(home())
    resolver = Resolver(settings, store)
    upstream = resolver.upstream(spec.name)
    recipe = resolver.recipe(spec.name)
    assert recipe is not None, "upstream() has raised where an upstream artifact is missing"

    recipes = {above: resolver.need(above).path.name for above in resolver.above(spec.name)}

    def fill(partial: Path, lock_fd: int) -> Mapping[str, Any]:
        job = Job(
            asset=spec.name,
            out=partial,
            settings=restricted(spec, settings),
            upstream={asset_: artifact.path for asset_, artifact in upstream.items()},
            contents={asset_: artifact.content for asset_, artifact in upstream.items()},
            recipes=recipes,
        )
        if spec.worker is not None:
            return run_worker(context, f"geo_assets.workers.{spec.worker}", job, lock_fd)
        assert build is not None, f"{spec.name} has neither a worker nor a build function"
        build(job)
        return metadata.plain(job.collected)

    # A retry after a crash resumes even a forced build; only its first try starts from nothing.
    force = config.force and context.retry_number == 0
    artifact = store.materialise(recipe, fill, force=force, resumable=spec.resumable)
    paths = {asset_: upstream_.path for asset_, upstream_ in upstream.items()}
    return artifact, Whole(artifact.path, settings, paths, artifact.metadata, recipes)


def _page(
    artifact: Artifact, whole: Whole, describe: Callable[[Whole], Mapping[str, Any]] | None
) -> dict[str, Any]:
    described: Mapping[str, Any] = {}
    if describe is not None:
        try:
            described = describe(whole)
        except Exception as error:  # a picture of an artifact must never fail the artifact
            described = {"description_failed": f"{type(error).__name__}: {error}"}
    figures = {
        "status": "reused" if artifact.reused else "built",
        "recipe": artifact.path.name,
        "path": MetadataValue.path(str(artifact.path)),
        "size_mib": artifact.n_bytes / 2**20,
        "build_seconds": artifact.manifest["seconds"],
    }
    # What a description says in its own words comes first, and wins.
    return metadata.clean({**described, **_rest(artifact.metadata, described), **figures})


def _rest(found: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in described}


def _code_version(spec: AssetSpec) -> str:
    settings = load_profile()
    sections = {name: getattr(settings, name).model_dump(mode="json") for name in spec.sections}
    return digest([spec.code_version, sections])
