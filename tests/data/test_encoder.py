"""The encoder: rows and table columns get the same codes, and a bad row changes nothing."""

import copy
import json
import math
import pickle
import random
import time as time_module
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from heros import DataError
from heros.data.codes import Codes
from heros.data.columns import NameColumn
from heros.data.encoder import Encoder
from heros.data.frames import table_of
from heros.data.schema import Feature, Schema, schema_of, schema_plain
from heros.data.values import NO_TARGET, NotAClass, NothingKnown, Refused


def test_rows_and_columns_give_the_same_codes():
    rng = random.Random(1)
    values = [rng.choice([None, "a", "b", "c", 1, 2.0]) for _ in range(200)]
    encoder = Encoder(nominal=["v"])
    rows = [encoder.encode({"v": value, "one": 1}, "x")[0] for value in values]
    as_text = [None if value is None else str(int(value)) if value == 2.0 else str(value) for value in values]
    at = [feature.name for feature in encoder.schema.features].index("v")
    column = NameColumn("v", Codes(encoder.schema.features[at].values))
    codes = column.codes_of(pa.array(as_text), ())
    np.testing.assert_array_equal([row[at] if at < len(row) else np.nan for row in rows], codes)
    assert (codes[~np.isnan(codes)] >= 0).all()


def test_nothing_is_known_of_an_instance_that_breaks_a_rule():
    encoder = Encoder(seen=200)
    encoder.encode({"a": 1, "b": "x"}, "no")
    before = encoder.schema
    for features in ({"a": 2, "b": "new", "c": float("inf")}, {"c": 1, "a": "x"}, {"b": "y", "a": 10**400}):
        with pytest.raises(Refused):
            encoder.encode(features, "new")
    assert encoder.schema is before


def test_what_is_missing_and_unknown_is_nothing_new():
    encoder = Encoder()
    encoder.encode({"a": 1}, "no")
    assert encoder.encode({"a": 2, "b": None, "c": float("nan")}, "no", grow=False) == ([2], 0)
    assert encoder.row({"a": None}) == pytest.approx([np.nan], nan_ok=True)
    assert encoder.encode({"a": None}, "no", grow=False) is None  # this column had no missing values before


def test_a_schema_that_is_known_is_all_that_is_known():
    encoder = Encoder()
    encoder.encode({"z": 1}, "other")
    schema = Schema((Feature("a", None, True), Feature("b", ("x", "y"))), ("no",))
    encoder.use_schema(schema)
    assert encoder.schema is schema
    assert encoder.encode({"b": "z"}, "yes")[1] == 1
    assert encoder.schema.extends(schema)


def test_names_have_codes_in_the_order_they_came():
    codes = Codes("b")
    assert [codes.add(name) for name in "cab"] == [1, 2, 0]
    assert list(codes) == ["b", "c", "a"]


# -- names similar to those of shared codes ------------------------------------------------------------------

MARKERS = ("#1 of 2000000", "#1 of 1", "#2 of 3", "#1 of 64")


@pytest.mark.parametrize("marker", MARKERS)
def test_a_name_like_that_of_a_shared_code_is_a_name_like_others(marker):
    """Test the name as a value and as a class, and after a restart from the schema alone."""
    encoder = Encoder(most_values=None)
    for label in ("a", marker):
        encoder.encode({"colour": label}, label)
    again = Encoder(schema_of(json.loads(json.dumps(schema_plain(encoder.schema)))), most_values=None)
    for one in (encoder, again):
        for code, label in enumerate(("a", marker, "b", "c", "#3 of 3")):
            assert one.encode({"colour": label}, label) == ([code], code)
        assert one.schema.features[0].values == one.schema.classes == ("a", marker, "b", "c", "#3 of 3")


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("first", [(), MARKERS])
def test_shared_codes_are_the_same_after_a_restart_whatever_names_there_are(first):
    names = [*first, *(f"u{i}" for i in range(200)), "#1 of 1", "#1 of 16", "#7 of 16", "#1 of 64"] * 2
    encoder, codes = Encoder(most_values=64, seen=1000), []
    for at, name in enumerate(names):
        row, _ = encoder.encode({"id": name, "x": 1.0}, "yes" if at % 2 else "no")
        codes.append(row[0])
    values = encoder.schema.features[0].values
    assert len(values) == len(set(values)) == 64
    assert max(codes) == 63
    again = Encoder(
        schema_of(json.loads(json.dumps(schema_plain(encoder.schema)))), most_values=64, seen=2000
    )
    assert [again.row({"id": name})[0] for name in names[len(names) // 2 :]] == codes[len(names) // 2 :]
    assert [again.encode({"id": name}, "no")[0][0] for name in names] == [
        encoder.row({"id": name})[0] for name in names
    ]
    assert again.schema == encoder.schema


@pytest.mark.parametrize("shared", [-1, 3, True, 1.5, "1", None])
def test_a_schema_with_impossible_shared_codes_is_refused(shared):
    plain = schema_plain(Schema.of([("id", "a", "b")], classes=["no", "yes"]))
    plain["features"][0] += ["", "", "", shared]
    with pytest.raises(DataError, match="shared"):
        schema_of(plain)


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize(
    "rows",
    [
        [{"a": "2026-01-01"}, {"a": "2026-01-02", "a (day)": 5}],
        [{"a (day)": 5}, {"a": "2026-01-01"}],
        [{"a": "2026-01-01", "a (day)": "red"}],
        [{"a": "2026-01-01", "a (hour)": 1}, {"a": "2026-01-01 12:30"}],
        [{"a": 1, "a (name)": 2}, {"a": "red"}, {"a": "green"}],
        [{"": "2026-01-01"}, {"": "2026-01-02", " (day)": 1}],
    ],
)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_column_may_have_the_name_of_a_part_of_another(rows, restarted):
    encoder = Encoder()
    for x in rows:
        coded, _ = encoder.encode(x, "yes")
        values = dict(zip((one.source for one in encoder.schema.features), coded, strict=True))
        assert {name for name, value in values.items() if not np.isnan(value)} == x.keys()
        if restarted:
            encoder = Encoder(
                schema_of(json.loads(json.dumps(schema_plain(encoder.schema)))), seen=encoder.seen
            )
    assert len({one.name for one in encoder.schema.features}) == encoder.width


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_a_copy_reads_times_of_day_as_the_original_does():
    encoder = Encoder()
    for hour in range(8, 20):
        encoder.encode({"at": f"{hour}:30"}, "yes")
    for one in (encoder, copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        with pytest.raises(Refused):
            one.row({"at": "2026-01-01 10:00"})


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_an_infinite_number_does_not_turn_a_column_of_names_into_numbers():
    encoder = Encoder()
    for value in ("red", "1", "2", "3"):
        encoder.encode({"size": value}, "yes")
    before = encoder.schema
    with pytest.raises(Refused, match="finite"):
        encoder.encode({"size": "1e400"}, "yes")
    assert encoder.schema is before
    encoder.encode({"size": "4"}, "yes")
    assert [one.name for one in encoder.schema.features] == ["size", "size (number)"]


def saved_and_loaded(encoder):
    return Encoder(schema_of(json.loads(json.dumps(schema_plain(encoder.schema)))), seen=encoder.seen)


@pytest.mark.parametrize("again", [copy.deepcopy, saved_and_loaded], ids=["copied", "saved and loaded"])
@pytest.mark.parametrize(
    "how", [{"schema": Schema.of([("plz", "v0")], classes=["yes"])}, {"nominal": ["plz"]}]
)
def test_a_column_that_the_user_declared_is_no_identifier_after_a_restart(how, again):
    encoder = Encoder(**how)
    for i in range(60):
        encoder.encode({"plz": f"v{i}", "size": i}, "yes")
        if i in (0, 10):
            encoder = again(encoder)
    assert not encoder.ignored


def test_times_of_a_frame_are_read_as_those_of_rows():
    encoder = Encoder()
    frame = {"at": pa.array([time(hour) for hour in range(9)])}
    list(encoder.learn(pa.table(frame), ["yes"] * 9))
    for one in (encoder, saved_and_loaded(encoder)):
        assert one.row({"at": "10:30"}) == [10.5]
        with pytest.raises(Refused):
            one.row({"at": "2026-01-01 10:00"})


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=14))),
        np.datetime64(2**62, "s"),
    ],
)
def test_moments_beyond_the_calendar_are_refused(moment):
    encoder = Encoder()
    encoder.encode({"at": "2026-01-01"}, "yes")
    with pytest.raises(Refused):
        encoder.row({"at": moment})


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["red  ", "blue ", "red"], ("red", "blue")),
        ([Decimal("1.0"), Decimal("2.50")], ("1", "2.5")),
        ([timedelta(hours=1), timedelta(seconds=90)], ("3600", "90")),
        (["true", "false"], ("True", "False")),
    ],
)
def test_a_category_has_the_names_that_rows_and_text_have(values, names):
    encoder = Encoder()
    array = pa.array(values * 20).dictionary_encode()
    (batch, *_) = encoder.learn(
        pa.table({"c": array, "i": range(len(array))}), ["yes", "no"] * (len(array) // 2)
    )
    assert not np.isnan(batch.X).any()
    assert encoder.schema.features[0].values == names
    for value, code in zip(values, batch.X[:, 0], strict=False):
        assert encoder.row({"c": value})[0] == code


def test_a_label_with_decimals_is_a_bad_row_once_classes_are_names():
    encoder = Encoder(fractions=False)
    with pytest.raises(NotAClass, match="task='regression'"):
        encoder.encode({"a": 1}, 1.5)
    encoder.encode({"a": 1}, "yes")
    with pytest.raises(Refused) as why:
        encoder.encode({"a": 1}, 1.5)
    assert not isinstance(why.value, NotAClass)


def test_nested_fields_below_a_known_number_are_no_known_features():
    encoder = Encoder(Schema.of(["num", "size"], classes=["yes", "no"]))
    with pytest.raises(NothingKnown):
        encoder.row_to_predict({"num": {"a": 1}})
    assert encoder.without_feature({"size": 1, "num": {"a": 1}}) == ["num.a"]


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_a_number_among_the_missing_words_is_missing_whatever_its_type():
    values = [-999, 3, 4, -999, 5]
    expected = [True, False, False, True, False]
    for given in (
        values,
        [float(one) for one in values],
        [str(one) for one in values],
        list(map(Decimal, values)),
    ):
        by_row, by_table = Encoder(words=["-999"]), Encoder(words=["-999"])
        rows = [by_row.encode({"a": one, "b": 1}, "yes")[0] for one in given]
        assert [len(row) < 2 or bool(np.isnan(row[1])) for row in rows] == expected  # b was added
        (batch,) = by_table.learn(pa.table({"a": given, "b": [1] * 5}), ["yes"] * 5)
        assert np.isnan(batch.X[:, 0]).tolist() == expected
        for one in (-999, -999.0, "-999", "-999.00", np.int64(-999), Decimal("-999")):
            assert np.isnan(by_table.row({"a": one, "b": 1})[0])
            assert np.isnan(by_table.read(pa.table({"a": [one], "b": [1]}))[0, 0])
        assert by_table.row({"a": -998, "b": 1})[0] == -998


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_the_chunks_of_a_table_do_not_decide_how_columns_are_read():
    parts = [pa.table({"m": ["1"] * 20}), pa.table({"m": ["x"] * 30})]
    encoder = Encoder()
    X = [batch.X for batch in encoder.learn(pa.concat_tables(parts), ["yes", "no"] * 25)]
    assert encoder.schema.features[0].values == ("1", "x")
    assert sum(map(len, X)) == 50


def test_one_bad_value_in_the_first_table_leaves_a_column_of_numbers():
    for at in range(1, 5):
        values = [f"{i}.5" for i in range(50)]
        values[at] = "unknown"
        with pytest.raises(DataError, match="unknown"):
            list(Encoder().learn(pa.table({"a": values, "b": ["u", "v"] * 25}), ["yes", "no"] * 25))


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize(
    "values",
    [
        [date(2026, 1, 1), datetime(2026, 1, 1, 18)],
        [timedelta(seconds=5), 3, 3.5],
        [Decimal("2.5"), 3, None],
        ["red", math.nan, 3.0, "blue"],
        [True, "x", None],
    ],
)
def test_objects_of_several_types_mean_in_a_frame_what_they_mean_in_rows(values):
    """Arrow converts some of them silently: a datetime beside a date lost its time of day."""
    few, values = values, values * 40
    labels = ["yes", "no"] * (len(values) // 2)
    by_row = Encoder()
    for value, label in zip(values, labels, strict=True):
        by_row.encode({"a": value, "b": 1}, label)
    columns = {"a": values, "b": [1] * len(values)}
    for frame in (pd.DataFrame(columns, dtype=object), columns):
        by_frame = Encoder()
        assert sum(len(batch.X) for batch in by_frame.learn(table_of(frame, "a test"), labels)) == len(values)
        for value in few:
            assert meaning(by_frame, value) == meaning(by_row, value)


def meaning(encoder, value):
    """Return the features of one value, with names instead of codes."""
    features, row = encoder.schema.features, encoder.row({"a": value, "b": 1})
    return {
        one.name: "missing" if math.isnan(code) else one.values[int(code)] if one.nominal else code
        for one, code in zip(features, row, strict=True)
    }


def test_a_target_among_the_missing_words_is_missing_whatever_its_type():
    for numeric in (False, True):
        encoder = Encoder(words=["-999"], numeric=numeric)
        encoder.encode({"a": 1}, 1)
        for label in (-999, -999.0, "-999", "-999.00"):
            with pytest.raises(Refused) as why:
                encoder.encode({"a": 1}, label)
            assert why.value.rule == NO_TARGET
        assert np.isnan(encoder.targets([-999, 1] * 40)).tolist() == [True, False] * 40


def test_small_frames_are_read_as_large_ones():
    """Frames of at most 32 rows are read row by row."""
    account = 2**53 + 1  # not exactly representable as a float
    names = Feature("account", values=(str(account), "7"))
    encoder = Encoder(Schema((names, Feature("a", missing=True)), ("no",), words=("-999",)))
    columns = {"account": [account, 7], "a": [-999, 0.5]}
    for frame in (
        pd.DataFrame(columns),
        pd.DataFrame({**columns, "a": pd.Categorical([-999, 5])}),
        pd.DataFrame({**columns, "a": [Decimal("NaN"), Decimal(5)]}),
    ):
        large = pd.concat([frame] * 20, ignore_index=True)
        np.testing.assert_array_equal(encoder.read(frame), encoder.read(large)[:2])
        assert encoder.read(frame)[:, 0].tolist() == [0, 1]
        assert np.isnan(encoder.read(frame)[:, 1]).tolist() == [True, False]
    for rows in (2, 40):
        with pytest.raises(DataError, match="distinct names"):
            encoder.read(pd.DataFrame(np.ones((rows, 2)), columns=["a", "a"]))


def test_a_listed_number_is_a_name_though_it_is_a_missing_word_elsewhere():
    features = (Feature("c", values=("1", "-999")), Feature("a", missing=True))
    encoder = Encoder(Schema(features, ("no",), words=("-999",)))
    for x in ({"c": -999, "a": -999}, {"c": "-999", "a": "-999"}, {"c": -999.0, "a": "-999.0"}):
        frames = [pd.DataFrame([x] * rows) for rows in (1, 40)]
        for row in (encoder.row(x), *(encoder.read(frame)[0] for frame in frames)):
            np.testing.assert_array_equal(row, [1, np.nan])


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_text_of_several_megabytes_is_no_number_and_no_date_and_takes_little_time():
    """Each of these texts took up to 1.5 seconds, in which a service replied to nobody."""
    encoder = Encoder(seen=200)
    encoder.encode({"size": 1, "price": "1.200,50 €", "when": "2026-01-31"}, "no")
    texts = "1" + ",234" * 1_000_000, "1" + "'234" * 1_000_000 + "x", "2026-01-31" + " " * 4_000_000 + "x"
    before = time_module.process_time()
    for column in ("size", "price", "when"):
        for text in texts:
            with pytest.raises(Refused):
                encoder.encode({column: text}, "no")
    assert time_module.process_time() - before < 2


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("column", ["price", "when"])
def test_the_longest_number_and_the_longest_date_have_a_thousand_characters(column):
    encoder = Encoder(seen=200)
    encoder.encode({"price": "1.200,50 €", "when": "2026-01-31"}, "no")
    texts = {"price": "1.200,5{} €", "when": "2026-01-31 12:30:00.{}"}
    text = texts[column].format("0" * (1002 - len(texts[column])))
    assert len(text) == 1000
    assert encoder.encode({column: text}, "no") is not None
    with pytest.raises(Refused):
        encoder.encode({column: f"{text[:12]}0{text[12:]}" if column == "price" else f"{text}0"}, "no")
