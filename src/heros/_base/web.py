"""HTTP requests with a limit on their total time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.request import BaseHandler, HTTPHandler, HTTPSHandler, Request, build_opener


def fetched(request: Request, seconds: float, most: int, *handlers: type[BaseHandler]) -> bytes:
    """Return at most `most` bytes of a reply; raise an OSError if the reply is not complete in time.

    The timeout of `urllib` applies to each single read. A slow server that keeps sending bytes could
    therefore block the thread forever. This function closes the connection when the total time is up.
    """
    connection = _LimitedConnections(seconds)
    opener = build_opener(_on(HTTPHandler, connection), _on(HTTPSHandler, connection), *handlers)
    try:
        with opener.open(request, timeout=seconds) as reply:
            data: bytes = reply.read(most)
            missing = len(data) < most and bool(reply.length)
    except (OSError, HTTPException) as error:
        raise OSError(connection.message or str(error)) from None
    finally:
        connection.timer.cancel()
    if connection.message or missing:
        raise OSError(connection.message or "The reply is incomplete.")
    return data


class _LimitedConnections:
    """The connections of a request, which are closed when the time of the request is up."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.over = seconds, threading.Event()
        self._sockets: list[socket.socket] = []
        self.timer = threading.Timer(seconds, self._end)
        self.timer.daemon = True
        self.timer.start()

    @property
    def message(self) -> str:
        """The error message if the time is up; else an empty string."""
        return f"No complete reply arrived within {self.seconds:g} seconds." if self.over.is_set() else ""

    def _end(self) -> None:
        self.over.set()
        for one in self._sockets:
            with suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)  # TLS's own shutdown is not thread-safe

    def opened(self, kind: Callable[..., HTTPConnection], host: str, **settings: Any) -> HTTPConnection:
        """Return a connection that registers its socket when it connects."""
        connection = kind(host, **settings)
        connect = connection.connect

        def connect_and_register() -> None:
            connect()
            self._sockets.append(connection.sock)
            if self.over.is_set():
                raise TimeoutError

        connection.connect = connect_and_register  # type: ignore[method-assign]
        return connection


def _on(handler: Any, connections: _LimitedConnections) -> Any:
    """Return a `urllib` handler class that opens its connections through `connections`."""

    class Limited(handler):  # type: ignore[misc]
        def do_open(self, kind: Any, request: Request, **options: Any) -> Any:
            return super().do_open(partial(connections.opened, kind), request, **options)

    return Limited
