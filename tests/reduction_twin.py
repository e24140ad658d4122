"""Row-by-row twin of the block means: dictionaries of lists, one list for each group and block."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from small_leaves import LEAF

from distmom.numerics.blocks.labels import (
    file_cell,
    file_key,
    label_table,
    labels,
    repeat_seed,
    stored_labels,
)
from distmom.numerics.random.philox import stream_key
from distmom.numerics.samples.sample_tree import SampleTree
from distmom.numerics.samples.sampled_leaf import leaf_sample
from distmom.numerics.tree import DyadicTree
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.layouts import (
    FileLayout,
    RandomLayout,
    RepeatedLayout,
    SampledLayout,
    StoredLayout,
    UnitLayout,
)
from distmom.reductions.state import MeanState


@dataclass(frozen=True)
class File:
    """Rows of one file, for two or more columns; keys None: no groups."""

    path: str
    values: tuple[np.ndarray, ...]
    valid: tuple[np.ndarray, ...]
    keep: np.ndarray
    keys: list[Any] | None = None
    units: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return int(self.keep.size)


@dataclass
class Twin:
    """What the state should hold, by (column, group, place); kinds of rows by (set of columns, group)."""

    rows: dict[tuple[int, Any, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    n_rows: dict[Any, int] = field(default_factory=lambda: defaultdict(int))
    n_null: dict[tuple[int, Any], int] = field(default_factory=lambda: defaultdict(int))
    n_nan: dict[tuple[int, Any], int] = field(default_factory=lambda: defaultdict(int))
    n_inf: dict[tuple[int, Any], int] = field(default_factory=lambda: defaultdict(int))
    used: dict[tuple[int, Any], list[float]] = field(default_factory=lambda: defaultdict(list))
    units: dict[Any, set[Any]] = field(default_factory=lambda: defaultdict(set))


_UNITS = np.random.default_rng(99).integers(0, 2**64, 40, dtype=np.uint64)


def make_files(
    sizes: Sequence[int], *, seed: int = 0, columns: int = 1, dirty: bool = True, groups: int = 0
) -> list[File]:
    """Files with nulls, NaN, infinities and a filter, if `dirty`; with `groups` keys, if positive."""
    g = np.random.default_rng(seed)
    files = []
    for number, n in enumerate(sizes):
        values = []
        valid = []
        for c in range(columns):
            x = g.standard_t(3, n) + 10.0 * c
            if dirty:
                x[g.random(n) < 0.05] = np.nan
                x[g.random(n) < 0.01] = np.inf
                x[g.random(n) < 0.01] = -np.inf
            x.flags.writeable = False
            values.append(x)
            valid.append(g.random(n) > 0.1 if dirty else np.ones(n, bool))
        keep = g.random(n) > 0.2 if dirty else np.ones(n, bool)
        # later files know other groups than earlier ones, and no file knows all of them
        keys = (g.integers(0, groups, n) + number % 3).tolist() if groups else None
        units = _UNITS[g.integers(0, 30, n) + 3 * (number % 3)]
        files.append(File(f"t/{number:03}.parquet", tuple(values), tuple(valid), keep, keys, units))
    return files


def twin(spec: BlockMeans, files: Sequence[File]) -> Twin:
    """Row by row."""
    out = Twin()
    first = 0
    places_of = _places(spec, files)
    cells_start = spec.layout.n_blocks
    for number, file in enumerate(files):
        places = places_of(number, file, first)
        cell = file_cell(file_key(spec.seed, file.path), spec.n_cells) if spec.n_cells else None
        for row in np.flatnonzero(file.keep).tolist():
            group = () if file.keys is None else ((1, file.keys[row]),)
            out.n_rows[group] += 1
            out.units[group].add(number if spec.count_units == "file" else file.units[row])
            for number_of_set, columns in enumerate(spec.sets):
                values = [float(file.values[c][row]) for c in columns]
                if not all(file.valid[c][row] for c in columns):
                    out.n_null[number_of_set, group] += 1
                    continue
                nan = any(map(math.isnan, values))
                out.n_nan[number_of_set, group] += nan
                out.n_inf[number_of_set, group] += any(map(math.isinf, values)) and not nan
                if nan and spec.nan == "omit":
                    continue
                for c, value in zip(columns, values, strict=True):
                    out.used[c, group].append(value)
                    for place in places[row]:
                        out.rows[c, group, place].append(value)
                    if cell is not None:
                        out.rows[c, group, cells_start + cell].append(value)
        first += file.n_rows
    return out


def _places(spec: BlockMeans, files: Sequence[File]) -> Callable[[int, File, int], list[list[int]]]:
    """For each row of a file, its blocks."""
    layout = spec.layout
    if isinstance(layout, FileLayout):
        return lambda number, file, first: [[] for _ in range(file.n_rows)]
    if isinstance(layout, RandomLayout):
        table = label_table(spec.seed, layout.n_fine)

        def random(number: int, file: File, first: int) -> list[list[int]]:
            chunks = -(-file.n_rows // layout.chunk_rows)
            blocks = labels(0, chunks, file_key(spec.seed, file.path), table) // layout.width
            return [[int(blocks[row // layout.chunk_rows])] for row in range(file.n_rows)]

        return random
    if isinstance(layout, RepeatedLayout):
        return _repeated_places(layout, spec.seed)
    if isinstance(layout, StoredLayout):
        total = sum(f.n_rows for f in files)
        return lambda number, file, first: [
            [b] for b in stored_labels(first, file.n_rows, total, layout.n_blocks).tolist()
        ]
    if isinstance(layout, UnitLayout):
        return lambda number, file, first: [[(int(u) * layout.n_blocks) >> 64] for u in file.units]
    assert isinstance(layout, SampledLayout)
    return _sampled_places(layout, files)


def _repeated_places(layout: RepeatedLayout, seed: int) -> Callable[[int, File, int], list[list[int]]]:
    """Each partition has a seed, which keys its permutations and, with the file's own key, its runs."""
    n_kept = layout.n_fine // layout.width

    def repeated(number: int, file: File, first: int) -> list[list[int]]:
        own = file_key(seed, file.path)
        sets = []
        for r in range(layout.repeats):
            seed_r = repeat_seed(layout.seed, r)
            key = own if r == 0 else file_key(seed_r, str(int(own)))
            blocks = labels(0, file.n_rows, key, label_table(seed_r, layout.n_fine)) // layout.width
            sets.append(blocks + r * n_kept)
        return np.transpose(sets).tolist()

    return repeated


def _sampled_places(
    layout: SampledLayout, files: Sequence[File]
) -> Callable[[int, File, int], list[list[int]]]:
    replace = layout.replace
    key = stream_key(layout.seed, "monte_carlo" if replace else "swor")
    leaf_rows = leaf_rows_of(files)
    window = SampleTree(leaf_rows).window(0, len(leaf_rows))
    counts = window.counts(key, layout.n_blocks, layout.block_size, replace=replace)
    first_leaves = np.concatenate([[0], np.cumsum([-(-f.n_rows // LEAF) for f in files])])

    def sampled(number: int, file: File, first: int) -> list[list[int]]:
        places: list[list[int]] = [[] for _ in range(file.n_rows)]
        for leaf in range(int(first_leaves[number]), int(first_leaves[number + 1])):
            start = (leaf - int(first_leaves[number])) * LEAF
            for block in range(layout.n_blocks):
                drawn = leaf_sample(
                    key, block, leaf, leaf_rows[leaf], int(counts[block, leaf]), replace=replace
                )
                for row in drawn.tolist():
                    places[start + row].append(block)
        return places

    return sampled


def leaf_rows_of(files: Sequence[File]) -> list[int]:
    return [min(LEAF, f.n_rows - start) for f in files for start in range(0, f.n_rows, LEAF)]


def compare(state: MeanState, expected: Twin, n_places: int) -> None:
    """Counts exactly, means and second moments up to rounding, non-finite ones by their kind."""
    met = sorted(expected.n_rows)
    assert list(state.keys) == met or (state.keys == ((),) and not met)  # all rows filtered
    for g, group in enumerate(state.keys):
        assert state.n_rows[g] == expected.n_rows[group]
        if state.units is not None:
            assert state.units.exact
            assert state.units.counts(len(state.keys))[g] == len(expected.units[group])
        for number, counts in enumerate(state.counts[:, g]):
            kinds = (expected.n_null, expected.n_nan, expected.n_inf)
            assert tuple(counts) == tuple(kind[number, group] for kind in kinds)
        for c in range(state.moments.count.shape[0]):
            for place in range(n_places):
                _compare_cell(
                    expected.rows.get((c, group, place), []), *(a[c, g, place] for a in state.moments)
                )
            if state.samples:
                _compare_sample(state.samples[c].keys[g], state.samples[c].values[g], expected.used[c, group])


def _compare_cell(values: list[float], count: int, mean: float, m2: float) -> None:
    assert count == len(values)
    finite = all(map(math.isfinite, values))
    if not values:
        assert mean == 0.0 and m2 == 0.0
    elif finite:
        right = math.fsum(values) / len(values)
        spread = math.fsum((v - right) ** 2 for v in values)
        assert mean == pytest.approx(right, rel=1e-12, abs=1e-12)
        assert m2 == pytest.approx(spread, rel=1e-9, abs=1e-9)
    else:
        plain = sum(values)  # infinities of one sign stay, both signs or a NaN make NaN
        assert mean == plain or (math.isnan(mean) and math.isnan(plain))
        assert math.isnan(m2)


def _compare_sample(keys: np.ndarray, values: np.ndarray, used: list[float]) -> None:
    """All used rows where they fit, else some of them; never one twice."""
    n = int(np.isfinite(keys).sum())
    assert n == min(keys.size, len(used))
    assert np.all(np.diff(keys[:n]) >= 0) and np.all(np.isnan(values[n:]))
    left = sorted(used)
    for value in values[:n].tolist():
        if not math.isnan(value):
            left.remove(value)  # ValueError if it is not there, or not often enough


def cut(n_rows: int, sizes: Iterator[int] | int) -> Iterator[tuple[int, int]]:
    """Batches that cover a file."""
    start = 0
    while start < n_rows:
        size = sizes if isinstance(sizes, int) else next(sizes)
        yield start, min(n_rows, start + size)
        start += size


def reduce_unit(
    spec: BlockMeans,
    files: Sequence[File],
    *,
    batch: int | Iterator[int] = 10**6,
    window: Any = None,
    rows: tuple[int, int] | None = None,
) -> MeanState | None:
    """The state of one unit: these files, or a range of rows of the only one."""
    accumulator = spec.begin(len(files), window)
    codes: dict[Any, int] = {}
    for number, file in enumerate(files):
        accumulator.start_file(number, file.path)
        begin, end = rows or (0, file.n_rows)
        for start, stop in cut(end - begin, batch):
            low, high = begin + start, begin + stop
            units = isinstance(spec.layout, UnitLayout)
            accumulator.add(_batch(file, low, high, codes, units), len(codes) if spec.grouped else 1)
        accumulator.end_file()
    keys = [((1, key),) for key in codes] if spec.grouped else [()]
    return accumulator.result(keys)


def _batch(file: File, low: int, high: int, codes: dict[Any, int], units: bool) -> Rows:
    keep = file.keep[low:high]
    valid = tuple(v[low:high] for v in file.valid)
    numbers = None
    if file.keys is not None:
        pairs = zip(file.keys[low:high], keep, strict=True)
        numbers = np.array([codes.setdefault(k, len(codes)) if kept else -1 for k, kept in pairs], np.int64)
    return Rows(
        low,
        high - low,
        tuple(v[low:high] for v in file.values),
        tuple(None if v.all() else v for v in valid),
        None if keep.all() else keep,
        numbers,
        file.units[low:high] if units else None,
    )


def window_of(spec: BlockMeans, files: Sequence[File], first: int, stop: int, rows: Any = None) -> Any:
    """What a unit of files first … stop - 1 has to know of the lake."""
    if isinstance(spec.layout, StoredLayout):
        return np.concatenate([[0], np.cumsum([f.n_rows for f in files])])[first:stop]
    if not isinstance(spec.layout, SampledLayout):
        return None
    leaves = [-(-f.n_rows // LEAF) for f in files]
    starts = np.concatenate([[0], np.cumsum(leaves)])
    low, high = int(starts[first]), int(starts[stop])
    if rows is not None:
        low, high = low + rows[0] // LEAF, low - (-rows[1] // LEAF)
    tree = SampleTree(leaf_rows_of(files))
    return (tree.window(low, high) if low < high else None), starts[first:stop]


def reduce_all(spec: BlockMeans, files: Sequence[File], batch: int | Iterator[int] = 10**6) -> MeanState:
    """One unit."""
    state = reduce_unit(spec, files, batch=batch, window=window_of(spec, files, 0, len(files)))
    assert state is not None
    return state


def reduce_in_units(spec: BlockMeans, files: Sequence[File], level: int) -> MeanState:
    """Units of ``2**level`` files, merged by the dyadic rule."""
    tree: DyadicTree[MeanState] = DyadicTree(len(files), spec.merge)
    for index, first in enumerate(range(0, len(files), 1 << level)):
        stop = min(first + (1 << level), len(files))
        window = window_of(spec, files, first, stop)
        tree.push(level, index, reduce_unit(spec, files[first:stop], batch=37, window=window))
    assert tree.root is not None
    return tree.root


def reduce_in_parts(spec: BlockMeans, files: Sequence[File], leaf: int, level: int) -> MeanState:
    """Parts of ``2**level`` leaves of `leaf` rows of every file, merged by the dyadic rule."""
    whole: DyadicTree[MeanState] = DyadicTree(len(files), spec.merge)
    for number, file in enumerate(files):
        n_leaves = max(1, -(-file.n_rows // leaf))
        parts: DyadicTree[MeanState] = DyadicTree(n_leaves, spec.merge)
        step = leaf << level
        for index, start in enumerate(range(0, max(file.n_rows, 1), step)):
            rows = (start, min(start + step, file.n_rows))
            window = window_of(spec, files, number, number + 1, rows)
            parts.push(level, index, reduce_unit(spec, [file], batch=53, window=window, rows=rows))
        whole.push(0, number, parts.root)
    assert whole.root is not None
    return whole.root


def same_state(a: MeanState, b: MeanState) -> bool:
    """Bit for bit, NaN being equal to NaN."""
    arrays = [(a.n_rows, b.n_rows), (a.counts, b.counts), *zip(a.moments, b.moments, strict=True)]
    if a.units is not None and b.units is not None:
        arrays += zip(a.units, b.units, strict=True)
    for left, right in zip(a.samples, b.samples, strict=True):
        arrays += zip(left, right, strict=True)
    return a.keys == b.keys and all(_same_array(x, y) for x, y in arrays)


def _same_array(x: np.ndarray, y: np.ndarray) -> bool:
    if x.dtype.kind == "f":
        x, y = np.where(np.isnan(x), np.nan, x), np.where(np.isnan(y), np.nan, y)
    return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()
