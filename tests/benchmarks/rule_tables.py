"""Tables of risk, coverage and flags of the rule for the number of blocks, as Markdown.

    python tests/benchmarks/rule_tables.py --share 0.1            # a tenth of the replications, minutes
    python tests/benchmarks/rule_tables.py --share 1 --output tables.md

Clean rows are drawn once per distribution and size, and every damage is done to the same rows. Cells that
fail (the answer beyond the claimed risk, or its interval missing the mean) are printed bold: limits to be
known.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "statistics"))

from rule_distributions import (
    DAMAGES,
    HARD,
    OWN,
    REGULAR,
    Tally,
    answer,
    fine_for,
    lake,
    lake_answer,
    most_events,
    most_nmse,
    portions,
    times,
    to,
)

from distmom.inference.status import flags_of
from distmom.theory.ladder import fine_blocks

REPEATS = {1000: 600, 10_000: 500, 30_000: 250, 100_000: 120, 300_000: 60, 1_000_000: 30}
DISTRIBUTIONS = REGULAR | HARD | OWN
FOUR = ("normal", "Student 3", "lognormal", "Pareto 3")
MOST_NMSE, LEAST_COVERAGE = 3.6, 0.95
"""Claims; a cell fails when its replications contradict them at a risk of 1e-4."""


def number(x: float) -> str:
    """Two digits, powers of ten when large."""
    if not np.isfinite(x):
        return "∞"
    if x >= 1e5:
        return f"{x:.0e}".replace("e+", "e")
    return f"{x:.0f}" if x >= 10 else f"{x:.1f}"


def span(values, form=number) -> str:
    """Range of values, or the one value."""
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low}–{high}"


def share(x: float) -> str:
    """A probability with as many digits as it needs."""
    return f"{x:.2f}".rstrip("0").rstrip(".") if x not in (0.0, 1.0) else f"{x:.0f}"


def table(head: list[str], lines: list[list[str]]) -> str:
    """Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def run(distributions, damages, sizes, scale, seed, **options) -> dict[tuple[str, str, int], Tally]:
    """All tallies; every damage sees the same clean rows."""
    found: dict[tuple[str, str, int], Tally] = {}
    for name, distribution in distributions.items():
        for n in sizes:
            start, g = time.perf_counter(), np.random.default_rng([seed, n])
            repeats = max(6, round(REPEATS[n] * scale))
            for x in portions(distribution, n, repeats, g):
                for damage in damages:
                    spoiled = DAMAGES[damage]
                    if not spoiled.units and 0 < spoiled.share * n < 1:
                        continue
                    tally = found.setdefault((name, damage, n), Tally())
                    tally.add(answer(x, spoiled, distribution, g, **options), distribution)
            print(f"{name}, n={n}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return found


def fails(cell: Tally) -> bool:
    """Whether the replications contradict the claims."""
    missed = cell.order_given - cell.order
    return cell.nmse > most_nmse(cell.repeats, MOST_NMSE) or missed > most_events(
        cell.order_given, 1 - LEAST_COVERAGE
    )


def results(found, distributions, damages, sizes) -> str:
    """nMSE range, least coverage of both intervals, flags; over distributions."""
    lines = []
    for damage in damages:
        line = [damage]
        for n in sizes:
            cells = [found[name, damage, n] for name in distributions if (name, damage, n) in found]
            if not cells:
                line.append("–")
                continue
            order, exact = min(c.order_coverage for c in cells), min(c.exact_coverage for c in cells)
            text = f"{span([c.nmse for c in cells])}, {share(order)}, {share(exact)}, "
            text += span([c.flag for c in cells], share)
            beyond, few = max(c.beyond / c.repeats for c in cells), [c.row_sample for c in cells]
            text += f", B {span([c.beyond / c.repeats for c in cells], share)}" if beyond else ""
            text += f", R {span(few, share)}" if max(few) else ""
            bad = [
                name for name in distributions if (name, damage, n) in found and fails(found[name, damage, n])
            ]
            who = f" ({', '.join(bad)})" if 0 < len(bad) <= 3 else ""
            line.append(f"**{text}**{who}" if bad else text)
        lines.append(line)
    return table(["scenario", *(f"n = {n:,}" for n in sizes)], lines)


def alarms(found, distributions, sizes) -> str:
    """Clean rows: flag, nMSE and coverage, distribution by distribution."""
    lines = []
    for name in distributions:
        line = [name]
        for n in sizes:
            cell = found[name, "clean", n]
            order = share(cell.order_coverage) if cell.order_given else "none"
            exact = share(cell.exact_coverage) if cell.cantelli_given else "none"
            nmse = number(cell.nmse) if np.isfinite(DISTRIBUTIONS[name].sd) else "–"
            text = f"{cell.flag:.3f}; {nmse}; {order}; {exact}"
            line.append(text + (f"; R {share(cell.row_sample)}" if cell.row_sample else ""))
        lines.append(line)
    return table(["distribution", *(f"n = {n:,}" for n in sizes)], lines)


def alternatives(scale, seed) -> str:
    """The rule beside five blocks and the sample mean, 10,000 rows."""
    damages = [
        "clean",
        "rows 0.01% = 10⁶",
        "rows 0.1% = 10⁶",
        "rows 1% = 10⁶",
        "units 1% = 10⁶",
        "units 5% = 10⁶",
    ]
    distributions = {name: REGULAR[name] for name in FOUR}
    own = run(distributions, damages, [10_000], scale, seed)
    five = run(distributions, damages, [10_000], scale, seed, n_blocks=5, n_fine=fine_blocks(5))
    lines = []
    for damage in damages:
        plain, fixed, rule = (
            " / ".join(number(get(source[name, damage, 10_000])) for name in FOUR)
            for source, get in (
                (own, lambda c: c.plain_nmse), (five, lambda c: c.nmse), (own, lambda c: c.nmse)
            )
        )  # fmt: skip
        flags = span([five[name, damage, 10_000].flag for name in FOUR], share)
        lines.append([damage, plain, f"{fixed}; flag {flags}", rule])
    return table(["scenario", "sample mean", "five blocks", "rule"], lines)


LAKES = {
    "equal files": {},
    "lognormal sizes": {"uneven": True},
    "file effect sd 1": {"file_sd": 1.0},
    "file effect sd 3, lognormal sizes": {"file_sd": 3.0, "uneven": True},
    "5 of 500 files = 10⁶": {"bad": 5, "change": to(1e6)},
    "5 of 500 files infinite": {"bad": 5, "change": to(np.inf)},
    "25 of 500 = 10⁶, effect 1, lognormal sizes": {
        "bad": 25,
        "change": to(1e6),
        "file_sd": 1.0,
        "uneven": True,
    },
    "5 of 500 files × (−10)": {"bad": 5, "change": times(-10.0)},
    "10% of the files 10 sd higher, rightly so": {
        "bad": 50,
        "change": lambda x, g, distribution: x + 10 * distribution.sd,
    },
    "1 of 50 files × 1000": {"bad": 1, "change": times(1000.0), "n_files": 50},
}


def files(scale, seed, n_rows) -> str:
    """Lakes of files: status and errors of both answers, in standard deviations of a row."""
    lines = []
    for title, options in LAKES.items():
        for name in ("exponential", "normal"):
            distribution, g = REGULAR[name], np.random.default_rng(seed)
            own = dict(options)
            n_files = own.pop("n_files", 500)
            x, number_of = lake(distribution, n_files, n_rows // n_files, max(6, round(30 * scale)), g, **own)
            found, _ = lake_answer(x, number_of, g)
            words = [", ".join(flags_of(s)) for s in found.status]
            seen = "; ".join(f"{w} {words.count(w) / len(words):.2f}" for w in sorted(set(words)))
            with np.errstate(invalid="ignore"):
                errors = [
                    np.sqrt(np.mean((e - distribution.mean) ** 2)) / distribution.sd
                    for e in (found.row_estimate, found.file_estimate, found.estimate)
                ]
            named = found.suspect_cells.sum(axis=1).mean()
            shown = ["none" if np.isnan(e) else f"{e:.2g}" for e in errors]
            lines.append([title, name, seen, *shown, f"{named:.1f}"])
    head = ["lake", "distribution", "status", "rms error rows", "files", "shown", "cells named"]
    return table(head, lines)


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--share", type=float, default=0.1, help="share of the full replications (default 0.1)"
    )
    options.add_argument("--most-rows", type=int, default=1_000_000, help="largest n")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--output", type=Path, help="file to write; default standard output")
    args = options.parse_args()
    sizes = [n for n in REPEATS if n <= args.most_rows]
    repeats = ", ".join(f"{n:,}: {max(6, round(REPEATS[n] * args.share))}" for n in sizes)
    damages = list(DAMAGES)
    regular = run(REGULAR, damages, sizes, args.share, args.seed)
    other = run(HARD | OWN, ["clean"], sizes, args.share, args.seed)
    parts = [
        "# Rule for the number of blocks: tables\n",
        f"Confidence level 0.99, seed {args.seed}. Replications by n: {repeats}. Fine blocks: "
        + ", ".join(f"{n:,}: {fine_for(n):,}" for n in sizes)
        + ".\n",
        "## Nine regular distributions\n",
        "Range of nMSE over distributions, least coverage of the order and Cantelli intervals, share of "
        "`contaminated`; B: share beyond the breakdown point, R: share dominated by few rows. "
        f"Bold: a failure, the replications contradict nMSE <= {MOST_NMSE} or coverage of the order interval "
        f">= {LEAST_COVERAGE} at a risk of 1e-4 (for the distributions named, or for most).\n",
        results(regular, REGULAR, damages, sizes),
        "## Clean data, distribution by distribution\n",
        "False alarms; nMSE; coverage of the order and the Cantelli interval; R: dominated by few rows.\n",
        alarms({**regular, **other}, [*REGULAR, *HARD, *OWN], sizes),
        "## Alternatives, n = 10,000\n",
        f"nMSE for {' / '.join(FOUR)}.\n",
        alternatives(args.share, args.seed),
        f"## Lakes of files, n = {min(args.most_rows, 1_000_000):,}\n",
        files(args.share, args.seed, min(args.most_rows, 1_000_000)),
    ]
    text = "\n".join(parts)
    if args.output:
        args.output.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
