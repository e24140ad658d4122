"""Pictures of the experiments, as SVG to stand in a page."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa

from distmom.errors import ConfigError
from pipelines.paper.laws import LAWS

COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#000000",
    "#7f7f7f",
    "#8c510a",
)
MARKS = "os^Dv<>pX"

Lines = list[dict[str, Any]]


def _figure(rows: int, columns: int, height: float) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("reproduce_paper: needs Matplotlib; pip install 'distmom[plot]'") from error
    figure = Figure(figsize=(9.0, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).ravel()


def _svg(figure: Any, handles: Any = None) -> str:
    import matplotlib as mpl

    if handles is not None:
        figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "distmom"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _curve(ax: Any, x: Any, y: Any, number: int, label: str) -> None:
    ax.plot(x, y, color=COLOURS[number], marker=MARKS[number], markersize=4, linewidth=1.3, label=label)


def _names(lines: Lines, key: str) -> list[str]:
    return list(dict.fromkeys(line[key] for line in lines))


def quantiles(data: pa.Table, table: str) -> str:
    """Four of the eight figures: deviation against delta under each law."""
    lines = [line for line in data.to_pylist() if line["table"] == table]
    figure, axes = _figure(2, 2, 7.0)
    for ax, law in zip(axes, LAWS, strict=True):
        for number, row in enumerate(_names(lines, "row")):
            of_row = [line for line in lines if line["row"] == row and line["law"] == law.name]
            _curve(ax, [r["delta"] for r in of_row], [r["quantile"] for r in of_row], number, row)
        ax.set(title=law.name, xscale="log", yscale="log", xlabel="δ", ylabel="deviation exceeded by share δ")
        deltas = sorted({line["delta"] for line in lines})
        ax.set_xticks(deltas, [f"1/{1 / delta:.0f}" for delta in deltas])
        ax.set_xticks([], minor=True)
    return _svg(figure, axes[0].get_legend_handles_labels())


def learning(data: pa.Table, problem: str) -> str:
    """Risk on clean rows along the descent: a thin line for each seed, the mean as a thick one."""
    lines = [line for line in data.to_pylist() if line["problem"] == problem]
    figure, axes = _figure(1, 2, 3.8)
    for ax, kind in zip(axes, ("clean", "contaminated"), strict=True):
        for number, method in enumerate(_names(lines, "method")):
            found = [r for r in lines if r["data"] == kind and r["method"] == method]
            steps = sorted({r["step"] for r in found})
            paths = np.array([[r["risk"] for r in found if r["step"] == step] for step in steps])
            ax.plot(steps, paths, color=COLOURS[number], linewidth=0.6, alpha=0.35)
            _curve(ax, steps, paths.mean(axis=1), number, method)
        ax.set(title=f"{kind} iris", xscale="log", xlabel="step", ylabel="risk on the clean rows")
    return _svg(figure, axes[0].get_legend_handles_labels())


def coverage(data: pa.Table) -> str:
    """Coverage and half-width of each kind of interval under each law."""
    lines = data.to_pylist()
    figure, axes = _figure(1, 2, 3.8)
    laws = [law.name for law in LAWS]
    for number, kind in enumerate(_names(lines, "interval")):
        found = [line for line in lines if line["interval"] == kind]
        place = np.arange(len(laws)) + 0.2 * (number - 1)
        style = {"color": COLOURS[number], "marker": MARKS[number], "linestyle": "none", "label": kind}
        axes[0].errorbar(
            place, [r["coverage"] for r in found], yerr=[3 * r["coverage_se"] for r in found], **style
        )
        axes[1].plot(place, [r["halfwidth"] for r in found], **style)
    axes[0].axhline(lines[0]["level"], color="#7f7f7f", linestyle="--", linewidth=1)
    axes[0].set(ylabel="coverage (bars: 3 standard errors)")
    axes[1].set(ylabel="half-width, standard errors of the mean", yscale="log")
    for ax in axes:
        ax.set_xticks(range(len(laws)), laws)
    return _svg(figure, axes[1].get_legend_handles_labels())


def contamination(data: pa.Table) -> str:
    """Risk against the share of wild rows."""
    lines = data.to_pylist()
    figure, axes = _figure(1, 1, 5.2)
    for number, name in enumerate(_names(lines, "estimator")):
        found = [line for line in lines if line["estimator"] == name]
        _curve(axes[0], [100 * r["share"] for r in found], [r["risk"] for r in found], number, name)
    axes[0].set(xlabel="wild rows, %", ylabel="mean squared error", yscale="log")
    axes[0].set_xscale("symlog", linthresh=0.2)
    axes[0].set_xlim(-0.02, 25)
    axes[0].set_xticks([0, 0.2, 0.5, 1, 2, 5, 10, 20], ["0", "0.2", "0.5", "1", "2", "5", "10", "20"])
    return _svg(figure, axes[0].get_legend_handles_labels())
