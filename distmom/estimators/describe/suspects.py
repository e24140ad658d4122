"""Files (or units) whose values differ from the rest, measured against the scale between files.

A file is compared with the typical file, the lower median over files, in robust standard deviations: 1.4826
times the median distance of the files on its side, or the noise of its own rows if that is larger. Eight of
these are conclusive for any distribution. But days, sensors and countries do differ, with heavy tails, so a
difference must also be material.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.median import MAD, lower_median

LEAST_UNITS = 10
"""Fewer files cannot outvote a bad file."""

CERTAIN = 8.0
"""Robust standard deviations from the typical file that are conclusive, as in the screen of blocks."""

NARROW, WIDE = 0.1, 30.0
"""Standard deviation of a file, as a multiple of the typical one, that is material."""

TIMES_WIDER = 5.0
"""A distant mean indicates another unit of measurement if the file is this many times as wide as the typical
one."""

ONE_SIDED = 3.0
"""Robust standard deviations that the typical asymmetry must be from 0 for its sign to be clear."""

TWICE_AS_LONG = 0.69
"""Its size: the logarithm of the ratio of the longer to the shorter side."""

FEW_ROWS = 0.25
"""Files with a smaller share of the typical number of rows have other extremes for this reason alone."""

LEAST_MISSING = 0.01
"""Share of missing rows, beyond the typical one, that is material."""

LEAST_ODDS = 0.5
"""Smallest robust standard deviation of the log odds of missing values."""

MAD_ERROR = 1.17
"""Relative standard error of a median distance of n normal values, times sqrt(n)."""

LARGE = 6.0
"""Robust standard deviations required for a difference that no file should have: a factor of 30, or reversed
asymmetry."""

RARE = 1e-6
"""A constant or one-sided file is accused if the probability that chance produces any such file is
smaller."""

LEAST_VARIED = 40.0
"""Rows of a file, besides those of the most frequent value, from which a small scale is not due to chance."""

ONE_SIGN, RATIO = 0.9, 5.0
"""If this share of the files have means of one sign, the means must also be this many scales apart as
logarithms: shops and countries differ by factors."""

OWN_NOISE = 4.0
"""Standard errors, from the file's own rows, by which its mean must differ: one outlying row causes only
one."""


@dataclass(frozen=True)
class UnitFacts:
    """One column over U files or units; `low` and `high` are None where extremes are not known.

    A column without a natural `zero`, such as points in time, has neither signs nor ratios.
    """

    n_rows: Ints
    n_used: Ints
    mean: Floats
    variance: Floats
    low: Floats | None = None
    high: Floats | None = None
    zero: bool = True

    @property
    def missing(self) -> Floats:
        """Share of missing rows."""
        return np.asarray(1.0 - self.n_used / np.maximum(self.n_rows, 1))


class SuspectUnit(NamedTuple):
    """An anomalous unit: the finding, its value, the typical value, and the robust z-score.

    A finding ``scale`` is based on standard deviations (then `by_scale`) or on means.
    """

    unit: int
    what: str
    value: float
    typical: float
    z_score: float
    by_scale: bool = False


def suspects(facts: UnitFacts, sample: Floats) -> list[SuspectUnit]:
    """Units that stand out in one column, each with its strongest finding, in order; none below ten units.

    `sample` is a uniform sample of all used rows. `what` is one of ``no values``, ``constant``, ``sign``,
    ``mirror``, ``scale``, ``mean``, ``narrow``, ``range``, ``missing``.
    """
    found: dict[int, SuspectUnit] = {}
    if np.count_nonzero(facts.n_rows) < LEAST_UNITS:
        return []
    tests = [_missing(facts)]
    if np.count_nonzero(facts.n_used) >= LEAST_UNITS:
        value, often = _most_frequent(sample)
        close = [_constant(facts, value, often), _spread(facts, often), _mean(facts)]
        tests = [*close, *_range(facts, sample, value if often >= 0.5 else math.nan), *tests]
    for test in tests:
        for finding in test:
            found.setdefault(finding.unit, finding)
    return [found[unit] for unit in sorted(found)]


def robust_z_scores(values: Floats, noise: Floats | float = 0.0) -> tuple[float, Floats]:
    """The typical value, and the robust z-score of each value; NaN for NaN.

    If neither files nor rows vary there is no scale, and all z-scores are 0.
    """
    typical = float(lower_median(values))
    with np.errstate(invalid="ignore"):
        away = values - typical
        up, down = (_middle(side[side >= 0.0]) for side in (away, -away))
        spread = np.maximum(np.where(away >= 0.0, up, down), noise)
        z = np.where(spread > 0.0, np.abs(away) / np.where(spread > 0.0, spread, 1.0), 0.0)
    return typical, np.where(np.isnan(values), np.nan, z)


def _middle(distances: Floats) -> float:
    """1.4826 times the median, plus two of its standard errors, because it may be too small for few files."""
    if not distances.size:
        return 0.0
    return MAD * float(np.median(distances)) * (1.0 + 2.0 * MAD_ERROR / math.sqrt(distances.size))


def _findings(
    those: Bools, what: str, values: Floats, typical: float, z: Floats, by_scale: bool = False
) -> Iterator[SuspectUnit]:
    for unit in np.flatnonzero(those).tolist():
        yield SuspectUnit(unit, what, float(values[unit]), typical, float(z[unit]), by_scale)


def _std(facts: UnitFacts) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where(facts.n_used >= 2, np.sqrt(facts.variance), np.nan)


def _most_frequent(sample: Floats) -> tuple[float, float]:
    """The most frequent value, and its share."""
    values, counts = np.unique(sample, return_counts=True)
    if not values.size:
        return 0.0, 1.0
    most = int(np.argmax(counts))
    return float(values[most]), float(counts[most] / sample.size)


def _rare(share: float, facts: UnitFacts) -> Bools:
    """Files for which it is unlikely by chance that all rows are of a kind with this share of all rows."""
    with np.errstate(under="ignore"):
        return np.asarray(np.power(share, facts.n_used.astype(np.float64)) * facts.n_used.size < RARE)


def _constant(facts: UnitFacts, value: float, share: float) -> Iterator[SuspectUnit]:
    """Files with a single value, if the typical file varies and chance does not explain it.

    If most rows have one value, a file with only this value is merely one in which other values are rarer.
    """
    std = _std(facts)
    typical = float(lower_median(std))
    if not typical > 0.0:
        return
    those = (std == 0.0) & _rare(share, facts)
    if share >= 0.5:
        those &= facts.mean != value
    usual = float(lower_median(np.where(facts.n_used > 0, facts.mean, np.nan)))
    yield from _findings(those, "constant", facts.mean, usual, np.full(std.size, np.inf))


def _spread(facts: UnitFacts, most_frequent: float) -> Iterator[SuspectUnit]:
    """Files that are many times wider or narrower than the typical one."""
    std = _std(facts)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(std > 0.0, np.log(std), np.nan)
        typical, z = robust_z_scores(log)
        ratio = np.exp(log - typical)
    yield from _findings((z > LARGE) & (ratio > WIDE), "scale", std, float(np.exp(typical)), z, True)
    varied = facts.n_used * (1.0 - most_frequent) >= LEAST_VARIED
    narrow = (z > CERTAIN) & (ratio < NARROW) & varied & _enough(facts)
    yield from _findings(narrow, "narrow", std, float(np.exp(typical)), z)


def _enough(facts: UnitFacts) -> Bools:
    """Files with a fair share of the typical number of rows."""
    typical = float(np.median(facts.n_used[facts.n_used > 0]))
    return np.asarray(facts.n_used >= max(FEW_ROWS * typical, 10.0))


def _mean(facts: UnitFacts) -> Iterator[SuspectUnit]:
    """Files whose mean is off by more than a row's standard deviation; a mean of -inf or inf always is."""
    mean = np.where(facts.n_used > 0, facts.mean, np.nan)
    non_finite = (facts.n_used > 0) & ~np.isfinite(facts.mean)
    std = _std(facts)
    within = float(lower_median(std))
    noise = (0.0 if np.isnan(within) else within) / np.sqrt(np.maximum(facts.n_used, 1))
    typical, z = robust_z_scores(np.where(non_finite, np.nan, mean), noise)
    with np.errstate(invalid="ignore"):
        own = np.where(std > 0.0, std, 0.0) / np.sqrt(np.maximum(facts.n_used, 1))
        far = (z > CERTAIN) & (np.abs(mean - typical) > np.maximum(within, OWN_NOISE * own))
        if facts.zero:
            far &= _apart_as_ratios(mean, typical)
        wider = far & (std > TIMES_WIDER * within)
        mirrored = far & ~wider & facts.zero & (np.abs(mean + typical) < 0.25 * np.abs(mean - typical))
    yield from _findings(wider, "scale", mean, typical, z)
    yield from _findings(mirrored, "sign", mean, typical, z)
    yield from _findings(far, "mean", mean, typical, z)
    yield from _findings(non_finite, "mean", facts.mean, typical, np.full(mean.size, np.inf))


def _apart_as_ratios(mean: Floats, typical: float) -> Bools:
    """Files whose means are also far from the typical mean as ratios, if nearly all have its sign."""
    same = mean * np.sign(typical) > 0.0
    if np.count_nonzero(same) < ONE_SIGN * np.count_nonzero(np.isfinite(mean)):
        return np.ones(mean.size, np.bool_)
    logs = np.full(mean.size, np.nan)
    logs[same] = np.log(np.abs(mean[same]))
    return np.asarray(~same | (robust_z_scores(logs)[1] > RATIO))


def _range(facts: UnitFacts, sample: Floats, value: float) -> list[Iterator[SuspectUnit]]:
    """Files that are the mirror image of the others, or are entirely on one side of the typical mean.

    The asymmetry of a file, log((high - mean)/(mean - low)), has a sign that the mean need not show. For
    distributions with power or exponential tails on both sides, its tails are like exp(-1.6 z). Files that
    end at the `value` of most rows may lack other values.
    """
    if facts.low is None or facts.high is None:
        return []
    low, high, mean = facts.low, facts.high, facts.mean
    enough = _enough(facts)
    good = enough & np.isfinite(mean) & (low < mean) & (mean < high)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        lopsided = np.where(good, np.log((high - mean) / (mean - low)), np.nan)
    typical, z = robust_z_scores(lopsided)
    with np.errstate(invalid="ignore"):
        around = _middle(np.abs(lopsided[good] - typical))
        clear = abs(typical) > max(ONE_SIDED * around, TWICE_AS_LONG)
        mirrored = clear & (z > LARGE) & (lopsided * np.sign(typical) < -abs(typical) / 3.0)
        centre = float(lower_median(np.where(enough, mean, np.nan)))
        n_sampled = max(sample.size, 1)
        above = _inward(np.where(enough, low, np.nan), centre)
        above &= (low != value) & _rare(np.count_nonzero(sample > centre) / n_sampled, facts)
        below = _inward(np.where(enough, -high, np.nan), -centre)
        below &= (high != value) & _rare(np.count_nonzero(sample < centre) / n_sampled, facts)
    infinite = np.full(low.size, np.inf)
    return [
        _findings(mirrored, "mirror", lopsided, typical, z),
        _findings(above, "range", low, centre, infinite),
        _findings(below, "range", high, centre, infinite),
    ]


def _inward(ends: Floats, centre: float) -> Bools:
    """Files whose lower end is above the typical mean, far from the ends of other files."""
    typical, z = robust_z_scores(ends)
    return np.asarray((z > CERTAIN) & (ends > centre) & (ends > typical))


def _missing(facts: UnitFacts) -> Iterator[SuspectUnit]:
    """Files without any values, if the typical file has some, or with many more missing rows than others."""
    full = facts.n_rows > 0
    n_missing = facts.n_rows - facts.n_used
    odds = np.log((n_missing + 0.5) / (facts.n_used + 0.5))
    _, z = robust_z_scores(np.where(full, odds, np.nan), LEAST_ODDS)
    share = facts.missing
    usual = float(lower_median(np.where(full, share, np.nan)))
    more = full & (share > usual)
    empty = more & (facts.n_used == 0) & (usual < 0.5) & (facts.n_rows >= 10)
    yield from _findings(empty, "no values", share, usual, z)
    much = more & (z > CERTAIN) & (share - usual > LEAST_MISSING)
    yield from _findings(much, "missing", share, usual, z)
