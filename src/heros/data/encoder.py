"""The one place where rows and tables become numbers: the `Encoder`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.data.frames import few_rows, form_of, labels_of, row_of, table_of
from heros.data.row_encoder import YOUNG, Batch, Limits, RowEncoder, expect_labels
from heros.data.tables import learn_table, read_table

__all__ = ["YOUNG", "Batch", "Encoder", "Limits"]


class Encoder(RowEncoder):
    """Turns rows into numbers by a schema, which grows as columns, names and classes appear.

    The kind of a column is decided by the form of its first value: a number, a text that is a number
    (``"€12.50"``, ``"12 %"``), a date, or else a name. See the page "How values are read" for every rule. An
    instance changes what the encoder knows only if all of it can be read.

    Parameters
    ----------
    schema
        What is known from the start.
    nominal
        Columns whose numbers are names.
    ignore
        Columns to leave out.
    classes
        All classes, in the order of their indices.
    grows
        Whether a schema that is given may grow.
    most_values
        The largest number of inputs of a nominal feature; see `heros.data.codes.Codes`.
    numeric
        Whether the target is a number; a schema that is given says so itself.
    fractions
        Whether a number with decimals may name a new class. Without a word from the user such a label more
        likely means a number.
    words
        Words that stand for a missing value, beside the usual ones.
    limits
        How far the schema may grow.
    seen
        How many instances were learnt from before.

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode({"age": 18, "colour": "red"}, "no")
    ([18, 0], 0)
    >>> encoder.encode({"age": "21", "colour": "blue"}, "no", grow=False) is None
    True
    >>> encoder.row({"age": 21, "colour": "blue"})
    [21, nan]
    >>> encoder.schema.features[1].values
    ('red',)
    """

    def read(self, x: Any) -> NDArray[np.float64]:
        """Return the rows (n, n_features) of a row, of rows or of a frame, to predict from."""
        form = form_of(x)
        if form == "row":
            return np.array([self.asked(row_of(x))], dtype=np.float64)
        rows: Sequence[Mapping[Any, Any]] | None = few_rows(x) if form == "frame" else x
        if rows is None:
            return read_table(self, table_of(x, "X"))
        return np.array([self.asked(row, at) for at, row in enumerate(rows)], dtype=np.float64)

    def learn(self, x: Any, y: Any) -> Iterator[Batch]:
        """Yield the rows and labels in batches, none of which spans a growth of the schema.

        Rows are taken one after the other. The first frame is looked at as a whole before its first row is
        learnt, as a file is: what is in it is known from the start.
        """
        form = form_of(x)
        if form == "row":
            yield self.batch([self.taught(row_of(x), y)])
            return
        labels = labels_of(x, y)
        rows: Sequence[Mapping[Any, Any]] | None = x
        if form == "frame":
            rows = few_rows(x) if self.width else None
        if rows is None:
            yield from learn_table(self, table_of(x, "X"), labels)
        else:
            expect_labels(len(rows), labels)
            yield from self.batches(zip(rows, labels, strict=True))
