"""What the figures rest on: filter statistics, dropped rows, versions and recipes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from geo_assets.report import wording
from geo_assets.report.blocks import Table, Text
from geo_assets.report.run import Run

PACKAGES = (
    "geo_assets",
    "torch",
    "torchvision",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "datasets",
    "vllm",
    "dagster",
    "polars",
    "numpy",
    "pillow",
)


FILTER_WORDS = {
    "rows_sampled": "Photos sampled from the pool",
    "completions": "Answers sampled",
    "base_mean_reward": "Mean reward of the start on them",
    "base_country_acc": "Share of countries right",
    "base_format_rate": "Share of answers in the right form",
    "set_a": "Set A, rows the start sometimes gets right",
    "set_b": "Set B, seeded share of the rest",
    "rows": "Rows to train on",
    "countries": "Countries among them",
    "std_threshold": "Threshold of the reward's spread",
    "sampled_zero_std_share": "Sampled groups with equal rewards",
    "expected_zero_std_share": "Expected share of groups without a signal",
}
KEPT = ("rows", "copied", "cropped")
"""Counts in dropped.json of rows that stayed."""
SHARES = ("base_country_acc", "base_format_rate", "sampled_zero_std_share", "expected_zero_std_share")
FILTER_HIDDEN = ("rows_per_country",)


def flat(values: Mapping, prefix: str = "") -> list[tuple[str, str]]:
    """Nested plain values as (name, text) pairs in their order; long lists are counted.

    >>> flat({"a": {"b": 0.12345}, "c": [1, 2]})
    [('a, b', '0.1235'), ('c', '1, 2')]
    """
    found = []
    for key, value in values.items():
        name = f"{prefix}, {key}" if prefix else str(key)
        name = name.replace("_", " ")
        if isinstance(value, Mapping):
            found += flat(value, name) if len(value) <= 12 else [(name, f"{len(value)} entries")]
        elif isinstance(value, list | tuple):
            plain = all(isinstance(v, int | float | str) for v in value)
            shown = ", ".join(map(str, value)) if plain and len(value) <= 8 else f"{len(value)} entries"
            found.append((name, shown))
        elif isinstance(value, bool) or value is None:
            found.append((name, {True: "yes", False: "no", None: "–"}[value]))
        elif isinstance(value, float):
            found.append((name, f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"))
        else:
            found.append((name, f"{value:,}" if isinstance(value, int) else str(value)))
    return found


def filter_table(run: Run) -> Table | Text:
    """The statistics of the learnable rows."""
    stats = run.filter_stats
    if not stats:
        return Text("This run recorded no filter statistics.")
    note = "Set A: sometimes right, sometimes wrong. Set B: a seeded share of the rest."
    known = [
        (words, wording.value(stats[key], "share") if key in SHARES else flat({key: stats[key]})[0][1])
        for key, words in FILTER_WORDS.items()
        if stats.get(key) is not None
    ]
    others = {k: v for k, v in stats.items() if k not in FILTER_WORDS and k not in FILTER_HIDDEN}
    return Table("How the training rows were chosen", ("Figure", "Value"), tuple(known + flat(others)), note)


def dropped_table(run: Run) -> Table | Text:
    """Reasons and counts, per set."""
    rows = []
    for name, counts in sorted(run.dropped.items()):
        whole = counts.get("rows")
        reasons = {
            reason: n for reason, n in counts.items() if reason not in KEPT and isinstance(n, int | float)
        }
        for reason, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
            share = f"{100 * n / (whole + n):.1f}%" if isinstance(whole, int) and whole + n else "–"
            rows.append((name, reason.replace("_", " "), f"{n:,}", share))
        if not reasons:
            rows.append((name, "nothing", "0", "0.0%"))
    if not rows:
        return Text(
            "No counts of dropped rows reached this report; each set's own folder has them in dropped.json "
            "and data_card.md."
        )
    return Table(
        "What was dropped from the data",
        ("Set", "Reason", "Rows", "Share"),
        tuple(rows),
        "Share of the rows kept plus the rows dropped for that reason.",
        left=(0, 1),
    )


def versions(run: Run) -> dict[str, str]:
    """Package versions: those that training recorded win over those installed here."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    recorded = run.train_stats.get("versions")
    return found | ({str(k): str(v) for k, v in recorded.items()} if isinstance(recorded, Mapping) else {})


def recipes_table(run: Run) -> Table:
    """Every artifact with its recipe and content digests."""
    rows = []
    for asset in sorted(set(run.recipes) | set(run.upstream)):
        manifest = run.manifests.get(asset, {})
        recipe = run.recipes.get(asset) or manifest.get("recipe") or "–"
        rows.append((asset, str(recipe), str(manifest.get("content", "–"))))
    return Table("Recipes", ("Artifact", "Recipe", "Content"), tuple(rows), left=(0, 1, 2))


def versions_text(run: Run) -> Text:
    """Package versions in one line."""
    return Text(", ".join(f"{package} {number}" for package, number in versions(run).items()) + ".")
