"""Streams from data in memory: arrays, frames, iterators."""

import copy
import itertools
import pickle
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from river import datasets as river_datasets

from heros import DataError, ParameterError, streams
from heros.data import Encoder
from heros.data.schema import Feature, Schema


def refused(call, kind=DataError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


# --- arrays


@pytest.mark.parametrize("nominal", [(), (1,)])
def test_writing_to_a_block_changes_nothing_else(nominal):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    stream = streams.from_arrays(X, y, nominal=nominal)
    expected = streams.from_arrays(X.copy(), y.copy(), nominal=nominal).draw(6)
    for array in stream.draw(6):
        array[...] = 7
    assert (np.arange(12.0).reshape(6, 2) == X).all()
    assert y.tolist() == [0, 1, 0, 1, 0, 1]
    stream.restart()
    for found, array in zip(stream.draw(6), expected, strict=True):
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("labels", "classes", "indices"),
    [
        ([1, 0, 1], ("0", "1"), [1, 0, 1]),
        ([10, 9, 10], ("9", "10"), [1, 0, 1]),
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        ([2.0, 1.0, 2.0], ("1", "2"), [1, 0, 1]),
        ([True, False, True], ("False", "True"), [1, 0, 1]),
    ],
)
def test_labels_of_any_type(labels, classes, indices):
    stream = streams.from_arrays([[1], [2], [3]], labels)
    assert stream.schema.classes == classes
    assert stream.draw(3)[1].tolist() == indices


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1", "?"])
def test_numbers_of_any_type_come_as_float64(dtype):
    X = np.asfortranarray(np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype))
    found, _ = streams.from_arrays(X, [0, 1, 0]).draw(3)
    assert (found.dtype, found.flags.c_contiguous, found.tolist()) == (np.float64, True, X.tolist())


def test_only_the_rows_drawn_are_copied():
    X = np.ones((1000, 3))
    stream = streams.from_arrays(X, np.zeros(1000))
    assert copy.copy(stream)._X is X
    assert not np.shares_memory(stream.draw(10)[0], X)


def test_missing_and_nominal_values_in_arrays():
    X = np.array([[7.0, np.nan], [9.0, 2.5], [np.nan, 1.0], [7.0, 3.0]])
    stream = streams.from_arrays(X, [0, 1, 0, 1], names=["code", "size"], nominal=["code"])
    assert stream.schema.features == (Feature("code", ("7", "9"), True), Feature("size", None, True))
    np.testing.assert_array_equal(stream.draw(4)[0], [[0, np.nan], [1, 2.5], [np.nan, 1], [0, 3]])
    assert X[0, 0] == 7  # the original array is not changed


def test_arrays_with_a_schema_hold_codes():
    schema = Schema.of(["size", ("colour", "red", "blue")], classes=["no", "yes"])
    X = [[1.5, 0], [2.5, 1]]
    by_index, by_name = (streams.from_arrays(X, y, schema=schema) for y in ([1, 0], ["yes", "no"]))
    assert by_index.schema is schema
    assert by_index.draw(2)[1].tolist() == by_name.draw(2)[1].tolist() == [1, 0]


def test_arrays_that_break_a_rule():
    schema = Schema.of(["size", ("colour", "red", "blue")], classes=["no", "yes"])
    of = streams.from_arrays
    said = [
        refused(lambda: of([1, 2], [0, 1])),
        refused(lambda: of([["a"], ["b"]], [0, 1])),
        refused(lambda: of([[1], [2]], [0])),
        refused(lambda: of([[1, 2], [3, np.inf]], [0, 1])),
        refused(lambda: of([[1], [2]], [0, None])),
        refused(lambda: of([[1], [2]], ["a", "b"], classes=["a"])),
        refused(lambda: of([[1], [2]], [0, 1], names=["a", "b"]), ParameterError),
        refused(lambda: of([[1], [2]], [0, 1], nominal=["z"]), ParameterError),
        refused(lambda: of([[1]], [0], schema=schema)),
        refused(lambda: of([[1, 2]], [0], schema=schema)),
        refused(lambda: of([[np.nan, 1]], [0], schema=schema)),
        refused(lambda: of([[1, 1]], [2], schema=schema)),
    ]
    assert said == [
        "The 'X' of from_arrays must be a matrix of numbers. Got an array of int64 with shape (2,) instead.",
        "The 'X' of from_arrays must be a matrix of numbers. Got an array of <U1 with shape (2, 1) instead.",
        "The 'y' of from_arrays must have 2 labels. Got shape (1,) instead.",
        "The 'X' of from_arrays must hold only finite numbers or NaN. Got inf in row 2, column 2 instead.",
        "from_arrays, row 2: the label must be one of '0'. Got None instead.",
        "from_arrays, row 2: the label must be one of 'a'. Got 'b' instead.",
        "The 'names' parameter of from_arrays must be a list of 1 names. Got ['a', 'b'] instead.",
        "The 'nominal' parameter of from_arrays must be a list of feature names or indices. Got 'z' instead.",
        "X must have 2 features. Got 1 instead.",
        "Column 'colour' (1) of row 0 must be the code of one of its values, in [0, 1]. Got 2 instead.",
        "Column 'size' (0) of row 0 must be a finite number (to allow missing values, set missing=True in the feature). "
        "Got nan instead.",
        "The label of row 0 must be a class index in [0, 1]. Got 2 instead.",
    ]


# --- frames

COLUMNS = {
    "age": [18.0, None, 21.0],
    "colour": ["red", "blue", "red"],
    "ok": [True, False, True],
    "label": [2, 1, 2],
}


class Interchanged:
    """A frame that supports only the data frame interchange protocol."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.table.__dataframe__(nan_as_null, allow_copy)


def frames():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    table = pa.table(COLUMNS)
    return {
        "mapping": COLUMNS,
        "arrow": table,
        "record batch": table.to_batches()[0],
        "pandas": pandas.DataFrame(COLUMNS, index=[5, 6, 7]),
        "polars": polars.DataFrame(COLUMNS),
        "interchange": Interchanged(table),
    }


@pytest.mark.parametrize("kind", ["mapping", "arrow", "record batch", "pandas", "polars", "interchange"])
def test_every_kind_of_frame_gives_the_same_stream(kind):
    stream = streams.from_frame(frames()[kind], target="label")
    assert stream.schema == Schema(
        (
            Feature("age", None, True),
            Feature("colour", ("blue", "red")),
            Feature("ok", ("False", "True")),
        ),
        ("1", "2"),
    )
    X, y = stream.draw(3)
    np.testing.assert_array_equal(X, [[18, 1, 1], [np.nan, 0, 0], [21, 1, 1]])
    assert (y.tolist(), stream.n_instances) == ([1, 0, 1], 3)
    again = pickle.loads(pickle.dumps(stream))
    again.restart()
    np.testing.assert_array_equal(again.draw(3)[0], X)


def test_categories_of_a_frame_keep_their_order():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    values = ["low", "high", "low"]
    ordered = pandas.Categorical(values, categories=["low", "middle", "high"])
    enum = polars.Series(values, dtype=polars.Enum(["low", "middle", "high"]))
    for frame in (
        pandas.DataFrame({"a": ordered, "y": [0, 1, 0]}),
        polars.DataFrame({"a": enum, "y": [0, 1, 0]}),
    ):
        stream = streams.from_frame(frame)
        assert stream.schema.features[0].values == ("low", "middle", "high")
        assert stream.draw(3)[0].ravel().tolist() == [0, 2, 0]


def test_frames_that_break_a_rule():
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame({"a": [1, ["x"]], "y": [0, 1]})
    assert refused(lambda: streams.from_frame([1, 2])) == (
        "The frame of from_frame must be a data frame. Got list instead."
    )
    assert refused(lambda: streams.from_frame(mixed)) == (
        "The column 'a' of from_frame must hold only numbers, text and dates. Got a list."
    )
    assert refused(lambda: streams.from_frame({"a": [], "y": []})) == (
        "frame must have at least one row. Got a header without rows instead."
    )
    assert refused(
        lambda: streams.from_frame({"a": [1.0], "y": [None]}, name="f", on_bad_row="raise").draw(1)
    ) == (
        "f, row 1: the 'y' column must have a value, because it is the target. Got a missing value instead."
    )


# --- iterators


def growing():
    yield {"a": 1, "b": "x"}, "no"
    yield {"a": 2, "b": "y"}, "yes"
    yield {"b": "x", "c": 5}, "maybe"
    yield {"a": float("nan"), "b": None, "c": 6}, "no"


def test_a_schema_grows_before_the_block_that_needs_it():
    stream = streams.from_iter(growing)
    seen = []
    for X, y in stream.blocks(1):
        schema = stream.schema
        seen.append(schema)
        assert X.shape[1] == schema.n_features
        assert y[0] < schema.n_classes
        assert all(f.missing for f, value in zip(schema.features, X[0], strict=True) if np.isnan(value))
    assert [schema.n_features for schema in seen] == [2, 2, 3, 3]
    assert all(new.extends(old) for old, new in itertools.pairwise(seen))
    assert seen[-1] == Schema(
        (Feature("a", None, True), Feature("b", ("x", "y"), True), Feature("c", None, True)),
        ("no", "yes", "maybe"),
    )
    assert seen[1].features == (Feature("a"), Feature("b", ("x", "y")))
    stream.restart()
    X, _ = stream.draw(10)
    np.testing.assert_array_equal(X, [[1, 0, np.nan], [2, 1, np.nan], [np.nan, 0, 5], [np.nan, np.nan, 6]])


def test_an_endless_iterator_is_read_as_far_as_asked():
    stream = streams.from_iter(({"n": i}, i % 2) for i in itertools.count())
    assert stream.draw(3)[0].ravel().tolist() == [0, 1, 2]
    assert stream.take(2).draw(9)[0].ravel().tolist() == [3, 4]
    assert stream.draw(1)[0].item() == 5  # there is only one iterator, and take has advanced it


def test_an_iterator_cannot_go_back_or_be_copied():
    stream = streams.from_iter(iter([({"a": 1}, 0)]), name="queue")
    back = (
        "The stream 'queue' reads an iterator, which cannot be restarted. "
        "Pass a function that returns a new iterator to from_iter."
    )
    assert refused(stream.restart) == back
    assert refused(stream.take(1).restart) == back
    assert refused(streams.Drift(stream, stream, 1).restart) == back
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        assert refused(lambda copied=copied: copied(stream)) == (
            "The stream 'queue' reads an iterator, which cannot be copied. "
            "Pass a function that returns a new iterator to from_iter."
        )


def test_a_river_data_set_is_a_stream():
    stream = streams.from_iter(river_datasets.Phishing())
    X, y = stream.draw(2000)
    expected = list(river_datasets.Phishing())
    np.testing.assert_array_equal(X, [[x[name] for name in sorted(x)] for x, _ in expected])
    names = [stream.schema.classes[i] for i in y]
    assert names == [str(label) for _, label in expected]


def test_numbers_that_are_names_and_given_classes():
    stream = streams.from_iter([({"a": 7}, 1), ({"a": 9}, 0)], nominal=["a"], classes=[0, 1])
    X, y = stream.draw(2)
    assert (X.ravel().tolist(), y.tolist()) == ([0, 1], [1, 0])
    assert (stream.schema.features[0].values, stream.schema.classes) == (("7", "9"), ("0", "1"))


PAIRS = [
    *[({"a": 1, "b": "x"}, "no")] * 5,
    ({"a": "one", "b": "x"}, "no"),
    ({"a": float("inf"), "b": "x"}, "no"),
    ({"a": [1], "b": "x"}, "no"),
    ({"a": 1, "b": "x"}, None),
    ({"a": 1, "b": "x"}, "perhaps"),
    [1, 2, 3],
    ({"a": 2, "b": "y"}, "yes"),
]
SAID = [
    "pairs, row 6: the 'a' column must be a number. Got 'one' instead.",
    "pairs, row 7: the 'a' column must be a finite number. Got inf instead.",
    "pairs, row 8: the 'a' column must be a number. Got a list instead.",
    "pairs, row 9: the 'label' column must have a value, because it is the target. Got a missing value instead.",
    "pairs, row 10: the 'label' column must be one of 'no', 'yes'. Got 'perhaps' instead.",
    "pairs, row 11: the row must be a pair (features, label). Got [1, 2, 3] instead.",
]


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_bad_pairs_are_named_or_skipped():
    stream = streams.from_iter(PAIRS, classes=["no", "yes"], name="pairs")
    X, y = stream.draw(10)
    assert (X.tolist(), y.tolist()) == ([[1, 0]] * 5 + [[2, 1]], [0] * 5 + [1])
    assert [str(row) for row in stream.bad_rows.first] == SAID
    assert stream.bad_rows.count == len(SAID)
    stream = streams.from_iter(PAIRS, classes=["no", "yes"], name="pairs", on_bad_row="raise")
    assert stream.draw(10)[0].tolist() == [[1, 0]] * 5
    assert refused(lambda: stream.draw(10)) == SAID[0]


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_with_a_schema_nothing_may_be_new():
    schema = Schema((Feature("a"), Feature("b", ("x",), missing=True)), ("no", "yes"))
    pairs = [
        ({"a": 1, "b": "x"}, "no"),
        ({"a": 1}, "yes"),
        ({"b": "x"}, "no"),
        ({"a": 1, "b": "y"}, "no"),
        ({"a": 1, "c": 2}, "no"),
        ({"a": 1}, "maybe"),
    ]
    stream = streams.from_iter(pairs, schema=schema, name="pairs")
    X, _ = stream.draw(10)
    np.testing.assert_array_equal(X, [[1, 0], [1, np.nan]])
    assert stream.schema == schema
    assert [str(row) for row in stream.bad_rows.first] == [
        "pairs, row 3: the 'a' column must have a value. Got a missing value instead.",
        "pairs, row 4: the 'b' column must be one of 'x'. Got 'y' instead.",
        "pairs, row 5: the 'c' column must be one of the features 'a', 'b'. Got 2 instead.",
        "pairs, row 6: the 'label' column must be one of 'no', 'yes'. Got 'maybe' instead.",
    ]


def test_something_that_cannot_be_iterated_is_refused():
    assert refused(lambda: streams.from_iter(3), ParameterError) == (
        "The 'pairs' parameter of from_iter must be an iterable, or a function that returns an iterable. "
        "Got 3 instead."
    )


def test_what_an_iterator_raises_comes_after_the_rows_before_it():
    def pairs():
        yield {"a": 1.0}, "no"
        yield {"a": 2.0}, "yes"
        raise OSError("the line is dead")

    stream = streams.from_iter(pairs)
    X, y = stream.draw(10)
    assert (X[:, 0].tolist(), y.tolist()) == ([1.0, 2.0], [0, 1])
    copied = copy.copy(stream)
    for one in (stream, copied):
        with pytest.raises(OSError, match="the line is dead"):
            one.draw(10)
    assert stream.position == 2


def test_an_iterator_that_raises_now_and_then_can_go_on():
    class Line:
        n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n % 4 == 0:
                raise TimeoutError
            return {"a": float(self.n)}, self.n % 2

    stream, got = streams.from_iter(Line()), []
    for _ in range(6):
        try:
            got += stream.draw(5)[0][:, 0].tolist()
        except TimeoutError:
            got.append("late")
    assert got == [1, 2, 3, "late", 5, 6, 7, "late", 9, 10, 11, "late"]


@pytest.mark.parametrize("n", [8, 80])
def test_a_column_of_several_types_is_read_as_its_texts_however_long_it_is(n):
    pandas = pytest.importorskip("pandas")
    cells = [1, "2 %", Decimal("3.5"), None, timedelta(seconds=4), 5.5, "n/a", True]
    texts = ["1", "2 %", "3.5", None, "4.0", "5.5", "n/a", "True"]
    encoder = Encoder()
    list(encoder.learn(pandas.DataFrame({"a": [1.5, 2.5] * 60}), ["no", "yes"] * 60))
    mixed, text = (pandas.DataFrame({"a": (some * n)[:n]}, dtype=object) for some in (cells, texts))
    np.testing.assert_array_equal(encoder.read(mixed), encoder.read(text))
    assert np.nansum(encoder.read(mixed)[:8]) == 1 + 2 + 3.5 + 4 + 5.5 + 1
    with pytest.raises(DataError, match="'a'"):
        encoder.read(pandas.DataFrame({"a": ([1, "x", ["y"]] * n)[:n]}))


def test_a_new_target_is_found_in_blocks_between_which_the_schema_grows():
    pairs = [({"y": i if i % 3 else None, **({"late": 1.0} if i > 6 else {})}, "no") for i in range(1, 12)]
    stream = streams.from_iter(pairs)
    stream.poll(1)  # this adds the feature to the schema
    retargeted = stream.with_target("y")
    X, y = retargeted.draw(7)
    assert y.tolist() == [2, 4, 5, 7, 8, 10, 11]
    np.testing.assert_array_equal(X[:, 0], [np.nan] * 3 + [1.0] * 4)


def test_a_nominal_column_without_values_has_none_until_its_first():
    rows = {"a": [1.0, 2.0], "colour": pa.array([None, None], pa.string()), "y": ["no", "yes"]}
    feature = streams.from_frame(pa.table(rows), target="y", nominal=["colour"]).schema.features[1]
    assert (feature.name, feature.values, feature.missing) == ("colour", (), True)


def test_lists_of_values_are_refused_where_only_a_schema_can_have_them():
    with pytest.raises(ParameterError, match="use a schema to list their values"):
        streams.from_iter([({"country": "NA"}, "yes")], nominal={"country": ["NA", "ZA"]})
