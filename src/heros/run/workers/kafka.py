"""Workers of a Kafka consumer group: each has the models of the keys in its partitions."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from heros._base.extras import needed
from heros._base.parameters import number, whole
from heros.data.schema import Schema
from heros.ensemble import Heros
from heros.errors import HerosError, ParameterError
from heros.run.workers.partition import Partition
from heros.run.workers.snapshots import Snapshots
from heros.streams.live.bad_rows import TooManyBadRows, checked_skip
from heros.streams.live.kafka import is_passing, reader_settings
from heros.streams.live.messages import Decode, decode_json, decoded
from heros.streams.live.rows import encoder_of

__all__ = ["KafkaWorker"]

STEP = 0.2  # seconds that one look waits
AT_ONCE = 500  # messages learnt at a time


class KafkaWorker:
    """One of many workers that share the partitions of a topic, with a model for every key.

    Kafka's consumer group says which partitions are whose, and a partition's keys live with its worker.
    When partitions change hands, the models go with them through `store`: the worker that lets go writes a
    snapshot of the partition's models with the offset they are at, the one that takes over goes on from
    there. After a kill the newest snapshot counts, and rows behind it are learnt again by whoever has the
    partition then: a key's model is always, bit for bit, one that has read its rows once.

    Rows have to be in the partition of their key, as Kafka does it by itself if messages have keys.

    Parameters
    ----------
    servers
        The brokers, e.g. ``localhost:9092``.
    topic
        The topic.
    group
        The consumer group that the workers are.
    model
        What every key starts as. Its task says whether labels are names of classes or numbers.
    store
        Where snapshots are: a directory that all workers share, or an address that fsspec knows, e.g.
        ``s3://bucket/models``.
    target
        The name under which a row has its label.
    key
        The name under which a row has its key; None: the message's key.
    every
        After how many messages of a partition a snapshot is written, besides those when it changes hands.
    decode
        From the bytes of a message to a row, a mapping; JSON by default.
    capacity, memory
        How many models, and bytes of them, may be in memory, per partition (see
        `heros.ensemble.keyed.Keyed`).
    schema, nominal, classes, on_bad_row
        As for `heros.streams.live.RowSource`, for every partition by itself.
    options
        More settings of librdkafka.
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
        decode: Decode = decode_json,
        capacity: int | None = None,
        memory: int | None = None,
        schema: Schema | None = None,
        nominal: Sequence[str] = (),
        classes: Sequence[object] | None = None,
        on_bad_row: str = "skip",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(model, Heros):
            raise ParameterError.of("model", "KafkaWorker", "a Heros", model)
        skip = checked_skip(on_bad_row, "KafkaWorker")
        self._kafka = needed("confluent_kafka", "A Kafka worker", "kafka")
        self.topic, self.every = topic, whole(every, "every", "KafkaWorker", 1)
        self._decode = decode
        self._scratch = TemporaryDirectory(prefix="heros-")
        self._opened = 0
        snapshots = Snapshots(store, topic)
        task = model.task_asked

        def opened(partition: int) -> Partition:
            self._opened += 1
            return Partition(
                partition,
                snapshots,
                Path(self._scratch.name, str(self._opened)),
                model,
                target=target,
                key=key,
                encoder=encoder_of("KafkaWorker", schema=schema, nominal=nominal, classes=classes, task=task),
                skip=skip,
                capacity=capacity,
                memory=memory,
            )

        self._open: Callable[[int], Partition] = opened
        self._partitions: dict[int, Partition] = {}
        self._stopping = False
        self._gathered = 0
        self._heard = math.inf  # when something came, or partitions did
        self._consumer = self._kafka.Consumer(reader_settings(servers, group, options))

    @property
    def partitions(self) -> Mapping[int, Partition]:
        """The partitions it has, each with its `keyed` models."""
        return dict(self._partitions)

    def run(self, *, idle: float | None = None) -> None:
        """Learn until `stop` is called, or nothing has come for `idle` seconds; then hand everything over."""
        idle = None if idle is None else number(idle, "idle", "run", 0)
        subscribe = self._consumer.subscribe
        subscribe([self.topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        try:
            while not self._stopping:
                message = self._consumer.poll(0.0 if self._gathered else STEP)
                if message is not None:
                    self._take(message)
                    self._heard = time.monotonic()
                if self._gathered and (message is None or self._gathered >= AT_ONCE):
                    self._learn()
                if idle is not None and time.monotonic() - self._heard >= idle:
                    break
            self._hand_over(list(self._partitions))
        except TooManyBadRows:
            for partition in self._partitions.values():
                self._save(partition)
            raise
        finally:
            self._let_go(list(self._partitions))
            self._consumer.close()
            self._scratch.cleanup()

    def stop(self) -> None:
        """Have `run` come to its end; from another thread or a handler of signals."""
        self._stopping = True

    # -- learning -----------------------------------------------------------------------------------------

    def _take(self, message: Any) -> None:
        error = message.error()
        if error is not None:
            if not is_passing(self._kafka, error):
                raise HerosError(f"The Kafka topic {self.topic} must be readable. Got: {error}.")
            return
        partition = self._partitions.get(message.partition())
        if partition is not None:
            key, row = message.key(), decoded(self._decode, message.value() or b"")
            partition.take(None if key is None else _text(key), row, message.offset())
            self._gathered += 1

    def _learn(self) -> None:
        self._gathered = 0
        for partition in self._partitions.values():
            partition.learn()
            if partition.unsaved >= self.every:
                self._save(partition)

    def _save(self, partition: Partition) -> None:
        """Snapshot first; then the group may know."""
        partition.save()
        at = self._kafka.TopicPartition(self.topic, partition.number, partition.next)
        with suppress(self._kafka.KafkaException):  # it only tells others how far we are
            self._consumer.commit(offsets=[at], asynchronous=True)

    # -- partitions that come and go ------------------------------------------------------------------------

    def _on_assign(self, consumer: Any, partitions: Sequence[Any]) -> None:
        for one in partitions:
            self._partitions[one.partition] = self._open(one.partition)
            one.offset = self._partitions[one.partition].next
        consumer.assign(partitions)
        self._heard = time.monotonic()

    def _on_revoke(self, consumer: Any, partitions: Sequence[Any]) -> None:
        self._hand_over([one.partition for one in partitions])

    def _on_lost(self, consumer: Any, partitions: Sequence[Any]) -> None:
        """Somebody else has them already, from the last snapshot on."""
        self._let_go([one.partition for one in partitions])

    def _hand_over(self, numbers: Sequence[int]) -> None:
        for one in numbers:
            partition = self._partitions.get(one)
            if partition is not None:
                partition.learn()
                self._save(partition)
        self._let_go(numbers)

    def _let_go(self, numbers: Sequence[int]) -> None:
        for one in numbers:
            partition = self._partitions.pop(one, None)
            if partition is not None:
                partition.close()


def _text(key: bytes | str) -> bytes | str:
    """The key of a message as text; as it is if it is none, and a bad row if it is to be used."""
    try:
        return key if isinstance(key, str) else key.decode()
    except UnicodeDecodeError:
        return key
