"""Sources: where instances come from, whether they are all there or still to come."""

from heros.sources.bad_rows import BadRow, BadRows, TooManyBadRows
from heros.sources.base import END, IDLE, Block, DriftPoint, Signal, Source
from heros.sources.own import expect_source
from heros.sources.rows import RowSource
from heros.sources.urls import connect, is_address

__all__ = [
    "END",
    "IDLE",
    "BadRow",
    "BadRows",
    "Block",
    "DriftPoint",
    "RowSource",
    "Signal",
    "Source",
    "TooManyBadRows",
    "connect",
    "expect_source",
    "is_address",
]
