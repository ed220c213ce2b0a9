"""HTTP requests with a limit on their total time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.request import BaseHandler, HTTPHandler, HTTPSHandler, Request, build_opener

__all__ = ["fetched"]


def fetched(request: Request, seconds: float, most: int, *handlers: type[BaseHandler]) -> bytes:
    """Return at most `most` bytes of the reply to a request; raise an OSError if it is not complete in time.

    The time limit of `urllib` holds for each read only: a server that sends a byte now and then would keep
    the thread for ever. Here the connection is closed when the time is up.
    """
    connection = _Limited(seconds)
    opener = build_opener(_on(HTTPHandler, connection), _on(HTTPSHandler, connection), *handlers)
    try:
        with opener.open(request, timeout=seconds) as reply:
            data: bytes = reply.read(most)
            missing = len(data) < most and bool(reply.length)
    except (OSError, HTTPException) as error:
        raise OSError(connection.told or str(error)) from None
    finally:
        connection.timer.cancel()
    if connection.told or missing:
        raise OSError(connection.told or "The reply is not complete.")
    return data


class _Limited:
    """The connections of a request, which are closed when its time is up."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.over = seconds, threading.Event()
        self._sockets: list[socket.socket] = []
        self.timer = threading.Timer(seconds, self._end)
        self.timer.daemon = True
        self.timer.start()

    @property
    def told(self) -> str:
        """The error if the time is up; else an empty string."""
        return f"There was no complete reply within {self.seconds:g} seconds." if self.over.is_set() else ""

    def _end(self) -> None:
        self.over.set()
        for one in self._sockets:
            with suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)  # that of TLS may not be used by two threads

    def opened(self, kind: Callable[..., HTTPConnection], host: str, **how: Any) -> HTTPConnection:
        """Return a connection that notes its socket when it connects."""
        connection = kind(host, **how)
        connect = connection.connect

        def noted() -> None:
            connect()
            self._sockets.append(connection.sock)
            if self.over.is_set():
                raise TimeoutError

        connection.connect = noted  # type: ignore[method-assign]
        return connection


def _on(handler: Any, connections: _Limited) -> Any:
    """Return a handler of `urllib` that opens its connections with `connections`."""

    class Limited(handler):  # type: ignore[misc]
        def do_open(self, kind: Any, request: Request, **how: Any) -> Any:
            def opened(host: str, **settings: Any) -> HTTPConnection:
                return connections.opened(kind, host, **settings)

            return super().do_open(opened, request, **how)

    return Limited
