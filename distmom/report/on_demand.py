"""Results of many groups: their numbers stay in columns, and each result is made on demand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol, overload

from distmom.numerics.arrays import Ints
from distmom.report.result import Result
from distmom.status import Status

LET_GO = 64
"""Number of results made before memory is released."""


class ResultColumns(Protocol):
    """The source from which the results of the groups of a column, or of vectors, are made."""

    def __len__(self) -> int: ...

    @property
    def name(self) -> str: ...  # noqa: D102

    def group(self, g: int) -> dict[str, Any] | None:
        """Values of the `by` columns."""
        ...

    def flags(self, g: int) -> tuple[Status, ...]:
        """The flags of a group."""
        ...

    def accused(self) -> list[int]:
        """Groups that accuse files."""
        ...

    def remarkable(self, g: int) -> bool:
        """Whether a group has flags or outlying rows."""
        ...

    def left_out(self) -> tuple[int, dict[str, int]]:
        """Rows of all groups, and rows that did not count, by the names of `Result.left_out`."""
        ...

    def make(self, g: int) -> Any:
        """The result of a group."""
        ...


@dataclass(frozen=True, eq=False)
class OnDemand(Sequence[Result]):
    """Results of the groups of some columns, one after the other.

    Asking for the same place twice gives two equal objects.

    Attributes
    ----------
    parts : tuple of ResultColumns
    facts : dict
        Attributes of all results: `data` and `run`.
    put : dict
        Replacement results at some places.
    said : callable, optional
        Rewords notes and reasons.
    order : ndarray of int64, optional
        For each place, the number of its result, counted over all parts; by default the same.
    let_go : callable, optional
        Releases memory that is used while results are made.
    """

    parts: tuple[ResultColumns, ...]
    facts: Mapping[str, Any]
    put: Mapping[int, Result]
    order: Ints | None = None
    said: Callable[[str], str] | None = None
    let_go: Callable[[], None] | None = None

    @classmethod
    def of(
        cls,
        parts: Iterable[ResultColumns],
        order: Ints | None = None,
        let_go: Callable[[], None] | None = None,
    ) -> OnDemand:
        """The results of all the given columns."""
        return cls(tuple(parts), {}, {}, order, let_go=let_go)

    def told(self, **facts: Any) -> OnDemand:
        """The same with these facts."""
        return replace(self, facts={**self.facts, **facts})

    def changed(self, put: Mapping[int, Result]) -> OnDemand:
        """The same with other results at some places."""
        return replace(self, put={**self.put, **put})

    def said_as(self, said: Callable[[str], str]) -> OnDemand:
        """The same with reworded notes and reasons."""
        return replace(self, said=said)

    @cached_property
    def _starts(self) -> list[int]:
        """Places at which the parts begin, and the end of the last one."""
        return list(accumulate(map(len, self.parts), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, index: int | slice) -> Result | tuple[Result, ...]:
        places = range(len(self))
        if isinstance(index, slice):
            return tuple(self._made(i) for i in places[index])
        return self._made(places[index])

    def __iter__(self) -> Iterator[Result]:
        return map(self._made, range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)  # results are pickled without their sources

    def _places(self) -> Iterator[tuple[ResultColumns, int]]:
        """Part of each result, and its number there."""
        if self.order is None:
            return ((part, g) for part in self.parts for g in range(len(part)))
        return map(self._place, range(len(self)))

    def _place(self, i: int) -> tuple[ResultColumns, int]:
        number = i if self.order is None else int(self.order[i])
        part = bisect_right(self._starts, number) - 1
        return self.parts[part], number - self._starts[part]

    def flags(self) -> Iterator[tuple[Status, ...]]:
        """Flags of each result."""
        return (part.flags(g) for part, g in self._places())

    def labels(self) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Name and group of each result."""
        return ((part.name, part.group(g)) for part, g in self._places())

    def left_out(self) -> Iterator[tuple[str, int, dict[str, int]]]:
        """Name, rows, and rows that did not count, for the groups of each part."""
        return ((part.name, *part.left_out()) for part in self.parts)

    def accused(self) -> list[int]:
        """Places of results that accuse files."""
        pairs = zip(self._starts, self.parts, strict=False)
        numbers = {start + g for start, part in pairs for g in part.accused()}
        if self.order is None or not numbers:
            return sorted(numbers)
        return [i for i, number in enumerate(self.order) if number in numbers]

    def remarkable(self) -> Iterator[int]:
        """Places of results with flags or outlying rows."""
        return (i for i, (part, g) in enumerate(self._places()) if i in self.put or part.remarkable(g))

    def _made(self, i: int) -> Result:
        result = self.put.get(i)
        if result is None:
            part, g = self._place(i)
            result = part.make(g)
            if self.let_go is not None and not i % LET_GO:
                self.let_go()
        if self.said is not None:
            result = result.said_as(self.said)
        vars(result).update(self.facts)
        return result
