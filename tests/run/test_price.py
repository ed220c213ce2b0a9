"""The cost of evaluation and training on one scale, in runs, records, reports, tables and on the command line."""

import json
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import Heros, ParameterError, Schema, Top, evaluate, policies, pools, records, streams
from heros.cli import app
from heros.pools.timing import PriceList, price_list
from heros.run.experiments import Experiment, run_all
from heros.run.report import write_report

POOL = pools.MLPGrid(hidden=[8, 256], optimizers=["adam"])  # ten models
STREAM = "agr_a"


def run_of(n=1500, **settings):
    policy = settings.pop("policy", policies.Cand())
    return evaluate(Heros(POOL, policy, seed=1, **settings), streams.load(STREAM).take(n), window=500)


def test_training_everything_costs_everything():
    run = run_of(policy=policies.Everything(), k=10)
    assert run.price.total == pytest.approx(1)
    assert 0 < run.price.looking < run.price.training  # a training step takes longer than an evaluation
    assert run.evaluated.tolist() == run.trained.tolist() == [1500] * 10


def test_looking_less_is_seen_in_the_price():
    everyone, trained = run_of(k=3), run_of(k=3, watch="trained")
    assert everyone.evaluated.tolist() == [1500] * 10
    assert trained.evaluated.sum() < everyone.evaluated.sum() / 2
    assert (trained.evaluated >= trained.trained).all()
    assert trained.price.looking < everyone.price.looking / 1.5
    assert trained.price.total < everyone.price.total


def test_the_price_list_of_a_short_run_is_not_timed_on_full_windows():
    """Computing the cost of 30 rows of 5,000 columns took longer than the run."""
    schema = Schema.of([f"c{i}" for i in range(400)], classes=["no", "yes"])
    pool, seconds = pools.Neighbours([{"window": 5000}]), []
    for learnt in (30, None):
        bound = pool.bind(schema, np.random.default_rng(0))
        start = time.process_time()
        assert price_list(bound, learnt) is not None
        seconds.append(time.process_time() - start)
    assert seconds[0] < seconds[1] / 5, seconds


def test_the_price_is_counted_by_the_price_list():
    model = Heros(POOL, policies.Cand(), k=3, watch=4, seed=1)
    run = evaluate(model, streams.load(STREAM).take(1000))
    listed = price_list(model.bound)
    assert run.price.looking == pytest.approx(listed.evaluation @ run.evaluated / 1000)
    assert run.price.training == pytest.approx(listed.train @ run.trained / 1000)


def test_a_bill_of_what_was_bought():
    listed = PriceList(np.array([0.1, 0.2]), np.array([0.3, 0.4]))
    assert listed.total(np.array([10, 5]), np.array([2, 1])) == pytest.approx((2.0, 1.0))


def test_what_a_model_had_done_before_is_not_on_the_bill():
    model = Heros(POOL, policies.Cand(), k=3, watch="trained", seed=1)
    evaluate(model, streams.load(STREAM).take(500))
    before = model.evaluated.copy()
    run = evaluate(model, streams.load(STREAM).take(500))
    assert run.evaluated.tolist() == (model.evaluated - before).tolist()


def test_members_from_elsewhere_are_timed_as_they_work():
    class Slow:
        def predict_proba(self, x):
            sum(range(2_000))
            return [0.5, 0.5]

        def learn(self, x, y):
            sum(range(20_000))

    class Quick(Slow):
        def learn(self, x, y):
            pass

    pool = pools.Models([Slow(), Quick()], costs=[1, 1])
    model = Heros(pool, policies.Everything(), k=2, seed=1)
    run = evaluate(model, streams.load(STREAM).take(300))
    listed = price_list(model.bound)
    assert run.price.total == pytest.approx(1)
    assert listed.train[0] > 2 * listed.evaluation[0] > 2 * listed.train[1]


def test_joined_pools_have_one_scale():
    pool = pools.Join(POOL, pools.HoeffdingGrid(), costs=[1, 1])
    model = Heros(pool, policies.Everything(), k=pool.n_models, seed=1)
    run = evaluate(model, streams.load(STREAM).take(300))
    assert run.price.total == pytest.approx(1)


def test_a_record_keeps_it_and_is_named_by_who_looks_and_answers(tmp_path):
    run = run_of(k=3, watch=8, answer=Top(5))
    place = records.save(run, tmp_path)
    again = records.read(place)
    assert place.relative_to(tmp_path).as_posix() == "agr_a/mlp10/cand/k3-watch_8-top_5_60/seed1"
    assert again.price == run.price
    assert again.evaluated.tolist() == run.evaluated.tolist()
    table = records.load(tmp_path).to_pylist()[0]
    assert (table["watch"], table["answer"], table["price_looking"]) == ("8", "Top(5, 60)", run.price.looking)


def test_a_price_that_is_not_known_is_reported_as_such(tmp_path):
    place = records.save(run_of(k=3), tmp_path)
    document = json.loads((place / "record.json").read_text())
    (place / "record.json").write_text(json.dumps(document | {"price": None}))
    assert records.read(place).price is None
    assert write_report(tmp_path, tmp_path / "report.html") == 1
    assert "not known" in (tmp_path / "report.html").read_text()


def test_experiments_differ_by_who_looks(tmp_path):
    jobs = [
        Experiment(STREAM, POOL, policies.Cand(), 3, n=300, watch=watch) for watch in ("all", "trained", 5)
    ]
    outcome = run_all(jobs, tmp_path)
    assert len(outcome.done) == 3
    looked = [records.read(tmp_path / id).evaluated.sum() for id in outcome.done]
    assert looked[0] > looked[2] > looked[1]
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "watch trained" in page
    assert "watch 5" in page


def test_a_resumed_run_has_counted_all_looks(tmp_path):
    def evaluated(n, **keywords):
        model = Heros(POOL, policies.Cand(), k=3, watch="trained", seed=1)
        return evaluate(model, streams.load(STREAM).take(n), **keywords)

    evaluated(1000, checkpoint=tmp_path, every=500)
    resumed = evaluated(1500, checkpoint=tmp_path, every=500, resume=True)
    assert resumed.evaluated.tolist() == evaluated(1500).evaluated.tolist()


def test_what_a_budget_asked_and_used_is_in_the_record(tmp_path):
    model = Heros(POOL, policies.Cand(), k=8, watch="trained", budget="1 ms", seed=1)
    run = evaluate(model, streams.load(STREAM).take(1500))
    read = records.read(records.save(run, tmp_path)).settings
    assert read["budget"] == "1 ms"
    assert read["dial"] == model.dial.as_dict()
    assert 0 < float(read["dial"]["used"].split()[0]) < 1.05
    assert read["dial"]["awake"] == model.pool.n_models


# -- on the command line ----------------------------------------------------------------------------------


def heros(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_run_says_the_price_of_looking(tmp_path):
    result = heros("run", "agr_a", "--n", 500, "--k", 5, "--watch", "trained", "--answer", "top:3")
    assert result.exit_code == 0, result.output
    assert "evaluation " in result.output
    assert "+ training " in result.output


def test_compare_takes_watch_and_answer():
    options = ["--n", 300, "--policy", "cand", "--policy", "everything", "--k", 5]
    result = heros("compare", "agr_a", *options, "--watch", "8", "--answer", "top:3:0", "--json")
    assert result.exit_code == 0, result.output
    cand, everything = json.loads(result.stdout)
    assert cand["price"] == pytest.approx(cand["looking"] + cand["training"])
    assert cand["price"] < everything["price"]


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [
        ("--watch", "0", "--watch must be"),
        ("--watch", "some", "--watch must be"),
        ("--answer", "nobody", "--answer must be"),
        ("--answer", "top:0", "'n'"),
        ("--answer", "top:x", "--answer must be"),
        ("--answer", "top:1:2:3", "top:N:SHARPNESS"),
    ],
)
def test_what_cannot_be_meant_is_said(option, value, named):
    result = heros("run", "agr_a", "--n", 100, option, value)
    assert result.exit_code != 0
    assert named in str(result.exception) + result.output


# -- in other libraries -----------------------------------------------------------------------------------


def test_river_and_scikit_learn_take_watch():
    river = pytest.importorskip("heros.integrations.river").HerosClassifier(
        POOL, k=3, watch="trained", answer=Top(2), seed=1
    )
    sklearn = pytest.importorskip("heros.integrations.sklearn").HerosClassifier(
        POOL, k=3, watch="trained", answer=Top(2), random_state=1
    )
    X, y = streams.Agrawal(function=2).draw(300)
    for row, label in zip(X[:, :3], y, strict=True):
        river.learn_one({"a": row[0], "b": row[1], "c": row[2]}, int(label))
    sklearn.fit(X[:, :3], y)
    for model in (river.heros, sklearn.heros_):
        assert model.evaluated.sum() < 300 * 10
    assert sklearn.get_params()["watch"] == "trained"
    assert river.clone().watch == "trained"


def test_a_setting_that_is_none_is_refused_where_it_is_met():
    with pytest.raises(ParameterError, match="'watch' parameter of Heros must be 'all'"):
        Heros(watch="nobody")
