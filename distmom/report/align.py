"""Numbers of a column below each other, their points in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = re.compile(r"-?[\d,]+(\.\d+)?")
BETWEEN = " … "


def aligned(cells: Sequence[str]) -> list[str]:
    """Cells with blanks beside their numbers, or the two numbers of an interval; other cells as they are.

    Examples
    --------
    >>> aligned(["7.1", "-0.39", "1,234", "-", "2e+12"])
    ['7.1 ', '-0.39', '1,234   ', '-', '2e+12']
    >>> aligned(["1.2 … 13.4", "-4 … 3.62"])
    [' 1.2 … 13.4 ', '-4   …  3.62']
    """
    pairs = [cell.split(BETWEEN) for cell in cells]
    if any(len(pair) == 2 for pair in pairs):
        ends = [_points([pair[i] if len(pair) == 2 else "" for pair in pairs]) for i in (0, 1)]
        wide = [max(map(len, end)) for end in ends]
        return [
            cell if len(pair) != 2 else f"{low:>{wide[0]}}{BETWEEN}{high:>{wide[1]}}"
            for cell, pair, low, high in zip(cells, pairs, *ends, strict=True)
        ]
    return _points(cells)


def _points(cells: Sequence[str]) -> list[str]:
    """Blanks after numbers, as many as the longest fraction is longer."""
    found = [NUMBER.fullmatch(cell) for cell in cells]
    tails = [len(match[1] or "") if match else 0 for match in found]
    longest = max((tail for tail, match in zip(tails, found, strict=True) if match), default=0)
    return [
        cell + " " * (longest - tail) if match else cell
        for cell, tail, match in zip(cells, tails, found, strict=True)
    ]
