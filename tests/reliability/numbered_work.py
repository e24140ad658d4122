"""Work that reads nothing and knows its place."""

from __future__ import annotations

from distmom.cluster import Unit, UnitOutcome


def number(unit: Unit) -> UnitOutcome:
    """The unit's number, as the first and the last of a range."""
    return UnitOutcome((unit.number, unit.number))


def joined(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """Both ranges, which must be neighbours, in order."""
    assert left[1] + 1 == right[0]
    return left[0], right[1]
