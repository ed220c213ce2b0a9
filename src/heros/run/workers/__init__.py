"""Workers that divide the models of many keys among themselves: each trains the keys of some partitions."""

from heros.run.workers.kafka import KafkaWorker
from heros.run.workers.snapshots import Snapshots

__all__ = ["KafkaWorker", "Snapshots"]
