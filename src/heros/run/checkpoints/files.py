"""The checkpoints in a directory: which there are, and whether they are whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from heros.errors import DataError, HerosError
from heros.measures.base import Predicted
from heros.run.checkpoints.predictions import Predictions
from heros.storage import archive
from heros.storage.disk import DRAFT

__all__ = [
    "Checkpoint",
    "CheckpointWarning",
    "Content",
    "drafts",
    "found",
    "name_of",
    "newest_first",
    "opened",
]

KIND = "checkpoint"
NAME = re.compile(r"checkpoint-(\d+)\.heros")


class CheckpointWarning(UserWarning):
    """A checkpoint is broken or could not be written, and the run goes on without it."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on disk."""

    path: Path
    instances: int
    size: int  # in bytes, without the predictions beside it
    written: str | None  # when, if it is whole
    fault: str | None  # what is wrong with it


@dataclass(frozen=True)
class Content:
    """What is in a checkpoint, and what it says about the predictions beside it."""

    path: Path
    document: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    predictions: Predictions
    parts: list[Predicted]


def name_of(instances: int) -> str:
    """The name of the checkpoint after so many instances."""
    return f"checkpoint-{instances:012d}.heros"


def newest_first(directory: Path) -> list[tuple[int, Path]]:
    """The checkpoints in a directory by the instances in their names, whole or not."""
    try:
        paths = list(directory.iterdir())
    except OSError:
        return []
    named = ((NAME.fullmatch(path.name), path) for path in paths)
    return sorted(((int(match[1]), path) for match, path in named if match), reverse=True)


def drafts(directory: Path) -> list[Path]:
    """What a kill left of checkpoints that were being written."""
    return list(directory.glob(f".checkpoint-*{DRAFT}"))


def opened(path: Path) -> Content:
    """What is in a checkpoint; a DataError if it, or what it needs beside it, is broken."""
    document, arrays = archive.read(path, KIND)
    predictions, parts = Predictions.reopened(path.parent, document.get("predictions"))
    return Content(path, document, arrays, predictions, parts)


def found(directory: str | Path) -> list[Checkpoint]:
    """The checkpoints in a directory, the newest first.

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
        raise DataError(f"The directory {place} must exist. Got no such directory instead.")
    return [_looked_at(instances, path) for instances, path in newest_first(place)]


def _looked_at(instances: int, path: Path) -> Checkpoint:
    written = fault = None
    size = 0
    try:
        size = path.stat().st_size
        written = str(opened(path).document["written"])
    except (HerosError, OSError, KeyError) as error:
        fault = str(error)
    return Checkpoint(path, instances, size, written, fault)
