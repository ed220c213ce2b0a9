"""Numeric targets: models that learn them, and realistic files."""

from __future__ import annotations

import copy
import io
from functools import cache

import numpy as np

from family_cases import NUMBERS
from fuzz.bytes_in import BytesIn
from fuzz.targets import COLUMNS, _damaged, _drain, _file, target
from heros import Heros, Schema, policies, pools, streams
from heros.streams.pipe import read_pipe

SCHEMA = Schema(tuple(COLUMNS), (), numeric=True)
POOLS: dict[str, pools.Pool] = {**NUMBERS}
POOLS["join"] = pools.Join(*POOLS.values(), costs=[1] * len(POOLS))


@cache
def _learnt(kind: str) -> Heros:
    """Return a trained model; cases use copies of it."""
    model = Heros(
        POOLS[kind],
        policies.Explore(policies.Zeta(0.05), 0.2),
        k=1,
        seed=1,
        warmup=5,
        task="regression",
        schema=SCHEMA,
    )
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [rng.normal(size=300), rng.integers(0, 3, 300), rng.normal(size=300), rng.integers(0, 2, 300)]
    )
    return model.learn(X, 3 * X[:, 0] + X[:, 1] + 100)


def _exercise(model: Heros) -> None:
    """After input was accepted, training, prediction and inspection must work."""
    rows = np.array([[0.5, 1, np.nan, 1], [-3.0, np.nan, 2.0, 0], [1e300, 2, -1e300, 1]])
    model.test_then_train(rows, [1.5, -1e12, 1e-12])
    assert np.isfinite(model.predict(rows)).all()
    assert np.isfinite(model.scores).all()
    copy.deepcopy(model)


@target()
def restore_numbers(data: bytes) -> None:
    """Regression models restored from a damaged state."""
    source = BytesIn(data)
    kind = source.one_of(list(POOLS))
    model = copy.deepcopy(_learnt(kind))
    state = _damaged(model.bound.state(), source)
    (model.bound if kind == "join" or source.byte() & 1 else model.bound.native).restore(state)
    _exercise(model)


@target()
def numbers(data: bytes) -> None:
    """Targets of all sizes, and invalid targets."""
    source = BytesIn(data)
    model = copy.deepcopy(_learnt(source.one_of(list(POOLS))))
    n = 1 + source.below(6)
    X = np.array([[source.number() if column in {0, 2} else 0.0 for column in range(4)] for _ in range(n)])
    model.learn(X, [source.number() for _ in range(n)])
    _exercise(model)


def _as_people_have_them() -> list[bytes]:
    return [
        b"First Name,when,paid,Is Late\nAnn,2024-05-01 10:00,$1.50,yes\nBob,2024-05-02 11:30,N/A,no\n",
        "id;datum;preis;art\n1;01.02.2024;1.234,5 €;a\n2;13.02.2024;-;b\n3;;12,5 €;a\n".encode(),
        b"a,b,price\n" + b"".join(b"%d,%d%%,%d.%d\n" % (i, i % 7, i * 31 % 97, i % 10) for i in range(60)),
    ]


@target(_as_people_have_them)
def forms(data: bytes) -> None:
    """Files with dates, number formats and words for missing values."""
    how = data[-1] if data else 0
    path = _file("x.csv", data)
    streams.look(path)
    _drain(
        streams.read(
            path,
            on_bad_row="skip" if how & 1 else "raise",
            task=(None, "regression", "classification")[how // 2 % 3],
            most_values=(1, 4, 256)[how // 8 % 3],
        )
    )


def _json_lines() -> list[bytes]:
    return [
        b'{"a": 1, "b": {"c": "x"}, "y": "no"}\n{"a": null, "b": {"c": "y"}, "y": "yes"}\n',
        b'{"a": 1.5, "when": "2024-01-01", "y": 2.5}\n{"a": [1], "y": 3}\n{"new": true, "y": 1e400}\n',
        b'{"a": "\\ud800", "y": "x"}\n' * 5,
    ]


@target(_json_lines)
def json_lines(data: bytes) -> None:
    """JSON lines from a file and from a pipe."""
    how = data[-1] if data else 0
    bad = "skip" if how & 1 else "raise"
    _drain(streams.read(_file("x.jsonl", data), target="y", on_bad_row=bad))
    _drain(read_pipe(io.BytesIO(data), target="y", on_bad_row=bad), 1 + how % 7)
