"""evaluate polls its source: rows are learnt when they arrive, and waiting does not change results."""

from __future__ import annotations

import random

import pytest

import kill_resume
from heros import DataError, Heros, HerosError, evaluate, meters, policies, pools, streams
from heros.run import checkpoints
from heros.storage import archive
from heros.streams.live import END, IDLE, Source

POOL = pools.MLP([{"hidden": 4}, {"hidden": 8}])


def make():
    return Heros(POOL, policies.Zeta(0.05), 1, seed=1)


class Live(Source):
    """A source that returns a few instances at a time, with waits in between, and can seek to a position."""

    name = "live"

    def __init__(self, n=1000, seed=1):
        self.instances = streams.Agrawal(function=2).take(n)
        self.rng = random.Random(seed)
        self.acknowledged, self.sought, self.asked, self.waits = [], [], [], 0

    @property
    def schema(self):
        return self.instances.schema

    def poll(self, most, timeout=None):
        self.asked.append((most, timeout))
        if self.rng.random() < 0.3:
            self.waits += 1
            return IDLE
        return self.instances.poll(min(most, self.rng.randrange(1, 90)), timeout)

    def where(self):
        return {"offset": self.instances.position}

    def seek(self, where):
        self.sought.append(where)
        self.instances.restart()
        if where["offset"]:
            self.instances.draw(where["offset"])

    def acknowledge(self, where):
        self.acknowledged.append(where["offset"])


def test_waiting_and_handfuls_change_nothing():
    model, expected = make(), make()
    source = Live()
    got = kill_resume.outcome(evaluate(model, source, window=150), model)
    stream = streams.Agrawal(function=2).take(1000)
    stream.name = "live"
    assert got == kill_resume.outcome(evaluate(expected, stream, window=150), expected)
    assert source.waits > 5


def test_it_is_asked_for_a_block_in_so_much_time():
    source = Live()
    evaluate(make(), source, block=77)
    assert {most for most, _ in source.asked} == {77}
    assert all(0 < timeout < 1 for _, timeout in source.asked)


def test_what_comes_is_learnt_when_it_comes():
    """150 rows are learnt before a block of 4096 is full."""
    model = make().bind(streams.Agrawal().schema)
    seen = []

    class Watched(Live):
        def poll(self, most, timeout=None):
            seen.append((self.instances.position, model.instances))
            return super().poll(most, timeout)

    evaluate(model, Watched(150))
    assert all(given == learnt for given, learnt in seen)
    assert len(seen) > 3


def test_a_place_is_kept_gone_to_and_acknowledged(tmp_path):
    model = make()
    expected = kill_resume.outcome(evaluate(model, Live(), window=150), model)
    source = Live()
    evaluate(make(), source, window=150, checkpoint=tmp_path, every=200, keep=9)
    assert source.acknowledged == [200, 400, 600, 800, 1000]
    assert archive.read(checkpoints.found(tmp_path)[2].path, "checkpoint")[0]["stream"]["where"] == {
        "offset": 600
    }
    model, source = make(), Live(seed=2)
    middle = checkpoints.found(tmp_path)[2].path
    run = evaluate(model, source, window=150, checkpoint=tmp_path, every=200, keep=9, resume=middle)
    assert source.sought == [{"offset": 600}]
    assert kill_resume.outcome(run, model) == expected


def test_one_that_knows_no_place_any_more_is_read_over(tmp_path):
    class Placeless(Live):
        def where(self):
            return None

        def poll(self, most, timeout=None):
            return self.instances.poll(most, timeout)

    model = make()
    expected = kill_resume.outcome(evaluate(model, Live(), window=150), model)
    evaluate(make(), Live(600), window=150, checkpoint=tmp_path, every=200)
    model, source = make(), Placeless()
    run = evaluate(model, source, window=150, checkpoint=tmp_path, every=200, resume=True)
    assert source.sought == []
    assert kill_resume.outcome(run, model) == expected


def test_a_place_that_is_none_is_said(tmp_path):
    evaluate(make(), Live(600), window=150, checkpoint=tmp_path, every=200, keep=1)
    path = checkpoints.found(tmp_path)[0].path
    document, arrays = archive.read(path, "checkpoint")
    document["stream"]["where"] = {"elsewhere": 1}
    archive.write(path, "checkpoint", document, arrays)
    with pytest.raises(
        DataError, match=r"is damaged: it has no valid position in the stream: KeyError\('offset'\)$"
    ):
        evaluate(make(), Live(), window=150, checkpoint=tmp_path, every=200, resume=True)


def test_what_a_source_raises_goes_on_and_what_was_learnt_is_kept(tmp_path):
    class Breaks(Live):
        def poll(self, most, timeout=None):
            if self.instances.position > 300:
                raise HerosError("The line must hold. Got cut.")
            return super().poll(most, timeout)

    with pytest.raises(HerosError, match="The line must hold"):
        evaluate(make(), Breaks(), checkpoint=tmp_path, every=1000)
    assert checkpoints.found(tmp_path)[0].instances > 300


def test_the_meter_is_looked_at_while_nothing_comes():
    class Looked(meters.Cpu):
        looks = 0

        def sample(self):
            self.looks += 1

    source, meter = Live(), Looked()
    evaluate(make(), source, meter=meter, window=1000)
    assert meter.looks == source.waits + 1


def test_a_source_of_ones_own_need_not_be_a_stream():
    class Own:
        schema = streams.Agrawal().schema

        def __init__(self):
            self.instances = streams.Agrawal().take(250)

        def poll(self, most, timeout):
            return self.instances.poll(most)

    run = evaluate(make(), Own())
    assert (run.n_instances, run.stream, run.drifts) == (250, "Own", ())
    assert END is not IDLE
