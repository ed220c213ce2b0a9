"""The class `Heros`: an ensemble with a pool, a policy and running scores."""

from heros.ensemble.block import Block
from heros.ensemble.heros import Heros

__all__ = ["Block", "Heros"]
