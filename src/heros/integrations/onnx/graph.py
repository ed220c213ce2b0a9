"""A builder of ONNX graphs, and operations shared by several families."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
State = dict[str, Array]

NONE = -1e30
"""The logarithm that is used for probability 0; finite, because sums of infinities may be NaN."""


class Graph:
    """A sequence of operations and their constants."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """Add a constant and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def __call__(self, operation: str, *inputs: Any, named: str | None = None, **attributes: Any) -> str:
        """Add an operation and return the name of its result; arrays among the inputs become constants."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        result = named or f"r{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operation, names, [result], **attributes))
        return result

    def smallest(self, values: str, k: int) -> str:
        """Return the indices of the k smallest values of each row; ties go to the lowest index."""
        names = [values, self.constant(np.array([k]))]
        results = [f"r{len(self.nodes)}_least", f"r{len(self.nodes)}"]
        self.nodes.append(self._onnx.helper.make_node("TopK", names, results, largest=0))
        return results[1]

    def cast(self, value: str, kind: type) -> str:
        """Cast a tensor to another data type."""
        return self("Cast", value, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def boolean_where(self, condition: Any, one: Any, other: Any) -> str:
        """Return `one` where the condition holds, else `other`; like `Where`, but for booleans."""
        condition = condition if isinstance(condition, str) else self.constant(condition)
        return self("Or", self("And", condition, one), self("And", self("Not", condition), other))

    def for_each(self, row: Array) -> str:
        """Repeat a row of numbers (columns,) for each instance; the result has shape (n, columns)."""
        missing = self("IsNaN", self("Gather", "X", np.array([0]), axis=1))
        return self(
            "Add", self("Mul", self.cast(missing, row.dtype.type), np.zeros((1, 1), row.dtype)), row[None]
        )

    def probabilities(self, result: str) -> None:
        """Set the output of a classifier (n, classes)."""
        self("Identity", result, named="probabilities")
        self("ArgMax", "probabilities", axis=1, keepdims=0, named="label")

    def log_odds(self, result: str, classes: int) -> None:
        """Set the output of a classifier from log-odds: (n, classes), or (n, 1) for one or two classes."""
        if classes > 2:
            return self.probabilities(self("Softmax", result, axis=1))
        if classes == 1:
            return self.probabilities(self("Exp", self("Mul", result, np.float64(0))))
        second = self("Sigmoid", result)
        return self.probabilities(self("Concat", self("Sub", np.float64(1), second), second, axis=1))

    def number(self, result: str) -> None:
        """Set the output of a regressor (n, 1)."""
        self("Squeeze", result, np.array([1]), named="value")


def standardised(graph: Graph, state: State, divisor: float) -> str:
    """Return (x − mean)/(divisor·sd) for each value x of X, or 0 if the sd is 0; mean and sd include x."""
    n = state["count"] + 1
    off = graph("Sub", "X", state["mean"])
    mean = graph("Add", state["mean"], graph("Div", off, n))
    rest = graph("Sub", "X", mean)
    squares = graph("Add", state["square_deviations"], graph("Mul", off, rest))
    variance = graph("Div", squares, n)
    finite = graph("And", graph("Greater", variance, np.float64(0)), graph("Less", variance, np.inf))
    deviation = graph("Sqrt", graph("Where", finite, variance, np.float64(1)))
    scaled = graph("Div", rest, graph("Mul", np.float64(divisor), deviation))
    return graph("Where", finite, scaled, np.float64(0))


def numbers_of(graph: Graph, state: State, features: Ints, farthest: float) -> str:
    """Return the given numeric features of X (n, features), standardised and clipped to ±`farthest`.

    Missing values become 0.
    """
    scaled = graph("Clip", standardised(graph, state, 1.0), np.float64(-farthest), np.float64(farthest))
    scaled = graph("Where", graph("IsNaN", "X"), np.float64(0), scaled)
    return graph("Gather", scaled, features, axis=1)


def codes_of(graph: Graph, features: Ints, values: Ints) -> str:
    """Return the row index (n, features) of each nominal value in the concatenated tables of the features.

    The table of feature j has values[j] + 1 rows. The last row is for missing values and unknown codes.
    """
    x = graph("Gather", "X", features, axis=1)
    last = values.astype(np.float64)
    known = graph("And", graph("GreaterOrEqual", x, np.float64(0)), graph("Less", x, last))
    code = graph.cast(graph("Where", known, x, last), np.int64)
    begins = np.concatenate([[0], np.cumsum(values + 1)[:-1]]).astype(np.int64)
    return graph("Add", code, begins)


def prior_of(prior: Array, numeric: bool) -> Floats:
    """Return the outputs of boosted trees before their first step, from class counts or moments."""
    if numeric:
        return prior[1:2]  # the mean of the targets
    logs: Floats = np.log(prior + 1)
    return logs if len(logs) > 2 else np.array([(logs[1] if len(logs) == 2 else 0.0) - logs[0]])


def log(x: Floats) -> Floats:
    """Return the logarithm of each probability; the lower limit is `NONE`."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(x), NONE)


def normalised(graph: Graph, logs: str, axis: int, otherwise: Any) -> tuple[str, str]:
    """Return probabilities from logarithms, and a mask of rows with a possible class.

    Rows without a possible class get the probabilities `otherwise`.
    """
    top = graph("ReduceMax", logs, axes=[axis], keepdims=1)
    possible = graph("Greater", top, np.float64(NONE / 10))
    shares = graph("Exp", graph("Sub", logs, top))
    shares = graph("Where", possible, shares, otherwise)
    total = graph("ReduceSum", shares, np.array([axis]), keepdims=1)
    return graph("Div", shares, total), possible
