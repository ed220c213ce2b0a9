"""Heros: one model that keeps tuning itself, made of a pool, a policy and running scores."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros import _core
from heros.errors import DataError, HerosError, ParameterError
from heros.inspection import Explanation, LastStep, Leaderboard, PoolSummary
from heros.parameters import one_of, whole
from heros.phases import PHASES
from heros.policies import Explore, Policy, Zeta, compiled
from heros.policies.base import expect_policy
from heros.pools import BoundPool, MLPGrid, Pool
from heros.pools.base import shares
from heros.registry import (
    described,
    generator,
    generator_state,
    own_policy,
    rebuilt,
    schema_of,
    schema_plain,
)
from heros.schema import Schema
from heros.scores import Adwin, Score
from heros.storage import archive
from heros.validation import Validator

__all__ = ["Block", "Heros"]

ANSWERS = ("best", "average", "weighted")
REMEASURE = 1000  # every so many instances costs that change are measured anew
DEFAULT_SHARE = 0.6  # of the pool is trained if k is not given: the paper's 30 of 50


@dataclass(frozen=True, slots=True)
class Block:
    """What testing, then training on n instances gave."""

    probabilities: NDArray[np.float64]  # (n, classes), given before each label was seen
    answered: NDArray[np.int32]  # (n,) the model that answered; -1 where all did
    chosen: NDArray[np.bool_]  # (n, M) which models were trained
    spent: NDArray[np.float64]  # (n,) Σγ of the trained models
    reward: NDArray[np.float64]  # (n,) R = Σ (L + (1 − γ)) of the trained models


class Heros:
    """A heterogeneous online ensemble: M models, of which k are worth training at every step.

    For every instance: the model with the highest running score answers; every model is tested and its
    score updated; the policy chooses at most k models from the updated scores and the costs; those are
    trained.

    Parameters
    ----------
    pool
        The models; the paper's 50 perceptrons by default.
    policy
        Which models to train; ``Explore(Zeta(0.05), 0.2)`` by default. A policy of your own is any
        object with a method ``choose(scores, costs, k, rng)`` that returns a mask.
    k
        How many models may be trained per step; 60 % of the pool by default.
    score
        How the running performance L is kept; ADWIN with δ = 1e-5 by default.
    answer
        Who answers: "best" (the highest L before the label is seen; ties: the lowest index), or the
        whole pool by "average" or "weighted" (by L) probabilities. A model whose output is not finite
        never answers.
    warmup
        On how many first instances all models are trained.
    seed
        Of the initial weights and the policy's draws: one seed, one sequence of random numbers.
    schema
        What an instance looks like, if known now; else see `bind`.

    Examples
    --------
    >>> from heros import Heros, policies, pools, streams
    >>> stream = streams.Agrawal(function=2).take(1000)
    >>> pool = pools.MLPGrid(hidden=[8, 16], learning_rates=[0.05, 0.005])
    >>> model = Heros(pool, policies.Zeta(0.05), k=4, seed=1, schema=stream.schema)
    >>> for X, y in stream.blocks(100):
    ...     block = model.test_then_train(X, y)
    >>> model.instances, int(block.chosen.sum(axis=1).max())
    (1000, 4)

    A policy of your own, here one that trains what has been trained least, needs nothing but its method:

    >>> class Fair:
    ...     def __init__(self, pool): self.times = np.zeros(pool.n_models)
    ...     def choose(self, scores, costs, k, rng):
    ...         mask = np.zeros(len(scores), dtype=bool)
    ...         mask[np.argsort(self.times, kind="stable")[:k]] = True
    ...         self.times += mask
    ...         return mask
    >>> model = Heros(pool, Fair(pool), k=2, warmup=0, seed=1, schema=stream.schema)
    >>> _ = model.test_then_train(X, y)
    >>> model.trained.tolist()
    [25, 25, 25, 25, 25, 25, 25, 25]
    """

    _last: LastStep | None = None  # what the last step chose
    _draws: Mapping[str, Any] | None = None  # the generator before an exploring policy of Python's was asked

    def __init__(
        self,
        pool: Pool | None = None,
        policy: Policy | None = None,
        k: int | None = None,
        *,
        score: Score | None = None,
        answer: Literal["best", "average", "weighted"] = "best",
        warmup: int = 100,
        seed: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.pool = MLPGrid() if pool is None else pool
        self.policy = Explore(Zeta(0.05), 0.2) if policy is None else policy
        self.score = Adwin() if score is None else score
        _expect(self.pool, Pool, "pool", "a pool, e.g. heros.pools.MLPGrid()")
        expect_policy(self.policy, "Heros")
        _expect(self.score, Score, "score", "a score, e.g. heros.scores.Adwin()")
        models = self.pool.n_models
        self.k = whole(max(1, round(DEFAULT_SHARE * models)) if k is None else k, "k", "Heros", 1, models)
        self.answer = one_of(answer, "answer", "Heros", ANSWERS, "'best', 'average' or 'weighted'")
        self.warmup = min(whole(warmup, "warmup", "Heros", 0), 1 << 62)
        self.seed = seed if seed is None else whole(seed, "seed", "Heros", 0)
        self.rng = np.random.default_rng(self.seed)
        self.schema: Schema | None = None
        self._lock = threading.Lock()
        if schema is not None:
            self.bind(schema)

    # -- the schema -----------------------------------------------------------------------------------

    def bind(self, schema: Schema) -> Self:
        """Make the models for instances of this schema, or fit them to a schema that has grown.

        A grown schema has features, values or classes appended: what the models have learnt stays, new
        weights are drawn like the first ones.

        Examples
        --------
        >>> model = Heros(k=3).bind(Schema.of(["age"], classes=["no", "yes"]))
        >>> model = model.bind(Schema.of(["age", "height"], classes=["no", "yes", "maybe"]))
        >>> model.predict_proba([33, 180]).shape
        (3,)
        """
        if not isinstance(schema, Schema):
            raise ParameterError.of("schema", "Heros", "a heros.Schema", schema)
        if schema == self.schema:
            return self
        if schema.n_features < 1 or schema.n_classes < 1:
            raise ParameterError.of("schema", "Heros", "one with at least one feature and one class", schema)
        with self._alone(), _enough_memory(schema):
            if self.schema is None:
                self._make(schema)
            elif schema.extends(self.schema):
                self._bound.grow(schema, self.rng)
                self._ensemble.set_costs(self._bound.costs)
            else:
                raise ParameterError.of("schema", "bind", f"an extension of {self.schema}", schema)
            self.schema, self._validator = schema, Validator(schema)
        return self

    def _make(self, schema: Schema) -> None:
        self._bound: BoundPool = self.pool.bind(schema, self.rng)
        scores = self.score.bind(self.pool.n_models)
        self._ensemble = _core.Ensemble(
            self._bound.native, scores, self._bound.costs, self.answer, self.warmup
        )

    # -- predicting and learning ------------------------------------------------------------------------

    def predict_proba(self, x: ArrayLike) -> NDArray[np.float64]:
        """The probabilities of the classes, for one instance (classes,) or for several (n, classes).

        Nothing is learnt, and nothing that is learnt later depends on what was asked here.
        """
        validator, X, single = self._instances(x)
        out = np.empty((len(X), validator.schema.n_classes))
        with self._alone():
            self._ensemble.predict(X, out)
        return out[0] if single else out

    def predict(self, x: ArrayLike) -> Any:
        """The class index with the highest probability, of one instance or of several."""
        best = self.predict_proba(x).argmax(axis=-1)
        return int(best) if best.ndim == 0 else best

    def learn(self, x: ArrayLike, y: ArrayLike) -> Self:
        """Learn from one labelled instance, or from several, one after the other.

        The rows must stay as they are until it is done: the pool may look ahead.
        """
        validator, X, single = self._instances(x)
        self._run(X, validator.labels(np.asarray(y)[np.newaxis] if single else y, len(X)))
        return self

    def test_then_train(self, X: ArrayLike, y: ArrayLike) -> Block:
        """For every instance in turn: answer, then learn from its label. As `learn`, with a record."""
        validator, X, _ = self._instances(X)
        return self._run(X, validator.labels(y, len(X)))

    def _run(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Block:
        n, models = len(X), self._bound.native.models
        record = Block(
            np.empty((n, self._bound.native.outputs)),
            np.empty(n, dtype=np.int32),
            np.zeros((n, models), dtype=np.bool_),
            np.zeros(n),
            np.zeros(n),
        )
        policy = compiled(self.policy)
        targets = y.astype(np.float64)
        explored: bool | None = None
        with self._alone():
            for part in self._stretches(n):
                self._last = None
                arrays = (
                    record.probabilities[part],
                    record.answered[part],
                    record.chosen[part].view(np.uint8),
                    record.spent[part],
                    record.reward[part],
                )
                if policy is None:
                    self._ensemble.run_with(X[part], targets[part], self._ask_policy, *arrays)
                else:
                    bits = self.rng.bit_generator.capsule
                    explored = self._ensemble.run(X[part], targets[part], policy, self.k, bits, *arrays)
            if n > 0:
                self._last = LastStep(record.chosen[-1].copy(), self._bound.costs, explored, self._draws)
        return record

    def _stretches(self, n: int) -> Iterator[slice]:
        """The block, cut where costs are measured anew: at the same instances however blocks are cut."""
        start = 0
        while self._bound.costs_change and start < n:
            done = self._ensemble.instances % REMEASURE
            if done == 0:
                self._ensemble.set_costs(self._bound.measure())
            stop = min(n, start + REMEASURE - done)
            yield slice(start, stop)
            start = stop
        if start < n:
            yield slice(start, n)

    def _ask_policy(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """The choice of a policy written in Python, checked."""
        self._draws = self.rng.bit_generator.state if isinstance(self.policy, Explore) else None
        mask = np.asarray(self.policy.choose(scores, self._bound.costs.copy(), self.k, self.rng))
        if mask.shape != scores.shape or mask.dtype != np.bool_:
            rule = f"a boolean mask of {len(scores)} models"
            raise ParameterError(f"The policy {self.policy!r} must return {rule}. Got {mask!r} instead.")
        if mask.sum() > self.k:
            rule = f"at most {self.k} models"
            raise ParameterError(
                f"The policy {self.policy!r} must choose {rule}. Got {int(mask.sum())} instead."
            )
        return np.ascontiguousarray(mask)

    def _instances(self, x: ArrayLike) -> tuple[Validator, NDArray[np.float64], bool]:
        if self.schema is None:
            raise HerosError("This Heros does not know its instances yet: call bind(schema) or pass schema=.")
        try:
            single = np.ndim(x) == 1
        except ValueError:  # rows of different lengths: the validator says so
            single = False
        X = self._validator.instances(np.asarray(x)[np.newaxis] if single else x)
        return self._validator, X, single

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The core works without Python's lock, so a second thread has to be kept out."""
        if not self._lock.acquire(blocking=False):
            raise HerosError(
                "This Heros is at work already, in another thread or in its own policy: give it a copy."
            )
        try:
            yield
        finally:
            self._lock.release()

    # -- what it has learnt -------------------------------------------------------------------------------

    @property
    def models(self) -> BoundPool:
        """The models as they are now, e.g. the weights of perceptrons or the sizes of trees."""
        _ = self._learnt
        return self._bound

    @property
    def instances(self) -> int:
        """How many instances it has learnt from."""
        return self._learnt.instances

    @property
    def scores(self) -> NDArray[np.float64]:
        """L: the running performance of each model."""
        return self._learnt.scores

    @property
    def costs(self) -> NDArray[np.float64]:
        """γ: the cost of a training step of each model, as shares of their sum."""
        return self._learnt.costs

    @property
    def trained(self) -> NDArray[np.int64]:
        """How often each model was trained."""
        return self._learnt.trained

    @property
    def invested(self) -> NDArray[np.float64]:
        """r: the cost invested in each model so far."""
        return self._learnt.invested

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Which models have ever given a prediction that is not finite, or have been set aside."""
        return self._learnt.diverged.astype(bool)

    @property
    def best(self) -> int:
        """The model with the highest score."""
        return int(self.scores.argmax())

    @property
    def best_model(self) -> Mapping[str, Any]:
        """The configuration of the model with the highest score."""
        return self.pool.configurations[self.best]

    def leaderboard(self) -> Leaderboard:
        """The models by their score L, with their costs γ and how often each was trained."""
        return Leaderboard.of(self.pool, self._learnt)

    def explain_choice(self) -> Explanation:
        """Why the models of the last step were trained: warm-up, exploration, or the policy's reasons."""
        learnt = self._learnt
        if self._last is None:
            raise HerosError("There is no choice to explain: nothing was learnt yet, or the policy failed.")
        return Explanation.of(self.pool, self.policy, self.k, self.warmup, learnt, self._last)

    def pool_summary(self) -> PoolSummary:
        """What each setting of the pool is worth so far: scores, price, and what was spent on it."""
        return PoolSummary.of(self.pool, self.k, self._learnt)

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """CPU time spent so far, by phase of the step."""
        return dict(zip(PHASES, self._learnt.cpu_seconds.tolist(), strict=True))

    @property
    def _learnt(self) -> _core.Ensemble:
        if self.schema is None:
            raise HerosError("This Heros has learnt nothing yet: call bind(schema) or pass schema=.")
        return self._ensemble

    # -- its whole state ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a file, which `load` opens: data, no code, checksummed, whole or not there.

        A policy or pool of your own is written by the name of its class, and its state if it has
        ``state()`` and ``restore(state)``. docs/reliability.md has the format.

        Examples
        --------
        >>> import os, tempfile
        >>> from heros import Heros, streams
        >>> X, y = streams.Agrawal().draw(200)
        >>> model = Heros(k=3, seed=1, schema=streams.Agrawal().schema).learn(X, y)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = os.path.join(directory, "model.heros")
        ...     model.save(path)
        ...     again = Heros.load(path)
        >>> again, bool((again.predict_proba(X) == model.predict_proba(X)).all())
        (<Heros MLPGrid(50 models, costs='hidden'), Explore(Zeta(0.05), 0.2), k=3, 200 instances>, True)
        """
        archive.write(path, "model", *self._kept())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        pool: Pool | None = None,
        policy: Policy | None = None,
        score: Score | None = None,
    ) -> Self:
        """The model that `save` wrote. Parts of your own have to be brought along; no code runs otherwise.

        A file that is broken is a DataError; one of a newer format a HerosError that says so.
        """
        document, arrays = archive.read(path, "model")
        try:
            return cls._of(document, arrays, pool=pool, policy=policy, score=score)
        except DataError as error:
            raise DataError(f"The file {os.fspath(path)} must hold a whole model. {error}") from None

    def _kept(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """All of it as plain data and arrays."""
        _expect_plain(self.pool)
        document: dict[str, Any] = {role: described(getattr(self, role)) for role in PARTS}
        document |= {name: getattr(self, name) for name in SETTINGS}
        document["rng"] = generator_state(self.rng)
        document["schema"] = None if self.schema is None else schema_plain(self.schema)
        own = own_policy(self.policy)
        groups = {"policy": {} if own is None else own.state(), **self.__getstate__().get("learnt", {})}
        return document, archive.grouped(groups)

    @classmethod
    def _of(cls, document: Mapping[str, Any], arrays: archive.Arrays, **given: Any) -> Self:
        """The model that `_kept` described; a DataError if there can be none."""
        parts = {role: rebuilt(document.get(role), role, given[role]) for role in PARTS}
        _expect_plain(parts["pool"])
        try:
            model = cls(**parts, **{name: document[name] for name in SETTINGS})
            model.rng = generator(document["rng"])
            if document["schema"] is not None:
                schema = schema_of(document["schema"])
                learnt = {group: archive.subset(arrays, group) for group in ("pool", "ensemble")}
                model.pool.expect_room(schema, learnt["pool"])
                model.score.expect_room(model.pool.n_models, learnt["ensemble"])
                boundary = Validator(schema)
                model.__setstate__(
                    {**vars(model), "schema": schema, "_validator": boundary, "learnt": learnt}
                )
        except (KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise DataError(f"Got: {error!r}.") from None
        own = own_policy(model.policy)
        if own is not None:
            own.restore(archive.subset(arrays, "policy"))
        return model

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in NATIVE}
        if self.schema is not None:
            with self._alone():
                state["learnt"] = {"pool": self._bound.state(), "ensemble": self._ensemble.state()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learnt = state.pop("learnt", None)
        vars(self).update(state, _lock=threading.Lock())
        if self.schema is not None and learnt is not None:
            if "gamma" not in learnt.get("pool", {}) or "ensemble" not in learnt:
                raise DataError("The state of a Heros must be whole. Got one without its models.")
            known = learnt["pool"]["gamma"]  # measuring them anew would take time and be thrown away
            known = shares(known, self.pool.n_models, "Heros")
            self._bound = self.pool.bind(self.schema, np.random.default_rng(0), known)
            self._bound.restore(learnt["pool"])
            scores = self.score.bind(self.pool.n_models)
            self._ensemble = _core.Ensemble(
                self._bound.native, scores, self._bound.costs, self.answer, self.warmup
            )
            self._ensemble.restore(learnt["ensemble"])

    def __repr__(self) -> str:
        state = "not bound" if self.schema is None else f"{self.instances} instances"
        return f"<Heros {self.pool!r}, {self.policy}, k={self.k}, {state}>"


NATIVE = ("_bound", "_ensemble", "_lock")
PARTS = ("pool", "policy", "score")
SETTINGS = ("k", "answer", "warmup", "seed")


def _expect_plain(pool: Pool) -> None:
    """Refuse to keep in a file, or to take from one, what only unpickling could bring back."""
    if not pool.plain:
        kind = type(pool).__name__
        raise HerosError(f"A file holds data, no code, and {kind} holds Python objects: keep it with pickle.")


@contextmanager
def _enough_memory(schema: Schema) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        values = sum(len(feature.values or ()) for feature in schema.features)
        what = f"{schema.n_features} features with {values} nominal values in all, {schema.n_classes} classes"
        raise HerosError(
            f"The models must fit into memory. Got too many or too large ones for {what}."
        ) from None


def _expect(value: object, kind: type, name: str, rule: str) -> None:
    if not isinstance(value, kind):
        raise ParameterError.of(name, "Heros", rule, value)
