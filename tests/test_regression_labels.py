"""Invalid numeric targets are an error or a bad row for all sources; they are never converted to numbers."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pytest

from heros import DataError, DataNotice, Heros, evaluate, pools, streams

POOL = pools.MLPGrid(hidden=[4], optimizers=["adam"])
NO_NUMBERS = ["soon", "1_0", "0x10", "nan", "inf", "12 kg", "2020-01-01", ""]


def model():
    return Heros(POOL, task="regression", k=1, seed=1)


def rows(bad, n=60):
    return [{"a": i, "y": bad if i == 40 else i / 2} for i in range(n)]


def written(place, kind, bad):
    """Return a file with the bad target in line 41."""
    path = place / f"rows.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(bad)))
    else:
        path.write_text("a,y\n" + "".join(f"{row['a']},{row['y']}\n" for row in rows(bad)))
    return path


@pytest.mark.parametrize("bad", NO_NUMBERS)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "iterator"])
def test_of_a_stream(tmp_path, kind, bad):
    def stream(**how):
        if kind == "iterator":
            pairs = [({"a": row["a"]}, row["y"]) for row in rows(bad)]
            return streams.from_iter(pairs, task="regression", **how)
        return streams.read(written(tmp_path, kind, bad), target="y", task="regression", **how)

    with pytest.raises(DataError, match=r"(line 42|line 41|row 41): the '(y|label)' column must"):
        evaluate(model(), stream(on_bad_row="raise"), progress=False)
    with pytest.warns(DataNotice, match="are skipped and counted"):
        run = evaluate(model(), stream(), progress=False)
    assert (run.n_instances, run.bad_rows.count) == (59, 1)


def test_what_to_do_about_it_is_said(tmp_path):
    text = (
        r"line 42: the 'y' column must be a number, because it is the target \(or set task='classification'\)"
    )
    stream = streams.read(written(tmp_path, "csv", "soon"), target="y", task="regression", on_bad_row="raise")
    with pytest.raises(DataError, match=text):
        evaluate(model(), stream)


@pytest.mark.parametrize(
    "bad", [*NO_NUMBERS, None, float("nan"), float("inf"), 1e200, date(2020, 1, 1), [1.0]]
)
def test_of_rows_by_name(bad):
    taught = model().learn({"a": 1.0}, 2.0)
    for x, y in (({"a": 1.0}, bad), ([{"a": 1.0}, {"a": 2.0}], [1.0, bad]), ({"b": 1.0}, bad)):
        with pytest.raises(DataError):
            taught.learn(x, y)
    assert taught.instances == 1


@pytest.mark.parametrize("bad", ["soon", "12", "1_0"])
def test_of_arrays_and_frames(bad):
    pd = pytest.importorskip("pandas")
    X = np.arange(9.0)[:, np.newaxis]
    words = [bad] * 9
    with pytest.raises(DataError, match="y must be an array of numbers"):
        streams.from_arrays(X, words, task="regression")
    frame = pd.DataFrame({"a": X[:, 0], "y": words})
    if bad == "12":  # numbers as text are accepted from all sources
        assert model().learn(frame[["a"]], words).instances == 9
        assert len(streams.from_frame(frame, target="y", task="regression").draw(9)[1]) == 9
        return
    with pytest.raises(DataError, match="number"):
        model().learn(frame[["a"]], words)
    with pytest.raises(DataError, match="must be a number"):
        streams.from_frame(frame, target="y", task="regression", on_bad_row="raise").draw(9)


def test_of_a_frame_with_dates():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": np.arange(9.0), "y": pd.date_range("2020-01-01", periods=9)})
    with pytest.raises(DataError, match=r"the 'y' column must be a number.* Got (datetime|Timestamp)"):
        streams.from_frame(frame, target="y", task="regression", on_bad_row="raise").draw(9)


def test_of_river():
    pytest.importorskip("river")
    pd = pytest.importorskip("pandas")
    from heros.integrations.river import HerosRegressor  # noqa: PLC0415

    taught = HerosRegressor(POOL, k=1, seed=1)
    taught.learn_one({"a": 1.0}, 2.0)
    for bad in ("soon", "1_0", None, float("nan")):
        with pytest.raises(DataError, match=r"The label (of row 0 )?must"):
            taught.learn_one({"a": 1.0}, bad)
        with pytest.raises(DataError, match=r"The label (of row 0 )?must"):
            taught.learn_many(pd.DataFrame({"a": [1.0]}), pd.Series([bad], dtype=object))
    assert taught.heros.instances == 1


def test_of_scikit_learn():
    pytest.importorskip("sklearn")
    from heros.integrations.sklearn import HerosRegressor  # noqa: PLC0415

    with pytest.raises(DataError, match="y must be an array of numbers"):
        HerosRegressor(POOL, k=1).fit(np.arange(9.0)[:, np.newaxis], list("123123123"))


FRACTIONS = [0.5, 2.0, 1.25] * 20


def frame(n):
    return pd.DataFrame({"a": np.arange(n, dtype=float)})


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ({"a": 1.0}, 2.5),
        ([{"a": 1.0}, {"a": 2.0}], [1, 2.5]),
        (frame(60), FRACTIONS),
        (frame(60), pd.Series(FRACTIONS, dtype="float32")),
    ],
    ids=["row", "rows", "frame", "series"],
)
def test_first_labels_with_decimals_are_numbers_if_nothing_was_said(x, y):
    undecided = Heros(POOL, k=1, seed=1).learn(x, y)
    said = model().learn(x, y)
    assert undecided.task.numeric
    assert undecided.predict({"a": 3.0}) == said.predict({"a": 3.0})


def test_a_number_with_decimals_is_no_new_class_unless_classes_were_asked_for():
    text = r"The label( of row 1)? must be text or a whole number, .*\(task='regression' predicts numbers\). Got 2.5 instead."
    for x, y in (({"a": 1.0}, 2.5), (frame(2), [1.0, 2.5])):
        with pytest.raises(DataError, match=text):
            Heros(POOL, k=1, seed=1).learn({"a": 1.0}, 1.0).learn(x, y)
        asked = Heros(POOL, k=1, seed=1, task="classification").learn({"a": 1.0}, 1.0).learn(x, y)
        assert asked.schema.classes == ("1", "2.5")


def test_very_many_whole_numbers_are_asked_about():
    with pytest.raises(DataError, match="The target 'y' of learn has more than 100 different whole numbers"):
        Heros(POOL, k=1, seed=1).learn(frame(300), range(300))


def test_numbers_that_an_iterator_gives_are_not_taken_for_classes():
    pairs = [({"a": float(i)}, i / 2) for i in range(60)]
    with pytest.raises(
        DataError, match=r"row 2: the 'label' column must be text or a whole number.*Got '?0\.5"
    ):
        evaluate(Heros(POOL, k=1, seed=1), streams.from_iter(pairs), progress=False)
    stream = streams.from_iter(pairs, task="classification")
    assert evaluate(Heros(POOL, k=1, seed=1), stream, progress=False).n_instances == 60
