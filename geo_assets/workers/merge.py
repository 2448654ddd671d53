"""Merge the chosen adapter into the start model and make sure that nothing changed on the way.

Leaves a model folder that loads with AutoModelForImageTextToText and AutoProcessor, `adapter/` beside it, a
model card in each, `ATTRIBUTION.csv` for real photos, and `verification.json`. Pushing to the Hub happens
only where `merge.push_to` is set. The rows it verifies on come from train_learnable: the evaluation sets
are not upstream.
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

from geo_assets.backends.base import Completion, Sampling
from geo_assets.errors import ModelError
from geo_assets.models.loading import attach_adapter, load_model, load_processor, start_model_dir
from geo_assets.report.model_card import Facts, model_card
from geo_assets.workers import checkpoint_files, scoring
from geo_assets.workers.harness import Job, run

logger = logging.getLogger(__name__)


def main(job: Job) -> None:
    """Leave the merged model, verified."""
    section = job.settings.merge
    best = json.loads((job.upstream["checkpoint_metrics"] / "best.json").read_text())
    source = json.loads((job.upstream["base_model"] / "source.json").read_text())
    adapter = job.upstream["lora_checkpoints"] / best["checkpoint"]
    start = start_model_dir(job.upstream["warm_start"])
    separate = _answers(job, attach_adapter(load_model(start, job.runtime, section.dtype), adapter), start)
    merged = attach_adapter(load_model(start, job.runtime, section.dtype), adapter).merge_and_unload(
        safe_merge=True
    )
    merged.save_pretrained(job.out)
    load_processor(start, job.settings.task).save_pretrained(job.out)
    _copy_adapter(adapter, job.out / "adapter", source["model"])
    del merged
    together = _answers(job, load_model(job.out, job.runtime, section.dtype), job.out)
    same = sum(one.text == other.text for one, other in zip(separate, together, strict=True))
    scoring.write_json(
        job.out / "verification.json",
        {
            "rows": len(separate),
            "same_greedy_answers": same,
            "differences": [
                {"adapter": one.text, "merged": other.text}
                for one, other in zip(separate, together, strict=True)
                if one.text != other.text
            ],
        },
    )
    facts = _facts(job, source, best, same, len(separate))
    (job.out / "README.md").write_text(model_card(facts, "merged"), encoding="utf-8")
    (job.out / "adapter" / "README.md").write_text(model_card(facts, "adapter"), encoding="utf-8")
    if not facts.is_demo:
        _write_attribution(job.out, job.upstream["train_learnable"])
    job.metadata(
        {
            "checkpoint": best["checkpoint"],
            "same_greedy_answers": same,
            "verified_rows": len(separate),
            **{
                f"eval_quick/{name}": facts.metrics[name]
                for name in ("mean_geoscore", "country_acc", "median_km")
            },
        }
    )
    if section.push_to:
        job.metadata({"pushed_to": push(job.out, section.push_to, f"{best['checkpoint']} of {job.out.stem}")})


def _facts(job: Job, source: dict[str, str], best: dict[str, Any], same: int, rows: int) -> Facts:
    """What the model cards are written from."""
    scored, trained = job.upstream["checkpoint_metrics"], job.upstream["lora_checkpoints"]
    filtered = job.upstream["train_learnable"] / "filter_stats.json"
    return Facts(
        settings=job.settings,
        source=source,
        best=best,
        metrics=json.loads((scored / best["checkpoint"] / "metrics.json").read_text()),
        checkpoints=len(json.loads((scored / "checkpoints.json").read_text())),
        train_stats=json.loads((trained / "train_stats.json").read_text()),
        filter_stats=json.loads(filtered.read_text()),
        same_answers=same,
        verified_rows=rows,
        name=job.settings.merge.push_to or "geo_assets",
    )


def _write_attribution(out: Path, learnable: Path) -> None:
    """Whom to name for each photo that training used: the licence of the photos asks for it."""
    from geo_assets.osv.cards import OSV5M, write_attribution

    rows = [
        (
            row["id"],
            OSV5M.licence,
            f"Mapillary contributor {row['creator_id'] or ''}".strip(),
            f"https://www.mapillary.com/app/?pKey={row['id']}",
        )
        for row in scoring.rows_of(learnable)
    ]
    write_attribution(out, sorted(rows))


def _answers(job: Job, model: Any, folder: Path) -> list[Completion]:
    from geo_assets.backends.transformers import TransformersBackend

    task, pool = job.settings.task, job.upstream["train_learnable"]
    rows = scoring.rows_of(pool)[: job.settings.merge.verify_rows]
    backend = TransformersBackend(model, load_processor(folder, task), task, job.runtime.eval_batch_size)
    sampling = Sampling(max_tokens=task.max_completion_length)
    return [answers[0] for answers in backend.generate(scoring.requests_of(pool, rows, task, sampling))]


def _copy_adapter(source: Path, target: Path, base_name: str) -> None:
    target.mkdir(exist_ok=True)
    for name in (checkpoint_files.ADAPTER_WEIGHTS, checkpoint_files.ADAPTER_CONFIG):
        shutil.copyfile(source / name, target / name)
    checkpoint_files.tidy_config(target / checkpoint_files.ADAPTER_CONFIG, base_name)


def push(folder: Path, repo: str, message: str) -> str:
    """Upload a model folder to a private repository of the Hub; the address of its page.

    Raises:
        ModelError: the Hub refuses or cannot be reached. The merged model stays where it is.
    """
    import httpx
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        page = api.create_repo(repo, exist_ok=True, private=True)
        api.upload_folder(repo_id=repo, folder_path=folder, commit_message=message)
    except (httpx.HTTPError, OSError, RuntimeError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"cannot push to {repo} ({reason}); log in with a token that may write (HF_TOKEN), or unset "
            "merge.push_to"
        ) from error
    logger.info("pushed to %s", page)
    return str(page)


if __name__ == "__main__":
    run(main)
