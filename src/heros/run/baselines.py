"""Models that ignore the features, to compare others with: the last label, and the most frequent one."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.data.schema import Schema
from heros.policies import Everything
from heros.pools import Models
from heros.run.experiments import Experiment
from heros.run.result import Run

__all__ = ["BASELINES", "Baseline", "Majority", "NoChange"]


class NoChange:
    """Predict the last label again.

    Examples
    --------
    >>> model = NoChange()
    >>> model.bind(Schema.of(["age"], classes=["no", "yes"]))
    >>> model.learn(None, 1)
    >>> model.predict_proba(None).tolist()
    [0.0, 1.0]
    """

    def __init__(self) -> None:
        self.classes, self.last = 0, 0.0

    def bind(self, schema: Schema) -> None:
        """Take the number of classes from the schema."""
        self.classes = schema.n_classes

    def predict_proba(self, x: Any) -> NDArray[np.float64]:
        """Return probability 1 for the last label."""
        votes = np.zeros(self.classes)
        votes[int(self.last)] = 1.0
        return votes

    def predict(self, x: Any) -> float:
        """Return the last target."""
        return self.last

    def learn(self, x: Any, y: float) -> None:
        """Store the label."""
        self.last = y


class Majority:
    """Predict the shares of the classes so far, or the mean of the targets.

    Examples
    --------
    >>> model = Majority()
    >>> model.bind(Schema.of(["age"], classes=["no", "yes"]))
    >>> for label in (1, 1, 0, 1):
    ...     model.learn(None, label)
    >>> model.predict_proba(None).tolist()
    [1.0, 3.0]
    """

    def __init__(self) -> None:
        self.counts, self.sum, self.seen = np.zeros(0), 0.0, 0

    def bind(self, schema: Schema) -> None:
        """Take the number of classes from the schema."""
        self.counts = np.pad(self.counts, (0, schema.n_classes - len(self.counts)))

    def predict_proba(self, x: Any) -> NDArray[np.float64]:
        """Return the number of labels of each class."""
        return self.counts

    def predict(self, x: Any) -> float:
        """Return the mean of the targets."""
        return self.sum / max(self.seen, 1)

    def learn(self, x: Any, y: float) -> None:
        """Count the label."""
        self.seen, self.sum = self.seen + 1, self.sum + y
        if len(self.counts):
            self.counts[int(y)] += 1


BASELINES = {"no change": NoChange, "majority": Majority}


@dataclass(eq=False)
class Baseline(Experiment):
    """The run of a baseline on a stream.

    Parameters
    ----------
    label
        "no change" or "majority".

    Examples
    --------
    >>> job = Baseline("agr_a", label="majority", n=500)
    >>> job.id, job.run().figures["accuracy"] > 0.5
    ('agr_a/majority/seed1', True)
    """

    _: KW_ONLY
    label: str = "majority"

    def __post_init__(self) -> None:
        self.pool = Models([(self.label, BASELINES[self.label]())], costs=[1])
        self.policy, self.k, self.answer = Everything(), 1, "best"

    @property
    def id(self) -> str:
        """The place of its record below the directory of records."""
        stream, *_ = super().id.split("/")
        return f"{stream}/{self.label.replace(' ', '_')}/seed{self.seed}"

    def run(self, progress: bool | str | None = False) -> Run:
        """Run the baseline; tables and reports name it by its label."""
        run = super().run(progress)
        return replace(run, settings={**run.settings, "label": self.label})
