"""Coverage of the intervals of weighted means, as Markdown.

python -m tests.benchmarks.weights                # 300 data sets of 10,000 rows, 100 of 100,000: minutes
python -m tests.benchmarks.weights --data-sets 30

Weights are log-normal. Values are normal, exponential or log-normal, with one scale, or one that grows with
the root of the weight. The target is E(w x)/E(w). A cell is the least and the greatest coverage of the three
distributions.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np

import distmom as dm

VALUES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda g, n: g.standard_normal(n),
    "exponential": lambda g, n: g.exponential(size=n) - 1.0,
    "log-normal": lambda g, n: g.lognormal(0.0, 1.0, n) - np.exp(0.5),
}
"""Of mean 0, which is the target then, whatever the weights are."""

Kind = Literal["cantelli", "order"]
INTERVALS: dict[Kind, float] = {"cantelli": 0.99, "order": 0.95}


def coverage(value: str, sigma: float, grows: bool, n_rows: int, n_sets: int) -> dict[Kind, float]:
    """Share of the data sets whose interval holds the mean, by kind."""
    held = dict.fromkeys(INTERVALS, 0)
    for seed in range(n_sets):
        g = np.random.default_rng([seed, n_rows])
        weight = g.lognormal(0.0, sigma, n_rows)
        rows = {"x": VALUES[value](g, n_rows) * (np.sqrt(weight) if grows else 1.0), "w": weight}
        for kind, level in INTERVALS.items():
            found = dm.mean(rows, "x", weights="w", interval=kind, confidence_level=level, rng=seed)
            held[kind] += found.interval is not None and found.interval[0] <= 0.0 <= found.interval[1]
    return {kind: n / n_sets for kind, n in held.items()}


def main() -> None:
    """Print a line for each kind of weights and number of rows."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--data-sets", type=int, default=300)
    n_sets = asked.parse_args().data_sets
    warnings.simplefilter("ignore", dm.DoubtfulResultWarning)
    heads = [f"`{kind}` at {level:.0%}" for kind, level in INTERVALS.items()]
    print("| weights, scale of the values | rows | " + " | ".join(heads) + " |\n|---|---|---|---|")
    for sigma, grows in ((2.0, True), (2.0, False), (1.0, True)):
        for n_rows, sets in ((10_000, n_sets), (100_000, max(1, n_sets // 3))):
            found = [coverage(value, sigma, grows, n_rows, sets) for value in VALUES]
            ends = [(min(f[kind] for f in found), max(f[kind] for f in found)) for kind in INTERVALS]
            scale = "grows with the root of the weight" if grows else "one"
            cells = [f"{low:.2f} – {high:.2f}" for low, high in ends]
            print(f"| σ = {sigma:g}, {scale} | {n_rows:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
