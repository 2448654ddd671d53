"""One thing the doctor looked at, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """`fail` stops the profile from working, `warn` may cost time or money."""

    level: Literal["ok", "warn", "fail"]
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.level:<5} {self.what}"
        return f"{line}\n      -> {self.remedy}" if self.remedy else line
