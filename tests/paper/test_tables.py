"""Tables from records: our results beside the paper's."""

import csv
import json
import re

import numpy as np
import pytest

from heros import DataError
from heros_paper import tables
from heros_paper.paired import Paired, write_paired
from heros_paper.published import MLP, POLICIES, STREAMS, TREES
from heros_paper.results import grids
from heros_paper.tables.claim import pairings
from heros_paper.tables.layout import decimal, percent, scientific, signed


@pytest.fixture
def written(tmp_path):
    """Write the tables of the current records, and read a Markdown table as {(stream, row): {column: text}}."""

    def read(name):
        tables.write_tables(tmp_path, tmp_path / "out")
        text = (tmp_path / "out" / f"{name}.md").read_text(encoding="utf-8")
        lines = [
            [part.strip() for part in line.strip("|").split("|")]
            for line in text.splitlines()
            if line[:1] == "|"
        ]
        header, rows, stream = lines[0], {}, ""
        for line in lines[2:]:
            stream = line[0] or stream
            rows[re.sub("<sup>.*?</sup>", "", stream), line[1]] = dict(zip(header[2:], line[2:], strict=True))
        return rows, text

    return read


def test_a_cell_stands_beside_the_papers_with_the_difference(write, written):
    for seed, auroc in enumerate((0.9660, 0.9664, 0.9674), start=1):
        write("electricity", "zeta_0.05_0.1", auroc=auroc, seed=seed)
    rows, _ = written("table2_mlp_auroc")
    assert rows["electricity", "ours"]["ζ(.05, .1)"] == "**.9666 ± .0007**"
    assert rows["electricity", "paper"]["ζ(.05, .1)"] == ".9662"
    assert rows["electricity", "difference"]["ζ(.05, .1)"] == "+.0004"
    assert rows["electricity", "ours"]["Random"] == "not run"
    assert rows["electricity", "paper"]["Random"] == ".9514"
    assert rows["electricity", "difference"]["Random"] == "–"
    assert rows["electricity", "paper"]["Cand"] == "–"


def test_what_is_less_than_three_seeds_or_the_whole_stream_is_said_so(write, written):
    for seed in (1, 2, 3):
        write("electricity", "random", seed=seed)
        write("covtype", "random", seed=seed, n=100_000)
    write("electricity", "cand")
    write("agr_a", "random", seed=1)
    write("agr_a", "cand", seed=1)
    rows, text = written("table2_mlp_auroc")
    assert rows["electricity", "ours"]["Random"] == "**.9000 ± .0000**"
    assert rows["electricity", "ours"]["Cand"] == "**.9000**<sup>a</sup>"
    assert "| covtype<sup>b</sup> " in text
    assert "| AGR_a<sup>a</sup> " in text  # the same for the whole row, so mentioned once
    assert "b: the first 100,000 instances of 581,010." in text.splitlines()
    assert "a: 1 seed of 3." in text.splitlines()


def test_the_best_of_the_ten_is_bold_and_a_further_column_that_is_as_good(write, written):
    for policy, auroc in {"random": 0.91, "zeta_0.01_0.1": 0.93, "cand": 0.94, "everything": 0.92}.items():
        write("nomao", policy, auroc=auroc)
    rows, _ = written("table2_mlp_auroc")
    bold = {column for column, text in rows["nomao", "ours"].items() if text.startswith("**")}
    assert bold == {"ζ(.01, .1)", "Cand"}
    assert rows["covtype", "paper"]["Perform-best"] == rows["covtype", "paper"]["ζ(.01, .1)"] == "**.9904**"


def test_cells_far_from_the_paper_are_marked_and_counted(write, written, tmp_path):
    published = dict(zip(POLICIES, MLP.auroc["rbf_f"], strict=True))
    write("rbf_f", "random", auroc=published["random"] - 0.029)
    write("rbf_f", "cheapest_0.1", auroc=published["cheapest_0.1"] + 0.031)
    write("electricity", "random", auroc=0.9514 - 0.016)
    write("covtype", "random", auroc=0.5, n=1000)  # too short for a comparison
    rows, _ = written("table2_mlp_auroc")
    assert rows["RBF_f", "difference"]["Random"] == "−.0290"
    assert rows["RBF_f", "difference"]["Cheapest"] == "+.0310<sup>†</sup>"
    assert rows["electricity", "difference"]["Random"] == "−.0160<sup>†</sup>"
    mlp, trees = tables.summary(tmp_path).agreements
    assert (mlp.n_cells, mlp.n_compared, mlp.n_within, trees.n_compared) == (110, 3, 1, 0)
    assert [(cell.stream, cell.policy) for cell in mlp.outside] == [
        ("electricity", "random"),
        ("rbf_f", "cheapest_0.1"),
    ]
    assert "in 1 of them (33.3%)" in (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")


def test_the_energy_compared_is_one_run_of_each_cell_that_the_paper_has(write, tmp_path):
    for seed, kwh in ((1, 1e-4), (2, 3e-4)):
        write("electricity", "random", seed=seed, kwh=kwh)
    write("electricity", "cand", kwh=7e-4)  # not in the paper
    write("covtype", "random", kwh=5e-4, n=1000)  # too short for a comparison
    mlp, trees = tables.summary(tmp_path).agreements
    assert mlp.compared_kwh == pytest.approx(2e-4)
    assert mlp.paper_kwh == dict(zip(POLICIES, MLP.kwh["electricity"], strict=True))["random"]
    assert mlp.kwh == pytest.approx(16e-4)
    assert "the paper prints 0.1 for them" in str(mlp)
    assert "prints" not in str(trees)


def test_ranks_of_the_papers_own_figures_are_the_papers(write, written, tmp_path):
    for stream in STREAMS:
        for policy, auroc, kwh in zip(POLICIES, TREES.auroc[stream], TREES.kwh[stream], strict=True):
            write(stream, policy, auroc=auroc, kwh=kwh, pool="trees50", k=20)
    rows, text = written("appendix_trees_auroc")
    assert rows["mean rank", "ours, of the ten"] == rows["mean rank", "paper, from its figures"]
    assert rows["mean rank", "paper, printed"]["ζ(.05, .1)"] == "**2.91**"
    assert "Ranks of the ten: over 11 of 11 streams, Friedman p = " in text
    rows, _ = written("appendix_trees_energy")
    assert rows["mean rank", "ours, of the ten"] == rows["mean rank", "paper, from its figures"]
    _, trees = tables.summary(tmp_path).agreements
    assert (trees.n_within, trees.n_ranked, next(iter(trees.mean_ranks))) == (110, 11, "zeta_0.05_0.1")


def test_ranks_are_over_streams_where_all_policies_ran_equally_long(write, written):
    for stream in ("electricity", "wisdm", "nomao"):
        for i, policy in enumerate(POLICIES):
            write(stream, policy, auroc=0.9 - i / 100, n=2000 if (stream, i) == ("nomao", 3) else 3000)
    write("electricity", "cand", auroc=0.95, n=3000)
    rows, text = written("table2_mlp_auroc")
    assert [rows["mean rank", "ours, of the ten"][name] for name in ("CAND as published", "ζ(.05, .2)")] == [
        "**1.00**",
        "10.00",
    ]
    assert "over 2 of 11 streams" in text
    assert rows["mean rank", "ours, of all"]["Cand"] == "**1.00**"
    assert "Ranks of all: over 1 of 11 streams." in text


def test_energy_stands_in_kwh_with_cpu_seconds_and_gamma(write, written):
    for seed, kwh in enumerate((1e-4, 3e-4), start=1):
        write("electricity", "random", kwh=kwh, seconds=42.0, gamma=0.6, seed=seed)
    rows, text = written("table2_mlp_energy")
    column = {
        row: rows["electricity", row]["Random"]
        for row in ("kWh, ours", "kWh, paper", "paper / ours", "CPU s", "Σγ")
    }
    assert column == {
        "kWh, ours": "**2.00e-4**",
        "kWh, paper": "0.0627",
        "paper / ours": "314",
        "CPU s": "42",
        "Σγ": "60 %",
    }
    assert "Energy measured by: cpu-model" in text


def test_only_the_papers_pool_and_k_are_in_the_table_and_the_longest_runs(write, tmp_path):
    write("electricity", "random", pool="mlp20", k=12)
    write("electricity", "random", k=29)
    write("electricity", "everything", k=50)
    write("electricity", "cand", n=500, seed=1)
    write("electricity", "cand", n=900, seed=2)
    mlp, _ = grids(tmp_path)
    assert {policy for _, policy in mlp.cells} == {"everything", "cand"}
    assert (mlp.cell("electricity", "cand").seeds, mlp.cell("electricity", "cand").n_instances) == ((2,), 900)


def test_a_policy_of_ones_own_gets_a_column(write, written):
    write("electricity", "frugal_0.3", auroc=0.97)
    rows, _ = written("table2_mlp_auroc")
    assert rows["electricity", "ours"]["frugal_0.3"] == ".9700"
    assert list(rows["electricity", "ours"])[-1] == "frugal_0.3"


def test_table_i_counts_what_the_records_saw(write, written, template):
    write("agr_a", "random", n=400)
    rows, _ = written("table1_streams")
    shares = template.confusion.counts.sum(axis=1) / 4
    assert rows["AGR_a", "ours"] == {
        "type": "DS",
        "instances": "400",
        "features": "9",
        "classes": "2",
        "largest %": f"{shares.max():.2f}",
        "smallest %": f"{shares.min():.2f}",
    }
    assert rows["AGR_a", "paper"]["instances"] == "1,000,000"
    assert rows["WISDM", "ours"]["instances"] == "not run"


# -- Table III ------------------------------------------------------------------------------------------


def test_rivals_stand_beside_heros(write, written):
    write("electricity", "zeta_0.05_0.2", auroc=0.965, seconds=20.0, n=50_000)
    write("electricity", "cand", auroc=0.967, n=50_000)
    for policy, auroc in {"arf": 0.961, "srp": 0.957, "shrubs": 0.932}.items():
        write("electricity", policy, auroc=auroc, part="rivals", pool="capymoa50", n=50_000, seconds=100.0)
    rows, text = written("table3_ensembles")
    assert rows["electricity", "AUROC, ours"]["ARF"] == ".9610<sup>a</sup>"
    assert rows["electricity", "AUROC, ours"]["HEROS ζ(.05, .2)"] == "**.9650**<sup>a</sup>"
    assert rows["electricity", "AUROC, ours"]["HEROS Cand"] == "**.9670**<sup>a</sup>"
    assert rows["electricity", "difference"]["HEROS ζ(.05, .2)"] == "+.002"
    assert rows["electricity", "CPU µs per instance"]["ARF"] == "2,000.0"
    assert rows["electricity", "CPU µs per instance"]["HEROS ζ(.05, .2)"] == "400.0"
    assert list(rows["mean rank", "ours, distinct streams"].values()) == [
        "2.000",
        "3.000",
        "4.000",
        "**1.000**",
        "–",
    ]
    assert list(rows["mean rank", "ours, distinct, with Cand"].values()) == [
        "3.000",
        "4.000",
        "5.000",
        "2.000",
        "**1.000**",
    ]
    assert "a: 1 seed of 3." in text


def test_times_that_were_taken_alone_take_the_place_of_those_of_the_runs(write, written):
    for policy, seconds in {"arf": 150.0, "srp": 300.0, "zeta_0.05_0.2": 15.0}.items():
        write("electricity", policy, part="rivals", n=45_000, seconds=100.0)
        write("electricity", policy, part="alone", n=10_000, seconds=seconds)
    rows, text = written("table3_ensembles")
    assert ("electricity", "CPU µs per instance") not in rows
    alone = rows["electricity", "CPU µs per instance, alone"]
    assert list(alone.values()) == ["15,000.0", "30,000.0", "–", "1,500.0", "–"]
    assert "the first 10,000 instances with nothing else on the machine" in text
    assert "HEROS ζ(.05, .2) takes 1/10 of ARF's (1 streams), 1/20 of SRP's (1 streams) in the median" in text
    assert ("nomao", "CPU µs per instance, alone") not in rows


def test_heros_is_not_ranked_against_shorter_runs_of_rivals(write, written):
    write("agr_a", "zeta_0.05_0.2", n=1_000_000)
    for policy in ("arf", "srp", "shrubs"):
        write("agr_a", policy, part="rivals", n=100_000)
    rows, text = written("table3_ensembles")
    assert rows["mean rank", "ours, distinct streams"]["ARF"] == "–"
    assert "1 seed of 3, the first 100,000 instances of 1,000,000." in text
    write("agr_a", "zeta_0.05_0.2", n=100_000, part="rivals", auroc=0.99)
    rows, _ = written("table3_ensembles")
    assert rows["AGR_a", "AUROC, ours"]["HEROS ζ(.05, .2)"].startswith("**.9900**")
    assert rows["mean rank", "ours, distinct streams"]["HEROS ζ(.05, .2)"] == "**1.000**"


def test_beginnings_that_are_alike_count_once_among_distinct_streams(write, written):
    for stream, heros in (("agr_a", 0.99), ("agr_g", 0.99), ("nomao", 0.5)):
        write(stream, "zeta_0.05_0.2", n=100_000, part="rivals", auroc=heros)
        for policy, auroc in {"arf": 0.9, "srp": 0.8, "shrubs": 0.7}.items():
            write(stream, policy, n=100_000, part="rivals", auroc=auroc)
    rows, text = written("table3_ensembles")
    assert rows["mean rank", "ours, all streams"]["HEROS ζ(.05, .2)"] == "2.000"  # 1, 1 and 4
    assert rows["mean rank", "ours, distinct streams"]["HEROS ζ(.05, .2)"] == "2.500"
    assert "over the 3 streams where all four ran equally long; 2 of them are distinct" in text


def test_savings_of_the_sum_are_led_by_the_dearest_stream(write, written):
    for stream, seconds, saved in (("agr_a", 10.0, 0.0), ("led_a", 10.0, 0.0), ("nomao", 80.0, 40.0)):
        write(stream, "everything", seconds=seconds, gamma=1.0)
        write(stream, "zeta_0.05_0.2", seconds=seconds - saved, gamma=0.5)
    rows, _ = written("claim_mlp")
    row = rows["ζ(.05, .2)", "Everything"]
    assert (row["CPU saved: median"], row["CPU saved: sum"]) == ("0 %", "40 %")


def test_the_share_of_the_first_class_is_not_that_of_the_largest(write, written):
    place = write("rbf_f", "random")
    document = json.loads((place / "record.json").read_text())
    document["confusion"] = np.diag([2611, 1664, 1797, 927, 3001]).tolist()
    (place / "record.json").write_text(json.dumps(document))
    _, text = written("table1_streams")
    assert "RBF_f: what the paper calls the largest class is the share of class 0." in text


def test_a_rivals_record_may_lack_the_phases_that_only_heros_has(write, written):
    place = write("wisdm", "arf", part="rivals", auroc=0.947)
    document = json.loads((place / "record.json").read_text())
    document["cpu"] = {}
    document["energy"]["cpu_seconds"] = 8.0
    (place / "record.json").write_text(json.dumps(document))
    rows, _ = written("table3_ensembles")
    assert rows["WISDM", "AUROC, ours"]["ARF"].startswith("**.9470**")
    assert rows["WISDM", "CPU µs per instance"]["ARF"] == "4.0"


# -- the claim ------------------------------------------------------------------------------------------


def test_what_zeta_loses_and_saves(write, written, tmp_path):
    for i, stream in enumerate(STREAMS):
        write(stream, "everything", auroc=0.95, seconds=10.0, training=5.0, gamma=1.0, kwh=4e-4)
        loss = (i + 1) / 1000
        write(stream, "zeta_0.05_0.2", auroc=0.95 - loss, seconds=8.0, training=2.0, gamma=0.5, kwh=3e-4)
    rows, _ = written("claim_mlp")
    row = rows["ζ(.05, .2)", "Everything"]
    assert row["streams"] == "11"
    assert row["AUROC gained"] == "−.0060"
    assert row["better / worse"] == "0 / 11"
    assert [row[f"{name} saved: median"] for name in ("CPU", "training", "Σγ")] == ["20 %", "60 %", "50 %"]
    assert rows["ζ(.05, .2)", "Cand"]["streams"] == "not run"
    data = list(csv.DictReader((tmp_path / "out" / "claim_mlp.csv").read_text().splitlines()))
    assert [(line["policy"], line["against"]) for line in data] == [("zeta_0.05_0.2", "everything")]
    assert float(data[0]["p_auroc"]) == float(data[0]["p_auroc_holm"]) == 2 / 2**11


def test_the_claim_takes_cpu_time_measured_in_turn_where_there_is_some(write, written, tmp_path):
    for stream in ("agr_a", "led_a"):
        write(stream, "everything", seconds=10.0, training=5.0, gamma=1.0)
        write(stream, "zeta_0.05_0.2", seconds=9.0, training=5.0, gamma=0.5)
    in_turn = [
        Paired("agr_a", "mlp50", "everything", 1000, 1.0, 0.0, 1.0, 0.0, 3.0),
        Paired("agr_a", "mlp50", "zeta_0.05_0.2", 1000, 0.5, 0.0, 1.0, 0.0, 1.5),
    ]
    write_paired(in_turn, tmp_path / "paired" / "mlp.csv")
    rows, _ = written("claim_mlp_against_everything")
    saved = {stream: row["ζ(.05, .2) CPU"] for (stream, _), row in rows.items()}
    assert (saved["AGR_a"], saved["LED_a"]) == ("38 %", "10 %")
    text = (tmp_path / "out" / "claim_mlp.md").read_text(encoding="utf-8")
    assert "of runs that met different loads on some streams" in text


def test_policies_are_compared_over_the_seeds_both_have_and_at_one_length(write, tmp_path):
    for seed, auroc in ((1, 0.90), (2, 0.92)):
        write("wisdm", "zeta_0.01_0.1", auroc=auroc, seed=seed)
    for seed, auroc in ((2, 0.93), (3, 0.99)):
        write("wisdm", "perform_best_0.1", auroc=auroc, seed=seed)
    write("nomao", "zeta_0.01_0.1", n=1000)
    write("nomao", "perform_best_0.1", n=2000)
    mlp, _ = grids(tmp_path)
    (pair,) = pairings(mlp, "zeta_0.01_0.1", "perform_best_0.1")
    assert (pair.stream, pair.seeds, pair.auroc) == ("wisdm", (2,), pytest.approx(-0.01))


# -- form -----------------------------------------------------------------------------------------------


def test_every_table_is_written_in_three_forms_that_agree(write, tmp_path):
    write("agr_a", "cheapest_0.1", auroc=0.98765432)
    paths = tables.write_tables(tmp_path, tmp_path / "out")
    stems = {path.stem for path in paths} - {"summary"}
    assert {path.name for path in paths} == {
        f"{stem}{end}" for stem in stems for end in (".md", ".tex", ".csv")
    } | {"summary.md"}
    for stem in stems:
        latex = (tmp_path / "out" / f"{stem}.tex").read_text(encoding="utf-8")
        assert latex.count("{") == latex.count("}")
        assert latex.count("$") % 2 == 0
        assert latex.isascii(), set(re.findall(r"[^\x00-\x7f]", latex))
        body = latex.split(r"\toprule")[1].split(r"\bottomrule")[0]
        assert len({line.count("&") for line in body.splitlines() if line.endswith(r"\\")}) == 1
        assert not re.search(r"(?<!\$)(?<!\\)_", latex)
    lines = csv.DictReader((tmp_path / "out" / "table2_mlp_auroc.csv").read_text().splitlines())
    found = {(line["stream"], line["policy"]): line for line in lines}
    assert found["agr_a", "cheapest_0.1"]["auroc"] == "0.98765432"
    assert found["agr_a", "cheapest_0.1"]["paper"] == "0.9863"
    assert found["agr_a", "random"]["auroc"] == ""


def test_numbers_as_people_read_them():
    assert [decimal(0.98765), decimal(1.0, 3), decimal(0.5, 2, 0.012)] == [".9877", "1.000", ".50 ± .01"]
    assert [signed(0.0012), signed(-0.0012), signed(-0.00001)] == ["+.0012", "−.0012", ".0000"]
    assert [scientific(0.000178), scientific(2.0)] == ["1.78e-4", "2.00e0"]
    assert [percent(0.234), percent(-0.04), percent(-0.001)] == ["23 %", "−4 %", "0 %"]


def test_a_directory_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"does not exist"):
        tables.write_tables(tmp_path / "nowhere", tmp_path / "out")
