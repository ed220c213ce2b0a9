"""Linear models, compared with dense steps and scikit-learn; hashed values, growth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

import reference
from heros import Feature, Heros, ParameterError, Schema, policies, pools
from reference_linear import Linear
from tree_cases import Steps, random_case

MODELS = [
    {"optimizer": "sgd", "learning_rate": 0.3},
    {"optimizer": "sgd", "learning_rate": 0.1, "l2": 0.01},
    {"optimizer": "adam", "learning_rate": 0.05},
    {"optimizer": "ftrl", "learning_rate": 0.5},
    {"optimizer": "ftrl", "learning_rate": 0.2, "l1": 0.5, "l2": 0.1},
]


def schema_of(values, classes, missing=True):
    kinds = [None if n == 0 else tuple(map(str, range(n))) for n in values]
    features = tuple(Feature(f"f{i}", kind, missing=missing) for i, kind in enumerate(kinds))
    return Schema(features, tuple(map(str, range(classes))))


def alone(configuration, schema, **settings):
    return pools.Linear([configuration], **settings).bind(schema, np.random.default_rng(1))


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("configuration", MODELS, ids=lambda c: "-".join(map(str, c.values())))
def test_equal_to_dense_steps(seed, configuration):
    """Lazy updates of inactive one-hot rows do not change results; not every instance is learnt."""
    case = random_case(seed, 300)
    bound = alone(configuration, schema_of(case.values, case.classes))
    chosen = np.random.default_rng(seed).random(len(case.y)) < 0.7
    turns = iter(chosen)
    found = Steps(bound.native).run(case.X, case.y, lambda: np.array([next(turns)]))
    twin = None
    for t, (x, y) in enumerate(zip(case.X, case.y, strict=True)):
        dense = np.concatenate([[1.0], reference.encode(case.values, case.X[:t], x)])
        twin = twin or Linear(len(dense), case.classes, **configuration)
        np.testing.assert_allclose(found[t], twin.predict(dense), atol=2e-5)
        if chosen[t]:
            twin.learn(dense, y)
    np.testing.assert_allclose(bound.weights(0), twin.w, atol=2e-4)


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_equal_to_scikit_learns_sgd(l2):
    """With two classes, the softmax moves the difference of weights twice as far as the logistic function."""
    rng = np.random.default_rng(1)
    X, rate = rng.normal(size=(400, 5)), 0.05
    y = (X @ [1, -2, 0.5, 0, 1] + rng.normal(size=400) > 0).astype(int)
    bound = alone({"optimizer": "sgd", "learning_rate": rate, "l2": l2}, schema_of([0] * 5, 2), scale=False)
    found = Steps(bound.native).run(X, y)
    theirs = SGDClassifier(
        loss="log_loss", penalty="l2", alpha=l2 / 2, learning_rate="constant", eta0=2 * rate, shuffle=False
    )
    theirs.partial_fit(X[:1], y[:1], classes=[0, 1])
    for t in range(1, len(y)):
        np.testing.assert_allclose(found[t], theirs.predict_proba(X[t : t + 1])[0], atol=1e-5)
        theirs.partial_fit(X[t : t + 1], y[t : t + 1])


def test_l1_makes_weights_zero():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 20))
    y = (X[:, 0] > 0).astype(int)
    for l1, zero in ((0.0, False), (20.0, True)):
        bound = alone({"optimizer": "ftrl", "learning_rate": 0.5, "l1": l1}, schema_of([0] * 20, 2))
        Steps(bound.native).run(X, y)
        weights = bound.weights(0)
        assert abs(weights[1]).min() > 0.5
        assert (weights[2:] == 0).all() == zero


def test_values_beyond_their_own_inputs_share_some():
    """Few weights for any number of values; values with the same hash share weights."""
    rng = np.random.default_rng(1)
    n, many = 6000, 5000
    X = np.column_stack([rng.integers(0, many, n), rng.integers(0, 4, n)]).astype(float)
    y = (X[:, 0] % 2).astype(int)
    schema = schema_of([many, 4], 2)
    small = alone({"learning_rate": 0.1}, schema, own_values=100, hashed_to=64)
    assert small.weights(0).shape == (1 + 64 + 100 + 4, 2)
    Steps(small.native).run(X, y)
    assert abs(small.weights(0)[1:65]).min() > 0  # every shared input was used
    full = alone({"learning_rate": 0.1}, schema, own_values=many, hashed_to=64)
    assert full.weights(0).shape == (1 + many + 4, 2)
    wide = alone({"learning_rate": 0.1}, schema, own_values=100, hashed_to=1 << 20)
    hits = [(Steps(b.native).run(X, y).argmax(axis=1) == y)[-2000:].mean() for b in (full, wide)]
    assert hits[1] == pytest.approx(hits[0], abs=0.02)  # few collisions: almost as good as separate inputs


def test_growth_equals_a_schema_that_was_large_from_the_start():
    """More values, a feature and a class, some values beyond their own inputs: weights start at zero."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 5, 400)])
    y = rng.integers(0, 2, 400)
    settings = {"own_values": 6, "hashed_to": 8}
    for configuration in ({"optimizer": "sgd", "learning_rate": 0.1, "l2": 0.01}, {"learning_rate": 0.05}):
        grown = alone(configuration, schema_of([0, 5], 2), **settings)
        Steps(grown.native).run(X, y)
        weights = grown.weights(0)
        grown.grow(schema_of([0, 40, 0], 3), np.random.default_rng(1))
        now = grown.weights(0)
        assert now.shape == (1 + 8 + 1 + 5 + 1 + 1, 3)
        assert np.array_equal(now[[0, 9, 10, 11, 12, 13, 14], :2], weights)
        assert not now[1:9].any()
        assert not now[:, 2].any()
        wide = np.array([[0.3, 39.0, 1.0], [0.1, 5.0, -1.0], [0.2, 2.0, 2.0]])
        Steps(grown.native).run(wide, np.array([2, 0, 1]))
        assert np.isfinite(grown.weights(0)).all()
        assert abs(grown.weights(0)[1:9]).sum() > 0


def test_a_model_that_diverges_stays_alone():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 2)) * 1e14, rng.integers(0, 2, 300)
    pool = pools.Linear([{"optimizer": "sgd", "learning_rate": 1e300}, {"learning_rate": 0.01}], scale=False)
    model = Heros(pool, policies.Everything(), 2, seed=1, schema=schema_of([0, 0], 2, missing=False))
    block = model.test_then_train(X, y)
    assert model.diverged.tolist() == [True, False]
    assert np.isfinite(block.probabilities).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.Linear([{"rate": 1}]), "The 'configurations' parameter of Linear must be mappings with keys among ['optimizer', 'learning_rate', 'l1', 'l2', 'loss', 'epsilon']. Got ['rate'] instead."),
        (lambda: pools.Linear([{"optimizer": "lbfgs"}]), "The 'optimizer' parameter of Linear must be 'sgd', 'adam', 'ftrl' or 'pa'. Got 'lbfgs' instead."),
        (lambda: pools.Linear([{"learning_rate": 0}]), "The 'learning_rate' parameter of Linear must be above 0. Got 0 instead."),
        (lambda: pools.Linear([{"optimizer": "sgd", "l1": 0.1}]), "The 'l1' parameter of Linear must be 0 unless the optimizer is 'ftrl'. Got 0.1 instead."),
        (lambda: pools.Linear([{"l2": 0.1}]), "The 'l2' parameter of Linear must be 0 if the optimizer is 'adam'. Got 0.1 instead."),
        (lambda: pools.Linear([{}], own_values=2), "The 'own_values' parameter of Linear must be a whole number in [3, 16777216]. Got 2 instead."),
        (lambda: pools.Linear([{}], hashed_to=0), "The 'hashed_to' parameter of Linear must be a whole number in [1, 16777216]. Got 0 instead."),
        (lambda: pools.Linear([{}], costs="size"), "The 'costs' parameter of Linear must be 'numbers', 'measured' or numbers. Got 'size' instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


def test_costs():
    schema = schema_of([0, 0], 2)
    pool = pools.Linear([{"optimizer": "sgd"}, {"optimizer": "adam"}])
    assert Heros(pool, k=1, schema=schema).costs.tolist() == [0.25, 0.75]
    measured = pools.Linear([{"optimizer": "sgd"}, {"optimizer": "adam"}], costs="measured")
    costs = Heros(measured, k=1, schema=schema).costs
    assert (costs > 0).all()
    assert costs.sum() == pytest.approx(1)
