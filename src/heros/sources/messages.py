"""Sources whose rows come as messages from a queue: bytes that have to be decoded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heros.errors import ParameterError
from heros.schema import Schema
from heros.sources.rows import RowSource
from heros.vocabulary import MOST_VALUES

__all__ = ["Decode", "MessageSource", "csv_decoder", "decode_json", "without_password"]

Decode = Callable[[bytes], Any]
"""From a message to a row: a mapping of names to values, or a pair (features, label)."""


def decode_json(message: bytes) -> Any:
    """A row from a JSON object.

    Examples
    --------
    >>> decode_json(b'{"age": 31, "late": "no"}')
    {'age': 31, 'late': 'no'}
    """
    return json.loads(message)


def csv_decoder(names: Sequence[str], delimiter: str = ",") -> Decode:
    """What makes a row of a line of CSV whose columns have these names.

    Examples
    --------
    >>> csv_decoder(["age", "city"])(b"31,Bonn")
    {'age': 31.0, 'city': 'Bonn'}
    """
    import csv  # noqa: PLC0415 - few need it

    columns = list(names)

    def decode(message: bytes) -> Mapping[str, Any]:
        (cells,) = csv.reader([message.decode("utf-8")], delimiter=delimiter, strict=True)
        if len(cells) != len(columns):
            raise ValueError(f"{len(columns)} columns were expected, not {len(cells)}")
        return {name: _value(cell) for name, cell in zip(columns, cells, strict=True)}

    return decode


def _value(cell: str) -> float | str | None:
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell


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
    """A source of messages: a subclass says how to `fetch` them, with their positions.

    A message that cannot be decoded is a bad row: it is refused or, with ``on_bad_row="skip"``, counted and
    left out.

    Parameters
    ----------
    name
        The source's name.
    decode
        From the bytes of a message to a row; JSON objects by default.
    follow
        Whether to wait for messages that are still to come; else the source ends with those there are.
    target, schema, nominal, classes, on_bad_row, most_values, task
        As for `heros.sources.RowSource`.
    """

    def __init__(
        self,
        name: str,
        *,
        decode: Decode = decode_json,
        follow: bool = True,
        target: str | None = None,
        schema: Schema | None = None,
        nominal: Sequence[str] = (),
        classes: Sequence[object] | None = None,
        on_bad_row: str = "raise",
        most_values: int | None = MOST_VALUES,
        task: str | None = None,
    ) -> None:
        super().__init__(
            name,
            target=target,
            schema=schema,
            nominal=nominal,
            classes=classes,
            on_bad_row=on_bad_row,
            most_values=most_values,
            task=task,
        )
        if not callable(decode):
            raise ParameterError.of("decode", type(self).__name__, "a function of bytes", decode)
        self._decode, self.follow = decode, bool(follow)

    def decoded(self, message: bytes) -> Any:
        """The row in a message; where there is none, the message, which is then refused as a bad row."""
        try:
            return self._decode(message)
        except Exception as error:
            return f"{message[:80]!r} ({type(error).__name__}: {error})"
