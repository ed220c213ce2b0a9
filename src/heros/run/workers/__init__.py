"""Many workers for the models of many keys: each has the keys of some partitions, and hands them over."""

from heros.run.workers.kafka import KafkaWorker
from heros.run.workers.snapshots import Snapshots

__all__ = ["KafkaWorker", "Snapshots"]
