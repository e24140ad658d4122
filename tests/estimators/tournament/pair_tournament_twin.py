"""Tournaments on pairs of rows by the definitions: each pair of rows and of candidates, one at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from tournament_twin import beaten, median

Row = Sequence[float]
Loss = Callable[[Row, Row], float]
Pairs = list[tuple[int, int]]


def metric(matrix: NDArray[np.float64], threshold: float) -> Loss:
    def loss(a: Row, b: Row) -> float:
        d = np.array(a[1:]) - np.array(b[1:])
        return max(0.0, 1.0 + (1.0 if a[0] == b[0] else -1.0) * (float(d @ matrix @ d) - threshold))

    return loss


def ranking(column: int, kind: str) -> Loss:
    """Rows (outcome, ..., score in the column)."""

    def loss(a: Row, b: Row) -> float:
        order = float(np.sign(a[0] - b[0]))
        if order == 0.0:
            return 0.0
        z = -order * (a[column] - b[column])
        if kind == "ranking":
            return 1.0 if z > 0.0 else 0.5 if z == 0.0 else 0.0
        return max(0.0, 1.0 + z) if kind == "ranking_hinge" else math.log1p(math.exp(z))

    return loss


def clustering(column: int, coordinates: Sequence[int]) -> Loss:
    def loss(a: Row, b: Row) -> float:
        squares = sum((a[c] - b[c]) ** 2 for c in coordinates)
        return squares if a[column] == b[column] else 0.0

    return loss


def all_pairs(rows: Sequence[int]) -> Pairs:
    return [(i, j) for place, i in enumerate(rows) for j in rows[place + 1 :]]


def tournament(
    losses: Sequence[Loss],
    rows: Sequence[Row],
    blocks: Sequence[Sequence[Pairs]],
    beta_r: float | None,
) -> tuple[list[list[list[float]]], list[list[bool]], list[list[float]], float, tuple[int, ...]]:
    """Block losses of both parts, who is beaten by whom, Phi, beta r, H; `blocks` are pairs of rows."""
    m = range(len(losses))

    def mean(values: list[float]) -> float:
        found = sum(values) / len(values)
        return found if math.isfinite(found) else math.inf

    def at(f: int, i: int, j: int) -> float:
        value = losses[f](rows[i], rows[j])
        return math.inf if math.isnan(value) else value

    def gap(f: int, g: int, i: int, j: int) -> float:
        a, b = math.sqrt(at(f, i, j)), math.sqrt(at(g, i, j))
        return 0.0 if math.isinf(a) and math.isinf(b) else abs(a - b)

    values = [[[mean([at(f, *p) for p in b]) for b in part] for f in m] for part in blocks]
    phi = [[median([mean([gap(f, g, *p) for p in b]) for b in blocks[0]]) for g in m] for f in m]
    loses = beaten(values[1])
    t = [max([phi[f][g] for g in m if loses[f][g]], default=0.0) for f in m]
    level = min(t) if beta_r is None else beta_r
    finalists = tuple(f for f in m if not any(loses[f][g] and phi[f][g] > level for g in m))
    return values, loses, phi, level, finalists
