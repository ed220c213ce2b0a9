"""Workers that share the models of many keys: each worker trains the models of some partitions."""

from heros.run.workers.kafka import KafkaWorker
from heros.run.workers.snapshots import Snapshots

__all__ = ["KafkaWorker", "Snapshots"]
