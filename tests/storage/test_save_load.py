"""Models in files: the model is restored exactly, only data is read, and errors have messages."""

from __future__ import annotations

import copy
import json
import os
import stat
import sys

import numpy as np
import pytest

from family_cases import CLASSES
from heros import (
    DataError,
    Heros,
    HerosError,
    ParameterError,
    Schema,
    evaluate,
    policies,
    pools,
    scores,
    streams,
)
from heros._base.registry import parts
from heros.ensemble import serialization
from heros.storage import archive

MLP = pools.MLPGrid(hidden=[4, 8], learning_rates=[0.05, 0.005])
TREES = pools.HoeffdingGrid(max_bytes=[4096, 65536], grace_periods=[50], prediction="majority", costs="bytes")


def learnt(**settings):
    settings = {"pool": MLP, "k": 2, "seed": 1} | settings
    X, y = streams.Agrawal().draw(700)
    return Heros(**settings, schema=streams.Agrawal().schema).learn(X, y)


def assert_same(a, b, but=None):
    """Return the current predictions, and those after more training."""
    one, two = serialization.pack(a), serialization.pack(b)
    assert one[0] == two[0]
    assert set(one[1]) == set(two[1])
    for name, array in one[1].items():
        assert name == but or array.tobytes() == two[1][name].tobytes(), name
    X, y = streams.Agrawal(seed=5).draw(300)
    left, right = (copy.deepcopy(model).test_then_train(X, y) for model in (a, b))
    assert left.probabilities.tobytes() == right.probabilities.tobytes()
    assert left.chosen.tobytes() == right.chosen.tobytes()


EVERY_POLICY = [
    policies.MLCB(0.2, 0.999), policies.Surprise(policies.Cand(), 0.7), policies.Budget(0.5), policies.Cand(), policies.CandAsPublished(), policies.Cheapest(), policies.Everything(),
    policies.Expensive(), policies.PerformBest(), policies.PerformWorst(), policies.Random(), policies.Reward(0.5),
    policies.Zeta(0.05), policies.Explore(policies.Explore(policies.Zeta(np.float64(0.1)), 0.5), 0.1),
]  # fmt: skip
EVERY_POLICY += [kind() for kind in parts("policy").values() if kind not in map(type, EVERY_POLICY)]
EVERY_SCORE = [scores.Adwin(1e-3, restart=True), scores.Cumulative(), scores.Fading(0.9), scores.Window(50)]
EVERY_SCORE += [kind() for kind in parts("score").values() if kind not in map(type, EVERY_SCORE)]


@pytest.mark.parametrize(
    "settings",
    [
        *({"policy": policy} for policy in EVERY_POLICY),
        *({"score": score} for score in EVERY_SCORE),
        *({"pool": pool} for pool in CLASSES.values()),
        {"pool": TREES},
        {"pool": pools.Hoeffding([{"max_depth": 3, "criterion": "gini"}, {"binary_splits": True}])},
        {"pool": pools.MLP([{}, {"hidden": 3}], costs=[1, 3], scale=False)},
        {"pool": pools.MLP([{}, {"hidden": 3}], scale=1.0)},
        {"pool": pools.Neighbours([{}, {"weighting": "uniform"}], max_bytes=10_000, forget=None)},
        {"pool": pools.NeighboursGrid(windows=[20, 60])},
        {"pool": pools.Linear([{}, {"optimizer": "ftrl"}], own_values=4, hashed_to=16, scale=False)},
        {"pool": pools.NaiveBayes([{}, {"fading": 0.9, "variance_prior": 0}], costs=[1, 3])},
        {"pool": pools.LabelMemory([{}, {"fading": 0.9, "order": 2}], memory=30, costs=[1, 3])},
        {"pool": pools.Boosted([{}, {"rounds": 3, "horizon": None}])},
        {"pool": pools.Retrained([{"window": 100, "every": 50, "spread": 40, "trees": 3}, {}])},
        {"answer": "weighted", "warmup": 7, "seed": None},
    ],
    ids=str,
)
def test_the_same_model_comes_back(settings, tmp_path):
    model = learnt(**settings)
    model.save(tmp_path / "model.heros")
    again = Heros.load(tmp_path / "model.heros")
    assert_same(model, again)
    assert repr(again) == repr(model)
    assert (type(again.pool), again.pool, again.policy) == (type(model.pool), model.pool, model.policy)
    assert [path.name for path in tmp_path.iterdir()] == ["model.heros"]


def test_a_model_that_has_learnt_nothing_comes_back(tmp_path):
    Heros(MLP, k=2, seed=9).save(tmp_path / "model")
    again = Heros.load(tmp_path / "model")
    assert again.schema is None
    X, y = streams.Agrawal().draw(100)
    fresh = Heros(MLP, k=2, seed=9).bind(streams.Agrawal().schema).learn(X, y)
    assert_same(fresh, again.bind(streams.Agrawal().schema).learn(X, y), but="ensemble/cpu")


def test_a_model_whose_schema_has_grown_comes_back(tmp_path):
    model = Heros(MLP, k=2, seed=1).bind(Schema.of(["a", ("b", "u", "v")], classes=["no", "yes"]))
    model.learn([[1.0, 0.0], [2.0, 1.0]], [0, 1])
    model.bind(Schema.of(["a", ("b", "u", "v", "w"), "c"], classes=["no", "yes", "maybe"]))
    model.learn([[1.0, 2.0, 3.0]], [2])
    model.save(tmp_path / "model")
    again = Heros.load(tmp_path / "model")
    assert again.schema == model.schema
    x = [[0.5, 2.0, 1.0], [0.1, 0.0, 7.0]]
    assert again.predict_proba(x).tobytes() == model.predict_proba(x).tobytes()


class Fair:
    """Trains the models that were trained least."""

    def __init__(self):
        self.times = np.zeros(MLP.n_models)

    def choose(self, scores, costs, k, rng):
        mask = np.zeros(len(scores), dtype=bool)
        mask[np.argsort(self.times, kind="stable")[:k]] = True
        self.times += mask
        return mask

    def state(self):
        return {"times": self.times}

    def restore(self, state):
        self.times = state["times"].copy()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda policy: policy,
        lambda policy: policies.Explore(policy, 0.3),
        lambda policy: policies.Surprise(policies.Explore(policy, 0.3), 0.6),
    ],
)
def test_a_policy_of_ones_own_is_brought_along_and_gets_its_state_back(wrap, tmp_path):
    model = learnt(policy=wrap(Fair()))
    model.save(tmp_path / "model")
    with pytest.raises(
        HerosError, match=r"The policy \S+\.Fair is not a class of HEROS. Pass the object as policy=\.$"
    ):
        Heros.load(tmp_path / "model")
    with pytest.raises(ParameterError, match="parameter of load must be equal to the policy in the file"):
        Heros.load(tmp_path / "model", policy=policies.Cheapest())
    assert_same(model, Heros.load(tmp_path / "model", policy=wrap(Fair())))


def test_no_code_of_a_file_is_ever_named_or_run(tmp_path):
    """Classes are looked up only in a list of HEROS's classes; other names in a description are not resolved."""
    for kind in (
        "os.system",
        "CompiledPolicy",
        "Policy",
        "Score",
        "compiled",
        "__init__",
        "Heros",
        None,
        ["MLP"],
        {},
    ):
        model = learnt()
        document, arrays = serialization.pack(model)
        archive.write(tmp_path / "model", "model", document | {"policy": {"kind": kind}}, arrays)
        with pytest.raises(DataError, match=r"must hold a complete model|must name a class of HEROS"):
            Heros.load(tmp_path / "model")


def _changed(document, path, value):
    document = json.loads(json.dumps(document))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["k"], 0), (["k"], "2"), (["k"], ...), (["answer"], "none"), (["warmup"], -1), (["seed"], 1.5),
        (["pool"], ...), (["pool"], "MLP"), (["pool", "configurations"], []), (["pool", "configurations"], [1]),
        (["pool", "configurations"], [{"hidden": 1 << 20, "optimizer": "adam"}] * 1000),
        (["pool", "costs"], {"a": 1}), (["pool", "costs"], ["a"] * 8), (["pool", "costs"], [1.0]),
        (["pool", "isa"], "abacus"), (["pool", "more"], 1), (["pool", "__class__"], "x"),
        (["policy", "epsilon"], 2), (["policy", "policy"], 3), (["policy", "policy", "zeta"], None),
        (["score"], {"kind": "Window", "size": 1 << 24}), (["score", "delta"], "x"), (["score", "restart"], []),
        (["rng"], {}), (["rng", "state", "state"], -1), (["rng", "state", "inc"], 1 << 128), (["rng", "uinteger"], 1 << 32),
        (["rng", "bit_generator"], "MT19937"), (["rng", "has_uint32"], 7), (["schema"], {}), (["schema"], ...),
        (["schema", "classes"], ["a", "a"]), (["schema", "classes"], []), (["schema", "classes"], [1, 2]),
        (["schema", "features"], [["a", None, False]]), (["schema", "features"], [["a", None]]),
        (["schema", "features", 0], ["a", [str(i) for i in range(9)], False]),
    ],
    ids=str,
)  # fmt: skip
def test_a_description_that_cannot_be_is_refused(path, value, tmp_path):
    document, arrays = serialization.pack(learnt())
    archive.write(tmp_path / "model", "model", _changed(document, path, value), arrays)
    with pytest.raises(DataError):
        Heros.load(tmp_path / "model")


@pytest.mark.parametrize("depth", [32, 300, sys.getrecursionlimit() // 2])
def test_a_description_deeper_than_anyone_means_is_refused(tmp_path, depth):
    document, arrays = serialization.pack(learnt())
    deep = {"kind": "Zeta", "zeta": 0.1}
    for _ in range(depth):
        deep = {"kind": "Explore", "policy": deep, "epsilon": 0.5}
    archive.write(tmp_path / "model", "model", document | {"policy": deep}, arrays)
    with pytest.raises(DataError):
        Heros.load(tmp_path / "model")


def test_what_is_as_deep_as_may_be_is_kept_and_prints_itself_and_what_is_deeper_is_not_kept(tmp_path):
    policy = policies.Zeta(0.1)
    for _ in range(31):
        policy = policies.Explore(policy, 0.01)
    learnt(policy=policy).save(tmp_path / "model")
    assert repr(Heros.load(tmp_path / "model").policy) == repr(policy)
    with pytest.raises(HerosError, match=r"^The parts of a model must be nested at most 32 levels deep\.$"):
        learnt(policy=policies.Explore(policy, 0.01)).save(tmp_path / "deeper")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("pool", [MLP, TREES])
def test_arrays_that_do_not_fit_are_refused(pool, tmp_path):
    document, arrays = serialization.pack(learnt(pool=pool))
    path = tmp_path / "model"
    for name, array in arrays.items():
        for wrong in (None, array[:-1], np.zeros(len(array), dtype=np.int16), array.reshape(1, -1)):
            changed = {k: v for k, v in arrays.items() if k != name} | (
                {} if wrong is None else {name: wrong}
            )
            archive.write(path, "model", document, changed)
            if wrong is not None and wrong.tobytes() == array.tobytes() and wrong.shape == array.shape:
                continue  # an empty array has no last element
            with pytest.raises(DataError):
                Heros.load(path)


SCHEMAS = {
    "a number more": lambda features, classes: ([*features, ["more", None, False]], classes),
    "a name more": lambda features, classes: ([*features, ["more", ["a", "b", "c"], False]], classes),
    "a feature less": lambda features, classes: (features[:-1], classes),
    "a class more": lambda features, classes: (features, [*classes, "more"]),
    "a class less": lambda features, classes: (features, classes[:-1]),
    "names for a number": lambda features, classes: (
        [[one[0], ["a", "b"] if one[1] is None else None, one[2]] for one in features],
        classes,
    ),
}


@pytest.mark.parametrize("change", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize(
    "pool", [MLP, TREES, pools.Linear([{}]), pools.NaiveBayes([{}]), pools.Neighbours([{}])]
)
def test_a_schema_that_does_not_fit_the_arrays_is_refused(pool, change, tmp_path):
    document, arrays = serialization.pack(learnt(pool=pool, k=1))
    document = json.loads(json.dumps(document))
    plain = document["schema"]
    plain["features"], plain["classes"] = change(plain["features"], plain["classes"])
    archive.write(tmp_path / "model", "model", document, arrays)
    with pytest.raises(DataError):
        Heros.load(tmp_path / "model")


def test_the_file_that_was_there_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "model"
    learnt(seed=1).save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(HerosError, match=r"The file .*model cannot be written: No space left on device\.$"):
        learnt(seed=2).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


class Coin:
    def predict_proba(self, x):
        return [0.5, 0.5]

    def learn(self, x, y):
        pass


def test_members_that_only_pickle_knows_are_neither_kept_nor_taken(tmp_path, monkeypatch):
    """Unpickling the contents of the file would run its code."""
    X, y = streams.Agrawal().draw(50)
    pool = pools.Models([Coin(), Coin()], costs=[1, 2])
    model = Heros(pool, k=1, seed=1, schema=streams.Agrawal().schema).learn(X, y)
    with pytest.raises(HerosError, match=r"cannot hold the Python objects of Models. Use pickle instead"):
        model.save(tmp_path / "model.heros")
    assert not list(tmp_path.iterdir())
    with pytest.raises(HerosError, match="cannot hold the Python objects of this pool"):
        evaluate(Heros(pool, k=1), streams.Agrawal().take(500), checkpoint=tmp_path, every=100)
    with monkeypatch.context() as unguarded:
        unguarded.setattr(pools.Models, "plain", True)
        model.save(tmp_path / "made_up.heros")
    document, arrays = archive.read(tmp_path / "made_up.heros", "model")
    made_up = document | {"pool": {"own": "heros.pools.models.Models"}}
    archive.write(tmp_path / "made_up.heros", "model", made_up, arrays)
    with pytest.raises(HerosError, match="Use pickle instead"):
        Heros.load(tmp_path / "made_up.heros", pool=pool)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a special file")
def test_a_device_is_not_replaced_by_a_model(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HerosError, match="cannot be written: Not a regular file"):
        Heros(k=1, seed=1).learn({"x": 1.0}, "no").save(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
