"""The metrics of a service in the text format of Prometheus."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)


class Requests:
    """Counts and durations of requests, by path and status.

    Examples
    --------
    >>> requests = Requests()
    >>> requests.count("/predict", 200, time.perf_counter())
    >>> requests.total
    Counter({('/predict', 200): 1})
    """

    def __init__(self) -> None:
        self.now = 0  # requests in progress
        self.total = Counter[tuple[str, int]]()
        self.buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self.seconds: dict[str, float] = defaultdict(float)

    def count(self, path: str, status: int, start: float) -> None:
        """Count a request that began at `start`."""
        took = time.perf_counter() - start
        self.total[path, status] += 1
        self.buckets[path][bisect_left(BOUNDS, took)] += 1
        self.seconds[path] += took

    def families(self) -> Iterable[Metric]:
        """Return the counts and durations as Prometheus metrics."""
        total = CounterMetricFamily("heros_requests", "Requests.", labels=["path", "status"])
        for (path, status), n in sorted(self.total.items()):
            total.add_metric([path, str(status)], n)
        took = HistogramMetricFamily("heros_request_seconds", "Duration of requests.", labels=["path"])
        for path, counts in sorted(self.buckets.items()):
            bounds = (*map(str, BOUNDS), "+Inf")
            took.add_metric([path], list(zip(bounds, accumulate(counts), strict=True)), self.seconds[path])
        return total, took, GaugeMetricFamily("heros_requests_now", "Requests in progress.", self.now)


class _Collector:
    """A Prometheus collector for the state that the status page shows."""

    def __init__(self, state: Mapping[str, Any], requests: Requests) -> None:
        self._state, self._requests = state, requests

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics, except values that are not known yet."""
        yield from self._requests.families()
        state = self._state
        pending, bill, keys = state["pending"], state["bill"], state["keys"] or {}
        waits, hour = state["learning_waits"], state["hour"] or {}
        until = datetime.fromisoformat(waits["until"]).timestamp() if waits else 0
        unsaved = state["checkpoint_error"] is not None
        counters = {
            "answered": ("Instances predicted.", pending["answered"]),
            "learnt": ("Training instances.", pending["learnt"]),
            "expired": ("Instances whose label arrived too late or never.", pending["expired"]),
            "unknown": ("Labels with an id for which no instance waits.", pending["unknown"]),
            "failed": ("Instances that are lost, or for which a model raised an error.", state["failed"]),
            "ignored": ("Predicted instances with a name that is not a feature.", state["ignored"]),
            "joules": (f"Energy ({bill['source']}).", bill["joules"]),
            "cpu_seconds": ("CPU time.", bill["cpu_seconds"]),
            "published": ("Updates of the model that predicts.", state["published"]),
            "checkpoints": ("Checkpoints written.", state["checkpoints"]),
        }
        gauges = {
            "waiting": ("Instances that wait for labels.", pending["waiting"]),
            "queued": ("Labelled instances in the training queue.", state["queued"]),
            "learning_waits_until": (
                "End of the delay of training, in seconds since 1970; 0 without delay.",
                until,
            ),
            "hour_joules": ("Energy used for training in the current hour.", hour.get("joules")),
            "hour_budget_joules": ("Energy budget for training in one hour.", hour.get("budget")),
            "training_share": ("Training cost divided by the cost of training every model.", bill["share"]),
            "memory_bytes": ("Resident memory.", state["memory"]),
            "fault": ("1 if the service can no longer train.", state["fault"] is not None),
            "checkpoint_failed": ("1 if the last checkpoint could not be written.", unsaved),
            "waitlist_failed": ("1 if labels cannot be stored on disk.", state["waitlist_error"] is not None),
            "publish_failed": ("1 if predictions are out of date.", state["publish_error"] is not None),
            "status_failed": ("1 if these metrics are out of date.", state["status_error"] is not None),
            "waiting_bytes": ("Bytes of the instances that wait for labels.", pending["bytes"]),
            "keys": ("Keys with a model.", keys.get("count")),
            "keys_in_memory": ("Models in memory.", keys.get("in_memory")),
        }
        changes = CounterMetricFamily("heros_changes", "Detected changes.", labels=["kind"])
        for kind, n in state["changes_total"].items():
            changes.add_metric([kind], n)
        yield changes
        if state["webhook"] is not None:
            events = CounterMetricFamily("heros_webhook_events", "Changes sent to a URL.", labels=["result"])
            for result, n in state["webhook"].items():
                events.add_metric([result], n)
            yield events
        if state["sets"] is not None:
            yield _measures("heros_set", "Coverage and mean size of prediction sets.", state["sets"])
        for name, (text, value) in counters.items():
            yield CounterMetricFamily(f"heros_{name}", text, value)
        for name, (text, value) in gauges.items():
            if value is not None:
                yield GaugeMetricFamily(f"heros_{name}", text, value)
        lately = "Measures over the last point of the curves."
        yield _measures("heros_measure", "Measures over all predictions with labels.", state["figures"])
        yield _measures("heros_measure_lately", lately, state["lately"])


def metrics(state: Mapping[str, Any], requests: Requests) -> bytes:
    """Return the text of /metrics for the state that the status page shows."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(state, requests))
    return generate_latest(registry)


def _measures(name: str, text: str, figures: Mapping[str, float | None]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["measure"])
    for measure, value in figures.items():
        if value is not None:
            family.add_metric([measure], value)
    return family
