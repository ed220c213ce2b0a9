"""One vocabulary: rows one by one, columns of a table and River's dictionaries give the same codes."""

import random

import numpy as np
import pyarrow as pa
import pytest

from heros.data.schema import Feature, Schema
from heros.data.columns import NominalColumn
from heros.data.values import Refused
from heros.vocabulary import Codes, Vocabulary


def test_rows_and_columns_give_the_same_codes():
    rng = random.Random(1)
    values = [rng.choice([None, "a", "b", "c", 1, 2.0, True]) for _ in range(200)]
    vocabulary, column = Vocabulary(nominal=["v"]), NominalColumn("v")
    rows = [vocabulary.encode({"v": value, "one": 1}, "x")[0] for value in values]
    as_text = [None if value is None else str(int(value)) if value == 2.0 else str(value) for value in values]
    codes, _ = column.convert(pa.array(as_text))
    j = [feature.name for feature in vocabulary.schema.features].index("v")
    np.testing.assert_array_equal([row[j] if j < len(row) else np.nan for row in rows], codes)
    assert tuple(column.values) == vocabulary.schema.features[j].values


def test_nothing_is_known_of_an_instance_that_breaks_a_rule():
    vocabulary = Vocabulary()
    vocabulary.encode({"a": 1, "b": "x"}, "no")
    before = vocabulary.schema
    for features in ({"a": 2, "b": "new", "c": float("inf")}, {"c": 1, "a": "x"}, {"b": "y", "a": 10**400}):
        with pytest.raises(Refused):
            vocabulary.encode(features, "new")
    assert vocabulary.schema is before


def test_what_is_missing_and_unknown_is_nothing_new():
    vocabulary = Vocabulary()
    vocabulary.encode({"a": 1}, "no")
    assert vocabulary.encode({"a": 2, "b": None, "c": float("nan")}, "no", grow=False) == ([2], 0)
    assert vocabulary.look_up({"a": None}) == (pytest.approx([np.nan], nan_ok=True), True)
    assert vocabulary.encode({"a": None}, "no", grow=False) is None  # it was never missing before


def test_a_schema_that_is_learnt_is_all_that_is_known():
    vocabulary = Vocabulary()
    vocabulary.encode({"z": 1}, "other")
    schema = Schema((Feature("a", None, True), Feature("b", ("x", "y"))), ("no",))
    vocabulary.learn(schema)
    assert vocabulary.schema is schema
    assert vocabulary.encode({"b": "z"}, "yes", started=True)[1] == 1
    assert vocabulary.schema.extends(schema)


def test_names_have_codes_in_the_order_they_came():
    codes = Codes("b")
    assert [codes.add(name) for name in "cab"] == [1, 2, 0]
    assert list(codes) == ["b", "c", "a"]
