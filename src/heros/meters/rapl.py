"""Energy from the counters of the CPU package (RAPL), through the powercap files or perf events of Linux."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from heros._base.errors import HerosError
from heros.meters.base import Meter
from heros.meters.energy import Carbon

POWERCAP = Path("/sys/class/powercap")
ZONES = ("package", "dram")
"""Other zones (core, uncore, psys) overlap with packages and would count energy twice."""
POWER = Path("/sys/bus/event_source/devices/power")
EVENTS = {"energy-pkg": "package", "energy-ram": "dram"}
"""The perf events of the zones that are counted."""
SYSCALLS = {"x86_64": 298, "aarch64": 241}
ATTRIBUTES = 128  # bytes of a perf_event_attr

_at_work = threading.Lock()


@dataclass
class Counter:
    """A hardware counter, and its increase since `start`."""

    name: str
    read: Callable[[], int]
    joules: float  # joules per count
    largest: int | None = None  # the counter restarts at 0 after this value; None if it never restarts
    last: int = 0
    counts: int = 0

    def start(self) -> None:
        """Start counting."""
        self.last, self.counts = self.read(), 0

    def sample(self) -> None:
        """Read the counter and add its increase since the last reading."""
        now = self.read()
        wrapped = 0 if self.largest is None or now >= self.last else self.largest + 1
        self.counts, self.last = self.counts + now - self.last + wrapped, now


class MachineMeter(Meter):
    """A meter of the whole machine, including idle power. No other program should run at the same time.

    A process cannot use two such meters at the same time, because each would measure the other's run.
    """

    whole_machine: ClassVar[bool] = True

    @abstractmethod
    def __init__(self, counters: Sequence[Counter], carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._counters = counters
        self._owns_meter = False

    def sample(self) -> None:
        """Read the counters. Between two calls, a counter may wrap around at most once."""
        for one in self._counters:
            one.sample()

    def abandon(self) -> None:
        if self._owns_meter:
            self._owns_meter = False
            _at_work.release()

    def _start(self) -> None:
        if not _at_work.acquire(blocking=False):
            raise HerosError(
                "RAPL measures the whole machine, so two runs cannot use it at the same time. Run "
                "them one after the other, or use the 'cpu' meter."
            )
        self._owns_meter = True
        try:
            for one in self._counters:
                one.start()
        except BaseException:
            self.abandon()
            raise

    def _stop(self, cpu_seconds: float) -> tuple[float, str]:
        try:
            self.sample()
        finally:
            self.abandon()
        spent = {one.name: one.counts * one.joules for one in self._counters}
        return sum(spent.values()), ", ".join(f"{name} {joules:.3g} J" for name, joules in spent.items())


class Rapl(MachineMeter):
    """The energy of all CPU packages and their memory, from hardware counters.

    The meter measures the whole machine, including idle power. No other program should run at the same time.
    A process cannot use two such meters at the same time.

    Parameters
    ----------
    root
        The directory of the powercap files.
    carbon
        The carbon intensity; without it, CO2e is not computed.
    """

    source: ClassVar[str] = "rapl"

    def __init__(self, root: str | os.PathLike[str] = POWERCAP, carbon: Carbon | None = None) -> None:
        super().__init__(_zones(Path(root)), carbon)
        for zone in self._counters:
            zone.read()


def _zones(root: Path) -> list[Counter]:
    """Return the counters of the CPU packages and of their memory; zones that are listed twice count once."""
    found: dict[Path, tuple[str, Counter]] = {}
    for path in sorted({*root.glob("intel-rapl:*"), *root.glob("intel-rapl:*/intel-rapl:*")}):
        try:
            name = (path / "name").read_text().strip()
            largest = int((path / "max_energy_range_uj").read_text())
        except (OSError, ValueError):
            continue
        if name.startswith(ZONES):
            counter = Counter(name, partial(_zone_count, path), 1e-6, largest)
            found.setdefault(path.resolve(), (path.name, counter))
    zones = dict(found.values())
    if not zones:
        why = "This directory has no counters (virtual machines do not provide counters)."
        raise HerosError(f"RAPL needs package counters in {root}. {why}")
    return [zones[name] for name in sorted(zones)]


def _zone_count(zone: Path) -> int:
    file = zone / "energy_uj"
    try:
        return int(file.read_text())
    except PermissionError:
        way = "Run as root, or use chmod a+r on this file."
        raise HerosError(f"RAPL needs permission to read {file}. {way}") from None
    except (OSError, ValueError) as error:
        raise HerosError(f"RAPL cannot read the file {file}. The error was: {error}") from None


class Perf(MachineMeter):
    """The counters of `Rapl`, read as perf events, for users who cannot read the powercap files.

    Access requires a value of at most 0 in `/proc/sys/kernel/perf_event_paranoid`, or the capability
    CAP_PERFMON.

    Parameters
    ----------
    root
        The directory that describes the events.
    carbon
        The carbon intensity; without it, CO2e is not computed.
    """

    source: ClassVar[str] = "perf"

    def __init__(self, root: str | os.PathLike[str] = POWER, carbon: Carbon | None = None) -> None:
        self._files: list[int] = []
        super().__init__(_events(Path(root), self._files), carbon)

    def __del__(self) -> None:
        for file in self._files:
            os.close(file)


def _events(root: Path, files: list[int]) -> list[Counter]:
    """Open one counter per event and package; append the file descriptor of each counter to `files`."""
    try:
        kind = int((root / "type").read_text(encoding="ascii"))
        processors = [int(first) for first in re.findall(r"(\d+)(?:-\d+)?", (root / "cpumask").read_text())]
    except (OSError, ValueError):
        raise HerosError(
            f"Perf events of RAPL need {root}, which does not exist (virtual machines do not provide it)."
        ) from None
    found: list[Counter] = []
    for event, name in EVENTS.items():
        path = root / "events" / event
        text = path.read_text(encoding="ascii") if path.exists() else ""
        if match := re.search(r"event=(0x[0-9a-f]+|\d+)", text):
            scale = float((root / "events" / f"{event}.scale").read_text(encoding="ascii"))
            for n, cpu in enumerate(processors):
                files.append(_opened(kind, int(match.group(1), 0), cpu))
                found.append(Counter(f"{name}-{n}", partial(_event_count, files[-1]), scale))
    if not found:
        needed = root / "events" / "energy-pkg"
        raise HerosError(f"Perf events of RAPL need the file {needed}, which does not exist.")
    return found


def _opened(kind: int, config: int, cpu: int) -> int:
    number = SYSCALLS.get(platform.machine())
    if number is None:
        known = ", ".join(SYSCALLS)
        raise HerosError(f"Perf events need one of the architectures {known}. Got {platform.machine()}.")
    attributes = struct.pack("IIQ", kind, ATTRIBUTES, config).ljust(ATTRIBUTES, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    file = libc.syscall(number, ctypes.c_char_p(attributes), -1, cpu, -1, ctypes.c_ulong(0))
    if file < 0:
        error = os.strerror(ctypes.get_errno())
        rule = "RAPL perf events need root privileges or perf_event_paranoid = 0."
        raise HerosError(f"{rule} The error was: {error}.")
    return int(file)


def _event_count(file: int) -> int:
    value: int = struct.unpack("q", os.read(file, 8))[0]
    return value
