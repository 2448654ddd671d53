import json
import math
from dataclasses import replace

import numpy as np
import pytest

from geo_assets.errors import DataError
from geo_assets.task.metrics import FAR_KM, Prediction, columns
from geo_assets_tests.task.samples import answered, prediction, right, unparsed


def test_a_line_is_read_back_as_it_was_written():
    for made in (right(0), unparsed(1), answered(2, "FR", 48.0, 2.0, k=1), prediction(3, "<think>cut")):
        line = made.to_json()
        assert "\n" not in line and line.isascii()
        assert Prediction.from_json(line) == made
        assert Prediction.from_json(json.loads(line) | {"later": 1}) == made


def test_a_line_has_the_agreed_fields():
    assert set(json.loads(right(0).to_json())) == {
        "id", "k", "completion", "country", "country_iso2", "lat_deg", "lon_deg", "parsed", "truncated",
        "true_latitude", "true_longitude", "true_country_iso2", "true_region", "true_city",
        "d_km", "geoscore",
        "format", "country_reward", "dist", "total", "n_tokens", "finish_reason",
    }  # fmt: skip


def test_half_characters_do_not_break_a_file():
    line = prediction(0, "\ud800 what").to_json()
    assert json.loads(line)["completion"] == "\ufffd what"


def test_nan_is_never_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(right(0), total=math.nan).to_json()


@pytest.mark.parametrize("line", ["", "{", '{"id": "x"}', "[]", "null"])
def test_a_damaged_line_says_what_to_do(line):
    with pytest.raises(DataError, match="with force"):
        Prediction.from_json(line)


def test_columns_keep_photos_and_samples_in_order():
    made = [answered(i, "KE", float(i), float(k), k=k) for i in range(3) for k in range(2)]
    table = columns(made)
    assert table.ids == ("row-0000", "row-0001", "row-0002")
    assert table.lat_deg.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert table.lon_deg.tolist() == [[0, 1]] * 3
    assert np.array_equal(columns(made[::2] + made[1::2]).lon_deg, table.lon_deg)


def test_unparsed_answers_sit_at_the_far_end():
    table = columns([unparsed(0), right(1)])
    assert table.d_km.ravel().tolist() == [FAR_KM, 0.0]
    assert table.geoscore.ravel().tolist() == [0.0, 5000.0]
    assert pytest.approx(20015.114442, abs=1e-6) == FAR_KM


def test_uneven_or_impossible_predictions_are_refused():
    with pytest.raises(DataError, match="between 1 and 2 completions"):
        columns([right(0), right(1, k=0), right(1, k=1)])
    with pytest.raises(DataError, match="no predictions"):
        columns([])
    with pytest.raises(DataError, match="total that is not finite"):
        columns([replace(right(0), total=math.inf)])
