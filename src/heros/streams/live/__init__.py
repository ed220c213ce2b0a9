"""Sources of instances, which may still be arriving: queues, joined topics and bad-row handling."""

from heros.streams.live.base import END, IDLE, Signal, Source, expect_source
from heros.streams.live.rows import RowSource
from heros.streams.live.urls import connect, is_address

__all__ = ["END", "IDLE", "RowSource", "Signal", "Source", "connect", "expect_source", "is_address"]
