"""The grid: all cells of the paper; it can be resumed after any failure."""

import os
import signal
import threading
import time
from dataclasses import dataclass, replace

import distributed
import numpy as np
import pytest
from typer.testing import CliRunner

import heros_paper as paper
from heros import DataError, HerosError, ParameterError, streams
from heros.policies import Cheapest, Random
from heros.run import records
from heros.run.executors import Dask, Processes
from heros.run.experiments import run_all
from heros_paper.cli import app

SYNTHETIC = ["agr_a", "agr_g", "rbf_f", "rbf_m", "led_a", "led_g"]


def results(directory):
    """Return the results of a grid, without costs."""
    table = records.load(directory)
    return table.select(["id", "n_instances", "auroc", "accuracy", "log_loss", "gamma_spent", "reward"])


def test_the_grid_is_the_papers():
    grid = paper.cells("mlp")
    assert len({cell.id for cell in grid}) == len(grid) == 11 * 13 * 3
    assert {(cell.pool.n_models, cell.k) for cell in grid} == {(50, 30)}
    assert {(cell.pool.n_models, cell.k) for cell in paper.cells("trees")} == {(50, 20)}
    assert grid[0].stream == "covtype"  # longest runs first
    assert all(-(-cell.instances // cell.window) <= 500 for cell in grid)


@pytest.mark.data
@pytest.mark.parametrize("name", paper.STREAMS)
def test_a_stream_is_as_long_as_the_grid_says(name, request):
    if name not in SYNTHETIC:
        request.getfixturevalue("real_data")  # skipped without the data
    assert streams.load(name).n_instances == paper.STREAMS[name].instances


def test_the_whole_grid_runs_in_small(tmp_path, thorough):
    """All policies and both base learners, on streams that need no data."""
    names = SYNTHETIC[::2] if thorough else SYNTHETIC[:1]
    grid = [cell for base in paper.BASES for cell in paper.cells(base, names, seeds=[1], n=150)]
    outcome = run_all(grid, tmp_path, executor=Processes(2))
    assert not outcome.failed
    assert len(outcome.done) == len(names) * 13 * len(paper.BASES)
    table = records.load(tmp_path)
    assert set(table["n_instances"].to_pylist()) == {150}
    assert np.isfinite(table["auroc"]).all()
    everything = [row for row in table.to_pylist() if row["policy"] == "everything"]
    assert all(row["gamma_share"] == pytest.approx(1) for row in everything)


def small_grid(n=400, seeds=(1, 2)):
    return paper.cells("trees", ["led_a", "agr_a"], [Random(), Cheapest()], seeds, n)


def test_a_stopped_grid_goes_on(tmp_path):
    grid = small_grid()
    run_all(grid[:3], tmp_path)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("record.json")}
    outcome = run_all(grid, tmp_path)
    assert (len(outcome.kept), len(outcome.done)) == (3, 5)
    assert all(path.stat().st_mtime_ns == when for path, when in written.items())


def test_a_broken_record_is_run_again(tmp_path):
    grid = small_grid(seeds=[1])
    run_all(grid, tmp_path)
    whole = results(tmp_path)
    (tmp_path / grid[0].id / "record.json").write_text('{"format": 1, "id"')
    (tmp_path / grid[1].id / "curves.parquet").unlink()
    outcome = run_all(grid, tmp_path)
    assert sorted(outcome.done) == sorted([grid[0].id, grid[1].id])
    assert results(tmp_path) == whole


def test_a_record_of_another_length_is_not_overwritten(tmp_path):
    run_all(small_grid(n=400), tmp_path)
    with pytest.raises(HerosError, match=r"must have 500 instances\. Got 400 instead"):
        run_all(small_grid(n=500), tmp_path)


@dataclass(frozen=True)
class Faulty:
    def choose(self, scores, costs, k, rng):
        raise ZeroDivisionError("on purpose")


def test_a_cell_that_fails_is_reported_and_the_rest_finished(tmp_path):
    grid = paper.cells("trees", ["led_a"], [Faulty(), Random()], [1], n=300)
    outcome = run_all(grid, tmp_path)
    (id,) = outcome.failed
    assert id == "led_a/trees50/faulty/k20/seed1"
    assert outcome.failed[id].reason == "ZeroDivisionError: on purpose"
    assert "in choose" in outcome.failed[id].details
    assert outcome.done == ("led_a/trees50/random/k20/seed1",)


def test_a_part_of_the_curves_may_be_kept(tmp_path):
    (cell,) = paper.cells("trees", ["led_a"], [Random()], [1], n=3000)
    cell = replace(cell, curve_window=300, span=(1000, 2100))
    run_all([cell], tmp_path)
    run = records.read(tmp_path / cell.id)
    assert run.curves.end.tolist() == [1200, 1500, 1800, 2100]
    assert run.n_instances == 3000


@pytest.mark.long
def test_dask_workers_give_the_same_and_one_of_them_may_be_killed(dask_cluster, tmp_path):
    grid = small_grid(n=4000)
    run_all(grid, tmp_path / "here")
    with distributed.Client(dask_cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
    killed = threading.Thread(target=kill_after_first_record, args=(victim, tmp_path / "dask"), daemon=True)
    killed.start()
    outcome = run_all(grid, tmp_path / "dask", executor=Dask(dask_cluster.scheduler_address))
    killed.join()
    assert len(outcome.done) == len(grid)
    assert results(tmp_path / "dask") == results(tmp_path / "here")


def kill_after_first_record(pid, directory):
    while not list(directory.rglob("record.json")):
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)


def heros(*words):
    return CliRunner().invoke(app, list(words))


def test_the_command_runs_a_part_of_the_grid_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [
        "run",
        "--base",
        "trees",
        "--streams",
        "led_a,agr_a",
        "--policies",
        "cand,zeta_0.05_0.2",
        "--n",
        "300",
    ]
    first = heros(*words, "--seeds", "1")
    assert first.exit_code == 0, first.output
    assert first.stdout == "4 run, 0 kept, 0 failed; records: paper/records-first-300/grid\n"
    assert heros(*words, "--seeds", "1,2").stdout.startswith("4 run, 4 kept, 0 failed")


def test_packed_cells_count_as_recorded(tmp_path):
    words = [
        "--base",
        "trees",
        "--streams",
        "led_a",
        "--seeds",
        "1",
        "--n",
        "300",
        "--records",
        str(tmp_path),
    ]
    assert heros("run", *words, "--policies", "cand").exit_code == 0
    assert heros("pack", "--records", str(tmp_path)).stdout == f"{tmp_path}/grid/records.parquet: 1 records\n"
    assert [path.name for path in (tmp_path / "grid").iterdir()] == ["records.parquet"]
    assert heros("run", *words, "--policies", "cand,random").stdout.startswith("1 run, 1 kept, 0 failed")
    assert heros("pack", "--records", str(tmp_path)).stdout == f"{tmp_path}/grid/records.parquet: 2 records\n"


def test_a_failed_cell_gives_exit_code_1(tmp_path, monkeypatch):
    monkeypatch.setenv("HEROS_DATA", str(tmp_path / "nothing"))

    def unreachable(*_):
        raise DataError("no network here")

    monkeypatch.setattr("heros.streams.load", unreachable)
    result = heros(
        "run", "--streams", "led_a", "--policies", "random", "--seeds", "1", "--records", str(tmp_path)
    )
    assert result.exit_code == 1
    assert "led_a/mlp50/random/k30/seed1 failed: DataError: no network here" in result.stderr
    assert "0 run, 0 kept, 2 failed" in result.stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--streams", "moon"], "The 'streams' parameter of cells must be one of airlines"),
        (
            ["--base", "forest"],
            "The 'base' parameter of cells must be one of mlp, trees. Got 'forest' instead.",
        ),
        (["--seeds", "one"], "The 'seeds' parameter of heros-paper run must be whole numbers, e.g. 1,2,3."),
        (["--engine", "ray"], "The 'engine' parameter of heros-paper run must be local or dask."),
        (["--scheduler", "tcp://x"], "The 'scheduler' parameter of heros-paper run must be left out"),
        (
            ["--policies", "cand,cand"],
            "The 'policies' parameter of cells must be policies with different names. Got 'cand'",
        ),
    ],
)
def test_mistakes_are_named(words, text):
    result = heros("run", *words)
    assert result.exit_code == 2
    assert text in result.stderr


def test_mistakes_in_code_are_named():
    with pytest.raises(ParameterError, match="The 'n' parameter of cells must be"):
        paper.cells(n=0)
