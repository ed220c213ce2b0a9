"""ARFF files, the format of WEKA and MOA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from heros._base.errors import DataError
from heros.data.codes import Codes
from heros.data.columns import Column, NameColumn, NumberColumn
from heros.streams.text import BOM, RawRecords, Record, TextReader

__all__ = ["ArffReader"]

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
CELL = re.compile(rf"""\s*+({QUOTED}|[^,'"]*+)\s*(,|$)""")
SPARSE = re.compile(rf"""\s*(\d+)\s+({QUOTED}|[^,'"\s]+)\s*(,|$)""")
DATA = re.compile(rb"^\s*@data.*\n", re.IGNORECASE | re.MULTILINE)
ATTRIBUTE = re.compile(
    rf"""@attribute\s+({QUOTED}|[^\s'"{{]+)\s*(\{{.*\}}|\S+.*)$""", re.IGNORECASE | re.DOTALL
)


class ArffReader(TextReader):
    """A reader of the records of an ARFF file."""

    def __init__(
        self,
        path: Path,
        *,
        encoding: str | None = None,
        ignore: tuple[str, ...] = (),
        missing: Sequence[str] = (),
    ) -> None:
        super().__init__(path, encoding, missing=missing, usual="?")
        self._columns: list[Column] = []
        self._read_header(ignore)
        self.names = self._distinct([column.name for column in self._columns])

    def declared(self, index: int) -> Column | None:
        """Return the column that the header declares; None if the kind of the column must be inferred."""
        column = self._columns[index]
        if not isinstance(column, NameColumn):
            return replace(column)
        return replace(column, values=Codes(column.values)) if column.closed else None

    def _read_header(self, ignore: tuple[str, ...]) -> None:
        head = self._first_bytes(lambda head: DATA.search(head) is not None)
        offset = 0
        for line, raw in enumerate(BytesIO(head), start=1):
            offset += len(raw)
            text = raw.removeprefix(BOM).decode(self._encoding, "replace").strip()
            if text.lower().startswith("@data"):
                self._start = self._at = (offset, line + 1)
                break
            if text.lower().startswith("@attribute"):
                self._columns.append(self._attribute(text, line, ignore))
            elif text and not text.startswith("%") and not text.lower().startswith("@relation"):
                rule = "each line of the header must be a comment, @relation, @attribute or @data"
                raise DataError(f"{self.label}, line {line}: {rule}. Got {text[:60]!r} instead.")
        else:
            what = "a header without @data" if head else "an empty file"
            raise DataError(f"{self.label} must have a header and at least one row. Got {what} instead.")
        if not self._columns:
            raise DataError(
                f"{self.label} must declare at least one attribute before @data. Got no attributes."
            )

    def _attribute(self, text: str, line: int, ignore: tuple[str, ...]) -> Column:
        match = ATTRIBUTE.match(text)
        if match is None:
            rule = "an attribute must have a name and a type"
            raise DataError(f"{self.label}, line {line}: {rule}. Got {text!r}.")
        name, kind = _unquoted(match[1]), match[2].strip()
        if kind.startswith("{"):
            values = _split(kind[1 : kind.rindex("}")]) if "}" in kind else None
            if values is None or len(set(values)) < len(values):
                raise DataError(
                    f"{self.label}, line {line}: an attribute must have distinct values in "
                    f"braces. Got {kind}."
                )
            return NameColumn(name, Codes(values), closed=True)
        word = kind.split()[0].lower()
        if word in {"numeric", "real", "integer"}:
            return NumberColumn(name)
        if word == "string" or name in ignore:
            return NameColumn(name, fresh=True)
        rule = f"the type of {name!r} must be numeric, nominal or string (or list this attribute in ignore=)"
        raise DataError(f"{self.label}, line {line}: {rule}. Got {kind} instead.")

    def _is_plain(self, data: bytes) -> bool:
        return not any(special in data for special in (b"{", b"%", b"'", b'"', b"\\"))

    def _records(self, records: RawRecords) -> Iterator[Record]:
        for line, raw in enumerate(records.text, start=records.line):
            text = raw.strip()
            if not text or text.startswith("%"):
                continue
            if text.startswith("{"):
                yield self._sparse(line, text)
                continue
            cells = _split(text)
            if cells is None:
                rule = "close all quotes and separate values with commas"
                yield self._error_of(line, repr(text[:60]), rule)
            else:
                yield self._checked(line, cells)

    def _sparse(self, line: int, text: str) -> Record:
        """Parse a sparse row; an omitted value is 0 or, in a nominal column, the first declared value."""
        names = (column.values if isinstance(column, NameColumn) else () for column in self._columns)
        cells = [next(iter(values), "0") for values in names]
        inner, at = text[1:-1].strip(), 0
        bad = self._error_of(line, repr(text[:60]), "be {index value, …} with valid attribute indices")
        if not text.endswith("}"):
            return bad
        while at < len(inner):
            match = SPARSE.match(inner, at)
            if match is None or int(match[1]) >= len(cells):
                return bad
            cells[int(match[1])] = _unquoted(match[2])
            at = match.end()
        return self._checked(line, cells)


def _split(text: str) -> list[str] | None:
    """Split a line at commas and remove quotes; return None if a quote is not closed."""
    cells, at = list[str](), 0
    while match := CELL.match(text, at):
        cells.append(_unquoted(match[1].strip()))
        at = match.end()
        if match[2] == "":
            return cells
    return None


def _unquoted(text: str) -> str:
    if text[:1] in {"'", '"'} and len(text) >= 2:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
