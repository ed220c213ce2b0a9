"""Pools: M models with different settings, and what each costs to train."""

from heros.pools.base import BoundPool, Pool
from heros.pools.hoeffding import BoundHoeffding, Hoeffding, HoeffdingGrid, TreeStats
from heros.pools.mlp import MLP, MLPGrid
from heros.pools.models import BoundModels, Models

__all__ = [
    "MLP",
    "BoundHoeffding",
    "BoundModels",
    "BoundPool",
    "Hoeffding",
    "HoeffdingGrid",
    "MLPGrid",
    "Models",
    "Pool",
    "TreeStats",
]
