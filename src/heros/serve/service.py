"""The service without HTTP: immediate predictions, training in a background thread, and checkpoints."""

from __future__ import annotations

import copy
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import orjson

from heros._base.errors import DataError, HerosError, ParameterError
from heros._base.parameters import whole
from heros.data.schema import Schema
from heros.data.values import Refused
from heros.ensemble.late import Counts, Pending
from heros.ensemble.schedule import Schedule, Wait
from heros.serve.changes import ChangeLog, Webhook
from heros.serve.checkpoint import CheckpointDirectory, Waiting
from heros.serve.energy import Bill
from heros.serve.history import History
from heros.serve.learners import Id, Labelled, NotLearnt, ServedLearner, ServedOutput
from heros.serve.limits import Limits, NotNow, Refusal, Unknown, Wrong, expect_fields, expect_name
from heros.serve.reading import Reading, TrainingEncoder
from heros.serve.waitlist import FILE as WAITING
from heros.serve.waitlist import WaitingLabel, Waitlist, expect_options, is_at, write_options

GATHER = 0.004  # seconds to collect labelled instances, because training on a block is cheaper
FEW = 64  # wait for more instances if fewer than this number are queued
IDLE = 1.0  # maximum sleep of the training thread in seconds
SHARE = 20  # publishing takes at most 1/20 of the time
LONGEST = 400  # maximum length of an error message about an instance
FRESH = 0.02  # minimum seconds between two updates of the model that predicts
MOST_CHECKPOINTS = 4  # maximum number of checkpoints in the queue; each holds a copy of the waiting instances
TOLD = 60.0  # seconds for which the service reports that an instance could not be stored
RETRY = 5.0  # seconds until a failed write is retried
QUEUE = 20_000  # maximum number of labelled instances in the training queue in memory
CELL, OVERHEAD = 32, 600  # bytes per value and per instance in the training queue
LOG = logging.getLogger("heros.serve")
MOST_NAMES = 20  # maximum number of unknown feature names in the reply to a prediction request
PREDICT = frozenset({"x", "id", "key", "abstain"})
EXPLAIN = frozenset({"x", "of", "key"})
LEARN = frozenset({"x", "y", "id", "key"})

Prediction = dict[str, Any]
Asked = tuple[Id | None, Id | None, Any]
"""The id, the key and the instance of a prediction request."""
Output = tuple[Asked, ServedOutput]


class Rejected(NamedTuple):
    """A rejected instance of a batch: its index, and the text, status and headers of the `Refusal`."""

    at: int
    why: str
    status: int
    headers: tuple[tuple[bytes, bytes], ...]


@dataclass(slots=True)
class LearnOutcome:
    """The outcome of a batch of training instances."""

    accepted: int = 0
    notices: list[str] = field(default_factory=list)  # notices issued while the instances were read
    unknown: int = 0  # labels with an id for which no instance waits
    refused: list[Rejected] = field(default_factory=list)

    @property
    def seen(self) -> int:
        """The number of instances processed so far."""
        return self.accepted + self.unknown + len(self.refused)


class Service:
    """A model that predicts for any number of clients while it is trained.

    Predictions come from a published copy of the model, so training does not delay them. Publishing
    (updating the copy) takes at most 5% of the running time and happens at most 50 times a second. A label
    arrives with its instance, or later with the id of the instance.

    Parameters
    ----------
    learner
        A `heros.serve.learners.OneModel` or `ModelPerKey`.
    limits
        The limits on requests and queues.
    most, longest
        The maximum number of instances that wait for their labels, and the maximum time in seconds that an
        instance waits. None means no time limit.
    store
        The directory for checkpoints. If it holds a checkpoint, the service continues from that checkpoint.
    every, seconds
        Write a checkpoint after this many labelled instances, and after this many seconds if any request
        changed the state. None disables the respective rule. A failed checkpoint is retried.
    waiting_bytes
        The maximum memory in bytes of the instances that wait for their labels.
    bill
        The energy meter.
    nominal
        The names of features that are nominal even if their values are numbers.
    classes
        All classes; an instance with another class is rejected. By default, new classes are added.
    window
        The initial number of instances per point of the curves.
    on_change
        A URL to which detected changes are sent (see `heros.serve.changes.Webhook`).
    carbon, carbon_delay
        The carbon intensity of electricity over time, and the maximum delay of training on an instance, as
        for `heros.evaluate`. Training is delayed until the carbon intensity is low, or until a power budget
        of the model allows it. Meanwhile, labelled instances are kept in `store`, or in memory if `store` is
        None.

    Examples
    --------
    >>> from heros import Heros, pools
    >>> from heros.serve.learners import OneModel
    >>> with Service(OneModel(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1))) as service:
    ...     for i in range(200):
    ...         service.learn({"x": {"size": i % 7, "colour": "red" if i % 2 else "blue"}, "y": i % 2})
    ...     service.wait()
    ...     said = service.predict({"id": "order 7", "x": {"size": 3, "colour": "red"}})
    ...     service.learn({"id": "order 7", "y": 1})
    >>> said["prediction"], sorted(said["probabilities"])
    ('1', ['0', '1'])
    """

    _not_stored: tuple[str, float] | None = None  # why an instance could not be stored on disk, and when

    def __init__(
        self,
        learner: ServedLearner,
        *,
        limits: Limits | None = None,
        most: int = 100_000,
        longest: float | None = None,
        store: CheckpointDirectory | None = None,
        every: int | None = None,
        seconds: float | None = 60.0,
        waiting_bytes: int = 256_000_000,
        bill: Bill | None = None,
        nominal: Iterable[str] = (),
        classes: Iterable[str] | None = None,
        window: int = 100,
        on_change: str | None = None,
        carbon: str | os.PathLike[str] | None = None,
        carbon_delay: float | str = "6h",
    ) -> None:
        self.learner = _trainable(learner)
        self.changes = ChangeLog(self, None if on_change is None else Webhook(on_change))
        self.limits = limits or Limits()
        self.pending: Pending[Waiting] = Pending(
            most, longest, self._gone, time.monotonic, "Service", waiting_bytes, Waiting.bytes
        )
        self.counts = Counts()
        self.last_error: str | None = None
        self.fault: str | None = None  # why the service can no longer train
        self.publish_error: str | None = None  # why predictions are out of date
        self.storage_error: str | None = None  # why models cannot be written; training is then paused
        self.checkpoint_error: str | None = None  # why the last checkpoint could not be written
        self.bill = Bill() if bill is None else bill
        self.store, self.every, self.seconds = store, every, seconds
        self.checkpoints = self.published = 0  # published: updates of the model that predicts
        self.failed = 0  # instances on which a model raised an error, or that are lost
        self.ignored = 0  # predicted instances with a name that is not a feature
        self.on_work: list[Callable[[], object]] = []  # functions that the training thread calls regularly
        self._door = threading.RLock()  # protects the encoder, the queue and the waiting instances
        self._jobs: deque[Labelled | Future[Any] | Callable[[], object]] = deque()
        self.schedule: Schedule | None = None
        self.waitlist: Waitlist | None = None  # labelled instances on disk, if training may be delayed
        self._actions: deque[tuple[int, Callable[[], object]]] = deque()  # actions, if there is a waitlist
        self._queued = self._queued_bytes = 0
        self._expected = 0  # number of instances in batches that are being received
        self._since_checkpoint = self._checkpoints_queued = 0  # instances queued since the last checkpoint
        self._learnt_since_checkpoint = 0  # instances of the waitlist learnt since the last checkpoint
        self._unsaved = False  # whether anything was accepted since the last checkpoint
        self._due = float("inf") if seconds is None else time.monotonic() + seconds
        self._news = threading.Event()
        self._stopping = self._changed = False
        self._next_publishing = 0.0
        self._growths = 0  # number of schema growths in the queue
        # Seconds of the last growth; seconds of all growths, reduced by half of the elapsed time.
        self._growth_cost = self._growth_debt = 0.0
        self._growth_time = time.monotonic()
        self._next_grows = False  # whether the next waiting instance must not extend the schema yet
        # The time of the next retry, and the time after which a stopping service does not retry.
        self._retry = self._patience = 0.0
        with self._closed_on_error():
            resumed = self._resume(window, Reading.of(nominal, classes))
            self.schedule, self.waitlist = self._open_waitlist(carbon, carbon_delay, resumed)
        task = learner.task
        self._encoder = TrainingEncoder(
            self._reading.applied_to(learner.schema),
            numeric=task.numeric,
            fractions=False,  # a label with decimals is not accepted as a new class
            nominal=self._reading.nominal,
            classes=self._reading.classes,
            limits=self.limits.of_schema,
            seen=learner.seen,
        )
        self._bound = self._opened = known = self._encoder.schema  # schemas of accepted and taken instances
        self._most_fields = max(self.limits.features, known.n_features + len(known.ignored))
        self._says = _number if task.numeric else _with_set if getattr(task, "level", None) else _class
        learner.open(self._bound)
        learner.publish()
        with self._closed_on_error():
            self._tell_losses(resumed)
        self.bill.start()
        self._thread = threading.Thread(target=self._work, name="heros learns", daemon=True)
        self._thread.start()

    # -- predicting ---------------------------------------------------------------------------------------

    def predict(self, request: Any) -> Prediction:
        """Predict an instance ``{"x": {...}}``, with an ``id`` if its label will arrive later."""
        return self.predict_all([request])[0]

    def predict_all(self, requests: list[Any]) -> list[Prediction]:
        """Predict several instances in one call."""
        return self.answers(requests, self.outputs(requests))

    def outputs(self, requests: list[Any]) -> list[Output]:
        """Compute the predictions for several instances; nothing is stored yet."""
        asked = [self._asked(request) for request in requests]
        try:
            outputs = self.learner.predict([(key, x) for _, key, x in asked])
        except Refused as why:
            raise _wrong(why) from None
        return list(zip(asked, outputs, strict=True))

    def answers(self, requests: list[Any], outputs: list[Output]) -> list[Prediction]:
        """Return the predictions for requests; store all instances that have an id, or raise an error."""
        return self.formatted(requests, self.stored(outputs))

    def stored(self, outputs: list[Output]) -> list[ServedOutput]:
        """Store all instances that have an id, or raise an error; return the predictions for the replies."""
        with self._door:
            held = self._held([asked for asked, _ in outputs])
            self.counts.answered += len(outputs)
            return [
                output if id is None or row is None else self._hold(id, key, row, output)
                for ((id, key, _), output), row in zip(outputs, held, strict=True)
            ]

    def formatted(self, requests: Sequence[Any], outputs: Sequence[ServedOutput]) -> list[Prediction]:
        """Return the predictions as plain data, with the id and the unknown feature names of each request."""
        with self._door:
            ignored = [self._encoder.without_feature(request["x"]) for request in requests]
            self.ignored += sum(map(bool, ignored))
        predictions = []
        for request, output, names in zip(requests, outputs, ignored, strict=True):
            id, prediction = request.get("id"), self._says(output)
            if request.get("abstain") and len(prediction["set"]) != 1:
                prediction["prediction"] = None
            if names:
                prediction["ignored"] = names[:MOST_NAMES]
            predictions.append(prediction if id is None else {"id": id, **prediction})
        return predictions

    def explain(self, request: Any) -> dict[str, Any]:
        """Explain the prediction for ``{"x": {...}}``; ``of`` selects the class to explain."""
        return self.explanation(request)()

    def explanation(self, request: Any) -> Callable[[], dict[str, Any]]:
        """Check a request for an explanation; return a function that computes the explanation."""
        if type(request) is not dict or "x" not in request or not request.keys() <= EXPLAIN:
            fields = _named(EXPLAIN)
            raise Wrong(f'A request for an explanation must have "x". It may have only the fields {fields}.')
        of = request.get("of")
        if of is not None and type(of) not in (str, int, float, bool):
            raise Wrong("The class to explain must be a string or a number.")
        expect_fields(request["x"], self._most_fields, self.limits.text)
        return partial(self._explain, request["x"], None if of is None else str(of), self._key(request))

    def _explain(self, x: dict[str, Any], of: str | None, key: Id | None) -> dict[str, Any]:
        try:
            return self.learner.explain(x, of, key).plain()
        except Refused as why:
            raise _wrong(why) from None
        except (DataError, ParameterError) as error:
            raise Wrong(str(error)) from None

    def _asked(self, request: Any) -> Asked:
        if type(request) is not dict or "x" not in request:
            raise Wrong('A prediction request must be an object with "x".')
        _expect_only(request, PREDICT, "A prediction request")
        abstain = request.get("abstain")
        if abstain not in (None, False) and (abstain is not True or self._says is not _with_set):
            raise Wrong(
                '"abstain" must be true or false. The value true requires a model with prediction sets.'
            )
        expect_fields(request["x"], self._most_fields, self.limits.text)
        return self._name(request, "id"), self._key(request), request["x"]

    def _name(self, request: dict[str, Any], what: str) -> Id | None:
        name = request.get(what)
        if name is None or type(name) is int:
            return name
        if type(name) is not str:
            raise Wrong(f"The {what} must be a string or a whole number. Got a {type(name).__name__}.")
        return expect_name(name, f"The {what}", self.limits.text)

    def _key(self, request: dict[str, Any]) -> Id | None:
        key = self._name(request, "key")
        if (key is None) == self.learner.keyed:
            rule = "have a key, because the service has one model per key" if key is None else "have no key"
            raise Wrong(f"The request must {rule}.")
        return key

    def _held(self, asked: list[Asked]) -> list[bytes | None]:
        """Return each instance as JSON, or None if its request has no id.

        Raise an error if an instance with an id cannot be stored.
        """
        self.pending.enforce_limits()
        rows, new = list[bytes | None](), dict[Id, tuple[bytes, Id | None]]()
        most = self.pending.most_bytes
        for id, key, x in asked:
            row = None if id is None else bytes(memoryview(orjson.dumps(x)))  # a copy takes less memory
            rows.append(row)
            if id is None or row is None:
                continue
            waiting = self.pending.get(id)
            known = new.setdefault(id, (row, key)) if waiting is None else (waiting.row, waiting.key)
            if known != (row, key):
                raise Wrong(f"The id {id!r} must be new. Another instance with this id waits for its label.")
            if most is not None and len(row) > most // 4:
                raise Wrong(
                    f"Waiting instances must have at most {most:,} bytes in total, and each at most a "
                    f"quarter of this."
                )
        return rows

    def _hold(self, id: Id, key: Id | None, row: bytes, output: ServedOutput) -> ServedOutput:
        """Store an instance until its label arrives; return its prediction.

        A repeated request gets the same prediction as the first.
        """
        known = self.pending.get(id)
        if known is None:
            self.pending.put(id, Waiting(row, key, output.predicted, self.learner.known(), output.limit))
            self._unsaved = True
            return output
        return ServedOutput(output.classes[: len(known.predicted)], known.predicted, known.limit)

    def _gone(self, id: Id, waiting: Waiting) -> None:
        self.counts.expired += 1

    # -- learning -------------------------------------------------------------------------------------------

    def learn(self, request: Any) -> None:
        """Queue an instance ``{"x": {...}, "y": label}``, or a late label ``{"id": id, "y": label}``."""
        with self._door:
            self.expect_room(1)
            self._learn(request)
        self.poke()

    def learn_all(self, requests: list[Any]) -> LearnOutcome:
        """Queue all valid instances of a batch, or raise an error if the queue has no space for the batch."""
        taken = LearnOutcome()
        with self.room_for(len(requests)):
            self.learn_some(requests, taken)
        return taken

    @contextmanager
    def room_for(self, n: int) -> Iterator[None]:
        """Reserve space in the queue for n instances, which `learn_some` adds."""
        with self._door:
            self.expect_room(n)
            self._expected += n
        try:
            yield
        finally:
            with self._door:
                self._expected -= n

    def learn_some(self, requests: list[Any], taken: LearnOutcome) -> None:
        """Queue some instances of a batch for which space is reserved; add the outcome to `taken`."""
        with self._door:
            self._expect_running()
            before = len(self.notices)
            for request in requests:
                try:
                    self._learn(request)
                    taken.accepted += 1
                except Unknown:
                    taken.unknown += 1
                except Refusal as why:
                    taken.refused.append(Rejected(taken.seen, str(why), why.status, why.headers))
            taken.notices += self.notices[before:]
        self.poke()

    def expect_room(self, n: int) -> None:
        """Raise an error if the training queue has no space for n instances."""
        self._expect_running()
        if self.fault is not None:
            raise HerosError(f"The service can no longer train: {self.fault}")
        if self.storage_error is not None:
            why = f"Training is paused until models can be written: {self.storage_error}"
            raise Refusal(why, 507, (b"retry-after", b"5"))
        size, most = self._queued_bytes, QUEUE if self.limits.queue is None else self.limits.queue
        if self.waitlist is not None:
            size, most = self.waitlist.bytes, self.limits.queue or 1 << 60
        if n > most:
            raise Wrong(
                f"A batch must have at most {most:,} instances, the size of the training queue. Got {n:,}."
            )
        if size > self.limits.queue_bytes or self._queued + self._expected + n > most:
            wait, why = self.learning_waits, f"The training queue is full: {self._queued:,} instances."
            if wait is None or self.schedule is None:
                raise NotNow(why)
            raise NotNow(f"{why} {wait}", max(1, math.ceil(wait.until - self.schedule.clock.now())))

    def _expect_running(self) -> None:
        """Raise an error if the service is stopping, because no later checkpoint would include new labels."""
        if self._stopping:
            raise HerosError("The service has stopped.")

    def _learn(self, request: Any) -> None:
        if type(request) is not dict or "y" not in request or ("x" in request) == ("id" in request):
            raise Wrong('A training request must be an object with "y" and either "x" or "id".')
        _expect_only(request, LEARN, "A training request")
        if "x" in request:
            key = self._key(request)
            self._expect_intact(key)
            # The encoder checks the length of new names, but joins the names of nested objects first.
            expect_fields(request["x"], self._most_fields, self.limits.text, flat=False)
            self._enqueue(Labelled(key, *self._accepted(request["x"], request["y"], None, key), None))
            return
        id = self._name(request, "id")
        self.pending.enforce_limits()
        waiting = None if id is None else self.pending.get(id)
        if waiting is None:
            self.counts.unknown += 1
            raise Unknown(f"No instance with the id {id!r} waits for a label.")
        if "key" in request and self._key(request) != waiting.key:
            self.counts.unknown += 1
            raise Unknown(f"The instance with the id {id!r} belongs to another key.")
        self._expect_intact(waiting.key)
        x = orjson.loads(waiting.row)
        coded = self._accepted(x, request["y"], id, waiting.key, waiting.predicted, waiting.known)
        self.pending.take(id)  # type: ignore[arg-type]
        self._enqueue(Labelled(waiting.key, *coded, waiting.predicted, waiting.known))

    def _expect_intact(self, key: Id | None) -> None:
        """Reject labels for a key whose model cannot be read, because the labels would be lost."""
        if key is not None and key in self.learner.damaged:
            raise Wrong(f"The model of the key {key!r} cannot be read: {self.learner.damaged[key]}")

    def _keep(self, x: Any, y: Any, *rest: Any) -> None:
        """Write an accepted instance to disk if there is a waitlist."""
        if self.waitlist is None:
            return
        now = time.time() if self.schedule is None else self.schedule.clock.now()
        try:
            self.waitlist.add(WaitingLabel(now, x, y, *rest))
            self._not_stored = None
        except HerosError as error:
            self._not_stored = str(error), time.monotonic()
            raise Refusal(f"The instance cannot be stored: {error}", 507, (b"retry-after", b"5")) from None
        except TypeError as error:
            raise Wrong(f"The instance cannot be written as JSON: {error}") from None

    def _accepted(self, x: Any, y: Any, *rest: Any) -> tuple[list[float], float]:
        """Encode and store an instance and its label; both may extend the schema.

        If an error occurs, the schema stays unchanged. A changed schema would differ from the schema of the
        encoder that later reads the stored instances.
        """
        known, seen = self._encoder, self._encoder.seen
        first = self._bound.n_features == 0  # an instance without features must not change the schema
        reveals = first or known.reveals(x)
        if reveals:
            self._expect_growth_allowed()
        start = time.monotonic()
        encoder = copy.deepcopy(known) if reveals else known
        try:
            coded = encoder.encode(x, y, grow=False)
            if coded is None:
                self._expect_growth_allowed()
            if first and coded is None:
                coded = encoder.encode(x, y)
        except Refused as why:
            raise _wrong(why) from None
        finally:
            if reveals:
                self._growth_debt += time.monotonic() - start
        if first and not encoder.schema.n_features:
            raise Wrong("The first instance must have a feature. Got no features.")
        try:
            self._keep(x, y, *rest)
        except BaseException:
            known.seen = seen
            raise
        if coded is None:  # the instance extends the schema, which `_expect_growth_allowed` has permitted
            start = time.monotonic()
            coded = encoder.encode(x, y)
            assert coded is not None
            self._growth_debt += time.monotonic() - start
        self._encoder = encoder
        return coded

    def _expect_growth_allowed(self) -> None:
        """Raise an error if extending the schema now would delay other requests too much.

        While a budget or the carbon intensity delays training, no model is extended. Queued extensions are
        then not counted, because otherwise no instance could extend the schema until training continues.
        """
        if not self._has_time_to_grow(self._growths if self.learning_waits is None else 0):
            raise NotNow("The schema grows too fast. Send instances with new features or values again later.")

    def _has_time_to_grow(self, queued: int) -> bool:
        """Return whether the schema may be extended after `queued` extensions; the caller holds the lock."""
        now = time.monotonic()
        self._growth_debt = max(0.0, self._growth_debt - (now - self._growth_time) / 2)
        self._growth_time = now
        return self._growth_debt + queued * self._growth_cost <= self.limits.growth

    def _enqueue(self, labelled: Labelled) -> None:
        schema = self._encoder.schema
        if schema is not self._bound:
            self._bound = schema
            self._growths += 1
            if self.waitlist is None:
                self._jobs.append(lambda: self._grow(schema))
        self._queued += 1
        if self.waitlist is None:
            self._jobs.append(labelled)
            self._queued_bytes += OVERHEAD + CELL * len(labelled.row)
        self._since_checkpoint += 1
        self._unsaved = True
        self._checkpoint_if_due(self._since_checkpoint)

    def _checkpoint_if_due(self, instances: int) -> None:
        """Request a checkpoint if one is due after this many instances; the caller holds the lock."""
        due = self.every is not None and instances >= self.every
        if self.store is not None and due and self._checkpoints_queued < MOST_CHECKPOINTS:
            self.checkpoint()

    @property
    def learning_waits(self) -> Wait | None:
        """The reason for a delay of training and the time when the delay ends; None if there is no delay."""
        return None if self.schedule is None or not self._queued else self.schedule.wait

    @property
    def notices(self) -> list[str]:
        """The notices about new classes and about columns that are ignored or read in an unexpected way."""
        return self._encoder.notices

    @property
    def queued(self) -> int:
        """The number of labelled instances in the training queue."""
        return self._queued

    # -- waiting and stopping -----------------------------------------------------------------------------

    def wait(self, timeout: float | None = 60.0) -> None:
        """Wait until the model is trained on all queued instances and published."""
        self.when_published().result(timeout)

    def when_published(self) -> Future[Any]:
        """Return a future that is done when predictions use all instances queued so far.

        Several such futures share an update of the model that predicts, if training has reached them.
        """
        if self.waitlist is not None:
            return self.after(self._publish_changes)
        done: Future[Any] = Future()
        with self._door:
            self._expect_alive()
            self._jobs.append(done)
        self._news.set()
        return done

    def _expect_alive(self) -> None:
        if self._stopping and not self._thread.is_alive():
            raise HerosError("The service has stopped.")

    def after(self, action: Callable[[], Any], *, at_once: bool = False) -> Future[Any]:
        """Run an action in the training thread, after training on all queued instances.

        With a waitlist, the action also runs while training is delayed. With `at_once`, it runs after the
        current block.
        """
        done: Future[Any] = Future()

        def act() -> None:
            wanted = done.set_running_or_notify_cancel()  # the waiting request may have been cancelled
            try:
                result = action()
            except Exception as error:
                if wanted:
                    done.set_exception(error)
            else:
                if wanted:
                    done.set_result(result)

        with self._door:
            self._expect_alive()
            if self.waitlist is None:
                self._jobs.append(act)
            else:
                self._actions.append((0 if at_once else self.waitlist.last, act))
        self._news.set()
        return done

    def poke(self) -> None:
        """Wake the training thread."""
        if not self._news.is_set():  # checked first, because setting the event takes a lock
            self._news.set()

    def checkpoint(self) -> Future[Any]:
        """Request a checkpoint that includes all instances queued so far."""
        with self._door:
            self._since_checkpoint = self._learnt_since_checkpoint = 0
            self._unsaved = False
            self._checkpoints_queued += 1
            self._due = float("inf") if self.seconds is None else time.monotonic() + self.seconds
            if self.waitlist is not None:  # the waiting instances are already on disk
                return self.after(self._write_now, at_once=True)
            held, counts = self.pending.all(), replace(self.counts)
            return self.after(lambda: self._write(held, counts))

    def _write_now(self) -> None:
        """Write a checkpoint of the current state; the training thread calls this between blocks."""
        assert self.waitlist is not None
        with self._door:
            held, counts, accepted = self.pending.all(), replace(self.counts), self.waitlist.last
        self._write(held, counts, {"learnt": self.waitlist.taken, "accepted": accepted})

    def stop(self) -> None:
        """Train on the queued instances, write a checkpoint if there is a directory, and stop.

        With a directory, instances in the waitlist are not used for training but stay on disk. Further calls
        have no effect.
        """
        if self._stopping:
            return
        keep = self.store is not None and self.fault is None
        with self._door:  # no instance may be accepted after the checkpoint
            done = self.checkpoint() if keep else self.after(lambda: None)
            self._patience = time.monotonic() + RETRY
            self._stopping = True
        self._news.set()
        self._thread.join()
        with suppress(Exception):  # an error in a model must not prevent the service from stopping
            self.changes.look_now()
        if self.waitlist is not None and self.store is None and len(self.waitlist):
            LOG.error(
                "%d accepted instances are lost, because there is no checkpoint directory", len(self.waitlist)
            )
        self._close()
        done.result(0)

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        try:
            if self.changes.hook is not None:
                self.changes.hook.close()
            self.learner.close()
            if self.waitlist is not None:
                self.waitlist.close()
        finally:
            if self.store is not None:
                self.store.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *what: object) -> None:
        self.stop()

    # -- the training thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        while not (self._stopping and not self._jobs and not self._actions):
            try:
                self._round()
            except Exception as error:  # a bug: training stops, and /health reports it
                if self.fault is None:
                    LOG.exception("The service can no longer train")
                    self.fault = _told(error)

    def _round(self) -> None:
        """Wait for queued instances, train on them, and publish the model."""
        due = max(0.0, self._next_publishing - time.monotonic())
        self._news.wait(due if self._changed else IDLE)
        self._news.clear()
        if self._queued < FEW and not self._stopping:
            time.sleep(GATHER)
        while (time.monotonic() >= self._retry or self._stopping) and self._turn():
            pass
        self._look_around()

    def _turn(self) -> bool:
        """Process the next block of instances or the next action; return False if nothing is left."""
        if self.waitlist is not None and self.fault is not None:
            self._jobs.clear()  # the instances stay on disk, because no checkpoint is written after a fault
        if self.waitlist is not None and not self._jobs:
            reached = bool(self._actions) and self._actions[0][0] <= self.waitlist.taken
            if not reached and self._take_from(self.waitlist):
                return True
            if self._actions:
                self._actions.popleft()[1]()
                return True
        if not self._jobs:
            return False
        block, waiting = self._next_block()
        if block:
            self._train_on(block, waiting)
        elif waiting:
            self._publish_for(waiting)
        else:
            self._jobs.popleft()()  # type: ignore[operator]
        if self.waitlist is not None and self.store is None and not self._jobs:
            self.waitlist.settle(self.waitlist.taken)  # no checkpoint needs these instances
        if time.monotonic() >= self._next_publishing:
            self._look_around()
        return True

    def _next_block(self) -> tuple[list[Labelled], list[Future[Any]]]:
        """Return the next instances of the queue, and the futures of requests that wait for one of them."""
        block, waiting = list[Labelled](), list[Future[Any]]()
        while self._jobs and len(block) < self.learner.chunk and not callable(self._jobs[0]):
            one = self._jobs.popleft()
            if isinstance(one, Labelled):
                block.append(one)
            else:
                waiting.append(one)  # type: ignore[arg-type]
        return block, waiting

    def _train_on(self, block: list[Labelled], waiting: list[Future[Any]]) -> None:
        """Train on a block; then update the model that predicts if a request waits for the update."""
        left: list[Labelled] = []
        try:
            left = self._learn_block(block)
        finally:
            freed = 0 if self.waitlist is not None else _bytes_of(block) - _bytes_of(left)
            if self.schedule is not None:
                self.schedule.note(len(block))
            with self._door:
                self._jobs.extendleft(reversed([*left, *waiting] if left else []))
                self._queued -= len(block) - len(left)
                self._queued_bytes -= freed
                self.counts.learnt = self.history.learnt
                self._note_learnt(len(block) - len(left))
            self._changed = True
            if not left:
                self._publish_for(waiting)

    def _take_from(self, waitlist: Waitlist) -> bool:
        """Take the instances from the waitlist on which training is allowed now.

        Return False if there are none.
        """
        if self.fault is not None or (self._stopping and self.store is not None):
            return False
        if self._next_grows and not self._may_take_growth(0):
            return False
        room, since = self.learner.chunk, waitlist.oldest
        if since is None:
            return False
        if self.schedule is not None:
            self.schedule.start()
            room = self.schedule.allowed(room, since)
        labels, refused, growths = waitlist.take(room), 0, 0
        self._next_grows = False
        for at, (number, one) in enumerate(labels):
            try:
                coded = self._trailing.encode(one.x, one.y, grow=False)
                if coded is None:
                    if not self._may_take_growth(growths):
                        self._next_grows = True
                        waitlist.put_back(number)
                        labels = labels[:at]
                        break
                    coded = self._trailing.encode(one.x, one.y)
            except Refused as why:  # e.g. the service began with another model file
                self.last_error, refused = str(why.error()), refused + 1
                continue
            assert coded is not None
            schema = self._trailing.schema
            if schema is not self._opened:
                self._opened, growths = schema, growths + 1
                self._jobs.append(partial(self._grow, schema))
            self._jobs.append(Labelled(one.key, *coded, one.predicted, one.known))
        if refused:
            told = f"{refused} accepted instances cannot be used for training: {self.last_error}"
            LOG.error(told)
            with self._door:
                self.failed, self._queued = self.failed + refused, self._queued - refused
                self._note_learnt(refused)
                self._encoder.notify(told)
        return bool(labels)

    def _note_learnt(self, n: int) -> None:
        """With a waitlist, count n of its instances as used for training; the caller holds the lock."""
        if self.waitlist is None:
            return
        self._learnt_since_checkpoint += n
        self._unsaved = self._unsaved or n > 0
        if not self._stopping:  # a stopping service writes a last checkpoint anyway
            self._checkpoint_if_due(self._learnt_since_checkpoint)

    def _may_take_growth(self, queued: int) -> bool:
        """Return whether training on an instance that extends the schema is allowed now.

        Extensions that were accepted while training was delayed have the same time limit as other extensions.
        A stopping service has no time limit for extensions.
        """
        with self._door:
            known = queued == 0 or self._growth_cost > 0  # the first growth measures the cost
            return self._stopping or (known and self._has_time_to_grow(queued))

    def _learn_block(self, block: list[Labelled]) -> list[Labelled]:
        """Train on a block; return the instances that must wait until models can be written."""
        learnt, left = self.history.learnt, list[Labelled]()
        try:
            if self.fault is None:
                for y, outputs, chosen, spent in self.learner.learn(block):
                    self.history.add(y, outputs, chosen, spent, time.time())
                if self.storage_error is not None:
                    LOG.warning("Models can be written again")
                self.storage_error = None
        except NotLearnt as error:
            now = time.monotonic()
            if self.storage_error is None:
                LOG.error("Models cannot be written: %s", error)  # noqa: TRY400
                self._patience = now + RETRY
            self.storage_error, self._retry = str(error), now + RETRY
            if self._stopping and now >= self._patience:  # a stopping service retries only for a short time
                lost = self.waitlist is None or self.store is None
                LOG.error(  # noqa: TRY400
                    "%d accepted instances are %s: %s",
                    len(error.rows),
                    "lost" if lost else "not used for training yet and stay on disk",
                    error,
                )
                if not lost:
                    self.fault = str(error)  # a checkpoint would count the instances as learnt
            else:
                left = error.rows
            if self._stopping:
                time.sleep(RETRY / 50)
        except Exception as error:  # raised by a user's policy or model; other instances are not affected
            self.last_error = _told(error)
        self.failed += len(block) - len(left) - (self.history.learnt - learnt)
        return left

    def _grow(self, schema: Any) -> None:
        start = time.monotonic()
        try:
            self.learner.open(schema)
            with suppress(Exception):  # the error is logged, and publishing is retried
                self.publish()
        except Exception as error:
            self.fault = _told(error)
            LOG.exception("The service can no longer train")
        finally:
            with self._door:
                self._growths -= 1
                self._growth_cost = time.monotonic() - start
                self._growth_debt += self._growth_cost

    def _look_around(self) -> None:
        now = time.monotonic()
        if self._changed and now >= self._next_publishing:
            with suppress(Exception):  # the error is logged, and publishing is retried
                self.publish()
        due = (self._unsaved and now >= self._due) or self._is_waitlist_full
        if self.store is not None and due and self.storage_error is None:
            self.checkpoint()
        for look in (self.changes.look, *self.on_work):
            try:
                look()
            except Exception as error:  # an error in the status page must not stop training
                self.last_error = _told(error)

    @property
    def _is_waitlist_full(self) -> bool:
        """Whether a checkpoint is needed to make room for labels; a failed checkpoint is retried later."""
        if self.waitlist is None or self._checkpoints_queued or self.checkpoint_error is not None:
            return False
        return self.waitlist.taken_bytes > self.limits.queue_bytes // 2

    def publish(self) -> None:
        """Update the model that predicts; only the training thread may call this method."""
        start = time.monotonic()
        if self.schedule is not None:
            self.schedule.start()
        try:
            self.learner.publish()
        except Exception as error:
            if self.publish_error is None:
                LOG.exception("Cannot update the model that predicts; retrying every second")
            self.publish_error, self._next_publishing = _told(error), start + IDLE
            raise
        if self.schedule is not None:
            self.schedule.note()
        self._changed, self.publish_error = False, None
        self.published += 1
        self._next_publishing = start + max(FRESH, SHARE * (time.monotonic() - start))

    def _publish_changes(self) -> None:
        if self._changed or self.publish_error is not None:
            self.publish()

    def _publish_for(self, waiting: list[Future[Any]]) -> None:
        """Update the model that predicts if it is out of date, for the requests that wait for the update."""
        wanted = [one for one in waiting if one.set_running_or_notify_cancel()]  # clients may have gone
        try:
            if wanted:
                self._publish_changes()
        except Exception as error:
            for one in wanted:
                one.set_exception(error)
        else:
            for one in wanted:
                one.set_result(None)

    @property
    def waitlist_error(self) -> str | None:
        """The last error in storing an instance, for a minute or until an instance is stored; else None."""
        told = self._not_stored
        return None if told is None or time.monotonic() > told[1] + TOLD else told[0]

    @property
    def errors(self) -> dict[str, str | None]:
        """The current error of each kind, or None for a kind without an error."""
        return {
            "fault": self.fault,
            "storage_error": self.storage_error or self.learner.store_error,
            "checkpoint_error": self.checkpoint_error,
            "waitlist_error": self.waitlist_error,
            "publish_error": self.publish_error,
        }

    # -- on disk ------------------------------------------------------------------------------------------

    def _write(
        self, held: list[tuple[Id, Waiting, float]], counts: Counts, waitlist: dict[str, int] | None = None
    ) -> None:
        if self.store is None:
            raise HerosError("The service cannot write a checkpoint, because it has no checkpoint directory.")
        with self._door:
            self._checkpoints_queued -= 1
        if self.waitlist is not None and self.fault is not None:  # a checkpoint would lose instances
            raise HerosError(
                f"The service can no longer train and therefore writes no checkpoint: {self.fault}"
            )
        counts.learnt = self.history.learnt
        with suppress(Exception):  # an error in a model must not prevent a checkpoint
            self.changes.look_now()
        document = {
            "counts": asdict(counts),
            "failed": self.failed - (0 if self.waitlist is None else self.waitlist.lost_ahead),
            "bill": self.bill.document(),
            "changes": self.changes.document(),
            "waitlist": waitlist,
            "reading": asdict(self._reading),
        }
        while True:
            try:
                self.store.write(self.learner, document, held, self.history.state())
                if self.waitlist is not None and waitlist is not None:
                    self.waitlist.settle(waitlist["learnt"])
                break
            except Exception as error:
                again = RETRY if self.seconds is None else min(RETRY, self.seconds)
                if self.checkpoint_error is None:
                    LOG.error("Cannot write the checkpoint; retrying every %g s: %s", again, error)  # noqa: TRY400
                    self._patience = time.monotonic() + RETRY
                self.checkpoint_error = str(error) if isinstance(error, HerosError) else _told(error)
                self._unsaved, self._due = True, time.monotonic() + again
                if not self._stopping or time.monotonic() >= self._patience:
                    raise
                time.sleep(RETRY / 50)  # a stopping service cannot retry later
        if self.checkpoint_error is not None:
            LOG.warning("Checkpoints can be written again")
        self.checkpoint_error = None
        self.checkpoints += 1

    def _open_waitlist(
        self, carbon: Any, delay: float | str, resumed: Mapping[str, int]
    ) -> tuple[Schedule | None, Waitlist | None]:
        """Return the training schedule and the waitlist, each None if not needed."""
        directory = None if self.store is None else self.store.directory
        schedule = Schedule.of(self.learner.model.budget, carbon, delay, directory, LOG.warning)
        path = None if directory is None else directory / WAITING
        expected = path is not None and (is_at(path) or resumed["accepted"] > resumed["learnt"])
        if schedule is None and not expected:
            return None, None
        task = "regression" if self.learner.task.numeric else "classification"
        options = {"keys": self.learner.keyed, "task": task, **asdict(self._reading)}
        if path is not None:
            expect_options(path, options)
        waitlist = Waitlist(path)
        if path is not None:
            write_options(path, options)
        return schedule, waitlist

    def _tell_losses(self, resumed: Mapping[str, int]) -> None:
        """Read the waiting instances; report lost instances and lost checkpoints."""
        losses = [] if self.learner.lost is None else [self.learner.lost]
        if self.waitlist is not None:
            self._read_waitlist(self.waitlist, resumed)
            if self.waitlist.lost:
                lost = f"{self.waitlist.lost:,} accepted instances are lost"
                losses.append(f"{lost}: {WAITING} or its write-ahead log is damaged or was removed.")
                self.failed += self.waitlist.lost
        for told in losses:
            LOG.error(told)
            self._encoder.notices.append(told)
            self._unsaved = True  # after the next checkpoint, the loss is not reported again

    def _read_waitlist(self, waitlist: Waitlist, resumed: Mapping[str, int]) -> None:
        """Count the waiting instances, and prepare the encoder for reading them again."""
        self._trailing = copy.deepcopy(self._encoder)  # reads instances again when they are learnt
        self._trailing.quiet = True
        for number, label in waitlist.resume(**resumed):
            if number > resumed["accepted"] and label.id is not None:
                self.pending.take(label.id)
            with suppress(Refused):  # the error is reported when the instance is learnt
                self._encoder.encode(label.x, label.y)
            if self._encoder.schema is not self._bound:
                self._bound = self._encoder.schema
                self._growths += 1
            self._queued += 1

    def _resume(self, window: int, reading: Reading) -> dict[str, int]:
        """Restore the service from its checkpoint, if there is one; return the counts for the waitlist."""
        self._reading, place = reading, {"learnt": 0, "accepted": 0}
        learner = self.learner
        try:
            kept = None if self.store is None else self.store.read(learner)
            task = learner.task
            measures, models = task.measures(), learner.model.pool.n_models
            kind = {"numeric": task.numeric, "watched": learner.keyed}
            self.history = History(measures, models, window, **kind)
            if kept is None:
                return place
            document, held, history = kept
            counts = {"failed": document["failed"], **document["counts"]}
            counts = {name: whole(count, name, "Service", 0, 1 << 60) for name, count in counts.items()}
            self.failed = counts.pop("failed")
            self.counts = Counts(**counts)
            self.bill.resume(document["bill"])
            self.changes.resume(document["changes"])
            self.history.restore(history)
            self._reading = reading.continued(Reading.restored(document["reading"], learner.schema))
            for id, waiting, since in held:
                self.pending.hold(id, waiting, since)
            if document["waitlist"] is not None:
                place = {name: whole(document["waitlist"][name], name, "Service", 0) for name in place}
        except Exception as error:  # an edited file may have a valid checksum
            if isinstance(error, HerosError) and not isinstance(error, DataError | ParameterError):
                raise
            assert self.store is not None
            told = str(error) if isinstance(error, HerosError) else _told(error)
            rule = f"The directory {self.store.directory} must hold a complete checkpoint"
            raise DataError(f"{rule}. The error was: {told[:LONGEST]}") from None
        return place


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _bytes_of(rows: list[Labelled]) -> int:
    return OVERHEAD * len(rows) + CELL * sum([len(one.row) for one in rows])


def _class(output: ServedOutput) -> Prediction:
    classes, p, _ = output
    probabilities = dict(zip(classes, p.tolist(), strict=True))
    return {"prediction": classes[int(p.argmax())] if classes else None, "probabilities": probabilities}


def _with_set(output: ServedOutput) -> Prediction:
    """Return the prediction with its prediction set, for models with a `level`."""
    limit = 1.0 if output.limit is None else output.limit  # a model without training excludes no class
    prediction = _class(output)
    return {**prediction, "set": [name for name, p in prediction["probabilities"].items() if 1 - p <= limit]}


def _number(output: ServedOutput) -> Prediction:
    if len(output.predicted) == 0:
        return {"prediction": None, "interval": None}
    prediction, low, high = output.predicted[:3].tolist()
    return {"prediction": prediction, "interval": [low, high]}


def _trainable(learner: ServedLearner) -> ServedLearner:
    """Return the learner; raise an error if its pool does not support the task.

    Without this check, training would fail at the first label.
    """
    model = learner.model
    try:
        if model.schema is None:
            copy.deepcopy(model).bind(Schema.of(["x"], None if model.task.numeric else ["no", "yes"]))
    except ParameterError as error:
        what = "numbers" if model.task.numeric else "classes"
        raise ParameterError(f"The pool of the service must be able to predict {what}. {error}") from None
    return learner


def _wrong(why: Refused) -> Wrong:
    text = str(why.error())
    return Wrong(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def _expect_only(request: dict[str, Any], names: frozenset[str], what: str) -> None:
    if not request.keys() <= names:
        raise Wrong(
            f"{what} may have only the fields {_named(names)}. Got {min(request.keys() - names)[:99]!r}."
        )


def _named(names: frozenset[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(names))
