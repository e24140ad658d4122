"""A lake in random order: the public function."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.cluster import Unit, UnitMerger, check_memory, connect, plan_units, run_units
from distmom.cluster.memory import in_words
from distmom.cluster.scratch import temporary_folder
from distmom.errors import ConfigError, ResourceError
from distmom.estimators.shuffle.work import (
    Spilled,
    SpillRows,
    Survey,
    SurveyFiles,
    WriteBucket,
    Written,
)
from distmom.estimators.versions import versions
from distmom.lake import open_lake
from distmom.lake.files import footers
from distmom.lake.files.listing import would_list
from distmom.lake.files.stores import address_of
from distmom.lake.saved.parquet_out import WriteStyle
from distmom.lake.saved.spill import run_bytes
from distmom.lake.whole_rows import WholeRows, plain_array
from distmom.numerics.random.philox import resolve_seed
from distmom.numerics.random.shuffle import bucket_bits
from distmom.report.shuffle_result import ShuffleResult

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import Lake

BUCKET_BYTES = 32_000_000
"""Arrow bytes of the rows that are ordered together, and go to one file."""

UNIT_BYTES, MOST_UNITS = 32_000_000, 256
"""Parts of the lake that are spilled together: as in a mean, larger where there would be too many."""

SAMPLED_FILES, SAMPLED_ROWS = 8, 4_096
"""Rows that tell how many bytes one takes."""

COPIES_SPILLED, COPIES_WRITTEN = 3, 5
"""Copies of the rows that are sorted, and of those that are ordered and written, at the same time."""

SMALL_ROWS = 1 << 20
"""Below so many rows NumPy does the work: compiled kernels would take longer to load."""


@dataclass(frozen=True)
class ShufflePlan:
    """What is to be done, and what it takes."""

    reader: WholeRows
    units: tuple[Unit, ...]
    n_files: int
    n_rows: int
    n_bytes: int
    row_bytes: float
    same_nullable: bool
    style: WriteStyle

    @property
    def bits(self) -> int:
        """Bits of the number of a bucket; by the lake alone."""
        return bucket_bits(self.n_rows * self.row_bytes, BUCKET_BYTES)

    @property
    def spilled_bytes(self) -> int:
        """Bytes on disk meanwhile."""
        return int(1.05 * self.n_rows * self.row_bytes) + 100_000 * len(self.units)

    @property
    def written_bytes(self) -> int:
        """Bytes of the new lake, more than it will probably have: random order compresses less."""
        return min(int(1.05 * self.n_rows * self.row_bytes), 3 * self.n_bytes) + 10_000

    @property
    def unit_memory(self) -> float:
        """Bytes of one unit at work."""
        bucket = self.n_rows * self.row_bytes / (1 << self.bits)
        run = min(run_bytes(1 << self.bits), self.n_rows * self.row_bytes)
        return 20e6 + max(COPIES_SPILLED * run, COPIES_WRITTEN * 1.1 * bucket)


def shuffle(
    data: Any,
    output: str | os.PathLike[str],
    *,
    rng: Any = None,
    scratch: str | os.PathLike[str] | None = None,
    client: Any = None,
    workers: int | None = None,
    scheduler: str | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    storage_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> ShuffleResult:
    """Write all rows of a lake to a new one, in an exactly uniform random order.

    Every one of the n! orders of the rows is equally likely. Blocks of consecutive rows of the new lake are
    random samples of the old one, so that what is cheap, or only right, for exchangeable rows
    (``order="stored"``, streaming mini-batches) may be used.

    Parameters
    ----------
    data : path, glob, list of paths or ``"@list.txt"``
        Parquet files with the same columns and types. Folders' keys (``key=value``) become columns.
    output : path
        Folder of the new lake; it must not exist, or be empty.
    rng : int, SeedSequence, Generator or None
        Decides the order, together with the listing, the files' numbers of rows and their size in memory.
    scratch : path, optional
        Folder for temporary files, about as large as the rows in memory; by default beside `output`. On a
        cluster both must be reachable by all workers.
    client, workers, scheduler, threads, memory_limit, storage_options, progress
        Where to run, as in `distmom.mean`.

    Returns
    -------
    ShuffleResult

    Raises
    ------
    ConfigError
        `output` exists or lies in the lake; the data is in memory.
    DataError
        A file is damaged or changed, or has other columns or types than the first one.
    ResourceError
        Disk or memory do not suffice, or what was written is not what was read. Nothing is left behind.

    Notes
    -----
    Each row is put into one of 2^b random buckets and spilled, sorted by bucket, to one Arrow IPC file for
    each part of the lake; then the rows of each bucket are put in order by Fisher and Yates' method and
    written. Memory is that of a few buckets of 32 MB for each thread, whatever the lake (above 130 GB buckets
    grow). The files are read once, the rows written twice.

    The new files are read again, and the number of rows and an order-free checksum (the sum of 64-bit hashes
    of all rows) compared with those read, before the new folder gets its name. Until then all files are in
    hidden folders beside `output` (and in `scratch`), which are removed also after errors and Ctrl-C.

    Types stay, nested ones too, and so do nulls, compression and the columns' metadata. Dictionary columns
    stay such, with one dictionary for all files (wider indices where one needs them); dictionaries inside of
    lists and structs become plain values.

    The same data and seed give the same rows in the same files on any number of threads or workers.

    References
    ----------
    Knuth, The Art of Computer Programming 2, 3.4.2, algorithm P (Fisher & Yates 1938).

    Examples
    --------
    >>> import tempfile, pathlib, pyarrow as pa, pyarrow.parquet as pq
    >>> import distmom as dm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> pq.write_table(pa.table({"x": range(6)}), folder / "sorted.parquet")
    >>> found = dm.shuffle(folder / "sorted.parquet", folder / "mixed", rng=1)
    >>> found.n_rows, sorted(pq.read_table(folder / "mixed")["x"].to_pylist())
    (6, [0, 1, 2, 3, 4, 5])
    """
    started = time.perf_counter()
    seed, shown = resolve_seed(rng)
    target = _target(data, output)
    lake = open_lake(data, storage_options=storage_options)
    reader = WholeRows.of(lake)  # type: ignore[arg-type]
    where = scratch or target.parent
    with (
        temporary_folder(target.parent, f".{target.name}.") as beside,
        connect(client, workers, scheduler, threads, memory_limit, scratch=where) as executor,
    ):
        plan = _plan(lake, reader, executor)  # type: ignore[arg-type]
        _check_resources(plan, executor, target.parent)
        spills = executor.scratch.folder(f".{target.name}.spill.")
        found = _run(plan, seed, executor, spills, beside, progress)
        n_threads = executor.threads
        _rename(beside, target)
    return ShuffleResult(
        output=str(target),
        n_rows=found.n_rows,
        n_files=found.n_files,
        n_bytes=found.n_bytes,
        checksum=f"{found.checksum:016x}",
        read_files=plan.n_files,
        read_bytes=plan.n_bytes,
        seconds=time.perf_counter() - started,
        seed=shown,
        workers=n_threads,
        versions=versions(),
    )


def explain_shuffle(
    data: Any,
    output: str | os.PathLike[str],
    *,
    rng: Any = None,
    scratch: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, object] | None = None,
    **run: Any,
) -> dict[str, Any]:
    """What `shuffle` would do and need; reads footers and a few rows."""
    _, shown = resolve_seed(rng)
    target = _target(data, output)
    lake = open_lake(data, storage_options=storage_options)
    reader = WholeRows.of(lake)  # type: ignore[arg-type]
    with connect(**run, scratch=scratch or target.parent) as executor:
        plan = _plan(lake, reader, executor)  # type: ignore[arg-type]
        return {
            "n_files": plan.n_files,
            "n_bytes": plan.n_bytes,
            "n_rows": plan.n_rows,
            "n_units": len(plan.units),
            "n_buckets": 1 << plan.bits,
            "disk_for_spilled_rows": f"{in_words(plan.spilled_bytes)} in {executor.scratch.parent}",
            "disk_for_the_new_lake": f"at most about {in_words(plan.written_bytes)} in {target.parent}",
            "projected_memory_per_process": in_words(plan.unit_memory * executor.threads_per_process),
            "threads": executor.threads,
            "seed": shown,
            "skipped": [],
        }


def _target(data: Any, output: str | os.PathLike[str]) -> Path:
    """The folder to write; ConfigError if it cannot be one."""
    if address_of(os.fspath(output)) is not None:
        raise ConfigError(
            "output: must be a folder on a local or shared disk, not in an object store; the data may be"
        )
    target = Path(os.path.abspath(output))  # noqa: PTH100  # not resolved: links stay as they are named
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ConfigError(f"output: {target} exists; name a new folder, or remove it")
    if not target.parent.is_dir():
        raise ConfigError(f"output: there is no folder {target.parent}; make it, or name another one")
    if would_list(data, target / "part-00000.parquet"):
        raise ConfigError(f"output: {target} lies in the lake that is read; name a folder outside of it")
    return target


def _plan(lake: Lake, reader: WholeRows, executor: Executor) -> ShufflePlan:
    """Count the rows, check that all files have the same columns, and cut the lake."""
    # footers are small whatever the files hold: cut by number of files alone
    units = plan_units(lake.files, unit_bytes=1 << 62, threads=executor.threads)
    survey: Survey = run_units(SurveyFiles(reader), units, Survey.followed_by, executor).state
    n_bytes = sum(file.size for file in lake.files)
    size = max(UNIT_BYTES, n_bytes // MOST_UNITS) if n_bytes > 4 * UNIT_BYTES else None
    rows = survey.rows.tolist()
    with footers.open_parquet(lake.filesystem, lake.root, lake.files[0]) as parquet:
        style = WriteStyle.of(parquet)
    return ShufflePlan(
        reader=reader,
        units=plan_units(lake.files, rows, threads=executor.threads, unit_bytes=size),
        n_files=len(lake.files),
        n_rows=int(survey.rows.sum()),
        n_bytes=n_bytes,
        row_bytes=_row_bytes(lake, reader, survey.rows),
        same_nullable=survey.same_nullable,
        style=style,
    )


def _row_bytes(lake: Lake, reader: WholeRows, rows: Any) -> float:
    """Bytes of a row in memory: the most over the first rows of a few files."""
    filled = np.flatnonzero(rows)
    if not filled.size:
        return 1.0
    chosen = filled[np.unique(np.linspace(0, filled.size - 1, SAMPLED_FILES).astype(int))]
    most = 1.0
    for number in chosen.tolist():
        for batch in reader.batches(lake.files[number], 0, SAMPLED_ROWS):
            held = sum(plain_array(column).nbytes for column in batch.columns)
            most = max(most, held / batch.num_rows)
            break
    return most


def _check_resources(plan: ShufflePlan, executor: Executor, target: Path) -> None:
    """ResourceError if disk or memory will not suffice."""
    check_memory(plan.unit_memory, executor.threads_per_process, executor.memory, "a bucket of rows")
    needed: dict[int, tuple[Path, int]] = {}
    for folder, n_bytes in ((target, plan.written_bytes), (executor.scratch.parent, plan.spilled_bytes)):
        device = folder.stat().st_dev
        needed[device] = folder, needed.get(device, (folder, 0))[1] + n_bytes
    for folder, n_bytes in needed.values():
        free = shutil.disk_usage(folder).free
        if free < n_bytes:
            raise ResourceError(
                f"{folder}: {in_words(n_bytes)} of disk are needed and {in_words(free)} are free; free some, "
                "or name another folder as scratch or output"
            )


def _run(
    plan: ShufflePlan, seed: int, executor: Executor, spills: Path, target: Path, progress: Progress | None
) -> Written:
    """Spill, join, and compare."""
    compiled = plan.n_rows >= SMALL_ROWS
    spill = SpillRows(plan.reader, str(spills), seed, plan.bits, compiled)
    spilled: Spilled = run_units(spill, plan.units, Spilled.followed_by, executor, progress=progress).state
    schema = plan.reader.schema
    if not plan.same_nullable:
        schema = _nullable(schema)
    write = WriteBucket(
        spilled.spills,
        str(target),
        seed,
        plan.bits,
        spilled.dictionaries.types(plan.reader.stored, schema),
        spilled.dictionaries,
        plan.style,
        compiled,
    )
    n_buckets = 1 << plan.bits
    units = [Unit(b, 0, b, (), n_bytes=spilled.n_bytes // n_buckets) for b in range(n_buckets)]
    merger: UnitMerger[Written] = UnitMerger(n_buckets, Written.followed_by)
    found: Written = run_units(
        write, units, Written.followed_by, executor, progress=progress, merger=merger
    ).state
    read = (plan.n_rows, spilled.checksum)
    if (spilled.n_rows, spilled.checksum) != read or (found.n_rows, found.checksum) != read:
        raise ResourceError(
            f"{found.n_rows:,} rows were written, with checksum {found.checksum:016x}, but {plan.n_rows:,} "
            f"read, with {spilled.checksum:016x}; nothing was kept: check memory and disk, and run again"
        )
    return found


def _nullable(schema: Any) -> Any:
    """The schema where any column may be null."""
    import pyarrow as pa

    return pa.schema([field.with_nullable(True) for field in schema], schema.metadata)


def _rename(beside: Path, target: Path) -> None:
    """Give the finished folder its name."""
    umask = os.umask(0)
    os.umask(umask)
    beside.chmod(0o777 & ~umask)
    try:
        beside.rename(target)  # also onto an empty folder
    except OSError as error:
        raise ResourceError(f"output: {target} cannot be made ({error.strerror})") from error
