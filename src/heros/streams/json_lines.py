"""JSON lines: one object per line, whose fields are the columns."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from heros._base.errors import DataError, DataNotice
from heros._base.lazy import pa
from heros._base.notices import notice
from heros.data.codes import Codes
from heros.data.frames import flat
from heros.data.values import BLANKS, label_of
from heros.streams.text import BOM, READ_BYTES, RawRecords, Record, TextReader

__all__ = ["JsonReader", "is_json"]


class JsonReader(TextReader):
    """A reader of the records of a file of JSON lines.

    The columns are the fields of the objects in the first two megabytes; fields of nested objects have dotted
    names (``address.city``). Fields that appear later are ignored with a notice. Absent fields are missing
    values.
    """

    first_lines: int | None = None  # number of lines that define the columns; None means the first 2 MB

    def __init__(self, path: Path, *, missing: Sequence[str] = (), encoding: str | None = None) -> None:
        super().__init__(path, encoding, missing=missing)
        self.names = _names_in(self._first_lines())
        if not self.names:
            must = f"{self.label} must have a JSON object in each line."
            raise DataError(f"{must} Got no object in the first lines.")
        self._known = set(self.names)
        self._codes: dict[str, Codes] = {}  # the names that a model knows; a number may be such a name

    def _first_lines(self) -> list[str]:
        lines = self.first_lines
        head = self._first_bytes(
            lambda head: len(head) >= READ_BYTES if lines is None else head.count(b"\n") >= lines
        )
        if head.startswith(BOM):
            self._start = self._at = (len(BOM), 1)
        first = head.removeprefix(BOM).split(b"\n")[:lines]
        return [line.decode(self._encoding, "replace") for line in first]

    def _is_plain(self, data: bytes) -> bool:
        return False

    def _records(self, records: RawRecords) -> Iterator[Record]:
        for number, text in enumerate(records.text, start=records.line):
            if not text.strip():
                continue
            row = _parsed_row(text)
            if row is None:
                yield self._error_of(number, repr(text.strip()[:80]), "be a JSON object")
            else:
                if not row.keys() <= self._known:
                    self._notify_late_fields(row.keys() - self._known, number)
                yield number, [self._cell_of(row.get(name), name) for name in self.names]

    def _notify_late_fields(self, names: Iterable[str], line: int) -> None:
        """Warn about up to five fields that are ignored because the first lines do not contain them."""
        for name in sorted(names):
            if len(self._known) < len(self.names) + 5:
                self._known.add(name)
                what = (
                    f"The field {name!r} is left out, because it first appears in line {line:,} of "
                    f"{self.label}"
                )
                notice(f"{what}. Only fields in the first lines become columns.", DataNotice)

    def use_words(self, words: Collection[str], values: Mapping[str, Collection[str]]) -> bool:
        self._codes = {name: Codes(names) for name, names in values.items()}
        super().use_words(words, values)
        return True

    def _cell_of(self, value: Any, name: str) -> Any:
        kind = type(value)
        if kind is list or kind is dict:
            return value
        cell = value.strip(BLANKS) if kind is str else label_of(value)
        if cell is not None and kind is not str and name in self._codes:
            cell = self._codes[name].of_number(cell)
        return None if cell in self.words else cell

    def _array(self, cells: list[Any]) -> pa.Array:
        """Convert the cells of a column to strings, or to nulls if the first value is a list or an object."""
        first = next((cell for cell in cells if cell is not None), None)
        if isinstance(first, list | dict):
            return pa.nulls(len(cells), pa.list_(pa.string()))
        return super()._array(
            [json.dumps(one, ensure_ascii=False) if isinstance(one, list | dict) else one for one in cells]
        )


def is_json(head: bytes) -> bool:
    r"""Return whether the beginning of a file looks like JSON lines.

    Examples
    --------
    >>> is_json(b'{"age": 18}\n'), is_json(b"\n {}"), is_json(b"age,label\n"), is_json(b"{a,b}\n")
    (True, True, False, False)
    """
    start = head.removeprefix(BOM).lstrip()
    return start[:1] == b"{" and start[1:].lstrip()[:1] in {b'"', b"}"}


def _names_in(lines: Sequence[str]) -> list[str]:
    """Return the fields in order of appearance; the last field of the first hundred lines comes last.

    The last field is the default target, so a field that first appears later must not come last.
    """
    early: dict[str, None] = {}
    late: dict[str, None] = {}  # fields that first appear after a hundred lines
    for number, line in enumerate(lines):
        for name in _parsed_row(line) or ():
            if name not in early:
                (early if number < 100 or not early else late)[name] = None
    names = list(early)
    return [*names[:-1], *late, *names[-1:]]


def _parsed_row(text: str) -> dict[str, Any] | None:
    """Parse an object, and give nested fields dotted names; return None if the text is not an object."""
    try:
        row = json.loads(text)
        if not text.isascii() or "\\ud" in text.lower():  # invalid text and lone surrogates are refused
            json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    return dict(flat(row)) if dict in map(type, row.values()) else row
