"""Merged states of lakes in different folders whose files have the same names."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat import flat
from mean_lakes import results, same, write

import distmom as dm
from distmom.estimators.mean.state import KIND, SavedMean
from distmom.numerics.blocks.labels import file_cell, file_key
from distmom.numerics.random.philox import resolve_seed, stream_key
from distmom.numerics.samples.distinct import UnitSketch
from distmom.reductions.roots import _told_apart
from distmom.state import State

SEED = resolve_seed(7)[0]


def days(
    folder: Path, n_days: int = 20, bad: tuple[int, ...] = (), rows: int = 500, **options: Any
) -> list[Path]:
    """A lake for each day with one file, called alike; and its state."""
    states = []
    for day in range(n_days):
        g = np.random.default_rng(day)
        x = np.full(rows, 1e6) if day in bad else g.exponential(size=rows)
        columns = {"x": x, "k": g.integers(0, 2, rows), "u": np.arange(rows) % 90}
        write(folder / f"day-{day:02}" / "part-0.parquet", columns)
        states.append(folder / f"{day:02}.state")
        flat(dm.mean)(folder / f"day-{day:02}", "x", rng=7, state=states[-1], interval="cantelli", **options)
    return states


@pytest.mark.parametrize("options", [{}, {"by": "k"}, {"repeats": 3}], ids=str)
@pytest.mark.one_in(4)
def test_bad_days_are_found_though_all_files_have_one_name(options: dict[str, Any], tmp_path: Path) -> None:
    """The control: with one cell for all files of a name the answer was 10^5, and ``ok``."""
    for found in results(dm.merge_states(*days(tmp_path, bad=(3, 11), **options))):
        assert "files disagree" in found.flags and abs(found.estimate - 1.0) < 0.1
        assert {str(tmp_path / f"day-{day:02}" / "part-0.parquet") for day in (3, 11)} <= set(
            found.accused_files
        )
        assert len(found.accused_files) <= 4


def test_order_and_grouping_of_the_lakes_do_not_matter(tmp_path: Path) -> None:
    states = days(tmp_path, 8)
    whole = dm.merge_states(*states)
    assert same(whole, dm.merge_states(*states[::-1]))
    for number, (start, stop) in enumerate(pairwise((0, 1, 3, 8))):
        dm.merge_states(*states[start:stop], output=tmp_path / f"{number}.some")
    grouped = dm.merge_states(*(tmp_path / f"{number}.some" for number in range(3)))
    assert grouped.block_size == whole.block_size and grouped.n_used == whole.n_used == 4_000
    np.testing.assert_allclose(grouped.block_estimates, whole.block_estimates, rtol=1e-13)


def test_numbers_are_turned_by_a_distance_for_each_folder(tmp_path: Path) -> None:
    """The slow way: every block and cell of every lake is put where it belongs, one by one."""
    states = days(tmp_path, 12)
    dm.merge_states(*states, output=tmp_path / "all")
    merged = read(tmp_path / "all")
    count, total = np.zeros(945 + 945, np.int64), np.zeros(945 + 945)
    for day, state in enumerate(states):
        root = str(tmp_path / f"day-{day:02}")
        turn = int(stream_key(SEED, f"root/{root}")) % 945
        own = read(state).moments
        for block in range(945):
            count[(block + turn) % 945] += own.count[0, 0, block]
            total[(block + turn) % 945] += own.count[0, 0, block] * own.mean[0, 0, block]
        cell = file_cell(file_key(SEED, "part-0.parquet"), 945)
        assert own.count[0, 0, 945 + cell] == 500
        count[945 + (cell + turn) % 945] += 500
        total[945 + (cell + turn) % 945] += 500 * own.mean[0, 0, 945 + cell]
    np.testing.assert_array_equal(merged.moments.count[0, 0], count)
    np.testing.assert_allclose(merged.moments.mean[0, 0] * count, total, rtol=1e-12)


def read(path: Path) -> Any:
    """The sums in a state of files."""
    found = State(path).load(KIND)
    assert found is not None
    saved = SavedMean.of(found, str(path))
    return saved.ledger.finish(
        None if saved.ledger.base is not None else lambda a, b: pytest.fail("one file")
    )


def test_files_are_units_of_their_own_and_named_units_stay_together(tmp_path: Path) -> None:
    by_file = dm.merge_states(*days(tmp_path / "files", 30, block_by="file", n_blocks=5))
    assert (by_file.n_units, by_file.n_blocks) == (30, 5)
    assert by_file.block_size[1] < 0.5 * 30 * 500, "one cell would have held all"
    states = days(tmp_path / "units", 4, block_by="u", n_blocks=9)
    merged = dm.merge_states(*states)
    whole = dm.mean(f"{tmp_path}/units/day-*", "x", rng=7, interval="cantelli", blocks=dm.UnitBlocks("u", 9))
    assert merged.n_units == whole.n_units == 90
    np.testing.assert_allclose(merged.block_estimates, whole.block_estimates, rtol=1e-13)


def test_a_file_name_in_thousands_of_folders_is_as_many_units() -> None:
    """Folded with 16 hashed bits of the folder, about 190 of them were taken for others."""
    one = UnitSketch(np.array([1 << 62], np.uint64), np.zeros(1, np.int64))
    told = [_told_apart(one, SEED, f"lake/{number}") for number in range(5_000)]
    assert len({int(found.hashes[0]) for found in told if found is not None}) == 5_000


def test_skipped_files_of_one_name_are_all_told(tmp_path: Path) -> None:
    states = []
    for day in ("mon", "tue"):
        write(tmp_path / day / "good.parquet", {"x": np.arange(100.0)})
        (tmp_path / day / "bad.parquet").write_bytes(b"no Parquet")
        states.append(tmp_path / f"{day}.state")
        dm.mean(dm.scan(tmp_path / day, on_bad_file="skip"), "x", rng=7, state=states[-1])
    found = dm.merge_states(*states, output=tmp_path / "both")
    names = [str(tmp_path / day / "bad.parquet") for day in ("mon", "tue")]
    assert [skipped["file"] for skipped in found.data["skipped"]] == names
    assert dm.merge_states(tmp_path / "both").data["skipped"] == found.data["skipped"]
