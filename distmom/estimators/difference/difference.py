"""Differences between the variants of an experiment: the public function."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distmom.cluster import connect
from distmom.errors import ConfigError
from distmom.estimators.arguments import arguments_of
from distmom.estimators.difference.answer import differences
from distmom.estimators.facts import data_facts, run_facts
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.mean.plan import MeanPlan, plan_mean, worth_compiling
from distmom.estimators.options import PLAIN_INTERVALS, MeanOptions, check_choice, check_count
from distmom.estimators.place import imagined_place, place_of
from distmom.estimators.recorded import recorded
from distmom.lake import BATCH_ROWS
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.census import column_share
from distmom.passes.opening import Names, names_of, open_data, refuse_times
from distmom.reductions.block_means import load_kernels
from distmom.report import DifferenceResult, Results

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source


@recorded
def difference(
    data: Any,
    metric: str,
    *,
    by: str,
    unit: Names = None,
    denominator: str | None = None,
    control: Any = None,
    where: Any = None,
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
    batch_rows: int = BATCH_ROWS,
    storage_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> DifferenceResult | Results:
    """Difference and lift of a heavy-tailed metric between variants of an experiment, without capping it.

    Both variants are cut into the same blocks, each pair of blocks has its difference, and the answer is
    their lower median. It estimates the difference of expectations (with `denominator` of ratios of
    expectations), under independent units of finite variance; a minority of blocks with wild rows or units in
    either variant does not move it far.

    Parameters
    ----------
    data : path, glob, list of paths, ``"@list.txt"``, Arrow table, data frame, or mapping
        As for `distmom.mean`.
    metric : str
        Column of numbers.
    by : str
        Column whose values are the variants. Rows where it is null are left out and counted in a note.
    unit : str or sequence of str, or "file", optional
        Columns whose values make the independent units (users, days): the rows of a unit share a block,
        whatever files they are in; null is a unit too. A unit that is in both variants is in the same block
        of both, and what they have in common cancels. ``"file"`` makes whole files units. By default rows
        are independent.
    denominator : str, optional
        Column of numbers for a ratio metric, sum of `metric` over sum of `denominator` (clicks over views).
        Rows count if they have both. It may be zero in rows, but must be positive on average.
    control : object, optional
        The variant that the others are compared with: a value of `by`, or its text. By default the first.
    where : str or pyarrow.compute.Expression, optional
        Condition; rows for which it is true count.
    nan, missing, on_bad_file
        As for `distmom.mean`.
    interval : {"auto", "order", "exact", "none"}
        Order statistics of the block differences (the default), or a bound from their spread.
    confidence_level : float
        In (0, 1), of each interval: with several variants they do not hold together.
    rng : int, SeedSequence, Generator or None
        Decides every draw, alone. None draws a fresh seed, which the result shows.
    client, workers, scheduler, threads, memory_limit, batch_rows, storage_options, progress
        As for `distmom.mean`.

    Returns
    -------
    DifferenceResult or Results
        One result for two variants, else a sequence with one for each variant beside the control.

    Raises
    ------
    ConfigError
        An option, a name or the condition is wrong, or no variant is called like the `control`.
    DataError
        A file is damaged, changed, or of a type that cannot be averaged; a column holds dates or times; the
        mean of the denominator is not positive.
    NoAnswerError
        There are no rows, only one variant, or no finite answer.
    ResourceError
        The memory does not suffice, or the cluster was lost.

    Notes
    -----
    With N_i and D_i the sums of metric and denominator (without one: the rows) over the fine blocks of a
    variant and d the robust mean of D_i, the linearised blocks are y_i = R + (N_i - R D_i)/d, where R is such
    that the robust mean of y_i is R. E(N_i - R D_i) = 0 at the ratio, however numerator and denominator
    depend on each other, while N_i/D_i has a bias of the order of its variance; blocks may be empty; wild
    denominators are wild blocks. The difference is that of the rule of `distmom.mean` (945 fine blocks of
    which each level of the ladder holds at least 8 units a block, screen, ladder, statuses) on e_i = y_i of
    the variant minus y_i of the control. A block is wild if it is in either: the capacity of about 0.69 times
    the fine blocks is for the wild units of both together. The spread is that between blocks.

    The median of paired differences is not quite the difference of the two means shown beside it. The lift
    is the root L of the same median of y_variant - (1 + L) y_control, its interval Fieller's, which knows the
    error of the control; both are missing unless the control's mean is twice as far from 0 as its interval
    reaches. One pass; state 60 kB (120 with a denominator) for each variant.

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
    (0.2, ('contaminated',), -300000)
    >>> found.interval[0] < 0.2 < found.interval[1]
    True
    """
    started = time.perf_counter()
    options = _options(metric, by, denominator, unit, nan, missing, on_bad_file, interval, confidence_level)
    check_count("batch_rows", batch_rows)
    seed, shown = resolve_seed(rng)
    columns = (metric,) if denominator is None else (metric, denominator)
    source, read = open_data(
        data, columns, by, where, missing, batch_rows, options.block_by, storage_options=storage_options
    )
    place = place_of(source.in_memory, client, workers, scheduler, threads)
    load = load_kernels if worth_compiling(source.files, column_share(source, read)) else None
    with connect(*place, memory_limit, load=load) as executor:
        plan = _plan(source, read, options, seed, executor, progress)
        found, skipped = run_plan(plan, 1, executor, progress)
        answers = differences(plan, found, control, denominator)
        n_threads = executor.threads
    data_told = data_facts(plan.files, skipped, source)
    run_told = run_facts(time.perf_counter() - started, shown, n_threads)
    told = [replace(r, data=data_told, run=run_told) for r in answers]
    return told[0] if len(told) == 1 else Results(told, data_told, run_told)


def explain_difference(data: Any, metric: str, **options: Any) -> dict[str, Any]:
    """The plan of `difference` for the same arguments, as `distmom.explain_mean` has it; no row is read.

    Raises
    ------
    ConfigError, DataError, NoAnswerError, ResourceError
        As `difference`, for what can be known beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> from distmom.estimators.difference.difference import explain_difference
    >>> explain_difference({"x": np.zeros(10), "arm": np.arange(10) % 2}, "x", by="arm")["fine_blocks"]
    945
    """
    wanted = arguments_of(difference, data, metric, **options)
    by, denominator, where, missing = (wanted[name] for name in ("by", "denominator", "where", "missing"))
    names = ("nan", "missing", "on_bad_file", "interval", "confidence_level")
    chosen = _options(metric, by, denominator, wanted["unit"], *(wanted[name] for name in names))
    check_count("batch_rows", wanted["batch_rows"])
    seed, shown = resolve_seed(wanted["rng"])
    columns = (metric,) if denominator is None else (metric, denominator)
    store, batch_rows = wanted["storage_options"], wanted["batch_rows"]
    source, read = open_data(
        data, columns, by, where, missing, batch_rows, chosen.block_by, storage_options=store
    )
    with imagined_place(wanted, in_memory=source.in_memory) as executor:
        plan = _plan(source, read, chosen, seed, executor, None)
        told = plan.describe(executor)
    return {**told, "seed": shown, "skipped": [s._asdict() for s in plan.skipped]}


def _options(
    metric: str,
    by: str,
    denominator: str | None,
    unit: Names,
    nan: str,
    missing: str,
    on_bad_file: str,
    interval: str,
    confidence_level: float,
) -> MeanOptions:
    """The options of the pass over the data, all arguments being checked that do not need it."""
    names = {"metric": metric, "by": by, **({} if denominator is None else {"denominator": denominator})}
    for parameter, value in names.items():
        if not isinstance(value, str):
            raise ConfigError(f"{parameter}: must be a column's name, not {value!r}")
    if denominator == metric:
        raise ConfigError(
            f"denominator: {denominator!r} is the metric itself; name another column or drop it"
        )
    if by in ((unit,) if isinstance(unit, str) else names_of("unit", unit)):
        raise ConfigError(
            f"unit: {by!r} is the column of the variants; name what is independent, such as users"
        )
    check_choice("interval", interval, PLAIN_INTERVALS)
    return MeanOptions(
        block_by=unit,  # type: ignore[arg-type]
        joint=denominator is not None,
        nan=nan,
        missing=missing,
        on_bad_file=on_bad_file,
        interval=interval,
        confidence_level=confidence_level,
    )


def _plan(
    source: Source,
    read: ReadOptions,
    options: MeanOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> MeanPlan:
    share = column_share(source, read)
    plan = plan_mean(source, read, options, seed, executor, progress, share, few_groups=True)
    refuse_times(plan.reader.options, "compare numbers, such as seconds")
    return plan
