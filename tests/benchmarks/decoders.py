"""Libraries that decode Parquet, beside the settings of PyArrow: the reader alone, on three kinds of columns.

    python -m tests.benchmarks.decoders [FOLDER] [--quick] [--repeat 5]

makes its lakes below FOLDER, like `tests.benchmarks.table`. Every file of a lake becomes Arrow record
batches, in order, which are looked at and dropped; two files at a time, or two threads of the library's own.
All take turns in one process. The ratio is the median over the turns to PyArrow as `distmom` calls it. The
last column says whether values come with the type that PyArrow gives them, keys as codes of their dictionary.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmarks.mean import timed
from tests.benchmarks.table_lakes import Lakes

THREADS = 2
QUICK = 0.02
BATCH_ROWS = 98_304
"""As the reader's."""

Decoder = Callable[[Path, str], Iterable[pa.RecordBatch]]


def pyarrow_batches(batch_rows: int, **settings: Any) -> Decoder:
    """PyArrow, as `distmom.lake` calls it, but for the settings."""

    def batches(file: Path, column: str) -> Iterable[pa.RecordBatch]:
        is_text = pa.types.is_string(pq.read_schema(file).field(column).type)
        parquet = pq.ParquetFile(file, read_dictionary=[column] if is_text else [], **settings)
        return parquet.iter_batches(batch_rows, columns=[column], use_threads=False)

    return batches


def polars_batches(file: Path, column: str) -> Iterable[pa.RecordBatch]:
    """Polars, lazily, with its own threads."""
    import polars as pl

    frames = pl.scan_parquet(file).select(column).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
    for frame in frames:
        yield from frame.to_arrow().to_batches()


def duckdb_batches(file: Path, column: str) -> Iterable[pa.RecordBatch]:
    """DuckDB's stream of Arrow batches."""
    yield from duckdb_connection().sql(f"select {column} from '{file}'").to_arrow_reader(BATCH_ROWS)


@cache
def duckdb_connection() -> Any:
    """One for all files: opening one takes as long as a small file."""
    import duckdb

    return duckdb.connect(config={"threads": THREADS})


DECODERS: dict[str, tuple[Decoder, bool]] = {
    "PyArrow, 98,304 rows": (pyarrow_batches(BATCH_ROWS), True),
    "PyArrow, 32,768 rows": (pyarrow_batches(32_768), True),
    "PyArrow, 1,000,000 rows": (pyarrow_batches(1_000_000), True),
    "PyArrow, pre-buffered": (pyarrow_batches(BATCH_ROWS, pre_buffer=True), True),
    "PyArrow, buffer of 1 MB": (pyarrow_batches(BATCH_ROWS, buffer_size=1 << 20), True),
    "PyArrow, memory-mapped": (pyarrow_batches(BATCH_ROWS, memory_map=True), True),
    "Polars": (polars_batches, False),
    "DuckDB": (duckdb_batches, False),
}
"""And whether several files are read at the same time: else the library has threads of its own."""


def decode(lake: Path, column: str, decoder: Decoder, *, together: bool) -> int:
    """All rows of a lake; their number."""

    def rows(file: Path) -> int:
        return sum(batch.num_rows for batch in decoder(file, column))

    files = sorted(lake.glob("*.parquet"))
    if not together:
        return sum(map(rows, files))
    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(rows, files))


def type_of(lake: Path, column: str, decoder: Decoder) -> pa.DataType:
    """The type of the column's first batch."""
    return next(iter(decoder(sorted(lake.glob("*.parquet"))[0], column))).schema.field(column).type


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="distmom-bench-") as temporary:
        lakes = Lakes(args.folder or Path(temporary), QUICK if args.quick else 1.0)
        works = {
            "floats": (lakes.main, "x"),
            "floats, 5% nulls": (lakes.nulls, "x"),
            "texts": (lakes.texts, "t"),
        }
        print("| column | decoder | s | ratio | same type |\n|---|---|---|---|---|")
        for name, (lake, column) in works.items():
            runs = {
                who: partial(decode, lake, column, how, together=together)
                for who, (how, together) in DECODERS.items()
            }
            assert len({run() for run in runs.values()}) == 1, "rows are missing"
            first = next(iter(runs))
            usual = type_of(lake, column, DECODERS[first][0])
            found = timed(runs, args.repeat)
            for who, taken in found.items():
                ratio = statistics.median(a / b for a, b in zip(taken, found[first], strict=True))
                same = "yes" if type_of(lake, column, DECODERS[who][0]) == usual else "no"
                print(
                    f"| {name} | {who} | {statistics.median(taken):.3f} | {ratio:.2f} | {same} |", flush=True
                )


if __name__ == "__main__":
    main()
