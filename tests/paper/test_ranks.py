"""Ranks and tests, compared with SciPy, scikit-posthocs and values computed by hand."""

import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
from scipy import stats

from heros import ParameterError
from heros_paper.ranks import Comparison, compare, holm, ranks, wilcoxon


def test_ranks_share_ties_and_follow_the_direction():
    values = [[0.9, 0.7, 0.9, 0.1], [1.0, 2.0, 3.0, 4.0]]
    np.testing.assert_array_equal(ranks(values, higher_is_better=True), [[1.5, 3, 1.5, 4], [4, 3, 2, 1]])
    np.testing.assert_array_equal(ranks(values, higher_is_better=False), [[3.5, 2, 3.5, 1], [1, 2, 3, 4]])


@pytest.mark.parametrize("n", [1, 2, 5, 11, 40])
def test_wilcoxon_is_scipys_exact_test_without_ties(n):
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.5, 2.0):
        differences = rng.normal(shift, size=n)
        assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)


def test_wilcoxon_with_ties_counts_all_signs():
    # |d| = 1, 1, 2, 3, 3 have ranks 1.5, 1.5, 3, 4.5, 4.5; the positive ones sum to 13.5 of 15. Of the 32
    # assignments of signs, 3 have at least this sum: all positive (15), and either 1 negative (13.5).
    assert wilcoxon([1, -1, 2, 3, 3, 0]) == pytest.approx(2 * 3 / 32)


def test_wilcoxon_takes_equal_differences_as_ties_whatever_float_makes_of_them():
    a, b = np.array([0.1, 0.3, 0.7, 0.8]), np.array([0.3, 0.5, 0.9, 0.6])
    assert len(set(np.abs(a - b))) > 1
    assert wilcoxon(a - b) == wilcoxon([-1, -1, -1, 1])


def test_holm_by_hand():
    # Sorted: .005 × 4, .011 × 3, .02 × 2, .04 × 1; each is at least the previous one.
    np.testing.assert_allclose(holm([0.02, 0.005, 0.04, 0.011]), [0.04, 0.02, 0.04, 0.033])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1.0, 1.0])


def test_a_comparison_agrees_with_scikit_posthocs_and_scipy():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(11, 6)) + np.array([0, 0.3, 0.6, 1.5, 2.5, 4.0])
    names = list("abcdef")
    comparison = compare(table, names, higher_is_better=True)
    long = pd.DataFrame(table, columns=names).melt(var_name="policy", value_name="value")
    theirs = scikit_posthocs.posthoc_wilcoxon(long, "value", "policy", p_adjust="holm")
    np.testing.assert_allclose(comparison.p_values, theirs.loc[names, names].to_numpy(), rtol=1e-9)
    assert comparison.friedman == pytest.approx(stats.friedmanchisquare(*table.T).pvalue)
    np.testing.assert_allclose(comparison.mean_ranks, stats.rankdata(-table, axis=1).mean(axis=0))
    assert comparison.differ("a", "f")
    assert not comparison.differ("a", "b")


def test_cliques_are_the_longest_runs_without_a_difference():
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=0.1, size=(12, 5))
    # a and b equal, then c far from both, d and e equal
    comparison = compare(noise + np.array([4, 4, 3, 1, 1]), list("abcde"), higher_is_better=True)
    assert {frozenset(clique) for clique in comparison.cliques()} == {frozenset("ab"), frozenset("de")}
    for clique in comparison.cliques():
        assert not comparison.differ(clique[0], clique[-1])


def test_cliques_overlap_where_only_the_ends_differ():
    p_values = np.array([[1, 0.5, 0.01], [0.5, 1, 0.5], [0.01, 0.5, 1]])
    comparison = Comparison(("x", "y", "z"), 11, np.array([3.0, 2.0, 1.0]), 0.01, p_values)
    assert comparison.cliques() == [("z", "y"), ("y", "x")]
    assert comparison.cliques(alpha=0.001) == [("z", "y", "x")]


def test_equal_columns_do_not_differ():
    comparison = compare(np.ones((5, 3)), list("abc"), higher_is_better=True)
    assert comparison.friedman == 1
    assert comparison.cliques() == [("a", "b", "c")]


def test_what_is_not_a_whole_table_is_refused():
    with pytest.raises(ParameterError, match=r"^The 'values' parameter of ranks must be a table of finite"):
        ranks([[1.0, np.nan]], higher_is_better=True)
    with pytest.raises(
        ParameterError, match=r"^The 'names' parameter of compare must be 2 names, one per column"
    ):
        compare([[1.0, 2.0]], ["a"], higher_is_better=True)
