"""Running scores, compared with slow versions; ADWIN, compared with River's."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from heros import Heros, HerosError, ParameterError, evaluate, policies, pools, streams
from heros._base.registry import parts
from heros.checks import check_score
from heros.scores import Adwin, Cumulative, Fading, Window


def drifting_hits(seed, n=6000):
    """Return hits whose probability changes from time to time."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.random(n // 500 + 1), rng.integers(100, 900, n // 500 + 1))
    p = np.resize(levels, n)
    return (rng.random(n) < p).astype(float)


def means(score, outcomes):
    bound = score.bind(1)
    values = []
    for outcome in outcomes:
        bound.update(np.array([outcome]))
        values.append(bound.values[0])
    return np.array(values)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("delta", [1e-5, 0.002])
def test_adwin_equals_its_slow_twin(seed, restart, delta):
    hits = drifting_hits(seed, 3000)
    twin = reference.Adwin(delta, restart)
    expected = [twin.update(hit) for hit in hits]
    np.testing.assert_allclose(means(Adwin(delta, restart), hits), expected, rtol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=400), st.sampled_from([1e-5, 0.05, 0.9]))
@settings(deadline=None)
def test_adwin_takes_any_outcome_in_0_1(outcomes, delta):
    twin = reference.Adwin(delta)
    expected = [twin.update(outcome) for outcome in outcomes]
    np.testing.assert_allclose(means(Adwin(delta), outcomes), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_adwin_equals_river(seed):
    """River's window, and River's detector, which is reset one instance after a change."""
    drift = pytest.importorskip("river.drift")
    hits = drifting_hits(100 + seed, 20_000)
    detector = drift.ADWIN(delta=1e-5)
    window = type(detector._helper)(delta=1e-5, clock=32, max_buckets=5, min_window_length=5, grace_period=10)
    by_detector, by_window = [], []
    for hit in hits:
        detector.update(hit)
        window.update(hit)
        by_detector.append(detector.estimation)
        by_window.append(window.get_total() / window.get_width())
    assert window.get_n_detections() > 0, "a sequence without a change shows nothing"
    np.testing.assert_allclose(means(Adwin(1e-5), hits), by_window, rtol=1e-12)
    np.testing.assert_allclose(means(Adwin(1e-5, restart=True), hits), by_detector, rtol=1e-12)


def test_the_others_equal_their_definitions():
    hits = drifting_hits(1, 800)
    upto = range(1, len(hits) + 1)
    np.testing.assert_allclose(means(Cumulative(), hits), [hits[:n].mean() for n in upto])
    np.testing.assert_allclose(means(Window(50), hits), [reference.window_mean(hits[:n], 50) for n in upto])
    np.testing.assert_allclose(
        means(Fading(0.99), hits), [reference.fading_mean(hits[:n], 0.99) for n in upto]
    )


@pytest.mark.parametrize(
    "score", [Adwin(), Adwin(restart=True), Cumulative(), Window(64), Fading()], ids=repr
)
def test_models_do_not_mix_and_state_continues_exactly(score):
    columns = np.stack([drifting_hits(seed, 3000) for seed in range(4)], axis=1)
    together = score.bind(4)
    for row in columns[:1500]:
        together.update(row)
    other = score.bind(4)
    other.restore(together.state())
    for row in columns[1500:]:
        together.update(row)
        other.update(row)
    alone = [means(score, columns[:, i])[-1] for i in range(4)]
    assert together.values.tolist() == other.values.tolist() == alone


def test_a_state_that_does_not_fit_is_refused():
    small, large = Adwin().bind(2), Adwin().bind(3)
    with pytest.raises(ValueError, match="The state does not fit"):
        small.restore(large.state())
    with pytest.raises(ValueError, match="The state does not fit"):
        small.restore({})


def test_adwin_needs_constant_memory():
    short, long = Adwin().bind(1), Adwin().bind(1)
    for _ in range(10):
        short.update(np.ones(1))
    for _ in range(5000):
        long.update(np.ones(1))
    assert sum(a.nbytes for a in short.state().values()) == sum(a.nbytes for a in long.state().values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adwin(0), "The 'delta' parameter of Adwin must be in (0, 1). Got 0 instead."),
        (lambda: Adwin(2), "The 'delta' parameter of Adwin must be in (0, 1). Got 2 instead."),
        (
            lambda: Window(0),
            "The 'size' parameter of Window must be a whole number in [1, 16777216]. Got 0 instead.",
        ),
        (
            lambda: Window(2**62),
            f"The 'size' parameter of Window must be a whole number in [1, 16777216]. Got {2**62} instead.",
        ),
        (lambda: Fading(1.0), "The 'factor' parameter of Fading must be in (0, 1). Got 1.0 instead."),
    ],
)
def test_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


EVERY_SCORE = [Adwin(0.01), Adwin(0.01, restart=True), Cumulative(), Window(37), Fading(0.97)]
EVERY_SCORE += [kind() for kind in parts("score").values() if kind not in map(type, EVERY_SCORE)]


def one(hit):
    return np.array([hit]), np.array([True])


@pytest.mark.parametrize("score", EVERY_SCORE, ids=repr)
def test_passes_the_public_check(score):
    check_score(score)


@pytest.mark.parametrize("score", EVERY_SCORE, ids=repr)
def test_every_model_has_a_clock_of_its_own(score):
    """The score of a model that is evaluated sometimes equals that of a model with only these instances."""
    models, rng = 5, np.random.default_rng(7)
    together, alone = score.bind(models), [score.bind(1) for _ in range(models)]
    shares = np.array([1.0, 0.7, 0.3, 0.05, 0.0])
    hits = np.array([drifting_hits(seed, 3000) for seed in range(models)]).T
    for t, outcomes in enumerate(hits):
        looked = (rng.random(models) < shares) if t >= 500 else np.ones(models, dtype=bool)
        together.update(outcomes, looked)
        for i in np.flatnonzero(looked):
            alone[i].update(*one(outcomes[i]))
        if t % 97 == 0:  # its state is sufficient to continue from the middle
            state, together = together.state(), score.bind(models)
            together.restore(state)
        np.testing.assert_array_equal(together.values, [model.values[0] for model in alone])


def test_a_mask_that_lets_all_look_is_no_mask():
    for score in (Adwin(0.01), Cumulative(), Window(37), Fading(0.97)):
        masked, plain = score.bind(2), score.bind(2)
        for hit in drifting_hits(3, 500):
            masked.update(np.array([hit, 1 - hit]), np.array([True, True]))
            plain.update(np.array([hit, 1 - hit]))
            assert np.array_equal(masked.values, plain.values)


# -- a score written in Python ----------------------------------------------------------------------------


class Recent:
    """An exponential mean, as in its slow version."""

    def __init__(self, models, factor):
        self.means = [reference.Fading(factor) for _ in range(models)]
        self.values = [0.0] * models

    def update(self, outcomes, looked):
        assert np.isnan(outcomes[~looked]).all()
        for i in np.flatnonzero(looked):
            self.values[i] = self.means[i].update(outcomes[i])

    def state(self):
        return {"sums": [m.sum for m in self.means], "weights": [m.weight for m in self.means]}

    def restore(self, state):
        for i, (mean, s, w) in enumerate(zip(self.means, state["sums"], state["weights"], strict=True)):
            mean.sum, mean.weight = float(s), float(w)
            self.values[i] = s / w if w else 0.0


class InPython:
    """A score that the core does not know, with the same state as `Fading`."""

    def __init__(self, factor=0.97):
        self.factor = factor

    def bind(self, models):
        return Recent(models, self.factor)

    def __repr__(self):
        return "InPython()"


POOL = pools.MLPGrid(hidden=[4, 16], learning_rates=[0.05, 0.005])
STREAM = streams.Agrawal(function=2)


def model_with(score, watch="all", **settings):
    policy = policies.Explore(policies.Zeta(0.05), 0.2)
    return Heros(POOL, policy, 3, score=score, watch=watch, seed=4, schema=STREAM.schema, **settings)


@pytest.mark.parametrize("watch", ["all", "trained", 3])
def test_a_score_in_python_equals_the_compiled_one(watch):
    X, y = streams.Agrawal(function=2).draw(1500)
    own, built_in = model_with(InPython(), watch), model_with(Fading(0.97), watch)
    a, b = own.test_then_train(X, y), built_in.test_then_train(X, y)
    assert np.array_equal(a.probabilities, b.probabilities)
    assert np.array_equal(a.chosen, b.chosen)
    assert np.array_equal(own.scores, built_in.scores)


def test_a_score_in_python_is_kept_with_its_model(tmp_path):
    X, y = streams.Agrawal(function=2).draw(900)
    model = model_with(InPython(), "trained").learn(X[:600], y[:600])
    model.save(tmp_path / "model.heros")
    twins = [
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        Heros.load(tmp_path / "model.heros", score=InPython()),
    ]
    expected = model.test_then_train(X[600:], y[600:])
    for twin in twins:
        block = twin.test_then_train(X[600:], y[600:])
        assert np.array_equal(block.probabilities, expected.probabilities)
        assert np.array_equal(twin.scores, model.scores)
    with pytest.raises(
        HerosError, match=r"The score .*InPython is not a class of HEROS. Pass the object as score="
    ):
        Heros.load(tmp_path / "model.heros")


def test_a_run_with_a_score_in_python_goes_on_from_its_checkpoint(tmp_path):
    def run(n, **settings):
        stream = streams.Agrawal(function=2).take(n)
        return evaluate(model_with(InPython()), stream, window=100, every=200, block=100, **settings)

    run(500, checkpoint=tmp_path)
    resumed, whole = run(900, checkpoint=tmp_path, resume=True), run(900)
    assert (resumed.auroc, resumed.n_instances) == (whole.auroc, 900)
    assert np.array_equal(resumed.curves.scores, whole.curves.scores)


class Says:
    """A score that binds a given object."""

    def __init__(self, bound):
        self.bound = bound

    def bind(self, models):
        return self.bound

    def __repr__(self):
        return "Says()"


class Wrong:
    """Invalid user-defined scores."""

    def __init__(self, values, error=None):
        self.values, self.error = values, error

    def update(self, outcomes, looked):
        if self.error:
            raise self.error
        self.values = np.full(len(outcomes), np.nan)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda: "adwin", "The 'score' parameter of Heros must be a score, e.g. heros.scores.Adwin(). Got 'adwin' instead."),
        (lambda: Adwin, "The 'score' parameter of Heros must be a score, e.g. heros.scores.Adwin(). Got <class 'heros.scores.means.Adwin'> instead."),
        (lambda: Says(3), "The 'score' parameter of Heros must be a score whose bind(models) returns an object with 'update' and 'values'. Got 3 instead."),
        (lambda: Says(Wrong([0.0] * 3)), "The score Says() must have a finite number for each of 8 models. Got [0.0, 0.0, 0.0] instead."),
        (lambda: Says(Wrong("none")), "The score Says() must have a finite number for each of 8 models. Got 'none' instead."),
        (lambda: POOL, "The 'score' parameter of Heros must be a score, e.g. heros.scores.Adwin() (bind(models) raised: "),
    ],
)  # fmt: skip
def test_what_is_no_score_is_refused_in_words(score, message):
    with pytest.raises(ParameterError) as error:
        model_with(score())
    assert str(error.value).startswith(message)


def test_a_score_in_python_that_fails_is_named_and_what_came_before_is_kept():
    X, y = streams.Agrawal(function=2).draw(10)
    model = model_with(Says(Wrong(np.zeros(8))))
    with pytest.raises(
        ParameterError, match=r"The score Says\(\) must have a finite number for each of 8 models"
    ):
        model.learn(X, y)
    assert model.instances == 0
    with pytest.raises(KeyError, match="mine"):
        model_with(Says(Wrong(np.zeros(8), KeyError("mine")))).learn(X, y)


def test_a_score_in_python_without_a_state_is_not_written_to_a_file(tmp_path):
    model = model_with(Says(Wrong(np.zeros(8))))
    with pytest.raises(
        HerosError,
        match=r"The score Says\(\) cannot be saved, because the object returned by its bind\(\) lacks state\(\)",
    ):
        model.save(tmp_path / "model.heros")
    assert not list(tmp_path.iterdir())


def test_a_model_its_policy_and_its_score_are_let_go_together():
    """Reference cycles between a model, its policy and its score do not leak memory."""

    class Known:
        def choose(self, scores, costs, k, rng):
            return policies.PerformBest().choose(scores, costs, k, rng)

    score, policy = InPython(), Known()
    model = Heros(POOL, policy, 3, score=score, seed=4, schema=STREAM.schema)
    score.model = policy.model = model
    gone = weakref.ref(policy)
    del model, score, policy
    gc.collect()
    assert gone() is None
