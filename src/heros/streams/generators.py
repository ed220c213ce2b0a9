"""Synthetic streams: MOA's generators, with the same instances, and streams with a numeric target."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.parameters import number, one_of, whole
from heros._base.parameters import seed as seed_of
from heros.data.schema import Schema
from heros.streams.base import Block, DriftPoint, Stream, too_many
from heros.streams.live.base import passed

__all__ = ["LED", "Agrawal", "Friedman", "Hyperplane", "RandomRBF", "Wave"]

_MOST_COORDINATES = 10_000_000  # maximum for all centroids together; all of them may move at every instance
_MOST = 1_000_000  # the maximum number of centroids, features or classes

Rows = NDArray[np.float64]


class Generator(Stream):
    """An endless stream whose instances are generated when they are read."""

    endless: ClassVar[bool] = True
    schema = passed("_schema")

    def __init__(self, name: str, schema: Schema) -> None:
        self.name = name
        self._schema = schema
        self._restart()

    @abstractmethod
    def _fill(self, X: Rows, y: NDArray[Any]) -> None:
        """Write the next instances into these arrays."""

    def _draw(self, n: int) -> Block:
        try:
            X = np.empty((n, self._schema.n_features))
            y = np.empty(n, dtype=np.float64 if self._schema.numeric else np.int64)
        except (MemoryError, ValueError):
            raise too_many(n) from None
        self._fill(X, y)
        return X, y


class Synthetic(Generator):
    """An endless stream from a generator of the compiled core; `make` creates this generator."""

    def __init__(self, name: str, schema: Schema, make: Callable[..., Any], *arguments: Any) -> None:
        self._make = partial(make, *arguments)
        super().__init__(name, schema)

    def _fill(self, X: Rows, y: NDArray[Any]) -> None:
        self._generator.fill(X, y)

    def _restart(self) -> None:
        self._generator = self._make()


class Agrawal(Synthetic):
    """A stream of loan applicants in two groups (Agrawal, Imielinski and Swami, 1993).

    Each applicant has nine features (salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan).
    `function` decides which applicants belong to group A. The instances are those of MOA's AgrawalGenerator.

    Parameters
    ----------
    function
        The number of the classification function, 1 to 10.
    seed
        Seed of the instances.
    perturbation
        The noise added to numeric values after the class is assigned, as a share of the range of the feature.
    balance
        Whether the two classes alternate.

    Examples
    --------
    >>> stream = Agrawal(function=2)
    >>> X, y = stream.draw(1000)
    >>> stream.schema.features[3].values
    ('level0', 'level1', 'level2', 'level3', 'level4')
    """

    _SCHEMA: ClassVar[Schema] = Schema.of(
        [
            *("salary", "commission", "age"),
            ("elevel", *(f"level{i}" for i in range(5))),
            ("car", *(f"car{i}" for i in range(1, 21))),
            ("zipcode", *(f"zipcode{i}" for i in range(1, 10))),
            *("hvalue", "hyears", "loan"),
        ],
        classes=["groupA", "groupB"],
    )

    def __init__(
        self, function: int = 1, seed: int = 1, perturbation: float = 0.05, balance: bool = False
    ) -> None:
        self.function = whole(function, "function", "Agrawal", 1, 10)
        self.seed = seed_of(seed, "seed", "Agrawal")
        self.perturbation = number(perturbation, "perturbation", "Agrawal", 0, 1)
        if not isinstance(balance, bool | np.bool_):
            raise ParameterError.of("balance", "Agrawal", "True or False", balance)
        self.balance = bool(balance)
        settings = self.function, self.seed, self.perturbation, self.balance
        super().__init__(f"Agrawal(function={self.function})", self._SCHEMA, _core.Agrawal, *settings)


class RandomRBF(Synthetic):
    """A stream of instances around random centroids, which may move.

    Each centroid has a centre in the unit cube, a class, a spread and a weight; an instance lies in a
    random direction from a centroid chosen by weight. The instances are those of MOA's
    RandomRBFGeneratorDrift (or of RandomRBFGenerator without drift).

    Parameters
    ----------
    classes, features, centroids
        The numbers of classes, features and centroids.
    model_seed, instance_seed
        Seeds of the centroids and of the instances.
    drifting
        The number of centroids that move.
    speed
        The distance that these centroids move with each instance.

    Examples
    --------
    >>> X, y = RandomRBF(classes=5, speed=0.001).draw(1000)
    >>> X.shape
    (1000, 10)
    """

    def __init__(
        self,
        classes: int = 2,
        features: int = 10,
        centroids: int = 50,
        model_seed: int = 1,
        instance_seed: int = 1,
        drifting: int = 50,
        speed: float = 0.0,
    ) -> None:
        self.classes = whole(classes, "classes", "RandomRBF", 2, _MOST)
        self.features = whole(features, "features", "RandomRBF", 1, _MOST)
        self.centroids = whole(centroids, "centroids", "RandomRBF", 1, _MOST)
        if self.features * self.centroids > _MOST_COORDINATES:
            rule = f"at most {_MOST_COORDINATES // self.features} if there are {self.features} features"
            raise ParameterError.of("centroids", "RandomRBF", rule, centroids)
        self.model_seed = seed_of(model_seed, "model_seed", "RandomRBF")
        self.instance_seed = seed_of(instance_seed, "instance_seed", "RandomRBF")
        self.drifting = whole(drifting, "drifting", "RandomRBF", 0, _MOST)
        self.speed = number(speed, "speed", "RandomRBF", 0)
        attributes = [f"att{i}" for i in range(1, self.features + 1)]
        schema = Schema.of(attributes, classes=[f"class{i}" for i in range(1, self.classes + 1)])
        sizes = self.classes, self.features, self.centroids
        settings = *sizes, self.model_seed, self.instance_seed, self.drifting, self.speed
        super().__init__(f"RandomRBF(speed={self.speed:g})", schema, _core.RandomRBF, *settings)


class LED(Synthetic):
    """A stream of digits on a seven-segment display with noise, and 17 irrelevant bits.

    The instances are those of MOA's LEDGeneratorDrift (or of LEDGenerator for ``drift=0``).

    Parameters
    ----------
    drift
        The number of segments that are swapped with irrelevant bits.
    seed
        Seed of the instances.
    noise
        The probability, in percent, that a segment is inverted.

    Examples
    --------
    >>> stream = LED(drift=3)
    >>> stream.schema.n_features, stream.schema.n_classes
    (24, 10)
    """

    _SCHEMA: ClassVar[Schema] = Schema.of(
        [(f"att{i}", "0", "1") for i in range(1, 25)], classes=[str(digit) for digit in range(10)]
    )

    def __init__(self, drift: int = 0, seed: int = 1, noise: int = 10) -> None:
        self.drift = whole(drift, "drift", "LED", 0, 7)
        self.seed = seed_of(seed, "seed", "LED")
        self.noise = whole(noise, "noise", "LED", 0, 100)
        name = f"LED(drift={self.drift})"
        super().__init__(name, self._SCHEMA, _core.LED, self.drift, self.seed, self.noise)


class Numbers(Generator):
    """An endless stream of uniform features in [0, 1] and a numeric target that depends on them, with noise.

    Features, noise and other random numbers have separate random generators. The instances therefore do not
    depend on the block size.
    """

    def __init__(self, name: str, features: int, noise: float, seed: int) -> None:
        owner = type(self).__name__
        self.noise = number(noise, "noise", owner, 0)
        self.seed = seed_of(seed, "seed", owner)
        super().__init__(name, Schema.of([f"x{i}" for i in range(1, features + 1)]))

    @abstractmethod
    def _target(self, X: Rows, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the targets of rows before noise is added; `t` are the 0-based positions of the rows."""

    def _restart(self) -> None:
        seeds = np.random.SeedSequence(self.seed).spawn(3)
        self._features, self._noise, self._choice_rng = map(np.random.default_rng, seeds)

    def _fill(self, X: Rows, y: NDArray[Any]) -> None:
        self._features.random(out=X)
        y[:] = self._target(X, np.arange(self._position, self._position + len(y)))
        y += self.noise * self._noise.standard_normal(len(y))


class Friedman(Numbers):
    """A stream whose target is Friedman's function (1991) of five of ten features, with optional drift.

    y = 10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5 + noise. The drifts are those of Ikonomovska et al.
    (2011):

    "local"
        in a part of the space (x2 and x3 low, x4 high), the function is 10 x1 x2 + 20 (x3 − ½) + 10 x4 +
        5 x5; this part is empty at first and grows at each of three points;
    "global"
        between the first and the second point the features are permuted: 10 sin(π x4 x5) + 20 (x2 − ½)² +
        10 x1 + 5 x3; then the original function applies again;
    "gradual"
        like "global", but both functions are mixed over `width` instances after each point.

    Parameters
    ----------
    drift
        The kind of drift; None for no drift.
    length
        The number of instances. The drift points are after one quarter and one half of the instances and, for
        "local", also after three quarters.
    width
        The number of instances that a gradual drift takes; by default `length` / 20.
    noise
        The standard deviation of the noise.
    seed
        Seed of the instances.

    Examples
    --------
    >>> X, y = Friedman().draw(1000)
    >>> X.shape, bool(13 < y.mean() < 16)
    ((1000, 10), True)
    >>> [point.position for point in Friedman("local", length=40_000).drifts]
    [10000, 20000, 30000]
    """

    DRIFTS: ClassVar[tuple[str, ...]] = ("local", "global", "gradual")

    def __init__(
        self,
        drift: str | None = None,
        *,
        length: int = 100_000,
        width: int | None = None,
        noise: float = 1.0,
        seed: int = 1,
    ) -> None:
        if drift is not None:
            one_of(drift, "drift", "Friedman", self.DRIFTS, "'local', 'global', 'gradual' or None")
        self.drift = drift
        self.length = whole(length, "length", "Friedman", 4)
        self.width = 1
        if drift == "gradual":
            twentieth = max(1, self.length // 20)
            self.width = twentieth if width is None else whole(width, "width", "Friedman", 1)
        elif width is not None:
            raise ParameterError.of("width", "Friedman", "None unless the drift is 'gradual'", width)
        super().__init__("Friedman" if drift is None else f"Friedman({drift})", 10, noise, seed)

    @property
    def drifts(self) -> tuple[DriftPoint, ...]:
        """The drift points."""
        points = {None: 0, "local": 3}.get(self.drift, 2)
        return tuple(DriftPoint(self.length * i // 4, self.width) for i in range(1, points + 1))

    def _target(self, X: Rows, t: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.drift is None:
            return _friedman(X)
        points = np.array([point.position for point in self.drifts])
        if self.drift == "local":
            edge = np.array([0.0, 0.3, 0.5, 0.7])[np.searchsorted(points, t, side="right")]
            changed = (X[:, 1] < edge) & (X[:, 2] < edge) & (X[:, 3] > 1 - edge)
            local = 10 * X[:, 0] * X[:, 1] + 20 * (X[:, 2] - 0.5) + 10 * X[:, 3] + 5 * X[:, 4]
            return np.where(changed, local, _friedman(X))
        draws = self._choice_rng.random((len(t), 2))  # row by row: any block size gives the same instances
        first, second = (draws < (t[:, None] - points + 1) / self.width).T
        return np.where(first & ~second, _friedman(X[:, [3, 4, 1, 0, 2]]), _friedman(X))


def _friedman(X: Rows) -> NDArray[np.float64]:
    return np.asarray(
        10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    )


class Hyperplane(Numbers):
    """A stream whose target is a weighted sum of the features; some weights change with every instance.

    y = w·x + noise. The weights are random, in [−1, 1]; each of the first `drifting` weights oscillates as
    w·cos(2π t/period + phase) with a period of 1/speed instances.

    Parameters
    ----------
    features, drifting
        The number of features, and the number of weights that oscillate.
    speed
        The number of oscillations per instance.
    noise
        The standard deviation of the noise.
    seed
        Seed of the weights and the instances.

    Examples
    --------
    >>> X, y = Hyperplane(features=5, speed=0).draw(100)
    >>> X.shape, y.shape
    ((100, 5), (100,))
    """

    def __init__(
        self, features: int = 10, drifting: int = 5, speed: float = 0.0001, noise: float = 0.05, seed: int = 1
    ) -> None:
        self.features = whole(features, "features", "Hyperplane", 1, _MOST)
        self.drifting = whole(drifting, "drifting", "Hyperplane", 0, self.features)
        self.speed = number(speed, "speed", "Hyperplane", 0)
        super().__init__(f"Hyperplane(speed={self.speed:g})", self.features, noise, seed)

    def _restart(self) -> None:
        super()._restart()
        self._weights = self._choice_rng.uniform(-1, 1, self.features)
        self._phases = self._choice_rng.uniform(0, 2 * np.pi, self.features)

    def _target(self, X: Rows, t: NDArray[np.int64]) -> NDArray[np.float64]:
        turned = np.cos(2 * np.pi * self.speed * t[:, None] + self._phases[: self.drifting])
        weights = np.tile(self._weights, (len(t), 1))
        weights[:, : self.drifting] *= turned
        return np.asarray(np.einsum("ij,ij->i", X, weights))


class Wave(Numbers):
    """A stream with a periodic target and noise, like demand over time.

    y = 10 sin(2π t/period) + 5 sin(2π x1)·x2 + 3 x3 + noise. The last two features are the sine and cosine of
    the phase; models can learn the period from them. The other features are uniform.

    Parameters
    ----------
    period
        The period in instances.
    noise
        The standard deviation of the noise.
    seed
        Seed of the instances.

    Examples
    --------
    >>> X, y = Wave(noise=0).draw(1000)
    >>> X.shape, bool(abs(y).max() < 18.1)
    ((1000, 7), True)
    """

    def __init__(self, period: int = 500, noise: float = 0.5, seed: int = 1) -> None:
        self.period = whole(period, "period", "Wave", 2)
        super().__init__(f"Wave(period={self.period})", 7, noise, seed)

    def _target(self, X: Rows, t: NDArray[np.int64]) -> NDArray[np.float64]:
        time = 2 * np.pi * (t % self.period) / self.period
        X[:, 5], X[:, 6] = np.sin(time), np.cos(time)
        return np.asarray(10 * np.sin(time) + 5 * np.sin(2 * np.pi * X[:, 0]) * X[:, 1] + 3 * X[:, 2])
