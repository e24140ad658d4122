"""A tournament: the champion, risks of all candidates, and who beat whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.report.kinds.tournament import TournamentResult
from distmom.report.page.numbers import span
from distmom.report.page.parts import Advice, Block, Facts, Grid, Mood, Story
from distmom.report.page.pictures import Cell, Matrix, Picture, Spans, square
from distmom.report.page.scales import Numbers, titled
from distmom.report.page.telling import closing_blocks, interval_words, notes_block
from distmom.report.text import as_table
from distmom.report.words import cell, listed, number
from distmom.status import Status
from distmom.words import printable

KINDS = {
    "won": "smaller loss (W)",
    "lost": "larger loss (L)",
    "p1": "smaller loss, distance not evaluated (w)",
    "n1": "larger loss, distance not evaluated (l)",
    "close": "too close for a match (=)",
}
MOST = 40
"""Most candidates in a matrix."""


def story(found: TournamentResult) -> Story:
    """The report."""
    best, shown = found[0], found[0].shown_values()
    names = ", ".join(map(printable, found.champions))
    several = len(found.champions) > 1
    loss = found.settings["loss"]
    first = f"{names} {'are the champions' if several else 'is the champion'} among {len(found):,} candidates"
    reach = interval_words(best.level, shown[1])
    plain = shown[2]
    answer = [
        f"{first}{'' if found.decided else ', but not decided'}.",
        f"A duel is won by the smaller {cell(loss)} loss on most blocks of rows. The robust risk of "
        f"{printable(best.name)} is {shown[0]} ({reach}); its sample mean loss is {plain}.",
    ]
    if found.exceeded:
        some = (
            "There is no champion" if not found.champions else "Whether the champion is the best is unknown"
        )
        answer = [f"{some}: the data has more bad rows than a tournament can leave out."]
        answer += [f"Without the rows reported as far out it is {names}."] * bool(found.champions)
    plain_best = min(found, key=lambda r: r.plain_estimate)
    if found.champions and plain_best.name not in found.champions:
        name = printable(plain_best.name)
        answer.append(f"By sample mean loss {name} would have won: a few rows or files decide that.")
    mood: Mood = "look" if any(not r.ok for r in found) else "good"
    word = "cycle" if found.cycle else "champion found" if found.decided else "not decided"
    if found.exceeded:
        mood, word = "bad", "breakdown point exceeded"
    facts = Facts("Summary", _facts(found))
    caption = (
        "won and lost count the matches that were allowed; t is the distance to the farthest candidate that "
        "was better."
    )
    table = Grid.of("Results", as_table(found), [not r.ok for r in found], caption)
    blocks: list[Block] = [table, _advice(found, mood), *pictures(found), facts, *notes_block(found)]
    after = closing_blocks(found, _assumptions(found))
    return Story("Tournament", tuple(answer), mood, word, tuple(blocks), (), after)


def pictures(found: TournamentResult) -> list[Picture]:
    """Risks, and the matrix of duels."""
    return [_risks(found), duel_matrix(found)]


def _advice(found: TournamentResult, mood: Mood) -> Advice:
    names = ", ".join(map(printable, found.champions))
    lines = [f"Use {names}." if len(found.champions) == 1 else f"Any of these may be used: {names}."]
    if found.exceeded:
        lines = [
            "Do not rely on this outcome. Find the bad rows or files (describe names them) and leave them "
            f"out, or run again with {found[0].remedies.files}."
        ]
    elif not found.decided and not found.cycle:
        lines.append("These rows do not decide between it and others (its notes name them): take more rows.")
    lines += [f"{text[0].upper()}{text[1:]}." for text in found.remarks]
    close = [r.name for r in found if r.status == Status.FINALIST]
    if close:
        lines.append(
            f"Finalists that these rows do not separate from it, or that lost the last round: "
            f"{listed(map(printable, close))}."
        )
    if found.cycle:
        lines.append(
            "Every finalist lost to another one (a cycle): the champion is the one whose farthest winner is "
            "nearest. More rows, or fewer similar candidates, would decide it."
        )
    return Advice(mood, "What to do", tuple(lines))


def _facts(found: TournamentResult) -> tuple[tuple[str, str], ...]:
    settings = found.settings
    blocks = settings["blocks"]
    counts = blocks if isinstance(blocks, (list, tuple)) else [blocks]
    survived = max(0, -(-min(map(int, counts)) // 2) - 1)
    how = "found: the least that leaves a candidate" if settings["beta_r_found"] else "given"
    return (
        ("loss", cell(settings["loss"])),
        ("distance of candidates", cell(settings["distance"])),
        ("matches are allowed above a distance of", f"{number(found.beta_r)} ({how})"),
        ("blocks in each part of the rows", ", ".join(f"{int(n):,}" for n in counts)),
        ("contamination tolerated", f"up to {survived:,} bad rows (or units) in a part cannot decide a duel"),
        ("finalists", f"{len(found.finalists):,} of {len(found):,}"),
    )


def _risks(found: TournamentResult) -> Spans:
    lines = []
    for r in list(found)[:MOST]:
        line = span(printable(r.name), r.estimate, r.interval, r.plain_estimate)
        lines.append(replace(line, text=f"{line.text}, {r.status}", marked=not r.ok))
    caption = (
        "Smaller is better. The bar is the interval of the robust risk; the dashed line, or an arrow where "
        "it lies outside, is the sample mean loss."
    )
    words = ("robust risk", f"{found[0].level} interval", "sample mean loss")
    title = titled("risk", Numbers(), f"{cell(found.settings['loss'])} loss")
    return Spans("Risk of each candidate", caption, tuple(lines), Numbers(), words, title)


def duel_kinds(found: TournamentResult) -> NDArray[np.str_]:
    """The kind of each cell, in the order of the league."""
    distances, loses = _in_order(found, found.duels.distances), _in_order(found, found.duels.loses)
    kinds = np.where(loses, "lost", "won").astype("<U5")
    kinds[distances <= found.beta_r] = "close"
    kinds = np.where(np.isnan(distances), np.where(loses, "n1", "p1"), kinds)
    np.fill_diagonal(kinds, "self")
    return kinds


def _in_order(found: TournamentResult, matrix: NDArray[Any]) -> NDArray[Any]:
    """A matrix of the duels in the order of the league."""
    place = {name: i for i, name in enumerate(found.duels.names)}
    order = [place[r.name] for r in found]
    return matrix[np.ix_(order, order)]


def _sign(kind: str, loses: bool) -> str:
    if kind in ("self", "close"):
        return "" if kind == "self" else "="
    sign = "L" if loses else "W"
    return sign if kind in ("won", "lost") else sign.lower()


def duel_matrix(found: TournamentResult) -> Matrix:
    """Who beat whom, candidates in the order of the league."""
    kinds = duel_kinds(found)[:MOST, :MOST]
    loses = _in_order(found, found.duels.loses)
    names = tuple(f"{k} {printable(r.name)}" for k, r in enumerate(found[:MOST], 1))
    columns = tuple(str(k) for k in range(1, len(names) + 1))

    def duel(i: int, j: int) -> Cell:
        kind = str(kinds[i, j])
        return Cell(_sign(kind, bool(loses[i, j])), kind, f"{names[i]} against {names[j]}")

    caption = (
        "Read along a row: its candidate against that of each column, on most blocks. Columns are numbered "
        "as the rows. A distance that cannot change the outcome is not evaluated."
    )
    if len(found) > MOST:
        caption += f" Shown are the first {MOST} of {len(found):,} candidates; the table has all."
    cells = square(names, duel)
    present = {cell.kind for row in cells for cell in row}
    legend = {kind: words for kind, words in KINDS.items() if kind in present}
    return Matrix("Who beat whom", caption, names, columns, cells, legend, "row against column")


def _assumptions(found: TournamentResult) -> tuple[str, ...]:
    of_pairs = len(found.settings["blocks"]) == 2
    rows = "The rows are independent (whole units, where they were kept together), and fewer than half of "
    rows += "the blocks of each part hold outliers."
    stated = "(Lugosi and Mendelson) is stated for squared loss; for other losses the same procedure is used "
    stated += "without it."
    if of_pairs:
        stated = "(Laforgue, Clemencon and Bertail) is stated for losses of pairs of finite variance."
    apart = "Candidates were not trained on the rows of this tournament."
    return (rows, apart, f"The guarantee {stated}")
