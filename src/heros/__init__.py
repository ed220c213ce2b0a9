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
    from heros import checks, drift, measures, meters, policies, pools, scores, streams
    from heros._base.errors import DataError, DataNotice, HerosError, MissingExtra, ParameterError, WaitNotice
    from heros.data.schema import Feature, Schema
    from heros.ensemble import Block, Heros
    from heros.ensemble.watch import Stack, Top
    from heros.integrations import mlflow
    from heros.integrations import onnx as export
    from heros.run import Curves, Run, checkpoints, evaluate, records

__all__ = [
    "Block",
    "Curves",
    "DataError",
    "DataNotice",
    "Feature",
    "Heros",
    "HerosError",
    "MissingExtra",
    "ParameterError",
    "Run",
    "Schema",
    "Stack",
    "Top",
    "WaitNotice",
    "checkpoints",
    "checks",
    "drift",
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
    "DataError": "heros._base.errors",
    "DataNotice": "heros._base.errors",
    "Feature": "heros.data.schema",
    "Heros": "heros.ensemble",
    "HerosError": "heros._base.errors",
    "MissingExtra": "heros._base.errors",
    "ParameterError": "heros._base.errors",
    "Run": "heros.run",
    "Schema": "heros.data.schema",
    "Stack": "heros.ensemble.watch",
    "Top": "heros.ensemble.watch",
    "WaitNotice": "heros._base.errors",
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
