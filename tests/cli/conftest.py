"""Small lakes, and the command line run in this process or in its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_process import Ended

from distmom.cli.program import program


@pytest.fixture
def distmom(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """The command line in this process."""

    def run(*words: object) -> Ended:
        capsys.readouterr()
        code = program.run([str(word) for word in words])
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return run


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files with 2,000 rows: x exponential with nulls, y normal, a text key with an odd sign in it."""
    root = tmp_path_factory.mktemp("cli") / "lake"
    rng = np.random.default_rng(1)
    for number in range(4):
        folder = root / f"day={number}"
        folder.mkdir(parents=True)
        x = rng.exponential(size=500)
        table = pa.table(
            {
                "x": pa.array(x, mask=np.arange(500) % 50 == 0),
                "y": rng.normal(size=500),
                "kind": ["a", "b\x1b[31m"] * 250,
                "-z,1": x,
            }
        )
        pq.write_table(table, folder / "part.parquet")
    return root


@pytest.fixture
def bad_lake(tmp_path: Path) -> Path:
    """Three good files and one that is cut short."""
    root = tmp_path / "bad"
    root.mkdir()
    for number in range(4):
        pq.write_table(
            pa.table({"x": np.random.default_rng(number).normal(size=300)}), root / f"f{number}.parquet"
        )
    damaged = root / "f2.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-20])
    return root


@pytest.fixture(scope="session")
def long_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many files that reading them takes seconds: hard links to one."""
    root = tmp_path_factory.mktemp("long") / "lake"
    root.mkdir()
    first = root / "0.parquet"
    pq.write_table(pa.table({"x": np.arange(100.0), "key": ["a", "b"] * 50}), first)
    for number in range(1, 20_000):
        os.link(first, root / f"{number}.parquet")
    return root
