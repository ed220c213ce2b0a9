"""HEROS as a classifier and a regressor for CapyMOA, and CapyMOA streams for HEROS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, MissingExtra, ParameterError
from heros.data.schema import Feature, Schema
from heros.data.weights import ClassWeight
from heros.ensemble.settings import ModelSettings, heros_of
from heros.scores import Score
from heros.streams import Stream
from heros.streams.base import Block

try:
    import capymoa.base
    import capymoa.stream
except ModuleNotFoundError as error:
    if error.name != "capymoa":  # CapyMOA is installed, but one of its dependencies is missing
        raise
    raise MissingExtra.of("heros.integrations.capymoa", "capymoa") from None

__all__ = ["HEROS", "HEROSRegressor", "from_capymoa", "schema_of"]


@dataclass(eq=False, repr=False)
class _SchemaParameter:
    """The `schema` parameter, which is the first parameter of every CapyMOA learner."""

    schema: Any


@dataclass(eq=False, repr=False)
class CapyMoaSettings(ModelSettings, _SchemaParameter):
    """The base class of the classifier and the regressor, with an ensemble for CapyMOA's schema."""

    _numeric: ClassVar[bool]  # whether the target is a number

    _: KW_ONLY
    score: Score | None = None
    class_weight: ClassWeight = None
    random_seed: int = 1

    def __post_init__(self) -> None:
        known = _expected(self.schema, type(self).__name__, numeric=self._numeric)
        super(_SchemaParameter, self).__init__(schema=self.schema, random_seed=self.random_seed)  # type: ignore[call-arg]
        self.heros = heros_of(self, seed=self.random_seed, schema=known)


class HEROS(CapyMoaSettings, capymoa.base.Classifier):  # type: ignore[misc]  # the library has no types
    """A heterogeneous online ensemble that trains k of its M models at each step, for CapyMOA.

    Parameters
    ----------
    schema
        CapyMOA's description of the instances.
    pool, policy, k, score, answer, watch, burst, warmup, budget, explainable, class_weight
        As for `heros.Heros`.
    random_seed
        The seed of the initial weights and the policy.

    Attributes
    ----------
    heros : Heros
        The ensemble, with `leaderboard()`, `explain_choice()` and its other methods.

    Examples
    --------
    >>> from capymoa.evaluation import prequential_evaluation
    >>> from capymoa.stream.generator import SEA
    >>> from heros import pools
    >>> stream = SEA()
    >>> learner = HEROS(stream.get_schema(), pools.MLPGrid(hidden=[16]), k=5)
    >>> results = prequential_evaluation(stream, learner, max_instances=2000)
    >>> results.accuracy() > 80
    True
    """

    _numeric = False
    __init__ = CapyMoaSettings.__init__  # CapyMOA reads the parameters of the class itself

    def train(self, instance: Any) -> None:
        """Learn from a labelled instance."""
        self.heros.learn(instance.x, instance.y_index)

    def predict_proba(self, instance: Any) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return np.asarray(self.heros.predict_proba(instance.x))


class HEROSRegressor(CapyMoaSettings, capymoa.base.Regressor):  # type: ignore[misc]
    """A heterogeneous online ensemble for regression, with the parameters of `HEROS`.

    Its attribute `heros` also predicts intervals (see `Heros.predict_interval`).

    Examples
    --------
    >>> from capymoa.evaluation import prequential_evaluation
    >>> from capymoa.stream import NumpyStream
    >>> from heros import streams
    >>> X, y = streams.Friedman().draw(1000)
    >>> stream = NumpyStream(X, y, target_type="numeric")
    >>> results = prequential_evaluation(stream, HEROSRegressor(stream.get_schema()))
    >>> results.cumulative.r2() > 0.5
    True
    """

    _numeric = True
    __init__ = CapyMoaSettings.__init__  # CapyMOA reads the parameters of the class itself

    def train(self, instance: Any) -> None:
        """Learn from an instance with its target."""
        self.heros.learn(instance.x, instance.y_value)

    def predict(self, instance: Any) -> float:
        """Return the predicted value."""
        return float(self.heros.predict(instance.x))


def schema_of(schema: Any) -> Schema:
    """Convert a CapyMOA schema to a HEROS schema; every feature may have missing values.

    Examples
    --------
    >>> from capymoa.stream.generator import SEA
    >>> schema_of(SEA().get_schema()).classes
    ('groupA', 'groupB')
    """
    if not isinstance(schema, capymoa.stream.Schema):
        raise ParameterError.of("schema", "schema_of", "a CapyMOA schema (capymoa.stream.Schema)", schema)
    header = schema.get_moa_header()
    attributes = [header.attribute(i) for i in range(header.numAttributes()) if i != header.classIndex()]
    features = tuple(Feature(str(a.name()), _values(a), missing=True) for a in attributes)
    if schema.is_regression():
        return Schema(features, (), numeric=True)
    return Schema(features, tuple(map(str, schema.get_label_values())))


def _expected(schema: Any, owner: str, *, numeric: bool) -> Schema:
    if not isinstance(schema, capymoa.stream.Schema) or schema.is_regression() != numeric:
        task = "regression" if numeric else "classification"
        raise ParameterError.of("schema", owner, f"a CapyMOA schema of a {task} task", schema)
    return schema_of(schema)


def _values(attribute: Any) -> tuple[str, ...] | None:
    return tuple(map(str, attribute.getAttributeValues())) if attribute.isNominal() else None


def from_capymoa(stream: Any | Callable[[], Any], *, name: str | None = None) -> Stream:
    """Convert a CapyMOA stream to a HEROS stream with the same instances in the same order.

    Parameters
    ----------
    stream
        A CapyMOA stream, which is restarted, or a function that returns a new stream. Java streams cannot be
        copied. The HEROS stream can be copied and pickled only if `stream` is a function; otherwise ``take``
        advances `stream` itself.
    name
        The name of the stream; by default CapyMOA's name.

    Examples
    --------
    >>> from capymoa.stream.generator import SEA
    >>> from heros import Heros, evaluate, pools
    >>> stream = from_capymoa(SEA).take(2000)
    >>> run = evaluate(Heros(pools.MLPGrid(hidden=[16]), k=5, seed=1), stream)
    >>> run.n_instances, run.accuracy > 0.8
    (2000, True)
    """
    if not callable(stream) and not isinstance(stream, capymoa.stream.Stream):
        rule = "a CapyMOA stream or a function that returns a CapyMOA stream"
        raise ParameterError.of("stream", "from_capymoa", rule, stream)
    return CapymoaStream(stream, name)


class CapymoaStream(Stream):
    """The instances of a CapyMOA stream."""

    _shared: ClassVar[frozenset[str]] = frozenset({"_make"})

    def __init__(self, stream: Any, name: str | None) -> None:
        self._make = stream if callable(stream) else None
        self._stream = stream if self._make is None else self._make()
        self._stream.restart()
        self._schema = schema_of(self._stream.get_schema())
        self.name = str(self._stream) if name is None else name

    @property
    def schema(self) -> Schema:
        """The features and the target."""
        return self._schema

    @property
    def n_instances(self) -> int | None:
        """The number of instances from start to end; None if CapyMOA does not know this number."""
        try:
            return len(self._source())
        except (TypeError, NotImplementedError):
            return None

    def _source(self) -> Any:
        """Return the CapyMOA stream at the current position; in a copy of this object, create it first."""
        if self._stream is None and self._make is not None:
            self._stream = self._make()
            self._stream.restart()
            for _ in islice(self._stream, self._position):
                pass
        return self._stream

    def _draw(self, n: int) -> Block:
        instances = list(islice(self._source(), n))
        X = np.array([instance.x for instance in instances], dtype=np.float64)
        X = X.reshape(len(instances), self._schema.n_features)
        if self._schema.numeric:
            return X, np.array([instance.y_value for instance in instances], dtype=np.float64)
        return X, np.array([instance.y_index for instance in instances], dtype=np.int64)

    def _restart(self) -> None:
        self._source().restart()

    def _copy_for_stream(self) -> Stream:
        return self if self._make is None else super()._copy_for_stream()

    def __getstate__(self) -> dict[str, Any]:
        if self._make is None:
            raise DataError(
                f"The stream {self.name!r} is a Java object, which cannot be copied. "
                "Pass from_capymoa a function that returns a new stream."
            )
        return {**self.__dict__, "_stream": None}
