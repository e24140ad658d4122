"""Champions against the candidate of least plain risk, over many seeds: the figures of docs/performance.

    python -m tests.benchmarks.tournament_seeds [--seeds 200]

Regression: 21 slopes from 0 to 2, the right one is 1, noise of Student's distribution with 2.1 degrees of
freedom, 3,000 rows; excess risks of the chosen slope. Metrics: nine Mahalanobis matrices, 2,000 rows.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "estimators/tournament"))
sys.path.append(str(Path(__file__).parents[1]))

from test_pair_tournament_statistics import BAD, N, play
from test_tournament_statistics import excess


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    seeds = range(parser.parse_args().seeds)
    print("excess risk over", len(seeds), "seeds: mean, 95% quantile")
    for share in (0.0, 0.02):
        found = np.array([excess(seed, 3_000, share) for seed in seeds])
        for name, values in zip(("tournament", "least mean loss"), found.T, strict=True):
            print(f"{share:.0%} corrupted  {name:16} {values.mean():.4f} {np.quantile(values, 0.95):.4f}")
    for bad in (0, BAD):
        runs = [play(seed, N, bad, contamination=bad or None) for seed in seeds]
        right = np.mean(["true" in run.champions for run in runs])
        plain = np.mean([min(run, key=lambda line: line.plain_estimate).name == "true" for run in runs])
        print(
            f"{bad} outlying rows of {N}: the right matrix is champion {right:.3f}, of least risk {plain:.3f}"
        )


if __name__ == "__main__":
    main()
