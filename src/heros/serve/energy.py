"""The energy used by a service, including the energy used before its last restart."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from heros._base.parameters import number
from heros.meters import Cpu, Meter

LATELY = 30.0  # seconds over which the power is averaged


class Bill:
    """The total energy of a service and its power over the last 30 seconds.

    Examples
    --------
    >>> bill = Bill(Cpu(watts=15, process=True))
    >>> bill.start()
    >>> reading = bill.read()
    >>> reading["joules"] == 15 * reading["cpu_seconds"], reading["source"], reading["basis"]
    (True, 'cpu-model', 'modelled')
    """

    def __init__(self, meter: Meter | None = None) -> None:
        self.meter = Cpu(process=True) if meter is None else meter
        self._earlier = {"joules": 0.0, "cpu_seconds": 0.0, "wall_seconds": 0.0}
        self._lately: deque[tuple[float, float]] = deque()

    def start(self) -> None:
        """Start the meter."""
        self.meter.start()

    def resume(self, document: Mapping[str, float]) -> None:
        """Add the energy and time that an earlier process stored in a checkpoint."""
        self._earlier = {name: number(document[name], name, "Bill", 0) for name in self._earlier}

    def document(self) -> dict[str, float]:
        """Return the energy and time used so far, for a checkpoint."""
        now = self.meter.so_far()
        return {name: getattr(now, name) + earlier for name, earlier in self._earlier.items()}

    def read(self) -> dict[str, Any]:
        """Return the energy and time used so far, and the power over the last 30 seconds."""
        spent, now = self.document(), time.monotonic()
        self._lately.append((now, spent["joules"]))
        while now - self._lately[0][0] > LATELY:
            self._lately.popleft()
        then, joules = self._lately[0]
        watts = (spent["joules"] - joules) / (now - then) if now - then > 0.5 else None
        return {**spent, "watts": watts, "source": self.meter.source, "basis": self.meter.basis}
