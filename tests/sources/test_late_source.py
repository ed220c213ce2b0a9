"""A topic of instances and a topic of labels, joined by an id."""

import json
import os
import pickle
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from typer.testing import CliRunner

sys.path.insert(0, os.path.dirname(__file__))
from queues import NAME, Redis
from test_queues import fresh, learnt, numbers, once, rows

from heros import DataError, DataNotice, Feature, Heros, ParameterError, Schema, evaluate, pools, streams
from heros.cli import app
from heros.data.schema import schema_plain
from heros.ensemble.late import LateLabels
from heros.policies import Everything
from heros.streams.live import END, IDLE, RowSource, connect
from heros.streams.live.base import Signal
from heros.streams.live.late import LateSource
from heros.streams.live.messages import decoded


class Topic(RowSource):
    """A source that returns its rows in portions."""

    def __init__(self, name, portions):
        super().__init__(name)
        self.rows = [row for portion in portions for row in portion]
        self.ends = list(np.cumsum([len(portion) for portion in portions]))
        self.at, self.acknowledged = 0, None

    def fetch(self, most, timeout):
        if self.at == len(self.rows):
            return END
        end = next(end for end in self.ends if end > self.at)
        got = [
            (row, {"at": self.at + i + 1})
            for i, row in enumerate(self.rows[self.at : min(end, self.at + most)])
        ]
        self.at += len(got)
        return got

    def go_to(self, position):
        self.at = position["at"]

    def acknowledge(self, where):
        self.acknowledged = where["position"]


MADE = {"classification": rows, "regression": numbers}


def halves(n=400, order=None, task="classification"):
    """Split rows into instances and labels, with the labels in order of arrival."""
    todo = [{"order": i, **row} for i, row in enumerate(MADE[task](n))]
    order = range(n) if order is None else order
    return (
        [{name: row[name] for name in row if name != "y"} for row in todo],
        [{"order": todo[i]["order"], "y": todo[i]["y"]} for i in order],
    )


def joined(portion=30, task="classification", **how):
    rng = np.random.default_rng(2)
    order = np.argsort(np.arange(400) + rng.uniform(0, 60, 400)).tolist()
    features, labels = halves(400, order, task)
    cut = [features[at : at + portion] for at in range(0, 400, portion)]
    late = [labels[at : at + portion] for at in range(0, 400, portion)]
    topics = Topic("orders", cut), Topic("labels", late)
    return LateSource(*topics, id="order", target="y", task=task, **how), order


@pytest.mark.parametrize("task", MADE)
def test_it_learns_in_the_order_of_the_labels(task):
    source, order = joined(task=task)
    model = fresh()
    run = evaluate(model, source, window=50)
    assert (run.n_instances, source.waiting, source.counts.learnt) == (400, 0, 400)
    todo = MADE[task](400)
    assert learnt(model) == once([todo[i] for i in order], task)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("nested", ['{"a":%s}', "[%s]"])
def test_a_message_that_is_nested_too_deep_costs_one_message(tmp_path, which, nested):
    """Such an instance cannot be measured or stored: each restart would stop at it again."""
    deep = "1"
    for _ in range(600):
        deep = nested % deep
    portions = [[json.dumps(row).encode() for row in part] for part in halves(100)]
    portions[which][40:40] = [b'{"order": "x", "y": %s}' % deep.encode()]
    topics = [
        Topic(name, [[decoded(json.loads, one) for one in part]])
        for name, part in zip(("orders", "labels"), portions, strict=True)
    ]
    source = LateSource(*topics, id="order", target="y")
    with pytest.warns(DataNotice, match="nested more than 100 levels deep"):
        run = evaluate(fresh(), source, exact=False, checkpoint=tmp_path, every=10)
    assert (run.n_instances, run.bad_rows.count) == (100, 1)


def test_the_measures_of_numbers_use_the_answers_given_at_the_time():
    todo = [{"id": i, "a": row["a"], "y": row["y"]} for i, row in enumerate(numbers(300))]
    portions = (slice(0, 100), slice(100, 300))
    schema = Schema((Feature("a"),), (), numeric=True)
    topics = [
        Topic(
            name, [[{field: row[field] for field in ("id", name)} for row in todo[one]] for one in portions]
        )
        for name in ("a", "y")
    ]
    run = evaluate(
        fresh().bind(schema), LateSource(*topics, id="id", target="y", schema=schema), exact=False, window=50
    )
    late = LateLabels(fresh().bind(schema))
    for portion in portions:
        for row in todo[portion]:
            late.answer(row["id"], [row["a"]])
        for row in todo[portion]:
            late.learn(row["id"], row["y"])
    assert late.figures == pytest.approx(run.figures, rel=1e-12)
    assert run.mae > 300  # a third of the predictions was made before the first label


def test_a_memory_of_labels_is_told_how_late_they_are():
    """Four instances, then their labels: before each label, zero to three other labels arrived."""
    schema = Schema((Feature("a"),), tuple("abcd"))
    todo = [{"id": i, "a": 1.0, "y": "abcd"[i % 4]} for i in range(200)]
    topics = [
        Topic(
            name,
            [[{f: row[f] for f in ("id", name)} for row in todo[at : at + 4]] for at in range(0, 200, 4)],
        )
        for name in ("a", "y")
    ]
    delays = []

    class Noting(LateSource):
        def delays(self):
            delays.extend(super().delays().tolist())
            return super().delays()

    memory = Heros(pools.LabelMemory([{}]), Everything(), 1, seed=1, schema=schema)
    run = evaluate(memory, Noting(*topics, id="id", target="y", schema=schema))
    assert delays == list(range(4)) * 50
    late = LateLabels(Heros(pools.LabelMemory([{}]), Everything(), 1, seed=1, schema=schema))
    for at in range(0, 200, 4):
        for row in todo[at : at + 4]:
            late.answer(row["id"], [1.0])
        for row in todo[at : at + 4]:
            late.learn(row["id"], row["y"])
    assert late.figures["accuracy"] == run.accuracy


def test_a_late_label_that_is_no_number_is_a_bad_row():
    features, labels = halves(60, task="regression")
    labels[7]["y"], labels[8]["y"] = "soon", None
    source = LateSource(
        Topic("f", [features]),
        Topic("l", [labels]),
        id="order",
        target="y",
        task="regression",
    )
    with pytest.warns(DataNotice, match="'soon'"), pytest.warns(DataNotice, match="Rows without a target"):
        run = evaluate(fresh(), source, window=50)
    assert (run.n_instances, run.bad_rows.count, run.bad_rows.first[0].value) == (58, 2, "'soon'")
    assert run.bad_rows.unlabelled == 1


def test_the_measures_use_the_answers_given_at_the_time():
    """Compute the counts of `LateLabels` by hand."""
    todo = [{"a": row["a"], "y": "yes" if row["a"] > 0.3 else "no"} for row in rows(300)]
    features = [{"id": i, "a": row["a"]} for i, row in enumerate(todo)]
    labels = [{"id": i, "y": row["y"]} for i, row in enumerate(todo)]
    portions = (slice(0, 100), slice(100, 300))
    schema = Schema.of(["a"], classes=["no", "yes"])
    topics = [
        Topic(name, [rows[portion] for portion in portions])
        for name, rows in (("f", features), ("l", labels))
    ]
    source = LateSource(*topics, id="id", target="y", schema=schema)
    run = evaluate(fresh().bind(schema), source, exact=False, window=50)
    late = LateLabels(fresh().bind(schema))
    for portion in portions:
        for row in features[portion]:
            late.answer(row["id"], [row["a"]])
        for row in labels[portion]:
            late.learn(row["id"], schema.classes.index(row["y"]))
    assert late.figures == pytest.approx(run.figures, rel=1e-12)
    at_once = streams.from_iter([({"a": row["a"]}, row["y"]) for row in todo])
    assert evaluate(fresh(), at_once, window=50).log_loss < run.log_loss - 0.1  # later predictions are better


def test_from_any_place_the_rest_is_the_same():
    def drained(source):
        found = []
        while (got := source.poll(7, 0)) is not END:
            found += [(x.tobytes(), int(y)) for x, y in zip(*got, strict=True)]
        return found

    expected = drained(joined()[0])
    first, given = joined()[0], 0
    while (got := first.poll(23, 0)) is not END:
        given += len(got[1])
        where = json.loads(json.dumps(first.where(), allow_nan=False))
        second = joined()[0]
        second.seek(where)
        assert drained(second) == expected[given:]
        assert second.counts.learnt == 400


def test_labels_before_their_instances_and_labels_of_nobody():
    features, labels = halves(10)
    source = LateSource(
        Topic("f", [features[:2], features[2:]]), Topic("l", [[*labels, {"order": 99, "y": "low"}, labels[0]]]),
        id="order", target="y", most=50, longest=1000,
    )  # fmt: skip
    seen = 0
    while (got := source.poll(1, 0)) is not END:
        seen += 0 if got is IDLE else len(got[1])
        where = json.loads(json.dumps(source.where()))
        assert len(where["waiting"]) + seen >= min(seen, 10)
    assert (seen, source.counts.learnt, source.waiting) == (10, 10, 0)
    assert len(source.where()["early"]) <= 2


def test_an_early_label_survives_a_stop():
    features, labels = halves(6)
    slow = Topic("f", [[], features])
    slow.ends, fetched = [0, 6], []
    source = LateSource(slow, Topic("l", [labels]), id="order", target="y")
    real, slow.fetch = slow.fetch, lambda most, timeout: IDLE
    assert source.poll(10, 0) is IDLE  # all labels have arrived, but no instance
    where = json.loads(json.dumps(source.where()))
    assert [one[0] for one in where["early"]] == list(map(str, range(6)))
    slow.fetch = lambda most, timeout: real(most, timeout) if slow.at < 6 else END
    again = LateSource(slow, Topic("l", [labels]), id="order", target="y")
    again.labels.at = 6
    again.seek(where)
    while (got := again.poll(2, 0)) is not END:
        fetched += got[1].tolist()
        stood = json.loads(json.dumps(again.where()))
        assert len(stood["waiting"]) == slow.at - len(fetched)
        assert len(stood["early"]) == 6 - len(fetched)
    assert len(fetched) == 6


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("signalled", [False, True], ids=["error", "interrupt"])
def test_a_prediction_that_is_broken_off_loses_no_instance(signalled, resumed):
    class Model:
        predicted = 0

        def bind(self, schema):
            pass

        def outputs(self, X, delay):
            self.predicted += 1
            if self.predicted == 7:
                if not signalled:
                    raise RuntimeError("broken")
                signal.raise_signal(signal.SIGINT)
            return np.full((1, 2), 0.5)

    def opened():
        schema = Schema.of(["size"], classes=["no", "yes"])
        features = Topic("f", [[{"id": i, "size": i} for i in range(20)]])
        labels = Topic("l", [[{"id": i, "y": "yes"} for i in range(20)]])
        return LateSource(features, labels, id="id", target="y", schema=schema)

    source = opened()
    source.meet(Model())
    with pytest.raises((RuntimeError, KeyboardInterrupt)):
        source.poll(20, 0.1)
    if resumed:
        where = json.loads(json.dumps(source.where()))
        source = opened()
        source.seek(where)
    sizes = []
    while (got := source.poll(20, 0.1)) is not END:
        sizes += [] if got is IDLE else got[0][:, 0].tolist()
    assert sorted(sizes) == list(range(20))
    assert source.counts.answered == 20


def test_an_early_label_that_is_read_again_is_not_another_label():
    instances = [{"id": i, "size": i} for i in range(4)]

    def opened(features):
        labels = Topic("l", [[{"id": i, "y": "yes"} for i in range(4)]])
        return LateSource(Topic("f", [features]), labels, id="id", target="y", longest=1000)

    source = opened(instances)
    source.features.fetch = lambda most, timeout: IDLE
    assert source.poll(10, 0) is IDLE  # all labels have arrived, but no instance
    where = json.loads(json.dumps(source.where()))
    sizes, polled = [], None
    while polled is not END:
        source = opened(instances)
        source.seek(json.loads(json.dumps(where)))  # reads the labels again
        while isinstance(polled := source.poll(1, 0), Signal):
            if polled is END:
                break
        else:
            sizes += polled[0][:, 0].tolist()
        where = source.where()
    assert sizes == [0, 1, 2, 3]
    assert (source.counts.unknown, source.waiting, where["early"]) == (0, 0, [])


def test_few_instances_are_predicted_if_few_labels_are_asked_for():
    features, labels = halves(100)
    source = LateSource(Topic("f", [features]), Topic("l", [labels]), id="order", target="y")
    for asked in (1, 2, 3):
        assert len(source.poll(asked, 1)[1]) == asked
    assert source.features.at == 6


def test_another_instance_with_the_id_of_a_waiting_instance_is_a_bad_row():
    features = [{"id": i, "size": i} for i in range(40)]
    repeated = [*features, {"id": "7", "size": 7}, {"id": 7, "size": 99}]
    labels = [{"id": i, "y": "yes"} for i in range(40)]
    source = LateSource(Topic("f", [repeated]), Topic("l", [[], labels]), id="id", target="y")
    source.labels.fetch, later = lambda most, timeout: IDLE, source.labels.fetch
    with pytest.warns(DataNotice, match="a different instance with the id '7'"):
        assert source.poll(100, 0) is IDLE  # all instances have arrived
    source.labels.fetch = later
    sizes = []
    while (got := source.poll(100, 0.1)) is not END:
        sizes += [] if got is IDLE else got[0][:, 0].tolist()
    assert sorted(sizes) == list(range(40))
    assert source.bad_rows.count == 1


def test_instances_that_expired_before_a_checkpoint_do_not_wait_again():
    now = 1e9

    def opened():
        features = Topic("f", [[{"id": i, "size": i} for i in range(20)]])
        labels = Topic("l", [[{"id": -1, "y": "yes"}]])
        return LateSource(features, labels, id="id", target="y", longest=10, expired="no", clock=lambda: now)

    source = opened()
    assert source.poll(1, 0) is IDLE  # the instances have arrived
    now += 11
    while source.poll(1, 0.1) is IDLE:
        pass
    where = json.loads(json.dumps(source.where()))
    again = opened()
    again.seek(where)
    while again.position < 20:
        assert isinstance(again.poll(20, 0.1), tuple)
    assert (again.counts.expired, again.counts.learnt, again.waiting) == (20, 20, 0)


@pytest.mark.parametrize(("expired", "instances"), [(None, 100), ("no", 301)])
def test_those_whose_label_never_comes(expired, instances):
    features, labels = halves(400)
    time = iter(range(10**6))
    source = LateSource(
        Topic("f", [features]), Topic("l", [labels[300:]]), id="order", target="y", most=100_000, longest=2000,
        expired=expired, clock=lambda: next(time),
    )  # fmt: skip
    source._waiting.most = 100
    run = evaluate(fresh(), source, window=50)
    assert (run.n_instances, source.counts.expired, source.waiting) == (instances, 201, 99)
    assert ("no" in source.schema.classes) == (expired is not None)


def test_what_is_no_instance_and_no_label():
    features, labels = halves(20)
    bad = Topic("f", [[*features[:5], "broken", {"a": 1.0}, *features[5:]]])
    wrong = Topic("l", [[*labels[:3], {"order": 3}, *labels[3:], {"order": True, "y": 1}]])
    source = LateSource(bad, wrong, id="order", target="y")
    with pytest.warns(DataNotice, match="'broken'"):
        run = evaluate(fresh(), source)
    assert (run.n_instances, run.bad_rows.count) == (20, 4)
    bad.at = wrong.at = 0
    strict = LateSource(bad, wrong, id="order", target="y", on_bad_row="raise")
    with pytest.raises(DataError, match="must be a pair"):
        evaluate(fresh(), strict)
    with pytest.raises(ParameterError, match="the name of a field that both sources have"):
        LateSource(bad, wrong, id=3, target="y")
    with pytest.raises(DataError, match="must be a value returned by its method 'where'"):
        strict.seek({"position": {}})


ODD = (
    float("inf"),
    float("nan"),
    datetime(2026, 10, 28, 12, 30),
    Decimal("2.50"),
    [1, 2],
    b"x",
    {"low": 1.0},
)


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_whatever_a_message_holds_a_checkpoint_can_keep_it(tmp_path):
    features = [{"order": i, "a": float(i), "b": value} for i, value in enumerate(ODD)]
    labels = [{"order": i, "y": "low"} for i in range(len(ODD))]
    nobody = [{"order": 100 + i, "y": value} for i, value in enumerate(ODD)]
    topics = Topic("f", [features]), Topic("l", [[*nobody, *labels[:2]], labels[2:]])
    source = LateSource(*topics, id="order", target="y")
    run = evaluate(fresh(), source, window=50, block=1, checkpoint=tmp_path, every=1)
    assert (run.n_instances, run.bad_rows.count) == (3, 4)  # column b contains dates


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_rows_that_wait_are_read_alike_after_a_stop():
    """Rows in all forms that users write, with a stop after each row."""
    rows = [
        {
            "when": datetime(2026, 1 + i % 12, 1 + i % 28, i % 24),
            "day": f"{1 + i % 12}/{1 + i % 28}/2026",
            "price": Decimal(i) / 4 if i % 3 else f"€{i}",
            "took": timedelta(seconds=i),
            "size": float("nan") if i % 5 == 0 else np.float32(i),
            "place": {"high": i % 2 == 0},
        }
        for i in range(60)
    ]
    alone = fresh()
    for i, row in enumerate(rows):
        alone.learn(row, "high" if i % 3 else "low")
    labels = [{"order": str(i) if i % 2 else i, "y": "high" if i % 3 else "low"} for i in range(60)]
    features = [{"order": i, **row} for i, row in enumerate(rows)]

    def source():
        topics = Topic("f", [features[:40], features[40:]]), Topic("l", [labels[:30], labels[30:]])
        return LateSource(*topics, id="order", target="y")

    model, one = fresh(), source()
    while (got := one.poll(1, 0)) is not END:
        if got is IDLE:
            continue
        model.bind(one.schema).learn(*got)
        where = json.loads(json.dumps(one.where()))
        one = source()
        one.seek(where)
    assert learnt(model) == learnt(alone)
    assert schema_plain(model.schema) == schema_plain(alone.schema)


def test_an_id_is_text_however_it_is_written():
    features = [{"order": one, "a": 1.0} for one in ("7", 8, 9.0, 1.5, True)]
    labels = [{"order": one, "y": "low"} for one in (7.0, "8", 9, "1.5", 1)]
    source = LateSource(Topic("f", [features]), Topic("l", [labels]), id="order", target="y")
    with pytest.warns(DataNotice, match="'order' must be text or a whole number"):
        run = evaluate(fresh(), source)
    assert (run.n_instances, run.bad_rows.count, source.waiting) == (3, 2, 0)


def test_both_are_told_what_a_checkpoint_holds(tmp_path):
    source, _ = joined()
    evaluate(fresh(), source, window=50, checkpoint=tmp_path, every=100)
    assert (source.features.acknowledged, source.labels.acknowledged) == ({"at": 400}, {"at": 400})


KILLED = """
import pickle, sys
sys.path.insert(0, {here!r})
from test_queues import fresh, learnt
from heros import evaluate
from heros.streams.live import connect
model = fresh()
with connect({address!r}, target="y") as source:
    evaluate(model, source, window=100, block=50, checkpoint={directory!r}, every=70, resume=True)
if len(sys.argv) > 1:
    pickle.dump(learnt(model), open(sys.argv[1], "wb"))
"""


def test_killed_again_and_again_every_label_is_learnt_once(tmp_path):
    server = Redis(tmp_path)
    features, labels = halves(700)
    server.send(features)
    server.send(labels, "labels")
    address = f"{server.address}?labels=labels&id=order&follow=no"
    here, result = os.path.dirname(__file__), tmp_path / "learnt"
    code = KILLED.format(here=here, address=address, directory=str(tmp_path / "kept"))
    for wait in (1.0, 1.5):
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    subprocess.run([sys.executable, "-c", code, str(result)], check=True)
    server.stop()
    assert pickle.loads(result.read_bytes()) == once(rows(700))


def test_ids_in_redis_fields_are_told_apart_however_they_are_written(tmp_path):
    """As floats, 18-digit neighbours would be equal, 007 would be 7, and 12e34567 would be infinite."""
    ids = [*(str(987654321987654321 + i) for i in range(8)), "007", "7", "1e3", "1000", "12e34567", "nan"]
    server = Redis(tmp_path)
    with server._redis.Redis.from_url(server.url) as client:
        for at, id in enumerate(ids):
            client.xadd(NAME, {"order": id, "size": at})
        for at, id in reversed(list(enumerate(ids))):
            client.xadd("labels", {"order": id, "y": f"class {at}"})
    with connect(f"{server.address}?labels=labels&id=order&follow=no", target="y") as source:
        learnt, got = {}, None
        while (got := source.poll(100, 5)) is not END:
            X, y = got
            learnt |= dict(zip(X[:, 0].tolist(), [source.schema.classes[one] for one in y], strict=True))
    server.stop()
    assert learnt == {float(at): f"class {at}" for at in range(len(ids))}


def test_a_float_that_stands_for_several_ids_is_a_bad_row():
    features, labels = halves(60)
    features.append({"order": 2.0**60, "a": 1.0})
    source = LateSource(Topic("f", [features]), Topic("l", [labels]), id="order", target="y")
    with pytest.warns(DataNotice, match="'order' must be text or a whole number"):
        list(iter(lambda: source.poll(100, 5), END))
    assert (source.bad_rows.count, source.waiting) == (1, 0)


@pytest.mark.parametrize("task", MADE)
def test_on_the_command_line(tmp_path, task):
    server = Redis(tmp_path)
    features, labels = halves(200, task=task)
    server.send(features)
    server.send(labels[:150], "labels")
    (tmp_path / "pool.toml").write_text('kind = "mlp"\n[grid]\nhidden = [4]\n')
    address = f"{server.address}?labels=labels&id=order&follow=no&waiting=1000&longest=60"
    how = ["--target", "y", "--task", task, "--pool", str(tmp_path / "pool.toml")]
    said = CliRunner().invoke(app, ["run", address, *how])
    with connect(address, target="y", task=task) as source:
        assert isinstance(source, LateSource)
        assert source.schema.numeric == (task == "regression")
    server.stop()
    assert said.exit_code == 0, said.output
    assert "150 learnt, 0 expired, 0 unknown, 50 instances waiting" in said.output
    assert ("R²" in said.output) == (task == "regression")


def test_a_model_that_knows_nothing_yet_has_no_opinion():
    features, labels = halves(60)
    source = LateSource(
        Topic("f", [features]), Topic("l", [labels]), id="order", target="y", classes=["low", "high"]
    )
    run = evaluate(Heros(pools.MLPGrid(hidden=[4]), k=2, seed=1), source)
    assert run.log_loss == pytest.approx(np.log(2))


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_waiting_instances_are_bounded_in_bytes():
    features, labels = halves(400)
    large = {"order": "large", "text": "z" * 300_000}
    wide = [{**row, "text": "abcde"[i % 5] * 10_000} for i, row in enumerate(features)]
    source = LateSource(
        Topic("features", [[*wide[:30], large, *wide[30:]]]), Topic("labels", [labels]),
        id="order", target="y", memory=1_000_000,
    )  # fmt: skip
    run = evaluate(fresh(), source)
    assert run.bad_rows.count == 1
    assert "bytes" in run.bad_rows.first[0].value
    assert run.n_instances + source.counts.expired == 400
    assert source.waiting < 100


def test_memory_is_checked():
    with pytest.raises(ParameterError, match="The 'memory' parameter of LateSource must be"):
        LateSource(Topic("f", []), Topic("l", []), id="i", target="y", memory=0)


@pytest.mark.parametrize("most", [20, 100])
def test_a_label_of_nobody_costs_no_waiting_instance(most):
    instances = Topic("orders", [[{"order": i, "amount": i % 7} for i in range(500)]])
    labels = [{"order": i, "fraud": i % 7 > 4} for i in range(500)]
    labels.insert(200, {"order": "nobody", "fraud": True})
    source = LateSource(instances, Topic("labels", [labels]), id="order", target="fraud", most=most)
    run = evaluate(Heros(pools.MLPGrid(hidden=[2]), k=2, seed=1), source)
    assert (run.n_instances, source.counts.expired) == (500, 0)
