"""Nearest neighbours, compared with the slow version and scikit-learn; windows, fading, byte limit, growth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import reference_neighbours as reference
from heros import Feature, Heros, ParameterError, Schema, evaluate, policies, pools, streams
from tree_cases import Steps, random_case

MODELS = [
    (40, 3, "distance"),
    (90, 1, "uniform"),
    (90, 7, "distance"),
    (300, 12, "uniform"),
    (1, 5, "distance"),
]


def configurations(models):
    return [{"window": w, "neighbours": k, "weighting": weighting} for w, k, weighting in models]


def schema_of(case):
    kinds = [None if n == 0 else tuple(map(str, range(n))) for n in case.values]
    features = tuple(Feature(f"f{i}", values, missing=True) for i, values in enumerate(kinds))
    return Schema(features, tuple(map(str, range(case.classes))))


def bound(case, models, **settings):
    pool = pools.Neighbours(configurations(models), **settings)
    return pool.bind(schema_of(case), np.random.default_rng(1))


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("forget", [None, 0.3])
def test_equal_to_the_slow_twin(seed, forget):
    """Return each model's probabilities; at every step some models are chosen, sometimes none."""
    case = random_case(seed, 240)
    ours = bound(case, MODELS, forget=forget)
    twin = reference.Neighbours(MODELS, case.values, case.classes, forget=forget)
    rng = np.random.default_rng(seed)
    chosen = rng.random((len(case.y), len(MODELS))) < 0.3
    turns = iter(chosen)
    found = Steps(ours.native).run(case.X, case.y, lambda: next(turns))
    agree = 0
    for t, (x, y) in enumerate(zip(case.X, case.y, strict=True)):
        p = np.mean(twin.look(x), axis=0)
        agree += np.allclose(found[t], p, atol=1e-4)
        twin.learn(x, y, chosen[t])
    assert agree >= 0.99 * len(case.y)  # the last bit may decide between two rows at the same distance


def numbers(n, seed=1, features=6, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)).astype(np.float32).astype(np.float64)
    y = rng.integers(0, classes, n)
    X[:, 0] += y
    return X, y, Schema.of([f"f{j}" for j in range(features)], [str(c) for c in range(classes)])


@pytest.mark.parametrize("weighting", ["uniform", "distance"])
@pytest.mark.parametrize(("window", "k"), [(50, 1), (200, 5), (1000, 20)])
def test_equal_to_scikit_learns_brute_force(window, k, weighting):
    """Compare on the same windows: the stored rows are in the state."""
    X, y, schema = numbers(900)
    pool = pools.Neighbours([{"window": window, "neighbours": k, "weighting": weighting}], forget=None)
    model = Heros(pool, policies.Everything(), 1, seed=1, schema=schema).learn(X, y)
    state = model.bound.state()
    rows = state["numbers"].reshape(-1, 6)[-window:].astype(np.float64)
    labels = state["targets"][-window:].astype(int)
    weights = "uniform" if weighting == "uniform" else lambda d: 1 / (d + reference.EPSILON)
    theirs = KNeighborsClassifier(min(k, len(rows)), weights=weights, algorithm="brute").fit(rows, labels)
    questions = X[-100:] + 0.01
    asked = np.array([_as_kept(model, x) for x in questions])
    distances, _ = theirs.kneighbors(asked)
    total = (np.ones_like(distances) if weighting == "uniform" else weights(distances)).sum(
        axis=1, keepdims=True
    )
    expected = (theirs.predict_proba(asked) * total + reference.SMOOTHING) / (total + 3 * reference.SMOOTHING)
    np.testing.assert_allclose(model.predict_proba(questions), expected, atol=2e-5)


def _as_kept(model, x):
    """Return x as the store would hold it, learnt by a copy."""
    again = model.pool.bind(model.schema, np.random.default_rng(1))
    again.restore(model.bound.state())
    Steps(again.native).run(x[None], np.zeros(1))
    return again.state()["numbers"].reshape(-1, 6)[-1].astype(np.float64)


def test_a_store_is_shared_and_takes_what_any_model_is_chosen_for():
    X, y, schema = numbers(400)
    pool = pools.Neighbours([{"window": 100}, {"window": 200}], forget=None)

    class Second:
        def choose(self, scores, costs, k, rng):
            return np.array([False, True])

    class Nobody:
        def choose(self, scores, costs, k, rng):
            return np.array([False, False])

    everything = Heros(pool, policies.Everything(), 2, seed=1, schema=schema)
    second = Heros(pool, Second(), 1, seed=1, warmup=0, schema=schema)
    assert np.array_equal(
        everything.test_then_train(X, y).probabilities, second.test_then_train(X, y).probabilities
    )
    assert [s.rows for s in second.bound.stats()] == [100, 200]
    nobody = Heros(pool, Nobody(), 1, seed=1, warmup=0, schema=schema).learn(X, y)
    assert [s.rows for s in nobody.bound.stats()] == [0, 0]
    assert np.allclose(nobody.predict_proba(X[0]), 1 / 3)


def test_a_change_makes_windows_shorter_and_the_answers_better():
    X, y, schema = numbers(6000, classes=2)
    y = (X[:, 0] > 0.5).astype(int)
    y[3000:] = 1 - y[3000:]

    def hits_after(forget):
        pool = pools.Neighbours([{"window": 3000, "neighbours": 5}], forget=forget)
        model = Heros(pool, policies.Everything(), 1, seed=1, schema=schema).learn(X[:3000], y[:3000])
        assert model.bound.stats()[0].rows == 3000
        block = model.test_then_train(X[3000:4000], y[3000:4000])
        return model, (block.probabilities.argmax(axis=1) == y[3000:4000]).mean()

    kept, without = hits_after(None)
    forgot, with_it = hits_after(0.1)
    assert kept.bound.stats()[0].rows == 3000
    assert 900 < forgot.bound.stats()[0].rows < 1100
    assert with_it > without + 0.4


def test_the_byte_limit_binds_and_is_told():
    X, y, schema = numbers(3000)
    pool = pools.Neighbours([{"window": 100}, {"window": 5000}], max_bytes=20_000, forget=None)
    model = Heros(pool, policies.Everything(), 2, seed=1, schema=schema).learn(X, y)
    small, large = model.bound.stats()
    assert (small.rows, small.most, small.window) == (100, 100, 100)
    assert large.rows == large.most == 512
    assert large.window == 5000
    assert 10_000 < model.bound.bytes <= 20_000
    assert pools.Neighbours([{"window": 512}]).bind(schema, np.random.default_rng(1)).bytes == 0
    free = Heros(
        pools.Neighbours([{"window": 100}, {"window": 512}], forget=None), policies.Everything(), 2, seed=1
    )
    free.bind(schema)
    free.learn(X, y)
    assert np.array_equal(free.predict_proba(X[:50]), model.predict_proba(X[:50]))


def test_memory_follows_the_rows_not_the_window():
    _, _, schema = numbers(1)
    model = Heros(pools.Neighbours([{"window": 1 << 31}], max_bytes=1 << 40), k=1, seed=1, schema=schema)
    X, y, _ = numbers(10)
    model.learn(X, y)
    assert model.bound.bytes < 10_000


def test_a_nominal_value_that_differs_counts_like_one_standard_deviation():
    schema = Schema.of(["a", ("c", "x", "y")], ["0", "1"])
    model = Heros(
        pools.Neighbours([{"window": 100, "neighbours": 1}]), policies.Everything(), 1, seed=1, schema=schema
    )
    model.learn(np.tile([[1.0, 0.0], [-1.0, 1.0]], (500, 1)), [0, 1] * 500)
    # (1 − a)² + 1 against (1 + a)²: the same at a quarter of a standard deviation
    assert model.predict_proba([[0.2, 1.0], [0.3, 1.0]]).argmax(axis=1).tolist() == [1, 0]


def test_growth_keeps_the_rows():
    """In earlier rows, a new feature has the mean or is missing; codes of features with many values stay."""
    before = Schema.of(["a", ("b", *map(str, range(200)))], ["0", "1"])
    after = Schema.of(["a", ("b", *map(str, range(300))), "c", ("d", "p", "q")], ["0", "1", "2"])
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 200, 200)])
    y = (X[:, 0] > 0).astype(int)
    model = Heros(pools.Neighbours([{"neighbours": 3}]), policies.Everything(), 1, seed=1, schema=before)
    model.learn(X, y)
    kept = model.bound.state()
    model.bind(after)
    state = model.bound.state()
    assert np.array_equal(state["numbers"].reshape(-1, 2)[:, 0], kept["numbers"])
    assert np.array_equal(state["codes"].reshape(-1, 2)[:, 0], kept["codes"])
    assert not state["numbers"].reshape(-1, 2)[:, 1].any()
    assert (state["codes"].reshape(-1, 2)[:, 1] == -1).all()
    p = model.predict_proba([X[0, 0], X[0, 1], 0.0, 1.0])
    assert p.shape[-1] == 3
    assert np.ravel(p).argmax() == y[0]
    model.learn([[0.1, 299.0, 1.0, 0.0]], [2])
    assert np.ravel(model.predict_proba([0.1, 299.0, 1.0, 0.0])).argmax() == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.Neighbours([]), "The 'configurations' parameter of Neighbours must be a list of at least one model. Got [] instead."),
        (lambda: pools.Neighbours([{"k": 1}]), "The 'configurations' parameter of Neighbours must be mappings with keys among ['window', 'neighbours', 'weighting']. Got ['k'] instead."),
        (lambda: pools.Neighbours([{"window": 0}]), "The 'window' parameter of Neighbours must be a whole number in [1, 2147483648]. Got 0 instead."),
        (lambda: pools.Neighbours([{"neighbours": 0}]), "The 'neighbours' parameter of Neighbours must be a whole number in [1, 1048576]. Got 0 instead."),
        (lambda: pools.Neighbours([{"weighting": "rank"}]), "The 'weighting' parameter of Neighbours must be 'distance' or 'uniform'. Got 'rank' instead."),
        (lambda: pools.Neighbours([{}], max_bytes=0), "The 'max_bytes' parameter of Neighbours must be a whole number in [1, 4611686018427387904]. Got 0 instead."),
        (lambda: pools.Neighbours([{}], forget=0), "The 'forget' parameter of Neighbours must be in (0, 1] or None. Got 0 instead."),
        (lambda: pools.Neighbours([{}], costs="size"), "The 'costs' parameter of Neighbours must be 'window', 'measured' or numbers. Got 'size' instead."),
        (lambda: Heros(pools.Neighbours([{}], max_bytes=1000), k=1, schema=numbers(1)[2]), "The 'max_bytes' parameter of Neighbours must be at least 2304 for 6 features and 3 classes. Got 1000 instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


def test_costs():
    schema = numbers(1)[2]
    by_window = pools.Neighbours([{"window": 100}, {"window": 300}])
    assert Heros(by_window, k=1, schema=schema).costs.tolist() == [0.25, 0.75]
    measured = pools.Neighbours([{"window": 64}, {"window": 20_000}], costs="measured")
    costs = Heros(measured, k=1, schema=schema).costs
    assert costs.sum() == pytest.approx(1)
    assert costs[1] > 2 * costs[0]


def test_neighbours_win_where_centres_move():
    """The family is useful: on fast-moving centres it is much better than naive Bayes and linear models."""
    stream = streams.load("rbf_f")
    accuracy = {
        pool: evaluate(
            Heros(pool, policies.Everything(), 1, seed=1), stream.take(5000), progress=False
        ).accuracy
        for pool in (
            pools.Neighbours([{"window": 500, "neighbours": 5}]),
            pools.NaiveBayes([{"fading": 0.99}]),
        )
    }
    neighbours, bayes = accuracy.values()
    assert neighbours > bayes + 0.2
