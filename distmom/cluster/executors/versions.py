"""Client, scheduler and workers must have the same versions, which are compared when a run begins.

The rule: this package and its random draws must be identical, and Python, NumPy, Numba and PyArrow must agree
in the first two numbers; otherwise code cannot be sent, or results may differ unnoticed. Other differences,
in patch versions or in Dask, are reported and the run continues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from distmom.errors import ResourceError

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger("distmom")

SECONDS = 5.0  # within which scheduler and workers must answer
MISSING = "missing"
EXACT = ("distmom", "draws")
FIRST_TWO = ("python", "numpy", "numba", "pyarrow")
TOLD = ("dask", "distributed")
SCHEDULER = "the scheduler"

Versions = Mapping[str, str]

_compared: WeakKeyDictionary[Client, set[tuple[str, str]]] = WeakKeyDictionary()


# As text, which any Python can run, even without this package: a worker that is asked to call a
# function that it does not have, or code of another Python, may die of it.
_QUESTION = f"""
import platform
from importlib.metadata import PackageNotFoundError, version
found = {{"distmom": {MISSING!r}, "draws": {MISSING!r}, "python": platform.python_version()}}
for name in {(*FIRST_TWO[1:], *TOLD)}:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        found[name] = {MISSING!r}
try:
    from distmom import __version__
    from distmom.numerics.random.philox import DRAW_VERSION
except ImportError:
    pass
else:
    found.update(distmom=__version__, draws=str(DRAW_VERSION))
"""
_ASK = f"(lambda space: exec({_QUESTION!r}, space) or space['found'])({{}})"


@lru_cache(maxsize=1)
def versions_here() -> dict[str, str]:
    """Versions in this process, without loading what is not loaded."""
    return dict(eval(_ASK))


def decisive(versions: Versions, names: Sequence[str] = EXACT + FIRST_TWO) -> tuple[str, ...]:
    """The part of the versions that must agree."""
    return tuple(
        f"{name} {versions[name] if name in EXACT else '.'.join(versions[name].split('.')[:2])}"
        for name in names
    )


@lru_cache(maxsize=1)
def decisive_here() -> tuple[str, ...]:
    """The decisive versions in this process: every task carries and compares them."""
    return decisive(versions_here())


def refuse_others(wanted: tuple[str, ...]) -> None:
    """Stop a task that was sent to a process with other versions: a worker that joined a run later.

    ResourceError names the first difference.
    """
    for theirs, ours in zip(decisive_here(), wanted, strict=True):
        if theirs != ours:
            raise ResourceError(f"a worker that joined later has {theirs}, not {ours}: {_REMEDY}")


_REMEDY = "install the client's versions there, then run again"


def compare_versions(client: Client, workers: Mapping[str, Mapping[str, Any]]) -> None:
    """Compare the versions of scheduler and workers with ours, once for each worker process.

    ResourceError if versions differ so that the run would fail or give other results; a table is logged
    first.

    Parameters
    ----------
    workers : mapping
        The scheduler's information on each address; there may be none yet, see `refuse_others`.
    """
    # by folder as well: a restarted worker may have the port of its predecessor
    present = {(address, str(worker["local_directory"])) for address, worker in workers.items()}
    new = (present | {(SCHEDULER, "")}) - _compared.get(client, set())
    if not new:
        return
    answers = _ask(client, sorted(who for who, _ in new))
    ours = versions_here()
    other = [name for name in ours if any({**ours, **they}[name] != ours[name] for they in answers.values())]
    if wrong := _wrong(ours, answers):
        logger.error("versions differ:\n%s", _table(ours, answers, other))
        raise ResourceError(f"client, scheduler and workers have different versions ({wrong}); {_REMEDY}")
    if other:
        table = _table(ours, answers, other)
        logger.warning("versions differ, but not in packages that affect results:\n%s", table)
    _compared.setdefault(client, set()).update(place for place in new if place[0] in answers)


def _ask(client: Client, whom: list[str]) -> dict[str, Versions]:
    """Versions by address; processes that do not answer are left out."""
    workers = [who for who in whom if who != SCHEDULER]

    async def ask() -> dict[str, Versions]:
        found: dict[str, Versions] = {}
        if workers:
            found |= await client.run(eval, _ASK, workers=workers, on_error="ignore")
        with suppress(Exception):  # a process that does not run functions for others
            if SCHEDULER in whom:
                found[SCHEDULER] = await client.run_on_scheduler(eval, _ASK)
        return found

    coming = asyncio.wait_for(ask(), SECONDS)
    try:
        found = asyncio.run_coroutine_threadsafe(coming, client.loop.asyncio_loop).result(2 * SECONDS)
    except (TimeoutError, OSError):  # the units will show what is wrong with the cluster
        return {}
    if SCHEDULER in found:  # computes nothing, but unpacks and forwards what this package sends
        found[SCHEDULER] = {name: found[SCHEDULER][name] for name in EXACT + TOLD}
    return found


def _wrong(ours: Versions, answers: Mapping[str, Versions]) -> str:
    """The first decisive difference in words, if there is one."""
    for name in EXACT + FIRST_TWO:
        others: dict[str, list[str]] = {}
        for who, theirs in answers.items():
            there = {**ours, **theirs}
            if decisive(there, [name]) != decisive(ours, [name]):
                others.setdefault(there[name], []).append(who)
        for there_is, places in others.items():
            return f"{name} {ours[name]} here, {there_is} on {_some(places)}"
    return ""


def _some(who: Sequence[str]) -> str:
    return who[0] + (f" and {len(who) - 1:,} more" if len(who) > 1 else "")


def _table(ours: Versions, answers: Mapping[str, Versions], names: Sequence[str]) -> str:
    """A line for each package that differs, a column for each set of versions."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for who, theirs in answers.items():
        groups.setdefault(tuple(theirs.get(name, "") for name in names), []).append(who)
    columns = [("", *names), ("client", *(ours[name] for name in names))]
    columns += [(_some(who), *theirs) for theirs, who in groups.items()]
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
