"""The result of a run: its text, its curves as frames and figures, callbacks, and other kinds of streams."""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from rich.progress import Progress

from heros import DataError, Heros, ParameterError, evaluate, measures, pools, streams
from heros._base.progress import progress
from heros.run.predictions import Predictions

mpl.use("Agg")


def model():
    return Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)


@pytest.fixture(scope="module")
def run():
    return evaluate(model(), streams.load("agr_a").take(5500))


def test_a_run_says_what_it_is_in_a_few_lines(run):
    text = repr(run)
    assert len(text.splitlines()) == 5
    assert "\n changes: no change detected (the error never rose)\n" in text
    assert max(map(len, text.splitlines())) <= 100
    assert f"AUROC {run.auroc:.4f}" in text
    assert "5,500 instances" in text
    assert "of all training steps, weighted by their cost γ (Σγ" in run.summary()
    assert "best model" in run.summary()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_summaries_fit_the_terminal(run, columns, monkeypatch):
    """Long texts as on the command line: the cost, the name of the best model, a budget."""
    monkeypatch.setenv("COLUMNS", str(columns))
    asked = {"asked": "20 us", "used": "19.8 us", "awake": 3.5, "floor": "a very long list of models " * 4}
    wide = replace(run, settings={**run.settings, "dial": asked})
    for text in (wide.summary(), repr(wide)):
        assert max(map(len, text.splitlines())) <= columns
        assert "a very long list of models" in " ".join(text.split())


def test_a_notebook_draws_the_curves_without_outside_resources(run):
    page = run._repr_html_()
    assert page.count("<svg") == 4  # three measures and the training cost
    assert "http" not in page
    assert "<script" not in page
    assert f"{run.n_instances:,}" in page
    assert f"5,500: {run.curves.auroc[-1]:.3f}" in page  # values on hover
    last = run.curves.figures["auroc"].copy()
    nothing = type(run.curves).of({**run.curves.columns(), "auroc": np.full_like(last, np.nan)})
    assert replace(run, curves=nothing)._repr_html_().count("<svg") == 3  # a curve without points is omitted


def test_curves_and_the_leaderboard_are_frames(run):
    frame = run.to_pandas()
    assert list(frame["end"]) == [1000, 2000, 3000, 4000, 5000, 5500]
    assert (frame["auroc"].to_numpy() == run.curves.auroc).all()
    assert (frame["best"].to_numpy() == run.curves.scores.argmax(axis=1)).all()
    assert run.to_arrow().num_rows == 6
    assert list(run.predictions.to_pandas().columns) == ["target", "predicted", "p_groupA", "p_groupB"]
    trained = Heros(seed=1, schema=streams.Agrawal().schema).learn(*streams.Agrawal().draw(200))
    board = trained.leaderboard()
    frame = board.to_pandas()
    assert frame["model"].tolist() == [row.model for row in board]
    assert frame["L"].tolist() == [row.score for row in board]
    assert board.to_arrow()["trained"].to_pylist() == frame["trained"].tolist()  # six kinds of models


def test_plot_gives_axes(run):
    ax = run.plot()
    [line] = ax.get_lines()
    assert line.get_ydata().tolist() == run.curves.auroc.tolist()
    same = run.plot("accuracy", "kappa", ax=ax)
    assert same is ax
    assert len(ax.get_lines()) == 3
    with pytest.raises(ParameterError, match="'names' parameter of plot must be one of 'auroc', 'accuracy'"):
        run.plot("f1")


def test_callbacks_see_every_window_and_may_end_the_run():
    seen, ends = [], []

    def stop(window):
        seen.append((window.end, window.figures, window.so_far))
        return window.end >= 2000

    run = evaluate(model(), streams.Agrawal().take(5500), callback=[stop, lambda w: ends.append(w.end)])
    assert ends == [1000, 2000]
    assert run.interrupted
    assert run.n_instances == 2000
    assert [figures["accuracy"] for _, figures, _ in seen] == run.curves.accuracy.tolist()
    assert seen[-1][2]["auroc"] == run.auroc
    whole = evaluate(model(), streams.Agrawal().take(2000))
    assert whole.figures == run.figures  # a callback changes nothing
    heard = evaluate(model(), streams.Agrawal().take(2000), callback=lambda _: None)
    assert heard.figures == whole.figures
    assert not heard.interrupted
    with pytest.raises(
        ParameterError, match="'callback' parameter of evaluate must be a function that accepts a Window"
    ):
        evaluate(model(), streams.Agrawal().take(20), callback=3)


def test_a_run_that_a_callback_ended_goes_on_from_its_checkpoint(tmp_path):
    stream = streams.Agrawal().take(5500)
    evaluate(model(), stream, checkpoint=tmp_path, callback=lambda window: window.end == 3000)
    stream.restart()
    run = evaluate(model(), stream, checkpoint=tmp_path, resume=True)
    stream.restart()
    assert run.figures == evaluate(model(), stream).figures
    assert len(run.predictions) == 5500


def test_predictions_go_on_after_a_checkpoint_even_if_no_measure_keeps_them(tmp_path):
    settings = {"measures": [measures.Accuracy()], "checkpoint": tmp_path, "every": 1000}
    evaluate(model(), streams.Agrawal().take(2000), predictions=True, **settings)
    run = evaluate(model(), streams.Agrawal().take(3000), predictions=True, resume=True, **settings)
    whole = evaluate(model(), streams.Agrawal().take(3000))
    assert (run.predictions.outputs == whole.predictions.outputs).all()


def test_a_stream_that_is_used_up_says_how_to_go_back():
    stream = streams.Agrawal().take(100)
    evaluate(model(), stream)
    with pytest.raises(ParameterError, match=r"instances left \(call its .restart\(\) to start again\)"):
        evaluate(model(), stream)


def test_frames_and_pairs_of_rows_and_labels_are_streams():
    X, y = streams.RandomRBF().draw(500)
    names = np.array(["a", "b", "c", "d", "e"])[y]
    expected = evaluate(model(), streams.from_arrays(X, names))
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
    labelled = frame.assign(label=names)[["label", *frame.columns]]
    for stream, target in (
        ((X, names), None),
        ((frame, names), None),
        ((frame, pd.Series(names)), None),
        ((pl.from_pandas(frame), pl.Series(names)), None),
        (labelled, "label"),
        (pl.from_pandas(labelled), "label"),
        (frame.assign(label=names), None),
    ):
        assert evaluate(model(), stream, target=target).figures == expected.figures
    with pytest.raises(DataError, match=r"y must have one label per row \(500\). Got 3 instead."):
        evaluate(model(), (frame, ["a", "b", "a"]))
    with pytest.raises(ParameterError, match="'target' parameter of evaluate must be left out, unless"):
        evaluate(model(), streams.Agrawal().take(10), target="x")


def test_a_task_that_the_model_was_given_says_what_the_labels_are():
    X, _ = streams.RandomRBF().draw(300)
    counts = np.arange(300) % 7  # whole numbers are classes, unless a regression task is given
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
    for data in ((X, counts), (frame, counts), frame.assign(count=counts)):
        assert evaluate(Heros(task="regression"), data).figures["mae"] < 3
    with pytest.raises(DataError, match="more than 100 different whole numbers"):
        evaluate(Heros(), (X, np.arange(300)))
    evaluate(named := Heros(task="classification"), (X, np.arange(300)))
    assert len(named.schema.classes) == 300


def test_in_a_notebook_progress_is_shown_by_rich(monkeypatch):
    notebook, spec = ModuleType("IPython"), SimpleNamespace()
    notebook.get_ipython = lambda: SimpleNamespace(kernel=True)
    monkeypatch.setattr("heros._base.progress.find_spec", lambda name: spec)
    assert not isinstance(progress("count"), Progress)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert isinstance(progress("count"), Progress)
    assert not isinstance(progress("count", wanted=False), Progress)
    spec = None  # ipywidgets is missing
    assert not isinstance(progress("count"), Progress)


@pytest.mark.parametrize(("classes", "width"), [(("no", "yes"), 2), ((), 3), ((), None)])
def test_no_predictions_are_a_table_without_rows(classes, width):
    none = Predictions(np.zeros(0, np.int64), np.zeros(0 if width is None else (0, width)), classes)
    assert none.to_arrow().num_rows == 0
    assert repr(none) == f"<Predictions of 0 instances: {', '.join(none.to_arrow().column_names)}>"
