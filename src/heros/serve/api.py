"""The service as an ASGI application, written without a web framework."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import resources
from typing import Any, TypeVar
from urllib.parse import parse_qs

import orjson

from heros._base.addresses import is_ip_address
from heros._base.errors import HerosError
from heros._base.lazy import metadata
from heros.data.schema import schema_plain
from heros.ensemble import Heros, serialization
from heros.serve.http import Receive, Scope, Send
from heros.serve.limits import NotNow, Refusal, Unknown, Wrong, expect_name
from heros.serve.metrics import Requests, metrics
from heros.serve.service import LearnOutcome, Output, Service
from heros.serve.status import StatusSnapshot, explanation, importance, leaderboard, waiting

CSP = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
JSON = b"application/json"
SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
FOR_PAGE = ((b"content-security-policy", CSP.encode()), (b"referrer-policy", b"no-referrer"))
OPEN = frozenset({"/", "/health"})  # paths that need no token: they show no data
PLAIN = ((b"content-type", JSON),)
HEALTH = {
    "fault": "training stopped",
    "storage_error": "training waits for storage",
    "checkpoint_error": "checkpoints fail",
    "waitlist_error": "labels cannot be stored",
    "publish_error": "predictions are out of date",
    "status_error": "metrics and the page are out of date",
}
HOST = re.compile(r"(\[(?P<address>[0-9a-f.]*:[0-9a-f:.]*)\]|(?P<name>[^:@/\[\]\s]+))(:[0-9]{0,5})?")
MOST_NOTICES = 50
LARGE = 16_384  # larger bodies (in bytes) are handled one at a time; parsing may take 30 times as much memory
MOST_EXPLANATIONS = 8  # maximum number of running and waiting explanations; each may take seconds
SLICE = 20  # instances of a batch that are processed before other requests get a turn

Reply = tuple[int, Any] | tuple[int, bytes, bytes]  # status and plain data; or status, bytes and content type
Act = Callable[[Any], Awaitable[Reply]]  # handler of a parsed body
View = Callable[[bytes], Awaitable[Reply]]  # handler of a query string
T = TypeVar("T")


class Api:
    """An ASGI application for one service.

    Parameters
    ----------
    service
        The service that predicts and trains.
    token
        The token that requests must send as ``Authorization: Bearer …``; None means no token.
    hosts
        The host names that clients may use, besides ``localhost`` and IP addresses. Any other name in the
        ``Host`` header is rejected, because it indicates DNS rebinding.
    """

    def __init__(self, service: Service, token: str | None = None, hosts: Iterable[str] = ()) -> None:
        self.service, self.limits = service, service.limits
        self.picture, self.requests = StatusSnapshot(service), Requests()
        self._token = None if token is None else b"Bearer " + token.encode()
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._known_hosts: set[bytes] = set()  # accepted Host headers, at most 100
        self._threads = ThreadPoolExecutor(1, "heros predicts") if service.learner.keyed else None
        self._explaining = ThreadPoolExecutor(1, "heros explains")
        self._explanations = 0  # number of running and waiting explanations
        self._large, self._formatting = asyncio.Lock(), asyncio.Lock()
        self._page = resources.files("heros.serve").joinpath("page.html").read_bytes()
        self.posts: dict[str, Act] = {
            "/explain": self._explain,
            "/predict": self._predict,
            "/predict/batch": self._predict_batch,
            "/learn": self._learn,
            "/learn/batch": self._learn_batch,
        }
        self.gets: dict[str, View] = {
            "/": self._index,
            "/choice": partial(self._view, explanation),
            "/health": self._health,
            "/importance": self._importance,
            "/leaderboard": partial(self._view, leaderboard),
            "/metrics": self._metrics,
            "/model": lambda _: self._view(self._about, b""),
            "/openapi.json": self._openapi,
            "/state": self._state,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await _live(receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, requests, path = time.perf_counter(), self.requests, scope["path"]
        requests.now += 1
        status = 499  # the client has disconnected
        try:
            headers = dict(scope["headers"])
            self._expect_welcome(headers, path)
            if scope["method"] == "POST" and path in self.posts:
                body = await self._body(headers, receive)
                if body is None:
                    return
                if len(body) > LARGE:  # one large body at a time
                    async with self._large:
                        reply = await self.posts[path](self._parsed(path, body))
                else:
                    reply = await self.posts[path](self._parsed(path, body))
                if isinstance(reply[1], asyncio.Future):  # an explanation is computed without the lock
                    reply = reply[0], await reply[1]
                if scope["query_string"] and path.startswith("/learn"):
                    await self._wait(scope["query_string"], receive)
                status, body, kind = _encoded(reply)
                await _send(send, status, body, ((b"content-type", kind),))
            else:
                status, body, kind = await self._look(scope["method"], path, scope["query_string"])
                more = SAFE + FOR_PAGE if path == "/" else SAFE
                await _send(send, status, body, ((b"content-type", kind), *more))
        except (Refusal, HerosError) as error:
            status = await _send_refusal(send, error)
        finally:
            requests.now -= 1
            requests.count(path if path in self.posts or path in self.gets else "other", status, start)

    def _expect_welcome(self, headers: dict[bytes, bytes], path: str) -> None:
        if self.requests.now > self.limits.requests and path != "/health":
            raise NotNow("Too many concurrent requests.")
        if (host := headers.get(b"host")) not in self._known_hosts and path != "/health":
            self._expect_host(host)
        if self._token is None or path in OPEN:
            return
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._token):
            raise Refusal("The token is missing or wrong.", 401, (b"www-authenticate", b"Bearer"))

    def _expect_host(self, host: bytes | None) -> None:
        if host is None:  # a request of HTTP/1.0, which no browser uses
            return
        text = host.decode("latin-1").lower()
        form = HOST.fullmatch(text)
        name = None if form is None else form["address"] or form["name"]
        if name is None or not (name in self._hosts or is_ip_address(name)):
            way = "Start the service with --allow-host to allow it"
            raise Refusal(f"The host {text[:100]!r} is not allowed. {way}.", 403)
        if len(self._known_hosts) < 100:
            self._known_hosts.add(host)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """Return the body, or None if the client disconnected.

        Raise an error if the content-type is not JSON or the body is too large.
        """
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != JSON:
            raise Refusal("The content-type must be application/json.", 415)
        message = await receive()
        body: bytes = message.get("body", b"")
        while message.get("more_body", False) and len(body) <= self.limits.body:
            message = await receive()
            body += message.get("body", b"")
        if message["type"] == "http.disconnect":
            return None
        if len(body) > self.limits.body:
            raise Refusal(f"The body of a request must have at most {self.limits.body:,} bytes.", 413)
        return body

    def _parsed(self, path: str, body: bytes) -> Any:
        if path == "/learn/batch":
            self.service.expect_room(1)  # checked first, because parsing the body takes longer
        elif path == "/explain":
            self._expect_explainable()
            if self._explanations >= MOST_EXPLANATIONS:
                raise NotNow("Too many explanations at the same time.")
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise Refusal(f"The body must be valid JSON. The error was: {error}.", 400) from None

    async def _wait(self, query: bytes, receive: Receive) -> None:
        """If the query has wait=true, wait until predictions use all labels sent so far.

        If the client disconnects, stop waiting, because a waiting request counts towards the limit of
        concurrent requests.
        """
        if any(pair in (b"wait=true", b"wait=1") for pair in query.split(b"&")):
            published = asyncio.wrap_future(self.service.when_published())
            gone = asyncio.ensure_future(receive())
            try:
                await asyncio.wait({published, gone}, return_when=asyncio.FIRST_COMPLETED)
                if published.done():
                    published.result()
            finally:
                gone.cancel()
                published.cancel()

    async def _look(self, method: str, path: str, query: bytes) -> tuple[int, bytes, bytes]:
        handler = self.gets.get(path)
        if handler is None and path not in self.posts:
            raise Refusal("Unknown path.", 404)
        if handler is None or method not in ("GET", "HEAD"):
            allowed = b"POST" if handler is None else b"GET, HEAD"
            raise Refusal(f"The method must be {allowed.decode()}.", 405, (b"allow", allowed))
        return _encoded(await handler(query))

    # -- predicting and learning --------------------------------------------------------------------------

    async def _predict(self, request: Any) -> Reply:
        return 200, await self._do(self.service.predict, request)

    async def _predict_batch(self, request: Any) -> Reply:
        instances, outputs = self._instances(request), list[Output]()
        async for some in _slices(instances):
            outputs += await self._do(self.service.outputs, some)
        said = self.service.stored(outputs)
        async with self._formatting:  # a reply may take fifty times the memory of the request
            parts = []
            async for some in _slices([*zip(instances, said, strict=True)]):
                requests, predictions = zip(*some, strict=True)
                parts.append(_dumped(self.service.formatted(requests, predictions))[1:-1])
            return 200, b'{"predictions":[%b]}' % b",".join(parts), JSON

    async def _explain(self, request: Any) -> Reply:
        explain = self.service.explanation(request)
        explained = asyncio.get_running_loop().run_in_executor(self._explaining, explain)
        self._explanations += 1
        explained.add_done_callback(self._note_explained)
        return 200, explained

    def _note_explained(self, _: object) -> None:
        self._explanations -= 1

    async def _learn(self, request: Any) -> Reply:
        before = len(self.service.notices)
        self.service.learn(request)
        return 202, {"accepted": 1} | _with(self.service.notices[before:])

    async def _learn_batch(self, request: Any) -> Reply:
        instances, taken = self._instances(request), LearnOutcome()
        with self.service.room_for(len(instances)):
            async for some in _slices(instances):
                self.service.learn_some(some, taken)
        if taken.accepted == 0 and taken.refused:
            raise _all_rejected(taken)
        refused = [{"at": one.at, "why": one.why, "status": one.status} for one in taken.refused]
        counts = {"accepted": taken.accepted, "unknown": taken.unknown, "refused": refused}
        return 202, counts | _with(taken.notices)

    def _instances(self, request: Any) -> list[Any]:
        right = type(request) is dict and request.keys() == {"instances"}
        instances = request["instances"] if right else None
        if type(instances) is not list:
            raise Wrong('A batch must be an object with the single field "instances", which must be a list.')
        if not 0 < len(instances) <= self.limits.batch:
            raise Wrong(f"A batch must have 1 to {self.limits.batch:,} instances. Got {len(instances):,}.")
        return instances

    async def _do(self, step: Callable[[Any], T], argument: Any) -> T:
        """Call `step` in this thread, or in another thread if models may have to be read from disk."""
        if self._threads is None:
            return step(argument)
        return await asyncio.get_running_loop().run_in_executor(self._threads, step, argument)

    # -- views of the model and the service ---------------------------------------------------------------

    def _about(self, model: Heros) -> dict[str, Any]:
        schema = model.schema
        return {
            **serialization.description(model),
            "instances": 0 if schema is None else model.instances,
            "schema": None if schema is None else schema_plain(schema),
            "notices": self.service.notices[:MOST_NOTICES],
        }

    async def _importance(self, query: bytes) -> Reply:
        self._expect_explainable()
        return await self._view(importance, query)

    def _expect_explainable(self) -> None:
        if not self.service.learner.model.explainable:
            raise Refusal("Predictions cannot be explained. Start the service with --explainable.", 409)

    async def _view(self, look: Callable[[Heros], Any], query: bytes) -> Reply:
        """Apply `look` to the model, or to the model of the key in the query, and return the result."""
        keys = parse_qs(query.decode("latin-1")).get("key")
        key = None if keys is None else expect_name(keys[-1], "The key", self.limits.text)
        look_at = partial(self.service.learner.look, look, key)
        found = look_at() if self._threads is None else await asyncio.to_thread(look_at)
        if found is None:
            raise Unknown("No model has this key.")
        return 200, found

    async def _index(self, query: bytes) -> Reply:
        return 200, self._page, b"text/html; charset=utf-8"

    async def _state(self, query: bytes) -> Reply:
        return 200, await self._fresh()

    async def _metrics(self, query: bytes) -> Reply:
        text = metrics(await self._fresh(), self.requests)
        return 200, text, b"text/plain; version=0.0.4; charset=utf-8"

    async def _health(self, query: bytes) -> Reply:
        service, errors = self.service, self._errors
        status = next((HEALTH[name] for name, error in errors.items() if error is not None), "ok")
        counts = {"queued": service.queued, "failed": service.failed}
        counts |= {"notices": len(service.notices), "ignored": service.ignored}
        health = {"status": status, **counts, **errors, "learning_waits": waiting(service)}
        return 200 if status == "ok" else 503, health

    async def _openapi(self, query: bytes) -> Reply:
        return 200, _described(self.service.learner.task.numeric, self._token is not None)

    async def _fresh(self) -> dict[str, Any]:
        """Return the state for the page, at most 1.5 seconds old unless the service is overloaded."""
        self.picture.ask()
        for _ in range(80):
            if self.picture.is_fresh or self.picture.error is not None:
                break
            await asyncio.sleep(0.025)
        return self.picture.state | self._errors

    @property
    def _errors(self) -> dict[str, str | None]:
        return self.service.errors | {"status_error": self.picture.error}


def _described(numeric: bool, secured: bool) -> dict[str, Any]:
    """Return the OpenAPI document for numeric or class labels, with or without a token."""
    text = resources.files("heros.serve").joinpath("openapi.json").read_bytes()
    document: dict[str, Any] = orjson.loads(text)
    document["info"]["version"] = metadata.version("heros-learn")
    schemas = document["components"]["schemas"]
    for name in [name for name in schemas if name.startswith("Number")]:
        of_numbers = schemas.pop(name)
        if numeric:
            schemas[name.removeprefix("Number")] |= of_numbers
    if secured:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        for path in OPEN:
            document["paths"][path]["get"]["security"] = []
    return document


def _all_rejected(taken: LearnOutcome) -> Refusal:
    """Return the error for a batch in which all instances were rejected.

    If one of the instances was rejected only for now (with Retry-After), the reply has the status and the
    headers of this instance, so that the client may send the batch again.
    """
    one = next((one for one in taken.refused if b"retry-after" in dict(one.headers)), taken.refused[0])
    return Refusal(f"All instances were rejected. Instance {one.at}: {one.why}", one.status, *one.headers)


def _with(notices: list[str]) -> dict[str, list[str]]:
    """Return the notices as a field of a reply; without notices, the reply has no such field."""
    return {"notices": notices[:MOST_NOTICES]} if notices else {}


async def _slices(instances: list[Any]) -> AsyncIterator[list[Any]]:
    """Yield a few instances at a time, and let the server process other requests in between."""
    for start in range(0, len(instances), SLICE):
        if start:
            await asyncio.sleep(0)
        yield instances[start : start + SLICE]


def _encoded(reply: Reply) -> tuple[int, bytes, bytes]:
    return (reply[0], _dumped(reply[1]), JSON) if len(reply) == 2 else reply


def _dumped(said: Any) -> bytes:
    try:
        return orjson.dumps(said, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # orjson does not support numbers of more than 64 bits, such as seeds
        return json.dumps(said).encode()


async def _send(send: Send, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _send_refusal(send: Send, error: Refusal | HerosError) -> int:
    """Send an error and return its status.

    The traceback of an error refers to the frame that caught the error. If a variable of that frame also
    referred to the error, this cycle would keep the whole request in memory until the next garbage
    collection. The variable is therefore local to this separate function.
    """
    why = error if isinstance(error, Refusal) else Refusal(str(error), 503)
    await _send(send, why.status, _dumped({"detail": str(why)}), PLAIN + why.headers)
    return why.status


async def _live(receive: Receive, send: Send) -> None:
    """Acknowledge the lifespan events of the server, which neither start nor stop the service."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
