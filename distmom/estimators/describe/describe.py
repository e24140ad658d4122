"""The robust profile of a lake: the public function."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from distmom.cluster import connect, run_units
from distmom.cluster.work import ReadAndReduce
from distmom.estimators.arguments import arguments_of
from distmom.estimators.describe.answer import describe_result
from distmom.estimators.describe.plan import open_columns, plan_describe
from distmom.estimators.facts import data_facts, run_facts
from distmom.estimators.mean.mean import check_state
from distmom.estimators.mean.plan import worth_compiling
from distmom.estimators.options import MeanOptions, check_count
from distmom.estimators.place import imagined_place, place_of
from distmom.estimators.recorded import recorded
from distmom.lake import BATCH_ROWS
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.census import column_share
from distmom.passes.opening import Names
from distmom.reductions.block_means import load_kernels
from distmom.report import DescribeResult

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.estimators.describe.plan import DescribePlan


@recorded
def describe(
    data: Any,
    columns: Names = None,
    *,
    by: Names = None,
    where: Any = None,
    fine: str = "standard",
    missing: str = "error",
    on_bad_file: str = "error",
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
) -> DescribeResult:
    """Robust profile of every column of a lake, and which files break it.

    Of each column of numbers or times: counts, the plain mean and standard deviation beside the robust ones,
    extremes. Where the plain mean leaves the robust interval, the files, folders and units that the
    difference comes from, ranked. And files (or units) whose values are not those of the others, even where
    they do not move the overall mean: another unit, a sign, constants, columns that changed places, missing
    values. Of other columns, type, rows and nulls.

    Parameters
    ----------
    data
        As for `distmom.mean`. Files are told apart in lakes; data in memory is one file.
    columns : str or sequence of str, optional
        Columns to describe; by default all that the first readable file stores (not those of folders' names,
        nor `by`).
    by : str or sequence of str, optional
        Columns whose values make units (a sensor, a customer): units are ranked and named as files are. The
        profiles stay those of all rows.
    where : str or pyarrow.compute.Expression, optional
        Condition; rows for which it is true count.
    fine : {"standard", "many"}
        As for `distmom.mean`.
    missing : {"error", "null"}
        What a file without a column is.
    on_bad_file : {"error", "skip"}
        Stop at a file that cannot be read, or go on and list it in the result.
    confidence_level : float
        Of the intervals, in (0, 1).
    rng : int, SeedSequence, Generator or None
        Decides every draw, alone.
    client, workers, scheduler, threads, memory_limit, batch_rows, storage_options, progress
        As for `distmom.mean`.

    Returns
    -------
    DescribeResult
        A sequence of `ColumnProfile`, with `named`: files and units that stand out.

    Raises
    ------
    ConfigError, DataError, ResourceError
        As `distmom.mean`.
    NoAnswerError
        There are no rows.

    Notes
    -----
    One pass; the robust mean, its interval and status have the bits of `distmom.mean` with the same seed.

    *Who did it.* With n_f used rows of mean m_f in file f, the gap between plain mean m and robust mean t is
    the sum over all files of n_f/n (m_f - t); shares are those of that sum.

    *Who stands out.* Each file's figure in a column is compared with the lower median over all files, in
    spreads: 1.4826 times the median distance on that side, or the noise of the file's own rows if that is
    more. A file is named beyond 8 spreads, if the difference is material too, since real days and sensors
    differ with heavy tails: a mean more than one standard deviation of a row away; a standard deviation
    more than 30 times, or less than a tenth of, the typical one; a constant where chance explains none; a
    lopsidedness log((max - mean)/(mean - min)) of the opposite sign, where it is clear in the typical file;
    all values beyond the typical mean; at least 1 % more missing rows (on the scale of log odds). At least
    ten files are needed, and a majority of good ones. A file with smaller shifts is not named, but is
    ranked if it moves the mean out of its interval. In exchangeable files of heavy-tailed rows a single row
    may be reason enough.

    The robust standard deviation is the root of the median of block variances (the U-statistic of the
    variance kernel): for skewed laws it is low, as variances of blocks are skewed. Gini's mean difference
    comes from a uniform sample of 16,384 rows, in random order cut into 63 blocks (1,023 if the column is
    contaminated), each taking all its pairs, and their median: pairs of neighbouring rows would be too close
    on sorted lakes. The skewness gap is theta_2K - theta_K of the ladder, its noise the robust standard
    deviation over sqrt(n).

    State: that of the means, 260 kB a column for the sample, and 64 bytes a file and column. With more than
    100,000 files those of one folder are taken together, which the result says.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> x = np.random.default_rng(0).exponential(size=10_000)
    >>> x[::1000] = 1e9
    >>> found = dm.describe({"x": x, "name": ["a", None] * 5_000}, rng=0)
    >>> profile = found.columns["x"]
    >>> round(profile.estimate, 1), profile.leaves_interval, profile.status
    (1.0, True, ('contaminated',))
    >>> found.columns["name"].type, found.columns["name"].n_null
    ('string', 5000)
    """
    started = time.perf_counter()
    options = MeanOptions(
        fine=fine, missing=missing, on_bad_file=on_bad_file, confidence_level=confidence_level
    )
    check_count("batch_rows", batch_rows)
    seed, shown = resolve_seed(rng)
    source, read, kinds = open_columns(data, columns, by, where, missing, batch_rows, storage_options)
    place = place_of(source.in_memory, client, workers, scheduler, threads)
    share = column_share(source, read)
    load = load_kernels if worth_compiling(source.files, share) else None
    with connect(*place, memory_limit, load=load) as executor:
        plan = plan_describe(source, read, kinds, options, seed, executor, progress, share)
        state, skipped = _run(plan, executor, progress)
        data_told = data_facts(plan.mean.files, skipped, source)
        run_told = run_facts(time.perf_counter() - started, shown, executor.threads)
        return describe_result(plan, state, data_told, run_told, source)


def _run(plan: DescribePlan, executor: Executor, progress: Progress | None) -> tuple[Any, list[SkippedFile]]:
    """Run the units; the merged state, and the files that were left out."""
    mean = plan.mean
    work = ReadAndReduce(
        mean.reader,
        plan.reduction,
        len(plan.by),
        mean.options.on_bad_file,  # type: ignore[arg-type]
        compiled=mean.reduction.compiled,
    )
    merge, grows = plan.reduction.merge, plan.reduction.units is not None
    found = run_units(work, mean.units, merge, executor, progress=progress, grows=grows)
    skipped = [*mean.skipped, *found.skipped]
    check_state(found.state, skipped, filtered=mean.reader.options.where is not None)
    return found.state, skipped


def explain_describe(data: Any, columns: Names = None, **options: Any) -> dict[str, Any]:
    """The plan of `distmom.describe` for the same arguments: files, bytes, units, memory, columns.

    Footers are read as a run would, no rows but the first ones of columns of times; no worker is started.
    """
    wanted = arguments_of(describe, data, columns, **options)
    chosen = MeanOptions(**{k: wanted[k] for k in ("fine", "missing", "on_bad_file", "confidence_level")})
    check_count("batch_rows", wanted["batch_rows"])
    seed, shown = resolve_seed(wanted["rng"])
    source, read, kinds = open_columns(
        data, columns, *(wanted[k] for k in ("by", "where", "missing", "batch_rows", "storage_options"))
    )
    with imagined_place(wanted, in_memory=source.in_memory) as executor:
        share = column_share(source, read)
        plan = plan_describe(source, read, kinds, chosen, seed, executor, None, share)
        told = plan.describe(executor)
    told["seed"] = shown
    told["skipped"] = [s._asdict() for s in plan.mean.skipped]
    return told
