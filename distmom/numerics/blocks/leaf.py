"""Block moments of one leaf: at most 2**17 consecutive rows of one file, the unit of summation.

Leaves are defined by the file alone, so their sums do not depend on batches, threads or units of work; leaves
are then merged in a fixed order. Within a leaf the sums are of ``x - shift``, where the shift is a value
from the middle of the leaf: then the centred second moment loses no digits, at the cost of an ordinary sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from distmom.numerics.arrays import NOTHING, Bools, Floats, read_only
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import Labels, LabelTable, chunk_labels
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.weighted_moments import WeightedMoments
from distmom.numerics.median import lower_median
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)
_chunks = compiled_twin("distmom.numerics.blocks.chunks")
_weighted = compiled_twin("distmom.numerics.blocks.weighted_leaf")

Draws = tuple[int, np.uint64, LabelTable]
"""First row of a leaf, key of its file, and permutations."""

Known = dict[tuple[int, ...], tuple[tuple[Any, ...], Moments]]
"""Moments of columns of one leaf, by the identities of values and permutations."""

State = TypeVar("State", bound=BlockState)

LEAF_ROWS = 1 << 17
SHIFT_PROBES = 31
LOST_BITS = 2.0**26  # rerun if the raw second moment is this much larger than the centred one

NONE_GONE = np.empty(0, np.bool_)


class Weights(NamedTuple):
    """Weights of the rows of a leaf, in two arrays like their values."""

    w: Floats
    rest: Floats = NOTHING


def leaf_moments(
    x: Floats,
    gone: Bools | None,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    *,
    chunk_rows: int = 1,
    rest: Floats = NOTHING,
    weights: Weights | None = None,
    compiled: bool = False,
    known: Known | None = None,
) -> BlockState:
    """Moments of the random blocks in one leaf.

    Parameters
    ----------
    x : ndarray of float64, shape (n,)
        Values of consecutive rows of a file; arbitrary where `gone`. Not changed.
    gone : ndarray of bool, shape (n + size of the rest,), or None
        Rows that do not count (missing, filtered, of weight 0); None if all count.
    first_row : int
        Row number, in the file, of ``x[0]``.
    key : uint64
        `labels.file_key` of the file.
    table : LabelTable
    chunk_rows : int
        Number of consecutive rows that go to one block: a burst of bad rows, or of rows correlated with their
        neighbours, then falls into few blocks. Chunks are aligned to the row number in the file: the edge of
        a leaf may cut one, and the rest of it goes to the same block.
    rest : ndarray of float64
        Further values of the leaf, so that two batches need not be copied together.
    weights : Weights, optional
        Weights of the values and of the rest.
    compiled : bool
        Use the compiled twin (same bits).
    known : dict, optional
        Moments of columns of this leaf, shared by the reductions that read it; new ones are added.

    Returns
    -------
    Moments, or WeightedMoments of weighted rows
        Of shape (n_blocks + 1,): the blocks, and last all rows together. Infinite values make their block
        non-finite: mean infinite or NaN, second moment NaN. So does a NaN that is not marked as gone.

    Notes
    -----
    One pass; two if the first shift turns out to be far from the leaf's values. State: three numbers per
    block, six with weights.
    """
    draws = first_row, key, table
    if compiled and moments_ready(x.size + rest.size, chunk_rows, weights):
        if chunk_rows > 1:
            return _compiled_chunks(together(x, rest), gone, draws, chunk_rows)
        return _compiled_moments(x, rest, gone, draws, weights, known)
    x, w = together(x, rest), None if weights is None else together(*weights)
    labels = chunk_labels(first_row, x.size, chunk_rows, key, table)
    return labelled_moments(x, w, gone, labels, table.n_blocks, compiled=compiled)


def moments_ready(n: int, chunk_rows: int = 1, weights: Weights | None = None) -> bool:
    """Whether compiled kernels take the moments of so many rows; if not, NumPy does this work."""
    if weights is not None:
        return chunk_rows == 1 and bool(_weighted.ready("weighted_leaf_about", n))
    return bool(_kernels.ready("leaf_amid", n) if chunk_rows == 1 else _chunks.ready("leaf_chunks", n))


def labelled_moments(
    x: Floats, w: Floats | None, gone: Bools | None, labels: Labels, n_blocks: int, *, compiled: bool = False
) -> BlockState:
    """Moments of given blocks, the last one of all rows; the compiled twin (same bits) is for weights.

    All blocks share one shift, so this is for the rows of one leaf; for cells of very different levels use
    `cells.Cells`.
    """
    kind = kind_of(w)

    def about(shift: float) -> BlockState:
        if compiled and w is not None:
            count, sums = np.zeros(n_blocks, np.int64), np.zeros((5, n_blocks))
            hidden = NONE_GONE if gone is None else gone
            _weighted.add_labelled(read_only(x), read_only(w), hidden, labels, shift, count, sums)
            return with_total(kind.from_sums(count, list(sums), shift), compiled=True)
        used = slice(None) if gone is None else ~gone
        mine = labels[used]
        with np.errstate(invalid="ignore", over="ignore"):
            u = x[used] - shift
            v = u if w is None else w[used]
            terms = kind.terms(v, u if w is None else v * u)
            added = [np.bincount(mine, term, n_blocks).astype(np.float64, copy=False) for term in terms]
        return with_total(kind.from_sums(np.bincount(mine, minlength=n_blocks), added, shift))

    return recentred(about, middle_value(x, gone))


def recentred(take: Callable[[float], State], shift: float) -> State:
    """Moments about a shift, the last of all rows; about a better one if some block has lost digits."""
    found = take(shift)
    better = amid(found, shift) if has_lost(found.at(slice(-1)), shift).any() else shift
    return found if better == shift else take(better)


def together(x: Floats, rest: Floats) -> Floats:
    """Both parts of a leaf as one array."""
    return np.concatenate([x, rest]) if rest.size else x


def _compiled_moments(
    x: Floats,
    rest: Floats,
    gone: Bools | None,
    draws: Draws,
    weights: Weights | None,
    known: Known | None,
) -> BlockState:
    """Faster than with labels: run by run, each in the order of the blocks."""
    if weights is None:
        out, lost = raw_moments(x, rest, gone, draws, known)
        if lost:
            rows = _kernel_rows(x, rest, gone, draws)
            shift = _kernels.middle_value(*rows[:3])
            if (better := amid(out, shift)) != shift:
                _kernels.leaf_about(*rows, better, *out)
        return out
    first_row, key, table = draws
    hidden, x, rest = NONE_GONE if gone is None else gone, read_only(x), read_only(rest)
    shift = _kernels.middle_value(x, rest, hidden)
    heavy = *map(read_only, (x, weights.w, rest, weights.rest)), hidden, first_row, key, table.inverse
    return _about(_weighted.weighted_leaf_about, heavy, shift, WeightedMoments.unfilled(table.n_blocks + 1))


def raw_moments(
    x: Floats, rest: Floats, gone: Bools | None, draws: Draws, known: Known | None = None
) -> tuple[Moments, bool]:
    """Moments about the leaf's middle value, by the compiled kernel; whether some block lost digits.

    They are `known` where another reduction has asked for the same blocks of a column without gaps.
    """
    first_row, key, table = draws
    mine = id(x), id(rest), first_row, int(key), id(table)
    if known is not None and gone is None and mine in known:
        return known[mine][1].each(np.copy), False
    out = Moments.unfilled(table.n_blocks + 1)
    lost = bool(_kernels.leaf_amid(*_kernel_rows(x, rest, gone, draws), *out))
    if known is not None and gone is None and not lost:
        known[mine] = (x, rest, table), out.each(np.copy)  # what has an identity is kept with it
    return out, lost


def _kernel_rows(x: Floats, rest: Floats, gone: Bools | None, draws: Draws) -> tuple[Any, ...]:
    first_row, key, table = draws
    hidden = NONE_GONE if gone is None else gone
    return read_only(x), read_only(rest), hidden, first_row, key, table.inverse


def _compiled_chunks(x: Floats, gone: Bools | None, draws: Draws, chunk_rows: int) -> BlockState:
    """Faster than with labels: chunk by chunk, four side by side."""
    first_row, key, table = draws
    rows = read_only(x), NONE_GONE if gone is None else gone, first_row, chunk_rows, key, table.forward
    return _about(_chunks.leaf_chunks, rows, middle_value(x, gone), Moments.unfilled(table.n_blocks + 1))


def _about(kernel: Callable[..., bool], rows: tuple[Any, ...], shift: float, out: State) -> State:
    """The same as `recentred`, by a kernel that fills the moments and says whether some block lost digits."""
    if kernel(*rows, shift, *out) and (better := amid(out, shift)) != shift:
        kernel(*rows, better, *out)
    return out


def middle_value(x: Floats, gone: Bools | None) -> float:
    """A finite value from the middle of the leaf: lower median of 31 values spread over it."""
    n = x.size
    places = (np.arange(SHIFT_PROBES) * n) // SHIFT_PROBES if n > SHIFT_PROBES else np.arange(n)
    probes = x[places]
    good = np.isfinite(probes)
    if gone is not None:
        good &= ~gone[places]
    if good.any():
        return float(lower_median(probes[good])) + 0.0  # so that zeros have no sign, which sorting ignores
    usable = np.isfinite(x) if gone is None else np.isfinite(x) & ~gone
    first = int(np.argmax(usable)) if n else 0
    return float(x[first]) + 0.0 if n and usable[first] else 0.0


def has_lost(blocks: BlockState, shift: float | Floats) -> Bools:
    """Blocks whose second moment has lost its digits: the raw one is much larger than the centred one."""
    mass, mean, m2 = blocks.squares
    with np.errstate(over="ignore", invalid="ignore"):
        raw = mass * np.square(mean - shift)
        return np.asarray((raw > LOST_BITS * m2) & (blocks.count > 1))


def amid(moments: BlockState, shift: float) -> float:
    """The lower median of the finite block means except the last; `shift` if there are none."""
    mean, some = moments.squares[1][:-1], moments.count[:-1] > 0
    finite = mean[some & np.isfinite(mean)]
    return float(lower_median(finite)) if finite.size else shift


def kind_of(w: Floats | None) -> type[Moments] | type[WeightedMoments]:
    """The state of rows with these weights."""
    return Moments if w is None else WeightedMoments


def with_total(blocks: State, *, n_once: int | None = None, compiled: bool = False) -> State:
    """The blocks along the last axis, and one more for all rows together.

    Every row is once in the first `n_once` blocks; in all of them, by default.
    """
    whole = blocks.at((..., slice(n_once))).total(compiled=compiled)
    return blocks.joined(whole.at((..., None)))
