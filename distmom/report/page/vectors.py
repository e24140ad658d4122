"""Results of several coordinates: mean vectors, and matrices of U-statistics."""

from __future__ import annotations

import numpy as np

from distmom.report.digits import quantity, three
from distmom.report.estimate import JointResult
from distmom.report.kinds.ustatistic import UStatisticResult
from distmom.report.kinds.vector import VectorResult
from distmom.report.page.advice import advice
from distmom.report.page.blocks import assumptions, block_facts
from distmom.report.page.numbers import span, tell_ustat
from distmom.report.page.pictures import Cell, Ends, Matrix, Spans, Strip, square
from distmom.report.page.scales import Numbers, titled
from distmom.report.page.telling import Telling, heading, mood
from distmom.report.words import cell

MOST_STRIPS, MOST_LINES, MOST_ROWS = 12, 60, 30
"""Most coordinates with their own picture; most lines of intervals; most rows of a matrix."""

MATRIX_KINDS = {
    "p3": "large positive",
    "p1": "small positive",
    "n1": "small negative",
    "n3": "large negative",
}


def tell_vector(r: VectorResult) -> Telling:
    """A mean vector."""
    names = [cell(name) for name in r.columns]
    first = f"The mean vector of {', '.join(names[:5])}{' …' if len(names) > 5 else ''}"
    entries = r.entries()
    reach = [r.reach(entry) for entry in entries]
    texts = [three(e, ends, p) for (_, e, p, _), ends in zip(entries, reach, strict=True)]
    first += f" is ({', '.join(t[0] for t in texts[:5])}{', …' if len(names) > 5 else ''})"
    first += f"; {_reach_words(r, 'Euclidean', 'coordinates')}"
    method = f"{r.method} median"
    answer = (first, f"It is the {method} of the mean vectors of {r.n_blocks:,} blocks ({r.n_used:,} rows).")
    facts = [("method", method), ("coordinates", f"{len(names):,}")]
    if r.radius is not None:
        facts.append((f"{r.level} radius", quantity(r.radius)))
    spread = f"{quantity(float(np.sqrt(r.trace)))} (root of the sum of all variances)"
    facts += [("spread of a row", spread), *block_facts(r)]
    band = (
        "interval"
        if r.intervals is not None
        else "projection of the confidence ball"
        if r.radius is not None
        else ""
    )
    caption = (
        "Robust estimate, its interval or the projection of the confidence ball, and the sample mean. An "
        "arrow points to one outside the picture."
    )
    title = titled("mean", Numbers(), "unit of each column")
    spans = _spans(r, "All coordinates", caption, ("estimate", band, "sample mean"), title)
    strips = [_strip(r, i, reach[i], band) for i in range(min(len(names), MOST_STRIPS))]
    pictures: tuple[Spans | Strip, ...] = (spans, *strips) if r.n_blocks > 1 else (spans,)
    return Telling(heading(r), answer, tuple(facts), pictures, assumptions(r), mood(r), advice(r))


def _spans(r: JointResult, head: str, caption: str, words: tuple[str, str, str], title: str) -> Spans:
    """The first coordinates or entries, each with its interval or the projection of the confidence ball."""
    lines = tuple(span(cell(e[0]), e[1], r.reach(e), e[2]) for e in r.entries()[:MOST_LINES])
    return Spans(head, caption, lines, Numbers(), words, title)


def _reach_words(r: JointResult, norm: str, each: str) -> str:
    """How far all coordinates together may be from the true values."""
    if r.radius is not None:
        return f"with {r.level} confidence it lies within {quantity(r.radius)} of the true one ({norm})."
    if r.intervals is not None:
        return f"the {r.level} intervals below hold for all {each} together."
    return f"there is no {r.bound}: {r.interval_reason}."


def _strip(r: VectorResult, i: int, reach: Ends | None, band: str) -> Strip:
    head, caption = cell(r.columns[i]), f"The band is the {band} of this coordinate." if reach else ""
    found = r.block_estimates[:, i], float(r.estimate[i]), reach, float(r.plain_estimate[i])
    scale, title = Numbers(), titled(f"mean of {head}", Numbers())
    return Strip(head, caption, *found, scale, *r.drawn, r.confidence_level, r.n_non_finite_blocks, title)


def tell_statistic(r: UStatisticResult) -> Telling:
    """A U-statistic, or a matrix of them, such as covariances or rank correlations."""
    if not r.columns:
        return tell_ustat(r)
    names = tuple(cell(name) for name in r.columns)
    first = f"The {cell(r.kernel)} matrix of {len(names)} columns: "
    first += _reach_words(r, "Frobenius", "entries")
    answer = (first, f"It is the {r.method} median of {r.n_blocks:,} blocks ({r.n_used:,} rows).")
    facts = (("method", f"{r.method} median"), *block_facts(r))
    pictures: list[Matrix | Spans] = [number_matrix(f"The {cell(r.kernel)} matrix", names, r.estimate)]
    if len(r.entries()) <= MOST_LINES:
        caption = "Robust entries with their intervals; a dashed line or an arrow is the plain entry."
        words = ("estimate", "interval", "plain")
        pictures.append(_spans(r, "Its entries", caption, words, titled(cell(r.kernel), Numbers(), "")))
    return Telling(heading(r), answer, facts, tuple(pictures), assumptions(r), mood(r), advice(r))


def number_matrix(head: str, names: tuple[str, ...], values: np.ndarray) -> Matrix:
    """Numbers coloured by sign and by their size relative to the scales of row and column."""
    few = names[:MOST_ROWS]
    values = values[: len(few), : len(few)]
    diagonal = np.sqrt(np.abs(np.diag(values)))
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = values / np.outer(diagonal, diagonal)

    def cell(i: int, j: int) -> Cell:
        return Cell(quantity(float(values[i, j])), _tint(float(relative[i, j])), f"{few[i]}, {few[j]}")

    caption = "Colours show the sign, and the size relative to the two entries of the diagonal."
    if len(names) > len(few):
        caption += f" {len(names) - len(few)} more columns are in the JSON document."
    return Matrix(head, caption, few, few, square(few, cell), MATRIX_KINDS, "column and column")


def _tint(relative: float) -> str:
    if not np.isfinite(relative) or abs(relative) < 0.05:
        return "zero"
    step = 1 + (abs(relative) >= 0.3) + (abs(relative) >= 0.6)
    return f"{'p' if relative > 0 else 'n'}{step}"
