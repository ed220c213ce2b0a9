"""Adapters that give models of other libraries the same interface, as members of a pool.

An adapter recognises a model's library by the methods of the model. A library is imported only if needed.
"""

from __future__ import annotations

import copy
import io
import math
from abc import ABC, abstractmethod
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from heros._base.errors import ParameterError
from heros._base.extras import needed
from heros.data.schema import Schema
from heros.pools.base import Floats


class Instance:
    """One instance in the formats of the libraries; each format is created once, on first use."""

    def __init__(self, schema: Schema, row: Floats) -> None:
        self.schema, self.row = schema, row
        self._capymoa: dict[int, Any] = {}

    @cached_property
    def table(self) -> Floats:
        """The instance as an array (1, n_features), for scikit-learn."""
        return self.row[np.newaxis]

    @cached_property
    def named(self) -> dict[str, float | str]:
        """The instance as a dictionary, for River: nominal values are names; missing values are left out."""
        pairs = zip(self.schema.features, self.row.tolist(), strict=True)
        return {
            feature.name: value if feature.values is None else feature.values[int(value)]
            for feature, value in pairs
            if not math.isnan(value)
        }

    def capymoa(self, schema: Any) -> Any:
        """Return a CapyMOA instance without a label; MOA reads NaN as a missing value."""
        if id(schema) not in self._capymoa:
            self._capymoa[id(schema)] = _capymoa("core").Instance.from_array(schema, self.row)
        return self._capymoa[id(schema)]


class Member(ABC):
    """A pool member: a model from another library."""

    needs: ClassVar[tuple[str, ...]]  # the methods that identify a model of this library

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def supports(cls, subject: Any) -> bool:
        """Return whether this adapter supports a model or a class of models."""
        return _has(subject, *cls.needs)

    def bind(self, schema: Schema) -> None:
        """Set the initial or the extended schema; raise an error if the model cannot use this schema."""
        self.schema = schema

    @abstractmethod
    def predict_proba(self, instance: Instance) -> Any:
        """Return class probabilities, which need not sum to 1; None if the model cannot predict yet."""

    @abstractmethod
    def learn(self, instance: Instance, y: float) -> None:
        """Learn from an instance whose class index or numeric target is y."""

    @abstractmethod
    def predict(self, instance: Instance) -> Any:
        """Return the predicted value, or None if the model cannot predict yet."""

    def _votes(self, classes: Any, p: Any) -> Floats:
        """Return probabilities (n_classes,): `p` for these class indices, 0 for all others."""
        votes = np.zeros(self.schema.n_classes)
        votes[classes] = p
        return votes

    def _one_hot(self, label: Any) -> Floats | None:
        """Return the probabilities of a model that predicts only a class."""
        return None if label is None else self._votes(int(label), 1.0)


class RiverMember(Member):
    """A River classifier or regressor, which gets instances as dictionaries and labels as class indices."""

    needs = ("learn_one", "predict_one")

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._has_probabilities = hasattr(model, "predict_proba_one")

    def predict_proba(self, instance: Instance) -> Any:
        if self._has_probabilities:
            try:
                by_label = self.model.predict_proba_one(instance.named)
                return self._votes([*map(int, by_label)], [*by_label.values()])
            except NotImplementedError:  # River's base class raises this if the model has no probabilities
                self._has_probabilities = False
        return self._one_hot(self.model.predict_one(instance.named))

    def learn(self, instance: Instance, y: float) -> None:
        self.model.learn_one(instance.named, y)

    def predict(self, instance: Instance) -> Any:
        return self.model.predict_one(instance.named)


class SklearnMember(Member):
    """A scikit-learn classifier or regressor with `partial_fit`, which gets nominal values as codes."""

    needs = ("partial_fit", "predict")

    def bind(self, schema: Schema) -> None:
        if hasattr(self, "schema") and self._has_learnt:
            older = self.schema
            if (older.n_features, older.n_classes) != (schema.n_features, schema.n_classes):
                raise ValueError("a trained model does not support new features or classes")
        super().bind(schema)

    def predict_proba(self, instance: Instance) -> Any:
        if not self._has_learnt:
            return None
        if not hasattr(self.model, "predict_proba"):
            return self._one_hot(self.model.predict(instance.table)[0])
        p = self.model.predict_proba(instance.table)[0]
        return self._votes(self.model.classes_.astype(np.int64), p)

    def learn(self, instance: Instance, y: float) -> None:
        known = self._has_learnt or self.schema.numeric
        classes = {} if known else {"classes": np.arange(self.schema.n_classes)}
        self.model.partial_fit(instance.table, np.array([y]), **classes)

    def predict(self, instance: Instance) -> Any:
        return self.model.predict(instance.table).ravel()[0] if self._has_learnt else None

    @property
    def _has_learnt(self) -> bool:
        return hasattr(self.model, "n_features_in_" if self.schema.numeric else "classes_")


class CapyMoaMember(Member):
    """A CapyMOA or MOA classifier or regressor, whose schema cannot be extended."""

    needs = ("train", "predict_proba")

    @classmethod
    def supports(cls, subject: Any) -> bool:
        """Return whether the model is from CapyMOA; a regressor is identified by its Python module."""
        kind = subject if isinstance(subject, type) else type(subject)
        is_capymoa = any(base.__module__.split(".")[0] == "capymoa" for base in kind.__mro__)
        return super().supports(subject) or (is_capymoa and _has(subject, "train", "predict"))

    def bind(self, schema: Schema) -> None:
        if hasattr(self, "schema"):
            raise ValueError("a CapyMOA model does not support new features or classes")
        known = self.model.schema
        classes = 0 if known.is_regression() else known.get_num_classes()
        if (known.get_num_attributes(), classes) != (schema.n_features, schema.n_classes):
            raise ValueError("the model was created for a different number of features or classes")
        super().bind(schema)

    def predict_proba(self, instance: Instance) -> Any:
        return self.model.predict_proba(instance.capymoa(self.model.schema))

    def learn(self, instance: Instance, y: float) -> None:
        core = _capymoa("core")
        kind = core.RegressionInstance if self.schema.numeric else core.LabeledInstance
        self.model.train(kind.from_array(self.model.schema, instance.row, y))

    def predict(self, instance: Instance) -> Any:
        return self.model.predict(instance.capymoa(self.model.schema))

    def __getstate__(self) -> dict[str, Any]:
        buffer = io.BytesIO()
        _capymoa("core.io").save_model(self.model, buffer)  # pickle alone cannot store Java objects
        return {**vars(self), "model": buffer.getvalue()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, model=_capymoa("core.io").load_model(io.BytesIO(state["model"])))


class OwnMember(Member):
    """Any object with `learn(x, y)` and `predict_proba(x)` or, for regression, `predict(x)`.

    If the object has a method `bind(schema)`, this method is called with the initial schema and with each
    extended schema.
    """

    needs = ("learn",)

    @classmethod
    def supports(cls, subject: Any) -> bool:
        return super().supports(subject) and (_has(subject, "predict_proba") or _has(subject, "predict"))

    def bind(self, schema: Schema) -> None:
        super().bind(schema)
        if hasattr(self.model, "bind"):
            self.model.bind(schema)

    def predict_proba(self, instance: Instance) -> Any:
        return self.model.predict_proba(instance.row)

    def learn(self, instance: Instance, y: float) -> None:
        self.model.learn(instance.row, y)

    def predict(self, instance: Instance) -> Any:
        return self.model.predict(instance.row)


def _has(subject: Any, *methods: str) -> bool:
    return all(callable(getattr(subject, name, None)) for name in methods)


KINDS: tuple[type[Member], ...] = (RiverMember, CapyMoaMember, SklearnMember, OwnMember)


def kind_of(model: Any) -> type[Member]:
    """Return the adapter for a model, or for a class or `functools.partial` that creates a model."""
    subject = model.func if isinstance(model, partial) else model
    for kind in KINDS:
        if kind.supports(subject):
            return kind
    rule = (
        "River models (learn_one), scikit-learn models (partial_fit), CapyMOA models (train) "
        "or objects with the method learn and either predict_proba or predict"
    )
    raise ParameterError.of("models", "Models", rule, model)


def creates_model(model: Any) -> bool:
    """Return whether the object is a class or a `functools.partial` that creates a model."""
    return isinstance(model, type | partial)


def member_of(model: Any, schema: Schema) -> Member:
    """Return a member for this schema: a copy of the model, or a new model from its class or partial."""
    kind = kind_of(model)
    if creates_model(model):
        member = kind(model(schema=capymoa_schema(schema)) if kind is CapyMoaMember else model())
    else:
        member = copy.deepcopy(kind(model))
    member.bind(schema)
    return member


@lru_cache(maxsize=8)
def capymoa_schema(schema: Schema) -> Any:
    """Return the CapyMOA schema: the features in order (nominal features with values), then the target."""
    target = "class"
    names = [feature.name for feature in schema.features]
    while target in names:
        target += "_"
    nominal = {f.name: list(f.values) or ["?"] for f in schema.features if f.values is not None}
    categories = nominal if schema.numeric else {**nominal, target: list(schema.classes)}
    return _capymoa("stream").Schema.from_custom([*names, target], target, categories)


@lru_cache(maxsize=4)  # cached, because the function is called for every instance
def _capymoa(part: str) -> Any:
    """Import a part of CapyMOA, which starts Java."""
    return needed(f"capymoa.{part}", "A CapyMOA member", "capymoa")
