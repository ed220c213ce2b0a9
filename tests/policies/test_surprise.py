"""Surprise rarely trains on expected instances: compared with a plain loop, after drift, and with all options."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import reference
from heros import Heros, ParameterError, Schema, Stack, policies, pools
from heros.ensemble.late import LateLabels
from heros.policies import Cand, Everything, Explore, Surprise, Zeta
from member_cases import Majority, Nearest
from reference_labels import FollowingClasses
from reference_neighbours import Neighbours

SCHEMA = Schema.of(list("abc"), ["no", "yes"])


def easy(n=1500, noise=0.0, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, (X[:, 0] + noise * rng.standard_normal(n) > 0).astype(int)


def small(policy, pool=None, schema=SCHEMA, **settings):
    pool = pool or pools.Linear([{"optimizer": "sgd", "learning_rate": 0.5}, {"learning_rate": 0.05}])
    return Heros(pool, policy, pool.n_models, seed=1, schema=schema, **settings)


class Memory:
    """A slow version of a memory of labels, which reads the number of earlier labels from the first feature."""

    always_learns = True

    def __init__(self, y):
        self.y, self.twin = y, FollowingClasses(2)

    def predict_proba(self, x):
        return self.twin.predict(self.y[: int(x[0])][::-1].tolist())

    def learn(self, x, label):
        self.twin.learn(self.y[: int(x[0])][::-1].tolist(), int(label))


@pytest.mark.parametrize("watch", ["all", 8])
@pytest.mark.parametrize("answer", ["average", Stack(2, 20.0, 0.1)], ids=str)
def test_equal_to_a_plain_loop_where_some_always_learn(answer, watch):
    X, y = easy(400, noise=0.3)
    y = np.repeat(y[:100], 4)
    X[:, 0] = np.arange(400)
    members = [Majority(0.9), Nearest(1)]
    pool = pools.Join(pools.Models(members, costs=[1, 2]), pools.LabelMemory([{}]), costs=[2, 1])
    policy = Surprise(policies.PerformBest(), sure=0.6, share=0.3)
    model = Heros(pool, policy, 2, answer=answer, watch=watch, warmup=10, seed=3, schema=SCHEMA)
    block = model.test_then_train(X, y)
    twins = [*copy.deepcopy(members), Memory(y)]
    for twin in twins[:2]:
        twin.bind(SCHEMA)
    slow = reference.Stacked(3, 2, 20.0, 0.1) if isinstance(answer, Stack) else answer
    p, _, chosen, spent, _ = reference.step_loop(
        twins, model.costs, lambda L, c: reference.perform_best(L, c, 2), X, y, 2, answer=slow, warmup=10,
        watch=watch, surprise=policy, rng=np.random.default_rng(3),
    )  # fmt: skip
    assert np.array_equal(block.chosen, chosen)
    np.testing.assert_allclose(block.probabilities, p, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(block.spent, spent, rtol=1e-12)
    assert (chosen.sum(axis=1) == 1).any()


class Near:
    """A slow version of nearest neighbours, which evaluates only the requested models."""

    always_learns = True

    def __init__(self):
        self.twin, self.spared = Neighbours([(1200, 3, "distance")], [0, 0, 0], 2, forget=0.01), False

    def expect(self, expected, looked):
        self.spared = expected and not looked

    def predict_proba(self, x):
        return self.twin.look(x)[0]

    def learn(self, x, label):
        self.twin.learn(x, int(label), [True], self.spared)


def test_slow_models_are_asked_only_where_the_others_are_not_sure_as_in_a_plain_loop():
    X, y = easy(600, noise=0.3)
    X[300:, 0] *= -1  # labels that the models do not expect
    members, answer = [Majority(0.9), Nearest(0)], Stack(2, 20.0, 0.1, 0.8)
    near = pools.Neighbours([{"window": 1200, "neighbours": 3}], forget=0.01)
    pool = pools.Join(pools.Models(members, costs=[1, 2]), near, costs=[2, 1])
    policy = Surprise(Everything(), sure=0.8, share=0.3)
    model = Heros(pool, policy, 3, answer=answer, warmup=10, seed=3, schema=SCHEMA)
    parts = [model.test_then_train(X[:250], y[:250]), model.test_then_train(X[250:], y[250:])]
    twins, looks = [*copy.deepcopy(members), Near()], []
    for twin in twins[:2]:
        twin.bind(SCHEMA)
    slow = reference.Stacked(3, 2, 20.0, 0.1, sure=0.8, last=np.array([False, False, True]))
    p, _, chosen, spent, reward = reference.step_loop(
        twins, model.costs, lambda L, c: np.ones(3, dtype=bool), X, y, 2, answer=slow, warmup=10, surprise=policy,
        rng=np.random.default_rng(3), looks=looks,
    )  # fmt: skip
    assert np.array_equal(np.concatenate([part.chosen for part in parts]), chosen)
    np.testing.assert_allclose(
        np.concatenate([part.probabilities for part in parts]), p, rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(np.concatenate([part.spent for part in parts]), spent, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([part.reward for part in parts]), reward, rtol=1e-9)
    assert np.array_equal(model.evaluated, np.sum(looks, axis=0))
    assert 100 < model.evaluated[2] < 550
    assert model.evaluated[0] == 600


@pytest.mark.parametrize("after", [0, 2000])
def test_slow_models_rest_while_the_loss_is_steady(after):
    X, y = easy(6000, noise=0.3, seed=2)
    y[4000:] = 1 - y[4000:]  # a change
    pool = pools.Join(
        pools.Linear([{"optimizer": "sgd", "learning_rate": 0.5}]), pools.Forest([{"trees": 3}]), costs=[1, 2]
    )
    policy = Surprise(Everything(), sure=0.95, share=0.3, steady=0.4, after=after)
    model = Heros(pool, policy, 2, answer="average", warmup=10, seed=3, schema=SCHEMA)
    block = model.test_then_train(X, y)
    given, recent, steady = block.probabilities[np.arange(6000), y], reference.RecentLoss(), []
    for p in given:
        steady.append(recent.steady)
        recent.note(1 - p)
    steady, (linear, forest) = np.array(steady), block.chosen.T
    assert linear[given <= 0.95].all()
    assert np.array_equal(forest[~steady], linear[~steady])
    assert not forest[~linear].any()
    share = np.clip(after / np.maximum(np.arange(6000), 1), 0.4, 1)[linear & steady]
    assert forest[linear & steady].mean() == pytest.approx(share.mean(), abs=0.04)
    assert (linear & steady).sum() > 1000
    assert forest[4050:4200].mean() > 0.8


def test_a_stack_that_asks_in_turns_predicts_alike_and_goes_on_from_a_file(tmp_path):
    X, y = easy(900, noise=0.3)
    pool = pools.Join(
        pools.Linear([{"learning_rate": 0.05}]),
        pools.Forest([{"trees": 3}]),
        pools.Retrained([{"trees": 3}]),
        costs=[1] * 3,
    )
    model = small(Surprise(Everything(), 0.8), pool, answer=Stack(sure=0.8))
    model.learn(X[:600], y[:600])
    before = model.predict_proba(X[600:601])
    model.save(tmp_path / "model.heros")
    again = Heros.load(tmp_path / "model.heros")
    mine, its = (one.test_then_train(X[600:], y[600:]) for one in (model, again))
    assert np.array_equal(before[0], mine.probabilities[0])
    assert np.array_equal(mine.probabilities, its.probabilities)
    assert np.array_equal(mine.chosen, its.chosen)
    assert model.evaluated[1] < 0.8 * model.evaluated[0]


def test_nothing_is_asked_in_turns_for_numbers_nor_where_not_all_look():
    X, y = easy(300)
    pool = pools.Join(pools.Linear([{}]), pools.Neighbours([{"window": 2000}]), costs=[1, 1])
    for settings in ({"schema": Schema.of(list("abc"))}, {"watch": "trained"}):
        turns, plain = (small(Everything(), pool, answer=Stack(sure=sure), **settings) for sure in (0.5, 1.0))
        for model in (turns, plain):
            model.learn(X, y)
        assert np.array_equal(turns.predict_proba(X) if "watch" in settings else turns.predict(X),
                              plain.predict_proba(X) if "watch" in settings else plain.predict(X))  # fmt: skip
        assert (turns.evaluated == 300).all()


def test_expected_instances_put_a_retraining_off():
    X, y = easy(4000)
    often, seldom = (
        small(
            policy, pools.Retrained([{"every": 200, "trees": 5, "window": 500}]), answer="average", warmup=0
        )
        for policy in (Everything(), Surprise(Everything(), sure=0.7))
    )
    for model in (often, seldom):
        model.learn(X, y)
        assert model.trained[0] == 4000
    trainings = [model.bound.stats()[0].trainings for model in (often, seldom)]
    assert trainings[0] / 4 <= trainings[1] < trainings[0] / 2


def test_a_steady_loss_puts_a_retraining_off_until_a_change():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((9000, 3))
    likely = rng.random(9000) < 0.8  # so that no prediction is certain
    before, after = X[:6000, 0] > 0, X[6000:, 1] > 0
    y = (np.concatenate([before, after]) == likely).astype(int)
    pool = pools.Retrained([{"every": 200, "trees": 5, "window": 1000}])
    always, steady = (
        small(policy, pool, answer="average", warmup=0)
        for policy in (Everything(), Surprise(Everything(), sure=1.0))
    )

    def trainings(model, rows):
        first = model.bound.stats()[0].trainings
        model.learn(X[rows], y[rows])
        return model.bound.stats()[0].trainings - first

    for model in (always, steady):
        trainings(model, slice(0, 2000))
    often, seldom = (trainings(model, slice(2000, 6000)) for model in (always, steady))
    assert seldom < 0.6 * often
    assert trainings(steady, slice(6000, 6600)) / 600 > 1.5 * seldom / 4000


def test_nothing_is_expected_beyond_certainty_and_everything_is_trained_at_a_share_of_one():
    X, y = easy(500)
    plain = small(Everything()).test_then_train(X, y)
    for policy in (Surprise(Everything(), sure=1.0), Surprise(Everything(), share=1.0)):
        assert np.array_equal(small(policy).test_then_train(X, y).probabilities, plain.probabilities)


def test_what_is_expected_is_trained_on_at_the_share_asked_for():
    X, y = easy(6000)
    model = small(Surprise(Everything(), sure=0.9, share=0.25))
    block = model.test_then_train(X, y)
    given = block.probabilities[np.arange(6000), y]
    trained = block.chosen.all(axis=1)
    assert trained[given <= 0.9].all()
    assert trained[given > 0.9].mean() == pytest.approx(0.25, abs=0.02)
    assert (model.trained == trained.sum()).all()
    assert block.spent.sum() == pytest.approx(trained.sum())


@pytest.mark.parametrize("numeric", [False, True])
def test_training_goes_up_after_a_change(numeric):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6000, 3))
    sign = np.where(np.arange(6000) < 3000, 1.0, -1.0)
    if numeric:
        y, schema = sign * X[:, 0] + 0.1 * rng.standard_normal(6000), Schema.of(list("abc"))
    else:
        y, schema = (sign * X[:, 0] > 0).astype(int), SCHEMA
    model = small(Surprise(Everything(), sure=0.9), schema=schema)
    trained = model.test_then_train(X, y).chosen.all(axis=1)
    before, after = trained[2500:3000].mean(), trained[3000:3030].mean()
    assert after > 0.85
    assert before < 0.8 * after


def test_numbers_surprise_beyond_a_share_of_their_interval():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.3 * rng.standard_normal(3000)
    model = small(Surprise(Everything(), share=0.0, inside=0.5), schema=Schema.of(list("abc")))
    block = model.test_then_train(X, y)
    half = (block.outputs[:, 2] - block.outputs[:, 1]) / 2
    surprising = np.abs(block.outputs[:, 0] - y) >= 0.5 * half
    assert np.array_equal(block.chosen.all(axis=1)[model.warmup :], surprising[model.warmup :])
    assert 0.3 < surprising[1000:].mean() < 0.6


def test_with_a_pace_an_own_policy_weights_and_late_labels():
    class First:
        def __init__(self):
            self.told = []

        def choose(self, scores, costs, k, rng):
            return np.arange(len(scores)) < 1

        def update(self, outcomes, trained):
            self.told.append(trained.copy())

    X, y = easy(600)
    own = First()
    model = small(Surprise(own, sure=0.8, share=0.0))
    block = model.test_then_train(X, y)
    assert np.array_equal(np.array(own.told), block.chosen)
    assert not block.chosen[-100:].all(axis=1).any()
    paced = small(Surprise(Cand(), 0.8), budget="1 s")
    assert paced.test_then_train(X, y).chosen.any(axis=1).mean() < 0.9
    weighed = small(Surprise(Everything(), 0.8)).test_then_train(X, y, sample_weight=np.full(600, 2.0))
    assert weighed.chosen.any(axis=1).mean() < 0.8
    late = LateLabels(small(Surprise(Everything(), 0.8)))
    for t in range(600):
        late.answer(t, X[t])
        if t >= 5:
            late.learn(t - 5, int(y[t - 5]))
    assert late.model.trained[0] < 0.8 * late.model.instances


def test_a_step_explains_that_nothing_was_trained():
    X, y = easy(800)
    model = small(Surprise(Explore(Zeta(0.05), 0.2), sure=0.6, share=0.0))
    model.learn(X, y)
    while not model.predict_proba(X[0])[y[0]] > 0.6:
        model.learn(X[:1], y[:1])
    model.learn(X[:1], y[:1])
    told = model.explain_choice()
    assert "as expected, so only 0 of" in told.rule
    assert len(told) == 0
    model.learn(X[:1], 1 - y[:1])
    assert "chose" in model.explain_choice().rule
    assert len(model.explain_choice()) >= 1


def test_from_a_file_it_goes_on_bit_for_bit(tmp_path):
    X, y = easy(800, noise=0.5)
    model = small(Surprise(Cand(), 0.7, 0.3))
    model.learn(X[:400], y[:400])
    model.save(tmp_path / "model.heros")
    again = Heros.load(tmp_path / "model.heros")
    assert again.policy == Surprise(Cand(), 0.7, 0.3)
    mine, its = (one.test_then_train(X[400:], y[400:]) for one in (model, again))
    assert np.array_equal(mine.chosen, its.chosen)
    assert np.array_equal(mine.probabilities, its.probabilities)


def test_a_policy_that_is_changed_on_the_way():
    X, y = easy(600)
    model = small(Everything())
    model.learn(X, y)
    model.policy = Surprise(Everything(), 0.8, 0.0)
    assert model.test_then_train(X, y).chosen.any(axis=1).mean() < 0.5
    model.policy = Everything()
    assert model.test_then_train(X, y).chosen.all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Surprise(Cand(), 1.5), "The 'sure' parameter of Surprise must be in [0, 1]. Got 1.5 instead."),
        (lambda: Surprise(Cand(), 0.9, -1), "The 'share' parameter of Surprise must be in [0, 1]. Got -1 instead."),
        (lambda: Surprise(Cand(), inside=-1), "The 'inside' parameter of Surprise must be a number >= 0. Got -1 instead."),
        (lambda: Surprise(Cand(), steady=2), "The 'steady' parameter of Surprise must be in [0, 1]. Got 2 instead."),
        (lambda: Surprise(0.5), "The 'policy' parameter of Surprise must be a policy (an object with a 'choose' method). Got 0.5 instead."),
        (lambda: Surprise(Surprise(Cand())), "The 'policy' parameter of Surprise must be a policy without another Surprise. Got Surprise(policy=Cand(), sure=0.95, share=0.1, inside=0.25, steady=1.0, after=25000) instead."),
        (lambda: Explore(Surprise(Cand()), 0.1), "The 'policy' parameter of Explore must be a policy that Explore can wrap (wrap Explore in Surprise instead). Got Surprise(policy=Cand(), sure=0.95, share=0.1, inside=0.25, steady=1.0, after=25000) instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message
