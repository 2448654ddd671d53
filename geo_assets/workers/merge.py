"""Merge the chosen adapter into the start model and make sure that nothing changed on the way.

Leaves a model folder that loads with AutoModelForImageTextToText and AutoProcessor, `adapter/` beside it, a
model card and `verification.json`. Pushing to the Hub happens only where `merge.push_to` is set. The
rows it verifies on come from train_learnable: the evaluation sets are not upstream.
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
from geo_assets.settings import Merge
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
    (job.out / "README.md").write_text(
        model_card(source, best, section, same, len(separate)), encoding="utf-8"
    )
    job.metadata({"checkpoint": best["checkpoint"], "same_greedy_answers": f"{same} of {len(separate)}"})
    if section.push_to:
        _push(job.out, section.push_to)
        job.metadata({"pushed_to": section.push_to})


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


def model_card(source: dict[str, str], best: dict[str, Any], section: Merge, same: int, rows: int) -> str:
    """The model card: what it is made of, how it was chosen, how to load it, what it is not for."""
    # A repository name has an owner; the tiny demo model and local folders are no Hub models.
    base_line = f"base_model: {source['model']}\n" if "/" in source["model"] else ""
    return f"""---
library_name: transformers
pipeline_tag: image-text-to-text
{base_line}tags: [geolocation, grpo, trl]
---
# Where was this photo taken?

A vision-language model that names the country and coordinates of a street-level photo. It is
{source["model"]} (revision {source["revision"]}) after GRPO with a distance-based reward,
with the LoRA adapter of {best["checkpoint"]} merged in ({section.dtype}).

- Choice of the checkpoint: {best["why"]}.
- Verification: {same} of {rows} greedy answers are the same as those of base model plus adapter.
- The adapter alone is in `adapter/`.

```python
from transformers import AutoModelForImageTextToText, AutoProcessor

model = AutoModelForImageTextToText.from_pretrained("path/to/this/folder", dtype="auto")
processor = AutoProcessor.from_pretrained("path/to/this/folder", padding_side="left")
```

It is for research and play. A guess is not evidence: do not use it to find a person or a home.
"""


def _push(folder: Path, repo: str) -> None:
    import httpx
    from huggingface_hub import HfApi

    try:
        HfApi().create_repo(repo, exist_ok=True, private=True)
        HfApi().upload_folder(repo_id=repo, folder_path=folder)
    except (httpx.HTTPError, OSError, RuntimeError, ValueError) as error:
        raise ModelError(
            f"cannot push to {repo} ({error}); check HF_TOKEN, or unset merge.push_to"
        ) from error
    logger.info("pushed to %s", repo)


if __name__ == "__main__":
    run(main)
