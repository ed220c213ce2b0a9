"""`Run`, the result of an evaluation, and `Window`, the state of a run at the end of a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import ParameterError
from heros._base.tables import wrapped
from heros.drift.changes import Change
from heros.ensemble import Heros
from heros.ensemble.importance import Importance
from heros.measures import Confusion, Measure
from heros.measures.base import Caption
from heros.meters import Energy
from heros.run import drawing, summary
from heros.run.curves import Curves, figure_of
from heros.run.predictions import Predictions
from heros.run.summary import EVEN, Imbalance, imbalance_of
from heros.streams.bad_rows import BadRows
from heros.streams.live.base import DriftPoint


@dataclass(frozen=True)
class Price:
    """The cost of evaluation and training, relative to evaluating and training every model at every step.

    The cost is not timed during the run. The evaluations and training steps of each model are counted and
    multiplied by the costs of one evaluation and of one training step (see `heros.pools.timing`). In
    contrast, the training cost Σγ counts only training, with the costs γ that the policy uses.

    Examples
    --------
    >>> Price(looking=0.25, training=0.5).total
    0.75
    """

    looking: float  # cost of evaluation
    training: float  # cost of training

    @property
    def total(self) -> float:
        """The cost of evaluation and training together."""
        return self.looking + self.training


@dataclass(frozen=True, slots=True)
class Reading:
    """A description of how the stream of a run was read.

    Examples
    --------
    >>> Reading("late", ignored=("order",)).ignored
    ('order',)
    """

    target: str | None  # the target column; None if the target has no name
    ignored: tuple[str, ...] = ()  # columns that are left out
    words: tuple[str, ...] = ()  # strings read as missing values, in addition to the default ones


@dataclass(frozen=True, repr=False)
class Run:
    """The performance and the cost of a model on a stream.

    The value of a measure is also an attribute: ``run.auroc``. In a notebook, a run is shown with its curves.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools, streams
    >>> run = evaluate(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1), streams.Agrawal().take(3000))
    >>> run
    <Run Agrawal(function=1): 3,000 instances
     AUROC 0...  accuracy 0...  κ ...  log-loss 0...
     training: ...% of the cost of training every model; ... CPU s, ... J
     changes: ...
     best model at the end: ...>
    >>> run.to_arrow().column_names
    ['end', 'auroc', 'accuracy', 'kappa', 'log_loss', 'spent', 'reward', 'cpu', 'best']
    """

    stream: str
    model: str
    n_instances: int
    figures: dict[str, float]  # value of each measure over the whole stream
    measures: tuple[Caption, ...] = field(repr=False)  # names and labels of the measures, in order
    confusion: Confusion | None = field(repr=False)  # None if no measure computes the matrix
    gamma_spent: float  # training cost Σγ; equal to n_instances if every model is always trained
    reward: float  # sum of the rewards R over all steps
    evaluated: NDArray[np.int64] = field(repr=False)  # (M,) number of evaluations of each model
    trained: NDArray[np.int64] = field(repr=False)  # (M,) number of training steps of each model
    invested: NDArray[np.float64] = field(repr=False)  # (M,) investment r of each model
    diverged: int  # number of models that made a prediction that is not finite
    price: Price | None  # cost of evaluation and training; None if the cost could not be measured
    cpu: dict[str, float]  # CPU seconds of each phase
    energy: Energy
    curves: Curves = field(repr=False)
    window: int
    settings: dict[str, Any] = field(repr=False)  # settings of the model, as plain data
    drifts: tuple[DriftPoint, ...] = field(default=(), repr=False)  # known drifts of the stream
    changes: tuple[Change, ...] = field(default=(), repr=False)  # detected changes
    searched: bool = field(default=False, repr=False)  # whether change detection was on
    reading: Reading | None = field(default=None, repr=False)  # how the stream was read; None if unknown
    importance: Importance | None = field(default=None, repr=False)  # None if importance was not measured
    bad_rows: BadRows = field(default=BadRows(), repr=False)  # rows that the stream skipped
    interrupted: bool = False  # whether Ctrl-C, a callback or too many bad rows ended the run
    classes: tuple[str, ...] = field(default=(), repr=False)  # class names; empty if unknown
    # None if the predictions were not kept
    predictions: Predictions | None = field(default=None, repr=False, compare=False)
    baselines: dict[str, dict[str, float]] = field(
        default_factory=dict, repr=False
    )  # measures of simple predictors

    @property
    def cpu_seconds(self) -> float:
        """The total CPU time in seconds."""
        return sum(self.cpu.values())

    @property
    def gamma_share(self) -> float:
        """The training cost Σγ, as a share of the cost of training every model at every step."""
        return self.gamma_spent / self.n_instances

    @property
    def too_many_bad_rows(self) -> bool:
        """Whether more than one row in twenty was bad, which ends a run early."""
        return self.bad_rows.are_too_many(self.n_instances + self.bad_rows.count)

    def __repr__(self) -> str:
        first, *rest = (part for line in summary.lines(self) for part in wrapped(line))
        return f"<Run {first}\n " + "\n ".join(rest) + ">"

    def _repr_html_(self) -> str:
        return drawing.html(self)

    @property
    def imbalance(self) -> Imbalance | None:
        """The measures of the rarest class; None unless the classes are imbalanced or have weights."""
        even = 1.0 if self.settings.get("class_weight") else EVEN
        return imbalance_of(self.confusion, self.classes, self.predictions, even=even)

    def summary(self) -> str:
        """Return the performance and the cost as text, as printed by `heros run`."""
        return summary.cost_table(self).fitted()

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Draw the curves of measures, by default of the first measure; return the matplotlib axes.

        Parameters
        ----------
        names
            The names of measures, e.g. ``"accuracy"``.
        ax
            The axes to draw into; by default new axes.
        """
        return drawing.plot(self, names, ax)

    def to_arrow(self) -> Any:
        """Return the curves as an Arrow table with one row per window (see `Curves.to_arrow`)."""
        return self.curves.to_arrow()

    def to_pandas(self) -> Any:
        """Return the curves as a pandas data frame with one row per window."""
        return self.curves.to_pandas()

    def __getattr__(self, name: str) -> float:
        """Return the value of a measure."""
        figure: float = figure_of(self, name)
        return figure


@dataclass(frozen=True, slots=True)
class Window:
    """The state of a run at the end of a window, passed to callbacks.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools, streams
    >>> def until_good(window):
    ...     print(window.end, list(window.figures))
    ...     return window.figures["accuracy"] > 0.3  # True ends the run
    >>> model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)
    >>> run = evaluate(model, streams.Agrawal().take(5000), callback=until_good)
    1000 ['auroc', 'accuracy', 'kappa', 'log_loss']
    >>> run.n_instances, run.interrupted
    (1000, True)
    """

    end: int  # number of instances so far
    figures: dict[str, float]  # value of each measure over this window
    gamma_share: float  # training cost Σγ so far, as a share of training every model
    model: Heros = field(repr=False)
    _measures: Sequence[Measure] = field(repr=False)

    @property
    def so_far(self) -> dict[str, float]:
        """The values of the measures over all windows so far, computed on access."""
        return {measure.name: measure.value for measure in self._measures}


Callback = Callable[[Window], Any]


def checked_callbacks(callback: Any) -> list[Callback]:
    """Return one or several callbacks as a list; raise an error if a callback is not callable."""
    callbacks = [] if callback is None else [callback] if callable(callback) else callback
    if not isinstance(callbacks, list | tuple) or not all(callable(one) for one in callbacks):
        rule = "a function that accepts a Window, or a list of such functions"
        raise ParameterError.of("callback", "evaluate", rule, callback)
    return list(callbacks)
