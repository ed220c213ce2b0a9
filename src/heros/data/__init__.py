"""Conversion of raw values to numbers, for all types of input.

The readers of files, data frames and queues, the service, and the interfaces to River, scikit-learn and
CapyMOA all use the `Encoder`.
"""

from heros.data.encoder import Encoder
from heros.data.schema import Feature, Schema

__all__ = ["Encoder", "Feature", "Schema"]
