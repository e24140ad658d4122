"""The statistic of one block: each part by its fast form if it has one, else tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel, Part, Weights
from distmom.numerics.kernels.sums import PairSums, count_tuples
from distmom.numerics.pairs.tiles import tiled_sums
from distmom.numerics.pairs.tuple_sums import triple_sums, tuple_sums

Form = Literal["u", "v"]
Tiles = Callable[..., PairSums]
"""As `tiled_sums`."""


def block_sums(
    kernel: Kernel,
    *samples: Floats,
    form: Form = "u",
    rows: bool = True,
    weights: Weights = None,
    tiles: Tiles = tiled_sums,
) -> tuple[PairSums, ...]:
    """The U-statistics (or V-statistics) of a block, one for each of the kernel's parts.

    Parameters
    ----------
    kernel : Kernel
    *samples : ndarray of float64
        One for each entry of ``kernel.degrees``, in the shape of `Kernel.as_sample`, without NaN.
    form : {"u", "v"}
        Whether a row may occur twice in a tuple of rows of one sample ("v"). Pairs of one row from each of
        two samples are the same in both forms.
    rows : bool
        Whether row means are wanted; sorted forms and cheap kernels are faster without.
    weights : tuple of ndarray, optional
        Non-negative weights of the rows of each sample; the weight of a tuple is their product.
    tiles : callable
        Function that evaluates all pairs: `tiled_sums`, or one with the same result.

    Returns
    -------
    tuple of PairSums
        With too few rows for a single tuple, or with undefined (NaN) values, the mean is NaN: the block
        is non-finite.

    Raises
    ------
    ConfigError
        If the kernel has no V-form.
    """
    found = []
    for part in kernel.parts:
        chosen = [samples[sample] for sample in part.samples]
        masses = None if weights is None else tuple(weights[sample] for sample in part.samples)
        found.append(_part_sums(part.kernel, chosen, form, rows, masses, tiles))
    return tuple(found)


def one_by_one(kernel: Kernel, columns: int, *, weighted: bool = False) -> tuple[Part, ...]:
    """Parts of a kernel without a fast form for rows of `columns` columns: all tuples are evaluated."""
    slow = []
    for part in kernel.parts:
        few = np.arange(4.0 * columns).reshape(4, columns)
        samples = [part.kernel.as_sample(few) for _ in part.samples]
        weights = tuple(np.ones(4) for _ in part.samples) if weighted else None
        if part.kernel.complete(*samples, rows=False, weights=weights) is None:
            slow.append(part)
    return tuple(slow)


def _part_sums(
    kernel: Kernel, samples: list[Floats], form: Form, rows: bool, weights: Weights, tiles: Tiles
) -> PairSums:
    sizes = tuple(sample.shape[0] for sample in samples)
    counted = sizes if weights is None else tuple(int(np.count_nonzero(w)) for w in weights)
    if count_tuples(kernel.degrees, counted) == 0:
        sums = _no_tuples(kernel, samples)
    else:
        kernel.check(*samples)
        fast = kernel.complete(*samples, rows=rows, weights=weights)
        sums = _all_tuples(kernel, samples, rows, weights, tiles) if fast is None else fast
    if form == "v" and min(counted) > 0:
        sums = kernel.v_form(sums, *samples, weights=weights)
    return sums if rows else sums._replace(row_means=None)


def _all_tuples(
    kernel: Kernel, samples: list[Floats], rows: bool, weights: Weights, tiles: Tiles
) -> PairSums:
    if sum(kernel.degrees) == 2:
        return tiles(kernel, *samples, rows=rows, weights=weights)
    if kernel.degrees == (3,) and weights is None:
        return triple_sums(kernel, samples[0])
    return tuple_sums(kernel, *samples, weights=weights)


def _no_tuples(kernel: Kernel, samples: list[Floats]) -> PairSums:
    columns = 1 if samples[0].ndim == 1 else samples[0].shape[1]
    nothing = np.full(kernel.shape(columns), np.nan)
    row_means = tuple(np.full((sample.shape[0], *nothing.shape), np.nan) for sample in samples)
    return PairSums(0, nothing[()], None, row_means)
