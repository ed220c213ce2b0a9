"""The lock allows one caller at a time, even if calls are interrupted."""

import copy
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import heros
from family_cases import CLASSES, NUMBERS
from heros import Heros, HerosError, pools, streams
from heros._base import lock
from heros._base.lock import ExclusiveUse, _is_running
from heros.data.schema import Schema

HERE = str(Path(heros.__file__).parent)


def interrupt():
    raise KeyboardInterrupt


def interrupted_at(step, act, how=interrupt):
    """Return whether `act` was interrupted before the step-th instruction of HEROS's Python code."""
    left = step

    def trace(frame, event, arg):
        nonlocal left
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            left -= 1
            if left == 0:
                how()
        return trace

    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return left <= 0


def learner(stream):
    model = Heros(pools.MLP([{"hidden": 4}, {"hidden": 5}]), k=1, seed=1, schema=stream.schema)
    return model, *stream.draw(20)


STREAMS = {"classes": lambda: streams.RandomRBF(classes=3), "numbers": streams.Friedman}
ACTS = {
    "answers": lambda model, X, y: model.answers(X[0]),
    "learn": lambda model, X, y: model.learn(X, y),
    "k": lambda model, X, y: setattr(model, "k", 2),
    "state": lambda model, X, y: model.state(),
}


@pytest.mark.parametrize("task", STREAMS)
@pytest.mark.parametrize("act", ACTS)
def test_an_interrupt_at_any_instruction_leaves_nobody_locked_out(act, task):
    model, X, y = learner(STREAMS[task]())
    step = 0
    while interrupted_at(step := step + 1, lambda: ACTS[act](model, X, y)):
        before = model.instances
        model.learn(X[:1], y[:1])
        assert model.instances == before + 1
    assert step > 20


class Counting:
    """A user-defined model."""

    def __init__(self):
        self.seen = 0

    def predict_proba(self, x):
        return None

    def learn(self, x, y):
        self.seen += 1


FAMILIES = CLASSES | {
    "models": pools.Models([Counting()], costs=[1]),
    "join": pools.Join(pools.MLP([{"hidden": 4}]), pools.Hoeffding([{}]), costs=[1, 1]),
}
OF_NUMBERS = NUMBERS | {
    "join": pools.Join(pools.MLP([{"hidden": 4}]), pools.RegressionTrees([{}]), costs=[1, 1]),
}


@pytest.mark.parametrize(
    ("family", "numbers"),
    [*((one, False) for one in FAMILIES), *((one, True) for one in OF_NUMBERS)],
)
def test_a_growth_that_is_interrupted_anywhere_ends_as_any_other(family, numbers):
    pool = (OF_NUMBERS if numbers else FAMILIES)[family]
    small = Schema.of(["a", ("b", "x", "y")], classes=None if numbers else ["no", "yes"])
    large = Schema.of(["a", ("b", "x", "y", "z"), "c"], classes=None if numbers else ["no", "yes", "maybe"])
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 2, 60), rng.normal(size=60)])
    y = rng.integers(0, 2, 60)

    def grown(step):
        model = Heros(pool, k=1, seed=1, warmup=0, schema=small).learn(X[:30, :2], y[:30])
        cut = interrupted_at(step, lambda: model.bind(large))
        model.bind(large)
        return cut, model.learn(X[30:], y[30:]).answers(X)

    _, expected = grown(1 << 60)
    step, cut = 0, True
    while cut:
        cut, got = grown(step := step + 11)
        np.testing.assert_array_equal(got, expected)
    assert step > 100


def test_many_threads_go_in_one_at_a_time():
    alone, inside, most, entered = ExclusiveUse("taken"), 0, 0, 0

    def work(_):
        nonlocal inside, most, entered
        try:
            with alone:
                inside += 1
                most = max(most, inside)
                entered += 1
                inside -= 1
        except HerosError:
            pass

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(20_000)))
    assert most == 1
    assert entered > 100
    with alone:
        pass


def test_what_an_interrupted_thread_held_is_taken_over_by_one():
    alone = ExclusiveUse("taken")

    def left_behind():
        alone.__enter__()  # the lock would never be released

    left_behind()
    got, gate, done = [], threading.Barrier(8), threading.Barrier(8)

    def work():
        gate.wait()
        try:
            with alone:
                got.append(1)
                done.wait(10)
        except HerosError:
            done.wait(10)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [1]


def test_a_lock_that_changes_hands_while_a_third_caller_looks_is_still_held(monkeypatch):
    alone = ExclusiveUse("at work")
    held, again, leave, end = (threading.Event() for _ in range(4))

    def hold(entered, until):
        with alone:
            entered.set()
            assert until.wait(20)

    def looks(frame):
        leave.set()
        assert again.wait(20)
        return _is_running(frame)

    thread = threading.Thread(target=lambda: (hold(held, leave), hold(again, end)), daemon=True)
    thread.start()
    assert held.wait(20)
    monkeypatch.setattr(lock, "_is_running", looks)
    with pytest.raises(HerosError, match="at work"), alone:
        pass
    end.set()
    thread.join(20)
    assert not thread.is_alive()
    with alone:
        pass


def entered_while_a_generator_is_suspended(step):
    """Return whether a generator of the holder was suspended before the step-th instruction of a caller."""
    alone = ExclusiveUse("at work")
    inside, leave, suspended, end = (threading.Event() for _ in range(4))

    def some():
        inside.set()
        assert leave.wait(20)
        yield 1

    def hold():
        with alone:
            next(some())
            suspended.set()
            assert end.wait(20)

    def enter():
        with pytest.raises(HerosError, match="at work"), alone:
            pass

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    assert inside.wait(20)
    cut = interrupted_at(step, enter, lambda: leave.set() or suspended.wait(20))
    leave.set()
    end.set()
    thread.join(20)
    assert not thread.is_alive()
    return cut


def test_a_lock_stays_taken_if_a_generator_of_its_holder_is_suspended_while_a_caller_looks():
    step = 1
    while entered_while_a_generator_is_suspended(step):
        step += 1
    assert step > 5


def test_a_model_whose_first_call_was_interrupted_can_be_copied():
    model = Heros(seed=1)

    def left_behind():
        model._exclusive.__enter__()  # the lock would never be released

    left_behind()
    assert copy.deepcopy(model).seed == 1
