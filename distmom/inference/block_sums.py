"""Sums and means of fine blocks over the coarse blocks they are merged into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.median import lower_median
from distmom.numerics.own_sums import own_sums

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True)
class Places:
    """Positions of the fine blocks of every group at some levels, in one flat array of coarse blocks.

    `flat` has shape (n_groups, n_levels, n_fine); `width` coarse blocks belong to each group and level.
    """

    flat: Ints
    width: int

    def sums(self, values: NDArray[Number]) -> NDArray[Number]:
        """Sums of the fine blocks' values, shape (n_groups, n_levels, width).

        Integers are added as float64, which is exact below 2**53.
        """
        shape = (*self.flat.shape[:2], self.width)
        every = np.broadcast_to(values[:, None, :], self.flat.shape).ravel()
        sums = np.bincount(self.flat.ravel(), every, minlength=shape[0] * shape[1] * shape[2])
        return sums.reshape(shape).astype(values.dtype)


class CentredSum:
    """Means of fine blocks with their masses, ready to be averaged over the blocks of any level.

    The first `width` blocks of each group are its own, as for `Merger`.
    """

    def __init__(self, mass: NDArray[Any], mean: Floats, filled: Bools, width: Ints) -> None:
        self._mass = mass
        self._mean = np.where(filled, mean, np.nan)
        self._filled = filled
        whole = own_sums(mass, width)
        self._whole = np.where(whole > 0, whole, 1)
        finite = np.where(np.isfinite(self._mean), self._mean, np.nan)
        centre = lower_median(finite)
        self._half_centre = np.asarray(0.5 * np.where(np.isnan(centre), 0.0, centre))[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            share = mass / self._whole[:, None]
            # half the distance to the centre times the share of the mass: no sum of these overflows
            self._pull = np.where(filled, (0.5 * self._mean - self._half_centre) * share, 0.0)

    def merged(self, places: Places) -> tuple[NDArray[Any], Floats]:
        """Masses and means of the coarse blocks, NaN without mass: shape (n_groups, n_levels, width)."""
        mass, moved = places.sums(self._mass), places.sums(self._pull)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            share = mass / self._whole[:, None, None]
            return mass, np.where(mass > 0, 2.0 * (self._half_centre[:, :, None] + moved / share), np.nan)

    def moments(self, places: Places, own: Floats) -> tuple[NDArray[Any], Floats, Floats]:
        """Masses, means and second moments of the blocks of one level; the latter NaN without a finite mean.

        `own` are the second moments of the fine blocks about their own means. Shape (n_groups, width).
        """
        mass, mean = (array[:, 0] for array in self.merged(places))
        flat = places.flat[:, 0]
        with np.errstate(invalid="ignore", over="ignore"):
            away = self._mean - mean.reshape(-1)[flat]
            about = np.where(self._filled, own + self._mass * away * away, 0.0)
        found = np.bincount(flat.ravel(), about.ravel(), minlength=mean.size).reshape(mean.shape)
        return mass, mean, np.where(np.isfinite(mean), found, np.where(mass > 0, np.nan, 0.0))
