"""Heros: an ensemble of a pool, a policy and running scores that tunes itself while it learns."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import DataError, HerosError, ParameterError
from heros._base.lock import ExclusiveUse
from heros._base.parameters import whole
from heros._base.phases import PHASES
from heros._base.tables import distinguishing_settings, settings_text
from heros.data.check import checked_delays, core_array, is_numeric, one_row
from heros.data.encoder import Batch, Encoder
from heros.data.frames import form_of, labels_of, row_of, rows_of_small_frame
from heros.data.schema import Schema
from heros.data.weights import ClassWeight, Weights, checked_class_weight, checked_weights
from heros.drift.changes import Change, changes_of
from heros.ensemble import serialization
from heros.ensemble.block import Block
from heros.ensemble.budget import SpendingLimit
from heros.ensemble.defaults import GivenParts, checked_k
from heros.ensemble.dial import Dial
from heros.ensemble.explain import Contributions, contributions
from heros.ensemble.importance import Importance, RunningImportance
from heros.ensemble.inspection import Explanation, Leaderboard, PoolSummary
from heros.ensemble.learner import Learner, Learnt, clear_memory_error
from heros.ensemble.task import Classification, Regression, Task, task_of
from heros.ensemble.watch import (
    Answer,
    Watch,
    checked_burst,
    checked_watch,
    expect_watched,
    native_answer,
    native_watch,
)
from heros.policies import Policy
from heros.policies.base import as_policy
from heros.policies.calls import bound_policy, layers_of
from heros.pools import BoundPool, Pool
from heros.pools.base import shares
from heros.scores import Adwin, Score
from heros.scores.base import ScoreCalls, bound_score, expect_score
from heros.storage import archive
from heros.storage.outputs import like

AT_WORK = "This Heros is already in use by another thread or by its own policy. Use a copy instead."


class Heros:
    """A heterogeneous online ensemble of M models that trains at most k of them on each instance.

    For each instance, the ensemble predicts, by default with all models and learnt weights (`answer`). Then
    each model is evaluated and its running score is updated. The policy chooses at most k models, based on
    the scores and the costs, and these models are trained. With `watch`, models that are not trained need not
    be evaluated. A model that is neither evaluated nor trained has no cost. In the paper, and by default if
    you pass a pool, the model with the highest running score predicts.

    Parameters
    ----------
    pool
        The models. The default is `heros.pools.default`, fourteen models of seven kinds, and for regression
        `heros.pools.default_regression`. The pool sets the defaults of `policy`, `k` and `answer`.
        `heros.pools.Paper` is the paper's 50 perceptrons.
    policy
        The rule that chooses the models to train: ``Explore(Zeta(0.05), 0.2)`` if the pool is given, else
        ``Surprise(Cand(), 0.98, steady=0.3)`` (for regression ``Cand()``). A string is read as on the command
        line: ``"zeta:0.05@0.2"`` is ``Explore(Zeta(0.05), 0.2)``. A policy of your own is any object with a
        method ``choose(scores, costs, k, rng)`` that returns a mask. You can change the policy at any time:
        ``model.policy = policies.Cheapest()``.
    k
        The maximum number of models to train per step; the default is 60 % of the models of a given pool.
        Without a given pool, the default is 11 of 14 models (for regression all 16). You can change `k` at
        any time.
    task
        "classification", "regression", or a task of `heros.ensemble.task`. The default follows from the
        target of the schema.
    score
        The running score L of each model; ADWIN with δ = 1e-5 by default. A score of your own is any
        object with a method ``bind(models)``: see `heros.scores.Score`.
    answer
        Which models predict: "best" (the model with the highest score L before the label is known; the lowest
        index breaks ties), the best few models together (`heros.Top`), or all models with learnt weights
        (`heros.Stack`). "average" is the mean of all models' probabilities, and "weighted" is their mean
        weighted by L. The default is "best" if the pool is given, else
        ``Stack(rate=(0.005, 0.02, 0.1), sure=0.99)`` (for regression without `sure`), or ``Top()`` if `watch`
        is not "all". A model whose output is not finite never predicts for the ensemble.
    watch
        Which models are evaluated on an instance. "all" evaluates every model, as the paper does. "trained"
        evaluates the models that are trained on the instance and the models that predict. A whole number n
        does the same and also evaluates each idle model on every n-th instance. The idle models take turns.
        Unless `watch` is "all", the policy chooses first, from the current L. Then the required models
        predict and are evaluated, the L of these models is updated, and the chosen models are trained. The L
        of a model that is not evaluated does not change. "trained" needs a policy that explores, so not
        `Zeta` or `Cheapest` without `Explore`: otherwise an idle model would never be evaluated again. If
        `answer` uses the whole pool, all models are evaluated.
    burst
        The number of instances on which all models are evaluated after the best model gets worse, if `watch`
        is not "all". ADWIN with δ = .002 on the outcomes of the best model detects the change. The default 0
        turns this off: on streams with drift, `burst` changed AUROC by less than .0003 in either direction.
    warmup
        The number of instances at the start on which all models are trained.
    budget
        The maximum CPU time ("20 us") or energy ("0.4 mJ") per instance, or the maximum power of the model
        ("5 W", "500 J/h"). None means no limit. The cost of evaluation and training is measured every 200
        instances. If the budget is too small, the models are trained less on expected instances, and some
        models sleep. A sleeping model is neither evaluated nor trained. It wakes when it fits into the budget
        or when the other models get worse. If the cheapest model alone exceeds the budget, a warning gives
        its cost. With a budget, the default policy trains all awake models
        (``Surprise(Everything(), 0.98, steady=0.3)``). Results depend on the speed of the machine: see
        `heros.ensemble.dial.Dial`. Energy is CPU time × watts of a core, as in `heros.meters.Cpu`.
    class_weight
        The weight of instances of each class, in training and in L. "balanced" weights classes by their
        frequency so far. A mapping from class names to weights uses 1 for classes that it does not name.
        See `heros.data.weights.Weights`.
    explainable
        Whether `importance` and `explain` are available. The model then keeps a sample of 128 recent
        instances, also in its files, and measures the importance of columns while it learns. Predictions and
        training stay the same.
    seed
        The seed of the initial weights and the policy's random numbers.
    schema
        The features and the target, if they are already known; otherwise see `bind`.

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

    A policy of your own needs only the method `choose`. This one trains the models that were trained least:

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

    _learner: Learner | None = None  # None until the schema is known
    _reader: tuple[Schema | None, Encoder] | None = None  # the encoder of rows and the schema it was made for

    def __init__(
        self,
        pool: Pool | None = None,
        policy: Policy | str | None = None,
        k: int | None = None,
        *,
        task: Task | str | None = None,
        score: Score | None = None,
        answer: Answer | None = None,
        watch: Watch = "all",
        burst: int = 0,
        warmup: int = 100,
        budget: str | None = None,
        class_weight: ClassWeight = None,
        explainable: bool = False,
        seed: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        chosen = None if policy is None else as_policy(policy, "Heros")
        self._given = GivenParts(None if task is None else task_of(task), pool, chosen, k, answer)
        self._budget = None if budget is None else SpendingLimit.of(budget)
        self.score: Score = Adwin() if score is None else score
        expect_score(self.score, "Heros")
        self.watch = checked_watch(watch)
        self.class_weight = checked_class_weight(class_weight)
        self._set_task(self._given.task or Classification())
        self.burst = checked_burst(burst, self.watch)
        self.warmup = min(whole(warmup, "warmup", "Heros", 0), 1 << 62)
        self.explainable = explainable
        self._weights = Weights(self.class_weight)
        self.seed = seed if seed is None else whole(seed, "seed", "Heros", 0)
        self._rng = np.random.default_rng(self.seed)
        self._exclusive = ExclusiveUse(AT_WORK)
        if schema is not None:
            self.bind(schema)

    def _set_task(self, task: Task) -> None:
        """Set the task, and use the defaults of the task for parts that the user did not pass."""
        if self.class_weight is not None and task.numeric:
            rule = "None, because the target is a number"
            raise ParameterError.of("class_weight", "Heros", rule, self.class_weight)
        parts = self._given.completed(task, self.watch, self._budget is not None)
        expect_watched(self.watch, parts.policy)
        self.task, self._parts = task, parts
        self._dial: Dial | None = None
        if self._budget is not None:
            sizes = [part.n_models for part in getattr(self.pool, "pools", ())] or [self.pool.n_models]
            names = [settings_text(one) for one in distinguishing_settings(self.pool.configurations)[0]]
            self._dial = Dial(self._budget, sizes, names, layers_of(self.policy).surprise)

    @property
    def explainable(self) -> bool:
        """Whether `importance` and `explain` are available; a model can also become explainable later."""
        return self._explainable

    @explainable.setter
    def explainable(self, explainable: bool) -> None:
        if not isinstance(explainable, bool):
            raise ParameterError.of("explainable", "Heros", "True or False", explainable)
        self._explainable, learner = explainable, self._learner
        if learner is not None and explainable is not (learner.importance is not None):
            learner.importance = RunningImportance(learner.schema) if explainable else None

    def undecided_parts(self) -> list[str]:
        """Return the names of the parts whose defaults the first labels may still change."""
        if self._learner is not None or self._given.task is not None:
            return []
        return [part.name for part in fields(self._given) if getattr(self._given, part.name) is None]

    def adopt_task(self, schema: Schema) -> None:
        """Adopt the task that fits the schema's target; raise an error if another task was given.

        Examples
        --------
        >>> model = Heros()
        >>> model.adopt_task(Schema.of(["age"]))
        >>> model.task
        Regression(level=0.9)
        """
        if schema.numeric == self.task.numeric:
            return
        target, task = "a number" if schema.numeric else "a class", type(self.task).__name__
        if self._learner is not None or self._given.task is not None:
            rule = f"a schema with {'a number' if self.task.numeric else 'classes'} as target, for {task}"
            raise ParameterError(f"The 'schema' parameter of Heros must be {rule}. Got {target} instead.")
        self._set_task(Regression() if schema.numeric else Classification())

    @property
    def given_task(self) -> Literal["classification", "regression"] | None:
        """The task that the user passed, or "regression" if the target of the schema is a number; else None.

        Examples
        --------
        >>> Heros().given_task, Heros(task="regression").given_task
        (None, 'regression')
        """
        if self.task.numeric:
            return "regression"
        return None if self._given.task is None else "classification"

    @property
    def pool(self) -> Pool:
        """The pool that describes the models."""
        return self._parts.pool

    @property
    def answer(self) -> Answer:
        """The rule that combines the predictions of the models."""
        return self._parts.answer

    @property
    def policy(self) -> Policy:
        """The policy that chooses the models to train."""
        return self._parts.policy

    @policy.setter
    def policy(self, policy: Policy | str) -> None:
        policy = as_policy(policy, "Heros")
        expect_watched(self.watch, policy)
        with self._exclusive:
            self._use_parts(policy=policy)
            if self._dial is not None:
                self._dial.surprise = layers_of(policy).surprise

    @property
    def k(self) -> int:
        """The maximum number of models to train per step."""
        return self._parts.k

    @k.setter
    def k(self, k: int) -> None:
        with self._exclusive:
            self._use_parts(k=checked_k(k, self.pool))

    def _use_parts(self, **parts: Any) -> None:
        """Replace the given parts. A later change of the task does not reset them to its defaults."""
        self._given, self._parts = replace(self._given, **parts), replace(self._parts, **parts)
        self._bind_policy()

    @property
    def rng(self) -> np.random.Generator:
        """The random generator of the initial weights and the policy."""
        return self._rng

    @rng.setter
    def rng(self, rng: np.random.Generator) -> None:
        if not isinstance(rng, np.random.Generator):
            raise ParameterError.of("rng", "Heros", "a numpy.random.Generator", rng)
        with self._exclusive:
            self._rng = rng
            self._bind_policy()

    @property
    def budget(self) -> str | None:
        """The budget as given, or None."""
        return None if self._budget is None else self._budget.text

    @property
    def dial(self) -> Dial | None:
        """The controller of the budget, with the awake models and the cost so far; None without a budget."""
        return self._dial

    @property
    def asleep(self) -> NDArray[np.bool_]:
        """A mask of the models that sleep to save costs: they are neither evaluated nor trained."""
        return np.zeros(self.pool.n_models, dtype=bool) if self._dial is None else ~self._dial.awake

    # -- the schema -----------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema | None:
        """The features and the target; None until they are known."""
        return None if self._learner is None else self._learner.schema

    def bind(self, schema: Schema) -> Self:
        """Create the models for this schema, or extend existing models to a larger schema.

        A larger schema has additional features, values or classes at the end. The models keep their learnt
        state. New weights are initialised in the same way as the first weights.

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
            self._learner.schema = schema  # an equal schema may still read rows differently
            return self
        if schema.n_features < 1 or schema.n_outputs < 1:
            raise ParameterError.of("schema", "Heros", "a schema with at least one feature and class", schema)
        self.adopt_task(schema)
        with self._exclusive:
            if self._learner is None:
                with clear_memory_error(schema):
                    self._learner = self._learner_of(schema, self.pool.bind(schema, self.rng))
            elif schema.extends(self._learner.schema):
                self._learner.grow(schema, self.rng)
            else:
                raise ParameterError.of("schema", "bind", f"an extension of {self.schema}", schema)
        return self

    def _finish_growing(self) -> None:
        """Finish extending the models after Ctrl-C; models that are already extended do not change."""
        if self._learner is not None and self._learner.growing is not None:
            with self._exclusive:
                if self._learner.growing is not None:  # another thread may have finished the extension
                    self._learner.grow(self._learner.growing, self.rng)

    def _learner_of(self, schema: Schema, bound: BoundPool, scores: ScoreCalls | None = None) -> Learner:
        """Create a learner with a compiled step for the bound pool, with the given scores or new ones."""
        score = scores or bound_score(self.score, self.pool.n_models)
        layers = layers_of(self.policy)
        chooser = bound_policy(layers.policy, self.rng)
        step = _core.Step(
            pool=bound.native,
            task=self.task.native(),
            scores=score,
            policy=chooser,
            k=self.k,
            bits=self.rng.bit_generator,
            costs=bound.costs,
            answer=native_answer(self.answer),
            watch=native_watch(self.watch),
            burst=self.burst,
            warmup=self.warmup,
            surprise=layers.native_surprise,
        )
        if self.class_weight is not None:
            self._expect_weights_supported(step)
        importance = RunningImportance(schema) if self.explainable else None
        return Learner(schema, bound, score, chooser, step, importance, self._dial)

    def _bind_policy(self) -> None:
        if self._learner is not None:
            layers, bits, watch = layers_of(self.policy), self.rng.bit_generator, native_watch(self.watch)
            chooser = self._learner.chooser = bound_policy(layers.policy, self.rng)
            self._learner.step.set_policy(chooser, self.k, bits, watch, layers.native_surprise)

    # -- predicting and learning ------------------------------------------------------------------------

    def predict_proba(self, x: Any) -> Any:
        """Return the class probabilities, in the same form as the instances.

        Predicting trains no model and has no effect on later training.

        Parameters
        ----------
        x
            For one instance, an array (n_features,) gives an array (classes,). A dictionary with the feature
            names as keys gives a dictionary with the class names as keys. For several instances, an array
            (n, n_features) gives an array (n, classes), and a list of dictionaries gives a list of
            dictionaries. A frame (pandas, polars, Arrow) gives a frame of the same library with a column per
            class. Nominal values are codes in arrays and names elsewhere. Features that a dictionary or frame
            lacks and unknown nominal values are missing values. Several instances are read in order, without
            labels between them; the order matters only to `pools.LabelMemory`.

        Examples
        --------
        >>> schema = Schema.of(["age", ("colour", "red", "blue")], classes=["no", "yes"])
        >>> model = Heros(k=3, seed=1, schema=schema)
        >>> model.predict_proba([18, 0]).shape, sorted(model.predict_proba({"age": 18, "colour": "red"}))
        ((2,), ['no', 'yes'])
        """
        if self.task.numeric:
            raise HerosError("Regression has no class probabilities. Call predict or predict_interval.")
        form = form_of(x)
        out = self.answers(x)
        if form == "array":
            return out
        classes = self._bound_learner.schema.classes
        if form == "frame":
            return like(x, dict(zip(classes, out.T, strict=True)))
        if form == "row":
            return dict(zip(classes, out.tolist(), strict=True))
        return [dict(zip(classes, p, strict=True)) for p in out.tolist()]

    def predict(self, x: Any, *, abstain: bool = False) -> Any:
        """Return the predicted class or, for regression, the predicted value of one or several instances.

        With `abstain` the prediction is None unless `predict_set` returns exactly one class.

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
        best = np.asarray(self.task.named(self.task.prediction(out), self._bound_learner.schema))
        if abstain:
            sure = (1 - out <= self._sets()[0]).sum(axis=-1) == 1
            best = np.where(sure, best.astype(object), np.full(best.shape, None, dtype=object))
        return best.item() if best.ndim == 0 else best

    def predict_interval(self, x: Any) -> NDArray[np.float64]:
        """Return the lower and upper end of the prediction interval: (2,), or (n, 2) for several instances.

        The task sets the share of targets inside the interval: `heros.ensemble.task.Regression`.

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
            raise HerosError("Classification has no prediction intervals. Call predict_proba.")
        return self.answers(x)[..., 1:3]

    def predict_set(self, x: Any) -> Any:
        """Return the prediction set at the level of the task: a list of classes, or a list per instance.

        A set with several classes means that the model is uncertain; an empty set means that no class fits.
        Sets need a level: ``Heros(task=Classification(level=0.9))``.

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
        threshold = self._sets()[0]
        inside = 1 - self.answers(x) <= threshold
        classes = self._bound_learner.schema.classes
        sets = [[classes[c] for c in np.flatnonzero(row)] for row in np.atleast_2d(inside)]
        return sets[0] if inside.ndim == 1 else sets

    @property
    def sets(self) -> dict[str, float]:
        """The number of prediction sets so far, the share with the true class, and the mean size of a set."""
        _, n, covered, sizes = self._sets()
        return {
            "instances": n,
            "coverage": covered / n if n else math.nan,
            "size": sizes / n if n else math.nan,
        }

    @property
    def set_limit(self) -> float | None:
        """The current threshold of prediction sets; None if the model has no prediction sets.

        A class with probability p is in the set if 1 − p is at most this threshold.
        """
        state = [] if self._learner is None else self._learner.step.sets.tolist()
        return state[0] if state else None

    def _sets(self) -> list[float]:
        state: list[float] = self._bound_learner.step.sets.tolist()
        if not state:
            way = "Create it with Heros(task=Classification(level=0.9))."
            raise HerosError(f"This Heros has no prediction sets. {way}")
        return state

    def outputs(self, X: NDArray[np.float64], delay: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the outputs for rows (n, n_features) without checking them; NaN is a missing value.

        Use this method if you encode rows yourself with a `heros.data.Encoder`. For `delay` see `answers`.
        """
        learner = self._bound_learner
        self._finish_growing()
        late = np.arange(len(X)) if delay is None and len(X) > 1 else delay
        delays = checked_delays(late, len(X))
        with self._exclusive:
            if X.shape[1] != learner.schema.n_features:  # another thread extended the schema meanwhile
                raise HerosError(AT_WORK)
            return learner.step.predict(core_array(X, np.float64), delays)

    def answers(self, x: Any, delay: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return all outputs for one instance (width,) or several (n, width); the task defines the outputs.

        For each instance, `delay` is the number of earlier instances whose labels have not arrived yet. Only
        models that use the order of labels need `delay` (`pools.LabelMemory`). By default the instances are
        consecutive, and the label before the first instance is known.
        """
        X, single = self._rows(x)
        out = self.outputs(X, delay)
        return out[0] if single else out

    def learn(
        self, x: Any, y: Any, sample_weight: ArrayLike | None = None, *, delay: ArrayLike | None = None
    ) -> Self:
        """Learn from one labelled instance, or from several instances in order.

        The supported forms of instances are those of `predict_proba`. With an array, labels are class indices
        or class names of the schema. With dictionaries and frames, labels are class names of any type (1 and
        "1" are the same). New features, values and classes are then appended to the schema, so you need not
        pass a schema. If neither task nor schema was given and the first labels are numbers with decimals,
        the task is regression.

        Do not change an array while `learn` runs: the pool may read rows ahead.

        `sample_weight` is the weight of the instance or of each instance; the default is 1. The weight scales
        the step of models trained by gradient descent. For other models and in the running scores, an
        instance of weight w counts as w instances. No model is trained on an instance of weight 0.

        `delay` is for late labels: the number of labels learnt after the prediction for an instance and
        before the label of this instance; the default is 0. `pools.LabelMemory` learns how labels depend on
        each other at that distance. `heros.ensemble.late.LateLabels` passes `delay` itself.

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
        targets = self.task.targets(one_row(y) if single else y, len(X), self._bound_learner.schema)
        self._run(X, targets, sample_weight, delay)
        return self

    def _learn_rows(self, x: Any, y: Any, sample_weight: ArrayLike | None, delay: ArrayLike | None) -> None:
        if self.schema is None and self.given_task is None:
            self.adopt_task_of_labels(labels_of(x, y))
        encoder, done = self.encoder(), 0
        weights = None if sample_weight is None else checked_weights(sample_weight, len(labels_of(x, y)))
        delays = None if delay is None else checked_delays(delay, len(labels_of(x, y)))
        self._reader = None  # after an error, the encoder's schema may be larger than that of the models
        for batch in list(encoder.learn(x, y)):  # read all rows before learning from the first row
            n = len(batch.X)
            some, late = (None if of is None else of[done : done + n] for of in (weights, delays))
            self.learn_batch(batch, some, late)
            done += n
        self._reader = (self.schema, encoder)

    def learn_batch(
        self, batch: Batch, sample_weight: ArrayLike | None = None, delay: ArrayLike | None = None
    ) -> None:
        """Learn from an encoded batch; extend the models if the schema of the batch is larger."""
        self._extend_schema(batch.schema)
        self._run(batch.X, batch.y, sample_weight, delay)

    def _learn_row(self, x: Any, y: Any, delay: ArrayLike | None) -> None:
        """Learn from one row; this is faster than `_learn_rows`."""
        encoder = self.encoder()
        self._reader = None  # after an error, the encoder's schema may be larger than that of the models
        try:
            row, target = encoder.encode_for_training(row_of(x), y)
        except DataError:
            self._reader = (self.schema, encoder)  # the encoder has not changed
            raise
        self._extend_schema(encoder.schema)
        self._run(np.array([row], dtype=np.float64), np.array([target], dtype=np.float64), delay=delay)
        self._reader = (self.schema, encoder)

    def _extend_schema(self, schema: Schema) -> None:
        """Extend the models to the schema of new rows; raise a DataError if the schema has no features."""
        if schema.n_features == 0:
            raise DataError(
                "The first row must have a feature with a value. Got a row without values instead."
            )
        self.bind(schema)

    def adopt_task_of_labels(self, labels: list[Any]) -> None:
        """Switch to regression if the first labels are numbers with decimals and the task is not known."""
        kinds = (float | int | np.number, str)
        same_type = any(all(isinstance(label, kind) for label in labels) for kind in kinds)
        if same_type and is_numeric(np.asarray(labels), None, False, "learn", "y"):
            self._set_task(Regression())
            self._reader = None

    def read_with(self, encoder: Encoder) -> None:
        """Encode rows with this encoder, which other models share, until the schema changes."""
        self._reader = (self.schema, encoder)

    def encoder(self) -> Encoder:
        """Return the encoder that turns rows into numbers, for the current schema."""
        self._finish_growing()
        reader, schema = self._reader, self.schema
        if reader is None or reader[0] is not schema:
            instances = 0 if self._learner is None else self.instances
            numeric, is_known = self.task.numeric, self.given_task is not None
            encoder = Encoder(schema, numeric=numeric, fractions=is_known, seen=instances)
            reader = self._reader = (schema, encoder)
        return reader[1]

    def test_then_train(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        delay: ArrayLike | None = None,
    ) -> Block:
        """Predict each instance, then learn from its label; return the predictions and the trained models."""
        X, _ = self._instances(X)
        targets = self.task.targets(y, len(X), self._bound_learner.schema)
        return self._run(X, targets, sample_weight, delay)

    def _run(
        self,
        X: NDArray[np.float64],
        targets: NDArray[np.float64],
        sample_weight: ArrayLike | None = None,
        delay: ArrayLike | None = None,
    ) -> Block:
        learner = self._bound_learner
        if sample_weight is not None:
            self._expect_weights_supported(learner.step)
            sample_weight = checked_weights(sample_weight, len(X))
        with self._exclusive:
            delays, classes = checked_delays(delay, len(X)), learner.schema.classes
            if self.class_weight is None and sample_weight is None:
                return learner.run(X, targets, None, delays)
            earlier, at = copy.copy(self._weights), learner.step.instances
            try:
                return learner.run(X, targets, self._weights.of(targets, sample_weight, classes), delays)
            except BaseException:  # the weights must count the same instances as the models
                n = learner.step.instances - at
                earlier.of(targets[:n], None if sample_weight is None else sample_weight[:n], classes)
                self._weights = earlier
                raise

    def _expect_weights_supported(self, step: _core.Step) -> None:
        """Raise an error if the pool has Python models, which do not support weights."""
        if not step.weighs:
            rule = "a pool of compiled models, because the pool Models does not support weights"
            raise ParameterError.of("pool", "Heros", rule, self.pool)

    def _instances(self, x: ArrayLike) -> tuple[NDArray[np.float64], bool]:
        """Return the checked instances, and whether `x` is a single instance."""
        if self._learner is None:
            raise HerosError(
                "This Heros has not been trained yet. Call learn(X, y) first, with dictionaries or a data "
                "frame. An array has no feature names: if X is an array, pass schema= to Heros, or call "
                "bind(schema) first."
            )
        self._finish_growing()
        try:
            single = np.ndim(x) == 1
        except ValueError:  # rows of different lengths: the validator raises the error
            single = False
        return self._learner.validator.instances(one_row(x) if single else x), single

    def _rows(self, x: Any) -> tuple[NDArray[np.float64], bool]:
        """Return instances of any supported form as rows, and whether `x` is a single instance."""
        if (form := form_of(x)) == "array":
            return self._instances(x)
        _ = self._bound_learner
        encoder = self.encoder()
        X = encoder.read(x)
        if self._reader is None or self._reader[1] is not encoder:
            # another thread learns with this encoder, which may know values that the models do not know yet
            raise HerosError(AT_WORK)
        return X, form == "row"

    # -- results of learning ------------------------------------------------------------------------------

    @property
    def bound(self) -> BoundPool:
        """The trained models, e.g. the weights of perceptrons or the sizes of trees."""
        return self._bound_learner.bound

    @property
    def instances(self) -> int:
        """The number of instances that the model has learnt from."""
        return self._bound_learner.step.instances

    @property
    def scores(self) -> NDArray[np.float64]:
        """The running score L of each model."""
        return self._bound_learner.step.scores

    @property
    def costs(self) -> NDArray[np.float64]:
        """The cost γ of a training step of each model, as a share of the sum over all models."""
        return self._bound_learner.step.costs

    @property
    def evaluated(self) -> NDArray[np.int64]:
        """The number of instances on which each model was evaluated: all instances if `watch` is "all"."""
        return self._bound_learner.step.looked

    @property
    def trained(self) -> NDArray[np.int64]:
        """The number of times each model was trained."""
        return self._bound_learner.step.trained

    @property
    def invested(self) -> NDArray[np.float64]:
        """The training cost r spent on each model so far."""
        return self._bound_learner.step.invested

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """A mask of the models that have made a non-finite prediction at least once or were excluded."""
        return self._bound_learner.step.diverged.astype(bool)

    @property
    def best(self) -> int:
        """The index of the model with the highest score."""
        return int(self.scores.argmax())

    @property
    def best_model(self) -> Mapping[str, Any]:
        """The configuration of the model with the highest score."""
        return self.pool.configurations[self.best]

    @property
    def changes(self) -> tuple[Change, ...]:
        """The detected changes of the ensemble's error and of the models' scores: see `heros.drift.Change`.

        Only the latest 1000 changes are stored.
        """
        noted, schema = self._bound_learner.step.changes, self._bound_learner.schema
        return changes_of(noted, self.pool.configurations, schema.classes, self.task.numeric)

    def importance(self, *, fresh: bool = True) -> Importance:
        """Return the feature importance: the effect of each column on the predictions, now and over time.

        The model must be explainable: ``Heros(explainable=True)``.

        Parameters
        ----------
        fresh
            Whether to measure all columns now, with about 4,000 predictions. Otherwise the values are the
            running means of the history. These means are less exact but need no predictions.

        Examples
        --------
        >>> from heros import Heros, streams
        >>> stream = streams.Agrawal(function=1)  # the class depends on the age alone
        >>> model = Heros(explainable=True, seed=1, schema=stream.schema).learn(*stream.draw(3000))
        >>> model.importance().ranked()[0]
        'age'
        """
        running, n = self._explaining(), self._bound_learner.schema.n_outputs
        if not fresh:
            return running.result()
        now = running.measure(lambda X: self.outputs(X, 0)[:, :n])  # delay 0, as for the next instance
        return running.result(now, self.instances)

    def explain(self, x: Any, *, of: str | None = None, background: Any = None) -> Contributions:
        """Return the contribution of each column to the prediction for one instance (sampled Shapley values).

        Parameters
        ----------
        x
            One instance, as for `predict_proba`, or a frame or list with one instance.
        of
            The class whose probability is explained; by default the most probable class.
        background
            The instances with which `x` is compared. The default is the sample of recent instances that an
            explainable model keeps: ``Heros(explainable=True)``.

        Examples
        --------
        >>> from heros import Heros, streams
        >>> stream = streams.Agrawal(function=1)
        >>> model = Heros(explainable=True, seed=1, schema=stream.schema).learn(*stream.draw(3000))
        >>> X, y = stream.draw(1)
        >>> explained = model.explain(X[0])
        >>> explained.columns[0].name
        'age'
        >>> total = explained.base + sum(column.contribution for column in explained.columns)
        >>> abs(total - explained.prediction) < 1e-6
        True
        """
        X, _ = self._rows(x)
        if len(X) != 1:
            what = "one instance: an array of shape (n_features,), a dictionary or a frame with one row"
            raise DataError(f"x must be {what}. Got {len(X)} instances instead.")
        rows = self.sample if background is None else self._rows(background)[0]
        if len(rows) == 0:
            raise HerosError("There are no instances to compare with x. Call learn, or pass background=.")
        form, original = form_of(x), None
        if form == "row":
            original = row_of(x)
        elif form != "array" and (rows_given := x if form == "rows" else rows_of_small_frame(x)):
            original = rows_given[0]
        next_outputs = partial(self.outputs, delay=0)  # each row is predicted as the next instance
        return contributions(X[0], rows, next_outputs, self._bound_learner.schema, of, original)

    @property
    def sample(self) -> NDArray[np.float64]:
        """The sample of recent instances (n, n_features) that an explainable model keeps, at most 128."""
        return self._explaining().rows.copy()

    def _explaining(self) -> RunningImportance:
        importance = self._bound_learner.importance
        if importance is None:
            raise HerosError(
                "This Heros keeps no sample of instances. Create Heros(explainable=True) (heros run "
                "--explainable), or set explainable to True and call learn again. The method explain also "
                "accepts background=, a frame or a list of instances for the comparison, e.g. 100 earlier "
                "rows."
            )
        return importance

    def leaderboard(self) -> Leaderboard:
        """Return the models ordered by score L, with their costs γ and numbers of training steps."""
        return Leaderboard.of(self.pool, self._bound_learner.step, self.asleep)

    def explain_choice(self) -> Explanation:
        """Return why each model was trained in the last step: warm-up, exploration or the policy."""
        learner = self._bound_learner
        if learner.last is None:
            why = "since it was loaded or since its policy raised an error" if self.instances else "yet"
            raise HerosError(f"There is no choice to explain. The model has not been trained {why}.")
        step, last = learner.step, learner.last
        return Explanation.of(self.pool, self.policy, self.k, self.warmup, step, last, self.asleep)

    def pool_summary(self) -> PoolSummary:
        """Return the scores, costs γ and training costs so far of the models with each value of a setting."""
        return PoolSummary.of(self.pool, self.k, self._bound_learner.step)

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """The CPU seconds spent so far, by phase of the step."""
        return dict(zip(PHASES, self._bound_learner.step.cpu_seconds.tolist(), strict=True))

    @property
    def _bound_learner(self) -> Learner:
        if self._learner is None:
            raise HerosError("This Heros has not been trained yet. Call learn or bind(schema) first.")
        return self._learner

    # -- the whole state ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file for `load`, atomically and with a checksum; the file contains no code.

        A policy, pool or score of your own is written as its class name, and with its state if it has
        ``state()`` and ``restore(state)``. docs/save.md describes the format.

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
        archive.write(path, "model", *serialization.pack(self))

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
        """Load a model from a file that `save` wrote, or from a checkpoint of `evaluate` or the service.

        Pass your own parts as arguments; loading a file runs no code. A corrupt file raises DataError, and a
        file of another format raises HerosError.
        """
        kind, document, arrays = archive.read_one_of(path, ("model", "checkpoint", "service"))
        if kind != "model":
            document, arrays = document.get("model", {}), archive.subset(arrays, "model")
        try:
            return serialization.unpack(
                cls, document, arrays, task=task, pool=pool, policy=policy, score=score
            )
        except DataError as error:
            raise DataError(f"The file {os.fspath(path)} must hold a complete model. {error}") from None

    def state(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the learnt state as groups of arrays for `restore`; empty before `bind`.

        `heros.ensemble.serialization.pack` also returns the settings, schema and random generator.
        """
        if self._learner is None:
            return {}
        groups = self._arrays_of(self._learner)
        if isinstance(self._learner.scores, ScoreCalls):
            groups["score"] = self._learner.scores.state()
        if self._dial is not None:
            groups["dial"] = self._dial.state()
        return groups | ({"weights": counted} if (counted := self._weights.state()) else {})

    def restore(self, schema: Schema, state: Mapping[str, dict[str, NDArray[Any]]]) -> None:
        """Create the models for this schema and restore the learnt state that `state` returned."""
        with self._exclusive:
            if self._dial is not None:
                self._dial.restore(state.get("dial", {}))
            self._weights.restore(state.get("weights", {}))
            self._learner = self._restored_learner(schema, state)

    def become(self, other: Heros) -> None:
        """Adopt the settings and state of another Heros, which must not be used afterwards."""
        _expect_heros(other)
        with self._exclusive:
            vars(self).update({name: value for name, value in vars(other).items() if name != "_exclusive"})

    def follow(self, other: Heros) -> None:
        """Copy the learnt state of another Heros with the same parts into this Heros.

        The service predicts with such a copy while the original learns (`heros.serve`).

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
        own, followed = self._learner, other._learner
        if own is None or followed is None or self.schema != other.schema or not followed.is_compiled:
            self.become(copy.deepcopy(other))
            return
        arrays = other._arrays_of(followed)
        with self._exclusive:
            self._dial = copy.deepcopy(other._dial)
            own.resume(self._dial)  # the arrays of the state depend on the rule for expected instances
            own.take(arrays)
            own.last = followed.last

    def _arrays_of(self, learner: Learner) -> dict[str, dict[str, NDArray[Any]]]:
        self._finish_growing()
        with self._exclusive:
            return learner.arrays()

    def _restored_learner(
        self, schema: Schema, learnt: Mapping[str, dict[str, NDArray[Any]]], scores: ScoreCalls | None = None
    ) -> Learner:
        """Return a learner for this schema, restored from `learnt`.

        If `scores` is given, its state must already be restored.
        """
        if "gamma" not in learnt.get("pool", {}) or "ensemble" not in learnt:
            raise DataError(
                "The state of a Heros must have the groups 'pool' and 'ensemble'. Got an incomplete state."
            )
        # the stored costs make a new measurement of costs unnecessary
        costs = shares(learnt["pool"]["gamma"], self.pool.n_models, "Heros")
        bound = self.pool.bind(schema, np.random.default_rng(0), costs)
        learner = self._learner_of(schema, bound, scores)
        if isinstance(learner.scores, ScoreCalls) and scores is None:
            learner.scores.restore(learnt.get("score", {}))
        learner.resume(self._dial)  # the arrays of the state depend on the rule for expected instances
        learner.take(learnt)
        return learner

    def __copy__(self) -> Self:
        """Return an independent copy, like `copy.deepcopy`; training the copy does not change the model."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        self._finish_growing()
        state = {name: value for name, value in vars(self).items() if name not in NOT_KEPT}
        if self._learner is not None:
            with self._exclusive:
                state["learnt"] = self._learner.learnt()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learnt: Learnt | None = state.pop("learnt", None)
        vars(self).update(state, _exclusive=ExclusiveUse(AT_WORK))
        if learnt is not None:
            self._learner = self._restored_learner(learnt.schema, learnt.arrays, learnt.scores)
            self._learner.last = learnt.last

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in ELSEWHERE]

    def __repr__(self) -> str:
        state = "not bound" if self.schema is None else f"{self.instances} instances"
        return f"<Heros {self.pool!r}, {self.policy}, k={self.k}, {state}>"


_ESTIMATOR = "or use heros.integrations.sklearn.HerosClassifier"
ELSEWHERE = {
    "fit": f"call learn(X, y), {_ESTIMATOR}",
    "partial_fit": f"call learn(X, y), {_ESTIMATOR}",
    "learn_one": "call learn(x, y)",
    "learn_many": "call learn(X, y)",
    "train": "call learn(x, y)",
    "predict_one": "call predict(x)",
    "predict_many": "call predict(X)",
    "predict_proba_one": "call predict_proba(x)",
    "predict_proba_many": "call predict_proba(X)",
    "evaluate": "call heros.evaluate(model, stream)",
    "classes_": "read schema.classes",
    "feature_importances_": "call importance(), after Heros(explainable=True)",
    "dump": "call save(path)",
}
"""Replacements for methods and attributes of other libraries."""


class _Elsewhere:
    """A placeholder for an attribute that `Heros` does not have.

    Reading the attribute raises an error that names the replacement.

    A `__getattr__` of `Heros` would slow down every access to the other attributes.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        text = f"Heros has no attribute {self.name!r}. Instead, {ELSEWHERE[self.name]}."
        raise AttributeError(text, name=self.name, obj=instance)


for _name in ELSEWHERE:
    setattr(Heros, _name, _Elsewhere(_name))

NOT_KEPT = ("_learner", "_exclusive", "_reader")
"""The attributes that are not pickled; the state of the compiled core is pickled as arrays."""


def _expect_heros(other: object) -> None:
    if not isinstance(other, Heros):
        raise ParameterError.of("other", "Heros", "a Heros", other)
