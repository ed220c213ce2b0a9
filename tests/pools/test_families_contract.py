"""What Heros asks of every pool, asked of the families of the core: the ensemble's tests."""

from __future__ import annotations

import numpy as np
import pytest

import test_ensemble as contract
from heros import Heros, policies, pools
from heros.checks import check_pool
from test_ensemble import (  # noqa: F401
    test_a_copy_in_mid_stream_continues_bit_for_bit,
    test_a_copy_is_independent_and_an_unbound_one_can_be_copied,
    test_a_policy_in_python_equals_the_compiled_one,
    test_a_policy_that_misbehaves_is_named_and_what_came_before_is_kept,
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
from tree_cases import Steps

FAMILIES = {  # 12 models each
    "neighbours": pools.NeighboursGrid(
        windows=[50, 200, 300], neighbours=[3, 8], weightings=["distance", "uniform"]
    ),
    "linear": pools.LinearGrid(),
    "bayes": pools.NaiveBayes(
        [{"fading": f, "smoothing": s} for f in (1, 0.999, 0.99, 0.9) for s in (0.1, 1, 2)]
    ),
    "labels": pools.LabelMemory(
        [{"fading": f, "order": o} for f in (1, 0.9999, 0.999, 0.99, 0.9, 0.5) for o in (1, 2)], memory=16
    ),
    "boosted": pools.Boosted(
        [
            {"rounds": n, "grace_period": 20, "features": f, "horizon": h, "max_bytes": 40_000}
            for n in (1, 2, 5)
            for f in (0.5, 1)
            for h in (None, 50)
        ]
    ),
    "retrained": pools.Retrained(
        [
            {"window": w, "every": 50, "spread": s, "trees": n, "leaves": 5, "min_leaf": 3}
            for w in (50, 200)
            for s in (1, 20, 50)
            for n in (1, 3)
        ]
    ),
    "forest": pools.Forest(
        [
            {"trees": n, "subspace": s, "bagging": b, "warning": 0.5, "drift": 0.1, "max_bytes": 40_000}
            for n in (1, 2, 5)
            for s in ("tree", "node")
            for b in (0, 3)
        ]
    ),
}


@pytest.fixture(autouse=True, params=FAMILIES)
def _family(request, monkeypatch):
    monkeypatch.setattr(contract, "SMALL", FAMILIES[request.param])


def test_passes_the_public_check():
    check_pool(contract.SMALL)


def test_a_seed_fixes_everything():
    """Another seed chooses others; neighbours, who share their instances, may say the same all the same."""
    X, y = contract.data(500)

    def run(seed):
        model = Heros(
            contract.SMALL,
            policies.Random(),
            contract.K,
            seed=seed,
            schema=contract.drifting(10).schema,
        )
        return model.test_then_train(X, y)

    assert contract.same(run(1), run(1))
    assert not np.array_equal(run(1).chosen, run(2).chosen)


@pytest.mark.parametrize("watch", [-1, 3])
def test_who_looks_changes_nothing_that_is_learnt(watch):
    """Models at rest that do not look, or only now and then: what the chosen ones learn is the same."""
    X, y = contract.data(600)
    values = [np.random.default_rng(t).random(12) < 0.3 for t in range(600)]

    def learnt(watch):
        bound = contract.SMALL.bind(contract.drifting(10).schema, np.random.default_rng(1))
        turns = iter(values)
        steps = Steps(bound.native, watch=watch)
        steps.run(X, y, lambda: next(turns))
        return bound.state()

    everyone, few = learnt(0), learnt(watch)
    assert all(np.array_equal(everyone[name], few[name]) for name in everyone)
