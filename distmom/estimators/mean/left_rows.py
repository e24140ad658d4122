"""The answer of the rows that are left, beside that of all rows: of a column, a group, or vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distmom.status import Status

AGREE, AGREE_SEEN = 3.0, 6.0
"""Standard errors by which the two may differ: where rows stand apart; where blocks have seen them."""

ABOUT_INTERVAL = ("interval_kind", "interval_reason", "achieved_level", "notes")


def errors_allowed(flags: Sequence[Status]) -> float:
    """Standard errors by which the answer of the rows that are left may differ from that of all."""
    seen = Status.CONTAMINATED in flags or Status.FILES_DISAGREE in flags
    return AGREE_SEEN if seen and Status.BEYOND_CAPACITY not in flags else AGREE


def stands(flags: Sequence[Status], *, agree: bool) -> bool:
    """Whether the answer of all rows stands: it agrees, and blocks bear what is bad, or files are."""
    return agree and (Status.BEYOND_CAPACITY not in flags or Status.FILES_DISAGREE in flags)


def set_aside(first: dict[str, Any], again: dict[str, Any], *, of_sample: bool) -> dict[str, Any]:
    """The answer of the rows that are left, with what all rows say of files."""
    again = correlated(first, again, of_sample=of_sample)
    flags = (Status.SHARE_SET_ASIDE, *again["flags"])
    if Status.FILES_DISAGREE in first["flags"] and first["accused_files"]:
        again = again | {"accused_files": first["accused_files"]}
        flags = (*flags, *([] if Status.FILES_DISAGREE in flags else [Status.FILES_DISAGREE]))
    return again | {"flags": flags}


def correlated(first: dict[str, Any], again: dict[str, Any], *, of_sample: bool) -> dict[str, Any]:
    """The answer of the sample, which knows no files, with what all rows say of them."""
    if not of_sample or Status.ROWS_CORRELATED not in first["flags"]:
        return again
    told = again | {"flags": (*again["flags"], Status.ROWS_CORRELATED)}
    if first["interval_kind"] != "files":
        return told
    ends = first["interval"]
    moved = ends and tuple(again["estimate"] + end - first["estimate"] for end in ends)
    return told | {"interval": moved, **{name: first[name] for name in ABOUT_INTERVAL}}
