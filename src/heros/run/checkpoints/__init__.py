"""Checkpoints: a run on disk as it stands, to go on from after whatever happened."""

from heros.run.checkpoints.checkpointer import Checkpointer
from heros.run.checkpoints.files import Checkpoint, CheckpointWarning, found

__all__ = ["Checkpoint", "CheckpointWarning", "Checkpointer", "found"]
