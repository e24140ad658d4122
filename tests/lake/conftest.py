from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.lake import KeyEncoder, ReadOptions, as_filter, decode_key, open_lake


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a Parquet file below the test's folder."""

    def write_file(relative: str, columns: Any, **options: Any) -> Path:
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
        return path

    return write_file


class Rows:
    """All rows of a source, read batch by batch: values with None for null, and keys."""

    def __init__(self, data: Any, columns: tuple[str, ...] = (), by: tuple[str, ...] = (), **options: Any):
        where = options.pop("where", None)
        source = open_lake(data)
        reader = source.reader(ReadOptions(columns, by, as_filter(where, source), **options))
        self.values: list[tuple[float | None, ...]] = []
        self.keys: list[tuple[Any, ...]] = []
        self.n_batches = 0
        for file in source.files:
            encoder = KeyEncoder(len(by))
            expected = 0
            for batch in reader.batches(file):
                self.n_batches += 1
                assert batch.start == expected
                expected += batch.n_rows
                self._add(batch, encoder)

    def _add(self, batch: Any, encoder: KeyEncoder) -> None:
        keep = np.ones(batch.n_rows, bool) if batch.keep is None else batch.keep
        codes = encoder.encode(batch.keys, batch.keep, batch.n_rows)
        keys = encoder.keys
        for i in np.flatnonzero(keep):
            row = [
                None if valid is not None and not valid[i] else float(values[i])
                for values, valid in zip(batch.values, batch.valid, strict=True)
            ]
            self.values.append(tuple(row))
            self.keys.append(decode_key(keys[codes[i]]))

    def column(self, i: int = 0) -> list[float | None]:
        return [row[i] for row in self.values]

    def mean(self, i: int = 0) -> float:
        known = [value for value in self.column(i) if value is not None]
        return sum(known) / len(known)


@pytest.fixture
def read() -> type[Rows]:
    return Rows
