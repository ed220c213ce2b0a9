"""Slow, simple versions of the detectors in native/drift."""

from __future__ import annotations

import math
import random

import numpy as np

import reference


def adwin(values, delta=0.002, clock=32, max_buckets=5, min_window_length=5, grace_period=10):
    """Return where ADWIN detects a change."""
    settings = {"clock": clock, "buckets": max_buckets, "minimum": min_window_length, "grace": grace_period}
    window = reference.Adwin(delta, True, **settings)
    found = []
    for i, value in enumerate(values):
        window.update(float(value))
        if window.changed:
            found.append(i)
    return found


def page_hinkley(values, min_instances=30, delta=0.005, threshold=50.0, alpha=1 - 0.0001, mode="both"):
    """Return where Page and Hinkley's test detects a change; sums are recomputed from the numbers since the last change."""
    found, since = [], []
    for i, value in enumerate(values):
        since.append(float(value))
        if len(since) < min_instances:
            continue
        means = np.cumsum(since) / np.arange(1, len(since) + 1)
        up = down = 0.0
        ups, downs = [], []
        for x, mean in zip(since, means, strict=True):
            up, down = alpha * up + (x - mean) - delta, alpha * down + (x - mean) + delta
            ups.append(up)
            downs.append(down)
        rose, fell = ups[-1] - min(ups) > threshold, max(downs) - downs[-1] > threshold
        if (rose and mode != "down") or (fell and mode != "up"):
            found.append(i)
            since = []
    return found


def kswin(values, alpha=0.005, window_size=100, stat_size=30, seed=None):
    """Return where KSWIN detects a change; its test counts the ways to mix two samples."""
    found, window, rng = [], [], random.Random(seed)
    for i, value in enumerate(values):
        window = [*window, float(value)][-window_size:]
        if len(window) < window_size:
            continue
        older = [window[at] for at in rng.sample(range(window_size - stat_size), stat_size)]
        newer = window[-stat_size:]
        steps = (abs(sum(x <= at for x in older) - sum(x <= at for x in newer)) for at in older + newer)
        apart = max(steps)
        if apart / stat_size > 0.1 and ks_chance(stat_size, apart) <= alpha:
            found.append(i)
            window, rng = [], random.Random(seed)
    return found


def ks_chance(n, h):
    """Return the share of paths from (0, 0) to (n, n) that are at least h off the diagonal somewhere."""
    within = {(0, 0): 1}
    for i in range(n + 1):
        for j in range(n + 1):
            if (i, j) != (0, 0):
                ways = within.get((i - 1, j), 0) + within.get((i, j - 1), 0)
                within[i, j] = ways if abs(i - j) < h else 0
    return 1 - within[n, n] / math.comb(2 * n, n)
