"""The best model for use elsewhere: ONNX, with the encoding of raw instances inside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.ensemble import Heros
from heros.errors import HerosError, ParameterError
from heros.extras import needed
from heros.parameters import whole
from heros.pools import BoundJoin, BoundLinear, BoundPool, Linear
from heros.pools.mlp import MLP, BoundMLP
from heros.schema import schema_plain
from heros.storage.disk import write_whole

__all__ = ["to_onnx"]

OPSET = 17
IR = 8
LARGEST = 1e15  # the encoder's limit for numbers that are not scaled


def to_onnx(model: Heros, path: str | os.PathLike[str], *, member: int | None = None) -> None:
    """Write one perceptron or linear model as ONNX: raw instances in, probabilities out.

    The input ``X`` (n, features) is float64 as `Heros.predict_proba` takes it: numbers, 0-based codes of
    nominal values, NaN where one is missing. The outputs are ``probabilities`` (n, classes), float64, and
    ``label`` (n,), the class index. Running means and deviations are frozen as they are. The names of
    features, values and classes are in the model's metadata, as JSON under ``schema``. Needs the extra
    ``onnx``.

    Perceptrons and logistic regressions of any pool, joined ones among them, can be exported. Trees and
    forests cannot (ONNX has no leaf that answers by naive Bayes), nor neighbours (they are their instances),
    naive Bayes, models written in Python, and models whose target is a number.

    Parameters
    ----------
    model
        It has learnt something; nothing in it changes.
    path
        Where to write.
    member
        Which model of the pool; by default the best by its running score, as `Heros.best`.

    Examples
    --------
    >>> import os, tempfile
    >>> import onnxruntime
    >>> from heros import Heros, export, pools, streams
    >>> X, y = streams.Agrawal().draw(500)
    >>> model = Heros(pools.MLP([{"hidden": 16}]), seed=1, schema=streams.Agrawal().schema).learn(X, y)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "model.onnx")
    ...     export.to_onnx(model, path)
    ...     session = onnxruntime.InferenceSession(path)
    >>> probabilities, label = session.run(None, {"X": X})
    >>> bool(np.abs(probabilities - model.predict_proba(X)).max() < 1e-6)
    True
    """
    onnx = needed("onnx", "The export to ONNX", "onnx")
    whole_pool = model.bound
    chosen = model.best if member is None else whole(member, "member", "to_onnx", 0, model.pool.n_models - 1)
    bound, i = _place_of(whole_pool, chosen)
    if model.task.numeric or not isinstance(bound, BoundMLP | BoundLinear):
        kind = "a number as its target" if model.task.numeric else type(bound.pool).__name__
        rule = "one whose model is a perceptron or a linear one of a class; others cannot be exported"
        raise ParameterError.of("model", "to_onnx", f"{rule} (member= chooses another)", kind)
    graph = _Graph(onnx)
    if isinstance(bound, BoundMLP):
        weights = bound.weights(i)
        _expect_finite(weights.values(), chosen)
        _perceptron(graph, _encoded(graph, bound.native.state(), bound.pool), weights)
    else:
        rows = bound.weights(i)
        _expect_finite([rows], chosen)
        state = {name.removeprefix("inputs_"): array for name, array in bound.native.state().items()}
        if len(rows) != 1 + len(state["owner"]):
            rule = "one without hashed values (own_values must be at least the number of values)"
            raise ParameterError.of("model", "to_onnx", rule, type(bound.pool).__name__)
        _logistic(graph, _encoded(graph, state, bound.pool), rows)
    write_whole(Path(path), [_finished(onnx, graph, model).SerializeToString()])


class _Graph:
    """Operations, one after the other, and the constants they need."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """The name of a new constant."""
        name = f"c{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def __call__(self, operation: str, *inputs: Any, named: str | None = None, **attributes: Any) -> str:
        """The name of the result; arrays among the inputs are constants."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        result = named or f"r{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operation, names, [result], **attributes))
        return result

    def cast(self, value: str, kind: type) -> str:
        """The value as numbers of another type."""
        return self("Cast", value, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))


def _place_of(bound: BoundPool, i: int) -> tuple[BoundPool, int]:
    """The part of a joined pool that model i is of, and its number there."""
    for part in bound.parts if isinstance(bound, BoundJoin) else ():
        if i < part.pool.n_models:
            return part, i
        i -= part.pool.n_models
    return bound, i


def _expect_finite(weights: Iterable[NDArray[Any]], i: int) -> None:
    if not all(np.isfinite(array).all() for array in weights):
        raise HerosError(f"Model {i} must have finite weights to be exported. Got one that has diverged.")


def _logistic(graph: _Graph, inputs: str, rows: NDArray[np.float64]) -> None:
    """Rows: the bias, then one per input."""
    logits = graph("Add", graph("MatMul", graph.cast(inputs, np.float64), rows[1:].copy()), rows[0].copy())
    graph("Softmax", logits, axis=1, named="probabilities")
    graph("ArgMax", "probabilities", axis=1, keepdims=0, named="label")


def _encoded(graph: _Graph, state: dict[str, NDArray[Any]], pool: MLP | Linear) -> str:
    """The inputs of a model (n, inputs), float32, as the core's encoder makes them of X."""
    owner, code, values = state["owner"].astype(np.int64), state["code"], state["values"]
    number = (
        _standardised(graph, state, pool.divisor) if pool.scale else graph("Clip", "X", -LARGEST, LARGEST)
    )
    number = graph("Where", graph("IsNaN", "X"), np.float64(0), number)
    scaled = graph.cast(graph("Gather", number, owner, axis=1), np.float32)
    alike = graph("Equal", graph("Gather", "X", owner, axis=1), code.astype(np.float64))  # NaN equals nothing
    active = (code < 0) & (values[owner] <= 2)  # a feature that turned one-hot is a number no longer
    number = graph("Where", active, scaled, np.float32(0))
    return graph("Where", code >= 0, graph.cast(alike, np.float32), number)


def _standardised(graph: _Graph, state: dict[str, NDArray[Any]], divisor: float) -> str:
    """(x − mean)/(divisor·sd), x itself being part of the moments; 0 where nothing deviates."""
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


def _perceptron(graph: _Graph, inputs: str, weights: dict[str, NDArray[np.float32]]) -> None:
    first = graph("Add", graph("MatMul", inputs, weights["0.weight"].T.copy()), weights["0.bias"])
    hidden = graph("Relu", first)
    logits = graph("Add", graph("MatMul", hidden, weights["2.weight"].T.copy()), weights["2.bias"])
    graph("Softmax", graph.cast(logits, np.float64), axis=1, named="probabilities")
    graph("ArgMax", "probabilities", axis=1, keepdims=0, named="label")


def _finished(onnx: Any, graph: _Graph, model: Heros) -> Any:
    schema = model.schema
    assert schema is not None
    helper, kinds = onnx.helper, onnx.TensorProto
    made = helper.make_graph(
        graph.nodes,
        "heros",
        [helper.make_tensor_value_info("X", kinds.DOUBLE, ["n", schema.n_features])],
        [
            helper.make_tensor_value_info("probabilities", kinds.DOUBLE, ["n", schema.n_classes]),
            helper.make_tensor_value_info("label", kinds.INT64, ["n"]),
        ],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", OPSET)]
    whole_model = helper.make_model(made, producer_name="heros-learn", opset_imports=opsets, ir_version=IR)
    helper.set_model_props(whole_model, {"schema": _text(schema_plain(schema))})
    onnx.checker.check_model(whole_model)
    return whole_model


def _text(plain: Any) -> str:
    """As JSON; with escapes for what is no text, which a name from a broken file may hold."""
    text = json.dumps(plain, ensure_ascii=False)
    return text if text.isascii() or _is_utf8(text) else json.dumps(plain)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
