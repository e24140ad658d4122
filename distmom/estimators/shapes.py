"""What is said of data in memory whose columns do not fit: there are mostly more of them than rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from distmom.errors import ResourceError


@contextmanager
def telling_shapes(question: Any) -> Iterator[None]:
    """Let an error about memory name the shape of data that has more columns than rows."""
    try:
        yield
    except ResourceError as error:
        samples = [one.scan for one in getattr(question, "samples", None) or ()]
        scans = (*samples, *getattr(question, "scans", ()), getattr(question, "scan", None))
        told = next(filter(None, (_wide(getattr(scan, "data", None)) for scan in scans)), None)
        if told is not None:
            error.args = (f"data: {told} ({error})",)
        raise


def _wide(data: Any) -> str | None:
    """What is wrong with the shape of an array or frame, and what to do; None for others."""
    shape = getattr(data, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or not all(isinstance(n, int) for n in shape):
        return None
    n_rows, n_columns = shape
    if n_columns <= n_rows:
        return None
    remedy = "name the columns that are wanted, or transpose it"
    if isinstance(data, np.ndarray):
        remedy = f"for one column of all values give x.reshape(-1), for {n_rows:,} columns x.T"
    return f"has {n_rows:,} rows and {n_columns:,} columns, each with a state of its own; {remedy}"
