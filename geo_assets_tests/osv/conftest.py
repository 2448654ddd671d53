"""A small mirror of OSV-5M and the training pool from it."""

import pytest

from geo_assets.osv import sets
from geo_assets_tests.osv.mirrors import POOL, write_mirror


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    return write_mirror(tmp_path_factory.mktemp("mirror"))


@pytest.fixture(scope="module")
def pool(mirror, tmp_path_factory):
    out = tmp_path_factory.mktemp("pool")
    return out, sets.build_train_pool(mirror, out, POOL)
