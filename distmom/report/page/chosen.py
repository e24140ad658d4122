"""Choosing which of many results a page shows: those that need attention, and the largest."""

from __future__ import annotations

from collections.abc import Sequence

from distmom.report.result import Result

FILES = "All are in the .csv, .parquet or .json file that --output (write_results) writes."


def chosen(results: Sequence[Result], most: int) -> list[int]:
    """Places of `most` results, in order: the most serious, then those with the most rows."""
    if len(results) <= most:
        return list(range(len(results)))
    ranks = [(not r.status.no_answer, r.ok, -(r.n_used or 0), i) for i, r in enumerate(results)]
    return sorted(i for *_, i in sorted(ranks)[:most])


def rest_words(results: Sequence[Result], most: int, where: str) -> str:
    """Which ones are shown, how many are left out, and where to find all; empty if none is left out."""
    n = len(results)
    if n <= most:
        return ""
    every = sum(not r.ok for r in results)
    doubtful, largest = min(every, most), max(most - every, 0)
    which = [f"{doubtful:,}{f' of {every:,}' if every > most else ''} that need attention"] * bool(doubtful)
    which += [f"the {largest:,} with the most rows"] * bool(largest)
    return f"Shown are {most:,} of {n:,}: {' and '.join(which)}. {n - most:,} are left out. {where}"
