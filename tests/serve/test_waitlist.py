"""A service whose learning waits for its budget or a clean grid; the test controls the clock."""

from __future__ import annotations

import copy
import errno
import json
import os
import shutil
import signal
import sqlite3
import time
import warnings
from contextlib import closing
from functools import partial

import httpx
import numpy as np
import pytest

pytest.importorskip("httptools", reason="heros serve is not installed")

from faults.system import no_room_beyond
from heros import DataError, HerosError
from heros.ensemble import schedule as schedules
from heros.ensemble.budget import SpendingLimit
from heros.ensemble.keyed import Keyed
from heros.serve.checkpoint import CheckpointDirectory
from heros.serve.learners import ModelPerKey, OneModel
from heros.serve.limits import Limits, NotNow, Refusal, Wrong
from heros.serve.service import Service
from heros.serve.waitlist import FILE, WaitingLabel, Waitlist
from heros.storage.keystore import NotKept
from heros.streams.live.journal import BUSY
from serve.serving import await_picture, model, rows, served, soon
from serve.test_wire import command
from test_ensemble import equal_state
from turned_clock import HOUR, START, Simulated, grid

DIRTY = [(START, 500), (START + HOUR, 100), (START + 2 * HOUR, 100)]  # clean after an hour

# Without files that a running service is about to rename.
copy_directory = partial(shutil.copytree, ignore=shutil.ignore_patterns("*.draft"))


@pytest.fixture
def turned(monkeypatch):
    """Make services use a clock that the test controls; learning an instance takes 10 ms of CPU time."""
    clock = Simulated()
    learn = OneModel.learn

    def working(self, block):
        clock.work(0.01 * len(block))
        yield from learn(self, block)

    monkeypatch.setattr(schedules, "Clock", lambda: clock)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(SpendingLimit, "of", partial(SpendingLimit.of, watts=10.0))
    monkeypatch.setattr(OneModel, "learn", working)
    return clock


def service_of(directory=None, budget=None, **settings):
    store = None if directory is None else CheckpointDirectory(directory)
    return Service(OneModel(model(budget=budget)), store=store, seconds=None, **settings)


def teach(service, n, start=0):
    for x, y in rows(n, start):
        service.learn({"x": x, "y": y})


def wait_for_all(service, clock):
    """Make the grid clean, and wait for training; one wait may end in a turn that began earlier."""
    clock.time, deadline = START + HOUR, time.monotonic() + 60
    while service.queued and service.fault is None:
        assert time.monotonic() < deadline
        service.wait()


def test_an_instance_is_accepted_although_its_notice_cannot_be_printed(turned, tmp_path, monkeypatch):
    """The log may be on a full disk. The instance is on disk then, so an error would be wrong."""

    def show(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(warnings, "showwarning", show)
    with service_of(tmp_path, carbon=DIRTY, carbon_delay="3h") as service, warnings.catch_warnings():
        warnings.simplefilter("always")
        teach(service, 150)
        service.learn({"x": {"size": 1.0, "weight": 2.0}, "y": "even"})
        assert service.queued == len(service.waitlist) == 151
        assert service.notices == ["New column 'weight' at instance 151."]


def test_predictions_never_stop_and_the_wait_is_told(turned):
    with served(service_of(budget="30 J/h")) as client:  # 3 CPU seconds per hour
        service = client.running.service
        teach(service, 1000)
        service.wait()
        assert 290 <= service.history.learnt <= 300
        assert client.post("/predict", json={"x": {"size": 3.0}}).json()["prediction"] in ("even", "odd")
        assert client.post("/learn?wait=true", json={"x": {"size": 3.0}, "y": "odd"}).status_code == 202
        health = client.get("/health").json()
        assert health["status"] == "ok"
        assert health["learning_waits"]["instances"] == health["queued"] == 1001 - service.history.learnt
        assert health["learning_waits"]["until"] == "2027-01-15T09:00:00+00:00"
        assert health["learning_waits"]["why"] == "the budget of this hour, 30 J, is spent"
        await_picture(client, service.history.learnt)
        state, metrics = client.get("/state").json(), client.get("/metrics").text
        assert 29 < state["hour"]["joules"] <= state["hour"]["budget"] == pytest.approx(30)
        until = next(line for line in metrics.splitlines() if line.startswith("heros_learning_waits_until"))
        assert float(until.split()[1]) == START + HOUR
        while service.learning_waits is not None:
            turned.time = service.learning_waits.until
            service.wait()
        assert service.history.learnt == 1001
        assert client.get("/health").json()["learning_waits"] is None
    assert max(turned.by_hour.values()) <= 3.03


def test_nothing_that_waits_is_lost_or_learnt_twice_by_a_kill(turned, tmp_path):
    alone = model()
    with Service(OneModel(alone)) as service:
        teach(service, 300)
    service = service_of(tmp_path / "0", carbon=DIRTY, carbon_delay="3h")
    teach(service, 100)
    said = service.predict({"id": "a", "x": {"size": 1.0}})
    service.checkpoint().result(20)
    teach(service, 100, 100)
    service.learn({"id": "a", "y": "odd"})  # after the checkpoint, which contains it as waiting for its label
    assert service.history.learnt == 0
    copy_directory(tmp_path / "0", tmp_path / "1")
    service.stop()
    service = service_of(tmp_path / "1", carbon=DIRTY, carbon_delay="3h")
    assert service.queued == 201
    with pytest.raises(Refusal, match="No instance with the id"):
        service.learn({"id": "a", "y": "odd"})
    turned.time = START + HOUR
    service.wait()
    assert service.history.learnt == 201
    copy_directory(tmp_path / "1", tmp_path / "2")  # none of this is in a checkpoint
    service.stop()
    service = service_of(tmp_path / "2", carbon=DIRTY, carbon_delay="3h")
    teach(service, 100, 200)
    service.wait()
    assert (service.queued, service.history.learnt) == (0, 301)
    service.checkpoint().result(20)
    assert len(service.waitlist) == 0
    assert service.waitlist.bytes == 0
    service.stop()
    assert said["id"] == "a"


def test_the_model_is_the_one_that_learns_the_same_rows_alone(turned, tmp_path):
    alone = model()
    with Service(OneModel(alone)) as service:
        teach(service, 300)
    learner = OneModel(model())
    with Service(learner, store=CheckpointDirectory(tmp_path), carbon=DIRTY, carbon_delay="3h") as service:
        teach(service, 150)
        assert service.queued == 150
        turned.time = START + HOUR
        teach(service, 150, 150)
        service.wait()
    assert equal_state(learner.model, alone)


def test_models_per_key_wait_too(turned, tmp_path):
    def keyed(at):
        store = CheckpointDirectory(tmp_path / at)
        learner = ModelPerKey(Keyed(model(), directory=tmp_path / at / "keys"))
        return Service(learner, store=store, seconds=None, carbon=DIRTY, carbon_delay="3h")

    service = keyed("0")
    for i, (x, y) in enumerate(rows(200)):
        service.learn({"x": x, "y": y, "key": f"pump {i % 3}"})
        if i == 99:
            service.checkpoint().result(20)
    copy_directory(tmp_path / "0", tmp_path / "1")
    service.stop()
    with keyed("1") as service:
        assert (service.queued, service.history.learnt) == (200, 0)
        turned.time = START + HOUR
        service.wait()
        assert (service.queued, service.history.learnt, service.learner.seen) == (0, 200, 200)


def test_a_service_without_a_grid_learns_what_waited_for_it(turned, tmp_path):
    with service_of(tmp_path, carbon=DIRTY) as service:
        teach(service, 50)
    with service_of(tmp_path) as service:
        service.wait()
        assert service.history.learnt == 50


def test_a_full_waitlist_is_refused_until_learning_goes_on(turned, tmp_path):
    with service_of(tmp_path, carbon=DIRTY, limits=Limits(queue_bytes=5000)) as service:
        teach(service, 1)
        service.wait()
        with pytest.raises(NotNow, match=r"The training queue is full: .* Training is delayed until") as full:
            teach(service, 1000)
        assert full.value.headers == ((b"retry-after", b"3600"),)
        accepted = service.queued
        turned.time = START + HOUR
        service.wait()
        assert service.history.learnt == accepted > 10
        service.checkpoint().result(20)
        teach(service, 1)


def test_new_values_are_accepted_while_learning_waits(turned, tmp_path):
    """Growths of the schema that wait on disk for hours must not use up the time for growth."""
    with service_of(tmp_path, carbon=DIRTY, carbon_delay="3h", limits=Limits(growth=3.0)) as service:
        service._growth_cost = 1.0  # as for large models
        service.learn({"x": {"city": "a"}, "y": "odd"})
        service.wait()
        assert service.learning_waits is not None
        for i in range(10):
            service.learn({"x": {"city": f"city {i}"}, "y": "even"})
        wait_for_all(service, turned)
        assert (service.history.learnt, service.failed) == (11, 0)


def test_growth_is_bounded_per_second_after_a_wait(turned, tmp_path, monkeypatch):
    """New values that were accepted while learning waited must not block the service for minutes."""
    with service_of(tmp_path, carbon=DIRTY, carbon_delay="3h", limits=Limits(growth=0.3)) as service:
        teach(service, 5)
        service.wait()
        for i in range(12):
            service.learn({"x": {"colour": f"new {i}"}, "y": "odd"})
        opened, debts = service.learner.open, list[float]()

        def slow(schema):
            debts.append(service._growth_debt)
            time.sleep(0.1)
            opened(schema)

        monkeypatch.setattr(service.learner, "open", slow)
        wait_for_all(service, turned)
        assert (service.history.learnt, service.failed) == (17, 0)
        assert len(debts) >= 12
        assert max(debts) <= 0.3
        service.checkpoint().result(20)
        assert (len(service.waitlist), service.waitlist.bytes, service.waitlist.taken_bytes) == (0, 0, 0)


@pytest.mark.parametrize("stored", [True, False])
def test_labels_that_are_learnt_leave_room_for_others(turned, tmp_path, stored):
    where = tmp_path if stored else None
    with service_of(where, budget="10000 J/h", limits=Limits(queue_bytes=8000)) as service:
        for start in range(0, 200, 20):  # 200 labels need more than 8000 bytes
            teach(service, 20, start)
            service.wait()
            assert soon(lambda: service.waitlist.bytes <= 4000)
        assert service.history.learnt == 200


def test_an_instance_that_cannot_be_stored_is_refused_and_its_id_waits_on(turned, tmp_path, monkeypatch):
    with service_of(tmp_path, carbon=DIRTY) as service:
        teach(service, 5)
        service.predict({"id": 7, "x": {"size": 1.0}})
        with monkeypatch.context() as broken:
            broken.setattr(service.waitlist, "add", full)
            for request in ({"id": 7, "y": "odd"}, {"x": {"size": 2.0}, "y": "odd"}):
                with pytest.raises(Refusal, match="cannot be stored") as refused:
                    service.learn(request)
                assert refused.value.status == 507
            assert service.errors["waitlist_error"] == "The journal cannot be written: disk full."
            broken.setattr("heros.serve.service.TOLD", 0.0)  # no more labels arrive
            assert service.errors["waitlist_error"] is None
        service.learn({"id": 7, "y": "odd"})
        assert service.errors["waitlist_error"] is None
        assert service.queued == 6


def test_an_instance_that_cannot_be_stored_leaves_no_log_that_fills_the_disk(tmp_path):
    waitlist = Waitlist(tmp_path / FILE)
    waitlist.add(WaitingLabel(0.0, {"x": 1}, "odd"))
    large = WaitingLabel(0.0, {"x": "a" * 8_000_000}, "odd")
    with no_room_beyond(4_000_000), pytest.raises(HerosError, match="cannot be written"):
        waitlist.add(large)
    assert (tmp_path / f"{FILE}-wal").stat().st_size == 0
    with no_room_beyond(0), pytest.raises(HerosError, match="cannot be written"):
        waitlist.add(large)
    waitlist.add(large)
    assert [one.y for _, one in waitlist.take(3)] == ["odd", "odd"]
    waitlist.close()


def test_a_failed_write_leaves_nothing_in_a_log_that_cannot_be_moved_to_the_file(tmp_path):
    """As on a disk without a free byte, the log cannot become empty; what failed is removed all the same."""
    waitlist = Waitlist(tmp_path / FILE)
    waitlist.add(WaitingLabel(0.0, {"x": 1}, "odd"))
    before = (tmp_path / f"{FILE}-wal").stat().st_size
    with closing(sqlite3.connect(tmp_path / FILE)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM messages").fetchone() == (1,)
        with no_room_beyond(4_000_000), pytest.raises(HerosError, match="cannot be written"):
            waitlist.add(WaitingLabel(0.0, {"x": "a" * 8_000_000}, "odd"))
        assert (tmp_path / f"{FILE}-wal").stat().st_size == before > 0
        assert reader.execute("SELECT count(*) FROM messages").fetchone() == (1,)
    waitlist.add(WaitingLabel(0.0, {"x": 2}, "even"))
    assert (tmp_path / f"{FILE}-wal").stat().st_size == 0
    assert [one.y for _, one in waitlist.take(3)] == ["odd", "even"]
    waitlist.close()


def test_checkpoints_follow_what_is_learnt_from_disk(turned, tmp_path):
    """After a kill, only the instances since the last checkpoint are learnt again, at a cost of energy."""
    with service_of(tmp_path / "kept", carbon=DIRTY, every=10) as service:
        for i, (x, y) in enumerate(rows(40)):
            service.predict({"id": i, "x": x})
            service.learn({"id": i, "y": y})
        service.checkpoint().result(20)
        before = service.checkpoints
        wait_for_all(service, turned)
        assert soon(lambda: service.checkpoints > before)
        copy_directory(tmp_path / "kept", tmp_path / "killed")
    with service_of(tmp_path / "killed", carbon=DIRTY) as again:
        assert again.queued < 10 or again.history.learnt > 30


@pytest.mark.parametrize("accepted", [True, False], ids=["accepted", "restarted"])
def test_what_is_learnt_from_disk_makes_the_next_checkpoint_due(turned, tmp_path, accepted):
    with service_of(tmp_path, carbon=DIRTY) as service:
        teach(service, 20)
        service.checkpoint().result(20)
        if accepted:
            assert not service._unsaved
            wait_for_all(service, turned)
            assert service._unsaved
    if not accepted:
        with service_of(tmp_path, carbon=DIRTY) as service:
            wait_for_all(service, turned)
            assert service._unsaved


def full(label):
    raise HerosError("The journal cannot be written: disk full.")


def broken(label):
    raise RuntimeError("broken")


@pytest.mark.parametrize("fail", [full, broken])
@pytest.mark.parametrize(
    ("refused", "accepted"),
    [
        ({"size": 1.0, "heat": "hot"}, {"size": 1.0, "heat": 20.0}),  # a new column
        ({"size": 1.0, "day": "25/02/2026"}, {"size": 1.0, "day": "02/25/2026"}),  # the format of a column
        (
            {"size": 1.0, "a": {"b": "red"}, "a.b": 1.0},
            {"size": 1.0, "a.b": "red"},
        ),  # a field with two values
    ],
)
def test_an_instance_that_is_refused_leaves_no_trace(turned, tmp_path, monkeypatch, fail, refused, accepted):
    with service_of(tmp_path, carbon=DIRTY) as service:
        for day in ("01/02/2026", "03/04/2026"):
            service.learn({"x": {"size": 2.0, "day": day}, "y": "odd"})
        before = service._encoder.seen, service._encoder.schema
        with monkeypatch.context() as failing:
            failing.setattr(service.waitlist, "add", fail)
            with pytest.raises((Refusal, RuntimeError)):
                service.learn({"x": refused, "y": "odd"})
        assert (service._encoder.seen, service._encoder.schema) == before
        for _ in range(3):
            service.learn({"x": accepted, "y": "odd"})
        wait_for_all(service, turned)
        assert (service.history.learnt, service.failed, service.fault) == (5, 0, None)


def test_a_deeply_nested_row_is_refused_before_anything_changes(turned, tmp_path):
    deep = json.loads("[" * 300 + "]" * 300)
    inside = json.loads('{"a":' * 300 + "1" + "}" * 300)
    with service_of(tmp_path, carbon=DIRTY) as service:
        requests = [{"x": x, "y": y} for x, y in rows(10)]
        requests[4]["x"]["tags"], requests[6]["x"]["tags"], requests[8]["y"] = deep, inside, deep
        outcome = service.learn_all(requests)
        assert (outcome.accepted, [one.at for one in outcome.refused]) == (7, [4, 6, 8])
        assert (
            "The field 'tags' must be nested at most 100 levels deep. Got more levels."
            in outcome.refused[0].why
        )
        assert service.queued == len(service.waitlist) == 7
        asked = [{"id": i, "x": dict(x)} for i, (x, _) in enumerate(rows(5))]
        asked[3]["x"]["tags"] = deep
        with pytest.raises(Wrong, match="The field 'tags' must be nested"):
            service.predict_all(asked)
        assert len(service.pending) == 0
        service.learn({"x": {"size": 1.0, "tags": json.loads("[" * 99 + "]" * 99)}, "y": "odd"})
        wait_for_all(service, turned)
        assert (service.history.learnt, service.failed) == (8, 0)


def test_instances_that_are_refused_when_they_are_learnt_are_told_and_training_goes_on(
    turned, tmp_path, caplog
):
    with served(service_of(tmp_path, carbon=DIRTY)) as client:
        service = client.running.service
        teach(service, 20)
        service._trailing._classes_closed = True  # reads no class, unlike when the rows were accepted
        before = client.get("/health").json()["notices"]
        wait_for_all(service, turned)
        assert (service.fault, service.failed, service.history.learnt, service.queued) == (None, 20, 0, 0)
        assert "20 accepted instances cannot be used for training: " in caplog.text
        assert client.get("/health").json()["notices"] == before + 1
        service._trailing = copy.deepcopy(service._encoder)
        teach(service, 10)
        service.wait()
        assert (service.fault, service.history.learnt) == (None, 10)


@pytest.mark.parametrize("where", ["open", "take", "note"])
def test_a_fault_of_training_costs_no_instance_on_disk(turned, tmp_path, monkeypatch, where):
    service = service_of(tmp_path / "0", carbon=DIRTY, carbon_delay="3h")
    teach(service, 10)
    service.checkpoint().result(20)
    teach(service, 190, 10)

    owner = {"open": service.learner, "take": service.waitlist, "note": service.schedule}[where]
    works = getattr(owner, where)

    def fails(*given):
        if given:
            raise RuntimeError("broken")
        return works()  # `note` without an argument is also called elsewhere

    with monkeypatch.context() as broken:
        broken.setattr(owner, where, fails)
        wait_for_all(service, turned)
        assert service.fault == "RuntimeError: broken"
        with pytest.raises(HerosError, match="and therefore writes no checkpoint"):
            service.checkpoint().result(20)
        with pytest.raises(HerosError, match="can no longer train"):
            teach(service, 1)
        copy_directory(tmp_path / "0", tmp_path / "1")
        service.stop()
    for copied in "01":  # after a kill, and after a stop
        with service_of(tmp_path / copied) as again:
            again.wait()
            assert (again.history.learnt, again.failed, again.queued) == (200, 0, 0)


def test_a_stop_without_room_for_models_leaves_the_instances_on_disk(tmp_path, monkeypatch, caplog):
    """If checkpoints work again, they must not count these instances as learnt."""

    def keyed():
        learner = ModelPerKey(Keyed(model(budget="1000 W"), capacity=1, directory=tmp_path / "keys"))
        return Service(learner, store=CheckpointDirectory(tmp_path), seconds=None)

    monkeypatch.setattr("heros.serve.service.RETRY", 0.2)
    service = keyed()
    with monkeypatch.context() as full:
        full.setattr(Keyed, "_write", lambda *_: (_ for _ in ()).throw(NotKept("no space")))
        for i, (x, y) in enumerate(rows(60)):
            service.learn({"x": x, "y": y, "key": i % 3})
            if i == 9:
                assert soon(lambda: service.storage_error == "no space", 5)
                break
        with pytest.raises(HerosError, match="and therefore writes no checkpoint"):
            service.stop()
    assert "accepted instances are not used for training yet and stay on disk: no space" in caplog.text
    with keyed() as again:
        again.wait()
        assert (again.history.learnt, again.failed, again.queued) == (10, 0, 0)
        assert again.learner.models.overall().instances == 10


def kept_after_a_kill(directory, n=20):
    """Return a directory with waiting instances, all of them in the database file."""
    with service_of(directory / "0", carbon=DIRTY, carbon_delay="3h") as service:
        teach(service, n)
        copy_directory(directory / "0", directory / "1")
    edit(directory / "1")
    return directory / "1"


def edit(directory, *statements):
    with closing(sqlite3.connect(directory / FILE)) as file, file:
        for statement in (*statements, "PRAGMA wal_checkpoint(TRUNCATE)"):
            file.execute(statement)
            file.commit()


DAMAGES = {
    "not JSON": ("UPDATE messages SET payload = x'005b' WHERE sequence = 8", 1),
    "another value": ("UPDATE messages SET payload = replace(payload, 'e', 'o') WHERE sequence = 8", 1),
    "another type": ("UPDATE messages SET payload = 'text' WHERE sequence = 8", 1),
    "another digest": ("UPDATE messages SET digest = 1 WHERE sequence IN (8, 9)", 2),
    "another number": (
        "UPDATE messages SET sequence = 30 WHERE sequence = 8",
        11,
    ),  # also 21 to 30
    "missing in the middle": ("DELETE FROM messages WHERE sequence IN (8, 11, 12)", 3),
    "missing first": ("DELETE FROM messages WHERE sequence <= 2", 2),
    "missing last": ("DELETE FROM messages WHERE sequence > 18", 2),
    "all but the first damaged": ("UPDATE messages SET digest = 1 WHERE sequence > 1", 19),
    "all damaged": ("UPDATE messages SET digest = 1", 20),
    "missing without a trace": ("DELETE FROM messages WHERE sequence > 18; DELETE FROM sqlite_sequence", 2),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_instances_are_told_and_counted_and_the_others_learnt(turned, tmp_path, caplog, how):
    place, (statements, lost) = kept_after_a_kill(tmp_path), DAMAGES[how]
    edit(place, *statements.split(";"))
    caplog.clear()
    with service_of(place, carbon=DIRTY, carbon_delay="3h", budget="10000 J/h") as service:
        end = service.waitlist.last
        assert end == (30 if how == "another number" else 20)
        assert (service.queued, service.failed) == (end - lost, lost)
        assert f"{lost} accepted instances are lost: waiting.sqlite" in caplog.text
        assert len(service.notices) == 1
        service.checkpoint().result(20)  # while instances wait
        copy_directory(place, tmp_path / "2")
        teach(service, 5, 20)
        wait_for_all(service, turned)
        assert (service.history.learnt, service.failed, service.fault) == (end - lost + 5, lost, None)
        copy_directory(place, tmp_path / "3")
    for copied, n in (("1", end - lost + 5), ("2", end - lost), ("3", end - lost + 5)):
        with service_of(tmp_path / copied) as again:
            again.wait()
            assert (again.history.learnt, again.failed) == (n, lost)  # counted once


def test_instances_that_are_put_back_after_damaged_ones_are_learnt_once(tmp_path):
    waitlist = Waitlist(tmp_path / FILE)
    for i in range(10):
        waitlist.add(WaitingLabel(float(i), {"size": i}, "odd"))
    waitlist.close()
    edit(tmp_path, "UPDATE messages SET digest = 1 WHERE sequence IN (3, 4, 7, 10)")
    waitlist = Waitlist(tmp_path / FILE)
    assert [number for number, _ in waitlist.resume(0, 0)] == [1, 2, 5, 6, 8, 9]
    assert waitlist.lost == waitlist.lost_ahead == 4
    assert [number for number, _ in waitlist.take(6)] == [1, 2, 5, 6]  # of 6 rows
    assert (len(waitlist), waitlist.taken, waitlist.lost_ahead) == (2, 6, 2)
    waitlist.put_back(5)
    assert (len(waitlist), waitlist.oldest, waitlist.lost_ahead) == (4, 4.0, 2)
    assert [number for number, _ in waitlist.take(100)] == [5, 6, 8, 9]
    assert (len(waitlist), waitlist.taken, waitlist.lost_ahead, waitlist.oldest) == (0, 10, 0, None)
    waitlist.put_back(9)
    assert (len(waitlist), waitlist.taken, waitlist.lost_ahead) == (1, 8, 1)
    assert [number for number, _ in waitlist.take(1)] == [9]
    assert waitlist.taken_bytes == waitlist.bytes > 0
    waitlist.settle(10)
    assert waitlist.taken_bytes == waitlist.bytes == 0
    edit(tmp_path)
    waitlist.add(WaitingLabel(11.0, {"size": 11}, "odd"))
    waitlist.add(WaitingLabel(12.0, {"size": 12}, "odd"))
    edit(tmp_path, "DELETE FROM messages WHERE sequence = 11")
    with pytest.raises(HerosError, match="was damaged while in use"):
        waitlist.take(2)
    waitlist.close()


def test_a_waitlist_that_cannot_be_read_as_a_whole_names_the_file_and_the_way_out(turned, tmp_path):
    place = kept_after_a_kill(tmp_path, 100)
    size = (place / FILE).stat().st_size
    for i, content in enumerate((b"x" * 9000, (place / FILE).read_bytes()[: size // 2])):
        copy_directory(place, tmp_path / f"damaged {i}")
        damaged = tmp_path / f"damaged {i}" / FILE
        damaged.write_bytes(content)
        for _ in range(2):  # the first error leaves no lock behind
            with pytest.raises(DataError, match=r"damaged \d/waiting\.sqlite .*Move the file away to start"):
                service_of(damaged.parent)
        damaged.rename(tmp_path / "away")
        with service_of(damaged.parent) as service:
            assert (service.failed, service.queued) == (100, 0)


def test_a_waitlist_that_was_removed_with_its_number_is_missed_by_the_checkpoint(turned, tmp_path):
    with service_of(tmp_path, carbon=DIRTY) as service:
        teach(service, 20)
    for file in tmp_path.glob(f"{FILE}*"):
        file.unlink()
    with service_of(tmp_path) as service:
        assert (service.failed, service.queued) == (20, 0)


def test_waiting_instances_are_read_only_with_the_options_with_which_they_were_accepted(turned, tmp_path):
    kept = tmp_path / "kept"
    with service_of(tmp_path / "0", carbon=DIRTY, nominal=["zip"]) as service:
        for i in range(20):
            service.learn({"x": {"zip": 53000 + i % 4}, "y": f"{i % 2}"})
        copy_directory(tmp_path / "0", kept)  # before any checkpoint

    def again(nominal=("zip",), task="classification"):
        store = CheckpointDirectory(kept)
        return Service(OneModel(model(task=task)), store=store, seconds=None, nominal=nominal)

    store = CheckpointDirectory(kept)
    with pytest.raises(HerosError, match=r"The option --keys must be false, as for the 20 .*\. Got true"):
        store.expect(keyed=True)
    store.close()
    with pytest.raises(
        HerosError, match=r'The option --nominal must be \["zip"\], as for .*\. Got \[\] inst'
    ):
        again(nominal=())
    with pytest.raises(HerosError, match=r'--task must be "classification", as for .*\. Got "reg'):
        again(task="regression")
    with again() as service:
        service.wait()
        assert (service.history.learnt, service.failed) == (20, 0)
    with again(nominal=("zip", "street")) as service:  # no instance waits any more
        assert service.history.learnt == 20


def test_a_lock_on_the_waitlist_makes_few_requests_wait(turned, tmp_path):
    """A batch is refused as temporary, and only its first instance waits for the lock."""
    batch = {"instances": [{"x": x, "y": y} for x, y in rows(30)]}
    with served(service_of(tmp_path, carbon=DIRTY)) as client:
        assert client.post("/learn/batch", json=batch).json()["accepted"] == 30
        other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused = client.post("/learn/batch", json=batch)  # the client waits for 20 seconds at most
        alone = client.post("/learn", json=batch["instances"][0])
        assert client.post("/predict", json={"x": {"size": 1.0}}).status_code == 200
        for one in (refused, alone):
            assert (one.status_code, one.headers["retry-after"]) == (507, "5")
            assert "locked" in one.json()["detail"]
        other.execute("ROLLBACK")
        other.close()
        assert client.post("/learn", json=batch["instances"][0]).status_code == 202
        journal = client.running.service.waitlist._journal
        assert journal._file.execute("PRAGMA busy_timeout").fetchone() == (BUSY,)  # waits for a lock again
        assert client.running.service.queued == 31


def test_a_batch_is_refused_for_good_only_if_all_of_it_is_wrong(turned, tmp_path, monkeypatch):
    """Otherwise a client would discard instances that it could send again."""

    def full(label):
        raise HerosError("The journal cannot be written: disk full.")

    wrong, right = {"x": 3, "y": "odd"}, {"x": {"size": 2.0}, "y": "odd"}
    with served(service_of(tmp_path, carbon=DIRTY)) as client:

        def sent(*instances):
            return client.post("/learn/batch", json={"instances": instances})

        client.running.service.learn(right)
        add = client.running.service.waitlist.add
        with monkeypatch.context() as broken:
            broken.setattr(client.running.service.waitlist, "add", full)
            for batch in ([right, right], [wrong, right]):
                assert (sent(*batch).status_code, sent(*batch).headers["retry-after"]) == (507, "5")
            assert sent(wrong, wrong).status_code == 422
            assert "retry-after" not in sent(wrong).headers
            broken.setattr(
                client.running.service.waitlist,
                "add",
                lambda one: full(one) if one.x["size"] > 2 else add(one),
            )
            taken = sent(wrong, right, {"x": {"size": 3.0}, "y": "odd"})
        assert taken.status_code == 202
        assert taken.json()["accepted"] == 1
        assert [(one["at"], one["status"]) for one in taken.json()["refused"]] == [(0, 422), (2, 507)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_a_day_of_a_service_with_kills_exceeds_no_hour_and_loses_nothing(turned, tmp_path, seed):
    rng, accepted, kills, at = np.random.default_rng(seed), 0, 0, tmp_path / "0"
    service = service_of(at, budget="10 J/h", carbon=grid(60), carbon_delay="4h")
    for step in range(24 * 3):
        turned.time = max(turned.time, START + step * HOUR / 3)
        load = 5.5 - 4.5 * np.cos(2 * np.pi * (step / 3 - 3) / 24)
        n = rng.poisson(4 * load)
        teach(service, n, accepted)
        accepted += n
        service.wait()
        if rng.random() < 0.1:
            service.checkpoint().result(20)
        if rng.random() < 0.7:  # after a kill, the next process reads the files on disk
            kills += 1
            copy_directory(at, tmp_path / str(kills))
            service.stop()
            at = tmp_path / str(kills)
            service = service_of(at, budget="10 J/h", carbon=grid(60), carbon_delay="4h")
        assert service.history.learnt + service.queued == accepted
    assert kills > 40
    while service.queued:
        turned.time += HOUR / 6
        service.wait()
    service.stop()
    assert service.history.learnt == service.learner.model.instances == accepted
    assert max(turned.by_hour.values()) <= 1.01 * 1.0


def test_kill_9_of_a_real_service(tmp_path):
    x, place = {"size": 1.0}, tmp_path / "kept"
    options = ("serve", "--port", "0", "--checkpoint", str(place), "--budget", "0.5 J/h", "--pool", "bayes")
    for first in (True, False):
        process, address = command(*options, cwd=tmp_path)
        try:
            with httpx.Client(base_url=address, timeout=20) as client:
                if first:
                    for i in range(300):
                        assert client.post("/learn", json={"x": x, "y": f"{i % 2}"}).status_code == 202
                    deadline = time.monotonic() + 20
                    while client.get("/health").json()["learning_waits"] is None:
                        assert time.monotonic() < deadline
                        time.sleep(0.05)
                else:  # no checkpoint was written: all instances wait again, and the hour's budget is still used up
                    assert client.get("/health").json()["queued"] == 300
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def test_a_waitlist_that_lost_its_newest_labels_with_the_power_is_told_and_goes_on(turned, tmp_path, caplog):
    """After a power failure, the file of waiting labels may end before the synchronized checkpoint."""
    with service_of(tmp_path / "kept", carbon=DIRTY) as service:
        teach(service, 20)
        copy_directory(tmp_path / "kept", tmp_path / "early")
        turned.time += HOUR
        service.wait()
    for file in (tmp_path / "early").glob("waiting.sqlite*"):
        shutil.copy(file, tmp_path / "kept")
    (tmp_path / "kept" / "waiting.sqlite").unlink()
    with service_of(tmp_path / "kept", carbon=DIRTY) as service:
        assert "ends before the checkpoint" in caplog.text
        assert service.history.learnt == 20
        teach(service, 10, start=20)
        service.wait()
        assert service.history.learnt == 30
    with service_of(tmp_path / "kept", carbon=DIRTY) as service:
        assert service.history.learnt == 30


def damage(path):
    """Overwrite bytes in the middle of a file."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 100)


@pytest.mark.parametrize("carbon", [None, DIRTY])
@pytest.mark.parametrize("how", ["damaged", "removed"])
def test_accepted_labels_that_a_damaged_file_has_lost_are_told_and_counted(
    turned, tmp_path, caplog, how, carbon
):
    """SQLite reads its write-ahead log up to the damage, without an error."""
    with service_of(tmp_path / "0", carbon=DIRTY) as service:
        teach(service, 20)
        copy_directory(tmp_path / "0", tmp_path / "1")
    if how == "damaged":
        damage(tmp_path / "1" / f"{FILE}-wal")
    else:
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
            (tmp_path / "1" / name).unlink()
    caplog.clear()
    with served(service_of(tmp_path / "1", carbon=carbon)) as client:
        service = client.running.service
        service.wait()
        lost = service.failed
        there = service.queued + service.history.learnt
        assert there + lost == 20
        assert lost > 0
        assert f"{lost} accepted instances are lost: waiting.sqlite or its write-ahead log" in caplog.text
        health = client.get("/health").json()
        assert (health["failed"], health["notices"]) == (lost, 1)
        teach(service, 5, 20)
        wait_for_all(service, turned)
        assert service.history.learnt == there + 5
        copy_directory(tmp_path / "1", tmp_path / "2")
    with service_of(tmp_path / "1") as service:
        assert (service.failed, service.notices) == (lost, [])
    with service_of(tmp_path / "2") as service:  # after a kill, without a checkpoint that includes them
        assert (service.failed, len(service.notices)) == (lost, 1)


def test_a_damaged_number_of_the_last_label_costs_nothing(turned, tmp_path):
    with service_of(tmp_path, carbon=DIRTY) as service:
        teach(service, 5)
    (tmp_path / f"{FILE}-last").write_bytes(b"?")
    with service_of(tmp_path, carbon=DIRTY) as service:
        assert (service.failed, service.queued) == (0, 5)
