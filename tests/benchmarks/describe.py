"""Time `dm.describe` beside DuckDB's SUMMARIZE, and count whom it names rightly and wrongly.

    python -m tests.benchmarks.describe speed LAKE [SMALLER_LAKE]   # seconds, ratio, peak memory
    python -m tests.benchmarks.describe alarms [--seeds 100]        # clean lakes, 15 distributions: whom
    python -m tests.benchmarks.describe found                       # real flights: each day damaged in turn

Nothing here is asserted.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from distmom.estimators.describe.suspects import UnitFacts, suspects
from tests.benchmarks.mean import duckdb_query, table, timed

Distribution = Callable[[np.random.Generator, int], np.ndarray]
DISTRIBUTIONS: dict[str, Distribution] = {
    "normal": lambda g, n: g.normal(size=n),
    "Student 3": lambda g, n: g.standard_t(3, n),
    "Student 2.5": lambda g, n: g.standard_t(2.5, n),
    "log-normal": lambda g, n: g.lognormal(0, 1, n),
    "log-normal, sigma 2": lambda g, n: g.lognormal(0, 2, n),
    "Pareto 3": lambda g, n: g.pareto(3, n),
    "Pareto 2.1": lambda g, n: g.pareto(2.1, n),
    "exponential": lambda g, n: g.exponential(size=n),
    "gamma 0.2": lambda g, n: g.gamma(0.2, size=n),
    "uniform": lambda g, n: g.random(n),
    "Poisson 0.3": lambda g, n: g.poisson(0.3, n).astype(float),
    "90% zeros": lambda g, n: g.exponential(size=n) * (g.random(n) < 0.1),
    "99% zeros": lambda g, n: g.exponential(size=n) * (g.random(n) < 0.01),
    "Bernoulli 0.01": lambda g, n: (g.random(n) < 0.01).astype(float),
    "digits": lambda g, n: g.integers(0, 10, n).astype(float),
}
SHIFTED = ("normal", "Student 3", "log-normal", "exponential", "uniform", "digits")
"""Laws that get shifts of the files' own; the others get factors."""

LAKES = {
    "365 files of 900 rows": (365, 900, 0.0, False),
    "1,000 files of 50 rows": (1_000, 50, 0.0, False),
    "100 files of about 200 rows, sizes log-normal": (100, 200, 0.0, True),
    "365 such files with effects of one standard deviation": (365, 200, 1.0, True),
    "40 files of about 2,000 rows with effects of three": (40, 2_000, 3.0, True),
}
PEAK = """
import re, sys, distmom as dm
dm.describe(sys.argv[1], rng=0)
# not from getrusage, which also counts the memory of the process that started this one
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1e3)
"""


def speed(lakes: list[Path], repeat: int) -> None:
    """Seconds beside SUMMARIZE on the first lake, and peak memory on all."""
    import distmom as dm

    lake = lakes[0]
    runs = {
        "distmom describe": lambda: dm.describe(lake, rng=0),
        "DuckDB SUMMARIZE": lambda: duckdb_query(f"summarize select * from '{lake}/**/*.parquet'"),
    }
    table("Profile of all columns", timed(runs, repeat), "distmom describe", {"DuckDB SUMMARIZE": "2"})
    for path in lakes:
        command = [sys.executable, "-c", PEAK, str(path)]
        peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print(f"peak memory for {path}: {float(peak):.0f} MB")


def facts_of(x: np.ndarray, sizes: np.ndarray) -> UnitFacts:
    """Facts of files that follow one another; without missing rows."""
    starts = np.cumsum(sizes) - sizes
    mean = np.add.reduceat(x, starts) / sizes
    square = np.add.reduceat((x - np.repeat(mean, sizes)) ** 2, starts)
    variance = np.where(sizes > 1, square / np.maximum(sizes - 1, 1), np.nan)
    low, high = (f.reduceat(x, starts) for f in (np.minimum, np.maximum))
    return UnitFacts(sizes, sizes, mean, variance, np.minimum(low, mean), np.maximum(high, mean))


def clean_lake(name: str, n_files: int, rows: int, effect: float, unequal: bool, seed: int) -> list[str]:
    """What a clean lake is accused of."""
    g = np.random.default_rng(seed)
    sizes = np.full(n_files, rows)
    if unequal:
        sizes = np.maximum(2, rows * g.lognormal(0.0, 1.0, n_files)).astype(int)
    x = DISTRIBUTIONS[name](g, int(sizes.sum()))
    own = np.repeat(effect * g.normal(size=n_files), sizes)
    x = x + x.std() * own if name in SHIFTED else x * np.exp(0.5 * own)
    return [f.what for f in suspects(facts_of(x, sizes), g.choice(x, 16_384))]


def alarms(seeds: int) -> None:
    """Clean lakes in which some file is named."""
    for title, lake in LAKES.items():
        print(f"\n### {title}: lakes of {seeds} with a named file")
        for name in DISTRIBUTIONS:
            found = [clean_lake(name, *lake, seed) for seed in range(seeds)]
            kinds = Counter(what for whats in found for what in whats)
            print(f"{name:24} {sum(map(bool, found)):4}  {dict(kinds) or ''}", flush=True)


DAMAGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "constant -999": lambda x: np.full_like(x, -999.0),
    "zeros": np.zeros_like,
    "times 1,000": lambda x: 1_000.0 * x,
    "times 60": lambda x: 60.0 * x,
    "other sign": np.negative,
    "60 more": lambda x: x + 60.0,
}
COLUMNS = ("dep_delay", "arr_delay", "air_time", "distance", "dep_time", "hour", "minute", "flight")


def found() -> None:
    """Each day of the flights damaged in one column, in turn: how often it is named, and how often others."""
    from pipelines.flights import flights

    data = flights().to_pandas()
    days = [day for _, day in data.groupby(["month", "day"])]
    for column in COLUMNS:
        files = [day[column].dropna().to_numpy(float) for day in days]
        sample = np.random.default_rng(0).choice(np.concatenate(files), 16_384)
        print(f"{column}: {_named(files, sample) or 'nobody'} named in the clean lake")
        for name, damage in DAMAGES.items():
            right = wrong = 0
            for i, file in enumerate(files):
                named = _named([*files[:i], damage(file), *files[i + 1 :]], sample)
                right, wrong = right + (i in named), wrong + bool(named - {i})
            print(f"    {name:14} {right} of {len(files)} days named, {wrong} times another one", flush=True)


def _named(files: list[np.ndarray], sample: np.ndarray) -> set[int]:
    facts = facts_of(np.concatenate(files), np.array([f.size for f in files]))
    return {f.unit for f in suspects(facts, sample)}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["speed", "alarms", "found"])
    parser.add_argument("lakes", type=Path, nargs="*")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=100)
    args = parser.parse_args()
    if args.what == "speed":
        speed(args.lakes, args.repeat)
    elif args.what == "alarms":
        alarms(args.seeds)
    else:
        found()


if __name__ == "__main__":
    main()
