"""Copies of settings in pyproject.toml agree with it, and dashboards and alerts use existing metrics."""

import asyncio
import json
import re
import tomllib
from pathlib import Path

import httpx
import pytest

from heros import Heros, __version__, pools
from heros.serve.api import Api
from heros.serve.learners import OneModel
from heros.serve.service import Service

ROOT = Path(__file__).parents[1]
yaml = pytest.importorskip("yaml")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_place_has_the_same_version():
    recipe = yaml.safe_load(read("packaging/conda/recipe.yaml"))
    citation = yaml.safe_load(read("CITATION.cff"))
    assert PROJECT["version"] == __version__ == citation["version"] == recipe["context"]["version"]


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = yaml.safe_load(read("packaging/conda/recipe.yaml"))
    run = {re.sub(r"\s", "", one) for one in recipe["requirements"]["run"]}
    assert run == {"python", *PROJECT["dependencies"]}


def test_the_workflow_tests_every_python_that_is_declared():
    matrix = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]["test"]["strategy"]["matrix"]
    declared = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert matrix["python"] == declared


async def asked_for_metrics(api):
    transport = httpx.ASGITransport(api)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        x = {"km": 3.0}
        await client.post("/predict", json={"x": x, "id": "1"})
        await client.post(
            "/learn/batch?wait=true", json={"instances": [{"id": "1", "y": "no"}, {"x": x, "y": "yes"}]}
        )
        return (await client.get("/metrics")).text


def test_the_dashboard_and_the_alerts_ask_for_metrics_of_the_service():
    with Service(OneModel(Heros(pools.MLPGrid(hidden=[8]), seed=1))) as service:
        for i in range(300):  # measures are defined once both classes have been predicted
            service.learn({"x": {"km": i % 7}, "y": "yes" if i % 7 > 3 else "no"})
        service.wait()
        given = set(re.findall(r"^heros_\w+", asyncio.run(asked_for_metrics(Api(service))), re.M))
    dashboard = json.loads(read("deploy/grafana/dashboards/heros.json"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    alerts = yaml.safe_load(read("deploy/alerts.yml"))
    asked += [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    named = {name for expression in asked for name in re.findall(r"\bheros_\w+", expression)}
    assert len(named) > 20
    assert named - given == set()
