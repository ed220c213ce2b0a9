"""The predictions of a run, each made before its target was known, as a table or a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.extras import needed
from heros._base.lazy import pa
from heros.storage.outputs import expect_table_place, write_table


@dataclass(frozen=True, repr=False)
class Predictions:
    """The target of each instance, and the prediction that was made before the target was known.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools, streams
    >>> run = evaluate(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1), streams.Agrawal().take(500))
    >>> run.predictions
    <Predictions of 500 instances: target, predicted, p_groupA, p_groupB>
    >>> len(run.predictions), run.predictions.outputs.shape
    (500, (500, 2))
    """

    targets: NDArray[Any]  # (n,) class indices; in regression, numbers
    outputs: NDArray[np.float64]  # (n, width) probabilities; in regression, numbers and their intervals
    classes: tuple[str, ...]  # empty if the target is a number

    def __len__(self) -> int:
        return len(self.targets)

    def __repr__(self) -> str:
        names = ", ".join(("target", *_columns(self.outputs, self.classes)))
        return f"<Predictions of {len(self):,} instances: {names}>"

    def to_arrow(self) -> Any:
        """Return an Arrow table of targets and predictions, with one probability column per class.

        In regression, the columns `lower` and `upper` hold the interval of each prediction, if there is one.
        """
        table = predicted_table(self.outputs, self.classes)
        targets = _names(self.targets, self.classes) if self.classes else pa.array(self.targets)
        return table.add_column(0, "target", targets)

    def to_pandas(self) -> Any:
        """Return the table of `to_arrow` as a pandas data frame."""
        needed("pandas", "Predictions.to_pandas", "notebook")
        return self.to_arrow().to_pandas()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a CSV, Parquet or Arrow file, according to the suffix of the path."""
        place = Path(path)
        expect_table_place(place, "path", "save")
        write_table(place, self.to_arrow())


def predicted_table(outputs: NDArray[np.float64], classes: tuple[str, ...]) -> Any:
    """Return predictions of shape (n, width) as an Arrow table.

    Examples
    --------
    >>> predicted_table(np.array([[0.25, 0.75]]), ("no", "yes")).to_pydict()
    {'predicted': ['yes'], 'p_no': [0.25], 'p_yes': [0.75]}
    """
    values = list(np.atleast_2d(outputs.T))
    if classes:
        values.insert(0, _names(outputs.argmax(axis=1), classes))
    return pa.table(dict(zip(_columns(outputs, classes), values, strict=bool(classes))))


def _columns(outputs: NDArray[np.float64], classes: tuple[str, ...]) -> tuple[str, ...]:
    if classes:
        return ("predicted", *(f"p_{name}" for name in classes))
    width = 1 if outputs.ndim == 1 else outputs.shape[1]
    return ("predicted", "lower", "upper")[:width]


def _names(indices: NDArray[Any], classes: tuple[str, ...]) -> Any:
    return pa.DictionaryArray.from_arrays(indices.astype(np.int32), pa.array(classes, pa.string()))
