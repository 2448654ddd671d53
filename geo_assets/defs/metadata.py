"""Make any figure safe for a Dagster page: cleaned once, here, and never a reason for an asset to fail.

numpy scalars fail a step, NaN breaks the page, and large values bloat the event log (docs/log.md), so
values are converted, rounded and capped. Previews beyond the cap are replaced by a word that says so.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

logger = logging.getLogger(__name__)

MAX_ROWS = 20
MAX_BYTES = 64 * 1024

Page = MetadataValue[Any]


def clean(values: Mapping[str, Any]) -> dict[str, Page]:
    """`values` as Dagster metadata; what cannot be shown becomes a text that says why."""
    cleaned: dict[str, Page] = {}
    for name, value in values.items():
        try:
            cleaned[name] = _page_value(value)
        except Exception as error:  # a picture of an artifact must never fail the artifact
            logger.warning("metadata %s cannot be shown: %s", name, error)
            cleaned[name] = MetadataValue.text(f"cannot be shown: {type(error).__name__}: {error}")
    return cleaned


def plain(value: Any) -> Any:
    """`value` as JSON: numpy scalars converted, floats rounded to six digits, NaN and infinities as text.

    >>> plain({"a": float("nan"), "b": (1, 2.00000049)})
    {'a': 'nan', 'b': [1, 2.0]}
    """
    if hasattr(value, "item") and not isinstance(value, type):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def table(rows: Sequence[Mapping[str, Any]]) -> Page:
    """The first rows of a table. Rows may lack columns; Dagster wants the same in each."""
    names = dict.fromkeys(name for row in rows for name in row)
    records = [
        TableRecord({name: _cell(row.get(name, "")) for name in names}) for row in rows[:MAX_ROWS]
    ]  # fmt: skip
    return MetadataValue.table(records) if records else MetadataValue.text("no rows")


def schema(columns: Mapping[str, str], about: Mapping[str, str] | None = None) -> Page:
    """The columns of a data set: name to type, and what a column holds where `about` knows it."""
    described = [
        TableColumn(name=name, type=type_, description=(about or {}).get(name))
        for name, type_ in columns.items()
    ]
    return MetadataValue.table_schema(TableSchema(columns=described))


def near(value: Any, digits: int = 3) -> Any:
    """A float rounded to `digits` significant digits, for a table; anything else as it is.

    >>> near(2407.583), near(522.0), near(0.69667), near(12), near("x")
    (2408, 522, 0.697, 12, 'x')
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return round(value) if abs(value) >= 10 ** (digits - 1) else float(f"{value:.{digits}g}")


def _page_value(value: Any) -> Page:
    if isinstance(value, MetadataValue):
        size = len(str(value.value))
        return value if size <= MAX_BYTES else MetadataValue.text(f"too large to show ({size:,} bytes)")
    if isinstance(value, Path):
        return MetadataValue.path(value)
    value = plain(value)
    if isinstance(value, bool):
        return MetadataValue.bool(value)
    if isinstance(value, int):
        return MetadataValue.int(value)
    if isinstance(value, float):
        return MetadataValue.float(value)
    if isinstance(value, dict | list):
        size = len(json.dumps(value))
        if size > MAX_BYTES:
            return MetadataValue.text(f"too large to show ({size:,} bytes); see the artifact")
        return MetadataValue.json(value)
    text = str(value)
    if text.startswith("https://") and " " not in text:
        return MetadataValue.url(text)
    return MetadataValue.text(text[:MAX_BYTES])


def _cell(value: Any) -> str | int | float | bool:
    value = plain(value)
    return value if isinstance(value, str | int | float | bool) else json.dumps(value)
