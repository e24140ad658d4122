"""Robust U-statistics of a lake: the public function."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from distmom.cluster import connect
from distmom.estimators.facts import data_facts, run_facts
from distmom.estimators.mean.plan import worth_compiling
from distmom.estimators.options import check_count
from distmom.estimators.place import place_of
from distmom.estimators.recorded import recorded
from distmom.estimators.ustat.options import PAIR_BUDGET, ustat_options
from distmom.estimators.ustat.plan import Found, UStatPlan
from distmom.estimators.ustat.samples import sample_data
from distmom.lake import BATCH_ROWS, Source
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.census import column_share
from distmom.passes.opening import Names, open_data
from distmom.reductions.block_means import load_kernels
from distmom.report import Results, UStatisticResult

if TYPE_CHECKING:
    from distmom.cluster import Progress
    from distmom.numerics.kernels.kernel import Kernel


@recorded
def ustatistic(
    data: Any,
    column: Names = None,
    *,
    kernel: str | Kernel,
    by: Names = None,
    where: Any = None,
    statistic: str = "u",
    pairs: str = "complete",
    n_pairs: int | None = None,
    pair_budget: int | float = PAIR_BUDGET,
    scheme: str = "partition",
    n_blocks: int | str = "auto",
    block_size: int | None = None,
    tau: float | None = None,
    order: str = "random",
    block_by: Names = None,
    chunk_rows: int = 1,
    repeats: int = 1,
    contamination: int | float | None = None,
    weights: str | None = None,
    joint: str = "coordinatewise",
    project: str | None = None,
    fine: str = "standard",
    nan: str = "omit",
    missing: str = "error",
    on_bad_file: str = "error",
    interval: str = "auto",
    confidence_level: float = 0.99,
    rng: Any = None,
    client: Any = None,
    workers: int | None = None,
    scheduler: str | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    storage_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> UStatisticResult | Results:
    """Median of U-statistics: the mean of a function of pairs of rows that bad rows and files cannot move.

    The rows are cut into blocks at random, each block has its U-statistic over all pairs of its rows, and the
    answer is the lower median of these. It estimates the expectation of the kernel at independent rows, whose
    value must have a finite variance.

    Parameters
    ----------
    data : path, glob, list of paths, ``"@list.txt"``, Arrow table, NumPy array, data frame, or mapping
        As for `distmom.mean`. For a kernel of two samples, such as ``"auc"`` or ``"energy"``, a list of two
        of these: ``["a/", "b/"]``; for one of several as many.
    column : str or sequence of str, optional
        For a kernel of one column, columns that have a result each; else the columns of a row, in the
        kernel's order.
    kernel : str or Kernel
        A name of the catalogue such as ``"gini"`` or ``"kendall"``, or an object of `distmom.kernels`, which
        also makes one of a function of any number of rows and samples.
    by, where
        As for `distmom.mean`. Groups of two samples are those of both: one that a sample lacks has no answer.
    statistic : {"u", "v"}
        Whether a row may stand twice in a tuple of rows ("v").
    pairs : {"complete", "incomplete", "disjoint"}
        All pairs of a block; or samples of pairs drawn from those of all rows (of several samples tuples of
        rows of each), without repeats in a sample (``scheme="swor"``) or with (``"monte_carlo"``); or every
        row of a block in one pair, formed at random (of several samples in tuples of rows of each, as many as
        the scarcest has).
    n_pairs : int, optional
        Pairs of each sample; by default ten times the rows, as far as ten million rows drawn allow.
    pair_budget : int
        Most tuples of rows that a kernel without a fast form may be evaluated on; above, the run is refused
        before it begins them, with what it would cost.
    n_blocks : int or {"auto", "paper"}
        Number of blocks. ``"auto"`` takes the statistics of fine blocks and lets the rule of the mean decide;
        ``"paper"`` is that of the proposition, ceil(9/2 log(1/delta)). Samples have as many as those of
        `distmom.mean` under both.
    scheme, block_size, tau, order, block_by, chunk_rows, repeats, contamination, weights, fine
        As for `distmom.mean`. With `weights` a tuple of rows weighs the product of theirs. For two samples
        `block_size` is that of both together, which share it in proportion to their sizes, and
        `contamination` the number (or share) of arbitrary rows or units in both. Sampling schemes take
        neither `by` nor kernels with a matrix as value; of several samples they draw rows of each, in
        proportion to its size, or with ``pairs="incomplete"`` tuples of rows of each.
    joint : {"coordinatewise", "geometric"}
        Of a kernel with a matrix as value: the median of each entry, or the matrix of least mean distance
        (Frobenius) from those of the blocks.
    project : {"psd", "correlation"}, optional
        Of a covariance matrix: the nearest positive semi-definite matrix, or its correlations as the nearest
        correlation matrix, which has no intervals.
    nan, missing, on_bad_file
        As for `distmom.mean`. A row enters with all its columns or, where one is missing, not at all.
    interval : {"auto", "order", "exact", "paper", "none"}
        As for `distmom.mean`; ``"paper"`` is sqrt(6 V) on both sides.
    scratch : path, optional
        Folder for rows that are regrouped by way of the disk (see Notes), which all workers can reach. By
        default, on one machine, Dask's ``temporary-directory``, ``$TMPDIR`` or ``/var/tmp``; on several none.
    confidence_level, rng, client, workers, scheduler, threads, memory_limit, batch_rows,
    storage_options, progress
        As for `distmom.mean`.

    Returns
    -------
    UStatisticResult or Results
        One result without groups, else a sequence with one for each column and group.

    Raises
    ------
    ConfigError
        An option, a name or the condition is wrong; the kernel takes another number of columns; a kernel
        without a fast form would take more tuples than `pair_budget`.
    DataError
        A file is damaged, changed, or of a type that cannot be used, such as a date.
    NoAnswerError
        There are too few rows, or no finite answer because half or more of the blocks are ruined.
    ResourceError
        The rows of one block do not fit into memory, those that are sorted not into `scratch`, or the cluster
        was lost.

    Notes
    -----
    With a given number of blocks K the answer is the median of K complete U-statistics. Under ``"auto"`` the
    rows make up to 945 fine blocks of at least 64 rows, and a block of the answer has the mean of the
    statistics of its fine blocks, over the pairs inside these: its variance exceeds that of the complete one
    by a factor of about 1 + (f - 1) sigma_2^2 / (2 n sigma_1^2) for f fine blocks of n rows in all, which is
    little unless the kernel is degenerate (sigma_1 = 0; then give a small `n_blocks`).

    The variance of a block of B rows is 4 sigma_1^2/B + 2 sigma_2^2/(B (B - 1)) for kernels of pairs, with
    unbiased estimates from the means of the kernel at each row; for others the jackknife. Under `block_by`,
    stored order or chunks it is the spread between blocks alone. Intervals are those of `distmom.mean`:
    ``order`` covers the median of the law of a block's statistic, ``exact`` would hold with the stated
    probability if the variance were known.

    With `weights` a block's statistic is the weighted mean of the kernel over its tuples, which estimates
    that of the law in which rows are drawn in proportion to their weight; its variance is that of the
    jackknife, and blocks have rows of positive weight alone.

    Of a ratio of two U-statistics N/D (`concordance`) the ``exact`` interval is Fieller's: the R around the
    answer for which the exact interval of N - R D, whose mean is 0 at the true ratio, holds 0. Where that of
    D holds 0 the set has no end, and there is no interval but this reason. Measured on a rare outcome (400
    rows a block, 9 and 21 blocks, up to four ones a block on average) at nominal 99 %: with the index 0.98
    Fieller covered in 1.00 of the data sets where it has ends, intervals linearised about the ratios of
    blocks in 0.58 to 0.80, ``order`` in 0.77 to 0.97; with the index 0.76 1.00, 1.00 and 0.98 to 0.99; with
    30 ones a block all are alike (``tests/benchmarks/ratios.py``). So ``"auto"`` takes ``exact`` where the
    number of blocks is given and their denominators vary by more than 0.4 of them. `kendall-b` and
    `correlation` divide by a root of two statistics: their ``exact`` is linearised, as is that of samples.

    With `repeats` the answer is the median of the blocks of all partitions, nearer to the statistic of all
    rows, and the interval that of repeated partitions.

    Measured on Gini's difference (400 replications of 1,050 rows; normal, Student 3 and log-normal laws; the
    rule, 9, 15 and the paper's blocks, and disjoint pairs): ``order`` covered 0.94 to 0.99 at 95 % and 0.98
    to 1.00 at 99 %, ``exact`` 0.995 to 1.00.

    Two samples have blocks of their own, drawn independently and paired by number. Kernels of degrees (2, 2)
    such as the energy distance are degenerate where both have one law, their blocks skewed: ``"auto"`` then
    takes 9 blocks. Where blocks of whole files tell another story about the mean of a column than random
    blocks, the status is ``files disagree``: the answer is by random blocks all the same, use `block_by`.

    Samples of rows (``scheme="swor"`` or ``"monte_carlo"``, all pairs of each) and of pairs share rows, so
    order statistics of their values cover only the median given the data: their interval is ``exact``, by a
    bound for such medians that would hold for every law with finite variance if that were known. A sample of
    M pairs holds up to 2 M rows; the fewer, the more wild rows the median bears. Its value has the variance
    Var(U_n) + (N - M)/(N - 1) (Var h - Var U_n)/M without repeats among the N pairs (tuples of all samples)
    that there are, (1 - 1/M) Var(U_n) + Var(h)/M with them. In samples of rows with
    replacement a row may be paired with itself, which moves the statistic by (h(x, x) - theta)/n on average.
    Several columns are counted in one pass, and have the same rows or pairs drawn, as if each were alone.

    Random blocks take rows evenly from all places of the lake. On a sorted column pairs of near rows are then
    rarer inside a block than among all rows, a bias of the order of the statistic over the rows of a block
    (one per cent with 95 rows, `gini`; of 10,000 sorted rows the interval at 90 % then covers 30 %). Where it
    may matter the status says ``rows in order``, by the variances between and within fine blocks, unless wild
    rows hide it: write the lake in random order first (DuckDB: ``ORDER BY random()``, Polars:
    ``sample(fraction=1, shuffle=True)``), or use a small `n_blocks`.

    Disjoint pairs have independent values, and a block's variance is that of the kernel over its number of
    pairs: more than with all pairs, but one evaluation for two rows and all intervals of a partition.

    Two passes: rows are counted, then read again and regrouped block by block, as many blocks at a time
    as memory allows; several columns share both passes. Where that would take more than two further
    passes, rows are read once more and go by way of the disk: every unit of work leaves one file of its
    rows, sorted by ranges of blocks, in a folder of its own within `scratch`, which is removed at the
    end, also after errors and Ctrl-C. Memory is then that of a batch and of the largest block. Variances,
    covariances, correlations and squared distances take one pass and no rows are kept; their variance is
    the spread between the fine blocks of a block. Kernels with a fast form take O(n log n) time or less,
    others n^2/(2 K) evaluations; where blocks are few and large, their pairs are shared out in tiles of
    2^15 x 2^15 rows at most. The same data and seed give the same bits on any number of threads or
    workers.

    References
    ----------
    Hoeffding (1948), A class of statistics with asymptotically normal distribution. Laforgue, Clémençon &
    Bertail (2019), On Medians of (Randomized) Pairwise Means, ICML.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> x = np.random.default_rng(0).normal(size=10_000)
    >>> x[::2000] = 1e9
    >>> found = dm.ustatistic(x, kernel="gini", rng=0)
    >>> round(found.estimate, 2), found.plain_estimate > 1e5
    (1.13, True)
    """
    started = time.perf_counter()
    options = ustat_options(
        kernel,
        statistic=statistic,
        pairs=pairs,
        n_pairs=n_pairs,
        pair_budget=pair_budget,
        n_blocks=n_blocks,
        confidence_level=confidence_level,
        scheme=scheme,
        block_size=block_size,
        tau=tau,
        order=order,
        block_by=block_by,
        chunk_rows=chunk_rows,
        repeats=repeats,
        contamination=contamination,
        weights=weights,
        joint=joint,
        project=project,
        nan=nan,
        missing=missing,
        on_bad_file=on_bad_file,
        interval=interval,
        fine=fine,
    )
    check_count("batch_rows", batch_rows)
    seed, shown = resolve_seed(rng)
    rows = options.rows
    samples = sample_data(data, options.kernel)
    how: Any = {"joint": options.joint_rows, "weights": weights, "storage_options": storage_options}
    opened = [open_data(one, column, by, where, missing, batch_rows, rows.block_by, **how) for one in samples]
    source, read = opened[0]
    in_memory = any(source.in_memory for source, _ in opened)
    place = place_of(in_memory, client, workers, scheduler, threads)
    files = tuple(file for source, _ in opened for file in source.files)
    load = load_kernels if worth_compiling(files, column_share(source, read)) else None
    with connect(*place, memory_limit, load=load, scratch=scratch) as executor:
        found = UStatPlan(opened, options, seed).run(executor, progress)
        n_threads = executor.threads
    sources = [source for source, _ in opened]
    results = _told(found, sources, run_facts(time.perf_counter() - started, shown, n_threads))
    return results[0] if len(results) == 1 and not read.by else results  # type: ignore[return-value]


def _told(found: Found, sources: Sequence[Source], run: dict[str, Any]) -> Results:
    """Results with what is to be said of data and run."""
    files = [file for plan in found.plans for file in plan.files]
    skipped = {record.file: record for record in found.skipped}
    data = data_facts(files, skipped.values(), *sources)
    told = []
    for result in found.results:
        new = copy(result)
        vars(new).update(data=data, run=run)
        told.append(new)
    return Results(told, data, run)
