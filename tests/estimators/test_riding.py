"""Sums that ride on the pass of the survey: the bits of a pass of their own, and one reading less."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cluster.work import ReadAndReduce
from distmom.passes.riding import Rider

N_FILES, N = 4, 12_000


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A target, three columns of predictions with heavy tails, a weight, nulls and NaN."""
    for number in range(N_FILES):
        g = np.random.default_rng([11, number])
        x = g.normal(size=N // N_FILES)
        columns: dict[str, Any] = {"y": x + g.standard_t(3, x.size), "w": g.random(x.size)}
        for c in range(3):
            columns[f"p{c}"] = (0.8 + 0.1 * c) * x + 0.1 * g.normal(size=x.size)
        columns["p2"][:5] = np.nan
        columns["y"] = pa.array(columns["y"], mask=g.random(x.size) < 0.02)
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet", row_group_size=700)
    return tmp_path


def slope(row: dict[str, np.ndarray]) -> np.ndarray:
    """A candidate that is computed."""
    return 0.95 * row["p0"]


CALLS: dict[str, Callable[[Path], Any]] = {
    "columns": lambda lake: dm.tournament(lake, ["p0", "p1", "p2"], "y", rng=0),
    "one computed, a condition": lambda lake: dm.tournament(
        lake, {"a": "p0", "b": slope}, "y", loss="absolute", features="p0", where="w > 0.1", rng=0
    ),
    "covariance": lambda lake: dm.ustatistic(lake, ["y", "p0", "p2"], kernel="covariance", rng=0),
    "variances": lambda lake: dm.ustatistic(lake, ["y", "p0"], kernel="variance", rng=0),
    "gini": lambda lake: dm.ustatistic(lake, "y", kernel="gini", blocks=21, rng=0),
    "weights": lambda lake: dm.ustatistic(lake, "y", kernel="gini", weights="w", rng=0),
    "samples": lambda lake: dm.ustatistic(lake, "y", kernel="gini", blocks=dm.SampledBlocks(9, 200), rng=0),
}


def bits(found: Any) -> list[Any]:
    """All numbers that a result gives, but for times."""
    results = list(found) if isinstance(found, dm.Results | dm.TournamentResult) else [found]
    more = [found.duels.block_losses] if isinstance(found, dm.TournamentResult) else []
    return [
        [(name, repr(value)) for name, value in vars(one).items() if name not in ("run", "data")]
        for one in results
    ] + [[part.tobytes() for part in losses] for losses in more]


def read(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call gives, and how often it reads a unit of work."""
    n_units, attempt = 0, ReadAndReduce._attempt

    def counted(work: ReadAndReduce, *args: Any) -> Any:
        nonlocal n_units
        n_units += 1
        return attempt(work, *args)

    with monkeypatch.context() as patch:
        patch.setattr(ReadAndReduce, "_attempt", counted)
        return call(), n_units


@pytest.mark.parametrize(
    "name", [name if name == "gini" else pytest.param(name, marks=pytest.mark.slow) for name in CALLS]
)
def test_what_rides_has_the_bits_of_a_pass_of_its_own(
    name: str, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = CALLS[name]
    found, n_units = read(monkeypatch, lambda: call(lake))
    monkeypatch.setattr(Rider, "mount", lambda *_: False)
    apart, n_units_apart = read(monkeypatch, lambda: call(lake))
    assert bits(found) == bits(apart)
    assert n_units < n_units_apart


@pytest.mark.slow
def test_nothing_rides_where_a_file_is_left_out(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = (lake / "1.parquet").read_bytes()
    (lake / "1.parquet").write_bytes(payload[: len(payload) // 2] + payload[-200:])
    scan = dm.scan(lake, on_bad_file="skip")
    found = dm.ustatistic(scan, ["y", "p0"], kernel="covariance", rng=0)
    monkeypatch.setattr(Rider, "mount", lambda *_: False)
    assert bits(found) == bits(dm.ustatistic(scan, ["y", "p0"], kernel="covariance", rng=0))
    assert len(found.data["skipped"]) == 1


@pytest.mark.slow
def test_damaged_rows_are_left_out_of_what_rode_as_well(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The survey finds a code in the target: the matches are played on the other rows."""
    table = pq.read_table(lake / "0.parquet")
    bad = np.where(np.arange(table.num_rows) < 300, -9999.0, np.asarray(table["y"].fill_null(0.0)))
    pq.write_table(table.set_column(0, "y", pa.array(bad)), lake / "0.parquet")
    found = dm.tournament(lake, ["p0", "p1"], "y", rng=0)
    monkeypatch.setattr(Rider, "mount", lambda *_: False)
    assert bits(found) == bits(dm.tournament(lake, ["p0", "p1"], "y", rng=0))
    assert found.far_rows or found.accused_files
