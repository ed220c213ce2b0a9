"""Training and prediction in the service, without HTTP."""

from __future__ import annotations

import copy
import csv
import json
import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("orjson", reason="heros serve is not installed")

from heros import DataError, DataNotice, Heros, HerosError, ParameterError, Schema, pools, streams
from heros.data.schema import schema_plain
from heros.ensemble.late import LateLabels
from heros.policies import Everything
from heros.serve.checkpoint import CheckpointDirectory
from heros.serve.history import History, Worse
from heros.serve.learners import OneModel
from heros.serve.limits import Limits, NotNow, Unknown, Wrong
from heros.serve.service import Service
from heros.serve.status import leaderboard
from heros.streams import Agrawal
from serve.serving import many, model, one, rows, served, soon


def taught(n):
    """Return a model trained on the rows one by one, without a service."""
    alone = model()
    for x, y in rows(n):
        alone.learn(x, y)
    return alone


def teach(service, n, start=0, **more):
    for x, y in rows(n, start):
        service.learn({"x": x, "y": y, **more})


def same(a, b):
    groups, others = a.state(), b.state()
    return all(
        np.array_equal(array, others[group][name], equal_nan=True)
        for group, arrays in groups.items()
        for name, array in arrays.items()
        if name != "cpu"
    )


def test_it_learns_what_a_model_alone_learns():
    with one() as service:
        teach(service, 300)
        service.wait()
        assert service.predict({"x": {"size": 2.0, "colour": "red"}})["probabilities"].keys() == {
            "even",
            "odd",
        }
        assert service.counts.learnt == 300
    assert same(service.learner.model, taught(300))


def test_a_label_may_come_later_and_the_answer_given_then_counts():
    with one(window=10) as service:
        teach(service, 100)
        service.wait()
        given = [service.predict({"id": i, "x": x}) for i, (x, _) in enumerate(rows(50, 100))]
        assert len(service.pending) == 50
        for i, (_, y) in enumerate(rows(50, 100)):
            service.learn({"id": i, "y": y})
        service.wait()
        assert (len(service.pending), service.counts.learnt) == (0, 150)
        right = [said["prediction"] == y for said, (_, y) in zip(given, rows(50, 100), strict=True)]
        assert service.history.points.curves["accuracy"][-5:] == pytest.approx(
            np.array(right).reshape(5, 10).mean(axis=1)
        )
        with pytest.raises(Unknown):
            service.learn({"id": 7, "y": "odd"})
        assert service.counts.unknown == 1


def test_labels_that_come_late_are_learnt_at_their_distance():
    """Labels in a cycle of five arrive four instances late: the memory learns to predict five labels ahead."""
    schema = Schema.of(["size"], classes=list("abcde"))
    model = Heros(pools.LabelMemory([{}]), Everything(), 1, seed=1, schema=schema)
    with Service(OneModel(model)) as service:
        said = []
        for i in range(104):
            said.append(service.predict({"id": i, "x": {"size": 1.0}})["prediction"])
            if i >= 4:
                service.learn({"id": i - 4, "y": "abcde"[(i - 4) % 5]})
                service.wait()
        assert said[-20:] == ["abcde"[i % 5] for i in range(84, 104)]


def test_asked_again_under_an_id_the_answer_is_the_one_that_was_given():
    with one() as service:
        first = service.predict({"id": "a", "x": {"size": 1}})
        teach(service, 50)
        service.wait()
        assert service.predict({"id": "a", "x": {"size": 1}}) == first
        with pytest.raises(Wrong, match="'a' must be new"):
            service.predict({"id": "a", "x": {"size": 2}})


def test_those_that_wait_too_long_or_are_too_many_go():
    with one(most=3, longest=3600) as service:
        for i in range(5):
            service.predict({"id": i, "x": {"size": i}})
        assert (list(service.pending), service.counts.expired) == ([2, 3, 4], 2)


BEGUN, GO_ON = threading.Event(), threading.Event()


class Slow:
    def predict_proba(self, x):
        return [0.5, 0.5]

    def learn(self, x, y):
        BEGUN.set()
        assert GO_ON.wait(20)


class Broken(Slow):
    def learn(self, x, y):
        raise RuntimeError("no more")


def test_whoever_asks_does_not_wait_for_a_model_that_learns():
    slow = Heros(
        pools.Models([("slow", Slow())], costs=[1.0]),
        Everything(),
        seed=1,
        schema=Schema.of(["size"], ["a", "b"]),
    )
    with Service(OneModel(slow)) as service:
        service.learn({"x": {"size": 1}, "y": "a"})
        assert BEGUN.wait(20)
        assert service.predict({"x": {"size": 1}})["probabilities"] == {"a": 0.5, "b": 0.5}
        assert service.queued == 1
        GO_ON.set()


def test_a_model_that_raises_is_counted_and_the_service_goes_on():
    broken = Heros(
        pools.Models([("broken", Broken())], costs=[1.0]),
        Everything(),
        schema=Schema.of(["size"], ["a", "b"]),
    )
    with Service(OneModel(broken)) as service:
        for _ in range(3):
            service.learn({"x": {"size": 1}, "y": "a"})
        service.after(lambda: None).result(20)
        assert service.failed == 3 or service.learner.model.diverged.all()
        service.predict({"x": {"size": 1}})


def test_a_full_queue_says_so():
    with one(limits=Limits(queue=10)) as service:
        hold = threading.Event()
        service.after(hold.wait)
        teach(service, 10)
        with pytest.raises(NotNow, match="training queue is full: 10 instances"):
            teach(service, 1)
        hold.set()
        service.wait()
        teach(service, 1)


def test_a_batch_that_never_fits_into_the_queue_is_refused_for_good():
    """A client that follows Retry-After would send the batch again and again."""
    with one(limits=Limits(queue=3)) as service:
        with pytest.raises(Wrong, match="must have at most 3 instances, the size of the training queue"):
            service.learn_all([{"x": {"size": i}, "y": "a"} for i in range(4)])
        teach(service, 1)


def test_requests_that_wait_share_an_update_of_the_model():
    """Each had an update of its own, which made 300 parallel requests twenty times slower."""
    with one() as service:
        teach(service, 10)
        service.wait()
        hold, waiting = threading.Event(), []
        service.after(hold.wait)
        for _ in range(50):
            teach(service, 1)
            waiting.append(service.when_published())
        before = service.published
        hold.set()
        for one_of_them in waiting:
            one_of_them.result(20)
        assert service.published - before <= 2
        assert service.history.learnt == service.learner.known() == 60


def test_a_stopped_service_accepts_no_instance(tmp_path):
    """Instances that were accepted after the last checkpoint were lost, and nothing said so."""
    service, accepted = one(store=CheckpointDirectory(tmp_path)), 0
    refused, over = list[str](), threading.Event()

    def feed():
        nonlocal accepted
        while not (refused or over.is_set()):
            try:
                teach(service, 1)
                accepted += 1
            except NotNow:
                over.wait(0.001)
            except HerosError as error:
                refused.append(str(error))

    thread = threading.Thread(target=feed)
    thread.start()
    assert soon(lambda: accepted > 5)
    service.stop()
    thread.join(5)
    over.set()
    thread.join()
    assert refused == ["The service has stopped."]
    with pytest.raises(HerosError, match="The service has stopped"):
        service.learn_all([{"x": {"size": 1}, "y": "a"}])
    with one(store=CheckpointDirectory(tmp_path)) as again:
        assert again.history.learnt == accepted


WRONG = [
    ([], "must be an object"),
    ({"y": 1}, 'either "x" or "id"'),
    ({"x": {"a": 1}, "id": 1, "y": 1}, 'either "x" or "id"'),
    ({"x": {"a": 1}}, 'with "y"'),
    ({"x": {"a": 1}, "y": 1, "z": 2}, "may have only the fields"),
    ({"x": {"a": 1}, "y": [1]}, "The label must be text"),
    ({"x": {"a": 1}, "y": None}, "label must have a value"),
    ({"x": {"a": [1]}, "y": 1}, "must have a feature"),
    ({"x": {"a": None, "b": "n/a", "c": {}}, "y": 1}, "must have a feature"),
    ({"x": [1], "y": 1}, "An instance must be an object"),
    ({"x": {}, "y": 1}, "must have a feature"),
    ({"x": {"a": float("inf")}, "y": 1}, "be a finite number"),
    ({"x": {"a": 1}, "y": 1, "key": "k"}, "must have no key"),
    ({"x": {"a": "z" * 300}, "y": 1}, "at most 200 characters"),
    ({"x": {"z" * 300: 1}, "y": 1}, "at most 200 characters"),
    ({"x": {str(i): 1 for i in range(2000)}, "y": 1}, "at most 1,000 features"),
    ({"x": {"a": {"b": {str(i): 1 for i in range(2000)}}}, "y": 1}, "at most 1,000 features"),
]


@pytest.mark.parametrize(("request_", "why"), WRONG, ids=[why for _, why in WRONG])
def test_what_is_wrong_is_refused_and_changes_nothing(request_, why):
    with one() as service:
        with pytest.raises(Wrong, match=why):
            service.learn(request_)
        assert (service.queued, service.learner.schema) == (0, None)


def test_a_feature_keeps_its_kind():
    with one() as service:
        for _ in range(4):
            service.learn({"x": {"size": 1, "colour": "red"}, "y": "a"})
        schema = service._encoder.schema
        for x in (
            {"size": "large"},
            {"size": [1], "colour": "new"},
            {"colour": {"a": 1}, "size": {}, "new": 1e999},
        ):
            with pytest.raises(Wrong, match=r"The feature '(size|new)' must be a"):
                service.learn({"x": x, "y": "b"})
        assert service._encoder.schema is schema
        service.wait()
        with pytest.raises(Wrong, match="'size' must be a number"):
            service.predict({"x": {"size": "large"}})
        only_known = service.predict({"x": {"size": 1}})
        assert service.predict({"x": {"size": 1, "new": 1}}) == {**only_known, "ignored": ["new"]}


DEEP = json.loads("[" * 900 + "]" * 900)


def test_what_is_nested_deeply_is_refused():
    with one() as service:
        service.learn({"x": {"size": 1}, "y": "a"})
        service.wait()
        for act in (service.predict, service.learn):
            with pytest.raises(Wrong, match="The field 'size' must be nested at most 100 levels"):
                act({"x": {"size": DEEP}} | ({} if act == service.predict else {"y": "a"}))
        with pytest.raises(Wrong, match="The label must be text"):
            service.learn({"x": {"size": 1}, "y": DEEP})


def test_there_are_only_so_many_names():
    with one(limits=Limits(features=2, values=2, classes=2)) as service:
        service.learn({"x": {"a": 1}, "y": "x"})
        service.learn({"x": {"b": "red"}, "y": "y"})
        service.learn({"x": {"b": "blue"}, "y": "y"})
        for x, y, why in (
            ({"c": 1}, "x", r"at most 2 features\. Got a new feature, 'c',"),
            ({"c": [1]}, "x", r"at most 2 features\. Got a new feature, 'c',"),
            ({"b": "green"}, "x", r"'b' must have at most 2 values\. Got a new value, 'green',"),
            ({"a": 1}, "z", r"at most 2 classes\. Got a new class, 'z',"),
        ):
            with pytest.raises(Wrong, match=why):
                service.learn({"x": x, "y": y})
        assert service._encoder.schema.classes == ("x", "y")


def test_a_model_of_more_columns_than_may_be_new_is_served():
    wide = {f"c{i}": float(i) for i in range(30)} | {f"note{i}": [i] for i in range(30)}
    alone = model()
    with pytest.warns(DataNotice):
        alone.learn([wide, wide], ["a", "b"])
    with Service(OneModel(copy.deepcopy(alone)), limits=Limits(features=5)) as service:
        assert service.predict({"x": wide})["probabilities"] == alone.predict_proba(wide)
        service.learn({"x": wide | {"c1": "n/a"}, "y": "a"})
        with pytest.raises(Wrong, match="at most 60 features"):
            service.learn({"x": {**wide, "new": 1}, "y": "a"})


# -- rows in users' formats ---------------------------------------------------------------------------------


def table(n=120):
    """Return rows in the form that users write; new columns, values and classes appear over time."""
    for i in range(n):
        x = {
            "when": f"{1 + i % 28}.{1 + i % 12}.2026 {i % 24}:30",
            "price": f"{1 + i % 7}.200,50 €",
            "share": f"{i % 9} %",
            "kind": "n/a" if i % 6 == 0 else f"k{i // 40}",
            "place": {"high": ("true", True, "False")[i % 3], "city": None if i % 4 else "Ulm"},
            "tags": [i, {"a": 1}],
            "order": f"A-{i}",
        }
        if i > 60:
            x["late"] = str(i % 5)
        yield x, "even" if i % 2 == 0 else "odd" if i < 90 else "late"


def test_rows_are_read_as_a_model_alone_reads_them_before_and_after_a_stop(tmp_path):
    alone = model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        for x, y in table():
            alone.learn(x, y)
    for some in (slice(0, 37), slice(37, 100), slice(100, 120)):
        with one(store=CheckpointDirectory(tmp_path)) as service:
            for x, y in list(table())[some]:
                service.learn({"x": x, "y": y})
            service.wait()
            notices = service.notices
            assert service._encoder.seen == service.learner.model.instances
            told = [service.predict({"x": x})["probabilities"] for x, _ in table()]
        assert len(notices) == len(set(notices))
        if some.start == 0:
            assert any("'tags' is left out: a list" in notice for notice in notices)
    assert same(service.learner.model, alone)
    assert service.learner.schema == alone.schema
    assert schema_plain(service.learner.schema) == schema_plain(alone.schema)
    assert told == alone.predict_proba([x for x, _ in table()])


def test_keys_read_rows_as_models_alone_do(tmp_path):
    alone = model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        for x, y in table():
            alone.learn(x, y)
    for some in (slice(0, 37), slice(37, 120)):
        with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path)) as service:
            for x, y in list(table())[some]:
                service.learn({"x": x, "y": y, "key": "roof"})
            service.wait()
            told = [service.predict({"x": x, "key": "roof"})["probabilities"] for x, _ in table()]
            unknown = [
                service.predict({"x": x, "key": "roof"})
                for x in ({"new": 1, "kind": None}, {"kind": None}, {})
            ]
            assert unknown[0] == {**unknown[1], "ignored": ["new"]}
            assert unknown[1] == unknown[2]
            with pytest.raises(Wrong, match="'share' must be a number"):
                service.predict({"x": {"share": "many"}, "key": "roof"})
            found = service.learner.models["roof"]
    assert same(found, alone)
    assert told == alone.predict_proba([x for x, _ in table()])


HEADER = "order,when,price,share,kind,note,high,y"


def file_of(path, n=300):
    lines = [
        f'A-{i},{1 + i % 28}.{1 + i % 12}.2026,"{1 + i % 7}.200,50 €",{i % 9} %,'
        f"{'unknown' if i % 6 == 0 else f'k{i % 4}'},{'-' if i % 3 == 0 else i},{str(i % 2 == 0).lower()},"
        f"{'even' if i % 2 == 0 else 'odd'}"
        for i in range(n)
    ]
    path.write_text("\n".join([HEADER, *lines]), encoding="utf-8")
    return path


def typed(row):
    """Return the row with native JSON values."""
    price = float(row["price"].removesuffix(" €").replace(".", "").replace(",", "."))
    known = {"price": price, "share": float(row["share"].removesuffix(" %")), "high": row["high"] == "true"}
    note = None if row["note"] == "-" else int(row["note"])
    return row | known | {"note": note, "kind": None if row["kind"] == "unknown" else row["kind"]}


@pytest.mark.parametrize("form", [dict, typed])
def test_a_model_of_a_file_answers_the_rows_of_the_file(tmp_path, form):
    """Predictions are identical for text and JSON values, and training continues as in a single model."""
    path = file_of(tmp_path / "table.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        stream = streams.read(path, target="y", missing=["unknown"])
    trained = model(schema=stream.schema)
    for X, y in stream.blocks(100):
        trained.learn(X, y)
    trained.save(tmp_path / "m.heros")
    with path.open(encoding="utf-8") as file:
        rows_ = [dict(row) for row in csv.DictReader(file)]
    labels = [row.pop("y") for row in rows_]
    sent = [form(row) for row in rows_]
    loaded = Heros.load(tmp_path / "m.heros")
    assert not any(feature.missing for feature in loaded.schema.features if feature.name == "price")
    with Service(OneModel(Heros.load(tmp_path / "m.heros"))) as service:
        told = service.predict_all([{"x": x} for x in sent])
        assert [one["probabilities"] for one in told] == loaded.predict_proba(rows_)
        assert service._encoder.seen == 300
        for x, y in zip(sent, labels, strict=True):
            service.learn({"x": x | {"new": 1.5}, "y": y})
        service.learn({"x": {}, "y": "neither"})
        service.wait()
        for row, y in zip(rows_, labels, strict=True):
            loaded.learn(row | {"new": 1.5}, y)
        loaded.learn({}, "neither")
        told = service.predict_all([{"x": x} for x in sent])
    assert same(service.learner.model, loaded)
    assert [one["probabilities"] for one in told] == loaded.predict_proba(rows_)


def test_a_class_that_comes_late_is_told_once():
    with one() as service:
        service.learn({"x": {"size": 1.0}, "y": "yes"})
        early = [{"x": {"size": float(i % 7)}, "y": "yes" if i % 2 else "no"} for i in range(119)]
        assert service.learn_all(early).notices == []  # the first instances have the usual classes
        maybe, true = (
            "New class 'maybe' at instance 121. Known classes: 'yes', 'no'.",
            "New class 'True' at instance 123. Known classes: 'yes', 'no', 'maybe'.",
        )
        for size in (1.0, 2.0):
            service.learn({"x": {"size": size}, "y": "maybe"})
            assert service.notices == [maybe]
        taken = service.learn_all([{"x": {"size": 2.0}, "y": True}, {"x": {"size": 2.0}, "y": "True"}])
        assert (taken.accepted, taken.notices) == (2, [true])
        assert service.notices == [maybe, true]
        service.wait()
        assert service.learner.schema.classes == ("yes", "no", "maybe", "True")


@pytest.mark.parametrize("keyed", [False, True])
def test_a_row_without_any_known_name_is_refused_as_in_python(keyed):
    more = {"key": "roof"} if keyed else {}
    with many() if keyed else one() as service:
        told = service.predict({"x": {"hue": 1}, **more})  # no schema is known yet
        assert told["prediction"] is None
        teach(service, 20, **more)
        service.wait()
        alone = taught(20)
        with pytest.raises(DataError) as error:
            alone.predict({"hue": 1, "Size": 2})
        why = "A row must have at least one of the features 'colour', 'size'. Got 'hue', 'Size' instead."
        assert str(error.value) == why
        with pytest.raises(Wrong) as refused:
            service.predict({"x": {"hue": 1, "Size": 2}, "id": 7, **more})
        assert (str(refused.value), refused.value.status, len(service.pending)) == (why, 422, 0)
        with pytest.raises(Wrong, match="A row must have at least one of the features"):
            service.predict_all([{"x": {"size": 1}, **more}, {"x": {"hue": 1}, **more}])
        for x in ({"size": 1, "hue": 1}, {"colour": "mauve"}, {"size": None}, {}):
            told = service.predict({"x": x, **more})["probabilities"]
            assert told == pytest.approx(alone.predict_proba(x))


def test_a_misspelt_feature_is_named_in_the_reply_and_counted():
    with served(one()) as client:
        assert client.post("/predict", json={"x": {"colur": "red"}}).json().keys() == {
            "prediction",
            "probabilities",
        }
        batch = [
            {"x": {**x, "note": None, "tags": ["a"], "place": {"town": "Ulm"}}, "y": y} for x, y in rows(20)
        ]
        client.post("/learn/batch?wait=true", json={"instances": batch})
        right = {"size": 1.0, "colour": "red", "note": None, "tags": [], "place": {"town": "Bonn"}}
        wrong = {"size": 1.0, "colur": "red", "place": {"twon": "Ulm"}}
        assert "ignored" not in client.post("/predict", json={"x": right}).json()
        assert client.post("/predict", json={"x": wrong}).json()["ignored"] == ["colur", "place.twon"]
        said = client.post("/predict/batch", json={"instances": [{"x": wrong}, {"x": right}]}).json()
        assert ["ignored" in one for one in said["predictions"]] == [True, False]
        assert client.get("/health").json()["ignored"] == 2
        assert soon(lambda: "heros_ignored_total 2.0" in client.get("/metrics").text)


def test_of_a_batch_those_that_are_wrong_are_left_out():
    with one() as service:
        taken = service.learn_all([{"x": {"a": 1}, "y": 1}, {"y": 1}, {"id": 3, "y": 1}])
        assert (taken.accepted, taken.unknown, [one.at for one in taken.refused]) == (1, 1, [1])


# -- storage ---------------------------------------------------------------------------------------------


def test_a_service_goes_on_where_it_was_stopped(tmp_path):
    with one(store=CheckpointDirectory(tmp_path), window=10) as service:
        teach(service, 150)
        service.wait()
        said = service.predict({"id": "late", "x": {"size": 3.0, "colour": "red"}})
    with one(store=CheckpointDirectory(tmp_path), window=10) as service:
        assert (service.counts.learnt, len(service.pending), service.history.learnt) == (150, 1, 150)
        assert len(service.history.points) == 15
        assert service.predict({"id": "late", "x": {"size": 3.0, "colour": "red"}}) == said
        teach(service, 150, start=150)
    assert same(service.learner.model, taught(300))


def test_a_checkpoint_holds_what_was_sent_before_it_and_nothing_else(tmp_path):
    service = one(store=CheckpointDirectory(tmp_path), every=40)
    for i, (x, y) in enumerate(rows(100)):
        service.predict({"id": i, "x": x})
        service.learn({"id": i, "y": y})
    service.predict({"id": "never", "x": {"size": 1.0, "colour": "red"}})
    service.wait()
    assert service.checkpoints == 2
    service.store.close()  # as after a kill: the service has written nothing since
    again = one(store=CheckpointDirectory(tmp_path))
    assert (again.history.learnt, list(again.pending)) == (80, [])
    assert same(again.learner.model, taught(80))
    again.stop()
    service.store = None
    service.stop()


def test_a_broken_file_is_said_to_be_one(tmp_path):
    with one(store=CheckpointDirectory(tmp_path)) as service:
        teach(service, 10)
    path = tmp_path / "service.heros"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError):
        one(store=CheckpointDirectory(tmp_path))


def test_without_a_place_there_is_no_checkpoint():
    with one() as service, pytest.raises(HerosError, match="has no checkpoint directory"):
        service.checkpoint().result(20)


# -- keys ----------------------------------------------------------------------------------------------


def test_every_key_has_a_model_of_its_own(tmp_path):
    with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path)) as service:
        teach(service, 100, key="roof")
        teach(service, 60, key=7)
        service.wait()
        assert service.predict({"x": {"size": 1.0}, "key": "new"})["prediction"] in ("even", "odd")
        for request in ({"x": {"size": 1}}, {"x": {"size": 1}, "key": [1]}):
            with pytest.raises(Wrong, match=r"key must be|have a key"):
                service.predict(request)
        assert same(service.learner.models["roof"], taught(100))
        assert [key for key, _ in service.learner.models.busiest(5)] == ["roof", 7]
    with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path)) as service:
        assert (service.history.learnt, sorted(map(str, service.learner.models))) == (160, ["7", "roof"])
        teach(service, 200, start=100, key="roof")
        service.wait()
        assert same(service.learner.models["roof"], taught(300))


def test_a_brain_is_made_of_models():
    with pytest.raises(ParameterError, match="The 'model' parameter of OneModel must be a Heros"):
        OneModel(3)


# -- the curves -----------------------------------------------------------------------------------------


def test_long_windows_hold_few_instances():
    rng = np.random.default_rng(1)
    y, answers = rng.integers(0, 2, 3000), rng.random((3000, 2))
    answers /= answers.sum(axis=1, keepdims=True)
    chosen, spent = np.ones((3000, 4), dtype=bool), np.ones(3000)
    with one() as service:
        measures = service.history.measures
    single = History(measures, 4, window=3000)
    for i in range(3000):
        part = slice(i, i + 1)
        single.add(y[part], answers[part], chosen[part], spent[part], 0.0)
        assert len(single._buffer) < 256
    whole = History(measures, 4, window=3000)
    whole.add(y, answers, chosen, spent, 0.0)
    assert single.lately == pytest.approx(whole.lately)
    assert single.lately["accuracy"] == (answers.argmax(axis=1) == y).mean()


def test_worse_is_noticed_and_better_is_not():
    worse = Worse()
    assert not worse.update(np.tile([0.0, 1.0], 300))
    assert not worse.update(np.ones(600))
    kept = worse.state()
    again = Worse()
    again.restore(kept)
    assert worse.update(np.zeros(300))
    assert again.update(np.zeros(300))


def test_points_hold_what_was_trained_and_where_it_got_worse():
    history = History(model().task.measures(), 2, window=50, watched=True)
    right = np.tile([[0.1, 0.9]], (50, 1))
    chosen = np.tile([[True, False]], (50, 1))
    for i in range(12):
        answers = right if i < 8 else right[:, ::-1]
        history.add(np.ones(50, dtype=np.int64), answers, chosen, np.full(50, 0.5), float(i))
    assert history.points.curves["accuracy"] == [1.0] * 8 + [0.0] * 4
    assert [row.tolist() for row in history.points.curves["trained"]] == [[50.0, 0.0]] * 12
    assert len(history.drifts) == 1  # reported several times with the same value
    assert 400 < history.drifts[0] <= 600
    again = History(model().task.measures(), 2, window=50, watched=True)
    again.restore(history.state())
    assert again.figures == pytest.approx(history.figures, nan_ok=True)
    assert again.points.curves["end"] == history.points.curves["end"]
    assert (again.drifts, again.drift_count) == (history.drifts, history.drift_count)


def test_a_checkpoint_changes_no_curve():
    rng = np.random.default_rng(2)
    y, answers = rng.integers(0, 2, 1050), rng.dirichlet([1, 1], 1050)
    chosen, spent = rng.random((1050, 2)) < 0.5, rng.random(1050)

    def history():
        return History(model().task.measures(), 2, window=100)

    plain, saved = history(), history()
    for at in range(0, 1050, 7):
        for one_ in (plain, saved):
            part = slice(at, at + 7)
            one_.add(y[part], answers[part], chosen[part], spent[part], float(at))
        kept = saved.state()
        if at % 2:  # the service is started again
            saved = history()
            saved.restore(kept)
        assert saved.lately == pytest.approx(plain.lately)  # of complete windows
        assert saved.figures == pytest.approx(plain.figures, nan_ok=True)
    assert saved.points.curves["end"] == list(range(100, 1100, 100))
    assert saved.figures["accuracy"] == pytest.approx((answers.argmax(axis=1) == y).mean())
    for name, curve in plain.points.columns().items():
        assert saved.points.columns()[name] == pytest.approx(curve), name
    plain.state()  # includes buffered instances
    assert saved.baselines == plain.baselines


def test_memory_is_bounded_whatever_comes():
    history = History(model().task.measures(), 2, window=1)
    for i in range(1000):
        history.add(
            np.array([i % 2]), np.array([[0.4, 0.6]]), np.ones((1, 2), dtype=bool), np.ones(1), float(i)
        )
    assert len(history.points) <= 240


def test_more_keys_than_memory_holds_are_learnt_and_kept(tmp_path):
    def open_again():
        return many(tmp_path / "keys", memory=150_000, store=CheckpointDirectory(tmp_path))

    with open_again() as service:
        for i, (x, y) in enumerate(rows(600)):
            service.learn({"x": x, "y": y, "key": i % 40})
        service.wait()
        models = service.learner.models
        assert models.bytes_in_memory <= 150_000
        assert 1 <= models.in_memory < 40
    with open_again() as service:
        models = service.learner.models
        assert {key: models.figures(key).instances for key in models} == dict.fromkeys(range(40), 15)


def test_rows_of_a_key_go_to_its_model_together(tmp_path, monkeypatch):
    with many(tmp_path / "keys", memory=1, store=CheckpointDirectory(tmp_path)) as service:
        hold = threading.Event()
        service.learn({"x": {"size": 1.0}, "y": "odd", "key": "first"})
        service.wait()
        opened = []
        models = service.learner.models
        monkeypatch.setattr(models, "test_then_train", _noting(models.test_then_train, opened))
        service.after(hold.wait)
        for i, (x, y) in enumerate(rows(400)):
            x["size"], x["colour"] = 1.0, "red"
            service.learn({"x": x, "y": y, "key": i % 4})
        hold.set()
        service.wait()
        assert sum(n for _, n in opened) == 400
        assert len(opened) < 20


def _noting(call, noted):
    def made(key, X, y):
        noted.append((key, len(y)))
        return call(key, X, y)

    return made


def test_models_are_called_by_what_tells_them_apart():
    board = leaderboard(Heros(seed=1, schema=Agrawal(function=2).schema))
    names = {one["name"] for one in board}
    assert {"forest", "linear model", "naive Bayes"} <= names
    assert "retrained boosted trees, trees 60, rate 0.1" in names
    assert len(names) == len(board)


def test_a_number_with_decimals_is_not_taken_for_a_class():
    with one() as service:
        with pytest.raises(Wrong, match=r"must be text or a whole number.*task='regression'.*Got 21.5"):
            service.learn({"x": {"a": 1.0}, "y": 21.5})
        service.learn({"x": {"a": 1.0}, "y": 21})
        service.learn({"x": {"a": 1.0}, "y": "21.5"})
        service.wait()
        assert service.learner.schema.classes == ("21", "21.5")


@pytest.mark.parametrize("key", [7, -1, 2**62, 2**63, "7", "roof"])
def test_the_model_of_a_key_is_found_by_its_text(key):
    with many() as service:
        service.learn({"x": {"size": 1.0}, "y": "odd", "key": key})
        service.wait()
        assert service.learner.look(lambda model: model.instances, str(key)) == 1


def test_a_prediction_before_the_first_label_counts_as_an_equal_probability_of_all_classes():
    """As in `LateLabels`: a probability of 0 for every class would give an infinite log loss."""
    late = LateLabels(model())
    with one() as service:
        for i, (x, _) in enumerate(rows(30)):
            service.predict({"id": i, "x": x})
            late.answer(i, x)
        for i, (_, y) in enumerate(rows(30)):
            service.learn({"id": i, "y": y})
            late.learn(i, y)
        service.wait()
        assert service.history.figures["log_loss"] == pytest.approx(late.figures["log_loss"])
        assert service.history.figures["log_loss"] < 1
