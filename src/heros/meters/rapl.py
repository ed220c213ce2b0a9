"""Energy from the counters of the CPU package (RAPL), through the powercap files of Linux."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import ClassVar

from heros._base.errors import HerosError
from heros.meters.energy import Carbon
from heros.meters.machine import Counter, MachineMeter

POWERCAP = Path("/sys/class/powercap")
COUNTED = ("package", "dram")
"""Other zones (core, uncore, psys) overlap with packages and would count energy twice."""


class Rapl(MachineMeter):
    """The energy of all CPU packages and their memory, from hardware counters.

    The meter measures the whole machine, including idle power: no other work should be running. A process
    cannot use two such meters at the same time.

    Parameters
    ----------
    root
        The directory of the powercap files.
    carbon
        The carbon intensity; without it, CO2e is not computed.
    """

    source: ClassVar[str] = "rapl"
    counter: ClassVar[str] = "RAPL"

    def __init__(self, root: str | os.PathLike[str] = POWERCAP, carbon: Carbon | None = None) -> None:
        super().__init__(_zones(Path(root)), carbon)
        for zone in self._counters:
            zone.read()


def _zones(root: Path) -> list[Counter]:
    """Return the zones of packages and their memory, each once; the directory lists nested zones twice."""
    found: dict[Path, tuple[str, Counter]] = {}
    for path in sorted({*root.glob("intel-rapl:*"), *root.glob("intel-rapl:*/intel-rapl:*")}):
        try:
            name = (path / "name").read_text().strip()
            largest = int((path / "max_energy_range_uj").read_text())
        except (OSError, ValueError):
            continue
        if name.startswith(COUNTED):
            found.setdefault(path.resolve(), (path.name, Counter(name, partial(_read, path), 1e-6, largest)))
    zones = dict(found.values())
    if not zones:
        why = "which has none (virtual machines do not provide them)"
        raise HerosError(f"RAPL needs package counters in {root}, {why}.")
    return [zones[name] for name in sorted(zones)]


def _read(zone: Path) -> int:
    file = zone / "energy_uj"
    try:
        return int(file.read_text())
    except PermissionError:
        raise HerosError(f"RAPL needs permission to read {file} (run as root, or chmod a+r).") from None
    except (OSError, ValueError) as error:
        raise HerosError(f"RAPL needs a readable {file}. Got: {error}") from None
