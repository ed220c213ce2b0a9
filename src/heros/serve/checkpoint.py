"""Where a service keeps itself: one file, or the file of the models per key, whole at any time."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from heros.data.schema import schema_of
from heros.ensemble import Heros, files
from heros.errors import DataError, HerosError
from heros.serve.learners import Brain, Many, One
from heros.storage import archive

__all__ = ["Shelf", "Waiting"]

KIND = "service"
NAME = "service.heros"
Id = str | int
Held = list[tuple[Id, "Waiting", float]]
State = dict[str, dict[str, NDArray[Any]]]


class Waiting(NamedTuple):
    """An instance whose label has not come."""

    row: bytes  # JSON, as it was sent
    key: Id | None
    answer: NDArray[np.float64]
    known: int | None = None  # how many labels the model that answered had learnt from


class Shelf:
    """A directory in which a service is kept.

    One model is in a file of the service; models per key are in theirs, and what else is to be known beside
    them is written there in the same transaction.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HerosError(
                f"The directory {self.directory} must be there or be made. Got: {error}."
            ) from None

    @property
    def path(self) -> Path:
        """The file of the service."""
        return self.directory / NAME

    def write(self, brain: Brain, document: dict[str, Any], held: Held, history: State) -> None:
        """Write all of it, as one."""
        groups: dict[str, Mapping[str, NDArray[Any]]] = {"pending": _plain(held)}
        groups |= {f"history/{group}": arrays for group, arrays in history.items()}
        if isinstance(brain, One):
            described, learnt = files.pack(brain.model)
            content = document | {"model": described, "history": list(history)}
            archive.write(self.path, KIND, content, archive.grouped({"model": learnt, **groups}))
        elif isinstance(brain, Many):
            content = document | {"history": list(history)}
            parts = archive.encoded(KIND, content, archive.grouped(groups), str(self.directory))
            brain.models.commit({"service": base64.b64encode(b"".join(parts)).decode()})

    def read(self, brain: Brain) -> tuple[dict[str, Any], Held, State] | None:
        """What was written last, given back to the brain and to the service; None if nothing was."""
        if isinstance(brain, One):
            return self._opened(lambda: archive.read(self.path, KIND), brain) if self.path.exists() else None
        assert isinstance(brain, Many)
        position = brain.models.position
        if position is None or "service" not in position:
            return None
        data = base64.b64decode(position["service"])
        return self._opened(lambda: archive.decoded(data, KIND, self.directory), brain)

    def _opened(
        self, read: Callable[[], tuple[dict[str, Any], dict[str, NDArray[Any]]]], brain: Brain
    ) -> tuple[dict[str, Any], Held, State]:
        document, arrays = read()
        try:
            if isinstance(brain, One):
                kept = files.unpack(Heros, document["model"], archive.subset(arrays, "model"))
                brain.take_over(kept)
            elif document.get("schema") is not None:  # of files in which models per key had none of their own
                brain.open(schema_of(document["schema"]))
            history = {name: archive.subset(arrays, f"history/{name}") for name in document["history"]}
            return document, _held(archive.subset(arrays, "pending")), history
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DataError(
                f"The directory {self.directory} must hold a whole service. Got: {error}."
            ) from None


def _plain(held: Held) -> dict[str, NDArray[Any]]:
    """What waits, as arrays: a document of a hundred thousand rows would keep everybody waiting."""
    names = [orjson.dumps([id, waiting.key]) for id, waiting, _ in held]
    rows = [waiting.row for _, waiting, _ in held]
    answers = [waiting.answer for _, waiting, _ in held]
    return {
        "names": np.frombuffer(b"".join(names), np.uint8),
        "name_lengths": np.array([len(name) for name in names], np.int64),
        "rows": np.frombuffer(b"".join(rows), np.uint8),
        "row_lengths": np.array([len(row) for row in rows], np.int64),
        "answers": np.concatenate([np.zeros(0), *answers]),
        "answer_lengths": np.array([len(answer) for answer in answers], np.int64),
        "known": np.array([-1 if one.known is None else one.known for _, one, _ in held], np.int64),
        "since": np.array([since for _, _, since in held], np.float64),
    }


def _held(arrays: Mapping[str, NDArray[Any]]) -> Held:
    names = _cut(arrays["names"], arrays["name_lengths"])
    rows = _cut(arrays["rows"], arrays["row_lengths"])
    answers = _cut(arrays["answers"], arrays["answer_lengths"])
    held: Held = []
    sinces, counts = arrays["since"].tolist(), arrays["known"].tolist()
    for name, row, answer, since, known in zip(names, rows, answers, sinces, counts, strict=True):
        id, key = orjson.loads(name.tobytes())
        held.append((id, Waiting(row.tobytes(), key, answer, known if known >= 0 else None), since))
    return held


def _cut(values: NDArray[Any], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
    ends = np.cumsum(lengths)
    if len(values) != (ends[-1] if len(ends) else 0) or (lengths < 0).any():
        raise DataError("as much as its lengths say must wait")
    return np.split(values, ends[:-1]) if len(ends) else []
