"""Robust means of columns of a lake: the public function."""

from __future__ import annotations

import os
from typing import Any, Literal, Unpack, overload

from distmom.cluster.executors.backends import as_backend
from distmom.designs.blocks import Blocks, as_design
from distmom.estimators.command import answer, command
from distmom.estimators.options import MeanOptions, RowKeywords
from distmom.estimators.surveyed_mean import SurveyedMean
from distmom.passes.opening import Names
from distmom.passes.scan import as_scan
from distmom.report import MeanResult, Results, VectorResult
from distmom.state import State


class MeanKeywords(RowKeywords, total=False):
    """Arguments of `mean` that do not affect the type of its result."""

    state: str | os.PathLike[str] | State | None
    passes: Literal[1, 2] | None


class OfNumbers(MeanKeywords, total=False):
    """Arguments for means of single columns."""

    joint: Literal[False]


class OfAllRows(MeanKeywords, total=False):
    """Arguments for means without groups."""

    by: None


class OfNumbersOfAllRows(OfNumbers, OfAllRows, total=False):
    """Arguments for means of single columns without groups."""


Joint = Literal[True, "geometric", "coordinatewise"]
Several = list[str] | tuple[str, ...]
Keys = str | Several


@overload
def mean(data: Any, column: str, **more: Unpack[OfNumbersOfAllRows]) -> MeanResult: ...
@overload
def mean(data: Any, column: None = None, **more: Unpack[OfNumbersOfAllRows]) -> MeanResult | Any: ...
@overload
def mean(data: Any, column: Several, **more: Unpack[OfNumbersOfAllRows]) -> Results[MeanResult]: ...
@overload
def mean(data: Any, column: Names = None, *, by: Keys, **more: Unpack[OfNumbers]) -> Results[MeanResult]: ...
@overload
def mean(data: Any, column: Names = None, *, joint: Joint, **more: Unpack[OfAllRows]) -> VectorResult: ...
@overload
def mean(
    data: Any, column: Names = None, *, by: Keys, joint: Joint, **more: Unpack[MeanKeywords]
) -> Results[VectorResult]: ...
@overload
def mean(
    data: Any,
    column: Names = None,
    *,
    by: Names = None,
    joint: bool | Joint = False,
    **more: Unpack[MeanKeywords],
) -> MeanResult | VectorResult | Results: ...
@command
def mean(
    data: Any,
    column: Names = None,
    *,
    by: Names = None,
    where: Any = None,
    weights: str | None = None,
    joint: bool | Literal["geometric", "coordinatewise"] = False,
    blocks: Blocks = "auto",
    contamination: int | float | None = None,
    interval: Literal["auto", "order", "cantelli", "closed-form", "none"] = "auto",
    confidence_level: float = 0.99,
    passes: Literal[1, 2] | None = None,
    rng: Any = None,
    state: str | os.PathLike[str] | State | None = None,
    executor: Any = None,
) -> MeanResult | VectorResult | Results:
    """Median of means of one or more columns, with an interval: a mean that resists bad rows and files.

    Rows are assigned to blocks at random, and each block has its mean. The estimate is the lower median of
    the block means, or by default a mean of them that outlying blocks cannot move far. It estimates the mean
    of the distribution of a row, for independent rows of finite variance. It tolerates about 650 arbitrary
    rows, a share of up to 15% of the rows that stands apart from the others, and a minority of bad files.

    Parameters
    ----------
    data : path, glob, list of paths, Arrow table, NumPy array, data frame, …, or Scan
        The data; see `distmom.scan`, which also sets how it is read (missing values, bad files, object
        stores).
    column : str or sequence of str, optional
        Columns of numbers, dates, timestamps or durations. Optional for arrays, and for data with a single
        column.
    by : str or sequence of str, optional
        Columns whose values form groups, each with its own result.
    where : str or pyarrow.compute.Expression, optional
        Condition such as ``"status == 'paid' and amount > 0"``; only rows for which it is true are used.
    weights : str, optional
        Column of non-negative weights: blocks have weighted means. Rows whose weight is null, NaN or zero are
        left out; a negative or infinite weight is an error.
    joint : bool or {"geometric", "coordinatewise"}
        One mean vector over all columns instead of one mean per column: the geometric median of the block
        mean vectors (True), or their median by coordinates. A list column with lists of equal length is a
        vector by itself. A row with a missing coordinate is left out.
    blocks : {"auto", "paper"}, int, or block design
        How rows form blocks: `RandomBlocks` (for which the words and numbers are short forms),
        `StoredBlocks`, `UnitBlocks`, `FileBlocks` or `SampledBlocks`.
    contamination : int or float, optional
        Number of rows (units, with `UnitBlocks` and `FileBlocks`) that may be arbitrary, or their share in
        (0, 1/2) of the rows that pass the filter (of the files, with `FileBlocks`; of units in columns only
        a number): the intervals allow for them, all in one group if there are groups. Unless `blocks` gives
        a number it becomes the odd number with the shortest ``cantelli`` interval.
    interval : {"auto", "order", "cantelli", "closed-form", "none"}
        Order statistics of the block means, or a bound with plug-in variance (see Notes). By default
        ``order`` for one partition without `contamination`, else ``cantelli``. If rows within files are
        correlated, the default is an interval of whole files.
    confidence_level : float
        In (0, 1).
    passes : {1, 2}, optional
        What to do if some rows are far from all others and move the estimate. By default the files are read a
        second time, and the estimate is computed without these rows. With 1, and for streams and states, it
        is computed from the remaining rows of a sample of 65,536 rows (16,384 in states). 2 cannot be
        combined with a `state`.
    rng : int, SeedSequence, Generator or None
        Seed of all random draws. None draws a fresh seed, which the result reports, or uses that of an
        existing `state`.
    state : str, path or State, optional
        File that keeps the running totals between runs. A run starts from it, reads only new files, and saves
        it at the end, every half minute, and when interrupted. ``State(path, on_change="restart")`` starts
        over if files in it have changed or are missing.
    executor : Threads, Processes, Cluster, Dask client or address, optional
        Where to run. Default: the active Dask client, else threads. Data in memory is not sent to a cluster.

    Returns
    -------
    MeanResult, VectorResult or Results
        A single result for one column (with `joint`, one vector) without groups; otherwise a sequence with
        one result per column and group.

    Raises
    ------
    ConfigError
        An option, a name or the condition is wrong; `contamination` reaches half of the rows, units or
        blocks, or asks for more than a million blocks.
    DataError
        A file is damaged, changed, or of a type that cannot be averaged; vectors differ in length; the
        state is damaged, or files in it have changed or disappeared since.
    NoAnswerError
        There are no rows, or no finite answer because half or more of the blocks are non-finite.
    ResourceError
        There is not enough memory, or the cluster was lost.

    Notes
    -----
    *Intervals.* ``order`` covers the median of the distribution of one block mean, which is close to the mean
    for large blocks. ``cantelli`` would be valid with probability 1 - delta if the variance of a block mean
    were known; the variance is estimated, so coverage is asymptotic in the block size. See
    :doc:`/statistics/intervals` and :doc:`/statistics/promises`.

    *Blocks.* Under ``"auto"`` 945 fine blocks are tested against each other, and outlying ones are screened
    out: about 650 bad rows are tolerated wherever they lie. See :doc:`/statistics/automatic`. A share of bad
    rows is looked for in a sample of 65,536 rows; see :doc:`/statistics/shares`, also for a share as
    `contamination`.

    *Files.* If whole files contradict the rows, the answer is that of whole files (``files disagree``). If
    rows within files are correlated (``rows correlated``), the interval is cluster-robust. See
    :doc:`/statistics/correlated`.

    *Weights.* A block's value is sum w x / sum w. The answer estimates E(w x)/E(w) with a bias of order 1/B.
    Few rows decide if weights are very unequal; the interval may then be too narrow. Weights, units, vectors,
    times and saved states are described in :doc:`/statistics/means`.

    *Reproducibility.* The same data and seed give bit-for-bit identical results on any number of threads or
    workers. Adding files does not move earlier rows to other blocks, as long as the number of blocks stays
    the same. An interrupted or killed run with a `state` resumes and gives bit-for-bit the result of an
    uninterrupted run.

    *Cost.* One pass; two if rows that pass a filter must be counted first (samples, `contamination`), and one
    more if rows or files are left out. Size of a state: :doc:`/statistics/means`.

    References
    ----------
    Kish (1965), Survey Sampling: effective number of rows.
    Laforgue, Clémençon & Bertail (2019), On Medians of (Randomized) Pairwise Means, ICML: Proposition 1
    (partition), Proposition 2 (samples without replacement). Finner (1992), A generalization of Hölder's
    inequality (samples). Hoeffding (1963), section 5 (repeated partitions). Minsker (2015), Geometric median
    and robust estimation in Banach spaces, Bernoulli 21: Lemma 2.1 (vectors).

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> x = np.random.default_rng(0).exponential(size=10_000)
    >>> x[::1000] = 1e9
    >>> found = dm.mean(x, rng=0)
    >>> round(found.estimate, 2), round(found.plain_estimate), found.status
    (1.01, 1000001, 'contaminated')
    >>> both = dm.mean({"x": x, "y": 2.0 * x}, joint=True, rng=0)
    >>> both.estimate.round(2).tolist(), both.radius > 0.0
    ([1.01, 2.01], True)
    """
    scan = as_scan(data, where)
    options = MeanOptions.of(
        scan,
        as_design(blocks),
        contamination=contamination,
        weights=weights,
        joint=joint,
        interval=interval,
        confidence_level=confidence_level,
        passes=passes,
    )
    limit = as_backend(executor).memory_limit
    question = SurveyedMean(scan, column, by, options, state, limit, rng=rng)
    return answer(question, executor)  # type: ignore[no-any-return]
