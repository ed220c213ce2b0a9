"""The paper's eleven streams."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heros import DataError, ParameterError, streams
from heros.streams.named import class_counts
from heros.streams.paper_datasets import REAL

MOA = json.loads((Path(__file__).parents[1] / "data" / "moa_named.json").read_text())
SIZES = {  # instances, nominal, numeric, share of the largest class in percent
    "airlines": (539_383, 4, 3, 55.46),
    "electricity": (45_312, 1, 7, 57.55),
    "wisdm": (5_418, 1, 44, 38.41),
    "covtype": (581_012, 44, 10, 48.76),
    "nomao": (34_465, 29, 89, 71.44),
}


@pytest.mark.parametrize("name", MOA)
def test_a_synthetic_stream_is_moas(name):
    """Exactly equal; with Gaussian draws, labels are equal and values differ in the last bits of a logarithm."""
    stream = streams.load(name)
    exact = "sha256" in MOA[name]
    digest = hashlib.sha256()
    sums = np.zeros(stream.schema.n_features)
    counts = np.zeros(stream.schema.n_classes, dtype=np.int64)
    for X, y in stream.blocks():
        digest.update((np.column_stack([X, y]) if exact else y).tobytes())
        sums += X.sum(axis=0)
        counts += np.bincount(y, minlength=len(counts))
    assert counts.tolist() == MOA[name]["class_counts"]
    assert digest.hexdigest() == MOA[name]["sha256" if exact else "labels_sha256"]
    if not exact:
        np.testing.assert_allclose(sums / 1_000_000, MOA[name]["means"], rtol=0, atol=1e-9)
    assert stream.position == stream.n_instances == 1_000_000


@pytest.mark.matrix(most=2)
@pytest.mark.data
@pytest.mark.parametrize("name", MOA)
def test_a_synthetic_stream_has_moas_rows_and_names(name, reference_streams):
    about = json.loads((reference_streams / f"{name}.json").read_text())
    table = pq.read_table(reference_streams / f"{name}.parquet")
    stream = streams.load(name)
    schema = stream.schema
    assert [*(feature.name for feature in schema.features), "class"] == about["columns"]
    nominal = {feature.name: list(feature.values) for feature in schema.features if feature.nominal}
    assert {**nominal, "class": list(schema.classes)} == about["nominal"]
    rows = np.concatenate([np.column_stack(block) for block in stream.blocks(1 << 16)])
    expected = np.column_stack([table[column].to_numpy() for column in about["columns"]])
    np.testing.assert_array_equal(rows[table["row"].to_numpy(), -1], expected[:, -1])
    tolerance = 1e-9 if name.startswith("rbf") else 0
    np.testing.assert_allclose(rows[table["row"].to_numpy()], expected, rtol=0, atol=tolerance)


def test_where_the_concept_changes_is_known():
    assert streams.load("led_a").drifts == tuple(
        streams.DriftPoint(p, 1) for p in (250_000, 500_000, 750_000)
    )
    assert {drift.width for drift in streams.load("agr_g").drifts} == {50_000}
    assert streams.load("rbf_f").drifts == ()


@pytest.mark.parametrize(("name", "width"), [("agr_a", 1), ("agr_g", 5000)])
def test_a_shorter_stream_has_all_its_drifts(name, width):
    stream = streams.load(name, length=100_000)
    assert (stream.n_instances, stream.name) == (100_000, name)
    assert stream.drifts == tuple(streams.DriftPoint(p, width) for p in (25_000, 50_000, 75_000))
    expected = streams.Agrawal(2)
    for at, function in ((25_000, 4), (50_000, 6), (75_000, 8)):
        expected = streams.Drift(expected, streams.Agrawal(function), at, width)
    for found, array in zip(stream.draw(200_000), expected.draw(100_000), strict=True):
        np.testing.assert_array_equal(found, array)


def test_a_longer_stream_without_drift_points_only_goes_on():
    X, _ = streams.load("rbf_m", length=3000).draw(5000)
    np.testing.assert_array_equal(X, streams.load("rbf_m").draw(3000)[0])


@pytest.mark.parametrize("length", [0, -5, 1.5, "many"])
def test_a_length_is_a_count(length):
    with pytest.raises(ParameterError) as error:
        streams.load("agr_a", length=length)
    assert str(error.value) == (
        f"The 'length' parameter of load must be a whole number >= 1. Got {length!r} instead."
    )


@pytest.mark.data
def test_the_length_of_a_real_stream_is_that_of_its_beginning(real_data):
    stream = streams.load("electricity", length=1000)
    assert (stream.n_instances, stream.name) == (1000, "electricity")
    np.testing.assert_array_equal(stream.draw(5000)[0], streams.load("electricity").draw(1000)[0])


@pytest.mark.data
@pytest.mark.parametrize("name", SIZES)
def test_a_real_stream_has_its_rows_features_and_classes(name, real_data):
    instances, nominal, numeric, largest = SIZES[name]
    stream = streams.load(name)
    assert (stream.name, stream.n_instances) == (name, instances)
    counts, features = class_counts(stream), stream.schema.features
    found = sum(feature.nominal for feature in features)
    assert (sum(counts), found, len(features) - found) == (instances, nominal, numeric)
    assert round(100 * max(counts) / sum(counts), 2) == largest
    assert dict(zip(stream.schema.classes, counts, strict=True)) == REAL[name].class_counts


@pytest.mark.matrix(most=2)
@pytest.mark.data
@pytest.mark.parametrize("name", SIZES)
def test_a_real_stream_has_the_values_of_its_file(name, real_data, rows):
    stream = streams.load(name)
    schema = stream.schema  # known before the first row is read, including missing values
    found = rows(stream, 1000)
    table = pq.read_table(real_data / f"{name}.parquet")
    for j, column in enumerate(table.column_names):
        values = table[column].combine_chunks()
        if hasattr(values, "indices"):
            names = schema.classes if column == "class" else schema.features[j].values
            expected = np.array([names.index(value) for value in values.dictionary.to_pylist()])[
                values.indices
            ]
        else:
            expected = values.to_numpy(zero_copy_only=False).astype(float)
        np.testing.assert_array_equal(found[:, j], expected)
    missing = [feature.name for feature in schema.features if feature.missing]
    assert missing == (["XPEAK", "YPEAK", "ZPEAK"] if name == "wisdm" else [])
    assert stream.schema == schema


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError) as error:
        streams.load("mnist")
    assert str(error.value) == (
        "The 'name' parameter of load must be one of agr_a, agr_g, led_a, led_g, rbf_f, rbf_m, "
        "airlines, electricity, wisdm, covtype, nomao, deliveries. Got 'mnist' instead."
    )


def test_a_copy_with_other_content_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HEROS_DATA", str(tmp_path))
    pq.write_table(pa.table({"a": [1.0, 2.0], "class": ["UP", "DOWN"]}), tmp_path / "electricity.parquet")
    with pytest.raises(DataError) as error:
        streams.load("electricity")
    assert str(error.value) == (
        f"{tmp_path / 'electricity.parquet'} must hold the stream 'electricity' with 45,312 rows, 1 "
        f"nominal and 7 numeric features, and the classes ['UP', 'DOWN']. Got 2 rows, 0 nominal and 1 "
        f"numeric features, and the classes ['DOWN', 'UP'] instead."
    )
