"""Every HEROS store with repeated writes, including SQLite files, with a fault at every system call."""

from __future__ import annotations

import functools
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from faults.system import MODES, Scenario, emptied, every_call_failed, read_only
from faults.test_writes import Kept, Model, Packing, Record, Report
from heros import Heros, HerosError, pools
from heros.data import Encoder
from heros.ensemble.keyed import Keyed
from heros.ensemble.late import LateLabels
from heros.run.workers import Snapshots
from heros.run.workers.partition import Partition
from heros.storage.keystore import FILE, NotKept
from heros.streams.live.journal import Journal, Received

SQLITE = ("No space left", "disk I/O error", "disk is full", "unable to open database", "readonly database")
BEFORE, AFTER, STEP = 6, 18, 6  # number of rows
ROWS = [({"size": float(i % 7), "colour": ("red", "blue")[i % 2]}, "odd" if i % 3 else "even") for i in range(AFTER)]  # fmt: skip


def template() -> Heros:
    return Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1)


def learnt(model: Heros) -> dict[str, bytes]:
    return {
        f"{group}/{name}": array.tobytes()
        for group, arrays in model.state().items()
        for name, array in arrays.items()
        if name != "cpu"
    }


def key_of(row: int) -> str:
    return f"k{row % 3}"


class Store(Scenario):
    """A store that is prepared once and copied for each fault."""

    reasons = SQLITE

    def prepare(self) -> None:
        prepared = self.root.with_name("prepared")
        if not prepared.exists():
            self.make()
            shutil.copytree(self.root, prepared)
        emptied(self.root)
        shutil.copytree(prepared, self.root, dirs_exist_ok=True)

    def make(self) -> None:
        """Copy the prepared store."""
        raise NotImplementedError


class Keys(Store):
    """Models by key: one in memory, the others in the file, with a commit every few rows.

    After the fault, the same object continues, and so does a new object that reads the committed state.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.expected = self.alone(AFTER)

    @functools.cache  # noqa: B019 - as long as the test
    def alone(self, n: int) -> dict[str, dict[str, bytes]]:
        with Keyed(template()) as keyed:
            for row in range(n):
                keyed.learn(key_of(row), *ROWS[row])
            return {key: learnt(keyed[key]) for key in keyed}

    def opened(self) -> Keyed:
        return Keyed(template(), capacity=1, directory=self.root / "keys")

    def make(self) -> None:
        with self.opened() as keyed:
            self.learn_on(keyed, 0, BEFORE)

    def prepare(self) -> None:
        super().prepare()
        self.keyed, self.row = None, BEFORE

    def learn_on(self, keyed: Keyed, start: int, end: int) -> None:
        self.row = start  # the first row that was not learnt
        while self.row < end:
            keyed.learn(key_of(self.row), *ROWS[self.row])
            self.row += 1
            if self.row % STEP == 0 or self.row == end:
                keyed.commit({"row": self.row})

    def write(self) -> None:
        self.keyed = self.opened()
        self.row = BEFORE
        self.learn_on(self.keyed, BEFORE, AFTER)

    def check(self, failed: bool) -> None:
        if self.keyed is not None:
            with self.keyed as keyed:
                copy = self.root / "copy"
                self.learn_on(keyed, self.row, AFTER)
                keyed.snapshot({"row": AFTER}, copy)
                assert {key: learnt(keyed[key]) for key in keyed} == self.expected
        with self.opened() as keyed:
            assert keyed.position == {"row": AFTER if self.keyed is not None else BEFORE}
            assert keyed.overall().instances == keyed.position["row"]


class KeysKilled(Keys):
    """The same, but the process ends at the fault: all committed changes are in the file."""

    def check(self, failed: bool) -> None:
        if self.keyed is not None:
            self.keyed.close()
        with self.opened() as keyed:
            row = keyed.position["row"]
            assert failed or row == AFTER
            assert {key: learnt(keyed[key]) for key in keyed} == self.alone(row)
            self.learn_on(keyed, row, AFTER)
            assert {key: learnt(keyed[key]) for key in keyed} == self.expected


class Messages(Store):
    """The journal of messages that cannot be read again."""

    def make(self) -> None:
        self.open().close()
        self.append(0, BEFORE)
        self.journal.settle(5, trim=3)
        self.journal.close()

    def open(self) -> Journal:
        self.journal = Journal(self.root / "journal")
        return self.journal

    def append(self, start: int, end: int) -> None:
        self.journal = self.open()
        self.taken = start
        while self.taken < end:
            some = [Received(i, "t", b"%d" % i * 50) for i in range(self.taken, self.taken + 3)]
            assert self.journal.append(some) == [one.number + 1 for one in some]
            self.taken += 3
            if self.taken > BEFORE:
                self.journal.settle(self.taken - 4, self.taken - 8)

    def write(self) -> None:
        self.taken = BEFORE
        self.append(BEFORE, AFTER)
        self.journal.close()

    def check(self, failed: bool) -> None:
        taken = self.taken
        with suppress(HerosError):
            self.journal.close()
        journal = self.open()
        assert journal.last == taken  # accepted messages are stored, and refused messages are not
        found = journal.after(max(journal.settled - 4, 3))
        assert [(number, one.payload) for number, one in found] == [
            (i + 1, b"%d" % i * 50) for i in range(taken - len(found), taken)
        ]
        assert journal.append([Received(taken, "t", b"later")]) == [taken + 1]
        journal.close()


class Worker(Store):
    """The snapshots of a worker's partition in a shared directory, and its models in between."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.partition = self.started()
        self.learn_on(AFTER)
        self.expected = self.models()
        self.partition.close()

    def started(self) -> Partition:
        self.count = getattr(self, "count", 0) + 1
        return Partition(
            0, Snapshots(self.root / "shared", "t"), self.root / f"scratch{self.count}", template(),
            target="y", key="key", encoder=Encoder(), skip=False, capacity=1,
        )  # fmt: skip

    def models(self) -> dict[str, dict[str, bytes]]:
        return {key: learnt(self.partition.keyed[key]) for key in self.partition.keyed}

    def learn_on(self, end: int) -> None:
        for row in range(self.partition.ahead, end):
            x, y = ROWS[row]
            self.partition.take(None, {**x, "key": key_of(row), "y": y}, row)
            if (row + 1) % STEP == 0 or row + 1 == end:
                self.partition.learn()
                self.partition.save()

    def make(self) -> None:
        self.partition = self.started()
        self.learn_on(BEFORE)
        self.partition.close()

    def write(self) -> None:
        self.partition = None
        self.partition = self.started()
        self.learn_on(AFTER)

    def check(self, failed: bool) -> None:
        if self.partition is not None:
            self.goes_on()
            self.partition.close()
        self.partition = self.started()
        assert self.partition.next >= BEFORE
        assert failed or self.partition.next == AFTER
        self.learn_on(AFTER)
        assert self.models() == self.expected
        self.partition.close()
        assert not [path for path in self.root.iterdir() if path.name.startswith("scratch")]

    def goes_on(self) -> None:
        """A failed snapshot can be written later, unless training on some rows failed."""
        if self.partition._whole:
            self.partition.save()
            assert self.partition.unsaved == 0
        else:
            with pytest.raises(HerosError, match="cannot be saved, because training on its rows failed"):
                self.partition.save()


class Late(Model):
    """A model with the instances that wait for their labels."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.late = LateLabels(self.model)
        self.late.answer("first", [0.0] * self.model.schema.n_features)
        self.late.save(root / "before")
        self.before = (root / "before").read_bytes()
        self.late.answer("second", [0.0] * self.model.schema.n_features)

    def write(self) -> None:
        self.late.save(self.path)

    def check(self, failed: bool) -> None:
        assert LateLabels.load(self.path).waiting in ((1, 2) if failed else (2,))


STORES = [Keys, KeysKilled, Messages, Worker, Late]

try:
    from heros.serve.checkpoint import CheckpointDirectory
    from heros.serve.learners import ModelPerKey, OneModel
    from heros.serve.limits import Refusal
    from heros.serve.service import Service
except ImportError:  # the packages of heros serve are not installed
    pass
else:

    class Served(Store):
        """The checkpoints of a service, during and after training: each includes all earlier accepted instances."""

        def alone(self, accepted: tuple[int, ...]) -> object:
            model = template()
            for row in accepted:
                model.learn(*ROWS[row])
            return learnt(model)

        def opened(self) -> Service:
            return Service(OneModel(template()), store=CheckpointDirectory(self.root / "kept"), seconds=None)

        def request(self, row: int) -> dict[str, object]:
            return {"x": ROWS[row][0], "y": ROWS[row][1]}

        def learn(self, service: Service, start: int, end: int) -> None:
            for row in range(start, end):
                with suppress(Refusal):  # status 507 while models cannot be written
                    self.states.append((*self.accepted, row))  # a checkpoint may be retried at any time
                    service.learn(self.request(row))
                    self.accepted += (row,)
            self.states.append(self.accepted)

        def make(self) -> None:
            with self.opened() as service:
                self.learn(service, 0, BEFORE)

        def prepare(self) -> None:
            self.accepted, self.states = (), []
            super().prepare()
            self.accepted = tuple(range(BEFORE))
            self.states = [self.accepted]

        def write(self) -> None:
            with self.opened() as service:
                self.learn(service, BEFORE, BEFORE + STEP)
                with suppress(HerosError, TimeoutError):  # with a full disk, it waits behind the queue
                    service.checkpoint().result(1)
                self.learn(service, BEFORE + STEP, AFTER)

        def found(self, service: Service) -> object:
            return learnt(service.learner.model)

        def check(self, failed: bool) -> None:
            with self.opened() as service:
                states = {len(state): state for state in (self.states if failed else self.states[-1:])}
                assert service.counts.learnt in states
                assert self.found(service) == self.alone(states[service.counts.learnt])

    class ServedKeys(Served):
        """The checkpoints of a service with a model per key; `Keys` tests all calls on the file of models."""

        every = False

        def alone(self, accepted: tuple[int, ...]) -> object:
            with Keyed(template()) as keyed:
                for row in accepted:
                    keyed.learn(key_of(row), *ROWS[row])
                return {key: learnt(keyed[key]) for key in keyed}

        def opened(self) -> Service:
            store = CheckpointDirectory(self.root / "kept")
            try:
                keyed = Keyed(template(), capacity=1, directory=self.root / "kept" / "keys")
            except BaseException:
                store.close()
                raise
            return Service(ModelPerKey(keyed), store=store, seconds=None)

        def request(self, row: int) -> dict[str, object]:
            return {**super().request(row), "key": key_of(row)}

        def found(self, service: Service) -> object:
            models = service.learner.models
            return {key: learnt(models[key]) for key in models}

    STORES += [Served, ServedKeys]


@pytest.mark.matrix
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", STORES)
def test_a_fault_at_any_call_breaks_no_store(kind, mode, tmp_path, thorough, monkeypatch):
    if "Served" in globals():
        monkeypatch.setattr("heros.serve.service.RETRY", 0.05)
    stride = 8 if not thorough else 4 if mode == "slow" else 1
    assert every_call_failed(kind, mode, tmp_path / "root", stride) >= 1


@pytest.mark.skipif(sys.platform == "win32", reason="directories cannot be read-only on Windows")
@pytest.mark.parametrize("kind", [*STORES, Record, Report, Packing, Kept])
def test_a_directory_that_is_read_only_is_said_and_left_as_it_is(kind):
    with tempfile.TemporaryDirectory() as place:  # not below a directory that only its owner may enter
        Path(place).chmod(0o755)
        root = Path(place, "root")
        root.mkdir()
        scenario = kind(root)
        emptied(root)
        scenario.prepare()
        scenario.write()  # import all modules in advance
        getattr(scenario, "keyed", None) and scenario.keyed.close()
        getattr(scenario, "partition", None) and scenario.partition.close()
        emptied(root)
        scenario.prepare()
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        with (
            read_only(root),
            pytest.raises(HerosError, match=r"cannot be (read or )?(written|opened)") as error,
        ):
            scenario.write()
        assert "\n" not in str(error.value)
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
        scenario.check(True)


def test_keys_whose_file_was_removed_are_not_said_to_be_kept(tmp_path):
    """SQLite would continue to write to the unlinked file."""
    with Keyed(template(), capacity=1, directory=tmp_path / "keys") as keyed:
        keyed.learn("a", *ROWS[0])
        keyed.commit({"row": 1})
        shutil.move(tmp_path / "keys", tmp_path / "elsewhere")
        keyed.learn("a", *ROWS[1])
        with pytest.raises(NotKept, match=r"was removed or replaced while in use"):
            keyed.commit({"row": 2})
        (tmp_path / "keys").mkdir()
        (tmp_path / "keys" / FILE).write_bytes(b"")
        with pytest.raises(NotKept, match="removed or replaced"):
            keyed.commit({"row": 2})
        shutil.rmtree(tmp_path / "keys")
        shutil.move(tmp_path / "elsewhere", tmp_path / "keys")
        keyed.commit({"row": 2})
    with Keyed(template(), directory=tmp_path / "keys") as keyed:
        assert (keyed.position, keyed.overall().instances) == ({"row": 2}, 2)


def test_a_journal_that_was_removed_takes_no_messages(tmp_path):
    journal = Journal(tmp_path / "journal")
    journal.append([Received(1, "t", b"a")])
    (tmp_path / "journal").rename(tmp_path / "elsewhere")
    with pytest.raises(HerosError, match=r"journal .* was removed or replaced while in use"):
        journal.append([Received(2, "t", b"b")])
    (tmp_path / "elsewhere").rename(tmp_path / "journal")
    assert journal.append([Received(2, "t", b"b")]) == [2]
    journal.close()


@pytest.mark.skipif(sys.platform == "win32", reason="directories in use cannot be moved")
@pytest.mark.skipif("Served" not in globals(), reason="heros serve is not installed")
def test_a_service_that_lost_its_lock_says_so(tmp_path):
    place = tmp_path / "kept"
    with Service(OneModel(template()), store=CheckpointDirectory(place), seconds=None) as service:
        service.learn({"x": ROWS[0][0], "y": ROWS[0][1]})
        (place / ".lock").unlink()  # if the lock file was deleted, it is locked again
        service.checkpoint().result(30)
        with pytest.raises(HerosError, match=r"is in use: process"):
            CheckpointDirectory(place)
        (place / ".lock").unlink()
        other = CheckpointDirectory(place)  # another service has locked the directory first
        with pytest.raises(HerosError, match="is locked by another process"):
            service.checkpoint().result(30)
        assert "is locked by another process" in service.checkpoint_error
        other.close()
        shutil.move(place, tmp_path / "elsewhere")
        CheckpointDirectory(place).close()
        with pytest.raises(HerosError, match=r"was replaced by another directory while in use"):
            service.checkpoint().result(30)
        shutil.rmtree(place)
        shutil.move(tmp_path / "elsewhere", place)
        (place / ".lock").unlink()
    with Service(OneModel(template()), store=CheckpointDirectory(place)) as service:
        assert service.counts.learnt == 1
