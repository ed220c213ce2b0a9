"""The cost of metering: the meter readings of a run, as a share of its CPU time.

The clock of the phases is part of the compiled loop and cannot be removed, so this script computes an upper
bound of its cost: a number of readings per step, each as slow as Python's reading of the same clock. The
readings per window are timed directly.
"""

from __future__ import annotations

import argparse
import time
from timeit import timeit

from heros import Heros, HerosError, evaluate, meters, pools, streams

LAPS = 6  # maximum number of readings of the phase clock per step
READS = 10_000


def seconds_per_lap() -> float:
    return timeit(time.perf_counter_ns, number=READS) / READS


def seconds_per_window(model: Heros, meter: meters.Meter) -> float:
    meter.start()
    try:
        look = timeit(lambda: (meter.sample(), model.cpu_seconds, time.thread_time()), number=READS // 10)
    finally:
        meter.abandon()
    return look / (READS // 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=50_000, help="instances of agr_a")
    n = parser.parse_args().n
    for name in meters.Meter.names():
        try:
            meter = meters.Meter.of(name)
        except HerosError as error:
            print(f"{name}: left out. {error}")
            continue
        model = Heros(pools.Paper(), seed=1)
        started = time.process_time()
        run = evaluate(model, streams.load("agr_a").take(n), meter=meter, progress=False)
        spent = time.process_time() - started
        laps, looks = seconds_per_lap() * LAPS * n, seconds_per_window(model, meter) * n / run.window
        gap = abs(run.cpu_seconds / spent - 1)
        print(
            f"{name}: {n:,} instances, {spent:.2f} CPU seconds; phases at most {laps / spent:.2%}, "
            f"readings {looks / spent:.3%}; the phases add up to the process's CPU time within {gap:.2%}"
        )


if __name__ == "__main__":
    main()
