"""Read the data files of other projects, and compare with readers that share no code with this one.

    python -m tests.benchmarks.foreign FOLDER [--csv outcomes.csv]

FOLDER holds Parquet files, in any folders, of any writer: those of apache/parquet-testing, of DuckDB, Impala,
hyparquet, Polars and the Delta kernel are what it was written for. Each is looked at in a process of its own,
which a crafted file may end. Asked are plain means of all columns of numbers, means by a column of texts,
means under a condition, and `describe`; DuckDB says what is right, and Polars where DuckDB does not read the
file.

The table counts outcomes. ``wrong``, ``failure`` (a raw exception, or an internal error) and ``dead`` are
faults; ``refused`` names its reason, and is one where PyArrow reads the file. Nothing here is asserted.
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing as mp
import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ENDINGS = (".parquet", ".parq", ".pq")
NUMBERS = {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
NUMBERS |= {f"{sign}{name}" for sign in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")}
NUMBERS |= {"FLOAT", "DOUBLE", "DECIMAL", "FLOAT32", "FLOAT64"}
MOST_COLUMNS = 12
SECONDS = 120
CLOSE = 1e-9

Outcome = tuple[str, str, str]  # what was asked, how it ended, why


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


class DuckDB:
    """What DuckDB says of a file."""

    name = "duckdb"

    def __init__(self, path: Path) -> None:
        import duckdb

        self.run = duckdb.connect()
        self.run.execute("set threads = 1")
        self.source = f"read_parquet('{str(path).replace(chr(39), chr(39) * 2)}', hive_partitioning = false)"
        described = self.run.execute(f"describe select * from {self.source}").fetchall()
        self.types = {row[0]: row[1] for row in described}

    def number(self, column: str) -> str:
        """A column as an SQL number."""
        return f"{quoted(column)}::double"

    def mean(self, column: str, where: str = "true") -> tuple[int, float | None, float | None]:
        """Rows that are neither null nor NaN, their mean, and that of their sizes."""
        x = self.number(column)
        query = (
            "select count(v), fsum(v) / count(v), sum(abs(v)) / count(v) "
            f"from (select {x} as v from {self.source} where {where}) "
        )
        return self.run.execute(query + "where not isnan(v)").fetchone()  # type: ignore[return-value]

    def groups(self, column: str, by: str) -> dict[Any, int]:
        """Rows with a number of each key."""
        x = self.number(column)
        query = f"select {quoted(by)}, count({x}) from {self.source} where not isnan({x}) group by 1"
        return dict(self.run.execute(query).fetchall())


class Polars:
    """What Polars says of a file."""

    name = "polars"

    def __init__(self, path: Path) -> None:
        import polars as pl

        self.pl = pl
        self.frame = pl.read_parquet(path, hive_partitioning=False)
        kinds = {name: str(type_) for name, type_ in self.frame.schema.items()}
        self.types = {name: "VARCHAR" if kind == "String" else kind.upper() for name, kind in kinds.items()}

    def mean(self, column: str, where: str = "true") -> tuple[int, float | None, float | None]:
        """Rows that are neither null nor NaN, their mean, and that of their sizes."""
        frame = self.frame if where == "true" else self.frame.filter(self.pl.sql_expr(where))
        values = frame[column].cast(self.pl.Float64).drop_nulls().drop_nans()
        if not len(values):
            return 0, None, None
        return len(values), float(values.sum()) / len(values), float(values.abs().sum()) / len(values)

    def groups(self, column: str, by: str) -> dict[Any, int]:
        """Rows with a number of each key."""
        frame = self.frame.select(by, self.frame[column].cast(self.pl.Float64).alias("v")).drop_nulls("v")
        return dict(frame.filter(~self.pl.col("v").is_nan()).group_by(by).len().iter_rows())


def oracle(path: Path) -> Any:
    """The first reader that reads all of the file; None if none does."""
    for kind in (DuckDB, Polars):
        try:
            found = kind(path)
            numbers = [name for name, type_ in found.types.items() if is_number(type_)]
            if numbers:
                found.mean(numbers[0])
            return found
        except Exception:  # whatever it is, it is not our fault
            continue
    return None


def is_number(type_: str) -> bool:
    """Whether a type of SQL or Polars holds numbers."""
    plain = type_.upper().partition("(")[0]
    return plain in NUMBERS


def pyarrow_reads(path: Path) -> bool:
    """Whether PyArrow reads all of the file."""
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            for _ in pq.ParquetFile(file).iter_batches(65_536):
                pass
    except Exception:
        return False
    return True


def close(found: float, right: float, scale: float) -> bool:
    """Whether two means are the same but for rounding."""
    if math.isnan(right) or math.isinf(right):
        return math.isnan(found) or found == right
    return abs(found - right) <= CLOSE * max(abs(right), scale, 1e-300)


def ask(call: Any) -> tuple[Any, str, str]:
    """What a call gives: the result, else how it ended and why."""
    import distmom as dm

    try:
        return call(), "", ""
    except dm.NoAnswerError as error:
        return None, "no answer", str(error)
    except dm.DistmomError as error:
        return None, "failure" if error.exit_code == 1 else "refused", str(error)
    except Exception as error:
        return None, "failure", f"{type(error).__name__}: {error}"


def compare(path: Path, right: Any) -> Iterator[Outcome]:
    """Ask for means and compare with what is right."""
    import numpy as np

    import distmom as dm

    one = dm.RandomBlocks(1)
    numbers = [name for name, type_ in right.types.items() if is_number(type_)][:MOST_COLUMNS]
    texts = [name for name, type_ in right.types.items() if type_ == "VARCHAR"][:2]
    for column in numbers:
        try:
            n, mean, size = right.mean(column)
        except Exception as error:
            yield f"mean {column}", "no oracle", str(error)
            continue
        found, how, why = ask(lambda c=column: dm.mean(path, c, blocks=one))
        if found is None:
            empty = how == "no answer" and not n
            yield f"mean {column}", "equal" if empty else "wrong" if how == "no answer" else how, why
            continue
        same = found.n_used == n and close(float(found.estimate), float(mean or 0.0), float(size or 0.0))
        yield f"mean {column}", "equal" if same else "wrong", f"{found.n_used}, {found.estimate}; {n}, {mean}"
        if mean is None or not math.isfinite(mean):
            continue
        limit = np.format_float_positional(float(mean), trim="-")
        cast = "::double" if right.name == "duckdb" else ""
        try:
            n_above, *_ = right.mean(column, f"{quoted(column)} > {limit}{cast}")
        except Exception:
            continue
        part, how, why = ask(
            lambda c=column, v=limit: dm.mean(path, c, where=f"{quoted(c)} > {v}", blocks=one)
        )
        n_part = 0 if how == "no answer" else None if part is None else part.n_used
        decimal = "DECIMAL" in right.types[column]  # which are compared exactly here, as floats there
        told = "equal" if n_part == n_above or (decimal and n_part is not None) else how or "wrong"
        yield f"where {column}", told, why or f"{n_part}; {n_above}"
    for key in texts if numbers else ():
        column = numbers[0]
        try:
            groups = {k: n for k, n in right.groups(column, key).items() if n}
        except Exception:
            continue
        if not 0 < len(groups) <= 2_000:
            continue
        found, how, why = ask(lambda c=column, k=key: dm.mean(path, c, by=k, blocks=one))
        if found is None:
            yield f"by {key}", how, why
            continue
        counts = {one_.group[key]: one_.n_used for one_ in found if one_.n_used}
        yield f"by {key}", "equal" if counts == groups else "wrong", f"{len(counts)} groups; {len(groups)}"


def look(path: Path, pipe: Connection) -> None:
    """All outcomes of one file, one after the other; in a process of its own."""
    import warnings

    warnings.simplefilter("ignore")
    import distmom as dm

    right = oracle(path)
    _, how, why = ask(lambda: dm.describe(path))
    if right is None and how == "refused" and not pyarrow_reads(path):
        pipe.send(("describe", "refused by all", why))
    else:
        pipe.send(("describe", how or "answered", why))
    if right is not None:
        for outcome in compare(path, right):
            pipe.send(outcome)
    pipe.send(None)


def outcomes(path: Path, context: Any) -> list[Outcome]:
    """What a process of its own says of a file, and whether it lived to the end."""
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=look, args=(path, theirs), daemon=True)
    process.start()
    theirs.close()
    found: list[Outcome] = []
    try:
        while ours.poll(SECONDS):
            told = ours.recv()
            if told is None:
                process.join()
                return found
            found.append(told)
        found.append(("process", "dead", f"nothing for {SECONDS} s"))
    except EOFError:
        process.join()
        found.append(("process", "dead", f"exit code {process.exitcode}"))
    process.kill()
    return found


def main() -> None:
    """Look at all files and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--csv", type=Path, help="all outcomes, one a line")
    parser.add_argument("--only", default="", help="files whose path holds this")
    given = parser.parse_args()
    files = sorted(f for f in given.folder.rglob("*") if f.is_file() and f.name.lower().endswith(ENDINGS))
    files = [f for f in files if given.only in str(f)]
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["distmom.estimators.mean.mean", "distmom.estimators.describe.describe"])
    table: list[tuple[str, *Outcome]] = []
    for number, file in enumerate(files):
        name = str(file.relative_to(given.folder))
        table += [(name, *outcome) for outcome in outcomes(file, context)]
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {len(files)}", end="", file=sys.stderr)
    counts = Counter((asked.partition(" ")[0], how) for _, asked, how, _ in table)
    print(f"{len(files)} files")
    for (asked, how), n in sorted(counts.items()):
        print(f"{asked:10} {how:16} {n:6}")
    for name, asked, how, why in table:
        if how in ("wrong", "failure", "dead", "refused", "no answer"):
            print(f"{how:8} {name}: {asked}: {why[:200]}")
    if given.csv is not None:
        with given.csv.open("w", newline="") as file:
            csv.writer(file).writerows([("file", "asked", "outcome", "why"), *table])


if __name__ == "__main__":
    main()
