"""The experiments as one page of HTML, and as Markdown."""

from __future__ import annotations

import html
from typing import Any

import pyarrow as pa

from pipelines.paper import pictures
from pipelines.paper.tables import TAILS

STYLE = """
:root{color-scheme:light}
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:auto;padding:1rem}
body{color:#1a1a1a;background:#fff}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ccc;white-space:nowrap}
td:first-child,th:first-child{text-align:left}td:last-child,th:last-child{text-align:left;white-space:normal}
svg{max-width:100%;height:auto}.no{font-weight:bold;color:#a33b00}
"""

TITLE = "On medians of (randomized) pairwise means: the experiments once more"
INTRODUCTION = (
    "Laforgue, Clémençon and Bertail (2019). Samples of 1,000 rows; the published numbers rest on "
    "5,000 samples. Each number is run as captioned (delta = 0.001, the propositions’ numbers of "
    "blocks, the lower median) and as reproduced (delta = 0.1; 11 blocks of 90 for MoM, MoU and MoRU; "
    "the mean of the 500 disjoint pairs for MoU 1/2; 1/2; for even K the mean of the two middle block "
    "values, the midpoint)."
)
NOTES = (
    (
        "Pareto, table of means: the samples begin at 0 and have the mean 1/2, but were scored against "
        "3/2, the mean of the classical law; the last number of a line is the risk against 1/2."
    ),
    (
        "MoIU: the paper does not state the number of pairs. We draw floor(8 tau^2 N / (9 log(2/delta))) "
        "of the N pairs (4,116 for tau = 1/6 and 13,338 for 3/10), a guess by analogy with the block size "
        "of MoRM. Whether it fits is what the normal column shows: elsewhere the squared error has no "
        "variance."
    ),
    (
        "Where one row can carry the squared error (all U-statistics but MoU Partition, all laws but the "
        f"normal), the published mean is compared with the {TAILS[0]:.1%} to {TAILS[1]:.1%} range of means "
        "of 5,000 squared errors drawn from ours, not by standard errors. It is a rough comparison: it "
        "knows no error larger than ours."
    ),
)
CAPTIONS = {
    "metric learning": (
        "Hinge loss, blocks of 10, 3 of 150 rows of iris displaced by N(0, 20²). Thin lines are seeds, "
        "the thick ones their means."
    ),
    "clustering": (
        "The same blocks and rows: mean squared distance of pairs within a cell. Published as “the same "
        "behavior”, without numbers."
    ),
    "mean": ("Empirical quantiles of the estimators of the mean, delta = 1/2, 1/4, … 1/32."),
    "variance": ("Empirical quantiles of the estimators of the variance, for the same delta."),
    "coverage": (
        "Beyond the paper: coverage of 95 % intervals and their width; 11 blocks for order and exact, "
        "ceil(log 1/delta) for paper. Order statistics of 11 blocks have only the levels 93.5 % and 98.8 %."
    ),
    "contamination": (
        "Beyond the paper: risk for a Student mean when a share of 1,000 rows lies at 20. Medians of "
        "means survive a number of rows (fewer than half of the blocks), not a share; for scattered rows "
        "in that share a trimmed mean or Huber’s estimator is better."
    ),
}

Parts = dict[str, pa.Table]


def figures(parts: Parts) -> dict[str, str]:
    """Pictures by name, of the parts that are there."""
    found: dict[str, str] = {}
    if "quantiles" in parts:
        found |= {table: pictures.quantiles(parts["quantiles"], table) for table in ("mean", "variance")}
    if "learning" in parts:
        names = ("metric learning", "clustering")
        found |= {name: pictures.learning(parts["learning"], name) for name in names}
    if "coverage" in parts:
        found["coverage"] = pictures.coverage(parts["coverage"])
    if "contamination" in parts:
        found["contamination"] = pictures.contamination(parts["contamination"])
    return found


HEADS = ("row", "law", "K", "samples", "published", "ours", "agree", "remarks")


def _cells(line: dict[str, Any]) -> tuple[str, ...]:
    theirs = f"{line['published']:.5f} ± {line['published_se']:.5f}"
    ours = f"{line['ours']:.5f} ± {line['ours_se']:.5f}"
    remarks = [line["reason"]] if line["reason"] else []
    if line["compared_by"] == "quantiles":
        remarks.append(
            f"range {line['low']:.4g} to {line['high']:.4g}; squared errors: "
            f"median {line['median_error']:.3g}, 90 % {line['error_q90']:.3g}, 99 % {line['error_q99']:.3g}"
        )
    if line["ours_against_own_mean"] is not None:
        remarks.append(f"against 1/2: {line['ours_against_own_mean']:.5f}")
    numbers = (str(line["n_blocks"]), str(line["replications"]))
    verdict = {True: "yes", False: "no", None: "undecided"}[line["agree"]]
    return line["row"], line["law"], *numbers, theirs, ours, verdict, "; ".join(remarks)


def _sections(parts: Parts) -> list[tuple[str, str, list[tuple[str, ...]]]]:
    """Heading, sentence and lines of each table and setting."""
    lines = parts["tables"].to_pylist() if "tables" in parts else []
    found = []
    for setting in ("as reproduced", "as captioned"):
        for table in ("mean", "variance"):
            chosen = [x for x in lines if x["setting"] == setting and x["table"] == table]
            if chosen:
                verdicts = [x["agree"] for x in chosen]
                n_yes, n_open = verdicts.count(True), verdicts.count(None)
                said = f"{n_yes} of {len(chosen)} numbers agree, {n_open} undecided. ± is one standard error."
                found.append((f"Risks of the {table}, {setting}", said, [_cells(x) for x in chosen]))
    return found


def as_html(parts: Parts) -> str:
    """One page, which needs nothing from elsewhere."""
    e = html.escape
    body = [f"<h1>{e(TITLE)}</h1><p>{e(INTRODUCTION)}</p>"]
    for heading, said, lines in _sections(parts):
        head = "".join(f"<th>{e(word)}</th>" for word in HEADS)
        rows = "".join(
            "<tr>" + "".join(f"<td{' class=no' if c == 'no' else ''}>{e(c)}</td>" for c in cells) + "</tr>"
            for cells in lines
        )
        table = f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'
        body.append(f"<h2>{e(heading)}</h2><p>{e(said)}</p>{table}")
    body.append("<ul>" + "".join(f"<li>{e(note)}</li>" for note in NOTES) + "</ul>")
    for name, picture in figures(parts).items():
        body.append(f"<h2>{e(name.capitalize())}</h2><p>{e(CAPTIONS[name])}</p>{picture}")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{e(TITLE)}</title><style>{STYLE}</style>"
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def as_markdown(parts: Parts) -> str:
    """The tables and notes; the pictures are in the page."""
    text = [f"# {TITLE}", INTRODUCTION]
    for heading, said, lines in _sections(parts):
        rows = [HEADS, ("---",) * len(HEADS), *lines]
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in rows)
        text += [f"## {heading}", said, table]
    text.append("\n".join(f"- {note}" for note in NOTES))
    return "\n\n".join(text) + "\n"
