"""Kafka topics as sources."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from heros.errors import DataError, HerosError
from heros.extras import needed
from heros.sources.base import END, IDLE, Signal
from heros.sources.messages import MessageSource

__all__ = ["KafkaTopic"]

PATIENCE = 30.0  # seconds to wait for the brokers
STEP = 1.0  # seconds that one call to the library waits: Ctrl-C is heard in between


class KafkaTopic(MessageSource):
    """The messages of a topic: of each partition in their order, of several as they come.

    Where it stands in each partition is kept in checkpoints, in the same write as the model; offsets are
    committed to the group only after that, for others to see how far it is. Rows of several partitions come
    in an order that is nobody's: to get the same model again, read one partition, or have a model per key.

    Parameters
    ----------
    servers
        The brokers, e.g. ``localhost:9092``.
    topic
        The topic.
    group
        The consumer group whose offsets are kept up to date; None if nobody wants to see them.
    partitions
        Which partitions to read; all of them by default.
    options
        More settings of librdkafka, e.g. for encryption.
    **settings
        As for `heros.sources.messages.MessageSource`.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        group: str | None = None,
        partitions: Sequence[int] | None = None,
        options: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(f"kafka://{servers}/{topic}", **settings)
        self._kafka = needed("confluent_kafka", "A Kafka topic", "kafka")
        self.topic, self.group = topic, group
        self._consumer = self._kafka.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group or f"heros-{time.time_ns()}",
                "enable.auto.commit": False,
                "enable.partition.eof": not self.follow,
                "auto.offset.reset": "earliest",
                **(options or {}),
            }
        )
        self.partitions = self._all_partitions() if partitions is None else sorted(partitions)
        self._ended: set[int] = set()
        self._assign({})

    def fetch(self, most: int, timeout: float | None) -> Sequence[tuple[Any, Mapping[str, Any]]] | Signal:
        """Up to so many messages, each with the offset behind it."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = STEP if deadline is None else deadline - time.monotonic()
            try:
                got = self._consumer.consume(min(most, 10_000), max(0.0, min(left, STEP)))
            except self._kafka.KafkaException as error:
                raise self._trouble(error) from None
            rows = [row for message in got if (row := self._row(message)) is not None]
            if rows:
                return rows
            if not self.follow and self._ended >= set(self.partitions):
                return END
            if deadline is not None and time.monotonic() >= deadline:
                return IDLE

    def _row(self, message: Any) -> tuple[Any, Mapping[str, Any]] | None:
        error = message.error()
        if error is not None:
            if error.code() == self._kafka.KafkaError._PARTITION_EOF:
                self._ended.add(message.partition())
                return None
            raise self._trouble(error)
        return self.decoded(message.value() or b""), {str(message.partition()): message.offset() + 1}

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Go on at these offsets, by partition."""
        if not all(type(offset) is int and offset >= 0 for offset in position.values()):
            raise DataError(f"The position of {self.name} must be offsets. Got {dict(position)!r} instead.")
        self._assign({int(partition): offset for partition, offset in position.items()})

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        """Tell the group how far a checkpoint holds."""
        if self.group is None or not where["position"]:
            return
        offsets = [self._at(int(p), offset) for p, offset in where["position"].items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except self._kafka.KafkaException as error:
            raise self._trouble(error) from None

    def close(self) -> None:
        """Leave the brokers."""
        self._consumer.close()

    def _assign(self, offsets: Mapping[int, int]) -> None:
        start = self._kafka.OFFSET_BEGINNING
        self._ended.clear()
        self._consumer.assign([self._at(p, offsets.get(p, start)) for p in self.partitions])

    def _at(self, partition: int, offset: int) -> Any:
        return self._kafka.TopicPartition(self.topic, partition, offset)

    def _all_partitions(self) -> list[int]:
        try:
            found = self._consumer.list_topics(self.topic, timeout=PATIENCE).topics[self.topic]
        except self._kafka.KafkaException as error:
            raise self._trouble(error) from None
        if found.error is not None:
            raise self._trouble(found.error)
        return sorted(found.partitions)

    def _trouble(self, error: Any) -> HerosError:
        return HerosError(f"The Kafka topic {self.name} must be readable. Got: {error}.")
