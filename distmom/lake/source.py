"""What every source of rows offers: its files, and a reader that turns a file into batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from distmom.numerics.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from distmom.lake.columns.times import TimeScale
    from distmom.lake.extent import Extent
    from distmom.lake.filters import Filter

BATCH_ROWS = 98_304
"""Three quarters of a leaf. PyArrow gives an array room for the next power of two, and where a batch ends it
reads the levels of the whole page: an array of exactly a power of two would have to move, which costs a tenth
of the time of decoding."""

PartitionType = Literal["int", "text", "date", "bool", "float", "decimal", "timestamp", "zoned"]
"""Those of folders are the first two; the log of a table gives all of them."""


@dataclass(frozen=True, slots=True)
class FileRef:
    """One file of a listing: what labels, messages and tasks need to know about it.

    Parameters
    ----------
    path : str
        Path below the root of the listing, with ``/`` between the parts, NFC, percent-decoded: the key of
        the rows' labels and the name in messages; ``""`` for data in memory.
    size : int
        Bytes when listed.
    mtime_ns : int
        Modification time when listed, nanoseconds since 1970.
    partition : tuple of str or None
        Values of the ``key=value`` folders, in the order of the listing's ``partition_names``; None for
        ``__HIVE_DEFAULT_PARTITION__``.
    location : str, optional
        The path to open, only where it is not ``root + "/" + path``.
    n_rows : int, optional
        Rows, where a table's log tells them.
    """

    path: str
    size: int
    mtime_ns: int
    partition: tuple[str | None, ...] = ()
    location: str | None = None
    n_rows: int | None = None

    def __reduce__(self) -> tuple[type[FileRef], tuple[object, ...]]:
        return FileRef, (self.path, self.size, self.mtime_ns, self.partition, self.location, self.n_rows)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read of each file.

    Parameters
    ----------
    columns : tuple of str
        Columns whose values are wanted, as float64; times as numbers on the scales in `times`.
    by : tuple of str
        Columns whose values are keys of groups, as Arrow arrays.
    units : tuple of str
        Columns whose values are keys of units that stay together, as Arrow arrays.
    where : Filter, optional
        Condition that a row must meet to count.
    missing : {"error", "null"}
        What a file without an asked column means: an error, or a column of nulls.
    batch_rows : int
        Rows of a batch.
    vectors : tuple of (str, int), optional
        The list columns among them, and the length that all their lists have; 0 asks for the lengths
        themselves in place of the elements. None refuses list columns; an empty tuple allows them, and
        `Source.reader` fills it in.
    present : tuple of str
        Columns of which it is only asked where they are null, whatever they hold.
    times : tuple of (str, TimeScale or None)
        What the numbers of columns mean: the scale of one of times, None for other values; a column that is
        null throughout is not among them. `Source.reader` fills it in; what is given stays, so that sums of
        several runs count from the same day.
    """

    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    where: Filter | None = None
    missing: Literal["error", "null"] = "error"
    batch_rows: int = BATCH_ROWS
    vectors: tuple[tuple[str, int], ...] | None = None
    units: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    times: tuple[tuple[str, TimeScale | None], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are asked for, each once."""
        where = self.where.columns if self.where is not None else ()
        return tuple(dict.fromkeys((*self.columns, *self.by, *self.units, *self.present, *where)))

    @property
    def scales(self) -> dict[str, TimeScale]:
        """Scales of the columns that hold dates, timestamps or durations."""
        return {name: scale for name, scale in self.times if scale is not None}

    @property
    def value_names(self) -> tuple[str, ...]:
        """Names of the values of a row: those of the columns, ``v[0]``, ``v[1]``, … for a list column."""
        widths = dict(self.vectors or ())
        return tuple(
            value
            for name in self.columns
            for value in ([f"{name}[{i}]" for i in range(widths[name])] if widths.get(name) else [name])
        )


@dataclass(slots=True)
class Batch:
    """Consecutive rows of one file.

    Attributes
    ----------
    start : int
        Row number, in the file, of the first row.
    n_rows : int
        Number of rows.
    values : tuple of (n_rows,) float64
        One array for each of the options' `value_names`, C-contiguous; may be a read-only view of Arrow
        memory. Where a value is missing it holds anything.
    valid : tuple of (n_rows,) bool, or None
        Which values are not null; None where none is. NaN is a value, not a null.
    keep : (n_rows,) bool, optional
        Rows for which the filter's condition is true; None without a filter.
    keys : tuple of pyarrow.Array
        The ``by`` columns.
    n_bytes : int
        Compressed bytes of the file that these rows stand for; they add up to the bytes read of it.
    units : tuple of pyarrow.Array
        The ``units`` columns.
    present : tuple of (n_rows,) bool, or None
        Of the ``present`` columns, which rows are not null; None where none is.
    """

    start: int
    n_rows: int
    values: tuple[Floats, ...]
    valid: tuple[Bools | None, ...]
    keep: Bools | None
    keys: tuple[pa.Array, ...]
    n_bytes: int
    units: tuple[pa.Array, ...] = ()
    present: tuple[Bools | None, ...] = ()


class Unsent(dict[str, Any]):
    """What a source or reader remembers in this process, and does not take along to workers."""

    def __reduce__(self) -> tuple[type[Unsent], tuple[()]]:
        return Unsent, ()


class BatchReader:
    """Reads files of one source; small and picklable, so that it can go to workers.

    Attributes
    ----------
    options : ReadOptions
        What is read.
    """

    if TYPE_CHECKING:  # a field or a property

        @property
        def options(self) -> ReadOptions: ...  # noqa: D102

    def batches(self, file: FileRef, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Batches of the rows ``[start, stop)`` of a file, in order."""
        raise NotImplementedError

    def batches_holding(self, file: FileRef, rows: Ints) -> Iterator[Batch]:
        """Batches that hold these rows (ascending, at least one), and as few others as can be."""
        return self.batches(file, int(rows[0]), int(rows[-1]) + 1)

    def excludes(self, file: FileRef) -> bool:
        """Whether the filter drops every row of the file, as its partition values tell."""
        return False


class Source:
    """Files (or one array in memory) with named columns.

    Attributes
    ----------
    files : tuple of FileRef
        The files, sorted by path.
    in_memory : bool
        Whether the rows are in this process, so that no other should read them.
    one_pass : bool
        Whether the rows can be read only once.
    partition_names : tuple of str
        Names of the columns that the folders' names give.
    """

    if TYPE_CHECKING:  # fields

        @property
        def files(self) -> tuple[FileRef, ...]: ...  # noqa: D102
        @property
        def partition_names(self) -> tuple[str, ...]: ...  # noqa: D102

    else:
        partition_names = ()
    in_memory = False
    one_pass = False

    def schema(self) -> pa.Schema:
        """Columns of the first readable file, and the partition columns."""
        raise NotImplementedError

    def row_counts(self, files: Sequence[FileRef] | None = None) -> Ints:
        """Rows of each file."""
        raise NotImplementedError

    def extent(self, names: Collection[str]) -> Extent | None:
        """How large the largest file is, and these columns there; None where nothing tells."""
        return None

    def reader(self, options: ReadOptions) -> BatchReader:
        """A reader of these columns, after a check of their names and types."""
        raise NotImplementedError
