"""A simulated feed: machines report their state, and some seconds later whether they failed."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["Machines"]

KINDS = ("pump", "fan", "press")


class Machines:
    """Readings of machines with delayed labels; the cause of failures changes from time to time.

    Parameters
    ----------
    rate
        Readings per second.
    change
        Seconds between changes of the concept.
    late
        The mean delay of a label in seconds; one label in fifty never arrives.
    seed
        The random seed of the feed.

    Examples
    --------
    >>> feed = Machines(rate=10, late=0.5)
    >>> events = [event for second in range(20) for event in feed.until(second)]
    >>> sorted(events[0][1]), sum(topic == "readings" for topic, _ in events)
    (['id', 'x'], 190)
    >>> 150 < sum(topic == "labels" for topic, _ in events) < 190
    True
    """

    def __init__(
        self, rate: float = 100.0, change: float = 40.0, late: float = 3.0, machines: int = 40, seed: int = 1
    ) -> None:
        self._rate, self._change, self._late = rate, change, late
        self._rng = np.random.default_rng(seed)
        self._kinds = self._rng.choice(KINDS, machines)
        self._wear = self._rng.random(machines)
        self._sent = 0
        self._due: list[tuple[float, int, str]] = []  # labels that have not arrived yet

    def until(self, now: float) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return the events up to a time in seconds after the start, as (topic, message) in order."""
        while self._sent < now * self._rate:
            at = self._sent / self._rate
            yield from self._labels(at)
            yield "readings", self._reading(at)
        yield from self._labels(now)

    def _labels(self, now: float) -> Iterator[tuple[str, dict[str, Any]]]:
        while self._due and self._due[0][0] <= now:
            _, id, label = heapq.heappop(self._due)
            yield "labels", {"id": id, "y": label}

    def _reading(self, now: float) -> dict[str, Any]:
        rng, id = self._rng, self._sent
        self._sent += 1
        machine = int(rng.integers(len(self._kinds)))
        self._wear[machine] = (self._wear[machine] + 0.002) % 1.0
        load, heat = rng.random(), 20 + 5 * math.sin(now / 20) + rng.normal()
        temperature = heat + 40 * load * (0.6 + self._wear[machine])
        vibration = abs(rng.normal(0.2 + 0.5 * self._wear[machine], 0.1))
        kind = str(self._kinds[machine])
        if rng.random() > 0.02:
            label = self._label(int(now / self._change), kind, temperature, vibration, load)
            heapq.heappush(self._due, (now + rng.exponential(self._late), id, label))
        x: dict[str, Any] = {"temperature": temperature, "vibration": vibration, "load": load, "kind": kind}
        return {"id": id, "x": {name: v if name == "kind" else round(float(v), 3) for name, v in x.items()}}

    def _label(self, concept: int, kind: str, temperature: float, vibration: float, load: float) -> str:
        """Return a label; the concepts are failure by heat, by wear and by load, depending on the kind."""
        rules = (
            temperature > (48 if kind == "pump" else 58),
            vibration > (0.35 if kind == "fan" else 0.55),
            (load > 0.5) != (kind == "press"),
        )
        fails = rules[concept % len(rules)]
        if self._rng.random() < 0.05:
            fails = not fails
        return "fails" if fails else "runs"
