"""Figures in the text form of Prometheus."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["Requests", "metrics"]

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)

Labels = tuple[tuple[str, str], ...]


class Requests:
    """Requests so far, by path and status, and how long they took.

    Examples
    --------
    >>> requests = Requests()
    >>> requests.count("/answer", 200, time.perf_counter())
    >>> requests.total
    {('/answer', 200): 1}
    """

    def __init__(self) -> None:
        self.now = 0  # at work
        self.total: dict[tuple[str, int], int] = {}
        self.buckets: dict[str, list[int]] = {}
        self.seconds: dict[str, float] = {}

    def count(self, path: str, status: int, start: float) -> None:
        """Count one that began at this time."""
        took = time.perf_counter() - start
        self.total[path, status] = self.total.get((path, status), 0) + 1
        self.buckets.setdefault(path, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, took)] += 1
        self.seconds[path] = self.seconds.get(path, 0.0) + took

    def lines(self) -> Iterable[str]:
        """All of it as Prometheus reads it."""
        yield from _head("heros_requests_total", "counter", "Requests, by path and status.")
        for (path, status), n in sorted(self.total.items()):
            yield f'heros_requests_total{{path="{path}",status="{status}"}} {n}'
        yield from _head("heros_request_seconds", "histogram", "How long requests took.")
        for path, counts in sorted(self.buckets.items()):
            n = 0
            for bound, count in zip((*map(repr, BOUNDS), "+Inf"), counts, strict=True):
                n += count
                yield f'heros_request_seconds_bucket{{path="{path}",le="{bound}"}} {n}'
            yield f'heros_request_seconds_sum{{path="{path}"}} {self.seconds[path]!r}'
            yield f'heros_request_seconds_count{{path="{path}"}} {n}'


def metrics(state: Mapping[str, Any], requests: Requests) -> str:
    """The text of /metrics, from what the page shows."""
    lines = list(requests.lines())
    lines += _family("heros_requests_now", "gauge", "Requests at work.", {(): requests.now})
    pending, bill = state["pending"], state["bill"]
    for name in ("answered", "learnt", "expired", "unknown"):
        what = {"unknown": "Labels of instances that do not wait."}.get(name, f"Instances {name}.")
        lines += _family(f"heros_{name}_total", "counter", what, {(): pending[name]})
    lines += _family(
        "heros_failed_total", "counter", "Instances at which models raised.", {(): state["failed"]}
    )
    lines += _family("heros_waiting", "gauge", "Instances that wait for labels.", {(): pending["waiting"]})
    lines += _family("heros_queued", "gauge", "Labelled instances not learnt yet.", {(): state["queued"]})
    lines += _family(
        "heros_drifts_total", "counter", "Times that answers got worse.", {(): state["drifts_total"]}
    )
    figures: dict[Labels, Any] = {(("measure", name),): value for name, value in state["figures"].items()}
    lines += _family("heros_measure", "gauge", "Measures over all answers with labels.", figures)
    lately: dict[Labels, Any] = {(("measure", name),): value for name, value in state["lately"].items()}
    lines += _family("heros_measure_lately", "gauge", "Measures over the last point of the curves.", lately)
    lines += _family(
        "heros_training_share",
        "gauge",
        "What training cost, as a share of training everything.",
        {(): bill["share"]},
    )
    lines += _family("heros_joules_total", "counter", f"Energy ({bill['source']}).", {(): bill["joules"]})
    lines += _family("heros_cpu_seconds_total", "counter", "CPU time.", {(): bill["cpu_seconds"]})
    lines += _family("heros_memory_bytes", "gauge", "Resident memory.", {(): state["memory"]})
    lines += _family("heros_published_total", "counter", "States published.", {(): state["published"]})
    lines += _family("heros_checkpoints_total", "counter", "Checkpoints written.", {(): state["checkpoints"]})
    if state["keys"] is not None:
        lines += _family("heros_keys", "gauge", "Keys.", {(): state["keys"]["count"]})
        lines += _family(
            "heros_keys_in_memory", "gauge", "Models in memory.", {(): state["keys"]["in_memory"]}
        )
    return "\n".join(lines) + "\n"


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _family(name: str, kind: str, text: str, values: Mapping[Labels, float | None]) -> list[str]:
    """
    A metric and its values; those that are not known are left out.

    Examples
    --------
    >>> _family("heros_measure", "gauge", "Measures.", {(("measure", "auroc"),): 0.9, (): None})[1:]
    ['# TYPE heros_measure gauge', 'heros_measure{measure="auroc"} 0.9']
    """
    known = {labels: value for labels, value in values.items() if value is not None and not math.isnan(value)}
    lines = [name + _written(labels) + f" {value!r}" for labels, value in known.items()]
    return _head(name, kind, text) + lines


def _written(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
