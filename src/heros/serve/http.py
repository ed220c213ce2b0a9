"""An HTTP/1.1 server for one ASGI application, with limits on connections, sizes and slow clients.

General-purpose servers limit neither the size of headers nor the time that a slow client may take. Their
overhead per request is also larger than the time in which a small model predicts. Requests are parsed by
httptools. The application receives a request body in one piece, and a reply is sent with one write.
"""

from __future__ import annotations

import asyncio
import http
import json
import logging
import socket
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, MutableMapping
from email.utils import formatdate
from functools import partial
from types import coroutine
from typing import Any, cast
from urllib.parse import unquote

import httptools

from heros.serve.limits import Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

ASGI = {"version": "3.0", "spec_version": "2.3"}
BACKLOG = 2048
OTHER_FILES = 64  # file descriptors that a process needs in addition to its connections
GRACE = 5.0  # seconds for requests to finish when the server stops
SLICE = 4096  # bytes parsed at once: up to hundreds of requests, which need more memory than the bytes
KEEP_ALIVE = 75.0  # seconds that a connection may be idle between two requests
READING = 60.0  # seconds that a client may leave a reply unread
JSON = [(b"content-type", b"application/json")]
STATUS = {one.value: b"HTTP/1.1 %d %b\r\n" % (one.value, one.phrase.encode()) for one in http.HTTPStatus}
LOG = logging.getLogger("heros.serve")


class _Request:
    """One HTTP request with its ASGI interface: `scope`, `receive` and `send`."""

    def __init__(self, connection: _Connection, scope: Scope, keep_alive: bool) -> None:
        self._connection, self.scope, self.keep_alive = connection, scope, keep_alive
        self.complete = False  # whether the whole body has arrived
        self.wants_100 = False  # whether the client waits for "100 Continue" before it sends the body
        self.size = 0
        self._received = bytearray()  # one buffer, because a body may arrive in millions of small parts
        self._waiting: asyncio.Future[None] | None = None
        self._read = False
        self.head: Message | None = None  # the status and headers of the reply
        self._body: list[bytes] = []

    def add(self, part: bytes) -> None:
        self._received += part
        self.size += len(part)

    def release(self) -> None:
        """Free the body, and subtract its size from the server's count of body bytes.

        A connection and its parser refer to each other, so both remain in memory until the next garbage
        collection. This method frees the body immediately.
        """
        self._connection.server.bodies -= self.size
        self.size = 0
        self._received = bytearray()

    def wake(self) -> None:
        """Wake `receive` when the body is complete or the client has stopped sending."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def receive(self) -> Message:
        """Return the whole body when it has arrived; later calls wait until the client stops sending."""
        connection = self._connection
        if self.wants_100 and not self.complete:
            self.wants_100 = False
            connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while (not self.complete or self._read) and not connection.ended:
            self._waiting = connection.server.loop.create_future()
            await self._waiting
        if not self.complete or self._read:
            return {"type": "http.disconnect"}
        self._read = True
        body, self._received = bytes(self._received), bytearray()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        """Store the status and headers, or a part of the body; send the reply after the last part."""
        if message["type"] == "http.response.start":
            self.head = message
            return
        assert self.head is not None, "a reply must begin with http.response.start"
        self._body.append(message.get("body", b""))
        if not message.get("more_body", False):
            body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
            self._connection.reply(self, self.head["status"], self.head.get("headers", ()), body)


class _Connection(asyncio.Protocol):
    """A connection to a client, which queues requests and sends the replies in the same order."""

    def __init__(self, server: Server) -> None:
        self.server, self.limits = server, server.limits
        self.parser = httptools.HttpRequestParser(self)
        self.ended = False  # whether the client has closed the connection, or its sending side
        self.since = 0.0  # time at which the current request began, or the connection became idle
        self.coming = True  # whether a request is being received or expected
        self._in_head = False  # whether the headers of a request are incomplete
        self._loose = 0  # bytes since the last part of a body, the end of the headers or the end of a request
        self._progress = False  # whether the bytes being parsed contain one of these positions
        self._completed = False  # whether the bytes being parsed contain the end of a request
        self._url = b""
        self._headers: Headers = []
        self._incoming: _Request | None = None  # request with an incomplete body
        self._working: _Request | None = None  # request that the application processes
        self._queue: deque[_Request] = deque()  # pipelined requests
        self._rest = memoryview(b"")  # bytes that were received but not parsed yet
        self._held = 0  # bytes of `_rest` in the server's count of body bytes
        self._parsing = False
        self._paused = False  # whether reading is paused: requests are queued or bytes wait to be parsed
        self._full = False  # whether the write buffer is full because the client does not read the replies
        self._written = 0  # bytes of replies written so far
        self._delivered = 0  # bytes of replies that had left the buffer at the last check
        self._moved = 0.0  # time of the last check with progress or an empty buffer
        self.stalled = 0.0  # seconds from `_moved` to the last check

    # -- from the transport -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport = cast(asyncio.Transport, transport)
        self._ends = {"client": _pair(transport, "peername"), "server": _pair(transport, "sockname")}
        self.since = self._moved = self.server.loop.time()
        self.server.welcome(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.ended = True
        self.server.forget(self)
        for request in {self._incoming, self._working, *self._queue}:
            if request is None:
                continue
            request.release()
            request.wake()
        self._queue.clear()
        self._rest = self._rest[:0]
        self._count_rest()

    def data_received(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self._rest = memoryview(bytes(self._rest) + data if self._rest else data)
            self._parse()

    def eof_received(self) -> bool:
        """Keep the connection if a reply has not been sent yet, because the client may still read it."""
        self.ended = True
        working = self._working
        if working is not None:
            working.wake()
        return bool(self._rest or self._queue or (working is not None and working.complete))

    def _parse(self) -> None:
        """Parse the received bytes until at least one request is complete; the rest is parsed later."""
        self._parsing, self._completed = True, False
        while self._rest and not self._completed and not self.transport.is_closing():
            part, self._rest = self._rest[:SLICE], self._rest[SLICE:]
            self._progress = False
            try:
                self.parser.feed_data(part)
            except httptools.HttpParserUpgrade as upgrade:
                self._rest = self._without_upgrade(part[upgrade.args[0] :])
            except httptools.HttpParserError:
                last, body = self._working, self._incoming is not None
                if body or last is None or last.keep_alive:  # otherwise the bytes follow the last request
                    self.refuse(400, "The request must be HTTP/1.1.")
                self._rest = self._rest[:0]
                break
            self._loose = 0 if self._progress else self._loose + len(part)
            if self._loose > self.limits.head:  # the limit also applies to trailers after the body
                self._refuse_head()
        self._parsing = False
        self._count_rest()
        if self.transport.is_closing():
            return
        if self._rest:
            self._pause()
            self.server.loop.call_soon(self._next)
        elif not self._in_head and self._working is None and not self._queue:
            self._start_incoming()

    def _without_upgrade(self, rest: memoryview) -> memoryview:
        """Return the request without its Upgrade header, to be parsed again.

        The server supports no other protocol, so it ignores Upgrade. httptools treats the body of such a
        request as data of the other protocol. For a CONNECT request, return no bytes.
        """
        if not self._in_head:
            return rest[:0]
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        lines = [b"%b: %b\r\n" % pair for pair in self._headers if pair[0] != b"upgrade"]
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self._url, version, b"".join(lines))
        self.parser, self._progress = httptools.HttpRequestParser(self), True
        return memoryview(b"".join([head, rest, self._rest]))

    def _count_rest(self) -> None:
        self.server.bodies += len(self._rest) - self._held
        self._held = len(self._rest)
        if self._held and self.server.bodies > self.limits.bodies:
            self._refuse_bodies()

    def write(self, data: bytes) -> None:
        self._written += len(data)
        self.transport.write(data)

    @property
    def unsent(self) -> int:
        """The number of bytes that the client has not accepted yet."""
        return self.transport.get_write_buffer_size()

    def check_reader(self, now: float) -> None:
        """Abort the connection if the client has not read any byte of a reply for too long."""
        unsent = self.unsent
        delivered = self._written - unsent
        if unsent == 0 or delivered != self._delivered:
            self._delivered, self._moved = delivered, now
        self.stalled = now - self._moved
        if self.stalled > READING:
            self.transport.abort()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._next()

    # -- from the parser ----------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._url, self._headers, self._in_head = b"", [], True
        if not self.coming:
            self.coming, self.since = True, self.server.loop.time()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers after the body are ignored: they must not replace headers
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        parser, headers = self.parser, self._headers
        if parser.should_upgrade() and parser.get_method() != b"CONNECT":
            return  # see `_without_upgrade`
        self._in_head, self._progress = False, True
        path, query = _target(self._url)
        version = parser.get_http_version()
        scope: Scope = {
            "type": "http",
            "asgi": ASGI,
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
            "scheme": "http",
            "path": path,
            "raw_path": self._url,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            **self._ends,
        }
        keep_alive = version == "1.1" and parser.should_keep_alive() and not parser.should_upgrade()
        self._incoming = request = _Request(self, scope, keep_alive)
        size, hosts = len(self._url), 0
        for name, value in headers:
            size += len(name) + len(value)
            if name == b"content-length" and (len(value) > 12 or int(value) > self.limits.body):
                self._refuse_body()
            elif name == b"expect":
                request.wants_100 = value.lower() == b"100-continue"
            elif name == b"host":
                hosts += 1
        if hosts > 1:  # a proxy may use another header
            self.refuse(400, "The request must have one Host header. Got several.")
        if size > self.limits.head:
            self._refuse_head()

    def on_body(self, part: bytes) -> None:
        self._progress = True
        request = self._incoming
        if request is None or self.transport.is_closing():
            return
        request.add(part)
        self.server.bodies += len(part)
        if request.size > self.limits.body:
            self._refuse_body()
        elif self.server.bodies > self.limits.bodies:
            self._refuse_bodies()

    def on_message_complete(self) -> None:
        if self._in_head:
            return  # see `_without_upgrade`
        request, self._incoming, self.coming = self._incoming, None, False
        self._progress = self._completed = True
        if request is None or self.transport.is_closing():
            return
        request.complete = True
        if request is self._working:
            self.server.quiet.pop(self, None)
            request.wake()
        elif self._working is None and not self._full and not self._queue:
            self._start(request)
        else:
            self._queue.append(request)
            self._pause()

    # -- requests and replies -----------------------------------------------------------------------------

    def _start(self, request: _Request) -> None:
        self._working = request
        self.server.start(self, request)

    def reply(self, request: _Request, status: int, headers: Any, body: bytes) -> None:
        """Send the reply and process the next request."""
        if self.transport.is_closing():
            return
        last = not (request.keep_alive and request.complete) or self.server.stopping
        lines = b"".join([b"%b: %b\r\n" % pair for pair in headers if pair[0] != b"content-length"])
        close = b"connection: close\r\n" if last else b""
        sent = b"" if request.scope["method"] == "HEAD" else body
        head = STATUS[status], self.server.date, lines, len(body), close, sent
        self.write(b"%b%b%bcontent-length: %d\r\n%b\r\n%b" % head)
        if self.unsent:
            self.server.expect_readers(self)
        request.release()
        self._working = None
        if last:
            self.transport.close()
        elif self._queue:
            self.server.loop.call_soon(self._next)  # direct calls would nest too deeply
        else:
            self._next()

    def _pause(self) -> None:
        self._paused = True
        self.transport.pause_reading()

    def _next(self) -> None:
        if self._working is not None or self._full or self.transport.is_closing():
            return
        if self._queue:
            self._start(self._queue.popleft())
            return
        if self._rest and not self._parsing:
            self._parse()
        if self._rest or self._queue or self.transport.is_closing():
            return
        if self._paused and not self.ended:
            self._paused = False
            self.transport.resume_reading()
        if self._working is not None:
            return
        if self.ended:
            self.transport.close()
            return
        if not self.coming:
            self.since = self.server.loop.time()
        self.server.quiet[self] = None
        self._start_incoming()

    def _start_incoming(self) -> None:
        """Start the request whose body is incomplete, unless the client has stopped sending."""
        if self._incoming is not None and not self.ended:
            self._start(self._incoming)

    def _refuse_head(self) -> None:
        self.refuse(431, f"The headers of a request must have at most {self.limits.head:,} bytes.")

    def _refuse_bodies(self) -> None:
        self.refuse(429, "Too many request bodies at the same time.")

    def _refuse_body(self) -> None:
        self.refuse(413, f"The body of a request must have at most {self.limits.body:,} bytes.")

    def refuse(self, status: int, why: str) -> None:
        """Send an error, unless the application has begun to reply, and close the connection."""
        if self.transport.is_closing():
            return
        if self._working is None or self._working.head is None:
            body = json.dumps({"detail": why}).encode()
            lines = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            self.write(STATUS[status] + lines % len(body) + body)
        if self._incoming is not None:  # the end of the request may be parsed before the connection is lost
            self._incoming.release()
        self.transport.close()

    @property
    def is_idle(self) -> bool:
        begun = self._working is not None or self._in_head or self._incoming is not None
        return not (begun or self._queue or self._rest)


class Server:
    """A server that runs an ASGI application on a socket.

    Parameters
    ----------
    app
        The application; it receives no lifespan events.
    sock
        A bound socket.
    limits
        The limits on the size and duration of requests.
    """

    def __init__(self, app: App, sock: socket.socket, limits: Limits) -> None:
        self.app, self.socket, self.limits = app, sock, limits
        self.most = _affordable(limits.connections)
        self.connections: set[_Connection] = set()
        self.quiet: dict[_Connection, None] = {}  # idle connections, the longest idle first
        self.bodies = 0  # bytes of request bodies being received or processed
        self.tasks: set[asyncio.Task[None]] = set()
        self.stopping = False
        self.date = b""  # the date header, updated every second
        self._over = asyncio.Event()

    async def run(self, started: Callable[[], object] = lambda: None) -> None:
        """Serve until `stop` is called; requests in progress then have a few seconds to finish."""
        self.loop = asyncio.get_running_loop()
        self._tick()
        listening = await self.loop.create_server(
            lambda: _Connection(self), sock=self.socket, backlog=BACKLOG
        )
        ticking = self.loop.create_task(self._ticks())
        started()
        try:
            await self._over.wait()
        finally:
            self.stopping = True
            listening.close()
            await self._finish()
            ticking.cancel()

    def stop(self) -> None:
        """Stop `run`. Call this method only in the thread of the event loop."""
        self._over.set()

    async def _finish(self) -> None:
        for connection in [one for one in self.connections if one.is_idle]:
            connection.transport.close()
        deadline = self.loop.time() + GRACE
        while (self.connections or self.tasks) and self.loop.time() < deadline:
            await asyncio.sleep(0.02)
        for task in self.tasks:
            task.cancel()
        for connection in self.connections:
            connection.transport.abort()
        await asyncio.sleep(0)

    async def _ticks(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self.limits.seconds / 2))
            self._tick()

    def _tick(self) -> None:
        """Update the date header, and close connections of slow clients."""
        self.date = b"date: %b\r\n" % formatdate(usegmt=True).encode()
        now = self.loop.time()
        for connection in list(self.connections):
            connection.check_reader(now)
        for connection in list(self.quiet):
            if connection.coming and connection.since < now - self.limits.seconds:
                connection.refuse(408, f"A request must arrive within {self.limits.seconds:g} seconds.")
            elif connection.is_idle and connection.since < now - KEEP_ALIVE:
                connection.transport.close()

    def welcome(self, connection: _Connection) -> None:
        """Add a connection; if there are too many connections, close another connection."""
        self.connections.add(connection)
        self.quiet[connection] = None
        if len(self.connections) > self.most and (other := self._least_needed(connection)) is not None:
            other.refuse(429, "Too many connections.")
            if other.unsent:  # close() would wait until the client has read all replies
                other.transport.abort()
            self.forget(other)

    def _least_needed(self, newest: _Connection) -> _Connection | None:
        """Return the connection with the slowest reader, or else the longest idle connection.

        Return None if all connections except the newest have requests in progress.
        """
        unread = [one for one in self.connections if one.unsent]
        slowest = max(unread, key=lambda one: (one.stalled, one.unsent), default=None)
        idle = next(iter(self.quiet))
        if idle is not newest and (slowest is None or not slowest.stalled):
            return idle
        return slowest

    def expect_readers(self, newest: _Connection) -> None:
        """While the unread replies take too much memory, abort the connections with the slowest readers."""
        unread = {one: unsent for one in self.connections if (unsent := one.unsent)}
        total = sum(unread.values())
        unread.pop(newest, None)
        while total > self.limits.replies and unread:
            slowest = max(unread, key=lambda one: (one.stalled, unread[one]))
            total -= unread.pop(slowest)
            slowest.transport.abort()
            self.forget(slowest)

    def forget(self, connection: _Connection) -> None:
        """Remove a connection."""
        self.connections.discard(connection)
        self.quiet.pop(connection, None)

    def start(self, connection: _Connection, request: _Request) -> None:
        """Run the application on a request immediately; if it has to wait, continue in a task."""
        if request.complete:
            self.quiet.pop(connection, None)
        work = self._deal(connection, request)
        try:
            awaited = work.send(None)
        except StopIteration:
            return
        task = self.loop.create_task(_resumed(work, awaited))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _deal(self, connection: _Connection, request: _Request) -> None:
        try:
            await self.app(request.scope, request.receive, request.send)
        except Exception:
            LOG.exception("A request failed")
            request.keep_alive = False
            connection.reply(request, 500, JSON, b'{"detail":"Internal Server Error"}')


async def _resumed(work: Coroutine[Any, Any, None], awaited: Any) -> None:
    """Run the rest of a coroutine that was started with `send` and is waiting for `awaited`."""
    await _rest(work, awaited)


@coroutine
def _rest(work: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    while True:
        try:
            told = yield awaited
        except BaseException as error:
            step = partial(work.throw, error)
        else:
            step = partial(work.send, told)
        try:
            awaited = step()
        except StopIteration:
            return


def _affordable(connections: int) -> int:
    """Raise the process's limit on open files if needed; return how many connections the limit allows."""
    if sys.platform == "win32":
        return connections
    import resource  # noqa: PLC0415  not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OTHER_FILES
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(connections, soft - OTHER_FILES))


def _target(url: bytes) -> tuple[str, bytes]:
    if url[:1] != b"/":
        parsed = httptools.parse_url(url)  # a proxy request; an invalid URL raises a parser error
        url = (parsed.path or b"/") + (b"?" + parsed.query if parsed.query else b"")
    raw, _, query = url.partition(b"?")
    path = raw.partition(b"#")[0].decode("ascii")
    return unquote(path) if "%" in path else path, query


def _pair(transport: asyncio.Transport, name: str) -> tuple[str, int] | None:
    ends = transport.get_extra_info(name)
    return (str(ends[0]), int(ends[1])) if isinstance(ends, tuple) else None
