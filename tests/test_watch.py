"""`watch` and `answer`: compared with a plain loop, in blocks and one at a time; savings of fewer evaluations."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as np
import pytest

import reference
from heros import DataError, Heros, HerosError, ParameterError, Schema, Stack, Top, policies, pools, scores
from member_cases import Fragile, Majority, Nearest, Witness
from test_ensemble import EVERY_POLICY, SMALL, InPython, data, drifting, equal_state, same

WATCHES = ["all", "trained", 3]
ANSWERS = ["best", "average", "weighted", Top(3, 20.0), Stack(3, 20.0, 0.1), Stack(3, 20.0, (0.01, 0.1, 0.5))]
SLOW_ANSWERS = {
    Top: lambda answer: (answer.n, answer.sharpness),
    Stack: lambda answer: reference.Stacked(len(FOUR), answer.n, answer.sharpness, answer.rate),
    str: str,
}
FOUR = [Majority(0.9), Nearest(0), Nearest(2, 0.01), Nearest(4)]
TREES = pools.HoeffdingGrid(max_bytes=[2048, 65536], grace_periods=[50, 200], costs="bytes")
JOINED = pools.Join(
    pools.MLPGrid(hidden=[4, 8], learning_rates=[0.05]),
    pools.Hoeffding([{}, {"max_bytes": 4096}], costs=[1, 1]),
    pools.Models([Nearest(0), Nearest(3)], costs=[1, 1]),
    costs=[1, 1, 1],
)
EVERY_POOL = {"mlp": SMALL, "trees": TREES, "joined": JOINED}
EXPLORING = (
    policies.Random, policies.Cand, policies.CandAsPublished, policies.Explore, policies.Everything, policies.MLCB,
)  # fmt: skip


def members():
    made = copy.deepcopy(FOUR)
    for member in made:
        member.bind(drifting(1).schema)
    return made


# Covers every pair of the three settings; not every combination of all three.
@pytest.mark.matrix
@pytest.mark.parametrize(
    ("policy", "answer", "watch"),
    [
        pytest.param(policy, answer, WATCHES[(i + j) % 3], id=f"{policy}-{WATCHES[(i + j) % 3]}-{answer}")
        for i, policy in enumerate(EVERY_POLICY)
        for j, answer in enumerate(ANSWERS)
    ],
)
def test_every_policy_watch_and_answer_equals_a_plain_loop(policy, watch, answer):
    """The same choices, scores and probabilities, before and after a drift."""
    X, y = data(1000)
    costs = np.arange(1.0, 5) / 10
    k = len(FOUR) if isinstance(policy, policies.Everything) else 2
    pool = pools.Models(FOUR, costs=costs)
    surprise = policy if isinstance(policy, policies.Surprise) else None
    chooser = policy.policy if surprise else policy
    made = partial(
        Heros, pool, policy, k, score=scores.Fading(0.98), answer=answer, warmup=20, seed=3,
        schema=drifting(1).schema,
    )  # fmt: skip
    if watch == "trained" and not isinstance(chooser, EXPLORING):
        with pytest.raises(
            ParameterError, match=r"this policy never explores and idle models would not be evaluated"
        ):
            made(watch=watch)
        watch = 8
    model = made(watch=watch)
    block = model.test_then_train(X, y)
    rng, looks, twin = np.random.default_rng(3), [], reference.stateful(policy)
    p, who, chosen, spent, reward = reference.step_loop(
        members(), costs, lambda L, c: twin.choose(L, c, k, rng), X, y, 2,
        answer=SLOW_ANSWERS[type(answer)](answer),
        warmup=20, watch=watch, score=lambda: reference.Fading(0.98), looks=looks,
        update=getattr(twin, "update", None), surprise=surprise, rng=rng,
    )  # fmt: skip
    assert np.array_equal(block.chosen, chosen)
    assert np.array_equal(block.answered, who)
    np.testing.assert_allclose(block.probabilities, p, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(block.spent, spent, rtol=1e-12)
    np.testing.assert_allclose(block.reward, reward, rtol=1e-9)
    assert np.array_equal(model.evaluated, np.sum(looks, axis=0))


def changing(n, seed=1):
    """Return a stream whose labels are random from the middle on."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = (X[:, 0] > 0).astype(int)
    y[n // 2 :] = rng.integers(0, 2, n - n // 2)
    return X, y


@pytest.mark.parametrize("watch", ["trained", 5])
@pytest.mark.parametrize("answer", ["best", Top(2, 20.0)], ids=str)
def test_a_burst_equals_a_plain_loop_and_comes_when_the_best_gets_worse(watch, answer):
    X, y = changing(2000)
    schema, costs = Schema.of(list("abcde"), ["no", "yes"]), np.full(4, 0.25)
    bound = copy.deepcopy(FOUR)
    for member in bound:
        member.bind(schema)
    policy = policies.Random()
    model = Heros(
        pools.Models(FOUR, costs=costs), policy, 1, score=scores.Fading(0.98), answer=answer, watch=watch, burst=150,
        warmup=20, seed=3, schema=schema,
    )  # fmt: skip
    block = model.test_then_train(X, y)
    rng, looks = np.random.default_rng(3), []
    p, _, chosen, _, _ = reference.step_loop(
        bound, costs, lambda L, c: policy.choose(L, c, 1, rng), X, y, 2,
        answer=(answer.n, answer.sharpness) if isinstance(answer, Top) else answer,
        warmup=20, watch=watch, score=lambda: reference.Fading(0.98), looks=looks, burst=150,
    )  # fmt: skip
    assert np.array_equal(block.chosen, chosen)
    np.testing.assert_allclose(block.probabilities, p, rtol=1e-9, atol=1e-12)
    assert np.array_equal(model.evaluated, np.sum(looks, axis=0))
    all_look = np.array(looks).all(axis=1)
    assert all_look[1000:1400].sum() >= 150
    assert all_look[500:1000].mean() < 0.2


@pytest.mark.parametrize("pool", EVERY_POOL)
def test_a_burst_does_not_depend_on_blocks_and_is_kept_by_copies(pool, tmp_path):
    X, y = changing(1200)
    settings = {
        "watch": "trained",
        "burst": 200,
        "seed": 7,
        "schema": Schema.of(list("abcde"), ["no", "yes"]),
    }
    policy = policies.Explore(policies.Zeta(0.05), 0.2)
    whole = Heros(EVERY_POOL[pool], policy, 2, **settings)
    block = whole.test_then_train(X, y)
    off = Heros(EVERY_POOL[pool], policy, 2, **settings | {"burst": 0}).learn(X, y)
    assert whole.evaluated.sum() > off.evaluated.sum() + 150  # there was a burst
    for size in (1, 50):
        cut = Heros(EVERY_POOL[pool], policy, 2, **settings)
        for start in range(0, len(X), size):
            mine = cut.test_then_train(X[start : start + size], y[start : start + size])
            assert np.array_equal(mine.probabilities, block.probabilities[start : start + size])
            if size == 50:
                cut = copy.deepcopy(cut)
                if pool != "joined":
                    cut.save(tmp_path / "model")
                    cut = Heros.load(tmp_path / "model")
        assert np.array_equal(cut.evaluated, whole.evaluated)
        if pool != "joined":
            assert equal_state(cut, whole)


def test_without_a_burst_files_hold_nothing_of_it():
    X, y = data(50)
    model = Heros(SMALL, k=3, watch="trained", seed=1, schema=drifting(1).schema).learn(X, y)
    assert not [name for name in model.state()["ensemble"] if name.startswith("burst")]


@pytest.mark.parametrize("watch", ["trained", 5])
def test_perceptrons_that_look_now_and_then_equal_slow_ones(watch):
    """Delayed Adam updates of a model that is not trained are applied at its next evaluation."""
    X, y = data(600)
    schema = drifting(10).schema
    policy = policies.Explore(policies.Zeta(0.05), 0.3)
    model = Heros(SMALL, policy, 3, watch=watch, warmup=20, seed=5, schema=schema)
    block = model.test_then_train(X, y)
    fresh = Heros(SMALL, k=3, seed=5, schema=schema)
    slow = [
        reference.Perceptron(fresh.bound.weights(i), c["optimizer"], c["learning_rate"])
        for i, c in enumerate(SMALL.configurations)
    ]
    values = [len(f.values or ()) for f in schema.features]
    for t in range(len(X)):
        x = reference.encode(values, X[:t], X[t])
        expected = slow[block.answered[t]].forward(x)
        np.testing.assert_allclose(block.probabilities[t], expected, atol=5e-3)
        for i in np.flatnonzero(block.chosen[t]):
            slow[i].forward(x)
            slow[i].train(x, y[t])
    assert model.evaluated.sum() < 0.7 * len(X) * len(slow)
    last = reference.encode(values, X[:-1], X[-1])
    for i, perceptron in enumerate(slow):
        alone = Heros(pools.MLP([SMALL.configurations[i]]), k=1, schema=schema)
        alone.learn(X[:-1], y[:-1])  # for the encoder, which has seen the same instances
        alone.bound.set_weights(0, model.bound.weights(i))
        np.testing.assert_allclose(alone.predict_proba(X[-1]), perceptron.forward(last), atol=5e-3)


@pytest.mark.matrix
@pytest.mark.parametrize("answer", ["best", Top(3, 20.0), "average", Stack(rate=0.1)], ids=str)
@pytest.mark.parametrize("watch", ["trained", 4])
@pytest.mark.parametrize("pool", EVERY_POOL)
def test_results_do_not_depend_on_how_blocks_are_cut(pool, watch, answer):
    X, y = data(700)
    settings = {"watch": watch, "answer": answer, "seed": 7, "schema": drifting(10).schema}
    policy = policies.Explore(policies.Zeta(0.05), 0.2)
    whole = Heros(EVERY_POOL[pool], policy, 2, **settings)
    block = whole.test_then_train(X, y)
    for size in (1, 7, 256):
        cut = Heros(EVERY_POOL[pool], policy, 2, **settings)
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            if size == 1:
                assert np.array_equal(cut.predict_proba(X[start]), block.probabilities[start]), start
                cut.predict_proba(X[:2])  # predictions change nothing
            mine = cut.test_then_train(X[part], y[part])
            assert np.array_equal(mine.probabilities, block.probabilities[part])
            assert np.array_equal(mine.chosen, block.chosen[part])
        assert np.array_equal(cut.scores, whole.scores)
        assert np.array_equal(cut.evaluated, whole.evaluated)
        if pool != "joined":  # the state of Python models is their pickle
            assert equal_state(cut, whole)


@pytest.mark.parametrize("pool", EVERY_POOL)
def test_if_all_are_trained_it_does_not_matter_who_is_watched(pool):
    """A mask with all models is equal to no mask, bit for bit."""
    X, y = data(700)
    settings = {"seed": 1, "schema": drifting(10).schema}
    runs = [
        Heros(EVERY_POOL[pool], policies.Everything(), watch=watch, **settings).test_then_train(X, y)
        for watch in ("all", "trained", 1)
    ]
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])


@pytest.mark.parametrize("pool", EVERY_POOL)
def test_a_policy_in_python_equals_the_compiled_one_whoever_looks(pool):
    X, y = data(1000)
    policy = policies.Explore(policies.Cand(), 0.1)
    models = [
        Heros(EVERY_POOL[pool], p, 2, watch="trained", seed=3, schema=drifting(10).schema)
        for p in (policy, InPython(policy))
    ]
    assert same(*(model.test_then_train(X, y) for model in models))
    assert np.array_equal(models[0].scores, models[1].scores)


@pytest.mark.parametrize("watch", ["trained", 4])
def test_who_does_not_look_is_not_asked(watch):
    X, y = data(300)
    pool = pools.Models([Witness() for _ in range(5)], costs=[1] * 5)
    model = Heros(pool, policies.Random(), 1, watch=watch, warmup=10, seed=1, schema=drifting(1).schema)
    model.learn(X, y)
    asked = [len(model.bound[name].asked) for name in pool.names]
    assert asked == model.evaluated.tolist()
    assert sum(asked) < (0.45 if watch == "trained" else 0.6) * 5 * 300


@pytest.mark.parametrize("policy", [policies.Cheapest(), policies.Explore(policies.Cheapest(), 0)], ids=str)
def test_a_policy_that_never_explores_must_evaluate_idle_models(policy):
    X, y = data(900)
    pool = pools.MLP([{"hidden": 4}, {"hidden": 16}, {"hidden": 64}])
    settings = {"warmup": 100, "seed": 1, "schema": drifting(1).schema}
    rule = r"'all' or a whole number, e\.g\. 8, with .*, because this policy never explores .* Got 'trained' instead\.$"
    with pytest.raises(ParameterError, match=rule):
        Heros(pool, policy, 1, watch="trained", **settings)
    model = Heros(pool, policies.Cand(), 1, watch="trained", **settings)
    with pytest.raises(ParameterError, match=rule):
        model.policy = policy
    assert model.policy == policies.Cand()
    model = Heros(pool, policy, 1, watch=8, **settings).learn(X, y)
    assert model.trained.tolist() == [900, 100, 100]
    assert (model.evaluated >= 100 + 800 / 8).all()
    own = Heros(pool, InPython(policy), 1, watch="trained", **settings).learn(X, y)
    assert own.evaluated.sum() < model.evaluated.sum()  # its effect is unknown, so its author decides


def test_the_policy_chooses_from_what_was_known_before_the_instance():
    class Noting:
        def __init__(self):
            self.seen = []

        def choose(self, scores, costs, k, rng):
            self.seen.append(scores)
            return policies.PerformBest().choose(scores, costs, k, rng)

    X, y = data(40)
    policy = Noting()
    model = Heros(SMALL, policy, 3, watch="trained", warmup=0, seed=1, schema=drifting(1).schema)
    for t in range(len(X)):
        before = model.scores
        model.learn(X[t], y[t])
        assert np.array_equal(policy.seen[-1], before)
    reasons = model.explain_choice()
    assert [choice.score for choice in reasons] == [policy.seen[-1][choice.model] for choice in reasons]


@pytest.mark.parametrize(
    "copying", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
@pytest.mark.parametrize(
    "score", [scores.Adwin(), scores.Window(50), scores.Fading(), scores.Cumulative()], ids=repr
)
@pytest.mark.parametrize("answer", [Top(4), Stack(4)], ids=str)
def test_a_copy_in_mid_stream_goes_on_bit_for_bit(copying, score, answer, tmp_path):
    X, y = data(1000)
    policy = policies.Explore(policies.Cand(), 0.2)
    settings = {"watch": 6, "answer": answer, "score": score, "seed": 2, "schema": drifting(10).schema}
    model = Heros(SMALL, policy, 3, **settings).learn(X[:577], y[:577])
    model.save(tmp_path / "model.heros")
    twins = [copying(model), Heros.load(tmp_path / "model.heros")]
    assert (twins[1].watch, twins[1].answer) == (6, answer)
    expected = model.test_then_train(X[577:], y[577:])
    for twin in twins:
        assert same(twin.test_then_train(X[577:], y[577:]), expected)
        assert equal_state(model, twin)
        assert np.array_equal(twin.evaluated, model.evaluated)


class Broken:
    """A policy that raises an error after some choices."""

    def __init__(self, choices):
        self.left = choices

    def choose(self, scores, costs, k, rng):
        self.left -= 1
        if self.left < 0:
            raise KeyError("mine")
        return policies.PerformBest().choose(scores, costs, k, rng)


@pytest.mark.parametrize("size", [1, 30])
def test_a_policy_that_raises_leaves_everything_before_it_learnt(size):
    X, y = data(30)
    settings = {"watch": "trained", "warmup": 10, "seed": 1, "schema": drifting(1).schema}
    model = Heros(SMALL, Broken(7), 3, **settings)

    def learn():
        for start in range(0, len(X), size):
            model.learn(X[start : start + size], y[start : start + size])

    with pytest.raises(KeyError, match="mine"):
        learn()
    assert model.instances == 17
    assert equal_state(model, Heros(SMALL, Broken(99), 3, **settings).learn(X[:17], y[:17]))


def test_a_model_set_aside_is_not_paid_for_whoever_looks():
    X, y = data(200)
    pool = pools.Models([Majority(), Fragile("learn", 40), Nearest(0)], costs=[1, 1, 1])
    settings = {"watch": "trained", "warmup": 0, "seed": 1, "schema": drifting(1).schema}
    runs = []
    for size in (1, 200):
        model = Heros(pool, policies.Random(), 1, **settings)
        with pytest.warns(RuntimeWarning, match="The model is excluded"):
            blocks = [model.test_then_train(X[s : s + size], y[s : s + size]) for s in range(0, 200, size)]
        runs.append((np.concatenate([b.chosen for b in blocks]), model.trained, model.scores, model.diverged))
    for one, other in zip(*runs, strict=True):
        assert np.array_equal(one, other)
    assert runs[0][1][1] == 41  # the cost of the failed instance is counted
    assert runs[0][3].tolist() == [False, True, False]


def test_a_model_that_is_not_sound_does_not_answer():
    schema = Schema.of(["a", "b"], ["no", "yes"])
    X = np.random.default_rng(1).standard_normal((50, 2))
    pool = pools.Models([Fragile("none", says=[np.nan, 1.0]), Nearest(0), Nearest(1)], costs=[1, 1, 1])
    for answer in ("best", Top(2, 0.0), Stack(2, 0.0)):
        model = Heros(pool, policies.Everything(), answer=answer, watch="trained", schema=schema)
        block = model.test_then_train(X, np.arange(50) % 2)
        assert np.isfinite(block.probabilities).all()
        assert 0 not in block.answered
    alone = pools.Models([Fragile("none", says=[np.nan, 1.0])], costs=[1])
    block = Heros(alone, watch="trained", schema=schema).test_then_train(X[:3], [0, 1, 0])
    assert block.probabilities.tolist() == [[0.5, 0.5]] * 3


def test_top_of_one_is_the_best_and_without_sharpness_all_count_the_same():
    X, y = data(400)
    settings = {"k": 3, "seed": 1, "schema": drifting(1).schema}
    best, one, average, flat = (
        Heros(SMALL, answer=answer, **settings).test_then_train(X, y)
        for answer in ("best", Top(1), "average", Top(99, 0.0))
    )
    assert np.array_equal(one.probabilities, best.probabilities)
    np.testing.assert_allclose(flat.probabilities, average.probabilities, rtol=1e-12)
    assert set(flat.answered) == {-1}


def test_a_stack_is_better_than_what_it_is_made_of_where_models_know_different_things():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 2))
    y = (X.sum(axis=1) + 0.3 * rng.standard_normal(3000) > 0).astype(int)
    pool = pools.Join(
        *(pools.Models([Nearest(feature, 0.05)], costs=[1]) for feature in (0, 1)), costs=[1, 1]
    )
    schema = Schema.of(["a", "b"], ["no", "yes"])
    right = {}
    for answer in ("best", Top(2), Stack(rate=0.1)):
        model = Heros(pool, policies.Everything(), 2, answer=answer, seed=1, schema=schema)
        right[str(answer)] = (model.test_then_train(X, y).probabilities.argmax(axis=1) == y).mean()
    assert right["Stack(5, 60, 0.1)"] > max(right["best"], right["Top(2, 60)"])


def test_stored_weights_of_a_stack_must_be_those_of_its_models():
    X, y = data(100)
    model = Heros(SMALL, k=3, answer=Stack(), seed=1, schema=drifting(1).schema).learn(X, y)
    state = model._learner.step.state()
    for wrong in (state["stack"][:-1], np.full_like(state["stack"], np.nan)):
        with pytest.raises(DataError, match="The state does not fit: "):
            model._learner.step.restore({**state, "stack": wrong})
    model._learner.step.restore(state)


def test_another_policy_takes_over_in_mid_stream():
    X, y = data(600)
    model = Heros(SMALL, policies.Cand(), 3, watch=8, seed=1, schema=drifting(1).schema)
    before = model.learn(X[:300], y[:300]).trained
    model.policy, model.k = policies.Cheapest(), 1
    block = model.test_then_train(X[300:], y[300:])
    assert set(block.chosen.sum(axis=1)) == {1}
    assert (model.trained - before)[np.argmin(model.costs)] == 300
    with pytest.raises(ParameterError, match="The 'k' parameter of Heros must be a whole number in"):
        model.k = 0
    with pytest.raises(ParameterError, match="The 'policy' parameter of Heros must be one of"):
        model.policy = "zetta"
    assert (model.k, model.policy) == (1, policies.Cheapest())


def test_looks_are_counted_where_all_look():
    X, y = data(50)
    model = Heros(SMALL, k=3, seed=1, schema=drifting(1).schema).learn(X, y)
    assert model.evaluated.tolist() == [50] * SMALL.n_models
    with pytest.raises(HerosError, match="has not been trained yet"):
        _ = Heros(SMALL).evaluated


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Heros(SMALL, watch="some"), "The 'watch' parameter of Heros must be 'all', 'trained' or a whole number >= 1. Got 'some' instead."),
        (lambda: Heros(SMALL, watch=0), "The 'watch' parameter of Heros must be 'all', 'trained' or a whole number >= 1. Got 0 instead."),
        (lambda: Heros(SMALL, watch=True), "The 'watch' parameter of Heros must be 'all', 'trained' or a whole number >= 1. Got True instead."),
        (lambda: Heros(SMALL, burst=9), "The 'burst' parameter of Heros must be 0 if all models are evaluated (watch='all'). Got 9 instead."),
        (lambda: Heros(SMALL, watch=3, burst=-1), "The 'burst' parameter of Heros must be a whole number in [0, 4611686018427387904]. Got -1 instead."),
        (lambda: Top(0), "The 'n' parameter of Top must be a whole number in [1, 2147483647]. Got 0 instead."),
        (lambda: Stack(rate=2), "The 'rate' parameter of Stack must be in [0, 1]. Got 2 instead."),
        (lambda: Stack(rate=(0.1, 2)), "The 'rate' parameter of Stack must be in [0, 1]. Got 2 instead."),
        (lambda: Stack(rate=()), "The 'rate' parameter of Stack must be in [0, 1]. Got () instead."),
        (lambda: Stack(sure=2), "The 'sure' parameter of Stack must be in [0, 1]. Got 2 instead."),
        (lambda: Stack(0), "The 'n' parameter of Stack must be a whole number in [1, 2147483647]. Got 0 instead."),
        (lambda: Top(3, -1), "The 'sharpness' parameter of Top must be a number >= 0. Got -1 instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


def test_a_drifting_stream_is_learnt_as_well_by_those_who_look_less():
    X, y = data(6000)
    hits = {}
    for watch in ("all", "trained"):
        model = Heros(SMALL, policies.Cand(), 5, watch=watch, seed=1, schema=drifting(1).schema)
        hits[watch] = (model.test_then_train(X, y).probabilities.argmax(axis=1) == y).mean()
    assert hits["trained"] > hits["all"] - 0.02
