"""Random tables through all interfaces: the same numbers in every row, and the same schema."""

from __future__ import annotations

import io
import warnings
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data_cases import Case, arrow_of, pandas_of
from heros import Schema
from heros.data import Encoder
from heros.streams.pipe import read_pipe

TABLES = settings(
    max_examples=settings().max_examples + 10, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)

NAMES = st.text("abcdef", min_size=1, max_size=2)
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2035, 1, 1)).map(
    lambda when: when.replace(microsecond=0)
)


def _number(number: float) -> tuple[Any, str]:
    return number, repr(number)


def _euro(cents: int) -> tuple[Any, str]:
    whole, rest = divmod(cents, 100)
    return Decimal(cents) / 100, f"€{whole:,}.{rest:02}"


def _percent(tenths: int) -> tuple[Any, str]:
    return tenths / 10, f"{tenths / 10} %"


def _moment(when: datetime) -> tuple[Any, str]:
    return when, when.strftime("%d.%m.%Y %H:%M:%S")


def _midnight(when: datetime) -> tuple[Any, str]:
    return _moment(when.replace(hour=0, minute=0, second=0))


KINDS: dict[str, st.SearchStrategy[tuple[Any, str]]] = {
    "number": st.floats(-1e9, 1e9).map(_number),
    "whole": st.integers(-1000, 1000).map(lambda n: (n, str(n))),
    "euro": st.integers(0, 10**8).map(_euro),
    "percent": st.integers(0, 1000).map(_percent),
    "moment": MOMENTS.map(_moment),
    "clock at times": st.one_of(MOMENTS.map(_midnight), MOMENTS.map(_moment)),
    "day": MOMENTS.map(lambda when: (when.date(), when.strftime("%Y-%m-%d"))),
    "flag": st.booleans().map(lambda yes: (yes, "TRUE" if yes else "false")),
    "name": NAMES.map(lambda name: (name, f" {name} ")),
    "lag": st.integers(0, 10**6).map(lambda n: (timedelta(milliseconds=n), repr(n / 1000))),
}
GAPS = st.sampled_from([(None, ""), (float("nan"), "n/a"), (None, "NA"), (np.datetime64("NaT"), "-")])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Generate rows whose columns have a kind, missing values and a first row with a value."""
    n = draw(st.integers(2, 30))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5))
    typed: list[dict[str, Any]] = [{} for _ in range(n)]
    text: list[dict[str, Any]] = [{} for _ in range(n)]
    for at, kind in enumerate(kinds):
        name = f"{'abcde'[at]} {kind}"
        first = draw(st.integers(0, n - 1)) if at else 0
        cells = draw(st.lists(st.one_of(KINDS[kind], KINDS[kind], KINDS[kind], GAPS), min_size=n, max_size=n))
        cells[first] = draw(KINDS[kind])
        for row in range(first, n):
            typed[row][name], text[row][name] = cells[row]
    labels = draw(st.lists(st.sampled_from(["no", "yes", "maybe"]), min_size=n, max_size=n))
    return Case(typed, text, labels)


def learnt(encoder: Encoder, x: Any, y: Any) -> list[tuple[list[float], float]]:
    """Return the encoder's output for rows, one after the other."""
    return [
        (row, target)
        for batch in encoder.learn(x, y)
        for row, target in zip(batch.X.tolist(), batch.y.tolist(), strict=True)
    ]


def one_by_one(encoder: Encoder, rows: Any, labels: Any) -> list[tuple[list[float], float]]:
    return [pair for row, label in zip(rows, labels, strict=True) for pair in learnt(encoder, row, label)]


def same(one: Any, two: Any) -> bool:
    """Return whether two arrays are equal, where NaN equals NaN."""
    return repr(one) == repr(two)


def shape(schema: Schema) -> Any:
    return [(f.name, f.values, f.missing) for f in schema.features], schema.classes


@TABLES
@given(cases())
def test_rows_mean_the_same_as_typed_values_as_text_and_in_lists(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed, text, many = Encoder(), Encoder(), Encoder()
        expected = one_by_one(typed, case.typed, case.labels)
        assert same(one_by_one(text, case.text, case.labels), expected)
        assert same(learnt(many, case.text, case.labels), expected)
        assert shape(typed.schema) == shape(text.schema) == shape(many.schema)
        again = Encoder(text.schema, seen=text.seen)  # as in a saved model
        assert same(again.read(case.text).tolist(), typed.read(case.typed).tolist())


@TABLES
@given(cases(), st.integers(1, 29))
def test_frames_grow_a_known_schema_as_rows_do(case, cut):
    cut = min(cut, len(case.labels) - 1)
    first, rest = case.part(0, cut), case.part(cut, len(case.labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, typed, frame = Encoder(), Encoder(), Encoder()
        for encoder in (rows, typed, frame):
            learnt(encoder, first.text, first.labels)
        expected = one_by_one(rows, rest.typed, rest.labels)
        assert same(learnt(typed, arrow_of(rest.typed), rest.labels), expected)
        assert same(learnt(frame, pa.Table.from_pandas(pandas_of(rest.text)), rest.labels), expected)
        assert shape(typed.schema) == shape(rows.schema) == shape(frame.schema)


@TABLES
@given(cases())
def test_files_and_frames_begin_alike(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame, arrow = Encoder(), Encoder()
        expected = learnt(frame, pa.Table.from_pandas(pandas_of(case.text)), case.labels)
        assert same(learnt(arrow, arrow_of(case.typed), case.labels), expected)
        assert shape(frame.schema) == shape(arrow.schema)
        stream = read_pipe(io.BytesIO(_csv(case)), target="target", most_values=256)
        X, y = stream.draw(len(case.labels))
        assert same(list(zip(X.tolist(), y.astype(float).tolist(), strict=True)), expected)
        assert shape(stream.schema) == shape(frame.schema)


def _csv(case: Case) -> bytes:
    lines = [[*case.names, "target"]]
    lines += [
        [*(row.get(name, "") for name in case.names), y]
        for row, y in zip(case.text, case.labels, strict=True)
    ]
    return "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines).encode()
