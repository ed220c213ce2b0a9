"""A source that joins instances with labels that arrive later and have the same id."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros._base.interrupts import DeferredInterrupts
from heros._base.parameters import whole
from heros._base.pending import Counts, Id, Pending, bytes_of
from heros.data.values import Refused, label_of, plain_value, value_of
from heros.streams.live.base import END, IDLE, Polled, Signal
from heros.streams.live.rows import OF_MESSAGES, RowSource

__all__ = ["LateSource"]

EXACT = 1 << 53  # a larger float may stand for several whole numbers
PAUSE = 0.05  # seconds to wait for a label before the next read of instances


Rows = deque[tuple[Any, Mapping[str, Any]]]
"""Rows with their positions."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An instance that waits for its label, and the prediction made on its arrival."""

    features: Mapping[str, Any]
    answer: NDArray[np.float64] | None  # None if no prediction was possible
    known: int  # number of labels returned before the instance arrived

    def bytes(self) -> int:
        """Return the approximate memory size of the instance in bytes, including 400 bytes of overhead."""
        return 400 + bytes_of(self.features) + (0 if self.answer is None else self.answer.nbytes)


class LateSource(RowSource):
    """A source that joins the instances of one source with the labels of another source by their ids.

    The model predicts an instance when the instance arrives. When its label arrives, the prediction is
    evaluated and the model is trained on the instance. Instances are therefore processed in the order in
    which their labels arrive. Instances that wait for their labels are kept in a bounded store.
    Checkpoints contain this store and the positions of both sources. A label may arrive shortly before its
    instance. A repeated instance is ignored; a different instance with the id of a waiting instance is a
    bad row.

    Parameters
    ----------
    features, labels
        The two sources, e.g. two topics of a queue.
    id
        The field that holds the id in both sources: a string or a whole number (7 equals "7").
    target
        The field that holds the label in `labels`.
    most
        The maximum number of instances that wait for a label. At this limit, labels are read first.
    longest
        The maximum waiting time in seconds; None for no limit.
    memory
        The maximum memory in bytes for instances that wait for a label. An instance that needs more than a
        quarter of this memory is a bad row.
    expired
        The label of instances whose own label does not arrive in time; None drops these instances.
    clock
        A function that returns the time in seconds since the epoch.
    **settings
        As for `heros.streams.live.RowSource`, except `target`.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools
    >>> class Lines(RowSource):
    ...     def __init__(self, rows):
    ...         super().__init__("lines")
    ...         self.rows = [(row, {"row": at + 1}) for at, row in enumerate(rows)]
    ...     def fetch(self, most, timeout):
    ...         got, self.rows = self.rows[:most], self.rows[most:]
    ...         return got or END
    ...     def go_to(self, position):
    ...         self.rows = self.rows[position["row"]:]
    >>> orders = Lines([{"order": i, "amount": i % 7} for i in range(500)])
    >>> labels = Lines([{"order": i, "fraud": i % 7 > 4} for i in range(490)])
    >>> source = LateSource(orders, labels, id="order", target="fraud")
    >>> run = evaluate(Heros(pools.MLPGrid(hidden=[8]), k=2, seed=1), source)
    >>> run.n_instances, source.waiting, source.counts.unknown
    (490, 10, 0)
    """

    def __init__(
        self,
        features: RowSource,
        labels: RowSource,
        *,
        id: str,
        target: str,
        most: int = 100_000,
        longest: float | None = None,
        memory: int = 256_000_000,
        expired: object = None,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> None:
        super().__init__(f"{features.name} + {labels.name}", target=target, limits=OF_MESSAGES, **settings)
        if not isinstance(id, str):
            raise ParameterError.of("id", "LateSource", "the name of a field that both sources have", id)
        self.features, self.labels = features, labels
        self._id, self._target = id, target
        self._room = (most, longest)
        self._memory = whole(memory, "memory", "LateSource", 1)
        self._expired_label, self._clock = expired, clock
        self.counts = Counts()
        self._model: Any = None
        self._bound: Any = None  # last schema bound to the model
        self._given: list[NDArray[np.float64] | None] = []
        self._delays: list[int] = []
        self._delay = 0  # delay of the label returned last
        self._fetched_some = False  # whether `fetch` returned rows in this poll
        self._clear()

    def _clear(self) -> None:
        self._waiting: Pending[_Waiting] = Pending(
            *self._room, self._expire, self._clock, "LateSource", self._memory, _Waiting.bytes
        )
        self._early: Pending[Any] = Pending(  # labels that arrived before their instances
            *self._room, self._no_instance, self._clock, "LateSource", self._memory, bytes_of
        )
        self._leaving: dict[Id, tuple[_Waiting, float]] = {}  # labelled instances, not returned yet
        self._features_at: dict[str, Any] = {}
        self._passed: dict[str, Any] = {}  # position of labels that produced no row
        # The rows that were fetched but not processed; an error or an interrupt leaves them here.
        self._unread: dict[str, Rows] = {"features": deque(), "labels": deque()}
        self._ready: deque[tuple[Any, dict[str, Any]]] = deque()  # rows to be fetched
        # The id of each row that is not returned yet, and its label and arrival time if the label came first.
        # The id is None for an invalid message, which is reported as a bad row.
        self._joined: deque[tuple[Id | None, tuple[Any, float] | None]] = deque()
        # Early labels that a resumed run reads again, with the number of rows that were appended before: the
        # position of the next row covers the label.
        self._ahead_of_rows: dict[Id, tuple[Any, int]] = {}
        self._reread: dict[Id, Any] = {}  # such labels of the checkpoint, until they are read again
        self._appended = self._returned = 0  # number of rows
        self._over = {"features": False, "labels": False}

    @property
    def waiting(self) -> int:
        """The number of instances that wait for their labels."""
        return len(self._waiting)

    # -- the model ----------------------------------------------------------------------------------------

    def meet(self, model: Any) -> None:
        """Set the model that predicts arriving instances."""
        self._model, self._bound = model, None

    def answers(self) -> Sequence[NDArray[np.float64] | None]:
        """Return the predictions that were made on arrival for the instances of the last `poll`."""
        return self._given

    def delays(self) -> NDArray[np.int64]:
        """Return the label delay of each instance of the last `poll`."""
        return np.array(self._delays, dtype=np.int64)

    def _answer(self, features: Mapping[str, Any]) -> NDArray[np.float64] | None:
        schema = self.schema
        if self._model is None or not (schema.n_features and schema.n_outputs):
            return None
        if self._bound is not schema:
            self._model.bind(schema)
            self._bound = schema
        try:
            row = self._rows.encoder.row(features)
        except Refused:  # the bad row is reported when its label arrives
            return None
        answered: NDArray[np.float64] = self._model.outputs(np.array([row], dtype=np.float64), self._delay)[0]
        return answered

    # -- reading ------------------------------------------------------------------------------------------

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """Return up to `most` instances whose labels have arrived, within `timeout` seconds."""
        before, self._fetched_some = self._rows.read, False
        self._given, self._delays = [], []
        try:
            return super().poll(most, timeout)
        finally:
            for place in range(self._rows.read - before):
                id, _ = self._joined.popleft()
                waited = None if id is None else self._leaving.pop(id)[0]
                if waited is not None and place in self._rows.given:
                    self._given.append(waited.answer)
                    self._delay = max(0, self.counts.learnt - waited.known)
                    self._delays.append(self._delay)
                    self.counts.learnt += 1
            self._returned += self._rows.read - before
            while self._ahead_of_rows:
                id, (_, appended) = next(iter(self._ahead_of_rows.items()))
                if appended >= self._returned:
                    break
                del self._ahead_of_rows[id]

    def fetch(self, most: int, timeout: float | None) -> Sequence[tuple[Any, Mapping[str, Any]]] | Signal:
        """Return up to `most` labelled instances, each with the position after its label."""
        if self._fetched_some and self._model is not None:  # learn these rows before predicting more
            return IDLE
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._ready:
            full = self._waiting.full
            came = not full and self._take_features(most)
            came = self._take_labels(most, 0.0 if came else PAUSE) or came
            if full and not came:
                came = self._take_features(most)
            self._waiting.enforce_limits()
            self._early.enforce_limits()
            if not (self._ready or came) and all(self._over.values()):
                return END
            if not self._ready and deadline is not None and time.monotonic() >= deadline:
                return IDLE
        self._fetched_some = True
        return [self._ready.popleft() for _ in range(min(most, len(self._ready)))]

    def _take_features(self, most: int, wait: float = 0.0) -> bool:
        """Predict up to `most` available instances; return whether any instances were available."""
        room = max(1, min(most, 1000, self._waiting.most - len(self._waiting)))
        rows = self._fetch_from("features", room, wait)
        came = bool(rows)
        while rows:
            row, position = rows[0]
            id = self._id_of(row)
            waiting = None if id is None else self._arrived(id, row)
            with DeferredInterrupts():  # the position and the waiting instances change together
                rows.popleft()
                self._features_at |= position
                if id is None:
                    self._refuse(row)
                elif waiting is not None and self._waiting.too_large(id, waiting):
                    self._append(f"an instance of {self._waiting.size_of(id, waiting):,} bytes")
                elif waiting is not None:
                    self.counts.answered += 1
                    self._waiting.put(id, waiting)
                    self._join_early(id)
                elif not self._is_repeated(id, row):
                    self._append(
                        f"a different instance with the id {id!r}, which belongs to a waiting instance"
                    )
        return came

    def _arrived(self, id: Id, row: Mapping[str, Any]) -> _Waiting | None:
        """Predict an instance; return None if an instance with this id is waiting."""
        if id in self._waiting or id in self._leaving:
            return None
        features = self._features_of(row)
        return _Waiting(features, self._answer(features), self.counts.learnt)

    def _features_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in row if name not in (self._id, self._target)}

    def _is_repeated(self, id: Id, row: Mapping[str, Any]) -> bool:
        """Return whether the instance is equal to the waiting instance with this id."""
        known = self._waiting.get(id) or self._leaving[id][0]
        return bool(plain_value(known.features) == plain_value(self._features_of(row)))

    def _take_labels(self, most: int, wait: float) -> bool:
        """Join the available labels with their instances; return whether any labels were available."""
        looked = False
        rows = self._fetch_from("labels", most, wait)
        came = bool(rows)
        while rows:
            row, position = rows[0]
            id = self._id_of(row) if isinstance(row, Mapping) and self._target in row else None
            while not (id is None or id in self._waiting or self._waiting.full or looked):
                looked = not self._take_features(1000, PAUSE)  # the instance may arrive next
            with DeferredInterrupts():  # the position and the labels change together
                rows.popleft()
                self._passed |= {f"labels {part}": place for part, place in position.items()}
                if id is None:
                    self._refuse(row)
                elif id in self._reread and self._reread[id] == row[self._target]:
                    self._note_ahead(id, self._reread.pop(id))
                elif id in self._waiting:
                    self._join(id, *self._waiting.pop(id), row[self._target])
                elif id in self._leaving:
                    self.counts.unknown += 1
                else:
                    self._note_ahead(id, row[self._target])
                    self._early.put(id, row[self._target])
        return came

    def _note_ahead(self, id: Id, label: Any) -> None:
        self._ahead_of_rows.pop(id, None)  # the order of the labels is that of their positions
        self._ahead_of_rows[id] = label, self._appended

    def _fetch_from(self, which: str, most: int, wait: float) -> Rows:
        """Return the rows of a source that have not been processed yet; if none are left, fetch more."""
        rows = self._unread[which]
        if not rows:
            got = END if self._over[which] else getattr(self, which).fetch(most, wait)
            self._over[which] = got is END
            rows.extend([] if isinstance(got, Signal) else got)
        return rows

    def _id_of(self, row: Any) -> Id | None:
        """Return the id of a row as a string, or None if it is invalid. The ids 7, 7.0 and "7" are equal."""
        id = row.get(self._id) if isinstance(row, Mapping) else None
        if isinstance(id, bool) or not isinstance(id, str | int | float):
            return None
        if isinstance(id, float) and not (id.is_integer() and abs(id) <= EXACT):
            return None
        return label_of(id)

    def _join(self, id: Id, waited: _Waiting, since: float, label: Any, early: float | None = None) -> None:
        """Add an instance with its label to the rows to be returned."""
        self._leaving[id] = waited, since
        self._append((waited.features, label), id, None if early is None else (label, early))

    def _join_early(self, id: Id) -> None:
        """Join a waiting instance with a label that arrived earlier."""
        if id in self._early and id in self._waiting:
            self._join(id, *self._waiting.pop(id), *self._early.pop(id))

    def _refuse(self, row: Any) -> None:
        """Report a message as a bad row, because it is neither an instance nor a label."""
        missing = f"({self._id!r} or {self._target!r} is missing)"
        if (
            isinstance(row, Mapping)
            and isinstance(row.get(self._id), int | float)
            and self._id_of(row) is None
        ):
            missing = f"({self._id!r} must be text or a whole number up to 2**53)"
        self._append(f"{dict(row)!r} {missing}" if isinstance(row, Mapping) else row)

    def _append(self, row: Any, id: Id | None = None, early: tuple[Any, float] | None = None) -> None:
        self._ready.append((row, self._passed))
        self._joined.append((id, early))
        self._passed = {}
        self._appended += 1

    def _expire(self, id: Id, waited: _Waiting) -> None:
        """Handle an instance whose label did not arrive in time."""
        self.counts.expired += 1
        if self._expired_label is not None:
            now = self._clock()
            # With `early`, a checkpoint stores the label: no message contains this label.
            self._join(id, waited, now, self._expired_label, early=now)

    def _no_instance(self, id: Id, label: Any) -> None:
        self.counts.unknown += 1  # the instance of this label did not arrive in time
        self._ahead_of_rows.pop(id, None)

    # -- the position -----------------------------------------------------------------------------------

    def where(self) -> dict[str, Any]:
        """Return the positions of both sources, and the waiting instances."""
        early = [(id, *label) for id, label in self._joined if label is not None]
        leaving = [(id, one, since) for id, (one, since) in self._leaving.items()]
        reread = {id: label for id, (label, _) in self._ahead_of_rows.items()} | self._reread
        waiting = []
        for id, one, since in (*leaving, *self._waiting.all()):
            answer = None if one.answer is None else one.answer.tolist()
            waiting.append([id, plain_value(one.features), answer, since, one.known])
        return {
            **super().where(),
            "features": dict(self._features_at),
            "waiting": waiting,
            "early": [[id, plain_value(y), since] for id, y, since in (*early, *self._early.all())],
            "reread": [[id, plain_value(y)] for id, y in reread.items()],
            "counts": asdict(self.counts),
            "delay": self._delay,
        }

    def seek(self, where: Mapping[str, Any]) -> None:
        """Go to a position returned by `where`, and restore the waiting instances."""
        try:
            waiting = []
            for id, x, p, since, known in where["waiting"]:
                answer = None if p is None else np.array(p, dtype=np.float64)
                waiting.append((_id(id), _Waiting(dict(value_of(x)), answer, int(known)), float(since)))
            delay = int(where["delay"])
            early = [(_id(id), value_of(label), float(since)) for id, label, since in where["early"]]
            reread = {_id(id): value_of(label) for id, label in where.get("reread", ())}
            counts, features_at = Counts(**where["counts"]), dict(where["features"])
        except (KeyError, TypeError, ValueError) as error:
            rule = "The position of LateSource must be a value returned by its method 'where'."
            raise DataError(f"{rule} The error was: {error}") from None
        super().seek(where)
        self._clear()
        self.counts, self._features_at = counts, features_at
        if features_at:
            self.features.go_to(features_at)
        self._delay, self._reread = delay, reread
        for one in waiting:
            self._waiting.hold(*one)
        for label in early:
            self._early.hold(*label)
            self._join_early(label[0])

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Continue reading labels after this position."""
        if position:
            self.labels.go_to(_labels_at(position))

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        """Call `acknowledge` on both sources with their positions in a checkpoint."""
        self.labels.acknowledge({"position": _labels_at(where["position"])})
        self.features.acknowledge({"position": where["features"]})

    def hold(self) -> None:
        """Call `hold` on both sources."""
        self.features.hold()
        self.labels.hold()

    def close(self) -> None:
        """Close both sources."""
        self.features.close()
        self.labels.close()


def _id(id: Any) -> Id:
    if not isinstance(id, str | int):
        raise TypeError(f"an id must be a string or a whole number. Got {id!r}.")
    return str(id)


def _labels_at(position: Mapping[str, Any]) -> dict[str, Any]:
    """Return the position of the label source, with the label prefix removed from the keys."""
    return {part.removeprefix("labels "): place for part, place in position.items()}
