"""The service without its wire: answers at once, learns in a thread of its own, keeps checkpoints."""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from heros.data.encoder import Encoder
from heros.data.row_encoder import data_error
from heros.data.values import Refused
from heros.ensemble.late import Counts, Pending
from heros.errors import DataNotice, HerosError
from heros.serve.bill import Bill
from heros.serve.checkpoint import Shelf, Waiting
from heros.serve.history import History
from heros.serve.learners import Brain, Given
from heros.serve.limits import Limits, NotNow, Unknown, Wrong, expect_fields, expect_name

__all__ = ["Service", "Taken"]

GATHER = 0.004  # seconds in which labelled instances are gathered: a block costs less than its rows
FEW = 64  # instances for which it is worth while to gather more
IDLE = 1.0  # seconds after which it looks around though nothing has come
SHARE = 20  # publishing takes at most one of so many parts of the time
LONGEST = 400  # characters of what is said to be wrong with an instance
FRESH = 0.02  # seconds: more often is of no use to anybody

Id = str | int
Answer = dict[str, Any]


@dataclass(slots=True)
class Taken:
    """What became of a batch of instances to learn from."""

    accepted: int = 0
    unknown: int = 0  # labels of instances that do not wait
    refused: list[tuple[int, str]] = field(default_factory=list)  # which, and why
    seen: int = 0


class _Encoder(Encoder):
    """What reads the instances to learn from; it keeps what it tells."""

    def __init__(self, *known: Any, **settings: Any) -> None:
        self.notices: list[str] = []
        super().__init__(*known, **settings)

    def tell(self, text: str) -> None:
        """Keep what is told, and tell it; what a filter of warnings makes of that does not matter here."""
        self.notices.append(text)
        with suppress(DataNotice):
            super().tell(text)


class Service:
    """A model that answers and learns at the same time, for as many as ask.

    Answers come from a published state of the model, so that nobody waits for it to learn; what is learnt is
    published as often as that costs less than a twentieth of the time, and at most 50 times a second.
    Labels may come with their instance, or later under its id.

    Parameters
    ----------
    brain
        What learns: `heros.serve.learners.One` model, or `Many`, one per key.
    limits
        How much it takes.
    most, longest
        How many instances may wait for their labels, and for how many seconds (None: as long as there is
        room).
    shelf
        Where checkpoints go, and what it starts from if there is one.
    every
        After how many labelled instances a checkpoint is written.
    bill
        Reads the energy.
    nominal
        Features whose numbers are names.
    window
        Over how many instances a point of the curves is taken, to begin with.

    Examples
    --------
    >>> from heros import Heros, pools
    >>> from heros.serve.learners import One
    >>> with Service(One(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1))) as service:
    ...     for i in range(200):
    ...         service.learn({"x": {"size": i % 7, "colour": "red" if i % 2 else "blue"}, "y": i % 2})
    ...     service.wait()
    ...     answer = service.answer({"id": "order 7", "x": {"size": 3, "colour": "red"}})
    ...     service.learn({"id": "order 7", "y": 1})
    >>> answer["answer"], sorted(answer["probabilities"])
    ('1', ['0', '1'])
    """

    def __init__(
        self,
        brain: Brain,
        *,
        limits: Limits | None = None,
        most: int = 100_000,
        longest: float | None = None,
        shelf: Shelf | None = None,
        every: int = 100_000,
        bill: Bill | None = None,
        nominal: Iterable[str] = (),
        window: int = 100,
    ) -> None:
        self.brain = brain
        self.last_error: str | None = None
        self.limits = limits or Limits()
        self.pending: Pending[Waiting] = Pending(most, longest, self._gone, owner="Service")
        self.counts = Counts()
        self.failed = 0  # instances that the model raised at
        self.fault: str | None = None  # why it learns no more
        self.bill = Bill() if bill is None else bill
        self.shelf, self.every = shelf, every
        self.checkpoints = 0
        self.published = 0  # times
        self.on_work: list[Any] = []  # called by the thread that learns, now and then
        self._door = threading.RLock()  # before what is known and what waits; held for microseconds
        self._jobs: deque[Any] = deque()
        self._queued = 0
        self._expected = 0  # instances of batches that are being taken
        self._kept = 0  # instances queued since the last checkpoint
        self._news = threading.Event()
        self._stopping = False
        self._changed = False
        self._next_publishing = 0.0
        self._resume(window)
        self._says = _number if brain.task.numeric else _class
        self._encoder = _Encoder(
            brain.schema,
            nominal=nominal,
            numeric=brain.task.numeric,
            fractions=False,  # JSON has text for the names of classes
            limits=self.limits.of_schema,
            seen=brain.seen,
        )
        self._bound = known = self._encoder.schema
        self._most_fields = max(self.limits.features, known.n_features + len(known.ignored))
        brain.open(self._bound)
        self.bill.start()
        self._thread = threading.Thread(target=self._work, name="heros learns", daemon=True)
        self._thread.start()

    # -- answering ----------------------------------------------------------------------------------------

    def answer(self, request: Any) -> Answer:
        """What the model says of an instance: ``{"x": {...}}``, with an ``id`` if its label will come."""
        return self.answers([request])[0]

    def answers(self, requests: list[Any]) -> list[Answer]:
        """The same of several, in one go."""
        asked = [self._asked(request) for request in requests]
        try:
            told = self.brain.answer([(key, x) for _, key, x in asked])
        except Refused as why:
            raise _wrong(why) from None
        answers = []
        with self._door:
            self.counts.answered += len(asked)
            for (id, key, x), said in zip(asked, told, strict=True):
                if id is None:
                    answers.append(self._says(*said))
                else:
                    answers.append({"id": id, **self._says(*self._hold(id, key, x, *said))})
        return answers

    def _asked(self, request: Any) -> tuple[Id | None, Id | None, Any]:
        if type(request) is not dict or "x" not in request:
            raise Wrong('A request for an answer must be an object with "x". Got something else.')
        if not request.keys() <= ASKED:
            raise Wrong(f"A request for an answer must have {_named(ASKED)}. Got others.")
        expect_fields(request["x"], self._most_fields)
        return self._name(request, "id"), self._key(request), request["x"]

    def _name(self, request: dict[str, Any], what: str) -> Id | None:
        name = request.get(what)
        if name is None or type(name) is int:
            return name
        if type(name) is not str:
            raise Wrong(f"The {what} must be a text or a whole number. Got something else.")
        return expect_name(name, f"The {what}", self.limits)

    def _key(self, request: dict[str, Any]) -> Id | None:
        key = self._name(request, "key")
        if (key is None) == self.brain.keyed:
            rule = "have a key, for there is a model for each" if key is None else "have no key"
            raise Wrong(f"The request must {rule}.")
        return key

    def _hold(
        self, id: Id, key: Id | None, x: Any, classes: tuple[str, ...], p: NDArray[np.float64]
    ) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Have an instance wait for its label; asked again, the answer is the one that was given."""
        self.pending.let_go()
        row = orjson.dumps(x)
        known = self.pending.get(id)
        if known is None:
            self.pending.put(id, Waiting(row, key, p, self.brain.known()))
            return classes, p
        if known.row != row or known.key != key:
            raise Wrong(f"The id {id!r} must be a new one. Got that of another instance that waits.")
        return classes[: len(known.answer)], known.answer

    def _gone(self, id: Id, waiting: Waiting) -> None:
        self.counts.expired += 1

    # -- learning -------------------------------------------------------------------------------------------

    def learn(self, request: Any) -> None:
        """Learn from ``{"x": {...}, "y": label}``, or from ``{"id": id, "y": label}`` if that waits."""
        with self._door:
            self.expect_room(1)
            self._learn(request)
        self.poke()

    def learn_all(self, requests: list[Any]) -> Taken:
        """The same with several; they are all taken, but for those that are wrong, or none is."""
        taken = Taken()
        with self.room_for(len(requests)):
            self.learn_some(requests, taken)
        return taken

    @contextmanager
    def room_for(self, n: int) -> Iterator[None]:
        """Keep room for so many instances, which come meanwhile by `learn_some`."""
        with self._door:
            self.expect_room(n)
            self._expected += n
        try:
            yield
        finally:
            with self._door:
                self._expected -= n

    def learn_some(self, requests: list[Any], taken: Taken) -> None:
        """Take the next instances of a batch for which there is room."""
        with self._door:
            for request in requests:
                try:
                    self._learn(request)
                    taken.accepted += 1
                except Unknown:
                    taken.unknown += 1
                except Wrong as why:
                    taken.refused.append((taken.seen, str(why)))
                taken.seen += 1
        self.poke()

    def expect_room(self, n: int) -> None:
        """Refuse so many instances to learn from if too many wait already."""
        if self.fault is not None:
            raise HerosError(f"The service learns no more: {self.fault}")
        if self._queued + self._expected + n > self.limits.queue:
            raise NotNow(f"{self._queued:,} instances are still to be learnt.")

    def _learn(self, request: Any) -> None:
        if type(request) is not dict or "y" not in request or ("x" in request) == ("id" in request):
            raise Wrong('A request to learn must be an object with "y" and either "x" or "id".')
        if not request.keys() <= TAUGHT:
            raise Wrong(f"A request to learn must have {_named(TAUGHT)}. Got others.")
        given, id, known = None, None, None
        if "x" in request:
            key, x = self._key(request), request["x"]
        else:
            id = self._name(request, "id")
            waiting = self._waiting(id)
            key, x, given = waiting.key, orjson.loads(waiting.row), waiting.answer
            known = waiting.known
        row, label = self._encoded(x, request["y"])
        if id is not None:
            self.pending.take(id)
        self._enqueue(Given(key, row, label, given, known))

    def _encoded(self, x: Any, y: Any) -> tuple[list[float], float]:
        """An instance and its class index or number; what is new in it is known from now on."""
        expect_fields(x, self._most_fields)
        first = self._bound.n_features == 0  # one without a feature is refused, and leaves no trace
        encoder = copy.deepcopy(self._encoder) if first else self._encoder
        try:
            coded = encoder.encode(x, y)
        except Refused as why:
            raise _wrong(why) from None
        assert coded is not None, "it may grow"
        if first and not encoder.schema.n_features:
            raise Wrong("The first instance must have a feature. Got one without.")
        self._encoder = encoder
        return coded

    def _waiting(self, id: Id | None) -> Waiting:
        self.pending.let_go()
        waiting = None if id is None else self.pending.get(id)
        if waiting is None:
            self.counts.unknown += 1
            raise Unknown(f"No instance waits under the id {id!r}.")
        return waiting

    def _enqueue(self, given: Given) -> None:
        schema = self._encoder.schema
        if schema is not self._bound:
            self._bound = schema
            self._jobs.append(lambda: self._grow(schema))
        self._jobs.append(given)
        self._queued += 1
        self._kept += 1
        if self.shelf is not None and self._kept >= self.every:
            self.checkpoint()

    @property
    def notices(self) -> list[str]:
        """How columns are read, or that they are left out, where that may come as a surprise."""
        return self._encoder.notices

    # -- waiting for it, stopping it --------------------------------------------------------------------

    def wait(self, timeout: float | None = 60.0) -> None:
        """Wait until all that was sent is learnt and published."""
        self.after(self.publish).result(timeout)

    def after(self, action: Any) -> Future[Any]:
        """Have the thread that learns do something once all that was sent is learnt."""
        done: Future[Any] = Future()
        with self._door:
            if self._stopping and not self._thread.is_alive():
                raise HerosError("The service has stopped.")
            self._jobs.append(lambda: _fulfil(done, action))
        self._news.set()
        return done

    def poke(self) -> None:
        """Have the thread that learns look around."""
        if not self._news.is_set():  # setting it takes a lock; whoever clears it looks at what came before
            self._news.set()

    def checkpoint(self) -> Future[Any]:
        """Have all that is known by now written, as soon as it is learnt; the future says when it is."""
        with self._door:
            self._kept = 0
            held, counts = self.pending.all(), Counts(**vars_of(self.counts))
            return self.after(lambda: self._write(held, counts))

    def stop(self) -> None:
        """Learn what is left, write a checkpoint if there is a shelf, and end. A second time does nothing."""
        if self._stopping:
            return
        if self.shelf is not None and self.fault is None:
            done = self.checkpoint()
        else:
            done = self.after(lambda: None)
        self._stopping = True
        self._news.set()
        try:
            done.result()
        finally:
            self._thread.join()
            self.brain.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *what: object) -> None:
        self.stop()

    # -- the thread that learns ---------------------------------------------------------------------------

    @property
    def queued(self) -> int:
        """How many labelled instances are not learnt yet."""
        return self._queued

    def _work(self) -> None:
        while not (self._stopping and not self._jobs):
            self._news.wait(self._patience())
            self._news.clear()
            if self._queued < FEW and not self._stopping:
                time.sleep(GATHER)
            while self._jobs:
                self._turn()
            self._look_around()

    def _patience(self) -> float:
        """How long to wait for news: not long if something is to be published."""
        return max(0.0, self._next_publishing - time.monotonic()) if self._changed else IDLE

    def _turn(self) -> None:
        """Do what comes next: a block of instances, or something in between."""
        block: list[Given] = []
        while self._jobs and len(block) < self.brain.chunk and isinstance(self._jobs[0], Given):
            block.append(self._jobs.popleft())
        if block:
            self._learn_block(block)
        else:
            self._jobs.popleft()()
        if time.monotonic() >= self._next_publishing:
            self._look_around()

    def _learn_block(self, block: list[Given]) -> None:
        try:
            if self.fault is None:
                for y, answers, chosen, spent in self.brain.learn(block):
                    self.history.add(y, answers, chosen, spent, time.time())
        except Exception as error:  # of a policy or a model of somebody's own: the others go on
            self.failed += len(block)
            self._say(error)
        finally:
            with self._door:
                self._queued -= len(block)
                self.counts.learnt = self.history.learnt
            self._changed = True

    def _grow(self, schema: Any) -> None:
        try:
            self.brain.open(schema)
        except Exception as error:
            self.fault = str(error)

    def _say(self, error: Exception) -> None:
        self.last_error = f"{type(error).__name__}: {error}"

    def _look_around(self) -> None:
        if self._changed and time.monotonic() >= self._next_publishing:
            self.publish()
        for look in self.on_work:
            try:
                look()
            except Exception as error:  # learning matters more than being looked at
                self._say(error)

    def publish(self) -> None:
        """Answer from what is known now; for the thread that learns."""
        start = time.monotonic()
        self._changed = False
        self.brain.publish()
        self.published += 1
        took = time.monotonic() - start
        self._next_publishing = start + max(FRESH, SHARE * took)

    # -- on disk ------------------------------------------------------------------------------------------

    def _write(self, held: list[tuple[Id, Waiting, float]], counts: Counts) -> None:
        if self.shelf is None:
            raise HerosError("A checkpoint must have a place. Got none: start the service with one.")
        counts.learnt = self.history.learnt
        document = {"counts": vars_of(counts), "failed": self.failed, "bill": self.bill.document()}
        self.shelf.write(self.brain, document, held, self.history.state(time.time()))
        self.checkpoints += 1

    def _resume(self, window: int) -> None:
        """Go on from what is on the shelf, if anything is: it says what is learnt, and by which models."""
        brain = self.brain
        kept = None if self.shelf is None else self.shelf.read(brain)
        task = brain.task
        self.history = History(task.measures(), brain.pool.n_models, window, numeric=task.numeric)
        if kept is None:
            return
        document, held, history = kept
        self.counts, self.failed = Counts(**document["counts"]), int(document["failed"])
        self.bill.resume(document["bill"])
        self.history.restore(history)
        for id, waiting, since in held:
            self.pending.hold(id, waiting, since)


ASKED = frozenset({"x", "id", "key"})
TAUGHT = frozenset({"x", "y", "id", "key"})


def vars_of(counts: Counts) -> dict[str, int]:
    """Counts as plain data."""
    return {name: int(getattr(counts, name)) for name in Counts.__slots__}


def _class(classes: tuple[str, ...], p: NDArray[np.float64]) -> Answer:
    probabilities = dict(zip(classes, p.tolist(), strict=True))
    return {"answer": classes[int(p.argmax())] if len(classes) else None, "probabilities": probabilities}


def _number(_: tuple[str, ...], told: NDArray[np.float64]) -> Answer:
    """Of a number: what it is, and the interval that holds it."""
    if len(told) == 0:
        return {"answer": None, "interval": None}
    answer, low, high = told[:3].tolist()
    return {"answer": answer, "interval": [low, high]}


def _wrong(why: Refused) -> Wrong:
    text = str(data_error(why))
    return Wrong(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def _named(names: frozenset[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(names)) + " and nothing else"


def _fulfil(done: Future[Any], action: Any) -> None:
    try:
        done.set_result(action())
    except Exception as error:
        done.set_exception(error)
