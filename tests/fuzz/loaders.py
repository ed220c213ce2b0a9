"""Saved models and checkpoints: damaged files, and forged files with a valid checksum."""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.bytes_in import BytesIn
from fuzz.targets import KINDS, _damaged, _exercise, _file, _learnt, _place, target
from heros import Heros, evaluate, pools, streams
from heros.ensemble import serialization
from heros.run import checkpoints
from heros.storage import archive

DIGEST = hashlib.sha256().digest_size
EVERY = 40  # number of instances
LARGEST = 1 << 20
PLAIN = [np.dtype(text) for text in archive.TYPES]
POOL = pools.MLP([{"hidden": 4}, {"hidden": 5}])


def _signed(data: bytes) -> bytes:
    """Return the bytes with a valid checksum, which an attacker could also compute."""
    body = data[:-DIGEST] if len(data) > DIGEST else data
    return body + hashlib.sha256(body).digest()


@cache
def _model_file(kind: str) -> bytes:
    path = _place() / f"seed-{kind}.heros"
    _learnt(kind).save(path)
    return path.read_bytes()


def _load(data: bytes) -> None:
    model = Heros.load(_file("model.heros", data))
    if model.schema is not None:
        _exercise(model)


@target(lambda: [_model_file(kind) for kind in KINDS])
def model_file(data: bytes) -> None:
    """A saved model with damaged bytes."""
    _load(data)


@target(lambda: [_model_file(kind) for kind in KINDS])
def model_file_signed(data: bytes) -> None:
    """A saved model with damaged bytes and a valid checksum."""
    _load(_signed(data))


@target()
def model_values(data: bytes) -> None:
    """A saved model with other values in its document or its arrays."""
    source = BytesIn(data)
    document, arrays = serialization.pack(_learnt(source.one_of(KINDS)))
    path = _place() / f"{os.getpid()}-values.heros"
    archive.write(path, "model", _replaced(document, source), _plain(_damaged(arrays, source)))
    _load(path.read_bytes())


def _plain(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return a value of any type that a file can hold."""
    return {
        name: array
        for name, array in arrays.items()
        if isinstance(array, np.ndarray) and array.dtype in PLAIN and array.size < LARGEST
    }


def _replaced(node: Any, source: BytesIn) -> Any:
    """Return a document with one value replaced or removed."""
    if not isinstance(node, dict | list) or not node or source.byte() & 3 == 0:
        return source.one_of([None, -1, 0, 1e308, "x", [], {}, True, 10**30, [[1]], "Random"])
    keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
    key = keys[source.below(len(keys))]
    copied = dict(node) if isinstance(node, dict) else list(node)
    copied[key] = node[key] if source.byte() & 7 == 0 else _replaced(node[key], source)
    return copied


@cache
def _run_directory() -> Path:
    place = _place() / "checkpointed"
    evaluate(
        Heros(POOL, k=1, seed=1),
        streams.Agrawal(2).take(90),
        window=20,
        checkpoint=place,
        every=EVERY,
        progress=False,
    )
    return place


def _checkpoint() -> list[bytes]:
    oldest = min(checkpoints.found(_run_directory()), key=lambda one: one.instances)
    return [Path(oldest.path).read_bytes()]


@target(_checkpoint)
def checkpoint_signed(data: bytes) -> None:
    """A run resumed from a checkpoint with damaged bytes and a valid checksum."""
    _resume(_signed(data))


@target(_checkpoint)
def checkpoint(data: bytes) -> None:
    """A run resumed from a checkpoint with damaged bytes."""
    _resume(data)


def _resume(data: bytes) -> None:
    place = _place() / f"{os.getpid()}-resumed"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(_run_directory(), place)
    oldest = min(checkpoints.found(place), key=lambda one: one.instances)
    Path(oldest.path).write_bytes(data)
    run = evaluate(
        Heros(POOL, k=1, seed=1),
        streams.Agrawal(2).take(90),
        window=20,
        checkpoint=place,
        every=EVERY,
        resume=oldest.path,
        progress=False,
    )
    assert run.n_instances > 0
