"""Write lakes for benchmarks: heavy-tailed columns and an integer key, as snappy Parquet.

python -m tests.benchmarks.lakes FOLDER [--rows 64000000] [--files 16] [--row-group 1000000] [--keys 1000] …
python -m tests.benchmarks.lakes FOLDER --tiny 20000    # many files of two rows
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def columns(rows: int, number: int, nulls: float = 0.0, more: int = 0, keys: int = 1000) -> pa.Table:
    """Rows of one file: log-normal `x`, Student `y`, Pareto amounts of money, and a key `k` below `keys`.

    `more` columns `z1`, `z2`, … share the Student distribution and a common part.
    """
    rng = np.random.default_rng([0, number])
    x = rng.lognormal(0.0, 1.0, rows)
    missing = rng.random(rows) < nulls if nulls else None
    table = {
        "x": pa.array(x, mask=missing),
        "y": rng.standard_t(3, rows),
        "amount": np.round(rng.pareto(3, rows) * 100, 2),
        "k": rng.integers(0, keys, rows).astype("i4"),
    }
    for z in range(1, more + 1):
        table[f"z{z}"] = 0.5 * table["y"] + rng.standard_t(3, rows)
    return pa.table(table)


def write_lake(
    folder: Path, rows: int, files: int, row_group: int, nulls: float = 0.0, more: int = 0, keys: int = 1000
) -> None:
    """A lake of equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        table = columns(rows // files, number, nulls, more, keys)
        path = folder / f"part-{number:03}.parquet"
        pq.write_table(table, path, row_group_size=row_group, compression="snappy")


def write_tiny(folder: Path, files: int) -> None:
    """Many files of two rows, whose mean is 2."""
    folder.mkdir(parents=True, exist_ok=True)
    first = folder / "part-000000.parquet"
    pq.write_table(pa.table({"x": [1.0, 3.0]}), first)
    payload = first.read_bytes()
    for number in range(1, files):
        (folder / f"part-{number:06}.parquet").write_bytes(payload)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=64_000_000)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--row-group", type=int, default=1_000_000)
    parser.add_argument("--nulls", type=float, default=0.0, help="share of nulls in x")
    parser.add_argument("--more", type=int, default=0, metavar="COLUMNS", help="columns beside the four")
    parser.add_argument("--keys", type=int, default=1000, help="different values of k")
    parser.add_argument("--tiny", type=int, default=0, metavar="FILES")
    args = parser.parse_args()
    if args.tiny:
        write_tiny(args.folder, args.tiny)
    else:
        write_lake(args.folder, args.rows, args.files, args.row_group, args.nulls, args.more, args.keys)


if __name__ == "__main__":
    main()
