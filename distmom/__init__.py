"""Robust means, with honest uncertainty, of Parquet lakes that are heavy-tailed or partly corrupted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from distmom.errors import (
    BadFileError,
    ConfigError,
    DataError,
    DistmomError,
    DoubtfulResultError,
    DoubtfulResultWarning,
    NoAnswerError,
    ResourceError,
    UnknownResultError,
)
from distmom.status import Status

if TYPE_CHECKING:
    from distmom import kernels
    from distmom.cluster.executors.backends import Cluster, Processes, Threads
    from distmom.designs.blocks import FileBlocks, RandomBlocks, SampledBlocks, StoredBlocks, UnitBlocks
    from distmom.designs.loss import Loss
    from distmom.designs.match import Match
    from distmom.designs.pairs import CompletePairs, DisjointPairs, SampledPairs
    from distmom.designs.permutations import Permutations
    from distmom.estimators.command import explain
    from distmom.estimators.compare.compare import compare
    from distmom.estimators.describe.describe import describe
    from distmom.estimators.difference.difference import difference
    from distmom.estimators.learn.kmeans import RobustKMeans
    from distmom.estimators.learn.linear import RobustLinearRegression, RobustLogisticRegression
    from distmom.estimators.learn.metric import MahalanobisMetric
    from distmom.estimators.learn.minimizer import RobustMinimizer
    from distmom.estimators.learn.model_files import load_model, save_model
    from distmom.estimators.learn.ranker import PairwiseRanker
    from distmom.estimators.learn.train import train
    from distmom.estimators.mean.accumulator import MeanAccumulator
    from distmom.estimators.mean.mean import mean
    from distmom.estimators.mean.merge_states import merge_states
    from distmom.estimators.scorer import robust_scorer
    from distmom.estimators.session import options
    from distmom.estimators.tournament.tournament import tournament
    from distmom.estimators.ustat.ustatistic import ustatistic
    from distmom.lake.files.outputs import writing
    from distmom.passes.scan import Scan, scan
    from distmom.report import (
        CandidateResult,
        ColumnProfile,
        CompareResult,
        DescribeResult,
        DifferenceResult,
        MeanResult,
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
    "Cluster",
    "ColumnProfile",
    "CompareResult",
    "CompletePairs",
    "ConfigError",
    "DataError",
    "DescribeResult",
    "DifferenceResult",
    "DisjointPairs",
    "DistmomError",
    "DoubtfulResultError",
    "DoubtfulResultWarning",
    "FileBlocks",
    "Loss",
    "MahalanobisMetric",
    "Match",
    "MeanAccumulator",
    "MeanResult",
    "NoAnswerError",
    "PairwiseRanker",
    "Permutations",
    "Processes",
    "RandomBlocks",
    "ResourceError",
    "Results",
    "RobustKMeans",
    "RobustLinearRegression",
    "RobustLogisticRegression",
    "RobustMinimizer",
    "SampledBlocks",
    "SampledPairs",
    "Scan",
    "State",
    "Status",
    "StoredBlocks",
    "Threads",
    "TournamentResult",
    "TrainResult",
    "UStatisticResult",
    "UnitBlocks",
    "UnknownResultError",
    "VectorResult",
    "__version__",
    "check_output",
    "compare",
    "describe",
    "difference",
    "explain",
    "kernels",
    "load_model",
    "mean",
    "merge_states",
    "options",
    "robust_scorer",
    "save_model",
    "scan",
    "tournament",
    "train",
    "ustatistic",
    "write_results",
    "writing",
]

_HOMES = {
    "CandidateResult": "distmom.report",
    "Cluster": "distmom.cluster.executors.backends",
    "ColumnProfile": "distmom.report",
    "CompareResult": "distmom.report",
    "CompletePairs": "distmom.designs.pairs",
    "DescribeResult": "distmom.report",
    "DifferenceResult": "distmom.report",
    "DisjointPairs": "distmom.designs.pairs",
    "FileBlocks": "distmom.designs.blocks",
    "Loss": "distmom.designs.loss",
    "MahalanobisMetric": "distmom.estimators.learn.metric",
    "Match": "distmom.designs.match",
    "MeanAccumulator": "distmom.estimators.mean.accumulator",
    "MeanResult": "distmom.report",
    "PairwiseRanker": "distmom.estimators.learn.ranker",
    "Permutations": "distmom.designs.permutations",
    "Processes": "distmom.cluster.executors.backends",
    "RandomBlocks": "distmom.designs.blocks",
    "Results": "distmom.report",
    "RobustKMeans": "distmom.estimators.learn.kmeans",
    "RobustLinearRegression": "distmom.estimators.learn.linear",
    "RobustLogisticRegression": "distmom.estimators.learn.linear",
    "RobustMinimizer": "distmom.estimators.learn.minimizer",
    "SampledBlocks": "distmom.designs.blocks",
    "SampledPairs": "distmom.designs.pairs",
    "Scan": "distmom.passes.scan",
    "StoredBlocks": "distmom.designs.blocks",
    "Threads": "distmom.cluster.executors.backends",
    "State": "distmom.state",
    "TournamentResult": "distmom.report",
    "TrainResult": "distmom.report",
    "UStatisticResult": "distmom.report",
    "UnitBlocks": "distmom.designs.blocks",
    "VectorResult": "distmom.report",
    "__version__": "distmom.version",
    "check_output": "distmom.report",
    "compare": "distmom.estimators.compare.compare",
    "describe": "distmom.estimators.describe.describe",
    "difference": "distmom.estimators.difference.difference",
    "explain": "distmom.estimators.command",
    "kernels": "distmom.kernels",
    "load_model": "distmom.estimators.learn.model_files",
    "mean": "distmom.estimators.mean.mean",
    "merge_states": "distmom.estimators.mean.merge_states",
    "options": "distmom.estimators.session",
    "robust_scorer": "distmom.estimators.scorer",
    "save_model": "distmom.estimators.learn.model_files",
    "scan": "distmom.passes.scan",
    "tournament": "distmom.estimators.tournament.tournament",
    "train": "distmom.estimators.learn.train",
    "ustatistic": "distmom.estimators.ustat.ustatistic",
    "write_results": "distmom.report",
    "writing": "distmom.lake.files.outputs",
}


def __getattr__(name: str) -> Any:
    # public names are loaded when they are first used: `import distmom` stays quick
    if name not in _HOMES:
        told = f"module 'distmom' has no attribute {name!r}"
        raise AttributeError(told, name=name, obj=sys.modules[__name__])  # Python suggests another
    from importlib import import_module

    try:
        home = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        return _stand_in(name)  # so that hasattr, help and "import *" work
    value = home if name == "kernels" else getattr(home, "VERSION" if name == "__version__" else name)
    if not _HOMES[name].startswith("distmom.report") or not isinstance(value, type):  # results, made by us
        from distmom.keywords import answering

        value = answering(value)
    globals()[name] = value
    return value


def _stand_in(name: str) -> Any:
    """Stands for a class or function of the learners if scikit-learn is not installed."""

    def __new__(*args: Any, **kwargs: Any) -> Any:
        raise ImportError(f"distmom.{name} needs scikit-learn: pip install 'distmom[learn]'")

    return type(
        name, (), {"__new__": __new__, "__doc__": "Needs scikit-learn: pip install 'distmom[learn]'."}
    )


def __dir__() -> list[str]:
    return sorted(__all__)
