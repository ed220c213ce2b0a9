"""A worker in a Kafka consumer group, which trains the models of the keys in its partitions."""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from heros._base.addresses import expect_servers
from heros._base.errors import HerosError, ParameterError
from heros._base.extras import needed
from heros._base.parameters import number, whole
from heros.data.schema import Schema
from heros.ensemble import Heros, serialization
from heros.ensemble.budget import SpendingLimit
from heros.run.workers.partition import Partition
from heros.run.workers.snapshots import Snapshots
from heros.streams.bad_rows import TooManyBadRows, checked_skip
from heros.streams.live.kafka import PATIENCE, consumer_of, is_passing, patiently, reader_settings
from heros.streams.live.messages import GO_ON, Decode, decoded, stops_at_gap, tell_gap
from heros.streams.live.rows import OF_MESSAGES, encoder_of

STEP = 0.2  # poll timeout in seconds
AT_ONCE = 500  # messages per training block


class KafkaWorker:
    """A worker that trains one model per key and shares the partitions of a topic with other workers.

    Kafka's consumer group assigns partitions to workers. When a partition is reassigned, its old worker
    writes a snapshot to `store`, with the partition's models and offset. The new worker continues from this
    snapshot. If the old worker was killed, the new worker continues from the newest snapshot and trains again
    on the rows after the snapshot. Either way, the model of a key is bit for bit the same as a model that was
    trained once on each row.

    All rows of a key must be in the same partition. Kafka ensures this if messages have keys.

    Parameters
    ----------
    servers
        The brokers, e.g. ``localhost:9092``.
    topic
        The topic.
    group
        The consumer group of the workers.
    model
        The template for the model of each key. Its task determines whether labels are classes or numbers. Its
        budget may be a time or an energy per instance, but not a power, because workers cannot delay
        training.
    store
        Where snapshots are stored: a directory shared by all workers, or a URL that fsspec supports, e.g.
        ``s3://bucket/models``. The store of a topic belongs to one `target`, `key` and `model`; a worker with
        other settings is refused.
    target
        The field of a row that holds the label.
    key
        The field of a row that holds the key; None uses the key of the message.
    every
        The number of messages between snapshots of a partition. When a partition is reassigned, a snapshot is
        also written.
    decode
        A function that converts the bytes of a message to a row (a mapping); JSON by default.
    capacity, memory
        The maximum number of models in memory per partition, and their maximum size in bytes (see
        `heros.ensemble.keyed.Keyed`).
    schema, nominal, classes, on_bad_row
        As for `heros.streams.live.RowSource`, separately for each partition.
    on_gap
        What happens if Kafka has deleted messages after the newest snapshot of a partition. "stop" raises a
        `DataError`. "go on" continues with the remaining messages and issues a `DataNotice`. If the
        topic was deleted and created again, an error is raised in any case; use another `store`.
    options
        Additional settings of librdkafka; not those that HEROS chooses, and no cooperative assignment.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        group: str,
        model: Heros,
        store: str | os.PathLike[str],
        target: str,
        key: str | None = None,
        every: int = 10_000,
        decode: Decode = json.loads,
        capacity: int | None = None,
        memory: int | None = None,
        schema: Schema | None = None,
        nominal: Sequence[str] = (),
        classes: Sequence[object] | None = None,
        on_bad_row: str = "skip",
        on_gap: str = "stop",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(model, Heros):
            raise ParameterError.of("model", "KafkaWorker", "a Heros", model)
        if model.budget is not None and SpendingLimit.of(model.budget).kind == "power":
            rule = "a time or an energy per instance, e.g. '20 us', because workers cannot delay training"
            raise ParameterError.of("budget", "KafkaWorker", rule, model.budget)
        expect_servers(servers, "servers", "KafkaWorker", "host:9092")
        settings = reader_settings(servers, group, {"auto.offset.reset": "error"}, options, "KafkaWorker")
        strategy = str(settings.get("partition.assignment.strategy"))
        if "cooperative" in strategy or settings.get("group.protocol") == "consumer":
            rule = "settings without cooperative assignment, because a rebalance reassigns all partitions"
            raise ParameterError.of("options", "KafkaWorker", rule, options)
        skip = checked_skip(on_bad_row, "KafkaWorker")
        self._stops = stops_at_gap(on_gap, "KafkaWorker")
        self._kafka = needed("confluent_kafka", "A Kafka worker", "kafka")
        self.topic, self.every = topic, whole(every, "every", "KafkaWorker", 1)
        self._decode = decode
        snapshots = Snapshots(store, topic)
        template = serialization.description(model) | dict.fromkeys(model.undecided_parts())
        learnt = 0 if model.schema is None else model.instances
        described = {"target": target, "key": key, **template, "instances learnt before": learnt}
        snapshots.expect_same(described)
        self._scratch, self._opened = TemporaryDirectory(prefix="heros-"), itertools.count(1)
        self._encoder = partial(
            encoder_of,
            "KafkaWorker",
            schema=schema,
            nominal=nominal,
            classes=classes,
            task=model.given_task,
            limits=OF_MESSAGES,
        )
        reading: dict[str, Any] = {"target": target, "key": key, "skip": skip}
        self._new_partition: Any = partial(
            Partition, snapshots=snapshots, model=model, **reading, capacity=capacity, memory=memory
        )
        self._partitions: dict[int, Partition] = {}
        self._stopping = self._left = False
        self._gathered = 0
        self._last_activity = math.inf  # time of the last message or assignment
        self._consumer = consumer_of(self._kafka, settings, "KafkaWorker")

    @property
    def partitions(self) -> Mapping[int, Partition]:
        """The partitions of this worker by number; `Partition.keyed` holds the models."""
        return dict(self._partitions)

    def run(self, *, idle: float | None = None) -> None:
        """Train until `stop` is called or no message arrives for `idle` seconds, then write snapshots."""
        idle = None if idle is None else number(idle, "idle", "run", 0)
        if self._left:
            raise HerosError("A KafkaWorker can run only once. Create another one to continue.")
        subscribe = self._consumer.subscribe
        subscribe([self.topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        try:
            while not self._stopping:
                message = self._consumer.poll(0.0 if self._gathered else STEP)
                if message is not None:
                    self._take(message)
                    self._last_activity = time.monotonic()
                if self._gathered and (message is None or self._gathered >= AT_ONCE):
                    self._learn()
                if idle is not None and time.monotonic() - self._last_activity >= idle:
                    break
            self._release_partitions(list(self._partitions))
        except TooManyBadRows:
            for partition in self._partitions.values():
                self._save(partition)
            raise
        finally:
            self._close_partitions(list(self._partitions))
            self._leave_group()
            self._scratch.cleanup()

    def stop(self) -> None:
        """Stop `run`. Another thread or a signal handler may call this method."""
        self._stopping = True

    def _leave_group(self) -> None:
        """Leave the group before closing the consumer, because a rebalance during closing may never end."""
        self._stopping = self._left = True
        with suppress(self._kafka.KafkaException):
            self._consumer.unsubscribe()
            deadline = time.monotonic() + PATIENCE
            self._consumer.poll(STEP)
            while self._consumer.assignment() and time.monotonic() < deadline:
                self._consumer.poll(STEP)
        self._consumer.close()

    # -- learning -----------------------------------------------------------------------------------------

    def _take(self, message: Any) -> None:
        error = message.error()
        if error is not None:
            if error.code() == self._kafka.KafkaError._AUTO_OFFSET_RESET:
                self._seek(message.partition())
            elif not is_passing(self._kafka, error):
                raise HerosError(f"The Kafka topic {self.topic} cannot be read: {error}.")
            return
        partition = self._partitions.get(message.partition())
        if partition is not None:
            key = message.key()
            if not isinstance(key, str | None):
                with suppress(UnicodeDecodeError):  # a key that is not UTF-8 makes a bad row
                    key = key.decode()
            partition.take(key, decoded(self._decode, message.value()), message.offset())
            self._gathered += 1

    def _learn(self) -> None:
        self._gathered = 0
        for partition in self._partitions.values():
            partition.learn()
            if partition.unsaved >= self.every:
                self._save(partition)

    def _save(self, partition: Partition) -> None:
        partition.save()
        at = self._kafka.TopicPartition(self.topic, partition.number, partition.next)
        with suppress(self._kafka.KafkaException):  # the committed offset is only informative
            self._consumer.commit(offsets=[at], asynchronous=True)

    # -- assigned and revoked partitions --------------------------------------------------------------------

    def _on_assign(self, consumer: Any, partitions: Sequence[Any]) -> None:
        if self._stopping:
            return
        for one in partitions:
            scratch = Path(self._scratch.name, str(next(self._opened)))
            opened = self._new_partition(one.partition, scratch=scratch, encoder=self._encoder())
            self._partitions[one.partition] = opened
            one.offset = self._start(one.partition)
        consumer.assign(partitions)
        self._last_activity = time.monotonic()

    def _start(self, number: int) -> int:
        """Return the offset from which to read a partition; report messages that Kafka has deleted."""
        partition, (low, high) = self._partitions[number], self._bounds(number)
        if not partition.next:  # nothing was learnt yet
            return low
        if not low <= partition.next <= high:
            deleted = low - partition.next if partition.next < low else None
            where = f"offset {partition.next - 1} of partition {number}"
            way = "use another store" if deleted is None else GO_ON if self._stops else None
            tell_gap(f"The Kafka topic {self.topic}", deleted, where, way)
        partition.skip_to(low)
        return partition.ahead

    def _seek(self, number: int) -> None:
        """Continue to read a partition after Kafka has deleted its next messages."""
        if number in self._partitions:
            self._learn()
            start = self._start(number)
            self._consumer.seek(self._kafka.TopicPartition(self.topic, number, start))

    def _bounds(self, number: int) -> tuple[int, int]:
        """Return the first offset that a partition still has, and the offset after its last message."""
        at = self._kafka.TopicPartition(self.topic, number)
        ask = partial(self._consumer.get_watermark_offsets, at, timeout=PATIENCE)
        try:
            low, high = patiently(self._kafka, ask)
        except self._kafka.KafkaException as error:
            raise HerosError(f"The Kafka topic {self.topic} cannot be read: {error}.") from None
        return int(low), int(high)

    def _on_revoke(self, consumer: Any, partitions: Sequence[Any]) -> None:
        self._release_partitions([one.partition for one in partitions])

    def _on_lost(self, consumer: Any, partitions: Sequence[Any]) -> None:
        """Close partitions that another worker has already taken over, without writing a snapshot."""
        self._close_partitions([one.partition for one in partitions])

    def _release_partitions(self, numbers: Sequence[int]) -> None:
        for partition in [self._partitions[one] for one in numbers if one in self._partitions]:
            partition.learn()
            self._save(partition)
        self._close_partitions(numbers)

    def _close_partitions(self, numbers: Sequence[int]) -> None:
        for one in numbers:
            if one in self._partitions:
                self._partitions.pop(one).close()
