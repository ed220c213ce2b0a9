"""Figures from records show the values in the records."""

import dataclasses

import numpy as np
import pytest

from heros import Heros, ParameterError, evaluate, meters, policies, pools, streams
from heros.run import records
from heros_paper import figures
from heros_paper.figures import beta, drift, exploring, phases, tradeoff
from heros_paper.figures.style import _hidden, label_points, new_figure
from heros_paper.paired import Paired
from heros_paper.published import BESIDE, POLICIES
from heros_paper.results import TRIED, grids


@pytest.fixture
def drawn(monkeypatch):
    """Collect the figures that would be saved, by name."""
    kept = {}
    for module in (beta, drift, exploring, phases, tradeoff):
        monkeypatch.setattr(module, "save", lambda figure, out, name: kept.setdefault(name, figure) and [])
    return kept


@pytest.fixture(scope="module")
def drifting():
    """Return a short stream with two drifts, and the runs of two policies on it."""
    stream = streams.Drift(streams.Agrawal(2), streams.Agrawal(4), position=700, width=200)
    stream = streams.Drift(stream, streams.Agrawal(6), position=1400)
    pool = pools.MLPGrid(hidden=[8, 32], learning_rates=[0.05, 0.005])
    runs = []
    for policy in (policies.Zeta(0.05), policies.Cheapest()):
        part = stream.take(2000)
        part.name = "agr_g"
        meter = meters.Cpu(10, meters.Carbon.of(intensity=360))
        run = evaluate(Heros(pool, policy, k=4, seed=1), part, window=100, meter=meter)
        name = "own" if isinstance(policy, policies.Zeta) else "cheapest"
        runs.append(dataclasses.replace(run, settings={**run.settings, "policy": name}))
    return runs


def texts(figure):
    figure.draw_without_rendering()
    return {text.get_text() for axes in figure.axes for text in axes.texts}


@pytest.mark.long
def test_every_figure_is_written_as_pdf_and_png_and_always_the_same(write, drifting, tmp_path):
    for stream in ("electricity", "wisdm"):
        for i, policy in enumerate(POLICIES):
            write(stream, policy, auroc=0.8 + i / 100, kwh=1e-4 * (i + 1))
    records.save(drifting[0], tmp_path / "drifts")
    settings = {**drifting[0].settings, "policy": "zeta_0.01_0.1"}
    records.save(dataclasses.replace(drifting[0], settings=settings), tmp_path / "beta")
    paths = figures.draw_figures(tmp_path, tmp_path / "out")
    names = {"schema", "tradeoff_mlp", "phases_electricity", "beta", "drift_agr_g"}
    assert {path.name for path in paths} == {name + end for name in names for end in (".pdf", ".png")}
    for path in paths:
        assert path.read_bytes().startswith(b"%PDF" if path.suffix == ".pdf" else b"\x89PNG")
    first = (tmp_path / "out" / "beta.pdf").read_bytes()
    beta.draw_beta(tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / "beta.pdf").read_bytes() == first


def test_the_tradeoff_shows_mean_ranks_and_bars_where_nothing_differs(write, tmp_path, drawn):
    rng = np.random.default_rng(1)
    for stream in (
        "airlines",
        "electricity",
        "wisdm",
        "covtype",
        "nomao",
        "agr_a",
        "agr_g",
        "rbf_f",
        "led_a",
    ):
        for i, policy in enumerate(("random", "cheapest_0.1", "my_policy")):
            # energy: clearly ordered; AUROC: the first two equal, the third far below
            write(
                stream,
                policy,
                auroc=0.9 + 0.01 * rng.normal() - 0.3 * (i == 2),
                kwh=1e-4 * (i + 1) * rng.uniform(1, 1.1),
            )
    tradeoff.draw_tradeoff(grids(tmp_path)[0], tmp_path)
    figure = drawn["tradeoff_mlp"]
    ours, theirs = figure.subfigs
    above, _, plot, beside = ours.axes
    points = [tuple(np.ravel(line.get_xydata())) for line in plot.lines]
    assert [y for _, y in points] == [1, 2, 3]
    assert points[2][0] == 3
    assert sum(x for x, _ in points) == pytest.approx(6)
    assert {text.get_text() for text in plot.texts} == {"Random", "Cheapest", "my_policy"}
    (bar,) = above.lines
    low, high = sorted(x for x, _ in points[:2])
    assert bar.get_xdata() == pytest.approx([low - 0.06, high + 0.06])
    assert not beside.lines
    assert len(theirs.axes[2].texts) == len(POLICIES)


@pytest.mark.parametrize(("left_out", "ranks"), [(None, [2, 1]), ("cheapest_0.1", [1, 2])])
def test_the_tradeoff_ranks_energy_as_measured_in_turn_if_all_were(write, tmp_path, drawn, left_out, ranks):
    turns = {}
    for i, policy in enumerate(("random", "cheapest_0.1")):
        write("agr_a", policy, kwh=1e-4 * (i + 1))
        if policy != left_out:
            turns["agr_a", policy] = Paired("agr_a", "mlp50", policy, 9, 0.5, 0, 1 - i, 0, 1)
    tradeoff.draw_tradeoff(grids(tmp_path)[0], tmp_path, turns)
    plot = drawn["tradeoff_mlp"].subfigs[0].axes[2]
    assert [line.get_ydata()[0] for line in plot.lines] == ranks


def test_the_phases_add_up_to_the_time_per_instance(write, tmp_path, drawn):
    write("electricity", "random", seconds=20.0, training=7.0, n=1_000_000)
    write("electricity", "random", seconds=30.0, training=9.0, n=1_000_000, seed=2)
    write("electricity", "cand", pool="trees50", k=20, n=1_000_000)
    phases.draw_phases(grids(tmp_path), tmp_path)
    mlp, trees = drawn["phases_electricity"].axes
    widths = [container.patches[0].get_width() for container in mlp.containers]
    assert widths == pytest.approx([0, 16, 1, 8, 0])  # µs: mean of two seeds
    assert [label.get_text() for label in trees.get_yticklabels()] == ["Cand"]


def test_phases_measured_in_turn_go_before_those_of_the_grid(write, tmp_path, drawn):
    write("electricity", "zeta_0.05_0.1", pool="trees50", k=20)
    one = Paired("electricity", "trees50", "zeta_0.05_0.1", 1000, 0.5, 0.001, 0.002, 0.003, 0.004)
    turns = {"trees": {("electricity", "zeta_0.05_0.1"): one}}
    phases.draw_phases(grids(tmp_path), tmp_path, turns)
    (trees,) = drawn["phases_electricity"].axes
    assert [c.patches[0].get_width() for c in trees.containers] == pytest.approx([1, 2, 3, 4, 0])
    assert texts(drawn["phases_electricity"]) == {" 30.0 %  (paper < 18 %)"}


def test_exploration_is_shown_on_the_streams_where_every_policy_ran(write, tmp_path, drawn):
    tried = {name: 0.9 - 0.01 * i for i, name in enumerate(TRIED)}
    for stream in ("electricity", "wisdm"):
        for name, auroc in tried.items():
            beside = name in BESIDE
            if stream == "electricity" or not beside:
                write(stream, name, auroc=auroc, part="greedy" if beside else "grid")
    exploring.draw_exploring(tmp_path, grids(tmp_path)[0], tmp_path)
    both, one = drawn["exploring_mlp"].axes
    assert both.get_title(loc="left") == "perceptrons, k = 30, electricity, WISDM"
    assert one.get_title(loc="left") == "perceptrons, k = 30, electricity"
    heights = {line.get_ydata()[0] for line in one.lines if len(line.get_xdata()) == 1}
    assert max(heights) == pytest.approx(tried["perform_best"] - tried["everything"])


def test_exploration_is_shown_where_most_streams_have_all_policies(write, tmp_path, drawn):
    for name in TRIED:
        write("electricity", name, part="greedy" if name in BESIDE else "grid")
        for stream in ("wisdm", "nomao"):
            write(stream, name, part="sweep", n=10_000)
    exploring.draw_exploring(tmp_path, grids(tmp_path)[0], tmp_path)
    _, first = drawn["exploring_mlp"].axes
    assert first.get_title(loc="left") == ("perceptrons, k = 30, the first 10,000 instances of WISDM, nomao")


def test_the_drift_figure_marks_drifts_and_shows_what_a_step_costs(drifting, tmp_path, drawn, monkeypatch):
    monkeypatch.setattr(drift, "STEADY", 100)
    monkeypatch.setattr(drift, "CALM", 100)
    for run in drifting:
        records.save(run, tmp_path / "drifts")
        records.save(run, tmp_path / "drift")
    drift.draw_drifts(tmp_path, tmp_path)
    gamma, energy, near = drawn["drift_agr_g"].axes
    assert energy.get_ylabel() == "mJ"
    for axes in (gamma, energy, near):
        marks = [line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1]
        assert marks == [700, 1400]
        (span,) = axes.patches
        assert (span.get_x(), span.get_width()) == (600, 200)
    assert {text.get_text() for text in gamma.texts} == {"cheapest", "own"}
    lines = [line for line in gamma.lines if len(line.get_xdata()) == 20]
    expected = {tuple(np.round(run.curves.spent / 100, 9)) for run in drifting}
    assert {tuple(np.round(line.get_ydata(), 9)) for line in lines} == expected
    spent = [line.get_ydata().sum() * 100 for line in energy.lines if len(line.get_xdata()) == 20]
    for run in drifting:
        in_windows = run.curves.cpu.sum() / run.cpu_seconds  # the other CPU time is for the AUROC at the end
        assert np.isclose(spent, 1e3 * run.energy.joules * in_windows).any()
    (emissions,) = energy.child_axes
    drawn["drift_agr_g"].draw_without_rendering()
    emissions_per_mj = emissions.get_ylim()[1] / energy.get_ylim()[1]
    assert emissions_per_mj == pytest.approx(1e6 * drift.INTENSITY / 3.6e9)  # µg: 400 g for 3.6e6 J


def test_the_drifts_of_the_grid_are_drawn_where_there_are_no_runs_for_the_figure(drifting, tmp_path, drawn):
    for run, policy in zip(drifting, ("zeta_0.05_0.1", "random"), strict=True):
        settings = {**run.settings, "pool": "mlp50", "k": 30, "policy": policy}
        records.save(dataclasses.replace(run, settings=settings), tmp_path / "grid")
    drift.draw_drifts(tmp_path, tmp_path)
    gamma, _ = drawn["drift_agr_g"].axes
    assert {text.get_text() for text in gamma.texts} == {"ζ(.05, .1)"}  # random is not drawn


def test_thinned_curves_still_give_the_cost_per_step(drifting):
    run = drifting[0]
    whole = drift.per_step(run, run.curves.spent)
    thinned = dataclasses.replace(run, curves=run.curves[1::2])
    np.testing.assert_allclose(drift.per_step(thinned, thinned.curves.spent), whole[1::2])
    np.testing.assert_allclose(whole * 100, run.curves.spent)


def test_names_at_the_ends_of_lines_keep_their_distance():
    places = drift.spread([0.0, 0.01, 0.02, 0.9, 0.91], gap=0.1)
    assert (np.diff(places) >= 0.1 - 1e-12).all()
    assert places[0] >= 0
    assert drift.spread([0.2, 0.5, 0.9], gap=0.1) == [0.2, 0.5, 0.9]


def test_the_beta_figure_fits_the_performances_of_all_models_over_time(drifting, tmp_path, drawn):
    rng = np.random.default_rng(5)
    for policy, a in (("zeta_0.01_0.1", 6.0), ("cand", 3.0)):
        scores = rng.beta(a, 2, size=(500, 8))
        run = drifting[0]
        cycled = run.curves[np.arange(500) % len(run.curves.end)]
        curves = dataclasses.replace(cycled, end=4 * np.arange(1, 501), scores=scores)
        settings = {**run.settings, "policy": policy, "pool": "mlp20"}
        records.save(dataclasses.replace(run, curves=curves, settings=settings), tmp_path / "beta")
    beta.draw_beta(tmp_path, tmp_path)
    found = texts(drawn["beta"])
    fits = sorted(float(text.split("(")[1].split(",")[0]) for text in found)
    assert fits == pytest.approx([3.0, 6.0], rel=0.05)
    left, _ = drawn["beta"].axes
    assert sum(patch.get_height() / 40 for patch in left.patches) == pytest.approx(1)


def test_a_beta_cannot_be_fitted_to_one_point():
    with pytest.raises(ParameterError, match=r"^The 'values' parameter of fit_beta must be in \[0, 1\]"):
        beta.fit_beta(np.full(10, 0.5))


def test_labels_hide_neither_points_nor_each_other():
    figure = new_figure(5, 5)
    axes = figure.subplots()
    axes.set(xlim=(0, 10), ylim=(0, 10))
    points = [(5, 5), (5.3, 5), (5, 5.3), (5.2, 5.2), (9.9, 5)]
    label_points(axes, points, [f"policy {i}" for i in range(len(points))])
    boxes = [tuple(text.get_window_extent().extents) for text in axes.texts]
    frame = tuple(axes.get_window_extent().extents)
    for i, box in enumerate(boxes):
        area = (box[2] - box[0]) * (box[3] - box[1])
        assert _hidden(box, boxes[:i] + boxes[i + 1 :], frame) < 0.05 * area
