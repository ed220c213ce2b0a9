"""A Hoeffding tree as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.data.schema import Schema

__all__ = ["tree_text"]

# As in the core: what `node_test` and `node_link` hold (hoeffding_memory.hpp).
ABSENT, INACTIVE = -2, -2
AT_MOST, EACH_VALUE = 0, 1


def tree_text(state: Mapping[str, NDArray[Any]], schema: Schema) -> str:
    """A tree's state as text: a line per test and per leaf, indented by depth.

    A leaf shows its majority class, how often it counted it and how many instances it counted; counts
    begin with the share of the parent's that a split hands down. A leaf that has been deactivated says so.

    Examples
    --------
    >>> from heros._base import core as _core
    >>> pool = _core.HoeffdingPool([_core.TreeSettings(4096, 2, 0.5, 1.0, "gini", "adaptive", False, -1)])
    >>> pool.grow(np.array([2], dtype=np.int32), 2)
    >>> print(tree_text(pool.tree_state(0), Schema.of([("colour", "red", "green")], ["no", "yes"])))
    no (0 of 0)
    """
    test = state["node_test"]
    counts = state["node_counts"].reshape(len(test), -1)
    nodes = _Nodes(state["node_value"], test, state["node_link"], counts, schema)
    return "\n".join(nodes.lines(0, ""))


class _Nodes:
    """The arrays of one tree."""

    def __init__(
        self,
        value: NDArray[np.float64],
        test: NDArray[np.int32],
        link: NDArray[np.int32],
        counts: NDArray[np.float64],
        schema: Schema,
    ) -> None:
        self.value, self.test, self.link, self.counts, self.schema = value, test, link, counts, schema

    def lines(self, node: int, indent: str) -> Iterator[str]:
        """The lines of the subtree below a node."""
        if self.test[node] < 0:
            yield indent + self.leaf(node)
            return
        for branch, condition in enumerate(self.conditions(node)):
            child = int(self.link[node]) + branch
            if self.test[child] == ABSENT:
                continue
            if self.test[child] < 0:
                yield f"{indent}{condition}: {self.leaf(child)}"
            else:
                yield f"{indent}{condition}:"
                yield from self.lines(child, indent + "    ")

    def conditions(self, node: int) -> list[str]:
        """The condition of every branch of a split."""
        feature = self.schema.features[self.test[node] >> 2]
        kind = self.test[node] & 3
        if kind == AT_MOST:
            return [f"{feature.name} <= {self.value[node]:g}", f"{feature.name} > {self.value[node]:g}"]
        values = feature.values or ()
        if kind == EACH_VALUE:
            return [f"{feature.name} = {value}" for value in values]
        value = values[int(self.value[node])]
        return [f"{feature.name} = {value}", f"{feature.name} != {value}"]

    def leaf(self, node: int) -> str:
        """What a leaf has counted."""
        counts = self.counts[node]
        top = int(np.argmax(counts))
        note = ", inactive" if self.link[node] == INACTIVE else ""
        return f"{self.schema.classes[top]} ({counts[top]:.0f} of {counts.sum():.0f}{note})"
