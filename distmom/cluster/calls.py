"""Independent calls of functions as units of work: simulations, which read no file."""

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
    """A call that depends on its arguments alone; if its worker is lost it is repeated.

    Attributes
    ----------
    name : str
        Its name in messages.
    function : callable
        Of a module that workers can import.
    arguments : tuple
        Small and picklable, as is what the function returns.
    n_rows, n_bytes : int
        Rows and bytes that it works on, for progress alone.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    n_rows: int = 0
    n_bytes: int = 0


def run_calls(
    calls: Sequence[Call], executor: Executor, progress: Progress | None = None, **options: Any
) -> list[Any]:
    """What the calls return, in their order, wherever and in whichever order they ran.

    Parameters
    ----------
    **options
        As for `run_units`, which see also for errors.
    """
    from distmom.lake.source import FileRef  # with PyArrow, which this room does without

    units = [
        Unit(number, 0, number, (FileRef(call.name, call.n_bytes, 0),), n_bytes=call.n_bytes, window=call)
        for number, call in enumerate(calls)
    ]
    found = run_units(_answer, units, add, executor, progress=progress, **options)
    return list(found.state or ())


def _answer(unit: Unit) -> UnitOutcome:
    call: Call = unit.window
    return UnitOutcome((call.function(*call.arguments),), call.n_rows, call.n_bytes)
