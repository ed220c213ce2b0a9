"""The result of an evaluation, and its state at the end of each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.ensemble import Heros
from heros.errors import ParameterError
from heros.measures import Confusion, Measure
from heros.measures.base import Caption
from heros.meters import Energy
from heros.run import drawing, summary
from heros.run.curves import Curves, figure_of
from heros.run.predictions import Predictions
from heros.run.summary import Imbalance, imbalance_of
from heros.streams.live import BadRows, DriftPoint

__all__ = ["Callback", "Price", "Run", "Window", "checked_callbacks"]


@dataclass(frozen=True)
class Price:
    """What looking and training cost, on one scale: shares of the price if all look and are trained.

    It is counted, not timed: how often each model looked and was trained, times what that costs, as it was
    measured of each model (see `heros.pools.timing`). Σγ counts training alone, by the γ of the policy.

    Examples
    --------
    >>> Price(looking=0.25, training=0.5).total
    0.75
    """

    looking: float
    training: float

    @property
    def total(self) -> float:
        """The price of a step."""
        return self.looking + self.training


@dataclass(frozen=True, repr=False)
class Run:
    """How a model did on a stream, and what that cost.

    The figure of a measure is an attribute of its name, too: ``run.auroc``. A notebook shows its curves.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools, streams
    >>> run = evaluate(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1), streams.Agrawal().take(3000))
    >>> run
    <Run Agrawal(function=1): 3,000 instances
     AUROC 0...  accuracy 0...  κ ...  log-loss 0...
     trained ...% of the price of training everything; ... CPU s, ... J
     best model at the end: ...>
    >>> run.to_arrow().column_names
    ['end', 'auroc', 'accuracy', 'kappa', 'log_loss', 'spent', 'reward', 'cpu', 'best']
    """

    stream: str
    model: str
    n_instances: int
    figures: dict[str, float]  # by measure, over the whole stream, at its end
    measures: tuple[Caption, ...] = field(repr=False)  # what the figures are called, in their order
    confusion: Confusion | None = field(repr=False)  # if a measure has counted it
    gamma_spent: float  # Σγ over all steps; n_instances is the price of training everything
    reward: float  # ΣR over all steps
    looked: NDArray[np.int64] = field(repr=False)  # (M,) at how many instances each model looked
    trained: NDArray[np.int64] = field(repr=False)  # (M,) how often each model was trained
    invested: NDArray[np.float64] = field(repr=False)  # (M,) r
    diverged: int  # models that ever gave a prediction that is not finite
    price: Price | None  # of looking and training; None if that could not be measured
    cpu: dict[str, float]  # CPU seconds by phase
    energy: Energy  # the bill
    curves: Curves = field(repr=False)
    window: int
    settings: dict[str, Any] = field(repr=False)  # of the model, as plain data
    drifts: tuple[DriftPoint, ...] = field(default=(), repr=False)  # where the stream is known to change
    bad_rows: BadRows = field(default=BadRows(), repr=False)  # what the stream skipped
    interrupted: bool = False  # whether Ctrl-C, a callback or too many bad rows ended it
    classes: tuple[str, ...] = field(default=(), repr=False)  # none if the target is a number, or not known
    predictions: Predictions | None = field(default=None, repr=False, compare=False)  # if they were kept

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds in all."""
        return sum(self.cpu.values())

    @property
    def gamma_share(self) -> float:
        """Σγ as a share of the price of training everything at every step."""
        return self.gamma_spent / self.n_instances

    @property
    def too_many_bad_rows(self) -> bool:
        """Whether more than one row in twenty was bad, which ends a run."""
        return self.bad_rows.are_too_many(self.n_instances + self.bad_rows.count)

    def __repr__(self) -> str:
        first, *rest = summary.lines(self)
        return f"<Run {first}\n " + "\n ".join(rest) + ">"

    def _repr_html_(self) -> str:
        return drawing.html(self)

    @property
    def imbalance(self) -> Imbalance | None:
        """What is to be known of a run whose classes are uneven; None if they are not."""
        return imbalance_of(self.confusion, self.classes, self.predictions)

    def summary(self) -> str:
        """What it gave and what it cost, as `heros run` prints it."""
        return str(summary.bill(self))

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Draw the curves of measures, by default of the first; the axes of matplotlib are returned.

        Parameters
        ----------
        names
            Of measures, e.g. ``"accuracy"``.
        ax
            Axes to draw into; new ones by default.
        """
        return drawing.plot(self, names, ax)

    def to_arrow(self) -> Any:
        """The curves as an Arrow table, a row per window: see `Curves.to_arrow`."""
        return self.curves.to_arrow()

    def to_pandas(self) -> Any:
        """The curves as a data frame of pandas, a row per window."""
        return self.curves.to_pandas()

    def __getattr__(self, name: str) -> float:
        """The figure of a measure."""
        figure: float = figure_of(self, name)
        return figure


@dataclass(frozen=True, slots=True)
class Window:
    """The state of a run at the end of a window, as callbacks get it.

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

    end: int  # instances so far
    figures: dict[str, float]  # of this window alone, by measure
    gamma_share: float  # Σγ so far, as a share of training everything
    model: Heros = field(repr=False)
    _measures: Sequence[Measure] = field(repr=False)

    @property
    def so_far(self) -> dict[str, float]:
        """The figures over all windows so far, computed on access."""
        return {measure.name: measure.value for measure in self._measures}


Callback = Callable[[Window], Any]


def checked_callbacks(callback: Any) -> list[Callback]:
    """Return one callback, or several, as a list; raise an error if one is not callable."""
    given = [] if callback is None else [callback] if callable(callback) else callback
    if not isinstance(given, list | tuple) or not all(callable(one) for one in given):
        raise ParameterError.of("callback", "evaluate", "a function of a window, or a list of them", callback)
    return list(given)
