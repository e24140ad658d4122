"""Estimates from samples that share rows: the median of their values, and the bound for this median."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.errors import ConfigError
from distmom.inference.estimate import Estimate, Promise, Shown
from distmom.inference.radius import vector_median
from distmom.inference.status import Finding, NoInterval
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.median import lower_median
from distmom.theory.paper import morgu_blocks, paper_margin_morm
from distmom.theory.resampled import resampled_margin
from distmom.theory.vectors import resampled_vector_factor

TAU = 0.45
"""Tau of the proposition, unless it is given."""

Width = tuple[Any, str | None]
"""Margin of error of a number, margins of error of coordinates, or a radius; and why there is none."""


@dataclass(frozen=True)
class Samples:
    """Samples that contain rows.

    Attributes
    ----------
    values : ndarray, shape (K,) or (K, d)
        Values of the samples, numbers or vectors.
    sizes : ndarray of int64, shape (K,)
        Number of rows, or pairs, of each that count.
    variance : ndarray, shape () or (d,)
        Typical variance within samples; NaN if they are too small to estimate it.
    constant : bool
        Whether nothing varies.
    """

    values: Floats
    sizes: Ints
    variance: Floats
    constant: bool

    def estimate(
        self, promise: Promise, method: str | None, width: Callable[[str, float], Width]
    ) -> Estimate:
        """The median, with the interval that `width` gives for a kind and a failure probability.

        `width` is only called if no sample is non-finite and something varies.
        """
        k = len(self.values)
        non_finite = k - int(np.isfinite(self.values.reshape(k, -1)).all(axis=1).sum()) if k else 0
        finite = k > 0 and non_finite <= (k + 1) // 2 - 1
        value: Any = math.nan
        gap = None
        if method is not None:
            value, gap = vector_median(self.values, method == "geometric", finite)
        elif finite:
            value = float(lower_median(self.values))
        status = 0 if finite else int(Finding.NO_FINITE_ANSWER if k else Finding.NO_ROWS)
        blocks = {
            "n_blocks": k,
            "block_size": (int(self.sizes.min()), int(self.sizes.max())) if k else (0, 0),
            "n_non_finite_blocks": non_finite,
        }
        kind = "cantelli" if promise.interval == "auto" else promise.interval
        reason = self._why_not(kind, non_finite, finite)
        half: Any = 0.0
        if reason is None and (kind == "closed-form" or not self.constant):
            half, reason = width(kind, promise.line_delta(np.size(value), method))
            if reason is None and not np.isfinite(half).all():
                unknown = NoInterval.VARIANCE_UNKNOWN if np.isnan(half).any() else NoInterval.SAMPLES_VACUOUS
                reason = unknown.words
        shown = Shown(kind, None, reason)
        if reason is None and method == "geometric":
            shown = Shown(kind, radius=half)
        elif reason is None:
            ends = value - half, value + half
            shown = Shown(kind, ends if method is None else np.column_stack(ends))
        return Estimate(value, self.values.copy(), status, shown, blocks, gap)

    def _why_not(self, kind: str, non_finite: int, finite: bool) -> str | None:
        if kind == "none":
            return NoInterval.NOT_WANTED.words
        if not finite:
            return NoInterval.NO_ANSWER.words
        if non_finite:
            return NoInterval.SAMPLES_NON_FINITE.words
        if np.isnan(self.variance).any():
            return NoInterval.SAMPLES_TOO_SMALL.words
        still = not self.variance.any() and not self.constant
        return NoInterval.CONSTANT_BLOCKS.words if still else None


def resampled_width(
    variances: Sequence[float], n_blocks: int, inverse_inclusion: float, delta: float, method: str | None
) -> Any:
    """Margin of error of a number, those of coordinates at this level each, or radius of their vector.

    Parameters
    ----------
    variances : sequence of float
        Variance of the value of one sample, in each coordinate.
    n_blocks : int
    inverse_inclusion : float
        See `theory.resampled_margin`.
    delta : float
    method : {"geometric", "coordinatewise"} or None
    """
    if method == "geometric":
        return resampled_vector_factor(n_blocks, inverse_inclusion, delta) * math.sqrt(sum(variances))
    halves = [resampled_margin(v, n_blocks, inverse_inclusion, delta) for v in variances]
    return halves[0] if method is None else np.array(halves)


def paper_sample_margin(
    confidence_level: float,
    tau: float | None,
    variance: float,
    n_blocks: int,
    block_sizes: Sequence[int],
    n_used: Sequence[int],
    degrees: Sequence[int] = (1,),
) -> tuple[float, str | None]:
    """Margin of error of the interval of the proposition without replacement, or why it does not hold.

    Parameters
    ----------
    confidence_level : float
    tau : float or None
    variance : float
        Variance of the statistic of one sample.
    n_blocks : int
        Number of samples.
    block_sizes : sequence of int
        Rows of each lake that are drawn for each sample, without the share of those that do not count.
        Samples larger than the proposition's share more rows, and the error of their median is that of them
        as a whole.
    n_used : sequence of int
        Rows of each lake that count.
    degrees : sequence of int
        Rows of a tuple: 1 for means.
    """
    tau = TAU if tau is None else tau
    try:  # one small group must not stop the run
        least, largest = morgu_blocks(confidence_level, tau, n_used, degrees)
    except ConfigError:
        n = " and ".join(map(str, n_used))
        return math.nan, f"the proposition does not reach this confidence level with {n} rows"
    if n_blocks < least or any(size > most for size, most in zip(block_sizes, largest, strict=True)):
        allowed, drawn = (" and ".join(f"{n:,}" for n in sizes) for sizes in (largest, block_sizes))
        return math.nan, (
            f"the proposition holds for {least:,} or more blocks of at most {allowed} rows at tau={tau:g}, "
            f"not {n_blocks:,} of {drawn}"
        )
    return paper_margin_morm(variance, tau), None
