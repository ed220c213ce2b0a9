"""One model per key: independent of other keys, in bounded memory, and complete after a kill."""

import copy
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from datetime import datetime
from functools import partial

import numpy as np
import pytest

from heros import DataError, Heros, HerosError, ParameterError, Schema, policies, pools, streams
from heros.data.schema import schema_plain
from heros.ensemble.keyed import Keyed
from heros.storage.keystore import FILE, KeyStore

TREES = {"classes": pools.Hoeffding([{}]), "numbers": pools.RegressionTrees([{}])}
STREAMS = {"classes": streams.Agrawal(function=2, seed=3), "numbers": streams.Friedman(seed=3)}
POOLS = {
    task: pools.Join(pools.MLPGrid(hidden=[4], optimizers=["adam"]), trees, costs=[1, 1])
    for task, trees in TREES.items()
}
POOL, STREAM = POOLS["classes"], STREAMS["classes"]


def template(task="classes", **settings):
    settings = {"policy": policies.Explore(policies.Zeta(0.05), 0.2), "k": 2, "seed": 1} | settings
    return Heros(POOLS[task], schema=STREAMS[task].schema, **settings)


def visits(keys, n=400, seed=7, task="classes"):
    """Return random keys, each time with a few instances."""
    rng = np.random.default_rng(seed)
    stream = copy.deepcopy(STREAMS[task])
    stream.restart()
    return [(int(rng.integers(keys)), *stream.draw(int(rng.integers(1, 6)))) for _ in range(n)]


def alone(todo, task="classes"):
    """Return the predictions of every key's model when trained alone."""
    models = {}
    for key, X, y in todo:
        models.setdefault(key, template(task)).learn(X, y)
    return models


LIMITS = [{}, {"capacity": 1}, {"capacity": 3}, {"memory": 300_000}]


@pytest.mark.matrix(most=2)
@pytest.mark.parametrize(
    ("task", "limit"), [*(("classes", limit) for limit in LIMITS), ("numbers", {"capacity": 3})]
)
def test_every_key_learns_as_if_it_were_alone(task, limit):
    X, _ = STREAMS[task].take(50).draw(50)
    with Keyed(template(task), **limit) as keyed:
        for key, *block in visits(12, task=task):
            keyed.learn(key, *block)
        for key, model in alone(visits(12, task=task), task).items():
            assert (keyed.answers(key, X) == model.answers(X)).all()
            assert keyed[key].trained.tolist() == model.trained.tolist()
        if "capacity" in limit:
            assert keyed.in_memory <= limit["capacity"]
        if "memory" in limit:
            assert keyed.bytes_in_memory <= limit["memory"]
        assert len(keyed) == 12


def test_a_policy_of_ones_own_has_a_state_per_key():
    class Turn:
        def __init__(self):
            self.at = 0

        def choose(self, scores, costs, k, rng):
            self.at += 1
            mask = np.zeros(len(scores), dtype=bool)
            mask[self.at % len(scores)] = True
            return mask

        def state(self):
            return {"at": np.array([self.at])}

        def restore(self, state):
            self.at = int(state["at"][0])

    with Keyed(template(policy=Turn(), warmup=0), capacity=1) as keyed:
        for key in ("a", "b", "a", "b", "b"):
            keyed.learn(key, *streams.Agrawal(function=2).draw(1))
        assert (keyed["a"].policy.at, keyed["b"].policy.at) == (2, 3)


def test_figures_of_a_key_and_of_all():
    X, y = STREAM.take(300).draw(300)
    lone = template().test_then_train(X, y)
    with Keyed(template(), capacity=1) as keyed:
        keyed.test_then_train("a", X, y)
        keyed.learn("b", X[0], y[0])
        assert keyed.figures("a").accuracy == pytest.approx((lone.probabilities.argmax(axis=1) == y).mean())
        assert keyed.figures("a").gamma_share == pytest.approx(lone.spent.mean())
        assert keyed.overall().instances == 301
        assert keyed.figures("nobody").instances == 0
        assert np.isnan(keyed.figures("nobody").accuracy)


@pytest.mark.parametrize("limit", LIMITS)
def test_figures_of_all_keys_are_read_without_a_visit_to_each(tmp_path, limit, monkeypatch):
    """Visiting a million keys takes seconds, during which predictions wait."""
    seen = 0
    with Keyed(template(), directory=tmp_path, **limit) as keyed:
        for at, (key, X, y) in enumerate(visits(8, 30)):
            keyed.learn(key, X, y)
            seen += len(y)
            if at == 15:
                keyed.commit()
                seen -= keyed.figures(key).instances
                keyed.remove(key)
        for _ in range(2):
            each = {key: keyed.figures(key) for key in keyed}
            with monkeypatch.context() as patched:
                patched.delattr(KeyStore, "tallies")
                assert (len(keyed), keyed.seen) == (len(each), seen)
                overall, most = keyed.overall(), keyed.busiest(5)
            assert overall.instances == seen
            right = sum(one.accuracy * one.instances for one in each.values())
            assert overall.accuracy == pytest.approx(right / seen)
            assert [one for _, one in most] == [each[key] for key, _ in most]
            counts = sorted((one.instances for one in each.values()), reverse=True)
            assert [one.instances for _, one in most] == counts[:5]
            keyed.commit()


def test_figures_of_numbers():
    X, y = STREAMS["numbers"].take(300).draw(300)
    lone = template("numbers").test_then_train(X, y)
    errors, naive = (np.abs(lone.outputs[:, column] - y) for column in (0, 3))
    with Keyed(template("numbers"), capacity=1) as keyed:
        keyed.test_then_train("a", X, y)
        keyed.learn("b", X[0], y[0])
        figures, overall = keyed.figures("a"), keyed.overall()
        assert (figures.mae, figures.rmse) == pytest.approx((errors.mean(), np.sqrt((errors**2).mean())))
        assert figures.relative_error == pytest.approx(errors.sum() / naive.sum())
        assert figures.gamma_share == pytest.approx(lone.spent.mean())
        assert overall.mae == pytest.approx((errors.sum() + abs(y[0])) / 301)  # the first prediction is 0
        assert np.isnan([figures.accuracy, keyed.figures("nobody").mae]).all()
        low, high = keyed.predict_interval("a", X[0])
        assert low <= keyed.predict("a", X[0]) <= high


def test_names_of_classes_count_as_their_indices_do():
    X, y = STREAM.take(50).draw(50)
    with Keyed(template()) as keyed:
        keyed.learn("index", X, y).learn("name", X, np.array(STREAM.schema.classes)[y])
        assert repr(keyed.figures("index")) == repr(keyed.figures("name"))


def test_a_target_that_is_no_number_changes_nothing():
    X, y = STREAMS["numbers"].take(5).draw(5)
    with Keyed(template("numbers")) as keyed:
        keyed.learn("a", X, y)
        for bad in (["1"] * 5, [np.nan] * 5, [1e300] * 5):
            with pytest.raises(DataError, match="number"):
                keyed.learn("a", X, bad)
        assert keyed.figures("a").instances == 5


def test_an_interrupt_leaves_figures_that_are_those_of_the_model():
    class Pressing:
        """A policy that raises Ctrl-C at its third instance."""

        calls = 0

        def choose(self, scores, costs, k, rng):
            self.calls += 1
            if self.calls == 3:
                signal.raise_signal(signal.SIGINT)
            return np.arange(len(scores)) < k

    X, y = STREAM.take(10).draw(10)
    with Keyed(template(policy=Pressing(), warmup=0)) as keyed:
        with pytest.raises(KeyboardInterrupt):
            keyed.learn("a", X, y)
        assert keyed.figures("a").instances == keyed["a"].instances == 10
        keyed.learn("a", X, y)
        assert keyed.figures("a").instances == keyed["a"].instances == 20


def test_asking_makes_no_key_and_changes_nothing():
    X, _ = STREAM.take(5).draw(5)
    with Keyed(template()) as keyed:
        assert (keyed.predict_proba("new", X) == template().predict_proba(X)).all()
        assert "new" not in keyed
        assert keyed.predict("new", X[0]) in STREAM.schema.classes


@pytest.mark.parametrize("limit", [{"capacity": 3}, {"memory": 300_000}])
def test_reading_a_key_makes_room_too(limit):
    X, y = STREAM.take(5).draw(5)
    with Keyed(template(), **limit) as keyed:
        for key in range(20):
            keyed.learn(key, X, y)
        for key in range(20):
            assert keyed[key].instances == 5
            assert keyed.in_memory <= limit.get("capacity", 20)
            assert keyed.bytes_in_memory <= limit.get("memory", np.inf)


def test_1_and_its_text_are_two_keys():
    X, y = STREAM.take(5).draw(5)
    with Keyed(template()) as keyed:
        keyed.learn(1, X, y).learn("1", X, y)
        assert sorted(keyed, key=str) == [1, "1"]
        keyed.remove(1)
        assert list(keyed) == ["1"]
        with pytest.raises(KeyError):
            keyed[1]


def test_a_schema_that_grows_reaches_those_in_the_file(tmp_path):
    first = Schema.of(["a"], classes=["no", "yes"])
    grown = Schema.of(["a", ("b", "x", "y")], classes=["no", "yes"])
    with Keyed(Heros(POOL, k=1, seed=1, schema=first), capacity=1, directory=tmp_path) as keyed:
        keyed.learn("p", [1.0], 0).learn("q", [2.0], 1)
        keyed.bind(grown)
        assert keyed.predict_proba("p", [1.0, 0]).shape == (2,)
        keyed.learn("q", [2.0, 1], 1)


def test_a_growth_of_the_schema_fits_the_template_once(monkeypatch):
    schemas = [Schema.of(["a", ("b", *"xyz"[:n])], classes=["no", "yes"]) for n in (1, 2, 3)]
    bound = []
    with Keyed(Heros(POOL, k=1, seed=1, schema=schemas[0])) as keyed:
        monkeypatch.setattr(
            Heros, "bind", lambda one, schema, of=Heros.bind: bound.append(1) or of(one, schema)
        )
        for schema in schemas[1:]:
            keyed.bind(schema)
        assert len(bound) == 2
        with pytest.raises(ParameterError, match="an extension"):
            keyed.bind(schemas[0])
        assert keyed.template.schema == schemas[2]


@pytest.mark.parametrize("task", STREAMS)
def test_what_was_committed_is_there_again_and_nothing_else(tmp_path, task):
    X, y = STREAMS[task].take(20).draw(20)
    keyed = Keyed(template(task), capacity=1, directory=tmp_path)
    keyed.learn("a", X[:10], y[:10]).learn("b", X[:10], y[:10])
    keyed.commit({"offset": 20})
    expected, figures = keyed.answers("a", X), keyed.overall()
    keyed.learn("a", X[10:], y[10:]).learn("c", X, y)  # "a" is written to the file again, but not committed
    keyed.close()
    with Keyed(template(task), directory=tmp_path) as again:
        assert sorted(again) == ["a", "b"]
        assert again.position == {"offset": 20}
        assert (again.answers("a", X) == expected).all()
        assert repr(again.overall()) == repr(figures)


def test_a_position_that_is_no_json_data_is_said_and_changes_nothing(tmp_path):
    circular = {}
    circular["itself"] = circular
    with Keyed(template(), directory=tmp_path) as keyed:
        keyed.commit({"offset": 1})
        for position in ({"offset": np.int64(2)}, {(1, 2): 3}, circular, {"offset": 10**5000}):
            with pytest.raises(
                ParameterError, match="'position' parameter of commit must be data that JSON can"
            ):
                keyed.commit(position)
        assert keyed.position == {"offset": 1}


def test_an_error_in_the_block_commits_nothing(tmp_path):
    X, y = STREAM.take(20).draw(20)
    with pytest.raises(DataError), Keyed(template(), directory=tmp_path) as keyed:
        keyed.learn("a", X, y).learn("a", X, y + 7)
    with Keyed(template(), directory=tmp_path) as keyed:
        assert len(keyed) == 0


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from test_keyed import template, visits
from heros.ensemble.keyed import Keyed
keyed = Keyed(template({task!r}), capacity=2, directory={directory!r})
start = (keyed.position or {{"done": 0}})["done"]
for i, (key, X, y) in enumerate(visits(12, task={task!r})):
    if i >= start:
        keyed.learn(key, X, y)
        if i % 5 == 4:
            keyed.commit({{"done": i + 1}})
        print(i, flush=True)
keyed.commit({{"done": 400}})
"""


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize(("task", "kills"), [("classes", 4), ("numbers", 2)])
def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(tmp_path, task, kills, thorough):
    code = KILLED.format(tests=os.path.dirname(__file__), directory=str(tmp_path), task=task)
    rng = np.random.default_rng(1)
    for _ in range(kills if thorough else 1):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            for _ in range(int(rng.integers(1, 120))):
                if not process.stdout.readline():
                    break
            process.send_signal(signal.SIGKILL)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    X, _ = STREAMS[task].take(50).draw(50)
    with Keyed(template(task), directory=tmp_path) as keyed:
        for key, model in alone(visits(12, task=task), task).items():
            assert (keyed.answers(key, X) == model.answers(X)).all()
            assert keyed.figures(key).instances == model.instances


def test_one_process_at_a_time(tmp_path):
    with (
        Keyed(template(), directory=tmp_path),
        pytest.raises(HerosError, match=r"is already in use\. Only one process at a time can open it"),
    ):
        Keyed(template(), directory=tmp_path)


def test_a_broken_file_is_said(tmp_path):
    (tmp_path / FILE).write_bytes(b"no database, but long enough to be taken for one by nobody" * 40)
    with pytest.raises(DataError, match="is damaged"):
        Keyed(template(), directory=tmp_path)


def test_a_changed_bit_in_a_model_is_found(tmp_path):
    X, y = STREAM.take(20).draw(20)
    with Keyed(template(), directory=tmp_path) as keyed:
        keyed.learn("a", X, y)
    with sqlite3.connect(tmp_path / FILE) as file:
        (learnt,) = file.execute("SELECT learnt FROM models").fetchone()
        file.execute("UPDATE models SET learnt = ?", (learnt[:500] + b"\0" + learnt[501:],))
    with (
        pytest.raises(DataError, match="the checksum is wrong"),
        Keyed(template(), directory=tmp_path) as keyed,
    ):
        keyed.learn("a", X, y)


def test_a_file_of_another_format_is_refused(tmp_path):
    Keyed(template(), directory=tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute("PRAGMA user_version=3")
    with pytest.raises(HerosError, match=r"must have the format 1\. Got 3"):
        Keyed(template(), directory=tmp_path)


def test_models_share_what_never_changes():
    X, y = STREAM.take(20).draw(20)
    with Keyed(template(), capacity=1) as keyed:
        keyed.learn("a", X, y).learn("b", X, y)
        parts = [
            keyed._resident(name, make=False).model.pool for name in ('"b"', '"a"')
        ]  # "a" is read from the file
        assert parts[0] is parts[1] is keyed.template.pool


def test_a_model_of_the_file_stays_what_it_was_made_of(tmp_path):
    X, y = STREAM.take(20).draw(20)
    with Keyed(template(k=1), directory=tmp_path) as keyed:
        keyed.learn("a", X, y)
    with Keyed(template(k=2), directory=tmp_path) as keyed:
        keyed.learn("b", X, y)
        assert (keyed["a"].k, keyed["b"].k) == (1, 2)


def test_the_store_of_another_pool_or_schema_is_refused(tmp_path):
    X, y = STREAM.take(20).draw(20)
    with Keyed(template(), directory=tmp_path) as keyed:
        keyed.learn("a", X, y)
    other = Heros(pools.MLP([{"hidden": 77}]), k=1, seed=1, schema=STREAM.schema)
    with pytest.raises(HerosError, match=r"The pool must be the same as in .*keys\.sqlite.*\. Got .*77"):
        Keyed(other, directory=tmp_path)
    other = Heros(POOL, k=1, seed=1, schema=Schema.of(["another"], classes=["no", "yes"]))
    with pytest.raises(
        HerosError, match=r"The schema of Keyed must extend the schema in .*keys\.sqlite.*\. Got .*another"
    ):
        Keyed(other, directory=tmp_path)
    with Keyed(template(), directory=tmp_path) as keyed:  # closed by the errors, and unchanged
        assert keyed.figures("a").instances == 20


def test_a_store_that_began_without_a_task_is_opened_again(tmp_path):
    for n in (1, 2):  # the default model is for classification until the first labels, which are numbers
        with Keyed(Heros(k=1, seed=1), directory=tmp_path) as keyed:
            keyed.learn("a", [{"size": 1.0}, {"size": 2.0}], [1.5, 2.5])
            assert keyed.figures("a").instances == 2 * n


# -- rows and frames -----------------------------------------------------------------------------------------


def rows(n=90):
    """Return rows of two keys in the form that users write; columns, values and classes appear over time."""
    for i in range(n):
        x = {
            "when": datetime(2026, 1 + i % 12, 1 + i % 28, i % 24) if i % 2 else f"2026-03-0{1 + i % 9}",
            "day": f"{1 + i % 12}/{1 + i % 28}/2026",
            "price": f"€{i % 7}.50",
            "place": {"city": f"c{i // 30}", "high": i % 3 == 0},
            "tags": [i],
            "size": None if i % 8 == 0 else i % 5,
        }
        if i > 50:
            x["late"] = "12 %"
        yield ("a", "b")[i % 3 == 0], x, ("no", "yes", "maybe")[i % (2 + (i > 60))]


def state(model):
    return {
        f"{group}/{name}": array.tobytes()
        for group, arrays in model.state().items()
        for name, array in arrays.items()
        if name != "cpu"
    }


def unbound(**settings):
    return Heros(POOL, k=2, seed=1, **settings)


quiet = pytest.mark.filterwarnings("ignore::heros.DataNotice")


@quiet
@pytest.mark.parametrize("numeric", [False, True])
def test_one_key_learns_from_rows_what_a_model_alone_does(numeric):
    pool = POOLS["numbers" if numeric else "classes"]
    alone = Heros(pool, k=2, seed=1)
    with Keyed(Heros(pool, k=2, seed=1)) as keyed:
        for i, (_, x, y) in enumerate(rows()):
            label = i + 0.5 if numeric else y
            keyed.learn("only", x, label)
            alone.learn(x, label)
        some = [x for _, x, _ in rows()]
        assert state(keyed["only"]) == state(alone)
        assert keyed["only"].schema == alone.schema
        assert schema_plain(keyed["only"].schema) == schema_plain(alone.schema)
        assert (keyed.answers("only", some) == alone.answers(some)).all()
        assert keyed.predict("only", some[0]) == alone.predict(some[0])
        if numeric:
            assert (keyed.predict_interval("only", some) == alone.predict_interval(some)).all()
            assert np.isfinite(keyed.figures("only").mae)
        else:
            assert keyed.predict_proba("only", some) == alone.predict_proba(some)


@quiet
def test_rows_in_any_form_and_after_any_stop_are_learnt_alike(tmp_path):
    """Single rows, lists, and frames once the first rows are known, with stops; one encoder for all keys."""
    pa = pytest.importorskip("pyarrow")
    found = []
    for form in ("rows", "lists", "stops"):
        place = tmp_path / form
        keyed = Keyed(unbound(), capacity=1, directory=place)
        for key, x, y in rows():
            if form == "lists":
                block = keyed.test_then_train(key, [x], [y])
                assert block.outputs.shape == (1, keyed.template.schema.n_classes)
            else:
                keyed.learn(key, x, y)
            if form == "stops":
                keyed.commit({"at": 1})
                keyed.close()
                keyed = Keyed(unbound(), capacity=1, directory=place)
        assert keyed.encoder().seen == keyed.seen == 90
        keyed.learn("a", pa.table({"day": ["1/2/2026"] * 40, "late": [3.5] * 40}), ["no"] * 40)
        found.append(({key: state(keyed[key]) for key in keyed}, keyed.template.schema))
        assert (keyed.seen, keyed.figures("a").instances) == (130, 100)
        keyed.close()
    assert found[0] == found[1] == found[2]
    assert schema_plain(found[0][1]) == schema_plain(found[2][1])


@quiet
def test_a_list_of_rows_of_which_one_is_bad_leaves_the_schema_of_what_was_learnt():
    with Keyed(unbound()) as keyed:
        alone = unbound()
        for learn in (alone.learn, partial(keyed.learn, "a")):
            for _ in range(5):
                learn({"size": 1.0}, "no")
            with pytest.raises(DataError, match="row 2: 'size' must be a number"):
                learn([{"size": 1.0}, {"size": "large", "new": 1}], ["no", "never"])
        assert keyed.template.schema == alone.schema
        assert keyed.seen == alone.instances
        with pytest.raises(DataError, match="must be a number"):
            keyed.learn("b", {"size": "large"}, "no")
        assert "b" not in keyed  # rejected input creates no key
        with pytest.raises(DataError, match=r"must have \d features"):
            keyed.learn("b", [1.0, 2.0, 3.0], 0)  # the model itself checks arrays
        assert ("b" in keyed, len(keyed), keyed.in_memory) == (False, 1, 1)
        assert keyed.learn("b", {"size": 2.0}, "yes").seen == keyed.encoder().seen == alone.instances + 1


def test_a_template_that_has_learnt_counts():
    trained = unbound()
    for i in range(10):
        trained.learn({"size": i}, i % 2)
    with Keyed(trained) as keyed:
        assert keyed.seen == 10
        keyed.learn("a", {"size": 1, "new": 2.0}, 1)
        assert [feature.missing for feature in keyed.template.schema.features] == [False, True]
        alone = trained.learn({"size": 1, "new": 2.0}, 1)
        assert keyed.predict_proba("a", {"size": 3}) == alone.predict_proba({"size": 3})


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"model": 3}, "The 'model' parameter of Keyed must be a Heros"),
        ({"capacity": 0}, "The 'capacity' parameter of Keyed must be"),
        ({"memory": -1}, "The 'memory' parameter of Keyed must be"),
    ],
)
def test_what_cannot_be_meant_is_said(settings, text):
    with pytest.raises(ParameterError, match=text):
        Keyed(**({"model": template()} | settings))


@pytest.mark.parametrize("key", [1.5, None, True, b"bytes", "\ud800"])
def test_a_key_is_text_or_a_whole_number(key):
    with Keyed(template()) as keyed, pytest.raises(HerosError, match="key"):
        keyed.learn(key, *STREAM.take(1).draw(1))


def test_models_that_live_in_python_are_refused():
    class Own:
        def predict_proba(self, x):
            return [0.5, 0.5]

        def learn(self, x, y):
            pass

    with pytest.raises(ParameterError, match="without Python models"):
        Keyed(Heros(pools.Models([Own()], costs=[1])))


GROWTH = """
from heros import Heros, pools, streams
from heros.ensemble import keyed

def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

stream = streams.Agrawal(function=2)
X, y = stream.draw(100)
models = keyed.Keyed(Heros(pools.MLPGrid(hidden=[64, 256]), k=3, seed=1, schema=stream.schema), memory=60_000_000)
models.learn("first", X, y)
before, most = held(), 0
for key in range(200):
    models.learn(key, X[:2], y[:2])
    most = max(most, held() - before)
assert models.in_memory < 100, models.in_memory
print(most)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for the memory of a process")
def test_the_process_grows_by_no_more_than_the_memory_that_was_set():
    grown = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True)
    assert int(grown.stdout) <= 60_000_000


def test_copies_that_predict_after_the_schema_has_grown_count_as_memory():
    """A key that has not learnt since the schema grew predicts with a grown copy of its model."""
    start = Heros(pools.MLPGrid(hidden=[16]), k=2, seed=1)
    with Keyed(start, memory=20_000_000) as keyed:
        for key in range(4):
            keyed.learn(key, [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}], ["no", "yes"])
        before = keyed.bytes_in_memory
        keyed.learn(0, {"a": 1.0, "b": "x", "c": 5.0}, "yes")
        alone = keyed.bytes_in_memory
        for key in (1, 2, 3):
            keyed.predict_proba(key, {"a": 1.0, "b": "x", "c": 5.0})
        assert keyed.bytes_in_memory > alone + 0.5 * before  # three of the four models have a copy
        for key in (1, 2, 3):
            keyed.learn(key, {"a": 1.0, "b": "x", "c": 5.0}, "yes")  # the models grow; the copies go
        assert keyed.bytes_in_memory < alone + 0.5 * before


def test_after_close_every_method_says_so(tmp_path):
    X, y = STREAM.take(4).draw(4)
    keyed = Keyed(template(), directory=tmp_path)
    keyed.learn("a", X, y)
    keyed.commit()
    keyed.close()
    keyed.close()
    for call in (
        lambda: keyed.learn("a", X, y), lambda: keyed.learn("b", X[0], y[0]), lambda: keyed.predict("a", X),
        lambda: keyed["a"], lambda: "a" in keyed, lambda: len(keyed), lambda: list(keyed), lambda: keyed.position,
        lambda: keyed.figures("a"), keyed.overall, lambda: keyed.busiest(1), lambda: keyed.remove("a"),
        lambda: keyed.attached, keyed.commit, lambda: keyed.snapshot(None, tmp_path / "copy"),
    ):  # fmt: skip
        with pytest.raises(HerosError, match=r"keys\.sqlite has been closed") as told:
            call()
        assert not isinstance(told.value, DataError)  # the file is not damaged
    assert repr(keyed).endswith("closed>")
    with Keyed(template(), directory=tmp_path) as again:
        assert again.figures("a").instances == 4
        for copied in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(
                HerosError, match="A Keyed cannot be pickled or copied, because its models are"
            ):
                copied(again)
