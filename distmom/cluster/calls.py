"""Independent calls of functions as units of work, whose rows lie in no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

from distmom.cluster.outcome import Executor, UnitOutcome
from distmom.cluster.plan import Unit
from distmom.cluster.runner import run_units


@dataclass(frozen=True, slots=True)
class Call:
    """A call that depends on its arguments alone: it is made again where its worker is lost.

    Attributes
    ----------
    name : str
        How messages call it.
    function : callable
        Of a module that workers can import.
    arguments : tuple
        Small and picklable, as is what the function returns.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def run_calls(calls: Sequence[Call], executor: Executor, **options: Any) -> list[Any]:
    """What the calls return, in their order, wherever and in whatever order they were made.

    Parameters
    ----------
    **options
        As for `run_units`, which see also for errors.
    """
    from distmom.lake.source import FileRef  # with PyArrow, which this room does without

    units = [
        Unit(number, 0, number, (FileRef(call.name, 0, 0),), window=call) for number, call in enumerate(calls)
    ]
    found = run_units(_answer, units, add, executor, **options)
    return list(found.state or ())


def _answer(unit: Unit) -> UnitOutcome:
    call: Call = unit.window
    return UnitOutcome((call.function(*call.arguments),))
