"""`nlvr2`: two images and a statement; is it true or false?

The task of A. Suhr et al., "A Corpus for Reasoning about Natural Language Grounded in Photographs"
(ACL 2019). The photographs are read from a folder of parquet files in the layout of the Hub data set
HuggingFaceM4/NLVR2 where the option `folder` names one, or fetched with `source: hub`; else a miniature
is drawn: coloured shapes, statements of two, four or six kinds (`level`), exactly half of each kind true.

Parsing is strict: after the thinking, the answer is `true` or `false` and nothing else ("not true" is no
"true"); whatever is ambiguous scores 0.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from PIL import Image

from geo_assets.errors import DataError, ProfileError
from geo_assets.gym.attacks import Attack
from geo_assets.gym.environment import Limits, Observation, Spec, ask
from geo_assets.gym.shapes import KINDS_OF_LEVEL, draw_pairs
from geo_assets.gym.single_turn import SingleTurn

REPOSITORY = "HuggingFaceM4/NLVR2"
REVISION = "refs/convert/parquet"
QUESTION = "True or false: {statement}"
SPLIT_FILES = {"train": "train", "test": "validation"}
_ANSWER = re.compile(r"(?:(?:the )?(?:statement|answer)(?: is)?:?\s+|it is )?(true|false)", re.IGNORECASE)
_TRIMMED = " \t\r\n.!\"'`*"


def parse_truth(completion: str) -> bool | None:
    """What a completion says: True, False, or None where it says neither, both, or something else.

    Only the text after the last `</think>` counts, and of it the last `<answer>` element if there is one.

    >>> parse_truth("True."), parse_truth("<think>hm</think><answer>false</answer>")
    (True, False)
    >>> parse_truth("not true"), parse_truth("true or false"), parse_truth("")
    (None, None, None)
    """
    text = completion.rpartition("</think>")[2][-2000:]
    if "<answer>" in text:
        text, closed, _ = text.rpartition("<answer>")[2].partition("</answer>")
        if not closed:
            return None
    match = _ANSWER.fullmatch(text.strip(_TRIMMED))
    return None if match is None else match.group(1).lower() == "true"


@dataclass(frozen=True)
class Pair:
    """One task: two pictures, a statement, and whether it holds."""

    statement: str
    holds: bool
    pictures: Callable[[], tuple[Image.Image, ...]]
    seen: str = ""
    """What one has to see in drawn pictures, in words."""


class Nlvr2(SingleTurn):
    """Two images, one statement, one word."""

    name = "nlvr2"
    about = "two images and a statement: true or false? Photographs, or a drawn miniature"
    limits = Limits(max_tokens=24)
    parts = ("format", "correct")
    options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "source": "drawn (default), folder or hub",
            "level": "1 (default) to 3: how hard the drawn statements are",
            "folder": "folder of parquet files in the Hub's layout (source folder)",
            "max_tokens": "tokens of an answer (default 24; raise it for a model that thinks)",
        }
    )

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.limits = Limits(int(spec.options.get("max_tokens", 24)))

    def make_tasks(self) -> Sequence[Pair]:
        """See `Environment.make_tasks`."""
        spec = self.spec
        source = spec.options.get("source", "folder" if spec.options.get("folder") else "drawn")
        level = int(spec.options.get("level", 1))
        if level not in KINDS_OF_LEVEL:
            raise ProfileError(f"option level of nlvr2 is {level}: choose one of 1, 2, 3")
        if source == "drawn":
            return [Pair(*drawn) for drawn in draw_pairs(spec.split, spec.size, spec.seed, level)]
        folder = _fetch(spec) if source == "hub" else Path(spec.options.get("folder", "")).expanduser()
        return _read(folder, spec)

    def ask(self, task: Pair) -> Observation:
        """See `SingleTurn.ask`."""
        return ask(QUESTION.format(statement=task.statement), task.pictures())

    def score(self, task: Pair, completion: str) -> Mapping[str, float]:
        """See `SingleTurn.score`."""
        said = parse_truth(completion)
        correct = float(said is not None and said == task.holds)
        return {"total": correct, "format": float(said is not None), "correct": correct}

    def solution(self, task_index: int) -> str:
        """See `Environment.solution`."""
        task = self.tasks[task_index]
        return (f"<think>{task.seen}</think>" if task.seen else "") + self.word(task_index)

    def word(self, task_index: int) -> str:
        """The right answer alone."""
        return "true" if self.tasks[task_index].holds else "false"

    def truth(self, task_index: int) -> Mapping[str, Any]:
        """See `Environment.truth`."""
        return {"answer": self.word(task_index)}

    def attacks(self) -> Sequence[Attack]:
        """Both words, negations, echoes and constants; a constant may earn the share it is right."""
        share = sum(task.holds for task in self.tasks) / len(self.tasks)
        right = self.word
        return (
            Attack("nothing", lambda i: ""),
            Attack("both words", lambda i: "true or false"),
            Attack(
                "both words, right one last",
                lambda i: f"{'false' if right(i) == 'true' else 'true'} {right(i)}",
            ),
            Attack("not true", lambda i: "not true" if right(i) == "false" else "not false"),
            Attack("thinking only", lambda i: f"<think>{right(i)}</think>"),
            Attack("open answer", lambda i: f"<answer>{right(i)}"),
            Attack("two answers in one", lambda i: "<answer>true, false</answer>"),
            Attack("the question", lambda i: QUESTION.format(statement=self.tasks[i].statement)),
            Attack("huge garbage", lambda i: f"{right(i)} " * 5000),
            Attack("always true", lambda i: "true", share),
            Attack("always false", lambda i: "false", 1.0 - share),
        )


def _fetch(spec: Spec) -> Path:
    """The parquet files of the Hub data set's split."""
    import httpx
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                REPOSITORY, repo_type="dataset", revision=REVISION,
                allow_patterns=[f"*{SPLIT_FILES[spec.split]}*.parquet"],
            )
        )  # fmt: skip
    except (httpx.HTTPError, OSError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(
            f"cannot fetch {REPOSITORY} ({reason}); check the network, or set the option source: drawn"
        ) from error


def _read(folder: Path, spec: Spec) -> list[Pair]:
    """The first `size` rows of the split's parquet files; images are decoded when they are looked at.

    Raises:
        DataError: there is no such file, or it lacks a statement, a label or two images.
    """
    import polars as pl

    part = SPLIT_FILES[spec.split]
    found = sorted(path for path in folder.rglob("*.parquet") if part in str(path.relative_to(folder)))
    if not found:
        raise DataError(
            f"{folder} holds no parquet file of split {SPLIT_FILES[spec.split]}; see docs/environments.md"
        )
    rows = pl.scan_parquet(found).head(spec.size).collect()
    names = {name.lower(): name for name in rows.columns}
    wanted = {
        "statement": ("sentence", "statement", "question"),
        "label": ("label", "answer"),
        "left": ("left_image", "image0", "left"),
        "right": ("right_image", "image1", "right"),
    }
    columns = {key: names[n] for key, options in wanted.items() for n in reversed(options) if n in names}
    if missing := sorted(set(wanted) - set(columns)):
        raise DataError(
            f"{found[0]} has no column for {', '.join(missing)}; its columns: {', '.join(rows.columns)}"
        )
    return [
        Pair(
            str(row[columns["statement"]]),
            str(row[columns["label"]]).strip().lower() in ("true", "1"),
            _decoder(row[columns["left"]], row[columns["right"]]),
        )
        for row in rows.iter_rows(named=True)
    ]


def _decoder(*cells: Mapping[str, Any]) -> Callable[[], tuple[Image.Image, ...]]:
    def decode() -> tuple[Image.Image, ...]:
        return tuple(Image.open(io.BytesIO(cell["bytes"])).convert("RGB") for cell in cells)

    return decode
