"""Block moments of one leaf: at most 2**17 consecutive rows of one file, the unit in which sums are taken.

A leaf is cut by the file alone, so its sums do not depend on batches, threads or units of work; leaves are
then merged in a fixed order. Within a leaf the sums are taken of ``x - shift``, where the shift is a value
from the middle of the leaf: then the centred second moment loses no digits, at the cost of a plain sum.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import LabelTable, labels_of, run_choices
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.median import lower_median
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

LEAF_ROWS = 1 << 17
SHIFT_PROBES = 31
LOST_BITS = 2.0**26  # rerun when the raw second moment is this much larger than the centred one

NONE_GONE = np.empty(0, np.bool_)
NO_REST = np.empty(0)
NO_REST.flags.writeable = False


def leaf_moments(
    x: Floats,
    gone: Bools | None,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    *,
    rest: Floats = NO_REST,
    compiled: bool = False,
) -> Moments:
    """Moments of the random blocks in one leaf.

    Parameters
    ----------
    x : ndarray of float64, shape (n,)
        Values of consecutive rows of a file; anything where `gone`. Not changed.
    gone : ndarray of bool, shape (n + size of the rest,), or None
        Rows that do not count (missing, filtered); None where all count.
    first_row : int
        Row number, in the file, of ``x[0]``.
    key : uint64
        `labels.file_key` of the file.
    table : LabelTable
    rest : ndarray of float64
        Further values of the leaf: what was read in two batches need not be copied together.
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    Moments
        Of shape (n_blocks + 1,): the blocks, and last all rows together. Infinite values ruin their block:
        mean infinite or NaN, second moment NaN; and so does a NaN that is not marked as gone.

    Notes
    -----
    One pass; two where the first shift turns out far from the leaf's values. State: three numbers a block.
    """
    if compiled:
        return _compiled_moments(x, rest, gone, first_row, key, table)
    x = together(x, rest)
    shift = middle_value(x, gone)
    moments, lost = _shifted(x, gone, first_row, key, table, shift)
    better = amid(moments.at(slice(-1)), shift) if lost else shift
    return moments if better == shift else _shifted(x, gone, first_row, key, table, better)[0]


def together(x: Floats, rest: Floats) -> Floats:
    """Both parts of a leaf as one array."""
    return np.concatenate([x, rest]) if rest.size else x


def read_only(x: Floats) -> Floats:
    """The array as one that cannot be written to, as Arrow's are: a kernel is compiled for these alone."""
    if x.flags.writeable:
        x = x.view()
        x.flags.writeable = False
    return x


def _compiled_moments(
    x: Floats,
    rest: Floats,
    gone: Bools | None,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
) -> Moments:
    n = table.n_blocks + 1
    out = Moments(np.empty(n, np.int64), np.empty(n), np.empty(n))
    hidden = NONE_GONE if gone is None else gone
    rows = (read_only(x), read_only(rest), hidden, first_row, key, table.inverse, table.forward)
    lost, shift = _kernels.leaf_blocks(*rows, SHIFT_PROBES, LOST_BITS, *out)
    if lost:
        better = amid(out.at(slice(-1)), shift)
        if better != shift:
            _kernels.leaf_about(*rows, better, LOST_BITS, *out)
    return out


def all_finite(x: Floats, *, compiled: bool = False) -> bool:
    """Whether no value is infinite or NaN."""
    if compiled:
        return int(_kernels.count_strange(x.view(np.uint64))) == 0
    return bool(np.isfinite(x).all())


def middle_value(x: Floats, gone: Bools | None) -> float:
    """A finite value from the middle of the leaf: lower median of 31 values spread over it."""
    n = x.size
    places = (np.arange(SHIFT_PROBES) * n) // SHIFT_PROBES if n > SHIFT_PROBES else np.arange(n)
    probes = x[places]
    good = np.isfinite(probes)
    if gone is not None:
        good &= ~gone[places]
    if good.any():
        return float(lower_median(probes[good])) + 0.0  # so that no zero has a sign, which no sort minds
    usable = np.isfinite(x) if gone is None else np.isfinite(x) & ~gone
    first = int(np.argmax(usable)) if n else 0
    return float(x[first]) + 0.0 if n and usable[first] else 0.0


def has_lost(moments: Moments, shift: float) -> bool:
    """Whether some block has lost its second moment's digits."""
    count, mean, m2 = moments
    with np.errstate(over="ignore", invalid="ignore"):
        raw = count * np.square(mean - shift)
        return bool(((raw > LOST_BITS * m2) & (count > 1)).any())


def amid(moments: Moments, shift: float) -> float:
    """The lower median of the finite block means; `shift` if there is none."""
    finite = moments.mean[(moments.count > 0) & np.isfinite(moments.mean)]
    return float(lower_median(finite)) if finite.size else shift


def _shifted(
    x: Floats,
    gone: Bools | None,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    shift: float,
) -> tuple[Moments, bool]:
    """Moments from sums about `shift`, and whether some block has lost digits."""
    k = table.n_blocks
    s1, s2, missing = np.zeros(k), np.zeros(k), np.zeros(k, np.int64)
    about = shift
    if gone is not None:  # a missing value adds exactly nothing, and is counted out of its block
        rows = np.flatnonzero(gone)
        with np.errstate(invalid="ignore", over="ignore"):
            x, about = x - shift, 0.0
        x[rows] = 0.0
        missing += np.bincount(labels_of(rows + first_row, key, table), minlength=k)
    runs = _add_runs(x, first_row, key, table, about, s1, s2, missing)
    blocks = from_sums(runs - missing, s1, s2, shift)
    return with_total(blocks), has_lost(blocks, shift)


State = TypeVar("State", bound=BlockState)


def with_total(blocks: State, *, n_once: int | None = None, compiled: bool = False) -> State:
    """The blocks along the last axis, and one more: all rows together.

    Every row is once in the first `n_once` blocks; in all of them, by default.
    """
    whole = blocks.at((..., slice(n_once))).total(compiled=compiled)
    return blocks.joined(whole.at((..., None)))


def from_sums(count: Ints, s1: Floats, s2: Floats, shift: float | Floats) -> Moments:
    """Moments from sums of ``x - shift`` and of its square."""
    n = np.maximum(count, 1).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = s1 / n
        m2 = s2 - s1 * mean
        m2[m2 < 0.0] = 0.0
        mean += shift
    m2[~np.isfinite(mean)] = np.nan
    empty = count == 0
    mean[empty] = 0.0
    m2[empty] = 0.0
    return Moments(count.astype(np.int64, copy=False), mean, m2)


def _add_runs(
    x: Floats,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    shift: float,
    s1: Floats,
    s2: Floats,
    missing: Ints,
) -> int:
    """NumPy twin of `leaf_compiled.add_runs`: per block the rows are added in the order of the file."""
    k, n = table.n_blocks, x.size
    if n == 0:
        return 0
    first_run = first_row // k
    n_runs = (first_row + n - 1) // k - first_run + 1
    choice, rotation = run_choices(first_run, n_runs, key, k)
    places = table.inverse[choice[:, None], rotation[:, None] + np.arange(k)].astype(np.int64)
    places += (np.arange(first_run, first_run + n_runs) * k - first_row)[:, None]
    whole = slice(int(first_row % k != 0), n_runs - int((first_row + n) % k != 0))
    with np.errstate(invalid="ignore", over="ignore"):
        for run in range(n_runs):
            if run == whole.start and whole.stop > whole.start:
                d = x[places[whole]] - shift
                s1[:] = add_in_order(s1, d)
                s2[:] = add_in_order(s2, d * d)
            if whole.start <= run < whole.stop:
                continue
            inside = (places[run] >= 0) & (places[run] < n)  # a run cut by the leaf's edge
            d = x[places[run][inside]] - shift
            s1[inside] += d
            s2[inside] += d * d
            missing[~inside] += 1
    return n_runs


def add_in_order(start: Floats, terms: Floats) -> Floats:
    """Sum over the first axis, one row after the other.

    That is what NumPy does over the first axis of a C-contiguous array, unless the rows have one element:
    then the array counts as flat, and flat sums are taken pairwise.
    """
    rows = np.concatenate([start[None], terms])
    return np.asarray(rows.sum(axis=0) if start.size > 1 else np.cumsum(rows, axis=0)[-1])
