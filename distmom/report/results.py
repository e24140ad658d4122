"""Several results at once: a sequence, a table, a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, overload

from distmom.checks import check_choice
from distmom.errors import ConfigError
from distmom.report.lookup import Label, place_of
from distmom.report.on_demand import OnDemand
from distmom.report.result import Result
from distmom.report.values import plain, same
from distmom.status import RETIRED_STATUSES, Status, listed_statuses
from distmom.words import counted

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from rich.table import Table

    from distmom.report.page.figure import Figure
    from distmom.report.page.parts import Story

SCHEMA_VERSION = 2

DONE, LEFT_OUT, NO_ANSWER, REFUSED = 0, 4, 5, 7

MOST_HELD = 20_000
"""Most results on demand that a report keeps, each of about 10 kB; beyond that each is made when needed."""

ANY = "any"
"""Stands for every status that is not fine."""


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", bound=Result, covariant=True, default=Result)
    S = TypeVar("S", bound=Result)
else:
    from typing import TypeVar

    R, S = TypeVar("R", bound=Result, covariant=True), TypeVar("S", bound=Result)


if TYPE_CHECKING:
    Several = Sequence
else:

    class Several(Generic[R]):
        """A sequence in all but name: Polars would unpack any `Sequence` instead of using its table."""


class Results(Several[R]):
    """Results of one run, in order of column and group.

    ``results[0]`` is the first one, ``results["UA"]`` that of a column or of a group's value, and
    ``results["fare", "UA"]`` that of both. Two `Results` are equal if all their numbers are equal bit for
    bit, and all other fields except `data` and `run`.

    Parameters
    ----------
    results : sequence of MeanResult or VectorResult
    data : dict
        What was read: ``source`` and ``where`` (the filter) as given, ``n_files``, ``n_bytes``,
        ``skipped`` (files left out, each with its reason); with a saved state also ``state``: its ``file``,
        ``n_files_before``, ``n_files_read``, and ``restarted`` (why everything was read again, or None).
    run : dict
        How it was run: ``seconds``, ``seed`` (pass it as `rng` to repeat the run), ``workers``, ``versions``,
        ``call`` (the function and its non-default arguments), ``again`` (its parts, for reports) and
        ``command`` (of the command line).
    """

    title: ClassVar[str] = "Robust means"
    told_by: ClassVar[str] = "story"
    """The module of ``distmom.report.page`` with their report and pictures."""
    apart: ClassVar[tuple[str, ...]] = ("data", "run")
    """Attributes that are not compared."""

    def __init__(self, results: Sequence[R], data: dict[str, Any], run: dict[str, Any]) -> None:
        self._results: Any = results if isinstance(results, OnDemand) else tuple(results)
        self.data = data
        self.run = run

    @staticmethod
    def of(found: S | Results[S]) -> Results[S]:
        """One result or several, always as `Results`: what a function returned whose data decide how many.

        `distmom.difference` gives one result for two variants and several for more, `distmom.compare` one for
        each column and statistic. Loops and type checkers need not tell these cases apart.

        Examples
        --------
        >>> import numpy as np
        >>> import distmom as dm
        >>> spent = {"amount": np.arange(1000.0), "arm": np.arange(1000) % 2}
        >>> found = dm.difference(spent, "amount", by="arm", rng=0)
        >>> [(one.variant, one.status) for one in dm.Results.of(found)]
        [(1, 'ok')]
        """
        return found if isinstance(found, Results) else Results([found], found.data, found.run)

    def said_as(self, said: Callable[[str], str]) -> Self:
        """The same with reworded notes and reasons, such as flags of a command for parameters."""
        other = copy(self)
        every = self._results
        many = isinstance(every, OnDemand)
        other._results = every.said_as(said) if many else tuple(result.said_as(said) for result in self)
        return other

    @property
    def exit_code(self) -> int:
        """The exit code of a program with these results: 0, 4 or 5.

        5 if any status is ``no rows``, ``no finite answer`` or ``breakdown point exceeded``; else 4 if files
        were skipped, or columns of a profile left out; else 0. If both apply, 5 takes precedence: an unusable
        number is more serious than a missing file.
        """
        if any(status.no_answer for status, _ in self._said()):
            return NO_ANSWER
        return LEFT_OUT if self.data.get("skipped") or self.data.get("left_out") else DONE

    @staticmethod
    def failing(*words: str) -> frozenset[str]:
        """Statuses with which a program should fail, one or several per text; ConfigError for other words.

        Examples
        --------
        >>> sorted(Results.failing("contaminated, sample mean, no guarantee", "any"))
        ['any', 'contaminated', 'sample mean, no guarantee']
        """
        found = {word for text in words for word in listed_statuses(text)}
        for word in found:
            check_choice("fail_on", word, (ANY, *map(str, Status)), RETIRED_STATUSES)
        return frozenset(found)

    def exit_code_if(self, fail_on: frozenset[str]) -> int:
        """The same, but 7 if any result has one of these words (see `failing`); 5 takes precedence."""
        doubtful = ANY in fail_on and bool(places_of_doubtful(self))
        mine = (fail_on.intersection((status, *flags)) for status, flags in self._said())
        refused = (doubtful or any(mine)) and self.exit_code != NO_ANSWER
        return REFUSED if refused else self.exit_code

    def _said(self) -> Iterator[tuple[Status, tuple[Status, ...]]]:
        """Status and flags of each result."""
        if isinstance(self._results, OnDemand):
            return ((flags[0] if flags else Status.OK, flags) for flags in self._results.flags())
        return ((r.status, r.flags) for r in self)

    def ends(self, n: int) -> Self:
        """Only the first and last n results, made once."""
        other = copy(self)
        other._results = (*self._results[:n], *self._results[max(n, len(self) - n) :])
        return other

    def count_statuses(self) -> Counter[Status]:
        """The number of results with each status."""
        return Counter(status for status, _ in self._said())

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int | str | tuple[Any, ...]) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[R, ...]: ...
    def __getitem__(self, index: Any) -> R | tuple[R, ...]:
        if not (isinstance(index, slice) or hasattr(index, "__index__")):
            index = place_of(list(labels(self)), index)
        found: R | tuple[R, ...] = self._results[index]
        return found

    def __iter__(self) -> Iterator[R]:
        return iter(self._results)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The place of the first result that equals `value`."""
        return int(self._results.index(value, start, len(self) if stop is None else stop))

    def count(self, value: Any) -> int:
        """The number of results that equal `value`."""
        return int(self._results.count(value))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table of `to_arrow`, for ``pl.DataFrame(results)``, ``pa.table(results)`` and so on."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        if len(self) != len(other) or not all(map(same, self, other)):
            return False
        apart = (*self.apart, "_results")
        return same(*({k: v for k, v in vars(r).items() if k not in apart} for r in (self, other)))

    def __hash__(self) -> int:
        return hash((type(self), tuple(self)))

    @property
    def ok(self) -> bool:
        """Whether no result needs the reader's attention."""
        return not places_of_doubtful(self)

    def raise_if(self, *statuses: str) -> Self:
        """Return the results themselves, unless one has one of these words; see `Result.raise_if`."""
        for i, (status, flags) in enumerate(self._said()):
            mine = {status, *flags}.intersection(statuses) if statuses else flags or not status.fine
            if mine or not i:  # the first one checks the words
                self[i].raise_if(*statuses)
        return self

    def __repr__(self) -> str:
        return f"<Results: {len(self)} of {counted(len({name for name, _ in labels(self)}), 'column')}>"

    def __str__(self) -> str:
        from distmom.report.text import as_text

        return as_text(self)

    def document(self) -> dict[str, Any]:
        """The content of a .json file."""
        return self.to_dict()

    def story(self) -> Story:
        """The report: what was estimated, its uncertainty, what to do, and how to run it again."""
        told: Story = self._teller().story(self._held())
        return told

    def _held(self) -> Self:
        """The same, with results on demand made once, unless there are too many to keep."""
        every = self._results
        return self.ends(len(self)) if isinstance(every, OnDemand) and len(every) <= MOST_HELD else self

    def plot(self) -> Figure:
        """Draw the results: groups below each other, or each result's own picture; see `Result.plot`.

        For `distmom.describe`, the files, folders and units that move the sample means; for a tournament, the
        risks and the matrix of duels, in the order of the league.
        """
        from distmom.report.page.figure import figure

        return figure(self._teller().pictures(self), self.drawn_title)

    @property
    def drawn_title(self) -> str:
        """Title of its pictures."""
        return self.title

    def _teller(self) -> Any:
        return import_module(f"distmom.report.page.{self.told_by}")

    def _repr_html_(self) -> str:
        from distmom.report.page.render import fragment

        return fragment(self.story())

    def more_tables(self) -> list[Table]:
        """Tables for a terminal below that of the results."""
        return []

    def closing(self) -> list[str]:
        """Lines below all tables: what to do."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: ``schema_version``, ``results``, ``data``, ``run``."""
        told = {"schema_version": SCHEMA_VERSION, "results": [r.to_dict() for r in self]}
        run = {name: value for name, value in self.run.items() if name != "again"}  # as call and command say
        return told | {"data": plain(self.data), "run": plain(run)}

    def to_arrow(self) -> pa.Table:
        """One row per result: group columns first; intervals and sizes take two columns each.

        Estimates are floats, timestamps or durations. If a run has several of these kinds, the columns of
        numbers are ``estimate``, ``interval_low``, ``interval_high``, ``plain_estimate``, and the others end
        in ``_time`` (timestamps without a zone, and dates), ``_zoned`` (in UTC if the zones differ) or
        ``_duration``; each is null in the rows of other kinds.
        """
        from distmom.report.table import as_arrow

        return as_arrow(self)

    def to_pandas(self) -> pd.DataFrame:
        """The table of `to_arrow` as a pandas frame."""
        _installed("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The table of `to_arrow` as a Polars frame."""
        frame: pl.DataFrame = _installed("polars", "to_polars").from_arrow(self.to_arrow())
        return frame


def _installed(name: str, method: str) -> Any:
    """Import a package that is needed only here."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(
            f"{method}: {name} is not installed; pip install {name}, or use to_arrow()"
        ) from error


def places_of_doubtful(results: Results) -> list[int]:
    """Places of results that need the reader's attention."""
    if isinstance(results._results, OnDemand):
        return [i for i, flags in enumerate(results._results.flags()) if flags]
    return [i for i, r in enumerate(results) if not r.ok]


def members(results: Results) -> Sequence[Any]:
    """The results, some of which may not have been made yet."""
    every: Sequence[Any] = results._results
    return every


def labels(results: Sequence[Any]) -> Iterable[Label]:
    """Name and group of each result."""
    if isinstance(results, Results):
        results = results._results
    return results.labels() if isinstance(results, OnDemand) else ((r.name, r.group) for r in results)
