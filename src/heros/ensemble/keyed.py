"""One model per key (a sensor, a customer, a machine), with a limit on the models in memory."""

from __future__ import annotations

import copy
import heapq
import json
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any, Literal, NoReturn, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import DataError, HerosError, ParameterError
from heros._base.interrupts import DeferredInterrupts
from heros._base.parameters import identifier, whole
from heros.data.check import one_row
from heros.data.encoder import Encoder
from heros.data.frames import form_of, labels_of
from heros.data.schema import Schema, schema_of, schema_plain
from heros.ensemble import Block, Heros, serialization
from heros.ensemble.block import joined
from heros.ensemble.copies import Copies
from heros.ensemble.task import Task
from heros.storage import archive
from heros.storage.disk import reason
from heros.storage.keystore import KeyStore, NotKept, Tally

__all__ = ["KeyFigures", "Keyed"]

Key = str | int
OVERHEAD = 12 * 1024
"""Memory of a model in bytes, in addition to its learnt arrays."""
HELD = 1.5
"""Bytes of memory per byte of learnt arrays, fragmentation included; measured and rounded up."""
MOVED = 16 << 20
"""Loaded and spilled bytes after which free memory is returned to the system; fewer if `memory` is small."""
WEIGHED = 1000  # instances after which a model's size is measured again, since trees grow


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The results of the model of one key, or of all models together.

    All figures refer to predictions made before the label was known. They are NaN if there are no instances.
    `accuracy` is NaN for regression, and the errors are NaN for classification.

    Examples
    --------
    >>> KeyFigures.of(Tally(4, spent=2.0, absolute=6.0, squared=10.0, naive=12.0), numeric=True)
    KeyFigures(instances=4, accuracy=nan, gamma_share=0.5, mae=1.5, rmse=1.58..., relative_error=0.5)
    """

    instances: int
    accuracy: float
    gamma_share: float  # training cost, as a share of the cost of training all models
    mae: float = math.nan
    rmse: float = math.nan
    relative_error: float = math.nan  # MAE divided by the MAE of the running mean of the targets

    @classmethod
    def of(cls, tally: Tally, *, numeric: bool = False) -> KeyFigures:
        """Compute the metrics from the counts of a tally."""
        n = tally.instances
        if n == 0:
            return cls(0, math.nan, math.nan)
        if not numeric:
            return cls(n, tally.hits / n, tally.spent / n)
        relative = tally.absolute / tally.naive if tally.naive > 0 else math.nan
        return cls(n, math.nan, tally.spent / n, tally.absolute / n, math.sqrt(tally.squared / n), relative)


@dataclass(slots=True)
class _Resident:
    """A model in memory."""

    model: Heros
    tally: Tally
    size: int  # size in bytes
    dirty: bool = False  # whether the model changed since it was written to the file
    stored: Tally | None = None  # the tally in the file; None if the key is not in the file
    learnt_since_weighed: int = 0
    fitted: Heros | None = None  # the model that predicts if the schema has grown since `model` last learnt

    def count(self, block: Block, y: ArrayLike) -> None:
        """Add the results of a block of instances."""
        schema = self.model.schema
        assert schema is not None, "the model has learnt"
        targets = self.model.task.targets(y, len(block.spent), schema)
        self.tally = self.tally.plus(_tally(self.model.task, block, targets))
        self.learnt_since_weighed += len(block.spent)
        self.dirty = True


def _tally(task: Task, block: Block, y: NDArray[np.float64]) -> Tally:
    n, spent = len(block.spent), float(block.spent.sum())
    if not task.numeric:
        return Tally(n, int((block.probabilities.argmax(axis=1) == y).sum()), spent)
    errors = np.abs(block.outputs[:, 0] - y)
    naive = np.abs(block.outputs[:, 3] - y)
    return Tally(n, 0, spent, float(errors.sum()), float(np.square(errors).sum()), float(naive.sum()))


class Keyed:
    """A separate `Heros` for each key.

    The first instance of a key creates its model, a copy of the given model. When memory is full, the least
    recently used models are written to a file. A model in the file is read back unchanged when it is needed.

    Instances have the same forms as for `Heros`: arrays, dictionaries, lists of dictionaries, data frames.
    All keys share one schema. The schema is extended when a row has new fields or values, and is stored with
    the models.

    Parameters
    ----------
    model
        The initial model of each key: a Heros, trained or not.
    capacity
        The maximum number of models in memory; None means no limit.
    memory
        The maximum size of the models in memory, in bytes; None means no limit. The model in use always stays
        in memory.
    directory
        The directory of the stored models. A `Keyed` that later opens this directory finds the state of the
        last `commit`, even after a crash. The later `Keyed` must have a `model` with the same pool and task.
        The default is a temporary directory, which `close` deletes.

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> stream = streams.Agrawal(function=2)
    >>> template = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, schema=stream.schema)
    >>> with Keyed(template, capacity=2) as keyed:
    ...     for sensor in ("roof", "door", "hall", "roof"):
    ...         keyed = keyed.learn(sensor, *stream.draw(100))
    ...     sorted(keyed), keyed.figures("roof").instances, keyed.overall().instances, keyed.in_memory
    (['door', 'hall', 'roof'], 200, 400, 2)
    """

    def __init__(
        self,
        model: Heros,
        *,
        capacity: int | None = None,
        memory: int | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(model, Heros):
            raise ParameterError.of("model", "Keyed", "a Heros", model)
        if not model.pool.plain:
            rule = "a Heros without Python models in its pool, because models are stored in files"
            raise ParameterError.of("model", "Keyed", rule, model)
        self.start = copy.deepcopy(model)  # the initial model, as the user passed it
        self.template = copy.deepcopy(model)  # the initial model, extended to the current schema
        self._copies: Copies | None = None  # copies of the current template
        self.capacity = None if capacity is None else whole(capacity, "capacity", "Keyed", 1)
        self.memory = None if memory is None else whole(memory, "memory", "Keyed", 1)
        try:
            self._temporary = TemporaryDirectory(prefix="heros-") if directory is None else None
        except OSError as error:
            text = f"Keyed cannot create a temporary directory: {reason(error)}. Pass directory= instead."
            raise HerosError(text) from None
        self._store = KeyStore(self._temporary.name if directory is None else directory)  # type: ignore[union-attr]
        self._residents: OrderedDict[str, _Resident] = OrderedDict()
        self._reader: tuple[Schema | None, Encoder] | None = None  # the encoder of rows and its schema
        self._bytes = 0
        self._moved = 0  # bytes of models loaded or spilled since free memory was last returned
        self._lock = threading.RLock()
        self._kept: Schema | None = None  # the schema in the file
        self._learnt = 0  # number of training instances of all keys
        try:
            self._learnt = self._store.total()[1].instances
            self._know_kept()
        except BaseException:
            self.close()
            raise

    def _know_kept(self) -> None:
        """Read the stored schema; raise an error if the stored models have a different pool or task."""
        plain, known = self._store.note("schema"), self.template.schema
        if plain is None:
            return
        schema = schema_of(plain)
        if known is None or schema.extends(known):
            self.bind(schema)
            self._kept = schema
        elif not known.extends(schema):
            rule = f"must extend the schema in {self._store.path}: {schema}"
            raise HerosError(f"The schema of Keyed {rule}. Got {known} instead.")
        kept, own = self._store.note("template") or {}, self._described()
        serialization.expect_same(kept, own, list(kept), f"{self._store.path}", "use another directory")

    def _described(self) -> dict[str, Any]:
        """Return the pool and the task of the models in the format of the file."""
        described = serialization.description(self.template)
        parts: dict[str, Any] = json.loads(json.dumps({part: described[part] for part in ("task", "pool")}))
        return parts

    # -- learning and predicting --------------------------------------------------------------------------

    def learn(self, key: Key, x: Any, y: Any) -> Self:
        """Train the model of a key on one instance, or on several instances in order.

        Examples
        --------
        >>> from heros import Heros, pools
        >>> with Keyed(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)) as keyed:
        ...     keyed = keyed.learn("roof", {"degrees": 21.5, "room": "attic"}, "ok")
        ...     keyed = keyed.learn("hall", [{"degrees": "19.5"}, {"degrees": 35}], ["ok", "alarm"])
        ...     sorted(keyed.predict_proba("roof", {"degrees": 20})), keyed.overall().instances
        (['alarm', 'ok'], 3)
        """
        single = form_of(x) == "array" and np.ndim(x) == 1
        X = np.asarray(x)[np.newaxis] if single else x
        self.test_then_train(key, X, one_row(y) if single else y)
        return self

    def test_then_train(self, key: Key, X: Any, y: Any) -> Block:
        """Predict each instance with the model of a key, then learn from its label."""
        with self._lock:
            name = _name(key)
            return self._run(name, X, y) if form_of(X) == "array" else self._run_rows(name, X, y)

    def _run(self, name: str, X: ArrayLike, y: ArrayLike, *, begun: bool = False) -> Block:
        with DeferredInterrupts():  # so that the model and its figures change together
            if begun:  # a full disk must not stop a call that has learnt some of its rows
                resident = self._residents[name]
                self._grow(resident)
            else:
                resident = self._resident(name, make=True)
            try:
                block = resident.model.test_then_train(X, y)
            except BaseException:
                if resident.stored is None and not resident.tally.instances:
                    self._drop(name)  # rejected instances create no key
                raise
            resident.count(block, y)
            self._learnt += len(block.spent)
            if resident.learnt_since_weighed >= WEIGHED:
                self._weigh(resident)
            with suppress(NotKept):  # this call has already learnt; the next call raises the error
                self._make_room(name)
            return block

    def _run_rows(self, name: str, x: Any, y: Any) -> Block:
        if self.template.schema is None and self.template.given_task is None:
            for model in (self.start, self.template):
                model.adopt_task_of_labels(labels_of(x, y))
        encoder, blocks = self.encoder(), list[Block]()
        self._reader = None  # after an error, the encoder's schema may be larger than that of the models
        for batch in list(encoder.learn(x, y)):  # read all rows before learning from the first row
            self.bind(batch.schema)
            blocks.append(self._run(name, batch.X, batch.y, begun=bool(blocks)))
        self._reader = (self.template.schema, encoder)
        blocks = blocks or [self._run(name, np.empty((0, encoder.schema.n_features)), [])]
        return joined([_widened(block, blocks[-1].outputs.shape[1]) for block in blocks])

    def encoder(self) -> Encoder:
        """Return the encoder that turns rows of all keys into numbers, for the current schema."""
        with self._lock:
            if self._reader is None or self._reader[0] is not self.template.schema:
                schema, numeric = self.template.schema, self.template.task.numeric
                said = self.template.given_task is not None
                self._reader = (schema, Encoder(schema, numeric=numeric, fractions=said, seen=self.seen))
            return self._reader[1]

    @property
    def seen(self) -> int:
        """The total number of training instances of the initial model and of the models of all keys."""
        return self._learnt + (0 if self.start.schema is None else self.start.instances)

    def predict_proba(self, key: Key, x: Any) -> Any:
        """Return the class probabilities from the model of a key; a new key uses the initial model."""
        return self._asked(key, Heros.predict_proba, x)

    def predict(self, key: Key, x: Any) -> Any:
        """Return the predicted class or, for regression, the predicted value of one or several instances."""
        return self._asked(key, Heros.predict, x)

    def predict_interval(self, key: Key, x: Any) -> Any:
        """Return the lower and upper bounds of the prediction interval: (2,) or, for n instances, (n, 2)."""
        return self._asked(key, Heros.predict_interval, x)

    def answers(self, key: Key, x: Any) -> Any:
        """Return all outputs for one instance or several; the task defines the outputs."""
        return self._asked(key, Heros.answers, x)

    def outputs(self, key: Key, rows: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """Return all outputs for a list of rows.

        Raise `heros.data.values.Refused` if a row cannot be read or has no known feature.
        """

        def ask(model: Heros, rows: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
            encoder = self.encoder()
            return model.outputs(np.array([encoder.row_to_predict(x) for x in rows], dtype=np.float64))

        told: NDArray[np.float64] = self._asked(key, ask, rows)
        return told

    def _asked(self, key: Key, ask: Callable[[Heros, Any], Any], x: Any) -> Any:
        with self._lock:
            resident = self._found(key)
            model = self.template if resident is None else self._fitted(key, resident)
            if form_of(x) != "array":
                model.read_with(self.encoder())
            return ask(model, x)

    def bind(self, schema: Schema) -> Self:
        """Extend each model to this schema the next time the model learns.

        A model that is extended in several steps differs from a model that is extended in one step. Therefore
        the model of a key, in memory or in the file, is extended only when it learns. A new model starts with
        the whole schema.
        """
        with self._lock:
            known = self.template.schema
            if known is not None and (schema == known or not schema.extends(known)):
                self.template.bind(schema)  # raises an error if the schema does not fit
            else:
                self.template = copy.deepcopy(self.start).bind(schema)
                self._copies = None
            return self

    # -- the keys -------------------------------------------------------------------------------------------

    def set_limit(self, key: Key) -> float | None:
        """Return the threshold of a key's prediction sets (`Heros.set_limit`); None for a new key."""
        with self._lock:
            resident = self._found(key)
            return None if resident is None else resident.model.set_limit

    def has_learnt(self, key: Key) -> bool:
        """Return whether the model of a key has been trained; a new key uses the initial model."""
        with self._lock:
            resident = self._found(key)
            return (self.template if resident is None else resident.model).instances > 0

    def __getitem__(self, key: Key) -> Heros:
        """Return a copy of the current model of a key."""
        with self._lock:
            resident = self._found(key)
            if resident is None:
                raise KeyError(key)
            return copy.deepcopy(self._fitted(key, resident))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str | int) and self._tally(_name(key)) is not None

    def __len__(self) -> int:
        with self._lock:
            return self._store.total()[0] + sum(one.stored is None for one in self._residents.values())

    def __iter__(self) -> Iterator[Key]:
        return iter([_key(name) for name in self._tallies()])

    def remove(self, key: Key) -> None:
        """Remove a key and its model."""
        with self._lock:
            name = _name(key)
            tally = self._tally(name)
            if tally is None:
                raise KeyError(key)
            with DeferredInterrupts():
                self._store.remove(name)
                self._learnt -= tally.instances
                if name in self._residents:
                    self._drop(name)

    def figures(self, key: Key) -> KeyFigures:
        """Return the metrics of a key's model. For a new key, the number of instances is 0."""
        with self._lock:
            return self._figures(self._tally(_name(key)) or Tally())

    def overall(self) -> KeyFigures:
        """Return the metrics of all models together."""
        with self._lock:
            total = self._store.total()[1]
            for one in self._residents.values():
                total = total.plus(one.tally.minus(one.stored or Tally()))
            return self._figures(total)

    def busiest(self, n: int) -> list[tuple[Key, KeyFigures]]:
        """Return the n keys with the most instances, each with the metrics of its model."""
        with self._lock:  # for models in memory, the file may have fewer instances, but never more
            tallies = dict(self._store.busiest(n)) | {n: one.tally for n, one in self._residents.items()}
        most = heapq.nlargest(n, tallies.items(), key=lambda pair: pair[1].instances)
        return [(_key(name), self._figures(tally)) for name, tally in most]

    def _figures(self, tally: Tally) -> KeyFigures:
        return KeyFigures.of(tally, numeric=self.template.task.numeric)

    @property
    def in_memory(self) -> int:
        """The number of models in memory."""
        return len(self._residents)

    @property
    def bytes_in_memory(self) -> int:
        """The estimated bytes of all models in memory; the parameter `memory` limits this number."""
        return self._bytes

    # -- the stored state -------------------------------------------------------------------------------

    @property
    def position(self) -> Mapping[str, Any] | None:
        """The `position` of the last `commit`, which may have been made before this `Keyed` was opened."""
        with self._lock:
            return self._store.note()

    @property
    def lost(self) -> int:
        """The number of recent commits missing when the file was opened, e.g. because the log was removed."""
        return self._store.lost

    @property
    def attached(self) -> bytes:
        """The latest bytes that were attached to a commit; empty if no commit had attached bytes."""
        with self._lock:
            return self._store.attached()

    def commit(
        self, position: Mapping[str, Any] | None = None, attached: Iterable[bytes] | None = None
    ) -> None:
        """Write all changed models, the position of the source and `attached`, if given, in one transaction.

        After a crash, the models and `position` are in the state of the last commit. If the disk is full, a
        `heros.HerosError` is raised. No data is lost, and a later commit may succeed.
        """
        try:
            json.dumps(position)
        except (TypeError, ValueError, RecursionError) as error:
            rule = f"data that JSON can represent ({error}), for example {{'offset': 7}}"
            raise ParameterError.of("position", "commit", rule, position) from None
        with self._lock:
            schema = self.template.schema
            new = dict[str, Any]()
            if schema is not None and schema is not self._kept:
                new = {"schema": schema_plain(schema), "template": self._described()}
            changed = {name: one for name, one in self._residents.items() if one.dirty}
            models = ((name, self._packed(one), one.tally) for name, one in changed.items())
            self._store.commit(position, new, models, attached)
            for resident in changed.values():
                resident.dirty, resident.stored = False, resident.tally
            self._kept = schema

    def snapshot(self, position: Mapping[str, Any] | None, path: str | os.PathLike[str]) -> None:
        """Commit, then copy the store to one file.

        To open the copy with `Keyed`, name the file ``keys.sqlite`` and pass the directory of this file as
        `directory`.
        """
        with self._lock:
            self.commit(position)
            self._store.copy(path)

    def close(self) -> None:
        """Close the file. Changes since the last commit are lost."""
        with self._lock:
            self._store.close()
            self._residents.clear()
            if self._temporary is not None:
                self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Commit, unless there was an exception. Close the file in any case."""
        try:
            if kind is None:
                self.commit(self.position)
        finally:
            self.close()

    def __repr__(self) -> str:
        if self._store.closed:
            return f"<Keyed {self.template!r}, closed>"
        return f"<Keyed {self.template!r}, {len(self):,} keys, {self.in_memory:,} in memory>"

    def __reduce__(self) -> NoReturn:
        way = "Open its directory with another Keyed, or copy its models with `snapshot`"
        why = f"because its models are stored in {self._store.path}"
        raise HerosError(f"A Keyed cannot be pickled or copied, {why}. {way}.")

    # -- loading into memory and spilling -----------------------------------------------------------------

    def _found(self, key: Key) -> _Resident | None:
        """Return the model of a key for reading only; None for a new key."""
        with DeferredInterrupts():
            return self._resident(_name(key), make=False)

    @overload
    def _resident(self, name: str, *, make: Literal[True]) -> _Resident: ...
    @overload
    def _resident(self, name: str, *, make: Literal[False]) -> _Resident | None: ...
    def _resident(self, name: str, *, make: bool) -> _Resident | None:
        """Load the model of a key into memory; with `make`, create a model for a new key.

        If no other model can be written to make room, loading a model for training raises an error. A model
        that is loaded only for reading is returned but not kept in memory.
        """
        resident = self._residents.get(name)
        came = resident is None
        if resident is None:
            data = self._store.get(name)
            if data is None and not make:
                return None
            resident = self._fresh() if data is None else self._opened(name, data)
            self._residents[name] = resident
            self._count(resident, resident.size)
            self._moved += resident.size
        self._residents.move_to_end(name)
        try:
            self._make_room(name)
        except NotKept:
            if came:
                self._drop(name)
            if make:
                raise
        if make:
            self._grow(resident)
        return resident

    @property
    def _moulds(self) -> Copies:
        if self._copies is None:
            self._copies = Copies(self.template)
        return self._copies

    def _fresh(self) -> _Resident:
        copies = self._moulds
        return _Resident(copies.fresh(), Tally(), copies.size, dirty=True)

    def _opened(self, name: str, data: bytes) -> _Resident:
        place = f"{self._store.path} (key {name})"
        document, arrays = archive.decoded(data, "model", place)
        try:
            model = self._moulds.opened(document, arrays)
        except DataError as error:
            raise DataError(f"The file {place} does not contain a complete model. {error}") from None
        tally = self._store.tally(name)
        assert tally is not None
        return _Resident(model, tally, sum(array.nbytes for array in arrays.values()), stored=tally)

    def _grow(self, resident: _Resident) -> None:
        schema = self.template.schema
        had_copy, resident.fitted = resident.fitted is not None, None
        grown = schema is not None and resident.model.schema != schema
        if schema is not None and resident.model.schema is not schema:
            resident.model.bind(schema)
            resident.dirty = resident.dirty or grown
        if grown or had_copy:
            self._weigh(resident)

    def _fitted(self, key: Key, resident: _Resident) -> Heros:
        """Return the model extended to the current schema; the stored model does not change."""
        schema = self.template.schema
        if schema is None or resident.model.schema == schema:
            return resident.model if schema is None else resident.model.bind(schema)
        if resident.fitted is None or resident.fitted.schema is not schema:
            resident.fitted = copy.deepcopy(resident.model).bind(schema)
            if self._residents.get(_name(key)) is resident:
                self._weigh(resident)  # the size includes the copy
        return resident.fitted

    def _weigh(self, resident: _Resident) -> None:
        """Measure the size of a model; this is not done for every instance, because all arrays are read."""
        resident.learnt_since_weighed = 0
        if self.memory is None:
            return
        size = sum(
            array.nbytes
            for model in (resident.model, resident.fitted)
            if model is not None
            for group in model.state().values()
            for array in group.values()
        )
        self._bytes -= resident.size
        self._count(resident, size)

    def _count(self, resident: _Resident, learnt: int) -> None:
        resident.size = OVERHEAD + round(HELD * learnt)
        self._bytes += resident.size

    def _make_room(self, using: str) -> None:
        """Move the least recently used models from memory to the file, except the model in use.

        If models cannot be written, drop only unchanged models, which are already in the file.
        """
        refused: NotKept | None = None
        while self._too_many():
            others = ((name, one) for name, one in self._residents.items() if name != using)
            name, resident = next(
                ((name, one) for name, one in others if refused is None or not one.dirty), (None, None)
            )
            if name is None or resident is None:
                break
            try:
                self._write(name, resident)
            except NotKept as error:
                refused = error
            else:
                self._moved += resident.size
                self._drop(name)
        if self.memory is not None and self._moved > min(MOVED, self.memory // 8):
            self._moved = 0
            _core.give_back_memory()
        if refused is not None and self._too_many():
            raise refused

    def _drop(self, name: str) -> None:
        self._bytes -= self._residents.pop(name).size

    def _too_many(self) -> bool:
        if self.capacity is not None and len(self._residents) > self.capacity:
            return True
        return self.memory is not None and self._bytes > self.memory

    def _write(self, name: str, resident: _Resident) -> None:
        if resident.dirty:
            self._store.put(name, self._packed(resident), resident.tally)
            resident.dirty, resident.stored = False, resident.tally

    def _packed(self, resident: _Resident) -> bytes:
        return b"".join(archive.encoded("model", *serialization.pack(resident.model), str(self._store.path)))

    def _tally(self, name: str) -> Tally | None:
        resident = self._residents.get(name)
        return self._store.tally(name) if resident is None else resident.tally

    def _tallies(self) -> dict[str, Tally]:
        with self._lock:
            return dict(self._store.tallies()) | {name: one.tally for name, one in self._residents.items()}


def _widened(block: Block, width: int) -> Block:
    """Return the block, extended by columns of probability 0 for classes that were added later."""
    missing = width - block.outputs.shape[1]
    return replace(block, probabilities=np.pad(block.outputs, ((0, 0), (0, missing)))) if missing else block


def _name(key: object) -> str:
    """Return a key as text; 1 and "1" are different keys."""
    return json.dumps(identifier(key, "key", "Keyed"), ensure_ascii=False)


def _key(name: str) -> Key:
    key: Key = json.loads(name)
    return key
