"""A schedule of training that obeys an hourly energy budget and prefers times of low carbon intensity."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from heros._base.errors import DataError, HerosError, ParameterError, WaitNotice
from heros._base.notices import notice
from heros._base.parameters import number
from heros.ensemble.budget import SpendingLimit
from heros.ensemble.dial import Clock
from heros.meters.carbon_signal import CarbonSignal
from heros.meters.cpu import core_watts
from heros.meters.energy import JOULES_PER_KWH, Carbon
from heros.storage.disk import write_whole

FILE = "schedule.json"
HOUR = 3600.0
SHARE, PART = 0.01, 0.1  # a block uses at most these shares of the hour's budget and of the rest of it
RESERVE = 0.02  # share of an hour's budget that is recorded on disk before it is used
MOST_ASIDE = 0.1  # maximum share of an hour's budget that is reserved for work other than learning
FALL = 0.1  # weight of a new price that is lower than the old price; a higher price replaces the old price
LONGEST = 10.0  # maximum sleep in seconds, because some sources must receive messages while learning waits
NUMBERS = ("hour", "spent", "price", "aside", "since", "joules", "grams", "used", "hours")
MOST = 1e15  # maximum value of a number in the file; valid hours, energies and times are smaller
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": HOUR, "d": 86400.0}


class Wait(NamedTuple):
    """The end of a delay of training, in seconds since 1970, and the reason for the delay."""

    until: float
    why: str

    def __str__(self) -> str:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.until))
        return f"Training is delayed until {when}: {self.why}."


class Schedule:
    """A schedule that limits the number of training instances, to stay within an energy budget per hour.

    `allowed` returns the number of instances that still fit into the current hour. This estimate uses the CPU
    time of earlier instances. If the number is 0, training has to wait. A block uses at most 1 % of the
    hour's budget and at most a tenth of the remaining budget. With these limits, training stays within the
    budget even if instances become more expensive. Energy is CPU time × the watts of a busy core. The models
    are trained on at least one instance in each hour, regardless of the cost.

    With a carbon signal, training is delayed until the time of the lowest carbon intensity within the
    remaining delay of the oldest instance. Without a limit, training starts at the single best moment. With a
    limit, training uses several of the best moments. The share of these moments in the remaining delay equals
    the share of the limit that was used in the last 24 hours.

    Parameters
    ----------
    limit
        A budget of power; None means no limit per hour.
    signal
        The carbon intensity of the electricity; None means that training is not delayed for a lower
        intensity.
    delay
        The maximum time in seconds for which the signal may delay training on an instance.
    path
        A file with the energy used in the current hour. Each part of the budget is recorded before it is
        used. A process that is killed and restarted therefore does not exceed the budget.
    clock
        The clocks. CPU time is measured for the calling thread only.
    notify
        The function that is called with each notice; by default it issues a `heros.WaitNotice`.

    Examples
    --------
    >>> class Simulated(Clock):
    ...     time, seconds = 7200.0, 0.0
    ...     def now(self): return self.time
    ...     def cpu(self): return self.seconds
    >>> clock = Simulated()
    >>> limit = SpendingLimit.of("10 J/h", watts=10.0)  # 1 CPU second an hour
    >>> schedule = Schedule(limit, clock=clock, notify=lambda text: None)
    >>> learnt = 0
    >>> while n := schedule.allowed(1000):
    ...     clock.seconds += n / 1024  # about 1 ms per instance
    ...     _ = schedule.note(n)
    ...     learnt += n
    >>> learnt, schedule.wait.until
    (1023, 10800.0)
    >>> clock.time = 10800.0
    >>> schedule.allowed(1000)
    10
    """

    def __init__(
        self,
        limit: SpendingLimit | None = None,
        signal: CarbonSignal | None = None,
        delay: float = 0.0,
        *,
        path: str | os.PathLike[str] | None = None,
        clock: Clock | None = None,
        notify: Callable[[str], object] | None = None,
    ) -> None:
        self.limit, self.signal, self.delay = limit, signal, delay
        self.path, self.clock = None if path is None else Path(path), Clock() if clock is None else clock
        self.seconds = math.inf if limit is None else limit.seconds * HOUR
        self.watts = core_watts()[0] if limit is None else limit.watts
        self.hour, self.spent = 0, 0.0  # the current hour since 1970, and its CPU seconds
        self.price = math.nan  # CPU seconds per instance
        self.aside = 0.0  # CPU seconds of the most expensive work between two blocks, e.g. a checkpoint
        self.used, self.hours = 0.0, 0  # used share of the limit in the last 24 hours; hours since the start
        self.since = self.clock.now()  # all waiting instances arrived after this time
        self.joules = self.grams = 0.0  # energy and CO2e at times with a known intensity
        self.wait: Wait | None = None
        self._reserved = 0.0  # CPU seconds of this hour that the file records as spent
        self._notify = partial(notice, category=WaitNotice) if notify is None else notify
        self._fault = False  # whether the file could not be written
        self._restore()
        self.start()

    @classmethod
    def of(
        cls,
        budget: str | None,
        carbon: str | os.PathLike[str] | Iterable[Any] | CarbonSignal | None = None,
        delay: float | str = "6h",
        directory: str | os.PathLike[str] | None = None,
        notify: Callable[[str], object] | None = None,
    ) -> Schedule | None:
        """Return the schedule of a model with this budget; None if training is never delayed."""
        parsed = None if budget is None else SpendingLimit.of(budget)
        limit = parsed if parsed is not None and parsed.kind == "power" else None
        seconds = expect_delay(delay)
        if limit is None and carbon is None:
            return None
        if not (carbon is None or isinstance(carbon, CarbonSignal)):
            carbon = CarbonSignal(carbon, notify)
        path = None if directory is None else Path(directory, FILE)
        return cls(limit, carbon, seconds, path=path, notify=notify)

    # -- measuring ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Count the CPU time of resuming the run; this work does not recur, so no budget is reserved."""
        self.note()
        self.aside = 0.0

    def start(self) -> None:
        """Count CPU time from now on; the work of this thread since the last `note` is not counted."""
        self._cpu = self.clock.cpu()

    def note(self, n: int = 0) -> float:
        """Count the CPU time of n training instances since the last call; return the current time."""
        cpu, now = self.clock.cpu(), self.clock.now()
        cost, self._cpu = max(cpu - self._cpu, 0.0), cpu
        hour = int(now // HOUR)
        if hour > self.hour or hour < self.hour - 1:  # a clock set back by less than an hour has no effect
            passed = max(hour - self.hour, 1) if self.hour else 0
            self.hours += passed
            share = 0.0 if passed == 0 else passed / max(min(self.hours, 24), passed)
            self.used += share * (self.spent / (self.seconds * max(passed, 1)) - self.used)
            self.hour, self.spent, self._reserved = hour, 0.0, 0.0
            self.aside /= 2
            self.price = min(self.price, self.seconds / 2)  # at least one instance must fit, to be measured
        self.spent += cost
        if n == 0:
            self.aside = max(self.aside, cost)
        elif math.isnan(self.price):
            self.price = cost / n
        else:
            self.price = max(cost / n, self.price + FALL * (cost / n - self.price))
        grams = None if self.signal is None else self.signal.at(now)
        if grams is not None:
            self.joules += cost * self.watts
            self.grams += cost * self.watts * grams / JOULES_PER_KWH
        return now

    def drained(self, since: float) -> None:
        """Record that the models have learnt from all instances that arrived before `since`."""
        self.since = max(self.since, since)

    @property
    def carbon(self) -> Carbon | None:
        """The mean carbon intensity, weighted by the energy used; None if no intensity was known."""
        if self.signal is None or self.joules == 0:
            return None
        return Carbon(self.grams / self.joules * JOULES_PER_KWH, f"{self.signal.name}, by time")

    # -- deciding -------------------------------------------------------------------------------------------

    def allowed(self, most: int, since: float | None = None) -> int:
        """Return the number of instances to train on now, at most `most`; if 0, `wait` gives the reason.

        `since` is the arrival time of the oldest waiting instance; the default is the time that `drained`
        recorded.
        """
        now = self.note()
        self.since = min(self.since if since is None else since, now)  # the clock may have been fast before
        n = most if self.limit is None else min(most, self._fitting())
        before, self.wait = self.wait, self._for_grid(now)
        if n == 0 and self.wait is None:
            joules = f"{self.seconds * self.watts:.3g} J"
            self.wait = Wait((self.hour + 1) * HOUR, f"the budget of this hour, {joules}, is spent")
        if self.wait is not None:
            if before is None:
                self._keep(self.spent)
                self._notify(str(self.wait))
            return 0
        planned = RESERVE * self.seconds if math.isnan(self.price) else 2 * n * self.price
        if self.limit is not None and self.spent + planned > self._reserved:
            self._keep(self.spent + max(planned, RESERVE * self.seconds))
        return n

    def _fitting(self) -> int:
        """Return the number of instances that fit into the rest of the hour."""
        left = self.seconds - self.spent - min(self.aside, MOST_ASIDE * self.seconds)
        if math.isnan(self.price):
            return int(left > 0)  # the price is known after the first instance
        price = max(self.price, 1e-9)
        if (fitting := int(min(PART * left, SHARE * self.seconds) / price)) > 0:
            return fitting
        return int(left >= 2 * price or (self.spent <= 0.01 * self.seconds and left > 0))

    def _for_grid(self, now: float) -> Wait | None:
        """Return the delay until the carbon intensity is lower, or None if training can start now.

        The delay ends at the latest when the oldest instance has waited for the maximum time.
        """
        if self.signal is None:
            return None
        self.signal.refresh(now)
        present, end = self.signal.at(now), self.since + self.delay
        best = None if present is None or now >= end else self.signal.cleanest(now, end, self.used)
        if best is None or present is None or best.time <= now:
            return None
        why = f"the carbon intensity will then be {best.grams:g} g CO2e per kWh (now {present:g})"
        return Wait(best.time, why)

    @property
    def pause(self) -> float:
        """The number of seconds to sleep before the next call of `allowed`."""
        return 0.0 if self.wait is None else min(max(self.wait.until - self.clock.now(), 0.001), LONGEST)

    # -- on disk --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write the energy of the hour to the file; further calls have no effect."""
        if self.path is not None:
            self.note()
            self._keep(self.spent)
            self.path = None

    def _keep(self, spent: float) -> None:
        """Write the state, with `spent` as the CPU seconds used in this hour; warn once if writing fails."""
        self._reserved = spent
        if self.path is None:
            return
        state = {name: getattr(self, name) for name in NUMBERS} | {"spent": spent}
        if math.isnan(self.price):
            state["price"] = None
        try:
            write_whole(self.path, [json.dumps(state).encode()], private=True)
        except HerosError as error:
            if not self._fault:
                self._notify(f"{error} If the process is killed, the budget of this hour may be exceeded.")
            self._fault = True
        else:
            self._fault = False

    def _restore(self) -> None:
        if self.path is None or not self.path.exists():
            return
        try:
            state = json.loads(self.path.read_bytes())
            values = {name: state[name] for name in NUMBERS}
            for name, value in values.items():
                if value is not None or name != "price":
                    setattr(self, name, number(value, name, "Schedule", 0, MOST))
        except (OSError, ValueError, KeyError, TypeError, RecursionError, HerosError) as error:
            raise DataError(f"The file {self.path} cannot be read: {error}") from None
        self.hour, self.hours, self._reserved = int(self.hour), int(self.hours), self.spent
        self.since = min(self.since, self.clock.now())


def expect_delay(delay: float | str) -> float:
    """Return a delay in seconds, or raise an error."""
    text = delay.strip() if isinstance(delay, str) else delay
    match = re.fullmatch(r"([0-9.]+)\s*(s|m|min|h|d|)", text) if isinstance(text, str) else None
    try:
        seconds = float(match[1]) * UNITS[match[2]] if match else text
        return number(seconds, "carbon_delay", "evaluate", 0)
    except (ValueError, HerosError):
        rule = "a time, e.g. '6h' or '30min', or a number of seconds"
        raise ParameterError.of("carbon_delay", "evaluate", rule, delay) from None
