"""Rows in the form that users have: dictionaries, frames, class names; the same predictions as from arrays."""

import copy
from datetime import datetime, timedelta, timezone
from enum import Enum
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from heros import (
    DataError,
    DataNotice,
    Feature,
    Heros,
    HerosError,
    ParameterError,
    Schema,
    evaluate,
    pools,
    streams,
)
from heros.data import Encoder
from heros.ensemble.keyed import Keyed
from heros.ensemble.late import LateLabels
from heros.integrations.sklearn import HerosClassifier

POOL = pools.MLPGrid(hidden=[8])
SCHEMA = Schema.of(["age", ("colour", "red", "green", "blue")], classes=["no", "yes"])
ROWS = [{"age": 18, "colour": "red"}, {"age": 33, "colour": "blue"}, {"age": 21, "colour": "green"}]
LABELS = ["no", "yes", "no"]
X = np.array([[18.0, 0.0], [33.0, 2.0], [21.0, 1.0]])


def model(schema=SCHEMA):
    return Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, schema=schema)


@pytest.fixture(scope="module")
def learnt():
    return model().learn(np.tile(X, (50, 1)), np.tile([0, 1, 0], 50))


def test_rows_of_every_form_give_the_answers_of_arrays(learnt):
    p = learnt.predict_proba(X)
    assert learnt.predict_proba(ROWS[1]) == dict(zip(SCHEMA.classes, p[1].tolist(), strict=True))
    assert learnt.predict_proba(ROWS) == [dict(zip(SCHEMA.classes, row, strict=True)) for row in p.tolist()]
    frame = pd.DataFrame(ROWS, index=[7, 8, 9])
    answer = learnt.predict_proba(frame[["colour", "age"]])  # columns by name, in any order
    assert list(answer.columns) == ["no", "yes"]
    assert answer.index.tolist() == [7, 8, 9]
    assert (answer.to_numpy() == p).all()
    assert (learnt.predict_proba(pl.DataFrame(ROWS)).to_numpy() == p).all()
    assert isinstance(learnt.predict_proba(pa.Table.from_pylist(ROWS)), pa.Table)
    assert learnt.predict_proba(frame.iloc[1]) == learnt.predict_proba(ROWS[1])


def test_predict_names_the_class(learnt):
    assert learnt.predict(X).tolist() == LABELS
    assert learnt.predict(X[1]) == "yes"
    assert learnt.predict(ROWS[1]) == "yes"
    assert learnt.predict(ROWS).tolist() == LABELS
    assert learnt.predict(pd.DataFrame(ROWS)).tolist() == LABELS


@pytest.mark.parametrize("form", [lambda x: x[0], list, pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_a_misspelt_column_is_told_once_when_predicting(learnt, form):
    asked = copy.deepcopy(learnt)
    message = r"The column 'coluor' is unknown and has no effect on predictions\. Did you mean 'colour'\?"
    with pytest.warns(DataNotice, match=message):
        asked.predict_proba(form([{"age": 18, "coluor": "red"}]))
    asked.predict_proba(form([{"age": 18, "coluor": "red"}]))
    asked.predict_proba(
        form([{"age": 18, "colour": "red", "colours": "red", "customer": 7}])
    )  # no missing values


def test_a_stream_with_new_columns_says_nothing(learnt):
    growing = copy.deepcopy(learnt)
    for i in range(50):
        row = {"age": i, "colour": "red"} | {f"colour{j}": i for j in range(i // 10)}
        growing.predict_proba(row)
        growing.learn(row, "yes")
    assert growing.schema.n_features == 6


def test_labels_by_name_teach_what_indices_teach():
    one, two, three, four = (model() for _ in range(4))
    one.learn(X, [0, 1, 0])
    two.learn(X, LABELS)
    three.learn(ROWS, LABELS)
    four.learn(pd.DataFrame(ROWS), pd.Series(LABELS))
    for row, label in zip(ROWS, LABELS, strict=True):
        copy.deepcopy(one).learn(row, label)
    expected = one.predict_proba(X)
    for other in (two, three, four):
        assert (other.predict_proba(X) == expected).all()
    with pytest.raises(
        DataError, match=r"The label of row 1 must be one of the classes 'no', 'yes'. Got 'hm'"
    ):
        one.learn(X, ["no", "hm", "no"])


def test_rows_need_no_schema_and_make_it_grow_one_after_the_other():
    one, many = Heros(k=3, seed=1), Heros(k=3, seed=1)
    rows = [{"a": 1}, {"a": 2, "b": "x"}, {"a": 3, "b": "y"}, {"b": "x"}]
    labels = ["no", "no", True, "no"]
    for row, label in zip(rows, labels, strict=True):
        one.learn(row, label)
    many.learn(rows, labels)
    assert one.schema == many.schema
    assert one.schema.classes == ("no", "True")
    assert one.schema.features[1].values == ("x", "y")
    assert one.predict_proba({"a": 2, "b": "y"}) == many.predict_proba({"a": 2, "b": "y"})


def test_a_frame_makes_the_schema_grow_row_by_row():
    grown, rows = model(), model()
    frame = pd.DataFrame({"age": [1, None], "colour": ["red", "pink"], "new": [0.5, 0.25]})
    grown.learn(frame, [3, "yes"])
    rows.learn([{"age": 1, "colour": "red", "new": 0.5}, {"colour": "pink", "new": 0.25}], [3, "yes"])
    assert grown.schema == rows.schema
    assert (grown.outputs(np.zeros((1, 3))) == rows.outputs(np.zeros((1, 3)))).all()
    assert grown.schema.extends(SCHEMA)
    assert grown.schema.classes == ("no", "yes", "3")
    assert [feature.name for feature in grown.schema.features] == ["age", "colour", "new"]
    assert grown.schema.features[1].values == ("red", "green", "blue", "pink")
    assert grown.schema.features[0].missing
    assert not grown.schema.features[2].missing  # present from the first instance on
    assert grown.instances == 2


def test_what_is_not_known_is_missing_when_asked_and_changes_nothing(learnt):
    before = learnt.schema
    blank = learnt.outputs(np.array([[18.0, np.nan]]))[0].tolist()
    assert list(learnt.predict_proba({"age": 18, "colour": "pink", "shoe": 43}).values()) == blank
    assert list(learnt.predict_proba({"age": 18}).values()) == blank
    assert (
        learnt.predict_proba(pd.DataFrame({"age": [18], "colour": ["pink"]})).to_numpy()[0].tolist() == blank
    )
    assert learnt.schema is before


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (
            lambda m: m.predict({"Age": 18}),
            "A row must have at least one of the features 'age', 'colour'. Got",
        ),
        (
            lambda m: m.predict(pd.DataFrame({"Age": [18]})),
            "A row must have at least one of the features 'age'",
        ),
        (lambda m: m.predict({"age": "old"}), "The feature 'age' must be a number. Got 'old' instead."),
        (lambda m: m.predict(pd.DataFrame({"age": ["old"]})), "X, row 1: 'age' must be a number"),
        (lambda m: m.learn(ROWS, ["no"]), r"y must have one label per row \(3\). Got 1 instead."),
        (lambda m: m.learn(pd.DataFrame(ROWS), ["no"]), r"y must have one label per row \(3\). Got 1"),
        (lambda m: m.learn(ROWS[0], None), "The label must have a value"),
        (lambda m: m.learn(pd.DataFrame(ROWS), ["no", None, "no"]), "The label of row 1 must have a value"),
        (lambda m: m.learn(ROWS, "no"), "y must have one label per row. Got 'no' instead."),
    ],
)
def test_what_will_not_do_is_said(learnt, ask, text):
    with pytest.raises(DataError, match=text):
        ask(copy.deepcopy(learnt))


def test_nothing_can_be_asked_before_anything_is_known():
    with pytest.raises(HerosError, match="not been trained yet"):
        Heros(k=3).predict({"age": 18})


def test_a_checkpoint_is_a_model_too(tmp_path):
    stream = streams.Agrawal().take(2000)
    kept = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)
    evaluate(kept, stream, checkpoint=tmp_path, every=1000)
    again = Heros.load(tmp_path / "checkpoint-000000002000.heros")
    earlier = Heros.load(tmp_path / "checkpoint-000000001000.heros")
    X, _ = streams.Agrawal(seed=9).draw(50)
    assert (again.predict_proba(X) == kept.predict_proba(X)).all()
    assert earlier.instances == 1000
    (tmp_path / "broken.heros").write_bytes(b"\x89HEROS")
    with pytest.raises(DataError, match="is damaged"):
        Heros.load(tmp_path / "broken.heros")


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
def test_a_few_rows_of_a_frame_take_the_short_way_to_the_same_answer(learnt, convert, monkeypatch):
    few, other = copy.deepcopy(learnt), copy.deepcopy(learnt)
    frame = convert(pd.DataFrame(ROWS).assign(shoe=[1, 2, 3])[["colour", "shoe", "age"]])
    expected = learnt.predict_proba(X)
    known = convert(pd.DataFrame(ROWS))
    other.learn(pa.Table.from_pylist(ROWS), LABELS)
    monkeypatch.setattr("heros.data.encoder.table_of", lambda *_: pytest.fail("Arrow was asked"))
    assert (few.predict_proba(frame).to_numpy() == expected).all()
    few.learn(known, LABELS)
    assert (few.predict_proba(X) == other.predict_proba(X)).all()
    monkeypatch.undo()
    few.learn(frame, LABELS)
    assert few.schema.n_features == 3


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a model trained on a file in many formats, and the file's original rows."""
    path = tmp_path_factory.mktemp("rows") / "orders.csv"
    header = "when;price;share;size;gift;late"
    lines = [
        f"{1 + i % 28:02}.{1 + i % 12:02}.2026 1{i % 10}:30;{1 + i % 5}.{i % 9}00,50 €;{i % 80},5 %;{i};"
        f"{'TRUE' if i % 3 else 'FALSE'};{'true' if i % 2 else 'false'}"
        for i in range(1, 200)
    ]
    path.write_text("\n".join([header, *lines]), encoding="utf-8")
    with pytest.warns(DataNotice):
        stream = streams.read(path, target="late")
    with pytest.warns(DataNotice):
        X, _ = streams.read(path, target="late").draw(300)
    model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)
    evaluate(model, stream)
    place = path.with_suffix(".heros")
    model.save(place)
    raw = [dict(zip(header.split(";")[:-1], line.split(";")[:-1], strict=True)) for line in lines]
    return Heros.load(place), raw, X


def test_raw_rows_are_read_as_the_file_was(written):
    model, raw, X = written
    expected = model.outputs(X)
    assert (model.predict_proba(pd.DataFrame(raw)).to_numpy() == expected).all()
    assert [list(one.values()) for one in model.predict_proba(raw)] == expected.tolist()
    assert [*model.predict_proba(raw[7]).values()] == expected[7].tolist()
    assert (model.predict_proba(pd.DataFrame(raw[:3])).to_numpy() == expected[:3]).all()  # few: row by row


def test_what_a_row_may_lack_or_say_otherwise(written):
    model, raw, _ = written
    row = raw[7]
    assert model.predict_proba(row | {"price": 800.5, "gift": True}) == model.predict_proba(
        row | {"price": "800,50", "gift": "TRUE"}
    )
    assert model.predict_proba(row | {"price": "800.5"}) == model.predict_proba(row | {"price": 800.5})
    for nothing in (None, "n/a", "", float("nan")):
        lacking = model.predict_proba(row | {"price": nothing, "when": nothing})
        assert lacking == model.predict_proba({k: v for k, v in row.items() if k not in {"price", "when"}})
    with pytest.raises(DataError, match=r"The feature 'price' must be a number. Got 'dear' instead"):
        model.predict(row | {"price": "dear"})
    with pytest.raises(DataError, match=r"The feature 'when' must be a date, day first. Got 'soon' instead"):
        model.predict(row | {"when": "soon"})


def test_raw_rows_teach_what_the_file_would(written):
    model, raw, X = written
    one, two, three = (copy.deepcopy(model) for _ in range(3))
    one.learn(X[:9], ["true", "false"] * 4 + ["true"])
    two.learn(raw[:9], [True, False] * 4 + [True])
    three.learn(pd.DataFrame(raw[:9]), [True, False] * 4 + [True])
    assert two.schema.classes == three.schema.classes == ("false", "true")
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    assert (one.predict_proba(X) == three.predict_proba(X)).all()
    two.learn(raw[0] | {"colour": "red"}, "true")  # the schema grows, and the format of prices is still known
    assert two.predict_proba(raw[3]) == two.predict_proba(raw[3] | {"price": 5400.5})


LACKING = ["", "-999", "unknown", " -999 "]


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """Return a model trained on a file in which -999 and unknown mean a missing value."""
    path = tmp_path_factory.mktemp("rows") / "weather.csv"
    lines = [
        f"{'-999' if i % 7 == 0 else i % 30},{'unknown' if i % 5 == 0 else 'abc'[i % 3]},{i % 2}"
        for i in range(200)
    ]
    path.write_text("\n".join(["warm,where,rain", *lines]), encoding="utf-8")
    stream = streams.read(path, target="rain", missing=["", "-999", "unknown"])
    assert stream.schema.features[1].values == ("a", "b", "c")
    model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)
    evaluate(model, stream)
    place = path.with_suffix(".heros")
    model.save(place)
    return Heros.load(place)


@pytest.mark.parametrize("word", LACKING)
@pytest.mark.parametrize("rows", [1, 300])  # few rows are read row by row, many by Arrow
@pytest.mark.parametrize("kind", ["string", "category"])
def test_what_stood_for_nothing_in_the_file_does_so_in_rows_and_frames(lacking, word, rows, kind):
    nothing = lacking.predict_proba([{"warm": None, "where": None}])[0]
    assert lacking.predict_proba({"warm": word, "where": word}) == nothing
    frame = pd.DataFrame({"warm": [word] * rows, "where": [word] * rows}, dtype=kind)
    assert (lacking.predict_proba(frame).to_numpy() == [*nothing.values()]).all()
    if word.strip() == "-999":
        assert lacking.predict_proba({"warm": -999, "where": None}) == nothing
        assert (
            lacking.predict_proba(pd.DataFrame({"warm": [-999.0] * rows})).to_numpy() == [*nothing.values()]
        ).all()


def test_what_stood_for_nothing_is_not_learnt_as_a_value(lacking):
    rows = [{"warm": "-999", "where": "unknown"}, {"warm": "3", "where": "b", "sky": "unknown"}]
    one, two, three = (copy.deepcopy(lacking) for _ in range(3))
    one.learn([{"warm": None, "where": None}, {"warm": 3, "where": "b", "sky": None}], ["0", "1"])
    two.learn(rows, ["0", "1"])
    three.learn(pd.DataFrame(rows * 150), ["0", "1"] * 150)
    for model in (two, three):
        assert model.schema.features[1].values == ("a", "b", "c")
        assert model.schema.words == ("-999", "unknown")
        assert "unknown" not in [v for f in model.schema.features for v in f.values or ()]
    assert two.predict_proba(rows[1]) == one.predict_proba(rows[1])


@pytest.mark.parametrize("rows", [1, 300])
def test_words_that_were_named_are_added_to_the_usual_ones(lacking, rows):
    nothing = lacking.predict_proba({"warm": None, "where": "a"})
    assert lacking.predict_proba({"warm": "n/a", "where": "a"}) == nothing
    frame = pd.DataFrame({"warm": ["n/a"] * rows, "where": ["a"] * rows})
    assert (lacking.predict_proba(frame).to_numpy() == [*nothing.values()]).all()


@pytest.mark.parametrize("rows", [1, 300])
def test_usual_words_stand_for_nothing_in_frames_of_any_length(written, rows):
    model, raw, _ = written
    nothing = model.predict_proba({k: v for k, v in raw[7].items() if k not in {"price", "when"}})
    frame = pd.DataFrame([raw[7] | {"price": "n/a", "when": "n/a"}] * rows)
    assert (model.predict_proba(frame).to_numpy() == [*nothing.values()]).all()


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("form", [list, "frame"])
def test_a_bad_row_in_a_list_or_frame_leaves_the_model_unchanged(form):
    model = Heros(pools.Linear(), k=1, seed=1)
    first = [{"size": float(i), "colour": "red"} for i in range(60)]
    model.learn(first, ["no", "yes"] * 30)
    more = [*({"size": str(i), "colour": "blue", "new": "1"} for i in range(60)), {"size": "many"}]
    rows = more if form is list else pd.DataFrame(more)
    before = model.schema
    with pytest.raises(DataError, match="must be a number"):
        model.learn(rows, ["no"] * 61)
    assert (model.instances, model.schema) == (60, before)
    model.learn(more[:-1], ["no"] * 60)
    assert model.instances == 120


def test_numbers_written_as_text_are_no_classes():
    rows = [{"a": float(i % 7)} for i in range(150)]
    with pytest.raises(DataError, match=r"many different numbers written as text, such as '0,05'"):
        Heros(seed=1).learn(rows, [f"{i},05" for i in range(150)])


def test_numbers_have_the_names_that_a_file_gave_them(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("room,y\n" + "1.0,0.0\n2.0,1.0\n" * 60)
    stream = streams.read(path, target="y", nominal=["room"])
    learnt = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)
    evaluate(learnt, stream)
    expected = [learnt.predict_proba({"room": room}) for room in ("1.0", "2.0")]
    assert expected[0]["0.0"] > 0.6
    assert expected[1]["0.0"] < 0.4
    frame = pd.DataFrame({"room": [1, 2] * 30})
    for rows in ([{"room": 1}, {"room": 2.0}], frame[:2], frame.astype(float), pl.DataFrame(frame)):
        assert learnt.answers(rows)[:2].tolist() == [[*one.values()] for one in expected]
    learnt.learn({"room": 1}, 0).learn(frame, [0, 1] * 30).learn(frame.astype(float), [0.0, 1.0] * 30)
    evaluate(learnt, streams.from_frame(frame.assign(y=[0, 1] * 30), target="y", nominal=["room"]))
    assert learnt.schema == stream.schema
    background = [{"room": "1.0"}, {"room": "2.0"}]
    asked = {"x": {"room": 1}, "background": background}
    assert learnt.explain(**asked, of=1) == learnt.explain(**asked, of="1.0")
    model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, class_weight={1: 5})
    named = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, class_weight={"1.0": 5})
    for one in (model, named):
        stream.restart()
        evaluate(one, stream)
    assert model.predict_proba({"room": 1}) == named.predict_proba({"room": 1}) != expected[0]


@pytest.mark.filterwarnings("ignore:The column .when. is read as dates:heros.DataNotice")
@pytest.mark.parametrize("text", ["0001-01-01", "01.01.0001", "0001-01-01 00:00:00"])
def test_a_year_of_four_digits_is_not_completed(text):
    """Some databases write a missing date as the first day of year 1."""
    typed, _ = Encoder(Schema((), ("no",))).encode({"when": datetime(1, 1, 1)}, "no")
    written, _ = Encoder(Schema((), ("no",))).encode({"when": text}, "no")
    assert written == typed


class Colour(str, Enum):  # noqa: UP042 - a StrEnum's str() is its value
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize("n", [3, 60])
def test_an_enum_of_strings_is_its_text_everywhere(tmp_path, n):
    """`str(Colour.RED)` is 'Colour.RED'."""
    given, plain = [Colour.RED, Colour.BLUE] * n, ["red", "blue"] * n
    numbers = np.arange(2.0 * n).reshape(-1, 1)
    for labels in (given, plain):
        rows = [{"size": i, "colour": label} for i, label in enumerate(labels)]
        alone = model(None).learn(rows, labels)
        single = model(None)
        for row, label in zip(rows, labels, strict=True):
            single.learn(row, label)
        assert single.schema == alone.schema
        assert alone.schema.classes == ("red", "blue")
        assert alone.predict_proba({"size": 1, "colour": labels[0]}) == alone.predict_proba(
            {"size": 1, "colour": "red"}
        )
        frame = pd.DataFrame(rows)
        assert model(None).learn(frame, labels).schema.classes == ("blue", "red")
        stream = streams.from_frame(frame.assign(y=labels), target="y", classes=labels[:2])
        assert (stream.schema.classes, stream.schema.features[1].values) == (("red", "blue"), ("blue", "red"))
        assert streams.from_arrays(numbers, labels).schema.classes == ("blue", "red")
        schema = Schema.of(["size", ("colour", *labels[:2])], classes=labels[:2])
        assert schema == Schema.of(["size", ("colour", "red", "blue")], classes=["red", "blue"])
        arrays = model(Schema.of(["size"], classes=["red", "blue"])).learn(numbers, labels)
        assert arrays.learn(numbers[0], labels[0]).instances == 2 * n + 1
        pairs = streams.from_iter([({"size": i}, label) for i, label in enumerate(labels)])
        assert evaluate(model(None), pairs).n_instances == 2 * n
        with Keyed(model(None)) as keyed:
            assert keyed.learn(labels[0], {labels[1]: 1.0}, labels[0]).predict("red", {"blue": 1.0}) == "red"
        late = LateLabels(model(Schema.of(["size"], classes=["red", "blue"])))
        late.answer(1, numbers[0])
        assert late.learn(1, labels[1])
        late = LateLabels(model(None))
        late.answer(1, {"size": 1, "colour": labels[0]})
        late.save(tmp_path / "late")
        again = LateLabels.load(tmp_path / "late")
        assert again.learn(1, labels[0])
        assert again.model.schema.features[0].values == ("red",)
        classifier = HerosClassifier(k=1, pool=POOL).fit(numbers, labels)
        assert classifier.heros_.schema.classes == ("blue", "red")
        classifier = HerosClassifier(k=1, pool=POOL).fit(numbers, pd.Series(labels, dtype=object))
        assert classifier.heros_.schema.classes == ("blue", "red")


def test_a_class_that_numpy_would_change_is_refused():
    names = ["a", "a\0"]
    with pytest.raises(ParameterError, match=r"must be names that do not end with \\0"):
        Schema.of(["size"], classes=names)
    known = model(Schema.of(["size"], classes=["a", "b"]))
    for x, y in ((np.ones((2, 1)), names), (np.ones(1), names[1])):
        with pytest.raises(DataError, match=r"must be one of the classes 'a', 'b'. Got 'a\\x00' instead"):
            known.learn(x, y)
    assert known.instances == 0
    rows = model(None).learn({"size": 1}, "a")
    with pytest.raises(
        DataError, match=r"The label must not end with the character \\0. Got 'a\\x00' instead"
    ):
        rows.learn({"size": 2}, "a\0")
    assert rows.schema.classes == ("a",)
    for y in (names, pd.Series(names, dtype=object)):
        with pytest.raises(DataError, match=r"The label of row 1 must not end with the character \\0"):
            HerosClassifier(k=1, pool=POOL).fit(np.ones((2, 1)), y)
    with pytest.raises(HerosError, match=r"must be names that do not end with \\0"):
        streams.from_arrays(np.ones((2, 1)), names)
    stream = streams.from_frame({"size": [1, 2, 3, 4], "y": [*names, "b", "a"]}, target="y")
    with pytest.warns(DataNotice, match=r"row 2: the 'y' column must not end with the character \\0"):
        run = evaluate(model(None), stream)
    assert (run.n_instances, run.bad_rows.count) == (3, 1)


LONG = 10**5000  # Python refuses to convert it to text
BEFORE_CHRIST = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("age", "colour", "new", "label") for value in (LONG, Fraction(1, LONG))),
        ("age", -LONG),
        ("new", BEFORE_CHRIST),
    ],
    ids=range(10),
)
def test_a_number_with_thousands_of_digits_or_a_date_out_of_range_is_one_bad_row(name, value):
    rows = [({"age": i, "colour": "red"}, "no") for i in range(30)]
    bad = ({"age": 1}, value) if name == "label" else ({"age": 1, name: value}, "no")
    learner = Heros(POOL, k=1, seed=1).learn([row for row, _ in rows], [label for _, label in rows])
    with pytest.raises(DataError) as raised:
        learner.learn(*bad)
    assert len(str(raised.value)) < 300
    assert learner.instances == 30
    source = streams.from_iter([*rows, bad, *rows])
    with pytest.warns(DataNotice, match="Bad rows are skipped"):
        assert evaluate(Heros(POOL, k=1, seed=1), source).bad_rows.count == 1


def test_a_date_in_a_very_fine_unit_is_read():
    learner = Heros(POOL, k=1, seed=1).learn({"when": np.datetime64(5, "as"), "age": 1}, "no")
    assert [one.part for one in learner.schema.features if one.column] == ["day", "weekday", "day of year"]


def test_an_error_shows_the_beginning_of_a_long_value():
    learner = Heros(POOL, k=1, seed=1).learn([{"age": i} for i in range(9)], ["no"] * 9)
    with pytest.raises(DataError, match=r"Got 'xxx.*x… instead\.") as raised:
        learner.learn({"age": "x" * 100_000}, "no")
    assert len(str(raised.value)) < 300


def test_an_enum_of_whole_numbers_is_its_number_everywhere():
    Size = Enum("Size", {"S": 1, "L": 3}, type=int)
    rows = [{"age": i, "size": ("small", Size.L)[i % 2], "number": Size.S} for i in range(60)]
    plain = [{**row, "size": ("small", "3")[i % 2], "number": 1} for i, row in enumerate(rows)]
    labels = [(Size.S, Size.L)[i % 2] for i in range(60)]
    learner = Heros(POOL, k=1, seed=1, class_weight={Size.L: 3}).learn(rows, labels)
    other = Heros(POOL, k=1, seed=1, class_weight={"3": 3}).learn(plain, [1, 3] * 30)
    assert learner.schema == other.schema
    assert learner.schema.classes == ("1", "3")
    assert learner.predict_proba(rows[0]) == other.predict_proba(plain[0])
    assert streams.from_iter([({"age": 1}, 1)], classes=[*Size]).schema.classes == ("1", "3")


@pytest.mark.parametrize("parts", [["day"], ["weekday", "day", "day of year"], ["day"] * 3])
def test_a_schema_has_all_parts_of_a_date_in_their_order(parts):
    features = [
        Feature(f"sent ({part}{i})", missing=True, column="sent", part=part) for i, part in enumerate(parts)
    ]
    with pytest.raises(
        ParameterError, match="the parts 'day', 'weekday', 'day of year' of the column 'sent'"
    ):
        model(Schema((*features, Feature("age")), ("no", "yes"))).learn(
            {"sent": "2026-10-28", "age": 1}, "no"
        )
