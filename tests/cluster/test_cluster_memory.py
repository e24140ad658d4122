from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from distmom.cluster import check_memory
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.cluster.memory import in_words, memory_bytes, parse_bytes, usable_cpus
from distmom.errors import ConfigError, ResourceError
from distmom.memory import Held, Memory


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        (400_000_000, 400_000_000),
        ("400MB", 400_000_000),
        ("400 mb", 400_000_000),
        ("1.5GiB", 3 * 2**29),
        ("2G", 2 * 10**9),
        ("1e9", 10**9),
        ("64 KiB", 65_536),
        (None, None),
    ],
)
def test_bytes_in_words(text: Any, n_bytes: int | None) -> None:
    assert parse_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["", "much", "-1", 0, "0MB", "1.2.3MB", "4XB", "MB"])
def test_other_words_are_refused(text: Any) -> None:
    with pytest.raises(ConfigError, match="memory_limit: expected bytes"):
        parse_bytes(text)


def test_numbers_in_words() -> None:
    assert [in_words(n) for n in (0, 999, 1234, 5.25e8, 999_999, 3e13)] == [
        "0 B",
        "999 B",
        "1.23 kB",
        "525 MB",
        "1 MB",
        "30 TB",
    ]


def place(threads: int, memory: int) -> ThreadExecutor:
    return ThreadExecutor(threads, memory)


def test_a_run_that_fits_is_let_through() -> None:
    rows = Held("rows", 40e6)
    check_memory(Memory((Held("the program", 240e6, each=False), rows)), place(4, 400_000_000), "a.parquet")
    check_memory(Memory((replace(rows, n_bytes=1e9),)), place(1, 10**9), "a.parquet")


def test_a_run_that_does_not_fit_is_refused_with_the_remedy() -> None:
    base = Held("the program", 240e6, each=False)
    rows = Held("rows", 100e6, remedy="use fewer rows")
    with pytest.raises(ResourceError) as caught:
        check_memory(Memory((base, rows)), place(4, 400_000_000), "big/7.parquet and 3 more")
    assert str(caught.value) == (
        "big/7.parquet and 3 more: projected memory 640 MB per process "
        "(4 x 100 MB and 240 MB once, most of it rows) exceeds the limit of 400 MB; "
        "use 1 thread per process, or allow at least 640 MB"
    )
    with pytest.raises(ResourceError, match="use fewer rows, or allow at least 740 MB"):
        check_memory(Memory((base, replace(rows, n_bytes=500e6))), place(1, 400_000_000), "x")


def test_nothing_is_refused_for_what_may_not_be_there() -> None:
    groups = Held("groups", 1e9, sure=False)
    check_memory(Memory((groups,)), place(1, 400_000_000), "x")
    assert Memory((groups,)).needed(1) == 1e9


def test_threads_without_a_unit_hold_nothing() -> None:
    rows, sums = Held("rows", 100e6), Held("sums", 10e6, each=False)
    several, one = Memory((rows, sums)), Memory((rows, sums), at_once=1)
    assert (several.needed(4), one.needed(4)) == (410e6, 110e6)
    assert (several + one).needed(4) == 220e6
    assert one.shares(4) == {"rows": 100e6, "sums": 10e6}
    assert several.or_larger(one, 4) is several


def test_a_container_caps_processors_and_memory(tmp_path: Path) -> None:
    cpus, memory = usable_cpus(tmp_path), memory_bytes(tmp_path)
    assert cpus == len(os.sched_getaffinity(0))
    assert memory == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert (usable_cpus(tmp_path), memory_bytes(tmp_path)) == (cpus, memory)
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "memory.max").write_text("123456789\n")
    assert (usable_cpus(tmp_path), memory_bytes(tmp_path)) == (1, 123_456_789)
    (tmp_path / "memory.max").unlink()
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("1000000\n")
    assert memory_bytes(tmp_path) == 1_000_000
