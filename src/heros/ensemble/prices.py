"""Estimates of each model's CPU time per instance, from measured times of the parts of a pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError

__all__ = ["Prices"]

BASE = 0.3  # initially assumed share of a part's cost that does not depend on the number of its models
MOST = 3.0  # a part's share of the time counts as at most this multiple of the expected share
FADE = 0.997  # factor on the price of a sleeping model per measurement, as its price may have fallen


class Prices:
    """The estimated prices of evaluating and training each model, and of the shared work of each part.

    Only the time of each part of the pool is measured, not the time of each model. If the time differs from
    the sum of the prices of the awake models, the difference is divided among these models in proportion to
    the squares of their prices. A model that has slept for long gets a larger share.

    Parameters
    ----------
    sizes
        The number of models of each part of the pool.

    Examples
    --------
    >>> prices = Prices([2, 1])
    >>> everyone, costs = np.ones(3, dtype=bool), np.array([0.4, 0.2, 0.4])
    >>> prices.note(everyone, np.array([6.0, 3.0]), np.array([[4, 2], [2, 1]]), costs)
    >>> prices.alone().round(2).tolist()  # evaluation and training, and the share of the part
    [4.18, 2.66, 3.29]
    >>> prices.fitting(np.ones(3), limit=6).tolist()
    [True, True, False]
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.part = np.repeat(np.arange(len(sizes)), sizes)
        self.look, self.train = (np.full(len(self.part), math.nan) for _ in range(2))
        self.slept = np.zeros(len(self.part))  # measurements since a model was awake
        self.base = np.zeros(len(sizes))  # work that the models of a part share, e.g. to encode an instance

    def note(
        self,
        awake: NDArray[np.bool_],
        seconds: NDArray[np.float64],
        ticks: NDArray[np.float64],
        costs: NDArray[np.float64],
        rate: float = 1.0,
    ) -> None:
        """Correct the prices of the awake models with a new measurement.

        `seconds` holds the evaluation time and the training time per instance; `ticks` holds the same two
        times for each part, in any unit. If `ticks` does not have a column for each part, the time is divided
        among the parts in proportion to the costs of their awake models. At the first measurement of a part,
        its time is divided among its models in the same way.
        """
        if ticks.shape[1] != len(self.base):
            ticks = np.tile(np.bincount(self.part, costs * awake, len(self.base)), (2, 1))
        if np.isnan(self.look[awake]).any():  # a measurement of few instances is combined with `costs`
            ticks = np.sqrt(ticks * np.bincount(self.part, costs * awake, len(self.base)))
        else:
            ticks = self._bounded(awake, ticks)
        by_part = seconds[:, None] * ticks / np.maximum(ticks.sum(axis=1, keepdims=True), 1e-300)
        for part, (looking, training) in enumerate(by_part.T):
            mine = awake & (self.part == part)
            if not mine.any() or looking <= 0:
                continue
            if np.isnan(self.look[mine]).any():
                gamma = np.maximum(costs[mine], 1e-9) / np.maximum(costs[mine], 1e-9).sum()
                self.base[part] = BASE * looking
                self.look[mine], self.train[mine] = (1 - BASE) * looking * gamma, training * gamma
                continue
            doubt = 1 + self.slept[mine]
            speed = rate if doubt.max() == 1 else 1.0
            both = np.append(self.look[mine], self.base[part])
            both = _corrected(both, looking, speed, np.append(doubt, 1))
            self.look[mine], self.base[part] = both[:-1], both[-1]
            self.train[mine] = _corrected(self.train[mine], training, speed, doubt)
        self.look[~awake] *= FADE
        self.train[~awake] *= FADE
        self.slept = np.where(awake, 0.0, self.slept + 1)

    def _bounded(self, awake: NDArray[np.bool_], ticks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ticks with outliers clipped: clocks also run while another process uses the CPU."""
        doubt = np.ones(len(self.base))
        np.maximum.at(doubt, self.part[awake], 1 + self.slept[awake])
        bounded = []
        for row, prices, base in zip(ticks, (self.look, self.train), (self.base, 0 * self.base), strict=True):
            known = np.bincount(self.part[awake], prices[awake], len(self.base))
            expected = np.where(row > 0, known + base, 0.0)
            scale = row.sum() / max(expected.sum(), 1e-300)
            bounded.append(np.clip(row, expected * scale / MOST, expected * scale * MOST * doubt))
        return np.array(bounded)

    def alone(self, trained: float = 1.0) -> NDArray[np.float64]:
        """Return the price of each model if it alone were awake, with this share of its training."""
        return self.look + trained * self.train + self.base[self.part]

    def fitting(self, factors: NDArray[np.float64], limit: float, trained: float = 1.0) -> NDArray[np.bool_]:
        """Return a mask of the models to wake: the lowest price × factor first, as long as they fit.

        If no model fits, the mask has the cheapest model. `trained` is the share of training that must fit.
        """
        chosen, opened = np.zeros(len(self.part), dtype=bool), np.zeros(len(self.base), dtype=bool)
        while True:
            shared = np.where(opened, 0.0, self.base)[self.part]
            needs = self.look + trained * self.train + shared
            fits = ~chosen & (needs <= limit)
            if not fits.any():
                break
            rank = np.where(fits, (self.look + self.train + shared) * factors, math.inf)
            best = int(rank.argmin())
            chosen[best] = opened[self.part[best]] = True
            limit -= needs[best]
        if not chosen.any():
            chosen[int(np.nanargmin(self.alone()))] = True
        return chosen

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of the arrays of `state`."""
        return {name: len(getattr(self, name)) for name in ("look", "train", "slept", "base")}

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Return the prices as arrays for `restore`."""
        return {name: getattr(self, name).copy() for name in self.sizes}

    def restore(self, state: Mapping[str, NDArray[np.float64]]) -> None:
        """Restore the prices that `state` returned; raise a DataError if they are invalid."""
        if any(np.isinf(array).any() or (array < 0).any() for array in state.values()):
            raise DataError("The state of a budget must have prices of 0 or more.")
        for name in self.sizes:
            setattr(self, name, state[name].copy())


def _corrected(
    known: NDArray[np.float64], seconds: float, rate: float, doubt: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the prices, corrected by a measurement of their sum."""
    known = np.maximum(known, 1e-12)
    weights = (known * doubt) ** 2
    step = rate * (seconds - known.sum()) / weights.sum()
    corrected: NDArray[np.float64] = np.maximum(known + step * weights, known / 3)
    return corrected
