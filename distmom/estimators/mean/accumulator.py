"""The public accumulator: a robust mean of rows as they arrive."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

from distmom.checks import names_of
from distmom.designs.blocks import Blocks, as_design
from distmom.errors import ConfigError, DataError
from distmom.estimators.mean.blocks import fixed_by
from distmom.estimators.mean.fingerprint import STREAMS, Made, with_times_of
from distmom.estimators.mean.manifest import Ledger, Numbered
from distmom.estimators.mean.plan import MeanPlan, check_weights
from distmom.estimators.mean.row_stream import (
    RowStream,
    check_rows,
    reader_of_batch,
    with_batch,
    with_lists_of,
)
from distmom.estimators.mean.state import KIND, SavedMean, check_alike
from distmom.estimators.mean.without_data import NoData, answer, plan_without_data
from distmom.estimators.options import MeanOptions
from distmom.lake.filters import parse_filter
from distmom.lake.memory.memory_lake import open_memory
from distmom.lake.source import FileRef, ReadOptions
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.opening import key_columns, unit_columns
from distmom.passes.scan import Scan
from distmom.reductions.stream import StreamState
from distmom.report import MeanResult, Results, VectorResult
from distmom.state import Saved
from distmom.state.container import read_container, write_container

COMPILED_ROWS = 1 << 20
"""Compiled kernels are used from this number of rows on: importing them takes half a second."""


class MeanAccumulator:
    """The robust mean of a stream: rows are added as they arrive, and the result is available at any time.

    It estimates the same as `distmom.mean`, assuming independent rows of finite variance.

    Parameters
    ----------
    columns : str or sequence of str
        Columns to average. A one-dimensional array is the column ``"x"``; the columns of a two-dimensional
        array are ``"0"``, ``"1"``, …
    by : str or sequence of str, optional
        Columns whose values form groups.
    where : str, optional
        Condition; only rows for which it is true are used.
    weights, blocks, contamination, interval, confidence_level
        As for `distmom.mean`. Options that depend on the number of rows are refused, because it is unknown
        for a stream.
    nan : {"omit", "raise", "keep"}
        As for `distmom.scan`.
    joint : bool or {"geometric", "coordinatewise"}
        As for `distmom.mean`. Which columns hold lists, and how long they are, is read from the first batch
        with rows: from its type if the size is fixed, else from its first vector that counts.
    rng : int, SeedSequence, Generator or None
        Seed of all random draws. Accumulators can be merged only if they have the same seed.
    name : str
        Name of the stream: it takes the place of a file's path, keys the draws together with the seed, and
        must differ between streams that are merged.

    Raises
    ------
    ConfigError
        If an option is wrong or depends on the number of rows.

    Notes
    -----
    The result depends only on the rows and their order, not on the batches. It is bit-for-bit that of
    `distmom.mean` for a file with this name and these rows (an array in memory has the name ""). Times are
    counted from a day in the middle of the first batch that has any; a first batch of 1,024 rows gives
    identical bits.

    Memory: at most one state (the sums of each column and group) per binary digit of the number of leaves of
    131,072 rows, and the rows of the current leaf (of eight leaves with groups).

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> x = np.random.default_rng(0).exponential(size=10_000)
    >>> x[::1000] = 1e9
    >>> stream = dm.MeanAccumulator("x", rng=0)
    >>> for start in range(0, 10_000, 700):
    ...     stream.update(x[start : start + 700])
    >>> stream.result() == dm.mean(x, rng=0)
    True
    >>> again = dm.MeanAccumulator.from_bytes(stream.to_bytes())
    >>> round(again.result().estimate, 2)
    1.01
    """

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        by: str | Sequence[str] | None = None,
        where: str | None = None,
        weights: str | None = None,
        joint: bool | str = False,
        blocks: Blocks = "auto",
        contamination: int | float | None = None,
        nan: str = "omit",
        interval: str = "auto",
        confidence_level: float = 0.99,
        rng: Any = None,
        name: str = "",
    ) -> None:
        options = MeanOptions(
            as_design(blocks),
            contamination=contamination,
            weights=weights,
            joint=joint,
            nan=nan,
            interval=interval,
            confidence_level=confidence_level,
        )
        fixed = fixed_by(options)
        if fixed is not None:
            raise ConfigError(
                f"{fixed} depends on the number of rows, which is unknown for a stream; drop it"
            )
        if not isinstance(name, str):
            raise ConfigError(f"name: must be a text, not {name!r}")
        values = names_of("columns", columns)
        if not values:
            raise ConfigError("columns: name the columns to average")
        keys = key_columns(by, values)
        condition = None
        if where is not None:
            if not isinstance(where, str):
                raise ConfigError(f"where: must be a text here, not {type(where).__name__}")
            condition = parse_filter(where)
        seed, shown = resolve_seed(rng)
        read = ReadOptions(
            values if weights is None else (*values, weights),
            keys,
            condition,
            vectors=() if options.joint else None,
            units=unit_columns(options.design.columns, values),
        )
        made = Made.of(options, NoData(read), (STREAMS,), seed, shown)
        self._begin(made, name, Ledger(), None)

    def _begin(self, made: Made, name: str, others: Ledger, saved: StreamState | None) -> None:
        """Start, or continue from a saved stream; `others` are the streams merged so far, as a base."""
        self.name, self._made, self._others = name, made, others
        plan = plan_without_data(made, [(0, FileRef(name, 0, 0))])
        self._sums = plan.sums
        self._stream = RowStream(made, name, plan.reduction, plan.leaf_rows, saved)

    def _files(self) -> list[FileRef]:
        """Streams as files, for the facts about the data."""
        return [FileRef(self.name, self.n_rows, 0), *(file for _, file in self._others.base_files)]

    @property
    def n_rows(self) -> int:
        """Rows added to this stream so far."""
        return self._stream.n_rows

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the streams: this one's, and those merged into it."""
        return tuple(file.path for file in self._files())

    def __repr__(self) -> str:
        return f"<MeanAccumulator {self.name!r}: {self.n_rows:,} rows>"

    def update(self, batch: Any) -> None:
        """Add the next rows.

        Parameters
        ----------
        batch : Arrow table or batch, NumPy array, mapping of columns, or data frame
            Must have the named columns. It is not kept, and may be changed afterwards.

        Raises
        ------
        ConfigError
            If its type is not supported, or it lacks a column.
        DataError
            If a column cannot be averaged or has a NaN under ``nan="raise"``, a weight is negative or
            infinite, or lists differ in length or their length cannot be determined. No row is added then.
        """
        if isinstance(batch, (str, bytes)) or hasattr(batch, "__fspath__"):
            raise ConfigError("batch: give rows, not a path; dm.mean reads files")
        if isinstance(batch, Scan):
            raise ConfigError("batch: give rows, not a scan; dm.mean reads files")
        data, options, where = open_memory(batch), self._made.options, self._made.where
        known = replace(self._made.read, where=None if where is None else parse_filter(where))
        reader = reader_of_batch(data, known, begun=self._has_rows)
        read = with_batch(known, data, reader)
        if not data.n_rows:
            return
        check_weights(options, read)
        file = data.files[0]
        if options.nan == "raise" or read.where is not None or options.weights is not None or read.vectors:
            for found in reader.batches(file):  # anything that can fail must fail before a row is added
                check_rows(found, read, self._stream.reduction)
        self._go_on(replace(self._made, read=replace(read, where=None)))
        if self.n_rows + data.n_rows >= COMPILED_ROWS:
            self._stream.reduction = replace(self._stream.reduction, compiled=True)
        self._stream.read(reader, file, data.n_rows)

    @property
    def _has_rows(self) -> bool:
        """Whether any stream has rows, which show the columns that contain lists."""
        return any(file.size for file in self._files())

    def _go_on(self, made: Made) -> None:
        """Read like this from now on; once list lengths are known, before any row, sums change columns."""
        if made.read.vectors != self._made.read.vectors:
            self._begin(made, self.name, self._others, None)
        self._made = made

    def merge(self, other: MeanAccumulator) -> None:
        """Add the rows of another accumulator, with all that was merged into it; the other is not changed.

        Order and direction of merges change sums only by rounding, and do not change counts.

        Raises
        ------
        ConfigError
            If its options or seed differ, or one of its streams has the name of a stream here.
        """
        if not isinstance(other, MeanAccumulator):
            raise ConfigError(f"other: must be a MeanAccumulator, not {type(other).__name__}")
        mine, theirs = self._saved(), other._saved("other:")
        if not self._has_rows:
            mine.made = with_lists_of(mine.made, theirs.made)
        elif not other._has_rows:
            theirs.made = with_lists_of(theirs.made, mine.made)
        check_alike(theirs, mine, "here", "use the same, and the same rng")
        both = sorted(set(self.names) & set(other.names))
        if both:
            raise ConfigError(
                f"other: both hold a stream named {both[0]!r}, so their rows would share random numbers, or "
                "be counted twice; give each stream its own name"
            )
        self._go_on(replace(mine.made, read=with_times_of(mine.made.read, theirs.made.read)))
        plan = self._plan()
        self._others.base = plan.joined(self._others.base, theirs.total(plan))
        self._others.base_files += [(0, file) for file in other._files()]

    def _saved(self, what: str = "") -> SavedMean:
        main = Numbered({0: FileRef(self.name, self.n_rows, 0)}, 1)
        ledger = Ledger(main=main, base=self._others.base, base_files=self._others.base_files)
        return SavedMean(what, self._made, self._sums, ledger, self._stream.saved())

    def _plan(self) -> MeanPlan:
        return plan_without_data(self._made, [(0, file) for file in self._files()])

    def result(self) -> MeanResult | VectorResult | Results:
        """The robust mean of all rows so far; more may be added afterwards.

        Returns
        -------
        MeanResult, VectorResult or Results
            A single result for one column (with `joint`, one vector) without groups; otherwise a sequence
            with one result per column and group.

        Raises
        ------
        NoAnswerError
            If there are no rows, or no finite answer.
        """
        started = time.perf_counter()
        plan = self._plan()
        total = plan.joined(self._stream.total(), self._others.base)
        return answer(plan, self._made, total, time.perf_counter() - started, sums="batches")

    def to_bytes(self) -> bytes:
        """The accumulator as bytes, from which `from_bytes` continues with bit-for-bit identical results.

        `distmom.merge_states` reads them from a file.
        """
        out = BytesIO()
        write_container(self._saved().saved().container(), out)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> MeanAccumulator:
        """The accumulator that `to_bytes` saved.

        Raises
        ------
        DataError
            If bytes are missing or altered, or the data come from another version or a run over files.
        """
        what = "the state of the accumulator"
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ConfigError(f"data: must be bytes, not {type(data).__name__}")
        saved = SavedMean.of(Saved.of(read_container(bytes(data), what), KIND, what), what)
        if saved.stream is None:
            raise DataError("data: is the state of a run over files, not of an accumulator; use merge_states")
        found = cls.__new__(cls)
        others = Ledger(base=saved.ledger.base, base_files=saved.ledger.base_files)
        found._begin(saved.made, saved.ledger.main.files[0].path, others, saved.stream)
        if found._sums != saved.sums:
            raise DataError("data: was made by another version of distmom, and cannot be continued here")
        saved.check(found._plan())
        return found
