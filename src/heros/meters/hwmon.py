"""Energy from power sensors on the board, through Linux' hwmon files: Jetson's INA3221 and the like."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from heros.errors import HerosError, ParameterError
from heros.meters.carbon import Carbon
from heros.meters.machine import PowerMeter

__all__ = ["HWMON", "Hwmon"]

HWMON = Path("/sys/class/hwmon")
WHOLE = ("VDD_IN", "VIN_SYS_5V0", "POM_5V_IN", "VDD_5V_IN", "SYS_VIN", "total")
"""What sensors call the line that feeds the whole board; other lines are parts of it."""
SENSORS = ("ina", "ltc29", "pac19", "sbs")
"""How the names of chips begin that measure supply lines. Others (a GPU, a disk) measure themselves."""


@dataclass(frozen=True)
class _Line:
    name: str
    power: Path | None  # microwatts
    current: Path | None  # milliamperes,
    voltage: Path | None  # times millivolts

    def watts(self) -> float:
        if self.power is not None:
            return _number(self.power) / 1e6
        assert self.current is not None
        assert self.voltage is not None
        return _number(self.current) * _number(self.voltage) / 1e6


class Hwmon(PowerMeter):
    """The power of a supply line of the board, read ten times a second.

    It is the whole machine's, idle power included. Never seen on hardware by us: the tests read a Jetson
    Orin's and a Jetson Nano's files as documented.

    Parameters
    ----------
    line
        The name of the line. By default the one that feeds the whole board, where the board names it so.
    root
        Where the hwmon files are.
    carbon
        The carbon intensity; without one the bill has no CO2e.
    """

    source: ClassVar[str] = "hwmon"
    counter: ClassVar[str] = "A power sensor"

    def __init__(
        self,
        line: str | None = None,
        root: str | os.PathLike[str] = HWMON,
        carbon: Carbon | None = None,
    ) -> None:
        super().__init__(carbon)
        lines = {found.name: found for found in _lines(Path(root))}
        if not lines:
            raise HerosError(f"The hwmon meter needs a power sensor in {root}. Got none.")
        names = ", ".join(lines)
        if line is None:
            whole = [name for name in WHOLE if name in lines]
            if not whole and len(lines) > 1:
                raise HerosError(
                    f"The hwmon meter needs to know which line feeds the board: state `line`. Got {names}."
                )
            line = whole[0] if whole else names
        elif line not in lines:
            raise ParameterError.of("line", "Hwmon", f"one of {names}", line)
        self.line = line
        self._line = lines[line]
        self.watts()

    def watts(self) -> float:
        """The power drawn now."""
        return self._line.watts()

    def _how(self) -> str:
        return f"supply line {self.line}"


def _lines(root: Path) -> list[_Line]:
    """The supply lines of the board's sensors."""
    found = []
    for chip in sorted(root.glob("hwmon*")):
        try:
            name = (chip / "name").read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if name.startswith(SENSORS):
            found += _of(chip)
    return found


def _of(chip: Path) -> list[_Line]:
    lines = []
    for number in sorted({_channel(path) for path in chip.glob("*_input")}):
        power, current, voltage = (chip / f"{kind}{number}_input" for kind in ("power", "curr", "in"))
        label = next((chip / f"{kind}{number}_label" for kind in ("power", "in", "curr")
                      if (chip / f"{kind}{number}_label").exists()), None)  # fmt: skip
        name = label.read_text(encoding="utf-8").strip() if label else f"{chip.name} {number}"
        if power.exists():
            lines.append(_Line(name, power, None, None))
        elif current.exists() and voltage.exists() and "sum" not in name.lower():
            lines.append(_Line(name, None, current, voltage))
    return lines


def _channel(path: Path) -> int:
    match = re.search(r"(\d+)_input$", path.name)
    return int(match.group(1)) if match else 0


def _number(path: Path) -> int:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise HerosError(f"The hwmon meter needs a readable {path}. Got: {error}") from None
