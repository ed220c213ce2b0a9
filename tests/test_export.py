"""ONNX: raw instances as input, and the same probabilities as HEROS as output."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from family_cases import CLASSES, NUMBERS
from heros import Feature, Heros, HerosError, MissingExtra, ParameterError, Schema, export, pools, streams
from heros.integrations.onnx import WRITERS

onnx = pytest.importorskip("onnx", reason="the extra 'onnx' is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")

POOL = pools.MLPGrid(hidden=[4, 32], learning_rates=[0.05, 0.005])


def answers(path, X):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": np.asarray(X, dtype=np.float64)})


def assert_equal_answers(model, path, X):
    probabilities, label = answers(path, X)
    expected = model.predict_proba(X)
    assert (probabilities.dtype, probabilities.shape) == (np.float64, expected.shape)
    np.testing.assert_allclose(probabilities, expected, atol=2e-6)
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-5
    assert np.array_equal(label[clear], expected.argmax(axis=1)[clear])
    assert clear.sum() > 0


def in_a_pool_of_its_own(bound, schema):
    """Return the models of a part of a joined pool."""
    lone = Heros(bound.pool, k=1, seed=1, schema=schema)
    lone.bound.restore(bound.state())
    return lone


def mixed(n, seed, missing=True):
    """Numbers of all sizes, a constant, binary and nominal features, with many missing values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(1e6, 1e5, n),
            rng.normal(0, 1e-4, n),
            np.full(n, 7.0),
            rng.integers(0, 2, n),
            rng.integers(0, 5, n),
            rng.exponential(3, n),
        ]
    )
    y = ((X[:, 0] > 1e6) + (X[:, 4] > 2) * (X[:, 3] == 1)).astype(np.int64)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def schema(classes=("a", "b", "c")):
    return Schema(
        (
            *(Feature(name, missing=True) for name in ("large", "tiny", "constant")),
            Feature("switch", ("off", "on"), missing=True),
            Feature("colour", tuple("rgbcy"), missing=True),
            Feature("waiting", missing=True),
        ),
        classes,
    )


@pytest.mark.parametrize("scale", [True, False, 1.0])
@pytest.mark.parametrize("learnt", [1, 2, 3000])
def test_the_answers_are_ours(scale, learnt, tmp_path):
    X, y = mixed(learnt, 1)
    pool = pools.MLP([{"hidden": 16}, {"hidden": 5, "optimizer": "sgd"}], scale=scale)
    if not scale:
        X[:, 0] /= 1e6
    model = Heros(pool, seed=1, schema=schema()).learn(X, y)
    export.to_onnx(model, tmp_path / "model.onnx")
    fresh, _ = mixed(500, 2)
    assert_equal_answers(model, tmp_path / "model.onnx", fresh if scale else fresh / [1e6, 1, 1, 1, 1, 1])


@pytest.mark.parametrize("name", ["agr_a", "led_a", "rbf_f"])
def test_on_the_papers_streams(name, tmp_path):
    stream = streams.load(name)
    model = Heros(POOL, k=4, seed=1, schema=stream.schema).learn(*stream.draw(3000))
    export.to_onnx(model, tmp_path / "model.onnx")
    assert_equal_answers(model, str(tmp_path / "model.onnx"), stream.draw(1000)[0])


def test_a_schema_that_has_grown(tmp_path):
    """A binary feature with a third value becomes one-hot; its old numeric input is no longer used."""
    X, y = mixed(1000, 3)
    model = Heros(pools.MLP([{"hidden": 8}]), seed=1, schema=schema(("a", "b", "c"))).learn(X, y)
    features = [*schema().features, Feature("new", missing=True)]
    features[3] = Feature("switch", ("off", "on", "broken"), missing=True)
    model.bind(Schema(tuple(features), ("a", "b", "c", "d")))
    wider = np.column_stack([X, np.random.default_rng(1).normal(size=len(X))])
    wider[::3, 3] = 2
    model.learn(wider, np.where(wider[:, 3] == 2, 3, y))
    export.to_onnx(model, tmp_path / "model.onnx")
    assert_equal_answers(model, tmp_path / "model.onnx", wider[:300])


def test_any_member_can_be_had(tmp_path):
    X, y = mixed(800, 4)
    model = Heros(POOL, seed=1, schema=schema()).learn(X, y)
    for member in range(POOL.n_models):
        export.to_onnx(model, tmp_path / "model.onnx", member=member)
        alone = Heros(pools.MLP([POOL.configurations[member]]), seed=1, schema=schema()).learn(X, y)
        alone.bound.set_weights(0, model.bound.weights(member))
        np.testing.assert_allclose(answers(tmp_path / "model.onnx", X)[0], alone.predict_proba(X), atol=2e-6)
    with pytest.raises(
        ParameterError, match=r"The 'member' parameter of to_onnx must be a whole number in \[0, 7\]"
    ):
        export.to_onnx(model, tmp_path / "model.onnx", member=8)


def test_the_file_says_what_its_numbers_mean(tmp_path):
    X, y = mixed(100, 5)
    model = Heros(POOL, seed=1, schema=schema()).learn(X, y)
    before = model.predict_proba(X)
    export.to_onnx(model, tmp_path / "model.onnx")
    assert model.predict_proba(X).tobytes() == before.tobytes()
    kept = onnx.load(tmp_path / "model.onnx")
    said = json.loads({prop.key: prop.value for prop in kept.metadata_props}["schema"])
    assert said["classes"] == ["a", "b", "c"]
    assert said["features"][4] == ["colour", list("rgbcy"), True]
    assert [value.name for value in kept.graph.output] == ["probabilities", "label"]
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


class Coin:
    """A user-defined model."""

    def predict_proba(self, x):
        return [1 / 3] * 3

    def learn(self, x, y):
        pass


def exported(families):
    """Return the exportable families, except those with separate tests."""
    own = ("mlp", "linear")
    return {name: pool for name, pool in families.items() if pool.bound_by in WRITERS and name not in own}


QUICK = {"grace_period": 50, "split_confidence": 0.1}
FAMILIES = exported(CLASSES) | {
    "bayes": pools.NaiveBayes([{}]),
    "bayes that fades": pools.NaiveBayes([{"fading": 0.99, "variance_prior": 0}]),
    "tree": pools.Hoeffding([QUICK]),
    "tree of majorities": pools.Hoeffding([{**QUICK, "prediction": "majority", "binary_splits": True}]),
    "forest": pools.Forest([{"trees": 4}]),
    "forest of patches": pools.Forest([{"trees": 4, "subspace": "tree"}]),
    "tree that splits on change": pools.Hoeffding([{"split_on": "change", "split_confidence": 0.3}]),
    "boosted": pools.Boosted([{"rounds": 5, "grace_period": 20}]),
    "retrained": pools.Retrained([{"window": 500, "trees": 4, "min_leaf": 5}]),
    "neighbours": pools.Neighbours([{"window": 300}]),
    "neighbours alike": pools.Neighbours([{"window": 50, "weighting": "uniform"}]),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("learnt", [1, 2000])
def test_every_family_says_what_it_says_here(family, learnt, tmp_path):
    model = Heros(FAMILIES[family], k=1, seed=1, schema=schema()).learn(*mixed(learnt, 1))
    path = str(tmp_path / "model.onnx")
    export.to_onnx(model, path)
    fresh, _ = mixed(300, 2)
    fresh[0] = np.nan
    fresh[1:3] = [[1e300, -1e300, 7, 1, 4, 0], [0, 0, 8, 0, 0, 1e9]]  # outside the observed range
    np.testing.assert_allclose(answers(path, fresh)[0], model.predict_proba(fresh), atol=1e-7)


@pytest.mark.parametrize("name", ["led_a", "rbf_f"])  # only nominal features, only numeric features
def test_every_family_on_the_papers_streams(name, tmp_path):
    stream = streams.load(name)
    X, y = stream.draw(1500)
    pool = pools.Join(
        *(FAMILIES[family] for family in ("bayes", "tree", "forest", "boosted", "retrained", "neighbours"))
    )
    joined = Heros(pool, k=6, seed=1, schema=stream.schema).learn(X, y)
    for member, bound in enumerate(joined.bound.parts):
        lone = in_a_pool_of_its_own(bound, stream.schema)
        path = str(tmp_path / f"{member}.onnx")
        export.to_onnx(joined, path, member=member)
        np.testing.assert_allclose(answers(path, X[:200])[0], lone.predict_proba(X[:200]), atol=1e-6)


def test_trees_whose_schema_has_grown(tmp_path):
    small = Schema.of(["a", ("b", "x", "y")], classes=["no", "yes"])
    large = Schema.of(["a", ("b", "x", "y", "z"), "c"], classes=["no", "yes", "maybe"])
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=600), rng.integers(0, 2, 600)])
    pool = pools.Join(pools.Forest([{"trees": 3, "subspace": "tree"}]), pools.NaiveBayes([{}]))
    model = Heros(pool, k=2, seed=1, schema=small).learn(X, (X[:, 0] > 0).astype(int))
    model.bind(large)
    wide = np.column_stack([rng.normal(size=600), rng.integers(0, 3, 600), rng.normal(size=600)])
    model.learn(wide, rng.integers(0, 3, 600))
    for member, bound in enumerate(model.bound.parts):
        path = str(tmp_path / f"{member}.onnx")
        export.to_onnx(model, path, member=member)
        lone = in_a_pool_of_its_own(bound, large)
        np.testing.assert_allclose(answers(path, wide)[0], lone.predict_proba(wide), atol=1e-9)


def test_what_cannot_be_exported_is_said(tmp_path, monkeypatch):
    X, y = mixed(200, 6, missing=False)
    path = tmp_path / "model.onnx"
    own = Heros(pools.Models([("own", Coin())], costs=[1]), k=1, seed=1, schema=schema()).learn(X, y)
    rule = r"is a perceptron, linear model, naive Bayes, trees or neighbours \(member="
    with pytest.raises(ParameterError, match=rf"{rule} selects another model\)\. Got 'Models' instead"):
        export.to_onnx(own, path)
    with pytest.raises(HerosError, match="has not been trained yet"):
        export.to_onnx(Heros(POOL), path)
    diverged = Heros(pools.MLP([{"optimizer": "sgd", "learning_rate": 1e30}]), seed=1, schema=schema()).learn(
        X, y
    )
    with pytest.raises(
        HerosError,
        match=r"Model 0 cannot be exported, because its weights are not finite \(its training diverged\)\.",
    ):
        export.to_onnx(diverged, path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        MissingExtra, match=r"The export to ONNX needs .*: pip install 'onnx>=[0-9.]+' 'onnxruntime>="
    ):
        export.to_onnx(own, path)
    assert not path.exists()


@pytest.mark.parametrize("scale", [True, False])
def test_linear_models_and_members_of_joined_pools(scale, tmp_path):
    X, y = streams.Agrawal().draw(800)
    schema = streams.Agrawal().schema
    linear = pools.Linear([{"optimizer": "ftrl"}, {"optimizer": "adam"}], scale=scale)
    alone = Heros(linear, k=2, seed=1, schema=schema).learn(X, y)
    export.to_onnx(alone, tmp_path / "linear.onnx")
    assert_equal_answers(alone, str(tmp_path / "linear.onnx"), X)
    joined = Heros(pools.Join(POOL, linear, pools.HoeffdingGrid(max_bytes=[1 << 16])), seed=1, schema=schema)
    joined.learn(X, y)
    for member, part, i in ((3, 0, 3), (POOL.n_models + 1, 1, 1), (POOL.n_models + 2, 2, 0)):
        path = str(tmp_path / f"{member}.onnx")
        export.to_onnx(joined, path, member=member)
        probabilities, _ = answers(path, X[:50])
        bound = joined.bound.parts[part]
        lone = in_a_pool_of_its_own(bound, schema)
        export.to_onnx(lone, tmp_path / "lone.onnx", member=i)  # the same models in a separate pool
        np.testing.assert_array_equal(probabilities, answers(str(tmp_path / "lone.onnx"), X[:50])[0])
    hashed = Heros(pools.Linear([{}], own_values=4, hashed_to=8), k=1, seed=1, schema=schema).learn(X, y)
    with pytest.raises(ParameterError, match="a model without hashed values"):
        export.to_onnx(hashed, tmp_path / "hashed.onnx")


@pytest.mark.parametrize(
    "pool",
    [
        pools.Boosted([{"rounds": 8, "grace_period": 20, "features": 0.5}]),
        pools.Retrained([{"window": 800, "every": 300, "min_leaf": 5}]),
    ],
)
def test_boosted_trees_of_two_classes(pool, tmp_path):
    X, y = mixed(1500, 1)
    model = Heros(pool, k=1, seed=1, schema=schema(("a", "b"))).learn(X, y.clip(max=1))
    export.to_onnx(model, tmp_path / "model.onnx")
    fresh, _ = mixed(300, 2)
    np.testing.assert_allclose(
        answers(tmp_path / "model.onnx", fresh)[0], model.predict_proba(fresh), atol=1e-9
    )


@pytest.mark.parametrize("name", ["perceptron", "huber", "linear", "pa", "joined"])
def test_models_of_numbers(name, tmp_path):
    """The target's mean and scale are exported with their current values."""
    perceptron, linear = pools.MLP([{"hidden": 16}]), pools.Linear([{}])
    pool = {
        "perceptron": perceptron,
        "huber": pools.MLP([{"hidden": 16, "loss": "huber"}], scale=1.0),
        "linear": linear,
        "pa": pools.Linear([{"optimizer": "pa"}]),
        "joined": pools.Join(linear, perceptron, costs=[1, 1]),
    }[name]
    stream = streams.Agrawal().with_target("salary")  # with nominal features
    X, y = stream.draw(400)
    model = Heros(pool, k=pool.n_models, seed=1, schema=stream.schema).learn(X, y)
    path = str(tmp_path / "number.onnx")
    export.to_onnx(model, path, member=pool.n_models - 1)
    (value,) = answers(path, X)
    lone = model.bound.parts[1] if name == "joined" else model.bound
    alone = in_a_pool_of_its_own(lone, stream.schema)
    np.testing.assert_allclose(value, alone.predict(X), rtol=1e-5)


OF_NUMBERS = exported(NUMBERS) | {
    "perceptron": pools.MLP([{"hidden": 8}]),
    "linear": pools.Linear([{}]),
    "tree": pools.RegressionTrees([QUICK]),
    "tree of means": pools.RegressionTrees([{**QUICK, "prediction": "mean"}]),
    "tree of models": pools.RegressionTrees([{**QUICK, "prediction": "linear"}]),
    "boosted": pools.Boosted([{"rounds": 5, "grace_period": 20, "features": 0.5}]),
    "retrained": pools.Retrained([{"window": 500, "trees": 4, "min_leaf": 5}]),
    "neighbours": pools.Neighbours([{"window": 300}]),
    "neighbours alike": pools.Neighbours([{"window": 50, "weighting": "uniform"}]),
}


def a_number(X):
    """Return a large numeric target that depends on numbers and names."""
    large, switch, colour, waiting = np.nan_to_num(X[:, [0, 3, 4, 5]]).T
    return 1e5 * (large > 1e6) + 1e3 * waiting * (switch == 1) + 1e4 * colour + 3e6


@pytest.mark.parametrize("family", OF_NUMBERS)
@pytest.mark.parametrize("learnt", [1, 2000])
def test_every_family_of_numbers_says_what_it_says_here(family, learnt, tmp_path):
    X, _ = mixed(learnt, 1)
    model = Heros(OF_NUMBERS[family], k=1, seed=1, schema=Schema(schema().features, (), numeric=True)).learn(
        X, a_number(X)
    )
    path = str(tmp_path / "model.onnx")
    export.to_onnx(model, path)
    fresh, _ = mixed(300, 2)
    fresh[0] = np.nan
    fresh[1:3] = [[1e300, -1e300, 7, 1, 4, 0], [0, 0, 8, 0, 0, 1e9]]  # outside the observed range
    (value,) = answers(path, fresh)
    assert (value.dtype, value.shape) == (np.float64, (300,))
    assert learnt == 1 or len(np.unique(value)) > 8
    np.testing.assert_allclose(value, model.predict(fresh), rtol=1e-6)


def test_members_of_numbers_whose_schema_has_grown(tmp_path):
    small = Schema.of(["a", ("b", "x", "y")])
    large = Schema.of(["a", ("b", "x", "y", "z"), "c"])
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=600), rng.integers(0, 2, 600)])
    pool = pools.Join(
        *(OF_NUMBERS[family] for family in ("tree", "boosted", "retrained", "neighbours")), costs=[1] * 4
    )
    model = Heros(pool, k=4, seed=1, schema=small).learn(X, X[:, 0] + X[:, 1])
    model.bind(large)
    wide = np.column_stack([rng.normal(size=600), rng.integers(0, 3, 600), rng.normal(size=600)])
    model.learn(wide, wide[:, 0] * wide[:, 2] + wide[:, 1])
    for member, bound in enumerate(model.bound.parts):
        path = str(tmp_path / f"{member}.onnx")
        export.to_onnx(model, path, member=member)
        lone = in_a_pool_of_its_own(bound, large)
        np.testing.assert_allclose(answers(path, wide)[0], lone.predict(wide), rtol=1e-6, atol=1e-9)
