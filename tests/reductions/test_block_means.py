"""Block means against an obvious twin that goes row by row."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reduction_twin import (
    compare,
    make_files,
    reduce_all,
    reduce_in_parts,
    reduce_in_units,
    reduce_unit,
    same_state,
    twin,
)
from small_leaves import LEAF, patch_leaves

from distmom.errors import DataError
from distmom.numerics.blocks.labels import file_key, label_table, labels, repeat_key, repeat_seed
from distmom.reductions.accumulate import small_files
from distmom.reductions.accumulate.rowwise import LEAVES_TOGETHER
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layout import Layout
from distmom.reductions.layouts import (
    FileLayout,
    RandomLayout,
    RepeatedLayout,
    SampledLayout,
    StoredLayout,
    UnitLayout,
)

SEED = 12345
SIZES = (150, 0, 1, 700, 64, 63, 65)
TOTAL = sum(SIZES)
LAYOUTS: dict[str, Layout] = {
    "random": RandomLayout(SEED, 15),
    "random, neighbours kept together": RandomLayout(SEED, 15, 3),
    "random, one block": RandomLayout(SEED, 1),
    "chunks": RandomLayout(SEED, 15, chunk_rows=7),
    "chunks as long as files, neighbours kept together": RandomLayout(SEED, 15, 3, chunk_rows=700),
    "random, more blocks than rows of a leaf": RandomLayout(SEED, 105),
    "stored": StoredLayout(TOTAL, 15),
    "files only": FileLayout(),
    "units": UnitLayout(15),
    "without replacement": SampledLayout(SEED, 5, 300),
    "with replacement": SampledLayout(SEED, 5, 300, replace=True),
    "repeated": RepeatedLayout(SEED, 15, 3),
    "repeated, neighbours kept together": RepeatedLayout(SEED, 15, 3, 5),
}


@pytest.fixture(autouse=True)
def leaves_of_64_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)


def spec_of(layout: Layout, **changes: object) -> BlockMeans:
    spec = BlockMeans(("x", "y"), layout, 9, SEED, 40)
    if isinstance(layout, SampledLayout):
        spec = replace(spec, n_cells=1, sample_size=0)
    if isinstance(layout, UnitLayout):
        spec = replace(spec, n_cells=0, count_units="columns")
    if isinstance(layout, FileLayout):
        spec = replace(spec, count_units="file")
    return replace(spec, **changes)  # type: ignore[arg-type]


def ungrouped_only(layout: Layout) -> bool:
    """With groups, neighbouring fine blocks are kept together; without, the width is always 1."""
    return isinstance(layout, (RandomLayout, RepeatedLayout)) and layout.width > 1


CASES = [
    pytest.param(layout, groups, id=f"{name}, {'grouped' if groups else 'ungrouped'}")
    for name, layout in LAYOUTS.items()
    for groups in (0, 4)
    if groups or not ungrouped_only(layout)
]


@pytest.mark.parametrize("joint", [False, True], ids=["columns", "vectors"])
@pytest.mark.parametrize("nan", ["omit", "keep"])
@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(16)
def test_state_is_that_of_the_row_by_row_twin(layout: Layout, groups: int, nan: str, joint: bool) -> None:
    spec = spec_of(layout, grouped=bool(groups), nan=nan, joint=joint)
    files = make_files(SIZES, columns=2, groups=groups)
    compare(reduce_all(spec, files), twin(spec, files), layout.n_blocks + spec.n_cells)


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(4)
def test_clean_rows_too(layout: Layout, groups: int) -> None:
    spec = spec_of(layout, grouped=bool(groups))
    files = make_files(SIZES, columns=2, groups=groups, dirty=False)
    compare(reduce_all(spec, files), twin(spec, files), layout.n_blocks + spec.n_cells)


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(16)
def test_any_cutting_into_batches_gives_the_same_bits(layout: Layout, groups: int) -> None:
    spec = spec_of(layout, grouped=bool(groups))
    files = make_files(SIZES, columns=2, groups=groups)
    whole = reduce_all(spec, files)
    for batch in (1, 61):
        assert same_state(whole, reduce_all(spec, files, batch)), batch
    assert same_state(whole, reduce_all(spec, files, itertools.cycle([1, 100, 3, 64, 17])))


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(4)
def test_any_cutting_into_units_gives_the_same_bits(layout: Layout, groups: int) -> None:
    spec = spec_of(layout, grouped=bool(groups))
    files = make_files(SIZES, columns=2, groups=groups)
    whole = reduce_all(spec, files)
    for level in (0, 2):
        assert same_state(whole, reduce_in_units(spec, files, level)), level


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(16)
def test_parts_of_a_file_give_the_same_bits(layout: Layout, groups: int) -> None:
    sizes = (300, 20, 1200, 513)
    if isinstance(layout, StoredLayout):
        layout = StoredLayout(sum(sizes), 15)
    spec = spec_of(layout, grouped=bool(groups))
    files = make_files(sizes, columns=2, groups=groups)
    whole = reduce_all(spec, files)
    leaf = LEAF * (LEAVES_TOGETHER if spec.rowwise else 1)
    for level in (0, 1):
        assert same_state(whole, reduce_in_parts(spec, files, leaf, level)), level


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.one_in(16)
def test_vectors_give_the_same_bits_however_they_come(layout: Layout, groups: int) -> None:
    spec = spec_of(layout, grouped=bool(groups), joint=True)
    files = make_files(SIZES, columns=2, groups=groups)
    whole = reduce_all(spec, files)
    assert same_state(whole, reduce_all(spec, files, itertools.cycle([1, 100, 3, 64, 17])))
    assert same_state(whole, reduce_in_units(replace(spec, compiled=True), files, 1))
    same = [replace(f, values=f.values[:1] * 2, valid=f.valid[:1] * 2) for f in files]
    twice, once = reduce_all(spec, same), reduce_all(replace(spec, joint=False), same)
    assert np.array_equal(twice.counts[0], once.counts[1])
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(twice.moments, once.moments, strict=True))


@pytest.mark.parametrize(("layout", "groups"), CASES)
@pytest.mark.parametrize("dirty", [False, True], ids=["clean", "dirty"])
@pytest.mark.one_in(4)
def test_compiled_and_numpy_give_the_same_bits(layout: Layout, groups: int, dirty: bool) -> None:
    spec = spec_of(layout, grouped=bool(groups))
    files = make_files(SIZES, columns=2, groups=groups, dirty=dirty)
    plain, compiled = spec, replace(spec, compiled=True)
    assert same_state(reduce_all(plain, files), reduce_all(compiled, files))
    assert same_state(reduce_in_units(plain, files, 1), reduce_in_units(compiled, files, 0))


@given(
    sizes=st.lists(st.integers(0, 200), min_size=1, max_size=6),
    n_blocks=st.sampled_from([1, 2, 5, 9, 70, 105]),
    groups=st.sampled_from([0, 0, 1, 3]),
    level=st.integers(0, 3),
    batch=st.lists(st.integers(1, 150), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_random_blocks_for_any_lake(
    sizes: list[int], n_blocks: int, groups: int, level: int, batch: list[int], seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch_leaves(patch)
        spec = BlockMeans(("x",), RandomLayout(seed, n_blocks), 3, seed, 8, grouped=bool(groups))
        files = make_files(sizes, seed=seed, groups=groups)
        if not any(f.n_rows for f in files):
            assert reduce_unit(spec, files) is None
            return
        whole = reduce_all(spec, files, itertools.cycle(batch))
        assert same_state(whole, reduce_in_units(spec, files, level))
        compare(whole, twin(spec, files), n_blocks + 3)


def test_rows_of_small_files_are_blocks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside large files and files with infinities, which are taken one by one."""
    spec = BlockMeans(("x",), RandomLayout(SEED, 45), 9, SEED, 50, nan="keep")
    files = make_files((45, 46, 45, 0, 3, 200, 44, 1, 1), dirty=False)
    values = files[6].values[0].copy()
    values[7] = np.inf
    files[6] = replace(files[6], values=(values,))
    alone = reduce_all(spec, files[4:5])
    assert sorted(alone.moments.mean[alone.moments.count == 1]) == sorted(files[4].values[0])
    whole = reduce_all(spec, files)
    compare(whole, twin(spec, files), 45 + 9)
    for level in (0, 1, 2):
        assert same_state(whole, reduce_in_units(spec, files, level)), level
    assert same_state(whole, reduce_all(replace(spec, compiled=True), files, 7))
    monkeypatch.setattr(small_files, "most_rows", lambda spec: 0)
    large = reduce_all(spec, files)  # as if all files were large: the same but for rounding
    assert not same_state(whole, large)
    for some, other in zip(whole.moments, large.moments, strict=True):
        np.testing.assert_allclose(some, other, rtol=1e-12, atol=1e-12)
    assert all(np.array_equal(a, b) for a, b in zip(whole.samples, large.samples, strict=True))


def test_groups_that_one_state_knows_and_the_other_does_not() -> None:
    spec = spec_of(RandomLayout(SEED, 5), grouped=True)
    left, right = make_files((90,), columns=2, groups=2), make_files((80,), seed=1, columns=2, groups=2)
    right = [replace(right[0], path="t/other.parquet", keys=[k + 1 for k in right[0].keys or []])]
    a, b = reduce_all(spec, left), reduce_all(spec, right)
    assert (a.keys, b.keys) == ((((1, 0),), ((1, 1),)), (((1, 1),), ((1, 2),)))
    both = spec.merge(a, b)
    compare(both, twin(spec, [*left, *right]), 5 + spec.n_cells)
    only_left = both.keys.index(((1, 0),))
    assert np.array_equal(both.moments.mean[:, only_left], a.moments.mean[:, 0])


def test_merging_leaves_its_inputs_as_they_are() -> None:
    spec = spec_of(RandomLayout(SEED, 5), grouped=True)
    a = reduce_all(spec, make_files((90,), columns=2, groups=2))
    b = reduce_all(spec, make_files((0, 80), columns=2, groups=3))
    before = pickle.dumps((a, b))
    spec.merge(a, b)
    assert pickle.dumps((a, b)) == before


def test_values_are_never_written_to() -> None:
    for layout in (LAYOUTS["random"], LAYOUTS["stored"], LAYOUTS["without replacement"]):
        files = make_files(SIZES, columns=2)  # read-only arrays: writing to them would raise
        kept = [v.tobytes() for f in files for v in f.values]
        reduce_all(spec_of(layout), files)
        reduce_all(spec_of(layout, compiled=True), files)
        assert [v.tobytes() for f in files for v in f.values] == kept


def test_a_unit_without_rows_has_no_state() -> None:
    for layout in (RandomLayout(SEED, 5), FileLayout()):
        for grouped in (False, True):
            spec = spec_of(layout, grouped=grouped)
            assert reduce_unit(spec, make_files((0, 0), columns=2, groups=2 if grouped else 0)) is None


def test_a_filter_that_drops_every_row_leaves_counts_of_zero() -> None:
    spec = spec_of(RandomLayout(SEED, 5))
    files = [replace(f, keep=np.zeros(f.n_rows, bool)) for f in make_files((100,), columns=2)]
    state = reduce_all(spec, files)
    assert state.n_rows.sum() == 0 and state.moments.count.sum() == 0


@pytest.mark.parametrize("groups", [0, 2])
def test_nan_is_refused_with_file_column_and_row(groups: int) -> None:
    spec = spec_of(RandomLayout(SEED, 5), nan="raise", grouped=bool(groups))
    files = make_files((90, 80), columns=2, dirty=False, groups=groups)
    y = files[1].values[1].copy()
    y[[41, 70]] = np.nan
    files[1] = replace(files[1], values=(files[1].values[0], y))
    for batch in (1, 30, 1000):
        with pytest.raises(DataError, match=r"t/001\.parquet: column 'y' is NaN in row 41"):
            reduce_all(spec, files, batch)


def test_state_bytes_are_those_of_the_state() -> None:
    for groups in (0, 3):
        spec = spec_of(RandomLayout(SEED, 15), grouped=bool(groups))
        state = reduce_all(spec, make_files((400,), columns=2, groups=groups))
        counts = 8 * len(state.keys)
        assert abs(spec.state_bytes(len(state.keys)) - state.nbytes) <= counts


def test_a_reduction_is_small_when_it_travels() -> None:
    for layout in LAYOUTS.values():
        assert len(pickle.dumps(spec_of(layout))) < 1000


@pytest.mark.parametrize("groups", [0, 3])
def test_the_first_of_several_partitions_is_the_one_without(groups: int) -> None:
    """Cells and counts of the rows too; and the other partitions are others."""
    files = make_files(SIZES, columns=2, groups=groups)
    one = reduce_all(spec_of(RandomLayout(SEED, 15), grouped=bool(groups)), files)
    three = reduce_all(spec_of(RepeatedLayout(SEED, 15, 3), grouped=bool(groups)), files)
    first = np.r_[0:15, 45 : 45 + 9]
    assert same_state(one, replace(three, moments=three.moments.at((..., first))))
    parts = three.moments.mean[..., :45].reshape(2, -1, 3, 15)
    assert len({parts[0, 0, r].tobytes() for r in range(3)}) == 3
    more = reduce_all(spec_of(RepeatedLayout(SEED, 15, 5), grouped=bool(groups)), files)
    assert np.array_equal(more.moments.mean[..., :45], three.moments.mean[..., :45], equal_nan=True), (
        "more partitions keep the first ones"
    )


def test_labels_of_further_partitions_are_frozen() -> None:
    assert repeat_seed(SEED, 0) == SEED
    assert f"{repeat_seed(SEED, 1):032x}" == "14290bf6d4b842378546f8de5f3b8a16"
    assert [int(repeat_key(np.uint64(7), SEED, r)) for r in range(3)] == FROZEN_KEYS


@pytest.mark.slow
def test_partitions_are_independent() -> None:
    """Two rows lie in one block of 1 in 15 in one partition, and given that in 1 in 15 of another.

    2,000 seeds, and the pair of the rows 3 and 20 of one file: in neither, one, or both.
    """
    together = np.empty((2_000, 2), bool)
    for seed in range(2_000):
        blocks = [
            labels(0, 30, repeat_key(file_key(seed, "a"), seed, r), label_table(repeat_seed(seed, r), 15))
            for r in (0, 1)
        ]
        together[seed] = [b[3] == b[20] for b in blocks]
    both = np.count_nonzero(together.all(axis=1))
    # Binomial(2000, 1/225): mean 8.9, above 28 with probability 2e-7; and each alone 133, sd 11
    assert both <= 28 and np.abs(together.sum(axis=0) - 2_000 / 15).max() < 60


FROZEN_KEYS = [7, 5518527601575923898, 10087187095386278142]
