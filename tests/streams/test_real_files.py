"""Realistic files: names with spaces, words for missing values, and usual formats of numbers and dates."""

import copy
import datetime
import gzip
import io
import json
import sys
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from heros import (
    DataError,
    DataNotice,
    Feature,
    Heros,
    MissingExtra,
    ParameterError,
    Schema,
    evaluate,
    pools,
    streams,
)
from heros.data.codes import Codes
from heros.data.encoder import Encoder
from heros.streams.live.base import Signal
from heros.streams.pipe import read_pipe


def written(tmp_path, text, name="s.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def quietly(*arguments, **named):
    """Return a stream, and the notices on how it is read."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stream = streams.read(*arguments, **named)
    assert all(one.category is DataNotice for one in said)
    return stream, [str(one.message) for one in said]


def test_a_header_with_blanks_is_split_where_the_rows_are(tmp_path):
    text = "First Name,Age Group,Is Late\n" + "Ann Lee,20 to 30,no\nBob,30 to 40,yes\n" * 3
    for name in ("s.csv", "s.txt"):
        schema = streams.read(written(tmp_path, text, name)).schema
        assert [feature.name for feature in schema.features] == ["First Name", "Age Group"]
        assert schema.classes == ("no", "yes")
    pipe = read_pipe(io.BytesIO(text.encode()))
    assert pipe.schema.classes == ("no", "yes")


def test_a_comma_before_decimals_is_no_delimiter(tmp_path):
    text = "size;price;label\n1,5;10,25 €;a\n2,5;1.000,75 €;b\n"
    stream, said = quietly(written(tmp_path, text))
    assert stream.draw(2)[0].tolist() == [[1.5, 10.25], [2.5, 1000.75]]
    assert len(said) == 2
    assert said[0].startswith("The column 'size' is read as numbers with decimal commas")


@pytest.mark.parametrize("word", ["", "?", "NA", "N/A", "NaN", "null", "None", "-"])
def test_words_for_missing_are_known(tmp_path, word):
    X, _ = streams.read(written(tmp_path, f"a,b,label\n1,red,x\n{word},{word},y\n3,blue,x\n")).draw(3)
    np.testing.assert_array_equal(X, [[1, 1], [np.nan, np.nan], [3, 0]])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["$1,234.50", "$17", "-$3"], [1234.5, 17, -3]),
        (["12%", "7.5 %", "0%"], [12, 7.5, 0]),
        (["1,234", "12,500", "7"], [1234, 12500, 7]),
        (["1 234,5", "12 500", "0,25"], [1234.5, 12500, 0.25]),
        (["1'234.5", "(12)", "+3"], [1234.5, -12, 3]),
        (["EUR 5", "6 EUR", "£7"], [5, 6, 7]),
    ],
)
def test_numbers_are_read_as_they_are_written(tmp_path, cells, expected):
    text = "a,label\n" + "".join(f'"{cell}",x\n' for cell in cells)
    stream, said = quietly(written(tmp_path, text))
    assert stream.draw(3)[0].ravel().tolist() == expected
    assert len(said) == 1
    stream, said = quietly(written(tmp_path, text), nominal=["a"])
    assert stream.schema.features[0].nominal
    assert not said


def test_plain_numbers_say_nothing(tmp_path):
    assert quietly(written(tmp_path, "a,b,label\n1.5,red,x\n2e3,blue,y\n"))[1] == []


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2024-02-29", "1970-01-01", ""], [[19782, 3, 60], [0, 3, 1], [np.nan] * 3]),
        (["29.02.2024", "13.01.1970"], [[19782, 3, 60], [12, 1, 13]]),
        (["02/29/2024", "01/13/70"], [[19782, 3, 60], [12, 1, 13]]),
        (["29 Feb 2024", "13 January 1970"], [[19782, 3, 60], [12, 1, 13]]),
        (["Feb 29, 2024", "Jan 13, 1970"], [[19782, 3, 60], [12, 1, 13]]),
        (["2024-02-29T12:00:00Z", "1970-01-13 06:00"], [[19782.5, 3, 60, 12], [12.25, 1, 13, 6]]),
        (["2024-02-29T12:00:00+02:00"], [[19782 + 10 / 24, 3, 60, 10]]),
        (["02/29/2024 1:30 PM", "01/13/1970 12:00 AM"], [[19782.5625, 3, 60, 13.5], [12, 1, 13, 0]]),
        (["6:30", "18:45:36"], [[6.5], [18.76]]),
    ],
)
def test_dates_and_times_are_a_few_numbers(tmp_path, cells, expected):
    path = written(tmp_path, "when,label\n" + "".join(f'"{cell}",x\n' for cell in cells))
    stream, said = quietly(path)
    np.testing.assert_allclose(stream.draw(9)[0], expected)
    assert len(said) == 1
    assert said[0].startswith("The column 'when' is read as ")


def test_the_days_of_a_table_are_those_of_its_text(tmp_path):
    moments = np.array(["2024-02-29T12:30", "1969-12-31T23:00", "NaT"], dtype="datetime64[us]")
    table = pa.table({"when": moments, "label": ["x", "y", "x"]})
    pq.write_table(table, tmp_path / "s.parquet")
    text = "when,label\n2024-02-29 12:30,x\n1969-12-31 23:00,y\n,x\n"
    found, _ = quietly(tmp_path / "s.parquet")
    expected, _ = quietly(written(tmp_path, text))
    assert found.schema == expected.schema
    np.testing.assert_array_equal(found.draw(3)[0], expected.draw(3)[0])


def test_how_dates_are_written_can_be_said_and_doubt_is_named(tmp_path):
    path = written(tmp_path, "when,label\n03/04/2024,x\n05/06/2024,y\n")
    stream, said = quietly(path)
    assert "it could be month first" in said[0]
    assert stream.draw(1)[0][0, 2] == 94
    stream, said = quietly(path, dates={"when": "%m/%d/%Y"})
    assert stream.draw(1)[0][0, 2] == 64
    assert not said
    with pytest.raises(
        ParameterError, match=r"The 'dates' parameter of read must be a list of columns with dates"
    ):
        streams.read(written(tmp_path, "when,label\nred,x\nblue,y\n"), dates=["when"])


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_what_is_no_date_is_a_bad_row(tmp_path):
    path = written(tmp_path, "when,label\n" + "2024-01-02,x\n" * 20 + "soon,x\n" + "2024-01-03,y\n")
    stream, _ = quietly(path)
    assert len(stream.draw(99)[1]) == 21
    assert "line 22: the 'when' column must be a date" in str(stream.bad_rows.first[0])


def test_units_are_named(tmp_path):
    text = "weight,label\n" + "".join(f"{i % 40} kg,{'xy'[i % 2]}\n" for i in range(200))
    stream, said = quietly(written(tmp_path, text))
    assert stream.schema.features[0].nominal
    assert said == ["The column 'weight' is read as names, but contains numbers with units, such as '0 kg'."]


def test_identifiers_are_left_out_and_many_values_share_inputs(tmp_path):
    rows = [f"user-{i},word {i * i % 97 * 7 % 1009},{i % 7},{'xy'[i % 2]}" for i in range(3000)]
    path = written(tmp_path, "id,word,a,label\n" + "\n".join([*rows, ""]))
    stream, said = quietly(path, most_values=32)
    assert [feature.name for feature in stream.schema.features] == ["word", "a"]
    assert said[0].startswith("The column 'id' is left out: 3,000 distinct values in 3,000 rows")
    assert said[1] == (
        "The column 'word' has very many values: 24 values have one input each, and all other values share the remaining 8 (most_values= sets the number of inputs)."
    )
    assert len(stream.schema.features[0].values) == 32
    X, _ = stream.draw(3000)
    assert X[:, 0].max() == 31
    kept, said = quietly(path, nominal=["id"], most_values=None)
    assert len(kept.schema.features[0].values) == 3000
    assert not said


def test_the_most_frequent_values_have_inputs_of_their_own(tmp_path):
    rows = [f"{'common' if i % 2 else f'rare{i % 300}'},{i},x" for i in range(900)]
    stream, _ = quietly(written(tmp_path, "a,b,label\n" + "\n".join(rows)), most_values=4)
    assert stream.schema.features[0].values[0] == "common"
    assert stream.schema.features[0].values[-1] == "#1 of 1"


def test_a_pipe_of_identifiers_stays_as_wide_as_it_may_be():
    rows = [f"{i % 90 if i < 100 else i},{i % 7},{'xy'[i % 2]}" for i in range(5000)]
    data = ("id,a,label\n" + "\n".join(f"u{row}" for row in rows)).encode()
    stream = read_pipe(io.BytesIO(data))
    with pytest.warns(DataNotice, match="'id' has very many values: 192 values have one input each"):
        sizes = [len(stream.schema.features[0].values) for _ in stream.blocks(100)]
    assert sizes[0] < 192
    assert sizes[-1] == 193  # almost all values are unique and share one code


def test_an_iterator_of_many_values_stays_as_wide_as_it_may_be():
    pairs = [({"a": f"v{i * 7919 % 5000}", "b": i % 3}, "xy"[i % 2]) for i in range(20_000)]
    stream = streams.from_iter(pairs, most_values=64)
    with pytest.warns(DataNotice, match="'a' has very many values"):
        stream.draw(20_000)
    assert len(stream.schema.features[0].values) <= 64


def test_a_schema_alone_says_what_becomes_of_a_new_name():
    codes = Codes(["a", "b", "c"], most=4)
    code = codes.add("new")
    assert Codes(codes.labels, shared=codes.shared).code("new") == code
    assert Codes(["a", "b"]).code("new") is None


@pytest.mark.parametrize("kind", ["csv", "parquet", "-"])
def test_a_target_with_decimals_is_a_number(tmp_path, kind):
    values = [i / 8 for i in range(400)]
    path = tmp_path / f"s.{kind}"
    text = "a,price\n" + "\n".join(f"{i},{v}" for i, v in enumerate(values)) + "\n"
    if kind == "parquet":
        pq.write_table(pa.table({"a": list(range(400)), "price": values}), path)
    elif kind == "csv":
        path.write_text(text)
    if kind == "-":
        stream = read_pipe(io.BytesIO(text.encode()))
    else:
        stream, _ = quietly(path)
        assert quietly(path, task="classification")[0].schema.n_classes == 400
    assert stream.schema.numeric
    assert stream.draw(1000)[1].tolist() == values


def test_many_whole_numbers_are_asked_about(tmp_path):
    path = written(tmp_path, "a,price\n" + "".join(f"{i % 3},{i}\n" for i in range(200)))
    asked = (
        r"the target 'price' must hold classes\. Got 200 different numbers in 200 rows\. Choose "
        r"another column"
    )
    with pytest.raises(DataError, match=asked):
        streams.read(path)
    assert streams.read(path, task="regression").draw(3)[1].tolist() == [0, 1, 2]
    assert streams.read(path, task="classification").schema.n_classes == 200
    with pytest.raises(ParameterError, match="The 'task' parameter of read must be 'classification'"):
        streams.read(path, task="ranking")


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_a_target_is_a_number_as_people_write_it_and_what_is_none_is_a_bad_row(tmp_path):
    path = written(tmp_path, "a;price\n1;1.200,50 €\n2;3 €\n3;soon\n4;\n5;1e200\n")
    stream, _ = quietly(path, task="regression")
    assert stream.draw(9)[1].tolist() == [1200.5, 3]
    assert (stream.bad_rows.count, stream.bad_rows.unlabelled) == (3, 1)


def test_a_target_of_decimal_commas_is_a_number_without_being_told(tmp_path):
    rows = "".join(f"{i};{i % 9 + 1}.{i:03},{i:02} €\n" for i in range(10, 99))
    stream, _ = quietly(written(tmp_path, "a;price\n" + rows))
    assert stream.schema.numeric
    assert stream.draw(1)[1] == 2010.1
    names = "".join(f"{i};B-{i % 30},5\n" for i in range(90))
    assert not quietly(written(tmp_path, "a;kind\n" + names))[0].schema.numeric


def test_a_name_that_is_nearly_right_is_proposed(tmp_path):
    path = written(tmp_path, "Age,Colour,label\n1,red,x\n2,blue,y\n")
    for parameter in ({"target": "Lable"}, {"ignore": ["age"]}, {"numeric": ["colour"]}):
        with pytest.raises(ParameterError, match=r"Did you mean '(label|Age|Colour)'\?$"):
            streams.read(path, **parameter)


JSON = [
    '{"age": 18, "name": {"first": "Ann", "last": "Lee"}, "late": true}',
    '{"age": null, "name": {"first": "Bob", "last": "N/A"}, "late": false, "more": [1, 2]}',
    "",
    '{"late": true, "age": 2.5e1, "name": {"first": "Ann", "last": "Ray"}}',
]


@pytest.mark.parametrize("name", ["s.jsonl", "s.ndjson", "s.json", "s.txt", "s.csv", "-"])
def test_json_lines_are_read_as_such(tmp_path, name):
    text = "\n".join(JSON) + "\n"
    how = {"target": "late", "ignore": ["more"]}
    if name == "-":
        stream = read_pipe(io.BytesIO(text.encode()), **how)
    else:
        stream = streams.read(written(tmp_path, text, name), **how)
    assert [feature.name for feature in stream.schema.features] == ["age", "name.first", "name.last"]
    assert stream.schema.classes == ("False", "True")
    X, y = stream.draw(9)
    np.testing.assert_array_equal(X, [[18, 0, 0], [np.nan, 1, np.nan], [25, 0, 1]])
    assert y.tolist() == [1, 0, 1]


def test_a_member_that_is_a_list_is_left_out(tmp_path):
    rows = [{"tags": ["a"], "n": i, "place": {"city": "Bonn"}, "late": i % 2} for i in range(20)]
    path = written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "s.jsonl")
    stream, said = quietly(path)
    assert [feature.name for feature in stream.schema.features] == ["n", "place.city"]
    assert stream.schema.ignored == ("tags",)
    assert said[0].startswith(
        "The column 'tags' is left out: list<item: string> is not a number, text or date"
    )
    assert "left out" in str(streams.look(path))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "s.parquet")
    assert "left out" in str(streams.look(tmp_path / "s.parquet"))


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_a_line_that_is_no_object_is_a_bad_row(tmp_path):
    path = written(tmp_path, "\n".join([*JSON, "[1, 2]", '{"age": 7', JSON[0]]) + "\n", "s.jsonl")
    with pytest.raises(DataError, match=r"line 5: the row must be a JSON object\. Got '\[1, 2\]' instead"):
        list(streams.read(path, target="late", ignore=["more"], on_bad_row="raise").blocks())
    stream = streams.read(path, target="late", ignore=["more"])
    assert len(stream.draw(99)[1]) == 4
    assert stream.bad_rows.count == 2
    stream.restart()
    assert len(stream.draw(99)[1]) == 4
    with pytest.raises(DataError, match="must have a JSON object in each line"):
        streams.read(written(tmp_path, '[{"a": 1}]\n', "s.json"))


MIXED = (
    "id;Full Name;born;income;size;city;churn\n"
    '17;"Lee, Ann";03.04.1981;1.200,50 €;12 kg;Bonn;no\n'
    '18;"Ray, ""Bob""";13.12.1990;980,00 €;11 kg;-;yes\n'
    "19;Cy;01.01.2000;12.000,00 €;9 kg;Köln;no\n"
    "20;Di;;7,00 €;9 kg;Köln;no\n"
)


def test_a_look_says_how_every_column_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = streams.look(written(tmp_path, MIXED), ignore=["Full Name"])
    assert [(one.name, one.kind, one.values, one.missing) for one in found.columns] == [
        ("id", "numbers", 4, 0),
        ("Full Name", "left out", 4, 0),
        ("born", "dates", 3, 0.25),
        ("income", "numbers", 4, 0),
        ("size", "names", 3, 0),
        ("city", "names", 2, 0.25),
        ("churn", "target", 2, 0),
    ]
    assert found.columns[0].note == "a different whole number in every row; this may be an identifier"
    assert found.columns[3].examples[0] == "1.200,50 €"
    assert found.classes == {"no": 3, "yes": 1}
    assert max(len(line) for line in str(found).splitlines()[1:]) <= 80
    assert found.plain()["columns"][1]["note"] == "as requested"


def test_a_look_names_the_words_that_are_read_as_missing(tmp_path):
    """The country code of Namibia is such a word; columns without such words get no notice."""
    rows = [("NA", "1.5", ""), ("DE", "n/a", "x"), ("NA", "2", ""), ("", "3", "y"), ("FR", "4", "x")] * 4
    text = "country,amount,note,late\n" + "".join(f"{','.join(row)},{i % 2}\n" for i, row in enumerate(rows))
    lines = [{"country": c, "amount": a, "note": n, "late": i % 2} for i, (c, a, n) in enumerate(rows)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for path in (written(tmp_path, text), tmp_path / "rows.jsonl"):
        country, amount, note, _ = streams.look(path, target="late").columns
        assert country.note.startswith(
            'missing: "NA" 8, "" 4 (to keep such a word as a name, list all values'
        )
        assert country.words == {"NA": 8, "": 4}
        assert amount.note == 'missing: "n/a" 4'
        assert "missing" not in note.note


def test_a_look_names_a_target_of_numbers_instead_of_failing(tmp_path):
    path = written(tmp_path, "a,price\n" + "".join(f"{i % 3},{i}\n" for i in range(200)))
    assert "Got 200 different numbers in 200 rows" in str(streams.look(path))
    assert "target 'price': a number" in str(streams.look(path, task="regression"))


@pytest.mark.parametrize("kind", ["mapping", "toml", "json", "csv"])
def test_what_columns_are_can_be_said_in_one_place(tmp_path, kind):
    said = {"id": "ignore", "born": "date %d.%m.%Y", "size": "nominal", "city": "target"}
    place = tmp_path / f"columns.{kind}"
    if kind == "toml":
        place.write_text("[columns]\n" + "".join(f"{name} = {what!r}\n" for name, what in said.items()))
    elif kind == "json":
        place.write_text(json.dumps(said))
    elif kind == "csv":
        place.write_text("column,kind\n" + "".join(f"{name},{what}\n" for name, what in said.items()))
    path = written(tmp_path, MIXED)
    stream, _ = quietly(path, columns=said if kind == "mapping" else place)
    names = [feature.name for feature in stream.schema.features]
    assert names[:2] == ["Full Name", "born (day)"]
    assert stream.schema.classes == ("Bonn", "Köln")
    with pytest.raises(DataError, match=r"Got 'numerical' instead\. Did you mean 'numeric'\?"):
        streams.read(path, columns={"size": "numerical"})
    with pytest.raises(DataError, match="must be readable as TOML, JSON or CSV"):
        streams.read(path, columns=tmp_path / "none.toml")
    for role in ("target", "weights"):
        with pytest.raises(
            DataError, match=f"At most one column may have the kind '{role}'. Got 'id' and 'size'"
        ):
            streams.read(path, target="city", columns={"id": role, "size": role})


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("csv", "id,ignore\nid,target\n"),
        ("json", '{"columns": {"id": "ignore", "id": "target"}}'),
        ("toml", 'id = "ignore"\nid = "target"\n'),
    ],
)
def test_a_column_with_two_kinds_is_an_error(tmp_path, kind, text):
    place = tmp_path / f"columns.{kind}"
    place.write_text(text)
    with pytest.raises(DataError, match=r"The columns file .* must be readable"):
        streams.read(written(tmp_path, MIXED), columns=place)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,virginica\n", True),
        ("1.5,2\n3,4\n5,6\n", True),
        ("5.1,,setosa\n4.9,3.0,setosa\n", True),
        ("0,1,2\n5,6,1\n7,8,0\n", False),  # as pandas writes columns without names
        ("2025,2026,late\n5,6,no\n7,8,yes\n", False),
        ("size,colour\n3,red\n4,blue\n", False),
        (",size,late\n0,3,no\n1,4,yes\n", False),
    ],
)
def test_a_header_that_looks_like_a_row_is_told(tmp_path, text, told):
    path = written(tmp_path, text)
    found = streams.look(path)
    assert any("(pass header=False if the file has no header)" in note for note in found.notes) is told
    assert streams.look(path, header=False).rows == found.rows + 1
    _, notices = quietly(path)
    assert any("look like values (pass header=False" in notice for notice in notices) is told


def test_a_first_row_with_the_same_value_twice_is_told_to_be_no_header(tmp_path):
    path = written(tmp_path, "5.1,5.1,setosa\n4.9,3.0,setosa\n7.0,3.2,virginica\n")
    with pytest.raises(
        DataError, match=r"line 1: the header must have distinct names\..*\(pass header=False if the"
    ):
        streams.read(path)
    stream = streams.read(path, header=False)
    assert [feature.name for feature in stream.schema.features] == ["x1", "x2"]
    assert len(stream.draw(5)[1]) == 3


def test_a_row_is_read_as_the_file_was(tmp_path):
    stream, _ = quietly(written(tmp_path, MIXED), ignore=["id", "Full Name"])
    X, _ = stream.draw(4)
    rows = Encoder(stream.schema)
    row = {"born": "03.04.1981", "income": 1200.5, "size": "12 kg", "city": "Bonn"}
    np.testing.assert_array_equal(rows.read(row)[0], X[0])
    row["born"] = datetime.date(1981, 4, 3)
    np.testing.assert_array_equal(rows.read(row)[0], X[0])
    frame = pa.table({"born": ["03.04.1981"], "income": ["1.200,50 €"], "size": ["12 kg"], "city": ["Bonn"]})
    np.testing.assert_array_equal(rows.read(frame)[0], X[0])
    with pytest.raises(
        DataError, match=r"The feature 'born' must be a date, day first\b.* Got 'soon' instead"
    ):
        rows.read({"born": "soon"})


def test_a_file_with_an_id_and_a_text_is_what_it_is_without_them(tmp_path):
    """Identifier and text columns do not reduce accuracy or use more memory."""
    rows = [
        (
            f"ORD-{i * 7919 % 100_003:06}",
            f'"late, parcel {i}"',
            f"{i * 37 % 101},{['DE', 'FR', 'US'][i % 3]},{'ny'[i % 7 == 0]}",
        )
        for i in range(2000)
    ]
    path = written(
        tmp_path, "order id,comment,amount,country,fraud\n" + "".join(f"{','.join(row)}\n" for row in rows)
    )
    plain = written(tmp_path, "amount,country,fraud\n" + "".join(f"{row[2]}\n" for row in rows), "plain.csv")
    (found, said), (expected, _) = quietly(path), quietly(plain)
    assert [text.split("'")[1] for text in said] == ["order id", "comment"]
    assert found.schema == expected.schema
    for one, other in zip(found.draw(2000), expected.draw(2000), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_text_of_wide_characters_is_known_by_its_mark(tmp_path, encoding, suffix):
    text = "Région\tScore\tRating\n" + "".join(
        f"{name}\t{i}\tgut\n" for i in range(30) for name in ("Øst", "Île")
    )
    path = tmp_path / f"sheet{suffix}"
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    stream = streams.read(path)
    assert stream.schema.features[0].name == "Région"
    assert stream.schema.features[0].values == ("Île", "Øst")
    first = stream.draw(60)[0]
    stream.restart()
    assert (stream.draw(60)[0] == first).all()
    lines = tmp_path / "rows.jsonl"
    lines.write_text('{"a": 1, "label": "x"}\n{"a": 2, "label": "y"}\n', encoding=encoding)
    assert streams.read(lines).draw(2)[0].tolist() == [[1], [2]]


def test_a_text_that_is_not_utf_8_is_cp1252(tmp_path, monkeypatch):
    path, text = tmp_path / "s.csv", "Stadt,label\nKöln,a\nMainz,b\n"
    path.write_text(text, encoding="cp1252")
    said = [f"{path} is not UTF-8 and is read as cp1252 (use encoding= to set another encoding)."]
    for how, expected in (({}, said), ({"encoding": "cp1252"}, [])):
        stream, told = quietly(path, **how)
        assert (stream.schema.features[0].values, told) == (("Köln", "Mainz"), expected)
    looked = streams.look(path)
    assert looked.notes == tuple(said)
    assert " ".join(str(looked).split()).startswith(said[0])
    monkeypatch.setattr("heros.streams.text.READ_BYTES", 60)
    late = "Stadt,label\n" + "Mainz,b\n" * 20 + "Köln,a\n" * 20
    for data, values in (
        (late.encode("cp1252"), ["Mainz", "Köln"]),
        (late.encode(), ["Mainz", "Köln"]),
        (("Größe,label\n" + "Mainz,b\n" * 20).encode("cp1252"), ["Mainz"]),
    ):
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNotice)
            for stream in (streams.read(path), read_pipe(io.BytesIO(data))):
                names = [stream.schema.features[0].values[int(x)] for x in stream.draw(99)[0][:, 0]]
                assert list(dict.fromkeys(names)) == values
    assert stream.schema.features[0].name == "Größe"
    path.write_bytes("Stadt,label\nKöln,a\nBönn,a\n".encode() + b"K\xf6ln,b\n")  # damaged UTF-8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        stream = streams.read(path)
        assert len(stream.draw(9)[1]) == 2
    assert ("must be UTF-8 text (or set encoding=, for example to latin-1). Got b'K") in str(
        stream.bad_rows.first[0]
    )


def test_encodings_that_are_wrong(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(b"\xff\xfea,label\n1")
    with pytest.raises(DataError, match="cannot be read completely"):
        list(streams.read(path).blocks())
    with pytest.raises(
        ParameterError, match=r"an encoding that extends ASCII, such as 'latin-1', if standard input is read"
    ):
        read_pipe(io.BytesIO(b"a,label\n1,x\n"), encoding="utf-16")
    with pytest.raises(ParameterError, match=r"Got 'latn-1' instead. Did you mean 'latin-1'"):
        streams.read(path, encoding="latn-1")


ROWS = "".join(f"{'AB'[i % 2]};{i},5;{'yn'[i % 2]}\n" for i in range(30))


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("sep=;\ncity;value;late\n", ""),
        ('"sep=;"\r\ncity;value;late\n', ""),
        ("Report of sales\ncity;value;late\n", "The first line is skipped: the header of {} is in line 2."),
        (
            "Report of sales, all shops\nfrom;2026-01-01\n\ncity;value;late\n",
            "The first 3 lines are skipped: the header of {} is in line 4.",
        ),
        ("Report;;\n;;\ncity;value;late\n", "The first 2 lines are skipped: the header of {} is in line 3."),
        ("sep=;\nReport\ncity;value;late\n", "The first line is skipped: the header of {} is in line 3."),
    ],
)
def test_what_stands_before_a_header_is_skipped(tmp_path, head, told):
    path = written(tmp_path, head + ROWS)
    stream, said = quietly(path)
    assert said[:-1] == ([told.format(path)] if told else [])
    assert [feature.name for feature in stream.schema.features] == ["city", "value"]
    assert stream.draw(99)[0][:2].tolist() == [[0, 0.5], [1, 1.5]]
    assert (stream.position, stream.bad_rows.count) == (30, 0)
    piped = read_pipe(io.BytesIO(path.read_bytes()), dates=[], numeric=["value"]) if not told else stream
    assert piped.schema == stream.schema
    stream.restart()
    assert len(stream.draw(99)[1]) == 30


@pytest.mark.parametrize(
    "text",
    [
        "city;value\n" + ROWS,  # row names have no header
        "city;late\n" + "1;A;y\n2;B;n\n" * 9,
        '"city\nor town";"va\nlue";late\n' + ROWS,
        "a;b;c\n" + "x;y\n" * 2 + "x;y;z\n" * 9,
    ],
)
def test_a_header_that_is_merely_odd_is_no_preamble(tmp_path, text):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stream = streams.read(written(tmp_path, text))
    assert not [one for one in said if "skipped: the header" in str(one.message)]
    assert not {"A", "x", "1"} & {feature.name for feature in stream.schema.features}


def test_a_zip_with_one_file_is_that_file(tmp_path):
    path = tmp_path / "s.zip"
    texts = {
        "data/rows.csv": ROWS.join(["city;value;late\n", ""]),
        "rows.jsonl": "".join(
            json.dumps({"city": "AB"[i % 2], "value": i + 0.5, "late": "yn"[i % 2]}) + "\n" for i in range(30)
        ),
    }
    for name, text in texts.items():
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, text)
            archive.writestr("__MACOSX/._rows", "x")
        stream, _ = quietly(path)
        X, _ = stream.draw(7)
        again = copy.copy(stream)
        np.testing.assert_array_equal(again.draw(99)[0], stream.draw(99)[0])
        stream.restart()
        np.testing.assert_array_equal(stream.draw(7)[0], X)
        assert X[1].tolist() == [1, 1.5]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "x")
        archive.writestr("b.csv", "x")
    with pytest.raises(
        DataError,
        match=r"s\.zip must contain exactly one file\. Got 'a\.csv', 'b\.csv' "
        r"instead",
    ):
        streams.read(path)
    path.write_bytes(b"PK nothing")
    with pytest.raises(DataError, match=r"s\.zip must be a zip file\. The error was: "):
        streams.read(path)


def workbook(path, rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.create_sheet("other").append(["not", "read"])
    book.save(path)
    return path


def test_the_first_sheet_of_a_workbook_is_read_with_its_types(tmp_path):
    start = datetime.datetime(2026, 1, 1, 8)
    rows = [
        [start + datetime.timedelta(hours=i), 1.5 * i, i % 3 == 0, "AB"[i % 2], i % 7, "yn"[i % 2]]
        for i in range(60)
    ]
    rows[5][1], rows[6][1], rows[7][3] = "n/a", "#DIV/0!", None
    rows[9][1] = "much"
    names = ["when", "amount", "ok", "city", "floor", "late"]
    path = workbook(tmp_path / "s.xlsx", [["Sales"], [], names, *rows[:20], [], *rows[20:]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stream = streams.read(path)
        X, y = stream.draw(99)
    told = [str(one.message) for one in said]
    assert told[0] == f"The first row is skipped: the header of {path} is in row 3."
    assert told[1] == f"{path}: only the first sheet 'Sheet' is read. Other sheets: 'other'."
    assert "s.xlsx, row 13: the 'amount' column must be a number" in told[-1]
    assert [f"{feature.name}" for feature in stream.schema.features] == [
        "when (day)", "when (weekday)", "when (day of year)", "when (hour)", "amount", "ok", "city", "floor",
    ]  # fmt: skip
    assert X[1].tolist() == [20454.375, 3, 1, 9, 1.5, 0, 1, 1]
    assert np.isnan(X[5:8, [4, 4, 6]]).tolist() == [[True, True, False]] * 2 + [[False, False, True]]
    assert (len(y), stream.bad_rows.count) == (59, 1)
    stream.restart()
    stream.draw(30)
    np.testing.assert_array_equal(copy.copy(stream).draw(99)[0], X[30:])
    assert "The first row is skipped" in str(streams.look(path))


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_typed_columns_that_cannot_be_used_are_refused_by_name(tmp_path, ending):
    path = tmp_path / f"s{ending}"
    write = {".parquet": pq.write_table, ".arrow": feather.write_feather}[ending]
    numbers, labels, lists = [1.0, 2.0] * 20, ["x", "y"] * 20, [[1], [2]] * 20
    write(pa.table([numbers, numbers, labels], names=["a", "a", "label"]), path)
    with pytest.raises(DataError, match=r"the columns must have distinct names\. Got \['a'\] more than once"):
        streams.read(path)
    write(pa.table({"a": numbers, "b": lists, "label": labels}), path)
    for options in ({"target": "b"}, {"nominal": ["b"]}):
        with pytest.raises(DataError, match=r"the column 'b' must hold numbers, text or dates\. Got list<"):
            streams.read(path, **options)


def test_a_workbook_that_is_none_and_one_that_needs_an_extra(tmp_path, monkeypatch):
    path = tmp_path / "s.xlsx"
    path.write_bytes(b"no workbook")
    with pytest.raises(DataError, match=r"s\.xlsx cannot be read as an Excel workbook \(\.xlsx\): "):
        streams.read(path)
    with pytest.raises(DataError, match=r"must have a header and at least one row\. Got an empty sheet"):
        streams.read(workbook(path, []))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"Reading Excel files needs .* 'openpyxl>="):
        streams.read(path)


LATE = {
    "note": lambda i: "ab"[i % 2],
    "price": lambda i: f"{i},5 €",
    "when": lambda i: f"{1 + i % 28:02}.01.2026",
}


def late_rows(n, first):
    """Return rows in which three columns start without values; the text has a bad row before the first value."""
    lines = ["n;" + ";".join(LATE) + ";late"]
    for i in range(n):
        cells = [value(i) if i >= first + 7 * j else "" for j, value in enumerate(LATE.values())]
        lines.append(f"{'bad' if i == first else i};" + ";".join(cells) + f";{'yn'[i % 2]}")
    return "\n".join(lines) + "\n"


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_a_column_that_is_empty_at_first_is_decided_by_its_first_value(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("heros.streams.text.READ_BYTES", 500)
    path = written(tmp_path, late_rows(400, 200))
    opened = {"file": lambda: streams.read(path), "pipe": lambda: read_pipe(io.BytesIO(path.read_bytes()))}[
        kind
    ]
    found = []
    for size in (1, 7, 1000):
        stream, rows = opened(), []
        assert [feature.name for feature in stream.schema.features] == ["n"]
        while not isinstance(came := stream.poll(size), Signal):
            assert came[0].shape[1] == stream.schema.n_features
            rows += [(row.tobytes(), stream.schema) for row in came[0]]
        found.append(rows)
        assert stream.bad_rows.count == 1
    assert found[0] == found[1] == found[2]
    widths = [schema.n_features for _, schema in found[0]]
    assert [widths.index(width) for width in (1, 2, 3, 6)] == [0, 200, 206, 213]
    schema = stream.schema
    names = ["n", "note", "price", "when (day)", "when (weekday)", "when (day of year)"]
    assert [feature.name for feature in schema.features] == names
    assert schema.features[1].values == ("b", "a")  # the bad row did not change the schema
    assert all(feature.missing for feature in schema.features[1:])
    drawn = opened().draw(1000)[0]
    assert drawn.shape == (399, 6)
    np.testing.assert_array_equal(drawn[-1], np.frombuffer(found[0][-1][0]))
    assert np.isnan(drawn[:199, 1:]).all()
    if kind == "file":
        assert [one.kind for one in streams.look(path).columns][1:4] == ["empty"] * 3
        run = evaluate(Heros(pools.Hoeffding([{}]), k=1, seed=1), streams.read(path))
        assert run.n_instances == 399


def test_a_look_at_very_many_columns_is_a_summary(tmp_path):
    names = [f"c{i}" for i in range(500)]
    rows = [[f"{i * j % 17}.5" if j % 5 else "AB"[i % 2] for j in range(500)] for i in range(1, 70)]
    for i, row in enumerate(rows):
        row[7], row[499] = f"user-{i}", "yn"[i % 2]
    text = "\n".join(map(",".join, [names, *rows])) + "\n"
    looked = streams.look(written(tmp_path, text))
    shown = str(looked)
    assert len(shown.splitlines()) < 40
    words = " ".join(shown.split())
    assert (
        "500 columns: 100 names, 398 numbers, 1 left out, 1 target. Columns with missing values: 0."
    ) in words
    assert "c7" in words
    assert "too many to learn from" in words
    assert "c8 " not in words
    assert "c8 " in looked.text(all=True)


def test_a_target_of_some_whole_numbers_says_what_it_is_taken_for(tmp_path):
    path = written(tmp_path, "a,rating\n" + "".join(f"{i},{i % 15}\n" for i in range(300)))
    expected = (
        "The 15 different numbers of the target 'rating' are read as classes "
        "(set task='regression' if the numbers are quantities, or task='classification' to hide this notice)."
    )
    stream, said = quietly(path)
    assert (said, stream.schema.n_classes) == ([expected], 15)
    assert streams.look(path).faults == (expected,)
    for task in ("classification", "regression"):
        assert quietly(path, task=task)[1] == []
    assert quietly(written(tmp_path, "a,y\n" + "".join(f"{i},{i % 10}\n" for i in range(300))))[1] == []


def test_a_target_of_amounts_says_that_they_are_classes(tmp_path):
    rows = "".join(f"{i},{('0%', '5%', '12.5%')[i % 3]}\n" for i in range(300))
    path = written(tmp_path, f"a,discount\n{rows}")
    stream, said = quietly(path)
    assert stream.schema.n_classes == 3
    assert len(said) == 1
    assert said[0].startswith(
        "The 3 different numbers of the target 'discount' are read as classes (set task='reg"
    )
    assert streams.look(path).faults == (said[0],)
    assert quietly(path, task="regression")[0].schema.numeric
    assert quietly(written(tmp_path, rows.replace("12.5%", "5%").replace("0,", "a,d\n0,", 1)))[1] == []


def test_thousands_are_told_from_decimals_by_the_values_without(tmp_path):
    text = "pay;bonus;share;label\n" + "1,250;$2,500;0,125;a\n980;$1,100;0,250;b\n" * 9
    X, _ = quietly(written(tmp_path, text))[0].draw(2)
    assert X.tolist() == [[1250, 2500, 0.125], [980, 1100, 0.25]]


MARKS = {  # the other columns of the first 150 rows, and how 1,299 and 7.125% are read afterwards
    "delimiter only": ("7%", "980 m", 1.299, 7125),
    "amounts": ("€1,234.50", "980 m", 1299, 7.125),
    "plain decimals": ("12.5", "980 m", 1299, 7.125),
    "decimal commas": ("12,5", "980 m", 1.299, 7125),
    "both": ("12,5", "12.5", 1.299, 7125),
    "names": ("v1.5", "a, b", 1.299, 7125),
}


@pytest.mark.parametrize("case", MARKS)
def test_other_columns_outweigh_the_delimiter_in_an_ambiguous_column(case, tmp_path):
    one, other, price, share = MARKS[case]
    rows = (
        f"{one};{other};€1,100;20%;a\n{one};{other};€1,200;0%;b\n" * 75 + f"{one};{other};€1,299;7.125%;a\n"
    )
    stream = quietly(written(tmp_path, "one;other;price;share;label\n" + rows))[0]
    X, _ = stream.draw(200)
    assert X[-1, -2:].tolist() == [price, share]


def test_decimal_commas_of_another_column_count_in_every_table(tmp_path):
    rows = [{"a": "1,234", "b": "7,5", "c": 12.5, "label": "xy"[i % 2]} for i in range(150)]
    frame = pa.Table.from_pylist(rows)
    learnt = Heros(pools.Hoeffding([{}]), k=1, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        learnt.learn(frame.drop_columns("label"), frame["label"])
        path = written(tmp_path, "\n".join(map(json.dumps, rows)), "s.jsonl")
        found = [streams.from_frame(frame).draw(1)[0], streams.read(path).draw(1)[0]]
    assert [X.tolist() for X in found] == [[[1.234, 7.5, 12.5]]] * 2
    assert learnt.schema.features[0].written == ",."


def test_names_that_differ_only_in_case_are_told_and_kept_apart(tmp_path):
    rows = "".join(
        f"{('red', 'Red', 'blue.', 'blue')[i % 4]},{('kept', 'lost', 'Kept')[i % 3]}\n" for i in range(60)
    )
    path = written(tmp_path, f"colour,status\n{rows}")
    expected = "The target 'status' has names that differ only in case ('kept', 'Kept'): each name is a separate class."
    alike = "names that differ only in case or punctuation ('red', 'Red'; 'blue.', 'blue')"
    feature = (
        f"The column 'colour' has {alike}: each name is a separate value (use nominal= to hide this notice)."
    )
    stream, said = quietly(path)
    assert (said, stream.schema.classes) == ([expected, feature], ("Kept", "kept", "lost"))
    looked = streams.look(path)
    assert looked.faults == (expected,)
    assert looked.columns[0].note == alike
    assert quietly(path, classes=["kept", "Kept", "lost"], nominal=["colour"])[1] == []


def test_a_look_shows_all_of_few_names_placeholders_and_leading_zeros(tmp_path):
    words = ["a", "b", "c", "d", "e", "f", "unknown"]
    rows = "".join(f"{words[i % 7]},x{i % 30},0{1050 + i % 3},{i % 2}\n" for i in range(70))
    colour, many, postcode, _ = streams.look(written(tmp_path, f"colour,many,postcode,label\n{rows}")).columns
    assert colour.examples == tuple(words)
    assert colour.note == "\"unknown\" 10 times (use missing=['unknown'] to read such values as missing)"
    assert (many.examples, many.note) == (("x0", "x1", "x2"), "")
    assert postcode.note == "leading zeros, such as '01050', are lost (use nominal= to keep them)"


def test_a_notice_advises_only_what_its_entrance_has():
    rows = [{"id": f"A-{i}", "x": i % 5} for i in range(60)]
    labels = ["ab"[i % 2] for i in range(60)]
    frame = pa.Table.from_pylist([{**row, "y": y} for row, y in zip(rows, labels, strict=True)])

    def model():
        return Heros(pools.Hoeffding([{}]), k=1, seed=1)

    expected = {
        "a schema that declares it keeps it": lambda: model().learn(rows, labels),
        "a categorical column is kept": lambda: model().learn(frame.drop_columns("y"), labels),
        "use nominal= of streams.from_frame to keep the column": lambda: evaluate(model(), frame, target="y"),
        "nominal= keeps it": lambda: streams.from_iter(zip(rows, labels, strict=True)).draw(60),
    }
    for advice, learn in expected.items():
        with pytest.warns(DataNotice, match=rf"too many to learn from \({advice}"):
            learn()
    known = Schema((Feature("id", values=("A-0",)),), ("a", "b"))
    learnt = model().bind(known).learn(rows, labels)
    assert [feature.name for feature in learnt.schema.features] == ["id", "x"]


@pytest.mark.parametrize("distinct", [290, 120])
def test_words_in_a_numeric_target_are_named(tmp_path, distinct):
    rows = [f"{i},{'free' if i % 50 == 7 else i % distinct * 1.25}\n" for i in range(300)]
    path = written(tmp_path, "a,price\n" + "".join(rows))
    with pytest.raises(
        DataError, match=r"must hold numbers or classes.* but not 'free'\. Set missing=\['free'\] if"
    ):
        streams.read(path)
    assert "but not 'free'" in streams.look(path).faults[0]
    assert streams.read(path, missing=["free"]).schema.numeric


@pytest.mark.parametrize("unit", [1, 1000])
def test_numbers_that_are_said_to_be_times_are_read_as_such(tmp_path, unit):
    rows = [{"ts": 1767225600 * unit + 60 * unit * i, "label": "ab"[i % 2]} for i in range(30)]
    path = written(tmp_path, "\n".join(map(json.dumps, rows)), "s.jsonl")
    name = "seconds since 1970" if unit == 1 else "milliseconds since 1970"
    stream = streams.read(path, dates=["ts"])
    assert stream.schema.features[0].name == "ts (day)"
    assert stream.schema.features[0].written == name
    X = stream.draw(30)[0]
    assert X[:2].tolist() == [
        [20454, 3, 1, 0],
        [20454 + 60 / 86400, 3, 1, 1 / 60],
    ]  # 2026 began on a Thursday
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "s.parquet")
    np.testing.assert_allclose(streams.read(tmp_path / "s.parquet", dates=["ts"]).draw(30)[0], X)
    reader = Encoder(stream.schema)
    np.testing.assert_allclose(reader.read({"ts": rows[1]["ts"]}), X[1:2])
    np.testing.assert_allclose(reader.read({"ts": str(rows[1]["ts"])}), X[1:2])
    assert (
        "the numbers may be seconds since 1970 (use dates= to read them as "
        "dates)" in streams.look(path).columns[0].note
    )
    with pytest.raises(ParameterError, match="a list of columns with dates or seconds since 1970"):
        streams.read(written(tmp_path, "n,label\n1,a\n2,b\n"), dates=["n"])


def test_members_that_come_too_late_are_said(tmp_path, monkeypatch):
    row = {"a": 1, "wide": "w" * 500}
    lines = [json.dumps(row | ({"b": i} if i > 150 else {}) | {"label": "xy"[i % 2]}) for i in range(200)]
    path = written(tmp_path, "\n".join(lines), "s.jsonl")
    assert [one.name for one in streams.read(path).schema.features] == [
        "a",
        "wide",
        "b",
    ]  # within the first rows
    monkeypatch.setattr("heros.streams.json_lines.READ_BYTES", 1000)
    with pytest.warns(
        DataNotice,
        match=r"The field 'b' is left out, because it first appears in line 152 "
        r"of",
    ):
        stream = streams.read(path)
    assert [one.name for one in stream.schema.features] == ["a", "wide"]


def test_a_file_that_is_nearly_there_is_proposed(tmp_path):
    written(tmp_path, "a,label\n1,x\n", "tickets.csv")
    with pytest.raises(DataError, match=r"there is no such file. Did you mean 'tickets.csv'\?"):
        streams.read(tmp_path / "ticket.csv")
    with pytest.raises(DataError, match=r"there is no such file\.$"):  # a common ending is not enough
        streams.read(tmp_path / "trips.csv")
