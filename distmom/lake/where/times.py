"""Columns of dates and timestamps compared with each other exactly, whatever their units and zones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import types as patypes

from distmom.lake.columns.convert import boolean_array, valid_rows
from distmom.lake.columns.times import stored_counts
from distmom.lake.where.nodes import COMPARISONS, Operator
from distmom.numerics.arrays import Bools


def is_time_count(type_: pa.DataType) -> bool:
    """Whether values of a type are counts since 1970, or of a duration."""
    return bool(patypes.is_date(type_) or patypes.is_timestamp(type_) or patypes.is_duration(type_))


def compare_times(operator: Operator, left: pa.Array, right: pa.Array) -> pa.Array:
    """Outcomes in all rows, null where a side is null; an array of length one is the same in all rows.

    Counts of the coarser unit are compared with those of the finer one divided by how many make one, and
    where these agree with what is left over: no count has to be multiplied beyond int64.
    """
    (a, per_a), (b, per_b) = stored_counts(left), stored_counts(right)
    unit = max(per_a, per_b)
    whole_a, rest_a = np.divmod(a, unit // per_a)
    whole_b, rest_b = np.divmod(b, unit // per_b)
    # the sign of the difference, compared with that of none
    order = np.where(whole_a == whole_b, _sign(rest_a * per_a, rest_b * per_b), _sign(whole_a, whole_b))
    outcome: Bools = np.asarray(COMPARISONS[operator](order, 0))
    known: Bools | None = None
    for side in (left, right):
        valid = valid_rows(side)
        if valid is not None:
            known = np.broadcast_to(valid, outcome.shape) if known is None else known & valid
    return boolean_array(outcome, known)


def _sign(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a > b).astype(np.int8) - (a < b).astype(np.int8)
