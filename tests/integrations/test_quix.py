"""A model per key in the state of Quix Streams."""

import math
from datetime import UTC, datetime

import numpy as np
import pytest

from heros import DataError, Heros, ParameterError, pools
from heros.integrations.quix import QuixModel


def model():
    return Heros(pools.MLPGrid(hidden=[4], optimizers=["adam"]), k=2, seed=1)


def rows(n=120):
    rng = np.random.default_rng(1)
    for i in range(n):
        a = float(rng.normal())
        yield (
            f"k{i % 3}",
            {"id": i, "a": a, "city": f"c{rng.integers(1 + i // 40)}", "y": "high" if a > 0 else "low"},
        )


class Memory(dict):
    def get_bytes(self, key, default=None):
        return self.get(key, default)

    def set_bytes(self, key, value):
        assert isinstance(value, bytes)
        self[key] = value


def alone():
    """Return the predictions of models that always stay in memory."""
    models, said = {}, []
    for key, row in rows():
        one = models.setdefault(key, model())
        features = {"a": row["a"], "city": row["city"]}
        said.append(None if one.schema is None else one.predict_proba(features))
        one.learn(features, row["y"])
    return said


def test_a_model_per_key_as_if_it_had_never_been_put_away():
    learn, states = QuixModel(model(), "y", ignore=("id",)), {}
    said = [learn(row, states.setdefault(key, Memory()))["heros"] for key, row in rows()]
    assert said == alone()
    before = dict(states["k0"])
    answer = learn({"a": 1.0, "city": "nowhere"}, states["k0"])  # without a label, nothing is learnt
    assert set(answer["heros"]) == {"low", "high"}
    assert states["k0"] == before


def test_numbers_have_an_answer_and_an_interval():
    learn, state = (
        QuixModel(Heros(model().pool, task="regression", k=2, seed=1), "y", ignore=("id",)),
        Memory(),
    )
    alone = Heros(model().pool, task="regression", k=2, seed=1)
    for _, row in rows():
        x, y = {"a": row["a"], "city": row["city"]}, 3 * row["a"] + 1
        said = learn({**row, "y": y}, state)["heros"]
        if alone.schema is not None:
            assert said == {"answer": alone.predict(x), "interval": alone.predict_interval(x).tolist()}
        alone.learn(x, y)


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_values_are_read_as_everywhere():
    learn, state, alone = QuixModel(model(), "late"), Memory(), model()
    for i in range(60):
        written = {"price": f"€{i % 9}.50", "placed": f"{1 + i % 28}.10.2026", "size": "n/a" if i % 7 else i}
        typed = {
            "price": i % 9 + 0.5,
            "placed": datetime(2026, 10, 1 + i % 28, tzinfo=UTC),
            "size": None if i % 7 else float(i),
        }
        said = learn({**written, "late": str(i % 2)}, state)["heros"]
        if alone.schema is not None:
            assert said == alone.predict_proba(typed)
        alone.learn(written, str(i % 2))
    before = dict(state)
    assert learn({**written, "late": math.nan}, state)["heros"] == alone.predict_proba(typed)
    assert state == before  # a missing label counts as no label


def test_in_the_state_of_quix_itself():
    quix = pytest.importorskip("quixstreams.state.memory")
    store = quix.MemoryStore(name="default", stream_id="sensors")
    store.assign_partition(0)
    learn, said = QuixModel(model(), "y", ignore=("id",)), []
    for key, row in rows():
        with store.start_partition_transaction(0) as transaction:
            said.append(learn(row, transaction.as_state(prefix=key))["heros"])
    assert said == alone()


def test_what_is_wrong_is_said():
    with pytest.raises(
        ParameterError, match="The 'model' parameter of QuixModel must be a Heros without Python models"
    ):
        QuixModel(3, "y")
    with pytest.raises(DataError, match="Quix's state"):
        QuixModel(model(), "y")({"a": 1.0}, Memory(heros=b"no model"))
