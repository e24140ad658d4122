"""Rows on disk, sorted by buckets: the order of arrival within each, and whole files or none."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distmom.errors import ResourceError
from distmom.lake.saved import spill
from distmom.lake.saved.spill import SpillWriter, bucket_batches

SCHEMA = pa.schema([("i", pa.int64()), ("text", pa.string())])


def batch(start: int, n: int) -> pa.RecordBatch:
    rows = range(start, start + n)
    return pa.RecordBatch.from_arrays([pa.array(rows, pa.int64()), pa.array(map(str, rows))], schema=SCHEMA)


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(0, 40), max_size=6), n_buckets=st.integers(1, 5), room=st.integers(1, 2_000)
)
def test_a_bucket_has_its_rows_in_their_order(sizes: list[int], n_buckets: int, room: int) -> None:
    """The slow twin is a list for each bucket."""
    right: list[list[int]] = [[] for _ in range(n_buckets)]
    g = np.random.default_rng(room)
    with tempfile.TemporaryDirectory() as folder:
        with SpillWriter(folder, 3, SCHEMA, n_buckets, room) as writer:
            for start, n in zip(np.cumsum([0, *sizes]).tolist(), sizes, strict=False):
                buckets = g.integers(0, n_buckets, n).astype(np.uint16)
                writer.add(batch(start, n), buckets)
                for row, bucket in enumerate(buckets.tolist(), start):
                    right[bucket].append(row)
        file = writer.spill()
        for bucket in range(n_buckets):
            found = [row for b in bucket_batches(file, bucket, n_buckets) for row in b.to_pylist()]
            assert found == [{"i": i, "text": str(i)} for i in right[bucket]]
        assert file.n_rows == sum(sizes) and file.n_bytes == Path(file.path).stat().st_size


def test_attempts_do_not_meet_and_a_failed_one_leaves_nothing(tmp_path: Path) -> None:
    with (
        SpillWriter(str(tmp_path), 3, SCHEMA, 1, 1_000) as first,
        SpillWriter(str(tmp_path), 3, SCHEMA, 1, 1_000) as second,
    ):
        first.add(batch(0, 2), np.zeros(2, np.uint16))
        second.add(batch(0, 2), np.zeros(2, np.uint16))
        assert {path.suffix for path in tmp_path.iterdir()} == {".part"}
    assert {path.suffix for path in tmp_path.iterdir()} == {".arrow"} and len(list(tmp_path.iterdir())) == 2
    with pytest.raises(KeyboardInterrupt), SpillWriter(str(tmp_path), 4, SCHEMA, 1, 1_000):
        raise KeyboardInterrupt
    assert len(list(tmp_path.iterdir())) == 2


def test_what_no_further_attempt_mends_is_told_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ResourceError, match="No such file or directory; name a folder as scratch that all"):
        SpillWriter(str(tmp_path / "elsewhere"), 0, SCHEMA, 1, 1_000)
    with SpillWriter(str(tmp_path), 0, SCHEMA, 1, 1_000) as writer:
        writer.add(batch(0, 2), np.zeros(2, np.uint16))
    file = writer.spill()
    Path(file.path).unlink()
    with pytest.raises(ResourceError, match="No such file or directory; name a folder as scratch that all"):
        list(bucket_batches(file, 0, 1))

    def fails(number: int) -> Any:
        def flush(_: Any) -> None:
            raise OSError(number, "as the system says")

        return flush

    for number, error, words in (
        (
            errno.ENOSPC,
            ResourceError,
            "No space left on device, for rows on disk; free some space, or name another",
        ),
        (errno.EIO, OSError, "as the system says"),  # another attempt may succeed
    ):
        monkeypatch.setattr(spill.SpillWriter, "_flush", fails(number))
        with pytest.raises(error, match=words), SpillWriter(str(tmp_path), 0, SCHEMA, 1, 1_000):
            pass
    assert list(tmp_path.iterdir()) == []
