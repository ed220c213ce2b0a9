"""Sources whose instances arrive over time, such as message queues and joined topics."""

from heros.streams.live.base import END, IDLE, Signal, Source, expect_source
from heros.streams.live.rows import RowSource
from heros.streams.live.urls import connect, is_address

__all__ = ["END", "IDLE", "RowSource", "Signal", "Source", "connect", "expect_source", "is_address"]
