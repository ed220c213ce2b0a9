"""The ensemble's tests of pools, applied to the families of the core."""

from __future__ import annotations

import numpy as np
import pytest

import test_ensemble as contract
from family_cases import CASES, TWELVE_OF_CLASSES
from heros import Heros, Schema, policies
from heros._base.registry import parts
from heros.checks import check_pool
from heros.pools.family import Family
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

FAMILIES = {
    name: pool for name, pool in TWELVE_OF_CLASSES.items() if name != "mlp"
}  # test_ensemble.py tests this family


@pytest.fixture(autouse=True, params=FAMILIES)
def _family(request, monkeypatch):
    monkeypatch.setattr(contract, "SMALL", FAMILIES[request.param])
    monkeypatch.setattr(contract, "MANY", 2000)


def test_every_family_is_in_the_list():
    """Return pools with two or more different models, for each kind of target that the family learns."""
    families = {
        kind.written: kind
        for kind in parts("pool").values()
        if issubclass(kind, Family) and kind.family is kind
    }
    assert set(CASES) == set(families)
    for name, case in CASES.items():
        expected = {"classes": {"classes"}, "numbers": {"numbers"}, "both": {"classes", "numbers"}}
        given = {target for target in ("classes", "numbers") if getattr(case, target)}
        assert given == expected[families[name].targets]
        for pool in filter(None, (case.classes, case.numbers)):
            assert pool.family is families[name]
            assert len({str(one) for one in pool.configurations}) >= 2


def test_passes_the_public_check():
    check_pool(contract.SMALL)


def test_a_seed_fixes_everything():
    """Another seed gives other choices; neighbours share instances and may still give the same predictions."""
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


@pytest.mark.parametrize(
    "values", [(0.3, 0.1 + 0.2), (5e-324, 0.0), (1e-200, 0.0), (1e17, 1e17 + 16, 1e17 + 32)]
)
def test_values_that_differ_by_a_rounding_error_leave_a_state_that_can_be_restored(values):
    rng = np.random.default_rng(1)
    X, y = rng.choice(values, (400, 2)), rng.integers(0, 2, 400)
    schema = Schema.of(["a", "b"], classes=["no", "yes"])
    bound = contract.SMALL.bind(schema, np.random.default_rng(1))
    Steps(bound.native).run(X, y, lambda: np.ones(contract.SMALL.n_models, bool))
    again = contract.SMALL.bind(schema, np.random.default_rng(1))
    again.restore(bound.state())


@pytest.mark.parametrize("watch", [-1, 3])
def test_who_looks_changes_nothing_that_is_learnt(watch):
    """Models that are not trained are evaluated rarely or never; training of the chosen models is unchanged."""
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
