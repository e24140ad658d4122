"""Choice of the number of blocks and test of the answer: from block moments to an answer per group.

Medians of many blocks tolerate many outlying rows; medians of few blocks are efficient for skewed
distributions. The rule takes few blocks for the answer and many for the tests, which also locate the answer
(`location`). From one pass it has fine blocks of random rows, cells of whole files and a uniform sample of
rows. It estimates one scale on the finest usable level and tests whether the medians of all coarser levels
agree within their margins of error. If they do not, it screens out outlying blocks and answers on the rest.
Cells of files are tested in the same way. They reveal files that are bad as a whole, which random blocks
hide.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

import numpy as np

from distmom.inference.answers import BlockSource, Request, RuleAnswer, join
from distmom.inference.equal_blocks import widen
from distmom.inference.files.file_blocks import file_set
from distmom.inference.files.rows_or_files import hear_files
from distmom.inference.intervals import ball_fields, intervals_of
from distmom.inference.ladder import Merger, most_frequent
from distmom.inference.repeated import pooled
from distmom.inference.row_blocks import RowSet, most_of_vectors, tested_rows
from distmom.inference.status import Finding
from distmom.memory import look_ahead
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median

CELLS_AT_ONCE = 1 << 20
"""Groups are answered in portions of about this many fine blocks or sampled rows, to bound the memory."""


AT_WORK = 8
"""Words of memory per fine block of the groups that are answered together: levels, orders, merged blocks."""

FEW_CARRY = 30.0
"""Below this effective number of rows, blocks cannot show how a mean varies: some have hardly any rows."""


def answer_rule(
    rows: BlockState,
    sample: Floats | None,
    n_sample: Ints | None,
    confidence_level: float,
    *,
    files: BlockState | None = None,
    n_blocks: int | Literal["auto"] = "auto",
    block_source: BlockSource = "rows",
    intervals: Collection[str] = ("order", "cantelli"),
    outlying: int = 0,
    n_columns: int = 1,
    n_units: Ints | None = None,
    pays_for_files: bool = False,
    few_only: bool = False,
) -> RuleAnswer:
    """Choose the number of blocks, test the blocks against each other and answer, for many groups at once.

    Parameters
    ----------
    rows : Moments or WeightedMoments
        Fine blocks, shape (n_groups, n_fine), in the order of block numbers. Empty blocks have count 0;
        non-finite blocks have a non-finite mean. For several random partitions of the same rows (see
        `repeated`) the shape is (n_groups, repeats, n_fine). ``n_fine`` fixes the ladder: 945, 10,395 or 105
        under ``"auto"``, ``theory.fine_blocks(K)`` (any multiple of K) for a given K.
    sample : ndarray of float64, shape (n_groups, size), or None
        Uniform sample of each group's used rows, padded with NaN; all used rows if there are fewer.
    n_sample : ndarray of int64, shape (n_groups,), or None
        Number of sampled values of each group.
    confidence_level : float
        Confidence level of the intervals, in (0, 1). The tests have a level of their own.
    files : Moments or WeightedMoments, optional
        Cells by hash of the file's path, shape (n_groups, n_cells), with the same rows.
    n_blocks : int or "auto"
        A given number is kept: the blocks are tested, but nothing is screened out, and files never come
        first: if they contradict the rows, the breakdown point is exceeded. If a group has fewer rows, its
        number is lowered to them.
    block_source : {"rows", "units", "stored", "statistics"}
        Content of a fine block: random rows; whole units (then cells of files are ignored); contiguous rows,
        or chunks of them; a statistic of random rows other than their mean. For all but the first, a level
        needs at least as many non-empty fine blocks as blocks. For units and contiguous rows the Cantelli
        interval uses the variance between block means if that is larger, and the blocks' actual sizes.
    intervals : collection of {"order", "cantelli", "ball"}
        Intervals to compute; the reason for the others is `NoInterval.NOT_WANTED`. Several partitions have
        no order intervals.
    outlying : int
        For a given number of blocks, how many finite ones may be arbitrary. The intervals allow for these,
        or for the non-finite blocks if there are more of those.
    n_columns : int
        This number of consecutive groups are the columns of a vector, with the same rows and the same
        non-finite blocks. They share their levels and their status. A vector is contradicted if one of its
        columns is, where each is tested at the failure probability divided by n_columns; blocks that are
        outlying in a contradicted column are screened out for all. A column that is constant in the
        sample does not limit the levels of the others.
    n_units : ndarray of int64, shape (n_groups,), optional
        Number of independent units of each group, if smaller than its rows: it replaces the number of rows
        in the choice of levels (`enough_units`).
    pays_for_files : bool
        If rows of a file are correlated, and an interval of whole files is wider than that of rows, report
        this and give that interval (`Clusters`). With random rows and ``"auto"``.
    few_only : bool
        A larger sample of the rows reveals bad shares. Then answers are dominated by few rows only if fewer
        than `FEW_CARRY` effective rows decide them, not whenever those of a zero-inflated column do.

    Returns
    -------
    RuleAnswer
        Never raises because of the data: no rows, no finite answer and an exceeded breakdown point are
        statuses.

    Notes
    -----
    Let n be the used rows, f the finest level with enough rows per block (`row_bound`), F its non-empty
    blocks and V_f its robust variance of a block mean (`finest_rows`). Then V_K = V_f K/F and
    h_K = sqrt(V_K (1/p* - 1)) at failure probability 0.001/(number of levels). K_hat is the coarsest level
    whose interval median_K +- h_K has a point in common with those of all finer levels. Outlying blocks are
    more than max(8, sqrt(F)/2) standard deviations from the median of level f. Contradicted: K_hat is not the
    coarsest level, or the outlying blocks move the mean by more than h of the coarsest level. A given K is
    contradicted if its interval and that of a finer level are disjoint, or the outlying blocks move the mean
    by more than h_K.

    Under ``"auto"`` the answer is the `location` of the kept blocks about the median of those of the answer,
    and order intervals move with it; for a given K it is that median. The answer uses the least level of at
    least min(63, max(9, sqrt(n)/4)) blocks (and at least the number that an order interval needs, if one is
    wanted and there are enough rows). The breakdown point is a number of outlying rows, about 0.69 F if they
    are scattered, not a share of the rows. Moderate shifts (of each fine block by fewer standard deviations
    than the screen detects) stay in the answer. If all rows are equal there is nothing to test: the answer
    and both intervals are that value.

    Each group's answer depends on its own numbers alone. Cost: a few dozen passes over the fine blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from distmom.numerics.blocks.moments import Moments
    >>> x = np.random.default_rng(0).normal(size=(105, 20))
    >>> x[0, 0] = 1e9
    >>> blocks = Moments(np.full((1, 105), 20), x.mean(1)[None], (x.var(1) * 20)[None])
    >>> found = answer_rule(blocks, x[:, :9].reshape(1, -1), np.array([945]), 0.99)
    >>> int(found.n_screened_out[0]), bool(abs(found.estimate[0]) < 0.1), int(found.plain_estimate[0])
    (1, True, 476190)
    """
    _check(rows, files, n_blocks, block_source, intervals, confidence_level)
    n_groups, repeated = rows.count.shape[0], rows.count.ndim == 3
    if sample is None or n_sample is None:
        sample, n_sample = np.empty((n_groups, 0)), np.zeros(n_groups, np.int64)
    if block_source == "units":
        files = None
    wanted = frozenset(intervals) - {"order" if repeated else ""}
    delta = 1.0 - confidence_level
    ask = Request(delta, n_blocks, block_source, wanted, outlying, n_columns, pays_for_files, few_only)
    cells = 1 if files is None else files.count.shape[1]
    widest = n_columns * max(rows.count[:1].size, sample.shape[1], cells, 1)
    portion = n_columns * max(1, CELLS_AT_ONCE // widest)
    parts = []
    for start in range(0, max(n_groups, 1), portion):
        look_ahead(AT_WORK * rows.count[:portion].size * rows.mean.itemsize)
        part = slice(start, start + portion)
        every, drawn = rows.at(part), (sample[part], n_sample[part])
        some = None if files is None else files.at(part)
        units = None if n_units is None else n_units[part]
        first = every.at((slice(None), 0)) if repeated else every
        answer = _answer_groups(ask, first, *drawn, some, units)
        parts.append(pooled(ask, answer, every, *drawn) if repeated else answer)
    return parts[0] if len(parts) == 1 else join(parts)


def _answer_groups(
    ask: Request,
    rows: BlockState,
    sample: Floats,
    n_sample: Ints,
    files: BlockState | None,
    n_units: Ints | None,
) -> RuleAnswer:
    """Answer a portion of the groups."""
    fine = Merger(rows)
    n_most = most_of_vectors(fine, n_sample, most_frequent(sample, n_sample), ask.n_columns)
    own = tested_rows(ask, fine, n_sample, n_most, n_units)
    result = _from_rows(own, files, ask)
    if files is not None:
        ladders = own.ladder.usable.any(axis=1) & (fine.n > 0)
        located = own.given is None
        found = file_set(files, ladders, n_sample, n_most, ask.n_columns, located=located)
        if found is not None:
            result = hear_files(result, own, found, ask)
    _few_rows(result, own, sample, n_sample, ask.few_only)
    return result


def _from_rows(own: RowSet, files: BlockState | None, ask: Request) -> RuleAnswer:
    """Result of the row blocks alone."""
    n_groups = own.plain.size
    status = np.where(own.fine.n == 0, int(Finding.NO_ROWS), 0)
    status |= np.where((own.fine.n > 0) & ~own.finite, int(Finding.NO_FINITE_ANSWER), 0)
    status |= np.where(own.contradicted & own.finite, int(Finding.CONTAMINATED), 0)
    status |= np.where(own.beyond & own.finite, int(Finding.BREAKDOWN_POINT_EXCEEDED), 0)
    status |= np.where(own.plain, int(Finding.SAMPLE_MEAN), 0)
    single = own.lowered & own.finite & ~own.fine.constant  # blocks of one row: their median is that of rows
    status |= np.where(single, int(Finding.DOMINATED_BY_FEW_ROWS), 0)
    estimate = np.where(own.finite, own.answer.estimate, np.nan)
    reason = own.reason
    intervals = intervals_of(own, reason, ask, ask.between)
    equal = np.zeros(n_groups, np.bool_)
    if ask.block_source == "rows" and "order" in ask.wanted:
        equal = widen(intervals, own, ask.delta)
    return RuleAnswer(
        estimate=estimate,
        status=status,
        n_used=own.fine.n,
        lowered=own.lowered,
        plain_estimate=own.fine.sample_mean(),
        constant=own.fine.constant,
        levels=own.ladder.levels,
        path_estimate=own.ladder.median,
        path_margin=own.ladder.margin,
        k_hat=own.seen.k_hat,
        contradicted=own.contradicted,
        row_estimate=estimate.copy(),
        row_margin=np.full(n_groups, np.nan),
        file_margin=np.full(n_groups, np.nan),
        file_estimate=np.full(n_groups, np.nan),
        disagree=np.zeros(n_groups, np.bool_),
        files_first=np.zeros(n_groups, np.bool_),
        file_effect=np.full(n_groups, np.nan),
        files_low=np.full(n_groups, np.nan),
        files_high=np.full(n_groups, np.nan),
        suspect_cells=np.zeros((n_groups, 0 if files is None else files.count.shape[1]), np.bool_),
        too_equal=equal,
        intervals=intervals,
        **own.fields(),
        **ball_fields(own, reason, ask, ask.between),
    )


def _few_rows(result: RuleAnswer, own: RowSet, sample: Floats, n_sample: Ints, few_only: bool) -> None:
    """Flag answers with over 90% of the sampled rows strictly on one side; if `few_only`, only if few.

    Let c be the sample's median. The effective number of the rows about it, (sum |x - c|)^2 / sum (x - c)^2,
    is the square of the distance of their mean from c in standard errors, if the rows away from c are few
    and on one side. So it is computed from the answer and its standard error, which outliers do not move.
    """
    answer_of = result.estimate[:, None]
    below = np.count_nonzero(sample < answer_of, axis=1)
    above = np.count_nonzero(sample > answer_of, axis=1)
    carried = (10 * np.maximum(below, above) > 9 * n_sample) & (n_sample > 0)
    if few_only and carried.any():
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            whole = own.fine.blocks.total()
            se = np.sqrt(whole.row_variance / np.maximum(whole.effective, 1.0))
            se = np.where(own.plain, se, own.finest.se)
            many = np.square((result.estimate - lower_median(sample)) / se) >= FEW_CARRY
        carried &= ~many | (se == 0.0)
    result.status[carried] |= int(Finding.DOMINATED_BY_FEW_ROWS)


def _check(
    rows: BlockState,
    files: BlockState | None,
    n_blocks: int | Literal["auto"],
    block_source: str,
    intervals: Collection[str],
    confidence_level: float,
) -> None:
    """Refuse arguments that no caller in this package may pass."""
    if rows.count.ndim not in (2, 3) or (files is not None and len(files.count) != len(rows.count)):
        raise ValueError("rows and files must have shapes (n_groups, n_blocks) with the same n_groups")
    if n_blocks != "auto" and rows.count.shape[-1] % n_blocks:
        raise ValueError(f"n_blocks={n_blocks} does not divide the {rows.count.shape[-1]} fine blocks")
    if block_source not in get_args(BlockSource) or not set(intervals) <= {"order", "cantelli", "ball"}:
        raise ValueError(f"unknown block_source={block_source!r} or intervals={intervals!r}")
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"confidence_level must lie strictly between 0 and 1, got {confidence_level!r}")
