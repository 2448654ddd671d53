"""A worker's progress as observations of its asset, while it runs: the curves under "Plots".

Dagster Pipes hands custom messages over when the worker has ended; here they are read as they come. The
worker decides how often (`progress.Pace`). An observation carries no data version, so it makes nothing stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dagster import AssetExecutionContext, AssetObservation, PipesTempFileMessageReader

from geo_assets.defs import metadata
from geo_assets.workers.harness import PROGRESS


class LiveReader(PipesTempFileMessageReader):
    """Reads a worker's messages; its progress becomes observations of the asset of `context`."""

    def __init__(self, context: AssetExecutionContext) -> None:
        super().__init__()
        self._asset_context = context

    @contextmanager
    def read_messages(self, handler: Any) -> Iterator[Any]:
        """See `PipesMessageReader.read_messages`."""
        with super().read_messages(_Observer(handler, self._asset_context)) as parameters:  # type: ignore[arg-type]
            yield parameters


class _Observer:
    """Stands before Pipes' own handler, takes what is progress and passes the rest on."""

    def __init__(self, handler: Any, context: AssetExecutionContext) -> None:
        self._handler, self._context = handler, context

    def handle_message(self, message: Any) -> None:
        figures = _progress(message)
        if figures is None:
            self._handler.handle_message(message)
        else:
            observed = AssetObservation(self._context.asset_key, metadata=metadata.clean(figures))
            self._context.log_event(observed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)


def _progress(message: Any) -> dict[str, Any] | None:
    """The figures of a progress message, or None where it is another one."""
    payload = (message.get("params") or {}).get("payload")
    if message.get("method") != "report_custom_message" or not isinstance(payload, dict):
        return None
    return payload.get(PROGRESS)
