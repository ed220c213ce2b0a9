"""The measures of simple predictors, compared with scikit-learn's on the same labels."""

import numpy as np
import pytest
from sklearn import metrics

from heros import DataError, Heros, evaluate, pools, streams
from heros.run import records
from heros.run.baselines import Baselines

RNG = np.random.default_rng(1)


def counted(y, numeric, parts=7):
    baselines = Baselines(numeric)
    for part in np.array_split(y, parts):
        baselines.update(part)
    return baselines.figures()


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_of_classes(classes):
    y = RNG.integers(0, classes, 300) % RNG.integers(1, classes + 1, 300)
    found = counted(y, numeric=False)
    share = np.bincount(y) / len(y)
    assert found["majority class"]["accuracy"] == pytest.approx(share.max())
    assert found["majority class"]["log_loss"] == pytest.approx(
        metrics.log_loss(y, np.tile(share, (len(y), 1)))
    )
    then, now, said = y[:-1], y[1:], found["previous label"]
    assert said["accuracy"] == pytest.approx(metrics.accuracy_score(now, then))
    assert said["kappa"] == pytest.approx(metrics.cohen_kappa_score(now, then))
    assert said["f1"] == pytest.approx(metrics.f1_score(now, then, average="macro"))
    hard = np.eye(classes)[then]
    exact = metrics.roc_auc_score(now, hard[:, 1] if classes == 2 else hard, multi_class="ovr")
    assert said["auroc"] == pytest.approx(exact)


def test_of_numbers():
    y = np.cumsum(RNG.normal(size=300))
    found = counted(y, numeric=True)
    means = np.array([y[:i].mean() for i in range(1, len(y))])
    for name, predicted in (("mean so far", means), ("previous label", y[:-1])):
        assert found[name]["mae"] == pytest.approx(metrics.mean_absolute_error(y[1:], predicted))
        assert found[name]["rmse"] == pytest.approx(metrics.root_mean_squared_error(y[1:], predicted))


@pytest.mark.parametrize("numeric", [False, True])
def test_few_labels(numeric):
    y = np.array([1.0, 0.0]) if numeric else np.array([1, 0])
    baselines = Baselines(numeric)
    assert baselines.figures() == {}
    baselines.update(y[:1])
    baselines.update(y[:0])
    baselines.update(y[1:])
    error = baselines.figures()["previous label"]
    assert (error["mae"] == 1.0) if numeric else (error["accuracy"] == 0.0)


def test_a_run_records_them(tmp_path):
    run = evaluate(Heros(pools.MLPGrid(hidden=[8]), k=2, seed=1), streams.load("agr_a").take(1500))
    _, y = streams.load("agr_a").draw(1500)
    assert run.baselines["majority class"]["accuracy"] == pytest.approx(np.bincount(y).max() / 1500)
    assert records.read(records.save(run, tmp_path)).baselines == run.baselines


def test_a_resumed_run_has_those_of_an_uninterrupted_one(tmp_path):
    def run(n, **kept):
        model = Heros(pools.MLPGrid(hidden=[8]), k=2, seed=1)
        return evaluate(model, streams.load("agr_a").take(n), **kept)

    kept = {"checkpoint": tmp_path / "kept", "every": 700, "resume": True}
    run(1500, **kept)
    assert run(2500, **kept).baselines == run(2500).baselines


@pytest.mark.parametrize("wrong", [{"counts": np.ones((2, 3), np.int64)}, {"counts": -np.ones((2, 2), np.int64)}, {"sums": np.ones(3)}, {"last": np.array([np.nan])}, {"last": np.array([2.0])}])  # fmt: skip
def test_a_state_that_does_not_fit_is_refused(wrong):
    baselines = Baselines(numeric=False)
    baselines.update(np.array([0, 1, 1]))
    with pytest.raises(DataError, match=r"^The label counts must"):
        Baselines(numeric=False).restore(baselines.state() | wrong)
