"""Imbalanced classes: the output of a run without further options."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score, recall_score

from heros import Heros, evaluate, pools, streams
from heros.run import records


def uneven(share, n=4000):
    rng = np.random.default_rng(1)
    y = rng.random(n) < share
    X = rng.normal(size=(n, 3)) + y[:, None]
    return X, np.where(y, "fraud", "usual")


@pytest.fixture(scope="module")
def run():
    return evaluate(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1), uneven(0.05))


def test_figures_of_uneven_classes_are_those_of_scikit_learn(run):
    found, told = run.imbalance, run.predictions
    y, said = told.targets, told.outputs.argmax(axis=1)
    assert found.rarest == "fraud"
    assert found.share == pytest.approx((y == 0).mean())
    assert found.recall == pytest.approx(recall_score(y, said, pos_label=0))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, said))
    assert found.f1 == pytest.approx(f1_score(y, said, average="macro"))
    assert found.pr_auc == pytest.approx(average_precision_score(y == 0, told.outputs[:, 0]))


def test_the_headline_says_so_and_only_then(run):
    line = f"rarest class 'fraud' ({run.imbalance.share:.1%}): recall {run.imbalance.recall:.4f}"
    assert line in repr(run)
    assert line in run.summary()
    assert "fraud" in run._repr_html_()
    even = evaluate(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1), uneven(0.4))
    assert even.imbalance is None
    assert "rarest" not in repr(even)
    weighted = Heros(pools.MLPGrid(hidden=[8]), k=3, class_weight="balanced", seed=1)
    assert "rarest class 'fraud'" in evaluate(weighted, uneven(0.4)).summary()
    one = evaluate(
        Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1), streams.from_arrays([[1.0]] * 50, ["a"] * 50)
    )
    assert one.imbalance is None


def test_a_record_knows_the_names_of_the_classes(run, tmp_path):
    again = records.read(records.save(run, tmp_path))
    assert again.classes == ("fraud", "usual")
    assert again.imbalance.recall == run.imbalance.recall
    assert again.imbalance.pr_auc is None  # records have no predictions
