"""Independent function calls as units of work: simulations, which read no files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

from distmom.cluster.outcome import Executor, UnitOutcome
from distmom.cluster.plan import Unit
from distmom.cluster.runner import Progress, run_units


@dataclass(frozen=True, slots=True)
class Call:
    """A call that depends only on its arguments; it is repeated if its worker is lost.

    Attributes
    ----------
    name : str
        Its name in messages.
    function : callable
        A function of a module that workers can import.
    arguments : tuple
        Small and picklable, like the value the function returns.
    n_rows, n_bytes : int
        Rows and bytes that it processes, used only for progress.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    n_rows: int = 0
    n_bytes: int = 0


def run_calls(
    calls: Sequence[Call], executor: Executor, progress: Progress | None = None, **options: Any
) -> list[Any]:
    """The return values of the calls, in their order, wherever and in whatever order they ran.

    Parameters
    ----------
    **options
        As for `run_units`, which also lists the errors.
    """
    from distmom.lake.source import FileRef  # imports PyArrow, which this package avoids

    units = [
        Unit(number, 0, number, (FileRef(call.name, call.n_bytes, 0),), n_bytes=call.n_bytes, window=call)
        for number, call in enumerate(calls)
    ]
    found = run_units(_answer, units, add, executor, progress=progress, **options)
    return list(found.state or ())


def _answer(unit: Unit) -> UnitOutcome:
    call: Call = unit.window
    return UnitOutcome((call.function(*call.arguments),), call.n_rows, call.n_bytes)
