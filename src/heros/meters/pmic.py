"""Energy of a Raspberry Pi 5, from its power management chip."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import ClassVar

from heros.errors import HerosError
from heros.meters.carbon import Carbon
from heros.meters.machine import PowerMeter

__all__ = ["Pmic", "rails"]

COMMAND = ("vcgencmd", "pmic_read_adc")
LINE = re.compile(r"^\s*(\w+)_([AV])\b.*=\s*([0-9.]+)[AV]\s*$")


def rails(text: str) -> dict[str, float]:
    r"""The watts of every rail of which the chip says both current and voltage.

    Examples
    --------
    >>> rails("  VDD_CORE_A current(7)=2.0A\n  VDD_CORE_V volt(15)=0.75V\n  EXT5V_V volt(24)=5.1V")
    {'VDD_CORE': 1.5}
    """
    found: dict[str, dict[str, float]] = {}
    for match in filter(None, map(LINE.match, text.splitlines())):
        name, kind, value = match.groups()
        found.setdefault(name, {})[kind] = float(value)
    return {name: pair["A"] * pair["V"] for name, pair in found.items() if len(pair) == 2}


def _ask() -> str:
    try:
        return subprocess.run(COMMAND, check=True, capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise HerosError(f"The pmic meter needs {' '.join(COMMAND)} (Raspberry Pi 5). Got: {error}") from None


class Pmic(PowerMeter):
    """The power of all rails of a Raspberry Pi 5's power management chip, read twice a second.

    The board and what is plugged into it draw more: the chip's own losses, USB and fans are not on its
    rails. Never seen on hardware by us: the tests read what the chip says as documented.

    Parameters
    ----------
    ask
        Gives what the chip says. By default `vcgencmd pmic_read_adc` does.
    carbon
        The carbon intensity; without one the bill has no CO2e.
    """

    source: ClassVar[str] = "pmic"
    counter: ClassVar[str] = "The PMIC"
    every: ClassVar[float] = 0.5

    def __init__(self, ask: Callable[[], str] = _ask, carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._ask = ask
        self.watts()

    def watts(self) -> float:
        """The power drawn now."""
        found = rails(self._ask())
        if not found:
            raise HerosError("The pmic meter needs currents and voltages of rails. Got none.")
        self._rails = len(found)
        return sum(found.values())

    def _how(self) -> str:
        return f"{self._rails} rails of the PMIC, without its losses"
