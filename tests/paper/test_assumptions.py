"""Open points of the paper: our assumption is one of the tested alternatives, and the grid uses it."""

import csv

import pytest
from typer.testing import CliRunner

import heros_paper as paper
from heros import Heros, evaluate, records, streams
from heros.policies import Random
from heros_paper import assumptions
from heros_paper.cli import app


def test_each_open_point_is_run_as_we_take_it_and_otherwise():
    ways = {}
    for one in paper.ASSUMPTIONS:
        ways.setdefault((one.point, one.stream, str(one.policy)), []).append(one)
    assert all(len(some) >= 2 for some in ways.values())
    ours = Heros(paper.BASES["mlp"].pool, seed=1)
    for first, *_ in ways.values():
        model = Heros(first.pool, seed=1, **first.changes)
        assert (model.pool, model.score, model.warmup) == (ours.pool, ours.score, ours.warmup)


def test_the_command_writes_what_was_found_once(tmp_path, monkeypatch):
    one = paper.Assumption("warm-up", "50", "agr_a", Random(), changes={"warmup": 50}, n=400)
    monkeypatch.setattr(paper, "try_assumptions", lambda: assumptions.try_assumptions([one]))
    words = ["assumptions", "--records", str(tmp_path)]
    assert CliRunner().invoke(app, words).exit_code == 0
    with (tmp_path / "assumptions" / "runs.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    base = paper.BASES["mlp"]
    model = Heros(base.pool, Random(), base.k, warmup=50, seed=1)
    assert float(row["auroc"]) == pytest.approx(
        evaluate(model, streams.load("agr_a").take(400)).auroc, abs=1e-6
    )
    assert row["commit"] == records.provenance()["commit"]
    assert "already exists" in CliRunner().invoke(app, words).stderr
