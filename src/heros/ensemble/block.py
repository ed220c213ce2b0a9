"""What testing, then training on a block of instances gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Block", "joined"]


@dataclass(frozen=True, slots=True)
class Block:
    """What testing, then training on n instances gave."""

    probabilities: NDArray[np.float64]  # (n, classes), given before each label was seen; see `outputs`
    answered: NDArray[np.int32]  # (n,) the model that answered; -1 where several did
    chosen: NDArray[np.bool_]  # (n, M) which models were trained
    spent: NDArray[np.float64]  # (n,) Σγ of the trained models
    reward: NDArray[np.float64]  # (n,) R = Σ (L + (1 − γ)) of the trained models

    @property
    def outputs(self) -> NDArray[np.float64]:
        """What was answered before each target was seen, (n, width) (see the task)."""
        return self.probabilities


def joined(blocks: Sequence[Block]) -> Block:
    """Blocks that follow one another, as one."""
    if len(blocks) == 1:
        return blocks[0]
    columns = ([getattr(block, name) for block in blocks] for name in Block.__slots__)
    return Block(*map(np.concatenate, columns))
