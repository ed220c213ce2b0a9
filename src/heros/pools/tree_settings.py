"""Settings and functions shared by families of trees, e.g. to return the size or the text of a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import above_zero, or_none, real_number, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.base import Floats
from heros.pools.family import BoundNative

# The codes in `node_test` and `node_link` of a Hoeffding tree's state.
LEAF, ABSENT, INACTIVE = _core.HoeffdingPool.LEAF, _core.HoeffdingPool.ABSENT, _core.HoeffdingPool.INACTIVE
AT_MOST, EACH_VALUE = _core.HoeffdingPool.AT_MOST, _core.HoeffdingPool.EACH_VALUE

MAX_BYTES = Setting(
    "max_bytes",
    32 << 20,
    whole_number(1, 1 << 62),
    "The memory of nodes and observers. The limit is enforced at every instance. When the limit is reached, "
    "the least promising leaves are deactivated. A leaf is activated again when it is more promising than an "
    "active leaf. MOA and River check their limits every million instances.",
)
GRACE_PERIOD = Setting(
    "grace_period",
    200,
    whole_number(1, (1 << 31) - 1),
    "The number of instances in a leaf between two searches for a split.",
)
SPLIT_CONFIDENCE = Setting(
    "split_confidence",
    1e-7,
    above_zero(1),
    "The probability δ that the chosen test is not the best test on an infinite sample.",
)
TIE_THRESHOLD = Setting(
    "tie_threshold",
    0.05,
    real_number(0),
    "If the Hoeffding bound ε is below this value, the best test is used even if the second best is as good.",
)
MAX_DEPTH = Setting(
    "max_depth",
    None,
    or_none(whole_number(0, 1 << 20)),
    "The maximum number of tests on the path to a leaf; None means no limit.",
    none=-1,
)


@dataclass(frozen=True, slots=True)
class TreeStats:
    """The size of one tree.

    Parameters
    ----------
    nodes, leaves
        The number of nodes (including leaves) and the number of leaves.
    active_leaves
        The number of leaves that can split. The other leaves were deactivated to stay within the byte limit:
        they count classes and predict the majority class.
    depth
        The number of tests on the longest path.
    bytes, max_bytes
        The memory of the nodes and observers, and the limit of this memory, which is never exceeded.
    """

    nodes: int
    leaves: int
    active_leaves: int
    depth: int
    bytes: int
    max_bytes: int


class BoundTrees(BoundNative):
    """The models of a pool of trees for one schema."""

    def stats(self) -> list[TreeStats]:
        """Return the size of each model.

        For boosted trees, the numbers are sums over the model's trees; the depth is the depth of the deepest
        tree.
        """
        limits = [configuration["max_bytes"] for configuration in self.pool.configurations]
        return [TreeStats(*(*self.native.summary(i), limit)) for i, limit in enumerate(limits)]


def gains_of(bound: Any, i: int) -> dict[str, float]:
    """Return the total reduction of the loss by the splits on each feature in model i."""
    names = [feature.name for feature in bound.schema.features]
    return dict(zip(names, bound.native.gains(i).tolist(), strict=True))


def tree_text(state: Mapping[str, NDArray[Any]], schema: Schema) -> str:
    """Return a tree's state as text: a line per test and per leaf, indented by depth.

    A leaf shows its majority class, the count of that class and the count of all instances. After a
    split, a new leaf starts with a share of the counts of its parent. Inactive leaves are marked.
    """
    test = state["node_test"]
    counts = state["node_counts"].reshape(len(test), -1)
    nodes = _Nodes(state["node_value"], test, state["node_link"], counts, schema)
    return "\n".join(nodes.lines(0, ""))


@dataclass(frozen=True)
class _Nodes:
    value: Floats
    test: NDArray[np.int32]
    link: NDArray[np.int32]
    counts: Floats
    schema: Schema

    def lines(self, node: int, indent: str) -> Iterator[str]:
        """Yield the text lines of the subtree that starts at a node."""
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
        """Return the condition of each branch of a split."""
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
        """Return the majority class and the counts of a leaf as text."""
        counts = self.counts[node]
        top = int(np.argmax(counts))
        note = ", inactive" if self.link[node] == INACTIVE else ""
        return f"{self.schema.classes[top]} ({counts[top]:.0f} of {counts.sum():.0f}{note})"
