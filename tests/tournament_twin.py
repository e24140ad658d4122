"""Tournaments by the definitions themselves: every pair is evaluated, one at a time, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def median(values: Sequence[float]) -> float:
    """The value of rank ceil(K/2)."""
    return sorted(values)[math.ceil(len(values) / 2) - 1]


def difference(a: float, b: float) -> float:
    """a - b, 0 where both are infinite."""
    return 0.0 if math.isinf(a) and math.isinf(b) else a - b


@dataclass
class Twin:
    """What comes out: by numbers of candidates."""

    losses: list[list[list[float]]]  # part, candidate, block
    loses: list[list[bool]]
    last_loses: list[list[bool]]
    phi: list[list[float]]
    t: list[float]
    beta_r: float
    finalists: tuple[int, ...]
    champions: tuple[int, ...]
    cycle: bool


def finite_or_infinite(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return mean if math.isfinite(mean) else math.inf


def beaten(losses: list[list[float]]) -> list[list[bool]]:
    m = range(len(losses))
    k = len(losses[0])
    return [
        [sum(difference(a, b) > 0.0 for a, b in zip(losses[f], losses[g], strict=True)) > k / 2 for g in m]
        for f in m
    ]


def play(
    loses: list[list[bool]],
    last: list[list[bool]],
    phi: list[list[float]],
    beta_r: float | None,
) -> tuple[list[float], float, tuple[int, ...], tuple[int, ...], bool]:
    """Thresholds, level, finalists, champions, and whether there is a cycle."""
    m = range(len(loses))
    t = [max([phi[f][g] for g in m if loses[f][g]], default=0.0) for f in m]
    level = min(t) if beta_r is None else beta_r
    finalists = tuple(f for f in m if not any(loses[f][g] and phi[f][g] > level for g in m))
    champions = tuple(f for f in finalists if not any(last[f][g] for g in finalists))
    if champions or not finalists:
        return t, level, finalists, champions, False
    worst = {f: max(phi[f][g] for g in finalists if last[f][g]) for f in finalists}
    least = min(worst.values())
    return t, level, finalists, tuple(f for f in finalists if worst[f] == least), True


def tournament(
    predictions: Sequence[Floats],
    truth: Floats,
    cells: NDArray[np.int64],
    n_blocks: int,
    loss: Callable[[float, float], float],
    *,
    distance: str = "prediction",
    beta_r: float | None = None,
) -> Twin:
    """The definitions; `cells` are part * n_blocks + block of each row."""
    m = range(len(predictions))
    rows = [np.flatnonzero(cells == c).tolist() for c in range(3 * n_blocks)]
    blocks = [[r for r in rows[p * n_blocks : (p + 1) * n_blocks] if r] for p in range(3)]

    def one(f: int, r: int) -> float:
        return loss(float(truth[r]), float(predictions[f][r]))

    def measure(f: int, r: int) -> float:
        return float(predictions[f][r]) if distance == "prediction" else math.sqrt(one(f, r))

    losses = [[[finite_or_infinite([one(f, r) for r in b]) for b in part] for f in m] for part in blocks]

    def gap(f: int, g: int, r: int) -> float:
        a, b = measure(f, r), measure(g, r)
        if math.isfinite(a) and math.isfinite(b):
            return abs(a - b)
        return math.inf if math.isfinite(a) or math.isfinite(b) else 0.0

    phi = [[median([sum(gap(f, g, r) for r in b) / len(b) for b in blocks[0]]) for g in m] for f in m]
    loses, last = beaten(losses[1]), beaten(losses[2])
    return Twin(losses, loses, last, phi, *play(loses, last, phi, beta_r))


def cells_of(found: Any, n_rows: int, seed: int, path: str = "") -> NDArray[np.int64]:
    """Cells of the rows of data in memory."""
    from distmom.numerics.blocks.labels import file_key, label_table, labels
    from distmom.numerics.random.philox import resolve_seed

    bits, _ = resolve_seed(seed)
    n_cells = 3 * found
    return labels(0, n_rows, file_key(bits, path), label_table(bits, n_cells))
