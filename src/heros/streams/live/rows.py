"""Sources of rows of named values, which are encoded into blocks."""

from __future__ import annotations

import math
import sys
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from heros._base.errors import DataError, ParameterError
from heros._base.parameters import expect_list, number, whole
from heros.data.codes import MOST_VALUES, checked_most_values
from heros.data.encoder import Encoder, Limits, Stretch
from heros.data.schema import Schema, schema_of, schema_plain
from heros.data.values import NotAClass, Refused, checked_task, checked_words
from heros.streams.bad_rows import BadRow, BadRows, checked_skip, notify_skipped
from heros.streams.live.base import END, IDLE, Block, Polled, Signal, Source, joined, passed

__all__ = ["OF_MESSAGES", "RowBlocks", "RowSource", "encoder_of", "rows_of"]

OF_MESSAGES = Limits(features=10_000, classes=1_000, new=1_000)
"""The limits on the growth of a schema. Messages need limits because they may come from anybody."""

Fetch = Callable[[int, float | None], Sequence[Any] | Signal]
"""A function that takes a number of rows and a timeout, and returns rows, or a signal if there are none."""


class RowBlocks:
    """An encoder of rows into blocks; the schema does not grow within a block.

    Tables, iterators, pipes and queues are all read through this class. A row is a pair (features, label), or
    a mapping in which the field `target` is the label. A `Stretch` represents many rows.
    """

    def __init__(self, name: str, encoder: Encoder, *, target: str | None = None, skip: bool = True) -> None:
        self.name = name
        self.encoder = encoder
        self.bad_rows = BadRows()
        self.read = 0  # number of rows processed, that is, returned or skipped
        self.given: list[int] = []  # indices of the returned rows among the rows of the last `take`
        self.target = target
        self._skip = skip
        self._told: set[bool] = set()  # kinds of skipped rows that the user was warned about
        self._forget()

    def _forget(self) -> None:
        self._ahead: list[Any] = []  # rows that were fetched but not processed
        self._error: Exception | None = None  # error of `fetch`, raised after the rows before it
        self._fault: DataError | None = None  # the error of the next row, or an error about too many bad rows
        self._ended = False

    def start_at(self, read: int, bad_rows: BadRows) -> None:
        """Start after `read` rows; discard the rows that were fetched but not processed."""
        self.read, self.bad_rows = read, bad_rows
        self._told |= {row.unlabelled for row in bad_rows.first}
        self._forget()

    def read_as(self, schema: Schema, seen: int) -> None:
        """Use this schema, unless rows have already been read."""
        known = self.encoder.schema
        if self.read == 0 and not known.n_features and known.numeric == schema.numeric:
            self.encoder.adopt(schema, seen)

    def take(self, fetch: Fetch, most: int, timeout: float | None, *, span: bool = False) -> Polled:
        """Return the next block; with `span`, the schema may grow within the block.

        An interrupt loses no rows, because the next call returns the rows that were not yet returned.
        """
        self.given = []
        self._raise_what_is_due()
        deadline = None if timeout is None else time.monotonic() + timeout
        given, parts = list[int](), list[Block]()
        rows, labels = list[list[float]](), list[float]()
        left, done, read, bad_rows, state = most, 0, self.read, self.bad_rows, None
        while left and self._fault is None:
            if done == len(self._ahead) and (state := self._fetch(fetch, left, deadline)) is not None:
                break
            row = self._ahead[done]
            if type(row) is Stretch:
                X, y = row.X[:left], row.y[:left]
                if len(row.y) > left:
                    self._ahead[done : done + 1] = [row, Stretch(row.X[left:], row.y[left:])]
                parts += [*self._block(rows, labels), (X, y)]
                rows, labels = [], []
                self.encoder.seen += len(y)
                left, done, read = left - len(y), done + 1, read + len(y)
                continue
            try:  # rows without features join the block of the first row with a feature
                grow = span or not (parts or (rows and rows[-1]))
                coded = self.encoder.encode(*self._pair(row), grow=grow)
            except Refused as why:
                bad = self._bad(row, why, read + 1)
                if not self._skip or isinstance(why, NotAClass):
                    self._fault = DataError(str(bad))
                    break
                bad_rows = bad_rows.plus(bad)
                if bad_rows.are_too_many(read + 1):
                    self._fault = bad_rows.error(self.name, read + 1)
            else:
                if coded is None:  # the row needs a larger schema
                    break
                rows.append(coded[0])
                labels.append(coded[1])
                given.append(done)
                left -= 1
            done, read = done + 1, read + 1
        due = self._fault is not None or self._error is not None
        if rows and not rows[-1] and left and state is IDLE and not due:
            return IDLE  # wait for the first feature
        del self._ahead[:done]
        self.read, self.bad_rows, self.given = read, bad_rows, given
        notify_skipped(bad_rows, self._told)
        parts += self._block(rows, labels)
        if not parts:
            self._raise_what_is_due()
        return joined(parts) if parts else state or IDLE

    def _block(self, rows: list[list[float]], labels: list[float]) -> list[Block]:
        """Return encoded rows as a list with one block, or an empty list if there are no rows."""
        if not rows:
            return []
        width = len(rows[-1])
        if len(rows[0]) < width:  # the schema grew: earlier rows lack the new features
            rows = [row + [math.nan] * (width - len(row)) for row in rows]
        X = np.array(rows, dtype=np.float64).reshape(len(rows), width)
        return [(X, np.array(labels, dtype=np.float64 if self.encoder.numeric else np.int64))]

    def _bad(self, row: Any, why: Refused, at: int) -> BadRow:
        """Return the record of a bad row; `at` is the number of the row in the source."""
        return BadRow(self.name, f"row {at}", why.column, why.value, why.rule)

    def _raise_what_is_due(self) -> None:
        if self._fault is not None:
            raise type(self._fault)(str(self._fault))
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _fetch(self, fetch: Fetch, most: int, deadline: float | None) -> Signal | None:
        """Fetch rows into `_ahead`; return a signal if no rows are available."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            got = END if self._ended else fetch(most, left)
        except Exception as error:
            self._error = error
            return IDLE
        self._ended = got is END
        if isinstance(got, Signal):
            return got
        self._ahead += got
        return None if len(got) else IDLE

    def _pair(self, row: Any) -> tuple[Mapping[Any, Any], Any]:
        if isinstance(row, tuple) and len(row) == 2 and isinstance(row[0], Mapping):
            return row
        if self.target is None or not isinstance(row, Mapping):
            what = "" if self.target is None else f", or a mapping with {self.target!r}"
            raise Refused(None, repr(row), f"be a pair (features, label){what}")
        features = {name: value for name, value in row.items() if name != self.target}
        return features, row.get(self.target)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without fetched rows, because a copy fetches these rows again."""
        return {**self.__dict__, "_ahead": [], "_error": None, "_ended": False}


class RowSource(Source):
    """The base class of sources of rows; a subclass defines `fetch` and `go_to`.

    Rows are encoded as in `heros.streams.from_iter`.

    Parameters
    ----------
    name
        The name of the source.
    target
        The field with the label; None if rows are pairs (features, label).
    **how
        `schema`, `nominal`, `classes`, `task`, `on_bad_row`, `most_values`, `ignore` and `missing`, as for
        `heros.streams.from_iter`.

    Examples
    --------
    >>> class Letters(RowSource):
    ...     def fetch(self, most, timeout):
    ...         return [(({"letter": "abc"[i % 3]}, i % 2), {"offset": i + 1}) for i in range(most)]
    ...     def go_to(self, position):
    ...         print("from", position["offset"])
    >>> source = Letters("letters")
    >>> source.poll(5)
    (array([[0.]]), array([0]))
    >>> source.where()["position"]
    {'offset': 1}
    """

    _length = sys.maxsize  # number of instances after which the source ends

    def __init__(self, name: str, *, target: str | None = None, **how: Any) -> None:
        owner = type(self).__name__
        if target is not None and not isinstance(target, str):
            raise ParameterError.of("target", owner, "the name of a feature, or None", target)
        self.name, self.target = name, target
        self._rows = rows_of(name, owner, target=target, **how)
        self._standing: dict[str, Any] = {}
        self._ahead: deque[Mapping[str, Any]] = deque()  # positions of rows that are not processed yet

    @abstractmethod
    def fetch(self, most: int, timeout: float | None) -> Sequence[tuple[Any, Mapping[str, Any]]] | Signal:
        """Return up to `most` decoded rows with their positions, within `timeout` seconds.

        A position is the state of the source after a row, as JSON data: ``{"offset": 18}``. If a source has
        several independent parts, a position may contain only the changed part: ``{"partition 3": 18}``.
        Return IDLE or END if no rows are available.
        """

    @abstractmethod
    def go_to(self, position: Mapping[str, Any]) -> None:
        """Continue after this position, which combines the positions of all rows so far."""

    schema = passed("schema", "_rows.encoder")
    bad_rows = passed("bad_rows", "_rows")
    read_as = passed("read_as", "_rows")

    def stop_after(self, n: int) -> None:
        """End after the first n instances; a resumed run also counts from the start of the source."""
        self._length = whole(n, "n", "stop_after", 1)

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """Return up to `most` instances within `timeout` seconds."""
        most = min(whole(most, "most", "poll", 1), self._length - self._position)
        timeout = None if timeout is None else number(timeout, "timeout", "poll", 0)
        if most <= 0:
            return END
        before = self._rows.read
        try:
            got = self._rows.take(self._fetched, most, timeout)
        finally:
            for _ in range(self._rows.read - before):
                self._standing |= self._ahead.popleft()
        if not isinstance(got, Signal):
            self._position += len(got[1])
        return got

    def _fetched(self, most: int, timeout: float | None) -> Sequence[Any] | Signal:
        got = self.fetch(most, timeout)
        if isinstance(got, Signal):
            return got
        for row in got:
            if not (isinstance(row, tuple) and len(row) == 2 and isinstance(row[1], Mapping)):
                rule = f"The 'fetch' of {type(self).__name__} must return pairs (row, position)."
                raise DataError(f"{rule} Got {row!r} instead.")
        self._ahead.extend(position for _, position in got)
        return [row for row, _ in got]

    def where(self) -> dict[str, Any]:
        """Return the position after the last returned row, with the schema and the counts at that point."""
        return {
            "position": dict(self._standing),
            "instances": self._position,
            "schema": schema_plain(self.schema),
            "bad_rows": self._rows.bad_rows.plain(),
        }

    def seek(self, where: Mapping[str, Any]) -> None:
        """Go to a position returned by `where`, and restore the schema and the counts."""
        try:
            position, instances = dict(where["position"]), whole(where["instances"], "instances", "seek", 0)
            schema, skipped = schema_of(where["schema"]), BadRows.of(where["bad_rows"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            rule = f"The position of {type(self).__name__} must be a value returned by its method 'where'."
            raise DataError(f"{rule} The error was: {error}") from None
        self.go_to(position)
        self._standing, self._position = position, instances
        self._ahead.clear()
        self._rows.encoder.use_schema(schema)
        self._rows.encoder.seen = instances
        self._rows.start_at(instances + skipped.count, skipped)


def rows_of(
    name: str, owner: str, *, target: str | None = None, on_bad_row: str = "skip", **how: Any
) -> RowBlocks:
    """Return a `RowBlocks` with the options of the user."""
    skip = checked_skip(on_bad_row, owner)
    return RowBlocks(name, encoder_of(owner, **how), target=target, skip=skip)


def encoder_of(
    owner: str,
    *,
    schema: Schema | None = None,
    nominal: Iterable[str] = (),
    classes: Sequence[object] | None = None,
    most_values: int | None = MOST_VALUES,
    task: str | None = None,
    ignore: Iterable[str] = (),
    missing: Sequence[str] = (),
    limits: Limits | None = None,
) -> Encoder:
    """Return the initial encoder with the options of the user."""
    if schema is not None and not isinstance(schema, Schema):
        raise ParameterError.of("schema", owner, "a heros.Schema", schema)
    if isinstance(nominal, Mapping):
        rule = "a list of columns (use a schema to list their values)"
        raise ParameterError.of("nominal", owner, rule, dict(nominal))
    checked_most_values(most_values, owner)
    known = None if classes is None else expect_list(classes, "classes", owner)
    numeric = checked_task(task, owner) == "regression"
    if numeric and (known is not None or (schema is not None and not schema.numeric)):
        rule = "None or 'classification' if there are classes"
        raise ParameterError.of("task", owner, rule, task)
    return Encoder(
        schema,
        nominal=expect_list(nominal, "nominal", owner),
        ignore=expect_list(ignore, "ignore", owner),
        classes=known,
        grows=schema is None,
        most_values=most_values,
        numeric=numeric,
        fractions=task is not None or known is not None,
        words=checked_words(missing),
        limits=limits,
    )
