"""Chunks of consecutive rows: bursts of bad rows dirty few blocks, neighbours that resemble each other count.

Seeds are fixed; a comment beside each threshold says how probable a failure was before the seed was chosen.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mean_lakes import write

import distmom as dm
from distmom.estimators.mean import plan as mean_plan
from distmom.numerics.blocks.labels import file_key, label_table, labels
from distmom.numerics.random.philox import resolve_seed

AR = 0.95


def autoregression(g: np.random.Generator, n: int, repetitions: int) -> np.ndarray:
    """Stationary series x_i = 0.95 x_(i-1) + e_i in columns, shape (n, repetitions)."""
    x = g.normal(size=(n, repetitions))
    x[0] /= np.sqrt(1 - AR**2)
    for i in range(1, n):
        x[i] += AR * x[i - 1]
    return x


def test_blocks_are_those_of_the_row_by_row_twin(tmp_path: Path) -> None:
    """Nine blocks of 113 fine ones; two files, so that the second one's last chunk is cut short."""
    g = np.random.default_rng(0)
    table = label_table(resolve_seed(7)[0], 1_017)
    blocks: dict[int, list[float]] = {}
    for name, n in (("a.parquet", 5 * 1_017), ("b.parquet", 3)):
        x = g.normal(size=n)
        write(tmp_path / name, {"x": x})
        for row in range(n):
            label = int(labels(row // 5, 1, file_key(resolve_seed(7)[0], name), table)[0])
            blocks.setdefault(label // 113, []).append(float(x[row]))
    found = dm.mean(tmp_path, rng=7, blocks=dm.RandomBlocks(9, chunk_rows=5))
    assert found.block_estimates == pytest.approx([np.mean(blocks[k]) for k in range(9)], rel=1e-12)
    assert found.block_size == (565, 568)


def test_a_burst_dirties_few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """L bad rows touch at most (L - 1)/c + 2 chunks; labelled one by one they are in most of the blocks."""
    monkeypatch.setattr(mean_plan, "POOL", 0)  # without a row sample, that screens out the bad rows
    x = np.random.default_rng(0).normal(size=40_000)
    g = np.random.default_rng(1)
    for length, chunk_rows in ((60, 64), (120, 64), (300, 32), (1_000, 64)):
        for start in g.integers(0, x.size - length, 5):
            bad = x.copy()
            bad[start : start + length] = 1e9
            found = dm.mean(bad, rng=0, blocks=dm.RandomBlocks(105, chunk_rows=chunk_rows))
            dirty = int((found.block_estimates > 1e5).sum())
            assert dirty <= (length - 1) // chunk_rows + 2
            assert abs(found.estimate) < 0.1  # 5 standard errors of a median of 105 blocks are 0.03
            rows = dm.mean(bad, rng=0, blocks=105)
            # of 105 blocks, 105 (1 - e^(-L/105)) hold a bad row: 46, 71 (of which 53 break it), 99, 105
            assert (rows.block_estimates > 1e5).sum() > 105 * (1 - np.exp(-length / 105)) - 20
            assert (rows.estimate > 1e5) == (length > 100)


@pytest.mark.slow
def test_coverage_for_rows_that_resemble_their_neighbours() -> None:
    """AR(1), order interval at 95%: with chunks of 192 rows near its level, row by row far below it."""
    x = autoregression(np.random.default_rng(2), 20_000, 300)
    hits = {}
    for chunk_rows in (1, 192):
        for kind in ("order", "cantelli"):
            found = dm.mean(
                x,
                interval=kind,
                confidence_level=0.95,
                rng=0,
                blocks=dm.RandomBlocks(21, chunk_rows=chunk_rows),
            )
            intervals = [r.interval for r in found]
            assert all(i is not None for i in intervals)
            hits[chunk_rows, kind] = sum(low <= 0.0 <= high for low, high in intervals)  # type: ignore[misc]
    # 300 trials of probability 0.955 (0.36 row by row): below 265 with probability 1e-7, above 150 with 4e-7
    assert hits[192, "order"] >= 265
    assert hits[192, "cantelli"] >= 294  # 0.9995 in simulations: fewer with probability 1e-10
    assert hits[1, "order"] <= 150
    assert hits[1, "cantelli"] < 265


@pytest.mark.slow
def test_the_automatic_number_of_blocks_covers_too() -> None:
    x = autoregression(np.random.default_rng(3), 40_000, 100)
    found = dm.mean(x, confidence_level=0.95, rng=0, blocks=dm.RandomBlocks(chunk_rows=192))
    assert all(r.status == "ok" for r in found)
    # 100 trials of probability 0.93: fewer than 80 with probability 2e-5
    assert sum(r.interval[0] <= 0.0 <= r.interval[1] for r in found) >= 80  # type: ignore[index]


def test_a_chunk_as_long_as_a_file_keeps_files_whole(tmp_path: Path) -> None:
    g = np.random.default_rng(4)
    means = []
    for i in range(30):
        x = g.normal(size=100 + i) + i
        means.append(x.mean())
        write(tmp_path / f"{i:02}.parquet", {"x": x})
    found = dm.mean(tmp_path, rng=0, blocks=dm.RandomBlocks(1_001, chunk_rows=10**12))
    kept = found.block_estimates
    # 30 files in 1,001 cells: those that share a cell are averaged
    assert 25 <= kept.size <= 30
    assert sum(np.isclose(means, value, rtol=1e-12).any() for value in kept) >= 20
    assert any(f"only {kept.size} of 1001 blocks hold rows" in note for note in found.notes)
    single = dm.mean(tmp_path / "00.parquet", rng=0, blocks=dm.RandomBlocks(chunk_rows=10**12))
    assert single.flags == ("sample mean, no guarantee",) and single.interval is None


@pytest.mark.parametrize("chunk_rows", [0, -1, 1.5, True, None, 2**40 + 1, 10**40])
def test_wrong_numbers_of_rows(chunk_rows: object) -> None:
    with pytest.raises(dm.ConfigError, match=r"^RandomBlocks: chunk_rows: "):
        dm.mean(np.zeros(10), blocks=dm.RandomBlocks(chunk_rows=chunk_rows))  # type: ignore[arg-type]
