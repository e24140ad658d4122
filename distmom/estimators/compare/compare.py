"""Whether a column has one distribution in two samples: the public function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from distmom.designs.blocks import FileBlocks, UnitBlocks
from distmom.designs.permutations import Permutations
from distmom.estimators.command import answer, command
from distmom.estimators.compare.options import compare_options
from distmom.estimators.compare.question import CompareQuestion
from distmom.estimators.samples import Sample, check_values, samples_of
from distmom.numerics.kernels.kernel import Kernel
from distmom.passes.opening import Names
from distmom.passes.scan import as_scan
from distmom.report import CompareResult, Results

PERMUTATIONS = Permutations()


@command
def compare(
    data: Any,
    column: Names = None,
    *,
    by: str | None = None,
    samples: Sequence[Any] | None = None,
    where: Any = None,
    statistics: str | Kernel | Sequence[str | Kernel] = ("mean", "auc", "energy"),
    test: Permutations = PERMUTATIONS,
    blocks: int | Literal["auto", "paper"] | UnitBlocks | FileBlocks = "auto",
    interval: Literal["auto", "order", "cantelli", "none"] = "auto",
    confidence_level: float = 0.99,
    rng: Any = None,
    executor: Any = None,
) -> CompareResult | Results[CompareResult]:
    """Compare two samples column by column: whether a column drifted, how far, and whether by chance.

    Each statistic is estimated by the median over blocks, which bad rows cannot move, and a permutation test
    says whether both samples may have the same distribution. It assumes that rows (with `UnitBlocks` or
    `FileBlocks` units) are independent.

    Parameters
    ----------
    data : list of two, or as for `distmom.mean`
        Two lakes or scans, such as ``["january/", "february/"]``; or one, with `by` or two conditions in
        `where`.
    column : str or sequence of str, optional
        Columns of numbers, each compared on its own.
    by : str, optional
        Column of which two values make the samples. Rows with others, or null, are left out and counted in a
        note.
    samples : (object, object), optional
        These values, or their texts, if `by` has more than two.
    where : str, pyarrow.compute.Expression, or a list of two of these, optional
        A condition for all rows, or one for each sample.
    statistics : str, kernel, or sequence of these
        ``"mean"``: mean of the second sample minus that of the first. ``"auc"``: probability of superiority
        (Mann-Whitney), P(X < Y) + P(X = Y)/2; 1/2 means that neither tends to be larger. ``"energy"``: energy
        distance, 0 only for equal distributions. ``"mmd"``, ``"mmd-laplace"``: squared maximum mean
        discrepancy with a Gaussian or a Laplace kernel, likewise 0 only for equal distributions; the Gaussian
        one has no fast form and takes all pairs. Their bandwidth is the median distance of sampled rows;
        ``dm.kernels.mmd(2.5)`` or ``dm.kernels.mmd(2.5, "laplace")`` sets it, in units of the column.
    test : Permutations
        ``Permutations(n, rows)``: the number of permutations, so that no p-value is below 1/(n + 1), and the
        maximum number of rows of each sample in the test. Estimates use all rows.
    blocks : "auto", int, UnitBlocks or FileBlocks
        As for `distmom.ustatistic`; 9 by default for energy distance and discrepancies. With
        ``UnitBlocks("day")`` and ``FileBlocks()``, whole units are permuted, too. A unit in both samples
        counts as two; to compare units with themselves use `distmom.difference`.
    interval : {"auto", "order", "cantelli", "none"}
        As for `distmom.ustatistic`. Energy distances and discrepancies have an interval only if the test
        finds a difference.
    confidence_level : float
        Of each interval, and of the tests together: a column has ``drifted`` if its Holm-adjusted p-value is
        at most ``1 - confidence_level``.
    rng : int, SeedSequence, Generator or None
        As for `distmom.mean`.
    executor : Threads, Processes, Cluster, Dask client or address, optional
        As for `distmom.ustatistic`, with its ``scratch``.

    Returns
    -------
    CompareResult or Results
        A single result, or a sequence with one per column and statistic; `Results.of` makes a sequence of
        both.

    Raises
    ------
    ConfigError
        An option, a name or a condition is wrong; which two samples are meant is not clear; too many pairs.
    DataError
        A file is damaged, changed, or of a type that cannot be used, such as a date.
    NoAnswerError
        A sample has too few rows, or there is no finite answer.
    ResourceError
        There is not enough memory, or the cluster was lost.

    Notes
    -----
    Estimates are those of `distmom.ustatistic` with kernels of two samples. Energy distance and discrepancies
    are degenerate if both distributions are equal: block values are then skewed, their median is below 0 by a
    multiple of 1/n, and no interval of theirs covers 0 at its level. Hence few blocks, and the test.

    The test draws up to ``test.rows`` rows of each sample uniformly, groups them at random into at most 400
    units of equally many rows (with blocks of units, of equally many units; the remainder is dropped), and
    compares the plain statistic with those after random reassignment of these units: p = (1 + number at least
    as extreme)/(1 + number of permutations), two-sided for ``mean`` and ``auc``. If units are exchangeable,
    as independent ones of one distribution are, P(p <= a) <= a for every a, also with heavy tails; no block,
    bound or limit is involved. `p_holm` is Holm's over all results of the call. Outliers do not harm this
    level, but they cost ``mean`` and ``energy`` power; ``auc`` and the discrepancies are hardly affected.

    If rows are not independent (days, sensors, files with an effect of their own), p-values are too small:
    name the units in `blocks`. Three units against three allow no p-value below 1/20.

    The mean of each sample is computed first, in one more pass. Accused files that alone differ are left out
    (``files disagree``) unless files are the units, and so are codes (``share screened out``). Other far rows
    are reported (``share far out``). With ``breakdown point exceeded`` there is no p-value.

    Two passes over each sample serve all columns and statistics, and one over each column draws the rows of
    its test; `by` takes one more. The same data and seed give the same numbers on any number of threads or
    workers.

    References
    ----------
    Székely & Rizzo (2013), Energy statistics. Gretton et al. (2012), A kernel two-sample test. Lehmann &
    Romano (2022), Testing Statistical Hypotheses, theorem 17.2.1. Holm (1979), A simple sequentially
    rejective multiple test procedure.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> g = np.random.default_rng(0)
    >>> before, after = {"x": g.normal(size=5_000)}, {"x": 1.2 * g.normal(size=5_000)}
    >>> for found in dm.compare([before, after], "x", rng=0, test=dm.Permutations(999)):
    ...     print(found.compared_by, found.p_value < 0.01, found.drifted)
    mean False False
    auc False False
    energy True True
    """
    check_values(samples, by)
    both = samples_of(data, by, where) or (Sample(as_scan(data, where), ""),)
    scans = [one.scan for one in both]
    options = compare_options(statistics, test, scans, blocks, interval, confidence_level)
    question = CompareQuestion(both, column, by, samples, options, rng=rng)
    return answer(question, executor)  # type: ignore[no-any-return]
