"""The exact list of public names, and the hierarchy of errors."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import heros
from family_cases import CLASSES, NUMBERS
from heros import checks, measures, meters, policies, pools, scores
from heros.run import records


def test_all_names():
    assert heros.__all__ == [
        "Block", "Curves", "DataError", "DataNotice", "Feature", "Heros", "HerosError", "MissingExtra", "ParameterError", "Run", "Schema", "Stack", "Top",
        "WaitNotice", "checkpoints", "checks", "drift", "evaluate", "export", "measures",
        "meters", "mlflow", "policies", "pools", "records", "scores", "streams",
    ]  # fmt: skip
    assert policies.__all__ == [
        "MLCB", "Budget", "Cand", "CandAsPublished", "Cheapest", "CompiledPolicy", "Everything", "Expensive", "Explore",
        "PerformBest", "PerformWorst", "Policy", "Random", "Reward", "Surprise", "Zeta", "compiled",
    ]  # fmt: skip
    families = {case_pool.family.__name__ for case_pool in (*CLASSES.values(), *NUMBERS.values())}
    of_families = {form.format(name) for name in families for form in ("{}", "{}Grid", "Bound{}")} - {
        "BoundMLP"
    }
    assert set(pools.__all__) == of_families | {
        "BoundJoin", "BoundModels", "BoundPool", "ForestStats", "Join", "Models", "NeighbourStats", "Paper", "PaperTrees", "Pool", "RetrainedStats",
        "TreeStats", "default", "default_regression",
    }  # fmt: skip
    assert checks.__all__ == [
        "CheckError", "check_measure", "check_model", "check_policy", "check_pool", "check_score", "check_source",
    ]  # fmt: skip
    assert scores.__all__ == ["Adwin", "Cumulative", "Fading", "Score", "Window"]
    assert measures.__all__ == [
        "F1", "MAE", "MAPE", "R2", "RMSE", "Accuracy", "Auroc", "BalancedAccuracy", "CalibrationError", "Confusion", "Coverage", "IntervalWidth",
        "Kappa", "LogLoss", "Measure", "PrAuc", "RelativeError", "Reliability", "RunningAuroc", "RunningPrAuc", "auroc", "auroc_per_class", "average_precision", "average_precision_per_class", "log_loss",
    ]  # fmt: skip
    assert records.__all__ == [
        "curves_at",
        "details",
        "document",
        "exists",
        "find",
        "id_from",
        "id_of",
        "load",
        "pack",
        "provenance",
        "read",
        "repair",
        "run_id",
        "save",
        "text_at",
    ]
    assert meters.__all__ == [
        "Carbon", "CarbonSignal", "CodeCarbon", "Cpu", "Energy", "Meter", "Perf", "Rapl", "Reading",
    ]  # fmt: skip


def test_every_public_name_is_there_and_documented():
    for module in (
        heros,
        policies,
        pools,
        scores,
        meters,
        measures,
        records,
        heros.streams,
        heros.run.checkpoints,
        heros.export,
        checks,
        heros.mlflow,
    ):
        for name in module.__all__:
            assert getattr(getattr(module, name), "__doc__", None), f"{module.__name__}.{name}"


def test_every_public_method_is_documented_in_its_class_or_a_base_class():
    bare = []
    for found in pkgutil.walk_packages(heros.__path__, "heros."):
        if found.name == "heros.__main__":
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:  # an extra that is not installed
            continue
        for owner in vars(module).values():
            if inspect.isclass(owner) and owner.__module__ == found.name and owner.__name__[0] != "_":
                names = [name for name, one in vars(owner).items() if name[0] != "_" and is_code(one)]
                bare += [f"{found.name}.{owner.__name__}.{name}" for name in names if not doc(owner, name)]
    assert bare == []


def is_code(one):
    return inspect.isroutine(one) or isinstance(one, property)


def doc(owner, name):
    return inspect.getdoc(inspect.getattr_static(owner, name)) or inspect.getdoc(getattr(owner, name))


def test_errors_are_what_they_were_before():
    """Code that catches ValueError or ImportError keeps working."""
    assert issubclass(heros.ParameterError, ValueError)
    assert issubclass(heros.DataError, ValueError)
    assert issubclass(heros.MissingExtra, ImportError)
    assert all(
        issubclass(kind, heros.HerosError)
        for kind in (heros.ParameterError, heros.DataError, heros.MissingExtra)
    )
    assert issubclass(heros.DataNotice, UserWarning)
    assert issubclass(heros.WaitNotice, UserWarning)
