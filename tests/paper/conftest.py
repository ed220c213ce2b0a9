"""Records of fictitious runs, with results chosen by the test."""

import dataclasses
import json

import pytest

from heros import Heros, evaluate, pools, streams
from heros.run import records
from heros_paper.tables import closeness


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """Compute confidence intervals from few draws; the default takes seconds."""
    monkeypatch.setattr(closeness, "DRAWS", 100)


@pytest.fixture(scope="session")
def template():
    """A real short run, whose results are replaced in the records."""
    model = Heros(pools.MLPGrid(hidden=[8], learning_rates=[0.05, 0.005]), k=2, seed=1)
    return evaluate(model, streams.load("agr_a").take(400), window=100)


@pytest.fixture
def write(tmp_path, template):
    """Return a function that writes a record (without curves); the defaults are a cell of Table II."""

    def write_record(
        stream,
        policy,
        *,
        auroc=0.9,
        seed=1,
        n=2_000_000,
        kwh=1e-4,
        seconds=10.0,
        training=4.0,
        gamma=0.5,
        pool="mlp50",
        k=30,
        part="grid",
    ):
        cpu = {
            "encode": 0.0,
            "evaluate": seconds - training - 1,
            "choose": 1.0,
            "train": training,
            "other": 0.0,
        }
        run = dataclasses.replace(
            template,
            stream=stream,
            n_instances=n,
            figures={**template.figures, "auroc": auroc},
            gamma_spent=gamma * n,
            cpu=cpu,
            energy=dataclasses.replace(template.energy, kwh=kwh),
            settings={**template.settings, "pool": pool, "policy": policy, "k": k, "seed": seed},
        )
        place = tmp_path / part / records.run_id(run)
        place.mkdir(parents=True)
        (place / "record.json").write_text(json.dumps(records.document(run)), encoding="utf-8")
        return place

    return write_record
