"""Which rows of a CSV have a label that can be trusted, and why the others have not.

A country is an ISO 3166-1 alpha-2 code, or XK (Kosovo). "NA" is Namibia; "NMB" and a blank cell are Namibia
only where the nearest place to the point lies in Namibia. Coordinates are degrees, distances km. Labels of
OSV-5M are nearest-city labels, so `agreement` uses the same rule. Nothing here looks at pixels.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from geo_assets.geo.countries import country_table
from geo_assets.osv import schema
from geo_assets.osv.sphere import nearest_km

REASON = "reason"
NAMIBIA = "NA"
MAX_LABEL_KM = 200.0


@dataclass
class LabelCounts:
    """What cleaning did, for the data card."""

    dropped: Counter[str] = field(default_factory=Counter)
    """Rows dropped, by reason."""
    odd_countries: Counter[str] = field(default_factory=Counter)
    """Country cells that are no code of a country, as written."""
    recovered_namibia: int = 0
    """Rows with "NMB" or a blank country whose point lies in Namibia."""


def nearest_country(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """ISO-2 of the place nearest to each point (float64 degrees, shape (n,)); dtype str."""
    from geo_assets.geo import places

    if len(latitude) == 0:
        return np.empty(0, dtype=object)
    return np.asarray(places.nearest(latitude, longitude).country_iso2, dtype=object)


def reason() -> pl.Expr:
    """The first thing wrong with a row (columns id, latitude, longitude, country), null where nothing is."""
    latitude, longitude = pl.col("latitude"), pl.col("longitude")
    on_earth = latitude.is_between(-90, 90) & longitude.is_between(-180, 180)
    on_earth &= latitude.is_finite() & longitude.is_finite()
    null_island = (latitude == 0) & (longitude == 0)
    country = pl.col("country")
    return (
        pl.when(pl.col("id").is_null())
        .then(pl.lit("id_missing"))
        .when(~on_earth.fill_null(False) | null_island.fill_null(False))
        .then(pl.lit("coordinates_bad"))
        .when(country.is_null())
        .then(pl.lit("country_missing"))
        .when(~country.str.contains(r"^[A-Z]{2}$"))
        .then(pl.lit("country_malformed"))
        .when(~country.is_in(sorted(country_table().english)))
        .then(pl.lit("country_unknown"))
    )


def clean(frame: pl.DataFrame, counts: LabelCounts) -> pl.DataFrame:
    """Rows with a usable id, point and country; the rest is counted by reason.

    Args:
        frame: id, latitude, longitude, country, parsed, and `reason()` as column REASON; a country is
            trimmed only where it has a reason.
        counts: receives the reasons.

    Returns:
        The kept rows, in order.
    """
    if frame[REASON].null_count() < frame.height:
        frame = frame.with_columns(*schema.trimmed("country")).with_columns(reason().alias(REASON))
        frame = _recover_namibia(frame, counts)
        wrong = frame.drop_nulls(REASON)
        counts.dropped.update(wrong[REASON])
        odd = wrong.filter(pl.col(REASON).is_in(["country_malformed", "country_unknown"]))["country"]
        counts.odd_countries.update(odd)
        frame = frame.filter(pl.col(REASON).is_null())
    return frame


def _recover_namibia(frame: pl.DataFrame, counts: LabelCounts) -> pl.DataFrame:
    """Give "NMB" and blank cells their country back where the point lies in Namibia."""
    unsure = (pl.col(REASON) == "country_missing") | (
        (pl.col(REASON) == "country_malformed") & (pl.col("country") == "NMB")
    )
    frame = frame.with_row_index("_row")
    rows = frame.filter(unsure)
    if rows.is_empty():
        return frame.drop("_row")
    country = nearest_country(rows["latitude"].to_numpy(), rows["longitude"].to_numpy())
    found = rows["_row"].filter(pl.Series(country == NAMIBIA))
    counts.recovered_namibia += len(found)
    here = pl.col("_row").is_in(found.implode())
    return frame.with_columns(
        pl.when(here).then(pl.lit(NAMIBIA)).otherwise(pl.col("country")).alias("country"),
        pl.when(~here).then(pl.col(REASON)).alias(REASON),
    ).drop("_row")


def far_labels(rows: pl.DataFrame) -> pl.Series:
    """Rows whose label cannot come from their point: the labelled country is more than MAX_LABEL_KM away.

    Such a row has its coordinates or its country wrong; a border town that is nearest to a neighbour's
    place is not meant. Countries without any place in the gazetteer are believed.
    """
    from geo_assets.geo import places

    far = (~agreement(rows)).to_numpy().copy()
    table = places.gazetteer()
    country, lat_deg, lon_deg = (rows[c].to_numpy() for c in ("country_iso2", "latitude", "longitude"))
    for label in sorted(set(country[far])):
        here, known = far & (country == label), table.country_iso2 == label
        d_km = nearest_km(lat_deg[here], lon_deg[here], table.lat_deg[known], table.lon_deg[known])
        far[here] = (d_km > MAX_LABEL_KM) & known.any()
    return pl.Series("far", far, dtype=pl.Boolean)


def agreement(frame: pl.DataFrame) -> pl.Series:
    """Whether the country of the nearest place is the label, one bool a row of a set."""
    country = nearest_country(frame["latitude"].to_numpy(), frame["longitude"].to_numpy())
    return pl.Series("agrees", frame["country_iso2"].to_numpy() == country, dtype=pl.Boolean)
