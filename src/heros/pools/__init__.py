"""Pools: M models with different settings, and their training costs."""

from heros.pools.base import BoundPool, Pool
from heros.pools.boosted import Boosted, BoostedGrid, BoundBoosted
from heros.pools.default_pools import Paper, PaperTrees, default, default_regression
from heros.pools.forest import BoundForest, Forest, ForestGrid, ForestStats
from heros.pools.hoeffding import BoundHoeffding, Hoeffding, HoeffdingGrid
from heros.pools.join import BoundJoin, Join
from heros.pools.label_memory import BoundLabelMemory, LabelMemory, LabelMemoryGrid
from heros.pools.linear import BoundLinear, Linear, LinearGrid
from heros.pools.mlp import MLP, MLPGrid
from heros.pools.models import BoundModels, Models
from heros.pools.naive_bayes import BoundNaiveBayes, NaiveBayes, NaiveBayesGrid
from heros.pools.neighbours import BoundNeighbours, Neighbours, NeighboursGrid, NeighbourStats
from heros.pools.regression_trees import BoundRegressionTrees, RegressionTrees, RegressionTreesGrid
from heros.pools.retrained import BoundRetrained, Retrained, RetrainedGrid, RetrainedStats
from heros.pools.tree_settings import TreeStats

__all__ = [
    "MLP", "Boosted", "BoostedGrid", "BoundBoosted", "BoundForest", "BoundHoeffding", "BoundJoin",
    "BoundLabelMemory", "BoundLinear", "BoundModels", "BoundNaiveBayes", "BoundNeighbours",
    "BoundPool", "BoundRegressionTrees", "BoundRetrained", "Forest", "ForestGrid", "ForestStats",
    "Hoeffding", "HoeffdingGrid", "Join", "LabelMemory", "LabelMemoryGrid", "Linear", "LinearGrid",
    "MLPGrid", "Models", "NaiveBayes", "NaiveBayesGrid", "NeighbourStats", "Neighbours",
    "NeighboursGrid", "Paper", "PaperTrees", "Pool", "RegressionTrees", "RegressionTreesGrid",
    "Retrained", "RetrainedGrid", "RetrainedStats", "TreeStats", "default", "default_regression",
]  # fmt: skip
