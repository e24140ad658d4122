"""Every kind of work beside the best of its peers, what limits us, and the speed of the memory, as Markdown.

    python -m tests.benchmarks.table [FOLDER] [--quick] [--repeat 5] [--only TEXT …]

makes its lakes below FOLDER (default: a temporary one, about 9 GB; `--quick` takes a fiftieth of the rows).
Each line is a process of its own, in which we and the peers take turns after a run each that does not count.
Peers compute a plain statistic without an interval. The ratio is the median of the ratios of each turn. What
limits us is where py-spy finds the running threads: reading (`distmom.lake`), the algorithm
(`distmom.numerics`) or Python, which is all else; memory is added where columns are reduced at more than half
of the speed at which arrays in memory are summed. Functions with a tenth of the samples are named: that of
`lake` which waits for PyArrow is `reader._batches`. Nothing here is asserted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import distmom as dm
from tests.benchmarks.mean import Timings, timed
from tests.benchmarks.table_lakes import Lakes
from tests.benchmarks.table_lines import LINES, Line
from tests.benchmarks.table_profile import profiled

THREADS = 2
QUICK = 0.02


def bandwidth() -> float:
    """Values that all threads together add up in a second, of arrays that no cache holds."""
    from concurrent.futures import ThreadPoolExecutor

    arrays = [np.ones(20_000_000) for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            list(pool.map(np.sum, arrays))
            best = min(best, time.perf_counter() - start)
    return sum(a.size for a in arrays) / best


def measured(line: Line, repeat: int) -> dict[str, object]:
    """The seconds of all, and what limits us."""
    seconds: Timings = timed({"distmom": line.ours, **line.peers}, repeat)
    found = profiled(line.ours)
    kinds: Counter[str] = Counter()
    for (kind, _), n in found.items():
        kinds[kind] += n
    every = max(found.total(), 1)
    return {
        "seconds": seconds,
        "shares": {kind: n / every for kind, n in kinds.most_common()},
        "functions": {function: n / every for (_, function), n in found.most_common()},
        "rows": line.rows,
        "columns": len(line.columns),
    }


def told(name: str, found: dict[str, object], reach: float | None, values: float) -> str:
    """The line of the table."""
    seconds: Timings = found["seconds"]  # type: ignore[assignment]
    medians = {who: statistics.median(taken) for who, taken in seconds.items()}
    best = min((who for who in medians if who != "distmom"), key=medians.__getitem__)
    ratio = statistics.median(a / b for a, b in zip(seconds["distmom"], seconds[best], strict=True))
    rate = float(found["rows"]) / medians["distmom"]  # type: ignore[arg-type]
    limit = at_least_a_tenth(found["shares"])
    if rate * float(found["columns"]) > 0.5 * values:  # type: ignore[arg-type]
        limit = f"memory; {limit}"
    most = values / float(found["columns"])  # type: ignore[arg-type]
    cells = (
        name,
        f"{medians['distmom']:.3f}",
        f"{best} {medians[best]:.3f}",
        f"{ratio:.2f}",
        "" if reach is None else f"{reach:g}",
        limit,
        at_least_a_tenth(found["functions"]),
        f"{rate / THREADS / 1e6:.2g}",
        f"{most / THREADS / 1e6:.2g}",
    )
    return f"| {' | '.join(cells)} |"


def at_least_a_tenth(shares: object) -> str:
    """The names of large shares, in words."""
    large: dict[str, float] = shares  # type: ignore[assignment]
    return ", ".join(f"{name} {share:.0%}" for name, share in large.items() if share >= 0.1)


def one(args: argparse.Namespace, folder: Path, name: str) -> None:
    """Measure one line in this process, and print it."""
    dm.options(executor=dm.Threads(THREADS), progress=False, warn=False)
    line = LINES[name](Lakes(folder, QUICK if args.quick else 1.0))
    print(json.dumps([measured(line, args.repeat), line.reach, bandwidth()]))


def every(args: argparse.Namespace, folder: Path) -> None:
    """All lines, each by a process of its own."""
    subprocess.run([sys.executable, "-m", "distmom", "warm-up", "--quiet"], check=True)
    heads = "| work | ours, s | best peer, s | ratio | reach | limits us | most time in "
    print(f"{heads}| 10⁶ rows/s a core | memory's limit |")
    print("|---" * 9 + "|")
    quick = ["--quick"] * args.quick
    for name in LINES:
        if not any(text in name for text in args.only or [""]):
            continue
        words = [
            "-m",
            "tests.benchmarks.table",
            str(folder),
            "--line",
            name,
            "--repeat",
            str(args.repeat),
            *quick,
        ]
        run = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        if run.returncode:
            print(
                f"| {name} | {(run.stderr.strip().splitlines() or ['?'])[-1][:90]} |" + " |" * 7, flush=True
            )
        else:
            print(told(name, *json.loads(run.stdout.splitlines()[-1])), flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[], help="lines whose names have one of these texts")
    parser.add_argument("--line", help=argparse.SUPPRESS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="distmom-bench-") as temporary:
        folder = args.folder or Path(temporary)
        if args.line:
            one(args, folder, args.line)
        else:
            every(args, folder)


if __name__ == "__main__":
    main()
