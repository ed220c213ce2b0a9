"""Checkpoints: a run on disk as it stands, to go on from after whatever happened."""

from heros.checkpoints.files import Checkpoint, CheckpointWarning, found
from heros.checkpoints.keeper import Keeper

__all__ = ["Checkpoint", "CheckpointWarning", "Keeper", "found"]
