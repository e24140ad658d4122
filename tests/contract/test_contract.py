"""Calls of the public interface give the same bits as ever, whoever does the work and however it is cut.

The golden answers are written by ``python -m tests.contract``, which says what changed. By default every
third case goes one way (on damaged lakes every sixth); the slow tests run every case on all others. All
cases on one thread:
``pytest tests/contract -m "" -k "one and thread"``.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from shared import SHARED
from worker_processes import two_processes

from tests.contract import golden
from tests.contract.cases import CASES, answer
from tests.contract.cases_mean import DAMAGED
from tests.contract.lakes import Lakes
from tests.contract.ways import Way

WAYS: dict[str, dict[str, Any]] = {
    "one thread": {},
    "three threads": {"threads": 3, "batch_rows": 7, "max_files": 2},
    "compiled": {"batch_rows": 10**6, "compiled": True},
    "two processes": {"batch_rows": 61, "max_files": 4, "by_disk": True},
}
MADE_WITH, WANTED = golden.read()
ON_PROCESSES = (pytest.mark.cluster, pytest.mark.xdist_group("contract"))


@pytest.fixture(scope="session")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Lakes:
    return Lakes(tmp_path_factory.mktemp("contract"))


def chosen() -> list[Any]:
    """Every case on every way; for every third case one of them is not slow, on damaged lakes for fewer.

    That is seldom the one on processes, which costs as much as the others together.
    """
    found, ways = [], [*WAYS, *list(WAYS)[:3]]
    for name in CASES:
        number = zlib.crc32(name.encode())
        spared = number // len(ways) % (6 if name.endswith(DAMAGED) else 3)
        mine = None if spared else ways[number % len(ways)]
        for way in WAYS:
            marks = list(ON_PROCESSES) if way == "two processes" else []
            if way != mine:
                marks.append(pytest.mark.slow)
            found.append(pytest.param(name, way, marks=marks, id=f"{name} - {way}"))
    return found


@pytest.mark.parametrize(("name", "way"), chosen())
def test_the_same_bits_as_ever(
    name: str, way: str, lakes: Lakes, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    client = None
    if way == "two processes":
        client = SHARED.get("contract", lambda: two_processes(tmp_path_factory.mktemp("dask")))
    found = answer(name, Way(lakes, tmp_path, client=client, **WAYS[way]))
    same_machine = golden.made_with() == MADE_WITH
    assert not golden.differences(name, WANTED[name], found, same_machine=same_machine)


def test_every_case_has_a_golden_answer() -> None:
    assert sorted(WANTED) == sorted(CASES), "python -m tests.contract"


def test_a_changed_bit_is_told() -> None:
    """The negative control."""
    name = "mean/auto/clean"
    other = {**WANTED[name], "estimate": float.fromhex(WANTED[name]["estimate"]).hex()[:-4] + "7p+3"}
    for same_machine in (True, False):
        assert golden.differences(name, WANTED[name], other, same_machine=same_machine)
