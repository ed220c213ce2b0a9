"""Models and runs in MLflow: with real MLflow, its file store, and a database if its tools are installed."""

import threading
import warnings
from importlib.util import find_spec

import numpy as np
import pytest

import heros
from heros import Heros, HerosError, ParameterError, evaluate, measures, policies, pools, scores, streams
from heros.integrations.sklearn import HerosClassifier

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'heros-learn[mlflow]'")
with warnings.catch_warnings():  # MLflow's warnings about itself
    warnings.simplefilter("ignore")
    import mlflow.pyfunc
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")  # fmt: skip


@pytest.fixture(params=["files", "sqlite"])
def tracking(request, tmp_path, monkeypatch):
    """A new store with an active run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    if request.param == "files":
        uri = (tmp_path / "mlruns").as_uri()
    elif find_spec("sqlalchemy") is None:
        pytest.skip("sqlalchemy is not installed: MLflow has no database without it")
    else:
        uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    with mlflow.start_run() as active:
        yield active
    mlflow.set_tracking_uri(before)


def learnt(n=600, pool=None):
    stream = streams.Agrawal(function=2)
    X, y = stream.draw(n)
    return Heros(pool, seed=1, schema=stream.schema).learn(X, y), stream.draw(300)


def history(active, name):
    points = mlflow.MlflowClient().get_metric_history(active.info.run_id, name)
    return [(point.step, point.value) for point in sorted(points, key=lambda point: point.step)]


@pytest.mark.parametrize("pool", [None, pools.MLPGrid(hidden=[8])], ids=["usual", "perceptrons"])
def test_a_loaded_model_goes_on_learning_bit_for_bit(tracking, pool):
    model, (X, y) = learnt(pool=pool)
    info = heros.mlflow.log_model(model, "agrawal")
    again = heros.mlflow.load_model(info.model_uri)
    for part in range(3):
        rows = slice(part * 100, (part + 1) * 100)
        assert np.array_equal(again.predict_proba(X[rows]), model.predict_proba(X[rows]))
        for one in (model, again):
            one.learn(X[rows], y[rows])
    ours, theirs = model.state(), again.state()
    assert [*ours] == [*theirs]
    for group, arrays in ours.items():
        for name in arrays.keys() - {"cpu"}:
            assert np.array_equal(arrays[name], theirs[group][name], equal_nan=True), (group, name)


def test_a_registered_model_is_loaded_by_its_name(tracking):
    model, (X, _) = learnt()
    heros.mlflow.log_model(model, registered_model_name="orders")
    again = heros.mlflow.load_model("models:/orders/1")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_pyfunc_predicts_what_the_model_does(tracking):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"km": [1.0, 9.0, None, 12.5] * 50, "city": ["Mainz", "Köln", "Mainz", None] * 50})
    model = Heros(seed=1).learn(frame, ["no", "yes", "no", "yes"] * 50)
    uri = heros.mlflow.log_model(model).model_uri
    pyfunc = mlflow.pyfunc.load_model(uri)
    assert pyfunc.predict(frame).tolist() == model.predict(frame).tolist() == ["no", "yes", "no", "yes"] * 50
    rows = [{"km": "1.0", "city": "Mainz"}, {"km": 9.0}]
    assert pyfunc.predict(rows).tolist() == model.predict(rows).tolist()
    assert isinstance(pyfunc.get_raw_model(), Heros)
    probable = heros.mlflow.log_model(
        model, "probabilities", pyfunc_predict_fn="predict_proba", input_example=frame[:3]
    )
    pd.testing.assert_frame_equal(mlflow.pyfunc.load_model(probable.model_uri).predict(frame), model.predict_proba(frame))  # fmt: skip


def test_a_pyfunc_predicts_numbers_of_arrays(tracking):
    X, y = streams.Friedman().draw(500)
    model = Heros(seed=1, schema=streams.Friedman().schema).learn(X, y)
    signature = mlflow.models.infer_signature(X, model.predict(X))
    uri = heros.mlflow.log_model(model, signature=signature, input_example=X[:3]).model_uri
    assert np.array_equal(mlflow.pyfunc.load_model(uri).predict(X), model.predict(X))


def test_threads_of_a_server_wait_for_each_other(tmp_path):
    model, (X, _) = learnt()
    heros.mlflow.save_model(model, tmp_path / "model")
    pyfunc, expected, same = mlflow.pyfunc.load_model(str(tmp_path / "model")), model.predict(X).tolist(), []
    threads = [
        threading.Thread(target=lambda: same.append(pyfunc.predict(X).tolist() == expected)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * 8


def test_what_is_saved_is_data_and_names_its_environment(tmp_path):
    heros.mlflow.save_model(learnt()[0], tmp_path / "model", metadata={"team": "logistics"})
    files = {path.relative_to(tmp_path / "model").as_posix() for path in (tmp_path / "model").rglob("*") if path.is_file()}  # fmt: skip
    assert {"MLmodel", "data/model.heros", "requirements.txt"} <= files
    assert not [name for name in files if name.endswith((".pkl", ".py"))]
    requirements = (tmp_path / "model/requirements.txt").read_text(encoding="utf-8")
    assert f"heros-learn[mlflow]=={heros.__version__}" in requirements
    saved = mlflow.models.Model.load(str(tmp_path / "model"))
    assert saved.metadata == {"team": "logistics"}
    assert saved.flavors["heros"] == {"data": "data/model.heros", "heros_version": heros.__version__}


def test_parts_of_ones_own_are_brought_along(tmp_path):
    class Third:
        def choose(self, scores, costs, k, rng):
            return np.arange(len(scores)) == 2

    model = Heros(pools.MLPGrid(hidden=[8]), Third(), seed=1, schema=streams.Agrawal().schema)
    model.learn(*streams.Agrawal().draw(300))
    heros.mlflow.save_model(model, tmp_path / "model")
    with pytest.raises(HerosError, match="policy"):
        heros.mlflow.load_model(str(tmp_path / "model"))
    again = heros.mlflow.load_model(str(tmp_path / "model"), policy=Third())
    assert np.array_equal(again.trained, model.trained)


def test_wrong_models_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"^The 'model' parameter of save_model must be a Heros \(the heros_ of an estimator\)"):  # fmt: skip
        heros.mlflow.save_model(HerosClassifier(), tmp_path / "model")
    with pytest.raises(ParameterError, match=r"must be 'predict' or 'predict_proba'. Got 'learn' instead"):
        heros.mlflow.save_model(Heros(), tmp_path / "model", pyfunc_predict_fn="learn")
    mlflow.pyfunc.save_model(str(tmp_path / "other"), loader_module="json", pip_requirements=[])
    with pytest.raises(HerosError, match=r"must have the flavor 'heros'. Got 'python_function' instead.$"):
        heros.mlflow.load_model(str(tmp_path / "other"))


def test_a_callback_logs_measures_cost_and_drift_while_a_run_goes_on(tracking):
    seen = []

    def look(window):
        seen.append((window.end, history(tracking, "accuracy")[-1][0]))

    model = Heros(pools.Paper(), k=30, seed=1)
    stream = streams.load("agr_a").take(6000)
    run = evaluate(model, stream, callback=[heros.mlflow.Callback(), look])
    assert seen == [(end, end) for end in range(1000, 7000, 1000)]  # also before the end of the run
    for name, curve in run.curves.figures.items():
        assert history(tracking, name) == list(zip(run.curves.end.tolist(), curve.tolist(), strict=True))
    costs = run.curves.spent.cumsum() / run.curves.end
    assert [value for _, value in history(tracking, "training_cost")] == pytest.approx(costs.tolist())
    seconds = [value for _, value in history(tracking, "cpu_seconds")]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert history(tracking, "best_score")[-1] == (6000, float(model.scores.max()))
    assert history(tracking, "best_model")[-1] == (6000, model.best)
    parameters = mlflow.get_run(tracking.info.run_id).data.params
    assert (parameters["k"], parameters["policy"], parameters["seed"]) == ("30", str(model.policy), "1")

    heros.mlflow.log_run(run)
    metrics = mlflow.get_run(tracking.info.run_id).data.metrics
    assert metrics["total_auroc"] == run.auroc
    assert metrics["total_joules"] == pytest.approx(run.energy.kwh * 3.6e6)
    assert metrics["total_instances"] == 6000


def flipped(n):
    """Return a stream whose concept is inverted in the middle."""
    rng = np.random.default_rng(1)
    X = rng.random((n, 2))
    return X, (X[:, 0] > 0.5) ^ (np.arange(n) >= n // 2)


def test_models_that_got_worse_are_counted_where_the_concept_changes(tracking):
    X, y = flipped(8000)
    model = Heros(pools.MLPGrid(hidden=[8]), policies.Everything(), seed=1)
    evaluate(model, (X, y.astype(int)), callback=heros.mlflow.Callback("flip/"))
    worse = dict(history(tracking, "flip/models_worse"))
    changed = dict(history(tracking, "flip/models_changed"))
    assert [*worse] == list(range(1000, 9000, 1000))
    assert worse[4000] == 0
    assert worse[5000] >= 5
    assert all(worse[end] <= changed[end] for end in worse)


def test_without_adwin_no_drift_is_logged_and_nan_never(tracking):
    class Nothing:
        name, value = "nothing", float("nan")

        def update(self, y, output):
            pass

    model = Heros(pools.MLPGrid(hidden=[8]), score=scores.Cumulative(), seed=1)
    chosen = [measures.Accuracy(), Nothing()]
    evaluate(model, streams.Agrawal().take(2000), measures=chosen, callback=heros.mlflow.Callback())
    metrics = mlflow.get_run(tracking.info.run_id).data.metrics
    assert "accuracy" in metrics
    assert not {"nothing", "models_changed", "models_worse"} & metrics.keys()


def test_a_callback_logs_to_the_run_it_is_given(tracking):
    other = mlflow.MlflowClient().create_run(tracking.info.experiment_id)
    model = Heros(pools.MLPGrid(hidden=[8]), seed=1)
    evaluate(model, streams.Agrawal().take(1000), callback=heros.mlflow.Callback(run_id=other.info.run_id))
    assert history(other, "accuracy")
    assert history(tracking, "accuracy") == []


def test_a_callback_serves_a_second_model(tracking):
    callback = heros.mlflow.Callback()
    for hidden in ([8], [8, 16]):
        model = Heros(pools.MLPGrid(hidden=hidden), k=2, seed=1)
        run = evaluate(model, streams.Agrawal(function=2).take(2000), callback=callback)
        assert run.n_instances == 2000
