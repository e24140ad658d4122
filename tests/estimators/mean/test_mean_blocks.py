"""Which rows form a block: a function of seed, path and row number alone; and samples without replacement."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from flat import flat
from mean_lakes import cut_work, dirty_lake, same, write

import distmom as dm
from distmom.numerics.blocks.labels import file_cell, file_key, label_table, labels
from distmom.numerics.random.philox import resolve_seed
from distmom.theory.ladder import fine_blocks

SEED = 5


def blocks_of_rows(path: str, n_rows: int, n_blocks: int, seed: int = SEED) -> np.ndarray:
    """Fine blocks by the labels' definition."""
    n_fine = fine_blocks(n_blocks)
    number, _ = resolve_seed(seed)
    return labels(0, n_rows, file_key(number, path), label_table(number, n_fine))


def test_block_means_are_those_of_the_labels(tmp_path: Path) -> None:
    """With as many rows in every fine block, coarse blocks are consecutive fine ones."""
    n_blocks = 93
    n_fine = fine_blocks(n_blocks)
    n = 4 * n_fine
    x = np.random.default_rng(0).normal(size=n)
    write(tmp_path / "a.parquet", {"x": x})
    found = dm.mean(tmp_path, rng=SEED, blocks=n_blocks)
    coarse = blocks_of_rows("a.parquet", n, n_blocks) // (n_fine // n_blocks)
    right = [x[coarse == k].mean() for k in range(n_blocks)]
    np.testing.assert_allclose(found.block_estimates, right, rtol=1e-12, atol=1e-14)
    assert found.estimate == pytest.approx(sorted(right)[(n_blocks - 1) // 2])
    assert found.block_size == (n // n_blocks, n // n_blocks)


def test_adding_files_moves_no_old_row(tmp_path: Path) -> None:
    """Old rows hold powers of a value, new rows 0: the block sums tell where each old row lies."""
    n_blocks = 1023  # then blocks are fine blocks, whatever their sizes
    x = 1.0 + np.arange(3 * n_blocks, dtype=np.float64)
    write(tmp_path / "m.parquet", {"x": x})
    old = dm.mean(tmp_path, rng=SEED, interval="none", blocks=n_blocks)
    assert old.n_blocks == n_blocks
    sums = old.block_estimates * 3
    for name in ("a.parquet", "z.parquet", "deep/er/b.parquet"):
        write(tmp_path / name, {"x": np.zeros(2 * n_blocks)})
    new = dm.mean(tmp_path, rng=SEED, interval="none", blocks=n_blocks)
    assert new.block_size == (9, 9)
    np.testing.assert_allclose(new.block_estimates * 9, sums, rtol=1e-9)


def test_the_root_folder_has_no_say(tmp_path: Path) -> None:
    dirty_lake(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "other name")
    for options in ({}, {"scheme": "swor", "n_blocks": 5, "block_size": 50}, {"block_by": "file"}):
        first = flat(dm.mean)(tmp_path / "one", "y", rng=1, **options)
        assert same(first, flat(dm.mean)(tmp_path / "other name", "y", rng=1, **options))
        assert same(first, flat(dm.mean)(str(tmp_path / "one") + "/", "y", rng=1, **options))
    moved = tmp_path / "moved"
    shutil.copytree(tmp_path / "one", moved / "below")
    assert not same(dm.mean(tmp_path / "one", "y", rng=1), dm.mean(moved, "y", rng=1))


def test_stored_order_is_contiguous_over_files(tmp_path: Path) -> None:
    """Blocks of rows as they are stored, over the edges of files."""
    x = np.arange(60.0)
    for i, (low, high) in enumerate(itertools.pairwise([0, 1, 1, 25, 60])):
        write(tmp_path / f"{i}.parquet", {"x": x[low:high]})
    found = dm.mean(tmp_path, rng=0, blocks=dm.StoredBlocks(5))
    np.testing.assert_allclose(found.block_estimates, x.reshape(5, 12).mean(axis=1))
    assert found.estimate == pytest.approx(29.5)


def test_whole_files_stay_together(tmp_path: Path) -> None:
    """With far more cells than files, a block is a cell: the files whose paths are hashed to it."""
    for i in range(40):
        write(tmp_path / f"{i:02}.parquet", {"x": np.full(10, float(i))})
    found = dm.mean(tmp_path, rng=SEED, blocks=dm.FileBlocks(1023))
    seed, _ = resolve_seed(SEED)
    cells: dict[int, list[int]] = {}
    for i in range(40):
        cells.setdefault(file_cell(file_key(seed, f"{i:02}.parquet"), 1023), []).append(i)
    np.testing.assert_allclose(found.block_estimates, [np.mean(cells[c]) for c in sorted(cells)])
    assert found.n_blocks == len(cells) and found.block_size[0] == 10
    assert "fewer than 10 files per block" in found.notes[-1]


def test_a_block_size_gives_the_number_of_blocks(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.arange(1000.0)})
    assert (
        dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(size=100)).n_blocks == 9
    )  # ten: an odd number is never worse
    assert dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(size=142)).n_blocks == 7
    assert dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(size=1000)).n_blocks == 1


def test_a_row_sample_of_every_size_of_lake_is_answered(tmp_path: Path) -> None:
    for n in (1, 2, 7, 40, 41, 100, 1023, 1024, 1025, 8000):
        found = dm.mean(np.arange(float(n)), rng=0)
        assert found.n_used == n and found.plain_estimate == pytest.approx((n - 1) / 2)


# --- samples without replacement


@pytest.fixture
def four_files(tmp_path: Path) -> Path:
    """Three files of three rows and one of a single row."""
    for i, (low, high) in enumerate([(0, 3), (3, 6), (6, 9), (9, 10)]):
        write(tmp_path / f"{i}.parquet", {"x": np.arange(low, high, dtype=np.float64)})
    return tmp_path


def test_eight_of_ten_rows_are_distinct(four_files: Path) -> None:
    """Values are powers of three: the sum of a sample tells which rows it holds, and how often."""
    x = 3.0 ** np.arange(10)
    for i, (low, high) in enumerate([(0, 3), (3, 6), (6, 9), (9, 10)]):
        write(four_files / f"{i}.parquet", {"x": x[low:high]})
    found = dm.mean(four_files, rng=0, blocks=dm.SampledBlocks(500, size=8))
    sums = np.rint(found.block_estimates * 8).astype(np.int64)
    digits = sums[:, None] // 3 ** np.arange(10) % 3
    assert set(digits.ravel()) == {0, 1} and np.all(digits.sum(axis=1) == 8)
    assert len({tuple(row) for row in digits.tolist()}) == 45, "all subsets of two rows left out"
    # each row is drawn with probability 0.8; 500 draws, ten rows: P(any off by more than 0.08) < 1e-4
    assert np.abs(digits.mean(axis=0) - 0.8).max() < 0.08


@pytest.mark.slow
def test_each_row_is_drawn_equally_often_over_many_seeds(four_files: Path) -> None:
    """Also the lone row of the last file; 20,000 samples, standard deviation 0.0028."""
    x = 3.0 ** np.arange(10)
    for i, (low, high) in enumerate([(0, 3), (3, 6), (6, 9), (9, 10)]):
        write(four_files / f"{i}.parquet", {"x": x[low:high]})
    digits = []
    for seed in range(20):
        found = dm.mean(four_files, rng=seed, blocks=dm.SampledBlocks(1_000, size=8))
        sums = np.rint(found.block_estimates * 8).astype(np.int64)
        digits.append(sums[:, None] // 3 ** np.arange(10) % 3)
    share = np.concatenate(digits).mean(axis=0)
    assert np.abs(share - 0.8).max() < 0.013  # 4.6 standard deviations: 5e-5 for ten rows


def test_more_rows_than_there_are(four_files: Path) -> None:
    with pytest.raises(dm.NoAnswerError, match=r"11.*10"):
        dm.mean(four_files, rng=0, blocks=dm.SampledBlocks(3, size=11))
    with pytest.raises(dm.NoAnswerError, match=r"11.*10"):
        dm.mean(four_files, rng=0, blocks=dm.RandomBlocks(size=11))


def test_more_samples_keep_the_first_ones(four_files: Path) -> None:
    few = dm.mean(four_files, rng=3, blocks=dm.SampledBlocks(5, size=4))
    many = dm.mean(four_files, rng=3, blocks=dm.SampledBlocks(11, size=4))
    assert np.array_equal(few.block_estimates, many.block_estimates[:5])


def test_a_unit_of_empty_files(tmp_path: Path) -> None:
    for i, n in enumerate((5, 0, 0, 4, 0)):
        write(tmp_path / f"{i}.parquet", {"x": np.arange(float(n))})
    for options in ({"scheme": "swor", "n_blocks": 3, "block_size": 4}, {"order": "stored"}, {}):
        right = flat(dm.mean)(tmp_path, rng=0, threads=1, **options)
        with pytest.MonkeyPatch.context() as patch:
            cut_work(patch, max_files=1)
            assert same(right, flat(dm.mean)(tmp_path, rng=0, threads=1, **options))


def test_a_filter_is_allowed_for(tmp_path: Path) -> None:
    """Valid rows are counted first, so that a block holds about the rows asked for of those that pass."""
    for i in range(4):
        write(tmp_path / f"{i}.parquet", {"x": np.arange(1000.0), "u": np.arange(1000) % 4})
    found = dm.mean(tmp_path, "x", where="u = 1", rng=0, blocks=dm.SampledBlocks(9, size=200))
    # hypergeometric: 200 in the mean, standard deviation 11
    assert (found.n_rows, found.n_used) == (1000, 1000)
    assert 140 < found.block_size[0] <= 200 <= found.block_size[1] < 260
    with pytest.raises(dm.NoAnswerError, match=r"1001.*1000 rows that pass the filter"):
        dm.mean(tmp_path, "x", where="u = 1", rng=0, blocks=dm.SampledBlocks(9, size=1001))
    with pytest.raises(dm.NoAnswerError, match="filter"):
        dm.mean(tmp_path, "x", where="u = 9", rng=0, blocks=dm.SampledBlocks(9, size=10))


def test_nulls_are_dropped_after_the_draw(tmp_path: Path) -> None:
    x = pa.array([None if i % 2 else float(i) for i in range(1000)])
    write(tmp_path / "a.parquet", {"x": x})
    found = dm.mean(tmp_path, rng=0, blocks=dm.SampledBlocks(9, size=100))
    assert (found.n_null, found.n_used) == (500, 500)
    assert found.block_size[1] < 100


def test_groups_without_a_sampled_row_say_so(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.arange(1000.0), "g": ["rare"] + ["common"] * 999})
    found = dm.mean(tmp_path, "x", by="g", rng=0, blocks=dm.SampledBlocks(3, size=10))
    common, rare = found
    assert (common.group, rare.group) == ({"g": "common"}, {"g": "rare"})
    assert rare.n_rows == 1 and rare.flags == ("no rows",) and np.isnan(rare.estimate)
    assert common.status == "ok"
