"""A number in a column's list of values has the same name with and without ``.0`` in every interface."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from heros import DataError, streams
from heros.data.encoder import Encoder

TEXTS = [("1", "0"), ("1.0", "0.0"), ("2", "1.0"), ("2.0", "1")] * 10


def csv(path, how):
    path.write_text("room,late\n" + "".join(f"{room},{late}\n" for room, late in TEXTS))
    return streams.read(path, **how)


def json_lines(path, how):
    path.write_text("".join(json.dumps({"room": room, "late": late}) + "\n" for room, late in TEXTS))
    return streams.read(path, format="json", target="late", **how)


def frame(path, how):
    return streams.from_frame(pd.DataFrame(TEXTS, columns=["room", "late"]), target="late", **how)


def floats(path, how):
    table = pd.DataFrame(TEXTS, columns=["room", "late"]).astype(float)
    return streams.from_frame(table, target="late", **how)


def pairs(path, how):
    schema = csv(path, how).schema
    return streams.from_iter([({"room": room}, late) for room, late in TEXTS], schema=schema)


@pytest.mark.parametrize("names", [("1", "2"), ("1.0", "2.0")])
@pytest.mark.parametrize("entrance", [csv, json_lines, frame, floats, pairs])
def test_a_listed_number_is_the_same_name_however_it_is_written(tmp_path, entrance, names):
    how = {"nominal": {"room": list(names)}, "classes": ["0", "1"]}
    stream = entrance(tmp_path / "rows.csv", how)
    X, y = stream.draw(100)
    assert (X[:, 0].tolist(), y.tolist()) == ([0, 0, 1, 1] * 10, [0, 0, 1, 1] * 10)
    assert stream.bad_rows.count == 0
    assert (stream.schema.features[0].values, stream.schema.classes) == (names, ("0", "1"))


def test_both_spellings_are_names_if_both_are_listed_or_names_are_not_listed(tmp_path):
    how = {"nominal": {"room": ["1", "1.0", "2", "2.0"]}, "classes": ["0", "0.0", "1", "1.0"]}
    X, _ = csv(tmp_path / "rows.csv", how).draw(4)
    assert X[:, 0].tolist() == [0, 1, 2, 3]
    open_names = csv(tmp_path / "rows.csv", {"nominal": ["room"]})
    assert len(open_names.schema.features[0].values) == 4
    encoder = Encoder(classes=["0", "1"])
    assert [encoder.encode({"x": 1}, y)[1] for y in ("1.0", 1.0, "0")] == [1, 1, 0]
    with pytest.raises(DataError, match=r"must be one of '1', '2'\. Got '3\.0'"):
        streams.from_frame(
            pd.DataFrame({"room": ["3.0"], "late": ["0"]}),
            target="late",
            nominal={"room": [1, 2]},
            on_bad_row="raise",
        ).draw(1)
