from __future__ import annotations

import pickle

import pytest
from fake_work import LEAF_ROWS, listing
from hypothesis import given
from hypothesis import strategies as st

from distmom.cluster import Unit, plan_units
from distmom.cluster.plan import Done
from distmom.lake.source import FileRef

SIZES = st.lists(st.integers(0, 1000), max_size=60)


@given(SIZES, st.integers(1, 3000), st.integers(1, 20), st.floats(0.1, 1.0))
def test_units_cover_every_file_once_in_aligned_ranges(
    sizes: list[int], unit_bytes: int, max_files: int, share: float
) -> None:
    files = listing(sizes)
    units = plan_units(files, unit_bytes=unit_bytes, max_files=max_files, column_share=share)
    assert [file for unit in units for file in unit.files] == list(files)
    assert [unit.number for unit in units] == list(range(len(units)))
    for unit in units:
        assert unit.files == files[unit.index << unit.level : (unit.index + 1) << unit.level]
        assert len(unit.files) <= max_files
        assert unit.n_bytes == int(sum(file.size for file in unit.files) * share)
        assert unit.level == 0 or unit.n_bytes <= unit_bytes
        assert unit.rows is None


@given(st.lists(st.integers(-1, 2000), min_size=1, max_size=12), st.integers(1, 3000))
def test_large_files_of_known_length_are_cut_at_aligned_leaves(rows: list[int], unit_bytes: int) -> None:
    files = listing([max(n, 7) * 8 for n in rows])
    units = plan_units(files, rows, unit_bytes=unit_bytes, max_files=4, leaf_rows=LEAF_ROWS)
    for number, n_rows in enumerate(rows):
        parts = [unit for unit in units if unit.rows is not None and unit.index == number]
        if not parts:
            whole = [unit for unit in units if files[number] in unit.files]
            assert len(whole) == 1
            known_and_large = n_rows > 0 and whole[0].n_bytes > 2 * unit_bytes
            assert whole[0].level > 0 or not known_and_large
            continue
        assert parts[0].rows is not None and parts[0].rows[0] == 0
        assert [part.rows for part in parts if part.rows] == sorted(part.rows for part in parts if part.rows)
        stops = [part.rows[1] for part in parts if part.rows]
        assert [part.rows[0] for part in parts if part.rows] == [0, *stops[:-1]]
        assert stops[-1] == n_rows
        for part in parts:
            assert part.rows is not None
            assert part.rows[0] == part.leaf_index * (LEAF_ROWS << part.leaf_level)
            assert part.n_leaves == -(-n_rows // LEAF_ROWS)
            assert part.rows[1] - part.rows[0] <= LEAF_ROWS or part.n_bytes <= unit_bytes
    assert [unit.number for unit in units] == list(range(len(units)))


def random_nodes(n: int, chance: st.DataObject) -> list[tuple[int, int]]:
    """Some whole nodes of a tree of n leaves, none above another."""

    def draw(level: int, index: int) -> list[tuple[int, int]]:
        if index << level >= n:
            return []
        choice = chance.draw(st.sampled_from(["take", "leave", "split"]))
        if choice == "take" and (index + 1) << level <= n:
            return [(level, index)]
        if choice == "leave" or level == 0:
            return []
        return draw(level - 1, 2 * index) + draw(level - 1, 2 * index + 1)

    return draw((n - 1).bit_length(), 0)


def leaves_of(nodes: list[tuple[int, int]], n: int) -> list[int]:
    return [i for level, index in nodes for i in range(index << level, min((index + 1) << level, n))]


@given(st.lists(st.integers(1, 900), min_size=1, max_size=24), st.integers(300, 9000), st.data())
def test_only_what_is_not_done_is_cut_and_no_node_is_cut_short(
    rows: list[int], unit_bytes: int, data: st.DataObject
) -> None:
    files = listing([8 * n for n in rows])
    nodes = random_nodes(len(files), data)
    free = sorted(set(range(len(files))) - set(leaves_of(nodes, len(files))))
    begun = data.draw(st.sets(st.sampled_from(free), max_size=2)) if free else set()
    parts = {n: random_nodes(-(-rows[n] // LEAF_ROWS), data) for n in begun}
    parts = {n: p for n, p in parts.items() if p and p != [((-(-rows[n] // LEAF_ROWS) - 1).bit_length(), 0)]}
    done = Done(nodes, parts)
    units = plan_units(files, rows, unit_bytes=unit_bytes, leaf_rows=LEAF_ROWS, done=done)
    assert [u.number for u in units] == list(range(len(units)))
    read: dict[int, list[int]] = {}
    for unit in units:
        assert (unit.index + 1) << unit.level <= len(files)
        assert unit.files == files[unit.first_file : (unit.index + 1) << unit.level]
        for number in range(unit.first_file, unit.first_file + len(unit.files)):
            n_leaves = -(-rows[number] // LEAF_ROWS)
            if unit.rows is None:
                assert number not in parts
                read.setdefault(number, []).extend(range(n_leaves))
            else:
                assert unit.n_leaves == n_leaves
                mine = leaves_of([(unit.leaf_level, unit.leaf_index)], n_leaves)
                assert unit.rows == (mine[0] * LEAF_ROWS, min((mine[-1] + 1) * LEAF_ROWS, rows[number]))
                read.setdefault(number, []).extend(mine)
    for number in free:
        n_leaves = -(-rows[number] // LEAF_ROWS)
        known = leaves_of(parts.get(number, []), n_leaves)
        assert sorted(read.get(number, []) + known) == list(range(n_leaves))
    assert set(read) <= set(free)


def test_small_lakes_give_every_thread_something_to_do() -> None:
    files = listing([8_000_000] * 8)
    assert len(plan_units(files, threads=1)) == 4  # a quarter each
    assert len(plan_units(files, threads=2)) == 8
    assert len(plan_units(listing([1000] * 200), threads=2)) == 7  # by number: 200 kB in files of 1 kB


def test_more_threads_never_make_so_many_units_that_handing_them_out_takes_longer_than_reading_one() -> None:
    files = listing([10_000_000] * 800)  # 8 GB
    few, many = (plan_units(files, threads=threads) for threads in (20, 1_000))
    assert len(few) >= 4 * 20
    assert 100 <= len(many) <= 330  # a second of a scheduler; four for each thread would be 4,000
    assert len(plan_units(listing([4_000_000] * 60), threads=1_000)) == 60  # small ones are shared out, still


def test_tiny_inputs_stay_whole() -> None:
    assert len(plan_units(listing([1000] * 20), threads=16)) == 1
    assert plan_units([]) == ()


def test_the_default_leaf_is_that_of_the_reductions() -> None:
    from distmom.numerics.blocks.leaf import LEAF_ROWS as real

    units = plan_units(listing([10**9]), [10 * real + 1], unit_bytes=10**8)
    assert units[1].rows == (real, 2 * real)
    assert units[-1].rows == (10 * real, 10 * real + 1)
    assert units[-1].n_leaves == 11


def test_names_for_messages() -> None:
    files = listing([1] * 4)
    assert Unit(0, 0, 0, files[:1]).name == "t/0.parquet"
    assert Unit(0, 2, 0, files).name == "t/0.parquet and 3 more"
    assert Unit(0, 0, 0, (FileRef("", 1, 0),)).name == "the data in memory"
    assert Unit(0, 0, 3, files[3:], rows=(0, 9)).name == "t/3.parquet (rows 0 to 9)"


def real_listing(n: int) -> list[FileRef]:
    return [
        FileRef(f"day=2020-01-{i % 31:02}/part-{i:07}.snappy.parquet", 10**7, 10**18 + i, ("2020-01-01",))
        for i in range(n)
    ]


@pytest.mark.parametrize("unit_bytes", [1, 10**12])
def test_units_pickle_below_300_bytes_a_file(unit_bytes: int) -> None:
    files = real_listing(512)
    units = plan_units(files, unit_bytes=unit_bytes)
    assert sum(len(pickle.dumps(unit)) for unit in units) < 300 * len(files)


@pytest.mark.parametrize("n", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_long_listings_are_planned_whole(n: int) -> None:
    files = real_listing(n)
    units = plan_units(files, threads=2)
    assert sum(len(unit.files) for unit in units) == n
    assert len(units) == n // 8  # of 10 MB each: sixteen files would exceed a unit
