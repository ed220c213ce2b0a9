"""The competing learners: settings, comparison with their own libraries, records and resumption."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import MissingExtra, ParameterError, Schema, measures, streams
from heros.run import records
from heros.streams.live import END
from heros_league import cli, rivals
from heros_league.rivals import retrained
from heros_league.rivals.baselines import Fading
from heros_league.rivals.retrained import Retrained
from heros_paper.tables import all_tables

CAPYMOA = ("arf", "srp", "shrubs")  # in the paper
MORE = ("dems", "bagging", "sgbt", "blast", "autoclass", "capymoa_halving")


@pytest.fixture(scope="module")
def _capymoa():
    pytest.importorskip("capymoa.classifier", reason="needs capymoa: pip install capymoa")


def rbf(n):
    stream = streams.RandomRBF(classes=3).take(n)
    stream.name = "rbf"
    return stream


@pytest.mark.parametrize("name", ["bandit", "halving"])
def test_a_rival_from_river_answers_as_in_a_plain_loop(name, tmp_path):
    n = 600
    run = rivals.run_rival(name, rbf(n), seed=4, window=100)
    X, y = rbf(n).draw(n)
    features = [feature.name for feature in rbf(n).schema.features]
    model, answers = rivals.RIVALS[name].make(4, n), []
    for x, label in zip(X, y.tolist(), strict=True):
        row = dict(zip(features, x.tolist(), strict=True))
        said = model.predict_proba_one(row)
        p = np.array([said.get(c, 0.0) for c in range(3)])
        answers.append(p / p.sum() if p.sum() else np.full(3, 1 / 3))
        model.learn_one(row, label)
    assert run.auroc == pytest.approx(measures.auroc(y, np.array(answers)), abs=1e-12)
    assert run.accuracy == (np.argmax(answers, axis=1) == y).mean()
    again = records.read(records.save(run, tmp_path))
    assert again.settings == run.settings
    assert again.curves.end.tolist() == [100, 200, 300, 400, 500, 600]
    assert records.load(tmp_path)["policy"].to_pylist() == [name]


def test_the_bandits_and_the_halvings_models():
    """River's own models with the optimizers, learning rates and grace periods of the paper's pools."""
    models = rivals.RIVALS["bandit"].make(1, 100).models
    linear, trees = models[:10], models[10:]
    optimizers = [model["SoftmaxRegression"].optimizer for model in linear]
    assert [(type(o).__name__, o.lr.learning_rate) for o in optimizers] == [
        (kind, rate) for kind in ("Adam", "SGD") for rate in (0.5, 0.05, 0.005, 0.0005, 0.00005)
    ]
    assert [tree.grace_period for tree in trees] == [50, 100, 200, 400, 800]
    assert rivals.RIVALS["halving"].make(1, 1000).budget == 4000


def test_halving_has_one_model_left_at_half_of_the_stream():
    halving = rivals.RIVALS["halving"].make(1, 400)
    for t in range(400):
        assert (halving._s == 1) == (t >= 200)
        halving.learn_one({"a": float(t % 7)}, t % 2)


def test_runs_are_recorded_once_and_marked_if_they_are_short(tmp_path):
    first = rivals.run_rivals(["bandit", "heros_cand"], ["agr_a"], tmp_path, n=1000)
    assert first.done == ("agr_a_1k/river15/bandit/k1/seed1", "agr_a_1k/mlp50/cand/k30/seed1")
    assert [records.read(tmp_path / id).n_instances for id in first.done] == [1000, 1000]
    second = rivals.run_rivals(["bandit", "heros_cand"], ["agr_a"], tmp_path, n=1000)
    assert (second.done, second.kept) == ((), first.done)


def test_a_part_of_a_stream_says_so_and_the_whole_does_not():
    assert [rivals.first("agr_a", n).name for n in (None, 10**6, 100_000, 1234)] == [
        "agr_a", "agr_a", "agr_a_100k", "agr_a_1234",
    ]  # fmt: skip


def test_parameter_errors():
    with pytest.raises(ParameterError, match=r"must be one of arf, srp, .*, fading_mean. Got 'xgb'"):
        rivals.run_rival("xgb", rbf(10))
    with pytest.raises(ParameterError, match="must be a stream whose length is known"):
        rivals.run_rival("bandit", streams.Agrawal())


def test_a_missing_library_gives_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "capymoa", None)
    with pytest.raises(MissingExtra, match=r"pip install 'capymoa>="):
        rivals.run_rival("arf", rbf(10))


@pytest.mark.usefixtures("_capymoa")
@pytest.mark.parametrize("name", CAPYMOA)
def test_a_rival_from_capymoa_does_as_in_capymoas_own_evaluation(name):
    from capymoa.evaluation import prequential_evaluation  # noqa: PLC0415
    from capymoa.stream import NumpyStream  # noqa: PLC0415

    n = 600
    run = rivals.run_rival(name, rbf(n), seed=2)
    X, y = rbf(n).draw(n)
    theirs = NumpyStream(X, y, target_type="categorical")
    learner = rivals.RIVALS[name].make(2, n)(schema=theirs.get_schema())
    results = prequential_evaluation(theirs, learner, progress_bar=False)
    assert run.confusion.counts.sum() == n
    # Before the first label, a learner predicts nothing: we count that as the first class, CapyMOA as no prediction.
    assert 100 * run.accuracy == pytest.approx(results["cumulative"].accuracy(), abs=100 / n)


@pytest.mark.usefixtures("_capymoa")
def test_the_settings_of_the_capymoa_rivals():
    from heros.pools.adapters import capymoa_schema  # noqa: PLC0415

    runs = {name: rivals.run_rival(name, rbf(20)) for name in CAPYMOA}
    for name, learner, subspace in (
        ("arf", "treeLearnerOption", "mFeaturesPerTreeSizeOption"),
        ("srp", "baseLearnerOption", "subspaceSizeOption"),
    ):
        assert "HoeffdingTree" in runs[name].settings["options"]
        assert "-g 50 -c 0.01" in runs[name].settings["options"]
        moa = rivals.RIVALS[name].make(1, 20)(schema=capymoa_schema(rbf(20).schema)).moa_learner
        assert moa.ensembleSizeOption.getValue() == 50
        assert getattr(moa, subspace).getValue() == 60
        assert str(getattr(moa, learner).getValueAsCLIString()).endswith("-g 50 -c 0.01")
    assert "l_ensemble_reg=50" in runs["shrubs"].settings["models"][0]["model"]
    assert all(records.run_id(run).startswith("rbf/capymoa50/") for run in runs.values())
    assert all(run.cpu_seconds == pytest.approx(run.energy.cpu_seconds, rel=0.1) for run in runs.values())


@pytest.mark.parametrize("name", ["river_arf", "amf"])
def test_rivers_forests_take_words_and_gaps(name):
    rows = [({"a": float(t % 7), "b": "xyz"[t % 3]}, "no" if t % 3 else "yes") for t in range(300)]
    del rows[17][0]["a"], rows[18][0]["b"]
    names = ["a", "b"]
    table = [[x.get("a", np.nan), {"x": 0, "y": 1, "z": 2}.get(x.get("b"), np.nan)] for x, _ in rows]
    stream = streams.from_arrays(table, [y for _, y in rows], names=names, nominal=["b"])
    run = rivals.run_rival(name, stream, seed=1)
    assert run.n_instances == 300
    assert run.accuracy > 0.9  # the class depends on whether b is x
    assert not run.settings["stopped"]


def test_a_rival_is_stopped_at_its_limit_and_what_it_did_counts():
    run = rivals.run_rival("river_arf", rbf(5000), limit=0.2)
    assert run.settings["stopped"]
    assert 0 < run.n_instances < 5000
    assert run.confusion.counts.sum() == run.n_instances
    with pytest.raises(ParameterError, match=r"'limit' parameter of run_rival must be"):
        rivals.run_rival("river_arf", rbf(10), limit=-1)


def test_who_needs_just_the_time_there_is_is_not_stopped():
    class Clock:
        now = 0.0

        def clock(self):
            return self.now

    clock = Clock()
    source = rivals.Limited(rbf(64), 10.0, clock)
    assert len(source.poll(64)[1]) == 64
    clock.now = 11.0
    assert source.poll(64) is END
    assert not source.stopped


def test_gaps_are_filled_from_the_past_only():
    X = [[1.0, 0.0], [np.nan, 1.0], [5.0, np.nan], [np.nan, 1.0]]
    stream = streams.from_arrays(X, [0, 1, 0, 1], nominal=[1])
    source = rivals.Filled(stream)
    filled = np.vstack([source.poll(3)[0], source.poll(3)[0]])
    assert filled.tolist() == [[1, 0], [1, 1], [5, 0], [3, 1]]
    assert source.poll(3) is END


@pytest.mark.usefixtures("_capymoa")
@pytest.mark.parametrize("name", MORE)
def test_the_leagues_rivals_from_capymoa_learn(name):
    run = rivals.run_rival(name, streams.load("agr_a", length=1500), seed=1)
    assert run.n_instances == 1500
    assert run.auroc > 0.6
    again = rivals.run_rival(name, streams.load("agr_a", length=1500), seed=1)
    assert again.auroc == run.auroc


@pytest.mark.usefixtures("_capymoa")
def test_a_rival_that_cannot_take_gaps_is_given_none():
    X, y = rbf(200).draw(200)
    X[::7, 2] = np.nan
    run = rivals.run_rival("sgbt", streams.from_arrays(X, y.tolist()), seed=1)
    assert run.n_instances == 200


def table3(*words):
    return CliRunner().invoke(cli.app, list(words))


def test_rivals_run_beside_heros(tmp_path):
    words = [
        "table3",
        "--streams",
        "led_a",
        "--entrants",
        "bandit,heros",
        "--seeds",
        "1",
        "--n",
        "300",
    ]
    result = table3(*words, "--records", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 run, 0 kept, 0 failed; records:")
    assert {row["stream"] for row in records.load(tmp_path / "rivals").to_pylist()} == {"led_a_300"}
    table = next(table for table in all_tables(tmp_path) if table.name == "table3_ensembles")
    (ours,) = (
        line for line in table.data if line["stream"] == "led_a" and line["ensemble"] == "zeta_0.05_0.2"
    )
    assert ours["n_instances"] == 300


def test_times_are_taken_on_beginnings_and_say_whether_the_machine_was_busy(tmp_path, monkeypatch):
    words = ["table3", "--alone", "--streams", "led_a", "--entrants", "bandit,heros", "--n", "300"]
    monkeypatch.setattr("os.getloadavg", lambda: (3.2, 0.0, 0.0))
    result = table3(*words, "--records", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "The machine is busy (load 3.2)" in result.stderr
    assert {row["policy"] for row in records.load(tmp_path / "alone").to_pylist()} == {
        "bandit",
        "zeta_0.05_0.2",
    }
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 3.0, 3.0))
    assert "busy" not in table3(*words, "--records", str(tmp_path)).stderr


BOOSTERS = ("lightgbm_5k", "xgboost_5k")


def test_no_change_predicts_the_last_label_and_the_last_number():
    y = [0, 1, 1, 0, 0, 0, 1, 1, 1, 1]
    run = rivals.run_rival("no_change", streams.from_arrays(np.zeros((10, 1)), y))
    assert run.accuracy == pytest.approx(0.7)  # the first prediction counts as the first class
    numbers = streams.from_arrays(np.zeros((4, 1)), [0.5, 2.0, 2.0, 5.5], task="regression")
    assert rivals.run_rival("last_value", numbers).mae == pytest.approx((0.5 + 1.5 + 0 + 3.5) / 4)


def test_the_fading_majority_follows_a_change_of_the_majority():
    y = [0] * 500 + [1] * 500
    run = rivals.run_rival("fading", streams.from_arrays(np.zeros((1000, 1)), y), window=100)
    late = run.curves.accuracy[-3:]
    assert (late == 1).all()  # an integer, since otherwise all labels would be wrong until the end
    numbers = streams.from_arrays(np.zeros((1000, 1)), [0.5 + label for label in y], task="regression")
    assert rivals.run_rival("fading_mean", numbers, window=100).curves.mae[-1] < 0.02


@pytest.mark.parametrize("window", [100, None])
def test_a_retrained_model_is_trained_on_the_window_at_fixed_times(window):
    trainings = []

    def fit(X, y, schema, seed):
        trainings.append((len(y), X[0, 0], X[-1, 0]))
        return lambda x: 0.0

    model = Retrained(fit, window)
    model.bind(Schema.of(["a"]))
    for t in range(4000):
        model.learn(np.array([float(t)]), 0.5)
    ends = [50, 100, 200, 400, 800, 1600, 2600, 3600]
    starts = [0 if window is None else max(0, end - window) for end in ends]
    assert trainings == [(end - start, start, end - 1) for start, end in zip(starts, ends, strict=True)]


def test_a_retrained_model_predicts_the_mean_of_numbers_before_its_first_training():
    model = Retrained(lambda X, y, schema, seed: lambda x: -1.0, 100)
    model.bind(Schema.of(["a"]))
    said = []
    for t in range(60):
        said.append(model.predict(np.zeros(1)))
        model.learn(np.zeros(1), float(t))
    assert said[:4] == [None, 0.0, 0.5, 1.0]
    assert said[49:51] == [24.0, -1.0]


def test_what_was_learnt_stays_when_the_schema_grows():
    trained = []
    model, fading = Retrained(lambda X, y, schema, seed: trained.append((X.copy(), y.copy())), 100), Fading()
    for labels, names in ((["no", "yes"], ["a"]), (["no", "yes", "other"], ["a", "b"])):
        for part in (model, fading):
            part.bind(Schema.of(names, classes=labels))
        for t in range(25):
            for part in (model, fading):
                part.learn(np.full(len(names), float(t)), t % len(labels))
    ((X, y),) = trained
    assert X[:, 0].tolist() == [*range(25), *range(25)]
    assert np.isnan(X[:25, 1]).all()
    assert y.tolist() == [*(t % 2 for t in range(25)), *(t % 3 for t in range(25))]
    assert fading.counts.sum() == pytest.approx(fading.weight)


@pytest.mark.parametrize("name", BOOSTERS)
def test_boosters_predict_before_each_label_as_in_a_plain_loop(name):
    pytest.importorskip(name.partition("_")[0])
    n = 450
    run = rivals.run_rival(name, rbf(n))
    X, y = rbf(n).draw(n)
    fit = getattr(retrained, name.partition("_")[0])
    answers = np.full((n, 3), 1 / 3)
    for start, end in ((50, 100), (100, 200), (200, 400), (400, n)):
        predictor = fit(X[:start], y[:start].astype(float), rbf(n).schema, 1)
        answers[start:end] = [predictor(x) for x in X[start:end]]
    assert run.auroc == pytest.approx(measures.auroc(y, answers), abs=1e-6)
    assert run.auroc > 0.7


@pytest.mark.parametrize("name", BOOSTERS)
def test_boosters_take_words_gaps_and_a_window_with_one_class(name):
    pytest.importorskip(name.partition("_")[0])
    rng = np.random.default_rng(1)
    X = np.c_[rng.normal(size=600), rng.integers(0, 3, 600)]
    y = np.where(np.arange(600) < 60, "no", np.where(X[:, 1] == 0, "yes", "no"))
    X[::7, 0] = np.nan
    stream = streams.from_arrays(X, y, names=["a", "b"], nominal=["b"])
    run = rivals.run_rival(name, stream, window=200)
    assert run.curves.accuracy[-1] > 0.95


@pytest.mark.parametrize("name", BOOSTERS)
def test_boosters_predict_numbers(name):
    pytest.importorskip(name.partition("_")[0])
    run = rivals.run_rival(name, streams.Friedman().take(1500), window=500)
    assert run.curves.r2[-1] > 0.7


def test_a_missing_booster_gives_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtra, match=r"A rival from LightGBM needs .*: pip install lightgbm"):
        rivals.run_rival("lightgbm_5k", rbf(10))
