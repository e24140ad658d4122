"""Random lakes as DuckDB, Polars, pandas and Spark leave them, against the rows that they were made of."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

ONE = dm.RandomBlocks(1)
TYPES = [pa.float64(), pa.float32(), pa.int64(), pa.int8(), pa.uint16(), pa.decimal128(9, 2), pa.bool_()]
Choice = random.Random


def some_table(choice: Choice) -> pa.Table:
    """Columns of numbers of random types, some null or NaN; keys of texts, dates and integers."""
    n = choice.choice([1, 7, 300, 2_000])
    columns: dict[str, Any] = {}
    for number in range(choice.randint(1, 4)):
        type_ = choice.choice(TYPES)
        values: list[Any] = [choice.randint(0, 100) for _ in range(n)]
        if pa.types.is_floating(type_):
            values = [choice.choice([v + 0.5, -v, 1e6 * v]) for v in values]
            if choice.random() < 0.3:
                values = [float("nan") if choice.random() < 0.1 else v for v in values]
        elif pa.types.is_decimal(type_):
            values = [Decimal(v) / 4 for v in values]
        elif pa.types.is_boolean(type_):
            values = [v > 50 for v in values]
        if choice.random() < 0.5:
            values = [None if choice.random() < 0.1 else v for v in values]
        columns[f"x{number}"] = pa.array(values, type_)
    day = datetime.date(2024, 2, 27)
    columns["name"] = pa.array([choice.choice(["a", "it's", "größe", "", None]) for _ in range(n)])
    columns["day"] = pa.array([day + datetime.timedelta(choice.randint(0, 4)) for _ in range(n)])
    columns["code"] = pa.array([choice.choice([-1, 0, 7, 10**12]) for _ in range(n)])
    columns["part"] = pa.array([choice.choice(["p", "q r", "s=t"]) for _ in range(n)])
    return pa.table(columns)


def with_duckdb(table: pa.Table, folder: Path, choice: Choice) -> bool:
    """COPY, with folders of keys or without; True where the folders have the column `part`."""
    run = duckdb.connect()
    run.register("t", table)
    options = [
        "format parquet",
        f"compression {choice.choice(['snappy', 'zstd', 'gzip', 'uncompressed', 'lz4'])}",
        f"parquet_version {choice.choice(['v1', 'v2'])}",
        "row_group_size 2048",
    ]
    by_folder = choice.random() < 0.5
    if by_folder:
        run.execute(f"copy t to '{folder}' ({', '.join([*options, 'partition_by (part)'])})")
        return True
    folder.mkdir()
    run.execute(f"copy t to '{folder / 'data.parquet'}' ({', '.join(options)})")
    return False


def with_polars(table: pa.Table, folder: Path, choice: Choice) -> bool:
    """A few files of slices."""
    folder.mkdir()
    frame = polars.from_arrow(table)
    edges = sorted(choice.randint(0, len(frame)) for _ in range(choice.randint(0, 3)))
    for number, (low, high) in enumerate(zip([0, *edges], [*edges, len(frame)], strict=True)):
        frame[low:high].write_parquet(
            folder / f"{number}.parquet",
            compression=choice.choice(["zstd", "snappy", "lz4", "gzip", "uncompressed"]),
            statistics=choice.random() < 0.5,
            row_group_size=choice.choice([None, 100]),
        )
    return False


def with_pandas(table: pa.Table, folder: Path, choice: Choice) -> bool:
    """Through frames of Arrow types, with an index of their own."""
    folder.mkdir()
    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    frame.index = frame.index * 3 + 1
    frame.to_parquet(folder / "frame.parquet", compression=choice.choice(["snappy", "brotli", None]))
    return False


def like_spark(table: pa.Table, folder: Path, choice: Choice) -> bool:
    """Parts with names of jobs, marks of success, checksums beside them, INT96 times and folders of keys."""
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    stamp = pa.array([datetime.datetime(1900 + i % 300, 1, 1) for i in range(len(table))], pa.timestamp("us"))
    table = table.append_column("stamp", stamp)
    options: dict[str, Any] = {
        "use_deprecated_int96_timestamps": True,
        "write_page_checksum": True,
        "data_page_version": choice.choice(["1.0", "2.0"]),
        "compression": "snappy",
    }
    escaped = {"p": "p", "q r": "q r", "s=t": "s%3Dt"}
    parts = table["part"].to_pylist()
    for part, text in escaped.items():
        rows = table.filter(pa.array([p == part for p in parts])).drop_columns(["part"])
        place = folder / f"part={text}"
        place.mkdir()
        name = f"part-00000-{choice.getrandbits(64):x}-c000.snappy.parquet"
        pq.write_table(rows, place / name, **options)
        (place / f".{name}.crc").write_bytes(b"crc")
    return True


WRITERS: list[Callable[[pa.Table, Path, Choice], bool]] = [with_duckdb, with_polars, with_pandas, like_spark]


def mean_of(values: list[Any]) -> tuple[int, float]:
    kept = [float(v) for v in values if v is not None and v == v]
    return len(kept), float(np.sum(kept)) / max(1, len(kept))


def check_means(folder: Path, table: pa.Table, choice: Choice) -> None:
    """Means of all columns, under a condition and by a key, against the rows."""
    rows = table.to_pylist()
    names = [name for name in table.column_names if name.startswith("x")]
    key = choice.choice(["name", "day", "code", "part"])
    conditions: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
        ("name = 'it''s'", lambda row: row["name"] == "it's"),
        ("day >= '2024-02-29'", lambda row: row["day"] >= datetime.date(2024, 2, 29)),
        ("code in (7, 1000000000000)", lambda row: row["code"] in (7, 10**12)),
        ("part = 'q r' or name is null", lambda row: row["part"] == "q r" or row["name"] is None),
    ]
    where, keeps = choice.choice(conditions)
    for name in names:
        for text, chosen in ((None, rows), (where, [row for row in rows if keeps(row)])):
            n, right = mean_of([row[name] for row in chosen])
            if n == 0:
                with pytest.raises(dm.NoAnswerError):
                    dm.mean(folder, name, where=text, blocks=ONE)
                continue
            found = dm.mean(folder, name, where=text, blocks=ONE)
            assert (found.n_rows, found.n_used) == (len(chosen), n), (name, text)
            assert found.estimate == pytest.approx(right, rel=1e-12, abs=1e-9)
    if not mean_of([row[names[0]] for row in rows])[0]:
        with pytest.raises(dm.NoAnswerError):
            dm.mean(folder, names[0], by=key, blocks=ONE)
        return
    found_groups = dm.mean(folder, names[0], by=key, blocks=ONE)
    counts = {one.group[key]: (one.n_rows, one.n_used) for one in np.atleast_1d(found_groups)}
    right_counts = {
        value: (len(of), mean_of([row[names[0]] for row in of])[0])
        for value in {row[key] for row in rows}
        for of in ([row for row in rows if row[key] == value],)
    }
    assert counts == right_counts


@pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")
@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 200))]
)
def test_a_lake_of_another_writer(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    table = some_table(choice)
    WRITERS[seed % len(WRITERS)](table, tmp_path / "lake", choice)
    check_means(tmp_path / "lake", table, choice)
