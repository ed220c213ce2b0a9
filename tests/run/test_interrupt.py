"""Ctrl-C in evaluate at any time returns the run so far, with exactly the learnt instances."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import kill_resume
from faults.interrupts import presses
from heros import Heros, ParameterError, evaluate, policies, pools, streams
from heros.run import checkpoints, interrupt, records
from heros.streams.live import END, IDLE, Source

POOL = pools.MLP([{"hidden": 4}, {"hidden": 8}])


@pytest.fixture(autouse=True)
def _ctrl_c():
    """Enable SIGINT as in a terminal, because shells ignore it in background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


STREAMS = {"classes": lambda: streams.Agrawal(function=2), "numbers": streams.Friedman}
of_both_tasks = pytest.mark.parametrize("task", STREAMS)


def make(policy=None):
    return Heros(POOL, policy or policies.Zeta(0.05), 1, seed=1)


def stream(n=3000, task="classes"):
    return STREAMS[task]().take(n)


class Presses:
    """A policy that sends Ctrl-C while it chooses, in the middle of a block."""

    def __init__(self, *at):
        self.at, self.calls = at, 0

    def choose(self, scores, costs, k, rng):
        self.calls += 1
        if self.calls in self.at:
            signal.raise_signal(signal.SIGINT)
        return np.array([True, False])

    def __repr__(self):
        return "Presses()"

    def state(self):
        return {"calls": np.array([self.calls])}

    def restore(self, state):
        [self.calls] = state["calls"].tolist()


@of_both_tasks
def test_what_was_learnt_is_what_was_counted(task):
    model, source = make(Presses(1200)), stream(task=task)
    run = evaluate(model, source, block=500)
    assert run.interrupted
    assert run.n_instances == model.instances == source.position == 1500
    assert run.curves.end.tolist() == [1000, 1500]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    rest = evaluate(model, source)  # the stream continues from its position
    assert (rest.n_instances, rest.interrupted, model.instances) == (1500, False, 3000)


@of_both_tasks
def test_it_is_the_run_of_a_shorter_stream_and_says_so(tmp_path, task):
    model, expected = make(Presses(700)), make(Presses())
    run = evaluate(model, stream(task=task), block=400, window=150)
    short = evaluate(expected, stream(800, task), window=150)
    assert short.interrupted is False
    got, wanted = kill_resume.outcome(run, model), kill_resume.outcome(short, expected)
    assert {name for name in wanted if got[name] != wanted[name]} <= {"run.interrupted", "policy/calls"}
    document = records.document(run)
    assert document["interrupted"] is True
    assert records.read(records.save(run, tmp_path)).interrupted is True


@of_both_tasks
def test_a_checkpoint_is_left_and_gone_on_from(tmp_path, task):
    model = make(Presses())
    expected = kill_resume.outcome(evaluate(model, stream(task=task), window=150), model)
    run = evaluate(make(Presses(900)), stream(task=task), block=70, window=150, checkpoint=tmp_path)
    assert 1000 <= run.n_instances < 1070  # the first 100 instances train all models
    assert [one.instances for one in checkpoints.found(tmp_path)] == [run.n_instances]
    model = make(Presses())
    run = evaluate(model, stream(task=task), window=150, checkpoint=tmp_path, resume=True)
    assert kill_resume.outcome(run, model) == expected


def test_pressed_again_it_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt):
        evaluate(make(Presses(100, 110)), stream())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_if_nothing_was_learnt_it_is_an_interrupt(tmp_path):
    class Early(Slow):
        def poll(self, most, timeout=None):
            signal.raise_signal(signal.SIGINT)
            return IDLE

    with pytest.raises(KeyboardInterrupt):
        evaluate(make(), Early(), checkpoint=tmp_path)
    assert checkpoints.found(tmp_path) == []


def test_who_wants_it_raised_gets_it_at_once():
    model = make(Presses(100))
    with pytest.raises(KeyboardInterrupt):
        evaluate(model, stream(), on_interrupt="raise")
    assert model.instances < 3000
    with pytest.raises(
        ParameterError, match="'on_interrupt' parameter of evaluate must be 'return' or 'raise'"
    ):
        evaluate(model, stream(), on_interrupt="ignore")


class Slow(Source):
    """A source that returns some instances, and then waits forever."""

    name = "slow"

    def __init__(self, n=100):
        self.instances = stream(n)

    @property
    def schema(self):
        return self.instances.schema

    def poll(self, most, timeout=None):
        got = self.instances.poll(most, timeout)
        if got is END:
            signal.raise_signal(signal.SIGINT)
            time.sleep(60)
        return got


def test_a_stream_that_waits_for_ever_is_broken_off():
    start = time.perf_counter()
    run = evaluate(make(), Slow())
    assert (run.n_instances, run.interrupted) == (100, True)
    assert time.perf_counter() - start < 10


def test_a_stream_that_takes_its_time_is_not():
    """No rows are lost: the rows that the source was about to return are learnt."""

    class Thoughtful(Slow):
        def poll(self, most, timeout=None):
            if self.instances.position == 50:
                signal.raise_signal(signal.SIGINT)
                time.sleep(0.05)
            return self.instances.poll(min(most, 50), timeout)

    source = Thoughtful()
    run = evaluate(make(), source)
    assert run.n_instances == source.instances.position == 100


def test_a_program_that_deals_with_it_itself_keeps_doing_so():
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    run = evaluate(make(Presses(100)), stream(500))
    assert (run.n_instances, run.interrupted, seen) == (500, False, [1])


def test_it_works_in_a_thread():
    runs = []
    thread = threading.Thread(target=lambda: runs.append(evaluate(make(), stream(500))))
    thread.start()
    thread.join()
    assert runs[0].n_instances == 500


def pressed_at(step, act):
    """Send Ctrl-C at the n-th instruction and the next one; return whether the n-th was reached."""
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        frame.f_trace_opcodes = True
        if frame.f_code.co_filename in {interrupt.__file__, __file__} and event == "opcode":
            seen += 1
            if seen in {step, step + 1}:
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return seen >= step


def test_pressed_twice_at_any_instruction_what_was_there_before_is_put_back():
    def act():
        with interrupt.Interrupts() as interrupts:
            assert not interrupts.requested or signal

    step = 0
    while pressed_at(step := step + 1, act):
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert step > 30


@of_both_tasks
def test_at_any_moment(task):
    """Ctrl-C from another thread at random times gives a run of the learnt instances, or a clean stop."""
    rng = random.Random(1)
    ended = []
    for _ in range(25):
        model = make()
        try:
            with presses(rng, 0.03):
                run = evaluate(model, STREAMS[task](), block=64, window=150, measures=[])
        except KeyboardInterrupt:  # before the first instance, or at the second signal
            ended.append(0)
            continue
        assert run.interrupted
        assert run.n_instances == model.instances
        assert np.isfinite(model.answers(stream(task=task).draw(5)[0])).all()  # no lock is held
        ended.append(run.n_instances)
    assert len(set(ended)) > 5


SCRIPT = """
import itertools
from heros import Heros, evaluate, pools, streams

def rows():
    for i in itertools.count():
        if i == 3000:
            print("begun", flush=True)
        yield {"x": i % 7}, "ab"[i % 2]

stream = streams.from_iter(rows())
run = evaluate(Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1), stream, exact=False, progress=False)
print("learnt", run.n_instances, run.interrupted)
"""


def test_a_script_goes_on_behind_it():
    """A real Ctrl-C in a separate process, on an endless stream."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # signal handlers that the child process inherits
    try:
        with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True) as script:
            assert script.stdout.readline() == "begun\n"
            time.sleep(0.2)
            script.send_signal(signal.SIGINT)
            out, _ = script.communicate(timeout=60)
    finally:
        signal.signal(signal.SIGINT, before)
    word, n, interrupted = out.split()
    assert (word, interrupted, int(n) > 0) == ("learnt", "True", True)
