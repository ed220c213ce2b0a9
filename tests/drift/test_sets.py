"""Prediction sets: coverage, also after a drift; comparison with slow reference code; saved models."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from heros import DataError, Heros, HerosError, ParameterError, evaluate, pools, streams
from heros.ensemble.late import LateLabels
from heros.ensemble.task import Classification

POOL = pools.MLPGrid(hidden=[16], learning_rates=[0.05, 0.005])


def fresh(level=0.9, **settings):
    return Heros(POOL, k=4, task=Classification(level=level), seed=1, **settings)


def slow_sets(probabilities, y, level):
    """Return the threshold of each instance by sorting its last 1000 losses."""
    lost, miss, thresholds = [], 1 - level, []
    for p, target in zip(probabilities, y, strict=True):
        recent = sorted(lost[-1000:])
        rank = math.ceil((len(recent) + 1) * (1 - miss))
        threshold = 1.0 if rank > len(recent) else recent[max(rank, 1) - 1]
        thresholds.append(threshold)
        loss = 1 - p[target]
        if lost:
            miss = min(max(miss + 0.005 * (1 - level - (loss > threshold)), 0), 1)
        lost.append(loss)
    return np.array(thresholds)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.99])
def test_sets_equal_their_slow_twin(level):
    stream = streams.Drift(streams.LED(), streams.LED(drift=5), 1500)
    X, y = stream.draw(3000)
    model = fresh(level, schema=stream.schema)
    p = model.test_then_train(X, y).outputs
    inside = 1 - p <= slow_sets(p, y, level)[:, None]
    assert model.sets["instances"] == 3000
    assert model.sets["coverage"] == inside[np.arange(3000), y].mean()
    assert model.sets["size"] == inside.sum() / 3000


@pytest.mark.parametrize(
    "make", [streams.LED, lambda: streams.RandomRBF(classes=5), lambda: streams.Agrawal(2)]
)
def test_coverage_is_what_was_asked_for(make):
    stream = make()
    model = fresh(schema=stream.schema).learn(*stream.draw(10_000))
    assert model.sets["coverage"] == pytest.approx(0.9, abs=0.01)


def test_a_drift_does_not_break_it():
    stream = streams.Drift(streams.RandomRBF(classes=5), streams.RandomRBF(classes=5, model_seed=9), 10_000)
    model = fresh(schema=stream.schema).learn(*stream.draw(9_000))
    before = model.sets
    model.learn(*stream.draw(5_000))
    after = model.sets
    held = after["coverage"] * after["instances"] - before["coverage"] * before["instances"]
    assert held / 5_000 >= 0.85


def test_sets_change_nothing_else():
    X, y = streams.LED().draw(2000)
    plain = Heros(POOL, k=4, seed=1, schema=streams.LED().schema).test_then_train(X, y)
    with_sets = fresh(schema=streams.LED().schema).test_then_train(X, y)
    assert (plain.outputs == with_sets.outputs).all()
    assert (plain.chosen == with_sets.chosen).all()


def test_a_set_has_the_classes_that_are_likely_enough():
    stream = streams.LED()
    model = fresh(schema=stream.schema).learn(*stream.draw(3000))
    X, _ = stream.draw(200)
    p, sets = model.predict_proba(X), model.predict_set(X)
    for row, names in zip(p, sets, strict=True):
        inside = [int(name) for name in names]
        outside = [c for c in range(10) if c not in inside]
        assert not inside or not outside or row[inside].min() >= row[outside].max()
    assert model.predict_set(X[3]) == sets[3]
    row = {
        feature.name: feature.values[int(v)] for feature, v in zip(stream.schema.features, X[3], strict=True)
    }
    assert model.predict_set(row) == sets[3]
    assert model.predict_set([row, row]) == [sets[3], sets[3]]


def test_sets_survive_files_copies_and_checkpoints(tmp_path):
    X, y = streams.LED().draw(3000)
    model = fresh(schema=streams.LED().schema).learn(X[:2000], y[:2000])
    model.save(tmp_path / "model.heros")
    copies = [Heros.load(tmp_path / "model.heros"), pickle.loads(pickle.dumps(model))]
    model.learn(X[2000:], y[2000:])
    for again in copies:
        assert again.task == Classification(level=0.9)
        again.learn(X[2000:], y[2000:])
        assert again.sets == model.sets
        assert again.predict_set(X) == model.predict_set(X)
    run = fresh()
    evaluate(run, streams.LED().take(2000), checkpoint=tmp_path / "c", every=500, progress=False)
    first = sorted((tmp_path / "c").glob("checkpoint-*"))[0]
    resumed = fresh()
    evaluate(
        resumed, streams.LED().take(2000), checkpoint=tmp_path / "c", resume=first, every=500, progress=False
    )
    assert resumed.sets == run.sets


def test_sets_with_late_labels():
    stream = streams.LED()
    late = LateLabels(fresh(schema=stream.schema))
    X, y = stream.draw(600)
    for i, x in enumerate(X):
        late.answer(i, x)
        if i >= 20:
            late.learn(i - 20, int(y[i - 20]))
    assert late.model.sets["instances"] == 580
    assert late.model.sets["coverage"] == pytest.approx(0.9, abs=0.05)


def test_what_is_not_asked_for_is_refused():
    model = Heros(POOL, k=4, seed=1, schema=streams.LED().schema)
    with pytest.raises(
        HerosError,
        match=r"This Heros has no prediction sets\. Create it with Heros\(task=Classification\(level=0\.9\)\)\.",
    ):
        model.predict_set(streams.LED().draw(1)[0])
    for level in (0, 1, 2):
        with pytest.raises(
            ParameterError, match=r"The 'level' parameter of Classification must be in \(0, 1\)\."
        ):
            Classification(level=level)
    model = fresh(schema=streams.LED().schema).learn(*streams.LED().draw(50))
    state = model.state()
    state["ensemble"]["sets_held"] = np.array([51])
    with pytest.raises(DataError, match="The state does not fit: invalid counts of sets"):
        fresh().restore(model.schema, state)


def test_abstaining():
    stream = streams.LED()
    model = fresh(schema=stream.schema).learn(*stream.draw(3000))
    X, y = stream.draw(1000)
    plain, careful, sets = model.predict(X), model.predict(X, abstain=True), model.predict_set(X)
    assert [answer is None for answer in careful] == [len(names) != 1 for names in sets]
    kept = np.array([answer is not None for answer in careful])
    assert (careful[kept] == plain[kept]).all()
    right = plain == np.asarray(stream.schema.classes)[y]
    assert right[kept].mean() > right.mean() + 0.05
    assert model.predict(X[0], abstain=True) == careful[0]
    assert {model.predict(x, abstain=True) is None for x in X[:50]} == {True, False}
