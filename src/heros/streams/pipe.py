"""Streams from a pipe, which can be read only once and may be endless."""

from __future__ import annotations

import select
import sys
import time
from io import BufferedIOBase, BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import Any

from heros._base.errors import DataError, ParameterError
from heros.streams.base import Stream
from heros.streams.delimited import DelimitedReader
from heros.streams.json_lines import JsonReader, is_json
from heros.streams.live.base import END, IDLE, Signal
from heros.streams.live.readers import BackgroundReader
from heros.streams.options import Options
from heros.streams.readers import Chunk
from heros.streams.tables import TableStream, weighed
from heros.streams.text import READ_BYTES, RawRecords, TextReader, checked_encoding

__all__ = ["read_pipe"]

FIRST_LINES = 100
"""The number of first lines that decide types and initial values; the reader waits for these lines."""


def read_pipe(
    file: BufferedIOBase,
    *,
    name: str = "stdin",
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    **settings: Any,
) -> Stream:
    r"""Open a stream of CSV or JSON lines from a pipe. See `heros.streams.read` for the parameters.

    Types, initial values and classes are inferred from the first hundred lines. The stream cannot be
    restarted or copied, and ``take`` advances it. An interrupt (Ctrl-C) during a wait ends the stream.

    Examples
    --------
    >>> import io
    >>> stream = read_pipe(io.BytesIO(b"age,label\n18,no\n21,yes\n"), target="label")
    >>> stream.draw(10)[1]
    array([0, 1])
    """
    options, text = Options.of("read", settings)
    if encoding is not None and checked_encoding(encoding)[1] is not None:
        rule = "an encoding that extends ASCII, such as 'latin-1', if standard input is read"
        raise ParameterError.of("encoding", "read", rule, encoding)
    pipe = Pipe(file)
    reader: PipeReader
    if delimiter is None and is_json(pipe.peek()):
        reader = JsonPipe(pipe, encoding=encoding, **text)
    else:
        reader = DelimitedPipe(pipe, delimiter=delimiter, header=header, encoding=encoding, **text)
    return weighed(PipeStream(reader, options, name), options)


class PipeStream(TableStream):
    """A stream from a pipe, which can only be read forwards."""

    def _copy_for_stream(self) -> Stream:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PipeStream:
        raise DataError(f"The stream {self.name!r} reads a pipe, which can be read only once.")

    def _restart(self) -> None:
        raise DataError(f"The stream {self.name!r} reads a pipe, which cannot be restarted.")


class PipeReader(TextReader):
    """A reader of text records from a pipe; subclasses add a second base class for the format."""

    def __init__(self, pipe: Pipe, **settings: Any) -> None:
        self._pipe = pipe
        self._head = b""  # bytes read to find the column names
        self._first = True
        self._first_records: RawRecords | None = None  # until the next records are read
        super().__init__(Path("standard input"), **settings)
        self._tail, self._head = self._head[self._at[0] :], b""

    def read(self) -> Chunk | None:
        chunk = self.read_within(1, None)
        return None if isinstance(chunk, Signal) else chunk

    def read_within(self, wanted: int, timeout: float | None) -> Chunk | Signal:
        """Return the available records as soon as `wanted` lines have arrived, or after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        wanted, late = FIRST_LINES if self._first else wanted, False
        while True:
            if late or self._pipe.ended or len(self._tail) >= READ_BYTES or self._tail.count(b"\n") >= wanted:
                chunk = self._parse_tail()
                if chunk is not None:
                    return chunk
                if self._pipe.ended and not self._tail:
                    return END
                if late:
                    return IDLE
            seconds_left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = self._pipe.wait(seconds_left)
            late = seconds_left == 0 or not ready
            if ready:
                self._tail += self._pipe.read()

    def _parse_tail(self) -> Chunk | None:
        """Parse the complete records in the bytes read so far; return None if no record is complete."""
        self._tail = self._closed(self._tail, self._pipe.ended)
        end = self._end_of_first() if self._first else self._end_of_records(self._tail)
        if self._pipe.ended:
            end = end if self._first and end else len(self._tail)
        if end == 0:
            self._expect_line_end(self._tail)
            return None
        data, self._tail = self._tail[:end], self._tail[end:]
        records = self._take_bytes(data)
        chunk = self._parse(records)
        filled = chunk.n_rows or chunk.faults
        self._first_records = records if self._first and filled else None
        self._first = self._first and not filled
        return chunk if filled else None

    def reread(self) -> Chunk | None:
        return None if self._first_records is None else self._parse(self._first_records)

    def _end_of_first(self) -> int:
        """Return the offset after the last complete record of the first hundred lines."""
        end = -1
        for _ in range(FIRST_LINES):
            end = self._tail.find(b"\n", end + 1)
            if end < 0:
                return 0
        return self._end_of_records(self._tail[: end + 1]) or int(next(iter(self._ends(self._tail)), 0))

    def _open(self) -> Any:
        return self._pipe

    def _close(self) -> None:
        """Do nothing, because a closed pipe cannot be opened again."""

    def _read(self, file: Any, n: int) -> bytes:
        data: bytes = file.read()
        self._head += data
        return data


class DelimitedPipe(PipeReader, DelimitedReader):
    """A reader of CSV records from a pipe."""


class JsonPipe(PipeReader, JsonReader):
    """A reader of JSON lines from a pipe; the first hundred lines define the columns."""

    first_lines = FIRST_LINES


class Pipe:
    """A pipe whose bytes are read as they arrive. An interrupt (Ctrl-C) during a wait counts as the end."""

    def __init__(self, file: BufferedIOBase) -> None:
        self.ended, self._file = False, file
        # poll does not see Python's buffer, so it is used only for a plain file, whose buffer read1 empties.
        plain = isinstance(file, BufferedReader) and isinstance(file.raw, FileIO)
        self._poll: Any = None
        if sys.platform != "win32" and plain and hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(file.fileno(), select.POLLIN)
        self._background: BackgroundReader | None = None
        self._ready = b""  # bytes that arrived, but were not returned by `read` yet

    def peek(self) -> bytes:
        """Return the first bytes, at least two of them non-blank; `read` returns the same bytes again."""
        while len(self._ready.strip()) < 2 and not self.ended:
            self._ready += self._read()
        return self._ready

    def wait(self, timeout: float | None) -> bool:
        """Return whether data or the end of the pipe arrives within `timeout` seconds."""
        if timeout is None or self.ended or self._ready or isinstance(self._file, BytesIO):
            return True
        try:
            if self._poll is not None:
                return bool(self._poll.poll(1000 * timeout))
            return self._read_in_background(timeout)
        except KeyboardInterrupt:
            self.ended = True
            return True

    def read(self) -> bytes:
        """Return the available bytes, or wait until some arrive; return no bytes at the end."""
        data, self._ready = self._ready, b""
        return data or self._read()

    def _read(self) -> bytes:
        if self.ended:
            return b""
        try:
            if self._background is None:
                data = bytes(self._file.read1(READ_BYTES))
            else:
                self._read_in_background(None)
                data, self._ready = self._ready, b""
        except KeyboardInterrupt:
            data = b""
        except OSError as error:
            raise DataError(f"standard input cannot be read completely: {error}") from None
        self.ended = not data
        return data

    def _read_in_background(self, timeout: float | None) -> bool:
        """Read bytes in the background; return whether data or the end of the pipe arrived in time."""
        if self._background is None:
            file = self._file
            self._background = BackgroundReader(iter(lambda: bytes(file.read1(READ_BYTES)), b""))
        items = self._background.take(1, timeout)
        if isinstance(items, Signal):
            return items is END
        self._ready = items[0]
        return True
