"""Robust U-statistics of a lake: the public function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, overload

from distmom.designs.blocks import Blocks, as_design
from distmom.designs.pairs import Pairs, as_pairs
from distmom.estimators.command import answer, command
from distmom.estimators.options import RowKeywords
from distmom.estimators.ustat.by_values import ValuesQuestion, samples_of_kernel
from distmom.estimators.ustat.options import ustat_options
from distmom.estimators.ustat.question import UStatQuestion
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.named import named
from distmom.passes.opening import Names
from distmom.report import Results, UStatisticResult


class UStatKeywords(RowKeywords, total=False):
    """Arguments of `ustatistic` that do not decide what it returns."""

    statistic: Literal["u", "v"]
    pairs: Pairs
    project: Literal["psd", "correlation"] | None
    joint: Literal["coordinatewise", "geometric"]


Keys = str | list[str] | tuple[str, ...]
Values = Mapping[str, Sequence[Any]]


@overload
def ustatistic(
    data: Any, column: str, *, kernel: str | Kernel, by: None = None, **more: Unpack[UStatKeywords]
) -> UStatisticResult: ...
@overload
def ustatistic(
    data: Any, column: None = None, *, kernel: str | Kernel, by: None = None, **more: Unpack[UStatKeywords]
) -> UStatisticResult | Any: ...
@overload
def ustatistic(
    data: Any, column: Names = None, *, kernel: str | Kernel, by: Keys, **more: Unpack[UStatKeywords]
) -> Results[UStatisticResult]: ...
@overload
def ustatistic(
    data: Any, column: Names = None, *, kernel: str | Kernel, by: Names = None, **more: Unpack[UStatKeywords]
) -> UStatisticResult | Results: ...
@command
def ustatistic(
    data: Any,
    column: Names = None,
    *,
    kernel: str | Kernel,
    by: Names | Values = None,
    where: Any = None,
    weights: str | None = None,
    statistic: Literal["u", "v"] = "u",
    pairs: Pairs = "complete",
    project: Literal["psd", "correlation"] | None = None,
    joint: Literal["coordinatewise", "geometric"] = "coordinatewise",
    blocks: Blocks = "auto",
    contamination: int | float | None = None,
    interval: Literal["auto", "order", "cantelli", "closed-form", "none"] = "auto",
    confidence_level: float = 0.99,
    rng: Any = None,
    executor: Any = None,
) -> UStatisticResult | Results:
    """Median of U-statistics: the mean of a function of pairs of rows that bad rows and files cannot move.

    Rows are assigned to blocks at random, each block has its U-statistic over all pairs of its rows, and the
    estimate is the lower median of these. It estimates the expectation of the kernel at independent rows,
    whose value must have a finite variance.

    Parameters
    ----------
    data : path, glob, list of paths, Arrow table, NumPy array, data frame, …, or Scan
        As for `distmom.mean`. For a kernel of two samples, such as ``"auc"`` or ``"energy"``, a list of two
        of these: ``["a/", "b/"]``; or one, with `by` or two conditions in `where`, as for `distmom.compare`.
        For a kernel of several samples as many.
    column : str or sequence of str, optional
        For a kernel of one column, columns that have a result each; else the columns of a row, in the
        kernel's order.
    kernel : str or Kernel
        A name of the catalogue such as ``"gini"`` or ``"kendall"``, or an object of `distmom.kernels`, which
        also makes one of a function of any number of rows and samples.
    by : str, sequence of str, or {str: values}, optional
        As for `distmom.mean`. Groups of two samples are those of both: one that a sample lacks has no answer.
        Of one lake and a kernel of two samples, the column of which two values make the samples, such as the
        label of a score; ``{"label": [0, 1]}`` says which (or their texts) in the kernel's order, if there
        are more. Rows with others, or null, are left out and counted in a note.
    where : str, pyarrow.compute.Expression, or a list of these, optional
        Condition of all rows; or of each sample, which leaves `by` to the groups.
    weights : str, optional
        As for `distmom.mean`. A tuple of rows weighs the product of theirs.
    statistic : {"u", "v"}
        Whether a row may stand twice in a tuple of rows ("v").
    pairs : {"complete", "sampled", "disjoint"} or pair design
        `CompletePairs`: all pairs of a block. `SampledPairs`: samples of pairs drawn from those of all rows
        (of several samples tuples of rows of each), without repeats in a sample or with. `DisjointPairs`:
        every row of a block in one pair, formed at random (of several samples in tuples of rows of each, as
        many as the scarcest has). A kernel without a fast form whose pairs exceed the design's ``budget`` is
        refused before it begins them, with what it would cost.
    project : {"psd", "correlation"}, optional
        Of a covariance matrix: the nearest positive semi-definite matrix, or its correlations as the nearest
        correlation matrix, which has no intervals.
    joint : {"coordinatewise", "geometric"}
        Of a kernel with a matrix as value: the median of each entry, or the matrix of least mean distance
        (Frobenius) from those of the blocks.
    blocks : {"auto", "paper"}, int, or block design
        As for `distmom.mean`. ``"auto"`` takes the statistics of fine blocks and lets the adaptive selection
        of the mean decide; ``"paper"`` is the number of the proposition, ceil(9/2 log(1/delta)). For two
        samples ``size`` is that of both together, which share it in proportion to their sizes.
        `SampledBlocks` take neither `by` nor kernels with a matrix as value; of several samples they draw
        rows of each, in proportion to its size. With `SampledPairs` it says the number of samples (a number,
        or ``SampledBlocks(n, tau=…)``).
    contamination : int or float, optional
        As for `distmom.mean`; of two samples the number (or share) of arbitrary rows or units in both.
    interval : {"auto", "order", "cantelli", "closed-form", "none"}
        As for `distmom.mean`; ``"closed-form"`` is sqrt(6 V) on both sides.
    confidence_level, rng
        As for `distmom.mean`.
    executor : Threads, Processes, Cluster, Dask client or address, optional
        As for `distmom.mean`. Its ``scratch`` is the folder for rows that are regrouped by way of the disk
        (see Notes), which all workers can reach: by default, on one machine, Dask's ``temporary-directory``,
        ``$TMPDIR`` or ``/var/tmp``; on several none.

    Returns
    -------
    UStatisticResult or Results
        One result without groups, else a sequence with one for each column and group.

    Raises
    ------
    ConfigError
        An option, a name or the condition is wrong; the kernel takes another number of columns; a kernel
        without a fast form would take more tuples than its budget.
    DataError
        A file is damaged, changed, or of a type that cannot be used, such as a date.
    NoAnswerError
        There are too few rows, or no finite answer because half or more of the blocks are non-finite.
    ResourceError
        The rows of one block do not fit into memory, those that are sorted not into the scratch folder, or
        the cluster was lost.

    Notes
    -----
    With a given number of blocks K the answer is the median of K complete U-statistics. The median of blocks
    of few rows is not their mean: K is lowered so that each has 6 rows of every sample, and the status is
    then ``dominated by few rows``, as where the scarcest of several samples has fewer than K^2/3 rows (at a
    skewness of 2 the median is then off by half of its standard error). Under ``"auto"`` the
    rows make up to 945 fine blocks of at least 64 rows, and a block of the answer has the mean of the
    statistics of its fine blocks, over the pairs inside these: its variance exceeds that of the complete one
    by a factor of about 1 + (f - 1) sigma_2^2 / (2 n sigma_1^2) for f fine blocks of n rows in all, which is
    little unless the kernel is degenerate (sigma_1 = 0; then give few `blocks`).

    The variance of a block of B rows is 4 sigma_1^2/B + 2 sigma_2^2/(B (B - 1)) for kernels of pairs, with
    unbiased estimates from the means of the kernel at each row; for others the jackknife. Of units, stored
    order or chunks it is the variance between blocks alone. Intervals are those of `distmom.mean`: ``order``
    covers the median of the distribution of a block's statistic, ``cantelli`` would hold with the stated
    probability if the variance were known.

    With `weights` a block's statistic is the weighted mean of the kernel over its tuples, which estimates
    that of the distribution in which rows are drawn in proportion to their weight; its variance is that of
    the jackknife, and blocks have rows of positive weight alone.

    Of a ratio of two U-statistics N/D (`concordance`) the ``cantelli`` interval is Fieller's: the R around
    the answer for which the Cantelli interval of N - R D, whose mean is 0 at the true ratio, holds 0. Where
    that of D holds 0 the set has no end, and there is no interval but this reason. Measured on a rare outcome
    (400 rows a block, 9 and 21 blocks, up to four ones a block on average) at nominal 99%: with the index
    0.98 Fieller covered in 1.00 of the data sets where it has ends, intervals linearised about the ratios of
    blocks in 0.58 to 0.80, ``order`` in 0.77 to 0.97; with the index 0.76 1.00, 1.00 and 0.98 to 0.99; with
    30 ones a block all are alike (``tests/benchmarks/ratios.py``). So ``"auto"`` takes ``cantelli`` where the
    number of blocks is given and their denominators vary by more than 0.4 of them. `kendall-b` and
    `correlation` divide by a root of two statistics: their ``cantelli`` is linearised, as is that of samples.

    With repeated partitions the answer is the median of the blocks of all of them, nearer to the statistic of
    all rows, and the interval that of repeated partitions.

    Measured on Gini's difference (400 replications of 1,050 rows; normal, Student 3 and log-normal rows; the
    rule, 9, 15 and the paper's blocks, and disjoint pairs): ``order`` covered 0.94 to 0.99 at 95% and 0.98
    to 1.00 at 99%, ``cantelli`` 0.995 to 1.00.

    Two samples have blocks of their own, drawn independently and paired by number. Kernels of degrees (2, 2)
    such as the energy distance are degenerate where both have one distribution, their blocks skewed:
    ``"auto"`` then takes 9 blocks.

    The mean of the columns is asked first, in one pass more; of one sample without groups or units it shares
    the first pass of the statistic. Files that it accuses and that stand out alone are left out (``files
    disagree``), and so are rows that stand apart from all others, if they are more than blocks bear (``share
    screened out``): `accused_files` and `far_rows` tell which, and `plain_estimate` and all counts are those
    of the rows that are left. What cannot be told apart, or be left out (elements of
    lists, files of streams), makes the result ``breakdown point exceeded``. With `by` each group has its own
    cuts and statuses: a rare group far from all others stays. `FileBlocks` keep bad files, and blocks of
    units the rows that they bear.

    Samples of rows (`SampledBlocks`, all pairs of each) and of pairs share rows, so order statistics of their
    values cover only the median given the data: their interval is ``cantelli``, by a bound for such medians
    that would hold for every distribution of finite variance if that were known. A sample of M pairs holds up
    to 2 M rows; the fewer, the more outliers the median tolerates. Its value has the variance Var(U_n) + (N -
    M)/(N - 1) (Var h - Var U_n)/M without repeats among the N pairs (tuples of all samples) that there are,
    (1 - 1/M) Var(U_n) + Var(h)/M with them. In samples of rows with replacement a row may be paired with
    itself, which moves the statistic by (h(x, x) - theta)/n on average. Several columns are counted in one
    pass, and have the same rows or pairs drawn, as if each were alone.

    Random blocks take rows evenly from all places of the lake. On a sorted column pairs of near rows are then
    rarer inside a block than among all rows, a bias of the order of the statistic over the rows of a block
    (one per cent with 95 rows, `gini`; of 10,000 sorted rows the interval at 90% then covers 30%). Where it
    may matter the status says ``rows in order``, by the variances between and within fine blocks, unless
    outliers hide it: write the lake in random order first (DuckDB: ``ORDER BY random()``, Polars:
    ``sample(fraction=1, shuffle=True)``), or use few `blocks`.

    Disjoint pairs have independent values, and a block's variance is that of the kernel over its number of
    pairs: more than with all pairs, but one evaluation for two rows and all intervals of a partition.

    After it come two passes: rows are counted, then read again and regrouped block by block, as many blocks
    at a time as memory allows; several columns share both passes. Where that would take more than two further
    passes, rows are read once more and go by way of the disk: every unit of work leaves one file of its
    rows, sorted by ranges of blocks, in a folder of its own in the scratch folder, which is removed at the
    end, also after errors and Ctrl-C. Memory is then that of a batch and of the largest block. Variances,
    covariances, correlations and squared distances take one pass and no rows are kept; their variance is
    that between the fine blocks of a block. Kernels with a fast form take O(n log n) time or less,
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
    made = named(kernel) if isinstance(kernel, str) else kernel
    parts, split = samples_of_kernel(data, by, where, made)
    scans = tuple(one.scan for one in parts)
    options = ustat_options(
        made,
        scans,
        as_design(blocks),
        as_pairs(pairs),
        statistic=statistic,
        joint=joint,
        project=project,
        contamination=contamination,
        weights=weights,
        interval=interval,
        confidence_level=confidence_level,
    )
    labels = tuple(one.label for one in parts) if len(parts) > 1 else ()
    question = UStatQuestion(scans, column, None if split else by, options, labels, rng=rng)
    if split is not None:
        question = ValuesQuestion(scans, column, None, options, rng=rng, split=split)
    return answer(question, executor)  # type: ignore[no-any-return]
