"""The command line and files: reading options, `heros look`, versions and counts."""

import json
from importlib.metadata import version

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import DataNotice, Heros, streams
from heros.cli import app

runner = CliRunner()
POOL = 'kind = "mlp"\n[grid]\nhidden = [8]\nlearning_rates = [0.01]\noptimizers = ["sgd"]\n'


@pytest.fixture
def place(tmp_path):
    (tmp_path / "pool.toml").write_text(POOL)
    rows = [
        f"u{i};{i % 9},5;0{1 + i % 4}.0{1 + i % 9}.2024;{i % 5};{'-' if i % 7 else 'x'};{'ny'[i % 3 == 0]}"
        for i in range(300)
    ]
    (tmp_path / "s.csv").write_text(
        "Order Id;Net Price;day;Zip Code;Odd One;is late\n" + "\n".join(rows) + "\n"
    )
    return tmp_path


def test_a_run_reads_a_file_as_the_options_say(place):
    arguments = ["run", str(place / "s.csv"), "--pool", str(place / "pool.toml"), "--json", "--n", "2e2"]
    plain = runner.invoke(app, arguments)
    assert plain.exit_code == 0, plain.output
    assert "heros: The column 'Order Id' is left out: 300 distinct values in 300 rows" in plain.stderr
    assert "(use --nominal to keep the column, or --ignore to hide this notice)" in plain.stderr
    assert json.loads(plain.stdout)["n_instances"] == 200
    said = [
        "--ignore",
        "Order Id,day",
        "--nominal",
        "Zip Code",
        "--numeric",
        "Net Price",
        "--missing",
        "-,NA",
    ]
    said += ["--classes", "n,y", "--delimiter", ";", "--target", "is late"]
    told = runner.invoke(
        app,
        [*arguments, *said],
    )
    assert told.exit_code == 0, told.output
    assert told.stderr == ""
    wrong = runner.invoke(app, [*arguments, "--ignore", "order id"])
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("heros: --ignore must be a list of columns among")
    assert wrong.stderr.endswith("Did you mean 'Order Id'?\n")


def test_a_file_without_a_header_is_read_as_told(place):
    path = place / "plain.csv"
    path.write_text("".join(f"{i % 7}.5,{i % 5},{'ny'[i % 2]}\n" for i in range(100)))
    arguments = ["run", str(path), "--pool", str(place / "pool.toml"), "--json"]
    plain = runner.invoke(app, arguments)
    assert "look like values (pass --no-header if the file has no header): '0.5', '0', 'n'" in plain.stderr
    assert json.loads(plain.stdout)["n_instances"] == 99
    told = runner.invoke(app, [*arguments, "--no-header", "--target", "x3", "--save", str(place / "m.heros")])
    assert told.stderr == ""
    assert json.loads(told.stdout)["n_instances"] == 100
    looked = runner.invoke(app, ["look", str(path), "--no-header"])
    assert "target 'x3': n 50.0%, y 50.0%" in looked.stdout
    predicted = runner.invoke(app, ["predict", str(place / "m.heros"), str(path), "--no-header"])
    assert len(predicted.stdout.splitlines()) == 101, predicted.output
    piped = runner.invoke(app, [*arguments[:1], "-", *arguments[2:], "--no-header"], input=path.read_bytes())
    assert json.loads(piped.stdout)["n_instances"] == 100
    queue = runner.invoke(app, ["run", "kafka://a:1/t", "--target", "y", "--no-header"])
    assert "--no-header must be left out, because the option applies only to files" in queue.stderr


def test_a_run_tells_of_columns_that_number_the_rows_and_of_names_read_as_missing(place):
    """`DataFrame.to_csv` writes an index column without a name, and NA is the country code of Namibia."""
    rows = [(i, 2 * i, "NA" if i % 3 else "DE", i % 7, "ny"[i % 2]) for i in range(200)]
    lines = ["number,,country,size,late", *(",".join(map(str, row)) for row in rows)]
    (place / "rows.csv").write_text("\n".join(lines) + "\n")
    arguments = ["run", str(place / "rows.csv"), "--pool", str(place / "pool.toml"), "--target", "late"]
    told = runner.invoke(app, arguments)
    assert told.exit_code == 0, told.output
    for option in ("--ignore number", "--ignore '\"\"'"):
        assert f"seems to hold row numbers (use {option} to ignore the column)" in told.stderr
    assert 'has words that are read as missing: "NA" in 133 rows (to keep them as names' in told.stderr
    (place / "columns.json").write_text('{"country": ["NA", "DE"], "number": "ignore"}')
    said = [*arguments, "--ignore", '""', "--columns", str(place / "columns.json")]
    told = runner.invoke(app, [*said, "--save", str(place / "kept.heros")])
    assert (told.exit_code, told.stderr) == (0, "")
    features = {one.name: one.values for one in Heros.load(place / "kept.heros").schema.features}
    assert features == {"country": ("NA", "DE"), "size": None}


def test_a_class_that_is_a_word_for_a_missing_value_is_told(place):
    rows = "".join(f"{i % 7},{('None', 'part', 'full')[i % 3]}\n" for i in range(300))
    (place / "classes.csv").write_text(f"size,damage\n{rows}")
    arguments = ["run", str(place / "classes.csv"), "--pool", str(place / "pool.toml"), "--json"]
    told = runner.invoke(app, [*arguments, "--target", "damage"])
    words = "The column 'damage' has words that are read as missing: \"None\" in 100 rows (to keep them as classes"
    assert words in told.stderr
    kept = runner.invoke(app, [*arguments, "--target", "damage", "--classes", "None,part,full"])
    assert (kept.stderr, json.loads(kept.stdout)["n_instances"]) == ("", 300)


def test_only_the_first_notices_about_a_file_are_printed(place):
    names = ",".join(f"c{i}" for i in range(8))
    rows = "".join(",".join(f"k{i}-{j}" for j in range(8)) + f",{i % 5},{i % 2}\n" for i in range(100))
    (place / "many.csv").write_text(f"{names},size,late\n{rows}")
    arguments = ["run", str(place / "many.csv"), "--pool", str(place / "pool.toml"), "--target", "late"]
    told = runner.invoke(app, arguments).stderr
    assert told.count("is left out") == 5
    assert told.endswith("heros: 3 more notices; run heros look to see how each column is read\n")


def test_standard_input_may_be_json_lines(place):
    lines = "".join(json.dumps({"a": i % 5, "label": i % 2}) + "\n" for i in range(200))
    result = runner.invoke(app, ["run", "-", "--pool", str(place / "pool.toml"), "--json"], input=lines)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n_instances"] == 200


def test_a_look_shows_a_table_of_80_columns(place, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    columns = place / "columns.toml"
    columns.write_text('"Zip Code" = "nominal"\n')
    result = runner.invoke(app, ["look", str(place / "s.csv"), "--columns", str(columns)])
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines()[1:])) <= 80
    kinds = [
        line[11:20].strip()
        for line in result.stdout.splitlines()
        if line[:9].strip() in {"Order Id", "Zip Code", "day"}
    ]
    assert kinds == ["left out", "dates", "names"]
    assert "target 'is late': n 66.7%, y 33.3%" in result.stdout
    found = json.loads(runner.invoke(app, ["look", str(place / "s.csv"), "--json"]).stdout)
    assert found["classes"] == {"y": 100, "n": 200}
    assert runner.invoke(app, ["look", "agr_a"]).exit_code == 2


def test_a_target_of_numbers_is_refused_in_the_words_of_the_options(place):
    path = place / "prices.csv"
    path.write_text("a,price\n" + "".join(f"{i % 3},{i}\n" for i in range(200)))
    result = runner.invoke(app, ["run", str(path)])
    assert result.exit_code == 2
    assert "the target 'price' must hold classes. Got 200 different numbers in 200 rows" in result.stderr
    assert (
        "set --task regression if the values are quantities, or --task classification if each "
        "value" in result.stderr
    )
    assert "--target" in result.stderr
    said = ["--task", "regression", "--json", "--pool", str(place / "pool.toml")]
    result = runner.invoke(app, ["run", str(path), *said])
    assert result.exit_code == 0, result.output
    assert '"mae"' in result.stdout


def test_the_version_is_said():
    assert runner.invoke(app, ["--version"]).stdout == f"heros {version('heros-learn')}\n"


@pytest.mark.parametrize("text", ["0", "1.5", "many"])
def test_a_count_that_is_none_is_refused(text):
    result = runner.invoke(app, ["run", "agr_a", "--n", text])
    assert result.exit_code == 2
    assert "is not a whole number of at least 1" in result.stderr


def test_a_file_is_predicted_as_it_was_learnt_from(place):
    text = (place / "s.csv").read_text()
    (place / "old.csv").write_text(text.replace("Net Price", "Größe"), encoding="latin-1")
    model = str(place / "m.heros")
    told = ["--encoding", "latin-1", "--missing", "x,-"]
    learnt = runner.invoke(
        app, ["run", str(place / "old.csv"), "--pool", str(place / "pool.toml"), "--save", model, *told]
    )
    assert learnt.exit_code == 0, learnt.output
    said = runner.invoke(app, ["predict", model, str(place / "old.csv"), "--with", "Order Id,Größe", *told])
    assert said.exit_code == 0, said.output
    assert said.stdout.splitlines()[0] == '"Order Id","Größe","predicted","p_n","p_y"'
    assert said.stdout.splitlines()[9].startswith('"u8","8,5",')
    one = text.splitlines()  # the format of a single row is ambiguous, so the model's format is used
    (place / "one.csv").write_text("\n".join([one[0].replace("Net Price", "Größe"), one[9]]))
    alone = runner.invoke(app, ["predict", model, str(place / "one.csv")])
    assert alone.stdout.splitlines()[1] == said.stdout.splitlines()[9].removeprefix('"u8","8,5",')
    wrong = runner.invoke(app, ["predict", model, str(place / "one.csv"), "--with", "Order ID"])
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("heros: --with must be one of the columns")
    assert "Did you mean 'Order Id'?" in wrong.stderr


def test_no_file_is_read_and_replaced(place, monkeypatch):
    """--force replaces the results, but not the input file."""
    monkeypatch.chdir(place)
    rows = "a,label\n" + "1,x\n2,y\n" * 100
    (place / "rows.csv").write_text(rows)
    run = ["run", "rows.csv", "--pool", "bayes", "--k", "1", "--force"]
    assert runner.invoke(app, [*run, "--save", "m.heros"]).exit_code == 0
    for asked in (
        [*run, "--save", str(place / "rows.csv")],
        [*run, "--predictions", "./rows.csv"],
        [*run, "--save", "p.csv", "--predictions", "p.csv"],
        ["predict", "m.heros", "rows.csv", "--out", "rows.csv", "--force"],
    ):
        done = runner.invoke(app, asked)
        assert (done.exit_code, "is used as both input and output" in done.stderr) == (2, True), done.output
    assert (place / "rows.csv").read_text() == rows


def test_a_file_with_only_a_header_has_no_predictions(place, monkeypatch):
    monkeypatch.chdir(place)
    (place / "rows.csv").write_text("a,label\n" + "1,x\n2,y\n" * 100)
    (place / "none.csv").write_text("a,id\n")
    runner.invoke(app, ["run", "rows.csv", "--pool", "bayes", "--k", "1", "--save", "m.heros"])
    said = runner.invoke(app, ["predict", "m.heros", "none.csv", "--with", "id"])
    assert (said.exit_code, said.stdout) == (0, '"id","predicted","p_x","p_y"\n')
    for out in ("p.csv", "p.parquet"):
        assert runner.invoke(app, ["predict", "m.heros", "none.csv", "--out", out]).exit_code == 0


def test_rows_count_what_a_column_says(place):
    rows = "".join(f"{i % 7},{i % 3},{'ny'[i % 7 > 3]}\n" for i in range(300))
    (place / "w.csv").write_text("a,times,late\n" + rows)
    arguments = [
        "run",
        str(place / "w.csv"),
        "--pool",
        str(place / "pool.toml"),
        "--json",
        "--window",
        "300",
    ]  # sums per window
    plain, weighed, twice = (
        runner.invoke(app, [*arguments, *more])
        for more in (["--ignore", "times"], ["--weights", "times"], ["--weights", "times", "--n", "300"])
    )
    assert weighed.exit_code == 0, weighed.output
    one, two, three = (json.loads(result.stdout) for result in (plain, weighed, twice))
    assert one["results"]["log_loss"] != two["results"]["log_loss"] == three["results"]["log_loss"]
    piped = runner.invoke(app, ["run", "-", *arguments[2:], "--weights", "times"], input=rows_of(place))
    assert json.loads(piped.stdout)["results"]["log_loss"] == two["results"]["log_loss"]
    compared = runner.invoke(
        app,
        ["compare", str(place / "w.csv"), "--pool", str(place / "pool.toml"), "--weights", "times", "--json"],
    )
    assert compared.exit_code == 0, compared.output
    looked = runner.invoke(app, ["look", str(place / "w.csv"), "--weights", "times"])
    assert "times   weights" in looked.output
    wrong = runner.invoke(app, [*arguments, "--weights", "time"])
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("heros: --weights must be one of the columns")
    assert wrong.stderr.endswith("Did you mean 'times'?\n")


def rows_of(place):
    return (place / "w.csv").read_text()


def test_all_words_for_nothing_are_named_at_once(place):
    words = ("k.A.", "unbekannt", "k.A.")
    rows = "".join(f"{words[i % 3] if i % 20 == 7 else f'{i % 9},5'};{'ny'[i % 9 > 4]}\n" for i in range(200))
    (place / "w.csv").write_text("price;late\n" + rows)
    said = " ".join(runner.invoke(app, ["look", str(place / "w.csv")]).output.split())
    assert (
        "10 bad rows with 'k.A.','unbekannt' (use --missing k.A.,unbekannt to read such values as missing)"
    ) in said


def test_a_word_for_nothing_is_met_with_the_option_that_says_so(place):
    rows = "".join(f"{'k.A.' if i % 20 == 7 else f'{i % 9},5'};{'ny'[i % 9 > 4]}\n" for i in range(200))
    (place / "w.csv").write_text("price;late\n" + rows)
    looked = runner.invoke(app, ["look", str(place / "w.csv")])
    said = " ".join(looked.output.split())  # the column is wrapped
    assert "10 bad rows with 'k.A.' (use --missing k.A. to read such values as missing)" in said
    arguments = ["run", str(place / "w.csv"), "--pool", str(place / "pool.toml")]
    hint = (
        "must be a number (or list the column in --nominal or --ignore, or the value in --missing). "
        "Got 'k.A.'"
    )
    told = runner.invoke(app, arguments)
    assert told.exit_code == 0, told.output
    assert hint in told.stderr
    assert "(set --on-bad-row raise to stop at the first such row)" in told.stderr
    assert "10 bad rows were skipped, the first 3:" in told.stdout
    refused = runner.invoke(app, [*arguments, "--on-bad-row", "raise"])
    assert refused.exit_code == 2
    assert hint in refused.stderr
    saved = ["--missing", "k.A.", "--save", str(place / "m.heros")]
    assert runner.invoke(app, [*arguments, *saved]).exit_code == 0
    predict = ["predict", str(place / "m.heros"), str(place / "w.csv")]
    said, again = runner.invoke(app, predict), runner.invoke(app, [*predict, "--missing", "k.A."])
    assert said.exit_code == again.exit_code == 0
    assert said.stdout == again.stdout
    assert runner.invoke(app, [*predict, "--missing", "unknown"]).stdout == said.stdout  # one more word


def test_a_look_says_first_that_a_file_is_not_utf_8_and_sums_up_many_columns(place):
    names = ";".join(f"Größe {i}" for i in range(60))
    rows = "".join(";".join(str(i * j % 7) for j in range(59)) + f";{'ny'[i % 2]}\n" for i in range(80))
    (place / "wide.csv").write_bytes(f"Bericht\n{names}\n{rows}".encode("cp1252"))
    looked = runner.invoke(app, ["look", str(place / "wide.csv")])
    assert looked.exit_code == 0, looked.output
    said = " ".join(looked.output.split())
    assert said.startswith(
        f"{place / 'wide.csv'} is not UTF-8 and is read as cp1252 (use --encoding to set another encoding)."
    )
    assert "The first line is skipped: the header of" in said
    assert "60 columns: 59 numbers, 1 target. Columns with missing values: 0." in said
    assert "(use --all to show all columns)" in said
    assert "Größe 30" not in said
    assert "Größe 30" in runner.invoke(app, ["look", str(place / "wide.csv"), "--all"]).output
    ran = runner.invoke(app, ["run", str(place / "wide.csv"), "--pool", str(place / "pool.toml")])
    assert ran.exit_code == 0, ran.output
    assert "is not UTF-8 and is read as cp1252" in ran.stderr


def test_a_number_that_stands_for_nothing_does_so_in_what_is_predicted(place):
    rows = "".join(f"{-999 if i % 20 == 7 else i % 9},{'ny'[i % 9 > 4]}\n" for i in range(200))
    (place / "w.csv").write_text("warm,rain\n" + rows)
    arguments = ["run", str(place / "w.csv"), "--pool", str(place / "pool.toml"), "--missing=-999"]
    saved = runner.invoke(app, [*arguments, "--save", str(place / "m.heros")])
    assert saved.exit_code == 0, saved.output
    (place / "new.csv").write_text('warm\n-999\n""\n-998\n')
    predicted = runner.invoke(app, ["predict", str(place / "m.heros"), str(place / "new.csv")])
    _, named, empty, number = predicted.stdout.splitlines()
    assert named == empty != number


def test_a_name_such_as_na_that_a_model_knows_is_predicted_as_it_was_learnt(place):
    rows = "".join(f"{('NA', 'ZA')[i % 2]},{i % 7},{'ny'[i % 2]}\n" for i in range(200))
    (place / "c.csv").write_text("country,size,rain\n" + rows)
    (place / "c.json").write_text('{"country": ["NA", "ZA"]}')
    arguments = ["--pool", str(place / "pool.toml"), "--columns", str(place / "c.json")]
    saved = runner.invoke(app, ["run", str(place / "c.csv"), *arguments, "--save", str(place / "c.heros")])
    assert saved.exit_code == 0, saved.output
    asked = ["predict", str(place / "c.heros"), str(place / "c.csv"), "--with", "country"]
    _, first, *_ = runner.invoke(app, asked).stdout.splitlines()
    expected = Heros.load(place / "c.heros").predict_proba({"country": "NA", "size": 0})
    assert first.split(",")[0] == '"NA"'
    assert [float(p) for p in first.split(",")[2:]] == [*expected.values()]


def test_uneven_classes_have_their_pr_auc_without_being_asked(place):
    rows = "".join(f"{i % 20},{'yes' if i % 20 == 3 else 'no'}\n" for i in range(600))
    (place / "u.csv").write_text("a,late\n" + rows)
    result = runner.invoke(app, ["run", str(place / "u.csv"), "--pool", str(place / "pool.toml")])
    assert "rarest class 'yes' (5.0%)" in result.output
    assert "PR-AUC" in result.output


def test_an_example_that_cannot_be_written_leaves_the_file_and_names_it(tmp_path, monkeypatch):
    path = tmp_path / "deliveries.csv"
    path.write_text("mine")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    refused = runner.invoke(app, ["example", "--out", str(path), "--force"])
    assert refused.exit_code == 2
    assert f"The file {path} cannot be written: No space left on device." in refused.stderr
    assert (path.read_text(), list(tmp_path.iterdir())) == ("mine", [path])
    refused = runner.invoke(app, ["example", "--out", str(tmp_path / "none" / "deliveries.csv")])
    assert refused.exit_code == 2
    assert "deliveries.csv cannot be written: No such file or directory." in refused.stderr


def test_an_example_is_written_once_and_is_the_stream_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = runner.invoke(app, ["example", "deliveries"])
    assert made.exit_code == 0, made.output
    with pytest.warns(DataNotice):
        X, y = streams.read("deliveries.csv", target="late").draw(6000)
    named_X, named_y = streams.load("deliveries").draw(6000)
    assert X.shape == (6000, 8)
    np.testing.assert_array_equal(X, named_X)
    np.testing.assert_array_equal(y, named_y)
    assert 0.2 < y.mean() < 0.5
    again = runner.invoke(app, ["example", "deliveries"])
    assert (again.exit_code, again.stdout) == (0, made.stdout)
    (tmp_path / "deliveries.csv").write_text("spoilt")
    again = runner.invoke(app, ["example", "deliveries"])
    assert (again.exit_code, (tmp_path / "deliveries.csv").read_text()) == (2, "spoilt")
    assert "The file deliveries.csv already exists. Pass --force to replace it" in again.stderr
    assert runner.invoke(app, ["example", "deliveries", "--force"]).exit_code == 0
    assert (tmp_path / "deliveries.csv").read_text().count("\n") == 6001
