"""The matrix of duels as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError
from distmom.report.words import number, printable

if TYPE_CHECKING:
    from distmom.report.tournament_result import TournamentResult

LOST, WON, TOO_CLOSE, OPEN, SELF = range(5)
COLORS = ("#D55E00", "#0072B2", "#e6e6e6", "#ffffff", "#555555")
"""Told apart also by those who see few colours (Okabe and Ito)."""

WORDS = ("lost", "won", "no match: too close", "not evaluated")
MOST_NAMES = 40


def plot_duels(result: TournamentResult, ax: Any = None) -> Any:
    """Draw who beat whom, the candidates in the order of the league; see `TournamentResult.plot`."""
    try:
        from matplotlib.colors import ListedColormap
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ImportError as error:
        raise ConfigError("plot: needs Matplotlib; pip install 'distmom[plot]'") from error
    if ax is None:
        side = min(12.0, 3.5 + 0.3 * len(result))
        figure = Figure(figsize=(side + 2.0, side), layout="constrained")
        ax = figure.subplots()
    kinds, names = _kinds(result)
    ax.imshow(kinds, cmap=ListedColormap(COLORS), vmin=-0.5, vmax=len(COLORS) - 0.5, interpolation="nearest")
    if len(names) <= MOST_NAMES:
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
        ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set(xlabel="against", ylabel="candidate")
    ax.set_title(
        f"champions: {', '.join(map(printable, result.champions[:3]))}; beta r = {number(result.beta_r)}",
        fontsize=10,
        loc="left",
    )
    patches = [
        Patch(facecolor=color, edgecolor="#999999", label=word)
        for color, word in zip(COLORS, WORDS, strict=False)
    ]
    ax.legend(handles=patches, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax.figure


def _kinds(result: TournamentResult) -> tuple[Any, list[str]]:
    """What to paint in each cell, and the names, in the order of the league."""
    duels = result.duels
    place = {name: i for i, name in enumerate(duels.names)}
    order = [place[r.name] for r in result]
    at = np.ix_(order, order)
    loses, distances = duels.loses[at], duels.distances[at]
    kinds = np.where(loses, LOST, WON)
    kinds[distances <= result.beta_r] = TOO_CLOSE
    kinds[np.isnan(distances)] = OPEN
    np.fill_diagonal(kinds, SELF)
    return kinds, [printable(r.name) for r in result]
