"""Tables of coverage, width and risk of every scheme and interval, as Markdown.

python -m tests.benchmarks.coverage                           # 4,000 replications: some minutes
python -m tests.benchmarks.coverage --replications 200 --output tables.md
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "statistics"))

from coverage_cells import DISTRIBUTIONS, LEVEL, OUTLYING, RARE, SCHEMES, SERIES, N, cells

from distmom.estimators.mean import plan as mean_plan

ERRORS = (2.0, 4.0, 6.0, 9.0)
SHOWN = {**DISTRIBUTIONS, **SERIES}


def table(head: list[str], lines: list[list[str]]) -> str:
    """Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def number(probability: float) -> str:
    """A bound that is never rounded down."""
    return f"{math.ceil(probability * 1e4) / 1e4:.4f}"


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--replications", type=int, default=4_000, help="of each cell (default 4000)")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--output", type=Path, help="file to write; default standard output")
    args = options.parse_args()
    mean_plan.SMALL_BYTES = -1  # compiled kernels: contiguous blocks are slow in NumPy
    coverage, risk, failures = [], [], []
    for name, scheme in SCHEMES.items():
        start = time.perf_counter()
        found = cells(scheme, SHOWN, args.replications, args.seed)
        for kind in scheme.kinds:
            shown = [found[distribution, kind] for distribution in SHOWN]
            coverage.append([name, kind, *(f"{c.coverage:.3f}, ±{c.width:.1f}" for c in shown)])
        last = scheme.kinds[-1]
        risk.append([name, *(f"{found[distribution, last].nmse:.2f}" for distribution in SHOWN)])
        if scheme.bound is not None:
            both = {**found, **cells(scheme, RARE, args.replications, args.seed, (last,))}
            for error in ERRORS:
                eps = error / math.sqrt(N)
                seen = [
                    both[distribution, last].failures(eps) / args.replications
                    for distribution in {**DISTRIBUTIONS, **RARE}
                ]
                bound = number(scheme.bound(eps))
                failures.append([name, f"{error:g}", *(f"{share:.4f}" for share in seen), bound])
        print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    parts = [
        "# Coverage, width and risk\n",
        f"{N:,} rows, confidence level {LEVEL:g}, {args.replications:,} replications a cell, seed "
        f"{args.seed}. Where rows are outlying, {OUTLYING} random ones of each data set have 10⁶ standard "
        "deviations added.\n",
        "## Coverage of the mean, and median margin of error in σ/√n\n",
        table(["scheme", "interval", *SHOWN], coverage),
        "## Risk: n·MSE/σ² (the sample mean of independent rows: 1; of the series: 18)\n",
        table(["scheme", *SHOWN], risk),
        "## How often the error exceeds so many σ/√n, and the bound on it\n",
        table(["scheme", "error", *DISTRIBUTIONS, *RARE, "bound"], failures),
    ]
    text = "\n".join(parts)
    if args.output:
        args.output.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
