"""The models of a Heros at work: made for a schema, with the compiled step that runs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros.data.check import Validator
from heros.data.schema import Schema
from heros.ensemble.block import Block, joined
from heros.ensemble.inspection import LastStep
from heros.ensemble.pacing import metered, set_pace
from heros.errors import HerosError
from heros.policies.calls import PolicyCalls
from heros.policies.pace import STRETCH, Pace
from heros.pools import BoundPool
from heros.scores.base import ScoreCalls

__all__ = ["Learner", "Learnt", "enough_memory"]

REMEASURE = 1000  # every so many instances costs that change are measured anew


class Learnt(NamedTuple):
    """What a learner knows, to be copied or pickled."""

    schema: Schema
    arrays: Mapping[str, dict[str, NDArray[Any]]]  # see `Learner.arrays`
    scores: ScoreCalls | None  # if they are of the user's own
    last: LastStep | None


class Learner:
    """Models that are bound to a schema, how their performance is kept, who chooses, and the step of it all.

    Whoever calls sees to it that nobody else does at the time.

    Parameters
    ----------
    schema
        What an instance looks like.
    bound
        The models.
    scores, chooser
        The running performance and the policy, as the step has them.
    step
        The compiled step, made of these.
    """

    def __init__(
        self,
        schema: Schema,
        bound: BoundPool,
        scores: _core.Scores | ScoreCalls,
        chooser: _core.Policy | PolicyCalls,
        step: _core.Step,
    ) -> None:
        self.schema, self.validator = schema, Validator(schema)
        self.bound, self.scores, self.chooser, self.step = bound, scores, chooser, step
        self.last: LastStep | None = None  # what the last step chose
        self.growing: Schema | None = None  # what it is being fitted to, or was when Ctrl-C came

    @property
    def is_compiled(self) -> bool:
        """Whether scores and policy learn in the compiled core, and nothing in objects of Python's."""
        return not (isinstance(self.scores, ScoreCalls) or isinstance(self.chooser, PolicyCalls))

    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Fit the models to a schema that has grown; where Ctrl-C broke that off, once more does the rest."""
        self.growing = schema
        try:
            with enough_memory(schema):
                self.bound.grow(schema, rng)
                self.step.set_costs(self.bound.costs)
        except Exception:
            self.growing = None
            raise
        self.validator, self.schema = Validator(schema), schema
        self.growing = None

    def choose_by(
        self,
        chooser: _core.Policy | PolicyCalls,
        k: int,
        rng: np.random.Generator,
        watch: int,
        surprise: _core.Surprise | None,
    ) -> None:
        """Another policy, k or generator from now on."""
        self.chooser = chooser
        self.step.set_policy(chooser, k, rng.bit_generator, watch, surprise)

    def run(
        self,
        X: NDArray[np.float64],
        targets: NDArray[np.float64],
        weights: tuple[NDArray[np.float64], NDArray[np.int32]] | None,
        pace: Pace | None,
        most: int,
        delays: NDArray[np.int64] | None = None,
    ) -> Block:
        """Test, then train on these; at most so many models each, or as many as the pace allows."""
        blocks = []
        for part in self._stretches(len(X), pace, most):
            self.last = None
            counts, times = (None, None) if weights is None else (weights[0][part], weights[1][part])
            late = None if delays is None else delays[part]
            with metered(pace):
                blocks.append(Block(*self.step.run(X[part], targets[part], counts, times, late)))
        block = joined(blocks)
        if len(X) > 0:
            self.last = self._last_of(block)
        return block

    def _stretches(self, n: int, pace: Pace | None, most: int) -> Iterator[slice]:
        """The block, cut where costs are measured anew or a k is chosen: always at the same instances."""
        start, lengths = 0, []
        if self.bound.costs_change:
            lengths.append(REMEASURE)
        if pace is not None:
            lengths.append(STRETCH)
        while lengths and start < n:
            at = self.step.instances
            if self.bound.costs_change and at % REMEASURE == 0:
                self.step.set_costs(self.bound.measure())
            if pace is not None and at % STRETCH == 0:
                set_pace(pace, self.step, most)
            stop = min([n, *(start + length - at % length for length in lengths)])
            yield slice(start, stop)
            start = stop
        if start < n or n == 0:
            yield slice(start, n)

    def _last_of(self, block: Block) -> LastStep:
        draws = self.chooser.draws if isinstance(self.chooser, PolicyCalls) else None
        step = self.step
        chosen = block.chosen[-1].copy()
        return LastStep(
            chosen, step.chosen_from, self.bound.costs, step.explored, draws, step.bounds, step.expected
        )

    def arrays(self) -> dict[str, dict[str, NDArray[Any]]]:
        """What the compiled core has learnt, as groups of arrays that `take` takes back."""
        return {"pool": self.bound.state(), "ensemble": self.step.state()}

    def learnt(self) -> Learnt:
        """All that it knows."""
        own = self.scores if isinstance(self.scores, ScoreCalls) else None
        return Learnt(self.schema, self.arrays(), own, self.last)

    def take(self, learnt: Mapping[str, dict[str, NDArray[Any]]]) -> None:
        """Know what `arrays` gave."""
        self.bound.restore(learnt["pool"])
        self.step.restore(learnt["ensemble"])


@contextmanager
def enough_memory(schema: Schema) -> Iterator[None]:
    """Say what there was too much of, if memory does not suffice for models of this schema."""
    try:
        yield
    except MemoryError:
        values = sum(len(feature.values or ()) for feature in schema.features)
        what = f"{schema.n_features} features with {values} nominal values in all, {schema.n_classes} classes"
        raise HerosError(
            f"The models must fit into memory. Got too many or too large ones for {what}."
        ) from None
