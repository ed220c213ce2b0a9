"""The public checks accept valid parts, and name the errors of invalid parts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heros import Schema, pools, streams
from heros.checks import (
    CheckError,
    check_measure,
    check_model,
    check_policy,
    check_pool,
    check_score,
    check_source,
)
from heros.streams.live import END
from member_cases import Majority, Nearest


class Policy:
    """A valid model; each class below breaks one rule."""

    def choose(self, scores, costs, k, rng):
        return np.arange(len(scores)) < k


class Indices(Policy):
    def choose(self, scores, costs, k, rng):
        return np.arange(k)


class Greedy(Policy):
    def choose(self, scores, costs, k, rng):
        return np.ones(len(scores), dtype=bool)


class Scribbling(Policy):
    def choose(self, scores, costs, k, rng):
        scores[:] = 0.5
        return super().choose(scores, costs, k, rng)


class Moody(Policy):
    def choose(self, scores, costs, k, rng):
        return np.isin(np.arange(len(scores)), np.random.permutation(len(scores))[:k])  # noqa: NPY002


class Chatty(Policy):
    def explain(self, scores, costs, k, chosen):
        return dict.fromkeys(range(len(scores)), "because")


class Forgetful(Policy):
    times = 0

    def choose(self, scores, costs, k, rng):
        self.times += 1
        return super().choose(scores, costs, k, rng)

    def state(self):
        return {"times": np.array([self.times])}

    def restore(self, state):
        self.times = 0


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (Indices(), "return a boolean mask of 1 models"),
        (Greedy(), "choose at most k = 1 of 2 models. Got 2 instead"),
        (Scribbling(), "not change scores and costs"),
        (Moody(), "make the same choice again"),
        (Chatty(), "give a reason for each chosen model and for no other model"),
        (Forgetful(), r"have the same state after restore\(state\(\)\)"),
        (object(), "must be a policy"),
    ],
)
def test_what_is_wrong_with_a_policy_is_named(policy, rule):
    check_policy(Policy())
    with pytest.raises(CheckError, match=rule):
        check_policy(policy)


class Score:
    """A running mean with a decreasing step; each class below breaks one rule."""

    def bind(self, models):
        return self.Bound(models)

    class Bound:
        def __init__(self, models):
            self.values = np.zeros(models)

        def update(self, outcomes, looked):
            self.values[looked] += 0.1 * (outcomes[looked] - self.values[looked])


class Bleeding(Score):
    class Bound(Score.Bound):
        def update(self, outcomes, looked):
            super().update(outcomes, looked)
            self.values *= 0.99


class Mixing(Score):
    class Bound(Score.Bound):
        def update(self, outcomes, looked):
            self.values[looked] += 0.1 * (np.nanmean(outcomes) - self.values[looked])


class Diverging(Score):
    class Bound(Score.Bound):
        def update(self, outcomes, looked):
            self.values = np.full(len(self.values), np.nan)


class Losing(Score):
    class Bound(Score.Bound):
        def state(self):
            return {"values": self.values}

        def restore(self, state):
            pass


@pytest.mark.parametrize(
    ("score", "rule"),
    [
        (Bleeding(), "not change the score of a model that was not evaluated"),
        (Mixing(), "give each model the same score as in a pool of one model"),
        (Diverging(), "have a finite number for each of 3 models"),
        (Losing(), r"give the same scores as the original after restore\(state\(\)\)"),
        (object(), "must be a score"),
    ],
)
def test_what_is_wrong_with_a_score_is_named(score, rule):
    check_score(Score())
    with pytest.raises(CheckError, match=rule):
        check_score(score)


class Hits:
    """Accuracy; each class below breaks one rule."""

    name = "hits"

    def __init__(self):
        self.hits = self.n = 0

    def update(self, y, output):
        self.hits += int((output.argmax(axis=1) == y).sum())
        self.n += len(y)

    @property
    def value(self):
        return self.hits / self.n if self.n else math.nan


class Lazy(Hits):
    def __init__(self):
        self.kept = []

    def update(self, y, output):
        self.kept.append((y, output))

    @property
    def value(self):
        return float(np.mean(np.concatenate([p.argmax(axis=1) == y for y, p in self.kept])))


class Nothing(Hits):
    value = math.nan


class Blocks(Hits):
    def update(self, y, output):
        self.hits, self.n = self.hits + float((output.argmax(axis=1) == y).mean()), self.n + 1


class Sorting(Hits):
    def update(self, y, output):
        super().update(y, output)
        y.sort()


@pytest.mark.parametrize(
    ("measure", "rule"),
    [
        (Lazy(), "not keep the arrays passed to update"),
        (Nothing(), "have a finite value after 600 instances"),
        (Blocks(), "have the same value for every split of the instances into blocks"),
        (Sorting(), "not change its arguments"),
        (object(), "must be a measure"),
    ],
)
def test_what_is_wrong_with_a_measure_is_named(measure, rule):
    check_measure(Hits())
    with pytest.raises(CheckError, match=rule):
        check_measure(measure)


class Source:
    """Twenty rows; each class below breaks one rule."""

    schema = Schema.of(["size"], classes=["no", "yes"])

    def __init__(self):
        self.at = 0

    def poll(self, most, timeout=None):
        n = min(most, 20 - self.at)
        self.at += n
        rows = np.arange(self.at - n, self.at, dtype=float)
        return (rows[:, np.newaxis], rows % 2) if n else END

    def where(self):
        return {"at": self.at}

    def seek(self, where):
        self.at = where["at"]


class Empty(Source):
    def poll(self, most, timeout=None):
        return END


class Stuck(Source):
    def seek(self, where):
        self.at = 0


class Again(Source):
    def poll(self, most, timeout=None):
        block = super().poll(most, timeout)
        self.at = 0 if block is END else self.at
        return block


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (Empty(), "return at least one instance"),
        (Stuck(), "return the same instances again after seek"),
        (Again(), "return END again after END"),
        (object(), "must be a stream"),
    ],
)
def test_what_is_wrong_with_a_source_is_named(source, rule):
    check_source(Source())
    with pytest.raises(CheckError, match=rule):
        check_source(source)


class Changing(Majority):
    def predict_proba(self, x):
        self.learn(x, 0)
        return super().predict_proba(x)


class Wrong(Majority):
    def predict_proba(self, x):
        return np.array([1.0])


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (Changing(0.9), "make the same predictions again"),
        (Wrong(0.9), r"failed to predict\. The error was ValueError: expected 2 probabilities"),
        (object(), "The 'models' parameter"),
    ],
)
def test_what_is_wrong_with_a_model_is_named(model, rule):
    check_model(Nearest(3))
    with pytest.raises(CheckError, match=rule):
        check_model(model)


@pytest.mark.parametrize("numeric", [False, True])
def test_joined_pools_and_those_of_the_default_pass(numeric):
    check_pool(pools.default_regression() if numeric else pools.default(), numeric=numeric)
    with pytest.raises(CheckError, match=r"must be a heros\.pools\.Pool"):
        check_pool([pools.MLP([{}])])


def test_streams_pass():
    for stream in (streams.Agrawal(), streams.LED().take(30), streams.Friedman().take(500)):
        check_source(stream)
