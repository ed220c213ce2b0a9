"""Runs beyond the grid: their number, their order, and the text of their tables."""

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import Heros, policies, pools, streams
from heros.run import records
from heros_paper.cli import app
from heros_paper.further import PARTS, missing, unlimited
from heros_paper.paired import Paired, write_paired
from heros_paper.results import OTHERWISE, TRIED, grids
from heros_paper.settings import STREAMS, Cell
from heros_paper.tables import all_tables


def test_no_two_runs_of_a_part_have_the_same_record():
    for part, made in PARTS.items():
        ids = [cell.id for cell in made()]
        assert len(ids) == len(set(ids)), part


def test_what_is_missing_comes_in_batches_the_cheapest_and_the_first_seed_first():
    batches = missing()
    work = [batch[0].work for _, batch in batches]
    assert work == sorted(work)
    assert sum(len(batch) for _, batch in batches) == sum(len(made()) for made in PARTS.values())
    assert all(len({(cell.work, cell.seed) for cell in batch}) == 1 for _, batch in batches)


def test_every_cell_of_both_tables_has_three_seeds():
    ids = {cell.id for cell in PARTS["grid"]()}
    assert len(ids) == 2 * 11 * 13 * 3


def test_what_is_missing_is_run_and_what_is_there_is_kept(tmp_path, monkeypatch):
    pool = pools.MLPGrid(hidden=[8], learning_rates=[0.05])
    made = [Cell(name, pool, policies.Random(), 1, seed=1, n=200) for name in ("agr_a", "led_a")]
    monkeypatch.setitem(PARTS, "seeds", lambda: made)

    def run(*words):
        return CliRunner().invoke(
            app, ["run", "--missing", "--parts", "seeds", "--records", str(tmp_path), *words]
        )

    assert run("--streams", "led_a").stdout.startswith("1 run, 0 kept, 0 failed")
    assert [line[:6] for line in run().stdout.splitlines()] == [
        "1 run,",
        "0 run,",
    ]  # agr_a is cheaper
    assert records.exists(tmp_path / "seeds" / "agr_a/mlp2/random/k1/seed1")


def test_what_is_missing_may_be_of_some_seeds_only():
    cells = [cell for _, batch in missing(["seeds", "sweep"], ["wisdm"], [1, 7]) for cell in batch]
    assert {cell.seed for cell in cells} == {1, 7}


def test_the_beginnings_are_of_distinct_streams_and_one_length():
    made = PARTS["sweep"]()
    assert {cell.instances for cell in made} == {5_418, 10_000}
    assert {cell.stream for cell in made} == set(STREAMS) - {"agr_g", "led_g"}
    assert all(cell.span == (cell.instances - 100, cell.instances) for cell in made)


def test_a_part_that_is_none_is_refused(tmp_path):
    result = CliRunner().invoke(app, ["run", "--missing", "--parts", "bogus"])
    assert result.exit_code == 2
    assert "must be one of beta, drift" in str(result.exception) + result.output


def test_trees_without_limits_are_five_kinds_at_ten_prices():
    pool = unlimited()
    assert {c["max_bytes"] for c in pool.configurations} == {1 << 40}
    assert [c["grace_period"] for c in pool.configurations[:6]] == [50, 100, 200, 400, 800, 50]
    assert np.allclose(np.unique(pool.costs) * 5 * 1023, 2.0 ** np.arange(10))
    model = Heros(pool, policies.Cheapest(), k=20, seed=1)
    ((X, y),) = streams.load("agr_a").take(300).blocks(300)
    model.bind(streams.load("agr_a").schema).test_then_train(X, y)
    assert (model.trained[:20] == 300).all()  # the cheapest runs have the first four prices of all five kinds


def test_costs_are_those_of_one_machine_and_scores_those_of_all(write, tmp_path):
    for seed, kwh in ((1, 1.0), (2, 3.0), (3, 100.0)):
        place = write("wisdm", "random", seed=seed, kwh=kwh, auroc=0.8 + seed / 100)
        if seed == 3:
            text = (place / "record.json").read_text(encoding="utf-8")
            (place / "record.json").write_text(
                text.replace('"cores"', '"sockets": 2, "cores"'), encoding="utf-8"
            )
    cell = grids(tmp_path)[0].cell("wisdm", "random")
    assert cell.mean("kwh") == pytest.approx(2)
    assert cell.mean("auroc") == pytest.approx(0.82)


def tables(tmp_path):
    return {table.name: table for table in all_tables(tmp_path)}


def test_tables_of_further_runs_say_what_was_not_run(tmp_path, write):
    write("electricity", "zeta_0.05", part="greedy", auroc=0.91)
    write("electricity", "zeta_0.05", part="sweep", k=5, auroc=0.92)
    found = tables(tmp_path)
    for name, figure in (("exploration_mlp", ".9100"), ("sweep_mlp", ".9200")):
        text = found[name].markdown()
        assert "not run" in text
        assert figure in text
    assert "not run" in found["seeds_wisdm"].markdown()
    assert "1 of 120 cells were run." in found["sweep_mlp"].markdown()
    assert "0 of 9 streams" in found["exploration_first_mlp"].markdown()
    assert {base.name for base in OTHERWISE} == {"unlimited", "trees30"}


def test_the_beginnings_of_streams_are_ranked_where_all_policies_ran(tmp_path, write):
    for stream in ("wisdm", "nomao"):
        for i, name in enumerate(TRIED):
            write(stream, name, part="sweep", n=10_000, auroc=0.9 - 0.01 * i, gamma=0.6)
    write("electricity", "cand", part="sweep", n=10_000)
    table = tables(tmp_path)["exploration_first_mlp"]
    ranks, gained, _ = ([entry.text for entry in row] for row in table.groups[-1])
    assert ranks[2:] == [f"{1 + i:.2f}" for i in range(len(TRIED))]
    assert gained[2] == "+.1100"  # the first of twelve policies against Everything, the last
    assert "25 of 108 cells were run." in table.markdown()


def test_what_choosing_takes_is_said_in_turn_and_alone_beside_the_paper(tmp_path, write):
    write("electricity", "cand", pool="trees50", k=20, seconds=9.0, training=4.0, part="phases")
    write("electricity", "cand", pool="trees50", k=20, seconds=90.0, training=4.0)  # under load
    one = [
        Paired(stream, "trees50", "cand", 1000, 0.5, 0.001, 0.002, choose, 0.004)
        for stream, choose in (("electricity", 0.003), ("wisdm", 0.001), ("nomao", 0.013))
    ]
    write_paired(one, tmp_path / "paired" / "trees.csv")
    (row,) = [row for row in tables(tmp_path)["phases"].groups[0] if row[0].text == "Cand"]
    assert [entry.text for entry in row[5:]] == ["30.0 %", "11.1 %", "30.0 %", "> 32 %"]


def test_seeds_of_wisdm_are_set_beside_the_papers_figure(tmp_path, write):
    for seed in range(1, 11):
        write("wisdm", "zeta_0.01_0.2", seed=seed, part="seeds", auroc=0.94 + 0.001 * seed)
        write("wisdm", "zeta_0.01_0.2", seed=seed, part="rounding", auroc=0.9444)
    table = tables(tmp_path)["seeds_wisdm"]
    (row,) = [row for row in table.data if row["policy"] == "zeta_0.01_0.2"]
    assert ".9444 ± .0000" in table.markdown()
    assert (row["n_seeds"], row["paper"]) == (10, 0.9336)
    assert row["auroc"] == pytest.approx(0.9455)
    assert row["sd"] == pytest.approx(np.std(np.arange(10), ddof=1) / 1000)


def test_a_cell_has_all_the_seeds_it_was_run_with_and_says_so(tmp_path, write):
    for seed in (1, 2, 3):
        write("wisdm", "random", seed=seed, auroc=0.9)
        write("nomao", "random", seed=seed, auroc=0.9)
    for seed in (1, 2, 3, 4, 5):
        write("wisdm", "random", seed=seed, part="seeds", auroc=0.9 if seed < 4 else 0.8)
    table = tables(tmp_path)["table2_mlp_auroc"]
    ours = {row["stream"]: row for row in table.data if row["policy"] == "random"}
    assert ours["wisdm"]["seeds"] == "1 2 3 4 5"
    assert ours["wisdm"]["auroc"] == pytest.approx(0.86)
    assert ours["nomao"]["seeds"] == "1 2 3"
    assert "5 seeds, the paper 3" in table.markdown()


def test_exploration_is_compared_over_the_seeds_that_both_have(tmp_path, write):
    for seed in (1, 2):
        write("nomao", "zeta_0.05_0.1", seed=seed, auroc=0.9 + 0.01 * seed)
    write("nomao", "zeta_0.05", seed=1, part="greedy", auroc=0.95)
    write("airlines", "zeta_0.05_0.1", seed=2, auroc=0.7)
    rows = {(row["stream"], row["policy"]): row for row in tables(tmp_path)["exploration_mlp"].data}
    assert rows["nomao", "zeta_0.05_0.1"]["auroc"] == pytest.approx(0.91)
    assert rows["nomao", "zeta_0.05_0.1"]["seeds"] == rows["nomao", "zeta_0.05"]["seeds"] == "1"
    assert rows["airlines", "zeta_0.05_0.1"]["seeds"] == "2"


def test_trees_set_up_otherwise_have_tables_of_their_own(tmp_path, write):
    write("nomao", "cheapest_0.1", part="unlimited", pool="trees50", k=20, auroc=0.9441)
    write("nomao", "cheapest_0.1", part="trees30", pool="trees50", k=30, auroc=0.91)
    found = tables(tmp_path)
    assert ".9441" in found["unlimited_auroc"].csv()
    assert "0.91" in found["trees30_auroc"].csv()
    assert set(STREAMS) == {row["stream"] for row in found["trees30_auroc"].data}
