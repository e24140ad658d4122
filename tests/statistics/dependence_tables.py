"""What the intervals of correlated rows cover: ``python -m tests.statistics.dependence_tables``.

Files have means from a distribution of their own, and sizes that are equal or log-normal (0.7); the target is
the mean of that distribution. In a table, rows are an autoregressive series, or blocks of neighbours with an
effect each. Beside the interval of `distmom.mean` stand blocks of K whole files with order statistics.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from scipy.signal import lfilter

from distmom.inference.files.dependence import Pieces, dependence, levels_of
from distmom.numerics.samples.stretches import FEW_ROWS, FINE_ROWS, stretch_rows
from distmom.theory.intervals import order_rank

EFFECTS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal": lambda g, n: g.standard_normal(n),
    "exponential": lambda g, n: g.exponential(size=n) - 1.0,
    "student 3": lambda g, n: g.standard_t(3, n),
    "log-normal": lambda g, n: g.lognormal(0.0, 1.0, n) - np.exp(0.5),
}
FILES = (24, 30, 60, 120, 365, 500)
BLOCKS = (9, 15, 35, 63)
"""Of whole files."""


def of_files(
    distribution: str, n_files: int, unequal: bool, runs: int, seed: int = 11
) -> tuple[float, float, float]:
    """Coverage of the interval and of the cluster-robust t interval, and width relative to the latter."""
    g = np.random.default_rng(seed)
    covered = by_t = wide = none = 0.0
    files = np.arange(n_files)
    for _ in range(runs):
        mean = EFFECTS[distribution](g, n_files)
        mass = (
            np.rint(1000.0 * np.exp(0.7 * g.standard_normal(n_files))) if unequal else np.full(n_files, 1e3)
        )
        centre = float(np.sum(mass * mean) / mass.sum())
        variance = 1.0 + float(np.sum(mass * (mean - centre) ** 2) / mass.sum())
        of_mean = np.array([variance / mass.sum()])
        levels = levels_of(files, np.zeros(n_files, np.int64), 1024, ())
        found = dependence(Pieces(levels, files, mass, mean[None], np.array([variance]), of_mean))
        if found is not None and found.clusters is None:  # a few of 24 files may hold too few rows for units
            none += 1.0
            continue
        if found is None:  # one file holds nearly all rows: then the interval is that of rows
            low, high = centre + stats.norm.ppf([0.005, 0.995]) * np.sqrt(of_mean[0])
        else:
            [low], [high] = found.clusters.interval(np.array([centre]), 0.01)
        error = np.sqrt(np.sum((mass * (mean - centre)) ** 2) * n_files / (n_files - 1)) / mass.sum()
        t = stats.t.ppf(0.995, n_files - 1) * error
        covered += low <= 0.0 <= high
        by_t += abs(centre) <= t
        wide += (high - low) / (2.0 * t)
    assert none <= 0.05 * runs
    return covered / (runs - none), by_t / (runs - none), wide / (runs - none)


def of_blocks(distribution: str, n_files: int, unequal: bool, runs: int, seed: int = 11) -> list[str]:
    """Coverage of order statistics of K blocks of whole files, and width over the t interval, for each K."""
    g = np.random.default_rng(seed)
    fitting = [k for k in BLOCKS if 2 * k <= n_files]
    covered, wide = np.zeros(len(fitting)), np.zeros(len(fitting))
    for _ in range(runs):
        mean = EFFECTS[distribution](g, n_files)
        size = 1000.0 * np.exp(0.7 * g.standard_normal(n_files)) if unequal else np.full(n_files, 1e3)
        centre = np.sum(size * mean) / size.sum()
        error = np.sqrt(np.sum((size * (mean - centre)) ** 2) * n_files / (n_files - 1)) / size.sum()
        order = g.permutation(n_files)
        for i, k in enumerate(fitting):
            block = np.arange(n_files) % k
            values = np.bincount(block, (size * mean)[order]) / np.bincount(block, size[order])
            rank = order_rank(k, 0.01)
            assert rank is not None
            low, high = np.sort(values)[[rank - 1, k - rank]]
            covered[i] += low <= 0.0 <= high
            wide[i] += (high - low) / (2.0 * stats.t.ppf(0.995, n_files - 1) * error)
    cells = [f"{c:.3f}, {w:.2f}" for c, w in zip(covered / runs, wide / runs, strict=True)]
    return cells + [""] * (len(BLOCKS) - len(fitting))


def series(kind: str, n: int, g: np.random.Generator) -> Any:
    """A table's rows of mean 0: ``ar 0.9`` or ``block 50``."""
    name, size = kind.split()
    if name == "ar":
        start = 20 * int(1.0 / (1.0 - float(size)))
        return lfilter([1.0], [1.0, -float(size)], g.standard_normal(n + start))[start:]
    each = int(size)
    return np.repeat(0.3 * (g.exponential(size=-(-n // each)) - 1.0), each)[:n] + g.standard_normal(n)


def of_table(kind: str, n: int, runs: int, seed: int = 3) -> tuple[float, float, float, float]:
    """How often there is an interval of stretches, none, and what the former and that of rows cover."""
    g = np.random.default_rng(seed)
    found_in = none = covered = by_rows = 0
    rows = FINE_ROWS if n <= FEW_ROWS else stretch_rows(n)
    starts = np.arange(0, n, rows)
    nothing = np.zeros(starts.size, np.int64)
    for _ in range(runs):
        x = series(kind, n, g)
        mass = np.diff(np.append(starts, n)).astype(float)
        mean, variance = np.add.reduceat(x, starts) / mass, np.array([x.var()])
        levels = levels_of(nothing, np.arange(starts.size), rows, ())
        found = dependence(Pieces(levels, nothing, mass, mean[None], variance, variance / n))
        half = 2.576 * np.sqrt(variance[0] / n)
        by_rows += abs(x.mean()) <= half
        low, high = x.mean() - half, x.mean() + half
        if found is not None and not found.in_order:
            [low], [high] = (
                found.clusters.interval(np.array([x.mean()]), 0.01)
                if found.clusters is not None
                else ([np.nan], [np.nan])
            )
            none += np.isnan(low)
            found_in += not np.isnan(low)
        covered += low <= 0.0 <= high
    return found_in / runs, none / runs, covered / max(runs - none, 1), by_rows / runs


def main(runs: int) -> None:
    """Print both tables."""
    heads = ["files, sizes", "effects", "covers", "t covers", "width over t", *(f"K = {k}" for k in BLOCKS)]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for n_files in FILES:
        for unequal in (False, True):
            for distribution in EFFECTS:
                cells = of_files(distribution, n_files, unequal, runs)
                sizes = "unequal" if unequal else "equal"
                print(
                    f"| {n_files}, {sizes} | {distribution} |",
                    " | ".join(
                        [*(f"{c:.3f}" for c in cells), *of_blocks(distribution, n_files, unequal, runs)]
                    ),
                    "|",
                    flush=True,
                )
    print("\n| rows of a table | n | interval | none | covers | by rows |\n|---|---|---|---|---|---|")
    for kind in ("ar 0.5", "ar 0.9", "ar 0.99", "block 20", "block 200"):
        for n in (2_000, 20_000, 200_000):
            cells_of = of_table(kind, n, max(runs // 5, 1))
            print(f"| {kind} | {n:,} |", " | ".join(f"{c:.3f}" for c in cells_of), "|", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_500)
