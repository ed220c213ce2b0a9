"""Simulate a day of a stream: CO2e and AUROC if learning waits for a clean grid or for the next hour.

    python benchmarks/clean_hours.py

The instances of a stream arrive over 24 hours, ten times as many in the busiest hour as in the quietest.
On the day before, the model has learnt as many instances, evenly spread and without waiting. The current
model predicts every instance on arrival. The label is known immediately, and the model learns it when the
schedule allows (`heros.ensemble.schedule`). The time of day is simulated in steps of a minute. CPU time is
measured on this machine; energy is CPU time × 10 W. The intensity of the grid is lowest at 13:00 (160 g CO2e
per kWh) and highest at 19:30 (415 g). The hourly budget is the mean hourly energy of learning at once.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings

import numpy as np

from heros import Heros, measures, streams
from heros.ensemble.budget import SpendingLimit
from heros.ensemble.dial import Clock
from heros.ensemble.schedule import HOUR, Schedule
from heros.meters import CarbonSignal
from heros.meters.energy import JOULES_PER_KWH

STREAMS = ("electricity", "covtype", "airlines", "agr_a", "rbf_m")
PEAKS = ((13, 3.0, -140), (19.5, 2.5, 120), (7.5, 2.0, 60))  # hour, width and height
WATTS, MINUTE, BLOCK, DAYS = 10.0, 60.0, 256, 10


class Day(Clock):
    """A clock with the CPU time of this thread and a simulated time of day."""

    time = 0.0

    def now(self) -> float:
        """Return the simulated time."""
        return self.time


def grid() -> CarbonSignal:
    """Return the carbon intensity of each quarter of an hour."""
    return CarbonSignal(
        (
            quarter * HOUR / 4,
            300 + sum(h * math.exp(-(((quarter / 4 % 24 - at) / width) ** 2)) for at, width, h in PEAKS),
        )
        for quarter in range(DAYS * 96)
    )


def arrivals(n: int) -> np.ndarray:
    """Return the arrival times of n instances in seconds."""
    rng, hours = np.random.default_rng(1), np.arange(24)
    load = 5.5 - 4.5 * np.cos(2 * np.pi * (hours - 3) / 24)
    return np.sort(rng.choice(hours, n, p=load / load.sum()) * HOUR + rng.uniform(0, HOUR, n))


def simulated(name: str, n: int, budget: str | None, delay: float | None) -> dict[str, float]:
    """Return AUROC, grams of CO2e, CPU seconds, energy of the busiest hour and longest wait of a day."""
    stream = streams.load(name)
    X, y = stream.draw(2 * n)
    clock, signal = Day(), grid()
    model = Heros(budget=budget, seed=1, schema=stream.schema)
    if model.dial is not None:
        model.dial.clock = clock
    for start in range(0, n, BLOCK):
        clock.time = (start / n - 1) * 24 * HOUR
        model.learn(X[start : min(start + BLOCK, n)], y[start : min(start + BLOCK, n)])
    X, y, clock.time = X[n:], y[n:], 0.0
    n = len(y)
    limit = None if budget is None else SpendingLimit.of(budget, watts=WATTS)
    schedule = Schedule(
        limit, None if delay is None else signal, delay or 0.0, clock=clock, notify=lambda text: None
    )
    came = arrivals(n)
    auroc, predicted, learnt = measures.Auroc(), 0, 0
    by_hour, grams, waited = np.zeros(24 * DAYS), 0.0, 0.0
    while learnt < n:
        clock.time += MINUTE
        arrived = int(np.searchsorted(came, clock.time))
        if arrived > predicted:
            auroc.update(y[predicted:arrived], model.predict_proba(X[predicted:arrived]))
            predicted = arrived
        while learnt < predicted:
            schedule.start()
            allowed = schedule.allowed(min(BLOCK, predicted - learnt), came[learnt])
            if allowed == 0:
                break
            began = time.thread_time()
            model.learn(X[learnt : learnt + allowed], y[learnt : learnt + allowed])
            joules = WATTS * (time.thread_time() - began)
            schedule.note(allowed)
            by_hour[int(clock.time // HOUR)] += joules
            grams += joules * signal.at(clock.time) / JOULES_PER_KWH
            waited = max(waited, clock.time - came[learnt])
            learnt += allowed
    return {
        "AUROC": auroc.value,
        "joules": by_hour.sum(),
        "g/kWh": grams / by_hour.sum() * JOULES_PER_KWH,
        "busiest": by_hour.max(),
        "waited": waited / HOUR,
    }


def main() -> None:
    """Print the results of each day, and a table that compares the settings with learning at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--streams", nargs="+", default=STREAMS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    settings = {"at once": (False, None), "2 h": (False, 2), "6 h": (False, 6), "12 h": (False, 12)}
    settings |= {"budget": (True, None), "budget, 6 h": (True, 6)}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in settings}
    for stream in arguments.streams:
        limit = ""
        for name, (limited, hours) in settings.items():
            one = simulated(
                stream, arguments.n, limit if limited else None, None if hours is None else hours * HOUR
            )
            if not limit:
                limit = f"{one['joules'] / 24:.3g} J/h"
            at_once = found["at once"][-1] if found["at once"] and name != "at once" else one
            one["cleaner"] = 1 - one["g/kWh"] / at_once["g/kWh"]
            one["energy"] = one["joules"] / at_once["joules"]
            one["share"] = one["busiest"] / float(limit.split()[0])
            found[name].append(one)
            print(
                stream, name, limit, {key: round(float(value), 4) for key, value in one.items()}, flush=True
            )
    headings = ["learning", *arguments.streams, "g CO2e per kWh", "energy", "busiest hour", "longest wait"]
    print(f"| {' | '.join(headings)} |")
    print("|---|" + "---|" * (len(arguments.streams) + 4))
    for name, some in found.items():
        mean = {key: float(np.mean([one[key] for one in some])) for key in some[0]}
        aurocs = " | ".join(f"{one['AUROC']:.4f}".removeprefix("0") for one in some)
        busiest, waited = max(one["share"] for one in some), max(one["waited"] for one in some)
        grid_cells = f"{mean['g/kWh']:.0f} (−{mean['cleaner']:.0%}) | {mean['energy']:.2f}"
        print(f"| {name} | {aurocs} | {grid_cells} | {busiest:.2f} | {waited:.1f} h |")


if __name__ == "__main__":
    main()
