"""Heros: one model that keeps tuning itself, made of a pool, a policy and running scores."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.lock import Alone
from heros._base.parameters import whole
from heros._base.phases import PHASES
from heros.data.check import checked_delays, is_numeric, one_row
from heros.data.encoder import Batch, Encoder
from heros.data.frames import form_of, labels_of, row_of
from heros.data.schema import Schema
from heros.data.weights import ClassWeight, Weights, checked_class_weight, checked_weights
from heros.drift.changes import Change, changes_of
from heros.ensemble import files
from heros.ensemble.block import Block
from heros.ensemble.defaults import Given, checked_k
from heros.ensemble.inspection import Explanation, Leaderboard, PoolSummary
from heros.ensemble.learner import Learner, Learnt, enough_memory
from heros.ensemble.pacing import fresh_pace
from heros.ensemble.task import Classification, Regression, Task, task_of
from heros.ensemble.watch import Answer, Watch, checked_burst, checked_watch, native_answer, turns
from heros.errors import DataError, HerosError, ParameterError
from heros.policies import Policy
from heros.policies.base import expect_policy
from heros.policies.calls import bound_policy
from heros.policies.pace import Pace
from heros.policies.surprise import by_surprise
from heros.policies.within import paced
from heros.pools import BoundPool, Pool
from heros.pools.base import shares
from heros.scores import Adwin, Score
from heros.scores.base import ScoreCalls, bound_score, expect_score
from heros.storage import archive
from heros.storage.outputs import like

__all__ = ["Heros"]

AT_WORK = "This Heros is at work already, in another thread or in its own policy: give it a copy."


class Heros:
    """A heterogeneous online ensemble: M models, of which k are worth training at every step.

    For every instance: the model with the highest running score answers; every model is tested and its
    score updated; the policy chooses at most k models from the updated scores and the costs; those are
    trained. That is the paper, in which every model looks at every instance; with `watch`, models that are
    not trained need not look, and cost nothing.

    Parameters
    ----------
    pool
        The models. Without one it is `heros.pools.default`, eleven models of six kinds, with the policy, k
        and answer that go with it (of numbers `heros.pools.default_regression`); what else is given takes the
        place of these. `heros.pools.Paper` is the paper's 50 perceptrons.
    policy
        Which models to train: ``Explore(Zeta(0.05), 0.2)`` if the pool is given, else ``Cand()``. A policy of
        your own is any object with a method ``choose(scores, costs, k, rng)`` that returns a mask. Another
        one may take over at any time: ``model.policy = policies.Cheapest()``.
    k
        How many models may be trained per step: 60 % of the pool if that is given, else 8 of the 11 (of
        numbers all 14). Can be changed likewise. With `policies.Within` around the policy it is the most
        that a budget of time or energy may be spent on.
    task
        What is learnt: "classification", "regression", or a task of `heros.ensemble.task`. By default what
        the schema's target asks for.
    score
        How the running performance L is kept; ADWIN with δ = 1e-5 by default. A score of your own is any
        object with a method ``bind(models)``: see `heros.scores.Score`.
    answer
        Who answers: "best" (the highest L before the label is seen; ties: the lowest index), the few best
        together (`heros.Top`), all of them with weights that are learnt (`heros.Stack`), or the whole pool by
        "average" or "weighted" (by L) probabilities. "best" if the pool is given, else ``Stack()``, or
        ``Top()`` where not all look. A model whose output is not finite never answers.
    watch
        Who looks at an instance: "all" models (the paper); only those that are "trained" on it and those
        that answer; or a whole number n: these, and each model at rest at every n-th instance, one after
        the other. Unless all look, the order is: the policy chooses, from L as it stands; those who have to
        look; they answer; the score of those who looked is updated; the chosen ones are trained. L of a
        model that does not look stays as it is, whatever happens meanwhile. A policy that never explores
        (`Zeta` without `Explore`, `Cheapest`, ...) might leave a model at rest, and its L unseen, for ever:
        with such a policy of HEROS's own "trained" means 8. Where the whole pool answers, all look.
    burst
        Where not all look: for how many instances all of them do once the best model gets worse (ADWIN with
        δ = .002 over how right the model with the highest L was), since what those at rest are worth may have
        changed with it. 0, the default, for never: on streams that drift it changed the AUROC by less than
        .0003 either way, where it was measured.
    warmup
        On how many first instances all models are trained.
    class_weight
        What instances of a class count, when models are trained and in L: "balanced", by how often the
        classes have come so far, or a mapping of the names of classes to weights (1 where there is none).
        See `heros.data.weights.Weights`.
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

    _learner: Learner | None = None  # None before there is a schema
    _reader: tuple[Schema | None, Encoder] | None = None  # how rows are read by which schema

    def __init__(
        self,
        pool: Pool | None = None,
        policy: Policy | None = None,
        k: int | None = None,
        *,
        task: Task | str | None = None,
        score: Score | None = None,
        answer: Answer | None = None,
        watch: Watch = "all",
        burst: int = 0,
        warmup: int = 100,
        class_weight: ClassWeight = None,
        seed: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        self._given = Given(None if task is None else task_of(task), pool, policy, k, answer)
        self.score: Score = Adwin() if score is None else score
        expect_score(self.score, "Heros")
        self.watch = checked_watch(watch)
        self.class_weight = checked_class_weight(class_weight)
        self._settle(self._given.task or Classification())
        self.burst = checked_burst(burst, self.watch)
        self.warmup = min(whole(warmup, "warmup", "Heros", 0), 1 << 62)
        self._weights = Weights(self.class_weight)
        self.seed = seed if seed is None else whole(seed, "seed", "Heros", 0)
        self._rng = np.random.default_rng(self.seed)
        self._alone = Alone(AT_WORK)
        if schema is not None:
            self.bind(schema)

    def _settle(self, task: Task) -> None:
        """What it is made of, with what goes with this task where nothing was given."""
        if self.class_weight is not None and task.numeric:
            rule = "None, as the target is no class"
            raise ParameterError.of("class_weight", "Heros", rule, self.class_weight)
        parts = self._given.completed(task, self.watch)
        self.task, self.pool, self.answer = task, parts.pool, parts.answer
        self._policy, self._k = parts.policy, parts.k
        self._pace = fresh_pace(parts.policy, parts.pool.n_models)

    def suit(self, schema: Schema) -> None:
        """Take on the task that a schema asks for, if none was given; else it has to be that one.

        Examples
        --------
        >>> model = Heros()
        >>> model.suit(Schema.of(["age"]))
        >>> model.task
        Regression(level=0.9)
        """
        if schema.numeric == self.task.numeric:
            return
        target, task = "a number" if schema.numeric else "a class", type(self.task).__name__
        if self._learner is not None or not self._task_is_open:
            rule = f"one with {'a number' if self.task.numeric else 'classes'} as its target, for {task}"
            raise ParameterError(f"The 'schema' parameter of Heros must be {rule}. Got {target} instead.")
        self._settle(Regression() if schema.numeric else Classification())

    @property
    def _task_is_open(self) -> bool:
        """Whether nobody has said what is learnt: the schema will, or the first labels."""
        return self._given.task is None

    @property
    def task_asked(self) -> Literal["classification", "regression"] | None:
        """What labels that come one by one are taken for; None if nobody has said.

        Examples
        --------
        >>> Heros().task_asked, Heros(task="regression").task_asked
        (None, 'regression')
        """
        if self.task.numeric:
            return "regression"
        return None if self._task_is_open else "classification"

    @property
    def policy(self) -> Policy:
        """Which models to train."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        expect_policy(policy, "Heros")
        with self._alone:
            self._pace = fresh_pace(policy, self.pool.n_models)
            self._policy = policy
            self._given = replace(self._given, policy=policy)
            self._bind_policy()

    @property
    def k(self) -> int:
        """How many models may be trained per step."""
        return self._k

    @k.setter
    def k(self, k: int) -> None:
        with self._alone:
            self._k = checked_k(k, self.pool)
            self._given = replace(self._given, k=self._k)
            self._bind_policy()

    @property
    def rng(self) -> np.random.Generator:
        """The generator of the initial weights and the policy's draws."""
        return self._rng

    @rng.setter
    def rng(self, rng: np.random.Generator) -> None:
        if not isinstance(rng, np.random.Generator):
            raise ParameterError.of("rng", "Heros", "a numpy.random.Generator", rng)
        with self._alone:
            self._rng = rng
            self._bind_policy()

    @property
    def pace(self) -> Pace | None:
        """Every k that `policies.Within` has chosen, and what instances took; None without it."""
        return self._pace

    @property
    def _k_now(self) -> int:
        """How many models may be trained at the step at hand."""
        return self._k if self._pace is None or self._pace.k is None else self._pace.k

    # -- the schema -----------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema | None:
        """What an instance looks like; None before that is known."""
        return None if self._learner is None else self._learner.schema

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
        if schema is self.schema:
            return self
        self._finish_growing()
        if self._learner is not None and schema == self._learner.schema:
            self._learner.schema = schema  # which may say otherwise how rows are read
            return self
        if schema.n_features < 1 or schema.n_outputs < 1:
            raise ParameterError.of("schema", "Heros", "one with at least one feature and one class", schema)
        self.suit(schema)
        with self._alone:
            if self._learner is None:
                with enough_memory(schema):
                    self._learner = self._learner_of(schema, self.pool.bind(schema, self.rng))
            elif schema.extends(self._learner.schema):
                self._learner.grow(schema, self.rng)
            else:
                raise ParameterError.of("schema", "bind", f"an extension of {self.schema}", schema)
        return self

    def _finish_growing(self) -> None:
        """Go on where Ctrl-C broke a growth off; what has grown already stays as it is."""
        if self._learner is not None and self._learner.growing is not None:
            with self._alone:
                self._learner.grow(self._learner.growing, self.rng)

    def _learner_of(self, schema: Schema, bound: BoundPool, scores: ScoreCalls | None = None) -> Learner:
        """These models and a step that works with them; with scores that are known already."""
        kept = scores or bound_score(self.score, self.pool.n_models)
        policy, surprise = by_surprise(paced(self.policy)[0])
        chooser = bound_policy(policy, self._k_now, self.rng)
        step = _core.Step(
            pool=bound.native,
            task=self.task.native(),
            scores=kept,
            policy=chooser,
            k=self._k_now,
            bits=self.rng.bit_generator,
            costs=bound.costs,
            answer=native_answer(self.answer),
            watch=turns(self.watch, policy),
            burst=self.burst,
            warmup=self.warmup,
            surprise=surprise,
        )
        if self.class_weight is not None:
            self._expect_weighing(step)
        return Learner(schema, bound, kept, chooser, step)

    def _bind_policy(self) -> None:
        """The policy as it is now takes over."""
        if self._learner is not None:
            policy, surprise = by_surprise(paced(self.policy)[0])
            chooser = bound_policy(policy, self._k_now, self.rng)
            self._learner.choose_by(chooser, self._k_now, self.rng, turns(self.watch, policy), surprise)

    # -- predicting and learning ------------------------------------------------------------------------

    def predict_proba(self, x: Any) -> Any:
        """The probabilities of the classes, in the form in which the instances come.

        Nothing is learnt, and nothing that is learnt later depends on what was asked here.

        Parameters
        ----------
        x
            One instance: an array (n_features,), whose answer is an array (classes,), or a dictionary by
            the names of the features, whose answer is one by the names of the classes. Several: an array
            (n, n_features), whose answer is an array (n, classes), a list of dictionaries, or a data
            frame (pandas, polars, Arrow), whose answer is a frame of the same library with a column per
            class. In an array nominal values are codes, elsewhere names. What a dictionary or a frame
            lacks is missing; features and values that were never learnt from are, too. Several instances
            are taken to come one after the other, without a label between them, which matters to
            `pools.LabelMemory` alone.

        Examples
        --------
        >>> schema = Schema.of(["age", ("colour", "red", "blue")], classes=["no", "yes"])
        >>> model = Heros(k=3, seed=1, schema=schema)
        >>> model.predict_proba([18, 0]).shape, sorted(model.predict_proba({"age": 18, "colour": "red"}))
        ((2,), ['no', 'yes'])
        """
        if self.task.numeric:
            raise HerosError("A number has no probabilities: ask predict, or predict_interval.")
        form = form_of(x)
        out = self.answers(x)
        if form == "array":
            return out
        classes = self._at_work.schema.classes
        if form == "frame":
            return like(x, dict(zip(classes, out.T, strict=True)))
        if form == "row":
            return dict(zip(classes, out.tolist(), strict=True))
        return [dict(zip(classes, p, strict=True)) for p in out.tolist()]

    def predict(self, x: Any, *, abstain: bool = False) -> Any:
        """The name of the class with the highest probability, or a number: of one instance, or of several.

        With `abstain` the answer is None where `predict_set` does not have exactly one class.

        Examples
        --------
        >>> model = Heros(k=3, seed=1)
        >>> for i in range(300):
        ...     row = {"size": i % 7, "colour": "red" if i % 2 else "blue"}
        ...     model = model.learn(row, "odd" if i % 2 else "even")
        >>> model.predict({"size": 3, "colour": "blue"}), model.predict([[1, 3], [0, 3]])
        ('even', array(['odd', 'even'], dtype='<U4'))
        """
        out = self.answers(x)
        best = np.asarray(self.task.named(self.task.prediction(out), self._at_work.schema))
        if abstain:
            sure = (1 - out <= self._sets()[0]).sum(axis=-1) == 1
            best = np.where(sure, best.astype(object), None)
        return best.item() if best.ndim == 0 else best

    def predict_interval(self, x: Any) -> NDArray[np.float64]:
        """The lower and the upper end of the interval that holds the target: (2,), or (n, 2) of several.

        How often it is to hold it says the task: `heros.ensemble.task.Regression`.

        Examples
        --------
        >>> from heros import Heros, streams
        >>> stream = streams.Friedman()
        >>> model = Heros(schema=stream.schema, seed=1).learn(*stream.draw(500))
        >>> x, y = stream.draw(1)
        >>> low, high = model.predict_interval(x[0])
        >>> bool(low < model.predict(x[0]) < high)
        True
        """
        if not self.task.numeric:
            raise HerosError("A class has no interval: ask predict_proba.")
        return self.answers(x)[..., 1:3]

    def predict_set(self, x: Any) -> Any:
        """The classes one of which it is, as surely as the task asks for: a list, or one per instance.

        A set with several classes says that the model is not sure; an empty set that no class seems right.
        ``Heros(task=Classification(level=0.9))`` asks for sets.

        Examples
        --------
        >>> from heros import Heros, streams
        >>> from heros.ensemble.task import Classification
        >>> stream = streams.LED()
        >>> model = Heros(task=Classification(level=0.9), seed=1, schema=stream.schema)
        >>> model = model.learn(*stream.draw(2000))
        >>> X, y = stream.draw(1)
        >>> all(name in stream.schema.classes for name in model.predict_set(X[0]))
        True
        """
        told = self._sets()
        inside = np.atleast_2d(1 - self.answers(x) <= told[0])
        classes = self._at_work.schema.classes
        sets = [[classes[c] for c in np.flatnonzero(row)] for row in inside]
        single = form_of(x) == "row" or (form_of(x) == "array" and np.ndim(x) == 1)
        return sets[0] if single else sets

    @property
    def sets(self) -> dict[str, float]:
        """How often the sets of classes have held the class so far, and their mean size."""
        _, n, held, sizes = self._sets()
        return {"instances": n, "coverage": held / n if n else math.nan, "size": sizes / n if n else math.nan}

    def _sets(self) -> list[float]:
        told: list[float] = self._at_work.step.sets.tolist()
        if not told:
            raise HerosError("There are no sets of classes: say Heros(task=Classification(level=0.9)).")
        return told

    def outputs(self, X: NDArray[np.float64], delay: ArrayLike | None = None) -> NDArray[np.float64]:
        """What it says of rows (n, n_features) that are known to be good; NaN is missing wherever it is.

        For callers that turn rows into numbers themselves, with a `heros.data.Encoder`. `delay` is that of
        `answers`.
        """
        learner = self._at_work
        self._finish_growing()
        late = np.arange(len(X)) if delay is None and len(X) > 1 else delay
        delays = checked_delays(late, len(X))
        with self._alone:
            return learner.step.predict(np.require(X, np.float64, ["C", "A"]), delays)

    def answers(self, x: Any, delay: ArrayLike | None = None) -> NDArray[np.float64]:
        """All that it says of one instance (width,) or of several (n, width); what that is, says the task.

        `delay` is how many instances before each one have no label yet, for models that know the order of
        labels (`pools.LabelMemory`). If nothing is said, instances come one after the other, and the label of
        the one before the first is known.
        """
        if (form := form_of(x)) == "array":
            X, single = self._instances(x)
        else:
            _ = self._at_work
            X, single = self.encoder().read(x), form == "row"
        out = self.outputs(X, delay)
        return out[0] if single else out

    def learn(
        self,
        x: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        delay: ArrayLike | None = None,
    ) -> Self:
        """Learn from one labelled instance, or from several, one after the other.

        Instances are what `predict_proba` takes. With an array, labels are class indices or names of classes
        that the schema knows. With dictionaries and frames they are names, whatever their type (1 and
        "1" are the same); a feature, value or class that is new is appended to the schema, which need not
        be known before. If neither task nor schema was given and the first labels are numbers with decimals,
        the task is regression.

        The rows of an array must stay as they are until it is done: the pool may look ahead.

        `sample_weight` is what an instance, or each of several, counts: 1 if nothing is said. It scales the
        step of models that follow a gradient, and for others and in L an instance counts as so many equal
        ones. On one that counts 0 nothing is trained.

        `delay` is for labels that come late: how many labels the model learnt from between the prediction for
        an instance and the label of that instance, 0 if nothing is said. `pools.LabelMemory` learns what
        follows what at that distance. `heros.ensemble.late.LateLabels` passes it by itself.

        Examples
        --------
        >>> model = Heros(k=3, seed=1)
        >>> model = model.learn({"age": 18, "colour": "red"}, "no")
        >>> model = model.learn([{"age": 31, "colour": "blue"}, {"age": 40}], ["yes", "no"])
        >>> model.instances, model.schema.classes, model.schema.features[1].values
        (3, ('no', 'yes'), ('red', 'blue'))
        """
        form = form_of(x)
        if form != "array":
            if form == "row" and sample_weight is None and self._reader is not None:
                self._learn_row(x, y, delay)
            else:
                self._learn_rows(x, y, sample_weight, delay)
            return self
        X, single = self._instances(x)
        self._run(X, self._targets(one_row(y) if single else y, len(X)), sample_weight, delay)
        return self

    def _learn_rows(self, x: Any, y: Any, sample_weight: ArrayLike | None, delay: ArrayLike | None) -> None:
        if self.schema is None and self.task_asked is None:
            self.suit_labels(labels_of(x, y))
        encoder, done = self.encoder(), 0
        weights = None if sample_weight is None else checked_weights(sample_weight, len(labels_of(x, y)))
        delays = None if delay is None else checked_delays(delay, len(labels_of(x, y)))
        self._reader = None  # if something goes wrong, it may be ahead of the models
        for batch in encoder.learn(x, y):
            n = len(batch.X)
            some, late = (None if of is None else of[done : done + n] for of in (weights, delays))
            self.learn_batch(batch, some, late)
            done += n
        self._reader = (self.schema, encoder)

    def learn_batch(
        self, batch: Batch, sample_weight: ArrayLike | None = None, delay: ArrayLike | None = None
    ) -> None:
        """Learn from rows that a `heros.data.Encoder` has read, and grow with its schema."""
        self._follow(batch.schema)
        self._run(batch.X, batch.y, sample_weight, delay)

    def _learn_row(self, x: Any, y: Any, delay: ArrayLike | None) -> None:
        """Learn from one row, as `_learn_rows` does, in less time."""
        encoder = self.encoder()
        self._reader = None  # if something goes wrong, it may be ahead of the models
        try:
            row, target = encoder.taught(row_of(x), y)
        except DataError:
            self._reader = (self.schema, encoder)  # which has not changed
            raise
        self._follow(encoder.schema)
        self._run(np.array([row], dtype=np.float64), np.array([target], dtype=np.float64), delay=delay)
        self._reader = (self.schema, encoder)

    def _follow(self, schema: Schema) -> None:
        """Grow with the schema of rows, the first of which must say something."""
        if schema.n_features == 0:
            raise DataError("The first row must have a feature with a value. Got none instead.")
        self.bind(schema)

    def suit_labels(self, labels: list[Any]) -> None:
        """Take on the task that the first labels ask for, before anything is known."""
        numbers = all(isinstance(label, float | int | np.number) for label in labels)
        if numbers and is_numeric(np.asarray(labels), None, False, "learn", "y"):
            self._settle(Regression())
            self._reader = None

    def read_with(self, encoder: Encoder) -> None:
        """Read rows with an encoder that several models share, as long as the schema is what it is now."""
        self._reader = (self.schema, encoder)

    def encoder(self) -> Encoder:
        """Return what turns rows into numbers, by the schema as it is now."""
        self._finish_growing()
        if self._reader is None or self._reader[0] is not self.schema:
            seen = 0 if self._learner is None else self.instances
            numeric, said = self.task.numeric, self.task_asked is not None
            self._reader = (
                self.schema,
                Encoder(self.schema, numeric=numeric, fractions=said, seen=seen),
            )
        return self._reader[1]

    def test_then_train(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        delay: ArrayLike | None = None,
    ) -> Block:
        """For every instance in turn: answer, then learn from its label. As `learn`, with a record."""
        X, _ = self._instances(X)
        return self._run(X, self._targets(y, len(X)), sample_weight, delay)

    def _run(
        self,
        X: NDArray[np.float64],
        targets: NDArray[np.float64],
        sample_weight: ArrayLike | None = None,
        delay: ArrayLike | None = None,
    ) -> Block:
        learner = self._at_work
        if sample_weight is not None:
            self._expect_weighing(learner.step)
        with self._alone:
            weights = self._weights.of(targets, sample_weight, learner.schema.classes)
            return learner.run(X, targets, weights, self._pace, self._k, checked_delays(delay, len(X)))

    def _expect_weighing(self, step: _core.Step) -> None:
        """Refuse weights where models written in Python would not be told of them."""
        if not step.weighs:
            rule = "made of compiled models (Models cannot weigh instances)"
            raise ParameterError.of("pool", "Heros", f"{rule}, if instances have weights", self.pool)

    def _instances(self, x: ArrayLike) -> tuple[NDArray[np.float64], bool]:
        """The instances, checked, and whether it was a single one."""
        if self._learner is None:
            raise HerosError(
                "This Heros does not know its instances yet: call bind(schema), pass schema=, or learn from "
                "dictionaries or a data frame, whose names say what is what."
            )
        self._finish_growing()
        try:
            single = np.ndim(x) == 1
        except ValueError:  # rows of different lengths: the validator says so
            single = False
        return self._learner.validator.instances(one_row(x) if single else x), single

    def _targets(self, y: ArrayLike, n: int) -> NDArray[np.float64]:
        return self.task.targets(y, n, self._at_work.schema)

    # -- what it has learnt -------------------------------------------------------------------------------

    @property
    def bound(self) -> BoundPool:
        """The models as they are now, e.g. the weights of perceptrons or the sizes of trees."""
        return self._at_work.bound

    @property
    def instances(self) -> int:
        """How many instances it has learnt from."""
        return self._at_work.step.instances

    @property
    def scores(self) -> NDArray[np.float64]:
        """L: the running performance of each model."""
        return self._at_work.step.scores

    @property
    def costs(self) -> NDArray[np.float64]:
        """γ: the cost of a training step of each model, as shares of their sum."""
        return self._at_work.step.costs

    @property
    def looked(self) -> NDArray[np.int64]:
        """At how many instances each model looked: at all of them, unless `watch` says otherwise."""
        return self._at_work.step.looked

    @property
    def trained(self) -> NDArray[np.int64]:
        """How often each model was trained."""
        return self._at_work.step.trained

    @property
    def invested(self) -> NDArray[np.float64]:
        """r: the cost invested in each model so far."""
        return self._at_work.step.invested

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Which models have ever given a prediction that is not finite, or have been set aside."""
        return self._at_work.step.diverged.astype(bool)

    @property
    def best(self) -> int:
        """The model with the highest score."""
        return int(self.scores.argmax())

    @property
    def best_model(self) -> Mapping[str, Any]:
        """The configuration of the model with the highest score."""
        return self.pool.configurations[self.best]

    @property
    def changes(self) -> tuple[Change, ...]:
        """When the error of the ensemble, or the score of one model, became worse: see `heros.drift.Change`.

        The latest 1000 are kept.
        """
        noted, schema = self._at_work.step.changes, self._at_work.schema
        return changes_of(noted, self.pool.configurations, schema.classes, self.task.numeric)

    def leaderboard(self) -> Leaderboard:
        """The models by their score L, with their costs γ and how often each was trained."""
        return Leaderboard.of(self.pool, self._at_work.step)

    def explain_choice(self) -> Explanation:
        """Why the models of the last step were trained: warm-up, exploration, or the policy's reasons."""
        learner = self._at_work
        if learner.last is None:
            raise HerosError("There is no choice to explain: nothing was learnt yet, or the policy failed.")
        policy, _ = paced(self.policy)
        return Explanation.of(self.pool, policy, self._k_now, self.warmup, learner.step, learner.last)

    def pool_summary(self) -> PoolSummary:
        """What each setting of the pool is worth so far: scores, price, and what was spent on it."""
        return PoolSummary.of(self.pool, self.k, self._at_work.step)

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """CPU time spent so far, by phase of the step."""
        return dict(zip(PHASES, self._at_work.step.cpu_seconds.tolist(), strict=True))

    @property
    def _at_work(self) -> Learner:
        if self._learner is None:
            raise HerosError("This Heros has learnt nothing yet: call bind(schema) or pass schema=.")
        return self._learner

    # -- its whole state ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a file, which `load` opens: data, no code, checksummed, whole or not there.

        A policy, pool or score of your own is written by the name of its class, and its state if it has
        ``state()`` and ``restore(state)``. docs/reliability.md has the format.

        Examples
        --------
        >>> import os, tempfile
        >>> from heros import Heros, pools, streams
        >>> X, y = streams.Agrawal().draw(200)
        >>> model = Heros(pools.Paper(), k=3, seed=1, schema=streams.Agrawal().schema).learn(X, y)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = os.path.join(directory, "model.heros")
        ...     model.save(path)
        ...     again = Heros.load(path)
        >>> again, bool((again.predict_proba(X) == model.predict_proba(X)).all())
        (<Heros MLPGrid(50 models, costs='hidden'), Explore(Zeta(0.05), 0.2), k=3, 200 instances>, True)
        """
        archive.write(path, "model", *files.pack(self))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        task: Task | None = None,
        pool: Pool | None = None,
        policy: Policy | None = None,
        score: Score | None = None,
    ) -> Self:
        """The model that `save` wrote, or that of a checkpoint (see `evaluate`), as it stood there.

        Parts of your own have to be brought along; no code runs otherwise. A file that is broken is a
        DataError; a file of another format is a HerosError.
        """
        kind, document, arrays = archive.read_one_of(path, ("model", "checkpoint"))
        if kind == "checkpoint":
            document, arrays = document.get("model", {}), archive.subset(arrays, "model")
        try:
            return files.unpack(cls, document, arrays, task=task, pool=pool, policy=policy, score=score)
        except DataError as error:
            raise DataError(f"The file {os.fspath(path)} must hold a whole model. {error}") from None

    def state(self) -> dict[str, dict[str, NDArray[Any]]]:
        """What it has learnt, as groups of arrays that `restore` takes back; nothing before it is bound.

        Settings, schema and generator are not among them: `heros.ensemble.files` has it all.
        """
        if self._learner is None:
            return {}
        groups = self._arrays_of(self._learner)
        if isinstance(self._learner.scores, ScoreCalls):
            groups["score"] = self._learner.scores.state()
        if self._pace is not None:
            groups["pace"] = self._pace.state()
        return groups | ({"weights": counted} if (counted := self._weights.state()) else {})

    def restore(self, schema: Schema, state: Mapping[str, dict[str, NDArray[Any]]]) -> None:
        """Make models for this schema that know what `state` gave."""
        with self._alone:
            if self._pace is not None:
                self._pace.restore(state.get("pace", {}))
            self._weights.restore(state.get("weights", {}))
            self._learner = self._revived(schema, state)

    def become(self, other: Heros) -> None:
        """Take over all that another Heros is and has learnt; that one is not to be used any more."""
        _expect_heros(other)
        with self._alone:
            vars(self).update({name: value for name, value in vars(other).items() if name != "_alone"})

    def follow(self, other: Heros) -> None:
        """Know what another Heros made of the same parts knows now: as a copy of it, but made in place.

        A service answers from such a one while the other learns (`heros.serve`).

        Examples
        --------
        >>> from heros import Heros, pools, streams
        >>> stream = streams.Agrawal(function=2)
        >>> model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, schema=stream.schema)
        >>> answers = copy.deepcopy(model)
        >>> X, y = stream.draw(300)
        >>> answers.follow(model.learn(X, y))
        >>> bool((answers.predict_proba(X) == model.predict_proba(X)).all())
        True
        """
        _expect_heros(other)
        mine, its = self._learner, other._learner
        if mine is None or its is None or self.schema != other.schema or not other._is_all_compiled:
            self.become(copy.deepcopy(other))
            return
        learnt = other._arrays_of(its)
        with self._alone:
            mine.take(learnt)
            mine.last = its.last

    @property
    def _is_all_compiled(self) -> bool:
        """Whether all that it learns is in the compiled core, and nothing in objects of Python's."""
        return self.pool.plain and self._pace is None and self._at_work.is_compiled

    def _arrays_of(self, learner: Learner) -> dict[str, dict[str, NDArray[Any]]]:
        self._finish_growing()
        with self._alone:
            return learner.arrays()

    def _revived(
        self, schema: Schema, learnt: Mapping[str, dict[str, NDArray[Any]]], scores: ScoreCalls | None = None
    ) -> Learner:
        """Models for this schema that know what was learnt; with scores that know theirs already."""
        if "gamma" not in learnt.get("pool", {}) or "ensemble" not in learnt:
            raise DataError("The state of a Heros must be whole. Got one without its models.")
        known = learnt["pool"]["gamma"]  # measuring them anew would take time and be thrown away
        known = shares(known, self.pool.n_models, "Heros")
        bound = self.pool.bind(schema, np.random.default_rng(0), known)
        bound.restore(learnt["pool"])
        learner = self._learner_of(schema, bound, scores)
        if isinstance(learner.scores, ScoreCalls) and scores is None:
            learner.scores.restore(learnt.get("score", {}))
        learner.step.restore(learnt["ensemble"])
        return learner

    def __getstate__(self) -> dict[str, Any]:
        self._finish_growing()
        state = {name: value for name, value in vars(self).items() if name not in NOT_KEPT}
        if self._learner is not None:
            with self._alone:
                state["learnt"] = self._learner.learnt()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learnt: Learnt | None = state.pop("learnt", None)
        vars(self).update(state, _alone=Alone(AT_WORK))
        if learnt is not None:
            self._learner = self._revived(learnt.schema, learnt.arrays, learnt.scores)
            self._learner.last = learnt.last

    def __repr__(self) -> str:
        state = "not bound" if self.schema is None else f"{self.instances} instances"
        return f"<Heros {self.pool!r}, {self.policy}, k={self.k}, {state}>"


NOT_KEPT = ("_learner", "_alone", "_reader")
"""What a pickle does without: the compiled core comes as arrays."""


def _expect_heros(other: object) -> None:
    if not isinstance(other, Heros):
        raise ParameterError.of("other", "Heros", "a Heros", other)
