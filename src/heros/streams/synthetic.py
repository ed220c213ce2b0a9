"""MOA's generators, instance for instance."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, seed, whole
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.streams.base import Block, Stream

__all__ = ["LED", "Agrawal", "RandomRBF"]


class _Generator(Protocol):
    def fill(self, X: NDArray[np.float64], y: NDArray[np.int64], /) -> None: ...


class Synthetic(Stream):
    """An endless stream made by a compiled generator."""

    endless: ClassVar[bool] = True

    def __init__(self, name: str, schema: Schema) -> None:
        self.name = name
        self._schema = schema
        self._generator = self._build()

    @property
    def schema(self) -> Schema:
        """What an instance looks like."""
        return self._schema

    @abstractmethod
    def _build(self) -> _Generator:
        """The generator at its start."""

    def _draw(self, n: int) -> Block:
        X, y = self._room(n)
        self._generator.fill(X, y)
        return X, y

    def _room(self, n: int) -> Block:
        try:
            return np.empty((n, self._schema.n_features)), np.empty(n, dtype=np.int64)
        except (MemoryError, ValueError):
            raise ParameterError.of("n", "draw", "few enough instances to fit into memory", n) from None

    def _restart(self) -> None:
        self._generator = self._build()


class Agrawal(Synthetic):
    """Loan applicants in two groups (Agrawal, Imielinski and Swami, 1993).

    Nine features (salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan); `function`
    says which applicants belong to group A. The instances are those of MOA's AgrawalGenerator.

    Parameters
    ----------
    function
        Which of the ten classification functions, 1 to 10.
    seed
        Seed of the instances.
    perturbation
        How far the numeric values are moved after the class is given, as a share of their range.
    balance
        Whether the two classes alternate.

    Examples
    --------
    >>> stream = Agrawal(function=2)
    >>> X, y = stream.draw(1000)
    >>> stream.schema.features[3].values
    ('level0', 'level1', 'level2', 'level3', 'level4')
    >>> Agrawal(function=11)
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'function' parameter of Agrawal must be a whole number in [1, 10].
    Got 11 instead.
    """

    _SCHEMA: ClassVar[Schema] = Schema.of(
        [
            "salary",
            "commission",
            "age",
            ("elevel", *(f"level{i}" for i in range(5))),
            ("car", *(f"car{i}" for i in range(1, 21))),
            ("zipcode", *(f"zipcode{i}" for i in range(1, 10))),
            "hvalue",
            "hyears",
            "loan",
        ],
        classes=["groupA", "groupB"],
    )

    def __init__(
        self, function: int = 1, seed: int = 1, perturbation: float = 0.05, balance: bool = False
    ) -> None:
        self.function = whole(function, "function", "Agrawal", 1, 10)
        self.seed = _seed(seed, "seed", "Agrawal")
        self.perturbation = number(perturbation, "perturbation", "Agrawal", 0, 1)
        if not isinstance(balance, bool | np.bool_):
            raise ParameterError.of("balance", "Agrawal", "True or False", balance)
        self.balance = bool(balance)
        super().__init__(f"Agrawal(function={self.function})", self._SCHEMA)

    def _build(self) -> _core.Agrawal:
        return _core.Agrawal(self.function, self.seed, self.perturbation, self.balance)


class RandomRBF(Synthetic):
    """Instances around random centroids, which may move.

    Each centroid has a centre in the unit cube, a class, a spread and a weight; an instance lies in a
    random direction from a centroid chosen by weight. The instances are those of MOA's
    RandomRBFGeneratorDrift (of RandomRBFGenerator where nothing drifts).

    Parameters
    ----------
    classes, features, centroids
        How many of each.
    model_seed, instance_seed
        Seeds of the centroids and of the instances.
    drifting
        How many centroids move; at most all of them.
    speed
        How far they move with each instance.

    Examples
    --------
    >>> X, y = RandomRBF(classes=5, speed=0.001).draw(1000)
    >>> X.shape
    (1000, 10)
    >>> RandomRBF(speed=-1)
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'speed' parameter of RandomRBF must be a number >= 0. Got -1 instead.
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
            rule = f"at most {_MOST_COORDINATES // self.features} with {self.features} features"
            raise ParameterError.of("centroids", "RandomRBF", rule, centroids)
        self.model_seed = _seed(model_seed, "model_seed", "RandomRBF")
        self.instance_seed = _seed(instance_seed, "instance_seed", "RandomRBF")
        self.drifting = whole(drifting, "drifting", "RandomRBF", 0, _MOST)
        self.speed = number(speed, "speed", "RandomRBF", 0)
        super().__init__(
            f"RandomRBF(speed={self.speed:g})",
            Schema.of(
                [f"att{i}" for i in range(1, self.features + 1)],
                classes=[f"class{i}" for i in range(1, self.classes + 1)],
            ),
        )

    def _build(self) -> _core.RandomRBF:
        return _core.RandomRBF(
            self.classes,
            self.features,
            self.centroids,
            self.model_seed,
            self.instance_seed,
            self.drifting,
            self.speed,
        )


class LED(Synthetic):
    """The digits of a seven-segment display, some segments inverted, and 17 bits that mean nothing.

    The instances are those of MOA's LEDGeneratorDrift (of LEDGenerator for ``drift=0``).

    Parameters
    ----------
    drift
        How many of the seven segments have changed places with meaningless bits.
    seed
        Seed of the instances.
    noise
        The chance, in percent, that a segment is inverted.

    Examples
    --------
    >>> stream = LED(drift=3)
    >>> stream.schema.n_features, stream.schema.n_classes
    (24, 10)
    >>> LED(drift=8)
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'drift' parameter of LED must be a whole number in [0, 7]. Got 8 instead.
    """

    _SCHEMA: ClassVar[Schema] = Schema.of(
        [(f"att{i}", "0", "1") for i in range(1, 25)], classes=[str(digit) for digit in range(10)]
    )

    def __init__(self, drift: int = 0, seed: int = 1, noise: int = 10) -> None:
        self.drift = whole(drift, "drift", "LED", 0, 7)
        self.seed = _seed(seed, "seed", "LED")
        self.noise = whole(noise, "noise", "LED", 0, 100)
        super().__init__(f"LED(drift={self.drift})", self._SCHEMA)

    def _build(self) -> _core.LED:
        return _core.LED(self.drift, self.seed, self.noise)


_seed = seed  # the classes have a parameter of the same name
_MOST_COORDINATES = 10_000_000  # of all centroids, in memory and moved with every instance
_MOST = 1_000_000  # more centroids, features or classes than that is a slip of the pen
