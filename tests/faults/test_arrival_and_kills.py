"""Some cases of `make arrival`: any source, block sizes and delays, with kills in between."""

import pytest

from faults.arrival import TASKS, check


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.matrix(most=2)
@pytest.mark.parametrize(
    ("task", "tens"),
    [(task, tens) for tens in range(16) for task, n in zip(TASKS, (16, 6), strict=True) if tens < n],
)
def test_a_run_ends_with_the_same_bits_however_its_rows_came(task, tens):
    kills = sum(check(10 * tens + number, task) for number in range(10))
    assert kills > 0
