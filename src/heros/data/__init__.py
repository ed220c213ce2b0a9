"""From values as people write them to numbers: the one place where HEROS reads a value.

Files, frames, rows, queues, the service, River, scikit-learn and CapyMOA all use the `Encoder`.
"""

from heros.data.encoder import Encoder
from heros.data.schema import Feature, Schema

__all__ = ["Encoder", "Feature", "Schema"]
