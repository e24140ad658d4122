"""How often the gap rule accuses rows: ``python -m tests.statistics.share_alarms [runs]`` prints the tables.

Samples of more than 65,536 rows do not exist, so a sample of 65,536 rows stands for all larger n.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from share_laws import DAMAGES, JUDGED, KEPT, REPAIRED, SPECIFIED, TUNED, damaged, random_sizes

from distmom.inference.share.gaps import NEAR, rows_apart

SIZES = (200, 1_000, 10_000, 65_536)
RUNS = {200: 200, 1_000: 150, 10_000: 60, 65_536: 20}
SHARES = (0.001, 0.01, 0.1)


def alarms(law, n, runs, seed):
    """Shares of runs: rows beyond a gap, rows accused, and beyond a gap of 10 spreads (told)."""
    gap = accused = told = 0
    for run in range(runs):
        y = np.sort(law(np.random.default_rng([seed, n, run]), n))
        gap += rows_apart(y, modes=True).n > 0
        accused += rows_apart(y).n > 0
        told += rows_apart(y, NEAR, modes=True).n > 0
    return gap, accused, told


def found(law, damage, share, n, runs, seed):
    """Averages over runs: damaged rows accused, and good rows accused, as shares of the damaged rows."""
    hit = wrong = 0.0
    for run in range(runs):
        x, bad = damaged(law, damage, share, n, np.random.default_rng([seed, n, run]))
        apart = rows_apart(np.sort(x))
        out = (x <= apart.lo) | (x >= apart.hi)
        hit += (out & bad).sum() / bad.sum() / runs
        wrong += (out & ~bad).sum() / bad.sum() / runs
    return hit, wrong


def main(times=1.0):
    """Print both tables."""
    tables = {"specified": SPECIFIED, "tuned on": TUNED, "repaired on": REPAIRED, "judged on": JUDGED}
    for title, laws in tables.items():
        print(f"\n| {title} | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |")
        print("|---" * (len(SIZES) + 1) + "|")
        total = np.zeros(4, int)
        for name, law in laws.items():
            cells = []
            for n in SIZES:
                runs = max(2, round(RUNS[n] * times))
                got = alarms(law, n, runs, seed=21)
                total += [runs, *got]
                cells.append(" ".join(f"{k / runs:.2f}" for k in got))
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        print("runs {}, beyond a gap {}, accused {}, told {}".format(*total))
    for narrow in (False, True):
        for n in SIZES:
            runs = max(2, round(2 * RUNS[n] * times))
            draws = [np.random.default_rng([23, n, narrow, k]) for k in range(runs)]
            got = np.sum(
                [alarms(random_sizes(g, narrow), n, 1, int(g.integers(2**31))) for g in draws], axis=0
            )
            print(f"random modes{', narrow' if narrow else ''}, n = {n:,}: runs {runs}, beyond a gap", *got)
    print(
        "\n| law | damage | "
        + " | ".join(f"{n:,}: {100 * s:g} %" for n in (10_000, 65_536) for s in SHARES)
        + " |"
    )
    for name, law in KEPT.items():
        for what, damage in DAMAGES.items():
            cells = [
                "{:.2f} {:.2f}".format(*found(law, damage, s, n, max(2, round(10 * times)), seed=22))
                for n in (10_000, 65_536)
                for s in SHARES
            ]
            print(f"| {name} | {what} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
