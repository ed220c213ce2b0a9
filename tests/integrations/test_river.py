"""HEROS in River: River's checks and conventions, and the same probabilities as the core."""

from __future__ import annotations

import inspect
import math
import pickle
from datetime import datetime
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import pytest
from river import checks, datasets, dummy, evaluate, metrics, preprocessing, stats

from heros import (
    DataError,
    DataNotice,
    Feature,
    Heros,
    HerosError,
    ParameterError,
    Schema,
    policies,
    pools,
    streams,
)
from heros import evaluate as evaluate_heros
from heros.data.schema import schema_plain
from heros.ensemble.settings import SETTINGS
from heros.integrations.river import HerosClassifier, HerosRegressor, LateClassifier
from heros.storage import archive

SMALL = pools.MLPGrid(hidden=[8, 16], learning_rates=[0.05, 0.005])
TREES = pools.Hoeffding([{"max_bytes": 16 * 1024}, {"grace_period": 50}])
NUMBERS = pools.Join(pools.Linear([{}, {"optimizer": "pa"}]), pools.Neighbours([{}]), costs=[2, 1])


def dicts(stream, n):
    """Return the next n instances in River's form: numbers, names of values, names of classes."""
    schema = stream.schema
    X, y = stream.take(n).draw(n)
    for row, index in zip(X.tolist(), y, strict=True):
        cells = zip(schema.features, row, strict=True)
        yield {f.name: v if f.values is None else f.values[int(v)] for f, v in cells}, schema.classes[index]


def river_checks(model):
    assert model._unit_test_skips() == set()
    return list(checks.yield_checks(model))


@pytest.mark.parametrize("check", river_checks(HerosClassifier()), ids=lambda check: check.__name__)
def test_river_checks(check):
    check(HerosClassifier())


@pytest.mark.long
def test_river_checks_with_trees_and_a_seed():
    checks.check_estimator(HerosClassifier(TREES, policies.Cheapest(), k=1, seed=1))


@pytest.mark.parametrize(
    "check", river_checks(HerosRegressor(NUMBERS, k=2)), ids=lambda check: check.__name__
)
def test_river_checks_of_a_regressor(check):
    check(HerosRegressor(NUMBERS, k=2))


def test_a_regressor_says_what_the_core_says_one_or_many_at_a_time():
    X, y = streams.Friedman().draw(400)
    frame = pd.DataFrame(X, columns=[f"x{i:02}" for i in range(10)])
    schema = Schema.of([Feature(name, missing=True) for name in frame.columns])
    core = Heros(NUMBERS, k=2, seed=3, schema=schema).learn(X, y)
    one, many = HerosRegressor(NUMBERS, k=2, seed=3), HerosRegressor(NUMBERS, k=2, seed=3)
    for x, target in zip(frame.to_dict("records"), y.tolist(), strict=True):
        one.learn_one(x, target)
    many.learn_many(frame, pd.Series(y))
    asked = frame.to_dict("records")[7]
    assert one.predict_one(asked) == many.predict_one(asked) == core.predict(X[7])
    assert np.array_equal(many.predict_many(frame), core.predict(X))
    low, high = one.predict_interval_one(asked)
    assert low < core.predict(X[7]) < high
    with pytest.raises(DataError, match="must have a value, because it is the target"):
        one.learn_one(asked, float("nan"))
    with pytest.raises(DataError, match="must be a finite number"):
        one.learn_one(asked, float("inf"))


@pytest.mark.parametrize("pool", [SMALL, TREES], ids=["perceptrons", "trees"])
def test_probabilities_are_the_cores(pool):
    """Agrawal has numeric and nominal features; the schema is known from the start here."""
    stream = streams.Agrawal(function=2)
    core = Heros(pool, k=2, seed=7, schema=stream.schema)
    model = HerosClassifier(pool, k=2, seed=7, features=stream.schema.features, classes=stream.schema.classes)
    X, y = stream.take(600).draw(600)
    for (x, label), row, index in zip(dicts(stream, 600), X, y, strict=True):
        assert list(model.predict_proba_one(x).values()) == core.predict_proba(row).tolist()
        model.learn_one(x, label)
        core.learn(row, index)


def test_what_grows_on_the_way_grows_as_in_a_core_that_is_bound_again():
    pairs = [({k: x[k] for k in sorted(x)}, y) for x, y in dicts(streams.LED(drift=0), 300)]
    pairs += [({k: x[k] for k in sorted(x)}, y) for x, y in dicts(streams.Agrawal(function=2), 300)]
    stream, core, model = (
        streams.from_iter(pairs),
        Heros(SMALL, k=4, seed=3),
        HerosClassifier(SMALL, k=4, seed=3),
    )
    for x, y in pairs:
        X, index = stream.draw(1)
        core.bind(stream.schema).learn(X, index)
        model.learn_one(x, y)
    assert list(model.predict_proba_one(x)) == list(stream.schema.classes)
    assert list(model.predict_proba_one(x).values()) == core.predict_proba(X)[0].tolist()


def test_many_are_one_after_the_other_whatever_the_frame_holds():
    frame = pd.DataFrame(
        {
            "a": [1.0, math.nan, 3.0, 4.0] * 30,
            "b": ["x", "y", None, "z"] * 30,
            "c": pd.Categorical(["u", "v", "v", "u"] * 30),
            "d": pd.array([1, 2, None, 4] * 30, dtype="Int64"),
            "e": [True, False, True, True] * 30,
        }
    )
    y = pd.Series(["p", "q", "q", "r"] * 30)
    one, many = HerosClassifier(SMALL, k=4, seed=1), HerosClassifier(SMALL, k=4, seed=1)
    for x, label in zip(frame.astype(object).where(frame.notna(), None).to_dict("records"), y, strict=True):
        one.learn_one(x, label)
    for start in (0, 50):
        many.learn_many(frame[start : start + 50], y[start : start + 50])
    many.learn_many(frame[100:], y[100:])
    expected = [
        one.predict_proba_one(x) for x in frame.astype(object).where(frame.notna(), None).to_dict("records")
    ]
    found = many.predict_proba_many(frame)
    assert found.to_dict("records") == expected
    assert many.predict_many(frame).tolist() == found.idxmax(axis="columns").tolist()
    assert list(found.index) == list(frame.index)


def test_before_the_first_label_there_is_nothing_to_predict():
    model, frame = HerosClassifier(SMALL), pd.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_many(frame).shape == (2, 0)
    assert model.predict_many(frame).tolist() == [None, None]
    model.learn_one({}, "yes")  # no feature yet: nothing is learnt, but the label is known
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, "no")
    assert set(model.predict_proba_one({"a": 1.0})) == {"yes", "no"}


def test_labels_are_what_they_were():
    labels = [True, "True", 7, "7", (1, 2), 2.5]
    model = HerosClassifier(SMALL, k=8, seed=1)
    for _ in range(60):
        for i, label in enumerate(labels):
            model.learn_one({"which": f"v{i}"}, label)
    assert [model.predict_one({"which": f"v{i}"}) for i in range(len(labels))] == labels
    assert list(model.predict_proba_one({})) == labels


@pytest.mark.parametrize("label", [None, math.nan])
def test_a_label_must_have_a_value(label):
    with pytest.raises(DataError, match=r"^The label must have a value\. Got (None|nan) instead\.$"):
        HerosClassifier(SMALL).learn_one({"a": 1.0}, label)


def test_an_instance_that_breaks_a_rule_changes_nothing():
    model = HerosClassifier(SMALL, k=4, seed=1)
    for i in range(20):
        model.learn_one({"a": float(i % 3), "b": "x"}, i % 3 == 0)
    before = pickle.dumps(model)
    text = r"^The feature 'a' must be a number\. Got 'three' instead\.$"
    with pytest.raises(DataError, match=text):
        model.predict_proba_one({"a": "three"})
    with pytest.raises(DataError, match=text):
        model.learn_one({"a": "three", "new": 1.0}, "new label")
    with pytest.raises(DataError, match=r"^The feature 'new' must be a finite number\. Got inf instead\.$"):
        model.learn_one({"new": math.inf}, True)
    assert pickle.dumps(model) == before


def test_missing_values_are_absent_ones():
    model = HerosClassifier(SMALL, k=4, seed=1)
    for i in range(50):
        model.learn_one({"a": float(i % 3), "b": "x" if i % 2 else "y"}, i % 3 == 0)
    expected = model.predict_proba_one({"a": 1.0})
    for missing in (None, math.nan, np.float32("nan")):
        assert model.predict_proba_one({"a": 1.0, "b": missing}) == expected
    assert model.predict_proba_one({"a": 1.0, "b": "never seen", "c": 3}) == expected


def test_asking_changes_nothing():
    model, twin = HerosClassifier(SMALL, k=4, seed=1), HerosClassifier(SMALL, k=4, seed=1)
    for x, y in dicts(streams.Agrawal(function=2), 200):
        model.predict_one(x)
        model.predict_proba_one({**x, "unheard": "of"})
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert model.predict_proba_one(x) == twin.predict_proba_one(x)


def test_a_copy_goes_on_alike():
    model = HerosClassifier(SMALL, k=4, seed=1)
    pairs = list(dicts(streams.Agrawal(function=2), 400))
    for x, y in pairs[:200]:
        model.learn_one(x, y)
    copy = pickle.loads(pickle.dumps(model))
    for x, y in pairs[200:]:
        assert model.predict_proba_one(x) == copy.predict_proba_one(x)
        model.learn_one(x, y)
        copy.learn_one(x, y)


def test_in_a_pipeline_with_progressive_validation():
    pipeline = preprocessing.StandardScaler() | HerosClassifier(SMALL, seed=1)
    metric = evaluate.progressive_val_score(datasets.Phishing(), pipeline, metrics.ROCAUC())
    assert metric.get() > 0.9


def test_delayed_labels_are_learnt_when_they_come():
    pairs, delay = list(datasets.Phishing().take(400)), 50
    found = evaluate.progressive_val_score(
        pairs, HerosClassifier(SMALL, seed=1), metrics.Accuracy(), delay=delay
    )
    model, hits = HerosClassifier(SMALL, seed=1), []
    for t, (x, y) in enumerate(pairs):
        if t >= delay:
            model.learn_one(*pairs[t - delay])
        if (guess := model.predict_one(x)) is not None:
            hits.append(guess == y)
    assert found.get() == pytest.approx(np.mean(hits), abs=1e-12)


TEXT = {
    "price": ["€12.50", "€1,200.00", "n/a", "€3"],
    "share": ["12 %", "7 %", "3.5 %", ""],
    "when": ["28.10.2026 12:30", "01.11.2026 08:00", "13.11.2026 17:45", "-"],
    "new": ["true", "false", "true", "true"],
    "colour": ["red", "blue", "red", "green"],
}
SAME = {
    "price": [12.5, Decimal("1200"), None, np.float32(3)],
    "share": [12, np.int8(7), 3.5, math.nan],
    "when": [
        datetime(2026, 10, 28, 12, 30),
        pd.Timestamp(2026, 11, 1, 8),
        np.datetime64("2026-11-13T17:45"),
        pd.NaT,
    ],
    "new": [True, np.False_, "True", "TRUE"],
    "colour": ["red", " blue", np.str_("red"), "green"],
}


def rows_of(table, times):
    names = list(table)
    return [dict(zip(names, row, strict=True)) for row in zip(*table.values(), strict=True)] * times


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "numbers"])
def test_values_are_read_as_everywhere(numeric):
    kind, labels = (HerosRegressor, [1.5, "2", 3, 4]) if numeric else (HerosClassifier, ["p", "q", "q", "r"])
    rows, labels, pool = rows_of(TEXT, 30), labels * 30, pools.Linear([{}, {"optimizer": "ftrl"}])
    model, core = kind(pool, k=2, seed=1), Heros(pool, k=2, seed=1, task="regression" if numeric else None)
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
        core.learn(x, y)
    assert model.heros.schema == core.schema
    assert schema_plain(model.heros.schema) == schema_plain(core.schema)
    say = "predict_one" if numeric else "predict_proba_one"
    expected = [(core.predict if numeric else core.predict_proba)(x) for x in rows[:4]]
    for same in (rows[:4], rows_of(SAME, 1)):
        assert [getattr(model, say)(x) for x in same] == expected
    for x in rows_of(SAME, 1):  # other types, but no new values
        model.learn_one(x, labels[0])
    assert model.heros.schema is model._encoder.schema
    assert model.heros.schema == core.schema


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("known", [False, True], ids=["from scratch", "known"])
@pytest.mark.parametrize("rows", [3, 40], ids=["few", "many"])
def test_frames_of_text_and_dates_are_learnt_row_by_row(known, rows):
    frame = pd.DataFrame(rows_of(TEXT, 40))
    frame["late"] = [None] * 50 + [datetime(2026, 1, 1 + i % 28, i % 24) for i in range(110)]
    y = pd.Series(["p", "q", "q", "r"] * 40)
    one, many = HerosClassifier(SMALL, k=4, seed=1), HerosClassifier(SMALL, k=4, seed=1)
    start = 20 if known else 0
    for x, label in zip(frame[:start].to_dict("records"), y, strict=False):
        one.learn_one(x, label)
        many.learn_one(x, label)
    for x, label in zip(frame[start:].to_dict("records"), y[start:], strict=True):
        one.learn_one(x, label)
    for at in range(start, len(frame), rows):
        many.learn_many(frame[at : at + rows], y[at : at + rows])
    assert one.heros.schema == many.heros.schema
    expected = [one.predict_proba_one(x) for x in frame.to_dict("records")]
    assert many.predict_proba_many(frame).to_dict("records") == expected
    assert many.predict_proba_many(frame[:3]).to_dict("records") == expected[:3]
    assert many.predict_proba_many(pd.DataFrame({"unheard": [1]})).to_dict("records") == [
        one.predict_proba_one({})
    ]


def test_rivers_passengers_have_dates():
    metric = evaluate.progressive_val_score(
        datasets.AirlinePassengers(), HerosRegressor(seed=1), metrics.MAE()
    )
    assert metric.get() < 60
    mean = evaluate.progressive_val_score(
        datasets.AirlinePassengers(), dummy.StatisticRegressor(stats.Mean()), metrics.MAE()
    )
    assert metric.get() < mean.get()


def test_what_is_no_feature_is_left_out_and_told_once():
    model = HerosClassifier(SMALL, k=2, seed=1)
    model.learn_one({"tags": None}, "a")  # nothing to learn yet
    with pytest.warns(DataNotice, match="'tags' is left out: a list is not a number, text or date"):
        model.learn_one({"tags": ["x"]}, "a")
    for i in range(5):  # warnings are errors here
        model.learn_one({"tags": [i], "n": i}, "ab"[i % 2])
    assert [feature.name for feature in model.heros.schema.features] == ["n"]
    assert model.heros.instances == 5
    assert not model.heros.schema.features[0].missing


def test_a_frame_with_an_unreadable_row_leaves_a_model_that_goes_on():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, "four"] * 2}, dtype=object)
    y = pd.Series(["p", "q", "new", "r"] * 2)
    model = HerosClassifier(SMALL, k=2, seed=1)
    for i in range(20):
        model.learn_one({"a": float(i)}, "pq"[i % 2])
    with pytest.raises(DataError, match=r"'a' must be a number\. Got 'four' instead"):
        model.learn_many(frame, y)
    assert set(model.predict_proba_one({"a": 1.0})) >= {"p", "q"}
    model.learn_many(frame[:3], y[:3])
    assert [*model.predict_proba_one({"a": 1.0})] == ["p", "q", "new"]


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_a_model_of_heros_is_opened_and_reads_as_its_file_did(tmp_path):
    path = tmp_path / "orders.csv"
    rows = [
        f"A-{i};{i % 9},5 €;{1 + i % 28}.10.2026;{'unknown' if i % 7 == 0 else i % 5};{i % 2}"
        for i in range(200)
    ]
    path.write_text("\n".join(["order;price;placed;size;late", *rows]) + "\n", encoding="utf-8")
    stream = streams.read(path, target="late", missing=["unknown"])
    model = Heros(SMALL, k=4, seed=1)
    evaluate_heros(model, stream, progress=False)
    model.save(tmp_path / "model.heros")
    river = HerosClassifier.load(tmp_path / "model.heros")
    x = {"order": "A-7", "price": "3,5 €", "placed": "12.10.2026", "size": "unknown"}
    assert river.predict_proba_one(x) == model.predict_proba(x)
    assert [*river.predict_proba_one(x)] == ["0", "1"]
    river.learn_one(x, 1)  # 1 and "1" are the same class, as in `Heros`
    model.learn(x, 1)
    river.learn_many(pd.DataFrame([x]), pd.Series(["0"]))
    model.learn(x, "0")
    river.save(tmp_path / "river.heros")
    for again in (river, HerosClassifier.load(tmp_path / "river.heros"), pickle.loads(pickle.dumps(river))):
        assert again.predict_proba_one(x) == model.predict_proba(x)
        assert again.predict_one(x) in {"0", "1"}
    assert schema_plain(river.heros.schema) == schema_plain(model.schema)
    with pytest.raises(DataError, match="must hold a complete HerosRegressor"):
        HerosRegressor.load(tmp_path / "model.heros")


def test_labels_that_read_alike_are_several():
    model = HerosClassifier(SMALL, k=8, seed=1)
    labels = [True, "true", " true", "True", "a", " a"]
    for i, label in enumerate(labels * 20):
        model.learn_one({"which": f"v{i % 6}"}, label)
    assert [*model.predict_proba_one({})] == labels
    assert len(model.heros.schema.classes) == 6


def test_its_memory_counts_the_models():
    small, large = (
        HerosClassifier(pools.MLP([{"hidden": 64}])),
        HerosClassifier(pools.MLP([{"hidden": 1024}])),
    )
    for model in (small, large):
        model.learn_one({"a": 1.0}, True)
    weights = 3 * 4 * (1024 - 64) * 3  # one input, a bias and an output weight per unit, with Adam's moments
    # The rest of a model (clocks, counters) has a nearly constant size, which varies with the digits of numbers.
    assert large._raw_memory_usage - small._raw_memory_usage == pytest.approx(weights, rel=0.01)


def test_settings_are_checked_when_given():
    with pytest.raises(
        ParameterError, match=r"^The 'k' parameter of Heros must be a whole number in \[1, 8\]"
    ):
        HerosClassifier(SMALL, k=9)
    clone = HerosClassifier(SMALL, k=3, features=["a", ("b", "x", "y")], classes=[True, False]).clone(
        {"k": 5}
    )
    assert (clone.k, clone.pool, clone.heros.schema.classes) == (5, SMALL, ("True", "False"))


def test_a_classifier_is_saved_with_its_labels_and_goes_on(tmp_path):
    whole, cut = (HerosClassifier(pools.MLPGrid(hidden=[8]), k=3, seed=1) for _ in range(2))
    rows = [
        ({"size": float(i % 7), "colour": "red" if i % 3 else "blue"}, i % 2 if i % 5 else "five")
        for i in range(400)
    ]
    for x, y in rows:
        whole.learn_one(x, y)
    for x, y in rows[:150]:
        cut.learn_one(x, y)
    cut.save(tmp_path / "model.heros")
    again = HerosClassifier.load(tmp_path / "model.heros")
    for x, y in rows[150:]:
        again.learn_one(x, y)
    assert [again.predict_proba_one(x) for x, _ in rows[:20]] == [
        whole.predict_proba_one(x) for x, _ in rows[:20]
    ]
    assert set(map(type, again.predict_proba_one(rows[0][0]))) == {int, str}
    HerosClassifier(k=3).save(tmp_path / "new.heros")
    assert HerosClassifier.load(tmp_path / "new.heros").predict_one({"a": 1}) is None
    odd = HerosClassifier(k=3, seed=1)
    odd.learn_one({"a": 1.0}, ("a", "tuple"))
    with pytest.raises(
        HerosError, match=r"Labels must be text, numbers or booleans to be saved. Got \('a', 'tuple'\)"
    ):
        odd.save(tmp_path / "odd.heros")
    Heros(k=3).save(tmp_path / "unbound.heros")
    assert HerosClassifier.load(tmp_path / "unbound.heros").predict_one({"a": 1}) is None


def test_a_regressor_is_saved_too(tmp_path):
    model = HerosRegressor(pools.Linear([{}]), k=1, seed=1)
    for i in range(100):
        model.learn_one({"size": float(i % 7)}, 2.0 * (i % 7))
    model.save(tmp_path / "model.heros")
    again = HerosRegressor.load(tmp_path / "model.heros")
    assert again.predict_one({"size": 3.0}) == model.predict_one({"size": 3.0})
    with pytest.raises(DataError, match="must hold a complete HerosClassifier"):
        HerosClassifier.load(tmp_path / "model.heros")


def test_a_nominal_feature_has_no_more_inputs_than_it_may(tmp_path):
    model = HerosClassifier(pools.Linear([{}]), k=1, most_values=8, seed=1)
    for i in range(6):
        model.learn_one({"user": f"u{i}"}, i % 2 == 0)
    with pytest.warns(
        DataNotice, match=r"The column 'user' has very many values: 6 values have one input each"
    ):
        model.learn_one({"user": "u6"}, True)
    for i in range(50):
        model.learn_one({"user": f"u{i}"}, i % 2 == 0)
    assert len(model.heros.schema.features[0].values) == 7  # almost all values are unique and share one code
    model.save(tmp_path / "m.heros")
    again = HerosClassifier.load(tmp_path / "m.heros")
    assert (again.most_values, again.clone().most_values) == (8, 8)
    wide = HerosRegressor(pools.Linear([{}]), k=1, most_values=None, seed=1)
    for i in range(300):
        wide.learn_one({"user": f"u{i}"}, float(i))
    assert len(wide.heros.schema.features[0].values) == 300
    with pytest.raises(ParameterError, match="'most_values' parameter of HEROS must be"):
        HerosClassifier(most_values=1)


def test_all_settings_of_heros_are_there():
    model = HerosClassifier(SMALL, watch="trained", burst=30, class_weight={True: 9}, seed=1)
    core = Heros(SMALL, watch="trained", burst=30, class_weight={True: 9}, seed=1)
    for i in range(100):
        model.learn_one({"a": i % 5}, i % 5 == 0)
        core.learn({"a": i % 5}, i % 5 == 0)
    assert [*model.predict_proba_one({"a": 1}).values()] == [*core.predict_proba({"a": 1}).values()]
    assert model.heros.burst == model.clone().heros.burst == 30
    assert {*SETTINGS} <= {*inspect.signature(HerosClassifier).parameters}
    assert {*SETTINGS} - {"class_weight"} <= {*inspect.signature(HerosRegressor).parameters}


class Colour(str, Enum):  # noqa: UP042 - a StrEnum's str() is its value
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ([np.int64(1), np.int64(2)], [1, 2]),
        ([np.str_("a"), np.str_("b")], ["a", "b"]),
        ([np.True_, np.False_], [True, False]),
        ([np.float64(1.5), np.float32(2.5)], [1.5, 2.5]),
        ([Colour.RED, Colour.BLUE], ["red", "blue"]),
    ],
    ids=["int", "str", "bool", "float", "enum"],
)
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_labels_of_numpy_are_pythons(tmp_path, given, plain, many, listed):
    said = []
    for labels in (given, plain):
        model = HerosClassifier(SMALL, k=8, seed=1, classes=labels if listed else None)
        if many:
            frame = pd.DataFrame({"size": [float(i % 7) for i in range(40)]})
            model.learn_many(frame, pd.Series([labels[i % 2] for i in range(40)], dtype=object))
        else:
            for i in range(40):
                model.learn_one({"size": float(i % 7)}, labels[i % 2])
        assert [*map(type, model.predict_proba_one({"size": 1.0}))] == [*map(type, plain)]
        assert model.heros.schema.classes == tuple(map(str, plain))
        model.save(tmp_path / "model.heros")
        again = HerosClassifier.load(tmp_path / "model.heros")
        said.append([again.predict_proba_one({"size": float(i)}) for i in range(7)])
    assert said[0] == said[1]


def test_a_label_that_cannot_be_learnt_leaves_its_instance_waiting():
    late = LateClassifier(HerosClassifier(SMALL, k=8, seed=1))
    late.answer_one("a", {"size": 1.0})
    with pytest.raises(DataError):
        late.learn_one("a", None)
    assert (late.waiting, late.counts.learnt) == (1, 0)
    assert late.learn_one("a", "yes")
    assert (late.waiting, late.counts.learnt) == (0, 1)


@pytest.mark.parametrize("labels", [[1, True], [1, 1.0], ["a"], ["a", "b", "c"], [["a"], "b"]])
def test_a_forged_file_whose_labels_do_not_fit_is_refused(tmp_path, labels):
    model = HerosClassifier(SMALL, k=8, seed=1)
    for i in range(10):
        model.learn_one({"size": float(i)}, i % 2)
    model.save(tmp_path / "model")
    document, arrays = archive.read(tmp_path / "model", "river model")
    archive.write(tmp_path / "model", "river model", document | {"labels": labels}, arrays)
    with pytest.raises(DataError, match="must hold a complete HerosClassifier"):
        HerosClassifier.load(tmp_path / "model")
