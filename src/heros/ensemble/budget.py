"""Budgets of time, energy or power, parsed from a string such as "20 us", "0.4 mJ" or "500 J/h"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from heros._base.errors import ParameterError
from heros.meters.cpu import core_watts

RULE = "a CPU time or an energy per instance, e.g. '20 us' or '0.4 mJ', or a power, e.g. '5 W' or '500 J/h'"
PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3}
PERIODS = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0}
TEXT = re.compile(r"\s*([0-9.eE+-]+)\s*([numkµμ]?)(s|J|W)(?:\s*/\s*(s|min|h|day))?\s*")

Kind = Literal["time", "energy", "power"]


@dataclass(frozen=True)
class SpendingLimit:
    """The maximum that a model may spend: CPU time or energy per instance, or power.

    Energy is CPU time × the watts of a busy core, as in `heros.meters.Cpu`.

    Parameters
    ----------
    text
        The budget as written.
    kind
        "time" and "energy" are per instance; "power" is per second of wall-clock time.
    amount
        The amount in seconds, joules or watts.
    watts
        The power of a busy core in watts.

    Examples
    --------
    >>> SpendingLimit.of("2 ms").seconds, SpendingLimit.of("0.4 mJ", watts=10).seconds
    (0.002, 4e-05)
    >>> SpendingLimit.of("500 J/h").kind
    'power'
    """

    text: str
    kind: Kind
    amount: float
    watts: float

    @classmethod
    def of(cls, text: str, owner: str = "Heros", watts: float | None = None) -> SpendingLimit:
        """Parse a budget, or raise an error."""
        match = TEXT.fullmatch(text) if isinstance(text, str) else None
        amount = _number(match.group(1)) if match else math.nan
        if match is None or not 0 < amount < math.inf:
            raise ParameterError.of("budget", owner, RULE, text)
        _, prefix, unit, period = match.groups()
        amount *= PREFIXES[prefix]
        kind: Kind = "time" if unit == "s" else "energy" if unit == "J" and period is None else "power"
        if period is not None and unit != "J":
            raise ParameterError.of("budget", owner, RULE, text)
        watts = core_watts()[0] if watts is None else watts
        return cls(text.strip(), kind, amount / PERIODS[period or "s"], watts)

    @property
    def seconds(self) -> float:
        """The budget in CPU seconds: per instance or, for a power, per second."""
        return self.amount if self.kind == "time" else self.amount / self.watts

    def shown(self, seconds: float) -> str:
        """Format CPU seconds (per instance or, for a power, per second) in the unit of the budget.

        Examples
        --------
        >>> SpendingLimit.of("20 us").shown(1.94e-05), SpendingLimit.of("5 W", watts=10).shown(0.25)
        ('19.4 us', '2.5 W')
        """
        number, unit = TEXT.fullmatch(self.text), ""
        assert number is not None
        unit = self.text[number.end(1) :].strip()
        return f"{float(number.group(1)) * seconds / self.seconds:.3g} {unit}"

    def __str__(self) -> str:
        return self.text


def expect_budget(text: str | None, owner: str) -> None:
    """Raise an error unless the value is None or the text of a budget."""
    if text is not None:
        SpendingLimit.of(text, owner)


def checked_budget(budget: object) -> SpendingLimit | None:
    """Return the budget, parsed if it is a string; None means no budget."""
    if budget is None or isinstance(budget, SpendingLimit):
        return budget
    return SpendingLimit.of(budget, "Heros")  # type: ignore[arg-type]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
