"""Coverage, width and risk of every scheme and interval, on four distributions and a dependent series, many
at a time.

Replications are groups of one table; for samples, and for blocks of rows as they are stored, columns of one
array: groups would share the samples' rows among them. The rows that a sample draws are then the same for
all columns of a run, so several runs with seeds of their own are put together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from paper_numbers import morm_blocks
from scipy import stats
from shared_rows import resampled_failure

import distmom as dm
from distmom.theory.bounds import cantelli_allowed
from distmom.theory.planning import best_blocks
from distmom.theory.variances import mean_variance, row_inverse_inclusion

Rows = np.ndarray
Draw = Callable[[np.random.Generator, tuple[int, int]], Rows]

N, LEVEL, OUTLYING = 1_050, 0.99, 10
K_OUTLYING = best_blocks(10**9, 0.01, OUTLYING)  # by the rows of all replications together: 59
RHO = 0.9
COLUMNS_AT_ONCE = 100
DISPLACED = 1e6


@dataclass(frozen=True)
class Distribution:
    """Rows of shape (replications, n), their mean and standard deviation; the rows of a line are in order."""

    draw: Draw
    mean: float
    sd: float


def _series(g: np.random.Generator, shape: tuple[int, int]) -> Rows:
    """Stationary AR(1): each value is RHO times the one before, plus noise; standard deviation 1."""
    x = g.normal(size=shape) * math.sqrt(1.0 - RHO**2)
    x[:, 0] /= math.sqrt(1.0 - RHO**2)
    for i in range(1, shape[1]):
        x[:, i] += RHO * x[:, i - 1]
    return x


DISTRIBUTIONS = {
    "normal": Distribution(lambda g, s: g.normal(size=s), 0.0, 1.0),
    "Student 3": Distribution(lambda g, s: g.standard_t(3, s), 0.0, math.sqrt(3.0)),
    "log-normal": Distribution(
        lambda g, s: g.lognormal(size=s), math.exp(0.5), math.sqrt(math.expm1(1) * math.e)
    ),
    "Pareto 3": Distribution(lambda g, s: 1.0 + g.pareto(3.0, s), 1.5, math.sqrt(0.75)),
}
SERIES = {f"AR(1) {RHO}": Distribution(_series, 0.0, 1.0)}
RARE = {"1 in 500": Distribution(lambda g, s: (g.random(s) < 0.002) * 1.0, 0.002, math.sqrt(0.002 * 0.998))}
"""Rows that are 0 but for a few: of all distributions the one that blocks of rows like least."""


@dataclass(frozen=True)
class Scheme:
    """How a mean is taken, the intervals it has, and the bound on the probability of an error above eps.

    The bound takes eps in standard deviations of a row, whose variance is known then.
    """

    options: dict[str, Any]
    kinds: tuple[str, ...]
    bound: Callable[[float], float] | None = None
    outlying: int = 0
    in_columns: bool = False


def _sampled(*, replace: bool, tau: float = 0.3) -> Scheme:
    k, size = morm_blocks(LEVEL, tau, N)
    kinds = ("cantelli",) if replace else ("cantelli", "closed-form")

    def bound(eps: float) -> float:
        variance = mean_variance(1.0, size, N if replace else None)
        a = row_inverse_inclusion(N, size, replacement=replace)
        return resampled_failure(k, a, min(1.0, variance / eps**2))

    return Scheme({"blocks": dm.SampledBlocks(tau=tau, replace=replace)}, kinds, bound, in_columns=True)


def _blocks(k: int, outlying: int = 0) -> Callable[[float], float]:
    """P(Bin(K - o, p) >= m - o), p by Cantelli's inequality where it covers both sides."""
    good, needed, variance = k - outlying, (k + 1) // 2 - outlying, 1.0 / (N // k)

    def bound(eps: float) -> float:
        sharp = float(stats.binom.sf(needed - 1, good, variance / (variance + eps**2)))
        if cantelli_allowed(k, sharp, outlying):
            return sharp
        return float(stats.binom.sf(needed - 1, good, min(1.0, variance / eps**2)))

    return bound


def _repeated(k: int) -> Callable[[float], float]:
    """exp(-K kl(1/2 | p))."""

    def bound(eps: float) -> float:
        p = min(0.5, 1.0 / (N // k) / eps**2)
        return (4.0 * p * (1.0 - p)) ** (k / 2)

    return bound


FIVE = dm.RandomBlocks(repeats=5)
SCHEMES = {
    "partition, automatic": Scheme({}, ("order", "cantelli")),
    "partition, K = 11": Scheme({"blocks": 11}, ("order", "cantelli"), _blocks(11)),
    "partition, paper's K = 5": Scheme({"blocks": "paper"}, ("cantelli", "closed-form"), _blocks(5)),
    "stored, K = 11": Scheme({"blocks": dm.StoredBlocks(11)}, ("order", "cantelli"), in_columns=True),
    "swor, tau = 0.3": _sampled(replace=False),
    "monte_carlo, tau = 0.3": _sampled(replace=True),
    "5 partitions, automatic": Scheme({"blocks": FIVE}, ("cantelli",)),
    "5 partitions, K = 11": Scheme({"blocks": dm.RandomBlocks(11, repeats=5)}, ("cantelli",), _repeated(11)),
    "contamination = 10, none there": Scheme(
        {"contamination": OUTLYING}, ("order", "cantelli"), _blocks(K_OUTLYING, OUTLYING)
    ),
    "contamination = 10, 10 rows + 10⁶": Scheme(
        {"contamination": OUTLYING}, ("order", "cantelli"), _blocks(K_OUTLYING, OUTLYING), OUTLYING
    ),
    "the same, 5 partitions": Scheme(
        {"contamination": OUTLYING, "blocks": FIVE}, ("cantelli",), None, OUTLYING
    ),
    "its K without it, 10 rows + 10⁶": Scheme({"blocks": K_OUTLYING}, ("order", "cantelli"), None, OUTLYING),
}


@dataclass
class Cell:
    """What was found for one scheme, interval and distribution."""

    estimates: list[float] = field(default_factory=list)
    covered: int = 0
    given: int = 0
    margins: list[float] = field(default_factory=list)

    def add(self, found: list[dm.MeanResult], distribution: Distribution) -> None:
        """Count more replications."""
        for r in found:
            self.estimates.append((r.estimate - distribution.mean) / distribution.sd)
            if r.interval is not None:
                self.given += 1
                self.covered += r.interval[0] <= distribution.mean <= r.interval[1]
                self.margins.append((r.interval[1] - r.interval[0]) / 2 / distribution.sd)

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the mean; NaN without intervals."""
        return self.covered / self.given if self.given else math.nan

    @property
    def width(self) -> float:
        """Median margin of error in standard errors of the sample mean of independent rows."""
        return float(np.median(self.margins)) * math.sqrt(N) if self.margins else math.nan

    @property
    def nmse(self) -> float:
        """Mean square error times n over the variance of a row."""
        return float(np.mean(np.square(self.estimates))) * N

    def failures(self, margin: float) -> int:
        """Estimates farther from the mean than so many standard deviations of a row."""
        return int(np.count_nonzero(np.abs(self.estimates) > margin))


def cells(
    scheme: Scheme,
    distributions: dict[str, Distribution],
    replications: int,
    seed: int,
    kinds: tuple[str, ...] | None = None,
) -> dict[tuple[str, str], Cell]:
    """One cell for each distribution and kind of interval."""
    out: dict[tuple[str, str], Cell] = {}
    for number, (name, distribution) in enumerate(distributions.items()):
        g = np.random.default_rng([seed, number])
        x = distribution.draw(g, (replications, N))
        for line in x[:, :] if scheme.outlying else ():
            line[g.permutation(N)[: scheme.outlying]] += DISPLACED * distribution.sd
        for kind in kinds or scheme.kinds:
            cell = out.setdefault((name, kind), Cell())
            for found in _answers(scheme, x, kind, seed):
                cell.add(found, distribution)
    return out


def _answers(scheme: Scheme, x: Rows, kind: str, seed: int) -> list[list[dm.MeanResult]]:
    options = {**scheme.options, "interval": kind, "confidence_level": LEVEL}
    if not scheme.in_columns:
        table = pa.table({"rep": np.repeat(np.arange(len(x)), N), "x": x.ravel()})
        return [list(dm.mean(table, "x", by="rep", rng=seed, **options))]
    parts = range(0, len(x), COLUMNS_AT_ONCE)
    runs = [
        dm.mean(np.ascontiguousarray(x[i : i + COLUMNS_AT_ONCE].T), rng=seed * 1000 + i, **options)
        for i in parts
    ]
    return [list(run) for run in runs]
