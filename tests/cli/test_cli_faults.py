"""After a failure, a command prints a message and returns an exit code, without a traceback."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest
from typer.testing import CliRunner

from heros import DataNotice, Heros, Schema, WaitNotice, export, pools, streams
from heros.cli import app
from heros.cli.checkpoints import print_notices
from heros.run import records
from heros.run.checkpoints import CheckpointWarning

runner = CliRunner()
POOL = 'kind = "mlp"\n[grid]\nhidden = [4]\noptimizers = ["sgd"]\nlearning_rates = [0.05]\n'


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "pool.toml"
    path.write_text(POOL)
    return str(path)


def rows(path, n=300):
    path.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 3},{'no' if i % 5 else 'yes'}\n" for i in range(n)))
    return str(path)


def program(*arguments, **how):
    command = [sys.executable, "-c", "from heros.__main__ import main; main()", *arguments]
    return subprocess.run(command, capture_output="stdout" not in how, timeout=120, check=False, **how)


# -- a finished run -----------------------------------------------------------------------------------------


def kept(tmp_path, pool, *more):
    name = rows(tmp_path / "rows.csv")
    out, directory = str(tmp_path / "out"), str(tmp_path / "kept")
    arguments = ["run", name, "--pool", pool, "--out", out, "--checkpoint", directory, "--every", "100"]
    return runner.invoke(app, [*arguments, "--resume", *more])


def test_a_restart_loop_ends_when_the_record_is_written(tmp_path, pool):
    """If a process is killed after it has written the record, the next command reports the run as finished."""
    first = kept(tmp_path, pool)
    (tmp_path / "out" / "report.html").unlink()  # as after a kill right after the record was written
    again = kept(tmp_path, pool)
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "heros: the run is already finished; its record is" in again.stderr
    assert [line for line in again.stdout.splitlines() if "AUROC" in line] == [
        line for line in first.stdout.splitlines() if "AUROC" in line
    ]
    assert (tmp_path / "out" / "report.html").exists()


def test_a_finished_run_lists_the_files_that_it_wrote(tmp_path, pool):
    more = ["--predictions", str(tmp_path / "p.csv"), "--save", str(tmp_path / "m.heros")]
    first, again = kept(tmp_path, pool, *more), kept(tmp_path, pool, *more)
    listed = [line for line in first.stdout.splitlines() if line.startswith(("model: ", "predictions: "))]
    assert len(listed) == 2
    assert (again.exit_code, set(listed) <= set(again.stdout.splitlines())) == (0, True)


def test_the_record_of_a_run_that_was_stopped_is_gone_on_from_and_replaced(tmp_path, pool):
    kept(tmp_path, pool, "--n", "150")
    (place,) = records.find(tmp_path / "out")
    document = json.loads((place / "record.json").read_text())
    assert document["n_instances"] == 150
    assert kept(tmp_path, pool).exit_code == 0  # the length of the file is unknown, but the run is finished
    assert records.read(place).n_instances == 150
    (place / "record.json").write_text(json.dumps(document | {"interrupted": True}))
    assert kept(tmp_path, pool).exit_code == 0
    assert records.read(place).n_instances == 300


def test_the_record_of_another_run_is_still_in_the_way(tmp_path, pool):
    kept(tmp_path, pool)
    other = kept(tmp_path, pool, "--window", "50")
    assert other.exit_code == 2
    assert "already exists. Pass --force to replace it" in other.stderr


def test_a_stream_that_fails_does_not_cost_the_model(tmp_path, pool):
    """If a stream fails, as when a queue's server is down, the trained model is still saved."""
    path, model = tmp_path / "rows.csv", tmp_path / "m.heros"
    rows(path, 5000)
    path.write_text(path.read_text() + "many,1,no\n")
    said = runner.invoke(
        app, ["run", str(path), "--pool", pool, "--on-bad-row", "raise", "--save", str(model)]
    )
    assert said.exit_code == 2
    assert "line 5002: the 'a' column must be a number" in said.stderr
    learnt = Heros.load(model).instances
    assert learnt >= 4000
    assert f"the model, trained on {learnt:,} instances, is saved to {model}" in " ".join(said.stderr.split())


# -- standard input and output ------------------------------------------------------------------------------


def test_standard_input_that_is_closed_is_said():
    done = program("run", "-", preexec_fn=lambda: os.close(0))
    assert (done.returncode, done.stderr) == (2, b"heros: standard input is closed.\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["policies"], ["--help"]])
def test_standard_output_on_a_full_disk_is_said(arguments):
    with open("/dev/full", "w") as full:
        done = program(*arguments, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.startswith(b"heros: ")
    assert b"No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_output_that_nobody_reads_any_more_is_no_complaint():
    ours, theirs = os.pipe()
    os.close(ours)
    done = program("policies", stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (1, b"")


def test_standard_output_that_is_closed_is_no_complaint():
    done = program("policies", stdout=None, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, b"")


# -- names ----------------------------------------------------------------------------------------------------


def test_a_file_whose_name_is_no_text_is_run_and_recorded(tmp_path, pool):
    name = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    os.rename(os.fsencode(rows(tmp_path / "rows.csv", 120)), name)
    out = tmp_path / "out"
    done = program("run", name, "--target", "y", "--pool", pool, "--out", str(out), "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    (place,) = records.find(out)
    assert records.read(place).stream == "caf\\udce9"
    assert json.loads(done.stdout)["stream"]["name"] == "caf\\udce9"
    missing = program("run", os.fsencode(tmp_path) + b"/na\xefve.csv")
    assert missing.returncode == 2
    assert missing.stderr.endswith(b"cannot be read: there is no such file.\n")


def test_a_name_too_long_for_a_file_is_refused_in_a_line():
    for name in ("x" * 300, "x" * 300 + ".csv", "x/" * 3000):
        result = runner.invoke(app, ["run", name])
        assert result.exit_code == 2
        assert result.stderr.startswith("heros: ")
        assert isinstance(result.exception, SystemExit)


def test_a_stream_with_a_long_name_is_recorded(tmp_path):
    names = ["é" * 250, "é" * 251]
    ids = {records.id_from(name, {"pool": "p", "policy": "q", "k": 1, "seed": 1}) for name in names}
    assert len(ids) == 2
    for id in ids:
        (tmp_path / id).mkdir(parents=True)


def test_a_class_that_is_no_text_is_exported(tmp_path):
    onnx = pytest.importorskip("onnx")
    schema = Schema.of(["a"], classes=["no", "caf\udce9"])
    model = Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1, schema=schema).learn([[1.0], [2.0]], [0, 1])
    export.to_onnx(model, tmp_path / "model.onnx")
    (about,) = onnx.load(tmp_path / "model.onnx").metadata_props
    assert "caf\\udce9" in about.value


# -- Ctrl-C ---------------------------------------------------------------------------------------------------


def stopped(process):
    said = process.communicate(timeout=120)
    return process.returncode, *said


def started(*arguments):
    command = [sys.executable, "-c", "from heros.__main__ import main; main()", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_ctrl_c_while_the_program_starts():
    """Ctrl-C is handled as soon as HEROS code is running."""
    program = (
        "import sys, signal, os\n"
        "class Watch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'heros.run.experiments': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Watch())\n"
        "from heros.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"heros: stopped\n")


def test_ctrl_c_while_a_stream_is_read_up_to_the_checkpoint(tmp_path, monkeypatch):
    stream = tmp_path / "slow.py"
    stream.write_text(
        "import os, signal, sys\n"
        "from heros import Heros, evaluate, pools, streams\n"
        "from heros.cli.app import app\n"
        "def run(n, resume):\n"
        "    def pairs():\n"
        "        for i in range(10**9):\n"
        "            if resume and i == 700: os.kill(os.getpid(), signal.SIGINT)\n"
        "            yield {'a': float(i % 7)}, 'ny'[i % 2]\n"
        "    model = Heros(pools.MLP([{'hidden': 4}]), k=1, seed=1)\n"
        "    stream = streams.from_iter(pairs).take(n)\n"
        "    evaluate(model, stream, checkpoint=sys.argv[1], every=1000, resume=resume)\n"
        "run(1500, False)\n"
        "@app.command('again')\n"
        "def again(): run(3000, True)\n"
        "app(['again'])\n"
    )
    command = [sys.executable, str(stream), str(tmp_path / "kept")]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (130, b"heros: stopped\n")
    assert len(list((tmp_path / "kept").glob("*.heros"))) == 2


def test_ctrl_c_while_arrow_reads_is_the_end_of_the_run_like_any_other(tmp_path, monkeypatch):
    """Arrow handles signals itself and cancels its reads; no rows are lost."""
    path = rows(tmp_path / "rows.csv", 3000)
    monkeypatch.setattr("heros.streams.text.READ_BYTES", 4096)
    from heros import evaluate  # noqa: PLC0415
    from heros._base.lazy import pa  # noqa: PLC0415

    real, calls = pa.csv.read_csv, 0

    def read_csv(*args, **named):
        nonlocal calls
        calls += 1
        if calls == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            raise pa.ArrowCancelled("Operation cancelled", 2)
        return real(*args, **named)

    monkeypatch.setattr(pa.csv, "read_csv", read_csv)
    model = Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1)
    stream = streams.read(path)
    run = evaluate(model, stream, block=100)
    assert run.interrupted
    assert run.n_instances == model.instances == stream.position > 0
    rest = evaluate(model, stream)
    assert run.n_instances + rest.n_instances == 3000


@pytest.mark.parametrize(
    ("command", "option"), [("run", "--checkpoint"), ("run", "--out"), ("compare", "--out")]
)
def test_an_empty_path_of_a_directory_is_refused(tmp_path, monkeypatch, command, option):
    path = rows(tmp_path / "few.csv")
    monkeypatch.chdir(tmp_path)
    said = runner.invoke(app, [command, path, option, ""])
    assert said.exit_code == 2
    assert "Got an empty path" in said.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["few.csv"]


def test_a_directory_without_checkpoints_has_an_empty_list(tmp_path):
    said = runner.invoke(app, ["checkpoints", str(tmp_path)])
    assert said.exit_code == 0
    assert said.stdout.startswith("checkpoint")


# -- notices that nobody can read ---------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["a pipe that nobody reads", "/dev/full"])
def test_a_notice_that_cannot_be_printed_ends_nothing(where, monkeypatch):
    """A service must not end because of the first notice after the reader of its log has ended."""
    if where == "/dev/full":
        if not os.path.exists(where):
            pytest.skip("no /dev/full")
        writer = os.open(where, os.O_WRONLY)
    else:
        reader, writer = os.pipe()
        os.close(reader)
    stderr = os.fdopen(writer, "w", buffering=1)
    monkeypatch.setattr(sys, "stderr", stderr)
    with print_notices():
        for category in (DataNotice, WaitNotice, CheckpointWarning):
            warnings.warn("a notice", category, stacklevel=1)
    with contextlib.suppress(OSError):
        stderr.close()


def test_results_are_printed_although_nobody_reads_the_notices(tmp_path, pool):
    name = tmp_path / "rows.csv"  # with order numbers, which are left out with a notice
    name.write_text("order,a,y\n" + "".join(f"A{i:05},{i % 7},{i % 2}\n" for i in range(300)))
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from heros.__main__ import main; main()", "run", str(name)]
    command += ["--target", "y", "--pool", pool]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writer, timeout=120, check=False)
    os.close(writer)
    assert (done.returncode, b"AUROC" in done.stdout) == (0, True)
