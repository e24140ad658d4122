"""Laws, damages and fine blocks for the statistics of the rule: replications are groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import RuleAnswer
from distmom.inference.status import Finding
from distmom.numerics.blocks.moments import Moments

SAMPLE = 1024


@dataclass(frozen=True)
class Distribution:
    """A distribution with its mean and standard deviation."""

    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    mean: float
    sd: float


def lomax_sd(a):
    return math.sqrt(a / ((a - 1) ** 2 * (a - 2)))


def lognormal(s):
    spread = math.exp(s * s)
    return Distribution(
        lambda g, n: np.exp(s * g.standard_normal(n)), math.exp(s * s / 2), math.sqrt((spread - 1) * spread)
    )


def pareto(a):
    sd = lomax_sd(a) if a > 2 else math.inf
    return Distribution(lambda g, n: np.expm1(g.standard_exponential(n) / a), 1 / (a - 1), sd)


def zeros(p):
    """Exponential with probability p, else 0."""
    return Distribution(
        lambda g, n: np.where(g.random(n) < p, g.standard_exponential(n), 0.0), p, math.sqrt(2 * p - p * p)
    )


def student(df):
    return Distribution(lambda g, n: g.standard_t(df, n), 0.0, math.sqrt(df / (df - 2)))


REGULAR = {
    "normal": Distribution(lambda g, n: g.standard_normal(n), 0.0, 1.0),
    "Student 3": student(3.0),
    "Student 2.5": student(2.5),
    "lognormal": lognormal(1.0),
    "Pareto 3": pareto(3.0),
    "exponential": Distribution(lambda g, n: g.standard_exponential(n), 1.0, 1.0),
    "gamma 0.2": Distribution(lambda g, n: g.standard_gamma(0.2, n), 0.2, math.sqrt(0.2)),
    "uniform": Distribution(lambda g, n: g.random(n), 0.5, math.sqrt(1 / 12)),
    "Poisson 0.3": Distribution(lambda g, n: g.poisson(0.3, n).astype(float), 0.3, math.sqrt(0.3)),
}
HARD = {
    "Pareto 2.1": pareto(2.1),
    "lognormal sigma 2": lognormal(2.0),
    "90% zeros": zeros(0.1),
    "99% zeros": zeros(0.01),
    "Bernoulli 0.01": Distribution(lambda g, n: (g.random(n) < 0.01) * 1.0, 0.01, math.sqrt(0.0099)),
    "Pareto 1.5": pareto(1.5),
}
OWN = {
    "Laplace": Distribution(lambda g, n: g.laplace(size=n), 0.0, math.sqrt(2.0)),
    "Weibull 0.5": Distribution(lambda g, n: g.standard_exponential(n) ** 2, 2.0, math.sqrt(20.0)),
    "chi-square 1": Distribution(lambda g, n: g.standard_normal(n) ** 2, 1.0, math.sqrt(2.0)),
    "arcsine": Distribution(lambda g, n: np.sin(np.pi * g.random(n) / 2) ** 2, 0.5, math.sqrt(1 / 8)),
    "5% ten times wider": Distribution(
        lambda g, n: g.standard_normal(n) * np.where(g.random(n) < 0.05, 10.0, 1.0),
        0.0,
        math.sqrt(0.95 + 5.0),
    ),
    "two far clusters": Distribution(
        lambda g, n: g.standard_normal(n) + np.where(g.random(n) < 0.3, 100.0, 0.0),
        30.0,
        math.sqrt(1 + 2100.0),
    ),
    "log-logistic 3": Distribution(
        lambda g, n: (1 / g.random(n) - 1) ** (-1 / 3),
        math.pi / 3 / math.sin(math.pi / 3),
        math.sqrt(2 * math.pi / 3 / math.sin(2 * math.pi / 3) - (math.pi / 3 / math.sin(math.pi / 3)) ** 2),
    ),
    "geometric 0.05": Distribution(lambda g, n: g.geometric(0.05, n).astype(float), 20.0, math.sqrt(380.0)),
    "negative exponential": Distribution(lambda g, n: -g.standard_exponential(n), -1.0, 1.0),
}


@dataclass(frozen=True)
class Damage:
    """What is done to clean rows: a share of scattered rows, or of whole fine blocks (units)."""

    share: float = 0.0
    change: Callable[[np.ndarray, np.random.Generator, Distribution], np.ndarray] | None = None
    units: bool = False


def to(value):
    return lambda x, g, distribution: np.full(x.shape, value)


def sided(sds):
    return lambda x, g, distribution: (
        distribution.mean + distribution.sd * sds * g.choice([-1.0, 1.0], x.shape)
    )


def moved(sds):
    return lambda x, g, distribution: np.full(x.shape, distribution.mean + sds * distribution.sd)


def times(factor):
    return lambda x, g, distribution: x * factor


DAMAGES = {
    "clean": Damage(),
    "rows 0.01% = 10⁶": Damage(0.0001, to(1e6)),
    "rows 0.1% = 10⁶": Damage(0.001, to(1e6)),
    "rows 1% = 10⁶": Damage(0.01, to(1e6)),
    "rows 5% = 10⁶": Damage(0.05, to(1e6)),
    "rows 0.5% = ±10⁴σ": Damage(0.005, sided(1e4)),
    "units 1% = 10⁶": Damage(0.01, to(1e6), True),
    "units 5% = 10⁶": Damage(0.05, to(1e6), True),
    "units 10% = 10⁴": Damage(0.10, to(1e4), True),
    "units 2% × 1000": Damage(0.02, times(1000.0), True),
    "units 3% × (−10)": Damage(0.03, times(-10.0), True),
    "rows 0.1% at μ+100σ": Damage(0.001, moved(100.0)),
    "rows 1% at μ+5σ": Damage(0.01, moved(5.0)),
}


def fine_for(n):
    """Number of fine blocks: few for a group, many where scattered corruption is expected."""
    return 105 if n <= 3000 else 945 if n <= 100_000 else 10_395


def spoil(x, damage, distribution, g, n_fine):
    """Damaged copy of x, whose rows go to fine blocks in turn: column i belongs to block i mod n_fine."""
    if damage.change is None:
        return x
    x = x.copy()
    n = x.shape[1]
    for line in x:
        if damage.units:
            bad = g.choice(n_fine, max(1, round(damage.share * n_fine)), replace=False)
            places = (bad[None, :] + n_fine * np.arange(-(-n // n_fine))[:, None]).ravel()
            places = places[places < n]
        else:
            places = g.choice(n, round(damage.share * n), replace=False)
        line[places] = damage.change(line[places], g, distribution)
    return x


def fine_moments(x, n_fine):
    """Fine blocks of independent rows: each run of n_fine rows gives one to every block; the last is cut."""
    runs, rest = divmod(x.shape[1], n_fine)
    count = np.full((x.shape[0], n_fine), runs)
    count[:, :rest] += 1
    whole = x[:, : runs * n_fine].reshape(x.shape[0], runs, n_fine)
    tail = np.zeros((x.shape[0], n_fine))
    tail[:, :rest] = x[:, runs * n_fine :]
    mean = (whole.sum(axis=1) + tail) / np.maximum(count, 1)
    away = whole - mean[:, None, :]
    m2 = np.einsum("rkf,rkf->rf", away, away)
    m2[:, :rest] += (tail - mean)[:, :rest] ** 2
    return Moments(count, mean, m2)


def labelled_moments(x, label, n_blocks):
    """Moments of the rows of each label, line by line."""
    out = Moments.empty(x.shape[0], n_blocks)
    for r in range(x.shape[0]):
        count = np.bincount(label[r], minlength=n_blocks)
        mean = np.bincount(label[r], x[r], minlength=n_blocks) / np.maximum(count, 1)
        out.count[r], out.mean[r] = count, mean
        with np.errstate(invalid="ignore"):
            away = x[r] - mean[label[r]]
        m2 = np.bincount(label[r], away * away, minlength=n_blocks)
        out.m2[r] = np.where(np.isfinite(mean), m2, np.nan)
    return out


def row_sample(x, g):
    """A uniform sample of rows, places drawn anew for every call."""
    n = x.shape[1]
    size = min(SAMPLE, n)
    places = g.choice(n, size, replace=False)
    return np.ascontiguousarray(x[:, places]), np.full(x.shape[0], size)


def portions(
    distribution: Distribution, n: int, repeats: int, g: np.random.Generator
) -> Iterator[np.ndarray]:
    """Clean rows, at most about 4 million at a time."""
    step = max(1, 4_000_000 // n)
    for start in range(0, repeats, step):
        yield distribution.draw(g, (min(step, repeats - start), n))


def answer(x, damage, distribution, g, confidence=0.99, n_fine=None, n_blocks="auto") -> RuleAnswer:
    """Answer of the rule for damaged rows."""
    n_fine = n_fine or fine_for(x.shape[1])
    bad = spoil(x, damage, distribution, g, n_fine)
    sample, n_sample = row_sample(bad, g)
    source = "units" if damage.units else "rows"
    return answer_rule(
        fine_moments(bad, n_fine), sample, n_sample, confidence, n_blocks=n_blocks, block_source=source
    )


@dataclass
class Tally:
    """Running totals over replications of one distribution and damage."""

    repeats: int = 0
    square: float = 0.0
    plain_square: float = 0.0
    order: int = 0
    order_given: int = 0
    exact: int = 0
    cantelli_given: int = 0
    flagged: int = 0
    beyond: int = 0
    carried: int = 0

    def add(self, found: RuleAnswer, distribution: Distribution) -> Tally:
        inner = found.intervals
        error = np.where(np.isnan(found.estimate), np.inf, found.estimate - distribution.mean)
        self.repeats += found.n_groups
        self.square += float(np.sum(error**2 * found.n_used)) / distribution.sd**2
        self.plain_square += (
            float(np.sum((found.plain_estimate - distribution.mean) ** 2 * found.n_used)) / distribution.sd**2
        )
        self.order += int(
            np.sum((inner.order_low <= distribution.mean) & (distribution.mean <= inner.order_high))
        )
        self.order_given += int(np.sum(inner.order_reason == 0))
        self.exact += int(
            np.sum((inner.cantelli_low <= distribution.mean) & (distribution.mean <= inner.cantelli_high))
        )
        self.cantelli_given += int(np.sum(inner.cantelli_reason == 0))
        self.flagged += int(np.sum((found.status & Finding.CONTAMINATED) > 0))
        self.beyond += int(np.sum((found.status & Finding.BREAKDOWN_POINT_EXCEEDED) > 0))
        self.carried += int(np.sum((found.status & Finding.DOMINATED_BY_FEW_ROWS) > 0))
        return self

    @property
    def nmse(self):
        return self.square / self.repeats

    @property
    def plain_nmse(self):
        return self.plain_square / self.repeats

    @property
    def order_coverage(self):
        return self.order / max(self.order_given, 1)

    @property
    def exact_coverage(self):
        return self.exact / max(self.cantelli_given, 1)

    @property
    def flag(self):
        return self.flagged / self.repeats

    @property
    def row_sample(self):
        return self.carried / self.repeats


RISK = 1e-4
"""Probability with which each single comparison below may fail although the claim it tests is true."""


def most_events(repeats: int, probability: float) -> int:
    """Largest number of events that an event of at most this probability plausibly shows."""
    return int(stats.binom.ppf(1 - RISK, repeats, probability))


def most_nmse(repeats: int, nmse: float) -> float:
    """Largest average of squared errors, if errors are about normal and their mean square is at most nmse."""
    return float(nmse * stats.chi2.ppf(1 - RISK, repeats) / repeats)


def tally(distribution: Distribution, damage: Damage, n: int, repeats: int, seed: int, **options) -> Tally:
    """Replicate one distribution and damage."""
    g = np.random.default_rng(seed)
    out = Tally()
    for x in portions(distribution, n, repeats, g):
        out.add(answer(x, damage, distribution, g, **options), distribution)
    return out


def lake(
    distribution: Distribution,
    n_files: int,
    n_rows: int,
    repeats: int,
    g,
    *,
    file_sd=0.0,
    uneven=False,
    bad=0,
    change=None,
):
    """Rows of a lake of files, replicated: x and file numbers, shape (repeats, rows).

    `bad` random files are changed as a whole; with `uneven` the sizes are lognormal; `file_sd` is the
    standard deviation, in units of the distribution's, of an effect that all rows of a file share.
    """
    total = n_files * n_rows
    x = distribution.draw(g, (repeats, total))
    file = np.empty(x.shape, np.int64)
    for line, number in zip(x, file, strict=True):
        share = np.exp(g.standard_normal(n_files)) if uneven else np.ones(n_files)
        ends = np.round(np.cumsum(share) / share.sum() * total).astype(int)
        number[:] = np.searchsorted(ends, np.arange(total), side="right")
        if file_sd:
            line += (distribution.sd * file_sd * g.standard_normal(n_files))[number]
        if bad:
            outlying = np.isin(number, g.choice(n_files, bad, replace=False))
            line[outlying] = change(line[outlying], g, distribution)
    return x, file


def lake_answer(x, file, g, n_fine=945, n_cells=945, **options):
    """Answer of the rule for a lake: stratified random labels for rows, hashed cells for files."""
    repeats, n = x.shape
    runs = -(-n // n_fine)
    label = np.empty(x.shape, np.int64)
    cell = np.empty(x.shape, np.int64)
    sample = np.empty((repeats, min(n, SAMPLE)))
    for r in range(repeats):
        label[r] = g.permuted(np.broadcast_to(np.arange(n_fine), (runs, n_fine)), axis=1).ravel()[:n]
        cell[r] = g.integers(0, n_cells, file[r].max() + 1)[file[r]]
        sample[r] = x[r, g.choice(n, sample.shape[1], replace=False)]
    rows, cells = labelled_moments(x, label, n_fine), labelled_moments(x, cell, n_cells)
    found = answer_rule(rows, sample, np.full(repeats, sample.shape[1]), 0.99, files=cells, **options)
    return found, cell
