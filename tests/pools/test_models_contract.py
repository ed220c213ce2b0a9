"""The ensemble's tests of pools, applied to Python models."""

from __future__ import annotations

import pytest

import test_ensemble as contract
from heros import pools
from member_cases import TWELVE
from test_ensemble import (  # noqa: F401
    test_a_copy_in_mid_stream_continues_bit_for_bit,
    test_a_copy_is_independent_and_an_unbound_one_can_be_copied,
    test_a_policy_that_misbehaves_is_named_and_what_came_before_is_kept,
    test_a_seed_fixes_everything_and_another_changes_it,
    test_arrays_of_any_layout_are_taken,
    test_bad_data_is_named_and_changes_nothing,
    test_growing_in_mid_stream,
    test_missing_values_are_taken_where_the_schema_has_them,
    test_one_at_a_time_equals_the_block,
    test_several_heros_run_side_by_side,
    test_the_first_answer_is_the_first_models,
    test_two_threads_are_kept_apart,
    test_warmup_trains_everything,
)


@pytest.fixture(autouse=True)
def _models(monkeypatch):
    monkeypatch.setattr(contract, "SMALL", pools.Models(TWELVE, costs=range(1, 13)))
    monkeypatch.setattr(contract, "learnt", _learnt)


def _learnt(model):
    """Return the comparable part of a model: pickles of equal models may differ in shared references."""
    members = (model.bound[name] for name in model.pool.names)
    states = {
        f"{i} {name}": value for i, member in enumerate(members) for name, value in vars(member).items()
    }
    return [states, model._learner.step.state(), model.rng.bit_generator.state]
