"""The service on the wire: the requests that come thousands of times a second, without detours."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import orjson

from heros.errors import HerosError
from heros.serve.limits import Limits, NotNow, Unknown, Wrong
from heros.serve.metrics import Requests
from heros.serve.service import Service, Taken

__all__ = ["POSTS", "Wire"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = (b"content-type", b"application/json")
SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
CLOSE = (b"connection", b"close")
SLICE = 20  # instances of a batch that are dealt with before others have a turn
T = TypeVar("T")
Reply = tuple[int, bytes, list[tuple[bytes, bytes]]]  # status, body, headers
OPEN = frozenset({"/", "/health"})  # what everybody may see: nothing that was learnt


class Refusal(Exception):
    """A status and what to say with it."""

    def __init__(self, status: int, detail: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(detail)
        self.status, self.headers = status, headers

    @property
    def said(self) -> bytes:
        """The body of the reply."""
        return orjson.dumps({"detail": str(self)})


class Wire:
    """An ASGI application: the token, the limits, answers and learning; all else goes to the other one.

    Parameters
    ----------
    service
        What answers and learns.
    other
        The application for everything but POST.
    token
        What has to be in the header ``Authorization: Bearer …``; None: nothing.
    """

    def __init__(self, service: Service, other: App, token: str | None = None) -> None:
        self.service, self.other = service, other
        self.limits: Limits = service.limits
        self.requests = Requests()
        self._token = None if token is None else b"Bearer " + token.encode()
        self._threads = ThreadPoolExecutor(1, "heros asks") if service.brain.keyed else None
        self._posts = POSTS
        self.quick = {b"/learn": "/learn"} | ({} if service.brain.keyed else {b"/answer": "/answer"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, requests, path = time.perf_counter(), self.requests, scope["path"]
        requests.now += 1
        status = 499  # whoever asked has gone
        try:
            headers = _head(scope)
            self._expect_welcome(headers, path)
            act = self._posts.get(path) if scope["method"] == "POST" else None
            if act is None:
                status = await self._pass_on(scope, receive, send)
            else:
                body = await self._body(headers, receive)
                if body is not None:
                    status, said = await self._act(act, body, scope["query_string"])
                    await _reply(send, status, said)
        except Refusal as why:
            status = why.status
            await _reply(send, status, why.said, *why.headers)
        finally:
            requests.now -= 1
            requests.count(path if path in self._posts or path in OPEN else "other", status, start)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> int:
        status = 499

        async def sent(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *SAFE]
            await send(message)

        await self.other(scope, receive, sent)
        return status

    def _expect_welcome(self, headers: dict[bytes, bytes], path: str) -> None:
        if self.requests.now > self.limits.requests:
            raise Refusal(429, "There are too many requests at a time.", (b"retry-after", b"1"), CLOSE)
        if path not in OPEN and not self._is_welcome(headers):
            raise Refusal(401, "The token must be the right one.", (b"www-authenticate", b"Bearer"), CLOSE)

    def _is_welcome(self, headers: dict[bytes, bytes]) -> bool:
        given = headers.get(b"authorization", b"")
        return self._token is None or hmac.compare_digest(given, self._token)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """The body, if it is JSON and not too large; None if whoever sent it has gone."""
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            raise Refusal(415, "The content-type must be application/json.", CLOSE)
        length, most = headers.get(b"content-length", b"0"), self.limits.body
        too_large = Refusal(413, f"A body must have at most {most:,} bytes.", CLOSE)
        if not length.isdigit() or len(length) > 12 or int(length) > most:
            raise too_large
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise too_large
            if not message.get("more_body", False):
                return b"".join([*parts, part]) if parts else part
            parts.append(part)

    def may_pass(self, headers: dict[bytes, bytes], most: int) -> bool:
        """Whether nothing is wrong with the head of a request, and its body is of at most so many bytes."""
        length = headers.get(b"content-length", b"")
        return (
            headers.get(b"content-type") == b"application/json"
            and length.isdigit()
            and len(length) < 12
            and int(length) <= min(most, self.limits.body)
            and b"transfer-encoding" not in headers
            and self.requests.now < self.limits.requests
            and self._is_welcome(headers)
        )

    def at_once(self, path: str, body: bytes) -> Reply:
        """Serve one of the `quick` requests: status, body and headers of the reply."""
        start = time.perf_counter()
        try:
            status, said = QUICK[path](self.service, _loaded(body))
            reply: Reply = status, _dumped(said), []
        except REFUSED as error:
            why = _refusal(error)
            reply = why.status, why.said, list(why.headers)
        self.requests.count(path, reply[0], start)
        return reply

    async def _act(self, act: Act, body: bytes, query: bytes) -> tuple[int, bytes]:
        try:
            if act in (_learn, _learn_all):
                self.service.expect_room(1)  # before the body is looked at, which takes longer
            status, said = await act(self, _loaded(body))
            if query and _waits(query):
                await asyncio.wrap_future(self.service.after(self.service.publish))
        except REFUSED as error:
            raise _refusal(error) from None
        return status, _dumped(said)

    async def do(self, step: Callable[..., T], *arguments: Any) -> T:
        """Do a part of the work: here or, if a model may have to be fetched from disk, elsewhere."""
        if self._threads is None:
            return step(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(step, *arguments))


Act = Callable[[Wire, Any], Awaitable[tuple[int, Any]]]


def _answer_now(service: Service, request: Any) -> tuple[int, Any]:
    return 200, service.answer(request)


def _learn_now(service: Service, request: Any) -> tuple[int, Any]:
    service.learn(request)
    return 202, {"accepted": 1}


QUICK = {"/answer": _answer_now, "/learn": _learn_now}


async def _answer(wire: Wire, request: Any) -> tuple[int, Any]:
    return await wire.do(_answer_now, wire.service, request)


async def _answers(wire: Wire, request: Any) -> tuple[int, Any]:
    answers: list[Any] = []
    async for some in _slices(_instances(wire.service, request)):
        answers += await wire.do(wire.service.answers, some)
    return 200, {"answers": answers}


async def _learn(wire: Wire, request: Any) -> tuple[int, Any]:
    return _learn_now(wire.service, request)


async def _learn_all(wire: Wire, request: Any) -> tuple[int, Any]:
    instances, taken = _instances(wire.service, request), Taken()
    with wire.service.room_for(len(instances)):
        async for some in _slices(instances):
            wire.service.learn_some(some, taken)
    if taken.accepted == 0 and taken.refused:
        at, why = taken.refused[0]
        raise Wrong(f"None of the instances can be learnt. Number {at}: {why}")
    refused = [{"at": at, "why": why} for at, why in taken.refused]
    return 202, {"accepted": taken.accepted, "unknown": taken.unknown, "refused": refused}


async def _slices(instances: list[Any]) -> AsyncIterator[list[Any]]:
    """A few instances at a time: in between, others have a turn."""
    for start in range(0, len(instances), SLICE):
        if start:
            await asyncio.sleep(0)
        yield instances[start : start + SLICE]


def _instances(service: Service, request: Any) -> list[Any]:
    if type(request) is not dict or request.keys() != {"instances"} or type(request["instances"]) is not list:
        raise Wrong('A batch must be an object with a list of "instances" and nothing else.')
    instances: list[Any] = request["instances"]
    if not 0 < len(instances) <= service.limits.batch:
        raise Wrong(f"A batch must have 1 to {service.limits.batch:,} instances. Got {len(instances):,}.")
    return instances


POSTS: dict[str, Act] = {
    "/answer": _answer,
    "/answer/batch": _answers,
    "/learn": _learn,
    "/learn/batch": _learn_all,
}


def _loaded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, f"The body must be JSON. Got: {error}.") from None


def _dumped(said: Any) -> bytes:
    return orjson.dumps(said, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


REFUSED = (Refusal, Wrong, Unknown, NotNow, HerosError)


def _refusal(why: Exception) -> Refusal:
    """What is said to those whose request cannot be served."""
    if isinstance(why, Refusal):
        return why
    if isinstance(why, NotNow):
        return Refusal(429, str(why), (b"retry-after", b"1"))
    return Refusal(422 if isinstance(why, Wrong) else 404 if isinstance(why, Unknown) else 503, str(why))


def _head(scope: Scope) -> dict[bytes, bytes]:
    """The headers that matter; of two of a kind the last one counts."""
    return {name: value for name, value in scope["headers"] if name in NOTICED}


NOTICED = frozenset({b"authorization", b"content-type", b"content-length"})


def _waits(query: bytes) -> bool:
    return any(pair in (b"wait=true", b"wait=1") for pair in query.split(b"&"))


async def _reply(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [JSON, length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def _live(receive: Receive, send: Send) -> None:
    """Begin and end with the server: nothing is to be done, for the service begins before and ends after."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
