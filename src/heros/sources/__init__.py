"""Sources: where instances come from, whether they are all there or still to come."""

from heros.sources.base import END, IDLE, Block, Signal, Source

__all__ = ["END", "IDLE", "Block", "Signal", "Source"]
