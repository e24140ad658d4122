"""Estimators that know the share of bad rows: ``python -m tests.statistics.share_estimators [replications]``.

Root mean square error in units of sigma sqrt(epsilon), the larger one of epsilon = 1% and 5%, n = 20,000: on
skewed rows (exponential, log-normal) of which none is bad, and the worst over four distributions and five
kinds of damage. `window` is what ``contamination=`` takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

N_ROWS, SHARES = 20_000, (0.01, 0.05)

DRAWS: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float, float]] = {
    "normal": (lambda g, n: g.standard_normal(n), 0.0, 1.0),
    "student 3": (lambda g, n: g.standard_t(3, n), 0.0, np.sqrt(3.0)),
    "exponential": (lambda g, n: g.exponential(size=n), 1.0, 1.0),
    "log-normal": (
        lambda g, n: g.lognormal(0.0, 1.0, n), np.exp(0.5), np.sqrt((np.e - 1.0) * np.e)
    ),
}  # fmt: skip
"""With mean and standard deviation."""
SKEWED = ("exponential", "log-normal")

DAMAGES: dict[str, Callable[[np.ndarray, float, float], np.ndarray]] = {
    "nothing": lambda bad, mean, sd: bad,
    "far": lambda bad, mean, sd: np.full_like(bad, mean + 1e6 * sd),
    "at 5 sd": lambda bad, mean, sd: np.full_like(bad, mean + 5.0 * sd),
    "at -3 sd": lambda bad, mean, sd: np.full_like(bad, mean - 3.0 * sd),
    "x 1000": lambda bad, mean, sd: 1000.0 * bad,
}


def trimmed(x: np.ndarray, share: float) -> float:
    """Without so large a share of the rows at each end."""
    cut = round(share * x.size)
    return float(x[cut : x.size - cut].mean())


def winsorised(x: np.ndarray, share: float) -> float:
    """With twice the share of the rows at each end moved to the next one."""
    cut = round(2.0 * share * x.size)
    return float(np.clip(x, x[cut], x[-cut - 1]).mean())


def of_blocks(x: np.ndarray, share: float) -> float:
    """Median of the means of blocks of 0.35/share rows."""
    size = int(0.35 / share)
    mixed = np.random.default_rng(0).permutation(x)[: x.size // size * size]
    return float(np.median(mixed.reshape(-1, size).mean(axis=1)))


def huber(x: np.ndarray, share: float) -> float:
    """With the cutoff of 1.345 normalised median absolute deviations."""
    centre = np.median(x)
    cut = 1.345 * 1.4826 * np.median(abs(x - centre))
    for _ in range(50):
        centre += np.clip(x - centre, -cut, cut).mean()
    return float(centre)


def window(x: np.ndarray, share: float, times: float) -> float:
    """Mean of the largest window whose standard deviation is at most so many times the least."""
    n, t = x.size, round(share * x.size)
    sums, squares = (
        np.concatenate([[0.0], np.cumsum(y)]) for y in (x - np.median(x), (x - np.median(x)) ** 2)
    )

    def spreads(left_out: int) -> tuple[np.ndarray, np.ndarray]:
        size = n - left_out
        first = np.arange(left_out + 1)
        means = (sums[first + size] - sums[first]) / size
        return means, (squares[first + size] - squares[first]) / size - means**2

    most = times**2 * spreads(t)[1].min()
    low, high = 0, t  # the fewest rows left out
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if spreads(middle)[1].min() <= most else (middle + 1, high)
    means, variances = spreads(low)
    return float(np.median(x) + means[variances.argmin()])


ESTIMATORS: dict[str, Callable[[np.ndarray, float], float]] = {
    "sample mean": lambda x, share: float(x.mean()),
    "median": lambda x, share: float(np.median(x)),
    "trimmed mean, ε at each end": trimmed,
    "winsorised mean, 2ε at each end": winsorised,
    "median of means, blocks of 0.35/ε rows": of_blocks,
    "Huber, cutoff 1.345 MAD": huber,
    "window of least standard deviation": lambda x, share: window(x, share, 1.0),
    "this window (1.25 times the least)": lambda x, share: window(x, share, 1.25),
}


def main(runs: int) -> None:
    """Print a line for each estimator."""
    worst: dict[str, list[float]] = {name: [0.0, 0.0] for name in ESTIMATORS}
    for share in SHARES:
        for name, (draw, mean, sd) in DRAWS.items():
            for damage, change in DAMAGES.items():
                errors: dict[str, list[float]] = {one: [] for one in ESTIMATORS}
                for run in range(runs):
                    x = draw(np.random.default_rng(run), N_ROWS)
                    bad = round(share * N_ROWS)
                    x[:bad] = change(x[:bad], mean, sd)
                    x.sort()
                    for one, estimate in ESTIMATORS.items():
                        errors[one].append((estimate(x, share) - mean) / (sd * np.sqrt(share)))
                for one, found in errors.items():
                    rms = float(np.sqrt(np.mean(np.square(found))))
                    clean = rms if damage == "nothing" and name in SKEWED else 0.0
                    worst[one] = [max(worst[one][0], clean), max(worst[one][1], rms)]
    print("| estimator | nothing bad, skewed | worst |\n|---|---|---|")
    for one, (clean, most) in worst.items():
        print(f"| {one} | {clean:.2f} | {'very large' if most > 1e3 else f'{most:.2f}'} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
