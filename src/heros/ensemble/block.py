"""The results of `test_then_train` on a block of instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Block:
    """The results of `test_then_train` on n instances."""

    probabilities: NDArray[np.float64]  # (n, classes) predictions made before each label was known
    answered: NDArray[np.int32]  # (n,) index of the model that predicted; -1 if several models predicted
    chosen: NDArray[np.bool_]  # (n, M) mask of the trained models
    spent: NDArray[np.float64]  # (n,) Σγ of the trained models
    reward: NDArray[np.float64]  # (n,) R = Σ (L + (1 − γ)) of the trained models

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The outputs (n, width), predicted before each target was known; the task defines the outputs."""
        return self.probabilities


def joined(blocks: Sequence[Block]) -> Block:
    """Concatenate consecutive blocks."""
    if len(blocks) == 1:
        return blocks[0]
    columns = ([getattr(block, name) for block in blocks] for name in Block.__slots__)
    return Block(*map(np.concatenate, columns))
