"""HEROS in MLflow: log, save and load models, serve them as a pyfunc, and log runs in progress."""

from __future__ import annotations

import math
import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import HerosError, ParameterError
from heros._base.extras import needed
from heros._base.lazy import metadata as metadata_of
from heros._base.parameters import one_of
from heros.ensemble import Heros
from heros.policies import Policy
from heros.pools import Pool
from heros.run import Run, Window
from heros.scores import Adwin, Score

__all__ = ["Callback", "load_model", "log_model", "log_run", "save_model"]

FLAVOR = "heros"
FILE = "model.heros"
SETTINGS = ("pool", "policy", "score", "k", "answer", "watch", "burst", "warmup", "budget", "seed")
LONGEST = 500
"""The maximum length of a parameter's value that every MLflow store accepts."""

Predict = Literal["predict", "predict_proba"]


def _mlflow(module: str = "mlflow") -> Any:
    return needed(module, "heros.mlflow", "mlflow")


def save_model(
    model: Heros,
    path: str | os.PathLike[str],
    *,
    pyfunc_predict_fn: Predict = "predict",
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    mlflow_model: Any = None,
) -> None:
    """Save a model to a directory in MLflow's format.

    The directory holds the file that `Heros.save` writes, which contains no code. MLflow loads it as flavor
    ``heros`` (`load_model`: a `Heros` that can continue to learn) and as ``python_function`` (predictions
    only).

    Parameters
    ----------
    model
        The model. For the scikit-learn estimator, pass its ``heros_``.
    path
        A directory that does not exist yet, or is empty.
    pyfunc_predict_fn
        The method that a pyfunc calls: "predict" or "predict_proba".
    signature, input_example, metadata
        As in MLflow. Without a signature, the pyfunc accepts the same input as `Heros.predict`.
    pip_requirements
        The requirements for loading the model; by default this version of HEROS with the extra ``mlflow``.
    mlflow_model
        The `mlflow.models.Model` to which the flavors are added; MLflow itself uses this parameter.
    """
    if not isinstance(model, Heros):
        raise ParameterError.of("model", "save_model", "a Heros (the heros_ of an estimator)", model)
    choices = ("predict", "predict_proba")
    one_of(pyfunc_predict_fn, "pyfunc_predict_fn", "save_model", choices, "'predict' or 'predict_proba'")
    mlflow_model = _mlflow("mlflow.models").Model() if mlflow_model is None else mlflow_model
    version = metadata_of.version("heros-learn")
    mlflow_model.add_flavor(FLAVOR, data=f"data/{FILE}", heros_version=version)
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, FILE)
        model.save(file)
        _mlflow("mlflow.pyfunc").save_model(
            path=os.fspath(path),
            loader_module=__name__,
            data_path=file,
            model_config={"predict_fn": pyfunc_predict_fn},
            mlflow_model=mlflow_model,
            signature=signature,
            input_example=input_example,
            metadata=metadata,
            pip_requirements=[f"heros-learn[mlflow]=={version}"]
            if pip_requirements is None
            else [*pip_requirements],
        )


def log_model(
    model: Heros, name: str = "model", *, registered_model_name: str | None = None, **more: Any
) -> Any:
    """Log a model to the active run; return MLflow's `ModelInfo` with the ``model_uri`` for `load_model`.

    Parameters
    ----------
    model
        The model.
    name
        The name of the model in the run.
    registered_model_name
        The name under which the model is also registered, as a new version.
    more
        Parameters of `save_model`, and those of `mlflow.models.Model.log` (``step``, ``tags``, …).
    """
    _mlflow()
    flavor = needed(__name__, "heros.mlflow", "mlflow")
    log = _mlflow("mlflow.models").Model.log
    return log(
        artifact_path=None,
        name=name,
        flavor=flavor,
        registered_model_name=registered_model_name,
        model=model,
        **more,
    )


def load_model(
    model_uri: str,
    dst_path: str | None = None,
    *,
    pool: Pool | None = None,
    policy: Policy | None = None,
    score: Score | None = None,
) -> Heros:
    """Load a logged or saved model, which continues to learn exactly like the original.

    Parameters
    ----------
    model_uri
        An MLflow URI: ``models:/name/1``, ``runs:/…`` or a directory.
    dst_path
        A directory for the download; by default a temporary one.
    pool, policy, score
        User-defined parts, as in `Heros.load`.
    """
    _mlflow()
    path = _mlflow("mlflow.artifacts").download_artifacts(artifact_uri=model_uri, dst_path=dst_path)
    flavors = _mlflow("mlflow.models").Model.load(path).flavors
    if FLAVOR not in flavors:
        found = ", ".join(map(repr, flavors))
        raise HerosError(f"The model {model_uri} must have the flavor {FLAVOR!r}. Got {found} instead.")
    file = os.path.join(path, flavors[FLAVOR]["data"])
    return Heros.load(file, pool=pool, policy=policy, score=score)


class Callback:
    """A callback for `heros.evaluate` that logs the metrics of each window to MLflow.

    The step of every metric is the number of instances so far. Before the first window, the settings of the
    model are logged as parameters. The metrics refer to the window unless stated otherwise:

    - each measure by its name (``auroc``, ``accuracy``, …);
    - ``training_cost``: cost of training so far, as a share of the cost of training every model;
    - ``cpu_seconds``: CPU time of the model so far;
    - ``best_model``: index of the model with the highest running score;
    - ``best_score``: the highest running score;
    - ``models_changed``: the number of models for which ADWIN shortened the window of the running score,
      because the performance of the model changed; ``models_worse``: the number of these models whose score
      fell since the previous window. Many changes at once indicate drift. These two metrics need the default
      score, `heros.scores.Adwin`.

    Parameters
    ----------
    prefix
        A prefix for the name of each metric, e.g. ``"test/"``.
    run_id
        The run to log to; by default the active run, which MLflow starts if needed.

    Examples
    --------
    ::

        with mlflow.start_run():
            run = evaluate(model, stream, callback=heros.mlflow.Callback())
            heros.mlflow.log_run(run)
    """

    def __init__(self, prefix: str = "", run_id: str | None = None) -> None:
        self._mlflow, self._prefix, self._run_id = _mlflow(), prefix, run_id
        self._before: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None = None
        self._model: Heros | None = None
        self._described = False

    def __call__(self, window: Window) -> None:
        """Log the window."""
        model = window.model
        if model is not self._model:  # the first window of this model
            self._model, self._before = model, None
        if not self._described:
            self._described = True
            parameters = {name: str(getattr(model, name))[:LONGEST] for name in SETTINGS}
            self._mlflow.log_params(parameters, run_id=self._run_id)
        metrics = {
            **window.figures,
            "training_cost": window.gamma_share,
            "cpu_seconds": sum(model.cpu_seconds.values()),
            "best_model": float(model.best),
            "best_score": float(model.scores[model.best]),
            **self._changes(model),
        }
        _log(self._mlflow, metrics, self._prefix, self._run_id, step=window.end)

    def _changes(self, model: Heros) -> dict[str, float]:
        """Return how many models changed or became worse since the previous window, according to ADWIN."""
        if not isinstance(model.score, Adwin):
            return {}
        state = model._bound_learner.scores.state()  # the state of the model would copy all weights
        widths = state["width"]
        before, self._before = self._before, (widths, model.evaluated, model.scores.copy())
        if before is None:  # the first window cannot be compared with an earlier one
            return {"models_changed": 0.0, "models_worse": 0.0}
        earlier, evaluated, scores = before
        cut = widths - earlier < model.evaluated - evaluated  # otherwise windows grow by one each time
        worse = cut & (model.scores < scores)
        return {"models_changed": float(cut.sum()), "models_worse": float(worse.sum())}


def log_run(run: Run, *, prefix: str = "total_", run_id: str | None = None) -> None:
    """Log the results of a whole run: measures, cost of training, CPU seconds, joules, instances.

    Parameters
    ----------
    run
        The result of `heros.evaluate`.
    prefix
        A prefix for the name of each metric.
    run_id
        The MLflow run to log to; by default the active run.
    """
    metrics = {
        **run.figures,
        "training_cost": run.gamma_share,
        "cpu_seconds": run.cpu_seconds,
        "joules": run.energy.kwh * 3.6e6,
        "instances": float(run.n_instances),
        "diverged_models": float(run.diverged),
    }
    _log(_mlflow(), metrics, prefix, run_id, step=run.n_instances)


def _log(mlflow: Any, metrics: Mapping[str, float], prefix: str, run_id: str | None, *, step: int) -> None:
    """Log the finite metrics, since some MLflow stores do not accept NaN."""
    known = {f"{prefix}{name}": value for name, value in metrics.items() if math.isfinite(value)}
    mlflow.log_metrics(known, step=step, run_id=run_id)


class _Pyfunc:
    """The object that MLflow uses to predict; a lock serialises calls from the threads of MLflow's server."""

    def __init__(self, model: Heros, method: Predict) -> None:
        self._model, self._method, self._lock = model, method, threading.Lock()

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the predictions for rows in any form that `Heros` accepts; `params` is ignored."""
        with self._lock:
            return getattr(self._model, self._method)(model_input)

    def get_raw_model(self) -> Heros:
        """Return the model itself."""
        return self._model


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> _Pyfunc:
    """Return the pyfunc of a model; MLflow calls this function by its name."""
    return _Pyfunc(Heros.load(path), (model_config or {}).get("predict_fn", "predict"))
