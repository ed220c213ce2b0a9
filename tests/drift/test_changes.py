"""Detected changes: their time and size, the affected classes and models, and their storage."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re

import numpy as np
import pytest

from heros import DataError, Heros, evaluate, pools, streams
from heros.drift import Change
from heros.drift.changes import ClassChange, changes_of, counted_from
from heros.run import records


def drifting(n=6000, at=3000):
    return streams.Drift(streams.RandomRBF(classes=3), streams.RandomRBF(classes=3, model_seed=9), at).take(n)


def fresh(**settings):
    return Heros(pools.MLPGrid(hidden=[16], learning_rates=[0.05, 0.005]), k=4, seed=1, **settings)


def errors_of(changes):
    return [change for change in changes if change.kind == "error"]


@pytest.fixture(scope="module")
def run():
    model = fresh()
    return model, evaluate(model, drifting(), progress=False)


def test_a_drift_is_noted_with_time_size_and_recovery(run):
    [change] = errors_of(run[1].changes)
    assert 3000 < change.at <= 3300
    assert abs(change.since - 3000) <= 30
    curve = 1 - run[1].curves.accuracy
    assert change.before == pytest.approx(curve[1:3].mean(), abs=0.05)
    assert change.after > change.before + 0.02
    assert change.size == change.after - change.before
    if change.recovered:
        assert change.recovery == change.ended - change.at > 0


def test_the_beginning_of_a_small_change_is_estimated_from_all_losses():
    """The detector's window starts long before this change."""
    rng = np.random.default_rng(1)
    X = rng.random((8000, 1))
    y = ((X[:, 0] > 0.5) != (rng.random(8000) < np.where(np.arange(8000) < 5000, 0.2, 0.3))).astype(int)
    model = Heros(pools.Hoeffding([{}]), k=1, seed=1)
    [change] = errors_of(evaluate(model, (X, y), progress=False).changes)
    [noted] = errors_of(model.changes)  # the model does not store losses
    assert noted.at == change.at
    assert abs(change.before - 0.2) < 0.03
    assert abs(change.after - 0.3) < 0.05
    assert abs(change.since - 5000) <= 300 < 5000 - noted.since
    assert f"the change began between {noted.since:,} and {noted.at:,}" in str(noted)
    [bounded] = errors_of(
        evaluate(Heros(pools.Hoeffding([{}]), k=1, seed=1), (X, y), progress=False, exact=False).changes
    )
    assert bounded == noted


def test_the_beginning_of_a_change_of_a_number():
    rng = np.random.default_rng(2)
    X = rng.random((6000, 1))
    y = X[:, 0] + rng.normal(0, np.where(np.arange(6000) < 4000, 0.05, 0.5))
    run = evaluate(Heros(seed=1), (X, y), progress=False, predictions=True)
    [change] = errors_of(run.changes)
    assert abs(change.since - 4000) <= 20


def test_the_summary_says_where_the_error_rose(run):
    [change] = errors_of(run[1].changes)
    assert f"changes: the error rose at instance {change.at:,}" in repr(run[1])
    assert re.search(rf"^changes +the error rose at instance {change.at:,}", run[1].summary(), re.M)


def test_a_stream_without_drift_has_no_change():
    model = fresh()
    evaluate(model, streams.LED().take(20_000), progress=False)
    assert model.changes == ()


def test_which_classes_moved():
    """Two classes swap their names; the third class does not change."""
    X = np.random.default_rng(1).random((8000, 3))
    y = X.argmax(axis=1)
    y[4000:] = np.array([1, 0, 2])[y[4000:]]
    model = Heros(pools.MLPGrid(hidden=[16], optimizers=["sgd"], learning_rates=[0.05]), k=1, seed=1)
    changes = evaluate(model, (X, y), progress=False).changes
    change = errors_of(changes)[0]
    moved = {moved.name: moved for moved in change.classes}
    assert {"0", "1"} <= set(moved)
    assert all(moved[name].error_after > moved[name].error_before + 0.1 for name in ("0", "1"))
    assert change.classes[0].name in {"0", "1"}
    assert f"class {change.classes[0].name} (error " in str(change)


def test_the_text_names_only_classes_that_raised_the_error():
    """A class with a lower error is named only if it became more frequent."""
    better = ClassChange("better", 0.76, 0.38, 0.5, 0.5)
    worse = ClassChange("worse", 0.1, 0.3, 0.4, 0.4)
    frequent = ClassChange("frequent", 0.76, 0.5, 0.1, 0.4)
    new = ClassChange("new", math.nan, 0.9, 0.0, 0.1)
    gone = ClassChange("gone", 0.2, math.nan, 0.1, 0.0)

    def named(*classes):
        return str(Change("error", 3100, 2950, 0.1, 0.3, classes=classes))

    assert "affected" not in named(better, gone)
    assert (
        "most affected: class worse (error 10.0 % to 30.0 %), class new (0.0 % to 10.0 % of all);"
        in named(better, worse, gone, new)
    )
    assert "most affected: class frequent (10.0 % to 40.0 % of all);" in named(better, frequent)


def test_which_model_took_over():
    """One model never learns and is right by chance until the classes swap; then another model leads."""

    class Always:
        def __init__(self, answer):
            self.answer = answer

        def predict_proba(self, x):
            return self.answer

        def learn(self, x, y):
            pass

    rng = np.random.default_rng(1)
    y = np.where(np.arange(6000) < 3000, rng.random(6000) < 0.05, rng.random(6000) < 0.95).astype(int)
    X = rng.random((6000, 2))
    pool = pools.Models([("zero", Always([0.9, 0.1])), ("one", Always([0.1, 0.9]))])
    model = Heros(pool, k=1, seed=1, schema=streams.from_arrays(X, y).schema)
    model.learn(X, y)
    change = errors_of(model.changes)[0]
    assert (change.best_before.model, change.best_after.model) == (0, 1)
    assert change.models[0].before > 0.9 > change.models[0].lowest
    assert change.recovered
    assert "took over from model 0" in str(change)
    assert {moved.name: moved.share_after > 0.5 for moved in change.classes} == {"0": False, "1": True}


def test_a_drop_of_one_model_alone_is_told():
    rng = np.random.default_rng(1)
    y = (rng.random(4000) < 0.5).astype(int)
    X = np.stack([y, np.where(np.arange(4000) < 2000, y, 1 - y)], axis=1).astype(float)

    class Reads:
        def __init__(self, column):
            self.column = column

        def predict_proba(self, x):
            value = list(x.values())[self.column] if isinstance(x, dict) else x[self.column]
            return [1 - value, value]

        def learn(self, x, y):
            pass

    pool = pools.Models([("right", Reads(0)), ("later wrong", Reads(1))])
    model = Heros(pool, k=1, seed=1, schema=streams.from_arrays(X, y).schema)
    model.learn(X, y)
    [change] = model.changes
    assert change.kind == "model"
    assert [fell.model for fell in change.models] == [1]
    assert 2000 < change.at < 2200
    assert change.before == 1
    assert f"At instance {change.at:,} the score of model 1 (later wrong" in str(change)


def test_numbers_have_changes_too():
    rng = np.random.default_rng(1)
    X = rng.random((6000, 3))
    y = np.where(np.arange(6000) < 3000, X[:, 0], 5 - 7 * X[:, 1])
    model = Heros(pools.LinearGrid(), k=2, task="regression", seed=1)
    changes = errors_of(evaluate(model, (X, y), progress=False).changes)
    assert 3000 < changes[0].at < 3200
    assert "the mean absolute error rose from" in str(changes[0])
    assert changes[0].classes == ()


@pytest.mark.parametrize("block", [1, 7, 500])
def test_it_does_not_matter_how_blocks_are_cut(run, block):
    X, y = drifting().draw(6000)
    model = fresh(schema=drifting().schema)
    for start in range(0, 6000, block):
        model.test_then_train(X[start : start + block], y[start : start + block])
    assert model.changes == run[0].changes


def test_changes_survive_files_copies_and_checkpoints(run, tmp_path):
    X, y = drifting().draw(6000)
    model = fresh(schema=drifting().schema).learn(X[:3200], y[:3200])
    assert errors_of(model.changes)[0].ended is None, "the change has to last while it is kept"
    model.save(tmp_path / "model.heros")
    for again in (
        Heros.load(tmp_path / "model.heros"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        assert again.changes == model.changes
        assert again.learn(X[3200:], y[3200:]).changes == run[0].changes
    evaluate(fresh(), drifting(), checkpoint=tmp_path / "c", every=1000, progress=False)
    newest = sorted((tmp_path / "c").glob("checkpoint-*"))[0]
    resumed = evaluate(
        fresh(), drifting(), checkpoint=tmp_path / "c", resume=newest, every=1000, progress=False
    )
    assert resumed.changes == run[1].changes


def test_changes_are_in_records(run, tmp_path):
    assert errors_of(run[1].changes)
    path = records.save(run[1], tmp_path)
    assert records.read(path).changes == run[1].changes
    plain = json.loads(json.dumps(records.document(run[1])))
    assert plain["changes"][0]["at"] == run[1].changes[0].at


def test_a_run_counts_its_own_instances(run):
    X, y = drifting().draw(6000)
    model = fresh(schema=drifting().schema).learn(X[:1000], y[:1000])
    stream = drifting()
    stream.draw(1000)
    later = evaluate(model, stream, progress=False)
    [whole], [part] = errors_of(run[0].changes), errors_of(later.changes)
    assert part.at == whole.at - 1000
    assert counted_from(model.changes, 6000) == ()


def test_a_state_that_does_not_fit_is_refused(run):
    model = run[0]
    state = model.state()
    for name, bad in [
        ("changes_event_numbers", np.nan),
        ("changes_tally_totals", -1.0),
        ("changes_event_models", np.inf),
        ("changes_open", 7),
        ("changes_tally_scores", np.nan),
    ]:
        ensemble = dict(state["ensemble"])
        ensemble[name] = np.full_like(ensemble[name], bad)
        with pytest.raises(DataError, match="The state does not fit"):
            fresh().restore(model.schema, {**state, "ensemble": ensemble})


def test_a_drop_within_a_change_is_not_told_twice():
    noted = [
        (np.array([1.0, 90, 60, -1, 0, 0.9, 0.7, 0.7]), np.empty(0), np.empty(0)),
        (np.array([-1.0, 100, 80, 300, 1, 0.1, 0.3, 0.1]), np.empty(0), np.tile([0.9, 0.7, 0.9], 2)),
        (np.array([0.0, 900, 860, -1, 0, 0.9, 0.7, 0.7]), np.empty(0), np.empty(0)),
    ]
    changes = changes_of(noted, [{"a": 1}, {"a": 2}], ["x", "y"], False)
    assert [(change.kind, change.at) for change in changes] == [("error", 100), ("model", 900)]
    assert Change.from_plain(changes[0].plain()) == changes[0]
    assert changes[0].best_after is None
