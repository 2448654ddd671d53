"""The assets that bring data in: `osv_zips` and `pano_source`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from geo_assets.defs import metadata
from geo_assets.defs.asset import Whole, geo_asset
from geo_assets.workers.harness import Job


def _build_osv_zips(job: Job) -> None:
    from geo_assets.osv import sources

    sources.build_osv_zips(job.settings.osv_zips, job.out, job.runtime)


def _build_pano_source(job: Job) -> None:
    from geo_assets.osv import sources

    sources.build_pano_source(job.settings.pano_source, job.out, job.runtime)


def _describe_files(whole: Whole) -> Mapping[str, Any]:
    files = json.loads((whole.path / "files.json").read_text(encoding="utf-8"))
    rows = [{"file": name, **entry} for name, entry in sorted(files.items())]
    return {"n_files": len(files), "files": metadata.table(rows)}


osv_zips = geo_asset("osv_zips", build=_build_osv_zips, describe=_describe_files)
pano_source = geo_asset("pano_source", build=_build_pano_source, describe=_describe_files)

ASSETS = (osv_zips, pano_source)
