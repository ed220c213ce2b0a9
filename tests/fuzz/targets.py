"""The fuzz targets: each is a function of bytes. A new target is one function with `@target`.

A target returns or raises a HerosError. Everything else is a finding: another exception, a crash, a hang, an
excessive allocation, or a result that fails an `assert` here.
"""

from __future__ import annotations

import copy
import io
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from family_cases import CLASSES
from fuzz.bytes_in import BytesIn
from heros import (
    DataNotice,
    Feature,
    Heros,
    HerosError,
    Schema,
    evaluate,
    measures,
    meters,
    policies,
    pools,
    scores,
    streams,
)
from heros._base.settings import Setting
from heros.data.check import Validator
from heros.run import records
from heros.streams.pipe import read_pipe

Target = Callable[[bytes], None]
TARGETS: dict[str, Target] = {}
SEEDS: dict[str, Callable[[], list[bytes]]] = {}

CORPUS = Path(__file__).parent / "corpus"
COLUMNS = [
    Feature("a"),
    Feature("b", ("x", "y", "z"), missing=True),
    Feature("c", missing=True),
    Feature("d", ("0", "1")),
]
SCHEMA = Schema(tuple(COLUMNS), ("no", "yes", "maybe"))
CODES = [0, 3, 0, 2]


def target(seeds: Callable[[], list[bytes]] | None = None) -> Callable[[Target], Target]:
    """Register a target, with the source of its cases."""

    def register(function: Target) -> Target:
        TARGETS[function.__name__] = function
        SEEDS[function.__name__] = seeds or _random_seeds
        return function

    return register


@cache
def seeds_of(name: str) -> tuple[bytes, ...]:
    """Return the seeds of a target: its own seeds and earlier findings."""
    found = sorted((CORPUS / name).glob("*")) if (CORPUS / name).is_dir() else []
    return (*SEEDS[name](), *(path.read_bytes() for path in found))


def run(name: str, data: bytes) -> bool:
    """Run one case; return whether it was rejected with a HerosError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNotice)  # notices on how a file is read are not errors
            TARGETS[name](data)
    except HerosError as error:
        text = str(error)
    else:
        return False
    assert len(text) < 5000, "an error text that nobody can read"
    return True


def _random_seeds() -> list[bytes]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, 220, size, dtype=np.uint8).tobytes() for size in (64, 256, 512, 1024)]


# -- files ----------------------------------------------------------------------------------------------


@cache
def _place() -> Path:
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="heros-fuzz-", dir=shared if shared.is_dir() else None))


def _file(name: str, data: bytes) -> Path:
    path = _place() / f"{os.getpid()}-{name}"
    path.write_bytes(data)
    return path


def _drain(stream: streams.Stream, size: int = 50) -> None:
    """Read a stream to its end: every block must fit the current schema."""
    for _ in range(200):
        X, y = stream.draw(size)
        if len(y) == 0:
            return
        schema = stream.schema
        assert X.dtype == np.float64
        assert X.shape == (len(y), schema.n_features)
        Validator(schema).instances(X)
        assert np.isfinite(y).all() if schema.numeric else ((y >= 0) & (y < schema.n_classes)).all()


def _csv_seeds() -> list[bytes]:
    return [
        b"age,colour,label\n18,red,no\n21,blue,yes\n?,red,no\n",
        b'a;b;c\n1;"x;y";p\n2;"q\n r";p\n3;;q\n',
        b"a\tb\tclass\n1e5\t-.5\tx\n 2 \t+3.25 \ty\n",
        b"a,b,label\r\n" + b"1,2,x\r\n" * 30,
        "größe,farbe,art\n1,grün,ä\n2,rot,ö\n".encode(),
    ]


@target(_csv_seeds)
def csv(data: bytes) -> None:
    """A CSV file; the last byte selects the reading options."""
    how = data[-1] if data else 0
    _drain(
        streams.read(
            _file("x.csv", data),
            on_bad_row="skip" if how & 1 else "raise",
            header=not how & 2,
            quote="" if how & 4 and how & 8 else '"',
            encoding="latin-1" if how & 16 and how & 32 else "utf-8",
            delimiter=(None, ",", ";", "\t")[how >> 6],
        )
    )


@target(_csv_seeds)
def pipe(data: bytes) -> None:
    """CSV data from a pipe."""
    how = data[-1] if data else 0
    _drain(read_pipe(io.BytesIO(data), on_bad_row="skip" if how & 1 else "raise"), 1 + how % 7)


@target(lambda: [__import__("gzip").compress(seed, mtime=0) for seed in _csv_seeds()])
def csv_gz(data: bytes) -> None:
    """A compressed CSV file."""
    _drain(streams.read(_file("x.csv.gz", data), on_bad_row="skip" if data[-1:] > b"\x7f" else "raise"))


def _arff_seeds() -> list[bytes]:
    return [
        b"@relation r\n@attribute a numeric\n@attribute 'b c' {x, y}\n@attribute class {no,yes}\n@data\n1,x,no\n?,y,yes\n",
        b"@attribute a real\n@attribute b string\n@attribute c {'p q',\"r\"}\n@data\n% note\n{0 1.5, 2 r}\n2,'it\\'s','p q'\n",
        b"@ATTRIBUTE a INTEGER\n@ATTRIBUTE b {1,2,3}\n@DATA\n" + b"5,3\n" * 20,
    ]


@target(_arff_seeds)
def arff(data: bytes) -> None:
    """An ARFF file."""
    _drain(streams.read(_file("x.arff", data), on_bad_row="skip" if data[-1:] > b"\x7f" else "raise"))


def _table(n: int = 12) -> pa.Table:
    return pa.table(
        {
            "a": pa.array([None if i == 3 else i / 2 for i in range(n)]),
            "b": pa.array([("x", "y", None)[i % 3] for i in range(n)]).dictionary_encode(),
            "c": pa.array([i % 2 == 0 for i in range(n)]),
            "d": pa.array([f"v{i % 4}" for i in range(n)]),
            "label": pa.array([i % 3 for i in range(n)], pa.int8()),
        }
    )


def _parquet_seeds() -> list[bytes]:
    seeds = []
    for compression, dictionary in (("none", True), ("snappy", False), ("zstd", True)):
        sink = io.BytesIO()
        pq.write_table(_table(), sink, compression=compression, use_dictionary=dictionary, row_group_size=7)
        seeds.append(sink.getvalue())
    return seeds


@target(_parquet_seeds)
def parquet(data: bytes) -> None:
    """A Parquet file."""
    _drain(streams.read(_file("x.parquet", data), on_bad_row="skip" if data[-9:-8] > b"\x7f" else "raise"))


def _arrow_seeds() -> list[bytes]:
    seeds = []
    for new in (pa.ipc.new_file, pa.ipc.new_stream):
        sink = io.BytesIO()
        with new(sink, _table().schema) as writer:
            writer.write_table(_table(), max_chunksize=5)
        seeds.append(sink.getvalue())
    return seeds


@target(_arrow_seeds)
def arrow(data: bytes) -> None:
    """An Arrow file or stream."""
    _drain(streams.read(_file("x.arrow", data)))


# -- streams from memory --------------------------------------------------------------------------------


@target()
def from_arrays(data: bytes) -> None:
    """A stream from arrays."""
    source = BytesIn(data)
    X = source.instances(4, CODES)
    try:
        n = len(X)
    except TypeError:
        n = 3
    labels: Any = source.labels(n if n < 10 else 3, 3)
    if source.maybe():
        labels = source.disguised(
            np.array(["a", "b", "1"])[np.asarray([source.below(3) for _ in range(min(n, 9))], int)]
        )
    schema = SCHEMA if source.byte() & 1 else None
    nominal: Any = [source.whole(4) for _ in range(source.below(3))] if schema is None else ()
    classes = source.one_of([None, ["a", "b"], ["no", "yes", "maybe"], [0, 1, 2], [1, 1], [], 3])
    _drain(streams.from_arrays(X, labels, schema=schema, nominal=nominal, classes=classes))


@target()
def from_frame(data: bytes) -> None:
    """A stream from a mapping of columns, or from an invalid object."""
    source = BytesIn(data)
    rows = source.below(5)
    cells = [source.number, lambda: source.one_of("abc"), lambda: source.below(3), lambda: None]
    frame: Any = {
        source.one_of("abcdef"): [source.anything() if source.maybe() else cells[kind]() for _ in range(rows)]
        for kind in (source.below(4) for _ in range(source.below(5)))
    }
    if source.maybe():
        frame = source.anything()
    target_column = source.whole(4) if source.maybe() else None
    options = (
        {"nominal": source.one_of([(), ["a"], ["q"], "a", {"a": ["a", "b"]}, {"a": None}, 3])}
        if source.maybe()
        else {}
    )
    skip = "skip" if source.byte() & 1 else "raise"
    _drain(streams.from_frame(frame, target=target_column, on_bad_row=skip, **options))


@target()
def from_iter(data: bytes) -> None:
    """A stream from pairs."""
    source = BytesIn(data)

    def value() -> Any:
        return (
            source.anything()
            if source.maybe()
            else source.one_of([source.number(), source.one_of("xyz"), True])
        )

    def pair() -> Any:
        if source.maybe():
            return source.anything()
        return {source.one_of("abcd"): value() for _ in range(source.below(4))}, source.one_of(
            ["no", "yes", 1, value()]
        )

    pairs = [pair() for _ in range(source.below(8))]
    schema = SCHEMA if source.maybe() else None
    skip = "skip" if source.byte() & 1 else "raise"
    stream = streams.from_iter(pairs, schema=schema, nominal=["a"] if source.maybe() else [], on_bad_row=skip)
    _drain(stream, 1 + source.below(4))


@target()
def generators(data: bytes) -> None:
    """Parameters of the synthetic streams, and `take`, `drift` and `restart`."""
    source = BytesIn(data)

    def stream(depth: int = 0) -> streams.Stream:
        kind = source.below(5 if depth < 3 else 3)
        if kind == 0:
            return streams.Agrawal(
                source.whole(10), source.whole(9), source.share(), source.one_of([True, False, 1])
            )
        if kind == 1:
            sizes = [source.whole(12) for _ in range(3)]
            return streams.RandomRBF(
                *sizes, source.whole(9), source.whole(9), source.whole(9), source.share()
            )
        if kind == 2:
            return streams.LED(source.whole(8), source.whole(9), source.whole(101))
        if kind == 3:
            return stream(depth + 1).take(source.whole(100))
        return streams.Drift(
            stream(depth + 1), stream(depth + 1), source.whole(99), source.whole(50), source.whole(9)
        )

    made = stream()
    X, y = made.draw(source.whole(20))
    assert np.isfinite(X).all()
    made.restart()
    again = made.draw(len(y))
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])


# -- models ---------------------------------------------------------------------------------------------


POOLS: dict[str, pools.Pool] = {**CLASSES}
POOLS["join"] = pools.Join(POOLS["mlp"], POOLS["trees"], POOLS["bayes"], costs=[1, 2, 1])
KINDS = list(POOLS)


@cache
def _learnt(kind: str) -> Heros:
    """Return a trained model; cases use copies of it."""
    model = Heros(
        POOLS[kind], policies.Explore(policies.Zeta(0.05), 0.2), k=1, seed=1, warmup=5, schema=SCHEMA
    )
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [rng.normal(size=300), rng.integers(0, 3, 300), rng.normal(size=300), rng.integers(0, 2, 300)]
    )
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] == 2)
    model.learn(X, y)
    return model


def _expect_probabilities(p: Any, classes: int) -> None:
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert p.shape[-1] == classes
    assert np.allclose(p.sum(axis=-1), 1, atol=1e-6)


def _exercise(model: Heros) -> None:
    """After input was accepted, training, prediction and inspection must work."""
    rows = np.array([[0.5, 1, np.nan, 1], [-3.0, np.nan, 2.0, 0], [1e300, 2, -1e300, 1]])
    classes = model.schema.n_classes if model.schema else 0
    if model.schema == SCHEMA:
        _expect_probabilities(model.test_then_train(rows, [0, 1, 2]).probabilities, classes)
        _expect_probabilities(model.predict_proba(rows), classes)
    assert np.isfinite(model.scores).all()
    copy.deepcopy(model)


@target()
def heros_arrays(data: bytes) -> None:
    """User input to `learn`, `predict_proba` and `test_then_train`."""
    source = BytesIn(data)
    model = copy.deepcopy(_learnt(source.one_of(KINDS)))
    for _ in range(1 + source.below(3)):
        X = source.instances(4, CODES)
        what = source.below(4)
        before = model.instances
        try:
            if what == 0:
                _expect_probabilities(model.predict_proba(X), 3)
            elif what == 1:
                model.predict(X)
            else:
                n = _length(X)
                (model.learn if what == 2 else model.test_then_train)(X, source.labels(n if n < 10 else 2, 3))
        except HerosError:
            assert model.instances == before, "an error after something was learnt"
    _exercise(model)


def _length(X: Any) -> int:
    try:
        return len(X)
    except TypeError:  # a number, i.e. an array without dimensions
        return 1


@target()
def growth(data: bytes) -> None:
    """Valid and invalid extensions of schemas."""
    source = BytesIn(data)
    model = copy.deepcopy(_learnt(source.one_of(KINDS)))
    for _ in range(1 + source.below(3)):
        features, classes = list(model.schema.features), list(model.schema.classes)
        for _ in range(source.below(4)):
            j = source.below(len(features))
            change = source.below(7)
            values = getattr(features[j], "values", None)
            if change == 0:
                features.append(Feature(f"n{len(features)}", None, bool(source.byte() & 1)))
            elif change == 1:
                features.append(Feature(f"n{len(features)}", tuple(map(str, range(source.below(5))))))
            elif change == 2 and values is not None:
                features[j] = Feature(features[j].name, (*values, f"v{len(values)}"), features[j].missing)
            elif change == 3:
                classes.append(f"c{len(classes)}")
            elif change == 4 and source.maybe():
                del features[j]
            elif change == 5 and source.maybe():
                features[j] = source.one_of(
                    [Feature("other"), Feature("a", ("q",)), Feature("b", ("y", "x")), None, "a"]
                )
            elif change == 6 and source.maybe():
                features[j] = Feature(source.anything(), source.anything(), source.anything())
        schema = source.anything() if source.maybe() else Schema(tuple(features), tuple(classes))
        try:
            model.bind(schema)
        except HerosError:
            continue
        row = [0.0 if f.values is None or f.values else np.nan for f in model.schema.features]
        if not any(np.isnan(v) and not f.missing for v, f in zip(row, model.schema.features, strict=True)):
            _expect_probabilities(model.predict_proba(row), model.schema.n_classes)
            model.learn(row, source.below(model.schema.n_classes))
    _exercise(model)


def _setting(source: BytesIn, setting: Setting) -> Any:
    """Return a value for a model setting, small enough for a fast case."""
    if setting.rule.choices:
        strange = ["x", None, 3, [], np.array([*setting.rule.choices, "x"])]
        return source.one_of([*setting.rule.choices, *(strange if source.maybe() else [])])
    if setting.rule.none and source.byte() & 3 == 0:
        return None
    if isinstance(setting.default, bool):
        return source.one_of([True, False])
    if isinstance(setting.default, int):
        return source.whole(source.one_of([3000, 900_000]) if setting.name == "max_bytes" else 50)
    return source.one_of([source.share, source.number])()


@target()
def pools_and_settings(data: bytes) -> None:
    """Parameters of pools, scores and Heros."""
    source = BytesIn(data)
    costs: Any = (
        source.one_of(["x", None, [1.0], [1, 2], [0, 0], [np.nan, 1], ["a", "b"], [[1], [2]]])
        if source.maybe()
        else None
    )
    make = source.one_of([pool.family for pool in CLASSES.values()])
    settings = {setting.name: setting for setting in make.settings}
    configurations: Any = [
        {name: _setting(source, one) for name, one in settings.items() if source.byte() & 3 == 0}
        | ({"nonsense": source.anything()} if source.maybe() else {})
        for _ in range(source.below(3) + 1)
    ]
    if source.maybe():
        configurations = source.anything()
    pool = make(configurations) if costs is None else make(configurations, costs=costs)
    kinds = (scores.Adwin, scores.Cumulative, scores.Window, scores.Fading)
    kind = source.one_of(kinds)
    score = (
        kind(source.whole(30))
        if kind is scores.Window
        else kind()
        if kind is scores.Cumulative
        else kind(source.share())
    )
    model = Heros(
        pool,
        k=source.whole(3) if source.maybe() else None,
        score=score,
        answer=source.one_of(["best", "average", "weighted", "x", None, []]),
        warmup=source.whole(30),
        seed=source.whole(9),
        schema=SCHEMA,
    )
    _exercise(model)


@target()
def choices(data: bytes) -> None:
    """Policies with hostile parameters, scores, costs and k."""
    source = BytesIn(data)

    def policy(depth: int = 0) -> Any:
        kind = source.below(12)
        simple = [
            policies.Random,
            policies.PerformBest,
            policies.PerformWorst,
            policies.Cheapest,
            policies.Expensive,
        ]
        simple += [policies.Cand, policies.CandAsPublished, policies.Everything]
        if kind < 8:
            return simple[kind]()
        if kind < 11:
            return (policies.Zeta, policies.Reward, policies.Budget)[kind - 8](source.share())
        return policies.Explore(
            source.anything() if source.maybe() or depth > 3 else policy(depth + 1), source.share()
        )

    made = policy()
    m = source.below(80)
    values: list[Any] = [source.disguised(np.array([source.number() for _ in range(m)])) for _ in range(2)]
    if not source.maybe():
        values = [np.nan_to_num(np.abs(np.array([source.number() for _ in range(m)]))) for _ in range(2)]
    rng: Any = source.anything() if source.maybe() else np.random.default_rng(source.byte())
    k = source.whole(m + 1)
    mask = made.choose(values[0], values[1], k, rng)
    assert mask.shape == np.shape(values[0])
    assert mask.dtype == np.bool_
    assert mask.sum() <= k or "Everything" in str(made)


@target()
def measured(data: bytes) -> None:
    """Measures and the parameters of meters."""
    source = BytesIn(data)
    n, classes = source.below(6), 1 + source.below(4)
    p: Any = np.array(
        [source.number() if source.maybe() else source.byte() / 255 for _ in range(n * classes)]
    )
    p = source.disguised(p.reshape(n, classes))
    y = source.labels(n, classes)
    what = source.below(7)
    if what == 0:
        area = measures.auroc(y, p)
        assert np.isnan(area) or 0 <= area <= 1
    elif what == 1:
        area = measures.auroc_per_class(y, p)
        assert np.all(np.isnan(area) | ((area >= 0) & (area <= 1)))
    elif what == 2:
        assert measures.log_loss(y, p) >= 0 or n == 0
    elif what == 3:
        confusion = measures.Confusion()
        for _ in range(2):
            confusion.update(y, source.labels(n, classes), source.whole(5))
        assert confusion.counts.sum() >= 0
        assert np.isnan(confusion.kappa) or confusion.kappa <= 1
    elif what == 4:
        running = measures.RunningAuroc()
        for _ in range(2):
            running.update(y, p)
        assert np.isnan(running.value) or 0 <= running.value <= 1
    elif what == 5:
        meters.Cpu(
            source.real(),
            meters.Carbon.of(intensity=source.real(), country=source.one_of([None, "DEU", "x", 3])),
        )
    else:
        meters.Meter.of(source.one_of(["cpu", "x", None, [], np.array(["cpu", "x"])]), watts=source.real())


@target()
def running_scores(data: bytes) -> None:
    """Invalid outcomes."""
    source = BytesIn(data)
    kinds: Iterable[Any] = (
        scores.Adwin(),
        scores.Adwin(0.5, True),
        scores.Cumulative(),
        scores.Window(3),
        scores.Fading(),
    )
    kept = source.one_of(list(kinds)).bind(source.whole(4))
    for _ in range(source.below(60)):
        kept.update(
            np.array(
                [source.number() if source.maybe() else source.byte() / 255 for _ in range(len(kept.values))]
            )
        )
        assert np.isfinite(kept.values).all()


# -- loaders --------------------------------------------------------------------------------------------


def _damaged(state: dict[str, Any], source: BytesIn) -> dict[str, Any]:
    """Return a state with some arrays changed."""
    state = dict(state)
    for _ in range(1 + source.below(3) if state else 0):
        name = sorted(state)[source.below(len(state))]
        array = state[name]
        if isinstance(array, dict):
            state[name] = _damaged(array, source)
            continue
        if not isinstance(array, np.ndarray):
            state[name] = source.anything()
            continue
        if array.size > 1 << 24:  # a broadcast array that would not fit into memory
            continue
        array = np.atleast_1d(array).copy()  # an array that was changed before may have no dimension
        how = source.below(9)
        if how < 4 and array.size:
            hostile = (
                source.one_of(NUMBERS_OF.get(array.dtype.kind, (0,)))
                if source.byte() & 1
                else source.byte() - 128
            )
            with np.errstate(all="ignore"):
                array[source.below(min(array.size, 65536)) :][: 1 if how < 3 else None] = np.asarray(
                    hostile
                ).astype(array.dtype)
        elif how == 4:
            array = array[: source.below(max(1, array.size))]
        elif how == 5:
            array = np.concatenate([array, array[: 1 + source.below(8)]])
        elif how == 6:
            array = np.roll(array, 1 + source.below(8))
        elif how == 7:
            array = source.disguised(array)
        else:
            del state[name]
            if not state:
                return state
            continue
        state[name] = array
    return state


NUMBERS_OF: dict[str, tuple[Any, ...]] = {
    "f": (np.nan, np.inf, -np.inf, 1e300, -1.0, 5e-324, 1e15),
    "i": (-1, -2, 2**31 - 1, -(2**31), 2**62, 2**30, 1 << 24, -(2**63)),
    "u": (1, 2, 255),
    "b": (True, False),
}


def _restored(kind: str, data: bytes) -> None:
    source = BytesIn(data)
    model = copy.deepcopy(_learnt(kind))
    state = _damaged(model.bound.state(), source)
    (model.bound if source.byte() & 1 else model.bound.native).restore(state)
    _exercise(model)


for family in CLASSES:  # models from a damaged state
    TARGETS[f"restore_{family}"] = partial(_restored, family)
    SEEDS[f"restore_{family}"] = _random_seeds


@target()
def restore_join(data: bytes) -> None:
    """Joined pools from a damaged state."""
    source = BytesIn(data)
    model = copy.deepcopy(_learnt("join"))
    model.bound.restore(_damaged(model.bound.state(), source))
    _exercise(model)


@target()
def restore_ensemble(data: bytes) -> None:
    """Scores and counts from a damaged state."""
    source = BytesIn(data)
    model = copy.deepcopy(_learnt("mlp"))
    model._learner.step.restore(_damaged(model._learner.step.state(), source))
    _exercise(model)


@cache
def _paced() -> Heros:
    """Return a model with all optional policy features: an account, a budget, and bursts of evaluation."""
    policy = policies.Explore(policies.MLCB(0.3, 0.99), 0.1)
    settings: dict[str, Any] = {"watch": "trained", "burst": 50, "budget": "1 s", "seed": 1, "schema": SCHEMA}
    model = Heros(POOLS["mlp"], policy, k=1, **settings)
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [rng.normal(size=598), rng.integers(0, 3, 598), rng.normal(size=598), rng.integers(0, 2, 598)]
    )
    return model.learn(X, np.where(np.arange(598) < 250, X[:, 0] > 0, rng.random(598) > 0.5).astype(int))


@target()
def restore_pace(data: bytes) -> None:
    """An account, a pace and a burst from a damaged state."""
    source = BytesIn(data)
    model = copy.deepcopy(_paced())
    assert model.schema is not None
    model.restore(model.schema, _damaged(model.state(), source))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a warning if a budget cannot be met
        for _ in range(3):
            _exercise(model)


@target()
def restore_heros(data: bytes) -> None:
    """A complete model from the damaged state of a pickle."""
    source = BytesIn(data)
    state = _learnt(source.one_of(KINDS)).__getstate__()  # pickle itself loads all other contents
    learnt = state["learnt"]
    state["learnt"] = learnt._replace(arrays=_damaged(learnt.arrays, source))
    model = Heros.__new__(Heros)
    model.__setstate__(state)
    if model.schema is not None:
        _exercise(model)


@target()
def restore_generators(data: bytes) -> None:
    """Synthetic streams from a damaged state."""
    source = BytesIn(data)
    kinds = [streams.Agrawal(2), streams.RandomRBF(3, 4, 5, speed=0.01), streams.LED(3)]
    stream = source.one_of(kinds)
    stream.draw(source.below(4))
    native = stream._generator
    other = type(native).__new__(type(native))
    other.__setstate__(_damaged(native.__getstate__(), source))
    stream._generator = other
    X, y = stream.draw(5)
    assert ((y >= 0) & (y < 1 << 30)).all()
    assert X.shape == (5, stream.schema.n_features)


@cache
def _record() -> dict[str, bytes]:
    model = Heros(pools.MLP([{"hidden": 4}, {"hidden": 5}]), k=1, seed=1)
    run_ = evaluate(model, streams.Agrawal(2).take(60), window=20, progress=False)
    place = records.save(run_, _place() / "seed", id="r", force=True)
    return {name: (place / name).read_bytes() for name in ("record.json", "curves.parquet")}


@target(lambda: [_record()["record.json"]])
def record_json(data: bytes) -> None:
    """A record with another `record.json`."""
    place = _place() / f"{os.getpid()}-json"
    place.mkdir(exist_ok=True)
    (place / "record.json").write_bytes(data)
    (place / "curves.parquet").write_bytes(_record()["curves.parquet"])
    records.load(place)
    records.read(place)


@target(lambda: [_record()["curves.parquet"]])
def record_curves(data: bytes) -> None:
    """A record with other curves."""
    place = _place() / f"{os.getpid()}-curves"
    place.mkdir(exist_ok=True)
    (place / "record.json").write_bytes(_record()["record.json"])
    (place / "curves.parquet").write_bytes(data)
    records.read(place)


@target(lambda: [json.dumps(json.loads(_record()["record.json"])).encode()])
def record_values(data: bytes) -> None:
    """A record with valid JSON and other values."""
    record_json(changed_record(data))


def changed_record(data: bytes, *more: object) -> bytes:
    """A `record.json` with other values in it."""
    source = BytesIn(data)
    document = json.loads(_record()["record.json"])
    for _ in range(1 + source.below(3)):
        node: Any = document
        while True:
            keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = keys[source.below(len(keys))]
            if isinstance(node[key], dict | list) and source.byte() & 7:
                node = node[key]
                continue
            node[key] = source.one_of([None, -1, 0, 1e308, "x", [], {}, True, 10**30, [[1]], [None], *more])
            break
    return json.dumps(document).encode()
