"""Some of the cases of `make arrival`: any source, cut anywhere, at any time, with kills in between."""

import pytest

from faults.arrival import check


@pytest.mark.parametrize("tens", range(20))
def test_a_run_ends_with_the_same_bits_however_its_rows_came(tens):
    kills = sum(check(10 * tens + number) for number in range(10))
    assert kills > 0
