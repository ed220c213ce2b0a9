"""Green online learning with heterogeneous ensembles.

>>> from heros import Heros, evaluate, policies, pools, streams
>>> stream = streams.Agrawal(function=2).take(2000)
>>> model = Heros(pools.MLPGrid(hidden=[16, 64]), policies.Explore(policies.Zeta(0.05), 0.2), k=10, seed=1)
>>> run = evaluate(model, stream)
>>> f"{run.gamma_spent / run.n_instances:.0%} of the cost of training every model"
'...% of the cost of training every model'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heros import checks, drift, errors, measures, meters, policies, pools, scores, streams
    from heros.data.schema import Feature, Schema
    from heros.ensemble import Block, Heros
    from heros.ensemble.watch import Stack, Top
    from heros.integrations import mlflow
    from heros.integrations import onnx as export
    from heros.run import Curves, Run, checkpoints, evaluate, records

__all__ = [
    "Block",
    "Curves",
    "Feature",
    "Heros",
    "Run",
    "Schema",
    "Stack",
    "Top",
    "checkpoints",
    "checks",
    "drift",
    "errors",
    "evaluate",
    "export",
    "measures",
    "meters",
    "mlflow",
    "policies",
    "pools",
    "records",
    "scores",
    "streams",
]
__version__ = "0.2.0"

# Modules and names are imported on first access.
_MODULES = {
    "checkpoints": "heros.run.checkpoints",
    "checks": "heros.checks",
    "drift": "heros.drift",
    "errors": "heros.errors",
    "export": "heros.integrations.onnx",
    "measures": "heros.measures",
    "meters": "heros.meters",
    "mlflow": "heros.integrations.mlflow",
    "policies": "heros.policies",
    "pools": "heros.pools",
    "records": "heros.run.records",
    "scores": "heros.scores",
    "streams": "heros.streams",
}
_NAMES = {
    "Block": "heros.ensemble",
    "Curves": "heros.run",
    "Feature": "heros.data.schema",
    "Heros": "heros.ensemble",
    "Run": "heros.run",
    "Schema": "heros.data.schema",
    "Stack": "heros.ensemble.watch",
    "Top": "heros.ensemble.watch",
    "evaluate": "heros.run",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = import_module(_MODULES[name])
    elif name in _NAMES:
        value = getattr(import_module(_NAMES[name]), name)
    else:
        raise AttributeError(f"module 'heros' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
