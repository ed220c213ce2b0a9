"""Compiled detectors of changes in a sequence of numbers, one number at a time or a whole array.

Names, parameters and defaults are the same as in River, and the detectors report the same changes. After a
change, a detector starts again with the next number.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import DataError, ParameterError
from heros._base.parameters import number, one_of, positive, whole


class _Detector:
    """Base class of the detectors; a compiled second base class has `update`, `state` and `restore`."""

    settings: dict[str, Any]
    positions: Callable[[NDArray[np.float64]], NDArray[np.int64]]
    state: Callable[[], dict[str, NDArray[Any]]]
    restore: Callable[[dict[str, NDArray[Any]]], None]

    def update_many(self, values: ArrayLike) -> NDArray[np.int64]:
        """Process an array of numbers; return the indices at which a change was detected."""
        try:
            array = np.ascontiguousarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty((0, 0))
        if array.ndim != 1:
            raise DataError(f"values must be a 1-d array of numbers. Got {type(values).__name__} instead.")
        return self.positions(array)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._revived, (self.settings, self.state())

    @classmethod
    def _revived(cls, settings: dict[str, Any], state: dict[str, NDArray[Any]]) -> Self:
        detector = cls(**settings)
        detector.restore(state)
        return detector

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"{type(self).__name__}({given})"


class ADWIN(_Detector, _core.AdwinDetector):
    r"""A detector of changes in the mean that uses adaptive windowing (Bifet and Gavaldà 2007).

    The window grows with every number. If it can be split into an older part of :math:`n_0` and a newer part
    of :math:`n_1` numbers whose means differ by more than

    .. math:: \sqrt{2 m \sigma^2 \ln(2 \ln n / \delta)} + \tfrac{2}{3} m \ln(2 \ln n / \delta), \quad
              m = 1 / n_0 + 1 / n_1,

    a change is reported. The numbers should be of the order of 1, because the second term does not scale with
    the numbers.

    Parameters
    ----------
    delta
        The probability of a false alarm per split; a smaller value is stricter.
    clock
        The number of values between two tests for a change.
    max_buckets
        The maximum number of buckets per size.
    min_window_length
        The minimum length of each of the two parts.
    grace_period
        Windows up to this length are not tested.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> values = np.concatenate([rng.random(1000) < 0.1, rng.random(1000) < 0.4])
    >>> detector = ADWIN()
    >>> detector.update_many(values).tolist()
    [1087]
    >>> for i, value in enumerate(rng.random(1000) < 0.9):
    ...     if detector.update(value):
    ...         print("change at", i)
    change at 47
    """

    def __init__(
        self,
        delta: float = 0.002,
        clock: int = 32,
        max_buckets: int = 5,
        min_window_length: int = 5,
        grace_period: int = 10,
    ) -> None:
        self.settings = {
            "delta": positive(delta, "delta", "ADWIN", 1),
            "clock": whole(clock, "clock", "ADWIN", 1, 1 << 20),
            "max_buckets": whole(max_buckets, "max_buckets", "ADWIN", 1, 1 << 16),
            "min_window_length": whole(min_window_length, "min_window_length", "ADWIN", 1, 1 << 30),
            "grace_period": whole(grace_period, "grace_period", "ADWIN", 0, 1 << 30),
        }
        super().__init__(**self.settings)


class PageHinkley(_Detector, _core.PageHinkleyDetector):
    """A detector of changes in the mean: the Page-Hinkley test on the sum of deviations from the mean.

    Parameters
    ----------
    min_instances
        The minimum number of values before the first test.
    delta
        The size up to which deviations from the mean are ignored.
    threshold
        The difference between the sum and its extreme value above which a change is reported.
    alpha
        The factor by which the sum is multiplied at every number.
    mode
        The direction of the changes to detect: "up", "down" or "both".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> values = np.concatenate([rng.random(1000) < 0.1, rng.random(1000) < 0.4])
    >>> PageHinkley(mode="up").update_many(values).tolist()
    [1221]
    """

    def __init__(
        self,
        min_instances: int = 30,
        delta: float = 0.005,
        threshold: float = 50.0,
        alpha: float = 1 - 0.0001,
        mode: str = "both",
    ) -> None:
        self.settings = {
            "min_instances": whole(min_instances, "min_instances", "PageHinkley", 1, 1 << 62),
            "delta": number(delta, "delta", "PageHinkley", 0),
            "threshold": number(threshold, "threshold", "PageHinkley", 0),
            "alpha": number(alpha, "alpha", "PageHinkley", 0, 1),
            "mode": one_of(mode, "mode", "PageHinkley", ("up", "down", "both"), "'up', 'down' or 'both'"),
        }
        super().__init__(**self.settings)


class KSWIN(_Detector, _core.KswinDetector):
    """A detector of changes in the distribution that uses Kolmogorov-Smirnov tests on a sliding window.

    See Raab, Heusinger and Schleif (2020). At every number, the latest `stat_size` numbers of the window are
    compared with as many numbers drawn at random from the older part of the window. With the same seed,
    River draws the same numbers.

    Parameters
    ----------
    alpha
        The p-value up to which a change is reported, if the distance between the distributions is above 0.1.
        The test is repeated at every number, so false alarms are much more frequent than `alpha`.
    window_size
        The length of the window.
    stat_size
        The number of latest values that are compared; at most half of the window.
    seed
        The seed of the random draws, which restart after every change; None for a random seed.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> values = np.concatenate([rng.normal(0, 1, 1000), rng.normal(2, 1, 1000)])
    >>> KSWIN(alpha=1e-5, seed=1).update_many(values).tolist()
    [1027]
    """

    def __init__(
        self, alpha: float = 0.005, window_size: int = 100, stat_size: int = 30, seed: int | None = None
    ) -> None:
        stat_size = whole(stat_size, "stat_size", "KSWIN", 1, 1 << 20)
        window_size = whole(window_size, "window_size", "KSWIN", 1, 1 << 30)
        if window_size < 2 * stat_size:
            rule = f"at least twice 'stat_size' ({stat_size})"
            raise ParameterError.of("window_size", "KSWIN", rule, window_size)
        self.settings = {
            "alpha": number(alpha, "alpha", "KSWIN", 0, 1),
            "window_size": window_size,
            "stat_size": stat_size,
            "seed": seed if seed is None else whole(seed, "seed", "KSWIN", 0),
        }
        words = np.array(random.Random(seed).getstate()[1], dtype=np.uint32)
        super().__init__(self.settings["alpha"], window_size, stat_size, words)
