"""Regression pools: perceptrons equal PyTorch's; linear models and neighbours equal scikit-learn's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import PassiveAggressiveRegressor, SGDRegressor
from sklearn.neighbors import KNeighborsRegressor

import reference
from heros import Feature, Heros, ParameterError, Schema, _core, policies, pools
from reference_regression import Linear, TargetScale, rescaling
from torch_cases import NUMBERS, arrays_of
from tree_cases import random_case

LINEAR = [
    {"optimizer": "sgd", "learning_rate": 0.1},
    {"optimizer": "sgd", "learning_rate": 0.05, "l2": 0.01, "loss": "huber"},
    {"optimizer": "adam", "learning_rate": 0.05},
    {"optimizer": "ftrl", "learning_rate": 0.5},
    {"optimizer": "ftrl", "learning_rate": 0.2, "l1": 0.5, "l2": 0.1},
    {"optimizer": "pa", "learning_rate": 1.0, "epsilon": 0.1},
    {"optimizer": "pa", "learning_rate": 0.02, "epsilon": 0.0},
]


def schema_of(values, missing=True):
    kinds = [None if n == 0 else tuple(map(str, range(n))) for n in values]
    return Schema.of([Feature(f"f{i}", kind, missing=missing) for i, kind in enumerate(kinds)])


def alone(pool, schema, **settings):
    return Heros(pool, policies.Everything(), 1, seed=1, schema=schema, answer="best", warmup=0, **settings)


def targets_of(case, seed):
    """Return a number that depends on the features, with changing level and scale."""
    rng = np.random.default_rng(seed)
    x = np.nan_to_num(case.X) @ rng.normal(size=case.X.shape[1])
    y = 100 * seed + np.tanh(x / (x.std() or 1)) + 0.1 * rng.normal(size=len(x))
    y[len(y) // 2 :] = 50 * y[len(y) // 2 :] - 3
    return y


@pytest.mark.parametrize("isa", _core.isas())
@pytest.mark.parametrize("case", NUMBERS)
def test_perceptrons_equal_pytorchs(case, isa):
    """200 steps from the same weights, in the unit of the target: the same weights, up to float32 rounding."""
    optimizer, rate, hidden, values, loss = NUMBERS[case]
    arrays = arrays_of(case)
    configuration = {"optimizer": optimizer, "learning_rate": rate, "hidden": hidden, "loss": loss}
    model = alone(pools.MLP([configuration], scale=False, isa=isa), schema_of(values, missing=False))
    model.bound.set_weights(
        0, {name.removeprefix("before/"): a for name, a in arrays.items() if "before/" in name}
    )
    block = model.test_then_train(arrays["X"].astype(float), arrays["y"])
    np.testing.assert_allclose(block.outputs[:, 0], arrays["said"], rtol=1e-5, atol=1e-5)
    for name, weights in model.bound.weights(0).items():
        np.testing.assert_allclose(weights, arrays[f"after/{name}"], rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("configuration", LINEAR, ids=lambda c: "-".join(map(str, c.values())))
def test_linear_models_equal_dense_steps(seed, configuration):
    case = random_case(seed, 300)
    y = targets_of(case, seed)
    model = alone(pools.Linear([configuration]), schema_of(case.values))
    said = model.test_then_train(case.X, y).outputs[:, 0]
    twin = None
    for t, (x, target) in enumerate(zip(case.X, y, strict=True)):
        dense = np.concatenate([[1.0], reference.encode(case.values, case.X[:t], x)])
        twin = twin or Linear(len(dense), **configuration)
        scale = max(twin.scale.unit[1], 1e-9)
        np.testing.assert_allclose(said[t] / scale, twin.predict(dense) / scale, rtol=1e-5, atol=5e-5)
        twin.learn(dense, target)
    np.testing.assert_allclose(model.bound.weights(0)[:, 0], twin.w, rtol=1e-3, atol=2e-4)


def in_their_unit(model, X, y, learn, coefficients):
    """Use another library's model in the unit of the target; return its predictions in the original unit."""
    scale, said = TargetScale(), []
    for x, target in zip(X, y, strict=True):
        said.append(scale.unscaled(model(x)))
        before = scale.unit
        if scale.learn(target):
            factor, shift = rescaling(before, scale.unit)
            coefficients(factor, shift)
        learn(x, scale.scaled(target))
    return np.array(said)


def some_numbers(n=400):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5)).astype(np.float32).astype(np.float64)
    return X, 1000 + 7 * (X @ [1, -2, 0.5, 0, 1] + 0.3 * rng.normal(size=n))


@pytest.mark.parametrize(
    ("configuration", "theirs"),
    [
        ({"optimizer": "sgd", "learning_rate": 0.05}, {"loss": "squared_error", "eta0": 0.05, "alpha": 0}),
        ({"optimizer": "sgd", "learning_rate": 0.05, "loss": "huber"}, {"loss": "huber", "epsilon": 1.0, "eta0": 0.05, "alpha": 0}),
        ({"optimizer": "pa", "learning_rate": 0.1, "epsilon": 0.2}, {"loss": "epsilon_insensitive", "learning_rate": "pa1", "epsilon": 0.2, "eta0": 0.1}),
    ],
)  # fmt: skip
def test_linear_models_equal_scikit_learns(configuration, theirs):
    """The bias as a column of ones, so that it counts in the length of an instance for passive-aggressive."""
    X, y = some_numbers()
    ours = alone(pools.Linear([configuration], scale=False), schema_of([0] * 5)).test_then_train(X, y)
    if theirs.get("learning_rate") == "pa1":
        sk = _passive_aggressive(theirs)
    else:
        sk = SGDRegressor(
            **theirs, learning_rate="constant", fit_intercept=False, penalty=None, shuffle=False
        )

    def learn(x, z):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sk.partial_fit(np.concatenate([[1.0], x])[None], [z])

    def rescale(factor, shift):
        if hasattr(sk, "coef_"):
            sk.coef_ *= factor
            sk.coef_[0] += shift

    def ask(x):
        return sk.coef_ @ np.concatenate([[1.0], x]) if hasattr(sk, "coef_") else 0.0

    said = in_their_unit(ask, X, y, learn, rescale)
    np.testing.assert_allclose(ours.outputs[:, 0], said, rtol=1e-9, atol=1e-7)


def _passive_aggressive(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions have it as a setting of SGDRegressor
        return PassiveAggressiveRegressor(
            C=settings["eta0"], epsilon=settings["epsilon"], fit_intercept=False, shuffle=False
        )


@pytest.mark.parametrize("weighting", ["uniform", "distance"])
@pytest.mark.parametrize(("window", "k"), [(50, 1), (200, 5), (1000, 20)])
def test_neighbours_equal_scikit_learns_brute_force(window, k, weighting):
    """Compare on the same windows: the stored rows are in the state."""
    X, y = some_numbers(900)
    pool = pools.Neighbours([{"window": window, "neighbours": k, "weighting": weighting}], forget=None)
    model = alone(pool, schema_of([0] * 5)).learn(X, y)
    state = model.bound.state()
    rows = state["numbers"].reshape(-1, 5)[-window:].astype(np.float64)
    weights = "uniform" if weighting == "uniform" else lambda d: 1 / (d + 1e-3)
    theirs = KNeighborsRegressor(k, weights=weights, algorithm="brute").fit(rows, state["targets"][-window:])
    questions = X[-50:] + 0.01
    asked = np.array([_as_kept(model, x) for x in questions])
    np.testing.assert_allclose(model.predict(questions), theirs.predict(asked), rtol=1e-5)


def _as_kept(model, x):
    """Return x as the store would hold it, learnt by a copy."""
    again = model.pool.bind(model.schema, np.random.default_rng(1))
    again.restore(model.bound.state())
    copy = Heros(model.pool, policies.Everything(), 1, seed=1, schema=model.schema, warmup=0)
    copy.bound.restore(model.bound.state())
    copy.learn(x, 0.0)
    return copy.bound.state()["numbers"].reshape(-1, len(x))[-1].astype(np.float64)


def test_models_of_other_libraries_learn_numbers():
    river = pytest.importorskip("river.linear_model")
    X, y = some_numbers(600)

    class Mean:
        def __init__(self):
            self.n = self.sum = 0.0

        def predict(self, x):
            return self.sum / self.n if self.n else None

        def learn(self, x, y):
            self.n, self.sum = self.n + 1, self.sum + y

    pool = pools.Models([Mean(), river.LinearRegression(), SGDRegressor()], costs=[1, 1, 1])
    model = Heros(pool, policies.Everything(), 3, seed=1, schema=schema_of([0] * 5))
    model.learn(X, y)
    assert model.bound.set_aside == {}
    assert model.bound["Mean"].n == 600
    assert model.scores[1] > model.scores[0]
    assert model.predict(X[0]) == pytest.approx(y[0], abs=10)


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (pools.NaiveBayes([{}]), "The 'schema' parameter of NaiveBayes must be a schema with classes, because this pool cannot predict numbers. Got a number as target instead."),
        (pools.Hoeffding([{}]), "The 'schema' parameter of Hoeffding must be a schema with classes"),
        (pools.Forest([{}]), "The 'schema' parameter of Forest must be a schema with classes"),
    ],
)  # fmt: skip
def test_families_of_classes_say_so(pool, message):
    with pytest.raises(ParameterError) as error:
        Heros(pool, schema=Schema.of(["a"]))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.MLP([{"loss": "log"}]), "The 'loss' parameter of MLP must be 'squared' or 'huber'. Got 'log' instead."),
        (lambda: pools.Linear([{"epsilon": 1}]), "The 'epsilon' parameter of Linear must be left out unless the optimizer is 'pa'. Got 1 instead."),
        (lambda: Heros(pools.MLP([{"loss": "huber"}]), schema=Schema.of(["a"], ["no", "yes"])), "The 'loss' parameter of MLP must be left out if the target is a class, because classification uses cross-entropy. Got 'huber' instead."),
        (lambda: Heros(pools.Linear([{"optimizer": "pa"}]), schema=Schema.of(["a"], ["no", "yes"])), "The 'optimizer' parameter of Linear must be 'sgd', 'adam' or 'ftrl' if the target is a class. Got 'pa' instead."),
    ],
)  # fmt: skip
def test_settings_of_numbers(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message
