"""Whether rows far out are sizes of another order of magnitude, not damage: a second mode on the log scale.

Files, payments and transfers have modes decades apart, and nearly all of their sum comes from the rare large
ones: screening these out would bias the mean. Rows that cannot be distinguished from such a mode are kept and
reported. Codes, garbage of both signs, clusters much narrower than the rows inside, and copies of rows of
moderate spread by a factor between units are damage.
"""

from __future__ import annotations

import math

import numpy as np

from distmom.inference.share.runs import TOP, Runs
from distmom.numerics.arrays import Floats

TWICE = 2
"""A value far out that this many rows share is no size: sizes are continuous, or nearly."""

CODES = 2 / 3
"""If the `TOP` repeated values account for this share of the rows far out, these are codes or counts."""

HEAPED = 1 / 3
"""Unless as many values and this share of the rows inside are repeated as well: rounded amounts."""

ONE_SIDED = 1 / 8
"""More rows than this far out on the other side, for each on this side, are garbage of both signs."""

POSITIVE = 0.95
"""Sizes are positive: at least this share of the rows inside that are neither zero nor negative codes."""

ORDER = 10.0
"""Sizes of another order of magnitude have a median at least this many times that of the rows inside."""

WIDE = 0.25
"""Least log scale of a second mode, relative to that of the rows inside (capped at 1)."""

FEW = 9
"""This many rows distinguish wide from narrow, and copies: fewer are narrow by chance: weaker tests."""

SPAN = 2.7
"""Sizes span decades: 1% of the rows inside exceed this many medians (log-normal: sigma > 0.43)."""

SPAN_SIGNED = 9.0
"""The same for absolute values of rows of both signs: normal rows have 3.8, Student's with 3 degrees 7.6."""

COPY = 2.2
"""Kolmogorov-Smirnov distance, in its natural unit, that a copy of the rows inside exceeds once in 8000."""

COPY_MOMENTS = 3.9
"""Standard errors by which mean and scale of a copy's logarithms are off once in 10,000 times, or less."""

FACTORS = (*(10.0**k for k in range(1, 10)), *(1024.0**k for k in (1, 2, 3)))
"""Factors between units that are confused with each other. Each more lets more real modes pass for copies."""


def second_mode(inside: Floats, beyond: Floats, mirrored: Floats, cut: float) -> bool:
    """Whether the rows beyond a gap look like sizes of another order of magnitude.

    Parameters
    ----------
    inside, beyond : ndarray of float64
        Sorted rows below and above the gap, without those mirrored.
    mirrored : ndarray of float64
        Sorted rows as far from the centre on the other side.
    cut : float
        Position of the cut in the gap.

    Notes
    -----
    True if the rows beyond are no codes, are on one side, at least one order (`ORDER`) above rows that are
    positive, and have a log scale not much smaller than those; and if the rows inside span decades
    themselves (`SPAN`), or the rows beyond are no copy of them by one of `FACTORS`, or too few to decide.
    Rows of both signs are judged by their absolute values, and must span more (`SPAN_SIGNED`).

    Examples
    --------
    >>> import numpy as np
    >>> g = np.random.default_rng(0)
    >>> files, videos = np.sort(1e3 * np.exp(g.normal(size=9000))), np.sort(1e8 * np.exp(g.normal(size=200)))
    >>> second_mode(files, videos, np.empty(0), 1e6)
    True
    >>> second_mode(files, np.full(200, 1e9), np.empty(0), 1e6)
    False
    """
    if _codes(beyond, inside):
        return False
    negative = inside[: int(np.searchsorted(inside, 0.0))]
    positive = inside[int(np.searchsorted(inside, 0.0, side="right")) :]
    n_negative = uncoded(negative)
    signed = positive.size < POSITIVE * (positive.size + n_negative)
    if signed and n_negative > POSITIVE * (positive.size + n_negative):
        return False
    if signed:
        both = np.abs(inside)
        positive = np.sort(both[both > 0])
    elif uncoded(mirrored) > ONE_SIDED * beyond.size:
        return False
    if positive.size < 2:
        return False
    median = positive[positive.size // 2]
    if beyond[0] <= 0 or beyond[beyond.size // 2] < ORDER * median:
        return False
    spans = bool(positive[int(0.99 * positive.size)] > (SPAN_SIGNED if signed else SPAN) * median)
    if beyond.size == 1 or (signed and not spans):
        return spans
    own, others = np.log(beyond), np.log(positive)
    wide = WIDE * min(1.0, (own.size - 1) / (FEW - 1)) ** 1.5
    if own.std() < wide * min(float(others.std()), 1.0):
        return False
    return spans or own.size < FEW or not any(_copy(own, others, math.log(f), math.log(cut)) for f in FACTORS)


def uncoded(rows: Floats) -> int:
    """Number of rows without values that a fifth of them or more share: codes, if negative or far out."""
    count = Runs.of(rows).count
    return int(count[count < max(TWICE, rows.size / TOP)].sum())


def _codes(beyond: Floats, inside: Floats) -> bool:
    """Whether few values make up most of the rows far out, and rows inside are not rounded as coarsely."""
    far_out = Runs.of(beyond)
    if _repeated(far_out) < CODES * beyond.size:
        return False
    near = Runs.of(inside)
    rounded = far_out.count.size > min(TOP, beyond.size / 2) and near.count.size > 4 * TOP
    return not (rounded and _repeated(near) >= HEAPED * inside.size)


def _repeated(runs: Runs) -> int:
    """Number of rows of the most frequent repeated values."""
    return sum(count for _, count in runs.repeated(TWICE))


def _copy(own: Floats, others: Floats, factor: float, cut: float) -> bool:
    """Whether rows could be others times a factor, as far as these exceed the cut (all in logs)."""
    copied = others[np.searchsorted(others, cut - factor, side="right") :] + factor
    if 2 * copied.size < others.size:
        return False
    unit = math.sqrt(1 / own.size + 1 / copied.size)
    spread = float(copied.std())
    if abs(own.mean() - copied.mean()) > COPY_MOMENTS * spread * unit:
        return False
    if own.std() > spread * (1.0 + COPY_MOMENTS * unit):  # few rows of a wide mode pass the distance below
        return False
    below = np.searchsorted(copied, own, side="right") / copied.size
    strictly = np.searchsorted(copied, own) / copied.size
    rank = np.arange(own.size)
    distance = max(float((below - rank / own.size).max()), float(((rank + 1) / own.size - strictly).max()))
    return distance <= COPY * unit
