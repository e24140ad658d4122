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
    """Arguments of `mean` that do not decide what it returns."""

    state: str | os.PathLike[str] | State | None
    passes: Literal[1, 2] | None


class OfNumbers(MeanKeywords, total=False):
    """Those of means of single columns."""

    joint: Literal[False]


class OfAllRows(MeanKeywords, total=False):
    """Those of means without groups."""

    by: None


class OfNumbersOfAllRows(OfNumbers, OfAllRows, total=False):
    """Those of means of single columns without groups."""


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
    """Median of means of one or more columns, with an interval: a mean that bad rows and files cannot move.

    Rows are assigned to blocks at random, each block has its mean, and the estimate is the lower median of
    the block means. It estimates the expectation of a row under independent rows of finite variance; up to
    about 0.69 times the number of fine blocks of arbitrary rows, a share of up to 15% that stands apart from
    the others, or a minority of bad files, do not move it far.

    Parameters
    ----------
    data : path, glob, list of paths, Arrow table, NumPy array, data frame, …, or Scan
        What is read; see `distmom.scan`, which also says how (missing values, bad files, object stores).
    column : str or sequence of str, optional
        Columns of numbers, dates, timestamps or durations. Optional for arrays, and for data with a single
        column.
    by : str or sequence of str, optional
        Columns whose values form groups; a result for each.
    where : str or pyarrow.compute.Expression, optional
        Condition such as ``"status == 'paid' and amount > 0"``; rows for which it is true count.
    weights : str, optional
        Column of weights, not negative: blocks have weighted means (see Notes). A row whose weight is null,
        NaN or zero does not count; a negative or infinite weight is an error.
    joint : bool or {"geometric", "coordinatewise"}
        One mean vector over all columns instead of one mean for each: the geometric median of the block mean
        vectors (True), or their median by coordinates. List columns of one length are vectors themselves.
        A row enters with all its coordinates or, where one is missing, not at all.
    blocks : {"auto", "paper"}, int, or block design
        How rows form blocks: `RandomBlocks` (the words and numbers stand for it), `StoredBlocks`,
        `UnitBlocks`, `FileBlocks` or `SampledBlocks`.
    contamination : int or float, optional
        Number of rows (units, with `UnitBlocks` and `FileBlocks`) that may be arbitrary, or their share in
        (0, 1/2) of the rows that pass the filter (of the files, with `FileBlocks`; of units in columns only
        a number): the intervals allow for them, all in one group if there are groups. Unless `blocks` gives
        a number it becomes the odd number with the shortest ``cantelli`` interval.
    interval : {"auto", "order", "cantelli", "closed-form", "none"}
        Order statistics of the block means, or a bound with plug-in variance (see Notes). By default
        ``order`` for one partition without `contamination`, else ``cantelli``; where rows within files are
        correlated, one of whole files (see Notes).
    confidence_level : float
        In (0, 1).
    passes : {1, 2}, optional
        Where rows stand apart from all others and move the estimate, it becomes that of the rows that are
        left (see Notes): of all of these, for which files are read once more if such rows are found; or with
        1, and for streams and states, of a sample of 65,536 rows (16,384 in states). 2 cannot be combined
        with a `state`.
    rng : int, SeedSequence, Generator or None
        Decides every draw, alone. None draws a fresh seed, which the result shows; with a `state` that is
        there already, it means the seed of that state.
    state : str, path or State, optional
        File that keeps the sums between runs. A run begins from what it holds, reads only files that are not
        in it, and saves it at the end, every half minute, and when it is interrupted (see Notes).
        ``State(path, on_change="restart")`` begins anew where files it holds have changed or are gone.
    executor : Threads, Processes, Cluster, Dask client or address, optional
        Where to run. Default: the active Dask client, else threads. Data in memory is not sent to a cluster.

    Returns
    -------
    MeanResult, VectorResult or Results
        One result for one column (with `joint`, one vector) without groups, else a sequence with one for each
        column and group.

    Raises
    ------
    ConfigError
        An option, a name or the condition is wrong; `contamination` reaches half of the rows, units or
        blocks, or asks for more than a million blocks.
    DataError
        A file is damaged, changed, or of a type that cannot be averaged; a vector has another length; the
        state is damaged, or files that it holds have changed since or are gone.
    NoAnswerError
        There are no rows, or no finite answer because half or more of the blocks are non-finite.
    ResourceError
        The memory does not suffice, or the cluster was lost.

    Notes
    -----
    With K blocks of B rows and p* the Beta quantile at which P(Bin(K, p*) >= ceil(K/2)) = delta,
    the ``cantelli`` interval is the estimate -+ sqrt(V (1/p* - 1)), V the variance of a block mean
    (Cantelli's inequality for both sides): if that variance were known, the interval would hold with
    probability of at least 1 - delta; it is estimated, so the statement is asymptotic in the block size. The
    ``order`` interval covers the median of the distribution of one block mean, which differs from the mean by
    a term of smaller order. Its level is that of independent blocks, so it is refused for samples and
    repeated partitions.

    Where neighbouring rows, or those of a file or folder, are alike (status ``rows correlated``) they tell
    less than their number says. The pass keeps the means of up to 8,192 stretches of rows. They are joined to
    longer ones, to files and to folders; for independent rows the variance of the mean that such units show
    is that of rows. Where it is not, at a false-alarm rate of 1e-4 over all units, the first units are taken
    with which all coarser ones agree, coarser ones as long as sixty are left. By default, with random rows,
    the interval is then cluster-robust, of kind ``clusters``: the jackknife variance, Student's quantile at
    the effective number of cells less one, and 0.7 of Hall's transformation for skewness where that is wider.
    At 24 to 365 files of equal and of log-normal sizes a nominal 99% covered 0.976 to 0.997 for normal,
    exponential and Student-3 file effects, and 0.955 to 0.996 for log-normal ones, at 1.0 to 1.9 times the
    width of a plain t interval; with fewer there is none, as where rows are correlated over any
    length. The estimate stays that of rows, and an interval of rows that is wider stays, too. A vector's
    radius is sqrt(trace F), F with the degrees of freedom that the covariance matrix of units gives it
    (Satterthwaite). Rows that are sorted by their values, or by what goes with these, are a monotone curve
    and what chance leaves about it: they are taken for independent rows that were sorted afterwards, with a
    note. A trend in time looks the same. With groups, only files are units.

    A file whose mean is far from those of all others, across a gap or where the others differ by no more than
    their rows do, is named and left out of each block (``files disagree``): among at least five files, at
    about one false alarm in 1,000 lakes, whether rows of a file are correlated or not.

    With weights a block's value is m = sum w x / sum w, and the answer the median of these, every block
    counting once: it estimates E(w x)/E(w) with a bias of order 1/B, that of a ratio. The variance of m is
    sum w^2 (x - m)^2 / (sum w)^2 times n/(n - 1), n = (sum w)^2 / sum w^2 being the effective rows of the
    block (Kish 1965). They take the place of rows in every rule: a level needs enough of them a block, and
    where fewer than half of the rows are effective, blocks are balanced by them. Shares of rows, as in
    ``dominated by few rows``, are those of rows of positive weight. Weights above 2^200 are refused, below
    2^-200 they are zero. A block whose weights are all zero is left out. Few rows decide where weights are
    very heavy and heavy rows vary more: with log-normal weights of sigma 2 and a scale that grows with the
    root of the weight, ``cantelli`` at 99% covered 0.95 to 0.99 at n = 10^4 and 0.77 to 0.91 at n = 10^5,
    and ``order`` at 95% 0.87 to 0.99 (300 and 100 replications; normal, exponential and log-normal values).
    With one scale for all rows it is 1.00, and 0.92 to 0.99; with weights of sigma 1 at least 0.99 and 0.88.

    With `UnitBlocks` a unit is put into one of 945 cells (105 a group) by 64 keyed hashed bits of its values:
    its block depends on seed and values alone, not on files, types or other units. Cells are merged to blocks
    by their rows; a level of the ladder needs as many filled cells as blocks and, beyond nine blocks, eight
    units a block; empty blocks are left out.
    The Cantelli interval takes the blocks' sizes as they are (Poisson-binomial tail where they differ by more
    than 10%). Fewer than ten units a block draw a note.

    Where all values are identical the interval is that value, and a note says so: with probability 1 - delta,
    at most a share log(1/delta)/n of the distribution has other values, which none of the n rows showed.

    Up to o blocks may be arbitrary (o rows by `contamination`, or the non-finite ones if these are more): p*
    is then that of P(Bin(K - o, p*) >= ceil(K/2) - o) = delta, and ``order`` takes its ranks from K - o fair
    coins. K > 2 o only makes the answer finite: for o = 10 at 99%, K = 21 gives 152 standard errors and
    K = 59, the best, gives 13.

    A *share* of bad rows is found in a uniform sample of m = 65,536 rows of each column, kept in the pass. A
    gap is a distance t from its median (without a value that most rows have) where j rows lie at or beyond t
    and at most j/10 between t/r and t, r = max(3, exp(9/j)): a tail that falls like the power 1.5 or faster
    has one by chance with probability exp(-1.5 * 9) = 1.4e-6 a place. Rows beyond a gap stand apart if t >=
    30 s, s the standard deviation of the rows inside; at most 15% of the rows do, and two kept rows for each
    of them differ from the most frequent value. A second mode that looks like sizes of another order stays
    in. If A is the answer of all rows and A' that of the k rows left, A stays, to the last bit, where abs(A -
    A') <= 3 s'/sqrt(k) (6 where blocks have seen the damage and bear it), s' being the root of the lower
    median of 63 block variances; else the answer is A' (``share screened out``; `far_rows` says which rows,
    `without_extremes` gives the mean without the most extreme 0.01 to 5%). Rows apart at 10 s to 30 s are
    told only (``share far out``). Where nothing stands apart, but A and the sample's own answer differ by 9.2
    s' (1/sqrt(m) + 1/sqrt(n)), it is that of the sample, ``breakdown point exceeded``.
    Groups are judged by the cuts of the whole column, which hold in a group that loses at most 15% of its
    rows by them; a group that lies beyond them stays. One with 512 rows in the sample has cuts of its own
    beside them. In one pass a group with fewer than 64 sampled rows keeps the answer of all its rows.
    Sampled rows know the cells of their files: where these are correlated, the interval of an answer from the
    sample is that of whole files, too.

    The automatic rule answers by whole files where these contradict the rows (``files disagree``). A given
    number of blocks cannot: so bad files, which are looked at one by one, are left out and the blocks are
    those of the rest; where that is not possible (``passes=1``, streams, states, groups, or no file stands
    out alone) the answer is ``breakdown point exceeded``. Units in columns and samples see neither bad files
    nor bad shares: a pass of the default mean comes first, and what it finds is left out unless the blocks
    bear it.

    A share e as `contamination` allows for t bad rows of the sample: e n of all n rows, or the quantile of
    the binomial distribution that is exceeded with probability 1e-6. The estimate is the mean of the largest
    window S of order statistics, with the rows apart left out, whose standard deviation is at most 1.25 times
    the least, s_t, of windows that leave out t rows; ``cantelli`` adds (sd(S) + s_t) sqrt(u/(1 - 2 u)), with
    u = t/m, to its sampling error: whatever the bad rows are, the mean of the good ones is no farther away,
    since two subsets that share all but a part q of either differ by at most sd sqrt(q/(1 - q)) from what
    they share.
    No estimator can promise less than sd sqrt(e/(1 - 2 e)).

    Samples without and with replacement have the bound E exp(-a kl+(T | p)) <= delta for a Beta variable T,
    with p the variance of a block mean over the squared margin of error: s^2/B, or s^2 (1/n + (1 - 1/n)/B),
    and 1/a the chance that a block uses a given row: B/n, or 1 - (1 - 1/n)^B. Repeated partitions have
    exp(-K kl(1/2 | p)) <= delta for any number of them. Neither is vacuous, and neither knows of dependent
    rows.

    With `joint` the radius comes from Minsker's lemma: if the geometric median of K block mean vectors is
    farther than C r from the mean vector, C = (1 - a)/sqrt(1 - 2 a), more than a K of them are farther than
    r, each with probability of at most trace(Sigma)/(B r^2). The trace is the sum of robust variances of the
    coordinates. Distances are Euclidean: bring coordinates of different units to one scale before. Under
    ``"auto"`` each of d coordinates is tested at the d-th part of the level, and a block that is an outlier
    in one is screened out for all. Intervals of the coordinatewise median have the level 1 - delta/d each, so
    they hold together. A null in a list makes its row null, a NaN counts as the scan says. Memory grows with
    d 2**17 rows. With weights a row has one for all coordinates, and effective rows take the place of B. Over
    repeated partitions the median is that of all their blocks; the radius has their exponential tail in place
    of the binomial one and is about half as long again.

    One pass, two if rows that pass a filter must be counted first (samples, `contamination`). State 60 kB a
    column, and 1 MB for its sample of rows (260 kB in a saved state), or 9 kB a column and group; of these
    23 kB, or 2.5 kB, for each partition; with weights 110 and 16. The same data and seed give the same bits
    on any number of threads or workers, and adding files moves no old row of a random partition into another
    block, as long as the number of blocks stays.
    Dates and timestamps are averaged in float64 nanoseconds from a day in the middle of the first rows:
    exactly within 104 days of it, and beyond to 2**-53 of the distance, which is 2 ns at a year and 32 ns at
    ten. Results are datetimes with the column's time zone; dates count as their midnight. Durations are
    timedeltas. These have microseconds; JSON (ISO 8601, durations as seconds such as ``PT3723.5S``) and Arrow
    have nanoseconds where the first file has. Files may differ in the unit, not in the kind. A `state` keeps
    the day from which it counts; one of times of another kind, or of numbers, is refused.

    A `state` makes runs incremental: a run that was interrupted, even killed, goes on from the last save and
    gives the bits of an undisturbed one; when files were added, only these are read. If their paths all sort
    after the old ones the bits are those of one run over everything; files in between give the same counts
    and blocks, and sums that agree up to rounding. Blocks that depend on the number of rows
    (samples, `StoredBlocks`, a `size`, a number as `contamination`) can be resumed but take no new
    files. Options that only shape the answer
    (`interval`, `confidence_level` unless it sets the blocks, how bad files are met, where to run) may change
    from run to run. Files left out by ``on_bad_file="skip"`` are tried again in each run. The file holds at
    most one state for each binary digit of the number of files; `distmom.merge_states` shows it without the
    data.

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
