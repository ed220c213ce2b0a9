"""The nodes of trees that split by bins: boosted trees and regression trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.integrations.onnx.trees import Walk

INTS = 4  # integers of a node, as in the core
CUT = 0  # position of the cut among a node's real numbers


class Binned:
    """The nodes of one tree, with the schema's feature indices.

    Parameters
    ----------
    ints, reals
        The nodes, as in the core.
    came
        The position of the instance count among a node's real numbers.
    columns, values
        The schema index of each feature of the tree, and the number of values of each schema feature.
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
        """Return the tests of the nodes; a missing value goes to the branch with more instances."""
        first = np.where(self.splits, self.child, 0)
        second = np.minimum(first + 1, len(first) - 1)
        missing = np.where(self.came[first] >= self.came[second], 0, 1)
        each = np.zeros(len(first), dtype=bool)
        cut = self.numbers[:, CUT]
        return Walk(
            self.feature, self.at_most, each, cut, self.child, self.splits, missing, int(self.depth.max())
        )
