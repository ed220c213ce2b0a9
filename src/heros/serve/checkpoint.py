"""The checkpoint of a service, which is replaced atomically.

With one model, the checkpoint is a file. With one model per key, it is stored in the database of models.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError, ParameterError
from heros.ensemble import Heros, serialization
from heros.serve.learners import ModelPerKey, OneModel, ServedLearner
from heros.serve.waitlist import FILE as WAITING
from heros.serve.waitlist import expect_options
from heros.storage import archive
from heros.storage.disk import DRAFT, reason
from heros.storage.keystore import FILE as KEYS
from heros.storage.keystore import KeyStore
from heros.storage.locks import DirectoryLock

KIND = "service"
NAME = "service.heros"
OVERHEAD = 600  # bytes of a waiting instance, in addition to its row and prediction
TOGETHER = 500  # number of waiting instances that are written at a time
Id = str | int
Held = list[tuple[Id, "Waiting", float]]
State = dict[str, dict[str, NDArray[Any]]]


class Waiting(NamedTuple):
    """An instance that waits for its label."""

    row: bytes  # JSON, as the client sent it
    key: Id | None
    predicted: NDArray[np.float64]
    known: int | None = None  # number of labels the model was trained on when it predicted
    limit: float | None = None  # threshold of the prediction set

    def bytes(self) -> int:
        """The approximate memory size of the instance in bytes."""
        return OVERHEAD + len(self.row) + self.predicted.nbytes


class CheckpointDirectory:
    """The locked directory that holds the checkpoint of one service.

    A single model is stored in one file with the rest of the service. Models per key are stored in a
    database, which also stores the rest of the service, in the same transaction. Only the owner may read
    the files, because they contain instances.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        if not os.fspath(directory):  # an empty path would mean the current directory
            raise ParameterError.of("checkpoint", "heros serve", "the path of a directory", directory)
        self.directory = Path(directory)
        self.path = self.directory / NAME
        self.origin: str | None = None  # digest of the model file with which the service began
        self._lock = DirectoryLock(self.directory, mode=0o700)
        for draft in self.directory.glob(f".*{DRAFT}"):  # a killed service may have left drafts
            with suppress(OSError):
                draft.unlink()

    def close(self) -> None:
        """Release the lock on the directory; further calls have no effect."""
        self._lock.release()

    def expect(self, *, keyed: bool) -> None:
        """Raise an error if the directory holds one model but `keyed` is True, or vice versa."""
        expect_options(self.directory / WAITING, {"keys": keyed})
        if keyed and self.path.exists():
            raise self._lock.refused("must hold one model per key. Got a single model.")
        if not keyed and not self.path.exists() and (self.directory / "keys" / KEYS).exists():
            raise self._lock.refused("must hold a single model. Got one model per key.")

    def expect_same(self, model: Heros, names: list[str]) -> None:
        """Raise an error if the model and the checkpoint's model differ in one of these parts or settings."""
        if self.path.exists():
            kept = archive.read(self.path, KIND)[0].get("model")
            _expect_same(self.directory, kept, serialization.description(model), names)

    def initial(self, model: Heros, names: list[str]) -> Heros:
        """Return the model with which new keys start: from the checkpoint if there is one, else `model`.

        Raise an error if the checkpoint's model and `model` differ in a part or setting listed in `names`.
        """
        if not (self.directory / "keys" / KEYS).exists():
            return model
        with closing(KeyStore(self.directory / "keys")) as file:
            attached = file.attached()
        if not attached:
            return model
        document, arrays = archive.decoded(attached, KIND, self.directory)
        _expect_same(self.directory, document.get("template"), serialization.description(model), names)
        if not isinstance(document.get("start"), dict):
            raise DataError(
                f"The checkpoint in {self.directory} is incomplete, because it has no initial model."
            )
        return serialization.unpack(Heros, document["start"], archive.subset(arrays, "start"))

    def begin_with(self, file: Path) -> None:
        """Set the model file with which the service begins.

        Afterwards, `read` raises an error if the service in the checkpoint began with another file.
        """
        try:
            self.origin = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise HerosError(f"The file {file} cannot be read: {reason(error)}.") from None

    def _continue(self, document: Mapping[str, Any]) -> None:
        origin = document.get("origin")
        if self.origin is not None and origin != self.origin:
            raise HerosError(
                f"The checkpoint in {self.directory} must come from a service that started with the same "
                "model file. Got another model file. Leave out --model to continue from the checkpoint, "
                "or use another --checkpoint directory for the new model."
            )
        self.origin = origin

    def write(self, learner: ServedLearner, document: dict[str, Any], held: Held, history: State) -> None:
        """Write a checkpoint of the whole service atomically."""
        self._lock.expect_held()
        groups: dict[str, Mapping[str, NDArray[Any] | archive.Parts]] = {"pending": _plain(held)}
        groups |= {f"history/{group}": arrays for group, arrays in history.items()}
        content = document | {"history": list(history), "written": time.time(), "origin": self.origin}
        if isinstance(learner, ModelPerKey):
            content["template"] = serialization.description(learner.model)
            content["start"], groups["start"] = serialization.pack(learner.models.start)
            parts = archive.encoded(KIND, content, archive.grouped(groups), str(self.directory))
            learner.models.commit(attached=parts)
        else:
            content["model"], groups["model"] = serialization.pack(learner.model)
            archive.write(self.path, KIND, content, archive.grouped(groups), private=True)

    def read(self, learner: ServedLearner) -> tuple[dict[str, Any], Held, State] | None:
        """Return the last checkpoint, or None if there is no checkpoint.

        If the learner has a single model, the model of the checkpoint replaces this model.
        """
        self.expect(keyed=learner.keyed)
        if isinstance(learner, ModelPerKey):
            attached = learner.models.attached
            if not attached:
                return None
            document, arrays = archive.decoded(attached, KIND, self.directory)
            template = serialization.description(learner.model)
            _expect_same(self.directory, document.get("template"), template, list(template))
        elif self.path.exists():
            document, arrays = archive.read(self.path, KIND)
        else:
            return None
        self._continue(document)
        if isinstance(learner, OneModel):
            learner.take_over(serialization.unpack(Heros, document["model"], archive.subset(arrays, "model")))
        history = {str(name): archive.subset(arrays, f"history/{name}") for name in document["history"]}
        passed = max(0.0, time.time() - float(document["written"]))
        return document, _held(archive.subset(arrays, "pending"), passed), history


def _expect_same(place: Path, kept: Any, given: Mapping[str, Any], names: list[str]) -> None:
    if not isinstance(kept, dict):
        raise DataError(f"The checkpoint in {place} is incomplete, because it has no model.")
    way = "continue without this option, or use another directory"
    serialization.expect_same(kept, given, names, f"the checkpoint in {place}", way)


def _plain(held: Held) -> dict[str, NDArray[Any] | archive.Parts]:
    """Return the waiting instances as arrays, because arrays are faster to write than a JSON document.

    The large arrays are created in parts, because the waiting instances may take most of the memory.
    """
    lengths = np.array([len(waiting.row) for _, waiting, _ in held], np.int64)
    outputs = np.array([len(waiting.predicted) for _, waiting, _ in held], np.int64)
    name_lengths = np.fromiter((len(_name(*one)) for one in held), np.int64, len(held))
    return {
        "names": _in_parts(held, np.uint8, name_lengths, lambda one: np.frombuffer(_name(*one), np.uint8)),
        "name_lengths": name_lengths,
        "rows": _in_parts(held, np.uint8, lengths, lambda one: np.frombuffer(one[1].row, np.uint8)),
        "row_lengths": lengths,
        "predicted": _in_parts(held, np.float64, outputs, lambda one: one[1].predicted),
        "predicted_lengths": outputs,
        "known": np.array([-1 if one.known is None else one.known for _, one, _ in held], np.int64),
        "limits": np.array([np.nan if one.limit is None else one.limit for _, one, _ in held], np.float64),
        "age": time.monotonic() - np.array([since for _, _, since in held], np.float64),
    }


def _name(id: Id, waiting: Waiting, since: float) -> bytes:
    return orjson.dumps([id, waiting.key])


def _in_parts(
    held: Held,
    kind: type,
    lengths: NDArray[np.int64],
    array: Callable[[tuple[Id, Waiting, float]], NDArray[Any]],
) -> archive.Parts:
    def arrays() -> Iterator[NDArray[Any]]:
        for start in range(0, len(held), TOGETHER):
            yield np.concatenate([array(one) for one in held[start : start + TOGETHER]])

    return archive.Parts(np.dtype(kind).newbyteorder("<"), int(lengths.sum()), arrays)


def _held(arrays: Mapping[str, NDArray[Any]], passed: float) -> Held:
    names = _cut(arrays["names"], arrays["name_lengths"], np.uint8)
    rows = _cut(arrays["rows"], arrays["row_lengths"], np.uint8)
    predicted = _cut(arrays["predicted"], arrays["predicted_lengths"], np.float64)
    held: Held = []
    sinces = (time.monotonic() - passed - arrays["age"]).tolist()
    counts, limits = arrays["known"].tolist(), arrays["limits"].tolist()
    entries = zip(names, rows, predicted, sinces, counts, limits, strict=True)
    for name, row, output, since, known, limit in entries:
        id, key = orjson.loads(name.tobytes())
        named = type(id) in (str, int) and (key is None or type(key) in (str, int))
        if not named or type(known) is not int or not math.isfinite(since) or not np.isfinite(output).all():
            raise DataError("a waiting instance must have an id")
        if type(orjson.loads(row.tobytes())) is not dict:
            raise DataError("a waiting instance must be an object")
        inside = None if math.isnan(limit) else float(limit)
        held.append((id, Waiting(row.tobytes(), key, output, known if known >= 0 else None, inside), since))
    return held


def _cut(values: NDArray[Any], lengths: NDArray[Any], kind: type) -> list[NDArray[Any]]:
    if values.dtype != kind or lengths.dtype != np.int64 or values.ndim != 1 or lengths.ndim != 1:
        raise DataError("waiting instances must be stored as arrays of bytes and numbers")
    if (lengths < 0).any() or (lengths > len(values)).any() or len(values) != lengths.sum():
        raise DataError("the lengths of the waiting instances must add up to the number of bytes")
    return np.split(values, np.cumsum(lengths)[:-1]) if len(lengths) else []
