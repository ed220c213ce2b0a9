"""Learning within an hourly energy budget, and when the grid is clean; the test controls the clock."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from heros import DataError, Heros, HerosError, ParameterError, WaitNotice, evaluate, pools, streams
from heros.ensemble import schedule as schedules
from heros.ensemble.budget import SpendingLimit
from heros.ensemble.schedule import Schedule, expect_delay
from heros.meters import CarbonSignal, Cpu, carbon_signal
from heros.streams.live import END, IDLE
from test_ensemble import equal_state
from turned_clock import HOUR, START, Simulated, grid

STREAM = streams.Agrawal(function=2)
LIMIT = SpendingLimit.of("50 J/h", watts=10.0)  # 5 CPU seconds per hour
WATTS = SpendingLimit.of("1 J/h").watts


class Killed(BaseException):
    """Raised in place of kill -9: no handler catches it, and files keep their current state."""


class Queue:
    """A queue of instances with arrival times. Reading and learning an instance costs CPU time."""

    def __init__(self, clock, X, y, arrivals, price, end):
        self.schema, self.name = STREAM.schema, "queue"
        self.clock, self.X, self.y, self.arrivals, self.price, self.end = clock, X, y, arrivals, price, end
        self.at, self.learnt_at = 0, np.zeros(len(y))
        self.kills, self.on_kill, self.next_kill = iter(()), None, math.inf

    def poll(self, most, timeout=None):
        if self.clock.time >= self.next_kill:
            self.clock.work(sum(self.price() for _ in range(most)))  # CPU time for a block that is lost
            self.next_kill = next(self.kills, math.inf)
            self.on_kill()
            raise Killed
        there = int(np.searchsorted(self.arrivals, self.clock.time, side="right"))
        n = min(most, there - self.at)
        if n <= 0:
            if self.clock.time >= self.end and self.at == len(self.y):
                return END
            self.clock.work(1e-4)
            self.clock.time += 20.0
            return IDLE
        start, self.at = self.at, self.at + n
        self.learnt_at[start : self.at] = self.clock.time
        self.clock.work(sum(self.price() for _ in range(n)))
        return self.X[start : self.at], self.y[start : self.at]

    def where(self):
        return {"at": self.at}

    def seek(self, where):
        self.at = where["at"]
        self.clock.work(0.005)  # a resumed process has to load its model


def day(seed=1, n=6000):
    """Return the arrivals of a day: ten times as many in the busiest hour as in the quietest one."""
    rng = np.random.default_rng(seed)
    hours = np.arange(24)
    load = 5.5 - 4.5 * np.cos(2 * np.pi * (hours - 3) / 24)
    assert load.max() / load.min() == pytest.approx(10)
    return START + np.sort(rng.choice(hours, n, p=load / load.sum()) * HOUR + rng.uniform(0, HOUR, n))


def model(budget):
    return Heros(pools.NaiveBayesGrid(), budget=budget, seed=1, schema=STREAM.schema)


@pytest.fixture
def turned(monkeypatch):
    """Make `evaluate` use a clock that the test controls."""
    clock = Simulated()
    monkeypatch.setattr(schedules, "Clock", lambda: clock)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a kill does not lose the system's file cache
    monkeypatch.setattr(SpendingLimit, "of", partial(SpendingLimit.of, watts=10.0))
    return clock


def queue_of(clock, seed=1, n=6000):
    """Return a queue whose instances cost 8 to 22 ms of CPU time, some of them 40 ms."""
    rng = np.random.default_rng(seed)
    X, y = STREAM.draw(n)
    STREAM.restart()

    def price():
        return rng.choice([0.008, 0.015, 0.022, 0.04], p=[0.4, 0.4, 0.19, 0.01])

    return Queue(clock, X, y, day(seed, n), price, START + 24 * HOUR)


def run_of(learner, queue, place, carbon, delay="6h"):
    return evaluate(
        learner, queue, checkpoint=place, resume=True, every=500, keep=2, carbon=carbon, carbon_delay=delay,
        window=500, predictions=True, meter=Cpu(10.0), progress=False,
    )  # fmt: skip


def simulated(clock, directory, kills, carbon, budget, seed):
    """Run a day of the queue with kills, after which only files on disk remain."""
    queue, rng = queue_of(clock, seed), np.random.default_rng(seed + 100)
    queue.kills = iter(np.sort(START + rng.uniform(0, 24 * HOUR, kills)).tolist())
    queue.next_kill, place, killed = next(queue.kills), directory / "0", 0
    while True:
        after = directory / str(killed + 1)
        queue.on_kill, queue.at = partial(shutil.copytree, place, after), 0
        learner = model(budget)
        try:
            run = run_of(learner, queue, place, carbon)
        except Killed:
            killed, place = killed + 1, after
        else:
            assert killed == kills
            return run, queue, learner


@pytest.mark.filterwarnings("ignore::heros.WaitNotice")
@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("carbon", [True, False])
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_day_with_fifty_kills_exceeds_no_hour_and_loses_no_instance(turned, tmp_path, carbon, seed):
    run, queue, learner = simulated(turned, tmp_path, 50, grid() if carbon else None, "50 J/h", seed)
    assert run.n_instances == learner.instances == len(queue.y)
    assert np.array_equal(run.predictions.targets, queue.y)  # each instance once, in order
    assert max(turned.by_hour.values()) <= 1.01 * 5.0
    assert sorted(turned.by_hour.values())[-6] > 0.95 * 5.0  # busy hours use up their budgets


@pytest.mark.filterwarnings("ignore::heros.WaitNotice")
def test_no_instance_waits_for_longer_than_the_delay_and_less_carbon_is_emitted(turned, tmp_path):
    at_once = queue_of(turned, n=5000)
    alone = model(None)
    evaluate(alone, at_once, progress=False)
    turned.time = START
    queue, learner = queue_of(turned, n=5000), model(None)
    run = run_of(learner, queue, tmp_path, grid(), "4h")
    signal_of_day = CarbonSignal(grid())
    emitted = [np.mean([signal_of_day.at(t) for t in one.learnt_at]) for one in (at_once, queue)]
    assert emitted[1] < 0.9 * emitted[0]
    waited = queue.learnt_at - queue.arrivals
    assert 0.9 * 4 * HOUR < waited.max() <= 4 * HOUR + 60  # at most the delay plus the time to catch up
    assert equal_state(learner, alone)  # waiting does not change the training result
    assert run.energy.carbon.grams_per_kwh == pytest.approx(emitted[1], rel=0.05)


def test_a_wait_is_told_once_and_ends_with_the_hour(turned, tmp_path):
    queue = queue_of(turned, n=2000)
    queue.arrivals[:] = queue.end = START
    with pytest.warns(
        WaitNotice, match="Training is delayed until .*: the budget of this hour, 50 J, is spent"
    ) as told:
        run = run_of(model("50 J/h"), queue, tmp_path, None)
    waits = [one for one in told if issubclass(one.category, WaitNotice)]
    hours = sorted(turned.by_hour)
    assert len(waits) == len(hours) - 1 > 0
    assert run.n_instances == 2000
    assert all(turned.by_hour[hour] <= 1.01 * 5.0 for hour in hours)


def test_ctrl_c_while_learning_waits_ends_the_run_with_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(schedules, "SHARE", 1.0)
    learner = Heros(pools.NaiveBayesGrid(), budget="0.1 J/h", seed=1)
    pressed = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    pressed.start()
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = evaluate(learner, streams.Agrawal(), checkpoint=tmp_path, every=10**6, progress=False)
    assert time.monotonic() - began < 30  # learning does not wait for the next hour
    assert run.interrupted
    assert run.n_instances == learner.instances > 0
    assert len(list(tmp_path.glob("checkpoint-*.heros"))) == 1


def test_a_restarted_process_knows_what_the_hour_has_cost(tmp_path):
    clock, path = Simulated(), tmp_path / "schedule.json"
    first = Schedule(LIMIT, path=path, clock=clock, notify=print)
    while n := first.allowed(100):
        clock.work(0.01 * n)
        first.note(n)
    again = Schedule(LIMIT, path=path, clock=clock, notify=print)
    assert again.allowed(100) == 0
    assert again.wait.until == START + HOUR
    clock.time += HOUR
    assert again.allowed(100) > 0


def test_a_clock_that_is_set_back_repeats_no_hour_and_one_that_was_wrong_stops_nothing():
    clock = Simulated()
    schedule = Schedule(LIMIT, clock=clock, notify=print)
    while n := schedule.allowed(100):
        clock.work(0.01 * n)
        schedule.note(n)
    clock.time -= 0.5 * HOUR
    assert schedule.allowed(100) == 0
    assert schedule.wait.until == START + HOUR
    clock.time -= 100 * HOUR
    assert schedule.allowed(100) > 0


def test_an_instance_that_is_dearer_than_an_hour_is_learnt_once_an_hour():
    clock, learnt = Simulated(), []
    schedule = Schedule(LIMIT, clock=clock, notify=lambda text: None)
    schedule.price = 0.1
    for _ in range(5):
        while n := schedule.allowed(100):
            clock.work(7.0 * n)
            schedule.note(n)
            learnt.append(n)
        clock.time = schedule.wait.until
    assert learnt == [1] * 5


def test_a_state_that_is_damaged_is_a_clear_error(tmp_path):
    path = tmp_path / "schedule.json"
    whole = dict.fromkeys(schedules.NUMBERS, 1)
    wrong = [json.dumps(whole | {name: n}) for name in whole for n in (-1, math.nan, 1e308, 10**400, "1")]
    for text in ("", "{", "[]", "[" * 100_000, '{"hour": 1}', *wrong):
        path.write_text(text)
        with pytest.raises(DataError, match=r"schedule.json cannot be read"):
            Schedule(LIMIT, path=path)


@pytest.mark.parametrize("name", schedules.NUMBERS)
def test_a_state_with_the_largest_number_stops_nothing(tmp_path, name):
    path, clock = tmp_path / "schedule.json", Simulated()
    path.write_text(json.dumps(dict.fromkeys(schedules.NUMBERS, 0) | {name: schedules.MOST}))
    schedule = Schedule(LIMIT, CarbonSignal(grid()), HOUR, path=path, clock=clock, notify=print)
    for _ in range(3):
        schedule.allowed(10)
        schedule.note(1)
        assert schedule.pause >= 0
        clock.time += HOUR
    schedule.close()


def test_a_disk_that_is_full_is_told_once_and_learning_goes_on(tmp_path, monkeypatch):
    def full(*_, **__):
        raise HerosError("No space is left.")

    clock, told = Simulated(), []
    schedule = Schedule(LIMIT, path=tmp_path / "schedule.json", clock=clock, notify=told.append)
    monkeypatch.setattr(schedules, "write_whole", full)
    for _ in range(20):
        n = schedule.allowed(100)
        clock.work(0.01 * n)
        schedule.note(n)
    assert told == ["No space is left. If the process is killed, the budget of this hour may be exceeded."]


# -- the carbon intensity of the grid -----------------------------------------------------------------------


def test_a_signal_that_ends_is_told_and_learning_goes_on(tmp_path):
    path, told = tmp_path / "grid.csv", []
    path.write_text("time,g/kWh\n1970-01-01T00:00Z,400\n1970-01-01T01:00Z,100\n")
    clock = Simulated(0.0)
    schedule = Schedule(None, CarbonSignal(path, told.append), 6 * HOUR, clock=clock, notify=told.append)
    assert schedule.allowed(10) == 0
    assert schedule.wait.until == HOUR
    clock.time = HOUR
    assert schedule.allowed(10) == 10
    clock.time = 2 * HOUR
    assert [schedule.allowed(10) for _ in range(3)] == [10] * 3
    assert len(told) == 2
    assert (
        "is known only from 1970-01-01 00:00 UTC to 1970-01-01 02:00 UTC. Training continues without a current"
        in told[1]
    )
    path.write_text("time,g/kWh\n7200,300\n10800,200\n")  # the next values
    clock.time += 100
    assert schedule.allowed(10) == 0
    path.write_text("not a table")
    clock.time += 100
    assert schedule.allowed(10) == 0  # the known values are kept
    assert "Row 1 of" in told[-1] or "at least one" in told[-1]


def test_no_instance_waits_longer_because_the_clock_was_ahead_when_it_came():
    clock = Simulated()
    signal = CarbonSignal(
        [(START + i * HOUR, 500 - i) for i in range(200)], lambda text: None
    )  # cleaner and cleaner
    schedule = Schedule(None, signal, 6 * HOUR, clock=clock, notify=lambda text: None)
    assert schedule.allowed(10, since=START + 100 * HOUR) == 0
    clock.time += 6 * HOUR
    assert schedule.allowed(10) == 10


def test_a_url_that_cannot_be_reached_stops_nothing():
    told = []
    signal_of_url = CarbonSignal("http://127.0.0.1:9/grid.json?key=SECRET", told.append)
    schedule = Schedule(None, signal_of_url, HOUR, clock=Simulated(), notify=told.append)
    assert schedule.allowed(10) == 10
    assert told[0].startswith("http://127.0.0.1:9/… returned no carbon intensity")
    assert "SECRET" not in f"{told}{schedule.carbon}{signal_of_url.name}"


def test_a_url_gives_pairs():
    class Grid(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps([["2026-11-18T10:00:00+01:00", 300], [1792315200, 100.5]]).encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Grid)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        found = CarbonSignal(f"http://127.0.0.1:{server.server_port}/grid")
    finally:
        server.shutdown()
        server.server_close()
    assert found.at(1792315200) == 100.5


@pytest.mark.parametrize("head", ["HTTP/1.1 200 OK\r\nx-slow: ", "HTTP/1.1 200 OK\r\n\r\n", ""])
def test_a_url_that_never_ends_its_reply_keeps_no_thread(monkeypatch, head):
    """Single bytes from time to time are not a reply: the thread reads the grid again later."""
    monkeypatch.setattr(carbon_signal, "LONGEST", 0.5)
    told, stopped = [], threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip():
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(head.encode())
                while not stopped.wait(0.05):
                    connection.sendall(b"1")

        threading.Thread(target=drip, daemon=True).start()
        began = time.monotonic()
        signal_of_url = CarbonSignal(f"http://127.0.0.1:{server.getsockname()[1]}/grid", told.append)
        signal_of_url._thread.join(5)
        stopped.set()
    assert not signal_of_url._thread.is_alive()
    assert time.monotonic() - began < 5
    assert "returned no carbon intensity: No complete reply arrived within 0.5 seconds. Training" in told[0]


def test_a_reply_that_breaks_off_is_not_used():
    told = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def cut():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\n1792315200,30")

        threading.Thread(target=cut, daemon=True).start()
        found = CarbonSignal(f"http://127.0.0.1:{server.getsockname()[1]}/grid", told.append)
    assert found.at(1792315200) is None
    assert "The reply is incomplete." in told[0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("time,grams\nyesterday,3\n", "Row 1 .* must be a time .* and a carbon intensity in g CO2e per kWh"),
        ("0,3\n3600,-1\n", "Row 2"), ("0,nan\n", "Row 1"), ("", "at least one row"), ('{"a": 1}', "a list of pairs"),
        ("[[0, 1], [2]]", "Row 2"), ("[", "CSV or JSON"), ("time,grams\n1795011763000,3\n", "seconds since 1970"),
        ("x" * 200_000, "CSV or JSON|at least one row"), ("[" * 100_000, "CSV or JSON"),
    ],
)  # fmt: skip
def test_a_file_without_times_and_intensities_is_a_clear_error(tmp_path, text, fault):
    path = tmp_path / "grid.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=fault):
        CarbonSignal(path)


def test_wrong_settings_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"without a user name. Got 'http://grid.example/…' instead"):
        CarbonSignal("http://me:SECRET@grid.example/now")
    with pytest.raises(ParameterError, match="'carbon' parameter of CarbonSignal must be a file or URL"):
        evaluate(model(None), STREAM.take(10), carbon=tmp_path / "none.csv")
    with pytest.raises(
        ParameterError, match=r"'carbon_delay' parameter of evaluate must be a time, e\.g\. '6h'"
    ):
        evaluate(model(None), STREAM.take(10), carbon=grid(), carbon_delay="soon")
    assert [expect_delay(text) for text in ("6h", "90", "15 min", "2d", 5)] == [21600, 90, 900, 172800, 5]


def test_real_cpu_time_is_held_within_the_hour(tmp_path):
    learner = Heros(pools.NaiveBayesGrid(), budget=f"{3 * WATTS} J/h", seed=1)
    began, hour = time.thread_time(), int(time.time() // HOUR)

    class Rested(BaseException):
        pass

    def rest(self, seconds):
        raise Rested

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(schedules.Clock, "sleep", rest)
        with pytest.raises(Rested):
            evaluate(learner, streams.Agrawal(), checkpoint=tmp_path, every=5000, exact=False, progress=False)
    if int(time.time() // HOUR) == hour:  # otherwise a part of the block belongs to the previous hour
        assert 0.9 * 3 < time.thread_time() - began < 1.1 * 3
        assert json.loads((tmp_path / "schedule.json").read_text())["spent"] == pytest.approx(3, rel=0.01)


@pytest.mark.long
def test_kill_9_gives_a_run_no_second_hour(tmp_path):
    """A real `heros run` is killed three times; its last start waits when the hour's energy is spent."""
    began = int(time.time() // HOUR)
    command = [
        sys.executable,
        "-m",
        "heros",
        "run",
        "agr_a",
        "--pool",
        "bayes",
        "--budget",
        f"{WATTS} J/h",
    ]
    command += ["--checkpoint", str(tmp_path), "--every", "2000", "--resume"]
    learnt = [0]
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            _until(lambda: _learnt(tmp_path) > learnt[-1])  # a new checkpoint exists
            process.kill()
        learnt.append(_learnt(tmp_path))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert any("Training is delayed until" in line for line in process.stderr)
        process.kill()
    if int(time.time() // HOUR) == began:
        assert json.loads((tmp_path / "schedule.json").read_text())["spent"] == pytest.approx(1, rel=0.05)
    assert sorted(set(learnt)) == learnt  # no start repeats the work of an earlier start


def _learnt(directory):
    """Return the number of instances in the newest checkpoint of a run."""
    found = [int(re.search(r"\d+", path.stem)[0]) for path in directory.glob("*.heros")]
    return max(found, default=0)


def _until(happened, seconds=60):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)
