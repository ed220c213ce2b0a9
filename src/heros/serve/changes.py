"""Count the changes that a service detects, show them on its page, and send them to a URL."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.request import HTTPRedirectHandler, Request

import orjson

from heros._base.addresses import WEB_ADDRESS, is_web_address, without_secrets
from heros._base.errors import DataError, ParameterError
from heros._base.web import fetched
from heros.drift.changes import Change, counted_from

if TYPE_CHECKING:
    from heros.serve.service import Service

EVERY = 1.0  # seconds between two checks for changes
SHOWN = 50  # maximum number of changes on the page
KINDS = ("error", "model")
MOST = 100  # maximum number of waiting events; each further event replaces the oldest one
TRIES = 8
FIRST, LONGEST = 1.0, 60.0  # seconds before the first retry, doubled for each further retry up to a maximum
TIMEOUT = 10.0  # seconds for one request
LAST = 2.0  # seconds to deliver waiting events when the service stops
LOG = logging.getLogger("heros.serve")


class ChangeLog:
    """The log of detected changes, which the training thread updates once a second.

    A single model detects its changes itself (`Heros.changes`). With a model per key, the changes are drifts
    in the error over all keys (`heros.serve.history.History.drifts`).

    Parameters
    ----------
    service
        The service.
    hook
        The webhook that receives changes: a change is sent when it is detected, and again when it ends. None
        sends no changes.
    """

    def __init__(self, service: Service, hook: Webhook | None = None) -> None:
        self._service, self.hook = service, hook
        self.counts = dict.fromkeys(KINDS, 0)
        self.latest: list[dict[str, Any]] = []
        self._last = 0  # the instance at which the last known change was detected
        self._open: int | None = None  # the instance of an error change that has not ended
        self._looked = 0.0

    def look(self) -> None:
        """Update the log, unless it was updated within the last second."""
        now = time.monotonic()
        if now - self._looked >= EVERY:
            self._looked = now
            self.look_now()

    def look_now(self) -> None:
        """Update the log: count and send new changes, and send changes that have ended."""
        found = self._found()
        for change in found:
            ended = change.ended is not None
            if change.at > self._last:
                self.counts[change.kind] += 1
                self._last = change.at
                self._send("change", change)
                if change.kind == "error" and not ended:
                    self._open = change.at
            elif change.at == self._open and ended:
                self._open = None
                self._send("recovered" if change.recovered else "ended", change)
        self.latest = [_shown(change) for change in found[-SHOWN:]]

    def _found(self) -> tuple[Change, ...]:
        service = self._service
        learnt, model = service.history.learnt, service.learner.model
        if service.learner.keyed:
            return tuple(Change("error", at, at, math.nan, math.nan) for at in service.history.drifts)
        return counted_from(model.changes, model.instances - learnt) if model.schema is not None else ()

    def _send(self, event: str, change: Change) -> None:
        if self.hook is not None:
            when = datetime.now(UTC).isoformat(timespec="seconds")
            self.hook.put({"event": event, "time": when, "text": _text(change), "change": change.plain()})

    def document(self) -> dict[str, Any]:
        """Return the state of the log for a checkpoint."""
        return {"counts": dict(self.counts), "last": self._last, "open": self._open}

    def resume(self, document: Mapping[str, Any]) -> None:
        """Restore the state that `document` returned."""
        counts, last, still = document["counts"], document["last"], document["open"]
        numbers = [*counts.values(), last, 0 if still is None else still]
        if set(counts) != set(KINDS) or not all(type(one) is int and 0 <= one < 2**62 for one in numbers):
            raise DataError("The counts of changes must be non-negative whole numbers.")
        self.counts, self._last, self._open = dict(counts), last, still


def _text(change: Change) -> str:
    if math.isnan(change.before):
        return f"The error over all keys rose at instance {change.at:,}."
    return str(change)


def _shown(change: Change) -> dict[str, Any]:
    return {"kind": change.kind, "at": change.at, "ended": change.ended, "text": _text(change)}


class _NoRedirect(HTTPRedirectHandler):
    """A handler that rejects redirections, because a redirected POST request becomes a GET without a body."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Webhook:
    """A thread that sends events to a URL as JSON, in order and one at a time. `put` never blocks.

    An event is delivered if the reply has a status of 200 to 299. Otherwise the event is sent again after 1,
    2, 4, … (at most 60) seconds, with eight attempts in total.

    Parameters
    ----------
    url
        A URL that begins with ``http://`` or ``https://``.
    send
        A function that sends one body and raises an OSError on failure; by default a POST request.

    Examples
    --------
    >>> sent = []
    >>> hook = Webhook("http://localhost:9999/changes", send=sent.append)
    >>> hook.put({"event": "change"})
    >>> hook.close()
    >>> sent, hook.counts["delivered"]
    ([b'{"event":"change"}'], 1)
    """

    def __init__(self, url: str, *, send: Callable[[bytes], object] | None = None) -> None:
        if not is_web_address(url):
            raise ParameterError.of("on_change", "Service", WEB_ADDRESS, url)
        self.url = url
        self.counts = {"delivered": 0, "failed": 0, "dropped": 0}
        self.last_error: str | None = None
        self._send = self._post if send is None else send
        self._events: deque[bytes] = deque()
        self._news = threading.Condition()
        self._until: float | None = None  # time at which to give up when the service stops
        self._thread = threading.Thread(target=self._work, name="heros tells", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of events that are not delivered yet."""
        return len(self._events)

    def put(self, event: dict[str, Any]) -> None:
        """Queue an event; if too many events are waiting, drop the oldest one."""
        with self._news:
            if len(self._events) >= MOST:
                self._events.popleft()
                self.counts["dropped"] += 1
            self._events.append(orjson.dumps(event, option=orjson.OPT_SERIALIZE_NUMPY))
            self._news.notify()

    def close(self) -> None:
        """Try for a short time to deliver the waiting events, then stop the thread."""
        with self._news:
            self._until = time.monotonic() + LAST
            self._news.notify()
        self._thread.join(LAST + TIMEOUT)

    def _work(self) -> None:
        while True:
            with self._news:
                while not self._events and self._until is None:
                    self._news.wait()
                if not self._events:
                    return
                event = self._events[0]
            delivered = self._deliver(event)
            with self._news:
                self.counts["delivered" if delivered else "failed"] += 1
                if self._events and self._events[0] is event:  # `put` may have dropped the event
                    self._events.popleft()

    def _deliver(self, event: bytes) -> bool:
        wait = FIRST
        for left in reversed(range(TRIES)):
            try:
                self._send(event)
            except Exception as error:  # a reply may be invalid HTTP
                self.last_error = f"{type(error).__name__}: {error}"
            else:
                self.last_error = None
                return True
            if left and not self._pause(wait):
                break
            wait = min(2 * wait, LONGEST)
        LOG.warning("An event could not be delivered to %s: %s", without_secrets(self.url), self.last_error)
        return False

    def _pause(self, seconds: float) -> bool:
        """Wait before the next attempt; return False if there is not enough time left."""
        end = time.monotonic() + seconds
        with self._news:
            while time.monotonic() < end:
                if self._until is not None and end > self._until:
                    return False
                self._news.wait(end - time.monotonic())
        return True

    def _post(self, body: bytes) -> None:
        headers = {"content-type": "application/json", "user-agent": "heros"}
        fetched(Request(self.url, body, headers, method="POST"), TIMEOUT, 1, _NoRedirect)
