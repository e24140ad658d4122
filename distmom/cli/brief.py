"""Notes in one line each: the fact, without figures in parentheses and without advice."""

from __future__ import annotations

import re

ADVICE = re.compile(
    r"(use|take|give|write|look|run|re-run|drop|filter|draw|check|name|correct|compare|add|for that|"
    r"blocks of whole files|--\w[\w-]*|\w+=).*",
    re.IGNORECASE | re.DOTALL,
)
"""A part of a note that says what to do; everything else is a fact and is kept."""

_QUOTED = r"\"[^\"]*\"|'[^']*'"
_DETAIL = re.compile(
    rf"({_QUOTED})| \((?:design effect [^()]*|[^()]*% interval [^()]*|-?[\d,.]+ in [^()]*)\)"
)
_BETWEEN = re.compile(rf"({_QUOTED})|(; |\. (?=[A-Z-]))")


LINE = 100
"""What fits on a line, after the name of a column."""


def brief(note: str, line: int = LINE) -> str:
    """A note without its figures in parentheses and, if it is still too long, without parts that are advice.

    Examples
    --------
    >>> brief("rows are correlated (design effect about 10.7), so the interval is wide; use more files")
    'rows are correlated, so the interval is wide; use more files'
    >>> brief("the ratio is rough; the interval may be wrong; --where 'x; y' leaves them out", 60)
    'the ratio is rough; the interval may be wrong'
    """
    plain, parts, start = _DETAIL.sub(lambda found: found[1] or "", note), [], 0
    if len(plain) <= line:
        return plain
    for found in _BETWEEN.finditer(plain):
        if found[2]:
            parts.append(plain[start : found.end()])
            start = found.end()
    first, *rest = [*parts, plain[start:]]
    told = "".join([first, *(part for part in rest if not re.match(ADVICE, part))])
    return re.sub(r"(; |\. )$", "", told)
