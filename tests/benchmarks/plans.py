"""The plan of a lake of a million files and 10^12 rows: seconds, memory, and what ``--dry-run`` prints.

    python -m tests.benchmarks.plans [--files 1000000] [--threads 16]

The listing is made up, as a table's log would give it with the rows of each file; one file exists, for its
footer. No row is read.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from distmom.cli.program import program
from distmom.lake import FileRef, Lake

ROWS = 1_000_000


def made_up(folder: Path, n_files: int, rows: int = ROWS) -> Lake:
    """A lake of so many files of 10 MB in folders of a day each, of which the first exists."""
    first = folder / "day=2020-01-01/part-0000000.parquet"
    first.parent.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}), first)
    real = first.stat()
    files = [FileRef("day=2020-01-01/part-0000000.parquet", real.st_size, real.st_mtime_ns, ("2020-01-01",))]
    per_day = max(n_files // 1000, 1)
    for i in range(1, n_files):
        day = f"{2020 + i // per_day // 336}-{i // per_day % 336 // 28 + 1:02}-{i // per_day % 28 + 1:02}"
        files.append(FileRef(f"day={day}/part-{i:07}.parquet", 10_000_000 + i % 997, i, (day,), None, rows))
    return Lake(str(folder), tuple(files), ("day",), ("text",))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=16)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        lake = made_up(Path(folder), wanted.files)
        listed = memory()
        print(f"listing of {wanted.files:,} files: {time.perf_counter() - start:.1f} s, {listed:,.0f} MB")
        for more in ([], ["--scheme", "swor", "--blocks", "35", "--block-size", "1000000"]):
            words = ["mean", "lake", "-c", "x", "--threads", str(wanted.threads), "--dry-run", *more]
            start = time.perf_counter()
            with patch("distmom.passes.scan.open_lake", lambda *_, **__: lake):
                code = program.run(words)
            print(
                f"{' '.join(words)}: {time.perf_counter() - start:.1f} s, exit code {code}, "
                f"peak {memory():,.0f} MB ({memory() - listed:+,.0f} beside the listing)\n"
            )


def memory() -> float:
    """The most that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
