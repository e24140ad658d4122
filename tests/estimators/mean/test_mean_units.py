"""Whole units as blocks: where their rows go, how many there are, and what the answer makes of them.

Seeds are fixed; a comment beside each threshold says how probable a failure was before the seed was chosen.
"""

from __future__ import annotations

import hashlib
import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flat import flat
from hypothesis import given
from hypothesis import strategies as st
from mean_lakes import cut_work, write

import distmom as dm
from distmom.estimators.mean import counts
from distmom.estimators.mean import plan as mean_plan
from distmom.estimators.survey import Surveyor
from distmom.lake.keys.keybytes import component_bytes
from distmom.lake.keys.keyvalues import components
from distmom.numerics.random.philox import resolve_seed
from distmom.reductions import block_means


def cell_of(value: Any, n_cells: int, seed: int) -> int:
    """The twin: one value at a time."""
    message = component_bytes(components(pa.array([value]))[0])
    key = resolve_seed(seed)[0].to_bytes(16, "little") + b"units"
    word = int.from_bytes(hashlib.blake2b(message, digest_size=8, key=key).digest(), "little")
    return (word * n_cells) >> 64


def whole(found: dm.MeanResult | dm.Results) -> dm.MeanResult:
    assert isinstance(found, dm.MeanResult)
    return found


# --- which block


def test_blocks_are_those_of_the_row_by_row_twin() -> None:
    """Units of equal size, so that the coarse blocks are runs of cells by their rows alone."""
    g = np.random.default_rng(0)
    names = [f"sensor {i}" for i in range(400)]
    rows = np.repeat(np.arange(400), 10)
    g.shuffle(rows)
    x = g.normal(size=4_000)
    found = whole(
        dm.mean({"x": x, "u": pa.array([names[r] for r in rows])}, "x", rng=5, blocks=dm.UnitBlocks("u", 9))
    )
    cells = np.array([cell_of(name, 1_017, 5) for name in names])[rows]
    count = np.bincount(cells, minlength=1_017)
    middle = 2 * np.cumsum(count) - count
    blocks = (9 * middle // (2 * 4_000))[cells]
    assert found.block_estimates == pytest.approx([x[blocks == k].mean() for k in range(9)], rel=1e-12)
    sizes = np.bincount(blocks)
    assert found.block_size == (sizes.min(), sizes.max())
    assert (found.n_units, found.n_units_exact) == (400, True)


def test_a_unit_is_never_split(tmp_path: Path) -> None:
    """All rows of a unit are equal: with far more cells than units most block means are such values."""
    g = np.random.default_rng(1)
    for i in range(5):
        users = g.integers(0, 40, 300)
        write(tmp_path / f"{i}.parquet", {"x": 2.0 ** (users % 10), "user": users})
    found = whole(dm.mean(tmp_path, "x", rng=0, blocks=dm.UnitBlocks("user", 1_001)))
    alone = [b for b in found.block_estimates.tolist() if b in {2.0**k for k in range(10)}]
    # 40 units in 1,001 cells: 1.5 are expected to share one; that 10 do has a probability below 1e-5
    assert found.n_units == 40 and len(alone) >= 30
    assert found.n_blocks == found.block_estimates.size <= 40


def test_the_type_of_a_key_does_not_matter(tmp_path: Path) -> None:
    """int32 here, int64 there, a double or a decimal: the same units; a text is another."""
    g = np.random.default_rng(2)
    users, x = g.integers(0, 200, 3_000), g.normal(size=3_000)
    types = (pa.int32(), pa.int64(), pa.uint8(), pa.float64(), pa.decimal128(21, 2))
    right = None
    for other in types:
        folder = tmp_path / str(other)
        for i, type_ in enumerate((pa.int64(), other)):
            part = slice(i * 1_500, (i + 1) * 1_500)
            write(folder / f"{i}.parquet", {"x": x[part], "u": pa.array(users[part]).cast(type_)})
        found = whole(dm.mean(folder, "x", rng=3, blocks=dm.UnitBlocks("u")))
        right = found if right is None else right
        assert found == right and found.n_units == 200, other
    texts = whole(dm.mean({"x": x, "u": users.astype(str)}, "x", rng=3, blocks=dm.UnitBlocks("u")))
    numbers = whole(dm.mean({"x": x, "u": users}, "x", rng=3, blocks=dm.UnitBlocks("u")))
    assert texts.n_units == numbers.n_units and texts != numbers


def test_folders_keys_are_columns(tmp_path: Path) -> None:
    """A hive key and the same values stored give the same blocks, null included."""
    g = np.random.default_rng(3)
    days = [None if d == 0 else d for d in range(60)]
    for day in days:
        folder = "day=__HIVE_DEFAULT_PARTITION__" if day is None else f"day={day}"
        x = g.normal(size=50)
        write(tmp_path / "hive" / folder / "a.parquet", {"x": x})
        stored = {"x": x, "day": pa.array([day] * 50)}
        write(tmp_path / "stored" / folder.replace("=", "-") / "a.parquet", stored)
    found = [
        whole(dm.mean(tmp_path / name, "x", rng=0, blocks=dm.UnitBlocks("day")))
        for name in ("hive", "stored")
    ]
    assert [r.n_units for r in found] == [60, 60]
    assert found[0].block_estimates.tolist() == pytest.approx(found[1].block_estimates.tolist(), rel=1e-12)


rows_of = st.lists(
    st.tuples(st.sampled_from([None, *"abcdefg"]), st.one_of(st.none(), st.integers(0, 3))),
    min_size=1,
    max_size=80,
)


@given(rows_of, st.lists(st.integers(0, 80), max_size=3), st.sampled_from([1, 7, 1000]), st.booleans())
def test_any_partitioning_gives_the_same_blocks(
    rows: list[tuple[str | None, int | None]], cuts: list[int], batch_rows: int, grouped: bool
) -> None:
    """Rows over files and batches: the same rows in each block, and the same number of units."""
    x = [float(i) for i in range(len(rows))]
    a, b = pa.array([r[0] for r in rows], pa.string()), pa.array([r[1] for r in rows], pa.int64())
    table = pa.table({"x": x, "a": a, "b": b})
    edges = sorted({0, len(rows), *(min(c, len(rows)) for c in cuts)})
    options: dict[str, Any] = {"block_by": ["a", "b"], "n_blocks": 7, "rng": 0, "interval": "none"}
    options |= {"by": "a"} if grouped else {}
    one = dm.Results.of(flat(dm.mean)(table, "x", **options))
    with tempfile.TemporaryDirectory() as folder:
        for i, (low, high) in enumerate(itertools.pairwise(edges)):
            pq.write_table(table.slice(low, high - low), f"{folder}/{i}.parquet")
        cut = dm.Results.of(flat(dm.mean)(folder, "x", batch_rows=batch_rows, **options))
    for left, right in zip(cut, one, strict=True):
        assert left.block_size == right.block_size and left.n_blocks == right.n_blocks
        mine = {r for r in rows if left.group is None or r[0] == left.group["a"]}
        assert left.n_units == right.n_units == len(mine)
        assert left.block_estimates.tolist() == pytest.approx(right.block_estimates.tolist(), abs=1e-9)


# --- how many


def test_units_of_filtered_and_missing_rows(tmp_path: Path) -> None:
    """A unit counts if some of its rows pass the filter, whatever its values are."""
    x = pa.array([1.0, None, 3.0, 4.0, float("nan"), 6.0])
    table = pa.table({"x": x, "u": ["a", "b", "c", None, "d", "a"], "use": [1, 1, 0, 1, 1, 1]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = whole(dm.mean(tmp_path, "x", where="use == 1", rng=0, blocks=dm.UnitBlocks("u")))
    assert (found.n_units, found.n_units_exact, found.n_used) == (4, True, 3)
    assert whole(dm.mean(tmp_path, "x", rng=0)).n_units is None


@pytest.mark.parametrize("compiled", [False, True])
def test_files_are_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    """Files with rows that pass the filter, in each group."""
    for i in range(13):
        write(tmp_path / f"{i:02}.parquet", {"x": np.arange(20.0) + i, "k": np.arange(20) % (1 + i % 3)})
    if compiled:
        monkeypatch.setattr(mean_plan, "SMALL_BYTES", -1)
    cut_work(monkeypatch, max_files=4)
    found = whole(dm.mean(tmp_path, "x", where="x > 25", rng=0, blocks=dm.FileBlocks()))
    assert (found.n_units, found.n_units_exact) == (6, True)
    assert found.notes == ("6 files are too few for blocks",)
    by_group = dm.mean(tmp_path, "x", by="k", rng=0, blocks=dm.FileBlocks())
    assert [r.n_units for r in dm.Results.of(by_group)] == [13, 8, 4]


def test_many_units_are_about_right() -> None:
    x = np.zeros(60_000)
    users = np.arange(60_000) // 2
    found = whole(dm.mean({"x": x, "u": users}, "x", interval="none", rng=0, blocks=dm.UnitBlocks("u")))
    assert found.n_units_exact is False and found.n_units is not None
    # relative standard error 1/sqrt(4,094): outside 8% with probability 3e-7
    assert abs(found.n_units / 30_000 - 1) < 0.08
    assert f"about {found.n_units:,}" in str(found)
    few = whole(dm.mean({"x": x, "u": users % 4_095}, "x", interval="none", rng=0, blocks=dm.UnitBlocks("u")))
    assert (few.n_units, few.n_units_exact) == (4_095, True)
    assert "4,095" in str(few) and "about" not in str(few)


def test_groups_of_many_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the sketch large groups are estimated by their share of it, small ones by their cells."""
    monkeypatch.setattr(block_means, "SKETCH_OF_GROUPS", 512)
    g = np.random.default_rng(4)
    sizes = np.array([8_000, 2_000, 60, 5])
    group = np.repeat(np.arange(4), sizes)
    users = np.concatenate([np.arange(n) for n in sizes])
    order = g.permutation(group.size)
    table = {"x": g.normal(size=group.size), "g": group[order], "u": users[order]}
    found = dm.Results.of(dm.mean(table, "x", by="g", rng=0, blocks=dm.UnitBlocks("u")))
    assert [r.n_units_exact for r in found] == [False] * 4
    counted = [int(r.n_units or 0) for r in found]
    # some 407 and 102 of 511 kept pairs: 5 standard errors are 25% and 50%; 60 units in 105 cells: 5 are 15
    assert abs(counted[0] / 8_000 - 1) < 0.25 and abs(counted[1] / 2_000 - 1) < 0.5
    assert abs(counted[2] - 60) <= 15 and 4 <= counted[3] <= 6
    monkeypatch.undo()
    exact = dm.Results.of(dm.mean(table, "x", by="g", rng=0, blocks=dm.UnitBlocks("u")))
    assert [(r.n_units, r.n_units_exact) for r in exact] == [(int(n), True) for n in sizes]


def test_cells_tell_the_number_of_few_units() -> None:
    """Linear counting against its own expectation, and never below the cells that are filled."""
    for n in (1, 5, 60, 110):
        expected = 105 * (1 - (1 - 1 / 105) ** n)
        assert counts._about(10**6, round(expected), 105) == pytest.approx(n, rel=0.03, abs=1)
    assert counts._about(1.0, 104, 105) == 104
    assert counts._about(1e6, 105, 105) == 10**6


# --- what the answer makes of them


def test_few_units_are_said() -> None:
    g = np.random.default_rng(5)
    x, users = g.normal(size=20_000), g.integers(0, 20, 20_000)
    found = whole(dm.mean({"x": x, "u": users}, "x", rng=0, blocks=dm.UnitBlocks("u")))
    assert found.n_blocks == 9  # finer levels would have blocks of one or two units
    assert any("20 units make 9 blocks" in note for note in found.notes)
    given = whole(dm.mean({"x": x, "u": users}, "x", rng=0, blocks=dm.UnitBlocks("u", 101)))
    assert given.n_blocks <= 20
    assert f"only {given.n_blocks} of 101 blocks hold rows; the empty ones are left out" in given.notes
    three = whole(dm.mean({"x": x, "u": users % 3}, "x", rng=0, blocks=dm.UnitBlocks("u")))
    assert three.flags == ("sample mean, no guarantee",) and three.interval is None
    assert three.notes == ("3 units are too few for blocks",)
    many = whole(dm.mean({"x": x, "u": np.arange(20_000) // 10}, "x", rng=0, blocks=dm.UnitBlocks("u")))
    assert many.notes == () and many.n_blocks == 15


def unit_table(g: np.random.Generator, repetitions: int, sizes: np.ndarray, spread: float) -> tuple[Any, Any]:
    """Columns of values with an effect of their unit, in columns; and the units of the rows."""
    units = np.repeat(np.arange(sizes.size), sizes)
    effects = g.normal(size=(sizes.size, repetitions)) * spread
    return effects[units] + g.normal(size=(units.size, repetitions)), units


def intervals(x: np.ndarray, units: np.ndarray, **options: Any) -> list[dm.MeanResult]:
    columns = {str(j): x[:, j] for j in range(x.shape[1])}
    return list(dm.Results.of(flat(dm.mean)({**columns, "u": units}, list(columns), rng=0, **options)))


def covered(found: list[dm.MeanResult]) -> int:
    assert all(r.interval is not None for r in found)
    return sum(r.interval[0] <= 0.0 <= r.interval[1] for r in found)  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["order", "cantelli"])
@pytest.mark.one_in(2)
def test_rows_of_a_unit_that_resemble_each_other_are_covered(kind: str) -> None:
    """300 units of 60 rows with effects twice the noise; row by row the intervals are far too short."""
    x, units = unit_table(np.random.default_rng(6), 300, np.full(300, 60), 2.0)
    options = {"n_blocks": 21, "interval": kind, "confidence_level": 0.95}
    hits = covered(intervals(x, units, block_by="u", **options))
    rows = covered(intervals(x, units, **options))
    # the level of order statistics of 21 blocks is 0.9734: fewer than 275 of 300 with probability 1e-6; the
    # bound held in 600 of 600 other repetitions: if it fails in 0.5%, 11 times in 300 with probability 1e-6
    assert hits >= (275 if kind == "order" else 290)
    # row by row they covered in 0.30 and 0.63 of 600: five standard deviations more are 130 and 231
    assert rows <= (130 if kind == "order" else 231)


@pytest.mark.slow
@pytest.mark.parametrize("n_blocks", ["auto", 9])
@pytest.mark.one_in(2)
def test_units_of_very_different_sizes(n_blocks: int | str) -> None:
    """Log-normal numbers of rows, up to a tenth of all in one unit: no false alarms, and the bound covers."""
    g = np.random.default_rng(7)
    sizes = np.maximum(1, g.lognormal(2.5, 1.3, 400)).astype(int)
    x, units = unit_table(g, 200, sizes, 1.0)
    found = intervals(x, units, block_by="u", n_blocks=n_blocks, interval="cantelli", confidence_level=0.95)
    assert max(r.block_size[1] for r in found) > 1.1 * min(r.block_size[0] for r in found)
    # the chance of a false alarm is set to 0.001: more than 5 of 200 with probability 1e-7
    assert sum(r.status != "ok" for r in found) <= 5
    assert covered(found) >= 176  # if the level is the nominal 0.95, fewer with probability 4e-5


def test_unequal_blocks_widen_the_bound() -> None:
    """One unit holds half of the rows, and so one block does."""
    g = np.random.default_rng(8)
    equal = np.arange(9_000) // 30
    lopsided = np.where(np.arange(9_000) < 4_500, 0, equal)
    x = g.normal(size=9_000)
    widths = []
    for units in (equal, lopsided):
        found = whole(
            dm.mean({"x": x, "u": units}, "x", interval="cantelli", rng=1, blocks=dm.UnitBlocks("u", 9))
        )
        assert found.interval is not None
        widths.append((found.interval[1] - found.interval[0], found.block_size))
    (narrow, even), (wide, uneven) = widths
    assert even[1] < 1.3 * even[0] and uneven[1] >= 4_500
    assert wide > 1.2 * narrow


def test_bad_units_ruin_few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """5% of the units outlying in all their rows: too much for random rows, no matter for units."""
    g = np.random.default_rng(9)
    units = np.repeat(np.arange(400), 50)
    x = g.normal(size=units.size)
    x[units % 20 == 3] = 1e6
    found = whole(dm.mean({"x": x, "u": units}, "x", rng=0, blocks=dm.UnitBlocks("u")))
    # 20 of 400 units outlying: without them, five standard errors of the median are 5 sqrt(pi/2/19,000)
    assert abs(found.estimate) < 0.05 and found.status == "share screened out"
    monkeypatch.setattr(Surveyor, "means", lambda *_: {})  # blocks of units alone
    alone = whole(dm.mean({"x": x, "u": units}, "x", rng=0, blocks=dm.UnitBlocks("u")))
    assert abs(alone.estimate) < 0.05 and "contaminated" in alone.flags and alone.n_screened_out >= 15
    rows = whole(dm.mean({"x": x, "u": units}, "x", rng=0))
    assert rows.status == "share screened out" and abs(found.plain_estimate) > 1e3
    monkeypatch.setattr(mean_plan, "POOL", 0)
    scattered = whole(dm.mean({"x": x, "u": units}, "x", rng=0))
    assert abs(scattered.estimate) > 1e3, "negative control: blocks of random rows alone"


def test_units_in_groups_are_told_apart() -> None:
    """A unit may have rows in several groups; each group's blocks are made of its own rows."""
    g = np.random.default_rng(10)
    n = 30_000
    table = {"x": g.normal(size=n), "g": g.integers(0, 3, n), "u": g.integers(0, 500, n)}
    found = dm.Results.of(dm.mean(table, "x", by="g", rng=0, blocks=dm.UnitBlocks("u", 15)))
    for r in found:
        assert r.group is not None and r.n_units == 500 and r.n_blocks == 15
        mine = table["g"] == r.group["g"]
        one = whole(
            dm.mean(
                {k: v[mine] for k, v in table.items()}, "x", by=None, rng=0, blocks=dm.UnitBlocks("u", 15)
            )
        )
        assert r.n_used == one.n_used and r.plain_estimate == pytest.approx(one.plain_estimate, rel=1e-12)


# --- what is refused


def test_wrong_columns(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.zeros(5), "user": np.arange(5), "v": pa.array([[1]] * 5)})
    wrong: tuple[tuple[Any, str], ...] = (
        ("usr", r"no column 'usr'.*did you mean 'user'"),
        ("x", r"^UnitBlocks: columns: 'x' is also a column to average"),
        (["user", "user"], r"^UnitBlocks: columns: 'user' is given twice"),
        ([], r"^UnitBlocks: columns"),
        (["user", 3], r"^UnitBlocks: columns"),
        ("", r"column ''"),
    )
    for columns, words in wrong:
        with pytest.raises(dm.ConfigError, match=words) as caught:
            dm.mean(tmp_path, "x", blocks=dm.UnitBlocks(columns))
        assert "\n" not in str(caught.value)
    with pytest.raises(dm.DataError, match=r"column 'v' is list.* cannot be a key of groups or units"):
        dm.mean(tmp_path, "x", blocks=dm.UnitBlocks("v"))


def test_a_column_called_file_is_given_in_a_list(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"{i}.parquet", {"x": np.zeros(40), "file": np.arange(40) % 20})
    assert whole(dm.mean(tmp_path, "x", rng=0, blocks=dm.FileBlocks())).n_units == 3
    assert whole(dm.mean(tmp_path, "x", rng=0, blocks=dm.UnitBlocks(["file"]))).n_units == 20


def test_the_plan_counts_the_columns_of_units(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.zeros(1_000), "u": np.arange(1_000)})
    told = dm.explain(dm.mean, tmp_path, "x", blocks=dm.UnitBlocks("u", 9))
    assert (told["fine_blocks"], told["n_blocks"]) == (1_017, 9)
    with pytest.raises(dm.ConfigError, match="no column 'w'"):
        dm.explain(dm.mean, tmp_path, "x", blocks=dm.UnitBlocks("w"))
