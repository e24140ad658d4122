"""Small groups of rows of many kinds, as block moments, for the tests of the rule."""

from __future__ import annotations

import numpy as np

from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.weighted_moments import WeightedMoments


def moments_of(x, label, n_blocks):
    """Moments of the rows of each label, straight from NumPy."""
    count, mean, m2 = np.zeros(n_blocks, np.int64), np.zeros(n_blocks), np.zeros(n_blocks)
    for block in range(n_blocks):
        part = x[label == block]
        if part.size:
            with np.errstate(all="ignore"):
                first = part[0] if np.isfinite(part[0]) else 0.0
                count[block], mean[block] = part.size, first + np.mean(part - first)
                finite = np.isfinite(mean[block])
                m2[block] = np.sum((part - mean[block]) ** 2) if finite else np.nan
    return count, mean, m2


DISTRIBUTIONS = {
    "normal": lambda g, n: g.normal(size=n),
    "shifted": lambda g, n: 1e6 + g.normal(size=n),
    "pareto": lambda g, n: g.pareto(2.1, n),
    "constant": lambda g, n: np.full(n, 0.1),
    "mostly zero": lambda g, n: np.where(g.random(n) < 0.8, 0.0, g.exponential(size=n)),
    "rare": lambda g, n: (g.random(n) < 0.02) * 1.0,
    "few values": lambda g, n: g.integers(0, 3, n) * 1.0,
}
OUTLYING = {
    "none": lambda g, x, file: x,
    "one": lambda g, x, file: np.where(np.arange(x.size) == 0, 1e9, x),
    "rows": lambda g, x, file: np.where(g.random(x.size) < 0.02, 1e6, x),
    "many rows": lambda g, x, file: np.where(g.random(x.size) < 0.2, 1e6, x),
    "moderate": lambda g, x, file: np.where(g.random(x.size) < 0.05, x + 30.0, x),
    "infinite": lambda g, x, file: np.where(g.random(x.size) < 0.005, np.inf, x),
    "both infinite": lambda g, x, file: np.where(
        g.random(x.size) < 0.01, np.inf * g.choice([-1, 1], x.size), x
    ),
    "nearly all infinite": lambda g, x, file: np.where(g.random(x.size) < 0.3, np.inf, x),
    "files": lambda g, x, file: np.where(file % 23 == 5, 1e6, x),
    "infinite files": lambda g, x, file: np.where(file % 23 == 5, -np.inf, x),
}


def weighted_moments_of(x, w, label, n_blocks):
    """Weighted moments of the rows of each label; their order is that of `WeightedMoments`."""
    out = [np.zeros(n_blocks, np.int64), *(np.zeros(n_blocks) for _ in range(5))]
    for block in range(n_blocks):
        here = label == block
        if here.any():
            part, mass = x[here], w[here]
            with np.errstate(all="ignore"):
                first = part[0] if np.isfinite(part[0]) else 0.0
                mean, mean2 = (first + np.sum(m * (part - first)) / np.sum(m) for m in (mass, mass**2))
                m2 = np.sum(mass**2 * (part - mean2) ** 2) if np.isfinite(mean2) else np.nan
            values = (part.size, mass.sum(), mean, (mass**2).sum(), mean2, m2)
            for array, value in zip(out, values, strict=True):
                array[block] = value
    return tuple(out)


WEIGHTS = {
    "equal": lambda g, x, file: np.full(x.size, 3.0),
    "lognormal": lambda g, x, file: g.lognormal(0.0, 1.0, x.size),
    "heavy": lambda g, x, file: g.lognormal(0.0, 2.5, x.size),
    "by file": lambda g, x, file: 10.0 ** (file % 3),
    "one enormous": lambda g, x, file: np.where(np.arange(x.size) == x.size // 2, 1e12, 1.0),
    "by value": lambda g, x, file: 1.0 + np.minimum(np.abs(np.where(np.isfinite(x), x, 0.0)), 50.0),
}


def make_group(seed, n, distribution, outlying, n_fine, n_cells, n_files, deal, weights=None):
    """Rows of one group in fine blocks, cells of files, and a sample."""
    g = np.random.default_rng(seed)
    file = np.sort(np.minimum(g.integers(0, n_files, n), g.integers(0, n_files, n)))
    x = OUTLYING[outlying](g, DISTRIBUTIONS[distribution](g, n), file)
    if deal == "stratified":
        label = np.concatenate([g.permutation(n_fine) for _ in range(n // n_fine + 1)])[:n]
    else:
        label = g.integers(0, n_fine, n) if deal == "random" else (g.random(n) ** 2 * n_fine).astype(int)
    cell_of_file = g.integers(0, n_cells, n_files)
    cell = cell_of_file[file] if n else np.zeros(0, int)
    sample = g.permutation(x)[:128]
    if weights is not None:
        w = WEIGHTS[weights](g, x, file)
        rows, cells = (weighted_moments_of(x, w, at, k) for at, k in ((label, n_fine), (cell, n_cells)))
        return rows, cells, sample
    return moments_of(x, label, n_fine), moments_of(x, cell, n_cells), sample


def stack(groups):
    """Arrays of all groups for the package, lists for the twin."""
    kind = Moments if len(groups[0][0]) == 3 else WeightedMoments
    rows = kind(*(np.stack(arrays) for arrays in zip(*(group[0] for group in groups), strict=True)))
    files = kind(*(np.stack(arrays) for arrays in zip(*(group[1] for group in groups), strict=True)))
    n_sample = np.array([group[2].size for group in groups], np.int64)
    sample = np.full((len(groups), max(n_sample.max(initial=0), 1)), np.nan)
    for line, group in zip(sample, groups, strict=True):
        line[: group[2].size] = group[2]
    return rows, files, sample, n_sample


def a_batch(distribution="pareto", outlying="rows", n_groups=6, n=2000, n_fine=105):
    made = [
        make_group(seed, n, distribution, outlying, n_fine, 105, 400, "stratified")
        for seed in range(n_groups)
    ]
    return stack(made)
