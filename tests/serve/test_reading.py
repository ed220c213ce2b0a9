"""The user's options for reading values apply in the service and after a restart."""

from __future__ import annotations

import pytest

pytest.importorskip("httptools", reason="heros serve is not installed")

from heros import Heros, HerosError
from heros.serve.checkpoint import CheckpointDirectory
from heros.serve.learners import ModelPerKey, OneModel
from heros.serve.limits import Limits, Wrong
from heros.serve.reading import MOST_HINTS
from heros.serve.service import Service
from serve.serving import many, model, rows, served

pytestmark = pytest.mark.filterwarnings("ignore::heros.DataNotice")


def service(directory=None, *, keyed=False, given=None, **settings):
    learner = ModelPerKey(many().learner.models) if keyed else OneModel(given or model())
    store = None if directory is None else CheckpointDirectory(directory)
    return Service(learner, store=store, **settings)


def test_other_classes_are_refused_even_after_a_restart(tmp_path):
    first = service(tmp_path, classes=["no", "yes"])
    first.learn({"x": {"size": 1.0}, "y": "yes"})
    first.stop()
    again = service(tmp_path)
    try:
        with pytest.raises(Wrong, match="must be one of 'no', 'yes'"):
            again.learn({"x": {"size": 1.0}, "y": "Yes"})
        again.learn({"x": {"size": 1.0}, "y": "no"})
    finally:
        again.stop()
    with pytest.raises(HerosError, match="The classes must be the same as in the checkpoint: 'no', 'yes'"):
        service(tmp_path, classes=["no", "perhaps"])


def test_all_classes_of_a_model_must_be_named():
    trained = model().learn([{"size": 1.0}, {"size": 2.0}], ["no", "yes"])
    with pytest.raises(HerosError, match=r"must name all classes of the model\. The model also has 'yes'"):
        service(given=trained, classes=["no", "perhaps"])
    with served(service(given=trained, classes=["no", "yes", "perhaps"])) as client:
        assert client.post("/learn", json={"x": {"size": 1.0}, "y": "perhaps"}).status_code == 202
        assert client.post("/learn", json={"x": {"size": 1.0}, "y": "other"}).status_code == 422


def test_columns_of_names_are_known_after_a_restart(tmp_path):
    first = service(tmp_path, nominal=["zip"])
    first.learn({"x": {"size": 1.0}, "y": "yes"})
    first.stop()
    again = service(tmp_path)
    again.learn({"x": {"size": 1.0, "zip": 10115}, "y": "no"})
    again.wait()
    assert again.learner.schema.features[1].values == ("10115",)
    again.stop()
    with pytest.raises(HerosError, match=r"that the model reads as numbers or dates\. Got 'size'"):
        service(tmp_path, nominal=["size"])


def test_a_saved_model_becomes_explainable_in_the_service(tmp_path):
    trained = model()
    trained.learn([x for x, _ in rows(50)], [y for _, y in rows(50)])
    trained.save(tmp_path / "m.heros")
    learner = OneModel(Heros.load(tmp_path / "m.heros"), explainable=True)
    with served(Service(learner, store=CheckpointDirectory(tmp_path / "kept"))) as client:
        batch = [{"x": x, "y": y} for x, y in rows(200)]
        client.post("/learn/batch?wait=1", json={"instances": batch})
        assert client.get("/importance").status_code == 200
        assert client.post("/explain", json={"x": batch[0]["x"]}).status_code == 200
    kept = OneModel(model())
    Service(kept, store=CheckpointDirectory(tmp_path / "kept")).stop()
    assert kept.model.explainable
    assert Heros.load(tmp_path / "kept" / "service.heros").instances == 250
    kept.model.explainable = False
    with pytest.raises(HerosError, match="keeps no sample"):
        kept.model.importance()


def test_a_late_column_is_told_with_the_name_it_resembles():
    with served(service()) as client:
        batch = [{"x": x, "y": y} for x, y in rows(150)]
        client.post("/learn/batch?wait=1", json={"instances": batch})
        told = client.post("/learn", json={"x": {"Size": 2.0, "weight": 1}, "y": "even"}).json()["notices"]
        assert told == [
            "New column 'Size' at instance 151. Did you mean 'size'?",
            "New column 'weight' at instance 151.",
        ]


def test_only_some_new_columns_are_compared_with_known_columns():
    """Comparing all names took minutes, during which the service did not reply."""
    names = [f"plant_north.line{i % 7}.machine_{i:04d}." + "temperature_" * 12 for i in range(900)]
    with served(service(limits=Limits(growth=60.0))) as client:
        batch = [{"x": x, "y": y} for x, y in rows(150)]
        batch += [{"x": dict.fromkeys(names[i : i + 100], 1.0), "y": "even"} for i in range(0, 800, 100)]
        client.post("/learn/batch?wait=1", json={"instances": batch})
        reply = client.post("/learn", json={"x": dict.fromkeys(names[800:], 1.0), "y": "even"})
        told = reply.json()["notices"]
        assert len(told) > MOST_HINTS
        assert sum("Did you mean" in one for one in told) == MOST_HINTS


def test_refused_rows_that_need_a_copy_of_the_encoder_count_as_growth():
    with served(service(limits=Limits(growth=0.3))) as client:
        batch = [{"x": {"day": "01/02/2026", **x}, "y": y} for x, y in rows(5)]
        client.post("/learn/batch?wait=1", json={"instances": batch})
        running = client.running.service
        before = running._growth_debt
        wrong = {"x": {"day": "25/12/2026"}, "y": None}
        assert client.post("/learn", json=wrong).status_code == 422
        assert running._growth_debt > before - 1
        running._growth_debt = 60.0
        assert client.post("/learn", json=wrong).status_code == 429


def test_drafts_of_a_killed_service_are_removed(tmp_path):
    draft = tmp_path / ".service.heros.abc.draft"
    draft.write_bytes(b"half of a checkpoint")
    service(tmp_path).stop()
    assert not draft.exists()


def test_a_long_text_is_refused_also_where_a_number_turns_into_names():
    first = service()
    first.learn({"x": {"size": 1.5}, "y": "yes"})
    with pytest.raises(Wrong, match="200"):
        first.learn({"x": {"size": "z" * 300}, "y": "yes"})
    first.stop()


def test_a_key_without_a_model_has_no_number_yet():
    with served(many(task="regression")) as client:
        for i in range(30):
            client.post("/learn?wait=1", json={"key": "a", "x": {"size": i}, "y": 1000.0 + i})
        answer = client.post("/predict", json={"key": "A", "x": {"size": 5}}).json()
        assert (answer["prediction"], answer["interval"]) == (None, None)
        assert client.post("/predict", json={"key": "a", "x": {"size": 5}}).json()["prediction"] > 900
