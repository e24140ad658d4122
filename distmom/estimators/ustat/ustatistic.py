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
    """Arguments of `ustatistic` that do not affect the type of its result."""

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
    """Median of U-statistics: the mean of a function of pairs of rows, resistant to bad rows and files.

    Rows are assigned to blocks at random, each block has the U-statistic over all pairs of its rows, and the
    estimate is the lower median of these. It estimates the expected value of the kernel for independent rows;
    the kernel must have a finite variance.

    Parameters
    ----------
    data : path, glob, list of paths, Arrow table, NumPy array, data frame, …, or Scan
        As for `distmom.mean`. For a kernel of two samples, such as ``"auc"`` or ``"energy"``, a list of two
        of these: ``["a/", "b/"]``; or one, with `by` or two conditions in `where`, as for `distmom.compare`.
        For a kernel of more samples, as many.
    column : str or sequence of str, optional
        For a kernel of one column, columns with one result each; otherwise the columns of a row, in the order
        of the kernel.
    kernel : str or Kernel
        A name of the catalogue such as ``"gini"`` or ``"kendall"``, or an object of `distmom.kernels`, which
        also turns a function of any number of rows and samples into a kernel.
    by : str, sequence of str, or {str: values}, optional
        As for `distmom.mean`. With two samples, a group that is absent from one of them has no answer. For
        one lake and a kernel of two samples: the column whose two values define the samples, such as the
        label of a score. If it has more values, ``{"label": [0, 1]}`` selects two (or their texts), in the
        order of the kernel. Rows with other values, or null, are left out and counted in a note.
    where : str, pyarrow.compute.Expression, or a list of these, optional
        Condition for all rows, or one for each sample (`by` then defines groups).
    weights : str, optional
        As for `distmom.mean`. A tuple of rows has the product of their weights.
    statistic : {"u", "v"}
        Whether a row may occur twice in a tuple of rows ("v").
    pairs : {"complete", "sampled", "disjoint"} or pair design
        `CompletePairs`: all pairs of a block. `SampledPairs`: samples of pairs (for several samples, tuples
        with rows of each) drawn from all rows, with or without replacement. `DisjointPairs`: every row of a
        block in one pair, formed at random (for several samples tuples, as many as the scarcest sample
        allows). If a kernel without a fast form needs more pairs than the design's ``budget``, it is refused
        before it starts, and the message says what it would cost.
    project : {"psd", "correlation"}, optional
        For a covariance matrix: the nearest positive semi-definite matrix, or its correlations as the nearest
        correlation matrix, which has no intervals.
    joint : {"coordinatewise", "geometric"}
        For a kernel whose value is a matrix: the median of each entry, or the matrix with the smallest mean
        (Frobenius) distance from those of the blocks.
    blocks : {"auto", "paper"}, int, or block design
        As for `distmom.mean`. ``"auto"`` takes the statistics of fine blocks and lets the adaptive selection
        of the mean decide; ``"paper"`` is the number of the proposition, ceil(9/2 log(1/delta)). For two
        samples ``size`` is that of both together, divided in proportion to their sizes. `SampledBlocks`
        cannot be combined with `by` or kernels whose value is a matrix; for several samples they draw rows of
        each, in proportion to its size. With `SampledPairs` this is the number of samples (a number, or
        ``SampledBlocks(n, tau=…)``).
    contamination : int or float, optional
        As for `distmom.mean`; for two samples the number (or share) of arbitrary rows or units in both.
    interval : {"auto", "order", "cantelli", "closed-form", "none"}
        As for `distmom.mean`; ``"closed-form"`` is sqrt(6 V) on both sides.
    confidence_level, rng
        As for `distmom.mean`.
    executor : Threads, Processes, Cluster, Dask client or address, optional
        As for `distmom.mean`. Its ``scratch`` is the folder for rows that are regrouped on disk (see Notes),
        which all workers must reach. Default on one machine: Dask's ``temporary-directory``, ``$TMPDIR`` or
        ``/var/tmp``; there is none on several machines.

    Returns
    -------
    UStatisticResult or Results
        A single result without groups; otherwise a sequence with one per column and group.

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
        The rows of one block do not fit into memory, or sorted rows into the scratch folder, or the cluster
        was lost.

    Notes
    -----
    *Blocks.* With a given number of blocks the answer is the median of that many complete U-statistics. Under
    ``"auto"`` rows form up to 945 fine blocks of at least 64 rows, and the value of a block of the answer is
    the mean of the statistics of its fine blocks. Degenerate kernels (such as the energy distance of two
    equal distributions) need few blocks; ``"auto"`` takes 9.

    *Intervals* are those of `distmom.mean`. For a ratio (`concordance`) ``cantelli`` is Fieller's interval.
    Samples of rows and of pairs share rows, so only ``cantelli`` is valid for them.

    *Bad files and rows.* The mean of the columns is computed first, in one more pass; for one sample without
    groups or units it shares the first pass of the statistic. Files that it accuses and rows far from all
    others are left out (``files disagree``, ``share screened out``) and named in `accused_files` and
    `far_rows`. If bad rows cannot be left out, the result is ``breakdown point exceeded``. `FileBlocks` keep
    bad files, and blocks of units the bad rows that they tolerate.

    *Sorted rows.* Random blocks of a sorted lake have too few pairs of neighbouring rows. If that matters the
    status is ``rows in order``; write the lake in random order first.

    *Cost.* Two passes after the first: rows are counted, then regrouped block by block in memory, or sorted
    on disk in the scratch folder if they do not fit. Variances, covariances, correlations and squared
    distances take one pass. Kernels with a fast form take O(n log n) time or less, others n^2/(2 K)
    evaluations. The same data and seed give bit-for-bit identical results on any number of threads or
    workers.

    Formulas, measured coverage and details: :doc:`/statistics/pairs`.

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
