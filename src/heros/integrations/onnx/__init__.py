"""Export of a model to ONNX, including the encoding of raw instances."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heros import pools
from heros._base.errors import ParameterError
from heros._base.extras import needed
from heros._base.parameters import whole
from heros.data.schema import schema_plain
from heros.ensemble import Heros
from heros.integrations.onnx.bayes import naive_bayes
from heros.integrations.onnx.binned import boosted, regression_tree
from heros.integrations.onnx.gradients import linear, perceptron
from heros.integrations.onnx.graph import Graph
from heros.integrations.onnx.neighbours import neighbours
from heros.integrations.onnx.retrained import retrained
from heros.integrations.onnx.trees import forest, tree
from heros.storage.disk import write_whole

__all__ = ["to_onnx"]

OPSET = 17
IR = 8

WRITERS: dict[type[pools.BoundPool], Callable[[Graph, Any, int], None]] = {
    pools.mlp.BoundMLP: perceptron,
    pools.BoundLinear: linear,
    pools.BoundNaiveBayes: naive_bayes,
    pools.BoundHoeffding: tree,
    pools.BoundForest: forest,
    pools.BoundBoosted: boosted,
    pools.BoundRetrained: retrained,
    pools.BoundNeighbours: neighbours,
    pools.BoundRegressionTrees: regression_tree,
}
"""The function that exports a model of each family."""


def to_onnx(model: Heros, path: str | os.PathLike[str], *, member: int | None = None) -> None:
    """Write one model of a pool to an ONNX file that predicts probabilities from raw instances.

    The input ``X`` (n, features) is float64, as for `Heros.predict_proba`: numbers, 0-based codes of nominal
    values, NaN for missing values. The outputs are ``probabilities`` (n, classes), float64, and ``label``
    (n,), the class index. For regression the output is ``value`` (n,), float64, in the unit of the target.
    The file contains the current running means and deviations. The metadata has the names of features, values
    and classes, as JSON under ``schema``. Requires the extra ``onnx``.

    Perceptrons, linear models, naive Bayes, trees, forests, boosted trees and nearest neighbours can be
    exported, including models of a joined pool. The file may be large, because it contains the stored
    instances of nearest-neighbour models and the leaf statistics of trees. Models written in Python and label
    memories, which predict from earlier labels, cannot be exported. The combined predictions of `heros.Top`
    and `Stack` cannot be exported either; export each model by its index. The file does not limit extreme
    numbers (`bounded` of `heros.pools.Join`).

    Parameters
    ----------
    model
        The trained model; it does not change.
    path
        The path of the ONNX file.
    member
        The index of the model in the pool; by default `Heros.best`, the model with the highest score.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, onnxruntime
    >>> from heros import Heros, pools, streams
    >>> from heros import export
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
    chosen = model.best if member is None else whole(member, "member", "to_onnx", 0, model.pool.n_models - 1)
    bound, i = _place_of(model.bound, chosen)
    writer = next((WRITERS[kind] for kind in type(bound).__mro__ if kind in WRITERS), None)
    if writer is None:
        kind = type(bound.pool).__name__
        rule = "a Heros whose best model is a perceptron, linear model, naive Bayes, trees or neighbours"
        raise ParameterError.of("model", "to_onnx", f"{rule} (member= selects another model)", kind)
    graph = Graph(onnx)
    writer(graph, bound, i)
    write_whole(Path(path), [_finished(onnx, graph, model).SerializeToString()])


def _place_of(bound: pools.BoundPool, i: int) -> tuple[pools.BoundPool, int]:
    for part in bound.parts:
        if i < part.pool.n_models:
            return part, i
        i -= part.pool.n_models
    return bound, i


def _finished(onnx: Any, graph: Graph, model: Heros) -> Any:
    schema = model.schema
    assert schema is not None
    helper, kinds = onnx.helper, onnx.TensorProto
    made = helper.make_graph(
        graph.nodes,
        "heros",
        [helper.make_tensor_value_info("X", kinds.DOUBLE, ["n", schema.n_features])],
        [helper.make_tensor_value_info("value", kinds.DOUBLE, ["n"])]
        if schema.numeric
        else [
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
    """Return JSON text, with escapes if a name is not valid UTF-8."""
    text = json.dumps(plain, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(plain)
    return text
