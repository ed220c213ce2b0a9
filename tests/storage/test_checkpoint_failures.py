"""Failed checkpoints: the message, the remaining files, and whether the run continues."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kill_resume
from heros import Heros, HerosError, evaluate, pools, streams
from heros.run import checkpoints
from heros.run.checkpoints import CheckpointWarning
from heros.storage import disk
from heros.streams.live import END, RowSource

SETTINGS = {"window": 150, "block": 64}
KEPT = {"every": 200, "keep": 3}


def run_with(directory, when, happens, **more):
    """A run in which a disk fault occurs before instance `when`."""
    model, stream, _ = kill_resume.growing()

    def pairs():
        for i, pair in enumerate(stream._pairs()):
            if i == when:
                happens()
            yield pair

    line = streams.from_iter(pairs, on_bad_row="skip")
    run = evaluate(model, line, checkpoint=directory, **SETTINGS, **KEPT, **more)
    return kill_resume.outcome(run, model)


def undisturbed():
    model, stream, _ = kill_resume.growing()
    return kill_resume.outcome(evaluate(model, stream, **SETTINGS), model)


def assert_it_goes_on_from_what_is_there(directory, expected):
    """Earlier checkpoints are complete, no partial file is left, and resuming gives the same result."""
    there = checkpoints.found(directory)
    assert there
    assert [one.fault for one in there] == [None] * len(there)
    assert not list(directory.glob(".*.draft"))
    assert run_with(directory, -1, None, resume=True) == expected


FAILURES = {
    "fsync": (os, errno.ENOSPC, "No space left on device"),
    "replace": (os, errno.EIO, "Input/output error"),
    "mkstemp": (disk, errno.EROFS, "Read-only file system"),
}


@pytest.mark.parametrize("call", FAILURES)
@pytest.mark.parametrize("chosen", ["raise", "warn"])
def test_the_run_stops_or_goes_on_as_chosen(call, chosen, tmp_path, monkeypatch):
    owner, number, text = FAILURES[call]

    def fail(*_, **__):
        raise OSError(number, text)

    def happens():
        monkeypatch.setattr(owner, call, fail)

    expected = undisturbed()
    said = rf"The file {tmp_path}/(predictions\.f8|checkpoint-0+\d+\.heros) cannot be written: {text}\.$"
    if chosen == "raise":
        with pytest.raises(HerosError, match=said):
            run_with(tmp_path, 500, happens)
    else:
        with pytest.warns(
            CheckpointWarning, match=rf"^No checkpoint was written after [\d,]+ instances\. {said}"
        ):
            assert run_with(tmp_path, 500, happens, on_checkpoint_error="warn") == expected
    monkeypatch.undo()
    assert checkpoints.found(tmp_path)[0].instances == 400  # before the fault
    assert_it_goes_on_from_what_is_there(tmp_path, expected)


def test_a_disk_that_has_room_again_is_used_again(tmp_path, monkeypatch):
    real, failed = os.fsync, []

    def fail_for_a_while(descriptor):
        if len(failed) < 3:
            failed.append(descriptor)
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_a_while)
    with pytest.warns(CheckpointWarning) as said:
        run_with(tmp_path, -1, None, on_checkpoint_error="warn")
    assert len(said) == 3
    monkeypatch.undo()
    assert_it_goes_on_from_what_is_there(tmp_path, undisturbed())


@pytest.mark.parametrize("chosen", ["raise", "warn"])
def test_a_directory_that_vanishes(chosen, tmp_path):
    place = tmp_path / "kept"
    text = r"The directory .*kept cannot be written to: No such file or directory\.$"
    if chosen == "raise":
        with pytest.raises(HerosError, match=text):
            run_with(place, 500, lambda: shutil.rmtree(place))
    else:
        with pytest.warns(CheckpointWarning, match=text):
            assert (
                run_with(place, 500, lambda: shutil.rmtree(place), on_checkpoint_error="warn")
                == undisturbed()
            )
    assert not place.exists()


def test_the_last_checkpoint_is_no_reason_to_lose_the_results(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.warns(CheckpointWarning, match="No space left on device"):
        outcome = run_with(tmp_path, 1450, lambda: monkeypatch.setattr(os, "fsync", fail))
    assert outcome == undisturbed()


def test_a_stream_that_cannot_be_told_of_a_checkpoint_is_not_called_a_missing_checkpoint(tmp_path):
    class Rows(RowSource):
        at = 0

        def fetch(self, most, timeout):
            got = [
                ((({"size": i % 5}, i % 2)), {"row": i + 1}) for i in range(self.at, min(self.at + most, 30))
            ]
            self.at += len(got)
            return got or END

        def go_to(self, position):
            self.at = position["row"]

        def acknowledge(self, where):
            raise HerosError("The queue cannot be written: away.")

    how = {"checkpoint": tmp_path, "every": 10, "on_checkpoint_error": "warn"}
    model = Heros(pools.MLPGrid(hidden=[2]), k=1, seed=1)
    said = "^A checkpoint was written, but the stream could not be told, after [123]0 instances. The queue"
    with pytest.warns(CheckpointWarning, match=said):
        run = evaluate(model, Rows("rows"), **how)
    assert run.n_instances == 30
    assert [one.instances for one in checkpoints.found(tmp_path)] == [30, 20, 10]


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_directory_that_cannot_be_made_is_said_before_the_run(place, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HerosError, match=r"^The directory .*file.* cannot be written to: .*\.$"):
        run_with(tmp_path / place, 0, lambda: pytest.fail("the run has begun"))


# -- on real file systems ---------------------------------------------------------------------------------------

SMALL_DISK = """
import subprocess, sys
from pathlib import Path
import pytest
import test_checkpoint_failures as t
from heros.run import checkpoints
from heros import HerosError

what, chosen, disk, elsewhere = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
expected = t.undisturbed()

def happens():
    if what == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    else:
        fill()

def fill():
    with Path(disk, "others").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass

text = "Read-only file system" if what == "read-only" else "No space left on device"
if chosen == "raise":
    with pytest.raises(HerosError, match=text):
        t.run_with(disk / "kept", 500, happens)
else:
    with pytest.warns(t.CheckpointWarning, match=text):
        assert t.run_with(disk / "kept", 500, happens, on_checkpoint_error="warn") == expected
assert checkpoints.found(disk / "kept")[0].instances == 400
t.shutil.copytree(disk / "kept", elsewhere)
t.assert_it_goes_on_from_what_is_there(elsewhere, expected)
print("as it should be")
"""


def mountable() -> bool:
    probe = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/tmp"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not mountable(), reason="no file systems may be mounted here")
@pytest.mark.matrix
@pytest.mark.parametrize("what", ["full", "read-only"])
@pytest.mark.parametrize("chosen", ["raise", "warn"])
def test_a_real_disk(what, chosen, tmp_path):
    """A file system in memory, in a separate namespace, that becomes full or read-only during the run."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=512k none "{disk}" && exec "$0" -c "$1" {what} {chosen} "{disk}" "{tmp_path}/copy"'
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, sys.executable, SMALL_DISK],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "as it should be\n", done.stderr
