"""Files of all formats: the same data gives the same blocks."""

import gzip
import string

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heros import DataError, ParameterError, streams
from heros.streams import text

COLOURS = ["blue", "green", "red"]
LABELS = ["no", "yes"]


def write(path, columns):
    """Write a table of age, colour, size and label in the format of the path."""
    ages, colours, sizes, labels = columns
    kind = path.name.split(".", 1)[1]
    if kind in {"csv", "csv.gz", "csv.zst", "tsv"}:
        cell = "\t" if kind == "tsv" else ","
        lines = [cell.join(["age", "colour", "size", "label"])]
        rows = zip(ages, colours, sizes, labels, strict=True)
        lines += [cell.join("?" if value is None else str(value) for value in row) for row in rows]
        with pa.output_stream(str(path), compression="detect") as file:
            file.write(("\n".join(lines) + "\n").encode())
    elif kind == "arff":
        head = [
            "% people",
            "@relation people",
            "",
            "@attribute age numeric",
            "@attribute 'colour' {blue,green,red}",
        ]
        head += ["@ATTRIBUTE size INTEGER", "@attribute label {no, yes}", "@data"]
        rows = zip(ages, colours, sizes, labels, strict=True)
        lines = [",".join("?" if value is None else str(value) for value in row) for row in rows]
        path.write_text("\n".join(head + lines) + "\n")
    else:
        table = pa.table(
            {
                "age": pa.array(ages, pa.float64()),
                "colour": colours,
                "size": pa.array(sizes, pa.int64()),
                "label": labels,
            }
        )
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=7)
        elif kind == "feather":
            pa.feather.write_feather(table, path, chunksize=7)
        else:
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=7)


def table_of(n):
    age = st.one_of(st.none(), st.floats(-1e12, 1e12, allow_subnormal=False))
    size = st.integers(-(2**50), 2**50)
    row = st.tuples(age, st.sampled_from(COLOURS), size, st.sampled_from(LABELS))
    return st.lists(row, min_size=1, max_size=n)


@given(rows=table_of(40))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_format_gives_the_same_blocks(tmp_path, rows):
    every = [(1.5, colour, 3, label) for colour in COLOURS for label in LABELS]
    columns = list(zip(*(every + rows), strict=True))
    expected = None
    for kind in ("csv", "csv.gz", "csv.zst", "tsv", "arff", "parquet", "feather", "arrow"):
        path = tmp_path / f"people.{kind}"
        write(path, columns)
        stream = streams.read(path, target="label")
        found = [(X.tolist(), y.tolist()) for X, y in stream.blocks(5)]
        found = (str(found), stream.schema, stream.name)  # as text, NaN equals NaN
        expected = expected or found
        assert found == expected, kind
    assert expected[1].classes == ("no", "yes")
    assert expected[1].features[1].values == ("blue", "green", "red")


def test_the_target_may_be_any_column(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,label,b\n1,x,2\n3,y,4\n")
    for target in ("label", 1, -2):
        stream = streams.read(path, target=target)
        X, y = stream.draw(2)
        assert ([f.name for f in stream.schema.features], X.tolist(), y.tolist()) == (
            ["a", "b"],
            [[1, 2], [3, 4]],
            [0, 1],
        )


def test_whole_number_labels_are_in_the_order_of_their_values(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate([10, 9, 1, 10])))
    stream = streams.read(path)
    assert stream.draw(4)[1].tolist() == [2, 1, 0, 2]
    assert stream.schema.classes == ("1", "9", "10")


def test_types_can_be_overridden(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,b,c,label\n1,2,7,x\n3,?,8,y\n1,4,9,x\n")
    stream = streams.read(path, nominal=["a"], ignore=["c"])
    X, _ = stream.draw(3)
    assert [(f.name, f.values, f.missing) for f in stream.schema.features] == [
        ("a", ("1", "3"), False),
        ("b", None, True),
    ]
    np.testing.assert_array_equal(X, [[0, 2], [1, np.nan], [0, 4]])
    stream = streams.read(path, nominal={"a": [3, 1], "b": None}, classes=["y", "x"])
    X, y = stream.draw(3)
    np.testing.assert_array_equal(X, [[1, 0, 7], [0, np.nan, 8], [1, 1, 9]])
    assert y.tolist() == [1, 0, 1]


def test_a_column_that_is_mostly_names_is_nominal_and_a_numeric_one_stays_numeric(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,b,c,label\n1,1,?,x\nb,2,?,y\nc,3,?,x\n")
    assert [f.nominal for f in streams.read(path).schema.features] == [
        True,
        False,
    ]  # column c is empty so far


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_the_delimiter_is_found(tmp_path, delimiter):
    path = tmp_path / "s.txt"
    path.write_text(
        "\n".join(delimiter.join(row) for row in (["a", "b", "label"], ["1", "2", "x"], ["3", "4", "y"]))
    )
    assert streams.read(path).draw(2)[0].tolist() == [[1, 2], [3, 4]]


def test_any_delimiter_can_be_given(tmp_path):
    path = tmp_path / "s.data"
    path.write_text("1:2:x\n3:4:y\n")
    stream = streams.read(path, delimiter=":", header=False)
    assert [f.name for f in stream.schema.features] == ["x1", "x2"]
    assert stream.draw(2)[0].tolist() == [[1, 2], [3, 4]]


def test_quotes_newlines_blanks_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(b'\xef\xbb\xbf\r\n a ,b,label\r\n 1 ,"x, ""y""",no\r\n\r\n2,"two\nlines", yes \r\n')
    stream = streams.read(path)
    X, y = stream.draw(3)
    assert stream.schema.features[1].values == ("two\nlines", 'x, "y"')
    assert (X.tolist(), y.tolist(), stream.schema.classes) == ([[1, 1], [2, 0]], [0, 1], ("no", "yes"))


def test_quotes_can_be_switched_off(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text('a,b,label\n1,5",x\n2,6",y\n')
    assert streams.read(path, quote="").schema.features[1].values == ('5"', '6"')


def test_what_stands_for_missing_can_be_said(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,b,label\n1,unknown,x\nunknown,?,y\n3,red,y\n")
    stream = streams.read(path, missing=["unknown"])
    X, _ = stream.draw(3)
    np.testing.assert_array_equal(X, [[1, np.nan], [np.nan, np.nan], [3, 0]])
    assert stream.schema.words == ("unknown",)


@pytest.mark.parametrize("end", ["csv", "jsonl"])
def test_words_for_missing_must_be_a_list(tmp_path, end):
    path = tmp_path / f"s.{end}"
    path.write_text("a,label\n1,x\n" if end == "csv" else '{"a": 1, "label": "x"}\n')
    with pytest.raises(ParameterError, match=r"'missing' .* must be a list of words, .* Got 'NA'"):
        streams.read(path, missing="NA")


def test_another_encoding_can_be_said(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes("a,label\n1,gr\xfcn\n2,rot\n".encode("latin-1"))
    assert streams.read(path, encoding="latin-1").schema.classes == ("grün", "rot")


def test_values_and_classes_that_turn_up_later_are_appended(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "READ_BYTES", 64)
    path = tmp_path / "s.csv"
    path.write_text("a,b,label\n" + "1,red,yes\n" * 20 + "?,amber,maybe\n" + "2,blue,no\n" * 20)
    stream = streams.read(path)
    first = stream.schema
    assert (first.features[1].values, first.classes, first.features[0].missing) == (("red",), ("yes",), False)
    for X, y in stream.blocks(3):
        known = stream.schema
        assert known.extends(first)
        assert np.nanmax(X[:, 1]) < len(known.features[1].values)
        assert y.max() < known.n_classes
        assert known.features[0].missing or not np.isnan(X).any()
    assert stream.schema.features[1].values == ("red", "amber", "blue")
    assert stream.schema.classes == ("yes", "maybe", "no")
    assert stream.schema.features[0].missing
    stream.restart()
    assert stream.draw(21)[1].tolist() == [0] * 20 + [1]


@pytest.mark.parametrize("block", [1, 16, 64, 1 << 21])
def test_the_size_of_the_blocks_read_does_not_matter(tmp_path, monkeypatch, block):
    path = tmp_path / "s.csv"
    rows = [f'{i},"{string.ascii_letters[i % 50]}\n{i % 3}",{"xy"[i % 2]}' for i in range(40)]
    path.write_text("a,b,label\n" + "\n".join(rows))
    expected = streams.read(
        path, nominal={"b": [f"{string.ascii_letters[i % 50]}\n{i % 3}" for i in range(40)]}
    )
    monkeypatch.setattr(text, "READ_BYTES", block)
    stream = streams.read(path, nominal={"b": expected.schema.features[1].values}, classes=["x", "y"])
    X, y = stream.draw(100)
    np.testing.assert_array_equal(X[:, 0], np.arange(40))
    np.testing.assert_array_equal(X[:, 1], np.arange(40))
    np.testing.assert_array_equal(y, np.arange(40) % 2)


CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=6)


@given(rows=st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["x", "y"])), min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reading_record_by_record_gives_what_arrow_gives(tmp_path, rows):
    """The careful path, used for blocks with unusual values, must give the same result."""
    path = tmp_path / "s.csv"
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    path.write_text("a,b,label\n" + "\n".join(quoted) + "\n", newline="")

    def read(careful):
        with pytest.MonkeyPatch.context() as patch:
            if careful:
                patch.setattr(text.TextReader, "_parse_plain", lambda self, block: None)
            stream = streams.read(path, nominal=["a", "b"])
            X, y = stream.draw(100)
            return X, y, stream.schema

    fast, slow = read(careful=False), read(careful=True)
    np.testing.assert_array_equal(fast[0], slow[0])
    np.testing.assert_array_equal(fast[1], slow[1])
    assert fast[2] == slow[2]


ARFF = """% a comment
@RELATION 'all of it'
@attribute 'a b' REAL   % trailing words do not matter
@attribute "colour" {'light blue', red, "it's"}
@attribute note string
@attribute class {yes,no}

@DATA
% data may have comments
1.5, 'light blue', hello, yes
?, red, 'two words', no
{0 2, 1 "it's", 3 no}
3,'it\\'s','a, b',?
{}
"""


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_arff_with_everything(tmp_path):
    path = tmp_path / "s.arff"
    path.write_text(ARFF)
    stream = streams.read(path)
    X, y = stream.draw(10)
    schema = stream.schema
    assert [f.name for f in schema.features] == ["a b", "colour", "note"]
    assert schema.features[1].values == ("light blue", "red", "it's")
    assert schema.features[2].values == ("0", "hello", "two words")
    np.testing.assert_array_equal(X, [[1.5, 0, 1], [np.nan, 1, 2], [2, 2, 0], [0, 0, 0]])
    assert (y.tolist(), schema.classes) == ([0, 1, 1, 0], ("yes", "no"))
    assert [str(row) for row in stream.bad_rows.first] == [
        f"{path}, line 13: the 'class' column must have a value, because it is the target. "
        "Got a missing value instead."
    ]


def test_plain_arff_is_read_as_careful_arff(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute b {u,v}\n@attribute class {x,y}\n@data\n"
    body = "1, u, x\n2,v , y\n\n?,?,x\n"
    (tmp_path / "plain.arff").write_text(head + body)
    (tmp_path / "careful.arff").write_text(head + "% quotes follow\n" + body.replace("u", "'u'"))
    plain, careful = (streams.read(tmp_path / f"{kind}.arff") for kind in ("plain", "careful"))
    for found, expected in zip(plain.draw(9), careful.draw(9), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert plain.schema == careful.schema


def test_a_parquet_dictionary_keeps_its_order_and_its_unused_values(tmp_path):
    colours = pa.DictionaryArray.from_arrays(pa.array([2, 0]), pa.array(["red", "amber", "green"]))
    labels = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["UP", "DOWN"]))
    pq.write_table(pa.table({"a": colours, "b": [True, False], "label": labels}), tmp_path / "s.parquet")
    stream = streams.read(tmp_path / "s.parquet")
    X, y = stream.draw(2)
    assert stream.schema.features[0].values == ("red", "amber", "green")
    assert stream.schema.features[1].values == ("False", "True")
    assert (X.tolist(), y.tolist(), stream.schema.classes) == ([[2, 1], [0, 0]], [1, 0], ("UP", "DOWN"))


def test_a_dictionary_that_differs_between_row_groups(tmp_path):
    first = pa.table({"a": pa.array(["x", "y"]).dictionary_encode(), "label": ["p", "q"]})
    second = pa.table({"a": pa.array(["y", "z"]).dictionary_encode(), "label": ["q", "r"]})
    with pq.ParquetWriter(tmp_path / "s.parquet", first.schema) as writer:
        writer.write_table(first)
        writer.write_table(second)
    stream = streams.read(tmp_path / "s.parquet")
    X, y = stream.draw(4)
    names = [stream.schema.features[0].values[int(code)] for code in X[:, 0]]
    assert (names, [stream.schema.classes[i] for i in y]) == (["x", "y", "y", "z"], ["p", "q", "q", "r"])


@pytest.mark.matrix
@pytest.mark.parametrize("rows", [1000, 300_000])
@pytest.mark.parametrize("name", ["s.csv", "s.json", "s.parquet", "s.arrow", "s.feather"])
def test_a_table_that_is_written_again_while_it_is_read_ends_with_an_error(tmp_path, name, rows):
    """An overwritten memory-mapped file once ended the process; rows of two text files were mixed."""
    rng = np.random.default_rng(1)

    def write_rows(n):
        table = pa.table({"a": rng.normal(size=n), "y": rng.choice(LABELS, n)})
        if name == "s.parquet":
            pq.write_table(table, tmp_path / name)
        elif name == "s.csv":
            pyarrow.csv.write_csv(table, tmp_path / name)
        elif name == "s.json":
            table.to_pandas().to_json(tmp_path / name, orient="records", lines=True)
        else:
            how = {"compression": "uncompressed"} if name == "s.feather" else {}
            pyarrow.feather.write_feather(table, tmp_path / name, **how)

    write_rows(200_000)
    stream = streams.read(tmp_path / name, target="y")
    stream.draw(10)
    write_rows(rows)
    with pytest.raises(DataError, match=r"was modified|cannot be read completely"):
        sum(len(y) for _, y in stream.blocks(1000))


def test_rows_may_be_appended_to_a_file_while_it_is_read(tmp_path):
    row = "1,p\n2,q\n" * 100_000
    (tmp_path / "s.csv").write_text(f"a,y\n{row}")
    stream = streams.read(tmp_path / "s.csv", target="y")
    stream.draw(10)
    with (tmp_path / "s.csv").open("a") as file:
        file.write(row)
    assert sum(len(y) for _, y in stream.blocks(1000)) == 400_000 - 10


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("rows", [20, 500])
def test_the_sizes_of_the_batches_of_a_table_do_not_matter(tmp_path, rows):
    """The types of columns were inferred from the first batch only."""
    n, rng = 4000, np.random.default_rng(1)
    table = pa.table({
        "mixed": [str(i) if i < 30 else "xy"[i % 2] for i in range(n)],
        "colour": pa.array(rng.choice(COLOURS, n)),
        "day": ["2026-01-02" if i < 300 else "2026-01-02 10:00" for i in range(n)],
        "y": rng.choice(LABELS, n),
    })  # fmt: skip
    with pa.ipc.new_file(tmp_path / "s.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=rows)
    batches = table.to_batches(max_chunksize=rows)
    coded = [
        pa.RecordBatch.from_pydict({**one.to_pydict(), "colour": one["colour"].dictionary_encode()})
        for one in batches
    ]
    whole = streams.from_frame(table, target="y")
    for other in (
        streams.read(tmp_path / "s.arrow", target="y"),
        streams.from_frame(pa.Table.from_batches(batches), target="y"),
        streams.from_frame(pa.Table.from_batches(coded), target="y"),
    ):
        assert [one.name for one in other.schema.features] == [one.name for one in whole.schema.features]
        assert not other.bad_rows.count
        whole.restart()
        expected = whole.draw(n)
        got = other.draw(n)
        assert len(got[1]) == n
        for name in ("mixed", "day (hour)"):
            at = [one.name for one in whole.schema.features].index(name)
            np.testing.assert_array_equal(got[0][:, at], expected[0][:, at])


def test_a_table_with_other_columns_than_before_is_refused(tmp_path):
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [3, 4], "y": LABELS}), path)
    stream = streams.read(path, target="y")
    pq.write_table(pa.table({"b": [3, 4], "a": [1.0, 2.0], "y": LABELS}), path)
    stream.restart()
    with pytest.raises(DataError, match="have changed since the file was opened"):
        stream.draw(1)


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_a_file_that_is_gone_is_an_error_that_names_it(tmp_path, name):
    path = write(tmp_path / name, ([1, 2], COLOURS[:2], [3, 4], LABELS))
    stream = streams.read(path or tmp_path / name, target="label")
    stream.draw(1)
    (tmp_path / name).unlink()
    stream.restart()
    with pytest.raises(DataError, match=name):
        stream.draw(2)


def test_the_name_is_the_files_unless_given(tmp_path):
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"a,label\n1,x\n"))
    assert streams.read(path).name == "people"
    assert streams.read(path, name="me").name == "me"


def refused(call, kind):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_parameters_of_read_that_break_their_rules(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,b,label\n1,2,x\n")
    said = {
        "target": refused(lambda: streams.read(path, target="nope"), ParameterError),
        "index": refused(lambda: streams.read(path, target=3), ParameterError),
        "nominal": refused(lambda: streams.read(path, nominal=["z"]), ParameterError),
        "string": refused(lambda: streams.read(path, nominal="a"), ParameterError),
        "both": refused(lambda: streams.read(path, nominal=["a"], numeric=["a"]), ParameterError),
        "ignored": refused(lambda: streams.read(path, ignore=["label"]), ParameterError),
        "empty": refused(lambda: streams.read(path, ignore=["a", "b"]), DataError),
        "bad row": refused(lambda: streams.read(path, on_bad_row="ignore"), ParameterError),
        "delimiter": refused(lambda: streams.read(path, delimiter="::"), ParameterError),
        "quote": refused(lambda: streams.read(path, quote="''"), ParameterError),
        "unknown": refused(lambda: streams.read(path, encoding="klingon"), ParameterError),
        "format": refused(lambda: streams.read(path, format="xlsx"), ParameterError),
    }
    columns = "['a', 'b', 'label']"
    encoding = "a text encoding, such as 'latin-1'"
    assert said == {
        "target": f"The 'target' parameter of read must be one of the columns {columns}. Got 'nope' instead.",
        "index": f"The 'target' parameter of read must be one of the columns {columns}. Got 3 instead.",
        "nominal": f"The 'nominal' parameter of read must be a list of columns among {columns}. Got 'z' instead.",
        "string": "The 'nominal' parameter of read must be a list of column names. Got 'a' instead.",
        "both": "The 'numeric' parameter of read must be a list without the columns in 'nominal'. "
        "Got ['a'] instead.",
        "ignored": "The 'ignore' parameter of read must be a list without the target column. Got ['label'] instead.",
        "empty": "The table of read must have a target column and a feature column. Got ['label'] instead.",
        "bad row": "The 'on_bad_row' parameter of read must be 'skip' or 'raise'. Got 'ignore' instead.",
        "delimiter": "The 'delimiter' parameter of read must be one ASCII character. Got '::' instead.",
        "quote": "The 'quote' parameter of read must be one ASCII character or ''. Got \"''\" instead.",
        "unknown": f"The 'encoding' parameter of read must be {encoding}. Got 'klingon' instead.",
        "format": "The 'format' parameter of read must be 'csv', 'json', 'arff', 'parquet', 'arrow' or "
        "'excel'. Got 'xlsx' instead.",
    }


@pytest.mark.parametrize("name", ["s.xls", "s", "s.parquet.gz", "s.gz"])
def test_a_file_whose_name_does_not_tell_its_format_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_text("a,label\n1,x\n")
    endings = (
        ".csv, .tsv, .txt, .data, .jsonl, .ndjson, .json, .arff, .parquet, .pq, .arrow, .feather, .ipc, "
        ".xlsx, .xlsm"
    )
    assert refused(lambda: streams.read(path), ParameterError) == (
        f"The 'path' parameter of read must be a file whose name ends in one of {endings} "
        f"(or set format=). Got {str(path)!r} instead."
    )
    if not name.endswith("gz"):
        assert streams.read(path, format="csv").draw(1)[1].tolist() == [0]
