"""Edited or damaged records are rejected with a message of one line, or are harmless."""

import copy
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heros import DataError, DataNotice, Heros, evaluate, meters, pools, streams
from heros.run import records
from heros.run.report import write_report

MARKUP = '"><script>alert(1)</script>'
OTHERS = (
    None,
    -1,
    0,
    1.5,
    1e308,
    float("nan"),
    10**30,
    True,
    "x",
    MARKUP,
    [],
    {},
    [[1]],
    [None],
    {"a": MARKUP},
)
GONE = object()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a record with a value in every field: drifts, skipped rows, a carbon intensity."""
    directory = tmp_path_factory.mktemp("recorded")
    rows = "".join(f"{i % 7},{'ab'[i % 2]},{'no' if i % 3 else 'yes'}\n" for i in range(300))
    (directory / "rows.csv").write_text("x,c,y\n" + rows + "bad,a,no\n")
    stream = streams.read(directory / "rows.csv", on_bad_row="skip", numeric=["x"])
    meter = meters.Cpu(carbon=meters.Carbon.of(intensity=400))
    model = Heros(pools.MLP([{"hidden": 4}, {"hidden": 5}]), k=1, seed=1)
    with pytest.warns(DataNotice, match="Bad rows are skipped"):
        run = evaluate(model, stream, window=100, meter=meter)
    place = records.save(run, directory)
    document = json.loads((place / "record.json").read_text())
    document["stream"]["drifts"] = [{"position": 100, "width": 1}]
    assert document["stream"]["bad_rows"]["count"] == 1
    return document, (place / "curves.parquet").read_bytes(), pq.read_table(place / "curves.parquet")


def places(node, path=()) -> Iterator[tuple]:
    """Return all paths in a document; for lists, only the first and the last element."""
    if path:
        yield path
    keys = (
        list(node)
        if isinstance(node, dict)
        else sorted({0, len(node) - 1})
        if node and isinstance(node, list)
        else []
    )
    for key in keys:
        yield from places(node[key], (*path, key))


def changed(document, path, value):
    other = copy.deepcopy(document)
    node = other
    for key in path[:-1]:
        node = node[key]
    if value is GONE:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return other


def used(place: Path, page: Path) -> bool:
    """Return whether a record is read, listed and reported; False if it was rejected in one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = records.read(place)
            records.load(place)
            write_report(place, page)
    except DataError as refused:
        if "\n" in str(refused):
            raise
        return False
    assert np.isfinite(run.gamma_share)
    assert "<script" not in page.read_text()
    return True


def test_a_record_with_any_other_value_is_refused_or_harmless(recorded, tmp_path, thorough):
    document, curves, _ = recorded
    (tmp_path / "curves.parquet").write_bytes(curves)
    outcomes = []
    for i, path in enumerate(places(document)):
        two = (OTHERS[i % len(OTHERS)], OTHERS[(i + 5) % len(OTHERS)])
        for value in (GONE, *(OTHERS if thorough else two)):
            (tmp_path / "record.json").write_text(json.dumps(changed(document, path, value)))
            outcomes.append(used(tmp_path, tmp_path / "report.html"))
    assert len(outcomes) > (1000 if thorough else 300)
    assert 0.05 < np.mean(outcomes) < 0.6  # some fields accept any text


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("settings", "k"), MARKUP, f"an invalid 'settings/k': {MARKUP!r}."),
        (("results", "gamma_spent"), None, "an invalid 'results/gamma_spent': None."),
        (("trained",), [1], "1 values in 'trained' for 2 models."),
        (("measures", 0, "name"), "gone", "no value of 'gone'."),
        (("energy",), GONE, "no 'energy'."),
    ],
)
def test_what_is_wrong_is_named(recorded, tmp_path, path, value, text):
    document, curves, _ = recorded
    (tmp_path / "curves.parquet").write_bytes(curves)
    (tmp_path / "record.json").write_text(json.dumps(changed(document, path, value)))
    with pytest.raises(DataError) as error:
        records.read(tmp_path)
    assert str(error.value) == f"The record {tmp_path} is damaged: it has {text}"


def damaged_curves(table: pa.Table) -> Iterator[pa.Table]:
    for name in table.column_names:
        at = table.column_names.index(name)
        yield table.remove_column(at)
        for other in (
            pa.array(["x"] * len(table)),
            pa.array([None] * len(table), pa.float64()),
            pa.array([-1.0] * len(table)),
            pa.array([float("inf")] * len(table)),
            pa.array([[1.0]] * len(table)),
            pa.array([2**62] * len(table)),
        ):
            yield table.set_column(at, name, other)
    yield table.slice(0, 0)


def test_curves_with_other_columns_are_refused_or_harmless(recorded, tmp_path):
    document, _, table = recorded
    (tmp_path / "record.json").write_text(json.dumps(document))
    outcomes = []
    for other in damaged_curves(table):
        pq.write_table(other, tmp_path / "curves.parquet")
        outcomes.append(used(tmp_path, tmp_path / "report.html"))
    assert sum(outcomes) < len(outcomes) / 2


def test_json_that_is_too_deep_is_no_record(tmp_path):
    (tmp_path / "record.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"must have a readable record\.json"):
        records.details(tmp_path)
