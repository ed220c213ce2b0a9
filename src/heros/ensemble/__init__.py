"""`Heros`: a pool, a policy and running scores as one model that predicts, learns and explains itself."""

from heros.ensemble.block import Block
from heros.ensemble.heros import Heros

__all__ = ["Block", "Heros"]
