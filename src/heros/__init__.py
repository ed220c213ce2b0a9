"""Green online learning with heterogeneous ensembles.

>>> from heros import Heros, evaluate, policies, pools, streams
>>> stream = streams.Agrawal(function=2).take(2000)
>>> model = Heros(pools.MLPGrid(hidden=[16, 64]), policies.Explore(policies.Zeta(0.05), 0.2), k=10, seed=1)
>>> run = evaluate(model, stream)
>>> f"{run.gamma_spent / run.n_instances:.0%} of the price of training everything"
'...% of the price of training everything'
"""

from heros import errors, export, measures, meters, policies, pools, scores, streams
from heros.ensemble import Block, Heros
from heros.run.loop import Curves, Run, evaluate
from heros.schema import Feature, Schema
from heros.storage import checkpoints, records

__all__ = [
    "Block",
    "Curves",
    "Feature",
    "Heros",
    "Run",
    "Schema",
    "checkpoints",
    "errors",
    "evaluate",
    "export",
    "measures",
    "meters",
    "policies",
    "pools",
    "records",
    "scores",
    "streams",
]
__version__ = "0.1.0"
