"""evaluate: measures compared with scikit-learn, and curves compared with totals."""

from __future__ import annotations

import numpy as np
import pytest

from heros import DataError, Heros, ParameterError, evaluate, policies, pools, streams

POOL = pools.MLPGrid(hidden=[8, 32], learning_rates=[0.05, 0.005])


def make(policy=None):
    return Heros(POOL, policy or policies.Explore(policies.Zeta(0.05), 0.2), 3, seed=1)


def stream(n=5300):
    return streams.RandomRBF(classes=5, centroids=20).take(n)


def test_measures_equal_scikit_learns():
    sk = pytest.importorskip("sklearn.metrics")
    run = evaluate(make(), stream())
    X, y = stream().draw(5300)
    p = make().bind(stream().schema).test_then_train(X, y).probabilities
    assert run.accuracy == pytest.approx(sk.accuracy_score(y, p.argmax(axis=1)))
    assert run.kappa == pytest.approx(sk.cohen_kappa_score(y, p.argmax(axis=1)))
    assert run.log_loss == pytest.approx(sk.log_loss(y, p, labels=range(5)))
    one_vs_rest = [sk.roc_auc_score(y == c, p[:, c]) for c in range(5)]
    assert run.auroc == pytest.approx(np.mean(one_vs_rest))


def test_windows_add_up():
    run = evaluate(make(), stream(), window=1000)
    curves, sizes = run.curves, np.array([1000] * 5 + [300])
    assert curves.end.tolist() == [1000, 2000, 3000, 4000, 5000, 5300]
    assert (curves.accuracy * sizes).sum() / 5300 == pytest.approx(run.accuracy)
    assert (curves.log_loss * sizes).sum() / 5300 == pytest.approx(run.log_loss)
    assert curves.spent.sum() == pytest.approx(run.gamma_spent)
    assert curves.reward.sum() == pytest.approx(run.reward)
    assert np.array_equal(curves.trained.sum(axis=0), run.trained)
    np.testing.assert_allclose(curves.invested[-1], run.invested)
    np.testing.assert_allclose(
        np.diff(curves.invested, axis=0), curves.trained[1:] * run.invested / run.trained
    )
    phases = list(run.cpu.values())
    np.testing.assert_allclose(curves.cpu.sum(axis=0)[:-1], phases[:-1])
    assert curves.cpu[:, -1].sum() <= phases[-1]  # measures of the whole stream come last
    assert run.trained.sum() == 100 * 8 + 5200 * 3
    assert run.gamma_spent == pytest.approx(run.invested.sum())


@pytest.mark.parametrize("block", [1, 333, 10_000])
def test_the_block_size_does_not_matter(block):
    expected, run = evaluate(make(), stream(1500)), evaluate(make(), stream(1500), block=block)
    assert (run.auroc, run.log_loss, run.reward) == (expected.auroc, expected.log_loss, expected.reward)


def test_everything_costs_one_per_step_and_the_phases_are_there():
    run = evaluate(make(policies.Everything()), stream(1000))
    assert run.gamma_spent == pytest.approx(1000)
    assert set(run.cpu) == {"encode", "evaluate", "choose", "train", "other"}
    assert all(seconds > 0 for seconds in run.cpu.values())


def test_a_stream_that_grows():
    """New labels, categories and features appear during the run."""

    def pairs():
        for t in range(900):
            x = {"a": float(t % 10), "b": "uvw"[t % (2 if t < 300 else 3)]}
            if t >= 600:
                x["c"] = float(t % 7)
            yield x, ("no", "yes", "maybe")[t % (2 if t < 450 else 3)]

    run = evaluate(make(), streams.from_iter(pairs()), block=100)
    assert run.n_instances == 900
    assert run.confusion.counts.shape == (3, 3)
    assert np.isfinite([run.auroc, run.log_loss, run.kappa]).all()


@pytest.mark.parametrize("given", [list, iter], ids=["list", "iterator"])
def test_pairs_are_a_stream(given):
    pairs = [({"a": float(t % 10), "b": "uv"[t % 2]}, "no" if t % 10 < 4 else "yes") for t in range(600)]
    run, same = evaluate(make(), given(pairs)), evaluate(make(), streams.from_iter(pairs))
    assert run.n_instances == 600
    assert run.figures == same.figures


def test_pairs_have_the_task_of_the_model():
    pairs = [({"a": float(t % 10)}, t % 10 / 2) for t in range(300)]
    model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, task="regression")
    assert evaluate(model, pairs).rmse > 0
    with pytest.raises(
        DataError, match=r"task='regression' predicts numbers"
    ):  # not a bad row: the wrong task
        evaluate(make(), pairs)


def test_a_model_goes_on_where_it_stopped():
    whole, model = evaluate(make(), stream(3000)), make()
    source = stream(3000)
    evaluate(model, source.take(1000))
    source.draw(1000)
    rest = evaluate(model, source)
    assert rest.n_instances == 2000
    assert np.array_equal(rest.curves.accuracy, whole.curves.accuracy[1:])
    assert np.array_equal(rest.trained, rest.curves.trained.sum(axis=0))  # of this run only
    assert rest.invested.sum() == pytest.approx(rest.gamma_spent)
    np.testing.assert_allclose(rest.curves.invested[-1], rest.invested)
    assert np.array_equal(model.trained, whole.trained)


def test_progress_is_shown_on_the_error_output_and_leaves_nothing(capsys):
    evaluate(make(), stream(500), progress=False)
    assert capsys.readouterr().err == ""
    evaluate(make(), stream(500), progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "rbf" in err.lower()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate(make(), "agr_a"), "The 'stream' parameter of evaluate must be a stream, e.g. heros.streams.load('agr_a') or read('data.csv'), or a source with 'schema' and 'poll'. Got 'agr_a' instead."),
        (lambda: evaluate(None, stream()), "The 'model' parameter of evaluate must be a Heros. Got None instead."),
        (lambda: evaluate(make(), stream(), window=0), "The 'window' parameter of evaluate must be a whole number >= 1. Got 0 instead."),
    ],
)  # fmt: skip
def test_errors(call, message):
    with pytest.raises(ParameterError) as error:
        call()
    assert str(error.value) == message


def test_an_empty_stream_is_an_error():
    with pytest.raises(ParameterError, match="must be a stream with instances left"):
        evaluate(make(), stream(0))


def test_curves_in_constant_memory_have_the_sums_and_means_of_the_full_ones():
    def run(exact):
        model = Heros(pools.MLP([{"hidden": 4}, {"hidden": 8}]), k=1, seed=1)
        return evaluate(model, streams.LED().take(5003), window=2, exact=exact, progress=False)

    full, short = run(True).curves, run(False).curves
    assert len(full.end) == 2502
    assert 500 <= len(short.end) <= 1000
    assert short.end[-1] == 5003
    lengths = np.diff(short.end, prepend=0)
    assert set(lengths[:-1]) == {8}
    for name in ("spent", "reward", "trained"):
        np.testing.assert_allclose(getattr(short, name).sum(axis=0), getattr(full, name).sum(axis=0))
    for name in ("accuracy", "log_loss"):
        expected = np.average(getattr(full, name), weights=np.diff(full.end, prepend=0))
        assert np.average(getattr(short, name), weights=lengths) == pytest.approx(expected)
    for name in ("scores", "invested"):
        at = np.searchsorted(full.end, short.end)
        np.testing.assert_array_equal(getattr(short, name), getattr(full, name)[at])
