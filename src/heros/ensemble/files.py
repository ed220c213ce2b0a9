"""A whole model as plain data and arrays, and back: what files and checkpoints hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from heros._base.registry import described, own_part, rebuilt
from heros.data.schema import Schema, schema_of, schema_plain
from heros.ensemble.task import Task
from heros.ensemble.watch import AnswerPart
from heros.errors import DataError, HerosError
from heros.policies import Policy
from heros.pools import Pool
from heros.scores import Score
from heros.storage import archive
from heros.storage.generators import generator, generator_state

__all__ = ["PARTS", "description", "expect_plain", "fill", "pack", "unpack"]

PARTS = ("task", "pool", "policy", "score")
SETTINGS = ("k", "answer", "watch", "burst", "warmup", "seed")

UNFIT = (KeyError, TypeError, ValueError, OverflowError, MemoryError)
"""What is raised if a file has what no model can be made of."""

GROUPS = ("pool", "ensemble", "score", "pace", "weights")


class Packable(Protocol):
    """What is asked of a model: `heros.Heros` has it."""

    task: Task
    policy: Policy
    score: Score
    rng: np.random.Generator

    @property
    def pool(self) -> Pool:
        """The models, as they were described."""
        ...

    @property
    def schema(self) -> Schema | None:
        """What an instance looks like; None before that is known."""
        ...

    def state(self) -> dict[str, dict[str, NDArray[Any]]]:
        """What it has learnt, as groups of arrays."""
        ...

    def restore(self, schema: Schema, state: Mapping[str, dict[str, NDArray[Any]]]) -> None:
        """Take back what `state` gave."""
        ...


M = TypeVar("M", bound=Packable)


def description(model: Packable) -> dict[str, Any]:
    """What a model is made of: its parts and settings as plain data.

    Examples
    --------
    >>> from heros import Heros
    >>> description(Heros(k=3, seed=1))["score"], description(Heros(k=3, seed=1))["k"]
    ({'kind': 'Adwin', 'delta': 1e-05, 'restart': False}, 3)
    """
    parts = {role: described(getattr(model, role)) for role in PARTS}
    settings = {name: getattr(model, name) for name in SETTINGS}
    if (class_weight := getattr(model, "class_weight", None)) is not None:
        settings["class_weight"] = class_weight
    if isinstance(settings["answer"], AnswerPart):
        settings["answer"] = described(settings["answer"])
    return parts | settings


def pack(model: Packable, *, allow_code: bool = False) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """All of a model: what it is made of, where its generator stands, and what it has learnt.

    Models that are Python objects are among it only with `allow_code`, as the bytes of their pickle.

    Examples
    --------
    >>> from heros import Heros, pools
    >>> document, arrays = pack(Heros(pools.Paper(), k=3, seed=1))
    >>> unpack(Heros, document, arrays)
    <Heros MLPGrid(50 models, costs='hidden'), Explore(Zeta(0.05), 0.2), k=3, not bound>
    """
    if not allow_code:
        expect_plain(model.pool)
    document = description(model)
    document["rng"] = generator_state(model.rng)
    document["schema"] = None if model.schema is None else schema_plain(model.schema)
    own = own_part(model.policy)
    return document, archive.grouped({"policy": {} if own is None else own.state(), **model.state()})


def unpack(
    kind: type[M],
    document: Mapping[str, Any],
    arrays: archive.Arrays,
    *,
    task: Task | None = None,
    pool: Pool | None = None,
    policy: Policy | None = None,
    score: Score | None = None,
    allow_code: bool = False,
) -> M:
    """The model that `pack` packed; a DataError if there can be none. Parts of your own are brought along.

    With `allow_code` a pool of Python objects that is brought along is unpickled, which runs what the file
    says.
    """
    given = {"task": task, "pool": pool, "policy": policy, "score": score}
    parts = {role: rebuilt(document.get(role), role, given[role]) for role in PARTS}
    if not allow_code:
        expect_plain(parts["pool"])
    try:
        settings = {name: document[name] for name in (*SETTINGS, *({"class_weight"} & document.keys()))}
        if isinstance(settings["answer"], dict):
            settings["answer"] = rebuilt(settings["answer"], "answer")
        model = kind(**parts, **settings)
    except UNFIT as error:
        raise DataError(f"Got: {error!r}.") from None
    return fill(model, document, arrays)


def fill(model: M, document: Mapping[str, Any], arrays: archive.Arrays, schema: Schema | None = None) -> M:
    """Have a model that is made as the packed one was know what that one knew.

    `schema` is what the document says, if somebody has it already.
    """
    try:
        model.rng = generator(document["rng"])
        if document["schema"] is not None:
            _restore(model, schema or schema_of(document["schema"]), arrays)
    except UNFIT as error:
        raise DataError(f"Got: {error!r}.") from None
    own = own_part(model.policy)
    if own is not None:
        own.restore(archive.subset(arrays, "policy"))
    return model


def _restore(model: Packable, schema: Schema, arrays: archive.Arrays) -> None:
    """Have the model take back what it had learnt, if it has room for it."""
    learnt = {group: archive.subset(arrays, group) for group in GROUPS}
    model.pool.expect_room(schema, learnt["pool"])
    expect_room = getattr(model.score, "expect_room", None)
    if expect_room is not None:
        expect_room(model.pool.n_models, learnt["ensemble"])
    model.restore(schema, learnt)


def expect_plain(pool: Pool) -> None:
    """Refuse to keep in a file, or to take from one, what only unpickling could bring back."""
    if not pool.plain:
        kind = type(pool).__name__
        raise HerosError(f"A file holds data, no code, and {kind} holds Python objects: keep it with pickle.")
