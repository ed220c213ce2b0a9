"""Jobs of any kind: recorded once, kept, repeated if damaged, and reported if they fail."""

from dataclasses import dataclass, replace

import pytest

from heros import DataError, HerosError, ParameterError, pools, streams
from heros.policies import Cheapest, Random
from heros.run import records
from heros.run.executors import Processes
from heros.run.experiments import Experiment, run_all
from heros.run.records import pack

POOL = pools.HoeffdingGrid(grace_periods=[50])
POLICIES = (Random(), Cheapest())


def jobs(n=300, policies=POLICIES):
    return [Experiment("led_a", POOL, policy, k=2, n=n) for policy in policies]


@dataclass(frozen=True)
class Faulty:
    def choose(self, scores, costs, k, rng):
        raise ZeroDivisionError("on purpose")


def test_what_is_recorded_is_kept_single_or_packed(tmp_path):
    first, second = jobs()
    assert run_all([first], tmp_path).done == (first.id,)
    pack(tmp_path)
    outcome = run_all([first, second], tmp_path)
    assert (outcome.kept, outcome.done) == ((first.id,), (second.id,))
    assert run_all([second, first], tmp_path).kept == (second.id, first.id)


def test_a_record_of_another_length_is_not_overwritten_unless_asked(tmp_path):
    run_all(jobs(), tmp_path)
    pack(tmp_path)
    longer = jobs(n=400)
    with pytest.raises(HerosError, match=r"must have 400 instances\. Got 300 instead\."):
        run_all(longer, tmp_path)
    assert len(run_all(longer, tmp_path, force=True).done) == 2
    assert {records.read(tmp_path / job.id).n_instances for job in longer} == {400}


def test_what_another_process_recorded_meanwhile_is_not_overwritten(tmp_path):
    (job, _) = jobs()

    def written_meanwhile():
        records.save(job.run(), tmp_path)
        return streams.load("led_a").take(200)

    with pytest.raises(HerosError, match=r"random/k2/seed1 already exists"):
        run_all([Late(job, written_meanwhile)], tmp_path)
    assert records.read(tmp_path / job.id).n_instances == 300


def test_two_processes_may_share_the_jobs_of_one_directory(tmp_path):
    first, second = jobs()

    def written_meanwhile():
        records.save(first.run(), tmp_path)
        return first.open()

    outcome = run_all([Late(first, written_meanwhile), second], tmp_path)
    assert outcome.done == (first.id, second.id)


@dataclass(frozen=True, eq=False)
class Late:
    job: Experiment
    stream: object
    instances = span = None
    compact = False
    work = 1.0

    @property
    def id(self):
        return self.job.id

    def run(self, progress=False):
        return replace(self.job, stream=self.stream, n=None).run()


class Interrupted(Late):
    def run(self, progress=False):
        return replace(self.job.run(), interrupted=True)


def test_a_broken_record_is_run_again(tmp_path):
    first, second = jobs()
    run_all([first, second], tmp_path)
    (tmp_path / first.id / "record.json").write_text("{")
    (tmp_path / second.id / "record.json").unlink()
    assert run_all([first, second], tmp_path).done == (first.id, second.id)
    assert len(records.load(tmp_path)) == 2


def test_a_failure_is_reported_or_raised(tmp_path):
    good, bad = jobs(policies=[Random(), Faulty()])
    outcome = run_all([bad, good], tmp_path)
    assert outcome.done == (good.id,)
    assert outcome.failed[bad.id].reason == "ZeroDivisionError: on purpose"
    assert "in choose" in outcome.failed[bad.id].details
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        run_all([bad], tmp_path, strict=True)


def test_half_a_run_is_no_record(tmp_path):
    (job, _) = jobs()
    with pytest.raises(KeyboardInterrupt):
        run_all([Interrupted(job, None)], tmp_path)
    assert not list(tmp_path.iterdir())


def open_nothing():
    raise DataError("The file nothing.csv must exist.")


@pytest.mark.long
def test_processes_give_what_one_gives(tmp_path):
    run_all(jobs(), tmp_path / "one")
    outcome = run_all(jobs(), tmp_path / "two", executor=Processes(2))
    assert sorted(outcome.done) == sorted(job.id for job in jobs())
    columns = ["id", "auroc", "accuracy", "gamma_spent", "reward"]
    assert records.load(tmp_path / "one").select(columns) == records.load(tmp_path / "two").select(columns)


def test_a_stream_that_cannot_be_opened_is_said_before_anything_runs(tmp_path):
    with pytest.raises(DataError, match=r"nothing.csv must exist"):
        run_all([*jobs(), Experiment(open_nothing, POOL, Random(), 2)], tmp_path)
    assert not list(tmp_path.iterdir())


def test_two_jobs_of_one_id_are_refused(tmp_path):
    with pytest.raises(
        ParameterError, match=r"The 'jobs' parameter of run_all must be jobs with different ids. Got 'led_a"
    ):
        run_all(jobs()[:1] * 2, tmp_path)


def test_a_stream_of_unknown_length_is_kept_whatever_its_length(tmp_path):
    lines = "\n".join(f"{i % 7},{'a' if i % 3 else 'b'}" for i in range(50))
    path = tmp_path / "some.csv"
    path.write_text(f"x,y\n{lines}\n")
    job = Experiment(Reading(path), POOL, Random(), 2)
    assert job.instances is None
    out = tmp_path / "records"
    assert run_all([job], out).done == run_all([job], out).kept == (job.id,)


@dataclass(frozen=True)
class Reading:
    path: object

    def __call__(self):
        return streams.read(self.path)
