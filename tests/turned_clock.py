"""A clock that the test controls, and a simulated day of the grid."""

from __future__ import annotations

import math

from heros.ensemble.dial import Clock

HOUR = 3600.0
START = 500_000 * HOUR


class Simulated(Clock):
    """A clock that the test controls. It sums the CPU seconds of each hour, including those of killed processes."""

    def __init__(self, time=START):
        self.time, self.seconds, self.by_hour = time, 0.0, {}

    def now(self):
        return self.time

    def cpu(self):
        return self.seconds

    def sleep(self, seconds):
        self.time += seconds

    def work(self, seconds):
        """Spend CPU time, which also advances the time of day."""
        hour = int(self.time // HOUR)
        self.by_hour[hour] = self.by_hour.get(hour, 0.0) + seconds
        self.seconds += seconds
        self.time += seconds


def grid(hours=36):
    """Return intensities as on a grid with solar power: lowest at 13:00, highest at 7:00 and 19:00."""
    peaks = ((13, 3.0, -140), (19.5, 2.5, 120), (7.5, 2.0, 60))
    return [
        (
            START + h * HOUR,
            300 + sum(height * math.exp(-(((h % 24 - at) / width) ** 2)) for at, width, height in peaks),
        )
        for h in range(hours)
    ]
