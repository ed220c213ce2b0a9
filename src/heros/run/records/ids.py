"""What a record is called."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from heros._base.registry import policy_id, pool_id, variant_id
from heros.ensemble import Heros
from heros.run.result import Run
from heros.streams.live import Source

__all__ = ["id_from", "id_of", "run_id"]

LONGEST = 200  # bytes of a stream's name


def run_id(run: Run) -> str:
    """Stream, pool, policy, k and seed: ``agr_a/mlp50/zeta_0.05_0.2/k30/seed1``.

    Who looks and who answers are named beside k where they are not the paper's:
    ``agr_a/mlp50/cand/k10-watch_8-top_5_60/seed1``.
    """
    return id_from(run.stream, run.settings)


def id_from(stream: str, settings: Mapping[str, Any]) -> str:
    """The `run_id` of runs on a stream of this name with these settings.

    Examples
    --------
    >>> id_from("agr_a", {"pool": "mlp50", "policy": "cand", "k": 30, "seed": 1})
    'agr_a/mlp50/cand/k30/seed1'
    """
    pool, policy, k, seed = (settings[name] for name in ("pool", "policy", "k", "seed"))
    watch, answer = settings.get("watch", "all"), settings.get("answer", "best")
    variant = variant_id(watch, answer, settings.get("burst", 0))
    return _id(stream, pool, policy, k, seed, variant)


def id_of(model: Heros, stream: Source) -> str:
    """The `run_id` that a run of this model on this stream will have.

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> from heros.run import records
    >>> records.id_of(Heros(pools.Paper(), k=30, seed=1), streams.load("agr_a"))
    'agr_a/mlp50/zeta_0.05_0.2/k30/seed1'
    """
    variant = variant_id(model.watch, model.answer, model.burst)
    return _id(stream.name, pool_id(model.pool), policy_id(model.policy), model.k, model.seed, variant)


def _id(stream: str, pool: str, policy: str, k: int, seed: int | None, variant: str) -> str:
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in stream).lstrip(".") or "stream"
    if len(name.encode()) > LONGEST:  # than a directory may be called
        name = f"{name[: LONGEST // 4]}-{hashlib.sha256(stream.encode(errors='replace')).hexdigest()[:12]}"
    return f"{name}/{pool}/{policy}/k{k}{variant}/seed{seed}"
