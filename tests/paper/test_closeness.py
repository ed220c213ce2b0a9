"""Measures of closeness, for tables that equal the paper's, are guessed, or are shuffled."""

import pytest

from heros_paper.published import MLP, POLICIES, STREAMS
from heros_paper.results import grids
from heros_paper.tables.closeness import closeness_table


def measured(write, tmp_path, figures):
    for stream in STREAMS:
        for policy, auroc in zip(POLICIES, figures(stream), strict=True):
            write(stream, policy, auroc=auroc)
    return [row["ours"] for row in closeness_table(grids(tmp_path)[0]).data]


def test_the_papers_own_figures_are_as_near_as_can_be(write, tmp_path):
    cells, close, mean, median, *others = measured(write, tmp_path, lambda stream: MLP.auroc[stream])
    assert (cells, close) == (110, 110)
    assert (mean, median) == pytest.approx((0, 0))
    assert others == pytest.approx([1] * 5)


@pytest.mark.long
def test_a_row_mixed_up_is_near_and_has_no_order(write, tmp_path):
    cells, _, _, _, correlation, *_, tau, _ = measured(
        write, tmp_path, lambda stream: MLP.auroc[stream][::-1]
    )
    assert cells > 70  # most cells of a row are nearly equal, so counting cells is a weak test
    assert correlation < 0.2
    assert tau < 0


def test_without_records_the_table_says_so(tmp_path):
    assert "not run" in closeness_table(grids(tmp_path)[0]).markdown()


def test_the_interval_is_over_the_seeds_there_are(write, tmp_path):
    for seed, shift in ((1, 0.0), (2, 0.02)):
        for stream in STREAMS:
            for policy, auroc in zip(POLICIES, MLP.auroc[stream], strict=True):
                write(stream, policy, auroc=auroc + shift, seed=seed)
    mean = closeness_table(grids(tmp_path)[0]).data[2]
    assert mean["ours"] == pytest.approx(0.01)
    assert 0 < mean["low"] < 0.01 < mean["high"] < 0.02
