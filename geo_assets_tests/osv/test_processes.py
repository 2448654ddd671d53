"""Work of several processes comes back in order."""

import pytest

from geo_assets.osv.processes import Processes


@pytest.mark.parametrize(("workers", "items"), [(1, 200), (2, 10), (2, 500)])
def test_work_comes_back_in_order(workers, items):
    with Processes(workers) as processes:
        assert list(processes.map(str, range(items))) == [str(n) for n in range(items)]
