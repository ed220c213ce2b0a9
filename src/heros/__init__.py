"""Green online learning with heterogeneous ensembles."""

from heros.schema import Feature, Schema

__all__ = ["Feature", "Schema"]
__version__ = "0.1.0"
