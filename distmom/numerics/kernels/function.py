"""Kernels that users write: a plain function, NumPy-vectorised or compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import Floats
from distmom.numerics.random import uniform

_TRIED = 12  # rows on which a function is tried
_TOLERANCE = 1e-9


@lru_cache(maxsize=64)
def _dispatcher(function: Callable[..., Any], degree: int, symmetrize: bool) -> Any:
    from distmom.numerics import functions_compiled

    return functions_compiled.compile_function(function, degree, symmetrize)


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A user's function of two or three rows; made by `kernel`.

    Attributes
    ----------
    function : callable
    taken : tuple of int
        The kernel's degrees.
    width : int or None
        The kernel's columns.
    inlined : bool
        The function is compiled and takes single rows; else it takes arrays of rows.
    symmetrized : bool
        Values are averaged over all orders of the rows of a sample.
    """

    function: Callable[..., Any]
    taken: tuple[int, ...]
    width: int | None
    inlined: bool
    symmetrized: bool

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def degrees(self) -> tuple[int, ...]:
        """Rows taken from each sample."""
        return self.taken

    @property
    def columns(self) -> int | None:
        """Columns of a row."""
        return self.width

    @property
    def compiled(self) -> Any | None:
        """The function as Numba compiles it."""
        return _dispatcher(self.function, sum(self.taken), self.symmetrized) if self.inlined else None

    def value(self, *rows: Floats) -> Floats:
        """The function, averaged over all orders of its arguments if asked for."""
        axes = 0 if self.width == 1 else 1
        shape = np.broadcast_shapes(*(row.shape[: row.ndim - axes] for row in rows))
        if self.inlined:
            from distmom.numerics import functions_compiled

            flat = [np.broadcast_to(row, (*shape, *row.shape[row.ndim - axes :])) for row in rows]
            lines = [np.ascontiguousarray(row.reshape(-1, *row.shape[len(shape) :])) for row in flat]
            return np.asarray(functions_compiled.values(self.compiled, lines, shape))
        with np.errstate(all="ignore"):
            if not self.symmetrized:
                return self._call(rows, shape)
            orders = [self._call(order, shape) for order in permutations(rows)]
            return np.asarray(sum(orders[1:], start=orders[0]) / len(orders))

    def _call(self, rows: tuple[Floats, ...], shape: tuple[int, ...]) -> Floats:
        found = np.asarray(self.function(*rows))
        if found.shape != shape:
            raise ConfigError(
                f"kernel {self.name!r} must give one value for each tuple of rows, shape {shape}, "
                f"got {found.shape}; write it with NumPy's functions, "
                "or pass compiled=True for a function of single rows"
            )
        return found.astype(np.float64)

    def check(self, *samples: Floats) -> None:
        """Refuse a function whose value depends on the order of rows of one sample.

        Raises
        ------
        ConfigError
            If two orders of some of the first sample's rows have different values.
        """
        if self.symmetrized or len(self.taken) > 1:
            return
        x = samples[0]
        rows = x[np.unique(np.linspace(0, x.shape[0] - 1, min(_TRIED, x.shape[0])).astype(np.int64))]
        degree = self.taken[0]
        places = [tuple(np.s_[:] if axis == own else None for axis in range(degree)) for own in range(degree)]
        values = self.value(*(rows[place] for place in places))
        for order in permutations(range(degree)):
            other = values.transpose(order)
            with np.errstate(invalid="ignore", over="ignore"):
                close = np.abs(values - other) <= _TOLERANCE * (np.abs(values) + np.abs(other))
            if not (close | (values == other) | np.isnan(values) | np.isnan(other)).all():
                raise ConfigError(
                    f"kernel {self.name!r} must not depend on the order of its rows, but does; "
                    "pass symmetrize=True to average over all orders, or n_samples=2 for rows of two samples"
                )


def kernel(
    function: Callable[..., Any],
    degree: int = 2,
    n_samples: int = 1,
    *,
    columns: int | None = 1,
    symmetric: bool = True,
    symmetrize: bool = False,
    compiled: bool = False,
) -> FunctionKernel:
    """A kernel from a plain function of two or three rows.

    Parameters
    ----------
    function : callable
        Takes `degree` rows and returns a number. With ``compiled=False`` it is written with NumPy and takes
        arrays of rows that broadcast, shape (..., ) for one column and (..., columns) for more, and returns
        one value for each. With ``compiled=True`` it takes single rows (a float, or an array of the columns)
        and is compiled by Numba (or is so already) into the loop over pairs; this takes about a second in
        each process.
    degree : {2, 3}
        Number of rows it takes in all.
    n_samples : {1, 2}
        2: the first row is of the first sample, the other one of the second (degree 2 only).
    columns : int or None
        Columns of a row; None for any number.
    symmetric : bool
        The value does not depend on the order of rows of one sample. It is tried on a few rows.
    symmetrize : bool
        Average the function over all orders of its rows.
    compiled : bool

    Returns
    -------
    Kernel

    Raises
    ------
    ConfigError
        If an argument is not as above, if the function fails on rows of numbers between -2 and 2 or gives
        arrays of another shape, or if it depends on the order of its rows and `symmetrize` is not set.

    Notes
    -----
    Its U-statistic is taken over all pairs, tile by tile: O(n^2) time, O(n) memory (triples: O(n^3)).

    Examples
    --------
    >>> import numpy as np
    >>> kernel(lambda a, b: np.abs(a - b) > 1.0).degrees
    (2,)
    """
    if not callable(function):
        raise ConfigError(
            f"function must be callable, got {type(function).__name__}; pass a function of two rows"
        )
    if (degree, n_samples) not in ((2, 1), (3, 1), (2, 2)):
        raise ConfigError(
            f"degree and n_samples must be (2, 1), (3, 1) or (2, 2), got ({degree}, {n_samples}); "
            "a function takes two or three rows of one sample, or one row of each of two"
        )
    if columns is not None and (not isinstance(columns, int) or columns < 1):
        raise ConfigError(
            f"columns must be a positive integer or None, got {columns!r}; count those of a row"
        )
    if not symmetric and not symmetrize and n_samples == 1:
        raise ConfigError(
            "symmetric=False needs symmetrize=True, got False; a U-statistic is about functions that do not "
            "depend on the order of their rows"
        )
    made = FunctionKernel(function, (degree,) if n_samples == 1 else (1, 1), columns, compiled, symmetrize)
    sample = made.as_sample(4.0 * uniform(0, 0, _TRIED * (columns or 2)).reshape(_TRIED, -1) - 2.0)
    try:
        made.value(*(sample for _ in range(degree)))
        made.check(sample)
    except ConfigError:
        raise
    except Exception as cause:
        raise ConfigError(
            f"kernel {made.name!r} failed on rows of numbers between -2 and 2 ({type(cause).__name__}: "
            f"{(str(cause).strip() or 'no message').splitlines()[0]}); "
            f"it must take rows as described for compiled={compiled}"
        ) from cause
    return made
