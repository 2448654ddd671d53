"""The Definitions object that Dagster loads, and nothing else."""

from __future__ import annotations

import sys

from dagster import Definitions, multiprocess_executor

from geo_assets.errors import ProfileError

try:
    from geo_assets.defs import data, evaluation, gym, model, results, rl, sources
except ProfileError as error:  # raised where the code versions are computed; one line instead of a traceback
    sys.exit(f"geo_assets: {error}")

MODULES = (sources, data, model, rl, evaluation, results, gym)

defs = Definitions(
    assets=[asset for module in MODULES for asset in module.ASSETS],
    asset_checks=[check for module in MODULES for check in getattr(module, "CHECKS", ())],
    # A fork server that has this module loaded starts a step in a tenth of the time; nothing imported
    # here touches torch, CUDA or a thread pool, so a fork of it is safe.
    executor=multiprocess_executor.configured(
        {"start_method": {"forkserver": {"preload_modules": ["geo_assets.definitions"]}}}
    ),
)
