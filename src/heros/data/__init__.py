"""Conversion of raw values to numbers, for all kinds of input.

Files, frames, rows, queues, the service, River, scikit-learn and CapyMOA all use the `Encoder`.
"""

from heros.data.encoder import Encoder
from heros.data.schema import Feature, Schema

__all__ = ["Encoder", "Feature", "Schema"]
