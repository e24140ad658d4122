"""Whether a column has one law in two samples: the public function."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distmom.cluster import connect
from distmom.errors import ConfigError
from distmom.estimators.arguments import arguments_of
from distmom.estimators.compare.answer import adjusted, compared
from distmom.estimators.compare.options import CompareOptions, compare_options
from distmom.estimators.compare.permuted import bandwidth_of, draw_rows, permuted_test
from distmom.estimators.compare.samples import How, Sample, samples_by, samples_of
from distmom.estimators.compare.statistics import Compared
from distmom.estimators.facts import data_facts, run_facts
from distmom.estimators.mean.plan import worth_compiling
from distmom.estimators.options import MeanOptions, check_count
from distmom.estimators.place import place_of
from distmom.estimators.recorded import recorded
from distmom.estimators.ustat.explain import explain_ustatistic
from distmom.estimators.ustat.options import PAIR_BUDGET
from distmom.estimators.ustat.partition import sample_question, sample_results
from distmom.estimators.ustat.samples import Pass, check_samples, plan_passes, run_passes
from distmom.lake import BATCH_ROWS
from distmom.numerics.kernels.catalogue import mean_difference
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.block_pass import run_blocks
from distmom.passes.census import column_share
from distmom.passes.opening import Names, names_of
from distmom.reductions.block_means import load_kernels
from distmom.report import CompareResult, Results

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source

Opened = Sequence[tuple["Source", "ReadOptions"]]

SHARED = (
    "n_blocks",
    "block_by",
    "nan",
    "missing",
    "on_bad_file",
    "interval",
    "confidence_level",
    "pair_budget",
)
"""Options that are those of `distmom.ustatistic`."""


@recorded
def compare(
    data: Any,
    column: Names = None,
    *,
    by: str | None = None,
    samples: Sequence[Any] | None = None,
    where: Any = None,
    statistics: str | Sequence[str] = ("mean", "auc", "energy"),
    bandwidth: float | None = None,
    block_by: Names = None,
    n_permutations: int = 9_999,
    test_rows: int = 10_000,
    n_blocks: int | str = "auto",
    pair_budget: int | float = PAIR_BUDGET,
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
) -> CompareResult | Results:
    """Did this column drift, how far, and could it be chance: two samples compared column by column.

    Each statistic is estimated by the median over blocks, which bad rows cannot move, and a permutation test
    tells whether both samples may have one law. It assumes that rows (with `block_by` units) are independent.

    Parameters
    ----------
    data : list of two, or as for `distmom.mean`
        Two lakes, such as ``["january/", "february/"]``; or one, with `by` or two conditions in `where`.
    column : str or sequence of str, optional
        Columns of numbers, each compared by itself.
    by : str, optional
        Column of which two values make the samples. Rows with others, or null, are left out and counted in a
        note.
    samples : (object, object), optional
        These values, or their texts, if `by` has more than two.
    where : str, pyarrow.compute.Expression, or a list of two of these, optional
        Condition of all rows; or of each sample.
    statistics : str or sequence of str
        ``"mean"``: mean of the second less that of the first. ``"auc"``: probability that a row of the second
        is the greater, plus half of that of ties; 1/2 means none tends to be larger. ``"energy"``: energy
        distance, 0 only for equal laws. ``"mmd"``, ``"mmd-laplace"``: squared mean discrepancy with a
        Gaussian or a Laplace kernel, likewise; without a fast form, the Gaussian one takes all pairs.
    bandwidth : float, optional
        Of mean discrepancies, in units of the column; by default the median distance of rows drawn.
    block_by : str or sequence of str, or "file", optional
        Columns whose values make the independent units (days, sensors), or whole files: blocks and
        permutations then are of units. A unit in both samples counts as two; to compare units with
        themselves use `distmom.difference`.
    n_permutations : int
        Permutations drawn. No p-value is below 1/(n_permutations + 1).
    test_rows : int
        Most rows of each sample that take part in the test, drawn at random. Estimates are of all rows.
    n_blocks, pair_budget
        As for `distmom.ustatistic`; of energy distance and discrepancies 9 by default.
    nan, missing, on_bad_file
        As for `distmom.mean`.
    interval : {"auto", "order", "exact", "none"}
        As for `distmom.ustatistic`. Energy distances and discrepancies have one only where the test says that
        the samples differ.
    confidence_level : float
        Of each interval, and of the tests together: a column has ``drifted`` if its adjusted p-value is at
        most ``1 - confidence_level``.
    scratch
        As for `distmom.ustatistic`.
    rng, client, workers, scheduler, threads, memory_limit, batch_rows, storage_options, progress
        As for `distmom.mean`.

    Returns
    -------
    CompareResult or Results
        One result, or a sequence with one for each column and statistic.

    Raises
    ------
    ConfigError
        An option, a name or a condition is wrong; which two samples are meant is not clear; too many pairs.
    DataError
        A file is damaged, changed, or of a type that cannot be used, such as a date.
    NoAnswerError
        A sample has too few rows, or there is no finite answer.
    ResourceError
        The memory does not suffice, or the cluster was lost.

    Notes
    -----
    Estimates are those of `distmom.ustatistic` with kernels of two samples. Energy distance and discrepancies
    are degenerate where both laws are equal: their blocks are then skewed, their medians below 0 by some
    multiple of 1/n, and no interval of theirs covers 0 as it should; hence few blocks, and the test.

    The test draws up to `test_rows` rows of each sample uniformly, puts them together at random to at most
    400 units of equally many rows (with `block_by` of equally many units; what is left over is dropped), and
    compares the plain statistic with those after units were reassigned at random:
    p = (1 + number at least as extreme)/(1 + number of permutations), two-sided for ``mean`` and ``auc``. If
    units are exchangeable, as independent ones of one law are, P(p <= a) <= a for every a and any law, heavy
    tails or not; no block, bound or limit is involved. `p_adjusted` is Holm's over all results of the call.
    Wild rows do not harm this level, but they take power from ``mean`` and ``energy``; ``auc`` and the
    discrepancies do not mind them.

    Rows that are not independent (days, sensors, files with an effect of their own) make p-values too small:
    then name the units in `block_by`. Three units against three allow no p-value below 1/20.

    Two passes over each sample serve all columns and statistics, and one over each column draws the rows of
    its test; `by` takes another pass. The same data and seed give the same numbers on any number of threads
    or workers.

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
    >>> for found in dm.compare([before, after], "x", rng=0, n_permutations=999):
    ...     print(found.compared_by, found.p_value < 0.01, found.drifted)
    mean False False
    auc False False
    energy True True
    """
    started = time.perf_counter()
    given = locals()
    options = compare_options(
        statistics, bandwidth, n_permutations, test_rows, **{name: given[name] for name in SHARED}
    )
    check_count("batch_rows", batch_rows)
    _check_samples(samples, by)
    both = samples_of(data, by, where)
    seed, shown = resolve_seed(rng)
    how = How(missing, batch_rows, storage_options)
    opened = _open(both or [Sample(data, where, "")], column, options, how)
    columns = opened[0][1].columns
    place = place_of(any(source.in_memory for source, _ in opened), client, workers, scheduler, threads)
    files = tuple(file for source, _ in opened for file in source.files)
    load = load_kernels if worth_compiling(files, column_share(*opened[0])) else None
    left_out = 0
    with connect(*place, memory_limit, load=load, scratch=scratch) as executor:
        if both is None:
            assert by is not None
            pass_ = MeanOptions(nan=nan, on_bad_file=on_bad_file)
            both, left_out = samples_by(data, columns[0], by, samples, where, pass_, how, executor, progress)
            opened = _open(both, column, options, how)
        found, facts = _compared(opened, both, columns, options, seed, executor, progress)
        n_threads = executor.threads
    run = run_facts(time.perf_counter() - started, shown, n_threads)
    more = (f"{left_out:,} rows of neither sample are left out",) if left_out else ()
    told = [replace(r, data=facts, run=run, notes=(*r.notes, *more)) for r in found]
    return told[0] if len(told) == 1 else Results(told, facts, run)


def explain_compare(data: Any, column: Any = None, **options: Any) -> dict[str, Any]:
    """The plan of `distmom.compare` for the same arguments; no row is read.

    Parameters
    ----------
    data, column, **options
        As for `distmom.compare`.

    Returns
    -------
    dict
        As from `distmom.explain_ustatistic` for the first column's difference of means (with `by` as if both
        samples had all rows); ``statistics``, ``columns``, ``test_rows``, ``n_permutations``.

    Raises
    ------
    ConfigError, DataError, NoAnswerError, ResourceError
        As `distmom.compare`, for what can be known beforehand.
    """
    wanted = arguments_of(compare, data, column, **options)
    chosen = compare_options(
        *(wanted[name] for name in ("statistics", "bandwidth", "n_permutations", "test_rows")),
        **{name: wanted[name] for name in SHARED},
    )
    _check_samples(wanted["samples"], wanted["by"])
    both = samples_of(data, wanted["by"], wanted["where"]) or (Sample(data, wanted["where"], ""),) * 2
    how = How(*(wanted[name] for name in How._fields))
    columns = _open(both, column, chosen, how)[0][1].columns
    shared = {name: wanted[name] for name in SHARED}
    place = (
        "rng",
        "client",
        "workers",
        "scheduler",
        "threads",
        "memory_limit",
        "scratch",
        "batch_rows",
        "storage_options",
    )
    told = explain_ustatistic(
        [one.data for one in both],
        columns[0],
        kernel=mean_difference(),
        **shared,
        **{name: wanted[name] for name in place},
    )
    told.pop("kernel")
    extra = {"columns": list(columns), "statistics": list(chosen.statistics)}
    return {**told, **extra, "test_rows": chosen.test_rows, "n_permutations": chosen.n_permutations}


def _check_samples(samples: Any, by: str | None) -> None:
    """ConfigError unless they are two values of the column `by`."""
    if samples is None:
        return
    if by is None:
        raise ConfigError("samples: are two values of a column; name it in by, or drop samples")
    two = isinstance(samples, Sequence) and not isinstance(samples, (str, bytes)) and len(samples) == 2
    if not two or samples[0] == samples[1]:
        raise ConfigError(f"samples: must be two values of column {by!r}, not {samples!r}")


def _open(
    samples: Sequence[Sample], column: Names, options: CompareOptions, how: How
) -> list[tuple[Source, ReadOptions]]:
    """The rows of each sample."""
    units = options.rows.block_by
    opened = [how.open(s.data, column, None, s.where, units) for s in samples]
    columns = opened[0][1].columns
    if names_of("column", column) == () and any(read.columns != columns for _, read in opened):
        raise ConfigError("column: the samples have different columns; name those to compare")
    return opened


def _compared(
    opened: Opened,
    samples: Sequence[Sample],
    columns: Sequence[str],
    options: CompareOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> tuple[list[CompareResult], dict[str, Any]]:
    """Results of all columns and statistics, and what was read."""
    plain, sources = options.of(mean_difference()), [source for source, _ in opened]
    check_samples(opened, plain)
    plans = plan_passes(opened, plain, seed, executor, progress)
    passes = run_passes(plans, (), plain, executor, progress)
    asked, tests = [], []
    by_units = options.rows.block_by is not None
    for c, name in enumerate(columns):
        mine = [one.column(c) for one in passes]
        plans = [
            replace(
                one.plan,
                reader=source.reader(replace(read, columns=(name,))),
                reduction=replace(one.plan.reduction, seed=seed),  # units have one hash in both samples
            )
            for one, (source, read) in zip(mine, opened, strict=True)
        ]
        rows = draw_rows(plans, options.test_rows, seed, executor, progress)
        width = options.bandwidth or bandwidth_of(rows)
        statistics = [Compared(one, width) for one in options.statistics]
        tested = permuted_test(rows, statistics, options.n_permutations, seed, by_units=by_units)
        for place, one in enumerate(statistics):
            asked.append(sample_question(sources, mine, options.of(one.kernel), executor))
            tests.append((name, one, tested, place))
    blocks = run_blocks([question for one in asked for question in one.questions], executor, progress)
    results = []
    for (name, statistic, tested, place), question, found in zip(tests, asked, blocks, strict=True):
        (result,) = sample_results(question, options.of(statistic.kernel), [found], name)
        results.append(compared(result, statistic, samples, tested, place, options.n_permutations))
    return adjusted(results), _facts(sources, samples, passes)


def _facts(sources: Sequence[Source], samples: Sequence[Sample], passes: Sequence[Pass]) -> dict[str, Any]:
    """What was read: a file of both samples is one file, though of two lakes that name theirs alike two."""
    homes = [getattr(source, "address", None) for source in sources]
    if None in homes:
        homes = [0, int(samples[0].data is not samples[1].data)]
    pairs = list(zip(homes, passes, strict=True))
    files = {(home, file.path): file for home, one in pairs for file in one.plan.files}
    skipped = {(home, record.file): record for home, one in pairs for record in one.skipped}
    return data_facts(list(files.values()), skipped.values(), *sources)
