"""Every interface reads one table with the same features, the same schema and identical codes."""

from __future__ import annotations

import copy
import json
from datetime import datetime, time, timedelta
from decimal import Decimal
from io import BytesIO

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from data_cases import Case, arrow_of, csv_of, json_of, model, orders, pandas_of, parquet_of
from heros import DataError, Feature, Heros, Schema, evaluate, pools, streams
from heros.data.columns import DATE_PARTS
from heros.data.values import is_missing, number_of
from heros.ensemble.keyed import Keyed
from heros.ensemble.late import LateLabels
from heros.serve.learners import OneModel
from heros.serve.service import Service
from heros.streams.live import END, RowSource
from heros.streams.pipe import read_pipe
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


# -- how a known model reads a table ---------------------------------------------------------------------------

READS = Schema(
    (
        Feature("size", missing=True),
        Feature("country", values=("NA", "ZA"), missing=True),
        *(Feature(f"day ({part})", None, True, "month first", "day", part) for part in DATE_PARTS),
        Feature("price", None, True, ",."),
    ),
    ("None", "part"),
    words=("unknown", "-999"),
    ignored=("order", "weight"),
)
OWN = [  # rows that a table without a model reads otherwise
    {
        "order": f"A-{i}",
        "size": ("1.5", "-999", "unknown", "-999.0", "7")[i % 5],
        "country": ("NA", "ZA", "unknown")[i % 3],
        "day": f"0{1 + i % 9}/0{1 + i % 5}/2026",
        "price": ("1,250", "2,500")[i % 2],
        "weight": 1.0,
        "target": ("None", "part", "later")[i % 3],
    }
    for i in range(60)
]
FEATURES = ("order", "size", "country", "day", "price")


def _pipe(table, path, **how):
    return read_pipe(BytesIO(table.to_csv(index=False).encode()), target="target", **how)


def _file(table, path, **how):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        getattr(table, f"to_{path.suffix[1:]}")(path)
    return streams.read(path, target="target", **how)


def _frame(table, path, **how):
    return streams.from_frame(table, target="target", **how)


@pytest.mark.parametrize("weights", ["ignored", "used"])
@pytest.mark.parametrize("name", ["frame", "pipe", "rows.csv", "rows.jsonl", "rows.parquet"])
def test_a_model_reads_a_table_by_its_own_words_names_and_formats(tmp_path, name, weights):
    learner = Heros(pools.Linear([{}, {"learning_rate": 0.01}]), k=1, seed=1).bind(READS)
    rows = [{name: row[name] for name in FEATURES} for row in OWN]
    expected = copy.deepcopy(learner).learn(rows, [row["target"] for row in OWN])
    read = {"frame": _frame, "pipe": _pipe}.get(name, _file)
    how = {"weights": "weight"} if weights == "used" else {"ignore": ["weight"]}
    evaluate(learner, read(pd.DataFrame(OWN), tmp_path / name, **how))
    assert learner.schema == expected.schema
    assert learner.schema.ignored == READS.ignored
    assert [one.written for one in learner.schema.features] == [one.written for one in READS.features]
    assert [learner.predict_proba(row) for row in rows[:9]] == [
        expected.predict_proba(row) for row in rows[:9]
    ]


@pytest.mark.parametrize(
    "read", [_pipe, _frame, lambda table, path, **how: _file(table, path / "rows.csv", **how)]
)
def test_a_row_may_change_how_a_column_of_a_known_model_is_read(tmp_path, read):
    learner = Heros(pools.Linear([{}]), k=1, seed=1).learn({"day": "03/04/2026", "size": "7"}, "no")
    rows = [{"day": f"10/{1 + i % 28:02}/2026", "size": ("big", "small")[i % 2]} for i in range(40)]
    expected = copy.deepcopy(learner).learn(rows, ["yes"] * 40)
    run = evaluate(learner, read(pd.DataFrame(rows).assign(target="yes"), tmp_path))
    assert (run.n_instances, run.bad_rows.count) == (40, 0)
    assert learner.schema == expected.schema
    assert learner.predict_proba(rows[0]) == expected.predict_proba(rows[0])


def test_the_options_of_a_source_hold_for_a_known_model():
    learner = Heros(pools.Linear([{}]), k=1, seed=1).learn({"size": 1.0}, "no")
    rows = [({"size": "unknown", "leak": "ab"[i % 2]}, ("no", "yes", "later")[i % 3]) for i in range(30)]
    how = {"ignore": ["leak"], "missing": ["unknown"], "classes": ["no", "yes", "later"]}
    run = evaluate(learner, streams.from_iter(rows, **how))
    assert run.bad_rows.count == 0
    assert [feature.name for feature in learner.schema.features] == ["size"]
    assert learner.schema.classes == ("no", "yes", "later")
    assert learner.schema.words == ("unknown",)


def test_a_number_in_json_lines_is_the_name_that_the_model_knows(tmp_path):
    learner = Heros(pools.Linear([{}]), k=1, seed=1).learn([{"size": 1.0}, {"size": 2.0}], ["0.0", "1.0"])
    (tmp_path / "rows.jsonl").write_text('{"size": 3, "y": 1}\n{"size": 4, "y": 0}\n' * 9)
    evaluate(learner, streams.read(tmp_path / "rows.jsonl"))
    assert learner.schema.classes == ("0.0", "1.0")


def test_blanks_around_a_class_in_json_lines_do_not_matter(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"size": 3, "y": " no"}\n{"size": 4, "y": "no"}\n' * 9)
    assert streams.read(tmp_path / "rows.jsonl").schema.classes == ("no",)


def odd_times(name: str = "n"):
    """Sixty rows with dates, times and durations that Python's types lack."""
    return pa.table(
        {
            "day": pa.array([600_000_000_000, 86_400, None] * 20, pa.timestamp("s")),  # years 20983 and 1970
            "at": pa.array([1_234_567] * 60, pa.time64("ns")),
            "took": pa.array([-1_234_567] * 60, pa.duration("ns")),
            "name": [f"{name}{i}" for i in range(60)],  # each row is read alone
        }
    )


def test_dates_outside_of_the_calendar_and_nanoseconds_are_read():
    first = {"day": datetime(2026, 1, 1, 12), "at": time(12), "took": timedelta(1), "name": "n"}
    learner = Heros(pools.Linear([{}]), k=1, seed=1).learn(first, "no")
    learner = learner.learn(odd_times(), ["no", "yes"] * 30)
    evaluate(learner, streams.from_frame(odd_times("m").append_column("y", pa.array(["no", "yes"] * 30))))
    assert learner.instances == 121
    X = learner.encoder().read(odd_times())
    column = {feature.name: at for at, feature in enumerate(learner.schema.features)}
    assert X[0, column["day (day)"]] == 600_000_000_000 / 86_400
    assert X[0, column["took"]] == -0.001235
    few = odd_times().slice(1, 1).drop(["at"]).to_pandas()
    assert learner.encoder().read(few)[0, column["took"]] == X[1, column["took"]]


def test_a_date_too_far_for_microseconds_is_a_bad_row():
    day = pa.array([10**17, *range(59)], pa.timestamp("s"))  # year 3168875820
    run = evaluate(Heros(k=1, seed=1), streams.from_frame(pa.table({"day": day, "y": ["no", "yes"] * 30})))
    assert (run.n_instances, run.bad_rows.first[0].column) == (59, "day")


def test_columns_of_an_arrow_table_have_distinct_names():
    table = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["a", "a"])
    with pytest.raises(DataError, match="distinct names"):
        Heros(k=1, seed=1).learn(table, ["no", "yes"])


def test_a_table_without_a_usable_column_is_refused():
    table = pa.table({"a": [[1.0]] * 4, "y": ["no", "yes"] * 2})
    with pytest.raises(DataError, match="must have a column of numbers, text or dates besides the target"):
        streams.from_frame(table)
