"""One table through River, scikit-learn and Quix: the same schema and bits as from rows in Heros."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pandas as pd
import pytest

from data_cases import Case, arrow_of, model, orders, pandas_of
from heros import Heros
from heros.data.schema import schema_plain
from heros.integrations.quix import QuixModel
from heros.integrations.river import HerosClassifier as RiverClassifier
from heros.integrations.sklearn import HerosClassifier as SklearnClassifier

pytestmark = pytest.mark.filterwarnings("ignore::heros.DataNotice")

CASE = orders(160)
FIRST, REST, ASKED = CASE.part(0, 60), CASE.part(60, 160), CASE.part(40, 120)


def river_rows(path: Any) -> Heros:
    river = RiverClassifier.load(path)
    for i, (row, y) in enumerate(zip(REST.typed, REST.labels, strict=True)):
        river.learn_one(row, y)
        if i == 50:
            river = pickle.loads(pickle.dumps(river))
    assert [[*river.predict_proba_one(row).values()] for row in ASKED.text] == told(river.heros)
    return river.heros


def river_frames(path: Any) -> Heros:
    river, frame, y = RiverClassifier.load(path), pandas_of(REST.typed), pd.Series(REST.labels)
    for part in (slice(0, 40), slice(40, 45), slice(45, 100)):
        river.learn_many(frame[part], y[part])
        river.save(path)
        river = RiverClassifier.load(path)
    assert river.predict_proba_many(pandas_of(ASKED.text)).to_numpy().tolist() == told(river.heros)
    return river.heros


def sklearn_frames(path: Any) -> Heros:
    estimator, frame = SklearnClassifier.load(path), pandas_of(REST.text)
    for part in (slice(0, 40), slice(40, 45), slice(45, 100)):
        estimator.partial_fit(frame[part], REST.labels[part])
    estimator = copy.deepcopy(estimator)
    assert estimator.predict_proba(pandas_of(ASKED.typed)).tolist() == told(estimator.heros_)
    return estimator.heros_


def sklearn_arrow(path: Any) -> Heros:
    return SklearnClassifier.load(path).partial_fit(arrow_of(REST.typed), REST.labels).heros_


class Memory(dict):
    get_bytes, set_bytes = dict.get, dict.__setitem__


def quix_rows(path: Any) -> Heros:
    learn, state = QuixModel(Heros.load(path), "target"), Memory()
    for row, y in zip(REST.text, REST.labels, strict=True):
        learn({**row, "target": y}, state)
    return learn._opened(state["heros"])


def told(heros: Heros) -> list[list[float]]:
    return [[*p.values()] for p in heros.predict_proba(ASKED.typed)]


def learnt(start: Heros, case: Case) -> Heros:
    for row, y in zip(case.typed, case.labels, strict=True):
        start.learn(row, y)
    return start


@pytest.mark.parametrize(
    "enter",
    [river_rows, river_frames, sklearn_frames, sklearn_arrow, quix_rows],
    ids=lambda enter: enter.__name__,
)
def test_a_model_goes_on_alike_wherever_it_is_opened(enter, tmp_path):
    start = model().learn(pandas_of(FIRST.text), FIRST.labels)
    start.save(tmp_path / "model.heros")
    found, expected = enter(tmp_path / "model.heros"), learnt(start, REST)
    assert found.schema == expected.schema
    assert schema_plain(found.schema) == schema_plain(expected.schema)
    assert told(found) == told(expected)


@pytest.mark.parametrize("form", ["typed", "text"])
def test_river_from_scratch_is_heros_from_scratch(form):
    river = RiverClassifier(model().pool, k=3, seed=1)
    expected = model()
    for row, y in zip(getattr(CASE, form), CASE.labels, strict=True):
        river.learn_one(row, y)
        expected.learn(row, y)
    assert river.heros.schema == expected.schema
    assert schema_plain(river.heros.schema) == schema_plain(expected.schema)
    assert told(river.heros) == told(expected)


def test_scikit_learn_from_scratch_is_heros_from_scratch():
    frame = pandas_of(CASE.text)
    expected = model().learn(frame, CASE.labels)
    estimator = SklearnClassifier(model().pool, k=3, random_state=1).fit(frame, CASE.labels)
    assert estimator.heros_.schema == expected.schema
    assert schema_plain(estimator.heros_.schema) == schema_plain(expected.schema)
    assert told(estimator.heros_) == told(expected)
