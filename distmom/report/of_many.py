"""Queries on possibly very many results: only the necessary ones are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from distmom.report.on_demand import OnDemand
from distmom.report.result import Result
from distmom.report.results import Results
from distmom.status import Status


def accusing(results: Results) -> dict[int, Any]:
    """The results that accuse files, by place."""
    every = results._results
    if isinstance(every, OnDemand):
        return {i: every[i] for i in every.accused()}
    return {i: r for i, r in enumerate(every) if r.accused_files}


def remarkable(results: Results) -> Iterator[Any]:
    """The results with a flag or outlying rows; the others are not made."""
    every = results._results
    if isinstance(every, OnDemand):
        return (every[i] for i in every.remarkable())
    return (r for r in every if r.flags or getattr(r, "far_rows", None) is not None)


def told_statuses(results: Results) -> list[Status]:
    """All statuses of the results, each once."""
    return list(dict.fromkeys(one for status, flags in results._said() for one in (status, *flags)))


def doubtful_statuses(results: Results) -> list[Status]:
    """Statuses of the results that need attention, the most serious first."""
    found = {status for status, flags in results._said() if flags or not status.fine}
    return [status for status in Status if status in found]


def telling(results: Results, most: int, n: int) -> list[Any]:
    """All results; if more than `most`, the first and last n, and the first n that accuse files."""
    every = results._results
    if len(every) <= most:
        return list(every)
    accused = every.accused() if isinstance(every, OnDemand) else list(accusing(results))
    places = {*range(n), *range(len(every) - n, len(every)), *accused[:n]}
    return [every[i] for i in sorted(places)]


def total_left_out(mine: Sequence[Result]) -> dict[str, int]:
    """Total missing and infinite values of results of one kind."""
    each = [r.left_out() for r in mine]
    return {what: sum(one[what] for one in each) for what in each[0]}


def rows_left_out(results: Results) -> dict[str, tuple[int, dict[str, int]]]:
    """Rows under each name, over all groups, and those that did not count."""
    every = results._results
    many = isinstance(every, OnDemand)
    found: dict[str, tuple[int, dict[str, int]]] = {}
    for name, n_rows, counts in (
        every.left_out() if many else ((r.name, r.n_rows, r.left_out()) for r in every)
    ):
        n_before, before = found.get(name, (0, {}))
        found[name] = n_before + n_rows, {what: n + before.get(what, 0) for what, n in counts.items()}
    return found
