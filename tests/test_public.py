"""The public names, exactly, and the errors as a tree."""

from __future__ import annotations

import heros
from heros import checks, errors, measures, meters, policies, pools, scores
from heros.run import records


def test_all_names():
    assert heros.__all__ == [
        "Block", "Curves", "Feature", "Heros", "Run", "Schema", "Stack", "Top", "checkpoints", "checks", "drift", "errors", "evaluate", "export", "measures",
        "meters", "mlflow", "policies", "pools", "records", "scores", "streams",
    ]  # fmt: skip
    assert policies.__all__ == [
        "MLCB", "Budget", "Cand", "CandAsPublished", "Cheapest", "CompiledPolicy", "Everything", "Expensive", "Explore",
        "PerformBest", "PerformWorst", "Policy", "Random", "Reward", "Surprise", "Zeta", "compiled",
    ]  # fmt: skip
    assert pools.__all__ == [
        "MLP", "Boosted", "BoostedGrid", "BoundBoosted", "BoundForest", "BoundHoeffding", "BoundJoin", "BoundLabelMemory", "BoundLinear", "BoundModels", "BoundNaiveBayes",
        "BoundNeighbours", "BoundPool", "BoundRegressionTrees", "BoundRetrained", "Forest", "ForestGrid", "ForestStats", "Hoeffding", "HoeffdingGrid", "Join", "LabelMemory", "LabelMemoryGrid", "Linear", "LinearGrid", "MLPGrid", "Models", "NaiveBayes",
        "NaiveBayesGrid", "NeighbourStats", "Neighbours", "NeighboursGrid", "Paper", "PaperTrees", "Pool", "RegressionTrees", "RegressionTreesGrid",
        "Retrained", "RetrainedGrid", "RetrainedStats", "TreeStats", "default", "default_regression",
    ]  # fmt: skip
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
        "mend",
        "pack",
        "provenance",
        "read",
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
        errors,
        heros.streams,
        heros.run.checkpoints,
        heros.export,
        checks,
        heros.mlflow,
    ):
        for name in module.__all__:
            assert getattr(getattr(module, name), "__doc__", None), f"{module.__name__}.{name}"


def test_errors_are_what_they_were_before():
    """Code that catches ValueError or ImportError keeps working."""
    assert issubclass(errors.ParameterError, ValueError)
    assert issubclass(errors.DataError, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
    kinds = {getattr(errors, name) for name in errors.__all__}
    assert all(issubclass(kind, errors.HerosError) for kind in kinds - {errors.DataNotice, errors.WaitNotice})
    assert issubclass(errors.DataNotice, UserWarning)
    assert issubclass(errors.WaitNotice, UserWarning)
