"""The checkpoint directory of a run: its checkpoints and its file of predictions.

An exact AUROC needs all probabilities predicted so far. Writing all of them with every checkpoint would be
slow, so they are appended to one file. Each checkpoint holds the length and the SHA-256 of the part written
before it. When a run resumes, the bytes after this part are removed before new rows are appended. A row of
the file consists of the target and its prediction (the probabilities of the classes known at the time), as
little-endian float64.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError
from heros.storage import archive
from heros.storage.disk import AS_IS, DRAFT, OutputFile, reason

KIND = "checkpoint"
NAME = re.compile(r"checkpoint-(\d+)\.heros")
PREDICTIONS = "predictions.f8"
FLOAT = np.dtype("<f8")

Predicted = tuple[NDArray[Any], NDArray[np.float64]]
"""Targets (n,) and predictions (n, width): class indices and probabilities, or numbers."""


class CheckpointWarning(UserWarning):
    """Issued if a checkpoint is damaged or cannot be written; the run continues without this checkpoint."""


# -- the files ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on disk."""

    path: Path
    instances: int
    size: int  # in bytes, without the predictions file
    written: str | None  # time of writing, or None if the checkpoint is damaged
    fault: str | None  # error message if the checkpoint is damaged


@dataclass(frozen=True)
class Content:
    """The contents of a checkpoint and of its part of the predictions file."""

    path: Path
    document: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    predictions: PredictionsFile
    parts: list[Predicted]


def name_of(instances: int) -> str:
    """Return the file name of the checkpoint after this many instances."""
    return f"checkpoint-{instances:012d}.heros"


def newest_first(directory: Path) -> list[tuple[int, Path]]:
    """Return (instances, path) for all checkpoints in a directory, newest first, including damaged ones."""
    try:
        paths = list(directory.iterdir())
    except OSError:
        return []
    named = ((NAME.fullmatch(path.name), path) for path in paths)
    return sorted(((int(match[1]), path) for match, path in named if match), reverse=True)


def drafts(directory: Path) -> list[Path]:
    """Return the unfinished checkpoints that a killed process left behind."""
    return list(directory.glob(f".checkpoint-*{DRAFT}"))


def opened(path: Path) -> Content:
    """Read a checkpoint; raise a DataError if the checkpoint or its part of the predictions is damaged."""
    document, arrays = archive.read(path, KIND)
    predictions, parts = PredictionsFile.reopened(path.parent, document.get("predictions"))
    return Content(path, document, arrays, predictions, parts)


def found(directory: str | Path) -> list[Checkpoint]:
    """List the checkpoints in a directory, newest first.

    Examples
    --------
    >>> import tempfile
    >>> from heros import Heros, evaluate, pools, streams
    >>> from heros.run import checkpoints
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     model = Heros(pools.MLP([{"hidden": 8}]), seed=1)
    ...     run = evaluate(model, streams.Agrawal().take(2500), checkpoint=directory, every=1000)
    ...     [checkpoint.instances for checkpoint in checkpoints.found(directory)]
    [2500, 2000, 1000]
    """
    place = Path(directory)
    if not place.is_dir():
        raise DataError(f"The directory {place} does not exist.")
    return [_inspected(instances, path) for instances, path in newest_first(place)]


def _inspected(instances: int, path: Path) -> Checkpoint:
    written = fault = None
    size = 0
    try:
        size = path.stat().st_size
        written = str(opened(path).document["written"])
    except (HerosError, OSError, KeyError) as error:
        fault = str(error)
    return Checkpoint(path, instances, size, written, fault)


# -- the predictions ---------------------------------------------------------------------------------------


class PredictionsFile:
    """All predictions of a run, in an append-only file.

    Examples
    --------
    >>> import tempfile
    >>> part = np.array([1, 0]), np.array([[0.2, 0.8], [0.5, 0.5]])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     predictions = PredictionsFile(Path(directory))
    ...     predictions.append([part])
    ...     _, parts = PredictionsFile.reopened(Path(directory), predictions.extent())
    >>> parts[0][0]
    array([1., 0.])
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / PREDICTIONS
        self._length = 0
        self._digest = hashlib.sha256()
        self._stretches: list[list[int]] = []  # numbers of rows and classes, in the order of the file

    def extent(self) -> dict[str, Any]:
        """Return the length, the checksum and the layout of the file so far, to be stored in a checkpoint."""
        return {
            "length": self._length,
            "sha256": self._digest.hexdigest(),
            "stretches": [list(stretch) for stretch in self._stretches],
        }

    def append(self, parts: Sequence[Predicted]) -> None:
        """Truncate the file after its last valid row, append new rows, and sync the file."""
        rows = [np.column_stack([targets.astype(FLOAT), p.astype(FLOAT, copy=False)]) for targets, p in parts]
        data = b"".join(row.tobytes() for row in rows)
        if not data and self._length == 0:
            return
        try:
            with OutputFile(os.open(self.path, os.O_RDWR | os.O_CREAT | AS_IS, 0o644)) as file:
                self._write(file, data)
        except OSError as error:
            raise HerosError(f"The file {self.path} cannot be written: {reason(error)}.") from None
        self._length += len(data)
        self._digest.update(data)
        for row in rows:
            n, classes = len(row), row.shape[1] - 1
            if self._stretches and self._stretches[-1][1] == classes:
                self._stretches[-1][0] += n
            elif n:
                self._stretches.append([n, classes])

    def _write(self, file: OutputFile, data: bytes) -> None:
        descriptor = file.fileno()
        if os.fstat(descriptor).st_size < self._length:
            raise HerosError(f"The file {self.path} is damaged: it has fewer than {self._length} bytes.")
        os.ftruncate(descriptor, self._length)
        try:
            os.lseek(descriptor, self._length, os.SEEK_SET)
            file.write(data)
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, self._length)
            raise

    @classmethod
    def reopened(cls, directory: Path, extent: object) -> tuple[PredictionsFile, list[Predicted]]:
        """Read the part of the file that belongs to a checkpoint, which stores the `extent` of this part.

        Raise a DataError if the file is too short or its checksum differs.
        """
        length, sha256, stretches = _checked(directory, extent)
        predictions = cls(directory)
        data = _read_start(predictions.path, length)
        predictions._digest.update(data)
        if len(data) != length or predictions._digest.hexdigest() != sha256:
            raise DataError(f"The file {predictions.path} does not match the checksum in the checkpoint.")
        predictions._length, predictions._stretches = length, stretches
        parts, at = [], 0
        for rows, classes in stretches:
            block = np.frombuffer(data, FLOAT, rows * (classes + 1), at).reshape(rows, classes + 1)
            parts.append((np.array(block[:, 0]), np.array(block[:, 1:], order="C")))
            at += block.nbytes
        return predictions, parts


def _read_start(path: Path, length: int) -> bytes:
    try:
        if length == 0:
            return b""
        if path.stat().st_size < length:
            raise DataError(f"The file {path} is damaged: it has fewer than {length} bytes.")
        with path.open("rb") as file:
            return file.read(length)
    except OSError as error:
        raise DataError(f"The file {path} cannot be read: {reason(error)}.") from None


def _checked(directory: Path, extent: object) -> tuple[int, str, list[list[int]]]:
    match extent:
        case {"length": int(length), "sha256": str(sha256), "stretches": list(stretches)} if all(
            isinstance(stretch, list)
            and len(stretch) == 2
            and all(type(n) is int and 0 < n < 1 << 48 for n in stretch)
            for stretch in stretches
        ):
            if length == sum(rows * (classes + 1) for rows, classes in stretches) * FLOAT.itemsize:
                return length, sha256, [list(stretch) for stretch in stretches]
    raise DataError(
        f"The checkpoint does not specify which part of {directory / PREDICTIONS} belongs to the checkpoint."
    )
