"""The ensemble's tests of pools, applied to regression pools."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import test_ensemble as contract
from family_cases import LINES, NETS, TWELVE_OF_NUMBERS
from heros import DataError, Heros, Schema, pools
from test_ensemble import (  # noqa: F401
    test_a_copy_in_mid_stream_continues_bit_for_bit,
    test_a_copy_is_independent_and_an_unbound_one_can_be_copied,
    test_a_policy_that_misbehaves_is_named_and_what_came_before_is_kept,
    test_arrays_of_any_layout_are_taken,
    test_exporting_a_state_does_not_change_it,
    test_growing_in_mid_stream,
    test_missing_values_are_taken_where_the_schema_has_them,
    test_one_at_a_time_equals_the_block,
    test_several_heros_run_side_by_side,
    test_the_first_answer_is_the_first_models,
    test_two_threads_are_kept_apart,
    test_warmup_trains_everything,
)

FAMILIES = TWELVE_OF_NUMBERS | {
    "joined": pools.Join(
        pools.MLP(NETS[2:6]), pools.Linear(LINES), pools.Neighbours([{}, {}]), costs=[3, 2, 1]
    ),
}


@pytest.fixture(autouse=True, params=FAMILIES)
def _family(request, monkeypatch):
    monkeypatch.setattr(contract, "SMALL", FAMILIES[request.param])
    monkeypatch.setattr(contract, "NUMERIC", True)


@pytest.mark.parametrize("block", [1, 3, 64, 1000])
def test_how_blocks_are_cut_does_not_matter(block):
    X, y = contract.data(1000)
    y[500:] *= 1e6  # the unit of the targets changes during the stream
    whole, cut = (Heros(contract.SMALL, k=5, seed=1, schema=contract.drifting(10).schema) for _ in range(2))
    said = whole.test_then_train(X, y).outputs
    parts = [cut.test_then_train(X[t : t + block], y[t : t + block]).outputs for t in range(0, 1000, block)]
    assert np.array_equal(said, np.concatenate(parts))
    assert contract.equal_state(whole, cut)


@pytest.mark.parametrize("watch", ["trained", 3])
def test_where_not_all_look_blocks_do_not_matter_either(watch):
    X, y = contract.data(600)
    schema = contract.drifting(10).schema
    whole, cut = (Heros(contract.SMALL, k=5, seed=1, watch=watch, schema=schema) for _ in range(2))
    said = whole.test_then_train(X, y).outputs
    parts = [cut.test_then_train(X[t : t + 7], y[t : t + 7]).outputs for t in range(0, 600, 7)]
    assert np.array_equal(said, np.concatenate(parts))


def test_it_is_saved_and_comes_back(tmp_path):
    X, y = contract.data(900)
    model = Heros(contract.SMALL, k=5, seed=1, schema=contract.drifting(10).schema).learn(X[:700], y[:700])
    model.save(tmp_path / "model.heros")
    again = Heros.load(tmp_path / "model.heros")
    assert again.task == model.task
    assert again.pool == model.pool
    one, two = (m.test_then_train(X[700:], y[700:]) for m in (model, again))
    assert contract.same(one, two)
    assert contract.equal_state(model, again)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan], "The target of row 1 must be a finite number, at most 1e+100. Got nan instead."),
        ([-np.inf, 1.0], "The target of row 0 must be a finite number, at most 1e+100. Got -inf instead."),
        ([1.0, 1e200], "The target of row 1 must be a finite number, at most 1e+100. Got 1e+200 instead."),
        ([1.0], "y must have one target per instance (2). Got shape (1,) instead."),
        (["a", "b"], "y must be an array of numbers. Got an array of <U1 instead."),
        (
            np.ma.array([1.0, 2.0], mask=[0, 1]),
            "y must have a target for every instance. Got masked values instead.",
        ),
    ],
)
def test_bad_targets_are_named_and_change_nothing(y, message):
    model = Heros(contract.SMALL, k=5, seed=1, schema=Schema.of(["a", "b"]))
    model.learn([[1.0, 2.0], [2.0, 1.0]] * 60, [0.5, 1.5] * 60)
    before = copy.deepcopy(model)
    for attempt in (model.learn, model.test_then_train):
        with pytest.raises(DataError) as error:
            attempt([[1.0, 2.0], [2.0, 1.0]], y)
        assert str(error.value) == message
    assert contract.equal_state(model, before)
