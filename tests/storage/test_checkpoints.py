"""Checkpoints: a resumed run ends with the same results as an undisturbed run."""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from river.naive_bayes import GaussianNB
from typer.testing import CliRunner

import kill_resume
from heros import (
    DataError,
    Heros,
    HerosError,
    ParameterError,
    evaluate,
    measures,
    meters,
    policies,
    pools,
    streams,
)
from heros.cli import app
from heros.run import checkpoints
from heros.run.checkpoints import CheckpointWarning
from heros.storage import archive
from heros.storage.checkpoint_directory import opened
from heros.streams.pipe import read_pipe

POOL = pools.MLPGrid(hidden=[4, 8], learning_rates=[0.05], optimizers=["adam", "sgd"])


def make(pool=POOL, policy=None, seed=1):
    return Heros(pool, policy or policies.Explore(policies.Zeta(0.05), 0.2), 2, seed=seed)


def agrawal(n=1000):
    return streams.Agrawal(function=2).take(n)


STREAMS = {"classes": agrawal, "numbers": lambda n=1000: streams.Friedman("global").take(n)}
of_both_tasks = pytest.mark.parametrize("task", STREAMS)


def kept(directory, **more):
    return {"checkpoint": directory, "every": 200, "block": 70, "window": 150} | more


def names(directory):
    return sorted(path.name for path in Path(directory).iterdir())


class Broken(Exception):
    pass


def breaking(stream, after):
    """Yield the stream's pairs; fail after a number of pairs."""

    def pairs():
        X, y = stream.draw(after)
        yield from (
            ({str(j): float(value) for j, value in enumerate(row)}, int(label))
            for row, label in zip(X, y, strict=True)
        )
        raise Broken

    return streams.from_iter(pairs, name="line")


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.long) if case is kill_resume.long_curves else case
        for case in kill_resume.CASES
    ],
)
def test_from_every_checkpoint_a_run_ends_the_same(case, tmp_path, thorough):
    """Trees whose costs change, perceptrons, and a schema that grows in the middle of a window."""
    model, stream, own = case()
    settings = {"window": 150, "block": 64} | own
    expected = kill_resume.outcome(evaluate(model, stream, **settings), model)
    model, stream, _ = case()
    run = evaluate(model, stream, checkpoint=tmp_path, every=200, keep=99, **settings)
    assert kill_resume.outcome(run, model) == expected
    there = checkpoints.found(tmp_path)
    assert len(there) > 5
    for one in there if thorough else there[len(there) // 2 :][:1]:
        model, stream, _ = case()
        run = evaluate(model, stream, checkpoint=tmp_path, every=200, keep=99, resume=one.path, **settings)
        assert kill_resume.outcome(run, model) == expected, one.path.name


@pytest.mark.matrix(most=1)
@of_both_tasks
def test_curves_that_were_merged_are_gone_on_from(tmp_path, task):
    """After 1000 windows, there are fewer points than windows."""
    settings = {"window": 1, "exact": False, "checkpoint": tmp_path, "every": 500}
    stream, model = STREAMS[task], make()
    expected = kill_resume.outcome(evaluate(model, stream(1500), window=1, exact=False), model)
    evaluate(make(), stream(1200), **settings)
    model = make()
    run = evaluate(model, stream(1500), **settings, resume=True)
    assert len(run.curves.end) < 1000
    assert kill_resume.outcome(run, model) == expected


@of_both_tasks
def test_predictions_before_a_checkpoint_are_those_of_the_run(tmp_path, task):
    whole = evaluate(make(), STREAMS[task](), window=150, predictions=True).predictions
    evaluate(make(), STREAMS[task](), **kept(tmp_path, predictions=True))
    middle = checkpoints.found(tmp_path)[1].path
    again = evaluate(make(), STREAMS[task](), **kept(tmp_path, predictions=True, resume=middle)).predictions
    assert again.targets.dtype == whole.targets.dtype
    assert np.array_equal(again.targets, whole.targets)
    assert np.array_equal(again.outputs, whole.outputs)


@pytest.mark.long
def test_some_kills(thorough):
    """Kills at seeded times, in separate processes; `make kill` has 200."""
    kills = 20 if thorough else 4
    done = subprocess.run(
        [sys.executable, kill_resume.__file__, "--kills", str(kills), "--seed", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{kills} kills in ")
    assert done.stdout.endswith(" 0 faults\n")


def test_a_kill_at_any_step_of_writing(thorough):
    """Kills before the n-th call that opens, syncs, renames or removes a file, for every n."""
    asked = ["--steps", *([] if thorough else ["--stride", "15"])]
    done = subprocess.run(
        [sys.executable, kill_resume.__file__, *asked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" 0 faults\n")
    assert all(f"'{call}': 0" not in done.stdout for call in kill_resume.STEPS), "nothing was killed there"


def test_so_many_stay_and_nothing_else(tmp_path):
    evaluate(make(), agrawal(), **kept(tmp_path, keep=2))
    assert names(tmp_path) == [
        ".lock",
        "checkpoint-000000000800.heros",
        "checkpoint-000000001000.heros",
        "predictions.f8",
    ]
    assert (tmp_path / "predictions.f8").stat().st_size == 900 * 3 * 8  # all windows but the current one
    assert [(one.instances, one.fault) for one in checkpoints.found(tmp_path)] == [(1000, None), (800, None)]


def test_a_directory_with_checkpoints_is_not_written_to_unless_resumed(tmp_path):
    evaluate(make(), agrawal(), **kept(tmp_path))
    before = names(tmp_path)
    with pytest.raises(
        HerosError,
        match=r"must be empty, unless the run is resumed \(resume=True\)\. It contains .*\.heros\.$",
    ):
        evaluate(make(), agrawal(), **kept(tmp_path))
    assert names(tmp_path) == before


def test_resume_without_checkpoints_starts(tmp_path):
    run = evaluate(make(), agrawal(), **kept(tmp_path / "new" / "place", resume=True))
    assert run.n_instances == 1000
    assert len(checkpoints.found(tmp_path / "new" / "place")) == 3


def test_a_stream_that_breaks_off_is_kept_up_to_there(tmp_path):
    """If the stream fails but not the process, instances after the last checkpoint are not lost."""
    with pytest.raises(Broken):
        evaluate(make(), breaking(agrawal(), 333), **kept(tmp_path))
    assert [one.instances for one in checkpoints.found(tmp_path)] == [333, 200]
    expected, model = make(), make()
    whole = evaluate(
        expected, streams_line(700), **{k: v for k, v in kept(tmp_path).items() if k in {"block", "window"}}
    )
    run = evaluate(model, streams_line(700), **kept(tmp_path, resume=True))
    assert (run.auroc, run.log_loss, run.reward) == (whole.auroc, whole.log_loss, whole.reward)


def streams_line(n):
    """The pairs of `breaking`, without the failure."""
    return streams.from_iter(lambda: itertools.islice(_pairs(n), n), name="line")


def _pairs(n):
    X, y = agrawal().draw(n)
    for row, label in zip(X, y, strict=True):
        yield {str(j): float(value) for j, value in enumerate(row)}, int(label)


def test_energy_and_time_go_on(tmp_path):
    with pytest.raises(Broken):
        evaluate(make(), breaking(agrawal(), 500), **kept(tmp_path, meter=meters.Cpu(20)))
    spent = archive.read(checkpoints.found(tmp_path)[0].path, "checkpoint")[0]["spent"]
    run = evaluate(make(), streams_line(900), **kept(tmp_path, meter=meters.Cpu(20), resume=True))
    assert run.energy.joules > spent["joules"] == pytest.approx(20 * spent["cpu_seconds"])
    assert run.energy.wall_seconds > spent["wall_seconds"]
    assert run.energy.joules == pytest.approx(20 * run.energy.cpu_seconds)
    assert f", plus {spent['joules']:.3g} J from earlier" in run.energy.detail
    np.testing.assert_allclose(run.curves.cpu.sum(axis=0)[:-1], list(run.cpu.values())[:-1])
    with pytest.raises(
        ParameterError, match=r"The 'meter' parameter of evaluate must be the kind of meter in checkpoint-"
    ):
        evaluate(make(), streams_line(900), **kept(tmp_path, meter=Clock(), resume=True))


class Clock(meters.Meter):
    """A user-defined meter that can only start and stop."""

    source = "clock"

    def _start(self):
        self.readings = getattr(self, "readings", 0)

    def _stop(self, cpu_seconds):
        self.readings += 1
        return 1.0, "a joule a look"


def test_a_meter_that_can_only_stop_is_stopped_and_started(tmp_path):
    run = evaluate(make(), agrawal(), **kept(tmp_path, meter=Clock()))
    assert run.energy.joules == 6  # after 200, 400, 600, 800 and 1000 instances, and at the end
    assert archive.read(tmp_path / "checkpoint-000000000800.heros", "checkpoint")[0]["spent"]["joules"] == 4


class Fair:
    """Trains the models that were trained least; the counts are its state."""

    def __init__(self):
        self.times = np.zeros(POOL.n_models)

    def choose(self, scores, costs, k, rng):
        mask = np.zeros(len(scores), dtype=bool)
        mask[np.argsort(self.times, kind="stable")[:k]] = True
        self.times += mask * (1 + (scores > 0.5))
        return mask

    def __repr__(self):
        return "Fair()"

    def state(self):
        return {"times": self.times}

    def restore(self, state):
        self.times = state["times"]


def test_a_policy_of_ones_own_goes_on_from_its_state(tmp_path):
    model = make(policy=Fair())
    expected = kill_resume.outcome(evaluate(model, agrawal(), window=150), model)
    evaluate(make(policy=Fair()), agrawal(), **kept(tmp_path, keep=9))
    middle = checkpoints.found(tmp_path)[2].path
    model = make(policy=Fair())
    run = evaluate(model, agrawal(), **kept(tmp_path, resume=middle))
    assert kill_resume.outcome(run, model) == expected


def test_a_model_that_had_learnt_before_is_billed_for_this_run_only(tmp_path):
    def pretrained():
        X, y = streams.Agrawal(function=5).draw(300)
        return make().bind(agrawal().schema).learn(X, y)

    model = pretrained()
    expected = kill_resume.outcome(evaluate(model, agrawal(), window=150), model)
    evaluate(pretrained(), agrawal(), **kept(tmp_path, keep=9))
    model = make()
    run = evaluate(model, agrawal(), **kept(tmp_path, resume=checkpoints.found(tmp_path)[3].path))
    assert kill_resume.outcome(run, model) == expected


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model": lambda: make(pool=pools.MLP([{}] * 4))}, r"The 'model' parameter of evaluate must be the model of checkpoint-\d+\.heros, with pool = "),
        ({"model": lambda: make(policy=policies.Cheapest())}, "with policy = "),
        ({"model": lambda: make(policy=Fair())}, "with policy = "),
        ({"model": lambda: make(seed=2)}, "with seed = 1. Got 2 instead"),
        ({"stream": lambda: streams.Agrawal(function=3).take(1000)}, r"The 'stream' parameter of evaluate must be the stream of"),
        ({"stream": lambda: renamed(streams.Agrawal(function=2, seed=2).take(1000))}, "the first 1,000 instances differ"),
        ({"stream": lambda: agrawal(900)}, "must be at least 1,000 instances long"),
        ({"window": 100}, r"The 'window' parameter of evaluate must be 150, as in checkpoint-"),
        ({"measures": [measures.F1()]}, r"The 'measures' parameter of evaluate must be \['auroc', 'accuracy', 'kappa', 'log_loss'\], as in"),
        ({"exact": False}, "The 'exact' parameter of evaluate must be True"),
        ({"resume": "elsewhere.heros"}, "The 'resume' parameter of evaluate must be True, False or a checkpoint in"),
    ],
)  # fmt: skip
def test_going_on_with_something_else_is_refused_and_nothing_changes(change, text, tmp_path):
    evaluate(make(), agrawal(), **kept(tmp_path))
    before = names(tmp_path)
    change = {"model": make, "stream": agrawal} | change
    model, stream = change.pop("model")(), change.pop("stream")()
    with pytest.raises(ParameterError, match=text):
        evaluate(model, stream, **kept(tmp_path, resume=True) | change)
    assert model.schema is None
    assert names(tmp_path) == before


def test_a_renamed_column_is_named(tmp_path):
    def rows(name):
        return streams.from_iter(
            (({"size": i % 7, name: i % 3}, "ny"[i % 2]) for i in range(500)), name="rows"
        )

    evaluate(make(), rows("weight"), **kept(tmp_path / "kept"))
    model = make()
    with pytest.raises(ParameterError, match="without a change of the feature 'weight'") as error:
        evaluate(model, rows("width"), **kept(tmp_path / "kept", resume=True))
    assert "Schema" not in str(error.value)
    assert model.schema is None


def test_blocks_and_checkpoints_may_be_cut_in_another_way(tmp_path):
    model = make()
    expected = kill_resume.outcome(evaluate(model, agrawal(), window=150), model)
    evaluate(make(), agrawal(), **kept(tmp_path))
    middle = checkpoints.found(tmp_path)[1].path
    model = make()
    run = evaluate(model, agrawal(), **kept(tmp_path, resume=middle, block=33, every=70, keep=9))
    assert kill_resume.outcome(run, model) == expected
    assert [one.instances for one in checkpoints.found(tmp_path)] == [1000, 980, 910, 840, 800, 600]


def renamed(stream):
    stream.name = agrawal().name
    return stream


@pytest.mark.parametrize(
    "setting", [{"every": 0}, {"keep": 0}, {"on_checkpoint_error": "shrug"}, {"checkpoint": ""}]
)
def test_parameters_are_checked(setting, tmp_path):
    with pytest.raises(ParameterError, match=f"The '{next(iter(setting))}' parameter of evaluate must be"):
        evaluate(make(), agrawal(), **kept(tmp_path / "none", **setting))
    assert not (tmp_path / "none").exists()


def test_resume_needs_a_directory():
    with pytest.raises(
        ParameterError, match="The 'resume' parameter of evaluate must be used with 'checkpoint'"
    ):
        evaluate(make(), agrawal(), resume=True)


def test_two_runs_do_not_share_a_directory(tmp_path):
    class Nested(Fair):
        def choose(self, *args):
            with pytest.raises(HerosError, match=rf"^The directory .* is in use: process {os.getpid()} on "):
                evaluate(make(), agrawal(), **kept(tmp_path))
            return super().choose(*args)

    evaluate(make(policy=Nested()), agrawal(300), **kept(tmp_path))
    evaluate(make(policy=Nested()), agrawal(300), **kept(tmp_path, resume=True))  # the lock is released


def test_a_run_whose_directory_is_replaced_leaves_the_new_one_alone(tmp_path):
    """The other run locks the new directory; a lock by name or by inode alone would let both write."""
    place = tmp_path / "kept"
    theirs = []

    class Meddling(Fair):
        def choose(self, *args):
            if place.exists() and checkpoints.found(place) and not (tmp_path / "away").exists():
                place.rename(tmp_path / "away")
                evaluate(make(), agrawal(300), **kept(place))
                theirs.extend((path.name, path.read_bytes()) for path in sorted(place.iterdir()))
            return super().choose(*args)

    message = r"^The directory .*kept was replaced by another directory while in use\.$"
    with pytest.raises(HerosError, match=message):
        evaluate(make(policy=Meddling()), agrawal(), **kept(place))
    assert [(path.name, path.read_bytes()) for path in sorted(place.iterdir())] == theirs
    assert [one.instances for one in checkpoints.found(tmp_path / "away")] == [200]
    evaluate(make(), agrawal(300), **kept(place, resume=True))  # no lock is left


def test_a_killed_run_leaves_no_lock(tmp_path):
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from heros.storage.locks import DirectoryLock\n"
        "lock = DirectoryLock(Path(sys.argv[1]))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == -9
    evaluate(make(), agrawal(300), **kept(tmp_path))


def test_an_older_checkpoint_is_gone_on_from_and_what_came_after_it_is_forgotten(tmp_path):
    evaluate(make(), agrawal(), **kept(tmp_path, keep=9))
    older = checkpoints.found(tmp_path)[3]
    assert older.instances == 400
    run = evaluate(make(), agrawal(700), **kept(tmp_path, keep=9, resume=older.path))
    assert run.n_instances == 700
    assert [(one.instances, one.fault) for one in checkpoints.found(tmp_path)] == [
        (700, None), (600, None), (400, None), (200, None),
    ]  # fmt: skip


def test_files_and_pipes_are_read_over(tmp_path):
    path = tmp_path / "rows.csv"
    X, y = agrawal().draw(900)
    rows = [
        f"{a:.3f},{int(b)},{c}" for (a, b), c in zip(X[:, [0, 3]], np.array(["no", "yes"])[y], strict=True)
    ]
    path.write_text("\n".join(["a,b,label", *rows, ""]))
    for place, stream in (
        ("file", lambda: streams.read(path, nominal=["b"], name="rows")),
        ("pipe", lambda: read_pipe(io.BytesIO(path.read_bytes()), name="rows", nominal=["b"])),
    ):
        model = make()
        expected = kill_resume.outcome(evaluate(model, stream(), window=150, block=70), model)
        evaluate(make(), stream().take(500), **kept(tmp_path / place))
        model = make()
        run = evaluate(model, stream(), **kept(tmp_path / place, resume=True))
        assert kill_resume.outcome(run, model) == expected


# -- damaged files ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a directory with two small checkpoints."""
    return written(tmp_path_factory.mktemp("small"), "classes")


@pytest.fixture(scope="module", params=STREAMS)
def either(request, tmp_path_factory):
    """Return such a directory for one of the tasks, and the task."""
    return request.param, written(tmp_path_factory.mktemp("either"), request.param)


def written(directory, task):
    evaluate(tiny(task), short(task), checkpoint=directory, every=40, keep=2, window=30, block=40)
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def tiny(task="classes"):
    trees = pools.Hoeffding if task == "classes" else pools.RegressionTrees
    return Heros(trees([{"max_bytes": 512}]), policies.Everything(), 1, seed=1)


def short(task="classes"):
    if task == "classes":
        return streams.RandomRBF(features=1, centroids=2).take(80)
    X, y = streams.Friedman().draw(80)
    return streams.from_arrays(X[:, :1], y, task="regression")


def restored(directory, small):
    for path in directory.iterdir():
        path.unlink()
    for name, data in small.items():
        (directory / name).write_bytes(data)


def resumed(directory, task="classes"):
    kept = {"checkpoint": directory, "every": 40, "keep": 2, "resume": True}
    return evaluate(tiny(task), short(task), window=30, block=40, **kept)


NEWEST, OLDER = "checkpoint-000000000080.heros", "checkpoint-000000000040.heros"


def test_a_broken_newest_one_is_said_and_the_one_before_is_used(tmp_path, either):
    task, small = either
    restored(tmp_path, small)
    expected = resumed(tmp_path, task)
    flipped = [
        small[NEWEST][:i] + bytes([small[NEWEST][i] ^ 4]) + small[NEWEST][i + 1 :] for i in (8, 11, 200)
    ]
    for damage in (b"", b"garbage", small[NEWEST][:-1], *flipped):
        restored(tmp_path, small)
        (tmp_path / NEWEST).write_bytes(damage)
        newest, older = checkpoints.found(tmp_path)
        assert (newest.instances, newest.written, older.fault) == (80, None, None)
        assert NEWEST in newest.fault
        with pytest.warns(
            CheckpointWarning, match=rf"{NEWEST} (is|has|cannot) .* The previous checkpoint is used\.$"
        ):
            run = resumed(tmp_path, task)
        assert (run.figures, run.reward, run.n_instances) == (expected.figures, expected.reward, 80)
        assert all(one.fault is None for one in checkpoints.found(tmp_path))


@pytest.mark.parametrize("damage", ["shorter", "changed", "gone"])
def test_predictions_that_are_not_those_of_the_checkpoint_are_found(damage, tmp_path, small):
    restored(tmp_path, small)
    file = tmp_path / "predictions.f8"
    data = small["predictions.f8"]
    file.unlink() if damage == "gone" else file.write_bytes(
        data[:-8] if damage == "shorter" else data[:-1] + b"\0"
    )
    newest, older = checkpoints.found(tmp_path)
    assert "predictions.f8 " in newest.fault
    assert (older.fault is None) == (damage != "gone")  # its own part of the file is complete
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckpointWarning)
        if damage == "gone":
            with pytest.raises(DataError, match=r"^No checkpoint in .* can be read\. All 2 are damaged\.$"):
                resumed(tmp_path)
        else:
            assert resumed(tmp_path).n_instances == 80


def test_what_a_kill_left_behind_the_predictions_does_not_matter(tmp_path, small):
    restored(tmp_path, small)
    expected = resumed(tmp_path)
    restored(tmp_path, small)
    (tmp_path / NEWEST).unlink()
    (tmp_path / ".checkpoint-000000000080.heros.abc.draft").write_bytes(b"half of it")
    (tmp_path / "predictions.f8").write_bytes(small["predictions.f8"] + b"a torn tail")
    run = resumed(tmp_path)
    assert (run.auroc, run.reward) == (expected.auroc, expected.reward)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()}.keys() == small.keys()
    assert (tmp_path / "predictions.f8").read_bytes() == small["predictions.f8"]


def test_flipped_bytes_and_truncations_of_a_checkpoint_are_found(tmp_path, either):
    """Bytes in all parts of the file; tests/storage/test_archive.py tests every byte of a smaller file."""
    _, small = either
    restored(tmp_path, small)
    path, data = tmp_path / NEWEST, small[NEWEST]
    damaged = (data[:i] + bytes([data[i] ^ 0x10]) + data[i + 1 :] for i in range(0, len(data), 41))
    for bad in itertools.chain(damaged, (data[:i] for i in range(0, len(data), 41))):
        path.write_bytes(bad)
        with pytest.raises(HerosError, match=r"is damaged|is not a HEROS file|must"):
            opened(path)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(4))
def test_a_checkpoint_made_up_with_a_right_checksum_is_refused_or_harmless(seed, tmp_path, either):
    """If entries are removed or added, the result is a HerosError or a run; never another exception."""
    rng, (task, small) = np.random.default_rng(seed), either
    restored(tmp_path, small)
    document, arrays = archive.read(tmp_path / NEWEST, "checkpoint")
    refused = 0
    for _ in range(60):
        changed, values = json.loads(json.dumps(document)), dict(arrays)
        if rng.random() < 0.5:
            inner, key = changed, None
            while key is None or (isinstance(inner[key], dict) and inner[key]):
                inner = inner if key is None else inner[key]
                key = list(inner)[rng.integers(len(inner))]
            inner[key] = [None, -1, "x", [], {}, 1 << 70, 0.5][rng.integers(7)]
        else:
            name = list(values)[rng.integers(len(values))]
            array = values[name]
            values[name] = [array[:-1], array.astype("<f4"), array.reshape(1, -1), np.zeros(0), array[::-1]][
                rng.integers(5)
            ]
        restored(tmp_path, small)
        archive.write(tmp_path / NEWEST, "checkpoint", changed, values)
        (tmp_path / OLDER).unlink()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckpointWarning)
            try:
                resumed(tmp_path, task)
            except HerosError:
                refused += 1
    assert refused > 20


# -- the command line -------------------------------------------------------------------------------------------


def heros(*words):
    return CliRunner().invoke(app, list(map(str, words)))


POOL_FILE = 'kind = "mlp"\n[grid]\nhidden = [4, 8]\nlearning_rates = [0.05]\n'


@pytest.mark.long
def test_the_command_line_goes_on_where_it_was_killed(tmp_path):
    (tmp_path / "pool.toml").write_text(POOL_FILE)
    words = ["run", "agr_a", "--n", 4000, "--pool", tmp_path / "pool.toml", "--window", 1000, "--json"]
    whole = json.loads(heros(*words).stdout)
    keeping = [*words, "--checkpoint", tmp_path / "kept", "--every", 1000, "--keep", 9]
    script = "import os, signal, sys; from heros.storage.disk import os as o; n = [0]; real = os.replace\n" \
        "def replace(*a):\n real(*a); n[0] += 1\n if n[0] == 2: os.kill(os.getpid(), signal.SIGKILL)\n" \
        "o.replace = replace; from heros.cli import app; app(sys.argv[1:])"  # fmt: skip
    killed = subprocess.run(
        [sys.executable, "-c", script, *map(str, keeping)], check=False, capture_output=True
    )
    assert killed.returncode == -9
    listed = json.loads(heros("checkpoints", tmp_path / "kept", "--json").stdout)
    assert [(one["instances"], one["whole"]) for one in listed] == [(2000, True), (1000, True)]
    refused = heros(*keeping)
    assert refused.exit_code == 2
    assert "must be empty, unless the run is resumed (--resume)" in refused.stderr
    resumed = json.loads(heros(*keeping, "--resume").stdout)
    from_older = json.loads(
        heros(*words, "--every", 1000, "--keep", 9, "--resume-from", listed[1]["path"]).stdout
    )
    for key in ("results", "confusion", "trained", "invested", "n_instances", "settings"):
        assert resumed[key] == from_older[key] == whole[key]


def test_the_list_says_which_are_whole(tmp_path, small):
    restored(tmp_path, small)
    (tmp_path / OLDER).write_bytes(b"")
    shown = heros("checkpoints", tmp_path).stdout
    assert NEWEST in shown
    assert "complete" in shown
    assert "damaged" in shown
    assert heros("checkpoints", tmp_path / "nowhere").exit_code == 2
    assert "--checkpoint DIR" in heros("run", "agr_a", "--resume").stderr


def test_broken_ones_are_said_in_a_line(tmp_path):
    (tmp_path / "pool.toml").write_text(POOL_FILE)
    words = [
        "run",
        "agr_a",
        "--n",
        2000,
        "--pool",
        tmp_path / "pool.toml",
        "--checkpoint",
        tmp_path / "kept",
        "--every",
        1000,
    ]
    heros(*words)
    (tmp_path / "kept" / "checkpoint-000000002000.heros").write_bytes(b"broken")
    result = heros(*words, "--resume")
    assert result.exit_code == 0
    assert "heros: The file" in result.stderr
    assert "The previous checkpoint is used." in result.stderr.replace("\n", " ")


def test_ctrl_c_leaves_a_checkpoint(tmp_path, monkeypatch):
    """An interrupt ends the run: the result so far is returned, and the run can be resumed."""
    (tmp_path / "pool.toml").write_text(POOL_FILE)
    words = ["run", "agr_a", "--n", 5000, "--pool", tmp_path / "pool.toml", "--window", 1000, "--json"]
    keeping = [*words, "--checkpoint", tmp_path / "kept", "--resume"]
    drawn = itertools.count(1)

    def draw(self, n, real=streams.Stream.draw):
        if next(drawn) == 6:  # each block is drawn by three streams, each wrapping the next
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, n)

    with monkeypatch.context() as patched:
        patched.setattr(streams.Stream, "draw", draw)
        stopped = json.loads(heros(*keeping).stdout)["n_instances"]
    assert 0 < stopped < 5000
    assert [one.instances for one in checkpoints.found(tmp_path / "kept")] == [stopped]
    assert json.loads(heros(*keeping).stdout)["results"] == json.loads(heros(*words).stdout)["results"]


class Majority:
    """A user-defined model."""

    def __init__(self):
        self.counts = np.zeros(2)

    def predict_proba(self, x):
        return self.counts

    def learn(self, x, y):
        self.counts[y] += 1


def mixed():
    members = pools.Models([Majority(), ("bayes", GaussianNB())], costs=[1, 2])
    return Heros(pools.Join(members, pools.MLP([{"hidden": 4}]), costs=[1, 1]), k=1, seed=1)


def test_python_objects_in_checkpoints_are_refused_at_once(tmp_path):
    stream = streams.load("agr_a").take(300)
    with pytest.raises(
        ParameterError, match="left out, because a checkpoint cannot hold the Python objects of this pool"
    ) as error:
        evaluate(mixed(), stream, checkpoint=tmp_path / "kept", every=1000)
    assert "allow_code=True keeps them as pickles, which run code" in str(error.value)
    assert stream.position == 0
    assert not (tmp_path / "kept").exists()


def test_python_objects_are_kept_as_pickles_if_code_is_allowed(tmp_path):
    """An interrupted run ends like an undisturbed run; each time a warning says that pickles can run code."""

    def run(n, **kept):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            run = evaluate(mixed(), streams.load("agr_a").take(n), **kept)
        assert [str(one.message) for one in said if "hold pickles" in str(one.message)] or not kept
        return run

    kept = {"checkpoint": tmp_path, "every": 100, "resume": True, "allow_code": True}
    run(250, **kept)
    resumed, whole = run(600, **kept), run(600)
    assert resumed.figures == whole.figures
    assert resumed.trained.tolist() == whole.trained.tolist()
    with pytest.raises(ParameterError, match="cannot hold the Python objects of this pool"):
        evaluate(mixed(), streams.load("agr_a").take(700), checkpoint=tmp_path, resume=True)
