"""Readers of text files, plain or compressed, in chunks of complete records."""

from __future__ import annotations

import codecs
import os
import re
import zipfile
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros._base.lazy import pa
from heros.data.columns import trimmed
from heros.data.values import BLANKS, listed
from heros.streams.bad_rows import BadRow, BrokenOff
from heros.streams.readers import Chunk, TableReader, written

READ_BYTES = 1 << 21
"""The approximate number of bytes to read and parse at once."""

LONGEST = 1 << 24
"""The maximum length of a record in bytes; a longer record probably has an unclosed quote."""

HEAD = 1 << 12
"""The number of first bytes that are compared to detect a rewritten file; appended rows are allowed."""

BROKEN = (OSError, UnicodeError, EOFError, zlib.error, zipfile.BadZipFile)
"""Exceptions for files that cannot be read or decompressed."""

BOM = b"\xef\xbb\xbf"
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}

Record = tuple[int, list[str | None] | BadRow]
"""The line at which a record starts, and its cells (None = missing) or its error."""


class TextReader(TableReader):
    """A reader of the records of a text file, in chunks.

    Arrow parses each chunk. If Arrow reports an error, the chunk is parsed record by record to find the line
    with the error. Both ways of parsing give the same records.
    """

    _delimiter, _quote = ",", '"'

    def __init__(self, path: Path, encoding: str | None = None, **words: Sequence[str]) -> None:
        super().__init__(str(path), **words)
        self._path = path
        self._encoding, self._is_converted = checked_encoding(encoding or "utf-8")
        self._seen = encoding is not None  # whether the encoding is known
        self._start = self._at = (0, 1)  # byte and line of the next record
        self._file: pa.NativeFile | None = None
        self._written, self._beginning = (0, 0, 0), b""  # state and first bytes of the opened file
        self._tail = b""
        self._unclosed: list[tuple[int, BadRow]] = []  # lines that are replaced by blanks, and their errors

    def _detect_encoding(self, data: bytes) -> None:
        """Detect from the first non-ASCII bytes whether the text is UTF-8; if not, use a legacy encoding."""
        if not self._seen and not data.isascii():
            self._seen = True
            if (encoding := legacy_encoding(data)) is not None:
                self._encoding = encoding
                self._notify(
                    f"{self.label} is not UTF-8 and is read as {encoding} (use encoding= to set another "
                    f"encoding)."
                )

    def _first_bytes(self, enough: Callable[[bytes], bool]) -> bytes:
        """Read bytes from the start of the file until they are `enough` to infer the columns."""
        file, head = self._open(), b""
        while not enough(head) and len(head) <= LONGEST and (more := self._read(file, 1 << 16)):
            head += more
        self._close()
        if b"\0" in head.partition(b"\n")[0]:
            rule = "be text (or set encoding=, for example to utf-16-le)"
            raise DataError(f"{self.label} must {rule}. Got NUL bytes in its first line.")
        self._detect_encoding(head)
        return head

    def read(self) -> Chunk | None:
        """Return the next records; None at the end."""
        chunks = map(self._parse, iter(self._next_records, None))
        return next((chunk for chunk in chunks if chunk.n_rows or chunk.faults), None)

    def restart(self) -> None:
        """Go back to the first record."""
        self._at = self._start
        self._close()

    @abstractmethod
    def _records(self, records: RawRecords) -> Iterator[Record]:
        """Yield the records one by one."""

    def _is_plain(self, data: bytes) -> bool:
        """Return whether Arrow can parse the records."""
        return True

    def _end_of_records(self, data: bytes) -> int:
        """Return the offset after the last complete record; 0 if no record is complete."""
        return data.rfind(b"\n") + 1

    def _ends(self, data: bytes) -> NDArray[np.intp]:
        """Return the offsets after newlines that end a record."""
        return np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1

    def _closed(self, data: bytes, ended: bool) -> bytes:
        """Replace each row that has an unclosed quote with blanks, and record the row in `_unclosed`."""
        return data

    def _next_records(self) -> RawRecords | None:
        file = self._open()
        data = self._tail
        while True:
            more = self._read(file, max(READ_BYTES - len(data), READ_BYTES // 4, 1))
            self._expect_unchanged()
            data = self._closed(data + more, not more)
            end = self._end_of_records(data) if more else len(data)
            if end or not more:
                break
            self._expect_line_end(data)
        self._tail = data[end:]
        return self._take_bytes(data[:end]) if end else None

    def _expect_line_end(self, data: bytes) -> None:
        if len(data) > LONGEST:
            rule = (
                f"a row must end within {LONGEST >> 20} MB (or pass quote='' if quotes have no special "
                f"meaning)"
            )
            raise DataError(f"{self.label}, line {self._at[1]}: {rule}. Got an unclosed quote.")

    def _take_bytes(self, data: bytes) -> RawRecords:
        """Return the bytes as records, and move `_at` after them."""
        self._detect_encoding(data)
        offset, line = self._at
        self._at = (offset + len(data), line + data.count(b"\n"))
        faults = [one for one in self._unclosed if one[0] < self._at[1]]
        self._unclosed = self._unclosed[len(faults) :]
        return RawRecords(data, line, self._encoding, faults)

    def _open(self) -> pa.NativeFile:
        """Return the open file, positioned after the bytes in `_tail`."""
        if self._file is None:
            offset = self._at[0]
            self._tail = b""
            self._file = opened_file(self._path)
            self._written = written(self._path)
            with self._path.open("rb") as beginning:
                self._beginning = beginning.read(HEAD)
            if self._is_converted is not None:
                self._file = pa.transcoding_input_stream(self._file, self._is_converted, "utf-8")
            if isinstance(self._file, pa.OSFile):
                self._file.seek(offset)
                offset = 0
            while offset > 0:  # a compressed or converted file cannot seek
                offset -= len(self._read(self._file, min(offset, READ_BYTES))) or offset
        return self._file

    def _read(self, file: pa.NativeFile, n: int) -> bytes:
        try:
            return bytes(file.read(n))
        except BROKEN as error:
            raise BrokenOff(f"{self.label} cannot be read completely: {error}") from None

    def _expect_unchanged(self) -> None:
        """Raise an error if the file was rewritten since it was opened; rows may be appended."""
        before, now = self._written, written(self._path)
        if now == before or now[0] != before[0]:  # a new file with the same name does not matter
            return
        self._written = now
        with self._path.open("rb") as file:
            if now[1] < before[1] or file.read(len(self._beginning)) != self._beginning:
                raise BrokenOff(f"{self.label} was modified while it was being read.")

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None
        self._tail, self._unclosed = b"", []

    def _parse(self, records: RawRecords) -> Chunk:
        several = bool(records.faults) and self._quote.encode() in records.data  # a value may have line ends
        columns = None if several or not self._is_plain(records.data) else self._parse_plain(records)
        if columns is not None:
            left_open = [(self._filled_before(records, line), fault) for line, fault in records.faults]
            return Chunk(columns, "line", partial(self._lines, records), left_open)
        rows: list[tuple[int, list[str | None]]] = []
        faults: list[tuple[int, BadRow]] = []
        for line, record in self._records(records):
            if isinstance(record, BadRow):
                faults.append((len(rows), record))
            else:
                rows.append((line, record))
        for line, fault in records.faults:
            before = sum(other < line for other, _ in rows)
            faults.insert(sum(at < before for at, _ in faults), (before, fault))
        cells = [self._array([row[i] for _, row in rows]) for i in range(len(self.names))]
        return Chunk(cells, "line", [line for line, _ in rows], faults)

    def _array(self, cells: list[Any]) -> pa.Array:
        """Convert the cells of a column to an array."""
        return pa.array(cells, pa.string())

    def _parse_plain(self, records: RawRecords) -> list[pa.Array] | None:
        """Parse records with Arrow; return the columns, or None if Arrow reports an error."""
        types, quote = {str(i): pa.string() for i in range(len(self.names))}, self._quote or False
        try:
            data = self._without_blank_lines(records.utf8()) if records.faults else records.utf8()
            blanks = b" " in data or b"\t" in data
            options = (
                pa.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=list(types)),
                pa.csv.ParseOptions(delimiter=self._delimiter, quote_char=quote, newlines_in_values=True),
                pa.csv.ConvertOptions(
                    column_types=types, null_values=list(self.words), strings_can_be_null=not blanks
                ),
            )
            table = pa.csv.read_csv(pa.BufferReader(data), *options)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            return None
        except pa.ArrowCancelled:  # Arrow also catches Ctrl-C; Python handles it
            return self._parse_plain(records)
        columns = [column.combine_chunks() for column in table.columns]
        trim = blanks or self.words.numbers
        return [trimmed(column, self.words) for column in columns] if trim else columns

    @property
    def _filler(self) -> bytes:
        """The character that replaces the bytes of a row with an unclosed quote."""
        return b"\t" if self._delimiter == " " else b" "

    def _without_blank_lines(self, data: bytes) -> bytes:
        return re.sub(rb"^%b+$\n?" % self._filler, b"", data, flags=re.MULTILINE)

    def _filled_before(self, records: RawRecords, line: int) -> int:
        """Return the number of non-blank lines before this line."""
        lines = records.data.split(b"\n", line - records.line)[:-1]
        return sum(one.strip(self._filler + b"\r") != b"" for one in lines)

    def _checked(self, line: int, cells: list[str]) -> Record:
        """Return the cells as a record, or an error if their number or encoding is wrong."""
        if len(cells) != len(self.names):
            lines = 1 + sum(cell.count("\n") for cell in cells)
            quoted = f" (a quote joins {lines:,} lines into this row)" if lines > 1 else ""
            return self._error_of(line, str(len(cells)), f"have {len(self.names)} columns{quoted}")
        if not all(map(str.isascii, cells)):
            for name, cell in zip(self.names, cells, strict=True):
                if any("\udc80" <= character <= "\udcff" for character in cell):
                    raw = cell.encode(self._encoding, "surrogateescape")
                    rule = f"be {self._encoding.upper()} text (or set encoding=, for example to latin-1)"
                    return self._error_of(line, repr(raw), rule, name)
        words = self.words
        return line, [None if (cell := one.strip(BLANKS)) in words else cell for one in cells]

    def _error_of(self, line: int, value: str, rule: str, name: str | None = None) -> Record:
        return line, BadRow(self.label, f"line {line}", name, value, rule)

    def _lines(self, records: RawRecords) -> list[int]:
        if records.lines is None:
            records.lines = [line for line, _ in self._records(records)]
        return records.lines

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_tail": b"", "_unclosed": []}


@dataclass
class RawRecords:
    """The bytes of complete records, with the line number of the first and, on demand, of each record."""

    data: bytes
    line: int
    encoding: str
    faults: Sequence[tuple[int, BadRow]] = ()  # lines that are blank in `data`, and their errors
    lines: list[int] | None = None

    @cached_property
    def text(self) -> list[str]:
        """The lines; a byte that cannot be decoded becomes a lone surrogate."""
        return list(StringIO(self.data.decode(self.encoding, "surrogateescape"), newline="\n"))

    def utf8(self) -> bytes:
        """Return the text, re-encoded as UTF-8."""
        return self.data if self.encoding == "utf-8" else self.data.decode(self.encoding).encode()


def opened_file(path: Path) -> pa.NativeFile:
    """Open a file and decompress it according to its suffix."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        try:
            return pa.PythonFile(zipfile.ZipFile(path).open(zipped_name(path)), "r")
        except (RuntimeError, NotImplementedError) as error:  # a password, or an unknown compression method
            raise DataError(
                f"{path} must be a zip file that can be opened. The error was: {error}."
            ) from None
    try:
        file = pa.OSFile(os.fsencode(path))
    except FileNotFoundError:
        raise DataError(f"The file {path} was removed before it was read completely.") from None
    return pa.input_stream(file, COMPRESSIONS[suffix]) if suffix in COMPRESSIONS else file


def zipped_name(path: Path) -> str:
    """Return the name of the only file in a zip file."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} must be a zip file. The error was: {error}.") from None
    found = [name for name in names if not name.startswith("__MACOSX/") and Path(name).name[0] != "."]
    if len(found) != 1:
        raise DataError(f"{path} must contain exactly one file. Got {listed(found) or 'no files'} instead.")
    return found[0]


def legacy_encoding(data: bytes) -> str | None:
    r"""Return the legacy encoding of a text; None if it is UTF-8, even with some damaged characters.

    Examples
    --------
    >>> legacy_encoding("Köln".encode("cp1252")), legacy_encoding("Köln".encode()), legacy_encoding(b"\x81")
    ('cp1252', None, 'latin-1')
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    others = [character for character in decoder.decode(data) if not character.isascii()]
    broken = sum("\udc80" <= character <= "\udcff" for character in others)
    if 2 * broken <= len(others):
        return None
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def checked_encoding(encoding: str) -> tuple[str, str | None]:
    """Return the encoding for splitting records, and the file's encoding if the file must be converted."""
    try:
        ascii_like = "\n,;".encode(encoding) == b"\n,;"
    except (LookupError, UnicodeError):
        rule = "a text encoding, such as 'latin-1'"
        common = ("utf-8", "utf-16", "latin-1", "cp1252", "iso8859-15", "gb18030", "shift_jis")
        raise ParameterError.of("encoding", "read", rule, encoding, common) from None
    if encoding.lower() in {"utf8", "utf-8", "utf-8-sig", "utf_8_sig"}:
        return "utf-8", None
    return (encoding, None) if ascii_like else ("utf-8", encoding)


def encoding_of(head: bytes) -> str | None:
    r"""Return the encoding that the byte order mark indicates; None if there is no such mark."""
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else None
