"""Pictures of the experiments, made of the parts of reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from distmom.report.page.pictures import Curve, Line, Picture, Span, Spans
from distmom.report.page.scales import Numbers, Powers
from pipelines.paper.beyond import LEVEL
from pipelines.paper.distributions import DISTRIBUTIONS

Lines = list[dict[str, Any]]

LOOKS: dict[str, tuple[int, bool]] = {
    "MoM": (1, False),
    "MoRM_1/6_SWoR": (2, False),
    "MoRM_1/6_MC": (2, True),
    "MoRM_3/10_SWoR": (3, False),
    "MoRM_3/10_MC": (3, True),
    "MoRM_9/20_SWoR": (4, False),
    "MoRM_9/20_MC": (4, True),
    "MoU_1/2;1/2": (6, False),
    "MoU_Partition": (1, False),
    "MoRU_SWoR": (4, False),
    "MoIU_1/6_SWoR": (2, False),
    "MoIU_1/6_MC": (2, True),
    "MoIU_3/10_SWoR": (3, False),
    "MoIU_3/10_MC": (3, True),
    "sample mean": (8, False),
    "plain variance": (8, False),
    "MoM, automatic blocks": (1, True),
    "MoM, 101 blocks": (6, False),
    "MoM, 5 partitions": (6, True),
    "trimmed mean, 20%": (5, False),
    "Huber": (7, False),
    "Catoni": (7, True),
    "median of 11 blocks": (1, False),
    "one block (plain mini-batch)": (2, False),
}
"""Colour of each estimator, and whether its line is dashed: with replacement, or a variant."""


def _names(lines: Lines, key: str) -> list[str]:
    return list(dict.fromkeys(line[key] for line in lines))


def _curves(lines: Lines, key: str, x: str, y: str) -> tuple[Line, ...]:
    """A line for each value of `key`."""
    found = []
    for name in _names(lines, key):
        across, up = np.array([(line[x], line[y]) for line in lines if line[key] == name], float).T
        series, dashed = LOOKS[name]
        found.append(Line(name.replace("_", " "), across, up, series=series, dashed=dashed))
    return tuple(found)


def quantiles(data: pa.Table) -> list[Picture]:
    """The eight figures: deviation against delta, for each parameter and distribution."""
    lines = data.to_pylist()
    deltas = tuple(sorted({line["delta"] for line in lines}))
    found: list[Picture] = []
    for table in ("mean", "variance"):
        for distribution in DISTRIBUTIONS:
            mine = [
                line for line in lines if line["table"] == table and line["distribution"] == distribution.name
            ]
            found.append(
                Curve(
                    f"Estimators of the {table}, {distribution.name}",
                    "",
                    _curves(mine, "row", "delta", "quantile"),
                    "delta",
                    "deviation from the truth (log scale)",
                    Powers(deltas[::2]),
                    Powers(),
                    log_x=True,
                    log_y=True,
                )
            )
    return found


def learning(data: pa.Table, problem: str) -> list[Picture]:
    """Risk on clean rows along the descent: a thin line for each seed, their mean as a thick one."""
    lines = [line for line in data.to_pylist() if line["problem"] == problem]
    steps = np.array(sorted({line["step"] for line in lines}), float)
    found: list[Picture] = []
    for kind in ("clean", "contaminated"):
        curves = []
        for method in _names(lines, "method"):
            mine = [line for line in lines if line["data"] == kind and line["method"] == method]
            paths = np.array([[line["risk"] for line in mine if line["step"] == step] for step in steps])
            series, dashed = LOOKS[method]
            curves += [Line("", steps, path, strong=False, series=series) for path in paths.T]
            curves.append(Line(method, steps, paths.mean(axis=1), series=series, dashed=dashed))
        found.append(
            Curve(
                f"Learned from the {kind} iris",
                "",
                tuple(curves),
                "step",
                "risk on the clean rows",
                Powers(tuple(steps.tolist())),
                Powers(),
                log_x=True,
                log_y=True,
            )
        )
    return found


def coverage(data: pa.Table) -> list[Picture]:
    """Coverage and margin of error of each kind of interval under each distribution."""
    covered, wide = [], []
    for line in data.to_pylist():
        name = f"{line['distribution']}: {line['interval']}"
        share, reach = line["coverage"], 3.0 * line["coverage_se"]
        words = f"{100 * share:.2f}%"
        covered.append(Span(name, words, share, (share - reach, min(1.0, share + reach)), LEVEL))
        wide.append(Span(name, f"{line['margin']:.2f}", line["margin"], (0.0, line["margin"])))
    asked = f"asked for: {100 * LEVEL:g}%"
    return [
        Spans(
            "Share of the samples whose interval covers the mean",
            "",
            tuple(covered),
            Numbers(percent=True),
            ("coverage", "3 standard errors", asked),
        ),
        Spans(
            "Mean margin of error, in standard errors of the mean",
            "",
            tuple(wide),
            Numbers(),
            ("margin of error", "", ""),
        ),
    ]


def contamination(data: pa.Table) -> list[Picture]:
    """Risk against the share of outliers, for the mean and for the variance."""
    lines = [{**line, "percent": 100.0 * line["share"]} for line in data.to_pylist()]
    percents = tuple(sorted({line["percent"] for line in lines if line["percent"] > 0.0}))
    found: list[Picture] = []
    for table in _names(lines, "table"):
        mine = [line for line in lines if line["table"] == table]
        found.append(_risks(table, [line for line in mine if line["percent"] == 0.0]))
        outlying = [line for line in mine if line["percent"] > 0.0]
        found.append(
            Curve(
                f"Risk of the {table} against the share of outliers",
                "",
                _curves(outlying, "estimator", "percent", "risk"),
                "outliers, %",
                "mean squared error",
                Powers(percents),
                Powers(),
                log_x=True,
                log_y=True,
            )
        )
    return found


def _risks(table: str, lines: Lines) -> Spans:
    """Risks without outlying rows, where an axis of shares has no place for them."""
    spans = []
    for line in lines:
        risk, reach = line["risk"], 3.0 * line["risk_se"]
        name = line["estimator"].replace("_", " ")
        spans.append(Span(name, f"{risk:.4g}", risk, (max(0.0, risk - reach), risk + reach)))
    return Spans(
        f"Risk of the {table} without outlying rows",
        "",
        tuple(spans),
        Numbers(),
        ("mean squared error", "3 standard errors", ""),
    )
