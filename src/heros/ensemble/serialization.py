"""Conversion of a model to plain data and arrays, and back, for files and checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError
from heros._base.registry import described, own_part, rebuilt
from heros.data.schema import Schema, schema_of, schema_plain
from heros.ensemble.watch import AnswerPart
from heros.pools import Pool
from heros.storage import archive
from heros.storage.generators import generator, generator_state

if TYPE_CHECKING:
    from heros.ensemble.heros import Heros

PARTS = ("task", "pool", "policy", "score")
SETTINGS = ("k", "answer", "watch", "burst", "warmup", "budget", "explainable", "seed")

UNFIT = (KeyError, TypeError, ValueError, OverflowError, MemoryError)
"""The exceptions that invalid contents of a file can raise."""

GROUPS = ("pool", "ensemble", "score", "dial", "weights", "importance")

Model = TypeVar("Model", bound="Heros")


def description(model: Heros) -> dict[str, Any]:
    """Return the parts and settings of a model as plain data."""
    parts = {role: described(getattr(model, role)) for role in PARTS}
    settings = {name: getattr(model, name) for name in SETTINGS}
    if (class_weight := getattr(model, "class_weight", None)) is not None:
        settings["class_weight"] = class_weight
    if isinstance(settings["answer"], AnswerPart):
        settings["answer"] = described(settings["answer"])
    return parts | settings


def expect_same(
    kept: Mapping[str, Any], given: Mapping[str, Any], names: Iterable[str], place: str, way: str
) -> None:
    """If two descriptions of a part or setting differ, raise an error that shows the difference."""
    for name in names:
        was, now = (_text(one.get(name)) for one in (kept, given))
        if was != now:
            same = next((i for i, pair in enumerate(zip(was, now, strict=False)) if len(set(pair)) > 1), 0)
            start = max(0, same - 80)
            was, now = (_excerpt(text, start) for text in (was, now))
            raise HerosError(f"The {name} must be the same as in {place}: {was}. Got {now} ({way}).")


def _text(part: Any) -> str:
    return json.dumps(part, separators=(",", ":"), sort_keys=True, default=lambda value: value.tolist())


def _excerpt(text: str, start: int, most: int = 200) -> str:
    return f"{'…' if start else ''}{text[start : start + most]}{'…' if len(text) > start + most else ''}"


def pack(model: Heros, *, allow_code: bool = False) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a model as data: its parts, settings, generator state and learnt arrays.

    Models that are Python objects need `allow_code`; they are stored as pickle bytes.
    """
    if not allow_code:
        expect_plain(model.pool)
    document = description(model) | dict.fromkeys(model.undecided_parts())
    document["rng"] = generator_state(model.rng)
    document["schema"] = None if model.schema is None else schema_plain(model.schema)
    own = own_part(model.policy)
    return document, archive.grouped({"policy": {} if own is None else own.state(), **model.state()})


def unpack(
    kind: type[Model],
    document: Mapping[str, Any],
    arrays: archive.Arrays,
    *,
    allow_code: bool = False,
    **given: Any,
) -> Model:
    """Create a model from the data that `pack` returned; raise a DataError if the data is invalid.

    Pass user-defined parts as the arguments `task`, `pool`, `policy` and `score`. A part that is None is
    created from the document. With `allow_code`, the Python models of the given pool are unpickled, which
    runs code from the file.
    """
    left = {role for role in PARTS if document.get(role, 0) is None and given.get(role) is None}
    parts = {role: rebuilt(document.get(role), role, given.get(role)) for role in PARTS if role not in left}
    if not allow_code and "pool" in parts:
        expect_plain(parts["pool"])
    try:
        settings = {name: document[name] for name in (*SETTINGS, *({"class_weight"} & document.keys()))}
        if isinstance(settings["answer"], dict):
            settings["answer"] = rebuilt(settings["answer"], "answer")
        model = kind(**parts, **settings)
    except UNFIT as error:
        raise DataError(f"The error was: {error!r}.") from None
    return fill(model, document, arrays)


def fill(
    model: Model, document: Mapping[str, Any], arrays: archive.Arrays, schema: Schema | None = None
) -> Model:
    """Restore the packed state into a model with the same parts and settings.

    `schema` is the schema of the document if the caller has already read the schema.
    """
    try:
        model.rng = generator(document["rng"])
        if document["schema"] is not None:
            schema = schema or schema_of(document["schema"])
            learnt = {group: archive.subset(arrays, group) for group in GROUPS}
            model.pool.expect_room(schema, learnt["pool"])  # check this before memory is allocated
            if hasattr(model.score, "expect_room"):
                model.score.expect_room(model.pool.n_models, learnt["ensemble"])
            model.restore(schema, learnt)
    except UNFIT as error:
        raise DataError(f"The error was: {error!r}.") from None
    own = own_part(model.policy)
    if own is not None:
        own.restore(archive.subset(arrays, "policy"))
    return model


def expect_plain(pool: Pool) -> None:
    """Raise an error for a pool that needs pickle, because a model file must not contain code."""
    if not pool.plain:
        kind = type(pool).__name__
        raise HerosError(f"A model file cannot hold the Python objects of {kind}. Use pickle instead.")
