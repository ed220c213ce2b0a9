"""Estimates of each model's CPU time per instance, from measured times of the parts of a pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError

BASE = 0.1  # initially assumed share of a part's evaluation that does not depend on the number of its models
MOST = 3.0  # a part's share of the time counts as at most this multiple of the expected share
DRIFT = 0.1  # speed, relative to `rate`, at which the prices of a sleeping part approach its cost
ROOM = 1 / 3  # if a larger share of the limit would remain unused, less training must fit
SCANT = 0.35  # the share of training that must fit in this case
NOISE = 0.1  # weight of a new measurement in a part's error
CALM = 8.0  # a price is corrected by the factor 1 / (1 + CALM · error²)
SAME = 2.0  # factor on the prices of the other models of a part, for each awake model of the part


class Prices:
    """The estimated prices, in CPU time, of evaluating and training each model and of the rest of a step.

    The time of each part of the pool is measured, but not the time of each model. `sizes` has the number of
    models in each part. A part has three prices: for work that its models share, for evaluating all its
    models and for training them. Each model has a share of the prices of evaluation and training, in
    proportion to its cost. If the measured time of a part differs from the sum of the part's prices, each of
    these prices is corrected in proportion to its square. The price of training is corrected less if its
    relative error is usually large, as with models that are trained rarely. The prices of a sleeping part
    slowly approach an estimate: the part's cost × the awake parts' price per unit of cost.

    Examples
    --------
    >>> prices = Prices([2, 1])
    >>> everyone, costs = np.ones(3, dtype=bool), np.array([0.4, 0.2, 0.4])
    >>> prices.note(everyone, np.array([6.0, 3.0]), np.array([[4, 2, 0], [2, 1, 0]]), costs)
    >>> prices.alone().round(2).tolist()  # evaluation, training and the part's shared work
    [3.93, 2.16, 3.29]
    >>> prices.fitting(np.ones(3), limit=6).tolist()
    [False, True, True]
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.part = np.repeat(np.arange(len(sizes)), sizes)
        # the prices of each part; NaN before the first measurement of the part
        self.shared, self.look, self.train = (np.full(len(sizes), np.nan) for _ in range(3))
        self.error = np.zeros(len(sizes))  # relative error of each part's price of training
        self.rest = np.zeros(1)  # the price of the rest of a step
        self._share = 1 / np.asarray(sizes)[self.part]  # share of each model in the work of its part

    def note(
        self,
        awake: NDArray[np.bool_],
        seconds: NDArray[np.float64],
        ticks: NDArray[np.float64],
        costs: NDArray[np.float64],
        rate: float = 1.0,
    ) -> None:
        """Correct the prices of the awake parts with a new measurement.

        `seconds` holds the evaluation time and the training time per instance. `ticks` holds the same two
        times, in any unit, for each part and for the rest of a step. If `ticks` does not have one column per
        part and one for the rest, the time is divided in proportion to the known prices, or to the costs of
        the awake models.
        """
        costs = np.maximum(costs, 1e-9)
        self._share = costs / self._sums(costs)[self.part]
        load = self._sums(self._share * awake)
        on = load > 0
        new = on & np.isnan(self.look)
        expected = np.array([self.shared + self.look * load, self.train * load])
        if ticks.shape[1] != len(load) + 1 or not ticks.any():
            ticks = np.tile(self._sums(costs * awake), (2, 1)) if new.any() else np.where(on, expected, 0)
            ticks = np.append(ticks, np.zeros((2, 1)), axis=1)
        elif new.any():  # a measurement of few instances is combined with `costs`
            ticks = np.append(np.sqrt(ticks[:, :-1] * self._sums(costs * awake)), np.zeros((2, 1)), axis=1)
        else:
            ticks = self._bounded(on, expected, ticks)
        by_part = seconds[:, None] * ticks / np.maximum(ticks.sum(axis=1, keepdims=True), 1e-300)
        self.rest += (1.0 if new.any() else rate) * (by_part[0, -1] - self.rest)
        for part in np.flatnonzero(on).tolist():
            evaluation, training = by_part[:, part]
            if new[part]:
                whole = max(evaluation, 1e-12) / (BASE + (1 - BASE) * load[part])
                self.shared[part], self.look[part] = BASE * whole, (1 - BASE) * whole
                self.train[part] = training / load[part]
            elif evaluation > 0:
                each = np.array([self.shared[part], self.look[part] * load[part]])
                self.shared[part], all_of_it = _corrected(each, evaluation, rate)
                self.look[part] = all_of_it / load[part]
                price, trained = self.train[part : part + 1], training / load[part]
                error = min(abs(trained / max(price[0], 1e-12) - 1), MOST)
                self.error[part] += NOISE * (error - self.error[part])
                price[:] = _corrected(price, trained, rate / (1 + CALM * self.error[part] ** 2))
        whole, total = self._sums(costs), self.shared + self.look + self.train
        per_cost = (self.shared + (self.look + self.train) * load)[on].sum() / (whole * load)[on].sum()
        for prices in (self.shared, self.look, self.train):
            prices[~on] *= (whole * per_cost / total)[~on] ** (rate * DRIFT)

    def _sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, for each part, the sum of the values of its models."""
        return np.bincount(self.part, values, len(self.look)).astype(np.float64)

    def _bounded(
        self, on: NDArray[np.bool_], expected: NDArray[np.float64], ticks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the ticks with outliers clipped, since a clock also counts the time of other processes."""
        bounded = ticks.copy()
        for row, prices in zip(bounded, np.where(on, expected, 0), strict=True):
            scale = row[:-1].sum() / max(prices.sum(), 1e-300)
            row[:-1] = np.clip(row[:-1], prices * scale / MOST, prices * scale * MOST)
        return bounded

    def needs(self, trained: float = 1.0) -> NDArray[np.float64]:
        """Return the price of evaluating each model and of training it on this share of the instances.

        The work that the models of a part share is not included.
        """
        needs: NDArray[np.float64] = self._share * (self.look + trained * self.train)[self.part]
        return needs

    def alone(self, trained: float = 1.0) -> NDArray[np.float64]:
        """Return, for each model, the price of a step in which all other models sleep.

        `trained` is the share of the instances that the model is trained on.
        """
        alone: NDArray[np.float64] = self.needs(trained) + self.shared[self.part] + self.rest
        return alone

    def fitting(self, factors: NDArray[np.float64], limit: float, trained: float = 1.0) -> NDArray[np.bool_]:
        """Return a mask of the models to wake: lowest price × factor first, until no other model fits.

        Each chosen model of a part doubles the factors of the part's other models, because models of the same
        kind make similar errors. If no model fits, the mask has the cheapest model. `trained` is the share of
        the training steps that must fit into the limit. The share is lowered to .35 if more than a third of
        the limit would otherwise be unused.
        """
        chosen, number = np.zeros(len(self.part), dtype=bool), np.zeros(len(self.look))
        available = ROOM * limit
        limit -= float(self.rest[0])
        while True:
            shared = np.where(number > 0, 0.0, self.shared)[self.part]
            needs = self.needs(trained) + shared
            fits = ~chosen & (needs <= limit)
            if not fits.any() and limit > available:
                needs = self.needs(SCANT) + shared
                fits = ~chosen & (needs <= limit)
            if not fits.any():
                break
            rank = (self.needs() + shared) * factors * SAME ** number[self.part]
            best = int(np.where(fits, rank, np.inf).argmin())
            chosen[best] = True
            number[self.part[best]] += 1
            limit -= needs[best]
        if not chosen.any():
            chosen[int(np.nanargmin(self.alone()))] = True
        return chosen

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Return the prices as arrays for `restore`."""
        return {name: getattr(self, name).copy() for name in ("shared", "look", "train", "error", "rest")}

    def restore(self, state: Mapping[str, NDArray[np.float64]]) -> None:
        """Restore the prices that `state` returned; raise a DataError if a price is invalid."""
        if any(np.isinf(array).any() or (array < 0).any() for array in state.values()):
            raise DataError("The state of a budget must have prices >= 0.")
        for name, array in state.items():
            setattr(self, name, array.copy())


def _corrected(prices: NDArray[np.float64], seconds: float, rate: float) -> NDArray[np.float64]:
    """Return the prices, corrected by a measurement of their sum."""
    prices = np.maximum(prices, 1e-12)
    weights = prices**2
    step = rate * (seconds - prices.sum()) / weights.sum()
    corrected: NDArray[np.float64] = np.maximum(prices + step * weights, prices / 3)
    return corrected
