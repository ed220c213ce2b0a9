r"""A checksummed and versioned file format for a document and its arrays; files contain no code.

::

    offset  bytes  content
    0       8      89 48 45 52 4F 53 0D 0A  ("\x89HEROS\r\n")
    8       4      the version of the format, little-endian
    12      8      H, the length of the header, little-endian
    20      H      the header, UTF-8 JSON
    20+H    …      the arrays, one after the other, little-endian, in C order
    end-32  32     SHA-256 of all preceding bytes

The header is ``{"heros": version, "kind": kind, "document": {…}, "arrays": [[name, type, shape], …]}``. A
type is one of `TYPES`. A file holds only JSON and numbers, so reading it runs no code. The caller must
validate the contents of the document and the arrays.

The first 20 bytes, the header's ``heros`` field and the checksum have the same layout in every format
version. HEROS can therefore name the version that wrote a file, and distinguish a file in another format
version from a damaged file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError
from heros._base.lazy import metadata
from heros.storage.disk import reason, write_whole

FORMAT = 1
TYPES = ("<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
MAGIC = b"\x89HEROS\r\n"
PREFIX = struct.Struct("<8sIQ")
DIGEST = hashlib.sha256().digest_size

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Parts:
    """A one-dimensional array that is written in parts, so the whole array is never in memory.

    Examples
    --------
    >>> array = Parts(np.dtype("<i8"), 4, lambda: (np.arange(n) for n in (1, 3)))
    >>> data = b"".join(encoded("example", {}, {"x": array}, "here"))
    >>> decoded(data, "example", "here")[1]["x"]
    array([0, 0, 1, 2])
    """

    dtype: np.dtype[Any]
    length: int
    arrays: Callable[[], Iterable[NDArray[Any]]]

    @property
    def shape(self) -> tuple[int]:
        """The shape of the whole array."""
        return (self.length,)

    def encoded(self) -> Iterator[bytes]:
        """Yield the bytes of the array in parts."""
        for array in self.arrays():
            yield array.astype(self.dtype, copy=False).tobytes()


T = TypeVar("T")
Written = Mapping[str, NDArray[Any] | Parts]


def write(
    path: str | os.PathLike[str],
    kind: str,
    document: Mapping[str, Any],
    arrays: Written,
    *,
    private: bool = False,
) -> None:
    """Write a document and its arrays atomically: a reader finds the complete file or the previous one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "file.heros")
    ...     write(path, "example", {"answer": 42}, {"x": np.arange(3)})
    ...     read(path, "example")
    ({'answer': 42}, {'x': array([0, 1, 2])})
    """
    write_whole(Path(path), encoded(kind, document, arrays, os.fspath(path)), private=private)


def encoded(kind: str, document: Mapping[str, Any], arrays: Written, place: str) -> Iterator[bytes]:
    """Return the contents of a file in several parts; `place` is the path shown in error messages.

    The arrays of a `Parts` are created only when the file is written. Until then, the data from which
    these arrays are created must not change.
    """
    plain = {name: _plain(name, array) for name, array in arrays.items()}
    content = {
        "heros": _version(),
        "kind": kind,
        "document": document,
        "arrays": [[name, array.dtype.str, list(array.shape)] for name, array in plain.items()],
    }
    try:
        header = json.dumps(content, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise HerosError(
            f"The document written to {place} must be JSON data. The error was: {error}."
        ) from None
    now = [array if isinstance(array, Parts) else array.tobytes() for array in plain.values()]
    return _with_digest([PREFIX.pack(MAGIC, FORMAT, len(header)), header, *now])


def _with_digest(content: list[bytes | Parts]) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for one in content:
        for part in one.encoded() if isinstance(one, Parts) else [one]:
            digest.update(part)
            yield part
    yield digest.digest()


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the document and the arrays of a file; raise a DataError if it is damaged or of another kind."""
    return decoded(_bytes(path), kind, path)


def read_one_of(
    path: str | os.PathLike[str], kinds: Sequence[str]
) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the kind of a file, its document and its arrays.

    If the kind of the file is not in `kinds`, raise a DataError that names the first entry of `kinds`.
    """
    data = _bytes(path)
    found = _header(path, data)[0].get("kind")
    kind = next((kind for kind in kinds if kind == found), kinds[0])
    return kind, *decoded(data, kind, path)


def decoded(
    data: bytes, kind: str, path: str | os.PathLike[str]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Decode the bytes of a file to the document and the arrays; `path` appears in error messages."""
    header, at = _header(path, data)
    if header.get("kind") != kind:
        raise _damaged(path, f"does not hold a {kind}", f"it holds a {header.get('kind')!r}")
    document, entries = header.get("document"), header.get("arrays")
    if not isinstance(document, dict) or not isinstance(entries, list):
        raise _damaged(path, "is damaged", "the header has no document or no arrays")
    arrays: dict[str, NDArray[Any]] = {}
    end = len(data) - DIGEST
    for entry in entries:
        name, kind_of_array, shape = _entry(path, entry)
        count = math.prod(shape)
        size = count * kind_of_array.itemsize
        if name in arrays or size > end - at:
            raise _damaged(path, "is damaged", f"the array {name!r} has a wrong size")
        flat = np.frombuffer(data, kind_of_array, count, at).copy()  # an aligned, writable copy
        try:
            arrays[name] = flat.reshape(shape)
        except ValueError:  # a shape that NumPy does not support
            raise _damaged(path, "is damaged", f"the array {name!r} has a wrong size") from None
        at += size
    if at != end:
        raise _damaged(path, "is damaged", f"{end - at} bytes belong to no array")
    return document, arrays


def grouped(groups: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """Merge groups of arrays into one dictionary with keys ``group/name``; `subset` returns one group."""
    return {f"{group}/{name}": array for group, arrays in groups.items() for name, array in arrays.items()}


def subset(arrays: Arrays, group: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with ``group/``, without this prefix.

    Examples
    --------
    >>> subset({"pool/gamma": np.ones(1), "scores/x": np.ones(2)}, "pool")
    {'gamma': array([1.])}
    """
    start = f"{group}/"
    return {name.removeprefix(start): one for name, one in arrays.items() if name.startswith(start)}


@cache
def _version() -> str:
    """Return the version of HEROS, cached because the lookup is slow."""
    return metadata.version("heros-learn")


def _bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        models = sorted(map(str, Path(path).glob("*.heros")))
        hint = f" The directory contains {', '.join(models[:3])}." if models else ""
        raise DataError(f"The file {os.fspath(path)} cannot be read: {reason(error)}.{hint}") from None


def _header(path: str | os.PathLike[str], data: bytes) -> tuple[dict[str, Any], int]:
    """Verify the checksum; return the header and the offset of the first byte after the header."""
    if len(data) < PREFIX.size + DIGEST:
        raise _damaged(path, "is damaged", f"{len(data)} bytes are too few for a HEROS file")
    magic, found, length = PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise _damaged(path, "is not a HEROS file", f"it begins with {data[:8]!r}")
    if hashlib.sha256(memoryview(data)[:-DIGEST]).digest() != data[-DIGEST:]:
        raise _damaged(path, "is damaged", "the checksum is wrong")
    if found != FORMAT:
        raise HerosError(_other_format(path, data, found, length))
    end = PREFIX.size + length
    if end > len(data) - DIGEST:
        raise _damaged(path, "is damaged", "the header has a wrong length")
    try:
        header = json.loads(data[PREFIX.size : end])
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "has an unreadable header", str(error)) from None
    if not isinstance(header, dict):
        raise _damaged(path, "has an unreadable header", type(header).__name__)
    return header, end


def _other_format(path: str | os.PathLike[str], data: bytes, found: int, length: int) -> str:
    """Return the error message for a file in another format version, with the writer's version if known."""
    try:
        writer = json.loads(data[PREFIX.size : PREFIX.size + min(length, len(data))])["heros"]
        writer_text = f" (written by heros-learn {writer[:20]})" if isinstance(writer, str) else ""
    except (ValueError, RecursionError, KeyError, TypeError):
        writer_text = ""
    rule = f"must have the format {FORMAT}, which heros-learn {_version()} reads"
    return f"The file {os.fspath(path)} {rule}. Got {found}{writer_text}."


def _entry(path: str | os.PathLike[str], entry: object) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    match entry:
        case [str(name), str(kept), list(shape)] if (
            kept in TYPES and len(shape) <= 8 and all(type(n) is int and 0 <= n < 1 << 62 for n in shape)
        ):
            return name, np.dtype(kept), tuple(shape)
    raise _damaged(path, "is damaged", "the description of an array is invalid")


def _plain(name: str, array: NDArray[Any] | Parts) -> NDArray[Any] | Parts:
    if isinstance(array, Parts):
        return array
    plain = np.asarray(array)
    little = plain.dtype.newbyteorder("<")
    if little.str not in TYPES:
        raise HerosError(f"The array {name!r} must hold numbers to be written. Got {plain.dtype} instead.")
    return np.ascontiguousarray(plain, dtype=little).reshape(plain.shape)


def _damaged(path: str | os.PathLike[str], rule: str, got: str) -> DataError:
    return DataError(f"The file {os.fspath(path)} {rule}: {got}.")
