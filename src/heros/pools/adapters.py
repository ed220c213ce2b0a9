"""Models of other libraries as members of a pool: asked and taught in one way.

Libraries are told apart by the methods a model has, and none is imported unless a member needs it.
"""

from __future__ import annotations

import copy
import io
import math
from abc import ABC, abstractmethod
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heros._base.extras import needed
from heros.data.schema import Schema
from heros.errors import ParameterError

__all__ = ["Instance", "Member", "capymoa_schema", "kind_of", "makes", "member_of"]


class Instance:
    """One instance, in the form each library wants it; each form is made once, when it is first asked for.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green"), "height"], classes=["no", "yes"])
    >>> Instance(schema, np.array([31.0, 1.0, np.nan])).named
    {'age': 31.0, 'colour': 'green'}
    """

    def __init__(self, schema: Schema, row: NDArray[np.float64]) -> None:
        self.schema, self.row = schema, row
        self._capymoa: dict[int, Any] = {}

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """A table of one row, as scikit-learn has it."""
        return self.row[np.newaxis]

    @cached_property
    def named(self) -> dict[str, float | str]:
        """Values by name, as River has it: nominal ones in words, missing ones left out."""
        pairs = zip(self.schema.features, self.row.tolist(), strict=True)
        return {
            feature.name: value if feature.values is None else feature.values[int(value)]
            for feature, value in pairs
            if not math.isnan(value)
        }

    def capymoa(self, schema: Any) -> Any:
        """An instance of CapyMOA's, without a label; MOA reads NaN as missing."""
        if id(schema) not in self._capymoa:
            self._capymoa[id(schema)] = _capymoa("core").Instance.from_array(schema, self.row)
        return self._capymoa[id(schema)]


class Member(ABC):
    """A model of some library.

    Parameters
    ----------
    model
        The model itself.
    """

    needs: ClassVar[tuple[str, ...]]  # the methods by which such a model is known

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def knows(cls, subject: Any) -> bool:
        """Whether such a model, or the class of it, can be one of these members."""
        return _has(subject, *cls.needs)

    def bind(self, schema: Schema) -> None:
        """Be told the schema, at first and whenever it has grown; an error if the model cannot follow."""
        self.schema = schema

    @abstractmethod
    def predict_proba(self, instance: Instance) -> Any:
        """The probabilities of the classes, in any scale; None if the model has no opinion yet."""

    @abstractmethod
    def learn(self, instance: Instance, y: float) -> None:
        """Learn from an instance of class y, or whose target is the number y."""

    @abstractmethod
    def predict(self, instance: Instance) -> Any:
        """What the target is, where it is a number; None if the model has no opinion yet."""

    def _one_hot(self, label: Any) -> NDArray[np.float64] | None:
        """The probabilities of a model that only names a class."""
        if label is None:
            return None
        votes = np.zeros(self.schema.n_classes)
        votes[int(label)] = 1.0
        return votes


class RiverMember(Member):
    """A River classifier or regressor: instances as dicts, class indices as labels."""

    needs = ("learn_one", "predict_one")

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._has_probabilities = hasattr(model, "predict_proba_one")

    def predict_proba(self, instance: Instance) -> Any:
        """What `predict_proba_one` says, or the vote of a model that has none."""
        if self._has_probabilities:
            try:
                return self._by_class(self.model.predict_proba_one(instance.named))
            except NotImplementedError:  # as in River's base class
                self._has_probabilities = False
        return self._one_hot(self.model.predict_one(instance.named))

    def learn(self, instance: Instance, y: float) -> None:
        """`learn_one`."""
        self.model.learn_one(instance.named, y)

    def predict(self, instance: Instance) -> Any:
        """`predict_one`."""
        return self.model.predict_one(instance.named)

    def _by_class(self, by_label: dict[Any, float]) -> NDArray[np.float64]:
        votes = np.zeros(self.schema.n_classes)
        for label, p in by_label.items():
            votes[int(label)] = p
        return votes


class SklearnMember(Member):
    """A scikit-learn classifier or regressor with `partial_fit`: nominal values as their codes."""

    needs = ("partial_fit", "predict")

    def bind(self, schema: Schema) -> None:
        """Once it has learnt, it knows no further features and classes."""
        if hasattr(self, "schema") and self._has_learnt:
            older = self.schema
            if (older.n_features, older.n_classes) != (schema.n_features, schema.n_classes):
                raise ValueError("features and classes cannot be added once it has learnt")
        super().bind(schema)

    def predict_proba(self, instance: Instance) -> Any:
        """What `predict_proba` says, or the vote of a model that has none."""
        if not self._has_learnt:
            return None
        if not hasattr(self.model, "predict_proba"):
            return self._one_hot(self.model.predict(instance.table)[0])
        votes = np.zeros(self.schema.n_classes)
        votes[self.model.classes_.astype(np.int64)] = self.model.predict_proba(instance.table)[0]
        return votes

    def learn(self, instance: Instance, y: float) -> None:
        """`partial_fit`, of a classifier the first time with all classes."""
        known = self._has_learnt or self.schema.numeric
        classes = {} if known else {"classes": np.arange(self.schema.n_classes)}
        self.model.partial_fit(instance.table, np.array([y]), **classes)

    def predict(self, instance: Instance) -> Any:
        """`predict`; None before it has learnt."""
        return self.model.predict(instance.table).ravel()[0] if self._has_learnt else None

    @property
    def _has_learnt(self) -> bool:
        return hasattr(self.model, "n_features_in_" if self.schema.numeric else "classes_")


class CapyMoaMember(Member):
    """A CapyMOA classifier or regressor, MOA's among them. Its header is fixed: its schema cannot grow."""

    needs = ("train", "predict_proba")

    @classmethod
    def knows(cls, subject: Any) -> bool:
        """Regressors have no probabilities: they are known by where they come from."""
        kind = subject if isinstance(subject, type) else type(subject)
        theirs = any(base.__module__.split(".")[0] == "capymoa" for base in kind.__mro__)
        return super().knows(subject) or (theirs and _has(subject, "train", "predict"))

    def bind(self, schema: Schema) -> None:
        """Its own schema, which it was made with, stays."""
        if hasattr(self, "schema"):
            raise ValueError("its schema cannot grow")
        known = self.model.schema
        classes = 0 if known.is_regression() else known.get_num_classes()
        if (known.get_num_attributes(), classes) != (schema.n_features, schema.n_classes):
            raise ValueError("it was made for another number of features or classes")
        super().bind(schema)

    def predict_proba(self, instance: Instance) -> Any:
        """What `predict_proba` says."""
        return self.model.predict_proba(instance.capymoa(self.model.schema))

    def learn(self, instance: Instance, y: float) -> None:
        """`train`."""
        core = _capymoa("core")
        kind = core.RegressionInstance if self.schema.numeric else core.LabeledInstance
        self.model.train(kind.from_array(self.model.schema, instance.row, y))

    def predict(self, instance: Instance) -> Any:
        """`predict`."""
        return self.model.predict(instance.capymoa(self.model.schema))

    def __getstate__(self) -> dict[str, Any]:
        buffer = io.BytesIO()
        _capymoa("core.io").save_model(self.model, buffer)  # pickle alone cannot take what lives in Java
        return {**vars(self), "model": buffer.getvalue()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, model=_capymoa("core.io").load_model(io.BytesIO(state["model"])))


class OwnMember(Member):
    """Any object with `predict_proba(x)` and `learn(x, y)`; `bind(schema)`, if it has it, is called first.

    Where the target is a number, it has `predict(x)`.
    """

    needs = ("learn",)

    @classmethod
    def knows(cls, subject: Any) -> bool:
        """Of classes or of numbers."""
        return super().knows(subject) and (_has(subject, "predict_proba") or _has(subject, "predict"))

    def bind(self, schema: Schema) -> None:
        """Tell the object, if it wants to know."""
        super().bind(schema)
        if hasattr(self.model, "bind"):
            self.model.bind(schema)

    def predict_proba(self, instance: Instance) -> Any:
        """What `predict_proba` says of the row."""
        return self.model.predict_proba(instance.row)

    def learn(self, instance: Instance, y: float) -> None:
        """`learn` with the row and the class index."""
        self.model.learn(instance.row, y)

    def predict(self, instance: Instance) -> Any:
        """What `predict` says of the row."""
        return self.model.predict(instance.row)


def _has(subject: Any, *methods: str) -> bool:
    return all(callable(getattr(subject, name, None)) for name in methods)


KINDS: tuple[type[Member], ...] = (RiverMember, CapyMoaMember, SklearnMember, OwnMember)


def kind_of(model: Any) -> type[Member]:
    """How a model, or a class or partial that will make one, is asked and taught."""
    subject = model.func if isinstance(model, partial) else model
    for kind in KINDS:
        if kind.knows(subject):
            return kind
    rule = (
        "River models (learn_one), scikit-learn models (partial_fit), CapyMOA models (train) "
        "or objects with predict_proba, or predict, and learn"
    )
    raise ParameterError.of("models", "Models", rule, model)


def makes(model: Any) -> bool:
    """Whether this makes a model rather than being one."""
    return isinstance(model, type | partial)


def member_of(model: Any, schema: Schema) -> Member:
    """A member of its own for this schema: a copy of the model, or what its class or partial makes.

    Examples
    --------
    >>> from river.tree import HoeffdingTreeClassifier
    >>> schema = Schema.of(["age"], classes=["no", "yes"])
    >>> member = member_of(HoeffdingTreeClassifier, schema)
    >>> instance = Instance(schema, np.array([31.0]))
    >>> member.learn(instance, 1)
    >>> member.predict_proba(instance)
    array([0., 1.])
    """
    kind = kind_of(model)
    if makes(model):
        member = kind(model(schema=capymoa_schema(schema)) if kind is CapyMoaMember else model())
    else:
        member = copy.deepcopy(kind(model))
    member.bind(schema)
    return member


@lru_cache(maxsize=8)
def capymoa_schema(schema: Schema) -> Any:
    """The schema as CapyMOA has it: features in order, nominal ones with their values, then the class."""
    target = "class"
    names = [feature.name for feature in schema.features]
    while target in names:
        target += "_"
    nominal = {f.name: list(f.values) or ["?"] for f in schema.features if f.values is not None}
    categories = nominal if schema.numeric else {**nominal, target: list(schema.classes)}
    return _capymoa("stream").Schema.from_custom([*names, target], target, categories)


@lru_cache(maxsize=4)  # asked for at every instance
def _capymoa(part: str) -> Any:
    """A part of CapyMOA, and Java with it."""
    return needed(f"capymoa.{part}", "A CapyMOA member", "capymoa")
