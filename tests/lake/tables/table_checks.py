"""What a table should answer, by the library that wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

import distmom as dm


def check_mean(data: Any, values: Iterable[float | None], column: str = "x", **options: Any) -> Any:
    """The sample mean and the counts are those of these values; the result is given back."""
    known = list(values)
    numbers = np.array([value for value in known if value is not None], float)
    result: Any = dm.mean(data, column, blocks=1, **options)
    used = numbers[~np.isnan(numbers)]
    counts = result.n_rows, result.n_null, result.n_nan, result.n_used
    assert counts == (len(known), len(known) - numbers.size, numbers.size - used.size, used.size)
    np.testing.assert_allclose(result.plain_estimate, used.mean(), rtol=1e-12)
    return result


def column(table: pa.Table, name: str = "x") -> list[Any]:
    found: list[Any] = table.column(name).to_pylist()
    return found


def rows(n: int, seed: int = 0) -> pa.Table:
    """Heavy tails, nulls, NaN, keys."""
    g = np.random.default_rng(seed)
    x = g.standard_t(3, n)
    x[g.random(n) < 0.05] = np.nan
    return pa.table(
        {
            "x": pa.array(x, mask=g.random(n) < 0.1),
            "key": pa.array(g.choice(["a", "b/c", "ü"], n)),
            "day": pa.array(g.integers(0, 3, n, dtype=np.int32), pa.date32()),
        }
    )
