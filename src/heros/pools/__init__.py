"""Pools: M models with different settings, and what each costs to train."""

from heros.pools.base import BoundPool, Pool
from heros.pools.hoeffding import BoundHoeffding, Hoeffding, HoeffdingGrid, TreeStats
from heros.pools.mlp import MLP, MLPGrid

__all__ = ["MLP", "BoundHoeffding", "BoundPool", "Hoeffding", "HoeffdingGrid", "MLPGrid", "Pool", "TreeStats"]
