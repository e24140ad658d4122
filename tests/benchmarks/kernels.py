"""Processor time of block statistics next to sorting, SciPy and all pairs, as Markdown.

python -m tests.benchmarks.kernels                 # a million rows: a minute
python -m tests.benchmarks.kernels --rows 100000

Least of several interleaved runs, in time of one thread: other processes lengthen it less than the clock's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy import stats
from scipy.spatial.distance import pdist

from distmom import kernels
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.pairs.tiles import tiled_sums
from distmom.numerics.random.philox import stream_key
from distmom.numerics.random.tuple_draws import sample_tuples


def least(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least seconds of each run, one after the other in turns, after a first one that is not counted."""
    for run in runs.values():
        run()
    found = dict.fromkeys(runs, np.inf)
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.thread_time()
            run()
            found[name] = min(found[name], time.thread_time() - start)
    return found


def show(title: str, found: dict[str, float], peer: str) -> None:
    """One line for each run, as a multiple of the peer."""
    print(f"\n| {title} | ms | x {peer} |\n| --- | --- | --- |")
    for name, seconds in found.items():
        print(f"| {name} | {1e3 * seconds:.2f} | {seconds / found[peer]:.2f} |")


def sorted_forms(n: int, rng: np.random.Generator) -> None:
    """Statistics of n rows by sorting or from moments."""
    x, y = rng.normal(size=(2, n))
    both = np.column_stack([x, 0.3 * x + y])
    tied = np.round(both, 2)
    gini, tau, tau_b = kernels.gini(), kernels.kendall(), kernels.kendall_b()
    weights = (rng.exponential(size=n),)
    show(
        f"Gini, {n:,} rows",
        least(
            {
                "sort": lambda: np.sort(x),
                "mean": lambda: block_sums(gini, x, rows=False),
                "with row means": lambda: block_sums(gini, x),
            },
            9,
        ),
        "sort",
    )
    show(
        f"Kendall, {n:,} rows",
        least(
            {
                "scipy": lambda: stats.kendalltau(*both.T),
                "tau-a": lambda: block_sums(tau, both, rows=False),
                "tau-a with row means": lambda: block_sums(tau, both),
                "tau-a, weighted": lambda: block_sums(tau, both, weights=weights),
            },
            5,
        ),
        "scipy",
    )
    show(
        f"Kendall with ties, {n:,} rows",
        least(
            {
                "scipy": lambda: stats.kendalltau(*tied.T),
                "tau-b": lambda: block_sums(tau_b, tied, rows=False),
                "tau-b, weighted": lambda: block_sums(tau_b, tied, weights=weights),
                "concordance": lambda: block_sums(kernels.concordance(), tied, rows=False),
                "concordance, weighted": lambda: block_sums(kernels.concordance(), tied, weights=weights),
            },
            5,
        ),
        "scipy",
    )
    many = rng.normal(size=(n, 8))
    show(
        f"Others, {n:,} rows",
        least(
            {
                "variance": lambda: block_sums(kernels.variance(), x, rows=False),
                "covariance of 8": lambda: block_sums(kernels.covariance(), many, rows=False),
                "auc": lambda: block_sums(kernels.auc(), x, y, rows=False),
                "energy": lambda: block_sums(kernels.energy(), x[:, None], y[:, None], rows=False),
                "mmd, laplace": lambda: block_sums(kernels.mmd(1.0, "laplace"), x[:, None], y[:, None]),
            },
            3,
        ),
        "variance",
    )


def all_pairs(n: int, rng: np.random.Generator) -> None:
    """Pairs per second of kernels tile by tile."""
    x, rows, ranked = rng.normal(size=(n, 1)), rng.normal(size=(n // 4, 8)), rng.normal(size=(n // 4, 2))
    own = kernels.kernel(lambda a, b: np.abs(a - b))
    inlined = kernels.kernel(lambda a, b: abs(a - b), compiled=True)
    one = x[:, 0].copy()
    runs = {
        "pdist": (n // 4, lambda: pdist(x[: n // 4])),
        "absolute difference": (n, lambda: tiled_sums(kernels.gini(), one, rows=False, compiled=True)),
        "absolute difference, with row means": (n, lambda: tiled_sums(kernels.gini(), one, compiled=True)),
        "the same of a user, compiled": (n, lambda: tiled_sums(inlined, one, rows=False)),
        "the same of a user, NumPy": (n // 4, lambda: tiled_sums(own, one[: n // 4], rows=False)),
        "distance, 8 columns": (n // 4, lambda: tiled_sums(kernels.distance(), rows, compiled=True)),
        "rbf, 8 columns": (n // 4, lambda: tiled_sums(kernels.rbf(1.0), rows, compiled=True)),
        "hinge ranking": (n // 4, lambda: tiled_sums(kernels.ranking("hinge"), ranked, compiled=True)),
        "logistic ranking": (n // 4, lambda: tiled_sums(kernels.ranking("logistic"), ranked, compiled=True)),
    }
    found = least({name: run for name, (_, run) in runs.items()}, 9)
    rates = {name: size * (size - 1) / 2 / found[name] / 1e9 for name, (size, _) in runs.items()}
    print("\n| all pairs | 1e9 pairs/s | x pdist |\n| --- | --- | --- |")
    for name, rate in rates.items():
        print(f"| {name} | {rate:.3f} | {rate / rates['pdist']:.1f} |")


def drawn_pairs() -> None:
    """Draws of pairs without repeats."""
    key, million = stream_key(0, "pairs"), 10**6

    def draw(n, size, blocks=1):
        return [sample_tuples(key, k, (n,), (2,), size) for k in range(blocks)]

    found = least(
        {
            "3 x 1,000 of 60,000 rows": lambda: draw(60_000, 1000, 3),
            "1e6 of 1e9 rows": lambda: draw(10**9, million),
            "1e6 of 1e10 rows": lambda: draw(10**10, million),
        },
        5,
    )
    show("pairs drawn", found, "3 x 1,000 of 60,000 rows")


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=1_000_000, help="of sorted forms (default a million)")
    options.add_argument("--pair-rows", type=int, default=1 << 14, help="of all pairs (default 16384)")
    args = options.parse_args()
    rng = np.random.default_rng(0)
    sorted_forms(args.rows, rng)
    all_pairs(args.pair_rows, rng)
    drawn_pairs()


if __name__ == "__main__":
    main()
