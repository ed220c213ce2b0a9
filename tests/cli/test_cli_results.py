"""`heros run --save --predictions` and `heros predict`: their output, and errors before the run starts."""

import csv
import io
import json
import os

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from heros import Heros, evaluate, measures, pools, streams
from heros.cli import app
from heros.run import records

runner = CliRunner()


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text('kind = "mlp"\n[grid]\nhidden = [8]\nlearning_rates = [0.05, 0.005]\n')
    return str(path)


@pytest.fixture
def table(tmp_path):
    """Return a table with mixed types, missing values and two classes."""
    rng = np.random.default_rng(1)
    path = tmp_path / "people.csv"
    with path.open("w") as file:
        file.write("age,colour,late\n")
        for _ in range(600):
            age, colour = rng.integers(18, 80), rng.choice(["red", "green", "blue, dark"])
            late = "yes" if age > 50 or colour == "green" else "no"
            file.write(f'{age if rng.random() > 0.1 else "?"},"{colour}",{late}\n')
    return str(path)


def ok(*arguments):
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 2, result.output
    return result.stderr


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_the_predictions_file_has_the_runs_predictions(tmp_path, table, suffix):
    place = tmp_path / f"out{suffix}"
    ok("run", table, "--pool", "mlp", "--n", 300, "--predictions", place)
    read = (pq.read_table if suffix == ".parquet" else pyarrow.csv.read_csv)(place)
    model = Heros(pools.Paper(), seed=1)
    run = evaluate(model, streams.read(table).take(300), block=1000)
    assert read.column_names == ["target", "predicted", "p_no", "p_yes"]
    expected = run.predictions.to_arrow()
    for name in read.column_names:
        assert read[name].to_pylist() == expected[name].to_pylist()
    assert len(run.predictions) == 300
    hits = sum(a == b for a, b in zip(read["target"].to_pylist(), read["predicted"].to_pylist(), strict=True))
    assert hits / 300 == run.accuracy


def test_predictions_are_kept_if_no_measure_needs_them():
    stream = streams.Agrawal().take(500)
    model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)
    run = evaluate(model, stream, measures=[measures.F1()], predictions=True)
    assert len(run.predictions) == 500
    stream.restart()
    assert evaluate(model, stream, measures=[measures.F1()]).predictions is None
    stream.restart()
    assert evaluate(model, stream, predictions=False).predictions is None


def test_a_model_is_saved_and_predicts_a_file_without_targets(tmp_path, table, pool):
    saved = tmp_path / "deep" / "model.heros"
    ok("run", table, "--pool", pool, "--save", saved)
    new = tmp_path / "new.csv"
    new.write_text("colour,age,note\nred,20,a\npink,,b\ngreen,70,c\n")
    result = runner.invoke(app, ["predict", str(saved), str(new)])
    assert "values that the model does not know are treated as missing: 1 in 'colour'" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    model = Heros.load(saved)
    given = [{"colour": "red", "age": 20}, {"colour": "pink"}, {"colour": "green", "age": 70}]
    for row, instance in zip(rows, given, strict=True):
        p = model.predict_proba(instance)
        assert {"no": float(row["p_no"]), "yes": float(row["p_yes"])} == p
        assert row["predicted"] == max(p, key=p.get)
    out = tmp_path / "out.parquet"
    assert "3 predictions" in ok("predict", saved, new, "--out", out)
    assert pq.read_table(out)["predicted"].to_pylist() == [row["predicted"] for row in rows]
    assert "already exists. Pass --force" in refused("predict", saved, new, "--out", out)
    ok("predict", saved, new, "--out", out, "--force")
    (tmp_path / "other.csv").write_text("Age,Colour\n18,red\n")
    assert "must have at least one of the features 'age', 'colour'" in refused(
        "predict", saved, tmp_path / "other.csv"
    )
    (tmp_path / "less.csv").write_text("age\n18\n")
    result = runner.invoke(app, ["predict", str(saved), str(tmp_path / "less.csv")])
    assert "lacks columns of the model, whose values are treated as missing: 'colour'" in result.stderr


def test_a_row_that_cannot_be_read_has_no_prediction_but_its_place(tmp_path, table, pool):
    saved, bad = tmp_path / "model.heros", tmp_path / "bad.csv"
    ok("run", table, "--pool", pool, "--save", saved)
    bad.write_text("age,colour,id\n18,red,1\nold,red,2\n20\n30,blue,4,5\n18,red,5\n")
    result = runner.invoke(app, ["predict", str(saved), str(bad), "--with", "id"])
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["id"] for row in rows] == ["1", "2", "", "", "5"]
    assert [bool(row["predicted"]) for row in rows] == [True, False, False, False, True]
    assert rows[1]["p_no"] == ""
    assert {**rows[0], "id": ""} == {**rows[4], "id": ""}
    assert (
        f"heros: 3 rows have no prediction. The first error: {bad}, line 3: the 'age' column must be a number"
        in (result.stderr)
    )
    out = tmp_path / "out.parquet"
    ok("predict", saved, bad, "--out", out)
    assert pq.read_table(out)["predicted"].null_count == 3
    bad.write_text("age,colour\n1\n2\n")
    only = runner.invoke(app, ["predict", str(saved), str(bad)])
    assert (only.exit_code, only.stdout.count("\n")) == (0, 3)


def test_a_checkpoint_predicts(tmp_path, table, pool):
    kept = tmp_path / "kept"
    ok("run", table, "--pool", pool, "--checkpoint", kept, "--save", tmp_path / "model.heros")
    [checkpoint] = kept.glob("checkpoint-*.heros")
    assert ok("predict", checkpoint, table) == ok("predict", tmp_path / "model.heros", table)


@pytest.mark.parametrize(
    ("option", "place", "text"),
    [
        ("--save", "small.toml/model.heros", "cannot be written: Not a directory."),
        ("--save", "", "cannot be written: Is a directory."),
        ("--out", "small.toml/out", "cannot be written: Not a directory."),
        ("--predictions", "small.toml/out.csv", "cannot be written: Not a directory."),
        ("--predictions", "out.txt", "a file whose name ends in one of .csv, .parquet"),
        ("--save", "small.toml", "already exists. Pass --force to replace it"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_learnt(
    tmp_path, pool, option, place, text, monkeypatch
):
    monkeypatch.setattr("heros.cli.run.evaluate", lambda *_, **__: pytest.fail("it was trained"))
    assert text in refused("run", "agr_a", "--n", 500, "--pool", pool, option, tmp_path / place)


def test_results_are_printed_even_if_they_cannot_be_written(tmp_path, pool, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    place = tmp_path / "model.heros"
    result = runner.invoke(
        app, ["run", "agr_a", "--n", "500", "--pool", pool, "--save", str(place), "--json"]
    )
    assert result.exit_code == 2
    assert json.loads(result.stdout)["n_instances"] == 500
    assert "No space left on device" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["streams"], marks=pytest.mark.long),  # counts the classes of all streams
        ["policies"],
        ["pools"],
        [
            "compare",
            "agr_a",
            "--n",
            "600",
            "--seeds",
            "2",
            "--country",
            "fra",
            "--policy",
            "cand-as-published@0.2",
        ],
        ["run", "agr_a", "--n", "600"],
    ],
    ids=lambda words: words[0],
)
def test_what_is_printed_fits_80_columns(words, pool, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    more = ["--pool", pool] if words[0] in ("compare", "run") else []
    lines = ok(*words, *more).splitlines()
    assert [line for line in lines if len(line) > 80 and "/" not in line] == []  # paths are not wrapped


def test_all_mistakes_are_said_in_one_way(tmp_path, pool):
    for words in (["run"], ["run", "agr_a", "--no"], ["rum"], ["run", "agr_a", "--pool", pool, "--k", "9"]):
        error = refused(*words)
        assert error.startswith("heros: ")
        assert len(error.splitlines()) == 1
    assert "(see heros run --help)" in refused("run", "agr_a", "--no")


def test_compare_says_which_policy_and_how_many_of_how_many(pool, monkeypatch):
    shown = []

    def evaluated(model, stream, **settings):
        shown.append(settings["progress"])
        return evaluate(model, stream, **settings | {"progress": False})

    monkeypatch.setattr("heros.run.experiments.evaluate", evaluated)
    ok("compare", "agr_a", "--n", "300", "--pool", pool, "--policy", "cheapest", "--policy", "random")
    assert shown == ["1 of 2: agr_a/mlp4/cheapest/k2/seed1", "2 of 2: agr_a/mlp4/random/k2/seed1"]


def test_classes_have_weights_on_the_command_line(table, pool, tmp_path):
    for text, expected in (("balanced", "balanced"), ("yes=5", {"yes": 5.0})):
        saved = tmp_path / f"{text}.heros"
        ok("run", table, "--pool", pool, "--class-weight", text, "--save", saved)
        assert Heros.load(saved).class_weight == expected
    assert "balanced, or one weight per class, such as yes=5,no=1" in refused(
        "run", table, "--class-weight", "yes"
    )


def test_compare_spreads_over_seeds_as_the_report_does(pool, tmp_path):
    arguments = ["compare", "agr_a", "--n", "400", "--seeds", "3", "--policy", "random", "--pool", pool]
    result = runner.invoke(app, [*arguments, "--out", str(tmp_path / "r"), "--json"])
    assert result.exit_code == 0, result.output
    figures = [records.read(place).auroc for place in records.find(tmp_path / "r")]
    assert len(figures) == 3
    assert json.loads(result.stdout)[0]["AUROC spread"] == pytest.approx(np.std(figures, ddof=1))
