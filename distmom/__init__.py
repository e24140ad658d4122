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
    from distmom.estimators.accumulator import MeanAccumulator
    from distmom.estimators.describe import describe
    from distmom.estimators.difference import difference
    from distmom.estimators.explain import explain_mean
    from distmom.estimators.explain_ustat import explain_ustatistic
    from distmom.estimators.mean import mean
    from distmom.estimators.merge_states import merge_states
    from distmom.estimators.plan import plan
    from distmom.estimators.scorer import robust_scorer
    from distmom.estimators.shuffle import explain_shuffle, shuffle
    from distmom.estimators.ustatistic import ustatistic
    from distmom.report import (
        ColumnProfile,
        DescribeResult,
        DifferenceResult,
        MeanResult,
        PlanResult,
        Results,
        ShuffleResult,
        UStatisticResult,
        VectorResult,
        check_output,
        write_results,
    )

__all__ = [
    "BadFileError",
    "ColumnProfile",
    "ConfigError",
    "DataError",
    "DescribeResult",
    "DifferenceResult",
    "DistmomError",
    "MeanAccumulator",
    "MeanResult",
    "NoAnswerError",
    "PlanResult",
    "ResourceError",
    "Results",
    "ShuffleResult",
    "UStatisticResult",
    "VectorResult",
    "__version__",
    "check_output",
    "describe",
    "difference",
    "explain_mean",
    "explain_shuffle",
    "explain_ustatistic",
    "kernels",
    "mean",
    "merge_states",
    "plan",
    "robust_scorer",
    "shuffle",
    "ustatistic",
    "write_results",
]

_HOMES = {
    "ColumnProfile": "distmom.report",
    "DescribeResult": "distmom.report",
    "DifferenceResult": "distmom.report",
    "MeanAccumulator": "distmom.estimators.accumulator",
    "MeanResult": "distmom.report",
    "PlanResult": "distmom.report",
    "Results": "distmom.report",
    "ShuffleResult": "distmom.report",
    "UStatisticResult": "distmom.report",
    "VectorResult": "distmom.report",
    "__version__": "distmom.estimators.versions",
    "check_output": "distmom.report",
    "describe": "distmom.estimators.describe",
    "difference": "distmom.estimators.difference",
    "explain_mean": "distmom.estimators.explain",
    "explain_shuffle": "distmom.estimators.shuffle",
    "explain_ustatistic": "distmom.estimators.explain_ustat",
    "kernels": "distmom.kernels",
    "mean": "distmom.estimators.mean",
    "merge_states": "distmom.estimators.merge_states",
    "plan": "distmom.estimators.plan",
    "robust_scorer": "distmom.estimators.scorer",
    "shuffle": "distmom.estimators.shuffle",
    "ustatistic": "distmom.estimators.ustatistic",
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
