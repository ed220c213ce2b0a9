"""The MLP pool equals PyTorch and its slow version, and does not depend on how it is called."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reference
from heros import Feature, Heros, ParameterError, Schema, _core, policies, pools
from torch_cases import CASES

GOLDEN = Path(__file__).parents[1] / "data" / "torch_trajectories.npz"


def schema_of(values, classes, *, missing=False):
    features = [
        Feature(f"x{f}", tuple(map(str, range(n))) or None, missing=missing) for f, n in enumerate(values)
    ]
    return Schema.of(features, map(str, range(classes)))


def heros(pool, schema, policy=None, k=None, **settings):
    return Heros(pool, policy or policies.Everything(), k, seed=1, schema=schema, **settings)


def some_data(values, classes, n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.array([rng.integers(0, v, n) if v else rng.normal(3, 2, n) for v in values], dtype=float).T
    y = (X[:, 0] + X[:, -1] > X[:, 0].mean() + X[:, -1].mean()).astype(int) + rng.integers(0, classes - 1, n)
    return X, y % classes


@pytest.mark.parametrize("isa", _core.isas())
@pytest.mark.parametrize("case", CASES)
def test_equals_pytorch(case, isa):
    """200 steps from the same weights: the same weights and predictions, up to float32 rounding."""
    optimizer, rate, hidden, values, classes = CASES[case]
    with np.load(GOLDEN) as golden:
        arrays = {
            name.removeprefix(case + "/"): golden[name]
            for name in golden.files
            if name.startswith(case + "/")
        }
    pool = pools.MLP(
        [{"optimizer": optimizer, "learning_rate": rate, "hidden": hidden}], scale=False, isa=isa
    )
    model = heros(pool, schema_of(values, classes))
    model.bound.set_weights(
        0, {name.removeprefix("before/"): a for name, a in arrays.items() if "before/" in name}
    )
    block = model.test_then_train(arrays["X"].astype(float), arrays["y"])
    z = arrays["logits"].astype(float)
    expected = np.exp(z - z.max(axis=1, keepdims=True))
    np.testing.assert_allclose(block.probabilities, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)
    for name, weights in model.bound.weights(0).items():
        np.testing.assert_allclose(weights, arrays[f"after/{name}"], rtol=1e-5, atol=1e-6, err_msg=name)
        assert np.abs(weights - arrays[f"after/{name}"]).mean() < 2e-7


def expect_weights_of(twins, model):
    for i, twin in enumerate(twins):
        for name, weights in model.bound.weights(i).items():
            np.testing.assert_allclose(weights, twin.w[name], rtol=2e-3, atol=5e-4, err_msg=f"{i} {name}")


def train_twins(twins, values, X, y, since=0):
    for t in range(since, len(X)):
        x = reference.encode(values, X[:t], X[t])
        for twin in twins:
            twin.train(x, y[t])


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("values", [[0, 0, 0], [0, 4, 2, 9]])
def test_equals_its_slow_twin_with_scaling(optimizer, classes, values):
    """Encoding, evaluation and training of a pool of three widths, by model."""
    X, y = some_data(values, classes, 150)
    pool = pools.MLPGrid(optimizers=[optimizer], learning_rates=[0.01], hidden=[7, 16, 70])
    model = heros(pool, schema_of(values, classes), warmup=0)
    twins = [reference.Perceptron(model.bound.weights(i), optimizer, 0.01) for i in range(3)]
    train_twins(twins, values, X, y)
    model.learn(X, y)
    expect_weights_of(twins, model)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_new_class_finds_weights_and_moments_as_they_were(optimizer, classes):
    """Two classes are stored as one row of differences; one class, or three or more, as a row each."""
    values = [0, 4]
    X, y = some_data(values, classes + 1, 200)
    y[:100] %= classes
    pool = pools.MLPGrid(optimizers=[optimizer], learning_rates=[0.01], hidden=[7, 70])
    model = heros(pool, schema_of(values, classes), warmup=0)
    twins = [reference.Perceptron(model.bound.weights(i), optimizer, 0.01) for i in range(2)]
    train_twins(twins, values, X[:100], y)
    model.learn(X[:100], y[:100])
    model.bind(schema_of(values, classes + 1))
    for i, twin in enumerate(twins):
        twin.add_class(model.bound.weights(i))
    expect_weights_of(twins, model)
    train_twins(twins, values, X, y, since=100)
    model.learn(X[100:], y[100:])
    expect_weights_of(twins, model)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_that_are_set_are_read_again(classes):
    rng = np.random.default_rng(1)
    model = heros(pools.MLP([{"hidden": 20}, {"optimizer": "sgd"}]), schema_of([0, 3], classes))
    for i in range(2):
        given = {
            name: rng.normal(size=w.shape).astype(np.float32) for name, w in model.bound.weights(i).items()
        }
        given["2.bias"][:2] = -3e38, 3e38  # too far apart for a difference
        model.bound.set_weights(i, given)
        for name, weights in model.bound.weights(i).items():
            assert np.array_equal(weights, given[name]), name


@pytest.mark.parametrize("since", [1, 2, 10, 1000, 39_990, 100_000])
@pytest.mark.parametrize("steps", [1, 2, 7, 100, 1500])
def test_the_closed_form_is_adam_without_gradient(since, steps):
    """In float64, step by step, with v far above ε."""
    m, v, rate = 0.3, 0.04, 0.01
    w, mm, vv = 0.0, m, v
    for t in range(since + 1, since + steps + 1):
        mm, vv = 0.9 * mm, 0.999 * vv
        w -= rate / (1 - 0.9**t) * mm / (math.sqrt(vv / (1 - 0.999**t)) + 1e-8)
    drift, epsilon, keep_m, keep_v = _core.adam_lag(since, since + steps, rate)
    assert -drift * m / (math.sqrt(v) + epsilon) == pytest.approx(w, rel=1e-5)
    assert keep_m * m == pytest.approx(mm, rel=1e-5, abs=1e-38)
    assert keep_v * v == pytest.approx(vv, rel=1e-5)


def test_the_closed_form_stays_true_over_a_long_stream():
    """Over 60,000 steps with 2 % active ones, dense Adam and the closed form agree."""
    rng = np.random.default_rng(1)
    rate, n = 0.001, 60_000
    gradients = np.where(rng.random(n) < 0.02, rng.normal(0.1, 1, n), 0.0)
    dense = lazy = dm = dv = lm = lv = 0.0
    last = 0
    for t, g in enumerate(gradients, start=1):
        dm, dv = 0.9 * dm + 0.1 * g, 0.999 * dv + 0.001 * g * g
        dense -= rate / (1 - 0.9**t) * dm / (math.sqrt(dv / (1 - 0.999**t)) + 1e-8)
        if g:
            drift, epsilon, keep_m, keep_v = _core.adam_lag(last, t - 1, rate)
            lazy -= drift * lm / (math.sqrt(lv) + epsilon) if lv else 0.0
            lm, lv = 0.9 * keep_m * lm + 0.1 * g, 0.999 * keep_v * lv + 0.001 * g * g
            lazy -= rate / (1 - 0.9**t) * lm / (math.sqrt(lv / (1 - 0.999**t)) + 1e-8)
            last = t
    drift, epsilon, _, _ = _core.adam_lag(last, n, rate)
    lazy -= drift * lm / (math.sqrt(lv) + epsilon)
    assert lazy == pytest.approx(dense, rel=1e-4)


def in_blocks(model, X, y, size):
    return [model.test_then_train(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]


@pytest.mark.parametrize("isa", _core.isas())
@pytest.mark.parametrize("values", [[0, 0, 0, 0], [0, 5, 20, 2]])
def test_any_block_size_gives_the_same(values, isa):
    """Fused and separate passes, for one or many instances, are equal bit for bit."""
    X, y = some_data(values, 4, 600)
    schema = schema_of(values, 4)
    pool = pools.MLPGrid(hidden=[5, 16, 48, 100], learning_rates=[0.05, 0.005], isa=isa)
    policy = policies.Explore(policies.Zeta(0.05), 0.3)
    whole = heros(pool, schema, policy, 6)
    expected = whole.test_then_train(X, y)
    for size in (1, 7, 100):
        model = heros(pool, schema, policy, 6)
        parts = in_blocks(model, X, y, size)
        assert np.array_equal(np.concatenate([p.probabilities for p in parts]), expected.probabilities)
        assert np.array_equal(np.concatenate([p.chosen for p in parts]), expected.chosen)
        assert all(
            np.array_equal(a, b)
            for i in range(pool.n_models)
            for a, b in zip(model.bound.weights(i).values(), whole.bound.weights(i).values(), strict=True)
        )


class Timetable:
    """Return which models are trained on each instance; one model fails once."""

    def __init__(self, working, fails_at):
        self.working, self.fails_at, self.t = working, fails_at, -1

    def choose(self, scores, costs, k, rng):
        self.t += 1
        if self.t == self.fails_at:
            raise RuntimeError("no choice")
        return self.working[self.t]


def shifts(n, models, rng):
    """Train every model on 1 to 3 instances, then pause it for up to 40, and so on."""
    working = np.zeros((n, models), dtype=bool)
    for i in range(models):
        start = rng.integers(0, 40)
        while start < n:
            length = rng.integers(1, 4)
            working[start : start + length, i] = True
            start += length + rng.integers(1, 40)
    return working


def rows_with_gaps(n, classes, rng):
    """Numbers, some missing, some 0 until late, a constant column, and categories, some of them rare."""
    X = rng.normal(3, 2, (n, 7))
    X[rng.random((n, 7)) < 0.1] = np.nan
    X[: n // 2, 1] = 0
    X[:, 2] = 5
    X[:, 4] = rng.integers(0, 2, n)
    X[:, 5] = np.minimum(rng.geometric(0.3, n), 12) - 1
    X[:, 6] = rng.integers(0, 3, n)
    return X, (np.nan_to_num(X[:, 0]) + X[:, 5]).astype(int) % classes


@pytest.mark.parametrize("isa", _core.isas())
@pytest.mark.parametrize("classes", [2, 5, 20])
def test_models_that_rest_miss_nothing(classes, isa):
    """Paused models are evaluated on several instances at once; when resumed, they are unaffected by the pause."""
    rng = np.random.default_rng(classes)
    n, fails_at = 500, 333
    X, y = rows_with_gaps(n, classes, rng)
    rates = {"adam": [0.05, 0.005], "sgd": [0.05, 1e20]}  # the last model diverges
    pool = pools.MLP(
        [
            {"hidden": hidden, "optimizer": optimizer, "learning_rate": rate}
            for hidden in (1, 5, 16, 48, 100, 130)
            for optimizer in rates
            for rate in rates[optimizer]
        ],
        isa=isa,
    )
    working = shifts(n, pool.n_models, rng)
    working[:, 0] = False  # it diverges at one category; the other categories are not affected

    def learnt_in_blocks_of(size):
        policy = Timetable(working, fails_at)
        schema = schema_of([0, 0, 0, 0, 2, 12, 3], classes, missing=True)
        model = heros(pool, schema, policy, pool.n_models, warmup=0, answer="average")
        weights = model.bound.weights(0)
        weights["0.weight"][:, -1] = np.inf
        model.bound.set_weights(0, weights)
        parts = in_blocks(model, X[:fails_at], y[:fails_at], size)
        with pytest.raises(RuntimeError, match="no choice"):
            model.learn(X[fails_at : fails_at + size], y[fails_at : fails_at + size])
        parts += in_blocks(model, X[fails_at + 1 :], y[fails_at + 1 :], size)
        return model, np.concatenate([part.probabilities for part in parts])

    alone, expected = learnt_in_blocks_of(1)
    assert 0 < alone.diverged.sum() < pool.n_models
    assert alone.scores[0] > 0
    for size in (n, 50, 6):
        model, probabilities = learnt_in_blocks_of(size)
        assert np.array_equal(probabilities, expected)
        assert np.array_equal(model.scores, alone.scores)
        assert {name: array.tobytes() for name, array in model.bound.state().items()} == {
            name: array.tobytes() for name, array in alone.bound.state().items()
        }


@pytest.mark.parametrize("scale", [1e-150, 1e-156, 1e-160, 1e-310])
def test_numbers_near_zero_give_the_same_in_any_block_size(scale):
    """Their squares are denormal: values flushed in the models are not flushed in the moments of the inputs."""
    X, y = some_data([0, 0], 2, 100)
    X[:, 0] = (X[:, 0] - 3) * scale
    whole, alone = (heros(pools.MLP([{"hidden": 8}]), schema_of([0, 0], 2)) for _ in range(2))
    expected = whole.test_then_train(X, y).probabilities
    found = [part.probabilities[0] for part in in_blocks(alone, X, y, 1)]
    assert np.array_equal(found, expected)


REFUSED = """
import resource
import numpy as np
from heros import Heros, Schema, pools
from heros import HerosError

class Seldom:
    def __init__(self):
        self.t = -1
    def choose(self, scores, costs, k, rng):
        self.t += 1
        return np.full(len(scores), self.t % 20 == 0)

# What a pool learns in blocks of a size after it was refused so many classes with so many bytes to spare.
def learnt(pool, features, classes, spare, size):
    few, many = (Schema.of([f"x{i}" for i in range(features)], map(str, range(n))) for n in (2, classes))
    model = Heros(pool, Seldom(), pool.n_models, seed=1, schema=few, warmup=0, answer="average")
    X = np.random.default_rng(0).normal(size=(200, features))
    y = (X[:, 0] > 0).astype(int)
    model.learn(X[:50], y[:50])
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + spare, -1))
    try:
        model.bind(many)
    except HerosError as error:
        assert "do not fit into memory" in str(error), error
    else:
        raise AssertionError("it grew")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    rows = [slice(first, first + size) for first in range(50, 200, size)]
    return np.concatenate([model.test_then_train(X[these], y[these]).probabilities for these in rows])

for hidden, models, *case in ((4000, 8, 300, 17, 8_000_000), (4, 50, 2, 50_000, 25_000_000)):
    pool = pools.MLP([{"hidden": hidden, "optimizer": "sgd"}] * models)
    assert np.array_equal(learnt(pool, *case, size=1), learnt(pool, *case, size=150))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits the memory of a process")
def test_a_pool_that_could_not_grow_learns_on_as_before():
    """Any of the allocations that it needs can fail."""
    subprocess.run([sys.executable, "-c", REFUSED], check=True)


def test_the_instruction_sets_agree_up_to_rounding():
    X, y = some_data([0, 5, 0], 3, 300)
    answers = [
        heros(
            pools.MLPGrid(hidden=[16, 70], learning_rates=[0.005], isa=isa),
            schema_of([0, 5, 0], 3),
            answer="average",
        )
        .test_then_train(X, y)
        .probabilities
        for isa in _core.isas()
    ]
    for other in answers[1:]:
        np.testing.assert_allclose(other, answers[0], atol=1e-3)


def test_initial_weights_are_pytorchs():
    """Uniform in ±1/√fan_in, weights and biases."""
    model = heros(pools.MLP([{"hidden": 400}]), schema_of([0] * 25, 3))
    weights = model.bound.weights(0)
    for name, bound in {"0.weight": 0.2, "0.bias": 0.2, "2.weight": 0.05, "2.bias": 0.05}.items():
        assert np.abs(weights[name]).max() <= bound
    assert np.abs(weights["0.weight"]).max() > 0.199
    assert weights["0.weight"].std() == pytest.approx(0.2 / math.sqrt(3), rel=0.02)


def test_growing_keeps_what_is_learnt():
    """After new categories, features and classes: old weights stay, new weights are drawn, predictions stay close."""
    X, y = some_data([0, 3], 2, 400)
    model = heros(pools.MLPGrid(hidden=[16, 70], learning_rates=[0.005]), schema_of([0, 3], 2))
    model.learn(X, y)
    before = [model.bound.weights(i) for i in range(4)]
    model.bind(schema_of([0, 6, 0], 3))
    for i in range(4):
        after = model.bound.weights(i)
        assert np.array_equal(after["0.weight"][:, :4], before[i]["0.weight"])
        assert np.array_equal(after["0.bias"], before[i]["0.bias"])
        assert np.array_equal(after["2.weight"][:2], before[i]["2.weight"])
        new = after["0.weight"][:, 4:]
        assert new.shape[1] == 4
        assert 0 < np.abs(new).max() <= 1 / math.sqrt(8)
        assert 0 < np.abs(after["2.weight"][2]).max() <= 1 / math.sqrt(len(after["0.bias"]))
    X2, y2 = some_data([0, 6, 0], 3, 400, seed=2)
    model.learn(X2, y2)
    assert np.isfinite(model.predict_proba(X2[:5])).all()


def test_growing_one_by_one_equals_growing_at_once_in_shape_and_keeps_moments():
    """Space for more inputs grows in steps: training works on a stream with one new category at a time."""
    model = heros(pools.MLP([{}, {"optimizer": "sgd"}]), schema_of([0, 3], 2))
    rng = np.random.default_rng(1)
    for n in range(3, 60):
        model.bind(schema_of([0, n], 2))
        model.learn([rng.normal(), n - 1], n % 2)
    assert model.bound.weights(0)["0.weight"].shape == (64, 60)
    assert model.bound.native.steps.tolist() == [57, 57]


def test_a_diverged_model_stays_alone():
    """With a learning rate that diverges, the pool's predictions stay finite and the model is counted."""
    configurations = [
        {"optimizer": "sgd", "learning_rate": 1e30},
        {"optimizer": "adam", "learning_rate": 0.01},
    ]
    X, y = some_data([0, 0], 2, 500)
    for answer in ("best", "average", "weighted"):
        model = heros(pools.MLP(configurations), schema_of([0, 0], 2), answer=answer)
        block = model.test_then_train(X, y)
        assert np.isfinite(block.probabilities).all()
        np.testing.assert_allclose(block.probabilities.sum(axis=1), 1)
        assert model.diverged.tolist() == [True, False]
        assert model.scores[0] < model.scores[1]
        assert np.isfinite(model.predict_proba(X)).all()
        alone = heros(pools.MLP(configurations[1:]), schema_of([0, 0], 2))
        alone.bound.set_weights(0, heros(pools.MLP(configurations), schema_of([0, 0], 2)).bound.weights(1))
        alone.learn(X, y)
        for name, weights in alone.bound.weights(0).items():
            assert np.array_equal(weights, model.bound.weights(1)[name])


def test_costs():
    schema = schema_of([0] * 5, 2)
    configurations = [{"hidden": 16}, {"hidden": 64}]
    by_hidden = heros(pools.MLP(configurations), schema).costs
    assert by_hidden.tolist() == [0.2, 0.8]
    assert heros(pools.MLP(configurations, costs="multiply-adds"), schema).costs.tolist() == [0.2, 0.8]
    assert heros(pools.MLP(configurations, costs=[3, 1]), schema).costs.tolist() == [0.75, 0.25]
    measured = heros(pools.MLP([{"hidden": 16}, {"hidden": 4096}], costs="measured"), schema).costs
    assert measured[0] < measured[1]
    assert measured.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.MLP([]), "The 'configurations' parameter of MLP must be a list of at least one model. Got [] instead."),
        (lambda: pools.MLP([{"hidden": 0}]), "The 'hidden' parameter of MLP must be a whole number in [1, 1048576]. Got 0 instead."),
        (lambda: pools.MLP([{"optimizer": "rms"}]), "The 'optimizer' parameter of MLP must be 'adam' or 'sgd'. Got 'rms' instead."),
        (lambda: pools.MLP([{"rate": 1}]), "The 'configurations' parameter of MLP must be mappings with keys among ['optimizer', 'learning_rate', 'hidden', 'loss']. Got ['rate'] instead."),
        (lambda: pools.MLP([{}], costs=[-1]), "The 'costs' parameter of MLP must be finite and non-negative, with a positive sum. Got [-1] instead."),
        (lambda: pools.MLP([{}], costs=[float("nan")]), "The 'costs' parameter of MLP must be finite and non-negative, with a positive sum. Got [nan] instead."),
        (lambda: pools.MLP([{}], costs=[1, 2]), "The 'costs' parameter of MLP must be one number per model (1). Got [1, 2] instead."),
        (lambda: pools.MLP([{}], costs="price"), "The 'costs' parameter of MLP must be 'hidden', 'multiply-adds', 'measured' or numbers. Got 'price' instead."),
        (lambda: pools.MLPGrid(hidden=[]), "The 'configurations' parameter of MLP must be a list of at least one model. Got [] instead."),
    ],
)  # fmt: skip
def test_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message
