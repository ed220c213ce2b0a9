"""Learning within the energy of each hour, and when the grid is clean; the test turns the clock."""

from __future__ import annotations

import math
import os
import shutil
import warnings
from functools import partial

import numpy as np
import pytest

from heros import Heros, evaluate, pools, streams
from heros.ensemble import schedule as schedules
from heros.ensemble.budget import SpendingLimit
from heros.ensemble.dial import Clock
from heros.ensemble.schedule import Schedule, expect_delay
from heros.errors import DataError, ParameterError, WaitNotice
from heros.meters import CarbonSignal, Cpu
from heros.streams.live import END, IDLE

HOUR = 3600.0
START = 500_000 * HOUR
STREAM = streams.Agrawal(function=2)
LIMIT = SpendingLimit.of("100 J/h", watts=10.0)  # 10 CPU seconds an hour


class Killed(BaseException):
    """Like kill -9: no handler deals with it, and the files are what they were at that moment."""


class Simulated(Clock):
    """A clock that the test turns. It adds up the CPU seconds of each hour, also those of killed processes."""

    def __init__(self, time=START):
        self.time, self.seconds, self.by_hour = time, 0.0, {}

    def now(self):
        return self.time

    def cpu(self):
        return self.seconds

    def sleep(self, seconds):
        self.time += seconds

    def work(self, seconds):
        """Spend CPU time, which also takes time of the day."""
        hour = int(self.time // HOUR)
        self.by_hour[hour] = self.by_hour.get(hour, 0.0) + seconds
        self.seconds += seconds
        self.time += seconds


class Queue:
    """A queue of instances with times of arrival. Reading and learning an instance costs CPU time."""

    def __init__(self, clock, X, y, arrivals, price, end):
        self.schema, self.name = STREAM.schema, "queue"
        self.clock, self.X, self.y, self.arrivals, self.price, self.end = clock, X, y, arrivals, price, end
        self.at, self.learnt_at, self.kills, self.on_kill = 0, np.zeros(len(y)), iter(()), None
        self.next_kill = math.inf

    def poll(self, most, timeout=None):
        if self.clock.time >= self.next_kill:
            self.clock.work(sum(self.price() for _ in range(most)))  # spent on a block that is lost
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
        self.clock.work(0.005)  # a process that resumes has to load its model


def day(seed=1, n=20_000):
    """A day of arrivals: ten times as many at the busiest hour as at the quietest one."""
    rng = np.random.default_rng(seed)
    hours = np.arange(24)
    load = 5.5 - 4.5 * np.cos(2 * np.pi * (hours - 3) / 24)
    hour = np.sort(rng.choice(hours, n, p=load / load.sum()))
    return START + np.sort(hour * HOUR + rng.uniform(0, HOUR, n))


def grid():
    """A day of intensities: 500 g/kWh at most, 100 g/kWh at noon and at three in the morning."""
    hours = np.arange(0, 36)
    return [
        (START + h * HOUR, 300 + 150 * math.cos(2 * math.pi * (h - 18) / 24) + 50 * math.cos(math.pi * h / 6))
        for h in hours
    ]


def model(budget="100 J/h"):
    return Heros(pools.NaiveBayesGrid(), budget=budget, seed=1, schema=STREAM.schema)


@pytest.fixture
def turned(monkeypatch):
    """Let `evaluate` use a clock that the test turns."""
    clock = Simulated()
    monkeypatch.setattr(schedules, "Clock", lambda: clock)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a kill leaves the cache of the system as it is
    monkeypatch.setattr(SpendingLimit, "of", partial(SpendingLimit.of, watts=10.0))
    return clock


def simulated(clock, directory, kills, carbon, budget, seed=1, delay="6h", n=20_000):
    """Run a day of the queue with kills; return the run, the queue and the model."""
    rng = np.random.default_rng(seed)
    X, y = STREAM.draw(n)
    STREAM.restart()

    def price():  # an instance costs 2 to 6 ms, sometimes 20
        return rng.choice([0.002, 0.004, 0.006, 0.02], p=[0.4, 0.4, 0.19, 0.01])

    queue = Queue(clock, X, y, day(seed, n), price, START + 24 * HOUR)
    queue.kills = iter(np.sort(START + rng.uniform(0, 24 * HOUR, kills)).tolist())
    queue.next_kill = next(queue.kills, math.inf)
    place, killed = directory / "0", 0
    while True:
        after = directory / str(killed + 1)

        def on_kill(place=place, after=after):
            if place.exists():
                shutil.copytree(place, after)

        queue.on_kill, queue.at = on_kill, 0
        learner = model(budget)
        try:
            run = evaluate(
                learner, queue, checkpoint=place, resume=True, every=500, keep=2, carbon=carbon, carbon_delay=delay,
                window=500, predictions=True, meter=Cpu(10.0), progress=False,
            )  # fmt: skip
        except Killed:
            killed += 1
            place = after
        else:
            assert killed == kills
            return run, queue, learner


@pytest.mark.filterwarnings("ignore::heros.errors.WaitNotice")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.matrix(most=2)
@pytest.mark.parametrize("carbon", [True, False])
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_day_with_fifty_kills_exceeds_no_hour_and_loses_no_instance(turned, tmp_path, carbon, seed):
    run, queue, learner = simulated(turned, tmp_path, 50, grid() if carbon else None, "50 J/h", seed)
    assert run.n_instances == learner.instances == len(queue.y)
    assert np.array_equal(run.predictions.targets, queue.y)  # each instance once, in order
    assert max(turned.by_hour.values()) <= 1.01 * 5.0
    assert sorted(turned.by_hour.values())[-6] > 0.95 * 5.0  # busy hours use their budget
