"""The changes that a service has detected, which it counts, shows on its page and sends to a URL."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from heros._base.errors import DataError
from heros.drift.changes import Change, counted_from
from heros.serve.webhook import Webhook

if TYPE_CHECKING:
    from heros.serve.service import Service

__all__ = ["ChangeLog"]

EVERY = 1.0  # seconds between two checks for changes
SHOWN = 50  # maximum number of changes on the page
KINDS = ("error", "model")


class ChangeLog:
    """The log of detected changes, which the training thread updates once a second.

    A single model detects its changes itself (`Heros.changes`). With a model per key, the changes are drifts
    of the error over all keys (`heros.serve.history.History.drifts`).

    Parameters
    ----------
    service
        The service.
    hook
        The receiver of changes: a change is sent when it is detected, and again when it has ended.
    """

    def __init__(self, service: Service, hook: Webhook | None = None) -> None:
        self._service, self.hook = service, hook
        self.counts = dict.fromkeys(KINDS, 0)
        self.latest: list[dict[str, Any]] = []
        self._last = 0  # the instance at which the last known change was detected
        self._open: int | None = None  # the same for an error change that has not ended
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
        return f"At instance {change.at:,} the error rose, over all keys."
    return str(change)


def _shown(change: Change) -> dict[str, Any]:
    return {"kind": change.kind, "at": change.at, "ended": change.ended, "text": _text(change)}
