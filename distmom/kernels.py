"""Kernels of U-statistics: the catalogue, and kernels built from your own functions.

Each function here returns a small object for ``kernel=`` options; ``named("gini")`` returns the same object
by name.
"""

from distmom.keywords import answering
from distmom.numerics.kernels.catalogue import (
    KERNELS,
    auc,
    clustering,
    concordance,
    correlation,
    covariance,
    distance,
    energy,
    gini,
    kendall,
    kendall_b,
    laplace,
    mahalanobis,
    mean_difference,
    mmd,
    ranking,
    rbf,
    squared_distance,
    third_moment,
    variance,
)
from distmom.numerics.kernels.function import kernel
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.named import named

__all__ = [
    "KERNELS",
    "Kernel",
    "auc",
    "clustering",
    "concordance",
    "correlation",
    "covariance",
    "distance",
    "energy",
    "gini",
    "kendall",
    "kendall_b",
    "kernel",
    "laplace",
    "mahalanobis",
    "mean_difference",
    "mmd",
    "named",
    "ranking",
    "rbf",
    "squared_distance",
    "third_moment",
    "variance",
]

for _name in __all__:
    if callable(globals()[_name]) and not isinstance(globals()[_name], type):
        globals()[_name] = answering(globals()[_name], "kernels.")
