"""Executors: every item is run, even if workers die."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import distributed
import pytest

from executors.work import always_die, die_once, fail, kill_or_name, note_and_name, square
from heros import HerosError, ParameterError
from heros.run import executors
from heros.run.executors import Dask, Executor, Processes, Serial, WorkerDied

pytestmark = pytest.mark.filterwarnings("ignore:.*leaked.*", "ignore::ResourceWarning")


def wait_for(true):
    limit = time.monotonic() + 30
    while not true():
        assert time.monotonic() < limit, "nothing happened for half a minute"
        time.sleep(0.01)


@pytest.mark.matrix(most=3)
@pytest.mark.parametrize("engine", [Serial(), Processes(2), Dask(jobs=2)], ids=["here", "processes", "dask"])
def test_every_item_gives_its_result(engine):
    assert isinstance(engine, Executor)
    assert sorted(engine.results(square, [3, 1, 2])) == [(0, 9), (1, 1), (2, 4)]


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("engine", [Processes(2), Dask(jobs=2)], ids=["processes", "dask"])
def test_the_items_of_a_killed_worker_are_run_again(engine, tmp_path):
    paths = [tmp_path / name for name in "abcd"]
    for path in paths[1:]:
        path.touch()  # only the first attempt kills the process
    assert sorted(engine.results(die_once, paths)) == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]


@pytest.mark.long
def test_results_that_die_with_their_worker_before_they_are_fetched_are_made_again(dask_cluster, tmp_path):
    paths = [tmp_path / name for name in "abcd"]
    results = Dask(dask_cluster.scheduler_address).results(note_and_name, paths)
    first = next(results)
    wait_for(lambda: all(path.exists() for path in paths))
    time.sleep(0.2)  # the scheduler gets the results after the files exist
    with distributed.Client(dask_cluster) as client:
        workers = client.run(os.getpid)
    for pid in workers.values():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: workers.keys().isdisjoint(dask_cluster.scheduler.workers))
    time.sleep(0.1)  # the scheduler notices lost items later, too
    assert sorted([first, *results]) == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]


@pytest.mark.matrix(most=2)
@pytest.mark.parametrize("engine", [Serial(), Processes(2), Dask(jobs=2)], ids=["here", "processes", "dask"])
def test_an_error_of_the_work_is_raised_as_it_is(engine):
    with pytest.raises(ZeroDivisionError, match="item 7"):
        list(engine.results(fail, [7]))


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("engine", [Processes(2), Dask(jobs=2)], ids=["processes", "dask"])
def test_an_item_that_kills_every_worker_is_given_up(engine, tmp_path):
    (result,) = (result for _, result in engine.results(always_die, [tmp_path / "log"]))
    assert isinstance(result, WorkerDied)
    assert Path(tmp_path / "log").read_text() == "xxx"


def test_only_the_item_that_kills_is_given_up(tmp_path):
    names = ["kill", "a", "b", "c"]
    found = dict(Processes(2).results(kill_or_name, names))
    assert isinstance(found.pop(0), WorkerDied)
    assert found == {1: "a", 2: "b", 3: "c"}


ORPHANS = """
import os, sys, time
from pathlib import Path
from heros.run import executors
from heros.run.executors import Dask, Processes

def work(name):
    Path(name).write_text(str(os.getpid()))
    time.sleep(300)

if __name__ == "__main__":
    list({engine}.results(work, ["one", "two"]))
"""


@pytest.mark.matrix(most=2)
@pytest.mark.parametrize(
    ("engine", "ends_by"),
    [
        ("Processes(2)", signal.SIGKILL),
        ("Processes(2)", signal.SIGTERM),
        ("Processes(2)", signal.SIGINT),
        ("Dask(jobs=2)", signal.SIGKILL),
    ],
)
def test_the_workers_end_with_the_process_that_started_them(engine, ends_by, tmp_path):
    (tmp_path / "script.py").write_text(ORPHANS.format(engine=engine))
    with subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True
    ) as parent:
        try:
            files = [tmp_path / "one", tmp_path / "two"]
            wait_for(lambda: all(path.exists() and path.read_text() for path in files))
            workers = [int(path.read_text()) for path in files]
            parent.send_signal(ends_by)  # only to this worker
            parent.wait(30)
            wait_for(lambda: not any(alive(pid) for pid in workers))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)


def alive(pid):
    """Return whether a process is running; a zombie process is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(executors, "PATIENCE", 0.5)
    with pytest.raises(
        HerosError, match=r"The address tcp://127.0.0.1:9 must belong to a running dask scheduler"
    ):
        list(Dask("tcp://127.0.0.1:9").results(square, [1]))


def test_jobs_are_checked():
    with pytest.raises(ParameterError, match="The 'jobs' parameter of Dask must be"):
        Dask(jobs=0)
    with pytest.raises(ParameterError, match="The 'jobs' parameter of Processes must be"):
        Processes(jobs=0)
