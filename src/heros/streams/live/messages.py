"""Sources whose rows come as messages from a queue: bytes that have to be decoded."""

from __future__ import annotations

import csv
import json
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from heros.errors import DataError, HerosError, ParameterError
from heros.streams.live.base import END, IDLE, Signal
from heros.streams.live.rows import RowSource

__all__ = ["Decode", "MessageSource", "Rows", "csv_decoder", "decode_json", "decoded", "without_password"]

STEP = 1.0  # seconds that one call to a library waits: Ctrl-C is heard in between

Rows = Sequence[tuple[Any, Mapping[str, Any]]]
"""Rows, each with where the source stands behind it."""

Decode = Callable[[bytes], Any]
"""From a message to a row: a mapping of names to values, or a pair (features, label)."""


def decode_json(message: bytes) -> Any:
    """A row from a JSON object."""
    return json.loads(message)


def csv_decoder(names: Sequence[str], delimiter: str = ",") -> Decode:
    """What makes a row of a line of CSV whose columns have these names.

    Examples
    --------
    >>> csv_decoder(["age", "city"])(b"31,Bonn")
    {'age': '31', 'city': 'Bonn'}
    """
    columns = list(names)

    def decode(message: bytes) -> Mapping[str, Any]:
        (cells,) = csv.reader([message.decode("utf-8")], delimiter=delimiter, strict=True)
        if len(cells) != len(columns):
            raise ValueError(f"{len(columns)} columns were expected, not {len(cells)}")
        return dict(zip(columns, cells, strict=True))

    return decode


def decoded(decode: Decode, message: bytes) -> Any:
    """The row in a message; where there is none, the message, which is refused as a bad row in its turn.

    Examples
    --------
    >>> decoded(decode_json, b'{"age": 31}'), decoded(decode_json, b"{broken")[:32]
    ({'age': 31}, "b'{broken' (JSONDecodeError: Exp")
    """
    try:
        return decode(message)
    except Exception as error:
        return f"{message[:80]!r} ({type(error).__name__}: {error})"


def without_password(url: str) -> str:
    """An address as it may be shown and stored.

    Examples
    --------
    >>> without_password("redis://me:secret@localhost:6379/0")
    'redis://localhost:6379/0'
    """
    scheme, separator, rest = url.partition("://")
    return scheme + separator + rest.rpartition("@")[2]


class MessageSource(RowSource):
    """A source of messages: a subclass says how to bring them, with their positions.

    A message that cannot be decoded is a bad row: it is skipped and counted or, with ``on_bad_row="raise"``,
    refused.

    Parameters
    ----------
    name
        The source's name.
    decode
        From the bytes of a message to a row; JSON objects by default.
    follow
        Whether to wait for messages that are still to come; else the source ends with those there are.
    **how
        As for `heros.streams.live.RowSource`: target, schema, nominal, classes, on_bad_row, most_values,
        task, ignore, missing.
    """

    kind: ClassVar[str]  # what messages call it: "Kafka topic"

    def __init__(self, name: str, *, decode: Decode = decode_json, follow: bool = True, **how: Any) -> None:
        super().__init__(name, **how)
        if not callable(decode):
            raise ParameterError.of("decode", type(self).__name__, "a function of bytes", decode)
        self._decode, self.follow = decode, bool(follow)

    @abstractmethod
    def _bring(self, most: int, wait: float) -> Rows:
        """Up to so many messages, each with its position; none if there is none in so many seconds."""

    @abstractmethod
    def _at_end(self) -> bool:
        """Whether a source that does not follow has brought all there was, if nothing came just now."""

    def fetch(self, most: int, timeout: float | None) -> Rows | Signal:
        """Up to so many messages, each with its position."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = STEP if deadline is None else min(STEP, deadline - time.monotonic())
            if rows := self._bring(most, max(0.0, left)):
                return rows
            if not self.follow and self._at_end():
                return END
            if deadline is not None and time.monotonic() >= deadline:
                return IDLE

    def decoded(self, message: bytes) -> Any:
        """The row in a message; where there is none, the message, which is then refused as a bad row."""
        return decoded(self._decode, message)

    def _sequence(self, position: Mapping[str, Any], rule: str) -> int:
        """The number of the last message, from the position of a source that counts them."""
        last = position.get("sequence", 0)
        if type(last) is not int or last < 0:
            raise DataError(f"The position of {self.name} must be {rule}. Got {last!r} instead.")
        return last

    def _trouble(self, error: object, rule: str = "readable") -> HerosError:
        return HerosError(f"The {self.kind} {self.name} must be {rule}. Got: {error}.")
