"""The store of models by key on a full disk: commits are complete or have no effect, and no model is lost."""

import contextlib
import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from faults.system import no_room_beyond
from heros import DataError, Heros, HerosError, pools
from heros.ensemble.keyed import Keyed
from heros.storage import keystore
from heros.storage.keystore import FILE, KeyStore, StoreDamaged, Tally
from heros.streams.live.journal import Journal
from test_keyed import STREAM, alone, template, visits

MODEL = bytes(100_000)


def full(path, more=0):
    """Allow only a number of bytes more than the largest file of the store."""
    return no_room_beyond(max(file.stat().st_size for file in path.iterdir()) + more)


@pytest.mark.matrix(most=3)
@pytest.mark.parametrize("more", [0, 4096, 100_000, 400_000, 1_500_000])
def test_a_commit_is_whole_or_nothing_on_a_full_disk(tmp_path, more):
    store = KeyStore(tmp_path)
    for i in range(10):
        store.put(f"{i}", MODEL, Tally(1))
    store.commit({"offset": 10})
    kept = {}
    with full(tmp_path, more):
        for turn in range(2, 30):
            for i in range(10):
                with contextlib.suppress(HerosError):
                    store.put(f"{i}", MODEL, Tally(turn))
                    kept[f"{i}"] = Tally(turn)
                assert store.tally(f"{i}") == kept.get(f"{i}", Tally(1))
            with contextlib.suppress(HerosError):
                store.commit({"offset": 10 * turn})
                break
    assert dict(store.tallies()) == {f"{i}": kept.get(f"{i}", Tally(1)) for i in range(10)}
    expected = (store.note(), dict(store.tallies())) if store.note() != {"offset": 10} else None
    store.close()
    again = KeyStore(tmp_path)
    found = (again.note(), dict(again.tallies()))
    assert found == (expected or ({"offset": 10}, {f"{i}": Tally(1) for i in range(10)}))
    assert all(again.get(f"{i}") == MODEL for i in range(10))
    again.close()


def test_it_goes_on_when_there_is_room(tmp_path):
    store = KeyStore(tmp_path)
    store.put("a", MODEL, Tally(1))
    with full(tmp_path):
        for _ in range(3):
            with pytest.raises(HerosError, match=r"cannot be written: .*(full|I/O error)"):
                store.put("b", bytes(5_000_000), Tally(2))
    store.put("b", b"later", Tally(2))
    store.commit({"offset": 2})
    store.close()
    again = KeyStore(tmp_path)
    assert (again.note(), again.get("a"), again.get("b")) == ({"offset": 2}, MODEL, b"later")
    again.close()


def test_a_failed_transaction_leaves_no_log_that_fills_the_disk(tmp_path):
    store = KeyStore(tmp_path)
    store.put("a", MODEL, Tally(1))
    with full(tmp_path, 3_000_000), pytest.raises(HerosError, match="cannot be written"):
        store.commit(None, models=[(f"{i}", MODEL, Tally(1)) for i in range(100)])
    assert (tmp_path / f"{FILE}-wal").stat().st_size == 0
    assert store.get("a") == MODEL
    store.commit(None)
    store.close()


@pytest.mark.parametrize("error", ["disk I/O error", "unable to open database file"])
def test_a_store_that_a_full_disk_does_not_open_names_the_full_disk(tmp_path, monkeypatch, error):
    def connect(*arguments, **options):
        raise sqlite3.OperationalError(error)

    for free, told in ((10_000_000_000, ""), (8192, r" \(No space left on device\)")):
        with monkeypatch.context() as disk:
            disk.setattr(sqlite3, "connect", connect)
            disk.setattr(
                shutil, "disk_usage", lambda path, free=free: shutil._ntuple_diskusage(free, 0, free)
            )
            with pytest.raises(HerosError, match=f"keys.sqlite cannot be written: {error}{told}\\."):
                KeyStore(tmp_path)
            with pytest.raises(HerosError, match=f"waiting.sqlite cannot be .*: {error}{told}\\."):
                Journal(tmp_path / "waiting.sqlite")


def test_rows_that_extend_the_schema_are_learnt_all_or_not_at_all_on_a_full_disk(monkeypatch):
    """Rows with new columns are learnt in several parts. A full disk must not stop the call between them."""
    first, rows = {"a": 1.0}, [{"a": 1.0}, {"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0, "c": 3.0}]

    def put(*_):
        raise keystore.NotKept("the disk is full")

    with Keyed(Heros(pools.NaiveBayesGrid(), seed=1), memory=10**9) as keyed:
        for key in ("door", "roof"):
            keyed.learn(key, [first, first], ["yes", "no"])
        keyed.memory = keyed.bytes_in_memory + 100  # the new columns do not fit
        monkeypatch.setattr(KeyStore, "put", put)
        keyed.learn("roof", rows, ["yes", "no", "yes"])
        with pytest.raises(HerosError, match="the disk is full"):
            keyed.learn("roof", rows, ["yes", "no", "yes"])
        assert keyed.figures("roof").instances == 5


def test_a_machine_without_a_temporary_directory_is_told(monkeypatch):
    def none(**_):
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("heros.ensemble.keyed.TemporaryDirectory", none)
    with pytest.raises(
        HerosError, match="cannot create a temporary directory: No usable temporary directory found"
    ):
        Keyed(template())


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("room", [0.0, 0.3, 0.6, 0.9])
def test_no_instance_is_lost_or_learnt_twice_on_a_full_disk(tmp_path, room):
    """`learn` either learns or raises an error; after an error, the same instances can be passed again."""
    keyed, refused, committed = Keyed(template(), capacity=3, directory=tmp_path), 0, None
    todo = visits(40, 200)
    with contextlib.ExitStack() as stack:
        for i, (key, X, y) in enumerate(todo):
            if i == 60:
                largest = max(file.stat().st_size for file in tmp_path.iterdir())
                stack.enter_context(no_room_beyond(int(room * largest)))
            try:
                keyed.learn(key, X, y)
            except HerosError:
                refused += 1
                assert keyed.in_memory <= 3
                keyed.predict_proba(key, X)  # reading needs no space
                assert keyed.in_memory <= 3
                stack.close()
                keyed.learn(key, X, y)
            if i % 20 == 19:
                with contextlib.suppress(HerosError):
                    keyed.commit({"done": i + 1})
                    committed = i + 1
    assert refused
    X, _ = STREAM.take(50).draw(50)
    for key, model in alone(todo).items():
        assert (keyed.answers(key, X) == model.answers(X)).all()
        assert keyed.figures(key).instances == model.instances
    keyed.close()
    with Keyed(template(), directory=tmp_path) as keyed:
        assert keyed.position == {"done": committed}
        for key, model in alone(todo[:committed]).items():
            assert (keyed.answers(key, X) == model.answers(X)).all()
            assert keyed.figures(key).instances == model.instances


def test_a_failed_commit_keeps_all_in_memory_and_may_be_repeated(tmp_path):
    X, y = STREAM.take(200).draw(200)
    with Keyed(template(), directory=tmp_path) as keyed:
        keyed.learn("a", X[:100], y[:100])
        keyed.commit({"done": 100})
        keyed.learn("a", X[100:], y[100:])
        keyed.learn("b", X, y)
        for i in range(50):
            keyed.learn(i, X, y)
        with full(tmp_path), pytest.raises(HerosError, match="cannot be written"):
            keyed.commit({"done": 300})
        assert (keyed.position, len(keyed)) == ({"done": 100}, 52)
        keyed.commit({"done": 400})
    with Keyed(template(), directory=tmp_path) as keyed:
        assert (keyed.figures("a").instances, keyed.figures("b").instances) == (200, 200)


def test_a_snapshot_for_which_there_is_no_room_leaves_no_part_of_it(tmp_path):
    store = KeyStore(tmp_path / "kept")
    store.commit(None, models=[(f"{i}", MODEL, Tally(1)) for i in range(10)])
    with no_room_beyond(500_000), pytest.raises(HerosError, match="cannot be written"):
        store.copy(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    store.copy(tmp_path / "copy")
    store.put("more", MODEL, Tally(1))
    store.commit(None)
    store.close()


def test_attached_bytes_may_be_longer_than_any_value_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(keystore, "PIECE", 50_000)
    parts = [bytes(range(256)) * 1000, b"", b"end"]
    store = KeyStore(tmp_path)
    store._file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    store.commit({"done": 1}, attached=parts)
    store.commit({"done": 2})  # attached bytes stay unchanged
    store.close()
    again = KeyStore(tmp_path)
    assert (again.attached(), again.note()) == (b"".join(parts), {"done": 2})
    again.commit(None, attached=[b"other"])
    assert again.attached() == b"other"
    again.close()


def killed(tmp_path, commits=5):
    """Return a directory as after a kill: with the files of an open store."""
    with contextlib.closing(KeyStore(tmp_path / "open")) as store:
        for i in range(commits):
            store.put("draft", MODEL, Tally(i))
            store.remove("draft")
            store.commit({"offset": i}, models=[("a", MODEL, Tally(i)), ("b", MODEL, Tally(i))])
        store.put("later", MODEL, Tally(1))
        shutil.copytree(tmp_path / "open", tmp_path / "killed")
    return tmp_path / "killed"


@pytest.mark.parametrize("how", ["nothing", "removed", "truncated", "changed"])
def test_no_commit_is_lost_with_the_log(tmp_path, how):
    place = killed(tmp_path)
    log = place / f"{FILE}-wal"
    if how == "removed":
        log.unlink()
    elif how == "truncated":
        os.truncate(log, log.stat().st_size // 2)
    elif how == "changed":
        content = bytearray(log.read_bytes())
        content[len(content) // 10] ^= 0xFF
        log.write_bytes(content)
    with contextlib.closing(KeyStore(place)) as store:
        assert (store.note(), store.lost) == ({"offset": 4}, 0)
        assert dict(store.tallies()) == {"a": Tally(4), "b": Tally(4)}
        assert store.get("a") == MODEL


def test_commits_that_are_missing_are_counted_until_the_next_commit(tmp_path):
    place = killed(tmp_path)
    with contextlib.closing(KeyStore(place)) as store:
        store.copy(tmp_path / "copy")
        for i in range(3):
            store.commit({"offset": 10 + i})
    shutil.copy(tmp_path / "copy", place / FILE)  # an older copy
    for _ in range(2):
        with contextlib.closing(KeyStore(place)) as store:
            assert (store.note(), store.lost) == ({"offset": 4}, 3)
    with contextlib.closing(KeyStore(place)) as store:
        store.commit({"offset": 5})
    with contextlib.closing(KeyStore(place)) as store:
        assert (store.note(), store.lost) == ({"offset": 5}, 0)
    os.truncate(place / FILE, 0)
    with contextlib.closing(KeyStore(place)) as store:
        assert (store.note(), store.lost) == (None, 6)


def test_a_process_that_reads_delays_no_commit(tmp_path):
    with contextlib.closing(KeyStore(tmp_path)) as store:
        store.commit({"offset": 1}, models=[("a", MODEL, Tally(1))])
        with contextlib.closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
            other.execute("BEGIN")
            assert other.execute("SELECT count(*) FROM models").fetchone() == (1,)
            began = time.monotonic()
            store.commit({"offset": 2}, models=[("b", MODEL, Tally(1))])
            assert time.monotonic() - began < keystore.BUSY / 1000
        assert (tmp_path / f"{FILE}-wal").stat().st_size > 0
        store.commit({"offset": 3})
        assert (tmp_path / f"{FILE}-wal").stat().st_size == 0


def test_a_missing_model_is_an_error_and_a_damaged_page_no_error_of_one_key(tmp_path):
    place = killed(tmp_path)
    with contextlib.closing(sqlite3.connect(place / FILE)) as file, file:
        file.execute("DELETE FROM models WHERE id = (SELECT model FROM figures WHERE key = 'a')")
    with contextlib.closing(KeyStore(place)) as store:
        assert store.get("c") is None
        with pytest.raises(DataError, match="the model for the key a is missing") as missing:
            store.get("a")
        assert not isinstance(missing.value, StoreDamaged)
        assert store.get("b") == MODEL
        store.remove("a")
        store.commit(None)
    damage_models(place)
    with pytest.raises(StoreDamaged, match=r"keys\.sqlite is damaged: .* Restore it from a copy"):
        KeyStore(place)


def damage_models(place):
    """Overwrite the root page of the table of models."""
    with contextlib.closing(sqlite3.connect(place / FILE)) as file:
        (root,) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'models'").fetchone()
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (place / FILE).open("r+b") as file:
        file.seek((root - 1) * keystore.PAGE)
        file.write(b"\xff" * 200)


@pytest.mark.parametrize("closed", ["copy", "open"])
def test_no_other_process_opens_a_store_whose_file_was_copied_or_opened_again(tmp_path, closed):
    """Closing a descriptor of a file releases all POSIX locks of the process, on which SQLite relies."""
    store = KeyStore(tmp_path)
    store.put("a", MODEL, Tally(1))
    store.commit({"offset": 1})
    if closed == "copy":
        shutil.copyfile(tmp_path / FILE, tmp_path / "copy")
    else:
        with pytest.raises(HerosError, match="already in use"):
            KeyStore(tmp_path)
    code = (
        "import sys\n"
        "from heros import HerosError\n"
        "from heros.storage.keystore import KeyStore\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        KeyStore(sys.argv[1])\n"
        "    except HerosError as error:\n"
        "        print('refused' if 'already in use' in str(error) else error)\n"
    )
    command = [sys.executable, "-c", code, tmp_path]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("refused\nrefused\n", "")
    store.commit({"offset": 2})
    store.close()
    again = KeyStore(tmp_path)
    assert (again.note(), again.get("a")) == ({"offset": 2}, MODEL)
    again.close()


@pytest.mark.parametrize("opened", [lambda path: KeyStore(path.parent), Journal], ids=["keys", "journal"])
def test_a_store_is_opened_once_at_a_time(tmp_path, opened):
    first = opened(tmp_path / FILE)
    with pytest.raises(HerosError, match="already in use"):
        opened(tmp_path / FILE)
    first.close()
    opened(tmp_path / FILE).close()
