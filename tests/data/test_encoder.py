"""The encoder: rows one by one and columns of a table give the same codes, and a bad row changes nothing."""

import random

import numpy as np
import pyarrow as pa
import pytest

from heros.data.codes import Codes
from heros.data.columns import NameColumn
from heros.data.encoder import Encoder
from heros.data.schema import Feature, Schema
from heros.data.values import Refused


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
    assert encoder.encode({"a": None}, "no", grow=False) is None  # it was never missing before


def test_a_schema_that_is_known_is_all_that_is_known():
    encoder = Encoder()
    encoder.encode({"z": 1}, "other")
    schema = Schema((Feature("a", None, True), Feature("b", ("x", "y"))), ("no",))
    encoder.know(schema)
    assert encoder.schema is schema
    assert encoder.encode({"b": "z"}, "yes")[1] == 1
    assert encoder.schema.extends(schema)


def test_names_have_codes_in_the_order_they_came():
    codes = Codes("b")
    assert [codes.add(name) for name in "cab"] == [1, 2, 0]
    assert list(codes) == ["b", "c", "a"]
