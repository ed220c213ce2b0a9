"""Paired cost measurements: the same decisions as in a run, and times that follow the work."""

import pytest
from typer.testing import CliRunner

import heros_paper as paper
from heros import DataError, Heros, ParameterError, evaluate, records, streams
from heros.policies import Cheapest, Everything, Explore, Random, Zeta
from heros_paper.cli import app


def test_policies_in_turn_decide_as_they_do_alone():
    measured = paper.paired_costs("mlp", ["agr_a"], [Random(), Cheapest()], n=700, block=150, seed=3)
    for one, policy in zip(measured, [Random(), Cheapest()], strict=True):
        base = paper.BASES["mlp"]
        run = evaluate(Heros(base.pool, policy, base.k, seed=3), streams.load("agr_a").take(700))
        assert one.gamma_share == pytest.approx(run.gamma_share, rel=1e-12)
        assert (one.stream, one.pool, one.n_instances) == ("agr_a", "mlp50", 700)


def test_a_twin_is_measured_where_it_is_one_no_longer():
    gradual, abrupt = paper.paired_costs(
        "mlp", ["agr_g", "agr_a"], [Explore(Zeta(0.05), 0.1)], n=900, block=300
    )
    assert (gradual.start, abrupt.start) == (249_300, 0)  # whole blocks around the drift at 250,000
    assert gradual.n_instances == abrupt.n_instances == 900
    assert gradual.gamma_share != abrupt.gamma_share


def test_the_command_measures_once(tmp_path):
    words = [
        "costs",
        "--base",
        "trees",
        "--streams",
        "led_a",
        "--n",
        "300",
        "--records",
        str(tmp_path),
    ]
    assert CliRunner().invoke(app, words).exit_code == 0
    measured = paper.read_paired(tmp_path / "paired" / "trees.csv")
    assert len(measured) == len(paper.POLICIES)
    everything = next(one for one in measured if one.policy == "everything")
    assert everything.gamma_share == pytest.approx(1, abs=1e-6)
    assert everything.cpu_seconds > 0
    made = records.provenance()
    assert (everything.commit, everything.isa) == (made["commit"], made["machine"]["isa"])
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 2
    assert "already exists" in again.stderr


def test_files_that_do_not_name_their_machine_are_read_all_the_same(tmp_path):
    path = tmp_path / "paired.csv"
    path.write_text(
        "stream,pool,policy,n_instances,gamma_share,encode,evaluate,choose,train\n"
        "agr_a,mlp50,cand,1000,0.6,0.01,0.02,0.001,0.03\n"
    )
    assert paper.read_paired(path)[0].cpu_seconds == pytest.approx(0.061)


def test_a_broken_file_is_named(tmp_path):
    path = tmp_path / "paired.csv"
    path.write_text("stream,pool\nagr_a,mlp50\n")
    with pytest.raises(DataError, match=r"paired.csv must hold paired measurements"):
        paper.read_paired(path)


def test_parameters_are_checked():
    with pytest.raises(
        ParameterError, match="The 'base' parameter of paired_costs must be one of mlp, trees"
    ):
        paper.paired_costs("forest")
    with pytest.raises(ParameterError, match="The 'block' parameter of paired_costs"):
        paper.paired_costs("mlp", ["agr_a"], [Everything()], block=0)
