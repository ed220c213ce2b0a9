"""The probabilities a run has given so far: a file that only grows, beside its checkpoints.

An exact AUROC needs all of them. Writing them anew with every checkpoint would cost more and more, so they
are appended here, and a checkpoint says how much of the file is its own, and the SHA-256 of that part. What
a kill leaves behind that part is cut off before more is appended.

A row is the label and the probabilities of the classes known by then, as little-endian float64.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError, HerosError
from heros.measures.base import Predicted
from heros.storage.disk import AS_IS, Output, reason

__all__ = ["NAME", "Predictions"]

NAME = "predictions.f8"
FLOAT = np.dtype("<f8")


class Predictions:
    """The file, up to where it counts.

    Examples
    --------
    >>> import tempfile
    >>> part = np.array([1, 0]), np.array([[0.2, 0.8], [0.5, 0.5]])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     predictions = Predictions(Path(directory))
    ...     predictions.append([part])
    ...     _, parts = Predictions.reopened(Path(directory), predictions.extent())
    >>> parts[0][0]
    array([1, 0])
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        self._length = 0
        self._digest = hashlib.sha256()
        self._stretches: list[list[int]] = []  # [rows, classes], one behind the other

    def extent(self) -> dict[str, Any]:
        """What a checkpoint says about its part of the file."""
        return {
            "length": self._length,
            "sha256": self._digest.hexdigest(),
            "stretches": [list(stretch) for stretch in self._stretches],
        }

    def append(self, parts: Sequence[Predicted]) -> None:
        """Write these rows behind those that count, and have them on disk."""
        rows = [_rows(labels, probabilities) for labels, probabilities in parts]
        data = b"".join(row.tobytes() for row in rows)
        if not data and self._length == 0:
            return
        try:
            with Output(os.open(self.path, os.O_RDWR | os.O_CREAT | AS_IS, 0o644)) as file:
                self._write(file, data)
        except OSError as error:
            raise HerosError(f"The file {self.path} must be writable. Got: {reason(error)}.") from None
        self._length += len(data)
        self._digest.update(data)
        for row in rows:
            self._count(len(row), row.shape[1] - 1)

    def _write(self, file: Output, data: bytes) -> None:
        descriptor = file.fileno()
        if os.fstat(descriptor).st_size < self._length:
            raise HerosError(f"The file {self.path} must have {self._length} bytes. Got less.")
        os.ftruncate(descriptor, self._length)
        try:
            os.lseek(descriptor, self._length, os.SEEK_SET)
            file.write(data)
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, self._length)
            raise

    def _count(self, rows: int, classes: int) -> None:
        if self._stretches and self._stretches[-1][1] == classes:
            self._stretches[-1][0] += rows
        elif rows:
            self._stretches.append([rows, classes])

    @classmethod
    def reopened(cls, directory: Path, extent: object) -> tuple[Predictions, list[Predicted]]:
        """The file as a checkpoint knew it, and its rows; a DataError if they are not there."""
        length, sha256, stretches = _checked(directory, extent)
        predictions = cls(directory)
        data = _head(predictions.path, length)
        predictions._digest.update(data)
        if len(data) != length or predictions._digest.hexdigest() != sha256:
            raise DataError(
                f"The file {predictions.path} must have what the checkpoint says. Got something else."
            )
        predictions._length, predictions._stretches = length, stretches
        parts, at = [], 0
        for rows, classes in stretches:
            block = np.frombuffer(data, FLOAT, rows * (classes + 1), at).reshape(rows, classes + 1)
            parts.append((block[:, 0].astype(np.int64), np.array(block[:, 1:], order="C")))
            at += block.nbytes
        return predictions, parts


def _rows(labels: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([labels.astype(FLOAT), probabilities.astype(FLOAT, copy=False)])


def _head(path: Path, length: int) -> bytes:
    try:
        if length == 0:
            return b""
        if path.stat().st_size < length:
            raise DataError(f"The file {path} must have {length} bytes. Got less.")
        with path.open("rb") as file:
            return file.read(length)
    except OSError as error:
        raise DataError(f"The file {path} must be readable. Got: {reason(error)}.") from None


def _checked(directory: Path, extent: object) -> tuple[int, str, list[list[int]]]:
    match extent:
        case {
            "length": int(length),
            "sha256": str(sha256),
            "stretches": list(stretches),
        } if all(
            isinstance(stretch, list)
            and len(stretch) == 2
            and all(type(n) is int and 0 < n < 1 << 48 for n in stretch)
            for stretch in stretches
        ):
            if length == sum(rows * (classes + 1) for rows, classes in stretches) * FLOAT.itemsize:
                return length, sha256, [list(stretch) for stretch in stretches]
    raise DataError(f"A checkpoint must say what of {directory / NAME} is its own. Got something else.")
