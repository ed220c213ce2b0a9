"""The service as an ASGI application: each route once, without a framework between the wire and the model."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import Any, TypeVar
from urllib.parse import parse_qs

import orjson

from heros._base.lazy import metadata
from heros.data.schema import schema_plain
from heros.ensemble import Heros, files
from heros.errors import HerosError
from heros.serve.http import Receive, Scope, Send
from heros.serve.limits import NotNow, Refusal, Unknown, Wrong
from heros.serve.metrics import Requests, metrics
from heros.serve.service import Service, Taken
from heros.serve.state import Picture, explanation, leaderboard

__all__ = ["Api"]

CSP = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
JSON = b"application/json"
SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
FOR_PAGE = ((b"content-security-policy", CSP.encode()), (b"referrer-policy", b"no-referrer"))
OPEN = frozenset({"/", "/health"})  # paths that need no token: they show nothing that was learnt
NOTICED = frozenset({b"authorization", b"content-type"})
MOST_NOTICES = 50
SLICE = 20  # instances of a batch that are dealt with before other requests have a turn

Reply = tuple[int, Any] | tuple[int, bytes, bytes]  # status, then plain data, or bytes and their type
Handler = Callable[[Any], Awaitable[Reply]]  # of a parsed body, or of the query
T = TypeVar("T")


class Api:
    """An ASGI application for one service.

    Parameters
    ----------
    service
        What predicts and learns.
    token
        The token that requests have to bring in ``Authorization: Bearer …``; None: no token is needed.
    """

    def __init__(self, service: Service, token: str | None = None) -> None:
        self.service, self.limits = service, service.limits
        self.picture, self.requests = Picture(service), Requests()
        self._token = None if token is None else b"Bearer " + token.encode()
        self._threads = ThreadPoolExecutor(1, "heros predicts") if service.learner.keyed else None
        self._page = resources.files("heros.serve").joinpath("page.html").read_bytes()
        self.posts: dict[str, Handler] = {
            "/predict": self._predict,
            "/predict/batch": self._predict_batch,
            "/learn": self._learn,
            "/learn/batch": self._learn_batch,
        }
        self.gets: dict[str, Handler] = {
            "/": self._index,
            "/explain": self._explain,
            "/health": self._health,
            "/leaderboard": self._leaderboard,
            "/metrics": self._metrics,
            "/model": self._model,
            "/openapi.json": self._openapi,
            "/state": self._state,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await _live(receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, requests, path = time.perf_counter(), self.requests, scope["path"]
        requests.now += 1
        status = 499  # the client has gone
        try:
            headers = {name: value for name, value in scope["headers"] if name in NOTICED}
            self._expect_welcome(headers, path)
            if scope["method"] == "POST" and path in self.posts:
                body = await self._body(headers, receive)
                if body is None:
                    return
                reply = await self._act(path, body, scope["query_string"])
                more: tuple[tuple[bytes, bytes], ...] = ()
            else:
                reply = await self._look(scope["method"], path, scope["query_string"])
                more = SAFE + FOR_PAGE if path == "/" else SAFE
            status = reply[0]
            body, kind = (_dumped(reply[1]), JSON) if len(reply) == 2 else reply[1:]
            await _send(send, status, body, (b"content-type", kind), *more)
        except (Refusal, HerosError) as error:
            why = error if isinstance(error, Refusal) else Refusal(str(error), 503)
            status = why.status
            await _send(send, status, _dumped({"detail": str(why)}), (b"content-type", JSON), *why.headers)
        finally:
            requests.now -= 1
            requests.count(path if path in self.posts or path in self.gets else "other", status, start)

    def _expect_welcome(self, headers: dict[bytes, bytes], path: str) -> None:
        if self.requests.now > self.limits.requests and path != "/health":
            raise NotNow("There are too many requests at a time.")
        if self._token is None or path in OPEN:
            return
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._token):
            raise Refusal("The token must be the right one.", 401, (b"www-authenticate", b"Bearer"))

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """The body, if it is JSON and not too large; None if the client has gone."""
        if headers.get(b"content-type") != JSON:
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != JSON:
                raise Refusal("The content-type must be application/json.", 415)
        message = await receive()
        body: bytes = message.get("body", b"")
        while message.get("more_body", False) and len(body) <= self.limits.body:
            message = await receive()
            body += message.get("body", b"")
        if message["type"] == "http.disconnect":
            return None
        if len(body) > self.limits.body:
            raise Refusal(f"A body must have at most {self.limits.body:,} bytes.", 413)
        return body

    async def _act(self, path: str, body: bytes, query: bytes) -> Reply:
        if path.startswith("/learn"):
            self.service.expect_room(1)  # before the body is parsed, which takes longer
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise Refusal(f"The body must be JSON. Got: {error}.", 400) from None
        reply = await self.posts[path](request)
        if query and any(pair in (b"wait=true", b"wait=1") for pair in query.split(b"&")):
            await asyncio.wrap_future(self.service.after(self.service.publish))
        return reply

    async def _look(self, method: str, path: str, query: bytes) -> Reply:
        handler = self.gets.get(path)
        if handler is None and path not in self.posts:
            raise Refusal("There is no such path.", 404)
        if handler is None or method not in ("GET", "HEAD"):
            allowed = b"POST" if handler is None else b"GET, HEAD"
            raise Refusal(f"The method must be {allowed.decode()}.", 405, (b"allow", allowed))
        return await handler(query)

    # -- predicting and learning --------------------------------------------------------------------------

    async def _predict(self, request: Any) -> Reply:
        return 200, await self._do(self.service.predict, request)

    async def _predict_batch(self, request: Any) -> Reply:
        predictions: list[Any] = []
        async for some in _slices(self._instances(request)):
            predictions += await self._do(self.service.predict_all, some)
        return 200, {"predictions": predictions}

    async def _learn(self, request: Any) -> Reply:
        self.service.learn(request)
        return 202, {"accepted": 1}

    async def _learn_batch(self, request: Any) -> Reply:
        instances, taken = self._instances(request), Taken()
        with self.service.room_for(len(instances)):
            async for some in _slices(instances):
                self.service.learn_some(some, taken)
        if taken.accepted == 0 and taken.refused:
            at, why = taken.refused[0]
            raise Wrong(f"None of the instances can be learnt. Number {at}: {why}")
        refused = [{"at": at, "why": why} for at, why in taken.refused]
        return 202, {"accepted": taken.accepted, "unknown": taken.unknown, "refused": refused}

    def _instances(self, request: Any) -> list[Any]:
        if (
            type(request) is not dict
            or request.keys() != {"instances"}
            or type(request["instances"]) is not list
        ):
            raise Wrong('A batch must be an object with a list of "instances" and nothing else.')
        instances: list[Any] = request["instances"]
        if not 0 < len(instances) <= self.limits.batch:
            raise Wrong(f"A batch must have 1 to {self.limits.batch:,} instances. Got {len(instances):,}.")
        return instances

    async def _do(self, step: Callable[[Any], T], argument: Any) -> T:
        """Predict: here or, where a model may have to be read from disk, in a thread."""
        if self._threads is None:
            return step(argument)
        return await asyncio.get_running_loop().run_in_executor(self._threads, step, argument)

    # -- what there is to see -----------------------------------------------------------------------------

    async def _model(self, query: bytes) -> Reply:
        def about(model: Heros) -> dict[str, Any]:
            schema = model.schema
            return {
                **files.description(model),
                "instances": 0 if schema is None else model.instances,
                "schema": None if schema is None else schema_plain(schema),
                "notices": self.service.notices[:MOST_NOTICES],
            }

        return 200, await self._view(b"", about)

    async def _leaderboard(self, query: bytes) -> Reply:
        return 200, await self._view(query, leaderboard)

    async def _explain(self, query: bytes) -> Reply:
        return 200, await self._view(query, explanation)

    async def _view(self, query: bytes, look: Callable[[Heros], T]) -> T:
        """What there is to see of the model, or of the model of a key."""
        keys = parse_qs(query.decode("latin-1")).get("key")
        key, look_at = None if keys is None else keys[-1], self.service.learner.look
        if self._threads is None:
            found = look_at(look, key)
        else:
            found = await asyncio.to_thread(look_at, look, key)
        if found is None:
            raise Unknown("No model has this key.")
        return found

    async def _index(self, query: bytes) -> Reply:
        return 200, self._page, b"text/html; charset=utf-8"

    async def _state(self, query: bytes) -> Reply:
        return 200, await self._fresh()

    async def _metrics(self, query: bytes) -> Reply:
        text = metrics(await self._fresh(), self.requests)
        return 200, text, b"text/plain; version=0.0.4; charset=utf-8"

    async def _health(self, query: bytes) -> Reply:
        service = self.service
        well = service.fault is None
        status = "ok" if well else "learns no more"
        return 200 if well else 503, {
            "status": status,
            "queued": service.queued,
            "notices": len(service.notices),
        }

    async def _openapi(self, query: bytes) -> Reply:
        return 200, _described(self.service.learner.task.numeric, self._token is not None)

    async def _fresh(self) -> dict[str, Any]:
        """The picture, at most a second old unless there is very much to do."""
        self.picture.ask()
        for _ in range(80):
            if self.picture.is_fresh:
                break
            await asyncio.sleep(0.025)
        return self.picture.state


def _described(numeric: bool, secured: bool) -> dict[str, Any]:
    """The OpenAPI document, for labels that are numbers or classes, with or without a token."""
    document: dict[str, Any] = orjson.loads(
        resources.files("heros.serve").joinpath("openapi.json").read_bytes()
    )
    document["info"]["version"] = metadata.version("heros-learn")
    schemas = document["components"]["schemas"]
    for name in [name for name in schemas if name.startswith("Number")]:
        of_numbers = schemas.pop(name)
        if numeric:
            schemas[name.removeprefix("Number")] |= of_numbers
    if secured:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


async def _slices(instances: list[Any]) -> AsyncIterator[list[Any]]:
    """A few instances at a time: in between, other requests have a turn."""
    for start in range(0, len(instances), SLICE):
        if start:
            await asyncio.sleep(0)
        yield instances[start : start + SLICE]


def _dumped(said: Any) -> bytes:
    return orjson.dumps(said, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


async def _send(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": (*headers, length)})
    await send({"type": "http.response.body", "body": body})


async def _live(receive: Receive, send: Send) -> None:
    """Begin and end with the server: nothing is to be done, for the service begins before and ends after."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
