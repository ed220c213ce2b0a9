"""The curves of a run: their points during the run, in bounded memory, and the finished curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.extras import needed
from heros._base.lazy import pa

MOST_POINTS = 1000
"""The maximum number of points of a curve, unless the evaluation is exact."""

SUMS = ("spent", "reward", "trained", "cpu")
LATEST = ("end", "scores", "invested")


class Points:
    """The points of all curves so far, as one list per curve.

    If there are too many points, neighbouring points are merged. A merged point covers the windows of both
    points. Measures (the curves in `figures`) are averaged, weighted by the lengths of the windows. The
    curves in `sums` are added. For the curves in `latest`, the value of the later point is used. All points
    except the last cover the same number of instances. `most` is the maximum number of points, an even number
    or None.

    Examples
    --------
    >>> points = Points(["accuracy"], most=4, sums=["spent"], latest=["end"])
    >>> for i, hits in enumerate([0.5, 0.7, 0.9, 0.9, 0.8, 0.8]):
    ...     points.add({"end": 100 * (i + 1), "accuracy": hits, "spent": 2.0})
    >>> points.curves["end"], points.curves["spent"], [round(hits, 2) for hits in points.curves["accuracy"]]
    ([200, 400, 600], [4.0, 4.0, 4.0], [0.6, 0.9, 0.8])
    """

    def __init__(
        self,
        figures: Iterable[str],
        most: int | None = None,
        *,
        sums: Iterable[str] = SUMS,
        latest: Iterable[str] = LATEST,
    ) -> None:
        self._figures, self._sums, self._most = frozenset(figures), frozenset(sums), most
        self.curves: dict[str, list[Any]] = {name: [] for name in (*latest, *figures, *sums)}

    def __len__(self) -> int:
        return len(self.curves["end"])

    def add(self, point: Mapping[str, Any]) -> None:
        """Append a point; merge neighbouring points if there are too many."""
        for name, value in point.items():
            self.curves[name].append(value)
        if self._most is None:
            return
        if len(self) > 2 and self._length(len(self) - 2) < self.curves["end"][0]:
            self._merge(len(self) - 2)
        if len(self) >= self._most:
            for i in range(self._most // 2):
                self._merge(i)

    def last(self, name: str) -> Any:
        """Return the latest value of a curve."""
        return self.curves[name][-1]

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the curves as arrays."""
        return {name: np.array(values) for name, values in self.curves.items()}

    def restore(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `columns` returned."""
        self.curves = {name: list(columns.get(name, ())) for name in self.curves}

    def _length(self, i: int) -> int:
        end = self.curves["end"]
        return int(end[i] - (end[i - 1] if i else 0))

    def _merge(self, i: int) -> None:
        first, second = self._length(i), self._length(i + 1)
        for name, values in self.curves.items():
            before, after = values[i], values.pop(i + 1)
            if name not in self._figures:
                values[i] = before + after if name in self._sums else after
            elif math.isnan(before) or math.isnan(after):  # a window without a value has no weight
                values[i] = after if math.isnan(before) else before
            else:
                values[i] = (before * first + after * second) / (first + second)


@dataclass(frozen=True)
class Curves:
    """The measures and costs of a run over time, with one row per window of the stream.

    The curve of a measure is also an attribute: ``curves.auroc``. If the evaluation is not `exact`,
    there are at most 1000 rows: neighbouring windows are merged, and `end` is the last instance of each row.
    A value of a merged row is the mean, the sum or the last value over its windows.
    """

    end: NDArray[np.int64]  # (W,) number of instances up to the window's end
    figures: dict[str, NDArray[np.float64]]  # (W,) for each measure: its value over the window
    spent: NDArray[np.float64]  # (W,) training cost Σγ over the window
    reward: NDArray[np.float64]  # (W,) sum of the rewards R over the window
    trained: NDArray[np.int64]  # (W, M) number of training steps of each model in the window
    scores: NDArray[np.float64]  # (W, M) score L of each model at the window's end
    invested: NDArray[np.float64]  # (W, M) investment r of each model at the window's end
    cpu: NDArray[np.float64]  # (W, phases) CPU seconds of each phase in the window

    @classmethod
    def of(cls, columns: dict[str, NDArray[Any]]) -> Curves:
        """Create curves from named columns. Columns that are not fields of this class are measures."""
        fields = {name: columns[name] for name in cls.__dataclass_fields__ if name != "figures"}
        return cls(figures={name: columns[name] for name in columns if name not in fields}, **fields)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return all curves by name, including the measures."""
        rest = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "figures"}
        return {"end": rest.pop("end"), **self.figures, **rest}

    def to_arrow(self) -> Any:
        """Return the curves as an Arrow table with one row per window.

        The column `cpu` is the sum of the CPU seconds of all phases, and the column `best` is the index of
        the model with the highest score L. Curves with one value per model (`trained`, `scores`, `invested`)
        are not included.
        """
        columns = {"end": self.end, **self.figures, "spent": self.spent, "reward": self.reward}
        columns["cpu"] = self.cpu.sum(axis=1)
        if self.scores.shape[1]:  # compact records have no scores
            columns["best"] = self.scores.argmax(axis=1)
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """Return the table of `to_arrow` as a pandas data frame."""
        needed("pandas", "to_pandas", "notebook")
        return self.to_arrow().to_pandas()

    def __getitem__(self, rows: Any) -> Curves:
        """Select rows: a slice, a mask or indices."""
        return Curves.of({name: curve[rows] for name, curve in self.columns().items()})

    def __getattr__(self, name: str) -> NDArray[np.float64]:
        """Return the curve of a measure."""
        curve: NDArray[np.float64] = figure_of(self, name)
        return curve


def figure_of(owner: object, name: str) -> Any:
    """Return the value or the curve of a measure, for `__getattr__`.

    `figures` may be missing while an object is copied.
    """
    figures = vars(owner).get("figures", {})
    if name in figures:
        return figures[name]
    raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
