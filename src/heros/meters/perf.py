"""RAPL through Linux perf events, for users who cannot read the powercap files."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
from functools import partial
from pathlib import Path
from typing import ClassVar

from heros._base.errors import HerosError
from heros.meters.energy import Carbon
from heros.meters.machine import Counter, MachineMeter

POWER = Path("/sys/bus/event_source/devices/power")
COUNTED = {"energy-pkg": "package", "energy-ram": "dram"}
"""Other events (cores, gpu, psys) overlap with packages and would count energy twice."""
SYSCALLS = {"x86_64": 298, "aarch64": 241}
ATTRIBUTES = 128  # bytes of a perf_event_attr


class Perf(MachineMeter):
    """The energy of all CPU packages and their memory, from hardware counters read as perf events.

    The counters are those of `Rapl`. Access requires a value of at most 0 in
    `/proc/sys/kernel/perf_event_paranoid`, or the capability CAP_PERFMON.

    Parameters
    ----------
    root
        The directory that describes the events.
    carbon
        The carbon intensity; without it, CO2e is not computed.
    """

    source: ClassVar[str] = "perf"
    counter: ClassVar[str] = "RAPL"

    def __init__(self, root: str | os.PathLike[str] = POWER, carbon: Carbon | None = None) -> None:
        self._files: list[int] = []
        super().__init__(_counters(Path(root), self._files), carbon)

    def __del__(self) -> None:
        for file in self._files:
            os.close(file)


def _counters(root: Path, files: list[int]) -> list[Counter]:
    """Open one counter per event and package, and add its file to `files`."""
    try:
        kind = int((root / "type").read_text(encoding="ascii"))
        processors = [int(first) for first in re.findall(r"(\d+)(?:-\d+)?", (root / "cpumask").read_text())]
    except (OSError, ValueError):
        raise HerosError(
            f"Perf events of RAPL need {root}, which does not exist (virtual machines do not provide it)."
        ) from None
    found: list[Counter] = []
    for event, name in COUNTED.items():
        path = root / "events" / event
        if not path.exists():
            continue
        match = re.search(r"event=(0x[0-9a-f]+|\d+)", path.read_text(encoding="ascii"))
        if match is None:
            continue
        scale = float((root / "events" / f"{event}.scale").read_text(encoding="ascii"))
        for n, cpu in enumerate(processors):
            files.append(_opened(kind, int(match.group(1), 0), cpu))
            found.append(Counter(f"{name}-{n}", partial(_read, files[-1]), scale))
    if not found:
        raise HerosError(f"Perf events of RAPL need energy-pkg in {root / 'events'}, which does not exist.")
    return found


def _opened(kind: int, config: int, cpu: int) -> int:
    number = SYSCALLS.get(platform.machine())
    if number is None:
        raise HerosError(f"Perf events need one of {', '.join(SYSCALLS)}. Got {platform.machine()}.")
    attributes = struct.pack("IIQ", kind, ATTRIBUTES, config).ljust(ATTRIBUTES, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    file = libc.syscall(number, ctypes.c_char_p(attributes), -1, cpu, -1, ctypes.c_ulong(0))
    if file < 0:
        error = os.strerror(ctypes.get_errno())
        raise HerosError(f"Perf events of RAPL need root or perf_event_paranoid 0. Got: {error}.")
    return int(file)


def _read(file: int) -> int:
    value: int = struct.unpack("q", os.read(file, 8))[0]
    return value
