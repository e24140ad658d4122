"""Far rows that form a cluster: a finding, not damage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from distmom.estimators.learn.scale import robust_scale
from distmom.numerics.arrays import Floats
from distmom.report.far_rows import FarRows
from distmom.solvers.lloyd import centres_of, together


def far_clusters(
    columns: Sequence[str], cuts: Mapping[str, FarRows], features: Floats, k: int, seed: int
) -> list[str]:
    """Columns whose far rows lie as close together as rows of the clusters of the other rows.

    Examples
    --------
    >>> import numpy as np
    >>> g = np.random.default_rng(0)
    >>> far = FarRows("screened out", 99, 0.1, (0.1, 0.1), 900, -np.inf, 50.0, (), None)
    >>> x = g.normal(size=(1_000, 2))
    >>> x[:100, 0] += 99.0
    >>> scattered = np.where(np.arange(1_000)[:, None] < 100, 99.0 * x, x)
    >>> [far_clusters("xy", {"x": far}, rows, 1, 0) for rows in (x, scattered)]
    [['x'], []]
    """
    found = []
    for name, cut in cuts.items():
        values = features[:, columns.index(name)]
        far = (values <= cut.low) | (values >= cut.high)
        others = features[~far]
        if far.any() and len(others) >= k:
            scale = robust_scale(others, None)
            cap = centres_of(scale.features(others), k, 1, seed).cap
            if together(scale.features(features[far]), cap):
                found.append(name)
    return found
