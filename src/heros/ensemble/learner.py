"""The models of a Heros, created for a schema, and the compiled step that evaluates and trains them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import HerosError
from heros.data.check import Validator
from heros.data.schema import Schema
from heros.ensemble.block import Block, joined
from heros.ensemble.dial import Dial
from heros.ensemble.importance import EACH, RunningImportance
from heros.ensemble.inspection import LastStep
from heros.policies.calls import PolicyCalls
from heros.pools import BoundPool
from heros.scores.base import ScoreCalls

REMEASURE = 1000  # number of instances between two measurements of costs that change


class Learnt(NamedTuple):
    """The learnt state of a learner, for copies and pickles."""

    schema: Schema
    arrays: Mapping[str, dict[str, NDArray[Any]]]  # see `Learner.arrays`
    scores: ScoreCalls | None  # set only for a user-defined score
    last: LastStep | None


@dataclass(eq=False, repr=False)
class Learner:
    """Models bound to a schema, with their scores, their policy and the compiled step.

    Not thread-safe; the caller must hold the lock.
    """

    schema: Schema
    bound: BoundPool
    scores: _core.Scores | ScoreCalls
    chooser: _core.Policy | PolicyCalls  # the bound policy, which the step calls
    step: _core.Step
    importance: RunningImportance | None  # None unless the model is explainable
    dial: Dial | None  # the controller of the budget, if there is a budget
    last: LastStep | None = None  # the choice of the last step
    growing: Schema | None = None  # the new schema, while `grow` runs or after it was interrupted

    def __post_init__(self) -> None:
        self.validator = Validator(self.schema)
        self._bound_numbers(self.schema)

    @property
    def is_compiled(self) -> bool:
        """Whether the whole learnt state is in the compiled core, and no Python object has learnt state."""
        calls = isinstance(self.scores, ScoreCalls) or isinstance(self.chooser, PolicyCalls)
        return not calls and self.bound.pool.plain

    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Extend the models to a larger schema; after Ctrl-C, call `grow` again to continue."""
        self.growing = schema
        try:
            with clear_memory_error(schema):
                self.bound.grow(schema, rng)
                self.step.set_costs(self.bound.costs)
                self._bound_numbers(schema)
        except Exception:
            self.growing = None
            raise
        if self.importance is not None:
            self.importance.grow(schema)
        self.validator, self.schema = Validator(schema), schema
        self.growing = None

    def _bound_numbers(self, schema: Schema) -> None:
        """Make the core limit extreme values of numeric features, if the pool is `bounded`."""
        if self.bound.pool.bounded:
            self.step.set_bounded(np.array([not feature.nominal for feature in schema.features], np.uint8))

    def run(
        self,
        X: NDArray[np.float64],
        targets: NDArray[np.float64],
        weights: tuple[NDArray[np.float64], NDArray[np.int32]] | None,
        delays: NDArray[np.int64] | None = None,
    ) -> Block:
        """Predict each instance, then train on it; at intervals, measure the importance of a few columns."""
        blocks, step, importance, n = [], self.step, self.importance, self.schema.n_outputs
        for part in self._stretches(len(X)):
            self.last = copies = None
            rows, at = X[part], step.instances
            counts, times = (None, None) if weights is None else (weights[0][part], weights[1][part])
            late = None if delays is None else delays[part]
            if importance is not None and at % EACH == 0 and len(rows) > 0:
                copies = importance.to_predict(rows[0], at, step.last_alarm)
            if copies is not None:
                changed = step.predict(copies, None if late is None else np.full(len(copies), late[0]))
            block = Block(*step.run(rows, targets[part], counts, times, late))
            if importance is not None:
                if copies is not None:
                    importance.learn(block.outputs[0, :n], changed[:, :n])
                importance.add_to_sample(rows, at)
            blocks.append(block)
        block = joined(blocks)
        if len(X) > 0:
            draws = self.chooser.draws if isinstance(self.chooser, PolicyCalls) else None
            chosen, costs = block.chosen[-1].copy(), self.bound.costs
            self.last = LastStep(
                chosen, step.chosen_from, costs, step.explored, draws, step.bounds, step.expected
            )
        return block

    def _stretches(self, n: int) -> Iterator[slice]:
        """Yield slices of the block, cut where costs or importance are measured or the budget is checked.

        The cuts depend on the number of instances alone, not on how the caller splits the stream.
        """
        start, dial = 0, self.dial
        while start < n:
            at = self.step.instances
            cuts = [at + n - start]
            if self.bound.costs_change:
                cuts.append(at - at % REMEASURE + REMEASURE)
                if at % REMEASURE == 0:
                    self.step.set_costs(self.bound.measure())
            if dial is not None:
                cuts.append(dial.cut(at))
                if dial.is_due(at):
                    dial.begin(self.step, self.bound.costs)
                    self.step.set_effort(dial.awake.view(np.uint8), dial.expected())
            if self.importance is not None:
                cuts.append(at - at % EACH + EACH)
            stop = start + min(cuts) - at
            yield slice(start, stop)
            start = stop
        if n == 0:
            yield slice(0, 0)

    def resume(self, dial: Dial | None) -> None:
        """Continue with a restored budget controller; sleeping models stay asleep."""
        self.dial = dial
        if dial is not None:
            self.step.set_effort(dial.awake.view(np.uint8), dial.expected(), restored=True)

    def arrays(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the state of the compiled core as groups of arrays for `take`."""
        groups = {"pool": self.bound.state(), "ensemble": self.step.state()}
        return groups if self.importance is None else groups | {"importance": self.importance.state()}

    def learnt(self) -> Learnt:
        """Return the whole learnt state."""
        own = self.scores if isinstance(self.scores, ScoreCalls) else None
        return Learnt(self.schema, self.arrays(), own, self.last)

    def take(self, learnt: Mapping[str, dict[str, NDArray[Any]]]) -> None:
        """Restore the state that `arrays` returned."""
        self.bound.restore(learnt["pool"])
        self.step.restore(learnt["ensemble"])
        if self.importance is not None:
            self.importance.restore(learnt.get("importance", {}), self.schema)


@contextmanager
def clear_memory_error(schema: Schema) -> Iterator[None]:
    """Turn a MemoryError into a HerosError that gives the size of the schema."""
    try:
        yield
    except MemoryError:
        values = sum(len(feature.values or ()) for feature in schema.features)
        what = f"{schema.n_features} features, {values} nominal values and {schema.n_classes} classes"
        raise HerosError(
            f"The models do not fit into memory. Use fewer or smaller models for {what}."
        ) from None
