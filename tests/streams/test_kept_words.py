"""A word such as NA is a value in columns that list it, and a missing value in all other columns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from heros import DataError, streams

ROWS = [
    {"country": "NA", "town": "NA", "size": "3", "late": "NA"},
    {"country": "ZA", "town": "Ulm", "size": "NA", "late": "no"},
    {"country": "null", "town": "Bonn", "size": "4", "late": "no"},
] * 20
HOW = {"target": "late", "nominal": {"country": ["NA", "ZA"], "town": None}, "classes": ["no", "NA"]}


def csv(path, quote=""):
    lines = [",".join(row.values()) for row in ROWS]
    if quote:  # a quoted line end is parsed row by row
        lines[0] = lines[0].replace("NA", '"NA"')
    path.write_text("\n".join([",".join(ROWS[0]), *lines]) + "\n")
    return streams.read(path, **HOW)


def blanks(path):
    path.write_text("\n".join([",".join(ROWS[0]), *(", ".join(row.values()) for row in ROWS)]) + "\n")
    return streams.read(path, **HOW)


def json_lines(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return streams.read(path, format="json", **HOW)


def parquet(path):
    pd.DataFrame(ROWS).to_parquet(path)
    return streams.read(path, format="parquet", **HOW)


def excel(path):
    path = path.with_suffix(".xlsx")
    pd.DataFrame(ROWS).to_excel(path, index=False)
    return streams.read(path, **HOW)


def frame(path):
    return streams.from_frame(pd.DataFrame(ROWS), **HOW)


@pytest.mark.parametrize(
    "entrance", [csv, lambda path: csv(path, '"'), blanks, json_lines, parquet, excel, frame]
)
def test_a_listed_word_is_a_name_in_its_column_only(tmp_path, entrance):
    stream = entrance(tmp_path / "rows.csv")
    X, y = stream.draw(60)
    names = [feature.name for feature in stream.schema.features]
    country, town, size = map(names.index, ("country", "town", "size"))
    np.testing.assert_array_equal(X[:3, country], [0, 1, np.nan])  # null is not listed
    np.testing.assert_array_equal(X[:3, town], [np.nan, 1, 0])
    np.testing.assert_array_equal(X[:3, size], [3, np.nan, 4])
    np.testing.assert_array_equal(y[:3], [1, 0, 0])
    assert len(y) == 60


def test_without_the_list_the_word_is_missing(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("country,late\nNA,no\nZA,yes\n" + "ZA,no\nZA,yes\n" * 30)
    stream = streams.read(path, on_bad_row="raise")
    assert stream.schema.features[0].values == ("ZA",)
    assert np.isnan(stream.draw(1)[0][0, 0])
    with pytest.raises(DataError, match="a missing value"):
        streams.read(path, target="country", on_bad_row="raise").draw(5)


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "xlsx", "frame"])
def test_a_listed_number_is_a_name_in_its_column_only(tmp_path, kind):
    """Also for numbers that are not text; in other columns the number is missing in any notation."""
    columns = {"area": [1, -999, 2] * 20, "size": [2.5, -999.0, 3.0] * 20, "late": ["no", "yes", "no"] * 20}
    table, path = pd.DataFrame(columns), tmp_path / f"rows.{kind}"
    how = {"target": "late", "nominal": {"area": ["1", "2", "-999"]}, "missing": ["-999"]}
    if kind == "csv":
        path.write_text(table.to_csv(index=False, float_format="%.2f"))
    elif kind == "json":
        path.write_text(table.to_json(orient="records", lines=True))
    elif kind != "frame":
        getattr(table, {"parquet": "to_parquet", "xlsx": "to_excel"}[kind])(path, index=False)
    stream = streams.from_frame(table, **how) if kind == "frame" else streams.read(path, **how)
    X, _ = stream.draw(3)
    np.testing.assert_array_equal(X, [[0, 2.5], [2, np.nan], [1, 3]])
