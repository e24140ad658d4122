"""Values of results: converted for JSON, and compared bit for bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from distmom.lake.columns.times import duration_text

TIMED = ("step_seconds", "step_seconds_")
"""Times measured by a learner, which differ between equal learners."""


def same(a: Any, b: Any) -> bool:
    """Whether two values agree in every bit: NaN equals NaN, and 0.0 is not -0.0."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype.hasobject:
            return bool(a.dtype == b.dtype) and same(a.tolist(), b.tolist())
        # the sign of a NaN depends on its origin, and is meaningless
        if a.dtype.kind == b.dtype.kind == "f":
            a, b = (np.where(np.isnan(v), np.nan, v) for v in (a, b))
        return bool(a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()  # distinguishes 0.0 from -0.0, and treats NaN as equal to NaN
    if type(a) is not type(b):
        return False
    # objects compared by identity (such as a learner) or by fields that may be arrays
    of_fields = getattr(getattr(a, "__dataclass_params__", None), "eq", False)
    if hasattr(a, "__dict__") and (of_fields or getattr(type(a), "__eq__", None) is object.__eq__):
        return same(*({k: v for k, v in vars(one).items() if k not in TIMED} for one in (a, b)))
    return bool(a == b)


def plain(value: Any) -> Any:
    """The value in a form for JSON: no NaN or infinity, dates as ISO text, tuples and arrays as lists."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "to_dict"):  # a record within a result
        return plain(value.to_dict())
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return duration_text(value // timedelta(microseconds=1), 10**6)
    if isinstance(value, str):
        return str(value)  # without the further attributes of a `Status`
    if value is None or isinstance(value, (bool, int)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
