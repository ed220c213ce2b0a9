"""Sources of instances, which may still be arriving: queues, joined topics and bad-row handling."""

from heros.streams.bad_rows import BadRow, BadRows, TooManyBadRows
from heros.streams.live.base import END, IDLE, Block, DriftPoint, Signal, Source, expect_source
from heros.streams.live.rows import RowSource
from heros.streams.live.urls import connect, is_address

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
