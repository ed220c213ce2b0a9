"""Connections that cost too much: too many, too slow, or with a head that does not end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from heros.serve.limits import Limits

__all__ = ["guarded", "sweep"]

TEXTS = {408: "Request Timeout", 429: "Too Many Requests", 431: "Request Header Fields Too Large"}


def guarded(limits: Limits) -> type[HttpToolsProtocol]:
    """The protocol that speaks HTTP, with limits of its own: uvicorn has none for heads and slow senders."""

    class Guarded(HttpToolsProtocol):
        since: float | None = None  # when a request began to come; None: it is here, or none is on its way
        _head: int | None = None  # bytes of a head that is not complete

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.since = time.monotonic()  # who connects says something
            if len(self.connections) > limits.connections:
                refuse(self, 429)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            if self.since is None:
                self.since = time.monotonic()
            super().data_received(data)
            if self._head is not None:
                self._head += len(data)
                if self._head > limits.head:
                    refuse(self, 431)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._head = 0

        def on_headers_complete(self) -> None:
            self._head = None
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self.since = None

    return Guarded


def refuse(connection: Any, status: int) -> None:
    """Say why, and hang up."""
    if connection.transport.is_closing():
        return
    cycle = connection.cycle
    if cycle is None or not cycle.response_started or cycle.response_complete:
        head = f"HTTP/1.1 {status} {TEXTS[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        connection.transport.write(head.encode())
    connection.transport.close()


def sweep(connections: Any, limits: Limits) -> int:
    """Hang up on those whose request takes too long to come; how many there were."""
    too_old = time.monotonic() - limits.seconds
    slow = [one for one in connections if one.since is not None and one.since < too_old]
    for one in slow:
        refuse(one, 408)
    return len(slow)
