"""Kafka topics as sources."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heros._base.addresses import expect_servers
from heros._base.errors import DataError, ParameterError
from heros._base.extras import needed
from heros._base.parameters import expect_list, whole
from heros.streams.live.messages import MessageSource, Rows

__all__ = ["PATIENCE", "KafkaTopic", "consumer_of", "is_passing", "patiently", "reader_settings"]

PATIENCE = 30.0  # seconds to wait for the brokers

PASSING = {
    *("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "LEADER_NOT_AVAILABLE", "NOT_COORDINATOR"),
    *("NETWORK_EXCEPTION", "NOT_LEADER_FOR_PARTITION", "REQUEST_TIMED_OUT"),
    *("_TIMED_OUT", "_TRANSPORT", "_WAIT_COORD"),
}
"""Temporary errors, for example while brokers are busy or elect a leader."""


OWN = ("bootstrap.servers", "group.id", "enable.auto.commit", "auto.offset.reset", "enable.partition.eof")
"""The settings that HEROS chooses. With other values, messages could be skipped, or reading never end."""


def reader_settings(
    servers: str, group: str, own: Mapping[str, Any], options: Mapping[str, Any] | None, owner: str
) -> dict[str, Any]:
    """Return the settings of a consumer that commits no offsets automatically."""
    more = {} if options is None else options
    refused = [name for name in more if name in OWN] if isinstance(more, Mapping) else [more]
    if refused or not all(isinstance(name, str) for name in more):
        rule = f"a dict of settings of librdkafka without {', '.join(OWN)}"
        raise ParameterError.of("options", owner, rule, refused[0] if refused else options)
    settings: dict[str, Any] = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False}
    return {**settings, **own, **more}


def consumer_of(kafka: Any, settings: Mapping[str, Any], owner: str) -> Any:
    """Return a consumer; raise a ParameterError if librdkafka rejects a setting."""
    try:
        return kafka.Consumer(settings)
    except kafka.KafkaException as error:
        given = f"settings that librdkafka accepts ({error.args[0].str()})"
        raise ParameterError.of("options", owner, given, sorted(settings)) from None


def is_passing(kafka: Any, error: Any) -> bool:
    """Return whether an error of librdkafka is temporary."""
    return error.code() in {getattr(kafka.KafkaError, name) for name in PASSING}


def patiently(kafka: Any, ask: Callable[[], Any]) -> Any:
    """Return the response of the brokers; retry on temporary errors."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return ask()
        except kafka.KafkaException as error:
            if time.monotonic() >= deadline or not is_passing(kafka, error.args[0]):
                raise
            time.sleep(0.1)


class KafkaTopic(MessageSource):
    """A source of the messages of a Kafka topic, in order within each partition.

    Checkpoints store the offset of each partition together with the model. After each checkpoint the offsets
    are committed to the group. Other tools can then show the progress. Rows of several partitions arrive in
    an undefined order. For reproducible models, read one partition, or use one model per key.

    Parameters
    ----------
    servers
        The brokers, e.g. ``localhost:9092``.
    topic
        The topic.
    group
        The consumer group for committed offsets; None means that no offsets are committed.
    partitions
        The partitions to read; by default all.
    options
        Additional settings of librdkafka, e.g. for encryption; not those that HEROS chooses, such as
        ``auto.offset.reset``.
    **settings
        As for `heros.streams.live.messages.MessageSource`.
    """

    kind = "Kafka topic"

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
        expect_servers(servers, "servers", "KafkaTopic", "host:9092")
        super().__init__(f"kafka://{servers}/{topic}", **settings)
        self._kafka = needed("confluent_kafka", "A Kafka topic", "kafka")
        self.topic, self.group = topic, group
        ends = {"enable.partition.eof": not self.follow, "auto.offset.reset": "error"}
        name = group or f"heros-{time.time_ns()}"
        self._settings = reader_settings(servers, name, ends, options, "KafkaTopic")
        self._consumer = consumer_of(self._kafka, self._settings, "KafkaTopic")
        self.partitions = self._all_partitions() if partitions is None else _checked(partitions)
        self._next: dict[int, int] = {}  # the next offset of each partition
        self._ends: dict[int, int] = {}  # the offset after the last message; empty with `follow`
        self._ended: set[int] = set()
        self._assigned = False

    def _bring(self, most: int, wait: float) -> Rows:
        if not self._assigned:
            self._assign()
        if self._at_end():
            return []
        try:
            got = self._consumer.consume(min(most, 10_000), wait)
        except self._kafka.KafkaException as error:
            raise self._trouble(error) from None
        return [row for message in got if (row := self._row(message)) is not None]

    def _at_end(self) -> bool:
        return not self.follow and self._ended >= set(self.partitions)

    def _row(self, message: Any) -> tuple[Any, Mapping[str, Any]] | None:
        error, partition = message.error(), message.partition()
        if error is not None:
            if error.code() == self._kafka.KafkaError._PARTITION_EOF:
                if message.offset() >= self._ends.get(partition, 0):
                    self._ended.add(partition)
            elif error.code() == self._kafka.KafkaError._AUTO_OFFSET_RESET:
                self._assigned = False  # assign again, at an offset that exists
            elif not is_passing(self._kafka, error):
                raise self._trouble(error)
            return None
        behind = message.offset() + 1
        if behind <= self._next.get(partition, 0):  # a duplicate from an earlier request
            return None
        self._next[partition] = behind
        if behind >= self._ends.get(partition, math.inf):
            self._ended.add(partition)
        return self.decoded(message.value()), {str(partition): behind}

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Continue at this position, which maps partitions to offsets."""
        if not all(type(offset) is int and offset >= 0 for offset in position.values()):
            rule = f"The position of {self.name} must map each partition to a non-negative offset."
            raise DataError(f"{rule} Got {dict(position)!r} instead.")
        if self._assigned:  # drop responses to requests of the old consumer
            self._consumer.close()
            self._consumer = self._kafka.Consumer(self._settings)
            self._assigned = False
        self._next = {int(partition): offset for partition, offset in position.items()}

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        """Commit the offsets of a checkpoint to the group."""
        offsets = [self._at(int(p), offset) for p, offset in where["position"].items()]
        if self.group is not None and offsets:
            self._patiently(lambda: self._consumer.commit(offsets=offsets, asynchronous=False))

    def close(self) -> None:
        """Close the connection to the brokers."""
        self._consumer.close()

    def _assign(self) -> None:
        """Assign the partitions; called only at the first read.

        If an assignment were replaced, messages of the old assignment could still arrive.
        """
        bounds = {p: self._bounds(p) for p in self.partitions}
        for partition, (low, high) in bounds.items():
            following = self._next.get(partition, low)
            if not low <= following <= high:
                where = f"offset {following - 1} of partition {partition}"
                self._tell_gap(None if following > high else low - following, where)
                following = low
            self._next[partition] = following
        if not self.follow:
            self._ends = {p: 0 if low == high else high for p, (low, high) in bounds.items()}
        self._ended = {p for p, end in self._ends.items() if self._next[p] >= end}
        self._consumer.assign([self._at(p, self._next[p]) for p in self.partitions])
        self._assigned = True

    def _bounds(self, partition: int) -> tuple[int, int]:
        """Return the first available offset, and the offset after the last message."""
        at = self._at(partition, 0)
        low, high = self._patiently(lambda: self._consumer.get_watermark_offsets(at, timeout=PATIENCE))
        return int(low), int(high)

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        try:
            return patiently(self._kafka, ask)
        except self._kafka.KafkaException as error:
            raise self._trouble(error) from None

    def _at(self, partition: int, offset: int) -> Any:
        return self._kafka.TopicPartition(self.topic, partition, offset)

    def _all_partitions(self) -> list[int]:
        listed = self._patiently(lambda: self._consumer.list_topics(self.topic, timeout=PATIENCE))
        found = listed.topics[self.topic]
        if found.error is not None:
            raise self._trouble(found.error)
        return sorted(found.partitions)


def _checked(partitions: Sequence[int]) -> list[int]:
    """Return the distinct partitions, sorted; raise a ParameterError if there are none."""
    listed = expect_list(partitions, "partitions", "KafkaTopic")
    if not listed:
        raise ParameterError.of("partitions", "KafkaTopic", "a list of at least one partition", partitions)
    return sorted({whole(one, "partitions", "KafkaTopic", 0, 2**31 - 1) for one in listed})
