"""Every interface reads one table with the same features, the same schema and identical codes."""

from __future__ import annotations

import copy
import json
from datetime import timedelta
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest

from data_cases import Case, arrow_of, csv_of, json_of, model, orders, pandas_of, parquet_of
from heros import Heros, evaluate, streams
from heros.data.values import is_missing, number_of
from heros.ensemble.keyed import Keyed
from heros.ensemble.late import LateLabels
from heros.serve.learners import OneModel
from heros.serve.service import Service
from heros.streams.live import END, RowSource
from serve.serving import served

pytestmark = pytest.mark.filterwarnings("ignore::heros.DataNotice")

CASE = orders(160)
FIRST, REST = CASE.part(0, 60), CASE.part(60, 160)
ASKED = CASE.part(40, 120)


# -- interfaces: a model and a case to learn -------------------------------------------------------------------


def one_by_one(learner: Heros, case: Case, _) -> Heros:
    for row, y in zip(case.typed, case.labels, strict=True):
        learner.learn(row, y)
    return learner


def one_by_one_as_text(learner: Heros, case: Case, _) -> Heros:
    for row, y in zip(case.text, case.labels, strict=True):
        learner.learn(row, y)
    return learner


def list_of_rows(learner: Heros, case: Case, _) -> Heros:
    return learner.learn(case.typed, case.labels)


def pairs(learner: Heros, case: Case, _) -> Heros:
    evaluate(learner, streams.from_iter(list(zip(case.text, case.labels, strict=True))))
    return learner


def csv_file(learner: Heros, case: Case, directory) -> Heros:
    evaluate(learner, streams.read(csv_of(case, directory / "orders.csv"), target="target"))
    return learner


def json_file(learner: Heros, case: Case, directory) -> Heros:
    evaluate(learner, streams.read(json_of(case, directory / "orders.jsonl"), target="target"))
    return learner


def parquet_file(learner: Heros, case: Case, directory) -> Heros:
    evaluate(learner, streams.read(parquet_of(case, directory / "orders.parquet"), target="target"))
    return learner


def frame_stream(learner: Heros, case: Case, _) -> Heros:
    frame = pandas_of(case.typed).assign(target=case.labels)
    evaluate(learner, streams.from_frame(frame, target="target"))
    return learner


def pandas_text(learner: Heros, case: Case, _) -> Heros:
    return learner.learn(pandas_of(case.text), case.labels)


def pandas_typed(learner: Heros, case: Case, _) -> Heros:
    return learner.learn(pandas_of(case.typed), case.labels)


def polars_text(learner: Heros, case: Case, _) -> Heros:
    return learner.learn(pl.from_pandas(pandas_of(case.text)), case.labels)


def arrow_typed(learner: Heros, case: Case, _) -> Heros:
    return learner.learn(arrow_of(case.typed), case.labels)


class Queue(RowSource):
    """Return a queue source that delivers a few messages at a time."""

    def __init__(self, rows):
        super().__init__("queue", target="target")
        self.rows = [(row, {"offset": at + 1}) for at, row in enumerate(rows)]

    def fetch(self, most, timeout):
        got, self.rows = self.rows[: min(most, 7)], self.rows[min(most, 7) :]
        return got or END

    def go_to(self, position):
        raise NotImplementedError


def queue(learner: Heros, case: Case, _) -> Heros:
    rows = [{**row, "target": y} for row, y in zip(case.text, case.labels, strict=True)]
    evaluate(learner, Queue(rows))
    return learner


def keyed(learner: Heros, case: Case, directory) -> Heros:
    with Keyed(learner, directory=directory / "keys") as models:
        for row, y in zip(case.typed, case.labels, strict=True):
            models.learn("all", row, y)
        return models["all"]


def late_labels(learner: Heros, case: Case, directory) -> Heros:
    late = LateLabels(learner)
    for at, row in enumerate(case.typed):
        late.answer(at, row)
    late.save(directory / "late.heros")
    late = LateLabels.load(directory / "late.heros")
    for at, y in enumerate(case.labels):
        assert late.learn(at, y)
    return late.model


def service(learner: Heros, case: Case, directory) -> Heros:
    """Send rows over HTTP, alternating between text and native JSON values."""
    learner = OneModel(learner)
    with Service(learner) as running, served(running) as client:
        for at, y in enumerate(case.labels):
            x = case.text[at] if at % 2 else json.loads(json.dumps(_for_json(case.typed[at]), default=str))
            assert client.post("/learn", json={"x": x, "y": y}).status_code == 202
        running.wait()
        answers = [client.post("/predict", json={"x": x}).json()["probabilities"] for x in ASKED.text]
        assert [[*p.values()] for p in answers] == told(learner.model, ASKED)
    return learner.model


def _for_json(row):
    """Return a row with numbers for Decimals and durations, and null for missing values."""
    plain = {}
    for name, value in row.items():
        missing = is_missing(value)
        number = isinstance(value, Decimal | timedelta)
        plain[name] = None if missing else number_of(name, value) if number else value
    return plain


ROWS = [one_by_one, one_by_one_as_text, list_of_rows, pairs, queue, service]
TABLES = [pandas_text, pandas_typed, polars_text, arrow_typed]
OTHERS = [keyed, late_labels]
STREAMS = [csv_file, json_file, parquet_file, frame_stream]


def schema_of(learner: Heros):
    schema = learner.schema
    return [(f.name, f.values, f.missing) for f in schema.features], schema.classes


def told(learner: Heros, case: Case) -> list[list[float]]:
    return [[*p.values()] for p in learner.predict_proba(case.text)]


@pytest.mark.parametrize("enter", [*ROWS, *TABLES, *STREAMS, *OTHERS], ids=lambda f: f.__name__)
def test_a_model_that_knows_its_table_learns_the_same_through_every_entrance(enter, tmp_path):
    start = model().learn(pandas_of(FIRST.text), FIRST.labels)
    expected = one_by_one(copy.deepcopy(start), REST, tmp_path)
    found = enter(copy.deepcopy(start), REST, tmp_path)
    assert schema_of(found) == schema_of(expected)
    assert told(found, ASKED) == told(expected, ASKED)
    found.save(tmp_path / "model.heros")
    again = Heros.load(tmp_path / "model.heros")
    assert told(again, ASKED) == told(expected, ASKED)


@pytest.mark.parametrize("enter", ROWS, ids=lambda f: f.__name__)
def test_rows_learn_the_same_from_nothing(enter, tmp_path):
    expected, found = one_by_one(model(), CASE, tmp_path), enter(model(), CASE, tmp_path)
    assert schema_of(found) == schema_of(expected)
    assert told(found, ASKED) == told(expected, ASKED)


@pytest.mark.parametrize("enter", TABLES, ids=lambda f: f.__name__)
def test_tables_learn_the_same_from_nothing(enter, tmp_path):
    expected, found = pandas_text(model(), CASE, tmp_path), enter(model(), CASE, tmp_path)
    assert schema_of(found) == schema_of(expected)
    assert told(found, ASKED) == told(expected, ASKED)


@pytest.mark.parametrize("write", [csv_of, json_of, parquet_of], ids=lambda f: f.__name__)
def test_files_learn_what_a_frame_does(write, tmp_path):
    expected = pandas_text(model(), CASE, tmp_path)
    found = model()
    evaluate(
        found,
        streams.read(
            write(CASE, tmp_path / f"orders.{write.__name__[:-3].replace('json', 'jsonl')}"), target="target"
        ),
    )
    assert schema_of(found) == schema_of(expected)
    assert told(found, ASKED) == told(expected, ASKED)


def test_every_form_of_a_row_gives_the_same_prediction():
    learner = model().learn(pandas_of(CASE.text), CASE.labels)
    expected = told(learner, ASKED)
    for rows in (pandas_of(ASKED.typed), pandas_of(ASKED.text), arrow_of(ASKED.typed)):
        table = learner.predict_proba(rows)
        frame = table.to_pandas() if isinstance(table, pa.Table) else table
        assert frame.to_numpy().tolist() == expected
    assert [[*learner.predict_proba(row).values()] for row in ASKED.typed] == expected
    few = pandas_of(ASKED.typed).iloc[:7]
    assert learner.predict_proba(few).to_numpy().tolist() == expected[:7]
