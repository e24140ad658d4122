"""Differences between the variants of an experiment: the public function."""

from __future__ import annotations

from typing import Any, Literal

from distmom.checks import check_choice, names_of
from distmom.designs.blocks import FileBlocks, RandomBlocks, UnitBlocks
from distmom.designs.design import BlockDesign
from distmom.errors import ConfigError
from distmom.estimators.command import answer, command
from distmom.estimators.difference.crossover import CROSSOVER, check_crossover
from distmom.estimators.difference.question import DifferenceQuestion
from distmom.estimators.options import PLAIN_INTERVALS, RETIRED_INTERVALS, MeanOptions
from distmom.passes.opening import Names
from distmom.passes.scan import as_scan
from distmom.report import DifferenceResult, Results


@command
def difference(
    data: Any,
    metric: str,
    *,
    by: str,
    unit: Names = None,
    crossover: Literal["keep", "omit"] = "keep",
    denominator: str | None = None,
    control: Any = None,
    where: Any = None,
    interval: Literal["auto", "order", "cantelli", "none"] = "auto",
    confidence_level: float = 0.95,
    rng: Any = None,
    executor: Any = None,
) -> DifferenceResult | Results[DifferenceResult]:
    """Difference and lift of a heavy-tailed metric between variants of an experiment, without capping it.

    Both variants are cut into the same blocks, each pair of blocks has its difference, and the answer is
    their lower median. It estimates the difference of expectations (with `denominator` of ratios of
    expectations), under independent units of finite variance; outliers in a minority of the blocks of either
    variant do not move it far.

    Parameters
    ----------
    data : path, glob, list of paths, Arrow table, data frame, …, or Scan
        As for `distmom.mean`.
    metric : str
        Column of numbers.
    by : str
        Column whose values are the variants. Rows where it is null are left out and counted in a note.
    unit : str or sequence of str, or "file", optional
        Columns whose values make the randomisation units (users, days): the rows of a unit share a block,
        whatever files they are in; null is a unit too. A unit that is in both variants is in the same block
        of both, and what they have in common cancels; the result counts such units (in a randomised
        experiment there should be none). ``"file"`` makes whole files units (a column of that name goes into
        a list). By default rows are independent.
    crossover : {"keep", "omit"}
        How to treat units that occur in several variants: keep them, or leave them out (one more pass, and 16
        bytes per unit).
    denominator : str, optional
        Column of numbers for a ratio metric, sum of `metric` over sum of `denominator` (clicks over views).
        Rows need both values. It may be zero in some rows, but must be positive on average.
    control : object, optional
        The variant to compare the others with: a value of `by`, or its text. By default the first.
    where : str or pyarrow.compute.Expression, optional
        Condition; only rows for which it is true are used.
    interval : {"auto", "order", "cantelli", "none"}
        Order statistics of the block differences (the default), or a bound from their standard deviation.
    confidence_level : float
        In (0, 1), for each interval; with several variants the intervals are not simultaneous.
    rng : int, SeedSequence, Generator or None
        Seed of all random draws. None draws a fresh seed, which the result reports.
    executor : Threads, Processes, Cluster, Dask client or address, optional
        As for `distmom.mean`.

    Returns
    -------
    DifferenceResult or Results
        A single result for two variants; otherwise a sequence with one per variant other than the control.
        `Results.of` makes a sequence of both.

    Raises
    ------
    ConfigError
        An option, a name or the condition is wrong, or `control` is no variant.
    DataError
        A file is damaged, changed, or of a type that cannot be averaged; a column holds dates or times; the
        mean of the denominator is not positive.
    NoAnswerError
        There are no rows, only one variant, or no finite answer.
    ResourceError
        There is not enough memory, or the cluster was lost.

    Notes
    -----
    *The estimate* is the robust mean of the differences of paired blocks, by the rule of `distmom.mean`. With
    a denominator, the values of blocks are linearised about the robust ratio, so that empty blocks and a
    dependence of numerator and denominator do no harm. It is not quite the difference of the two means shown
    beside it.

    *The lift* has Fieller's interval, which allows for the error of the control. It is missing unless the
    control's mean is twice as far from 0 as its interval reaches.

    *Bad files and rows.* The mean of each variant is computed first, in one more pass. Bad files that alone
    differ are left out (``files disagree``), unless files are the units, and so are rows that share one value
    far from all others (``share screened out``). Other far rows stay in, since they may be what the
    experiment is about (``share far out``). If there is more damage, the result is ``breakdown point
    exceeded`` and has no lift.

    *Cost.* Two passes, and the sums of a column (of two with a denominator) for each variant.

    Formulas: :doc:`/statistics/experiments`.

    References
    ----------
    Fieller (1954), Some problems in interval estimation, JRSS B 16. Deng, Knoblich & Lu (2018), Applying the
    delta method in metric analytics, KDD: section 3. Laforgue, Clémençon & Bertail (2019), On Medians of
    (Randomized) Pairwise Means, ICML: Proposition 1.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> g = np.random.default_rng(0)
    >>> spent = g.lognormal(size=20_000)
    >>> arm = np.repeat(["old", "new"], 10_000)
    >>> spent[arm == "new"] += 0.2
    >>> spent[:3] = 1e9
    >>> found = dm.difference({"spent": spent, "arm": arm}, "spent", by="arm", control="old", rng=0)
    >>> round(found.difference, 1), found.status, round(found.plain_difference)
    (0.2, 'contaminated', -300000)
    >>> found.interval[0] < 0.2 < found.interval[1]
    True
    """
    _check_names(metric, by, denominator, unit)
    check_choice("interval", interval, PLAIN_INTERVALS, RETIRED_INTERVALS)
    check_choice("crossover", crossover, CROSSOVER)
    check_crossover(crossover, unit)
    scan = as_scan(data, where)
    options = MeanOptions.of(
        scan,
        _design(unit),
        joint=denominator is not None,
        interval=interval,
        confidence_level=confidence_level,
    )
    question = DifferenceQuestion(scan, metric, by, denominator, control, options, crossover, rng=rng)
    return answer(question, executor)  # type: ignore[no-any-return]


def _design(unit: Names) -> BlockDesign:
    """How rows form blocks where these are the randomisation units."""
    if unit is None:
        return RandomBlocks()
    return FileBlocks() if isinstance(unit, str) and unit == "file" else UnitBlocks(names_of("unit", unit))


def _check_names(metric: str, by: str, denominator: str | None, unit: Names) -> None:
    """ConfigError unless they are different columns, as far as they must be."""
    names = {"metric": metric, "by": by, **({} if denominator is None else {"denominator": denominator})}
    for parameter, value in names.items():
        if not isinstance(value, str):
            raise ConfigError(f"{parameter}: must be a column's name, not {value!r}")
    if denominator == metric:
        raise ConfigError(
            f"denominator: {denominator!r} is the metric itself; name another column or drop it"
        )
    units = names_of("unit", unit)
    if unit is not None and not units:
        raise ConfigError("unit: name the columns of the randomisation units, or drop it")
    both = [name for name in (metric, denominator) if name in units]
    if both:
        raise ConfigError(f"unit: {both[0]!r} is also a column to compare; name another column")
    if by in units:
        raise ConfigError(
            f"unit: {by!r} is the column of the variants; name the randomisation units, such as users"
        )
