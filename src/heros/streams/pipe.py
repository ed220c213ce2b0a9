"""CSV from a pipe: read once, as it comes, without an end if there is none."""

from __future__ import annotations

from collections.abc import Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from heros.errors import DataError
from heros.streams.base import Stream
from heros.streams.delimited import DelimitedSource
from heros.streams.tables import Options, TableStream

__all__ = ["read_pipe"]

FIRST_LINES = 100
"""So many lines, if they come, are waited for before types are taken from them."""


def read_pipe(
    file: BufferedIOBase,
    *,
    target: str | int | None = None,
    nominal: Sequence[str] = (),
    classes: Sequence[object] | None = None,
    on_bad_row: str = "raise",
    name: str = "stdin",
) -> Stream:
    r"""A stream of the CSV that a pipe brings. See `heros.streams.read` for the parameters.

    Types are those of the first hundred lines. The stream cannot be restarted or copied, and ``take``
    moves it. An interrupt (Ctrl-C) while it waits for more is its end.

    Examples
    --------
    >>> import io
    >>> stream = read_pipe(io.BytesIO(b"age,label\n18,no\n21,yes\n"), target="label")
    >>> stream.draw(10)[1]
    array([0, 1])
    """
    options = Options("read", target, nominal, (), (), classes, on_bad_row)
    return PipeStream(PipeSource(_Pipe(file)), options, name)


class PipeStream(TableStream):
    """A stream that can only go on."""

    def _fork(self) -> Stream:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PipeStream:
        raise DataError(f"The stream {self.name!r} reads a pipe, which can be read only once.")

    def _restart(self) -> None:
        raise DataError(f"The stream {self.name!r} reads a pipe, which cannot go back.")


class PipeSource(DelimitedSource):
    """The records of a CSV text from a pipe."""

    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe
        super().__init__(Path("standard input"))
        pipe.keeping = False

    def _open(self) -> Any:
        if self._file is None:
            self._pipe.back_to(self._at[0])
            self._tail = b""
            self._file = self._pipe
        return self._file


class _Pipe:
    """A file that can go back to its first bytes, as long as these are kept."""

    def __init__(self, file: BufferedIOBase) -> None:
        self._file = file
        self._head = b""
        self._at = 0
        self._ended = False
        self.keeping = True

    def read(self, n: int) -> bytes:
        if self.keeping:
            while self._head.count(b"\n") <= FIRST_LINES and (more := self._next(n)):
                self._head += more
        if self._at < len(self._head):
            data = self._head[self._at :]
            self._at = len(self._head)
            return data
        if not self.keeping:
            self._head, self._at = b"", 0
        return self._next(n)

    def back_to(self, offset: int) -> None:
        self._at = offset

    def close(self) -> None:
        """The pipe stays open: it cannot be opened again."""

    def _next(self, n: int) -> bytes:
        """What is there, up to n bytes; waits if nothing is."""
        if self._ended:
            return b""
        try:
            data = bytes(self._file.read1(n))
        except KeyboardInterrupt:
            data = b""
        self._ended = not data
        return data
