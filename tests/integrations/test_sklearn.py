"""HEROS in scikit-learn: its checks and conventions, and the same probabilities as the core."""

from __future__ import annotations

import copy

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from heros import DataError, Feature, Heros, ParameterError, Schema, policies, pools, scores, streams
from heros.data.schema import schema_plain
from heros.ensemble.settings import SETTINGS
from heros.integrations.sklearn import HerosClassifier, HerosRegressor

SMALL = pools.MLPGrid(hidden=[8, 16], learning_rates=[0.05, 0.005])
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "the rows are a stream: their order matters, and a weight "
    "scales the step of models that follow a gradient"
}


@parametrize_with_checks(
    [
        HerosClassifier(),
        HerosClassifier(SMALL, policies.Cand(), k=4, answer="weighted"),
        HerosRegressor(pools.Neighbours([{"neighbours": 3}, {"neighbours": 5}]), k=2),
    ],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def shuffled_iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    return X[order], y[order]


def frame(n=240):
    rng = np.random.default_rng(0)
    size, colour = rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    columns = {"size": size, "colour": pd.Categorical(colour), "name": colour, "big": size > 1}
    return pd.DataFrame(columns), np.where((size > 0) ^ (colour == "red"), "yes", "no")


@pytest.mark.parametrize("cuts", [[], [1, 2, 3, 50, 149]], ids=["fit", "partial_fit"])
def test_probabilities_are_the_cores(cuts):
    X, y = shuffled_iris()
    core = Heros(SMALL, k=4, seed=5, schema=Schema.of("abcd", classes="012")).learn(X, y)
    model = HerosClassifier(SMALL, k=4, random_state=5)
    if cuts:
        for part_X, part_y in zip(np.split(X, cuts), np.split(y, cuts), strict=True):
            model.partial_fit(part_X, part_y, classes=[2, 1, 0])
    else:
        model.fit(X, y)
    assert np.array_equal(model.predict_proba(X), core.predict_proba(X))
    assert np.array_equal(model.predict(X), model.classes_[core.predict_proba(X).argmax(axis=1)])


@pytest.mark.parametrize(
    "convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_frames_are_what_they_are_in_a_stream(convert):
    table, y = frame()
    table = convert(table)
    model = HerosClassifier(SMALL, k=4, random_state=5).fit(table, y)
    labelled = table.append_column("y", pa.array(y)) if isinstance(table, pa.Table) else None
    if labelled is None:
        labelled = (
            table.assign(y=y) if isinstance(table, pd.DataFrame) else table.with_columns(y=pl.Series(y))
        )
    stream = streams.from_frame(labelled, target="y")
    X, labels = stream.draw(len(y))
    core = Heros(SMALL, k=4, seed=5, schema=stream.schema).learn(X, labels)
    assert [feature.nominal for feature in model.heros_.schema.features] == [False, True, True, True]
    assert model.feature_names_in_.tolist() == ["size", "colour", "name", "big"]
    assert np.array_equal(model.predict_proba(table), core.predict_proba(X))
    assert model.score(table, y) > 0.8


def test_values_come_later_and_unknown_ones_are_missing():
    model = HerosClassifier(SMALL, k=4, random_state=1)
    model.partial_fit(pd.DataFrame({"c": ["a", "b"] * 20}), [0, 1] * 20, classes=[0, 1])
    unknown, missing = pd.DataFrame({"c": ["z"]}), pd.DataFrame({"c": [None]}, dtype="str")
    assert np.array_equal(model.predict_proba(unknown), model.predict_proba(missing))
    assert model.heros_.schema.features[0].values == ("a", "b")  # predictions changed nothing
    model.partial_fit(pd.DataFrame({"c": ["a", "b", "z"] * 40}), [0, 0, 1] * 40)
    assert model.heros_.schema.features[0].values == ("a", "b", "z")
    assert model.predict(pd.DataFrame({"c": ["a", "z"]})).tolist() == [0, 1]


def test_missing_numbers():
    X, y = shuffled_iris()
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    assert HerosClassifier(SMALL, random_state=1).fit(holes, y).score(holes, y) > 0.7
    with pytest.raises(ValueError, match="infinity"):
        HerosClassifier(SMALL).fit(np.where(np.isnan(holes), np.inf, X), y)
    with pytest.raises(DataError, match=r"^X, row 2: 'a' must be a finite number\. Got inf instead\.$"):
        HerosClassifier(SMALL).fit(pd.DataFrame({"a": [1.0, np.inf]}), [0, 1])


def test_sparse_data_are_refused():
    for X in (sparse.csr_array(np.eye(4)), sparse.coo_matrix(np.eye(4))):
        with pytest.raises(
            TypeError, match=r"dense data is required\. Use OneHotEncoder\(sparse_output=False\)"
        ):
            HerosClassifier(SMALL).fit(X, [0, 1, 0, 1])


def test_columns_must_be_those_of_the_first_frame():
    table, y = frame()
    model = HerosClassifier(SMALL, random_state=1).fit(table, y)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(table[["colour", "size", "name", "big"]])
    with pytest.raises(ValueError, match="yet now missing"):
        model.predict(table[["size", "colour"]])
    unnamed = HerosClassifier(SMALL, random_state=1).fit(table.set_axis(range(4), axis="columns"), y)
    text = r"^X must be a data frame as in fit, because the columns \['1', '2', '3'\] are not numeric\. Got an array instead\.$"
    with pytest.raises(DataError, match=text):
        unnamed.predict(np.zeros((1, 4)))


def test_classes_are_given_first_and_stay():
    X, y = shuffled_iris()
    model = HerosClassifier(SMALL, random_state=1)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(
        ParameterError,
        match=r"^The 'classes' parameter of partial_fit must be given on the first call\. Got None",
    ):
        model.partial_fit(X, y)
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (150, 3)
    with pytest.raises(
        ParameterError, match=r"must be the classes of the first call, \[0, 1, 2\]\. Got \[0, 1\] instead"
    ):
        model.partial_fit(X, y, classes=[0, 1])
    before = model.heros_.instances
    with pytest.raises(
        DataError, match=r"^The label of row 1 must be one of the classes \[0, 1, 2\]\. Got .*7.* instead"
    ):
        model.partial_fit(X[:2], [0, 7])
    assert model.heros_.instances == before


def test_fit_starts_again_and_partial_fit_goes_on():
    X, y = shuffled_iris()
    model = HerosClassifier(SMALL, random_state=1).fit(X, y)
    once = model.predict_proba(X)
    assert model.partial_fit(X, y).heros_.instances == 300
    assert not np.array_equal(model.predict_proba(X), once)
    assert np.array_equal(model.fit(X, y).predict_proba(X), once)


def test_random_states():
    X, y = shuffled_iris()

    def fitted(state):
        return HerosClassifier(SMALL, random_state=state).fit(X, y).predict_proba(X)

    assert np.array_equal(fitted(np.random.RandomState(3)), fitted(np.random.RandomState(3)))
    assert not np.array_equal(fitted(np.random.RandomState(3)), fitted(3))
    assert not np.array_equal(fitted(None), fitted(None))


def test_parameters_clone_and_search():
    model = HerosClassifier(SMALL, policies.Zeta(0.1), k=3, running_score=scores.Cumulative(), random_state=1)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(policy=policies.Cheapest(), k=2).policy == policies.Cheapest()
    search = GridSearchCV(
        model, {"k": [1, 8], "policy": [policies.PerformBest(), policies.PerformWorst()]}, cv=3
    )
    best = search.fit(*shuffled_iris()).best_estimator_
    assert best.heros_.k == search.best_params_["k"]


def test_in_a_pipeline_and_on_disk(tmp_path):
    X, y = shuffled_iris()
    names = load_iris().target_names[y]
    pipeline = make_pipeline(StandardScaler(), HerosClassifier(SMALL, random_state=1)).fit(X, names)
    joblib.dump(pipeline, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert pipeline.score(X, names) > 0.85
    assert np.array_equal(again.predict(X), pipeline.predict(X))
    assert np.array_equal(
        again[-1].partial_fit(X, names).predict(X), pipeline[-1].partial_fit(X, names).predict(X)
    )


def test_parameters_of_parts_are_parameters():
    X, y = shuffled_iris()
    model = HerosClassifier(SMALL, policies.Explore(policies.Zeta(0.05), 0.2), k=4, random_state=5)
    assert model.get_params()["policy__policy__zeta"] == 0.05
    assert "policy__policy" not in model.get_params(deep=False)
    changed = clone(model).set_params(policy__zeta=0.3, policy__epsilon=0.1, k=2)
    assert str(changed.policy) == str(policies.Explore(policies.Zeta(0.3), 0.1))
    assert str(model.policy) == str(policies.Explore(policies.Zeta(0.05), 0.2))
    usual = HerosClassifier(SMALL).set_params(policy__zeta=0.4, running_score__delta=0.01)
    assert usual.policy.policy.zeta == 0.4
    assert usual.running_score.delta == 0.01
    search = GridSearchCV(model, {"policy__zeta": [0.01, 0.5], "k": [2]}, cv=2).fit(X, y)
    assert search.best_estimator_.policy.policy.zeta == search.best_params_["policy__zeta"]
    for wrong in ("policy__omega", "polcy", "k__zeta", "policy__policy__omega"):
        with pytest.raises(ParameterError, match="'params' parameter of set_params must be"):
            model.set_params(**{wrong: 1})
    with pytest.raises(ParameterError, match="'zeta' parameter of Zeta"):
        model.set_params(policy__zeta=7)


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
def test_a_row_of_a_frame_takes_the_short_way_to_the_same_answer(convert, monkeypatch):
    table, y = frame()
    model = HerosClassifier(SMALL, k=4, random_state=5).fit(convert(table), y)
    slow = copy.deepcopy(model)
    rows = [convert(table.iloc[i : i + 1]) for i in range(10)]
    expected = [slow.predict_proba(convert(table))[i] for i in range(10)]
    monkeypatch.setattr("heros.data.encoder.table_of", lambda *_: pytest.fail("Arrow was asked"))
    for row, answer in zip(rows, expected, strict=True):
        assert (model.predict_proba(row)[0] == answer).all()
    for i, (row, label) in enumerate(zip(rows, y, strict=False)):
        model.partial_fit(row, pd.Series([label]) if i % 2 else [label])
    monkeypatch.undo()
    slow.partial_fit(convert(table.iloc[:10]), y[:10])
    monkeypatch.setattr(HerosClassifier, "_plain", lambda self, X: None)
    assert np.array_equal(model.predict_proba(convert(table)), slow.predict_proba(convert(table)))


def test_a_regressor_says_what_the_core_says():
    X, y = streams.Friedman().draw(600)
    core = Heros(k=4, seed=5, schema=streams.Friedman().schema).learn(X, y)
    whole = HerosRegressor(k=4, random_state=5).fit(X, y)
    parts = HerosRegressor(k=4, random_state=5)
    for start in range(0, 600, 97):
        parts.partial_fit(X[start : start + 97], y[start : start + 97])
    for model in (whole, parts):
        assert np.array_equal(model.predict(X), core.answers(X, 0)[:, 0])  # for any order of rows
        assert np.array_equal(model.predict_interval(X), core.answers(X, 0)[:, 1:3])
    assert whole.score(X, y) > 0.5
    with pytest.raises(ParameterError, match="must be a schema with classes"):
        HerosRegressor(pools.NaiveBayes([{}])).fit(X, y)


def test_rows_and_labels_have_weights():
    X, y = shuffled_iris()
    weights = np.random.default_rng(2).uniform(0, 3, len(y))
    schema = Schema.of([Feature(f"x{j}", missing=True) for j in range(4)], ["0", "1", "2"])
    settings = {"k": 4, "seed": 5, "schema": schema}
    core = Heros(SMALL, **settings).learn(X, y, sample_weight=weights)
    whole = HerosClassifier(SMALL, k=4, random_state=5).fit(X, y, sample_weight=weights)
    parts = HerosClassifier(SMALL, k=4, random_state=5)
    for start in (0, 40, 41, 42):  # a single row uses a faster path
        some = slice(start, {0: 40, 42: None}.get(start, start + 1))
        parts.partial_fit(
            X[some], y[some], classes=[0, 1, 2] if start == 0 else None, sample_weight=weights[some]
        )
    for model in (whole, parts):
        assert np.array_equal(model.predict_proba(X), core.predict_proba(X))
    balanced = Heros(SMALL, class_weight={"0": 9, "2": 0.1}, **settings).learn(X, y)
    named = HerosClassifier(SMALL, k=4, class_weight={0: 9, 2: 0.1}, random_state=5)
    assert np.array_equal(clone(named).fit(X, y).predict_proba(X), balanced.predict_proba(X))
    with pytest.raises(DataError, match=r"sample_weight must have one weight per instance \(150\)"):
        whole.fit(X, y, sample_weight=[1, 2])
    numbers = HerosRegressor(pools.Linear([{}]), k=1, random_state=5)
    light = clone(numbers).fit(X, y, sample_weight=np.full(len(y), 0.1)).predict(X)
    assert not np.array_equal(light, numbers.fit(X, y).predict(X))


TEXT = {
    "order": [f"A-{i}" for i in range(200)],
    "price": [f"€{1200 + i % 9 * 100:,}.50" if i % 11 else "n/a" for i in range(200)],
    "share": [f"{i % 7} %" if i % 13 else None for i in range(200)],
    "placed": [f"{1 + i % 28:02}.10.2026 {i % 24:02}:30" for i in range(200)],
    "new": ["true" if i % 3 else "false" for i in range(200)],
}
NEXT = {
    "order": ["B-1", "B-2"],
    "price": ["€1,300.50", None],
    "share": ["3 %", "n/a"],
    "placed": ["30.11.2026 07:00", "-"],
    "new": ["TRUE", "False"],
}


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "numbers"])
def test_text_in_frames_is_read_as_in_a_file(convert, numeric, tmp_path):
    table, y = (
        pd.DataFrame(TEXT),
        np.arange(200) % 9 / 2 if numeric else np.where(np.arange(200) % 9 > 4, "p", "q"),
    )
    table.assign(y=y).to_csv(tmp_path / "orders.csv", index=False)
    task = "regression" if numeric else "classification"
    core = Heros(k=3, seed=5, task=task)
    stream = streams.read(tmp_path / "orders.csv", target="y", task=task)
    X, labels = stream.draw(200)
    core.bind(stream.schema).learn(X, labels)
    model = (HerosRegressor if numeric else HerosClassifier)(k=3, random_state=5).fit(convert(table), y)
    assert model.heros_.schema == core.schema
    assert schema_plain(model.heros_.schema) == schema_plain(core.schema)
    assert model.heros_.schema.ignored == ("order",)
    core.save(tmp_path / "model.heros")
    opened = type(model).load(tmp_path / "model.heros")
    more = pd.DataFrame(NEXT)
    for one in (model, opened, copy.deepcopy(opened)):
        for some in (more, more.iloc[:1]):
            out = one.predict(convert(some)) if numeric else one.predict_proba(convert(some))
            assert np.array_equal(out, core.answers(some, 0)[:, 0] if numeric else core.answers(some, 0))
        one.partial_fit(convert(more), y[:2])
    expected = core.learn(more, y[:2].tolist()).answers(more)
    for one in (model, opened):
        assert np.array_equal(one.heros_.answers(more), expected)
    typed = pd.DataFrame(
        {
            "order": ["B-1"],
            "price": [1300.5],
            "share": [3],
            "placed": [pd.Timestamp("2026-11-30 07:00")],
            "new": [True],
        }
    )
    assert np.array_equal(model.heros_.answers(typed), expected[:1])
    assert np.array_equal(model.predict(convert(typed)), model.predict(convert(more))[:1])


def test_a_model_from_a_file_is_of_its_kind(tmp_path):
    Heros(k=3).save(tmp_path / "empty.heros")
    with pytest.raises(DataError, match=r"must hold a fitted HerosClassifier\. Got an untrained model"):
        HerosClassifier.load(tmp_path / "empty.heros")
    Heros(SMALL, watch="trained", burst=7, class_weight="balanced", seed=3).learn(
        pd.DataFrame({"a": range(9)}), [0, 1, 1] * 3
    ).save(tmp_path / "model.heros")
    with pytest.raises(DataError, match=r"must hold a fitted HerosRegressor\. Got a Classification model"):
        HerosRegressor.load(tmp_path / "model.heros")
    model = HerosClassifier.load(tmp_path / "model.heros")
    assert (model.burst, model.class_weight, model.random_state, model.classes_.tolist()) == (
        7,
        "balanced",
        3,
        ["0", "1"],
    )
    assert model.predict([[3.0]]).tolist() == model.predict(pd.DataFrame({"a": [3], "b": ["?"]})).tolist()
    with pytest.raises(DataError, match=r"X must have 1 features\. Got 2 instead\."):
        model.predict([[3.0, 4.0]])


@pytest.mark.parametrize("kind", [HerosClassifier, HerosRegressor])
def test_a_saved_estimator_predicts_the_same_and_goes_on(kind, tmp_path):
    table, _ = frame()
    y = np.arange(len(table)) % 2
    model = kind(SMALL, random_state=1).fit(table[:200], y[:200])
    model.save(tmp_path / "model.heros")
    again = kind.load(tmp_path / "model.heros")
    for one in (again, Heros.load(tmp_path / "model.heros")):
        assert np.array_equal(one.predict(table).astype(float), model.predict(table))
    later = [y[200:], y[200:].astype(str)] if kind is HerosClassifier else [y[200:], y[200:]]
    model.partial_fit(table[200:], later[0])
    again.partial_fit(table[200:], later[1])
    assert np.array_equal(again.heros_.answers(table), model.heros_.answers(table))
    with pytest.raises(NotFittedError):
        kind().save(tmp_path / "none.heros")


def test_an_unreadable_value_leaves_a_model_that_goes_on():
    model = HerosClassifier(SMALL, random_state=1).fit(pd.DataFrame({"a": range(40)}), [0, 1] * 20)
    with pytest.raises(DataError, match=r"^X, row 2: 'a' must be a number\. Got 'x' instead\.$"):
        model.partial_fit(pd.DataFrame({"a": ["1", "x"]}), [0, 1])
    with pytest.raises(DataError, match="'a' must be a number"):
        model.predict(pd.DataFrame({"a": ["x"]}))
    assert model.heros_.instances == 40
    assert model.partial_fit(pd.DataFrame({"a": ["€12.50", None]}), [0, 1]).heros_.instances == 42
    with pytest.raises(DataError, match="'a' must be a number"):
        model.fit(pd.DataFrame({"a": [1] * 200 + ["x"]}, dtype=object).astype(str), [0] * 201)
    assert model.predict(pd.DataFrame({"a": [1.0]})).shape == (1,)
    with pytest.raises(DataError, match=r"sample_weight must have one weight per instance \(40\)"):
        model.fit(pd.DataFrame({"a": range(40)}), [0, 1] * 20, sample_weight=np.ones(41))


def test_an_array_is_a_frame_of_numbers_to_a_model_of_a_frame():
    X, y = shuffled_iris()
    table = pd.DataFrame(X)
    framed = HerosClassifier(SMALL, random_state=1).fit(table, y)
    assert np.array_equal(framed.predict_proba(X), framed.predict_proba(table))
    assert np.array_equal(
        framed.predict_proba(X), HerosClassifier(SMALL, random_state=1).fit(X, y).predict_proba(X)
    )
    twin = copy.deepcopy(framed)
    assert np.array_equal(
        framed.partial_fit(X, y).predict_proba(X), twin.partial_fit(table, y).predict_proba(X)
    )


def test_all_settings_of_heros_are_there():
    names = {"score": "running_score", "seed": "random_state"}
    asked = {names.get(name, name) for name in SETTINGS}
    assert asked <= {*HerosClassifier().get_params(deep=False)}
    assert asked - {"class_weight"} <= {*HerosRegressor().get_params(deep=False)}
    X, y = shuffled_iris()
    assert HerosClassifier(SMALL, watch="trained", burst=30).fit(X, y).heros_.burst == 30


@pytest.mark.parametrize("classes", [("b", "c", "a"), ("1", "2", "10")])
def test_a_loaded_model_whose_classes_are_not_sorted_continues_to_learn(tmp_path, classes):
    heros = Heros(pools.Linear([{}]), k=1, seed=1).learn([{"x": 0.0}, {"x": 1.0}, {"x": 2.0}], list(classes))
    heros.save(tmp_path / "model.heros")
    model = HerosClassifier.load(tmp_path / "model.heros")
    frame, labels = pd.DataFrame({"x": [0.0, 1.0, 2.0] * 20}), list(classes) * 20
    model.partial_fit(frame, labels, classes=sorted(classes))
    expected = heros.learn(frame, labels).outputs(frame.to_numpy())
    assert model.classes_.tolist() == sorted(classes)
    np.testing.assert_array_equal(model.predict_proba(frame), expected[:, np.argsort(classes)])
    assert model.predict(frame).tolist() == heros.predict(frame).tolist()
