"""The common base of results: as a dictionary, as rows of a table, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from distmom.checks import check_choice
from distmom.errors import DoubtfulResultError
from distmom.remedies import Remedies
from distmom.report.attributes import with_attributes
from distmom.report.digits import three
from distmom.report.values import plain, same
from distmom.report.words import number
from distmom.status import RETIRED_STATUSES, Status

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from distmom.report.page.figure import Figure
    from distmom.report.page.telling import Telling
    from distmom.report.results import Results

INTERVALS = frozenset(("interval", "plain_interval", "lift_interval", "control_interval", "variant_interval"))
"""Fields of all kinds of results that are pairs of ends, or None."""

REMEDY = "look into its notes and report before its numbers are used"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result:
    """Base of the kinds of results.

    Attributes
    ----------
    group : dict or None
        Values of the `by` columns; None without groups.
    estimate : object
        The answer.
    confidence_level : float
        The requested level.
    status : Status
        ``"ok"``, or the most serious finding, as text.
    flags : tuple of Status
        All findings, the most serious first; empty if `ok`.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows that passed the filter; rows used in the blocks, infinite values included; missing values.
    notes : tuple of str
        Notices, such as a reduced number of blocks.
    data, run : dict
        What was read and how, as in `Results`: skipped files, and the seed that reproduces the run.
    """

    group: dict[str, Any] | None = None
    estimate: Any
    confidence_level: float = 0.99
    status: Status = Status.OK
    flags: tuple[Status, ...] = ()
    n_rows: int
    n_used: int
    n_null: int
    n_nan: int
    n_inf: int
    notes: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)

    shown: ClassVar[tuple[str, ...]]
    """Fields of the dictionary, in order."""
    kind: ClassVar[str] = "Result"
    """Its kind, as the title of a report."""
    told_by: ClassVar[str] = "telling.told"
    """The function of ``distmom.report.page`` that presents it in words, figures and pictures."""
    several: ClassVar[str] = "columns"
    """Title of several of them."""
    drawn: ClassVar[tuple[str, str]] = ("means", "sample mean")
    """In a picture: what the values of blocks are, and the name of the plain estimate."""
    remedies: ClassVar[Remedies] = Remedies()
    """The options of its command that advice may name."""

    def __post_init__(self) -> None:
        if self.flags and self.status is Status.OK:  # one of the words for a place, or the first flag
            object.__setattr__(self, "status", self.flags[0])

    def __init_subclass__(cls) -> None:
        cls.__doc__ = with_attributes(cls.__doc__, cls.__mro__[1].__doc__)

    @property
    def numbers(self) -> Self:
        """The result in numbers: itself, or for times the result in nanoseconds."""
        return getattr(self, "offsets", None) or self

    @property
    def name(self) -> str:
        """What the result describes, in tables and messages."""
        raise NotImplementedError

    @property
    def heading(self) -> str:
        """Header of the names of the lines on the terminal."""
        return "column"

    @property
    def ok(self) -> bool:
        """Whether nothing needs the reader's attention."""
        return self.status.fine and not self.flags

    @property
    def marked(self) -> bool:
        """Whether tables highlight it."""
        return not self.ok

    @property
    def words(self) -> str:
        """Status and flags on one line."""
        return "; ".join(dict.fromkeys((self.status, *self.flags)))

    def raise_if(self, *statuses: str) -> Self:
        """Return the result itself, unless its status or one of its flags is one of these words.

        Parameters
        ----------
        *statuses : str or Status
            Such as ``"contaminated"`` or ``"files disagree"``; without arguments, any status that is not
            `ok`.

        Raises
        ------
        DoubtfulResultError
            If one of them applies.
        ConfigError
            If a word is not a status.

        Examples
        --------
        >>> import numpy as np
        >>> import distmom as dm
        >>> found = dm.mean(np.arange(1000.0), rng=0).raise_if("contaminated", "files disagree")
        >>> found.ok
        True
        """
        for word in statuses:
            check_choice("raise_if", word, tuple(map(str, Status)), RETIRED_STATUSES)
        mine = {self.status, *self.flags}
        if mine.intersection(statuses) or (not statuses and not self.ok):
            keys = [f"{key}={value!r}" for key, value in (self.group or {}).items()]
            title = ", ".join([self.name, *keys])
            raise DoubtfulResultError(f"{title}: the status is {self.words!r}; {REMEDY}")
        return self

    @property
    def level(self) -> str:
        """The confidence level in percent."""
        return f"{100 * self.confidence_level:.6g}%"

    def records(self) -> list[dict[str, Any]]:
        """Flat rows of the Arrow table, without group columns."""
        raise NotImplementedError

    def flat(self, *names: str) -> dict[str, Any]:
        """Fields as columns of a table: an interval or size as its two ends, several texts as one."""
        record: dict[str, Any] = {}
        for name in names:
            value = getattr(self, name)
            if name in INTERVALS:
                record[f"{name}_low"], record[f"{name}_high"] = value or (None, None)
            elif name == "block_size":
                record["block_size_min"], record["block_size_max"] = value
            else:
                record[name] = "; ".join(value) if name in ("flags", "notes") else value
        return record

    def headers(self) -> tuple[str, ...]:
        """Headers of the numbers on the terminal."""
        raise NotImplementedError

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:
        """Lines on the terminal: what each describes, and its numbers; the status is on the first."""
        raise NotImplementedError

    def left_out(self) -> dict[str, int]:
        """Missing and infinite values, and other rows that did not count, by names for readers."""
        return {"null": self.n_null, "NaN": self.n_nan, "infinite": self.n_inf}

    def remarks(self) -> list[str]:
        """What a reader should know besides the numbers."""
        return list(self.notes)

    def said_as(self, said: Callable[[str], str]) -> Self:
        """The same with reworded notes and reasons, such as flags of a command for parameters."""
        told: dict[str, Any] = {"notes": tuple(map(said, self.notes))}
        for one in fields(self):
            if one.name.endswith("_reason") and getattr(self, one.name):
                told[one.name] = said(getattr(self, one.name))
        changed = any(text != getattr(self, name) for name, text in told.items())
        return replace(self, **told) if changed else self

    def telling(self) -> Telling:
        """The result in words, figures and pictures, as in reports."""
        module, _, name = self.told_by.partition(".")
        telling: Telling = getattr(import_module(f"distmom.report.page.{module}"), name)(self)
        return telling

    def plot(self) -> Figure:
        """Draw the result with the pictures of its report.

        For a number: the values of the blocks with estimate, interval and plain estimate, and the estimate
        for every number of blocks that was tried.

        Returns
        -------
        Figure
            A notebook shows it; ``.save("mean.svg")`` writes it, ``.svg`` is its text.
        """
        from distmom.report.page.figure import figure

        told = self.telling()
        return figure(told.pictures, f"{told.heading}: {self.words}")

    def shown_values(self) -> tuple[str, str, str]:
        """Estimate, interval and plain estimate of a number, with the digits that the interval supports."""
        numbers: Any = self
        if (scale := getattr(self, "scale", None)) is None:
            return three(numbers.estimate, numbers.interval, numbers.plain_estimate)
        from distmom.report.times import shown

        return shown(numbers.numbers, scale)

    def shown_number(self, value: float) -> str:
        """A value of the column, formatted for people."""
        if (scale := getattr(self, "scale", None)) is None:
            return number(value)
        from distmom.report.times import readable

        return readable(scale, value, 3)

    def _repr_html_(self) -> str:
        return self._alone()._repr_html_()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.shown)})"

    def __str__(self) -> str:
        return str(self._alone())

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, as in the JSON output: non-finite numbers become None."""
        return {name: plain(getattr(self, name)) for name in self.shown}

    def to_arrow(self) -> pa.Table:
        """A table of this result alone; see `Results.to_arrow`."""
        return self._alone().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame of this result alone; see `Results.to_arrow` for its columns."""
        return self._alone().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """A Polars frame of this result alone; see `Results.to_arrow` for its columns."""
        return self._alone().to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table of this result alone, for ``pl.DataFrame(result)`` and others; see `Results.to_arrow`."""
        return self._alone().__arrow_c_stream__(requested_schema)

    def __eq__(self, other: object) -> bool:
        """Whether two results agree in everything, bit for bit (NaN equals NaN).

        `data` and `run` do not count, nor do findings from a row sample alone: states keep a smaller sample.
        """
        if type(self) is not type(other):
            return NotImplemented
        names = (f.name for f in fields(self) if f.name not in ("data", "run", "without_extremes"))
        return all(same(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((type(self), self.name, self.status, self.n_rows, self.n_used))

    def _alone(self) -> Results:
        from distmom.report.results import Results

        return Results.of(self)
