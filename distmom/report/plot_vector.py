"""A robust mean vector as a picture: two coordinates as a plane, more of them as strips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.median import spread_about
from distmom.report.page.draw import BLOCKS, ESTIMATE, FAINT, PLAIN
from distmom.report.page.svg import GOLDEN
from distmom.report.page.telling import heading
from distmom.report.words import number

if TYPE_CHECKING:
    from distmom.report.vector_result import Vector, VectorResult

MOST_STRIPS = 12
"""Coordinates drawn; tables hold all."""

VIEW = 6.0
"""Half of the view, in spreads of the block means (1.4826 times their median absolute deviation)."""


def plot_vector(result: VectorResult, ax: Any = None) -> Any:
    """Draw a result; see `VectorResult.plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("plot: needs Matplotlib; pip install 'distmom[plot]'") from error
    plane = len(result.columns) == 2
    if ax is None:
        height = 4.4 if plane else 1.4 + 0.45 * min(len(result.columns), MOST_STRIPS)
        ax = Figure(figsize=(6.4, height), layout="constrained").subplots()
    (_plane if plane else _strips)(result, ax)
    title = f"{heading(result)}: {'; '.join(result.status)}"
    ax.set_title(title, fontsize=10, loc="left")
    return ax.figure


def _spreads(result: VectorResult) -> tuple[Vector, Vector]:
    """Finite block mean vectors, and the spread of each coordinate; where it is 0, something to draw with."""
    blocks = result.block_estimates
    blocks = blocks[np.isfinite(blocks).all(axis=1)]
    if not blocks.size:
        return blocks.reshape(0, len(result.columns)), np.ones(len(result.columns))
    middle = np.median(blocks, axis=0)
    spread, reach = spread_about(blocks, middle), np.abs(blocks - middle).max(axis=0)
    return blocks, np.where(spread > 0.0, spread, np.where(reach > 0.0, reach / VIEW, 1.0))


def _plane(result: VectorResult, ax: Any) -> None:
    """Both coordinates in one unit of length, so that the ball of the geometric median is a circle."""
    from matplotlib.patches import Circle, Rectangle

    blocks, spread = _spreads(result)
    ax.scatter(*blocks.T, s=22, color=BLOCKS, alpha=0.75, linewidths=0, label="block means")
    low, high = result.estimate - VIEW * spread, result.estimate + VIEW * spread
    level = f"{100 * result.confidence_level:.6g} %"
    if result.radius is not None:
        ball = Circle(tuple(result.estimate), result.radius, color=FAINT, alpha=0.5, label=f"{level} ball")
        ax.add_patch(ball).set_zorder(0)
        reach = max(1.1 * result.radius, float(np.max(high - result.estimate)))
        low, high = result.estimate - reach, result.estimate + reach
    elif result.intervals is not None:
        corner, opposite = result.intervals.T
        sides = opposite - corner
        box = Rectangle(tuple(corner), *sides, color=FAINT, alpha=0.5, label=f"{level} intervals")
        ax.add_patch(box).set_zorder(0)
        low, high = np.minimum(low, corner), np.maximum(high, opposite)
    ax.plot(*result.estimate, "o", color=ESTIMATE, markersize=7, label="estimate")
    plain = result.plain_estimate
    if np.all((plain >= low) & (plain <= high)):
        ax.plot(*plain, "D", color=PLAIN, markersize=6, label="plain mean")
    else:
        text = f"plain mean ({', '.join(number(v) for v in plain)}) lies outside"
        ax.text(0.99, 0.02, text, transform=ax.transAxes, ha="right", color=PLAIN, fontsize=9)
    if np.isfinite(low).all() and np.isfinite(high).all():
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if result.radius is not None:
        ax.set_aspect("equal", adjustable="box")
    ax.set(xlabel=result.columns[0], ylabel=result.columns[1])
    ax.legend(fontsize=8, frameon=False, loc="upper left")
    ax.spines[["right", "top"]].set_visible(False)


def _strips(result: VectorResult, ax: Any) -> None:
    """A strip for each coordinate, in spreads of its block means from the estimate."""
    blocks, spread = _spreads(result)
    d = min(len(result.columns), MOST_STRIPS)
    for i in range(d):
        centre, unit, y = result.estimate[i], spread[i], d - 1 - i
        values = (blocks[:, i] - centre) / unit
        heights = y - 0.3 + 0.6 * ((np.arange(values.size) * GOLDEN) % 1.0)
        first = i == 0
        dots = {"s": 14, "color": BLOCKS, "alpha": 0.7, "linewidths": 0}
        ax.scatter(values, heights, **dots, label="block means" if first else None)
        reach = _reach(result, i)
        if reach is not None:
            left, right = (np.array(reach) - centre) / unit
            ax.fill_betweenx([y - 0.42, y + 0.42], left, right, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
        plain = float(np.clip((result.plain_estimate[i] - centre) / unit, -VIEW, VIEW))
        if np.isfinite(plain):
            ax.plot(plain, y, "D", color=PLAIN, markersize=6, label="plain mean" if first else None)
    ax.axvline(0.0, color=ESTIMATE, linewidth=1.2, label="estimate")
    labels = [f"{name}  {number(e)}" for name, e in zip(result.columns[:d], result.estimate[:d], strict=True)]
    ax.set_yticks(range(d - 1, -1, -1), labels)
    ax.set(xlim=(-1.05 * VIEW, 1.05 * VIEW), ylim=(-0.7, d + 0.4))
    more = f"; {len(result.columns) - d} more coordinates not shown" if len(result.columns) > d else ""
    ax.set_xlabel(f"spreads of the block means from the estimate, at most {VIEW:g}{more}")
    ax.legend(fontsize=8, frameon=False, loc="upper left", ncols=3)
    ax.spines[["left", "right", "top"]].set_visible(False)


def _reach(result: VectorResult, i: int) -> tuple[float, float] | None:
    """Where the coordinate of the mean lies: its interval, or the shadow of the ball."""
    if result.intervals is not None:
        return float(result.intervals[i, 0]), float(result.intervals[i, 1])
    if result.radius is None:
        return None
    return float(result.estimate[i] - result.radius), float(result.estimate[i] + result.radius)
