"""The ensemble's tests of pools, applied to joined pools."""

from __future__ import annotations

import pytest

import test_ensemble as contract
from heros import pools
from test_ensemble import (  # noqa: F401
    test_a_copy_in_mid_stream_continues_bit_for_bit,
    test_a_copy_is_independent_and_an_unbound_one_can_be_copied,
    test_a_policy_in_python_equals_the_compiled_one,
    test_a_policy_that_misbehaves_is_named_and_what_came_before_is_kept,
    test_a_seed_fixes_everything_and_another_changes_it,
    test_arrays_of_any_layout_are_taken,
    test_bad_data_is_named_and_changes_nothing,
    test_exporting_a_state_does_not_change_it,
    test_growing_in_mid_stream,
    test_missing_values_are_taken_where_the_schema_has_them,
    test_one_at_a_time_equals_the_block,
    test_several_heros_run_side_by_side,
    test_the_first_answer_is_the_first_models,
    test_two_threads_are_kept_apart,
    test_warmup_trains_everything,
)

JOINED = pools.Join(  # 12 models
    pools.MLPGrid(hidden=[8, 16, 24, 32], learning_rates=[0.05], optimizers=["adam"]),
    pools.HoeffdingGrid(max_bytes=[1024, 2048, 8192, 1 << 20], grace_periods=[20, 50]),
    costs=[3, 1],
)


@pytest.fixture(autouse=True)
def _joined(monkeypatch):
    monkeypatch.setattr(contract, "SMALL", JOINED)
    monkeypatch.setattr(contract, "MANY", 2000)
