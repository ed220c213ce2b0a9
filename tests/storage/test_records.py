"""Records are complete or do not exist, and are read back unchanged."""

import dataclasses
import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from heros import DataError, DataNotice, Heros, HerosError, _core, evaluate, meters, policies, pools, streams
from heros.run import records
from heros.run.records.provenance import _checked_out, commit


def small_run(seed=1, policy=None, n=2500, meter=None):
    pool = pools.MLPGrid(hidden=[8], learning_rates=[0.05, 0.005])
    return evaluate(Heros(pool, policy, k=2, seed=seed), streams.load("agr_a").take(n), meter=meter)


def assert_equal(a, b):
    for name, left in named(a).items():
        right = named(b)[name]
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, name
            np.testing.assert_array_equal(left, right, name)
        elif dataclasses.is_dataclass(left) or isinstance(left, dict):
            assert_equal(left, right)
        else:
            assert left == right or left != left, name  # noqa: PLR0124


def named(value):
    if isinstance(value, dict):
        return value
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.compare}


def test_a_run_comes_back_as_it_was(tmp_path):
    run = small_run(meter=meters.Cpu(12, meters.Carbon.of(country="FRA")))
    place = records.save(run, tmp_path)
    assert place == tmp_path / "agr_a" / "mlp4" / "zeta_0.05_0.2" / "k2" / "seed1"
    assert_equal(run, records.read(place))
    assert sorted(path.name for path in place.iterdir()) == ["curves.parquet", "record.json"]
    assert list(place.parent.iterdir()) == [place]


def test_the_record_says_what_ran_where(tmp_path):
    run = small_run(meter=meters.Cpu(12))
    document = json.loads((records.save(run, tmp_path) / "record.json").read_text())
    assert set(document["versions"]) == {"python", "heros-learn", "numpy", "pyarrow"}
    assert document["machine"]["cpu"]
    assert document["machine"]["isa"] in _core.isas()
    assert document["commit"] == commit() or commit() is None
    assert re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}|\d+\.\d+.*", document["commit"])
    assert document["energy"]["source"] == "cpu-model"
    assert "12 W per core (stated)" in document["energy"]["detail"]
    assert document["co2e_kg"] is None
    assert document["settings"]["models"][3] == {"optimizer": "sgd", "learning_rate": 0.005, "hidden": 8}


def test_the_commit_is_what_is_checked_out_or_what_the_core_was_built_from(tmp_path, monkeypatch):
    def git(*words):
        config = ["-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", "-C", tmp_path, *config, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert _checked_out(tmp_path) is None
    git("init", "-q")
    assert _checked_out(tmp_path) is None  # nothing is committed yet
    for _ in range(2):
        git("commit", "-q", "--allow-empty", "-m", "x")
        assert _checked_out(tmp_path) == git("rev-parse", "HEAD")
    git("worktree", "add", "-q", tmp_path / "tree", "HEAD^")
    assert _checked_out(tmp_path / "tree") == git("rev-parse", "HEAD^")
    monkeypatch.setenv("PATH", "")
    assert _checked_out(tmp_path) is None
    assert commit.__wrapped__() == (_core.commit() or None)


def test_skipped_rows_are_in_the_record(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        "a,b,label\n" + "".join(f"{i},{'x' if i % 50 == 7 else i},{i % 2}\n" for i in range(1000))
    )
    with pytest.warns(DataNotice, match="Bad rows are skipped"):
        run = evaluate(Heros(pools.MLP([{}]), k=1, seed=1), streams.read(path))
    back = records.read(records.save(run, tmp_path / "out"))
    assert back.bad_rows == run.bad_rows
    assert (back.bad_rows.count, len(back.bad_rows.first)) == (20, 10)
    assert records.load(tmp_path / "out")["bad_rows"].to_pylist() == [20]


def test_a_run_of_a_compact_record_can_be_saved_again(tmp_path):
    first = records.save(small_run(), tmp_path / "first", compact=True)
    again = records.save(records.read(first), tmp_path / "again")
    assert (again / "curves.parquet").read_bytes() == (first / "curves.parquet").read_bytes()


def test_a_record_is_not_overwritten_unless_forced(tmp_path):
    first, second = small_run(n=500), small_run(n=700)
    place = records.save(first, tmp_path)
    with pytest.raises(HerosError, match=r"^The record .*seed1 already exists; use force=True to replace it"):
        records.save(second, tmp_path)
    assert records.read(place).n_instances == 500
    records.save(second, tmp_path, force=True)
    assert records.read(place).n_instances == 700
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize("step", ["old set aside", "new in its place"])
def test_a_kill_while_a_record_is_replaced_loses_nothing(step, tmp_path, monkeypatch):
    """A kill right after either rename of `save(force=True)`, without any cleanup."""
    first, second = small_run(n=500), small_run(n=700)
    place = records.save(first, tmp_path)

    class Killed(BaseException):
        pass

    def rename(self, target, rename=Path.rename):
        moved = rename(self, target)
        if (step == "old set aside") == str(target).endswith(".old"):
            raise Killed
        return moved

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename)
        patched.setattr(records.files.shutil, "rmtree", lambda *_, **__: None)  # a kill runs no `finally`
        with pytest.raises(Killed):
            records.save(second, tmp_path, force=True)
    kept = 500 if step == "old set aside" else 700
    assert place.exists() == (step == "new in its place")
    assert records.find(tmp_path) == [place]
    assert records.exists(place)
    assert records.read(place).n_instances == records.load(tmp_path)["n_instances"].to_pylist()[0] == kept
    with pytest.raises(HerosError, match="already exists"):
        records.save(second, tmp_path)
    assert records.read(place).n_instances == kept
    records.save(second, tmp_path, force=True)
    assert records.read(place).n_instances == 700
    assert not list(place.parent.glob(".*.old"))


def test_a_folder_of_records_is_one_table(tmp_path):
    for seed in (1, 2):
        for policy in (policies.Cheapest(), policies.Everything()):
            records.save(small_run(seed, policy, n=1200), tmp_path)
    table = records.load(tmp_path)
    assert table["policy"].to_pylist() == ["cheapest", "cheapest", "everything", "everything"]
    assert table["seed"].to_pylist() == [1, 2, 1, 2]
    assert table["gamma_share"].to_pylist()[2:] == pytest.approx([1.0, 1.0])
    phases = sum(
        table[f"cpu_{phase}"].to_numpy() for phase in ("encode", "evaluate", "choose", "train", "other")
    )
    np.testing.assert_allclose(table["cpu_seconds"].to_numpy(), phases)
    assert len(records.load(tmp_path / "agr_a" / "mlp4" / "cheapest")) == 2


def test_what_is_no_record_is_said(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        records.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"must have a readable record\.json"):
        records.read(tmp_path)
    place = records.save(small_run(n=300), tmp_path)
    (place / "curves.parquet").write_bytes(b"half")
    with pytest.raises(DataError, match="cannot be read"):
        records.read(place)


WRITER = """
import sys
from heros import Heros, evaluate, pools, streams
from heros.run import records
run = evaluate(Heros(pools.MLP([{}]), k=1, seed=1), streams.load("agr_a").take(3000), window=3)
records.save(run, sys.argv[1] + "-first")  # the first one takes long
print("ready", flush=True)
while True:
    records.save(run, sys.argv[1], force=True)
"""


def test_kill_leaves_a_whole_record_or_none(tmp_path, thorough):
    rng = random.Random(5)
    found = set()
    for attempt in range(8) if thorough else (7,):
        root = tmp_path / str(attempt)
        with subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE) as writer:
            writer.stdout.readline()
            time.sleep(rng.uniform(0.001, 0.01 * 2**attempt))  # allow for a slow disk
            writer.send_signal(signal.SIGKILL)
        for place in records.find(root) if root.exists() else []:
            assert len(records.read(place).curves.end) == 1000
            found.add(attempt)
        files = [path.parent for path in Path(root).rglob("record.json")]
        assert all(part in records.find(root) or part.name.startswith(".") for part in files)
    assert found, "no attempt lived long enough to write a record"
