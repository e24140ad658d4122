"""Records with their arrays on disk have the same numbers, and leave no file."""

from __future__ import annotations

import mmap
from dataclasses import fields
from pathlib import Path

import numpy as np
import psutil
import pytest

from distmom.cluster.scratch import Scratch
from distmom.errors import ResourceError
from distmom.inference.answers import Intervals
from distmom.passes.on_disk import RecordFile


def test_records_are_mapped_and_no_name_stays(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    records = []
    for n in (3, 0, 1_000):
        records.append(Intervals.missing(n, 1))
        records[-1].order_low[:] = g.normal(size=n)
    with RecordFile(Scratch(tmp_path)) as file:
        found = [*file.put(records[:2]), *file.put(records[2:])]
    for record, mapped in zip(records, found, strict=True):
        for field in fields(record):
            one, other = getattr(record, field.name), getattr(mapped, field.name)
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
            assert one.size == 0 or not other.flags.writeable  # it is mapped
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="needs a system that takes memory back")
def test_what_was_looked_at_is_given_back(tmp_path: Path) -> None:
    with RecordFile(Scratch(tmp_path)) as file:
        (found,) = file.put([Intervals.missing(500_000, 1)])  # of 40 MB
    held = psutil.Process().memory_info
    before = held().rss
    seen = found.order_low.tobytes()
    assert held().rss > before + 30_000_000
    file.mapped.let_go()
    assert held().rss < before + 15_000_000
    assert found.order_low.tobytes() == seen


def test_without_a_folder_records_stay_in_memory(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    scratch = Scratch(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    records = [Intervals.missing(3, 1)]
    assert RecordFile(scratch).put(records)[0] is records[0]


def test_all_of_a_group_lies_together(tmp_path: Path) -> None:
    record = Intervals.missing(1_000, 1)
    with RecordFile(Scratch(tmp_path)) as file:
        (found,) = file.put([record])
    steps = {getattr(found, field.name).strides[0] for field in fields(found)}
    assert steps == {sum(getattr(record, field.name).itemsize for field in fields(record))}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with RecordFile(Scratch(tmp_path)) as file:
        assert file._file is not None
        file._file.close()
        file._file = Path("/dev/full").open("r+b")  # noqa: SIM115
        with pytest.raises(ResourceError, match="scratch: the answers of many groups do not fit") as met:
            file.put([Intervals.missing(10_000, 1)])
    assert "\n" not in str(met.value)
