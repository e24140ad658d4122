"""What order statistics of samples would cover: ``python -m tests.statistics.sample_orders [data sets]``.

Nominal 95%, 1,000 rows. Blocks of a partition are independent; samples and sampled pairs share rows. The
target of pairs is the variance, by the kernel (x - y)^2/2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from distmom.theory.intervals import order_rank

N_ROWS = 1_000
Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def partition(n_blocks: int) -> Draw:
    """Means of blocks of a random partition."""
    rows = N_ROWS // n_blocks * n_blocks
    return lambda g, x: g.permutation(x)[:rows].reshape(n_blocks, -1).mean(axis=1)


def samples(n_blocks: int, size: int, *, replace: bool) -> Draw:
    """Means of samples of rows."""
    if replace:
        return lambda g, x: x[g.integers(0, N_ROWS, (n_blocks, size))].mean(axis=1)
    return lambda g, x: np.array([x[g.permutation(N_ROWS)[:size]].mean() for _ in range(n_blocks)])


def pairs(n_blocks: int, n_pairs: int) -> Draw:
    """Means of the kernel of the variance over sampled pairs of rows."""

    def draw(g: np.random.Generator, x: np.ndarray) -> np.ndarray:
        first = g.integers(0, N_ROWS, (n_blocks, n_pairs))
        other = (first + g.integers(1, N_ROWS, first.shape)) % N_ROWS
        return np.mean((x[first] - x[other]) ** 2, axis=1) / 2.0

    return draw


LINES: tuple[tuple[str, int, Draw, bool], ...] = (
    ("a partition, K = 35", 35, partition(35), True),
    *(
        (f"samples {'with' if with_ else 'without'} replacement, K = {k:,}, B = {b}", k, draw, True)
        for k, b in ((35, 28), (101, 100), (1_001, 28))
        for with_ in (False, True)
        for draw in [samples(k, b, replace=with_)]
    ),
    *((f"sampled pairs, K = 35, M = {m:,}", 35, pairs(35, m), False) for m in (500, 5_000, 50_000)),
)


def main(n_sets: int) -> None:
    """Print a line for each kind of blocks."""
    print("| blocks | normal | log-normal |\n|---|---|---|")
    for name, n_blocks, draw, of_mean in LINES:
        held = {"normal": 0, "log-normal": 0}
        rank = order_rank(n_blocks, 0.05)
        assert rank is not None
        for run in range(n_sets):
            g = np.random.default_rng(run)
            x = g.normal(size=N_ROWS)
            for rows, target, key in ((x, 1.0 - of_mean, "normal"), (np.exp(x), np.exp(0.5), "log-normal")):
                if not of_mean and key == "log-normal":  # a variance of infinite kurtosis, nearly
                    continue
                values = np.sort(draw(g, rows))
                held[key] += values[rank - 1] <= target <= values[n_blocks - rank]
        cells = [f"{n / n_sets:.2f}" if of_mean or key == "normal" else "" for key, n in held.items()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
