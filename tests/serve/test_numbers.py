"""The service with a numeric target: predictions, intervals, labels, measures and errors."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("httptools", reason="heros serve is not installed")

from heros.data import Encoder
from heros.serve.checkpoint import CheckpointDirectory
from heros.serve.history import Nearness
from heros.serve.learners import OneModel
from heros.serve.limits import Wrong
from heros.serve.service import Service
from serve.serving import await_picture, many, model, numbers, one, served
from serve.test_service import same

NO_LABELS = ["soon", [1.0], {}, 1e101, -1e300, "1e101"]


def teach(service, n, start=0, **more):
    for x, y in numbers(n, start):
        service.learn({"x": x, "y": y, **more})


def taught(n):
    """Return a model trained on the rows without a service, and its earlier predictions."""
    alone, said = model(task="regression"), []
    for batch in Encoder(numeric=True).batches(numbers(n)):
        done = alone.bind(batch.schema).test_then_train(batch.X, batch.y)
        said += done.outputs[:, 0].tolist()
    return alone, said


def test_it_learns_what_a_model_alone_learns():
    with one("regression", window=50) as service:
        assert service.predict({"x": {"size": 1.0}}) == {"prediction": None, "interval": None}
        teach(service, 300)
        service.wait()
        answer = service.predict({"x": {"size": 2.0, "colour": "red"}})
        alone, said = taught(300)
        errors = np.abs(np.array(said) - [y for _, y in numbers(300)])
        assert service.history.figures["mae"] == pytest.approx(errors.mean())
        asked = {"size": 2.0, "colour": "red"}
        assert answer == {
            "prediction": alone.predict(asked),
            "interval": alone.predict_interval(asked).tolist(),
        }
    assert same(service.learner.model, alone)


def test_a_label_may_come_later_and_the_answer_given_then_counts(tmp_path):
    with one("regression", window=10, store=CheckpointDirectory(tmp_path)) as service:
        early = service.predict({"id": "early", "x": {"size": 1.0}})
        teach(service, 100)
        service.wait()
        given = [service.predict({"id": i, "x": x}) for i, (x, _) in enumerate(numbers(20, 100))]
        assert service.predict({"id": "early", "x": {"size": 1.0}}) == early
        figures = service.history.figures
    again = Service(
        OneModel(model()), window=10, store=CheckpointDirectory(tmp_path)
    )  # the checkpoint sets the task
    with again as service:
        assert (len(service.pending), service.history.figures) == (21, figures)
        for i, (_, y) in enumerate(numbers(20, 100)):
            service.learn({"id": i, "y": y})
        service.wait()
        errors = [abs(said["prediction"] - y) for said, (_, y) in zip(given, numbers(20, 100), strict=True)]
        assert service.history.points.curves["mae"][-2:] == pytest.approx(
            np.array(errors).reshape(2, 10).mean(axis=1)
        )
        service.learn({"id": "early", "y": 103.0})


@pytest.mark.parametrize("label", NO_LABELS)
def test_a_label_that_is_no_finite_number_is_refused_and_nothing_changes(label):
    with one("regression") as service:
        teach(service, 5)
        service.predict({"id": "a", "x": {"size": 1.0}})
        for y, rule in ((label, "be a finite number"), (None, "have a value"), ("n/a", "have a value")):
            for request in ({"x": {"size": 1.0, "new": "feature"}, "y": y}, {"id": "a", "y": y}):
                with pytest.raises(Wrong, match=f"The label must {rule}"):
                    service.learn(request)
        service.wait()
        assert (service.counts.learnt, len(service.pending)) == (5, 1)
        assert service.learner.schema.n_features == 2


def test_a_label_may_be_written_as_text():
    with one("regression") as service, one("regression") as plain:
        for x, y in numbers(50):
            service.learn({"x": x, "y": f" {y} "})
            plain.learn({"x": x, "y": y})
        service.wait()
        plain.wait()
    assert same(service.learner.model, plain.learner.model)


def test_a_model_per_key(tmp_path):
    with many(tmp_path / "keys", task="regression", store=CheckpointDirectory(tmp_path)) as service:
        teach(service, 150, key="roof")
        teach(service, 60, key=7)
        service.wait()
        told = service.predict({"key": "roof", "x": {"size": 2.0, "colour": "red"}})
        figures = service.learner.models.figures("roof")
    assert same(service.learner.models.template, model(task="regression").bind(service.learner.schema))
    with many(tmp_path / "keys", task="regression", store=CheckpointDirectory(tmp_path)) as service:
        assert service.predict({"key": "roof", "x": {"size": 2.0, "colour": "red"}}) == told
        assert repr(service.learner.models.figures("roof")) == repr(figures)
        assert service.history.learnt == 210


def test_answers_that_get_worse_are_noticed_in_any_unit():
    for unit in (1e-9, 1.0, 1e9):
        with many(task="regression", window=50) as service:
            for round_, sign in enumerate((1, 1, 1, -1)):
                for x, y in numbers(250, 250 * round_):
                    service.learn({"key": "roof", "x": x, "y": unit * sign * y})
            service.wait()
            assert len(service.history.drifts) >= 1, unit
            assert 750 < service.history.drifts[0] < 1000


def test_how_near_numbers_are_is_kept():
    rng = np.random.default_rng(1)
    y, answers = rng.normal(5, 2, 300), rng.normal(5, 2, (300, 4))
    whole, half, other = Nearness(), Nearness(), Nearness()
    expected = whole.update(y, answers)
    half.update(y[:100], answers[:100])
    other.restore(half.state())
    assert np.array_equal(other.update(y[100:], answers[100:]), expected[100:])
    spread = y[:200].std()
    error = abs(y[199] - answers[199, 0])
    assert expected[199] == pytest.approx(1 - error / (error + spread))


@pytest.fixture(scope="module")
def client():
    with served(one("regression", window=20)) as client:
        batch = [{"x": x, "y": y} for x, y in numbers(200)]
        assert client.post("/learn/batch?wait=true", json={"instances": batch}).json()["accepted"] == 200
        await_picture(client, 200)
        yield client


def test_over_the_wire(client):
    said = client.post("/predict", json={"id": "a", "x": {"size": 2.0, "colour": "blue"}}).json()
    assert set(said) == {"id", "prediction", "interval"}
    low, high = said["interval"]
    assert low <= said["prediction"] <= high
    assert client.post("/learn", json={"id": "a", "y": 116}).status_code == 202
    batch = [{"x": {"size": 1.0}, "y": "one"}, {"x": {"size": 1.0}, "y": "103.0"}]
    taken = client.post("/learn/batch", json={"instances": batch}).json()
    assert (taken["accepted"], [one["at"] for one in taken["refused"]]) == (1, [0])


@pytest.mark.parametrize("label", ["soon", [1.0], 1e101])
def test_wrong_labels_over_the_wire(client, label):
    said = client.post("/learn", json={"x": {"size": 1.0}, "y": label})
    assert said.status_code == 422
    assert "The label must be a finite number" in said.json()["detail"]


@pytest.mark.parametrize("label", [b"NaN", b"Infinity", b"1e999"])
def test_what_json_does_not_know(client, label):
    body = b'{"x": {"size": 1.0}, "y": ' + label + b"}"
    said = client.post("/learn", content=body, headers={"content-type": "application/json"})
    assert said.status_code in (400, 422)


def test_what_there_is_to_see(client):
    state = client.get("/state").json()
    assert (state["task"], state["shown"], state["classes"]) == ("regression", ["mae", "r2"], [])
    assert {"rmse", "mae", "r2", "coverage"} <= state["figures"].keys()
    assert len(state["curve"]["mae"]) >= 9
    text = client.get("/metrics").text
    assert 'heros_measure{measure="mae"}' in text
    assert 'heros_measure_lately{measure="r2"}' in text
    assert "accuracy" not in text
    assert client.get("/leaderboard").json()[0]["score"] > 0.5
    assert client.get("/model").json()["task"]["kind"] == "Regression"


def test_the_description_is_of_numbers_and_has_examples_that_work(client):
    description = client.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    assert [form["type"] for form in schemas["Label"]["anyOf"]] == ["number", "string"]
    assert {"prediction", "interval"} <= schemas["Prediction"]["properties"].keys()
    assert not any(name.startswith("Number") for name in schemas)
    with served(one("regression")) as fresh:
        for path in ("/predict", "/predict/batch", "/learn", "/learn/batch"):
            content = description["paths"][path]["post"]["requestBody"]["content"]
            name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
            for example in schemas[name]["examples"]:
                said = fresh.post(path, json=example)
                assert said.status_code in (200, 202), (example, said.text)
