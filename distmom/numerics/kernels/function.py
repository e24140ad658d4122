"""Kernels that users write: a plain function, NumPy-vectorised or compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise, permutations, product
from typing import Any

import numpy as np

from distmom.errors import ConfigError, place_of
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.random.philox import uniform
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin("distmom.numerics.pairs.functions")

_TRIED = 12  # rows on which a function is tried
MOST_TRIED = 1 << 15
"""Approximate number of tuples of rows on which a function is tried."""

MOST_ROWS, MOST_COMPILED = 8, 3
"""Most rows that a function takes in all: eight arguments have 40,320 orders."""
_TOLERANCE = 1e-9


@lru_cache(maxsize=64)
def _dispatcher(function: Callable[..., Any], taken: tuple[int, ...], symmetrize: bool) -> Any:
    return _kernels.compile_function(function, taken, symmetrize)


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A user's function of a few rows; made by `kernel`.

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
        return _dispatcher(self.function, self.taken, self.symmetrized) if self.inlined else None

    def value(self, *rows: Floats) -> Floats:
        """The function, averaged over all orders of its arguments if asked for."""
        axes = 0 if self.width == 1 else 1
        shape = np.broadcast_shapes(*(row.shape[: row.ndim - axes] for row in rows))
        if self.inlined:
            flat = [np.broadcast_to(row, (*shape, *row.shape[row.ndim - axes :])) for row in rows]
            lines = [np.ascontiguousarray(row.reshape(-1, *row.shape[len(shape) :])) for row in flat]
            return np.asarray(_kernels.values(self.compiled, lines, shape))
        with np.errstate(all="ignore"):
            if not self.symmetrized:
                return self._call(rows, shape)
            orders = [self._call(tuple(rows[i] for i in order), shape) for order in self._orders()]
            return np.asarray(sum(orders[1:], start=orders[0]) / len(orders))

    def _orders(self) -> Iterator[tuple[int, ...]]:
        """All orders of the arguments within each sample."""
        starts = np.cumsum((0, *self.taken)).tolist()
        samples = [permutations(range(*both)) for both in pairwise(starts)]
        return (tuple(chain.from_iterable(orders)) for orders in product(*samples))

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
            If swapping two neighbouring arguments of one sample changes the value, for some rows.
        """
        if self.symmetrized or max(self.taken) == 1:
            return
        whole = sum(self.taken)
        of = np.repeat(np.arange(len(self.taken)), self.taken)
        tried = max(3, min(_TRIED, round(MOST_TRIED ** (1.0 / whole))))
        rows = [
            x[np.unique(np.linspace(0, len(x) - 1, min(tried, len(x))).astype(np.int64))] for x in samples
        ]
        places = [tuple(np.s_[:] if axis == own else None for axis in range(whole)) for own in range(whole)]
        values = self.value(*(rows[sample][place] for sample, place in zip(of, places, strict=True)))
        for axis in range(whole - 1):
            if of[axis] != of[axis + 1]:
                continue
            other = values.swapaxes(axis, axis + 1)
            with np.errstate(invalid="ignore", over="ignore"):
                close = np.abs(values - other) <= _TOLERANCE * (np.abs(values) + np.abs(other))
            if not (close | (values == other) | np.isnan(values) | np.isnan(other)).all():
                raise ConfigError(
                    f"kernel {self.name!r} must not depend on the order of its rows, but does; "
                    "pass symmetrize=True to average over all orders, or n_samples=2 for rows of two samples"
                )


def kernel(
    function: Callable[..., Any],
    degree: int | Sequence[int] = 2,
    n_samples: int = 1,
    *,
    columns: int | None = 1,
    symmetric: bool = True,
    symmetrize: bool = False,
    compiled: bool = False,
) -> FunctionKernel:
    """A kernel from a plain function of a few rows.

    Parameters
    ----------
    function : callable
        Takes `degree` rows and returns a number. With ``compiled=False`` it uses NumPy, takes arrays of
        rows that broadcast, shape (..., ) for one column and (..., columns) for more, and returns
        one value for each. With ``compiled=True`` it takes single rows (a float, or an array of the columns)
        and is compiled by Numba (unless it already is) into the loop over pairs; this takes about a second in
        each process.
    degree : int or sequence of int
        Number of rows it takes in all, at most eight; for several samples the rows of each, such as
        ``(2, 1)``: two rows of the first sample, then one of the second. Compiled functions take two or three
        rows in all.
    n_samples : int
        Number of samples, if `degree` is a number: one row of each, ``degree=2, n_samples=2`` is ``(1, 1)``.
    columns : int or None
        Columns of a row; None for any number.
    symmetric : bool
        The value does not depend on the order of rows of one sample. This is checked on a few rows.
    symmetrize : bool
        Average the function over all orders of its rows.
    compiled : bool

    Returns
    -------
    Kernel

    Raises
    ------
    ConfigError
        If an argument is not as above, if the function fails on rows of numbers between -2 and 2 or returns
        arrays of another shape, or if it depends on the order of its rows and `symmetrize` is not set.

    Notes
    -----
    Its U-statistic is evaluated over all pairs, tile by tile: O(n^2) time, O(n) memory. With other degrees
    all tuples are evaluated: O(n^3) time for triples, more for larger tuples; use small blocks.

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
    taken = _degrees(degree, n_samples, compiled=compiled)
    if columns is not None and (not isinstance(columns, int) or columns < 1):
        raise ConfigError(
            f"columns must be a positive integer or None, got {columns!r}; count those of a row"
        )
    if not symmetric and not symmetrize and max(taken) > 1:
        raise ConfigError(
            "symmetric=False needs symmetrize=True, got False; a U-statistic is about functions that do not "
            "depend on the order of their rows"
        )
    made = FunctionKernel(function, taken, columns, compiled, symmetrize)
    sample = made.as_sample(4.0 * uniform(0, 0, _TRIED * (columns or 2)).reshape(_TRIED, -1) - 2.0)
    try:
        made.value(*(sample for _ in range(sum(taken))))
        made.check(*(sample for _ in taken))
    except ConfigError:
        raise
    except Exception as cause:
        said = (str(cause).strip() or "no message").splitlines()[0]
        place = place_of(cause)
        remedy = (
            "it must take single rows, and do only what Numba compiles"
            if compiled
            else "write it with NumPy's functions for arrays of rows, or pass compiled=True if it takes "
            "single rows"
        )
        raise ConfigError(
            f"kernel {made.name!r} failed on rows of numbers between -2 and 2 ({type(cause).__name__}: "
            f"{said}{', in ' * bool(place)}{place}); {remedy}"
        ) from cause
    return made


def _degrees(degree: Any, n_samples: Any, *, compiled: bool) -> tuple[int, ...]:
    """Rows taken from each sample; ConfigError if they are invalid."""
    several = isinstance(degree, Sequence) and not isinstance(degree, str)
    taken = tuple(degree) if several else (degree,) if n_samples == 1 else (1,) * n_samples
    good = all(isinstance(d, int) and not isinstance(d, bool) and d > 0 for d in taken)
    if not several and good:
        good = n_samples in (1, degree)
    elif several and good:
        good = n_samples in (1, len(taken))
    if not good or not 2 <= sum(taken) <= MOST_ROWS:
        raise ConfigError(
            f"degree and n_samples must make 2 to {MOST_ROWS} rows, got ({degree}, {n_samples}); a function "
            "takes some rows of one sample, one of each of several, or with degree=(2, 1) what that says"
        )
    if compiled and sum(taken) > MOST_COMPILED:
        raise ConfigError(
            f"degree: compiled functions take two or three rows in all, got {sum(taken)}; use compiled=False"
        )
    return taken
