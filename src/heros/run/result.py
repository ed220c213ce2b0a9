"""What an evaluation gives: figures, curves, the bill."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.extras import needed
from heros._base.lazy import pa
from heros.drift.changes import Change
from heros.measures import Confusion
from heros.measures.base import Caption
from heros.meters import Energy
from heros.run import drawing, summary
from heros.run.imbalance import Imbalance, imbalance_of
from heros.run.predictions import Predictions
from heros.streams.live import BadRows, DriftPoint

__all__ = ["Curves", "Price", "Run"]


@dataclass(frozen=True)
class Curves:
    """What happened over time, one row per window of the stream.

    The curve of a measure is an attribute of its name, too: ``curves.auroc``. In an evaluation that is not
    `exact` there are at most 1000 rows: neighbouring windows are merged, and `end` tells how far each row
    goes. The figures of a merged row are means and sums over its windows.
    """

    end: NDArray[np.int64]  # (W,) the instance after the window's last
    figures: dict[str, NDArray[np.float64]]  # by measure (W,): within the window, as are the next two
    spent: NDArray[np.float64]  # (W,) Σγ
    reward: NDArray[np.float64]  # (W,) R
    trained: NDArray[np.int64]  # (W, M) how often each model was trained
    scores: NDArray[np.float64]  # (W, M) L at the window's end
    invested: NDArray[np.float64]  # (W, M) r at the window's end
    cpu: NDArray[np.float64]  # (W, phases) CPU seconds

    @classmethod
    def of(cls, columns: dict[str, NDArray[Any]]) -> Curves:
        """Curves of all columns by name; those that are no field are figures."""
        fields = {name: columns[name] for name in cls.__dataclass_fields__ if name != "figures"}
        return cls(figures={name: columns[name] for name in columns if name not in fields}, **fields)

    def columns(self) -> dict[str, NDArray[Any]]:
        """All curves by name, the figures of measures among them."""
        rest = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "figures"}
        return {"end": rest.pop("end"), **self.figures, **rest}

    def to_arrow(self) -> Any:
        """The curves as an Arrow table: CPU seconds in all, and `best`, the model with the highest L.

        What there is per model (`trained`, `scores`, `invested`) stays in the arrays.
        """
        columns = {"end": self.end, **self.figures, "spent": self.spent, "reward": self.reward}
        columns["cpu"] = self.cpu.sum(axis=1)
        if self.scores.shape[1]:  # compact records have none
            columns["best"] = self.scores.argmax(axis=1)
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """The same as a data frame of pandas."""
        needed("pandas", "to_pandas", "notebook")
        return self.to_arrow().to_pandas()

    def __getitem__(self, rows: Any) -> Curves:
        """These rows only: a slice, a mask or indices."""
        return Curves.of({name: curve[rows] for name, curve in self.columns().items()})

    def __getattr__(self, name: str) -> NDArray[np.float64]:
        """The curve of a measure."""
        curve: NDArray[np.float64] = _figure(self, name)
        return curve


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
    changes: tuple[Change, ...] = field(default=(), repr=False)  # that were detected, by instances of the run
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
        figure: float = _figure(self, name)
        return figure


def _figure(owner: object, name: str) -> Any:
    """Not through the attribute: a copy asks for others before it has any."""
    figures = vars(owner).get("figures", {})
    if name in figures:
        return figures[name]
    raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
