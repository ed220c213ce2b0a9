"""Pools of models from River, scikit-learn and CapyMOA, and of models that you wrote yourself."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import shorten
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import DataError, HerosError, ParameterError
from heros._base.parameters import one_of
from heros._base.progress import progress
from heros.data.schema import Schema
from heros.pools.adapters import Member, creates_model, kind_of, member_of
from heros.pools.base import BoundPool, Floats, Pool, expect_schema, feature_values, shares
from heros.pools.python_models import MemberCalls, OnError, fault
from heros.pools.timing import seconds_alone

Costs = Literal["measured"] | Sequence[float] | Callable[[Any], float]

LINE = 300  # maximum number of characters of a model's text
TIMED = 200  # number of instances on which the cost of a member is measured


@dataclass(frozen=True, init=False)
class Models(Pool):
    """Models from other libraries, in any combination, used like the models of any other pool.

    Parameters
    ----------
    models
        Each model is a River model, a scikit-learn model with `partial_fit`, a CapyMOA model, or an object
        with ``learn(x, y)`` and ``predict_proba(x)`` (for regression ``predict(x)``). It can also be a class
        or `functools.partial` that creates such a model (a CapyMOA class receives the stream's schema), or a
        tuple of a name and a model. The pool uses copies of the models in their current state, so a model may
        already be trained. The seed of `Heros` has no effect on these models.
    costs
        The cost γ of a training step: one number per model, a function that returns the cost of a
        model, or "measured" (CPU time on random instances when the pool is bound, which varies from run to
        run). Costs are scaled to sum to 1.
    on_error
        What happens if a model raises an exception. "set_aside" issues a warning and excludes the model: from
        then on, the model's predictions count as wrong, and the model is neither trained nor used to predict.
        "raise" raises an error.

    Examples
    --------
    >>> class Majority:
    ...     def __init__(self, classes): self.counts = np.zeros(classes)
    ...     def predict_proba(self, x): return self.counts
    ...     def learn(self, x, y): self.counts[y] += 1
    >>> from river.tree import HoeffdingTreeClassifier
    >>> from sklearn.linear_model import SGDClassifier
    >>> pool = Models([Majority(2), HoeffdingTreeClassifier(), ("sgd", SGDClassifier())], costs=[1, 10, 4])
    >>> [configuration["name"] for configuration in pool.configurations]
    ['Majority', 'HoeffdingTreeClassifier', 'sgd']
    """

    plain: ClassVar[bool] = False  # the members are Python objects, so they can only be pickled

    names: tuple[str, ...]
    models: tuple[Any, ...]
    costs: Costs
    on_error: OnError

    def __init__(
        self, models: Iterable[Any], *, costs: Costs = "measured", on_error: OnError = "set_aside"
    ) -> None:
        pairs = [model if isinstance(model, tuple) else (None, model) for model in models]
        if not pairs:
            raise ParameterError.of("models", "Models", "a list of at least one model", [])
        for _, model in pairs:
            kind_of(model)
        if isinstance(costs, str):
            one_of(costs, "costs", "Models", ("measured",), "'measured', a function or numbers")
        elif callable(costs):
            costs = tuple(shares([costs(model) for _, model in pairs], len(pairs), "Models").tolist())
        else:
            costs = tuple(shares(costs, len(pairs), "Models").tolist())
        one_of(on_error, "on_error", "Models", ("set_aside", "raise"), "'set_aside' or 'raise'")
        fields = {
            "names": _distinct([name or _class_of(model).__name__ for name, model in pairs]),
            "models": tuple(model for _, model in pairs),
            "costs": costs,
            "on_error": on_error,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if len(set(self.names)) != len(pairs):
            raise ParameterError.of("models", "Models", "models with distinct names", list(self.names))

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The name of each model and the text that describes it."""
        pairs = zip(self.names, self.models, strict=True)
        return tuple({"name": name, "model": _text(model)} for name, model in pairs)

    def bind(self, schema: Schema, rng: np.random.Generator, costs: Floats | None = None) -> BoundModels:
        """Copy or create the models for this schema; `rng` is not used."""
        return BoundModels(self, schema, costs)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle each model inside its adapter (`Member`), because Java models cannot be pickled directly."""
        members = tuple(model if creates_model(model) else kind_of(model)(model) for model in self.models)
        return {**vars(self), "models": members}

    def __setstate__(self, state: dict[str, Any]) -> None:
        models = tuple(member.model if isinstance(member, Member) else member for member in state["models"])
        vars(self).update(state, models=models)

    def __repr__(self) -> str:
        return f"Models({', '.join(self.names)})"


class BoundModels(BoundPool):
    """The models of a `Models` pool for one schema.

    Examples
    --------
    >>> from river.naive_bayes import GaussianNB
    >>> schema = Schema.of(["age"], classes=["no", "yes"])
    >>> bound = Models([GaussianNB()], costs=[1]).bind(schema, np.random.default_rng(1))
    >>> bound["GaussianNB"], bound.set_aside
    (GaussianNB (), {})
    """

    native: _core.MembersPool

    def __init__(self, pool: Models, schema: Schema, costs: Floats | None = None) -> None:
        self.pool = pool
        self._calls = MemberCalls(pool.names, _members(pool, schema), pool.on_error)
        self.native = _core.MembersPool(self._calls.look, self._calls.train, self._calls.answer)
        self._fit(schema)
        self.costs = self._costs() if costs is None else costs

    def __getitem__(self, name: str) -> Any:
        """Return the current model with this name."""
        self.native.expect_readable()
        return self._calls.members[self.pool.names.index(name)].model

    @property
    def set_aside(self) -> dict[str, str]:
        """The error of each excluded model, by the name of the model."""
        return dict(self._calls.faults)

    def seconds(self) -> tuple[Floats, Floats]:
        """Return each model's mean CPU seconds per evaluation and per training step so far."""
        return self._calls.look_clock.means(), self._calls.train_clock.means()

    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Extend the models to a schema with more features, values or classes; the costs do not change."""
        self._calls.grow(schema)
        self._fit(schema)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays; one array contains the bytes of the pickled models."""
        self.native.expect_readable()
        learnt = pickle.dumps((self._calls.members, self._calls.faults))
        return {
            "learnt": np.frombuffer(learnt, dtype=np.uint8),
            "values": feature_values(self.schema),
            "classes": np.array([self.schema.n_outputs]),
            "gamma": self.costs,
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        expect_schema(state, self.schema, "Models")
        self.native.expect_writable()
        try:
            members, faults = pickle.loads(state["learnt"].tobytes())
        except Exception as error:
            raise DataError(f"The pickled models cannot be read. The error was: {error!r}.") from None
        if len(members) != self.pool.n_models:
            rule = f"the state of {self.pool.n_models} models"
            raise ParameterError.of("state", "Models", rule, len(members))
        self._calls.members, self._calls.faults = members, faults
        self._fit(self.schema)
        self.costs = shares(state["gamma"], self.pool.n_models, "Models")

    def _fit(self, schema: Schema) -> None:
        self.schema = schema
        self.native.fit(schema.n_features, *self._calls.fit(schema))

    def _costs(self) -> Floats:
        costs = self.pool.costs
        seconds = self._seconds() if costs == "measured" else costs
        assert not callable(seconds)
        return shares(seconds, self.pool.n_models, "Models")

    def _seconds(self) -> list[float]:
        """Return the CPU seconds of each model; a model whose timing fails gets the highest cost."""
        seconds = []
        with progress() as bar:
            for model in bar.track(self.pool.models, description="timing"):
                try:
                    seconds.append(_seconds_of(model, self.schema))
                except HerosError:
                    seconds.append(np.nan)
        most = np.nanmax(seconds) if np.isfinite(seconds).any() else 1.0
        return [most if np.isnan(s) else s for s in seconds]


def _seconds_of(model: Any, schema: Schema) -> float:
    """Return the CPU seconds of the faster of two rounds, because Java compiles in the first round."""
    alone = Models([model], costs=[1], on_error="raise")
    return min(seconds_alone(alone, schema, TIMED) for _ in range(2))


def _members(pool: Models, schema: Schema) -> list[Member]:
    """Return the members for this schema, or raise an error that names the model that does not fit."""
    members = []
    for i, (name, model) in enumerate(zip(pool.names, pool.models, strict=True)):
        try:
            members.append(member_of(model, schema))
        except HerosError:
            raise
        except Exception as error:
            raise HerosError(fault(name, i, "fit the schema", error)) from error
    return members


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Return the names with a number appended to each repeated name."""
    counts: dict[str, int] = {}
    distinct = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        distinct.append(name if names.count(name) == 1 else f"{name} {counts[name]}")
    return tuple(distinct)


def _class_of(model: Any) -> Any:
    subject = model.func if isinstance(model, partial) else model
    return subject if isinstance(subject, type) else type(subject)


def _text(model: Any) -> str:
    """Return the repr of a model on one line, or the class name if the repr is the default one."""
    kind = _class_of(model)
    plain = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(model, partial):
        settings = ", ".join(f"{name}={value!r}" for name, value in model.keywords.items())
        return f"{plain}({settings})"
    if isinstance(model, type) or repr(model) == object.__repr__(model):
        return plain
    return shorten(repr(model), LINE)
