"""A bad share of rows through `dm.mean`: ``python -m tests.statistics.share_tables [short | sizes] [runs]``.

For each damage and number of rows n: n times the mean squared error over the variance of the clean rows (the
sample mean of these has 1), the least and the greatest over four distributions, and the least share of runs
whose interval covers the mean. Cells that fail are bold. ``short`` prints the table of
docs/statistics/limits.md.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import distmom as dm

sys.path.insert(0, str(Path(__file__).parent))

from share_distributions import DAMAGES, damaged, normal, sizes, student

RUNS = {10_000: 40, 100_000: 20, 1_000_000: 12}

DISTRIBUTIONS = {
    "normal": (normal(0, 1), 0.0, 1.0),
    "Student 3": (student(3.0), 0.0, math.sqrt(3.0)),
    "log-normal 1": (sizes(1, 1), math.exp(0.5), math.sqrt(math.e * (math.e - 1.0))),
    "Poisson 0.3": (lambda g, n: g.poisson(0.3, n) * 1.0, 0.3, math.sqrt(0.3)),
}
"""Laws with their means and standard deviations."""


def at(spreads):
    return lambda x, g, all_rows: np.full(x.size, all_rows.mean() + spreads * all_rows.std())


WRONG = {
    "nothing": (0.0, None),
    **{f"{100 * s:g}% are 10⁶": (s, DAMAGES["10⁶"]) for s in (0.0001, 0.001, 0.01, 0.05, 0.1)},
    **{f"{100 * s:g}% are −9999": (s, DAMAGES["−9999"]) for s in (0.001, 0.01, 0.1)},
    **{f"{100 * s:g}% × 1000": (s, DAMAGES["× 1000"]) for s in (0.001, 0.02, 0.1)},
    **{f"{100 * s:g}% at ±10⁴σ": (s, DAMAGES["±10⁴σ"]) for s in (0.01, 0.1)},
    "5% Cauchy × 10⁴σ": (0.05, DAMAGES["Cauchy × 10⁴σ"]),
    "0.1% at μ+100σ": (0.001, at(100)),
    "1% at μ+100σ": (0.01, at(100)),
    "1% at μ+30σ": (0.01, at(30)),
    "1% at μ+5σ": (0.01, at(5)),
    "10% at μ+5σ": (0.1, at(5)),
}
"""Shares and damages."""

SHORT = (
    *("nothing", "0.1% are 10⁶", "1% are −9999", "10% are −9999", "2% × 1000", "10% × 1000"),
    *("1% at ±10⁴σ", "0.1% at μ+100σ", "1% at μ+30σ", "1% at μ+5σ"),
)


def rows(x):
    return dm.mean(x, rng=0)


def once(x):
    """Of a stream, which can be read once: where rows are screened out, the answer is that of the sample."""
    return dm.mean(pa.RecordBatchReader.from_batches(*_batches(x)), "x", rng=0)


def _batches(x):
    table = pa.table({"x": x})
    return table.schema, table.to_batches(max_chunksize=131_072)


def given(share):
    return lambda x: dm.mean(x, rng=0, contamination=share or 0.01)


WAYS = ("one pass", "all rows", "contamination=")


@dataclass
class Cell:
    """What came of a damage, a number of rows and a way to ask."""

    n: int
    way: str
    risks: list[float]
    covered: list[float]
    statuses: list[str]

    @property
    def fails(self):
        """Whether the intervals miss the mean, for a distribution, in more than 15% of the runs."""
        return min(self.covered) < 0.85

    def text(self, *, covered=True):
        low, high = map(short, (min(self.risks), max(self.risks)))
        cell = low if low == high else f"{low} – {high}"
        cell += f"; {min(self.covered):.2f}" if covered else ""
        return f"**{cell}**" if self.fails else cell


def short(risk):
    """Two digits, from ten thousand on the power of ten."""
    if risk < 9_999.5:
        return f"{risk:.2g}" if risk < 99.5 else f"{risk:,.0f}"
    digits = str(round(math.log10(risk))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{digits}"


def cell(wrong, n, way, runs, distributions=DISTRIBUTIONS, seed=31):
    """The same rows for every way."""
    share, damage = WRONG[wrong]
    found = Cell(n, way, [], [], [])
    ask = {"one pass": once, "all rows": rows, "contamination=": given(share)}[way]
    with dm.options(warn=False):
        for number, (distribution, mean, sd) in enumerate(distributions.values()):
            errors, covered = [], 0
            for run in range(runs):
                g = np.random.default_rng([seed, n, number, run])
                x = distribution(g, n) if damage is None else damaged(distribution, damage, share, n, g)[0]
                result = ask(x)
                errors.append((result.estimate - mean) / sd)
                low, high = result.interval or (math.inf, -math.inf)
                covered += low <= mean <= high
                found.statuses.append(str(result.status))
            found.risks.append(n * float(np.mean(np.square(errors))))
            found.covered.append(covered / runs)
    return found


def table(sizes, times):
    """All damages: risk and coverage of each way, and how often rows were screened out or told."""
    for n in sizes:
        print(f"\n| n = {n:,} | " + " | ".join(WAYS) + " | screened out, told |")
        print("|---" * (len(WAYS) + 2) + "|")
        for wrong in WRONG:
            cells = {way: cell(wrong, n, way, max(2, round(RUNS[n] * times))) for way in WAYS}
            words = cells["all rows"].statuses
            told = ", ".join(
                f"{words.count(w) / len(words):.2f}" for w in ("share screened out", "share far out")
            )
            print(f"| {wrong} | " + " | ".join(c.text() for c in cells.values()) + f" | {told} |", flush=True)


def short_table(times):
    """That of docs/statistics/limits.md."""
    columns = {
        "n = 10⁴": (10**4, "all rows"),
        "n = 10⁵": (10**5, "all rows"),
        "n = 10⁶, one pass": (10**6, "one pass"),
        "n = 10⁶, all rows": (10**6, "all rows"),
        "n = 10⁵, `contamination=` share": (10**5, "contamination="),
    }
    print("| what is wrong | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for wrong in SHORT:
        cells = [cell(wrong, n, way, max(2, round(RUNS[n] * times))) for n, way in columns.values()]
        print(f"| {wrong} | " + " | ".join(c.text() for c in cells) + " |", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    times = float(words.pop()) if words and "." in words[-1] else 1.0
    if words == ["short"]:
        short_table(times)
    else:
        table([int(word) for word in words] or [10_000, 100_000], times)
