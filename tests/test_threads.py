"""Threads and forked processes: equal results, or a clear error."""

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from heros import Heros, HerosError, policies, pools, streams

POOLS = {
    "mlp": pools.MLPGrid(learning_rates=[0.05], hidden=[8, 16]),
    "trees": pools.HoeffdingGrid(max_bytes=[4096, 65536], grace_periods=[50]),
    "numbers": pools.Join(
        pools.MLP([{"hidden": 8}]),
        pools.RegressionTrees([{"grace_period": 50}]),
        pools.Linear([{}]),
        costs=[1, 1, 1],
    ),
}


def learner(pool="mlp", seed=1):
    stream = streams.RandomRBF(classes=3, instance_seed=seed, speed=0.001)
    if pool == "numbers":
        stream = streams.Friedman("global", seed=seed)
    return Heros(POOLS[pool], k=2, seed=seed, schema=stream.schema), stream


def after(pool, seed, n=2000):
    model, stream = learner(pool, seed)
    X, y = stream.draw(n)
    return model.test_then_train(X, y).probabilities


@pytest.mark.parametrize("pool", POOLS)
def test_models_in_parallel_threads_give_what_they_give_alone(pool):
    alone = [after(pool, seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda seed: after(pool, seed), range(4)))
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


class Waiting:
    """A policy that waits in its step until it is released."""

    def __init__(self):
        self.inside, self.go_on = threading.Event(), threading.Event()

    def choose(self, scores, costs, k, rng):
        self.inside.set()
        assert self.go_on.wait(60)
        return np.zeros(len(scores), dtype=bool)


CHANGING = {
    "predict_proba": lambda model, X, y: model.predict_proba(X),
    "predict": lambda model, X, y: model.predict(X),
    "learn": lambda model, X, y: model.learn(X, y),
    "test_then_train": lambda model, X, y: model.test_then_train(X, y),
    "pickle": lambda model, X, y: pickle.dumps(model),
    "deepcopy": lambda model, X, y: copy.deepcopy(model),
    "bind": lambda model, X, y: model.bind(streams.RandomRBF(classes=4).schema),
    "set_weights": lambda model, X, y: model.bound.set_weights(0, model.bound.weights(0)),
    "restore": lambda model, X, y: model.bound.restore(model.bound.state()),
    "ensemble restore": lambda model, X, y: model._learner.step.restore(model._learner.step.state()),
    "set_costs": lambda model, X, y: model._learner.step.set_costs(model.costs),
}


@pytest.mark.parametrize("what", CHANGING)
def test_a_model_at_work_in_another_thread_says_so_and_goes_on(what):
    policy = Waiting()
    stream = streams.RandomRBF(classes=3)
    model = Heros(POOLS["mlp"], policy, k=2, warmup=0, seed=1, schema=stream.schema)
    X, y = stream.draw(3)
    thread = threading.Thread(target=model.learn, args=(X, y))
    thread.start()
    try:
        assert policy.inside.wait(60)
        with pytest.raises(HerosError, match="in use"):
            CHANGING[what](model, X, y)
    finally:
        policy.go_on.set()
        thread.join()
    assert model.instances == 3


def test_looking_at_a_model_that_learns_in_another_thread_is_an_error_or_consistent():
    model, stream = learner()
    X, y = stream.draw(60_000)
    thread = threading.Thread(target=model.learn, args=(X, y))
    looks = {"given": 0, "refused": 0}
    texts = set()
    thread.start()
    while thread.is_alive():
        for look in (lambda: model.scores, model.bound.state, lambda: model.cpu_seconds):
            try:
                look()
                looks["given"] += 1
            except HerosError as error:
                texts.add(str(error))
                looks["refused"] += 1
    thread.join()
    assert model.instances == 60_000
    assert sum(looks.values()) > 0
    assert all("in use" in text for text in texts)
    assert np.isfinite(model.scores).all()


@pytest.mark.parametrize("pool", POOLS)
def test_threads_that_read_never_stop_the_one_that_learns(pool):
    model, stream = learner(pool)
    X, y = stream.draw(2000)
    step, parts = model._learner.step, model.bound.parts or [model.bound]
    looks = [
        lambda: model.scores,
        step.state,
        model.bound.state,
        *(part.state for part in parts),
    ]
    done, read, texts = threading.Event(), [0], set()

    def watch():
        while not done.is_set():
            for look in looks:
                try:
                    look()
                    read[0] += 1
                except HerosError as error:
                    texts.add(str(error))

    watchers = [threading.Thread(target=watch) for _ in range(3)]
    for thread in watchers:
        thread.start()
    try:
        found = [
            model.test_then_train(X[i : i + 10], y[i : i + 10]).probabilities for i in range(0, 2000, 10)
        ]
        while read[0] == 0:
            time.sleep(0.001)
    finally:
        done.set()
        for thread in watchers:
            thread.join()
    assert all("in use" in text for text in texts)
    np.testing.assert_array_equal(np.concatenate(found), after(pool, 1))


def test_a_part_of_a_joined_pool_is_at_work_when_the_pool_is():
    policy = Waiting()
    stream = streams.Friedman("global", seed=1)
    model = Heros(POOLS["numbers"], policy, k=2, warmup=0, seed=1, schema=stream.schema)
    states = [part.state() for part in model.bound.parts]
    thread = threading.Thread(target=model.learn, args=stream.draw(2))
    thread.start()
    try:
        assert policy.inside.wait(60)
        for part, state in zip(model.bound.parts, states, strict=True):
            with pytest.raises(HerosError, match="read them after the current block"):
                part.state()
            with pytest.raises(HerosError, match="change them after the current step"):
                part.restore(state)
    finally:
        policy.go_on.set()
        thread.join()
    for part in model.bound.parts:
        part.restore(part.state())
    assert model.instances == 2


def test_a_stream_read_in_two_threads_is_an_error_not_nonsense():
    stream = streams.RandomRBF(classes=3, centroids=2000, drifting=2000, speed=0.001)
    alone = copy.deepcopy(stream).draw(3000)
    drawn = []
    thread = threading.Thread(target=lambda: drawn.append(stream.draw(3000)))
    thread.start()
    texts = set()
    while thread.is_alive():
        try:
            stream._generator.__getstate__()
        except HerosError as error:
            texts.add(str(error))
    thread.join()
    assert texts == {"Another thread is reading this stream. Use a copy instead."}
    np.testing.assert_array_equal(drawn[0][0], alone[0])


def go_on(model, X, y):
    return model.test_then_train(X, y).probabilities


def in_a_fresh_process(call):
    """This process may have threads of other tests: a fork copies their locks, but not the threads that release them."""
    program = f"import {Path(__file__).stem} as tests; tests.{call}"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent, timeout=300)


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("pool", POOLS)
def test_a_forked_child_goes_on_as_its_parent_does(pool):
    in_a_fresh_process(f"go_on_in_a_forked_child({pool!r})")


def go_on_in_a_forked_child(pool):
    model, stream = learner(pool)
    model.learn(*stream.draw(1000))
    X, y = stream.draw(500)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:  # no code of pytest may run in the child
        try:
            os.write(theirs, pickle.dumps(go_on(model, X, y)))
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as answer:
        from_child = pickle.loads(answer.read())
    os.waitpid(child, 0)
    np.testing.assert_array_equal(from_child, go_on(model, X, y))


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib_gives_what_one_process_gives(backend):
    pytest.importorskip("joblib")
    in_a_fresh_process(f"go_on_with_joblib({backend!r})")


def go_on_with_joblib(backend):
    import joblib  # noqa: PLC0415 - not everybody has it

    model, stream = learner()
    model.learn(*stream.draw(500))
    X, y = stream.draw(300)
    expected = go_on(copy.deepcopy(model), X, y)
    work = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(go_on)(copy.deepcopy(model), X, y) for _ in range(2)
    )
    for found in work:
        np.testing.assert_array_equal(found, expected)


def test_a_policy_may_read_the_model_it_chooses_for_but_not_change_it():
    class Curious:
        def choose(self, scores, costs, k, rng):
            np.testing.assert_array_equal(scores, model.scores)
            state = model.bound.state()
            with pytest.raises(HerosError, match="change them after the current step"):
                model.bound.restore(state)
            return policies.PerformBest().choose(scores, costs, k, rng)

    model, stream = learner()
    model.policy = Curious()
    model.learn(*stream.draw(150))
    assert model.trained.sum() > 0


def test_rows_read_before_another_thread_extended_the_schema_are_not_predicted():
    model, stream = learner()
    X, y = stream.draw(10)
    model.learn(X, y)
    with pytest.raises(HerosError, match="in use"):
        model.outputs(X[:, :-1])


def test_rows_read_while_another_thread_learns_a_new_value_are_not_predicted(monkeypatch):
    model = Heros(POOLS["mlp"], k=2, seed=1).learn({"colour": "red"}, "no").learn({"colour": "red"}, "yes")
    encoder = model.encoder()
    read = encoder.read

    def read_during_learning(x):
        model._reader = None  # as `learn` does before the encoder learns a value
        encoder.encode_for_training(x, "no")
        return read(x)

    monkeypatch.setattr(encoder, "read", read_during_learning)
    with pytest.raises(HerosError, match="in use"):
        model.predict({"colour": "blue"})
