"""The models that everything starts from: `base_model` and `warm_start`."""

from __future__ import annotations

from geo_assets.defs.asset import geo_asset

base_model = geo_asset("base_model")
warm_start = geo_asset("warm_start")

ASSETS = (base_model, warm_start)
