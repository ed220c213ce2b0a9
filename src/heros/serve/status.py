"""The data for the status page: measures, trained models, leaderboard, costs and waiting instances."""

from __future__ import annotations

import logging
import math
import mmap
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from heros._base.errors import HerosError
from heros._base.registry import pool_id
from heros.ensemble import Heros
from heros.run.report.leaders import names_of
from heros.run.report.words import SYMBOLS, policy_words, pool_words
from heros.serve.learners import ModelPerKey
from heros.serve.service import Service

LOG = logging.getLogger("heros.serve")
SHOWN = {False: ("auroc", "accuracy"), True: ("mae", "r2")}
"""The main measures for classification (False) and regression (True)."""
KEYS_SHOWN = 50
NOTICES_SHOWN = 5
KEYS_EVERY = 5.0  # seconds between updates of the key table, for which the file of all keys is read
KEYS_SHARE = 20  # these updates take at most 1/20 of the time
EVERY = 1.0
WATCHED = 15.0  # seconds for which updates continue after the last request for the state
OVERDUE = 30.0  # seconds after which a state that was not updated on request counts as out of date


class StatusSnapshot:
    """The state for the status page; the training thread updates it every second while the page is open."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._started = time.monotonic()
        self._asked = self._made = self._tried = 0.0
        self._failure: str | None = None  # the error of the last attempt to update the state
        self._waiting: float | None = None  # time of the first request since the last update
        self._keys: dict[str, Any] | None = None
        self._keys_due = 0.0  # time of the next update of the key table
        self._rate = (time.monotonic(), service.history.learnt, 0.0)
        self.state: dict[str, Any] = {}
        self._make()
        service.on_work.append(self._keep)

    def ask(self) -> None:
        """Ask the training thread for an up-to-date state."""
        self._asked = time.monotonic()
        if not self.is_fresh:
            self._waiting = self._waiting or self._asked
            self._service.poke()

    @property
    def error(self) -> str | None:
        """The reason why the state is out of date, or None."""
        since = self._waiting
        if self._failure is None and since is not None and time.monotonic() - since > OVERDUE:
            return (
                f"The training thread has not updated the state for {time.monotonic() - since:.0f} seconds."
            )
        return self._failure

    @property
    def is_fresh(self) -> bool:
        """Whether the state is at most 1.5 seconds old."""
        return time.monotonic() - self._made < 1.5 * EVERY

    def _keep(self) -> None:
        now = time.monotonic()
        wanted = now - self._asked < WATCHED or self.error is not None  # until /health is "ok" again
        if not wanted or min(now - self._made, now - self._tried) < EVERY:
            return
        self._tried = now
        try:
            self._make()
        except Exception as error:  # an error in the status page must not stop training
            if self._failure is None:
                LOG.exception("The state for /metrics and the page cannot be updated; retrying every second")
            self._failure = f"{type(error).__name__}: {error}"
        else:
            self._failure = None

    def _make(self) -> None:
        service = self._service
        began = time.monotonic()
        service.changes.look()
        history, learner, pending = service.history, service.learner, service.pending
        model, key = self._model()
        has_sets = key is None and model.set_limit is not None
        self.state = {
            "time": time.time(),
            "uptime": time.monotonic() - self._started,
            "pool": pool_words(pool_id(learner.model.pool)),
            "policy": policy_words(str(model.policy)),
            "k": model.k,
            "budget": None if model.dial is None else model.dial.as_dict(),
            "task": type(learner.task).__name__.lower(),
            "models": names_of(learner.model.pool.configurations),
            "features": 0 if learner.schema is None else learner.schema.n_features,
            "classes": [] if learner.schema is None else list(learner.schema.classes),
            "captions": [
                {"name": m.name, "label": m.label, "better": m.better, "meaning": SYMBOLS.get(m.label, "")}
                for m in history.measures
            ],
            "shown": list(SHOWN[learner.task.numeric]),
            "instances": history.learnt,
            "rate": self._per_second(),
            "figures": _known(history.figures),
            "lately": _known(history.lately),
            "baselines": {name: _known(said) for name, said in history.baselines.items()},
            "curve": _curve(service),
            "changes": list(service.changes.latest),
            "changes_total": dict(service.changes.counts),
            "webhook": None if service.changes.hook is None else dict(service.changes.hook.counts),
            "importance": _importance(service),
            "sets": {"level": getattr(model.task, "level", None), **_known(model.sets)} if has_sets else None,
            "leaderboard": leaderboard(model),
            "leaders_key": key,
            "model_instances": model.instances if model.schema is not None else 0,
            "why": _why(service, model) if model.schema is not None and model.instances else None,
            "bill": self._bill(model),
            "pending": {
                "waiting": len(pending),
                "most": pending.most,
                "longest": pending.longest,
                "bytes": pending.bytes,
                **asdict(service.counts),
            },
            "queued": service.queued,
            "learning_waits": waiting(service),
            "hour": _hour(service),
            "notices": service.notices[-NOTICES_SHOWN:],
            "failed": service.failed,
            "ignored": service.ignored,
            **service.errors,
            "published": service.published,
            "checkpoints": service.checkpoints,
            "memory": memory(),
            "keys": self._all_keys(),
        }
        self._waiting, self._made = None, began  # set last: a waiting client reads the state immediately

    def _model(self) -> tuple[Heros, Any]:
        """Return the model for the leaderboard, and its key.

        With keys, this is the model of the busiest key whose model can be read, or else the template.
        """
        learner = self._service.learner
        if not isinstance(learner, ModelPerKey):
            return learner.model, None
        for row in (self._keys or {}).get("rows") or []:
            with suppress(KeyError, HerosError):  # the model was removed or is damaged
                return learner.models[row["key"]], row["key"]
        return learner.model, None

    def _per_second(self) -> float:
        then, before, rate = self._rate
        now, learnt = time.monotonic(), self._service.history.learnt
        if now - then >= 2.0:
            rate = (learnt - before) / (now - then)
            self._rate = now, learnt, rate
        return rate

    def _bill(self, model: Heros) -> dict[str, Any]:
        history = self._service.history
        spent = self._service.bill.read()
        share = history.spent / history.learnt if history.learnt else None
        per_thousand = 1000 * spent["joules"] / history.learnt if history.learnt else None
        phases = {} if model.schema is None or self._service.learner.keyed else model.cpu_seconds
        training = phases.get("train", 0.0)
        saved = training * (1 / share - 1) if share and training else None
        costs = {"joules_per_thousand": per_thousand, "cpu_seconds_saved": saved}
        return {**spent, "share": share, "phases": phases, **costs}

    def _all_keys(self) -> dict[str, Any] | None:
        learner, now = self._service.learner, time.monotonic()
        if isinstance(learner, ModelPerKey) and (self._keys is None or now >= self._keys_due):
            models = learner.models
            size = {"in_memory": models.in_memory, "bytes": models.bytes_in_memory, "memory": models.memory}
            rows = [
                {"key": key, "instances": one.instances}
                | _known({"accuracy": one.accuracy, "mae": one.mae, "share": one.gamma_share})
                for key, one in models.busiest(KEYS_SHOWN)
            ]
            self._keys = {"count": len(models), **size, "rows": rows}
            self._keys_due = now + max(KEYS_EVERY, KEYS_SHARE * (time.monotonic() - now))
        return self._keys


def _curve(service: Service) -> dict[str, Any]:
    curves = service.history.points.curves
    lengths = np.diff([0, *curves["end"]])
    trained = [np.round(row / n, 3).tolist() for row, n in zip(curves["trained"], lengths, strict=True)]
    spent = [round(float(sum_ / n), 4) for sum_, n in zip(curves["spent"], lengths, strict=True)]
    figures = {one.name: [_number(value) for value in curves[one.name]] for one in service.history.measures}
    ends, times = list(curves["end"]), list(curves["time"])
    return {"end": ends, "time": times, "trained": trained, "share": spent, **figures}


def waiting(service: Service) -> dict[str, Any] | None:
    """Return the reason and end of the current training delay, and the queue length.

    Return None if there is no delay.
    """
    wait = service.learning_waits
    if wait is None:
        return None
    until = datetime.fromtimestamp(wait.until, UTC).isoformat(timespec="seconds")
    return {"until": until, "why": wait.why, "instances": service.queued}


def _hour(service: Service) -> dict[str, float] | None:
    """Return the joules used for training in this hour, and the hourly budget; None if there is no budget."""
    schedule = service.schedule
    if schedule is None or schedule.limit is None:
        return None
    return {"joules": schedule.spent * schedule.watts, "budget": schedule.seconds * schedule.watts}


def leaderboard(model: Heros) -> list[dict[str, Any]]:
    """Return the models as plain data, best first."""
    if model.schema is None:
        return []
    chosen = {one["model"] for one in explanation(model)["choices"]}
    names = names_of(model.pool.configurations)
    return [
        {"name": names[one.model], **asdict(one), "now": one.model in chosen} for one in model.leaderboard()
    ]


def importance(model: Heros) -> dict[str, Any]:
    """Return the importance of columns as plain data."""
    if model.schema is None:
        return {"columns": [], "values": [], "end": [], "history": []}
    return model.importance(fresh=False).plain()


def _importance(service: Service) -> dict[str, Any] | None:
    """Return the importance of columns, with the same instance numbers as the curves; None if unknown."""
    learner, model = service.learner, service.learner.model
    if learner.keyed or not learner.model.explainable or model.schema is None:
        return None
    return model.importance(fresh=False).since(model.instances - service.history.learnt).plain()


def explanation(model: Heros) -> dict[str, Any]:
    """Return, as plain data, why the policy chose the models that were trained in the last step."""
    try:
        return _explained(model)
    except HerosError as error:
        return {"rule": str(error), "choices": []}


def _explained(model: Heros) -> dict[str, Any]:
    explained, names = model.explain_choice(), names_of(model.pool.configurations)
    choices = [
        {"model": i.model, "name": names[i.model], "score": i.score, "cost": i.cost, "why": i.reason}
        for i in explained
    ]
    return {"rule": explained.rule, "choices": choices}


def _why(service: Service, model: Heros) -> dict[str, Any]:
    """Return the policy's rule in words and, if known, the models of the last step, grouped by reason."""
    try:
        said = _explained(model)
    except HerosError as error:
        why = "No model has been trained since the service started."
        if service.last_error is not None:
            why = f"The last instance could not be used for training: {service.last_error}"
        if service.learner.keyed:  # the model may just have been read from its file
            why = str(error)
        return {"rule": why, "reasons": [], "known": False}
    policy, chose, rest = said["rule"].partition(" chose ")
    rule = f"The policy ({policy_words(policy)}){chose}{rest}" if chose else said["rule"]
    reasons: dict[str, list[str]] = {}
    for one in said["choices"]:
        reasons.setdefault(one["why"], []).append(one["name"])
    grouped = [{"why": why, "models": names} for why, names in reasons.items()]
    return {"rule": f"{rule}.", "reasons": grouped, "known": True}


def memory() -> int | None:
    """Return the resident memory of the process in bytes, or None if it is unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * mmap.PAGESIZE


def _number(value: float) -> float | None:
    """Round a value to six significant digits; return None if it is not finite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _known(figures: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _number(value) for name, value in figures.items()}
