"""A controller that keeps an ensemble within its budget: it puts models to sleep or wakes them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import DataError
from heros._base.notices import notice
from heros._base.phases import PHASES
from heros.ensemble.budget import SpendingLimit
from heros.ensemble.prices import Prices
from heros.policies import Everything, Surprise

STRETCH = 200  # number of instances between two measurements, independent of the block size
FIRST = (6, 16)  # instances of the first measurements; the first is ignored, because caches are cold
PERIOD = 1000  # number of instances between two choices of the awake models
SOON = 50  # number of instances after a choice until a measurement that detects very expensive models
PAY_BACK = 1000  # number of instances over which overspending is paid back
SAVED = 1000  # number of instances over which savings are spent, and after which they expire
LEAST = 1.2  # the awake models must fit into the budget with this multiple of their training cost
PRICED = 0.8  # lower efforts count as this effort when training costs are converted to full effort
KNEE = 0.3  # while the reduced effort is above this value, only the training of slow models is reduced
LEAST_SLOW = 0.1  # share of the training of slow models that is left at the effort KNEE
GAP = 20.0  # a model whose score is d below the best counts as exp(GAP · d) times as expensive
TRUST = 200  # number of evaluated instances after which half of the difference from the best score counts
FORGET = 10_000  # number of instances asleep after which half of the trust is left
WORSE = 0.03  # if the best score falls by more than this, the scores of sleeping models are no longer trusted
TRIAL = 10  # one choice in this many adds a model whose score is not trusted
STAY = 0.5  # factor on the price of models that are already awake
LEAST_SHARE = 0.1  # share of expected instances on which models are trained
TRAIN = PHASES.index("train")


class Clock:
    """The clocks of a budget: the CPU time of the steps, the CPU time of the thread, and wall-clock time."""

    def spent(self, step: _core.Step) -> NDArray[np.float64]:
        """Return two totals over all steps so far: the CPU seconds outside of training, and in training."""
        seconds = step.cpu_seconds
        return np.array([seconds.sum() - seconds[TRAIN], seconds[TRAIN]])

    def parts(self, step: _core.Step) -> NDArray[np.float64]:
        """Return the time spent so far on evaluation (row 0) and on training (row 1).

        If the pool joins several pools, the rows have one column for each of these pools, and a last column
        for the rest of a step. For other pools the rows are empty. The unit is arbitrary.
        """
        return step.part_ticks.astype(np.float64).reshape(2, -1)

    def now(self) -> float:
        """Return the current time in seconds since 1970."""
        return time.time()

    def cpu(self) -> float:
        """Return the CPU seconds of the calling thread."""
        return time.thread_time()

    def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        time.sleep(seconds)


class Dial:
    """A controller that decides which models are awake and how much they are trained, to meet a budget.

    The measured cost is compared with the budget every 200 instances, and 50 instances after each choice of
    the awake models. The effort (from 0 to 1) is then adjusted. At an effort below 1, slow models (forests)
    are trained less while the loss is steady. Below an effort of .3, more instances count as expected, and
    the models are not trained on most expected instances (`heros.policies.Surprise`). The awake models are
    chosen again every 1,000 instances, cheapest first, as long as the models fit into the budget. This choice
    multiplies the price of training by 1.2. A model counts as more expensive if its score L is below the best
    score, or if another model of its kind is already awake. The other models sleep: they are neither
    evaluated nor trained. Every tenth choice also wakes a model that has been asleep for a long time. The
    first choice after a fall of the best score also wakes such a model, and no longer trusts the scores of
    sleeping models.

    Examples
    --------
    >>> from heros import Heros, streams
    >>> stream = streams.Agrawal(function=2)
    >>> model = Heros(budget="1 s", seed=1, schema=stream.schema).learn(*stream.draw(500))
    >>> bool(model.dial.awake.all()), model.dial.effort
    (True, 1.0)
    """

    def __init__(
        self,
        budget: SpendingLimit,
        sizes: Sequence[int],  # number of models of each part of a joined pool; one number for other pools
        names: Sequence[str],  # names of the models, for the warning that the budget is too small
        surprise: Surprise | None = None,  # the policy's rule at full effort; None: no instance is expected
        clock: Clock | None = None,
    ) -> None:
        self.budget, self.surprise, self.clock = budget, surprise, Clock() if clock is None else clock
        self.names, self.prices = names, Prices(sizes)
        self.models = len(names)
        self.awake = np.ones(self.models, dtype=bool)
        self.effort = 1.0
        self.trust = np.zeros(self.models)  # number of instances behind each score; falls while models sleep
        self.instances, self.evaluated = 0, 0  # totals so far: instances, and evaluations of awake models
        self.seconds, self.asked_seconds = 0.0, 0.0  # CPU seconds spent and allowed
        self.floor = 0.0  # cost of an instance with the cheapest model alone, if this cost exceeds the budget
        self.caution = 1.0  # share of the budget for awake models; falls while prices turn out too low
        self.balance = 0.0  # CPU seconds saved so far; negative if overspent
        self._start: tuple[float, float, float, float] | None = None  # instances, CPU times, wall-clock time
        self._trained = np.zeros(self.models)
        self._ticks = np.zeros((2, 0))
        self.peaks = np.zeros(self.models)  # highest score of each model since it was woken
        self._choices = 0

    @property
    def used(self) -> str:
        """The cost so far in the unit of the budget."""
        share = self.seconds / self.asked_seconds if self.asked_seconds > 0 else 0.0
        return self.budget.shown(share * self.budget.seconds)

    def as_dict(self) -> dict[str, Any]:
        """Return the budget and the cost so far as a dictionary of JSON data."""
        return {
            "asked": self.budget.text,
            "used": self.used,
            "share": self.seconds / self.asked_seconds if self.asked_seconds > 0 else None,
            "seconds_per_instance": self.seconds / self.instances if self.instances else None,
            "awake": self.evaluated / self.instances if self.instances else None,
            "floor": None if self.floor == 0 else self.budget.shown(self.floor),
        }

    def cut(self, at: int) -> int:
        """Return the index of the first instance after `at` for which `begin` must be called."""
        start = at - at % STRETCH
        return next(cut for cut in (*FIRST, start + SOON, start + STRETCH) if at < cut and self.is_due(cut))

    def is_due(self, at: int) -> bool:
        """Return whether `begin` must be called before the model processes this instance."""
        return at % STRETCH == 0 or at % PERIOD == SOON or at in FIRST

    def begin(self, step: _core.Step, costs: NDArray[np.float64]) -> None:
        """Measure the cost of the instances since the last call; adjust `awake` and `effort`."""
        at, spent, now = step.instances, self.clock.spent(step), self.clock.now()
        if self._start is not None and at > self._start[0]:
            instances_before, *spent_before, time_before = self._start
            n = int(at - instances_before)
            cost = np.maximum(spent - spent_before, 0) / n
            total = float(cost.sum())
            share = max(now - time_before, 0.0) / n if self.budget.kind == "power" else 1.0
            allowance = self.budget.seconds * share  # CPU seconds allowed for each of these instances
            overspent = total > 2 * self._target(allowance) and self.awake.sum() > 1
            if at % PERIOD == SOON and not overspent:
                return
            self._note(step, n, cost, allowance, costs)
            self._note_floor(total, allowance)
            if total > 0:
                change = 0.4 * (self._target(allowance) - total) / total
                self.effort = min(max(self.effort + change, 0.0), 1.0)
            if FIRST[0] < at < PERIOD or at % PERIOD == 0 or (overspent and at > FIRST[0]):
                self._choose(step.scores, allowance)
        self._start = (at, *spent.tolist(), now)
        self._trained, self._ticks = step.trained.astype(np.float64), self.clock.parts(step)

    def _target(self, allowance: float) -> float:
        """Return the allowance, raised if CPU time was saved before, or lowered if too much was spent."""
        change = self.balance / (PAY_BACK if self.balance < 0 else SAVED)
        return min(max(allowance + change, 0.1 * allowance), 2 * allowance)

    def _note(
        self,
        step: _core.Step,
        n: int,
        cost: NDArray[np.float64],
        allowance: float,
        costs: NDArray[np.float64],
    ) -> None:
        """Use the costs of n instances to update the totals, the prices of models and the trust in scores."""
        spent = float(cost.sum())
        self.instances, self.seconds = self.instances + n, self.seconds + n * spent
        self.asked_seconds += n * allowance
        self.evaluated += n * int(self.awake.sum())
        self.balance = min(self.balance + n * (allowance - spent), SAVED * allowance)
        share = max(float((step.trained - self._trained)[self.awake].min()), 1.0) / n
        full = cost * [1, min(1 / max(self.effort, PRICED), 1 / share)]  # training costs at full effort
        ticks = self.clock.parts(step)
        same = ticks.shape == self._ticks.shape and bool((ticks >= self._ticks).all())
        passed = ticks - self._ticks if same else ticks  # the ticks of a loaded pool start at 0
        rate = 1.0 if self.instances < PERIOD or spent > 2 * allowance else 0.3
        if self.instances > FIRST[0]:
            self.prices.note(self.awake, full, passed, costs, rate)
        self.trust = np.where(self.awake, self.trust + n, self.trust * 0.5 ** (n / FORGET))

    def _choose(self, scores: NDArray[np.float64], allowance: float) -> None:
        """Choose the awake models within the budget: cheap models first, models with low scores last."""
        self.peaks = np.where(self.awake, np.maximum(self.peaks, scores), 0.0)
        has_fallen = scores[self.peaks.argmax()] < self.peaks.max() - WORSE
        if has_fallen:  # the awake models have become worse, so sleeping models may now be better
            self.trust[~self.awake] = 0
            self.peaks = np.where(self.awake, scores, 0.0)
        sure = self.trust / (self.trust + TRUST)
        best = float(scores[self.awake].max())
        factors = np.where(self.awake, STAY, 1.0) * np.exp(GAP * sure * (best - scores))
        if self.instances >= PERIOD:
            self.caution = min(max(self.caution * (0.9 if self.effort < 0.4 else 1.1), 0.3), 1.0)
        limit = self.caution * min(max(self._target(allowance), 0.75 * allowance), 1.25 * allowance)
        before, self.awake = self.awake, self.prices.fitting(factors, limit, LEAST)
        self._choices += 1
        if has_fallen or self._choices % TRIAL == 0:
            unknown = ~self.awake & ~before & (sure < 0.5) & (self.prices.needs(LEAST) <= 0.5 * limit)
            if unknown.any():
                self.awake[int(np.argmin(np.where(unknown, self.trust, math.inf)))] = True

    def _note_floor(self, cost: float, allowance: float) -> None:
        """If the cheapest model alone exceeds the budget, store its cost in `floor` and issue one warning.

        A power budget has no such minimum cost. Training on queued instances draws the power of one busy
        core, and `heros.ensemble.schedule` limits the energy per hour.
        """
        alone = self.awake.sum() == 1 and self.effort < 0.1
        if self.budget.kind == "power" or not alone or cost <= 1.05 * allowance:
            return
        takes = self.budget.seconds * cost / allowance
        if self.floor == 0:
            name = self.names[int(self.awake.argmax())]
            text = f"The 'budget' parameter of Heros is {self.budget}, but the cheapest model alone ({name})"
            way = "Use a larger budget or a cheaper model."
            notice(f"{text} takes {self.budget.shown(takes)}. {way}", RuntimeWarning)
        self.floor = takes

    def expected(self) -> _core.Surprise | None:
        """Return the rule for expected instances at the current effort."""
        own = self.surprise
        if self.effort == 1:
            return None if own is None else own.native()
        own = Surprise(Everything(), 1.0, LEAST_SHARE, 0.0) if own is None else own
        slow = LEAST_SLOW + (1 - LEAST_SLOW) * max(self.effort - KNEE, 0) / (1 - KNEE)
        slow *= min(max(own.steady, own.after / max(self.instances, 1)), 1)
        rest = min(self.effort / KNEE, 1)
        sure, inside = own.sure * rest**0.25, own.inside + 0.25 * (1 - rest) / max(rest, 1e-3)
        return replace(own, sure=sure, inside=inside, steady=slow, after=0).native()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays for `restore`."""
        start = (-1.0, 0.0, 0.0, 0.0) if self._start is None else self._start
        numbers = [*start, *(getattr(self, name) for name in NUMBERS)]
        arrays = {name: getattr(self, name).astype(np.float64) for name in ARRAYS}
        arrays |= {"numbers": np.array(numbers, dtype=np.float64), "ticks": self._ticks.ravel()}
        return arrays | self.prices.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned; raise a DataError if they are invalid."""
        numbers = _array(state, "numbers", 4 + len(NUMBERS))
        arrays = {name: _array(state, name, self.models) for name in ARRAYS}
        awake, ticks = arrays["awake"], _array(state, "ticks", np.size(state.get("ticks", 0)))
        if not np.isin(awake, (0, 1)).all() or not awake.any():
            raise DataError(
                "The state of a budget must mark each model as awake (1) or asleep (0). At least one model "
                "must be awake."
            )
        effort = numbers[4 + NUMBERS.index("effort")]
        if not np.isfinite(numbers).all() or not 0 <= effort <= 1:
            raise DataError("The state of a budget must have finite numbers, and an effort in [0, 1].")
        if ticks.size % 2 or not (ticks >= 0).all():
            raise DataError(
                "The state of a budget must have an evaluation time and a training time, both >= 0, for each "
                "part of the pool."
            )
        prices = self.prices.state()
        self.prices.restore({name: _array(state, name, len(own)) for name, own in prices.items()})
        first, *rest = numbers.tolist()
        self._start = None if first < 0 else (first, *rest[:3])
        for name, value in zip(NUMBERS, rest[3:], strict=True):
            setattr(self, name, type(getattr(self, name))(value))
        self.trust, self.peaks, self._trained = arrays["trust"], arrays["peaks"], arrays["_trained"]
        self.awake, self._ticks = awake.astype(bool), ticks.reshape(2, -1)


NUMBERS = (
    "effort", "instances", "evaluated", "seconds", "asked_seconds", "floor", "caution", "balance", "_choices",
)  # fmt: skip
ARRAYS = ("awake", "trust", "peaks", "_trained")  # one number per model


def _array(state: Mapping[str, NDArray[Any]], name: str, length: int) -> NDArray[np.float64]:
    array = state.get(name)
    masked = isinstance(array, np.ma.MaskedArray)
    if not isinstance(array, np.ndarray) or masked or array.shape != (length,) or array.dtype != np.float64:
        rule = f"The state of a budget must have an array {name!r} of {length} numbers."
        raise DataError(f"{rule} Got {array!r} instead.")
    return array
