"""What every kind of result offers: as a dictionary, as rows of a table, as lines for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from dataclasses import Field

    import pyarrow as pa

    from distmom.report.page.figure import Figure
    from distmom.report.page.telling import Telling
    from distmom.report.results import Results

INTERVALS = frozenset(("interval", "plain_interval", "lift_interval", "control_interval", "variant_interval"))
"""Fields of all kinds of results that are two ends, or None."""


class Result:
    """Base of the kinds of results, which are frozen dataclasses with these fields and fields of their own.

    Attributes
    ----------
    group : dict or None
        The values of the `by` columns; None where there are no groups.
    confidence_level : float
    status : tuple of str
        ``("ok",)``, or what is wrong, the most serious first.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows that passed the filter; those that entered the blocks (infinities do); missing ones.
    notes : tuple of str
    data, run : dict
        What was read and how, as in `Results`.
    """

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    shown: ClassVar[tuple[str, ...]]
    """Fields of the dictionary, in order."""
    kind: ClassVar[str] = "Result"
    """What it is, as the title of a report."""
    drawn: ClassVar[tuple[str, str]] = ("means", "plain mean")
    """In a picture, what blocks have, and what the plain estimate is called."""

    group: dict[str, Any] | None
    estimate: Any
    confidence_level: float
    status: tuple[str, ...]
    n_rows: int
    n_used: int
    n_null: int
    n_nan: int
    n_inf: int
    notes: tuple[str, ...]
    data: dict[str, Any]
    run: dict[str, Any]

    @property
    def name(self) -> str:
        """What the result is of, in tables and messages."""
        raise NotImplementedError

    @property
    def heading(self) -> str:
        """What stands above the names of the lines on the terminal."""
        return "column"

    @property
    def doubtful(self) -> bool:
        """Whether the status says something that a reader should not overlook."""
        return self.status != ("ok",)

    def records(self) -> list[dict[str, Any]]:
        """Flat rows of the Arrow table, group columns apart."""
        raise NotImplementedError

    def flat(self, *names: str) -> dict[str, Any]:
        """Fields as columns of a table: an interval or size by its two ends, texts as one."""
        record: dict[str, Any] = {}
        for name in names:
            value = getattr(self, name)
            if name in INTERVALS:
                record[f"{name}_low"], record[f"{name}_high"] = value or (None, None)
            elif name == "block_size":
                record["block_size_min"], record["block_size_max"] = value
            else:
                record[name] = "; ".join(value) if name in ("status", "notes") else value
        return record

    def headers(self) -> tuple[str, ...]:
        """Headers of the numbers on the terminal."""
        raise NotImplementedError

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:
        """Lines on the terminal: what each is of, and its numbers; the status goes to the first."""
        raise NotImplementedError

    def left_out(self) -> dict[str, int]:
        """Missing and infinite values, and other rows that did not count, by what a reader calls them."""
        return {"null": self.n_null, "NaN": self.n_nan, "infinite": self.n_inf}

    def remarks(self) -> list[str]:
        """What a reader should know beside the numbers."""
        return list(self.notes)

    def telling(self) -> Telling:
        """The result in words, figures and pictures, as reports show it."""
        from distmom.report.page.telling import told

        return told(self)

    def plot(self) -> Figure:
        """Draw the result with the pictures of its report.

        Of a number: the values of the blocks with estimate, interval and plain estimate, and the estimate at
        every number of blocks that was tried.

        Returns
        -------
        Figure
            A notebook shows it; ``.save("mean.svg")`` writes it, ``.svg`` is its text.
        """
        from distmom.report.page.figure import figure

        told = self.telling()
        return figure(told.pictures, f"{told.heading}: {'; '.join(self.status)}")

    def shown_values(self) -> tuple[str, str, str]:
        """Estimate, interval and plain estimate of a number, with the digits that the interval supports."""
        from distmom.report.digits import three

        numbers: Any = self
        return three(numbers.estimate, numbers.interval, numbers.plain_estimate)

    def _repr_html_(self) -> str:
        return self._alone()._repr_html_()

    def __str__(self) -> str:
        return str(self._alone())

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, as in the JSON output: numbers that are not finite become None."""
        return {name: plain(getattr(self, name)) for name in self.shown}

    def to_arrow(self) -> pa.Table:
        """A table of this result alone; see `Results.to_arrow`."""
        return self._alone().to_arrow()

    def same_bits(self, other: Result) -> bool:
        """Whether two results agree in every number, bit for bit (NaN equals NaN); `data` and `run` apart."""
        names = (name for name in self.__dataclass_fields__ if name not in ("data", "run"))
        return type(self) is type(other) and all(
            _same(getattr(self, name), getattr(other, name)) for name in names
        )

    def _alone(self) -> Results:
        from distmom.report.results import Results

        return Results.of(self)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        # the sign of a NaN depends on how it arose, and means nothing
        if a.dtype.kind == b.dtype.kind == "f":
            a, b = (np.where(np.isnan(v), np.nan, v) for v in (a, b))
        return bool(a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, Result):
        return isinstance(b, Result) and a.same_bits(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()  # tells 0.0 from -0.0, and takes NaN for NaN
    return bool(type(a) is type(b) and a == b)


def plain(value: Any) -> Any:
    """The value as JSON can carry it: no NaN or infinity, dates as ISO text, tuples and arrays as lists."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        from distmom.lake.columns.times import duration_text

        return duration_text(value // timedelta(microseconds=1), 10**6)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
