"""The eight figures of empirical quantiles: the deviation that the share delta of samples exceeds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pipelines.paper.laws import Law, samples
from pipelines.paper.rows import ROWS

DELTAS = tuple(0.5 * 0.5**power for power in range(6))
"""A geometric grid; each estimator is run anew for each, with the delta that decides its blocks."""


def quantiles(law: Law, replications: int, costly: int, seed: int) -> pa.Table:
    """Deviation of each estimator under a law for each delta; the lower median.

    Rows of incomplete pairs have `costly` samples, or are left out if that is 0.
    """
    records = []
    for number, delta in enumerate(DELTAS):
        data = samples(law, replications, seed, 2, number)
        for row in ROWS:
            if row.costly and not costly:
                continue
            used = data[:costly] if row.costly else data
            found, n_blocks = row.estimates(used, delta, captioned=False, seed=seed)
            target = law.mean if row.table == "mean" else law.variance
            records.append(
                {
                    "table": row.table,
                    "row": row.name,
                    "law": law.name,
                    "delta": delta,
                    "n_blocks": n_blocks,
                    "replications": len(used),
                    "quantile": float(np.quantile(np.abs(found - target), 1.0 - delta)),
                }
            )
    return pa.Table.from_pylist(records)
