"""Packed records: they are complete, and are found under the same paths."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heros import DataError, Heros, HerosError, evaluate, policies, pools, streams
from heros.run import records
from heros.run.records import pack
from heros.run.report import write_report


def run_of(seed, hidden=(8,), n=600):
    pool = pools.MLPGrid(hidden=list(hidden), optimizers=["adam"], learning_rates=[0.05, 0.005])
    return evaluate(Heros(pool, policies.Cand(), 1, seed=seed), streams.load("agr_a").take(n), window=100)


@pytest.fixture(scope="module")
def runs():
    return [run_of(1), run_of(2), run_of(1, hidden=(8, 4))]


@pytest.fixture
def saved(runs, tmp_path):
    """Records that differ in the columns, the widths and the precision of their curves."""
    return [
        records.save(run, tmp_path, compact=compact)
        for run, compact in zip(runs, [False, True, False], strict=True)
    ]


def as_written(place):
    return (place / "record.json").read_text(encoding="utf-8"), pq.read_table(place / "curves.parquet")


def bits(table):
    return sorted(
        (name, str(column.type).replace("element", "item"), column.to_pylist().__repr__())
        for name, column in zip(table.column_names, table.columns, strict=True)
    )


def test_a_packed_record_says_bit_for_bit_what_it_said(saved, tmp_path):
    before = [as_written(place) for place in saved]
    table, places = records.load(tmp_path), records.find(tmp_path)
    assert pack(tmp_path) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["records.parquet"]
    for place, (text, curves) in zip(saved, before, strict=True):
        assert records.exists(place)
        assert records.text_at(place) == text
        assert records.details(place) == json.loads(text)
        assert bits(records.curves_at(place)) == bits(curves)
        assert records.read(place).auroc == json.loads(text)["results"]["auroc"]
    assert records.find(tmp_path) == places
    assert records.load(tmp_path) == table


def test_nan_in_curves_is_packed(runs, tmp_path):
    run = run_of(3)
    run.curves.auroc[:2] = np.nan
    place = records.save(run, tmp_path)
    pack(tmp_path)
    np.testing.assert_array_equal(records.read(place).curves.auroc, run.curves.auroc)


def test_a_file_or_a_part_of_it_is_read_like_a_directory(saved, tmp_path):
    pack(tmp_path)
    table = records.load(tmp_path)
    assert records.load(tmp_path / "records.parquet") == table
    assert records.find(saved[0].parent) == saved[:2]  # seed1, seed2
    assert records.find(saved[1]) == [saved[1]]
    assert write_report(tmp_path, tmp_path / "report.html") == 3


def test_the_plain_columns_are_for_everybody(saved, tmp_path):
    table = records.load(tmp_path)
    pack(tmp_path)
    assert pq.read_table(tmp_path / "records.parquet", columns=table.column_names) == table.sort_by("id")


def test_a_record_made_anew_goes_before_the_packed_one_and_then_takes_its_place(saved, runs, tmp_path):
    pack(tmp_path)
    with pytest.raises(HerosError, match=r"seed1 already exists; use force=True to replace it"):
        records.save(runs[0], tmp_path)
    longer = run_of(1, n=800)
    assert records.save(longer, tmp_path, force=True) == saved[0]
    assert records.read(saved[0]).n_instances == 800
    assert len(records.find(tmp_path)) == 3
    assert pack(tmp_path) == 3
    assert records.read(saved[0]).n_instances == 800
    assert records.read(saved[1]).n_instances == 600
    assert not saved[0].exists()


def test_packing_again_changes_nothing(saved, tmp_path):
    pack(tmp_path)
    before = (tmp_path / "records.parquet").read_bytes()
    assert pack(tmp_path) == 3
    assert (tmp_path / "records.parquet").read_bytes() == before


def test_what_a_kill_left_of_a_replaced_record_does_not_come_back(saved, tmp_path):
    shutil.copytree(saved[0], saved[0].with_name(".seed1.abc.old"))
    pack(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["records.parquet"]


def test_a_broken_record_stops_packing_and_stays(saved, tmp_path):
    (saved[1] / "curves.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"The record .*seed2 cannot be read: "):
        pack(tmp_path)
    assert all(place.is_dir() for place in saved)


def test_a_broken_file_is_named_and_anothers_is_left_alone(runs, tmp_path):
    path = tmp_path / "records.parquet"
    path.write_bytes(b"not a table")
    with pytest.raises(DataError, match=r"records.parquet cannot be read as a table of records: "):
        records.load(tmp_path)
    pq.write_table(pa.table({"id": ["mine"]}), path)
    assert records.find(tmp_path) == []
    place = records.save(runs[0], tmp_path)
    assert records.find(tmp_path) == [place]
    with pytest.raises(
        HerosError, match=r"records.parquet must be a table of records. Got another Parquet file."
    ):
        pack(tmp_path)


def test_a_record_is_not_a_directory_of_records(saved):
    with pytest.raises(HerosError, match=r"is a record\. Pass a directory that contains records\."):
        pack(saved[0])
