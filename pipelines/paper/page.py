"""The experiments as one page of HTML, in the style of all reports, and as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

import distmom as dm
from distmom.report.page.parts import Block, Code, Grid, Listing, Section, Story
from distmom.report.page.render import page
from pipelines.paper import pictures
from pipelines.paper.tables import TAILS

TITLE = "On medians of (randomized) pairwise means: the experiments once more"
INTRODUCTION = (
    "The tables and figures of Laforgue, Clémençon and Bertail (2019), through the public functions of "
    "distmom, on samples of 1,000 rows; the published numbers rest on 5,000 samples. Each number is run as "
    "captioned (delta = 0.001, the propositions’ numbers of blocks, the lower median) and as reproduced "
    "(delta = 0.1; 11 blocks of 90 for MoM, MoU and MoRU; the mean of the 500 disjoint pairs for "
    "MoU 1/2; 1/2; for even K the mean of the two middle block values, the midpoint)."
)
NOTES = (
    "By standard errors: two numbers agree if they are within three combined ones.",
    "By quantiles, where one row can dominate the squared error (all U-statistics but MoU Partition, all "
    f"distributions but the normal): the published mean must lie in the {TAILS[0]:.1%} to {TAILS[1]:.1%} "
    "range of means of 5,000 squared errors drawn from ours. The comparison is rough, because no error in it "
    "is larger than ours.",
    "Pareto, table of means: the samples begin at 0 and have the mean 1/2, but were scored against "
    "3/2, the mean of the classical distribution; the last column is the risk against 1/2.",
    "MoIU: the paper does not state the number of pairs. We draw floor(8 tau² N / (9 log(2/delta))) "
    "of the N pairs (4,116 for tau = 1/6 and 13,338 for 3/10), a guess by analogy with the block size "
    "of MoRM. All sixteen entries agree, but only the normal ones discriminate: with a third of the pairs "
    "MoIU 1/6 would have the risk 0.00214, which agrees as well, with a tenth 0.00249, which does not agree "
    "with the published 0.00206. Under the other distributions the risk is about that of MoU 1/2; 1/2, a "
    "sample mean of pairs, ten to thirty times that of MoU Partition for Pareto: samples of pairs contain "
    "nearly every row, so an outlier is in most of them.",
    "For MoRM, MoRU and MoIU a hundred samples at a time share the numbers of the rows or pairs drawn; their "
    "values are independent.",
)
SETTINGS = {"as reproduced": "delta = 0.1", "as captioned": "delta = 0.001"}
QUANTILES = (
    "Each estimator is run again for each delta, with the numbers of blocks that this delta asks for; a "
    "deviation that few samples exceed is uncertain. The paper prints eight such figures, without numbers: "
    "as there, the curves with and without replacement coincide, and tau decides whether MoRM is the worst "
    "of the estimators or the best. Dashed: with replacement."
)
LEARNING = {
    "metric learning": (
        "Hinge loss, blocks of 10 rows, 3 of 150 rows of iris displaced by N(0, 20²). Thin lines are seeds, "
        "thick ones their means. As published, the median block avoids the peaks that outliers cause in the "
        "plain mini-batch. The paper also shows a much slower convergence of the median block on clean "
        "rows: we do not find it; both learn at about the same pace."
    ),
    "clustering": (
        "The same blocks and rows, the mean squared distance of pairs within a cell. Published in one "
        "sentence, “the same behavior”, without numbers or settings. Here, too, the median block is not "
        "slower on clean rows: the slower convergence was not found."
    ),
}
COVERAGE = (
    "Beyond the paper: how often 95% intervals cover the mean, and how wide they are; 11 blocks for "
    "order and cantelli, ceil(log 1/delta) for closed-form. Order statistics of 11 blocks have only the "
    "levels 93.5% and 98.8%; the other two are bounds for every distribution, so they cover more often."
)
CONTAMINATION = (
    "Beyond the paper: a share of the 1,000 rows, from a Student distribution with 3 degrees of freedom for "
    "the mean and a normal one for the variance, lies around 20. Medians of means tolerate a number of "
    "outliers (fewer than half of the blocks), not a share; for scattered outliers in that share a trimmed "
    "mean or Huber’s estimator is better. Samples of pairs contain nearly all rows, and do not tolerate even "
    "a few outliers."
)
ERRATA = (
    "What one gets by the paper’s words, what by the corrected ones, and the evidence: a simulation, or the "
    "number that the paper itself has published."
)
HEADS = ("estimator", "distribution", "K", "samples", "published", "ours", "agree")
OF_QUANTILES = ("range", "median", "90%", "99%")
OWN_MEAN = "against 1/2"
TEXTS = ("estimator", "distribution", "agree")

COMMAND = "python -m pipelines.reproduce_paper pipelines/reproduce_paper.toml"

MOST_TOLD = 4
"""Numbers that differ and are told one by one."""

Parts = dict[str, pa.Table]


def story(parts: Parts) -> Story:
    """The report of the parts that are there."""
    lines = parts["tables"].to_pylist() if "tables" in parts else []
    found: list[Section] = []
    if lines:
        found += [_table_section(lines, setting) for setting in SETTINGS]
    if "errata" in parts:
        found.append(Section("Errata, by figures", (ERRATA,), (_errata(parts["errata"]),)))
    if "quantiles" in parts:
        drawn = pictures.quantiles(parts["quantiles"])
        found.append(Section("Empirical quantiles", (QUANTILES,), tuple(drawn)))
    if "learning" in parts:
        found += [
            Section(name.capitalize(), (said,), tuple(pictures.learning(parts["learning"], name)))
            for name, said in LEARNING.items()
        ]
    if "coverage" in parts:
        drawn = pictures.coverage(parts["coverage"])
        found.append(Section("Coverage and width of intervals", (COVERAGE,), tuple(drawn)))
    if "contamination" in parts:
        drawn = pictures.contamination(parts["contamination"])
        found.append(Section("Contamination", (CONTAMINATION,), tuple(drawn)))
    mine = [line for line in lines if line["setting"] == "as reproduced"]
    n_yes, n_no, n_open = _verdicts(mine)
    good = bool(lines) and n_yes == len(mine)
    verdict = "all agree" if good else f"differ: {n_no}, undecided: {n_open}"
    run = Code("Run it again", (("In a shell:", COMMAND),))
    notes: tuple[Block, ...] = (Listing("How numbers are compared", NOTES),) if lines else ()
    answer = (*_answer(mine), INTRODUCTION)
    return Story(TITLE, answer, "good" if good else "look", verdict, notes, tuple(found), (run,))


def _verdicts(lines: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Numbers that agree, differ, are undecided."""
    verdicts = [line["agree"] for line in lines]
    return verdicts.count(True), verdicts.count(False), verdicts.count(None)


def _answer(lines: list[dict[str, Any]]) -> tuple[str, ...]:
    """What came out, at the setting that reproduces the tables."""
    if not lines:
        return ("The tables have not been run.",)
    n_yes, n_no, n_open = _verdicts(lines)
    first = (
        f"{n_yes} of the {len(lines)} published numbers agree with ours at the setting that reproduces them"
    )
    first += f"; {n_open} are undecided." if n_open else "."
    if not 0 < n_no <= MOST_TOLD:
        return (first,)
    told = [
        f"{_shown(line['row'])}, {line['distribution']}: published "
        f"{line['published']:.4g}, ours {line['ours']:.4g}, "
        f"{line['low']:.4g} to {line['high']:.4g} would agree."
        for line in lines
        if line["agree"] is False
    ]
    return first, "What differs: " + " ".join(told)


def _shown(row: str) -> str:
    """A row's name, which does not break."""
    return row.replace("_", "\u00a0").replace("/", "\u2215")


def _table_section(lines: list[dict[str, Any]], setting: str) -> Section:
    """Both tables of risks in one setting, and apart what is compared by quantiles."""
    mine = [line for line in lines if line["setting"] == setting]
    grids: list[Block] = []
    for table in ("mean", "variance"):
        for way in ("standard errors", "quantiles"):
            chosen = [line for line in mine if (line["table"], line["compared_by"]) == (table, way)]
            if chosen:
                grids.append(_grid(f"Risks of the {table}, by {way}", chosen))
    reasons = Counter(line["reason"] for line in mine if line["reason"])
    why = tuple(f"Without agreement: {n} of {len(mine)}; {reason}." for reason, n in reasons.most_common())
    return Section(f"Quadratic risks, {setting} ({SETTINGS[setting]})", why, tuple(grids))


def _grid(heading: str, lines: list[dict[str, Any]]) -> Grid:
    """Numbers that are compared in one way."""
    by_quantiles = lines[0]["compared_by"] == "quantiles"
    own_mean = any(line["ours_against_own_mean"] is not None for line in lines)
    heads = (*HEADS, *(OF_QUANTILES if by_quantiles else ()), *((OWN_MEAN,) if own_mean else ()))
    n_yes, _, n_open = _verdicts(lines)
    caption = f"{n_yes} of {len(lines)} numbers agree" + (f", {n_open} undecided" if n_open else "")
    caption += ". ± is one standard error. Marked numbers differ."
    if by_quantiles:
        caption += " The range is that of means drawn from ours; then quantiles of our squared errors."
    cells = []
    for line in lines:
        own = line["ours_against_own_mean"]
        cells.append(_cells(line) + ((("" if own is None else f"{own:.5f}"),) if own_mean else ()))
    right = tuple(head not in TEXTS for head in heads)
    marked = tuple(line["agree"] is False for line in lines)
    return Grid(heading, heads, right, tuple(cells), marked, caption)


def _cells(line: dict[str, Any]) -> tuple[str, ...]:
    by_quantiles = line["compared_by"] == "quantiles"
    digits, error_digits = (".4g", ".2g") if by_quantiles else (".5f", ".5f")
    cells = (
        _shown(line["row"]),
        line["distribution"],
        str(line["n_blocks"]),
        f"{line['replications']:,}",
        f"{line['published']:{digits}} ± {line['published_se']:{error_digits}}",
        f"{line['ours']:{digits}} ± {line['ours_se']:{error_digits}}",
        {True: "yes", False: "no", None: "undecided"}[line["agree"]],
    )
    if not by_quantiles:
        return cells
    quantiles = (f"{line[name]:.3g}" for name in ("median_error", "error_q90", "error_q99"))
    return *cells, f"{line['low']:.3g} to {line['high']:.3g}", *quantiles


def _errata(data: pa.Table) -> Grid:
    """The paper's forms and the right ones beside the evidence."""
    cells = tuple(
        (
            line["what"],
            f"{line['said']:.4g}",
            f"{line['right']:.4g}",
            f"{line['evidence']:.4g} ± {line['evidence_se']:.2g}",
        )
        for line in data.to_pylist()
    )
    heads, right = ("what", "as said", "corrected", "evidence"), (False, True, True, True)
    return Grid("", heads, right, cells, (False,) * len(cells), "± is one standard error.")


def as_html(parts: Parts) -> str:
    """One page, which needs nothing from elsewhere."""
    return page(story(parts), {"distmom": dm.__version__})


def as_markdown(parts: Parts) -> str:
    """The words and tables; the pictures are in the page."""
    told = story(parts)
    text = [f"# {told.title}", *told.answer, *_blocks_as_text(told.blocks)]
    for section in told.sections:
        text += [f"## {section.heading}", *section.answer, *_blocks_as_text(section.blocks)]
    return "\n\n".join(text) + "\n"


def _blocks_as_text(blocks: tuple[Block, ...]) -> list[str]:
    text = []
    for block in blocks:
        if isinstance(block, Listing):
            text.append("\n".join(f"- {line}" for line in block.lines))
        elif isinstance(block, Grid):
            rows = [block.headers, ("---",) * len(block.headers), *block.rows]
            text += [f"### {block.heading}"] if block.heading else []
            text += ["\n".join("| " + " | ".join(cells) + " |" for cells in rows), block.caption]
    return text
