"""Invalid rows and files, each with its error message."""

import bz2
import copy
import csv
import gzip
import io
import json
import random
import time
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heros import DataError, DataNotice, Heros, evaluate, pools, streams
from heros.run import records
from heros.streams import text
from heros.streams.bad_rows import KEPT
from heros.streams.delimited import DelimitedReader
from heros.streams.pipe import read_pipe

pytestmark = pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")

HEAD = "age,colour,label\n18,red,no\n"
NUMBER = "must be a number (or list the column in nominal= or ignore=, or the value in missing=)"


def strict(*arguments, **named):
    """Return a stream that stops at the first bad row."""
    return streams.read(*arguments, on_bad_row="raise", **named)


BAD_LINES = {  # the content of line 3, and the error message
    "not a number": (b"abc,red,no\n", f"line 3: the 'age' column {NUMBER}. Got 'abc' instead."),
    "infinite": (b"inf,red,no\n", f"line 3: the 'age' column {NUMBER}. Got 'inf' instead."),
    "too large": (
        b"1e999,red,no\n",
        "line 3: the 'age' column must be a finite number. Got '1e999' instead.",
    ),
    "no target": (
        b"18,red,\n",
        "line 3: the 'label' column must have a value, because it is the target. Got a missing value instead.",
    ),
    "too few": (b"18,red\n", "line 3: the row must have 3 columns. Got 2 instead."),
    "too many": (b"18,red,no,really\n", "line 3: the row must have 3 columns. Got 4 instead."),
    "encoding": (
        b"18,caf\xe9,no\n",
        "line 3: the 'colour' column must be UTF-8 text (or set encoding=, for example to latin-1). Got "
        "b'caf\\xe9' instead.",
    ),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_row_is_named_with_line_column_value_and_rule(tmp_path, case):
    line, message = BAD_LINES[case]
    path = tmp_path / "people.csv"
    path.write_bytes(HEAD.encode() + line + b"21,blue,yes\n19,red,no\n")
    stream = strict(path, encoding="utf-8")
    with pytest.raises(DataError) as error:
        list(stream.blocks())
    assert str(error.value) == f"{path}, {message}"


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_row_can_be_skipped(tmp_path, case):
    line, message = BAD_LINES[case]
    path = tmp_path / "people.csv"
    path.write_bytes(HEAD.encode() + line + b"21,blue,yes\n19,red,no\n")
    stream = streams.read(path, encoding="utf-8")
    X, y = stream.draw(10)
    assert (X.tolist(), y.tolist()) == ([[18, 1], [21, 0], [19, 1]], [0, 1, 0])
    assert stream.schema.features[1].values == ("blue", "red")  # the bad row did not change the schema
    assert [str(row) for row in stream.bad_rows.first] == [f"{path}, {message}"]
    assert stream.bad_rows.count == 1


def test_an_unknown_class_or_value_is_a_bad_row_only_where_all_were_given(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(HEAD + "21,blue,maybe\n")
    assert streams.read(path).schema.classes == ("maybe", "no")
    for given, column, value, known in (
        ({"classes": ["no", "yes"]}, "label", "'maybe'", "'no', 'yes'"),
        ({"nominal": {"colour": ["red", "green"]}}, "colour", "'blue'", "'red', 'green'"),
    ):
        with pytest.raises(DataError) as error:
            list(strict(path, **given).blocks())
        assert (
            str(error.value)
            == f"{path}, line 3: the '{column}' column must be one of {known}. Got {value} instead."
        )


def test_a_long_list_of_values_is_cut_in_the_message(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,label\n1,z\n")
    with pytest.raises(DataError, match=r"one of '0', '1', .*'9', … \(20 values\)\. Got 'z' instead"):
        strict(path, classes=range(20)).draw(1)


def test_the_line_is_right_behind_quoted_newlines_blank_lines_and_block_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "READ_BYTES", 40)
    path = tmp_path / "s.csv"
    rows = [f'{i},"a\nb",x' for i in range(20)]
    path.write_text("n,text,label\n\n" + "\n\n".join(rows) + "\noops,c,x\n")
    with pytest.raises(DataError) as error:
        list(strict(path).blocks())
    assert path.read_text().splitlines().index("oops,c,x") + 1 == 62
    assert str(error.value) == f"{path}, line 62: the 'n' column {NUMBER}. Got 'oops' instead."


def test_rows_before_a_bad_one_are_given_and_the_stream_stays_at_it(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,label\n1,x\n2,y\nz,x\n3,y\n")
    stream = strict(path)
    blocks = stream.blocks(1)
    assert [next(blocks)[0].item(), next(blocks)[0].item()] == [1, 2]
    for _ in range(2):
        with pytest.raises(DataError, match="line 4"):
            stream.draw(1)
    assert stream.position == 2
    assert len(stream.take(0).draw(5)[1]) == 0


GOOD = 30  # rows before the bad row


def broken_file(path):
    path.write_text("a,label\n" + "".join(f"{i},x\n" for i in range(GOOD)) + "oops,x\n" + "99,x\n" * 9)
    return strict(path, numeric=["a"])


def broken_pairs():
    rows = [*range(GOOD), "oops", *[99] * 9]
    return streams.from_iter(lambda: (({"a": a}, "x") for a in rows), on_bad_row="raise")


def broken_stream(kind, tmp_path, monkeypatch):
    if kind in ("chunks", "damaged"):
        monkeypatch.setattr(text, "READ_BYTES", 25)
    if kind == "iterator":
        return broken_pairs()
    stream = broken_file(tmp_path / "s.csv")
    if kind == "taken":
        return stream.take(GOOD + 5)
    if kind == "drift":
        return streams.Drift(stream, broken_file(tmp_path / "t.csv"), position=10**6)
    if kind == "damaged":
        monkeypatch.setattr(text, "LONGEST", 100)
        path = tmp_path / "q.csv"
        path.write_text("a,b,label\n" + "".join(f"{i},1,x\n" for i in range(GOOD)) + '1,"x,y\n' * 99)
        return strict(path)
    return stream


@pytest.mark.parametrize("kind", ["one chunk", "chunks", "iterator", "taken", "drift", "damaged"])
@pytest.mark.parametrize("size", [1, 7, 15, GOOD, 1000])
def test_no_good_row_before_a_bad_one_is_lost(kind, size, tmp_path, monkeypatch):
    stream = broken_stream(kind, tmp_path, monkeypatch)
    found = []

    def read_on():
        for X, _ in stream.blocks(size):
            found.extend(X[:, 0].tolist())
            assert stream.position == len(found)

    with pytest.raises(DataError) as first:
        read_on()
    assert found == list(range(GOOD))
    for again in (stream, copy.copy(stream)):
        for n in (1, 1000):
            assert len(again.draw(0)[1]) == 0
            with pytest.raises(DataError) as error:
                again.draw(n)
            assert str(error.value) == str(first.value)
            assert again.position == GOOD
    stream.restart()
    assert (len(stream.draw(1000)[1]), stream.position) == (GOOD, GOOD)


def test_a_drift_gives_what_stands_before_the_bad_row_of_either_side(tmp_path):
    good = tmp_path / "good.csv"
    good.write_text("a,label\n" + "5,x\n" * 1000)
    for sides in (
        (broken_file(tmp_path / "s.csv"), streams.read(good)),
        (streams.read(good), broken_file(tmp_path / "s.csv")),
    ):
        counts = set()
        for size in (1, 13, 1000):
            stream = streams.Drift(*sides, position=50, width=100)
            with pytest.raises(DataError, match="'oops'"):
                for _ in stream.blocks(size):
                    pass
            counts.add(stream.position)
        assert len(counts) == 1
        assert GOOD < counts.pop() < 1000


def test_an_evaluation_meets_every_good_row_before_the_error(tmp_path):
    stream = broken_file(tmp_path / "s.csv")
    model = Heros(pools.Hoeffding([{}]), k=1, seed=1, schema=stream.schema)
    with pytest.raises(DataError, match="line 32"):
        evaluate(model, stream, block=16)
    assert stream.position == GOOD


def with_bad_rows(path, rows):
    """Write a file of 1,000 rows with bad rows at these positions, counted from 0."""
    path.write_text(
        "a,label\n" + "".join(f"{'oops' if i in rows else i},{'xy'[i % 2]}\n" for i in range(1000))
    )
    return path


def test_skipped_rows_are_counted_as_they_are_passed_and_ten_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "READ_BYTES", 300)
    path = with_bad_rows(tmp_path / "s.csv", range(2, 1000, 40))
    stream = streams.read(path)
    assert (stream.bad_rows.count, stream.n_instances) == (0, None)
    stream.draw(42)
    assert stream.bad_rows.count == 2
    assert sum(len(y) for _, y in stream.blocks(100)) == 1000 - 25 - 42
    assert (stream.bad_rows.count, len(stream.bad_rows.first)) == (25, KEPT)
    assert [row.place for row in stream.bad_rows.first] == [f"line {4 + 40 * i}" for i in range(10)]
    stream.restart()
    assert stream.bad_rows.count == 0
    taken = stream.take(5)
    taken.draw(5)
    assert taken.bad_rows.count == 1
    both = streams.Drift(stream, stream, position=5)
    list(both.blocks())
    assert both.bad_rows.count >= 25
    assert len(both.bad_rows.first) == KEPT


def all_of(stream, size):
    """Return the number of rows before a stream stops, and its error message."""
    given = []
    with pytest.raises(streams.TooManyBadRows) as error:
        given.extend(len(y) for _, y in stream.blocks(size))
    return sum(given), str(error.value)


@pytest.mark.parametrize("kind", ["file", "chunks", "frame", "pipe", "pairs"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_ends_where_more_than_one_row_in_twenty_is_bad(tmp_path, monkeypatch, kind, size):
    """The limit is not checked at 19 bad rows; the twentieth at row 220 is checked."""
    if kind == "chunks":
        monkeypatch.setattr(text, "READ_BYTES", 200)
    path = with_bad_rows(tmp_path / "s.csv", range(200, 300))
    cells = [line.split(",") for line in path.read_text().splitlines()[1:]]
    stream = {
        "file": lambda: streams.read(path),
        "chunks": lambda: streams.read(path),
        "frame": lambda: streams.from_frame({"a": [a for a, _ in cells], "label": [y for _, y in cells]}),
        "pipe": lambda: read_pipe(io.BytesIO(path.read_bytes())),
        "pairs": lambda: streams.from_iter([({"a": a}, y) for a, y in cells]),
    }[kind]()
    given, message = all_of(stream, size)
    assert given == stream.position == 200
    assert stream.bad_rows.count == 20
    assert (
        "must have at most one bad row in 20 rows. Got 20 bad rows in 220 rows. The first bad row: "
    ) in message
    assert "'oops'" in message
    with pytest.raises(streams.TooManyBadRows):
        stream.draw(1)


def test_the_first_bad_row_is_told_once(tmp_path):
    stream = streams.read(with_bad_rows(tmp_path / "s.csv", [3, 5]))
    with pytest.warns(DataNotice) as said:
        stream.draw(10)
    assert [str(one.message) for one in said] == [
        f"{tmp_path / 's.csv'}, line 5: the 'a' column {NUMBER}. Got 'oops' instead. "
        "Bad rows are skipped and counted (set on_bad_row='raise' to stop at the first such row)."
    ]
    stream.restart()
    stream.draw(10)


def test_the_length_of_a_table_is_that_of_all_its_rows(tmp_path):
    stream = streams.from_frame({"a": [1.0, 2.0, 3.0], "label": ["x", None, "y"]})
    assert stream.n_instances == 3
    assert len(stream.draw(3)[1]) == 2


def small():
    return Heros(pools.Hoeffding([{}, {"grace_period": 50}]), k=1, seed=1)


def test_an_evaluation_ends_with_what_it_has_if_too_many_rows_are_bad(tmp_path):
    path = with_bad_rows(tmp_path / "s.csv", range(200, 300))
    model = small()
    with pytest.warns(DataNotice, match="The run ends early: .* Got 20 bad rows in 220 rows"):
        run = evaluate(model, streams.read(path), checkpoint=tmp_path / "kept", every=1000)
    assert (run.n_instances, run.interrupted, run.too_many_bad_rows) == (200, True, True)
    assert run.bad_rows.count == 20
    assert "200 instances (ended early: too many bad rows)" in repr(run)
    assert "20 bad rows were skipped, the first 3:" in repr(run)
    assert "line 202: the 'a' column" in " ".join(repr(run).split())
    assert len(list((tmp_path / "kept").glob("checkpoint-*"))) == 1
    mended = with_bad_rows(tmp_path / "s.csv", [])
    mended.write_text(path.read_text())
    whole = evaluate(small(), streams.read(with_bad_rows(tmp_path / "t.csv", range(200, 210))))
    assert (whole.n_instances, whole.interrupted, whole.too_many_bad_rows) == (990, False, False)


def test_an_evaluation_without_a_good_row_says_what_is_wrong(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,label\n" + "1,x,2\n" * 5)
    with pytest.raises(
        DataError, match=r"s must have rows that can be read. Got 5 bad rows: .*line 2: the row"
    ):
        evaluate(small(), streams.read(path))
    path.write_text("a,label\n" + "1,x,2\n" * 50)
    with pytest.raises(streams.TooManyBadRows, match="Got 20 bad rows in 20 rows"):
        evaluate(small(), streams.read(path))


def test_weights_beside_a_stream_do_not_go_to_other_rows(tmp_path):
    path = with_bad_rows(tmp_path / "s.csv", [3])
    with pytest.raises(DataError, match="weights must be a column of the stream if rows are skipped"):
        evaluate(small(), streams.read(path), weights=np.ones(999))


def test_a_file_of_bad_rows_only(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,b,label\n1,x\n2\n")
    stream = streams.read(path)
    assert len(stream.draw(5)[1]) == 0
    assert stream.bad_rows.count == 2


FILES = {  # an invalid file, and the error message
    "empty.csv": (b"", "{} must have a header and at least one row. Got an empty file instead."),
    "blank.csv": (b"\n\n", "{} must have a header and at least one row. Got an empty file instead."),
    "header.csv": (b"a,label\n", "{} must have at least one row. Got a header without rows instead."),
    "header2.csv": (b"a,label", "{} must have at least one row. Got a header without rows instead."),
    "twice.csv": (
        b"a,a,label\n1,2,x\n",
        "{}: the columns must have distinct names. Got ['a'] more than once.",
    ),
    "alone.csv": (
        b"label\nx\n",
        "The table of read must have a target column and a feature column. Got ['label'] instead.",
    ),
    "mac.csv": (b"a,label\r1,x\r", "{} must end its lines with a newline. Got only carriage returns."),
    "empty.arff": (b"", "{} must have a header and at least one row. Got an empty file instead."),
    "nodata.arff": (
        b"@relation r\n@attribute a numeric\n",
        "{} must have a header and at least one row. Got a header without @data instead.",
    ),
    "norows.arff": (
        b"@relation r\n@attribute a numeric\n@attribute c {x}\n@data\n% nothing\n",
        "{} must have at least one row. Got a header without rows instead.",
    ),
    "noattributes.arff": (
        b"@relation r\n@data\n1\n",
        "{} must declare at least one attribute before @data. Got no attributes.",
    ),
    "odd.arff": (
        b"@relation r\nhello\n",
        "{}, line 2: each line of the header must be a comment, @relation, @attribute or @data. "
        "Got 'hello' instead.",
    ),
    "date.arff": (
        b"@relation r\n@attribute when date 'yyyy'\n@attribute c {x}\n@data\n",
        "{}, line 2: the type of 'when' must be numeric, nominal or string (or list this attribute in "
        "ignore=). Got date 'yyyy' instead.",
    ),
    "notype.arff": (
        b"@relation r\n@attribute a\n@data\n",
        "{}, line 2: an attribute must have a name and a type. Got '@attribute a'.",
    ),
    "values.arff": (
        b"@relation r\n@attribute a {x,y,x}\n@data\n",
        "{}, line 2: an attribute must have distinct values in braces. Got {{x,y,x}}.",
    ),
    "twice.arff": (
        b"@relation r\n@attribute a numeric\n@attribute a {x}\n@data\n1,x\n",
        "{}: the columns must have distinct names. Got ['a'] more than once.",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_a_stream_is_refused(tmp_path, name):
    content, message = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        streams.read(path)
    assert str(error.value) == message.format(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    for path, what in ((tmp_path / "none.csv", "there is no such file"), (tmp_path, "it is a directory")):
        with pytest.raises(DataError) as error:
            streams.read(path)
        assert str(error.value) == f"The file {path} cannot be read: {what}."


def test_a_quote_that_is_never_closed_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "READ_BYTES", 100)
    monkeypatch.setattr(text, "LONGEST", 1000)
    path = tmp_path / "s.csv"
    path.write_text("a,b,label\n1,x,y\n" * 1 + '2,"x,y\n' + "3,x,y\n" * 1000)
    stream = streams.read(path)
    with pytest.raises(DataError) as error:
        list(stream.blocks())
    assert str(error.value) == (
        f"{path}, line 3: a row must end within 0 MB (or pass quote='' if quotes have no special meaning). "
        "Got an unclosed quote."
    )


@pytest.mark.parametrize("cell", ['5" pipe', '5"', 'x "y" z', '"a" b', ' "c"'])
def test_a_quote_inside_a_cell_does_not_join_rows(tmp_path, monkeypatch, cell):
    monkeypatch.setattr(text, "READ_BYTES", 100)
    monkeypatch.setattr(text, "LONGEST", 1000)
    path = tmp_path / "s.csv"
    rows = ["1,x,y", f"2,{cell},y", '3,"x\n""y"" z",n'] * 200
    path.write_text("\n".join(["a,b,label", *rows]) + "\n")
    stream = streams.read(path)
    X, _ = stream.draw(601)
    assert X[:, 0].tolist() == [1, 2, 3] * 200
    assert stream.bad_rows.count == 0


def test_a_quote_that_joins_lines_is_told(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,b,label\n" + "1,x,y\n" * 30 + '2,"x,y\n' + "a line of text\n" * 9)
    stream = streams.read(path)
    stream.draw(100)
    rule = "line 32: the row must have 3 columns (a quote joins 11 lines into this row). Got 2 instead."
    assert rule in stream.bad_rows.text()


@pytest.mark.matrix(most=4)
@pytest.mark.parametrize("after", [1, 900, 300_000])
@pytest.mark.parametrize("cells", ['2,"x,y', '2,x,"y', '2,"u\nv","x,y'])
@pytest.mark.parametrize("closed", [False, True])
def test_an_unclosed_quote_costs_its_row(tmp_path, cells, after, closed):
    """Also if a quote in a later row seems to close it, and in the rows used to infer column types."""
    later = '3,"x, too",y\n' + "3,x,z\n" * 9 if closed and after > 1000 else ""
    path = tmp_path / "s.csv"
    path.write_text(f"a,b,label\n1,x,y\n{cells}\n" + "3,x,z\n" * after + later)
    stream = streams.read(path)
    y = np.concatenate([y for _, y in stream.blocks()])
    assert len(y) == 1 + after + later.count("\n")
    assert stream.schema.classes == ("y", "z")
    line = 3 + cells.count("\n")
    rule = (
        f"line {line}: the row must have a closing quote (or pass quote='' if quotes have no special "
        f"meaning). Got "
    )
    assert stream.bad_rows.count == 1
    assert rule in stream.bad_rows.text()
    with pytest.raises(DataError, match=f"line {line}: the row must have a closing quote"):
        list(strict(path).blocks())


def test_lines_after_an_unclosed_quote_have_their_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "READ_BYTES", 100)
    path = tmp_path / "s.csv"
    rows = "1,x,y\n" * 1500
    path.write_text(f'a,b,label\n{rows}2,"x,y\n{rows}oops,x,y\n{rows}2,"x,y\n{rows}oops,x,y\n')
    stream = streams.read(path, numeric=["a"])
    assert sum(len(y) for _, y in stream.blocks()) == 6000
    assert [row.place for row in stream.bad_rows.first] == [f"line {n}" for n in (1502, 3003, 4504, 6005)]


def test_a_long_quoted_text_is_a_value(tmp_path):
    path, long = tmp_path / "s.csv", "a line, of a text\n" * 100_000
    path.write_text("a,b,label\n" + f'1,"{long}",x\n2,"{long[:30_000]}",y\n' * 2)
    stream = streams.read(path, nominal=["b"])
    assert stream.draw(10)[0][:, 0].tolist() == [1, 2, 1, 2]
    assert stream.bad_rows.count == 0


def test_an_unclosed_quote_in_a_pipe_costs_its_row():
    lines = "a,b,label\n" + "1,x,y\n" * 150 + '2,"x,y\n' + "3,x,z\n" * 1500
    stream = read_pipe(io.BytesIO(lines.encode()))
    assert sum(len(y) for _, y in stream.blocks()) == 1650
    assert [row.place for row in stream.bad_rows.first] == ["line 152"]


def test_quotes_end_records_where_the_csv_module_ends_them(tmp_path):
    (tmp_path / "s.csv").write_text("a,b\n1,2\n")
    reader = DelimitedReader(tmp_path / "s.csv")
    rng = random.Random(1)
    for _ in range(5000):
        letters = "".join(rng.choices('"",\n\nab', k=rng.randrange(1, 25))) + "\n"
        rows = csv.reader(io.StringIO(letters, newline="\n"))
        line_ends = [at + 1 for at, letter in enumerate(letters) if letter == "\n"]
        ends = [line_ends[rows.line_num - 1] for _ in rows]
        found = reader._ends(letters.encode()).tolist()
        assert found in (ends, ends[:-1]), letters  # the last quote may be open


def test_a_long_cell_costs_no_more_than_its_row(tmp_path):
    """In the first rows, from which the columns are inferred, and in later rows."""
    path = tmp_path / "s.csv"
    for rows in (10, 300_000):
        path.write_text("a,b,label\n" + "1,u,x\n2,v,y\n" * rows + f"{'1' * 200_000}z,u,x\n" + "1,v,y\n" * 9)
        with pytest.warns(DataNotice) as told:
            assert sum(len(y) for _, y in streams.read(path).blocks()) == 2 * rows + 9
        assert all(len(str(one.message)) < 1000 for one in told)


def test_a_carriage_return_costs_no_more_than_its_row(tmp_path):
    path = tmp_path / "s.csv"
    for rows in (10, 300_000):
        path.write_bytes(b"a,b,label\n" + b"1,u,x\n2,v,y\n" * rows + b"1,u\rz,x\n" + b"1,v,y\n" * 9)
        line = f"line {2 * rows + 2}: the row must have no carriage return outside quotes"
        with pytest.warns(DataNotice, match=line):
            assert sum(len(y) for _, y in streams.read(path).blocks()) == 2 * rows + 9


def test_a_file_of_utf_16_without_a_mark_is_refused(tmp_path):
    path = tmp_path / "s.csv"
    text = "a,label\n" + "1,x\n2,y\n" * 50
    for encoding in ("utf-16-le", "utf-16-be"):
        path.write_bytes(text.encode(encoding))
        with pytest.raises(DataError, match=r"must be text \(or set encoding=, for example to utf-16-le\)"):
            streams.read(path)
        assert streams.read(path, encoding=encoding).take(100).schema.classes == ("x", "y")


def test_a_damaged_compressed_file_is_named(tmp_path):
    path = tmp_path / "s.csv.gz"
    path.write_bytes(gzip.compress(("a,label\n" + "1,x\n" * 1000).encode())[:-20])
    with pytest.raises(DataError, match=r"s\.csv\.gz cannot be read completely: "):
        list(streams.read(path).blocks())


@pytest.mark.parametrize(("name", "kind"), [("s.parquet", "a Parquet"), ("s.arrow", "an Arrow")])
def test_a_file_that_is_something_else_is_named(tmp_path, name, kind):
    path = tmp_path / name
    path.write_bytes(b"this is not it, whatever its name says")
    with pytest.raises(DataError, match=rf"{name} cannot be read as {kind} file: "):
        streams.read(path)


ARFF_HEAD = "@relation r\n@attribute a numeric\n@attribute b {u,v}\n@attribute class {x,y}\n@data\n1,u,x\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("z,u,x", f"line 7: the 'a' column {NUMBER}. Got 'z' instead."),
        ("1,w,x", "line 7: the 'b' column must be one of 'u', 'v'. Got 'w' instead."),
        ("1,u,z", "line 7: the 'class' column must be one of 'x', 'y'. Got 'z' instead."),
        ("1,u", "line 7: the row must have 3 columns. Got 2 instead."),
        (
            "1,'u,x",
            'line 7: the row must close all quotes and separate values with commas. Got "1,\'u,x" instead.',
        ),
        (
            "{0 1, 9 x}",
            "line 7: the row must be {index value, …} with valid attribute indices. Got '{0 1, 9 x}' "
            "instead.",
        ),
        (
            "{0 1",
            "line 7: the row must be {index value, …} with valid attribute indices. Got '{0 1' instead.",
        ),
    ],
)
def test_a_bad_row_of_an_arff_file(tmp_path, line, message):
    path = tmp_path / "s.arff"
    path.write_text(ARFF_HEAD + line + "\n2,v,y\n")
    with pytest.raises(DataError) as error:
        list(strict(path).blocks())
    assert str(error.value) == f"{path}, {message}"
    stream = streams.read(path)
    assert stream.draw(5)[0].tolist() == [[1, 0], [2, 1]]
    assert stream.bad_rows.count == 1


def test_bad_rows_of_a_parquet_file(tmp_path):
    path = tmp_path / "s.parquet"
    table = {"a": [1.0, np.inf, 3.0, 4.0], "b": ["1", "2", "x", "4"], "label": ["p", "p", "q", None]}
    pq.write_table(pa.table(table), path)
    stream = streams.read(path, numeric=["b"])
    X, y = stream.draw(5)
    assert (X.tolist(), y.tolist()) == ([[1, 1]], [0])
    assert [str(row) for row in stream.bad_rows.first] == [
        f"{path}, row 2: the 'a' column must be a finite number. Got inf instead.",
        f"{path}, row 3: the 'b' column {NUMBER}. Got 'x' instead.",
        f"{path}, row 4: the 'label' column must have a value, because it is the target. "
        "Got a missing value instead.",
    ]
    with pytest.raises(DataError, match="row 2"):
        list(strict(path, numeric=["b"]).blocks())


def test_a_type_that_is_neither_number_nor_name_is_left_out_with_a_notice(tmp_path):
    path = tmp_path / "s.parquet"
    table = {"when": pa.array([[0], [1]]), "raw": [b"x", b"y"], "a": [1, 2], "label": ["p", "q"]}
    pq.write_table(pa.table(table), path)
    with pytest.warns(DataNotice) as said:
        stream = streams.read(path)
    assert [str(one.message) for one in said] == [
        f"The column {name!r} is left out: {kind} is not a number, text or date (use nominal= to keep the "
        f"column, or ignore= to hide this notice)."
        for name, kind in (("when", "list<element: int64>"), ("raw", "binary"))
    ]
    assert [feature.name for feature in stream.schema.features] == ["a"]
    assert stream.schema.ignored == ("when", "raw")
    assert streams.read(path, ignore=["when", "raw"]).schema == stream.schema


def test_structs_are_columns_and_durations_are_seconds(tmp_path):
    path = tmp_path / "s.parquet"
    table = {
        "place": pa.array([{"city": "Bonn", "floor": 2}, {"city": "Ulm", "floor": None}]),
        "took": pa.array([90_000, None], pa.duration("ms")),
        "label": ["p", "q"],
    }
    pq.write_table(pa.table(table), path)
    stream = streams.read(path)
    assert [feature.name for feature in stream.schema.features] == ["place.city", "place.floor", "took"]
    np.testing.assert_array_equal(stream.draw(2)[0], [[0, 2, 90], [1, np.nan, np.nan]])


def cpu_seconds(act):
    """Return the shorter time of two attempts."""
    tries = []
    for _ in range(2):
        start = time.process_time()
        act()
        tries.append(time.process_time() - start)
    return min(tries)


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_a_quote_that_is_never_closed_costs_about_what_reading_costs(tmp_path, kind):
    """It once took minutes: each new line was parsed again together with all lines from the quote on."""
    path = tmp_path / "s.csv"

    def cost(quote):
        path.write_bytes(b"a,b,label\n" + b"1,x,y\n" * 150 + quote + b"300000000000,x,y\n" * 1_100_000)

        def read():
            with path.open("rb") as file, suppress(DataError):
                stream = read_pipe(file) if kind == "pipe" else streams.read(path)
                list(stream.blocks())

        return cpu_seconds(read)

    assert cost(b'2,"x,y\n') < 5 * cost(b"2,x,y\n")
    path.write_bytes(b'a,b,label\n2,"x,y\n' + b"a line of text, \n" * 1_100_000)
    with path.open("rb") as file, pytest.raises(DataError, match="a row must end within 16 MB"):
        _ = [*(read_pipe(file) if kind == "pipe" else streams.read(path)).blocks()]


def test_many_columns_cost_what_they_are(tmp_path):
    """Each name was compared with all others: naming 40,000 columns took longer than reading them."""
    names = [f"c{i}" for i in range(20_000)]
    (tmp_path / "few.csv").write_text("a,y\n1,b\n")
    reader = streams.read(tmp_path / "few.csv")._rows.reader
    few = cpu_seconds(lambda: [reader._distinct(names[:200]) for _ in range(100)])
    assert cpu_seconds(lambda: reader._distinct(names)) < 5 * few
    with pytest.raises(DataError, match=r"must have distinct names\. Got \['c7'\] more than once"):
        reader._distinct([*names, "c7"])


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("ending", ["gz", "bz2"])
def test_a_compressed_file_that_breaks_off_ends_a_run_with_what_was_learnt(tmp_path, ending):
    rng, pack = np.random.default_rng(1), {"gz": gzip.compress, "bz2": bz2.compress}[ending]
    lines = [f"{a},{'yes' if a > 0.5 else 'no'}" for a in rng.random(300_000)]
    data = pack("\n".join(["a,label", *lines, ""]).encode())
    path = tmp_path / f"rows.csv.{ending}"
    path.write_bytes(data[: len(data) * 3 // 4])
    model = Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1)
    with pytest.warns(DataNotice, match="The run ends early: .*rows.csv.* cannot be read completely: "):
        run = evaluate(model, streams.read(path), window=10_000)
    assert run.n_instances == model.instances > 50_000
    with pytest.raises(DataError, match="cannot be read completely"):
        evaluate(Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1), streams.read(path, on_bad_row="raise"))


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_a_target_with_decimal_commas_is_read_beside_a_new_name(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "READ_BYTES", 600)
    rows = [f"{'new' if i == 150 else 'old'};{i},{i % 1000:03d}" for i in range(100, 200)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["name;y", *rows, ""]))
    _, y = streams.read(path, task="regression").draw(200)
    assert y.tolist() == [i + i % 1000 / 1000 for i in range(100, 200)]


def test_rows_without_labels_are_skipped_even_if_no_row_has_one_of_the_given_classes():
    table = pa.table({"a": [1.0, 2.0], "y": pa.array([None, None], pa.string())})
    stream = streams.from_frame(table, target="y", classes=["no", "yes"])
    assert len(stream.draw(5)[1]) == 0
    assert (stream.bad_rows.count, stream.bad_rows.unlabelled) == (2, 2)
    assert "the 'y' column must have a value, because it is the target" in str(stream.bad_rows.first[0])


def unlabelled_rows(kind, tmp_path, **how):
    """Return 300 rows, of which every third has no target, and two have a value that cannot be read."""
    rows = [{"a": float(i), "y": None if i % 3 == 0 else "no" if i % 2 else "yes"} for i in range(300)]
    for i in (100, 200):
        rows[i]["a"] = "soon"
    frame = {name: [row[name] for row in rows] for name in ("a", "y")}
    if kind == "csv":
        path = tmp_path / "rows.csv"
        path.write_text("a,y\n" + "".join(f"{row['a']},{row['y'] or ''}\n" for row in rows))
        return streams.read(path, numeric=["a"], **how)
    if kind == "jsonl":
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return streams.read(path, numeric=["a"], target="y", **how)
    if kind == "frame":
        frame["a"] = [str(value) for value in frame["a"]]
        return streams.from_frame(pa.table(frame), target="y", numeric=["a"], **how)
    return streams.from_iter([({"a": row["a"]}, row["y"]) for row in rows], name="pairs", **how)


@pytest.mark.filterwarnings("default::heros.DataNotice")
def test_bad_rows_are_counted_by_column_and_by_the_value_of_most_of_them(tmp_path):
    lines = [
        f"{'far' if i % 50 == 0 else i % 7},{f'soon {i}' if i % 100 == 1 else i % 5}" for i in range(600)
    ]
    rows = "".join(f"{line},{i % 2}\n" for i, line in enumerate(lines)) + "1,2,3,4\n"
    (tmp_path / "rows.csv").write_text(f"size,age,late\n{rows}")
    stream = streams.read(tmp_path / "rows.csv", target="late")
    run = evaluate(small(), stream)
    assert run.bad_rows.count == 12 + 6 + 1
    told = (
        "  bad rows by column: 12 in the column 'size' (12 of them 'far'), 6 in the column 'age', 1 in "
        "whole rows"
    )
    assert run.bad_rows.text().splitlines()[-1] == told
    assert records.read(records.save(run, tmp_path)).bad_rows == run.bad_rows


def test_bad_rows_of_very_many_columns_are_not_called_whole_rows():
    skipped = streams.BadRows()
    for i in range(250):
        skipped = skipped.plus(streams.BadRow("s", f"row {i}", f"x{i}" if i else None, "'?'", "be a number"))
    columns = ", ".join(f"1 in the column 'x{i}'" for i in range(1, 10))
    told = f"  bad rows by column: 1 in whole rows, {columns}"
    assert skipped.text().splitlines()[-1] == f"{told}, 240 in other columns"
    again = streams.BadRows.of(json.loads(json.dumps(skipped.plain())))
    assert again == skipped
    assert (again + skipped).text().splitlines()[-1].endswith(", 480 in other columns")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "frame", "pairs"])
@pytest.mark.filterwarnings("default::heros.DataNotice")
def test_many_rows_without_a_target_do_not_end_a_run(tmp_path, kind):
    with pytest.warns(DataNotice) as notices:
        run = evaluate(small(), unlabelled_rows(kind, tmp_path))
    told = [str(one.message) for one in notices]
    assert sum("Rows without a target are skipped and counted" in text for text in told) == 1
    assert sum("Bad rows are skipped and counted" in text for text in told) == 1
    assert (run.n_instances, run.bad_rows.count, run.bad_rows.unlabelled) == (198, 102, 100)
    assert (run.interrupted, run.too_many_bad_rows) == (False, False)
    assert run.bad_rows.text().startswith(
        "100 rows without a target were skipped.\n2 bad rows were skipped:\n"
    )
    assert "100 rows without a target were skipped." in str(run)
    assert "'soon'" in str(run)
    place = records.save(run, tmp_path)
    assert records.read(place).bad_rows == run.bad_rows
    with pytest.raises(DataError, match="must have a value, because it is the target"):
        list(unlabelled_rows(kind, tmp_path, on_bad_row="raise").blocks())


def test_bad_rows_are_counted_among_the_rows_with_a_target(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{'x' if i >= 300 else i},{'' if i % 2 else 'no'}\n" for i in range(400)]
    path.write_text("a,y\n" + "".join(lines))
    stream = streams.read(path, classes=["no", "yes"], numeric=["a"])
    with pytest.raises(
        streams.TooManyBadRows, match=r"Got 20 bad rows in 170 rows with a target\. The first"
    ):
        list(stream.blocks())


def test_the_preview_counts_rows_without_a_target(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,no\n2,\n3,yes\n4,n/a\n")
    assert "2 of the first 4 rows have no target; such rows are skipped and counted" in str(
        streams.look(path)
    )
