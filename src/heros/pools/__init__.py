"""Pools: M models with different settings, and what each costs to train."""

from heros.pools.base import BoundPool, Pool
from heros.pools.hoeffding import BoundHoeffding, Hoeffding, HoeffdingGrid, TreeStats
from heros.pools.join import BoundJoin, Join
from heros.pools.mlp import MLP, MLPGrid
from heros.pools.models import BoundModels, Models

__all__ = [
    "MLP",
    "BoundHoeffding",
    "BoundJoin",
    "BoundModels",
    "BoundPool",
    "Hoeffding",
    "HoeffdingGrid",
    "Join",
    "MLPGrid",
    "Models",
    "Pool",
    "TreeStats",
]
