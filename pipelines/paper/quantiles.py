"""The eight figures of empirical quantiles: the deviation that the share delta of samples exceeds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pipelines.paper.chunks import Run, Wanted, estimates
from pipelines.paper.distributions import DISTRIBUTIONS
from pipelines.paper.rows import ROWS

DELTAS = tuple(0.5 * 0.5**power for power in range(6))
"""A geometric grid; each estimator is run anew for each, with the delta that decides its blocks."""


def quantiles(run: Run, replications: int, costly: int, seed: int) -> pa.Table:
    """Deviation of each estimator under each distribution for each delta; the lower median.

    Rows of incomplete pairs have `costly` samples, or are left out if that is 0.
    """
    numbers = [
        (row, distribution, delta, (2, number), costly if row.costly else replications)
        for distribution in DISTRIBUTIONS
        for number, delta in enumerate(DELTAS)
        for row in ROWS
        if costly or not row.costly
    ]
    wanted = [
        Wanted(row.name, distribution.name, stream, most, delta)
        for row, distribution, delta, stream, most in numbers
    ]
    records = []
    for (row, distribution, delta, *_), (found, n_blocks) in zip(
        numbers, estimates(run, wanted, seed), strict=True
    ):
        target = distribution.mean if row.table == "mean" else distribution.variance
        records.append(
            {
                "table": row.table,
                "row": row.name,
                "distribution": distribution.name,
                "delta": delta,
                "n_blocks": n_blocks,
                "replications": len(found),
                "quantile": float(np.quantile(np.abs(found - target), 1.0 - delta)),
            }
        )
    return pa.Table.from_pylist(records)
