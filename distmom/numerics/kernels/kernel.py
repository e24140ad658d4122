"""The base class of kernels: those of the catalogue and users' own functions."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.errors import ConfigError
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.sums import Mass, PairSums, Value

Weights: TypeAlias = tuple[Floats, ...] | None


class Inlined(NamedTuple):
    """How compiled tiles identify a kernel: by a name in the table of ``tiles_compiled.py``, and parameters.

    If `labelled`, the first column of the rows is a label.
    """

    name: str
    parameters: tuple[float, ...] = ()
    labelled: bool = False


class Part(NamedTuple):
    """One U-statistic of a statistic that combines several, and its samples."""

    kernel: Kernel
    samples: tuple[int, ...]


class Kernel:
    """A symmetric function of a few rows, whose mean over all tuples of rows is a U-statistic.

    Subclasses are frozen dataclasses of their parameters: hashable, picklable, without closures.

    Attributes
    ----------
    name : str
    degrees : tuple of int
        Rows that the function takes from each sample: ``(2,)`` pairs, ``(3,)`` triples, ``(1, 1)`` one row of
        each of two samples, ``(2, 2)`` two of each.
    columns : int or None
        Columns of a row. 1: samples have shape (n,). More: shape (n, columns). None: any number, at least
        `least_columns`, shape (n, c).
    """

    @property
    def name(self) -> str:
        """Name in the catalogue."""
        raise NotImplementedError

    @property
    def degrees(self) -> tuple[int, ...]:
        """Rows taken from each sample."""
        return (2,)

    @property
    def columns(self) -> int | None:
        """Columns of a row."""
        return 1

    @property
    def least_columns(self) -> int:
        """The fewest columns, if any number is allowed."""
        return 1

    @property
    def parts(self) -> tuple[Part, ...]:
        """The U-statistics that `combine` combines; a simple kernel is its own only part."""
        return (Part(self, tuple(range(len(self.degrees)))),)

    def combine(self, *means: Value) -> Value:
        """The statistic from the means of its parts; broadcasts over arrays of means."""
        (mean,) = means
        return mean

    def linear(self, at: tuple[Value, ...], means: tuple[Value, ...]) -> Value:
        """`combine` of the means, to first order about other means: averages of it are exact."""
        return self.combine(*means)

    def from_covariance(self, matrix: Floats) -> tuple[Value, ...] | None:
        """Means of the parts from covariance matrices (..., c, c), if these suffice; else None."""
        return None

    def shape(self, columns: int) -> tuple[int, ...]:
        """Shape of a value for rows of `columns` columns: () unless the kernel is a vector or a matrix."""
        return ()

    def value(self, *rows: Floats) -> Floats:
        """The function itself, one argument for each row of a tuple; leading axes broadcast.

        The reference form: tests compare with it, and tiles use it if nothing is compiled.
        """
        raise NotImplementedError(f"{self.name} has no value of its own; use its parts")

    def prepare(self, sample: Floats) -> Floats:
        """Rows in the form that `prepared_value` and the compiled tiles need, transformed once per row."""
        return sample

    def prepared_value(self, *rows: Floats) -> Floats:
        """`value` of rows that went through `prepare`."""
        return self.value(*rows)

    @property
    def compiled(self) -> Any | None:
        """The function that compiled tiles inline: one of their own, `Inlined`, or one that Numba compiled.

        None: tiles are made with NumPy.
        """
        return None

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums | None:
        """The exact fast form of the U-statistic of a block; None if there is none (then use tiles).

        Parameters
        ----------
        *samples : ndarray of float64
            Without NaN; each with at least as many rows as its degree.
        rows : bool
            Whether row means are wanted; without them sorted forms are faster.
        weights : tuple of ndarray, optional
            Non-negative weights of the rows of each sample.
        """
        return None

    def complete_between(
        self, x: Floats, y: Floats, *, rows: bool = True, weights: Weights = None
    ) -> PairSums | None:
        """The same for a kernel of pairs with rows from two samples."""
        return None

    def v_form(self, sums: PairSums, *samples: Floats, weights: Weights = None) -> PairSums:
        """The V-form (rows may repeat in a tuple) from the U-form of the same samples.

        Raises
        ------
        ConfigError
            If the kernel takes more than two rows of a sample and has no V-form of its own.
        """
        if max(self.degrees) == 1:
            return sums
        if self.degrees != (2,):
            raise ConfigError(f"kernel {self.name!r} has no V-form; use statistic='u'")
        x = samples[0]
        mass = Mass(x.shape[0], None if weights is None else weights[0])
        return mass.with_diagonal(sums, self.value(x, x))

    def check(self, *samples: Floats) -> None:
        """Refuse a function that is no kernel, as far as the samples show; the catalogue needs no check."""

    def check_columns(self, columns: int) -> None:
        """Refuse samples whose rows have another number of columns than the kernel takes.

        Raises
        ------
        ConfigError
            If `columns` is not `self.columns`, or fewer than `self.least_columns` if any number is allowed.
        """
        if self.columns is None:
            if columns < self.least_columns:
                raise ConfigError(
                    f"kernel {self.name!r} takes at least {self.least_columns} columns, got {columns}; "
                    "name the missing ones"
                )
        elif columns != self.columns:
            takes = "1 column" if self.columns == 1 else f"{self.columns} columns"
            raise ConfigError(
                f"kernel {self.name!r} takes {takes}, got {columns}; choose the columns it is about"
            )

    def as_sample(self, sample: NDArray[Any]) -> Floats:
        """A sample in the shape that the kernel needs, as C-contiguous float64."""
        rows = np.ascontiguousarray(sample, np.float64)
        if self.columns == 1 and rows.ndim == 2 and rows.shape[1] == 1:
            return rows.reshape(-1)
        if self.columns != 1 and rows.ndim == 1:
            return rows.reshape(-1, 1)
        return rows


class Ratio(Kernel):
    """A statistic that divides one U-statistic by others: N / D, or N / sqrt(D1 D2).

    Not a U-statistic itself, hence no `value`. A block with denominator 0 has the value NaN: it is
    non-finite. Its parts' means define the linearised kernel ``h_N - R h_D``, whose mean is 0 at the true
    ratio R.
    """

    def combine(self, *means: Value) -> Value:
        """The ratio of the means of its parts."""
        numerator, *denominators = means
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            below = denominators[0]
            if len(denominators) == 2:
                below = np.sqrt(denominators[0] * denominators[1])
            ratio = np.divide(numerator, np.where(below == 0.0, np.nan, below))
        return ratio[()] if isinstance(ratio, np.ndarray) else ratio

    def linear(self, at: tuple[Value, ...], means: tuple[Value, ...]) -> Value:
        """``R + (h_N - R h_D) / D``, R the ratio there; half of each of two denominators."""
        ratio, power = self.combine(*at), 1.0 / (len(at) - 1)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            below = at[1] if len(at) == 2 else np.sqrt(at[1] * at[2])
            moved = (means[0] - at[0]) / np.where(below == 0.0, np.nan, below)
            for one, other in zip(at[1:], means[1:], strict=True):
                moved = moved - power * ratio * (other - one) / np.where(one == 0.0, np.nan, one)
            return ratio + moved


def is_quotient(kernel: Kernel) -> bool:
    """Whether the statistic is one U-statistic over another, N/D."""
    return isinstance(kernel, Ratio) and len(kernel.parts) == 2
