"""The robust profile of a lake: the public function."""

from __future__ import annotations

from typing import Any, Literal

from distmom.designs.blocks import RandomBlocks, as_design
from distmom.designs.design import BlockDesign
from distmom.errors import ConfigError
from distmom.estimators.command import answer, command
from distmom.estimators.describe.question import DescribeQuestion
from distmom.estimators.options import MeanOptions
from distmom.passes.opening import Names
from distmom.passes.scan import as_scan
from distmom.report import DescribeResult


@command
def describe(
    data: Any,
    columns: Names = None,
    *,
    by: Names = None,
    where: Any = None,
    blocks: Literal["auto"] | RandomBlocks = "auto",
    confidence_level: float = 0.99,
    rng: Any = None,
    executor: Any = None,
) -> DescribeResult:
    """Robust profile of every column of a lake, and which files break it.

    For each column of numbers or times it gives counts, extremes, and the sample mean and standard deviation
    next to the robust ones. If the sample mean is outside the robust interval, it ranks the files, folders
    and units that cause the difference. It also names anomalous files (or units), even if they do not move
    the overall mean: another unit of measurement, a flipped sign, constants, swapped columns, missing values.
    For other columns it gives type, rows and nulls.

    Parameters
    ----------
    data : path, glob, list of paths, Arrow table, NumPy array, data frame, …, or Scan
        As for `distmom.mean`. Data in memory is one file. NaN is always left out and counted.
    columns : str or sequence of str, optional
        Columns to describe; by default all columns stored in the first readable file (without partition
        columns and `by`). Up to ten columns that are damaged in some file are then left out, and listed with
        the reason in ``data["left_out"]`` (exit code 4); a damaged column that is named here is an error.
    by : str or sequence of str, optional
        Columns whose values define units (a sensor, a customer): units are ranked and named like files.
        Profiles are still of all rows.
    where : str or pyarrow.compute.Expression, optional
        Condition; only rows for which it is true are used.
    blocks : "auto" or RandomBlocks
        ``RandomBlocks(fine="many")`` if scattered bad rows are expected; no other design is available.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).
    rng : int, SeedSequence, Generator or None
        Seed of all random draws.
    executor : Threads, Processes, Cluster, Dask client or address, optional
        As for `distmom.mean`.

    Returns
    -------
    DescribeResult
        A sequence of `ColumnProfile`, with `named`: anomalous files and units.

    Raises
    ------
    ConfigError, DataError, ResourceError
        As `distmom.mean`.
    NoAnswerError
        There are no rows.

    Notes
    -----
    One pass. Robust mean, interval and status are bit-for-bit those of `distmom.mean` with the same seed,
    unless a share of the rows is screened out: then mean, interval, standard deviation and Gini's difference
    are those of the remaining rows of a sample of 16,384.

    A file is named if one of its figures in a column is more than 8 robust standard deviations from the
    median over all files, and if the difference is material: another mean, unit, sign, constants, missing
    values. At least ten files are needed, and most of them must be good. The robust standard deviation is low
    for skewed distributions.

    Memory: the state of the means, the sample of each column, and a few numbers for each file and column.
    With more than 100,000 files, those of one folder are taken together, and the result says so.

    What exactly is compared, and how Gini's difference and the contributions are computed:
    :doc:`/statistics/profiles`.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> x = np.random.default_rng(0).exponential(size=10_000)
    >>> x[::1000] = 1e9
    >>> found = dm.describe({"x": x, "name": ["a", None] * 5_000}, rng=0)
    >>> profile = found.columns["x"]
    >>> round(profile.estimate, 1), profile.leaves_interval, profile.status
    (1.0, True, 'contaminated')
    >>> found.columns["name"].type, found.columns["name"].n_null
    ('string', 5000)
    """
    scan = as_scan(data, where)
    if scan.nan != "omit":
        raise ConfigError(f"nan: a profile counts NaN and leaves it out; drop nan={scan.nan!r} from the scan")
    options = MeanOptions.of(scan, _design(blocks), confidence_level=confidence_level)
    return answer(DescribeQuestion(scan, columns, by, options, rng=rng), executor)  # type: ignore[no-any-return]


def _design(blocks: Any) -> BlockDesign:
    """The design, if a profile supports it: random blocks of rows, with a number chosen by the data."""
    design = as_design(blocks)
    if design not in (RandomBlocks(), RandomBlocks(fine="many")):
        raise ConfigError(
            f"blocks: a profile takes 'auto' or RandomBlocks(fine='many'), not {blocks!r}; for another "
            "design use distmom.mean"
        )
    return design
