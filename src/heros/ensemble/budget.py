"""Budgets of time, energy or power, parsed from a string such as "20 us", "0.4 mJ" or "500 J/h"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from heros._base.errors import ParameterError
from heros.meters.cpu import core_watts

RULE = "a CPU time or an energy per instance, e.g. '20 us' or '0.4 mJ', or a power, e.g. '5 W' or '500 J/h'"
LEAST, MOST = 1e-15, 1e15  # in seconds, joules or watts
PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3}
PERIODS = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0}
NUMBER = r"\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
TEXT = re.compile(rf"\s*({NUMBER})\s*([numkµμ]?)(s|J|W)(?:(?<=J)\s*/\s*(s|min|h|day))?\s*")

Kind = Literal["time", "energy", "power"]


@dataclass(frozen=True)
class SpendingLimit:
    """The maximum that a model may spend: CPU time or energy per instance, or power.

    Energy is CPU time × the watts of a busy core, as in `heros.meters.Cpu`.

    Examples
    --------
    >>> SpendingLimit.of("2 ms").seconds, SpendingLimit.of("0.4 mJ", watts=10).seconds
    (0.002, 4e-05)
    >>> SpendingLimit.of("500 J/h").kind, SpendingLimit.of("5 W", watts=10).shown(0.25)
    ('power', '2.5 W')
    """

    text: str  # the budget as the user wrote it
    kind: Kind  # "time" and "energy" are per instance; "power" is per second of wall-clock time
    amount: float  # the amount in seconds, joules or watts
    watts: float  # the power of a busy core

    @classmethod
    def of(cls, text: str, watts: float | None = None) -> SpendingLimit:
        """Parse a budget, or raise an error."""
        match = TEXT.fullmatch(text) if isinstance(text, str) else None
        if match is None or not 0 < (number := float(match[1])) < math.inf:
            raise ParameterError.of("budget", "Heros", RULE, text)
        prefix, unit, period = match.groups()[1:]
        kind: Kind = "time" if unit == "s" else "energy" if unit == "J" and period is None else "power"
        amount = number * PREFIXES[prefix] / PERIODS[period or "s"]
        if not LEAST <= amount <= MOST:
            rule = f"at least {LEAST:g} and at most {MOST:g} seconds, joules or watts"
            raise ParameterError.of("budget", "Heros", rule, text)
        return cls(text.strip(), kind, amount, core_watts()[0] if watts is None else watts)

    @property
    def seconds(self) -> float:
        """The budget in CPU seconds: per instance, or per second if the budget is a power (e.g. watts)."""
        return self.amount if self.kind == "time" else self.amount / self.watts

    def shown(self, seconds: float) -> str:
        """Format a number of CPU seconds in the unit of the budget.

        The seconds are given per instance, or per second if the budget is a power (e.g. watts).
        """
        match = re.match(NUMBER, self.text)
        assert match is not None
        unit = self.text[match.end() :].strip()
        return f"{float(match[0]) * seconds / self.seconds:.3g} {unit}"

    def __str__(self) -> str:
        return self.text
