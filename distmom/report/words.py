"""Numbers, names and remarks, formatted for people."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from distmom.report.digits import SCIENTIFIC
from distmom.words import printable

SIX_DIGITS = 1e6

NAMED = 5
"""Most names in a remark: a run with many groups should not bury its table."""


def number(value: float | None) -> str:
    """A number with six digits, or up to a billion all digits before the point; a dash for None."""
    if value is None or math.isnan(value):
        return "-"
    if SIX_DIGITS <= abs(value) < SCIENTIFIC:
        return f"{value:,.0f}"  # an exponent next to written-out numbers is misread
    return f"{value:,.6g}"


def units_cells(n_units: int | None, exact: bool | None) -> tuple[str, ...]:
    """The cell of a number of units, marked if it is an estimate; none without units."""
    if n_units is None:
        return ()
    return (f"{n_units:,}" if exact else f"about {n_units:,}",)


def cell(value: Any) -> str:
    """A name or the value of a key, on one line."""
    return "null" if value is None else printable(str(value))


def listed(names: Iterable[str]) -> str:
    """The first names, and the number of others."""
    every = list(names)
    more = f" and {len(every) - NAMED:,} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def accused(files: tuple[str, ...], *, named: bool = False) -> list[str]:
    """The remark about files whose values differ from the rest; none without such files."""
    if not files:
        return []
    if named:
        what = "1 file holds" if len(files) == 1 else f"{len(files)} files hold"
        return [f"{what} other values than the rest: {listed(map(printable, files))}"]
    return [f"bad files are among {len(files)}: {listed(map(printable, files))}"]
