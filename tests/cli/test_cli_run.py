"""`heros run`, `compare` and related commands: their output, files and error messages."""

import copy
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import DataError, Heros, HerosError, streams
from heros._base.registry import policy_of, pool_of, written_parts
from heros.cli import app
from heros.run import records
from heros.streams.pipe import read_pipe

runner = CliRunner()
SMALL = "[grid]\nhidden = [8]\nlearning_rates = [0.05, 0.005]\n"


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text('kind = "mlp"\n' + SMALL)
    return str(path)


def ok(*arguments):
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_run_prints_the_bill_and_writes_a_record_and_a_report(tmp_path, pool):
    out = tmp_path / "out"
    text = ok(
        "run", "agr_a", "--n", "3000", "--pool", pool, "--watts", "12", "--country", "fra", "--out", str(out)
    )
    place = out / "agr_a" / "mlp4" / "zeta_0.05_0.2" / "k2" / "seed1"
    run = records.read(place)
    assert run.n_instances == 3000
    assert f"{run.auroc:.4f}" in text
    assert "12 W per core (stated)" in text
    assert "at 56 g/kWh (FRA: Ember" in text
    assert run.energy.co2e_kg == pytest.approx(run.energy.kwh * 0.056)
    assert "<svg" in (out / "report.html").read_text()
    result = runner.invoke(app, ["run", "agr_a", "--n", "10", "--pool", pool, "--out", str(out)])
    assert result.exit_code == 2
    assert "already exists. Pass --force to replace it" in result.stderr
    ok("run", "agr_a", "--n", "10", "--pool", pool, "--out", str(out), "--force")
    assert records.read(place).n_instances == 10


def test_runs_on_two_targets_of_a_file_have_a_record_each(tmp_path, pool):
    rows = "".join(f"{i % 7},{'late' if i % 3 else 'early'},{'yes' if i % 2 else 'no'}\n" for i in range(60))
    (tmp_path / "orders.csv").write_text("size,delivery days,paid\n" + rows)
    for target in ("paid", "delivery days"):
        ok(
            "run", f"{tmp_path}/orders.csv", "--target", target, "--pool", pool, "--out", f"{tmp_path}/out"
        )  # fmt: skip
    found = [place.relative_to(tmp_path / "out").parts[0] for place in records.find(tmp_path / "out")]
    assert found == ["orders", "orders-delivery_days"]
    assert [records.read(place).stream for place in records.find(tmp_path / "out")] == [
        "orders",
        "orders-delivery days",
    ]


def test_run_names_its_target_and_every_file_that_it_writes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(60))
    Path("rows.csv").write_text(f"size,late\n{rows}")
    words = ["run", "rows.csv", "--save", "models/late.heros", "--predictions", "p.csv", "--out", "runs"]
    result = runner.invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "heros: The target is the column 'late' (use --target to choose another column)." in result.stderr
    assert result.stdout.startswith("rows/default/seed1\n")
    files = {
        "model": "models/late.heros",
        "predictions": "p.csv",
        "record": "runs/rows/default/seed1",
        "report": "runs/report.html",
    }
    assert result.stdout.splitlines()[-4:] == [f"{name}: {path}" for name, path in files.items()]
    assert all(Path(path).exists() for path in files.values())
    named = runner.invoke(app, [*words, "--force", "--target", "late"])
    assert "The target is" not in named.stderr


def test_run_names_the_files_that_it_wrote_before_one_failed(tmp_path, pool, monkeypatch):
    def full(*_):
        raise HerosError("The disk is full.")

    monkeypatch.setattr("heros.cli.results.write_report", full)
    words = ["run", "agr_a", "--n", "500", "--pool", pool, "--save", str(tmp_path / "m.heros")]
    result = runner.invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert (result.exit_code, "The disk is full." in result.stderr) == (2, True)
    assert f"model: {tmp_path / 'm.heros'}\nrecord: " in result.stdout
    assert "report: " not in result.stdout


def test_run_measures_what_it_is_asked_for(tmp_path, pool):
    out = tmp_path / "out"
    words = [
        "run",
        "agr_a",
        "--n",
        "2000",
        "--pool",
        pool,
        "--measure",
        "f1",
        "--measure",
        "pr_auc",
        "--measure",
        "f1",
    ]
    text = ok(*words, "--out", str(out))
    run = records.read(out / "agr_a" / "mlp4" / "zeta_0.05_0.2" / "k2" / "seed1")
    assert list(run.figures) == ["auroc", "accuracy", "kappa", "log_loss", "f1", "pr_auc"]
    assert f"F1           {run.f1:.4f}   PR-AUC {run.pr_auc:.4f}" in text
    assert "F1, per window" in (out / "report.html").read_text()
    wrong = runner.invoke(app, ["run", "agr_a", "--measure", "luck"])
    assert (wrong.exit_code, "must be one of accuracy, auroc" in wrong.stderr) == (2, True)


def test_run_without_a_stated_intensity_has_no_co2e(pool):
    document = json.loads(ok("run", "agr_a", "--n", "500", "--pool", pool, "--json"))
    assert document["co2e_kg"] is None
    assert document["settings"]["policy"] == "zeta_0.05_0.2"
    assert document["energy"]["source"] == "cpu-model"


def test_a_machine_without_rapl_says_so_and_falls_back(pool, monkeypatch, tmp_path):
    monkeypatch.setattr("heros.meters.rapl.Rapl.__init__.__defaults__", (tmp_path, None))
    result = runner.invoke(app, ["run", "agr_a", "--n", "500", "--pool", pool, "--meter", "rapl", "--json"])
    assert result.exit_code == 0
    assert re.fullmatch(
        r"heros: RAPL needs package counters in .* The cpu meter is used instead\.\n", result.stderr
    )
    assert json.loads(result.stdout)["energy"]["source"] == "cpu-model"


def test_run_reads_a_file_and_counts_the_rows_it_leaves_out(tmp_path, pool):
    path = tmp_path / "rows.csv"
    path.write_text(
        "a,b,label\n" + "".join(f"{i},{'x' if i % 50 == 7 else i},{i % 2}\n" for i in range(1000))
    )
    text = ok("run", str(path), "--target", "label", "--pool", pool)
    assert "20 bad rows were skipped, the first 3:" in text
    assert f"{path}, line 9: the 'b' column must be a number" in text
    result = runner.invoke(app, ["run", str(path), "--target", "nope", "--pool", pool])
    assert result.exit_code == 2
    assert result.stderr.startswith("heros: --target must be one of the columns")


@pytest.mark.parametrize("kind", ["file", "stdin"])
def test_too_many_bad_rows_end_a_run_with_everything_written(tmp_path, pool, kind):
    path, out = tmp_path / "rows.csv", tmp_path / "out"
    text = "a,label\n" + "".join(f"{'x' if i > 600 else i},{i % 2}\n" for i in range(1000))
    path.write_text(text)
    saved, told, kept = tmp_path / "m.heros", tmp_path / "p.csv", tmp_path / "kept"
    arguments = ["run", "-" if kind == "stdin" else str(path), "--pool", pool, "--save", str(saved)]
    arguments += ["--out", str(out), "--predictions", str(told), "--checkpoint", str(kept)]
    result = runner.invoke(app, arguments, input=text if kind == "stdin" else None)
    assert result.exit_code == 1, result.output
    assert "The run ends early: " in result.stderr
    assert (
        "must have at most one bad row in 20 rows. Got 32 bad rows in 633 rows. The first bad row: "
    ) in result.stderr
    assert "32 bad rows were skipped, the first 3:" in result.stdout
    assert "601 (" in result.stdout  # the number of instances
    assert Heros.load(saved).instances == 601
    assert len(told.read_text().splitlines()) == 602
    assert (out / "report.html").exists()
    assert len(list(kept.glob("checkpoint-*"))) == 1
    [record] = out.rglob("record.json")
    assert records.read(record.parent).too_many_bad_rows


def test_compare_tells_of_bad_rows(tmp_path, pool):
    path = tmp_path / "rows.csv"
    for bad, code in ((950, 0), (600, 1)):
        path.write_text("a,label\n" + "".join(f"{'x' if i > bad else i},{i % 2}\n" for i in range(1000)))
        arguments = ["compare", str(path), "--pool", pool, "--policy", "everything", "--policy", "cheapest"]
        result = runner.invoke(app, arguments)
        assert result.exit_code == code, result.output
        assert "bad rows were skipped, the first 3:" in result.stdout
        assert "DataNotice" not in result.stderr
    assert "the runs stopped early, because" in result.stderr


def test_compare_ranks_policies_and_shows_the_saving(tmp_path, pool):
    out = tmp_path / "out"
    arguments = ["compare", "agr_a", "--n", "4000", "--pool", pool, "--seeds", "2", "--out", str(out)]
    policies = ["--policy", "everything", "--policy", "cheapest", "--policy", "zeta:0.05@0.2"]
    rows = json.loads(ok(*arguments, *policies, "--json"))
    assert [row["policy"] for row in rows] == ["everything", "cheapest", "zeta_0.05_0.2"]
    assert sum(row["rank"] for row in rows) == pytest.approx(6)
    assert rows[0]["saving"] == 0
    assert rows[0]["Σγ share"] == pytest.approx(1)
    assert rows[0]["Σγ share"] > rows[1]["Σγ share"]
    table = records.load(out)
    assert len(table) == 6
    energy = {name: [] for name in ("everything", "cheapest")}
    for name, kwh in zip(table["policy"].to_pylist(), table["kwh"].to_pylist(), strict=True):
        energy.get(name, []).append(kwh)
    assert rows[1]["saving"] == pytest.approx(1 - sum(energy["cheapest"]) / sum(energy["everything"]))
    refused = runner.invoke(app, [*arguments, *policies])
    assert (refused.exit_code, "Pass --force to replace it, or --resume" in refused.stderr) == (2, True)
    again = json.loads(ok(*arguments, *policies, "--resume", "--json"))
    assert again == rows  # no run was repeated: the CPU seconds are identical
    longer = runner.invoke(app, [*arguments, *policies, "--resume", "--n", "5000"])
    assert "must have 5,000 instances" in longer.stderr
    assert "±" in ok(*arguments, *policies, "--resume")


# On a slow machine, the cheapest model takes longer.
@pytest.mark.parametrize("more", [[], ["--watch", "trained"], ["--budget", "1 ms"]], ids=" ".join)
def test_compare_shows_the_default_two_budgets_and_the_baselines(tmp_path, more):
    arguments = ["compare", "agr_a", "--n", "700", "--out", str(tmp_path / "out"), *more]
    rows = {row["policy"]: row for row in json.loads(ok(*arguments, "--json"))}
    budgets = ["budget 1 ms"] if "--budget" in more else ["budget 40 us", "budget 10 us"]
    assert list(rows) == ["default", *budgets, "majority class", "previous label"]
    _, labels = streams.load("agr_a").draw(700)
    assert rows["previous label"]["accuracy"] == pytest.approx(np.mean(labels[1:] == labels[:-1]))
    assert rows["default"]["AUROC"] > rows["majority class"]["AUROC"] == 0.5
    assert rows["default"]["saving"] == 0
    asked = budgets[0].removeprefix("budget ")
    name = budgets[0] if "--watch" in more else f"Heros(budget=&quot;{asked}&quot;)"
    assert name in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    printed = ok(*arguments, "--resume")
    assert re.search(r"previous label +0\.\d{4} .*–", printed)


def test_compare_refuses_a_budget_with_policies():
    refused = runner.invoke(app, ["compare", "agr_a", "--n", "300", "--policy", "cand", "--budget", "9 us"])
    assert refused.exit_code == 2
    assert "must be left out if --policy is given" in refused.stderr


def test_compare_has_co2e_only_where_an_intensity_is_stated(pool):
    arguments = ["compare", "agr_a", "--n", "1000", "--pool", pool, "--policy", "random"]
    assert "CO2e" not in ok(*arguments)
    assert "CO2e" in ok(*arguments, "--carbon-intensity", "100")
    row = json.loads(ok(*arguments, "--carbon-intensity", "100", "--json"))[0]
    assert row["CO2e g"] == pytest.approx(row["energy J"] / 3.6e6 * 100)
    assert row["saving"] is None  # no baseline for comparison


def test_compare_in_processes_gives_what_one_process_gives(pool):
    arguments = ["compare", "agr_a", "--n", "2000", "--pool", pool, "--json", "--policy", "random"]
    one, two = (json.loads(ok(*arguments, "--seeds", "2", "--jobs", jobs)) for jobs in ("1", "2"))
    assert [row["AUROC"] for row in one] == [row["AUROC"] for row in two]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nope"], "STREAM must be a file, - for standard input, or one of agr_a"),
        (["run", "nope.csv"], "The file nope.csv cannot be read: there is no such file"),
        (
            ["run", "agr_a", "--n", "9", "--k", "51"],
            "--k must be a whole number in [1, 14]",
        ),
        (["run", "agr_a", "--policy", "budget"], "must be written as budget:BUDGET. Got 'budget' instead."),
        (
            ["run", "agr_a", "--policy", "zeta:2"],
            "The 'zeta' parameter of Zeta must be in [0, 1]. Got 2.0 instead.",
        ),
        (["run", "agr_a", "--policy", "luck"], "heros: --policy must be one of budget, cand"),
        (["run", "agr_a", "--policy", "zetta:0.1"], "Did you mean 'zeta'?"),
        (["run", "agr_q"], "Did you mean 'agr_"),
        (["run", "agr_a", "--pool", "tree"], "Did you mean 'trees'?"),
        (["run", "agr_a", "--measure", "accuracie"], "Did you mean 'accuracy'?"),
        (
            ["run", "agr_a", "--ignore", "age"],
            "heros: --ignore must be left out, because agr_a is a named stream",
        ),
        (["run", "agr_a", "--pool", "jungle"], "trees or a .toml file. Got 'jungle' instead."),
        (["run", "agr_a", "--pool", "no.toml"], "The pool file no.toml must be readable TOML"),
        (
            ["run", "agr_a", "--target", "x"],
            "heros: --target must be left out, because agr_a is a named stream",
        ),
        (
            ["run", "agr_a", "--meter", "sundial"],
            "must be one of codecarbon, cpu, perf, rapl",
        ),
        (["run", "agr_a", "--country", "XXX"], "--country must be one of AUS"),
        (["run", "agr_a", "--meter", "rapl", "--watts", "3"], "left out unless the meter is cpu"),
        (["compare", "-"], "standard input can be read only once"),
        (["compare", "agr_a", "--meter", "rapl", "--jobs", "2"], "this meter measures the whole machine"),
        (["compare", "agr_a", "--resume"], "used with --out"),
        (["report", "nowhere"], "The directory nowhere does not exist"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_pool_file_with_a_mistake_is_said(tmp_path):
    path = tmp_path / "pool.toml"
    for text in (
        'kind = "oak"\n' + SMALL,
        'kind = "mlp"\n',
        'kind = "mlp"\nmodels = []\n' + SMALL,
        'kind = "mlp"\n[grid]\nwidth = 3\n',
    ):
        path.write_text(text)
        with pytest.raises(HerosError, match=r"^The pool file .*pool\.toml must have"):
            pool_of(str(path))
    path.write_text('kind = "trees"\ncosts = "bytes"\n[[models]]\nmax_bytes = 4096\n[[models]]\n')
    assert pool_of(str(path)).configurations[0]["max_bytes"] == 4096


def test_every_policy_is_listed_and_can_be_written(pool):
    text = ok("policies")
    for row in json.loads(ok("policies", "--json")):
        written = re.sub(r":[A-Z]+", ":0.5", row["policy"])
        assert row["policy"] in text
        assert policy_of(written).choose([0.5, 0.6, 0.7], [0.2, 0.3, 0.5], 2, _rng()).sum() >= 1
    assert len(written_parts("policy")) == 12
    assert "50 models" in ok("pools")


def _rng():
    import numpy as np  # noqa: PLC0415

    return np.random.default_rng(1)


def test_doctor_says_what_there_is(monkeypatch, tmp_path):
    monkeypatch.setenv("HEROS_DATA", str(tmp_path))
    found = json.loads(ok("doctor", "--json"))
    assert found["meter cpu"].startswith("yes: ")
    assert found["stream nomao"] == "not yet downloaded"
    assert found["data directory"] == str(tmp_path)
    assert "instructions" in ok("doctor")


def rows(n, start=0):
    return "".join(
        f"{i % 7},{i % 5},{'yes' if i % 7 > 3 else 'no'}\n" for i in range(start, start + n)
    ).encode()


def test_run_reads_standard_input(pool):
    text = b"a,b,label\n" + rows(5000)
    result = runner.invoke(app, ["run", "-", "--target", "label", "--pool", pool, "--json"], input=text)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["n_instances"], document["stream"]["name"]) == (5000, "stdin")
    assert document["results"]["accuracy"] > 0.9


class Endless:
    """Ctrl-C while a pipe has delivered some rows and is then idle."""

    def __init__(self, text):
        self.parts = [text[start : start + 4096] for start in range(0, len(text), 4096)]

    def read1(self, _):
        if not self.parts:
            signal.raise_signal(signal.SIGINT)
            time.sleep(60)
        return self.parts.pop(0)


@pytest.fixture
def _ctrl_c():
    """Enable SIGINT as in a terminal, because shells ignore it in background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_an_interrupt_ends_an_endless_input_with_a_summary(pool, monkeypatch):
    pipe = Endless(b"a,b,label\n" + rows(3500))
    monkeypatch.setattr("heros.cli.parsing.sys", SimpleNamespace(stdin=SimpleNamespace(buffer=pipe)))
    before = signal.getsignal(signal.SIGINT)
    result = runner.invoke(app, ["run", "-", "--pool", pool, "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["n_instances"] == 3500
    assert result.stderr.splitlines() == ["heros: stopped after 3,500 instances"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("_ctrl_c")
def test_an_interrupt_of_anything_else_is_one_line_and_130(monkeypatch):
    monkeypatch.setattr("heros.cli.demo._runs", lambda n: signal.raise_signal(signal.SIGINT))
    result = runner.invoke(app, ["demo"])
    assert (result.exit_code, result.stderr) == (130, "heros: stopped\n")


def test_a_pipe_cannot_go_back_or_be_copied():
    stream = read_pipe(io.BytesIO(b"a,b,label\n" + rows(300)))
    taken = stream.take(100)
    assert len(taken.draw(200)[1]) == 100
    assert stream.position == 100
    for attempt in (stream.restart, lambda: copy.copy(stream)):
        with pytest.raises(DataError, match="reads a pipe, which"):
            attempt()
    assert len(stream.draw(1000)[1]) == 200


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads memory from /proc")
def test_a_long_input_needs_no_more_memory_than_a_short_one(pool):
    """Peak memory between 100,000 and 400,000 rows grows by less than the 5 MB their probabilities would take."""
    program = (
        "import sys, re\n"
        "from heros.cli import app\n"
        "try:\n"
        "    app(standalone_mode=False)\n"
        "finally:\n"
        "    print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr)\n"
    )
    peaks = []
    for n in (100_000, 400_000):
        command = [sys.executable, "-c", program, "run", "-", "--pool", pool, "--window", "5000"]
        result = subprocess.run(command, input=b"a,b,label\n" + rows(n), capture_output=True, check=True)
        assert f"{n:,} (" in result.stdout.decode()
        assert "from a histogram" in result.stdout.decode()
        peaks.append(int(result.stderr.split()[-1]))
    assert peaks[1] - peaks[0] < 4000


@pytest.mark.parametrize(("rows", "least"), [(400, 30), (6000, 30), (40_000, 30)])
def test_curves_have_enough_points_for_the_length_of_a_file(rows, least, tmp_path, pool):
    path = tmp_path / "rows.csv"
    path.write_text("size,late\n" + "".join(f"{i % 7},{'no' if i % 3 else 'yes'}\n" for i in range(rows)))
    ok("run", str(path), "--target", "late", "--pool", pool, "--k", "1", "--out", str(tmp_path / "runs"))
    run = records.read(records.find(tmp_path / "runs")[0])
    assert least <= len(run.curves.end) <= 200


def test_run_learns_by_the_grid_and_says_at_which_intensity(tmp_path, pool):
    grid, hour = tmp_path / "grid.csv", int(time.time() // 3600) * 3600
    grid.write_text("time;g CO2e per kWh\n" + "".join(f"{hour + i * 3600};{250 + i}\n" for i in range(9)))
    some = ("run", "agr_a", "--n", "500", "--pool", pool, "--carbon", str(grid))
    told = " ".join(ok(*some).split())  # long paths are wrapped
    assert re.search(r"g at 25[01] g/kWh \(.*grid.csv, by time\)", told)
    for wrong, said in (
        (
            ("--country", "DEU"),
            "--country must be left out, because --carbon sets the carbon intensity. Got 'DEU'",
        ),
        (("--carbon-delay", "soon"), "--carbon-delay must be a time, e.g. '6h' or '30min'"),
        (("--carbon", "none.csv"), "--carbon must be a file or URL with a time"),
    ):
        result = runner.invoke(app, [*some, *wrong])
        assert result.exit_code == 2
        assert said in result.output.replace("\n", " ")
