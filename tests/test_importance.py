"""Importance of columns over time, and explanations of single predictions."""

from __future__ import annotations

import copy
import datetime
import pickle
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from heros import DataError, Heros, HerosError, ParameterError, Schema, evaluate, pools, streams
from heros.ensemble import explain
from heros.ensemble.explain import contributions
from heros.ensemble.importance import AT_ONCE, EACH, POINTS, ROWS, Importance, RunningImportance
from heros.ensemble.keyed import Keyed
from heros.ensemble.late import LateLabels

POOL = pools.MLPGrid(hidden=[16], learning_rates=[0.05, 0.005])
NAMES = [f"x{i}" for i in range(6)]


def fresh(**settings):
    return Heros(POOL, k=4, explainable=True, seed=1, **settings)


def planted(n, column=3, seed=1, numeric=False):
    """Return numbers, of which only one column determines the class."""
    X = np.random.default_rng(seed).normal(size=(n, len(NAMES)))
    y = 5 * X[:, column] if numeric else (X[:, column] > 0).astype(np.int64)
    return X, y, Schema.of(NAMES, classes=None if numeric else ["no", "yes"])


def same(a: Heros, b: Heros) -> bool:
    mine, its = a.state(), b.state()
    return mine.keys() == its.keys() and all(
        np.array_equal(array, its[group][name], equal_nan=True)
        for group, arrays in mine.items()
        for name, array in arrays.items()
        if name != "cpu"
    )


@pytest.mark.parametrize("numeric", [False, True])
def test_the_column_that_decides_is_the_most_important_one(numeric):
    X, y, schema = planted(3000, numeric=numeric)
    told = fresh(schema=schema).learn(X, y).importance()
    assert told.ranked()[0] == "x3"
    assert told.shares()["x3"] > 0.5
    assert sum(told.shares().values()) == pytest.approx(1)
    assert told.history.shape == (len(told.end), 6)
    assert len(told.end) >= 4
    assert (told.history[1:, 3] == told.history[1:].max(axis=1)).all()
    assert told.end[-1] == 3000
    np.testing.assert_array_equal(told.history[-1], told.values)  # a current measurement, not a running mean


def test_it_follows_a_change_of_concept():
    X, y, schema = planted(5000)
    y[2500:] = X[2500:, 5] > 0
    model = fresh(schema=schema).learn(X[:2500], y[:2500])
    assert model.importance().ranked()[0] == "x3"
    told = model.learn(X[2500:4500], y[2500:4500]).importance()
    assert told.ranked()[0] == "x5"
    assert told.history[told.end <= 2500].argmax(axis=1)[-1] == 3  # the history keeps earlier values


def test_nominal_features_count():
    rng = np.random.default_rng(2)
    rows = [{"size": rng.normal(), "colour": str(rng.choice(["red", "blue", "green"]))} for _ in range(2000)]
    model = fresh().learn(rows, [row["colour"] == "red" for row in rows])
    assert model.importance().ranked() == ["colour", "size"]


def test_a_date_is_one_column():
    start = datetime.datetime(2026, 1, 1)
    rows = [{"placed": start + datetime.timedelta(hours=7 * i), "size": i % 5} for i in range(2000)]
    labels = ["weekend" if row["placed"].weekday() >= 5 else "week" for row in rows]
    model = fresh().learn(rows, labels)
    assert model.schema.n_features > 2
    assert model.importance().ranked() == ["placed", "size"]
    explained = model.explain(rows[-1])
    assert {one.name: one.value for one in explained.columns} == rows[-1]
    for one_row in (rows[-1:], pd.DataFrame(rows[-1:]), pl.DataFrame(rows[-1:])):
        assert model.explain(one_row).columns == explained.columns


def test_learning_and_predictions_are_the_same_without_it():
    stream = streams.Agrawal(function=2)
    X, y = stream.draw(1500)
    for settings in ({}, {"watch": "trained", "pool": POOL, "k": 4}):
        plain = Heros(seed=1, schema=stream.schema, **settings).learn(X, y)
        explainable = Heros(seed=1, schema=stream.schema, explainable=True, **settings).learn(X, y)
        mine, its = plain.state(), explainable.state()
        assert its.keys() - mine.keys() == {"importance"}
        for group, arrays in mine.items():
            for name, array in arrays.items():
                assert name in ("cpu", "gamma") or np.array_equal(array, its[group][name], equal_nan=True), (
                    name
                )


def test_how_a_stream_is_cut_makes_no_difference():
    X, y, schema = planted(2000)
    whole = fresh(schema=schema).learn(X, y)
    parts = fresh(schema=schema)
    for start, stop in zip([0, 1, 50, 333, 1200], [1, 50, 333, 1200, 2000], strict=True):
        parts.learn(X[start:stop], y[start:stop])
    assert same(whole, parts)
    assert whole.importance() == parts.importance()


@pytest.mark.parametrize("how", ["file", "pickle", "copy", "follow"])
def test_it_goes_on_where_it_was(how, tmp_path):
    X, y, schema = planted(3000)
    model = fresh(schema=schema).learn(X[:1500], y[:1500])
    if how == "file":
        model.save(tmp_path / "m.heros")
        again = Heros.load(tmp_path / "m.heros")
    elif how == "pickle":
        again = pickle.loads(pickle.dumps(model))
    elif how == "copy":
        again = copy.deepcopy(model)
    else:
        again = fresh(schema=schema)
        again.follow(model)
    assert again.importance() == model.importance()
    assert again.explain(X[0]) == model.explain(X[0])
    if how != "follow":
        assert same(model.learn(X[1500:], y[1500:]), again.learn(X[1500:], y[1500:]))


def test_a_resumed_run_has_the_same_importance(tmp_path):
    X, y, _ = planted(3000)

    def stream():
        return streams.from_arrays(X, y)

    whole = evaluate(fresh(), stream())
    evaluate(fresh(), stream(), checkpoint=tmp_path, every=700, callback=lambda window: window.end >= 2000)
    again = evaluate(fresh(), stream(), checkpoint=tmp_path, every=700, resume=True)
    assert again.importance == whole.importance
    assert whole.importance.end[-1] <= 3000


def test_a_state_that_does_not_fit_is_refused():
    X, y, schema = planted(500)
    kept = fresh(schema=schema).learn(X, y).state()
    for name, broken in {
        "rows": kept["importance"]["rows"][:, :3],
        "counts": -kept["importance"]["counts"],
        "numbers": np.array([1, 99, 500, 0]),
        "means": kept["importance"]["means"].astype(np.float32),
    }.items():
        with pytest.raises(DataError, match="importance"):
            fresh().restore(schema, kept | {"importance": kept["importance"] | {name: broken}})
    with pytest.raises(DataError, match="importance"):
        fresh().restore(schema, {name: group for name, group in kept.items() if name != "importance"})


def test_new_columns_come_in_as_the_schema_grows():
    rng = np.random.default_rng(3)
    model = fresh()
    for i in range(2500):
        row = {"a": rng.normal()}
        if i >= 500:
            row["b"] = rng.normal()
        model.learn(row, "yes" if row.get("b", row["a"]) > 0 else "no")
    told = model.importance()
    assert told.columns == ("a", "b")
    assert told.ranked()[0] == "b"
    assert np.isnan(told.history[0, 1])
    assert np.isfinite(told.history[-1]).all()


def test_late_labels():
    X, y, _ = planted(2500)
    late = LateLabels(fresh())
    for i in range(2500):
        late.answer(i, dict(zip(NAMES, X[i], strict=True)))
        if i >= 100:
            late.learn(i - 100, int(y[i - 100]))
    assert late.model.importance().ranked()[0] == "x3"


def test_a_model_per_key(tmp_path):
    X, y, schema = planted(1500)
    with Keyed(fresh(schema=schema), capacity=1) as keyed:
        for start in range(0, 1500, 100):
            for key in ("a", "b"):
                keyed.learn(key, X[start : start + 100], y[start : start + 100])
        assert keyed["a"].importance().ranked()[0] == "x3"
        assert keyed["a"].importance() == keyed["b"].importance()


def test_off_there_is_nothing():
    X, y, schema = planted(300)
    model = Heros(POOL, k=4, seed=1, schema=schema).learn(X, y)
    assert "importance" not in model.state()
    for ask in (model.importance, lambda: model.explain(X[0])):
        with pytest.raises(HerosError, match=r"Create Heros\(explainable=True\)"):
            ask()
    assert model.explain(X[0], background=X[:50]).columns[0].name == "x3"
    with pytest.raises(ParameterError, match="'explainable' parameter of Heros must be True or False"):
        Heros(explainable="yes")


def test_the_history_and_the_sample_are_bounded():
    kept = RunningImportance(Schema.of(["a"], classes=["no", "yes"]))
    rng = np.random.default_rng(1)
    for at in range(0, 400_000, EACH):
        if kept.to_predict(rng.normal(size=1), at, alarm=0) is not None:
            kept.learn(np.array([0.5, 0.5]), np.tile([0.4, 0.6], (AT_ONCE, 1)))
        kept.add_to_sample(rng.normal(size=(EACH, 1)), at)
    told = kept.result()
    assert len(kept.rows) == ROWS
    assert POINTS <= len(told.end) < 2 * POINTS
    assert (np.diff(told.end) > 0).all()
    assert told.end[-1] > 390_000
    assert told.values == pytest.approx([0.02])


def test_plain_data_and_back():
    X, y, schema = planted(1500)
    told = fresh(schema=schema).learn(X, y).importance()
    assert Importance.from_plain(told.plain()) == told
    nothing = fresh(schema=schema).importance()
    assert Importance.from_plain(nothing.plain()) == nothing
    assert nothing.plain()["values"] == [None] * 6
    assert told.since(700).end.tolist() == [end - 700 for end in told.end.tolist() if end > 700]


# -- explanations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numeric", [False, True])
def test_contributions_add_up_and_name_the_planted_column(numeric):
    X, y, schema = planted(2000, numeric=numeric)
    model = fresh(schema=schema).learn(X[:1900], y[:1900])
    first = 0
    for x in X[1900:]:
        told = model.explain(x)
        total = told.base + sum(one.contribution for one in told.columns)
        assert abs(total - told.prediction) < 1e-6
        right = model.predict(x) if numeric else model.predict_proba(x).max()
        assert abs(told.prediction - right) < 1e-6
        assert (told.of is None) == numeric
        first += told.columns[0].name == "x3"
    assert first >= 90  # if x3 is near the mean of the others, its contribution is almost 0


def test_contributions_are_those_of_a_slow_exact_twin():
    """Three columns: all orders and all background instances, by the definition of Shapley values."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(800, 3))
    schema = Schema.of(["a", "b", "c"], classes=["no", "yes"])
    model = fresh(schema=schema).learn(X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(np.int64))
    x, background = X[0], X[1:33]
    exact = np.zeros(3)
    for other in background:
        for order in permutations(range(3)):
            z = other.copy()
            before = model.predict_proba(z)[1]
            for column in order:
                z[column] = x[column]
                after = model.predict_proba(z)[1]
                exact[column] += (after - before) / 6 / len(background)
                before = after
    told = {one.name: one.contribution for one in model.explain(x, of="yes", background=background).columns}
    assert [told[name] for name in "abc"] == pytest.approx(exact, abs=0.05)


def test_a_class_of_choice():
    X, y, schema = planted(800)
    model = fresh(schema=schema).learn(X, y)
    yes, no = model.explain(X[0], of="yes"), model.explain(X[0], of="no")
    assert yes.prediction + no.prediction == pytest.approx(1)
    added = {one.name: one.contribution for one in no.columns}
    assert all(one.contribution == pytest.approx(-added[one.name]) for one in yes.columns)
    with pytest.raises(ParameterError, match="'of' parameter of explain must be the name of a class"):
        model.explain(X[0], of="maybe")
    with pytest.raises(DataError, match="one instance"):
        model.explain(X[:2])
    assert "probability of yes" in repr(yes)
    assert yes.plain()["columns"][0].keys() == {"name", "value", "contribution"}


@pytest.mark.parametrize("code", [-2.0, 3.0, 1e9, 0.5, float("inf")])
def test_a_file_with_an_impossible_value_in_its_sample_is_refused(tmp_path, code):
    model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, explainable=True)
    model.learn([{"a": i % 7, "b": "xyz"[i % 3]} for i in range(200)], ["n", "y"] * 100)
    model.save(tmp_path / "good.heros")
    assert len(Heros.load(tmp_path / "good.heros").sample)
    model._bound_learner.importance.rows[:, 1] = code
    model.save(tmp_path / "forged.heros")
    with pytest.raises(DataError, match="invalid value of 'b'"):
        Heros.load(tmp_path / "forged.heros")


def test_an_explanation_with_many_columns_is_predicted_in_parts(monkeypatch):
    X, y, schema = planted(400)
    model, x = fresh(schema=schema).learn(X, y), X[0]
    sizes = list[int]()

    def predict(X):
        sizes.append(len(X))
        return model.outputs(X, 0)

    whole, all_at_once = contributions(x, model.sample, predict, schema), sizes.copy()
    sizes.clear()
    monkeypatch.setattr(explain, "LARGEST", 1)
    parts = contributions(x, model.sample, predict, schema)
    assert parts == whole
    assert len(all_at_once) == 1
    assert sum(sizes) == all_at_once[0]
    assert set(sizes) == {len(NAMES) + 1}
