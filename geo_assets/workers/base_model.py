"""Fetch or build the model that everything starts from: Hub snapshot, local folder, or tiny.

Leaves `model/` (weights, configuration, processor) and `source.json` (where it came from, its revision).
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

from geo_assets.errors import ModelError
from geo_assets.files import link_or_copy
from geo_assets.models.loading import MODEL_DIR
from geo_assets.settings import BaseModelSection
from geo_assets.workers.harness import Job, run

logger = logging.getLogger(__name__)

WANTED = ("*.safetensors", "*.json", "*.jinja", "merges.txt", "tokenizer.model", "LICENSE*")
CORPUS_TEXTS = 6000
PROMPT_REPEATS = 200


def main(job: Job) -> None:
    """Build `model/` from the source that the profile names."""
    section = job.settings.base_model
    target = job.out / MODEL_DIR
    build = {"tiny": _build_tiny, "local": _link_local, "hub": _fetch_hub}[section.source]
    source = build(job, section, target)
    _require_model(target)
    (job.out / "source.json").write_text(
        json.dumps(source, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    size_mb = sum(path.stat().st_size for path in target.rglob("*")) / 1e6
    job.metadata({"source": section.source, **source, "size_mb": round(size_mb, 1)})


def _build_tiny(job: Job, section: BaseModelSection, target: Path) -> dict[str, str]:
    from geo_assets.models.tiny import build_model, build_processor
    from geo_assets.task.prompt import messages
    from geo_assets.world.clues import corpus

    task = job.settings.task
    words = " ".join(_texts(messages(task.prompt))) + " system user assistant"
    texts = corpus(section.seed, CORPUS_TEXTS) + [words] * PROMPT_REPEATS
    processor = build_processor(texts, section.vocab_size, task.min_cells, task.max_cells)
    model = build_model(processor, section)
    processor.save_pretrained(target)
    model.save_pretrained(target)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    logger.info("built a Qwen3-VL with %.2f million parameters", parameters / 1e6)
    job.metadata({"parameters": parameters, "vocabulary": len(processor.tokenizer)})
    return {"model": "tiny Qwen3-VL", "revision": f"seed {section.seed}"}


def _texts(chat: list[dict]) -> list[str]:
    """The plain texts of a list of chat messages."""
    parts = [[{"text": m["content"]}] if isinstance(m["content"], str) else m["content"] for m in chat]
    return [part["text"] for content in parts for part in content if "text" in part]


def _link_local(job: Job, section: BaseModelSection, target: Path) -> dict[str, str]:
    if section.local_dir is None:
        raise ModelError(
            "base_model.source is local but base_model.local_dir is not set; name the model's folder"
        )
    folder = section.local_dir.expanduser()
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} holds no config.json; set base_model.local_dir to a saved model")
    _hard_link(folder, target)
    return {"model": folder.name, "revision": "local"}


def _fetch_hub(job: Job, section: BaseModelSection, target: Path) -> dict[str, str]:
    import httpx
    from huggingface_hub import snapshot_download

    try:
        folder = Path(
            snapshot_download(
                section.repo, revision=section.revision, allow_patterns=list(WANTED), max_workers=4
            )
        )
    except (httpx.HTTPError, OSError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(
            f"cannot fetch {section.repo}@{section.revision} ({reason}); check the network and HF_TOKEN, "
            "or set base_model.source: local with base_model.local_dir"
        ) from error
    _hard_link(folder, target)
    return {"model": section.repo, "revision": folder.name}


def _hard_link(folder: Path, target: Path) -> None:
    """The model's files under `target`, linked where the file system allows it, else copied."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for pattern in WANTED:
        for path in sorted(folder.glob(pattern)):
            link_or_copy(path, target / path.name)


def _require_model(target: Path) -> None:
    missing = [name for name in ("config.json", "preprocessor_config.json") if not (target / name).is_file()]
    if (target / "processor_config.json").is_file() and "preprocessor_config.json" in missing:
        missing.remove("preprocessor_config.json")
    if missing or not list(target.glob("*.safetensors")):
        what = ", ".join([*missing, *([] if list(target.glob("*.safetensors")) else ["*.safetensors"])])
        raise ModelError(
            f"the model lacks {what}; choose a repository or folder that was saved with its processor"
        )


if __name__ == "__main__":
    run(main)
