"""Sources of messages from a queue; the bytes of each message are decoded to a row."""

from __future__ import annotations

import csv
import json
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from heros._base.errors import DataError, DataNotice, HerosError, ParameterError
from heros._base.notices import notice
from heros._base.parameters import one_of
from heros.data.values import DEEPEST, is_deep
from heros.streams.live.base import END, IDLE, Signal
from heros.streams.live.rows import OF_MESSAGES, RowSource

__all__ = [
    "GO_ON",
    "Decode",
    "MessageSource",
    "Rows",
    "csv_decoder",
    "decoded",
    "stops_at_gap",
    "tell_gap",
    "without_password",
]

STEP = 1.0  # seconds per blocking call; Ctrl-C is handled in between

Rows = Sequence[tuple[Any, Mapping[str, Any]]]
"""Rows, each with the position from which the source continues after the row."""

Decode = Callable[[bytes], Any]
"""A function from a message to a row: a mapping of names to values, or a pair (features, label)."""


def csv_decoder(names: Sequence[str], delimiter: str = ",") -> Decode:
    """Return a decoder of CSV lines with these column names.

    Examples
    --------
    >>> csv_decoder(["age", "city"])(b"31,Bonn")
    {'age': '31', 'city': 'Bonn'}
    """
    columns = list(names)

    def decode(message: bytes) -> Mapping[str, Any]:
        (cells,) = csv.reader([message.decode("utf-8")], delimiter=delimiter, strict=True)
        if len(cells) != len(columns):
            raise ValueError(f"expected {len(columns)} columns, got {len(cells)}")
        return dict(zip(columns, cells, strict=True))

    return decode


def decoded(decode: Decode, message: bytes | None) -> Any:
    """Decode a message. If the message is invalid, return an error text, which is reported as a bad row.

    If `message` is None, the message has no value; Kafka calls such a message a tombstone.

    Examples
    --------
    >>> decoded(json.loads, b'{"age": 31}'), decoded(json.loads, b"{broken")[:32]
    ({'age': 31}, "b'{broken' (JSONDecodeError: Exp")
    """
    if message is None:
        return "None (a message without a value)"
    try:
        row = decode(message)
    except Exception as error:
        return f"{message[:80]!r} ({type(error).__name__}: {error})"
    return f"{message[:80]!r} (nested more than {DEEPEST} levels deep)" if is_deep(row) else row


def without_password(url: str) -> str:
    """Return a URL without its user name and password."""
    scheme, separator, rest = url.partition("://")
    return scheme + separator + rest.rpartition("@")[2]


GO_ON = "use on_gap='go on' to continue with the remaining messages"


def stops_at_gap(on_gap: str, owner: str) -> bool:
    """Return whether lost messages cause an error; raise a ParameterError if `on_gap` is invalid."""
    return one_of(on_gap, "on_gap", owner, ("stop", "go on"), "'stop' or 'go on'") == "stop"


def tell_gap(queue: str, lost: int | None, where: str, way: str | None) -> None:
    """Raise an error about `lost` messages that recommends the option `way`.

    If `way` is None, issue a notice instead. If `lost` is None, the queue was recreated.
    """
    got = "a queue that was created again" if lost is None else f"a gap of {lost:,} messages"
    text = f"{queue} must have all messages after {where}. Got {got}"
    if way is not None:
        raise DataError(f"{text} ({way}).")
    notice(f"{text}. Reading continues with the remaining messages.", DataNotice)


class MessageSource(RowSource):
    """The base class of sources of messages; a subclass fetches messages with their positions.

    A message that cannot be decoded is a bad row: it is skipped and counted or, with ``on_bad_row="raise"``,
    raises an error. A message is also a bad row if it would extend the schema to more than 10,000 features or
    1,000 classes. Each message after the first may add at most 1,000 features and values. These limits
    do not apply to a given `schema`.

    Parameters
    ----------
    name
        The name of the source.
    decode
        A function that converts the bytes of a message to a row. By default, messages are JSON objects.
    follow
        Whether to wait for new messages; otherwise the source ends after the existing messages.
    on_gap
        How to handle lost messages: "stop" with a `DataError`, or "go on" with the remaining messages and a
        `DataNotice`. Both report the number of lost messages.
    **how
        As for `heros.streams.live.RowSource`: target, schema, nominal, classes, on_bad_row, most_values,
        task, ignore, missing.
    """

    kind: ClassVar[str]  # the kind of queue in error messages, such as "Kafka topic"

    def __init__(
        self, name: str, *, decode: Decode = json.loads, follow: bool = True, on_gap: str = "stop", **how: Any
    ) -> None:
        super().__init__(name, limits=OF_MESSAGES, **how)
        self._stops = stops_at_gap(on_gap, type(self).__name__)
        if not callable(decode):
            raise ParameterError.of("decode", type(self).__name__, "a function that takes bytes", decode)
        self.decoded, self.follow = partial(decoded, decode), bool(follow)

    @abstractmethod
    def _bring(self, most: int, wait: float) -> Rows:
        """Return up to `most` messages with their positions; wait at most `wait` seconds for the first."""

    @abstractmethod
    def _at_end(self) -> bool:
        """Return whether all existing messages have been read.

        This method is called only if `follow` is False and no message arrives.
        """

    def fetch(self, most: int, timeout: float | None) -> Rows | Signal:
        """Return up to `most` messages with their positions."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = STEP if deadline is None else min(STEP, deadline - time.monotonic())
            if rows := self._bring(most, max(0.0, left)):
                return rows
            if not self.follow and self._at_end():
                return END
            if deadline is not None and time.monotonic() >= deadline:
                return IDLE

    def _sequence(self, position: Mapping[str, Any], rule: str) -> int:
        """Return the sequence number in a position; raise a DataError if it is invalid."""
        last = position.get("sequence", 0)
        if type(last) is not int or last < 0:
            raise DataError(f"The position of {self.name} must be {rule}. Got {last!r} instead.")
        return last

    def _tell_gap(self, lost: int | None, where: str) -> None:
        """Report `lost` messages; None means that the queue was recreated."""
        tell_gap(f"The {self.kind} {self.name}", lost, where, GO_ON if self._stops else None)

    def _trouble(self, error: object, rule: str = "read") -> HerosError:
        return HerosError(f"The {self.kind} {self.name} cannot be {rule}: {error}.")
