"""Trees that were split by bins, those of boosting and those of numbers: how instances go down them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.integrations.onnx.trees import Walk

__all__ = ["INTS", "Binned"]

INTS = 4  # whole numbers of a node, as in the core
CUT = 0  # where it stands among a node's numbers


class Binned:
    """The nodes of one tree, its features by their numbers in the schema.

    Parameters
    ----------
    ints, reals
        The nodes as the core keeps them.
    came
        Which of a node's numbers says how many came there.
    columns, values
        Which feature of the schema each of the tree's is, and how many values those of the schema have.
    """

    def __init__(
        self, ints: NDArray[Any], reals: NDArray[Any], came: int, columns: NDArray[Any], values: NDArray[Any]
    ) -> None:
        self.tested, self.child, _, self.depth = ints.astype(np.int64).reshape(-1, INTS).T
        self.numbers = reals.reshape(len(self.tested), -1)
        self.came = self.numbers[:, came]
        self.splits = self.tested >= 0
        self.feature = np.where(self.splits, columns.astype(np.int64)[np.maximum(self.tested, 0)], 0)
        self.at_most = values[self.feature] == 0

    def walk(self) -> Walk:
        """How instances go down: without the feature, where more came."""
        first = np.where(self.splits, self.child, 0)
        second = np.minimum(first + 1, len(first) - 1)
        missing = np.where(self.came[first] >= self.came[second], 0, 1)
        each = np.zeros(len(first), dtype=bool)
        cut = self.numbers[:, CUT]
        return Walk(
            self.feature, self.at_most, each, cut, self.child, self.splits, missing, int(self.depth.max())
        )
