"""A lane of its own for the requests that come thousands of times a second: no task, no scope, one write."""

from __future__ import annotations

from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from heros.serve.guard import guarded
from heros.serve.wire import JSON, Wire

__all__ = ["express"]

SHORT = 65_536  # bytes of a body that may take the lane

Headers = list[tuple[bytes, bytes]]


def express(wire: Wire) -> type[HttpToolsProtocol]:
    """The protocol of `guarded` that has the wire serve single answers and labels as soon as they are here.

    Only what is in order takes this lane; all else goes the long way, and is refused there if it has to be.
    Replies are the same.
    """

    class Express(guarded(wire.limits)):  # type: ignore[misc]
        _path: str | None = None  # of a request on the lane that is not complete
        _last = False  # whether the connection ends with that one

        def on_headers_complete(self) -> None:
            self._path = self._lane()
            if self._path is None:
                super().on_headers_complete()
            else:
                self._head, self._body = None, b""

        def _lane(self) -> str | None:
            path = wire.quick.get(self.url)
            if path is None or self.expect_100_continue or self.flow.write_paused:
                return None
            if self.cycle is not None and not self.cycle.response_complete:  # replies keep their order
                return None
            parser = self.parser
            if parser.get_method() != b"POST" or parser.should_upgrade() or not parser.should_keep_alive():
                return None
            return path if wire.may_pass(dict(self.headers), SHORT) else None

        def on_body(self, body: bytes) -> None:
            if self._path is None:
                super().on_body(body)
            else:
                self._body = self._body + body if self._body else body

        def on_message_complete(self) -> None:
            path, self._path = self._path, None
            if path is None:
                super().on_message_complete()
            elif not self.transport.is_closing():
                self.since = None
                self._reply(*self._served(path))

        def _served(self, path: str) -> tuple[int, bytes, Headers]:
            try:
                return wire.at_once(path, self._body)
            except Exception:
                self.logger.exception("A request failed")
                self._last = True
                return 500, orjson.dumps({"detail": "Internal Server Error"}), []

        def _reply(self, status: int, body: bytes, headers: Headers) -> None:
            more: Headers = [*headers, (b"connection", b"close")] if self._last else headers
            head = b"%b%b%b: %b\r\ncontent-length: %d\r\n%b\r\n" % (
                STATUS_LINE[status],
                _lines(self.server_state.default_headers),
                *JSON,
                len(body),
                _lines(more),
            )
            self.transport.write(head + body)
            if self._last:
                self.transport.close()
            self.on_response_complete()

        def shutdown(self) -> None:
            """Finish the request at hand, if there is one."""
            if self._path is None:
                super().shutdown()
            else:
                self._last = True

    return Express


def _lines(headers: Any) -> bytes:
    return b"".join([b"%b: %b\r\n" % pair for pair in headers])
