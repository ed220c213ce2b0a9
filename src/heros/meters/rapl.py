"""Energy from the counters of the CPU package: RAPL, through Linux' powercap files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from heros.errors import HerosError
from heros.meters.carbon import Carbon
from heros.meters.machine import MachineMeter

__all__ = ["POWERCAP", "Rapl"]

POWERCAP = Path("/sys/class/powercap")
COUNTED = ("package", "dram")
"""Other zones (core, uncore) are parts of a package, or (psys) hold packages: they would count twice."""


@dataclass
class _Zone:
    name: str
    path: Path
    range: int  # after this value the counter restarts at 0
    last: int = 0
    microjoules: int = 0

    def read(self) -> int:
        try:
            return int((self.path / "energy_uj").read_text())
        except PermissionError:
            raise HerosError(
                f"RAPL needs permission to read {self.path / 'energy_uj'} (root, or chmod a+r). Got none."
            ) from None
        except (OSError, ValueError) as error:
            raise HerosError(f"RAPL needs a readable {self.path / 'energy_uj'}. Got: {error}") from None

    def sample(self) -> None:
        now = self.read()
        self.microjoules += now - self.last if now >= self.last else now - self.last + self.range + 1
        self.last = now


class Rapl(MachineMeter):
    """The energy of all CPU packages and their memory, as the hardware counts it.

    It counts the whole machine, including idle power: nothing else should be running. A second meter at the
    same time in one process is refused: each would count the other's run.

    Parameters
    ----------
    root
        The directory of the powercap files.
    carbon
        The carbon intensity; without one there is no CO2e.
    """

    source: ClassVar[str] = "rapl"
    counter: ClassVar[str] = "RAPL"

    def __init__(self, root: str | os.PathLike[str] = POWERCAP, carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._zones = _zones(Path(root))
        for zone in self._zones:
            zone.read()

    def sample(self) -> None:
        """Read the counters often enough that they wrap around at most once in between."""
        for zone in self._zones:
            zone.sample()

    def _begin(self) -> None:
        for zone in self._zones:
            zone.last, zone.microjoules = zone.read(), 0

    def _end(self) -> tuple[float, str]:
        self.sample()
        parts = (f"{zone.name} {zone.microjoules / 1e6:.3g} J" for zone in self._zones)
        return sum(zone.microjoules for zone in self._zones) / 1e6, ", ".join(parts)


def _zones(root: Path) -> list[_Zone]:
    """The zones of packages and their memory, each once, although nested zones are listed twice."""
    found: dict[Path, _Zone] = {}
    for path in sorted({*root.glob("intel-rapl:*"), *root.glob("intel-rapl:*/intel-rapl:*")}):
        try:
            name = (path / "name").read_text().strip()
            size = int((path / "max_energy_range_uj").read_text())
        except (OSError, ValueError):
            continue
        if name.startswith(COUNTED):
            found.setdefault(path.resolve(), _Zone(name, path, size))
    zones = {zone.path.name: zone for zone in found.values()}
    if not zones:
        raise HerosError(f"RAPL needs package counters in {root}. Got none (a virtual machine has none).")
    return [zones[name] for name in sorted(zones)]
