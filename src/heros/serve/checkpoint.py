"""The checkpoint of a service: one file, or part of the file of the models per key, whole at any time."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from heros.ensemble import Heros, files
from heros.errors import DataError, HerosError
from heros.serve.learners import Learner, ModelPerKey, OneModel
from heros.storage import archive

__all__ = ["CheckpointDirectory", "Waiting"]

KIND = "service"
NAME = "service.heros"
Id = str | int
Held = list[tuple[Id, "Waiting", float]]
State = dict[str, dict[str, NDArray[Any]]]


class Waiting(NamedTuple):
    """An instance whose label has not come."""

    row: bytes  # JSON, as it was sent
    key: Id | None
    predicted: NDArray[np.float64]
    known: int | None = None  # how many labels the model had learnt from when it predicted


class CheckpointDirectory:
    """The directory in which a service is kept.

    One model is in a file of the service. Models per key are in their own file, and the rest of the service
    is written there in the same transaction.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            rule = "exist, or it must be possible to create it"
            raise HerosError(f"The directory {self.directory} must {rule}. Got: {error}.") from None
        self.path = self.directory / NAME

    def write(self, learner: Learner, document: dict[str, Any], held: Held, history: State) -> None:
        """Write everything, as one."""
        groups: dict[str, Mapping[str, NDArray[Any]]] = {"pending": _plain(held)}
        groups |= {f"history/{group}": arrays for group, arrays in history.items()}
        content = document | {"history": list(history)}
        if isinstance(learner, ModelPerKey):
            parts = archive.encoded(KIND, content, archive.grouped(groups), str(self.directory))
            learner.models.commit({"service": base64.b64encode(b"".join(parts)).decode()})
        else:
            content["model"], groups["model"] = files.pack(learner.model)
            archive.write(self.path, KIND, content, archive.grouped(groups))

    def read(self, learner: Learner) -> tuple[dict[str, Any], Held, State] | None:
        """What was written last, or None. A model that was kept takes the place of the learner's."""
        if isinstance(learner, ModelPerKey):
            position = learner.models.position
            if position is None or "service" not in position:
                return None
            document, arrays = archive.decoded(base64.b64decode(position["service"]), KIND, self.directory)
        elif self.path.exists():
            document, arrays = archive.read(self.path, KIND)
        else:
            return None
        try:
            if isinstance(learner, OneModel):
                learner.take_over(files.unpack(Heros, document["model"], archive.subset(arrays, "model")))
            history = {name: archive.subset(arrays, f"history/{name}") for name in document["history"]}
            return document, _held(archive.subset(arrays, "pending")), history
        except (KeyError, TypeError, ValueError, IndexError) as error:
            rule = "hold a whole service"
            raise DataError(f"The directory {self.directory} must {rule}. Got: {error}.") from None


def _plain(held: Held) -> dict[str, NDArray[Any]]:
    """The waiting instances as arrays: a document of a hundred thousand rows would take too long."""
    names = [orjson.dumps([id, waiting.key]) for id, waiting, _ in held]
    rows = [waiting.row for _, waiting, _ in held]
    predicted = [waiting.predicted for _, waiting, _ in held]
    return {
        "names": np.frombuffer(b"".join(names), np.uint8),
        "name_lengths": np.array([len(name) for name in names], np.int64),
        "rows": np.frombuffer(b"".join(rows), np.uint8),
        "row_lengths": np.array([len(row) for row in rows], np.int64),
        "predicted": np.concatenate([np.zeros(0), *predicted]),
        "predicted_lengths": np.array([len(one) for one in predicted], np.int64),
        "known": np.array([-1 if one.known is None else one.known for _, one, _ in held], np.int64),
        "since": np.array([since for _, _, since in held], np.float64),
    }


def _held(arrays: Mapping[str, NDArray[Any]]) -> Held:
    names = _cut(arrays["names"], arrays["name_lengths"])
    rows = _cut(arrays["rows"], arrays["row_lengths"])
    predicted = _cut(arrays["predicted"], arrays["predicted_lengths"])
    held: Held = []
    sinces, counts = arrays["since"].tolist(), arrays["known"].tolist()
    for name, row, output, since, known in zip(names, rows, predicted, sinces, counts, strict=True):
        id, key = orjson.loads(name.tobytes())
        held.append((id, Waiting(row.tobytes(), key, output, known if known >= 0 else None), since))
    return held


def _cut(values: NDArray[Any], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
    ends = np.cumsum(lengths)
    if len(values) != (ends[-1] if len(ends) else 0) or (lengths < 0).any():
        raise DataError("as many bytes as the lengths of the waiting instances say must be there")
    return np.split(values, ends[:-1]) if len(ends) else []
