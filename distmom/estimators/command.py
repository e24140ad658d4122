"""What all public functions share: one path from a question to its answer, or to what answering would take.

A function checks its arguments and makes a `Question`. A question makes a plan on an executor, without
reading a row. The plan tells what it would do (`describe`), or does it (`run`). `explain` is the first half
of the same path, so it refuses what a run would refuse.
"""

from __future__ import annotations

import copy
import inspect
import time
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

import numpy as np

from distmom.cluster.executors.backends import as_backend
from distmom.cluster.names import asked
from distmom.errors import DoubtfulResultWarning
from distmom.estimators.facts import run_facts
from distmom.estimators.recorded import record
from distmom.estimators.session import defaults_for, progress_of_session, warns
from distmom.estimators.shapes import telling_shapes
from distmom.keywords import bound
from distmom.memory import watched
from distmom.report.results import Results, members, places_of_doubtful
from distmom.state.saved import with_states

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress

P = ParamSpec("P")
R = TypeVar("R")

_EXPLAINING: ContextVar[bool] = ContextVar("distmom_explaining", default=False)


class Question(Protocol):
    """What is asked, checked as far as that is possible without opening the data."""

    shown_seed: int | str

    @property
    def asks(self) -> str:
        """What its tasks are called: the function's name, of pairs of rows the kernel's."""
        ...

    @property
    def in_memory(self) -> bool:
        """Whether some of the data is in this process, and so stays in it."""
        ...

    def load(self) -> Callable[[], None] | None:
        """What workers load in the background; None where NumPy does the work."""
        ...

    def plan(self, executor: Executor, progress: Progress | None) -> Any:
        """The passes, over which columns, in what memory; refuses what cannot be done, reads no row.

        It has ``describe(executor)``, numbers and words for people who look before they run, and
        ``run(executor, progress, run)``, the result or results, of which `run` is what they say of the run.
        """
        ...


def answer(question: Question, executor: Any) -> Any:
    """Answer the question there; inside of `explain`, what that would take."""
    started = time.perf_counter()
    place = as_backend(executor)
    if question.in_memory:
        place = place.here()
    if _EXPLAINING.get():
        with place.imagined() as there, telling_shapes(question):
            return {**question.plan(there, None).describe(there), "seed": question.shown_seed}
    progress = progress_of_session()
    load, asks = question.load(), question.asks
    # what is too large becomes infinite, and results tell of that; users need no warnings of NumPy's besides
    quiet = np.errstate(over="ignore")
    with quiet, place.open(load=load) as there, asked(asks), telling_shapes(question):
        plan = question.plan(there, progress)
        run = run_facts(0.0, question.shown_seed, there.threads)
        with watched(there.account.look):
            found = plan.run(there, progress, run)
    run["seconds"] = time.perf_counter() - started
    return found


def command(function: Callable[P, R]) -> Callable[P, R]:
    """A public function: reports retired names, fills in the session's defaults and records the call.

    The call is recorded in the result's ``run["call"]``, with the seed that was drawn if none was given. A
    doubtful result warns once for a call.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = bound(function.__name__, signature, args, kwargs)
        given.arguments.update(
            {name: v for name, v in defaults_for(parameters).items() if name not in given.arguments}
        )
        found = with_states(lambda: function(*given.args, **given.kwargs))
        if not _EXPLAINING.get():
            record(function.__name__, found, given.arguments, parameters)
            _warn(found)
        return found

    call.answers = True  # type: ignore[attr-defined]
    return call


def explain(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Explain what a call would read, need and do: the plan of ``function(*args, **kwargs)``.

    Files are listed and footers read, but no rows (except the first ones of a column of times, and those up
    to the first vector of a list column whose type does not fix its length), and no worker process is
    started. Whatever the call would refuse before reading is refused.

    Parameters
    ----------
    function : callable
        `distmom.mean`, `distmom.ustatistic`, `distmom.tournament`, `distmom.difference`, `distmom.compare`,
        `distmom.describe` or `distmom.train`.
    *args, **kwargs
        Arguments of the function.

    Returns
    -------
    dict
        ``n_files``, ``n_bytes`` (of the columns to read), ``n_rows`` (None if it need not be known),
        ``n_units``, ``n_blocks``, ``block_size``, ``projected_memory_per_process`` and ``memory``, its parts
        (in words), ``threads``, ``seed``, ``skipped`` (files whose footer is bad, under
        ``on_bad_file="skip"``), and whatever else the plan of the function reports.

    Raises
    ------
    ConfigError, DataError, NoAnswerError, ResourceError
        As the function raises, for all that can be checked beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> plan = dm.explain(dm.mean, np.zeros(1000), blocks=5)
    >>> plan["n_rows"], plan["n_blocks"]
    (1000, 5)
    """
    if "rng" in kwargs:  # a Generator is copied, as looking must not advance it
        kwargs["rng"] = copy.deepcopy(kwargs["rng"])
    token = _EXPLAINING.set(True)
    try:
        return cast("dict[str, Any]", function(*args, **kwargs))
    finally:
        _EXPLAINING.reset(token)


def explaining() -> bool:
    """Whether the call is asked for its plan only."""
    return _EXPLAINING.get()


def _warn(found: Any) -> None:
    """Warn of the first doubtful result, and say how many there are."""
    if isinstance(found, Results):
        results, doubtful = members(found), places_of_doubtful(found)
    else:
        results = list(found) if hasattr(found, "__len__") else [found]
        doubtful = [i for i, r in enumerate(results) if not getattr(r, "ok", True)]
    if not doubtful or not warns():
        return
    first = results[doubtful[0]]
    more = f" (and {len(doubtful) - 1} more)" if len(doubtful) > 1 else ""
    warnings.warn(
        f"{first.name}: {first.words}{more}; see the result's status and notes",
        DoubtfulResultWarning,
        stacklevel=3,
    )
