"""Some cases of `make interrupts`: Ctrl-C at random times."""

import pytest

from faults.interrupts import KINDS, check, starting

# Python drops an interrupt that arrives in a destructor. `heros` raises it again; a user's own loop does not.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind is not starting], ids=lambda kind: kind.__name__
)
def test_ctrl_c_at_a_random_moment_is_a_result_or_a_clean_stop(kind, tmp_path, thorough):
    said = {check(number, tmp_path, {kind: 1})[1] for number in range(15 if thorough else 5)}
    assert said - {"finished"}


def test_ctrl_c_at_a_random_moment_of_a_program(tmp_path):
    for number in range(3):
        check(number, tmp_path, {starting: 1})
