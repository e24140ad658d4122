"""Robust means, with honest uncertainty, of Parquet lakes that are heavy-tailed or partly corrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distmom.errors import (
    BadFileError,
    ConfigError,
    DataError,
    DistmomError,
    NoAnswerError,
    ResourceError,
)

if TYPE_CHECKING:
    from distmom import kernels
    from distmom.estimators.compare.compare import compare, explain_compare
    from distmom.estimators.describe.describe import describe
    from distmom.estimators.difference.difference import difference
    from distmom.estimators.learn.kmeans import RobustKMeans
    from distmom.estimators.learn.linear import RobustLinearRegression, RobustLogisticRegression
    from distmom.estimators.learn.metric import MahalanobisMetric
    from distmom.estimators.learn.minimizer import RobustMinimizer
    from distmom.estimators.learn.model_files import load_model, save_model
    from distmom.estimators.learn.ranker import PairwiseRanker
    from distmom.estimators.learn.train import explain_train, train
    from distmom.estimators.mean.accumulator import MeanAccumulator
    from distmom.estimators.mean.explain import explain_mean
    from distmom.estimators.mean.mean import mean
    from distmom.estimators.mean.merge_states import merge_states
    from distmom.estimators.planning.plan import plan
    from distmom.estimators.scorer import robust_scorer
    from distmom.estimators.tournament.cover import epsilon_cover
    from distmom.estimators.tournament.tournament import explain_tournament, tournament
    from distmom.estimators.ustat.explain import explain_ustatistic
    from distmom.estimators.ustat.ustatistic import ustatistic
    from distmom.report import (
        CandidateResult,
        ColumnProfile,
        CompareResult,
        DescribeResult,
        DifferenceResult,
        MeanResult,
        PlanResult,
        Results,
        TournamentResult,
        TrainResult,
        UStatisticResult,
        VectorResult,
        check_output,
        write_results,
    )
    from distmom.state import State

__all__ = [
    "BadFileError",
    "CandidateResult",
    "ColumnProfile",
    "CompareResult",
    "ConfigError",
    "DataError",
    "DescribeResult",
    "DifferenceResult",
    "DistmomError",
    "MahalanobisMetric",
    "MeanAccumulator",
    "MeanResult",
    "NoAnswerError",
    "PairwiseRanker",
    "PlanResult",
    "ResourceError",
    "Results",
    "RobustKMeans",
    "RobustLinearRegression",
    "RobustLogisticRegression",
    "RobustMinimizer",
    "State",
    "TournamentResult",
    "TrainResult",
    "UStatisticResult",
    "VectorResult",
    "__version__",
    "check_output",
    "compare",
    "describe",
    "difference",
    "epsilon_cover",
    "explain_compare",
    "explain_mean",
    "explain_tournament",
    "explain_train",
    "explain_ustatistic",
    "kernels",
    "load_model",
    "mean",
    "merge_states",
    "plan",
    "robust_scorer",
    "save_model",
    "tournament",
    "train",
    "ustatistic",
    "write_results",
]

_HOMES = {
    "CandidateResult": "distmom.report",
    "ColumnProfile": "distmom.report",
    "CompareResult": "distmom.report",
    "DescribeResult": "distmom.report",
    "DifferenceResult": "distmom.report",
    "MahalanobisMetric": "distmom.estimators.learn.metric",
    "MeanAccumulator": "distmom.estimators.mean.accumulator",
    "MeanResult": "distmom.report",
    "PairwiseRanker": "distmom.estimators.learn.ranker",
    "PlanResult": "distmom.report",
    "Results": "distmom.report",
    "RobustKMeans": "distmom.estimators.learn.kmeans",
    "RobustLinearRegression": "distmom.estimators.learn.linear",
    "RobustLogisticRegression": "distmom.estimators.learn.linear",
    "RobustMinimizer": "distmom.estimators.learn.minimizer",
    "State": "distmom.state",
    "TournamentResult": "distmom.report",
    "TrainResult": "distmom.report",
    "UStatisticResult": "distmom.report",
    "VectorResult": "distmom.report",
    "__version__": "distmom.version",
    "check_output": "distmom.report",
    "compare": "distmom.estimators.compare.compare",
    "describe": "distmom.estimators.describe.describe",
    "difference": "distmom.estimators.difference.difference",
    "epsilon_cover": "distmom.estimators.tournament.cover",
    "explain_compare": "distmom.estimators.compare.compare",
    "explain_mean": "distmom.estimators.mean.explain",
    "explain_tournament": "distmom.estimators.tournament.tournament",
    "explain_train": "distmom.estimators.learn.train",
    "explain_ustatistic": "distmom.estimators.ustat.explain",
    "kernels": "distmom.kernels",
    "load_model": "distmom.estimators.learn.model_files",
    "mean": "distmom.estimators.mean.mean",
    "merge_states": "distmom.estimators.mean.merge_states",
    "plan": "distmom.estimators.planning.plan",
    "robust_scorer": "distmom.estimators.scorer",
    "save_model": "distmom.estimators.learn.model_files",
    "tournament": "distmom.estimators.tournament.tournament",
    "train": "distmom.estimators.learn.train",
    "ustatistic": "distmom.estimators.ustat.ustatistic",
    "write_results": "distmom.report",
}


def __getattr__(name: str) -> Any:
    # public names are loaded when they are first used: `import distmom` stays quick
    if name not in _HOMES:
        raise AttributeError(f"module 'distmom' has no attribute {name!r}")
    from importlib import import_module

    home = import_module(_HOMES[name])
    value = home if name == "kernels" else getattr(home, "VERSION" if name == "__version__" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
