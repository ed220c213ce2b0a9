"""Export of perceptrons and linear models: the encoder of the core, then matrix products."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from heros._base.errors import HerosError, ParameterError
from heros.integrations.onnx.graph import Array, Graph, State, standardised
from heros.pools import BoundLinear, Linear
from heros.pools.mlp import MLP, BoundMLP

LARGEST = 1e15  # the encoder's limit for numbers that are not scaled


def perceptron(graph: Graph, bound: BoundMLP, i: int) -> None:
    """Export model i of a pool of perceptrons."""
    weights = bound.weights(i)
    _expect_finite(weights.values(), i)
    state = bound.native.state()
    inputs = _encoded(graph, state, bound.pool)
    first = graph("Add", graph("MatMul", inputs, weights["0.weight"].T.copy()), weights["0.bias"])
    hidden = graph("Relu", first)
    last = graph("Add", graph("MatMul", hidden, weights["2.weight"].T.copy()), weights["2.bias"])
    _answer(graph, graph.cast(last, np.float64), bound.schema.numeric, state)


def linear(graph: Graph, bound: BoundLinear, i: int) -> None:
    """Export model i of a pool of linear models."""
    rows = bound.weights(i)
    _expect_finite([rows], i)
    state = {name.removeprefix("inputs_"): array for name, array in bound.native.state().items()}
    if len(rows) != 1 + len(state["owner"]):
        rule = "a model without hashed values (own_values must be at least the number of values)"
        raise ParameterError.of("model", "to_onnx", rule, type(bound.pool).__name__)
    inputs = graph.cast(_encoded(graph, state, bound.pool), np.float64)
    products = graph("MatMul", inputs, rows[1:].copy())
    outputs = graph("Add", products, rows[0].copy())  # the bias is the first row
    _answer(graph, outputs, bound.schema.numeric, state)


def _expect_finite(weights: Iterable[Array], i: int) -> None:
    if not all(np.isfinite(array).all() for array in weights):
        why = "because its weights are not finite (its training diverged)"
        raise HerosError(f"Model {i} cannot be exported, {why}.")


def _answer(graph: Graph, outputs: str, numeric: bool, state: State) -> None:
    """Set the output: class probabilities, or the predicted value in the unit of the target."""
    if numeric:
        graph.number(graph("Add", graph("Mul", outputs, state["target_unit_sd"]), state["target_unit_mean"]))
    else:
        graph.probabilities(graph("Softmax", outputs, axis=1))


def _encoded(graph: Graph, state: State, pool: MLP | Linear) -> str:
    """Return the inputs of a model (n, inputs), float32: X, encoded in the same way as in the core."""
    owner, code, values = state["owner"].astype(np.int64), state["code"], state["values"]
    number = standardised(graph, state, pool.divisor) if pool.scale else graph("Clip", "X", -LARGEST, LARGEST)
    number = graph("Where", graph("IsNaN", "X"), np.float64(0), number)
    scaled = graph.cast(graph("Gather", number, owner, axis=1), np.float32)
    alike = graph("Equal", graph("Gather", "X", owner, axis=1), code.astype(np.float64))  # NaN equals no code
    active = (code < 0) & (values[owner] <= 2)  # a one-hot feature is not a number
    number = graph("Where", active, scaled, np.float32(0))
    return graph("Where", code >= 0, graph.cast(alike, np.float32), number)
