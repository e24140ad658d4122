"""A robust mean or difference as a picture: blocks, interval, plain mean; the estimate at each level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.errors import ConfigError
from distmom.report.words import number

if TYPE_CHECKING:
    from distmom.report.difference_result import DifferenceResult
    from distmom.report.mean_result import MeanResult
    from distmom.report.result import Result

BLOCKS, ESTIMATE, PLAIN, FAINT = "#0072B2", "#111111", "#D55E00", "#9ecae9"
"""Told apart also by those who see few colours (Okabe and Ito)."""

MOST_TICKS = 7

STRIP = 0.8
"""Height of the strip of blocks; above it is the legend."""

GOLDEN = 0.6180339887498949
"""Fractions of its multiples spread points evenly, the same in every picture."""


def plot_blocks(result: MeanResult | DifferenceResult, ax: Any = None) -> Any:
    """Draw a result; see `MeanResult.plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("plot: needs Matplotlib; pip install 'distmom[plot]'") from error
    if ax is not None:
        _blocks(result, ax)
        return ax.figure
    with_path = len(result.path) > 1
    size = (9.0, 3.6) if with_path else (6.0, 3.6)
    figure = Figure(figsize=size, layout="constrained")
    widths = [3, 2] if with_path else [1]
    axes = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
    _blocks(result, axes[0])
    if with_path:
        _path(result, axes[1])
    return figure


def _blocks(result: MeanResult | DifferenceResult, ax: Any) -> None:
    """Block means as a strip; the view is that of most blocks and the interval, whatever lies outside."""
    values = result.block_estimates[np.isfinite(result.block_estimates)]
    low, high = _view(values, result)
    shown = values[(values >= low) & (values <= high)]
    heights = (np.arange(shown.size) * GOLDEN) % 1.0
    ax.scatter(
        shown,
        STRIP * (0.12 + 0.8 * heights),
        s=22,
        color=BLOCKS,
        alpha=0.75,
        linewidths=0,
        label=f"block {result.drawn[0]}",
    )
    if result.interval is not None:
        level = f"{100 * result.confidence_level:.6g} % interval"
        ax.axvspan(*result.interval, 0, STRIP, color=FAINT, alpha=0.5, linewidth=0, label=level, zorder=0)
    if np.isfinite(result.estimate):
        label = f"estimate {number(result.estimate)}"
        ax.axvline(result.estimate, 0, STRIP, color=ESTIMATE, linewidth=1.6, label=label)
    plain = result.plain_estimate
    text = f"{result.drawn[1]} {number(plain)}"
    if low <= plain <= high:
        ax.axvline(plain, 0, STRIP, color=PLAIN, linewidth=1.6, linestyle="--", label=text)
    elif np.isfinite(plain):
        _outside(ax, text, to_right=plain > high)
    beyond = values.size - shown.size
    ruined = f", {result.n_ruined_blocks} ruined" if result.n_ruined_blocks else ""
    where = f" ({beyond} outside this view{ruined})" if beyond or ruined else ""
    ax.set(
        xlim=(low, high),
        ylim=(0, 1),
        yticks=[],
        xlabel=f"{result.drawn[0]} of {result.n_blocks} blocks{where}",
    )
    ax.set_title(title(result), fontsize=10, loc="left")
    ax.legend(fontsize=8, frameon=False, loc="upper left", ncols=2)
    ax.spines[["left", "right", "top"]].set_visible(False)


def _outside(ax: Any, text: str, *, to_right: bool) -> None:
    place = 0.99 if to_right else 0.01
    arrow = f"{text} →" if to_right else f"← {text}"
    side = "right" if to_right else "left"
    ax.text(place, 0.04, arrow, transform=ax.transAxes, ha=side, color=PLAIN, fontsize=9)


def _view(values: NDArray[np.float64], result: MeanResult | DifferenceResult) -> tuple[float, float]:
    """Limits that hold the middle of the blocks, the interval and the estimate, with a margin."""
    held = list(result.interval or ())
    if np.isfinite(result.estimate):
        held.append(result.estimate)
    if values.size:
        quarter, middle, three = np.quantile(values, [0.25, 0.5, 0.75])
        reach = 6.0 * (three - quarter)
        inside = values[np.abs(values - middle) <= reach]
        held += [float(inside.min()), float(inside.max())]
    if not held:
        return 0.0, 1.0
    low, high = min(held), max(held)
    margin = 0.05 * (high - low) or 0.5 * abs(low) or 0.5
    return low - margin, high + margin


def _path(result: MeanResult | DifferenceResult, ax: Any) -> None:
    """Estimate and half-width at every number of blocks that was tried."""
    blocks, estimates, halves = (np.array(column, float) for column in zip(*result.path, strict=True))
    halves = np.where(np.isfinite(halves), halves, 0.0)
    ax.errorbar(blocks, estimates, halves, fmt="o", color=BLOCKS, ecolor=FAINT, markersize=4, elinewidth=2)
    if np.isfinite(result.estimate):
        ax.axhline(result.estimate, color=ESTIMATE, linewidth=1.0)
    ax.set_xscale("log")
    ticks = blocks[:: -(-blocks.size // MOST_TICKS)]
    ax.set_xticks(ticks, [f"{k:,.0f}" for k in ticks])
    ax.minorticks_off()
    ax.set(xlabel="number of blocks", ylabel="estimate")
    ax.set_title("the same, with other numbers of blocks", fontsize=10, loc="left")
    ax.spines[["right", "top"]].set_visible(False)


def title(result: Result) -> str:
    """Name, group and status of a result."""
    name = result.name
    if result.group:
        name += " | " + ", ".join(f"{key}={value}" for key, value in result.group.items())
    return f"{name}: {'; '.join(result.status)}"
