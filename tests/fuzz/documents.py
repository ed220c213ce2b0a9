"""Fuzz documents that users write or edit: records, reports, packed records, pool files, text specifications."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

import numpy as np

from fuzz.bytes_in import BytesIn
from fuzz.loaders import _signed
from fuzz.targets import (
    KINDS,
    POOLS,
    SCHEMA,
    _exercise,
    _file,
    _learnt,
    _place,
    _record,
    changed_record,
    target,
)
from heros import Heros, HerosError, Top, policies
from heros._base.registry import answer_of, policy_of, pool_of
from heros.cli.parsing import watch_of
from heros.ensemble.late import LateLabels
from heros.run import records
from heros.run.records import pack
from heros.run.report import write_report

MOST_MODELS = 500


def _placed(name: str, document: bytes, curves: bytes) -> Path:
    place = _place() / f"{os.getpid()}-{name}"
    place.mkdir(exist_ok=True)
    (place / "record.json").write_bytes(document)
    (place / "curves.parquet").write_bytes(curves)
    return place


@target(lambda: [_record()["record.json"]])
def report(data: bytes) -> None:
    """A report on a record with other values, or with markup in its texts."""
    document = changed_record(data, '"><script>alert(1)</script>', "\\ud800", "\x00")
    place = _placed("report", document, _record()["curves.parquet"])
    page = place / "report.html"
    page.unlink(missing_ok=True)
    write_report(place, page)
    assert b"<script" not in page.read_bytes()


@target(lambda: [_record()["record.json"]])
def report_json(data: bytes) -> None:
    """A report on a record with other bytes."""
    place = _placed("bytes", data, _record()["curves.parquet"])
    write_report(place, place / "report.html")


@target(lambda: [_record()["curves.parquet"]])
def report_curves(data: bytes) -> None:
    """A report on a record with other curves."""
    place = _placed("curves", _record()["record.json"], data)
    write_report(place, place / "report.html")


@cache
def _packed() -> bytes:
    place = _place() / "packed"
    for name in ("a", "b"):
        (place / name).mkdir(parents=True)
        for file, content in _record().items():
            (place / name / file).write_bytes(content)
    pack(place)
    return (place / "records.parquet").read_bytes()


@target(lambda: [_packed()])
def packed_records(data: bytes) -> None:
    """A file of packed records."""
    place = _place() / f"{os.getpid()}-packed"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "records.parquet").write_bytes(data)
    for record in records.find(place):
        records.read(record)
    records.load(place)


def _pool_files() -> list[bytes]:
    return [
        b'kind = "mlp"\ncosts = "hidden"\n[grid]\nhidden = [4, 8]\nlearning_rates = [0.05, 0.005]\n',
        b'kind = "trees"\n[[models]]\nmax_bytes = 65536\n[[models]]\ngrace_period = 50\n',
        b'kind = "linear"\n[[models]]\nlearning_rate = 0.1\n',
        b'kind = "neighbours"\n[[models]]\nwindow = 30\nneighbours = 3\n',
        b'kind = "bayes"\n[[models]]\nfading = 0.99\n',
        b'kind = "forest"\n[[models]]\ntrees = 2\n',
        b'kind = "join"\ncosts = [1, 2]\n[[pools]]\nkind = "mlp"\n[pools.grid]\nhidden = [4]\n'
        b'[[pools]]\nkind = "trees"\n[[pools.models]]\nmax_bytes = 65536\n',
    ]


@target(_pool_files)
def pool_file(data: bytes) -> None:
    """A pool described in TOML."""
    pool = pool_of(str(_file("pool.toml", data)))
    assert pool.n_models >= 1
    if pool.n_models < MOST_MODELS and all(_is_small(one) for one in pool.configurations):
        _exercise(Heros(pool, k=1, seed=1, schema=SCHEMA))


def _is_small(configuration: object) -> bool:
    assert hasattr(configuration, "values")
    numbers = [value for value in configuration.values() if isinstance(value, int | float)]
    return all(abs(value) < 1 << 24 for value in numbers)


WORDS = (
    *(b"zeta:0.05@0.2", b"cand", b"random@1", b"cheapest", b"budget:0.5", b"everything", b"reward:3"),
    *(b"best", b"average", b"weighted", b"top:5:60", b"top:1", b"all", b"trained", b"8", b"0", b"-1"),
)


@target(lambda: list(WORDS))
def words(data: bytes) -> None:
    """Policies, `answer` and `watch` in command-line notation."""
    text = data.decode("utf-8", "surrogateescape")
    refused = 0
    for setting, reads in (("policy", policy_of), ("answer", answer_of), ("watch", watch_of)):
        try:
            _exercise(Heros(POOLS["bayes"], k=1, seed=1, schema=SCHEMA, **{setting: reads(text)}))
        except HerosError as error:
            refused += 1
            last = error
    if refused == 3:
        raise last


@target()
def who_looks_and_answers(data: bytes) -> None:
    """All settings of `watch` and `answer` with all families, over a few steps and a copy."""
    source = BytesIn(data)
    kind = source.one_of(KINDS)
    answer = source.one_of(
        ["best", "average", "weighted", Top(1 + source.below(3)), Top(2, 60.0), source.anything()]
    )
    watch = source.one_of(["all", "trained", 1 + source.below(9), source.whole(20), source.anything()])
    policy = source.one_of(
        [
            policies.Explore(policies.Zeta(0.05), 0.2),
            policies.Random(),
            policies.Cheapest(),
            policies.Zeta(0.5),
        ]
    )
    k = source.whole(POOLS[kind].n_models)
    model = Heros(
        POOLS[kind], policy, k, seed=1, answer=answer, watch=watch, warmup=source.below(4), schema=SCHEMA
    )
    for _ in range(1 + source.below(4)):
        _exercise(model)
    assert (model.evaluated <= model.instances).all()
    assert (model.trained <= model.evaluated).all()
    assert int(np.max(model.evaluated)) > 0


@cache
def _late() -> bytes:
    late = LateLabels(_learnt("bayes"), most=5)
    for i in range(4):
        late.answer(i, [0.5 * i, 1, 0.0, 1])
    path = _place() / "late.heros"
    late.save(path)
    return path.read_bytes()


@target(lambda: [_late()])
def late_labels(data: bytes) -> None:
    """A file of predictions that wait for their labels, with a valid checksum."""
    late = LateLabels.load(_file("late.heros", _signed(data)))
    late.answer("new", [0.5, 1, 0.0, 1])
    late.learn("new", 1)
