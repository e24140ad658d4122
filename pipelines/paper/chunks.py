"""The work of the experiments as independent calls: chunks of samples, each with its seeds.

A chunk has as many samples as share the numbers of rows drawn, so its estimates depend neither on the others
nor on who makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.cluster import Call, check_stopped
from pipelines.paper.distributions import DISTRIBUTIONS, N_ROWS, Floats, samples
from pipelines.paper.rows import AT_ONCE, ROWS

Run = Callable[[Sequence[Call]], list[Any]]
"""Takes calls, gives what they return, in their order."""


@dataclass(frozen=True)
class Wanted:
    """Estimates of a row of the tables on the first samples of a sequence.

    Attributes
    ----------
    row, distribution : str
    stream : tuple of int
        Which sequence of samples of the distribution.
    n_samples : int
    delta : float
    captioned : bool
    median : {"lower", "midpoint"}
    """

    row: str
    distribution: str
    stream: tuple[int, ...]
    n_samples: int
    delta: float
    captioned: bool = False
    median: str = "lower"


def estimates(run: Run, wanted: Sequence[Wanted], seed: int) -> list[tuple[Floats, int]]:
    """For each the estimates of its samples, and K. Those of one sequence draw it together."""
    sequences: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for number, one in enumerate(wanted):
        sequences.setdefault((one.distribution, one.stream), []).append(number)
    calls, whose = [], []
    for (distribution, _), numbers in sequences.items():
        for first in range(0, max(wanted[number].n_samples for number in numbers), AT_ONCE):
            those = [number for number in numbers if wanted[number].n_samples > first]
            given = tuple(wanted[number] for number in those)
            n_rows = sum(min(AT_ONCE, one.n_samples - first) for one in given) * N_ROWS
            name = f"samples of the {distribution} distribution from {first}"
            calls.append(Call(name, _chunk, (given, first, seed), n_rows, n_rows * 8))
            whose.append(those)
    found: list[list[tuple[Floats, int]]] = [[] for _ in wanted]
    for those, answers in zip(whose, run(calls), strict=True):
        for number, answer in zip(those, answers, strict=True):
            found[number].append(answer)
    return [(np.concatenate([part for part, _ in parts]), parts[0][1]) for parts in found]


def _chunk(wanted: Sequence[Wanted], first: int, seed: int) -> list[tuple[Floats, int]]:
    distribution = next(
        distribution for distribution in DISTRIBUTIONS if distribution.name == wanted[0].distribution
    )
    most = min(AT_ONCE, max(one.n_samples for one in wanted) - first)
    data = samples(distribution, most, seed, *wanted[0].stream, first=first)
    found = []
    for one in wanted:
        check_stopped()
        row = next(row for row in ROWS if row.name == one.row)
        used = data[: one.n_samples - first]
        found.append(
            row.estimates(used, one.delta, captioned=one.captioned, seed=seed + first, median=one.median)
        )
    return found


def chunked(
    run: Run, function: Callable[..., Any], n_samples: int, *arguments: Any, rows: int = N_ROWS
) -> list[Any]:
    """Answers of ``function(first, n, *arguments)`` about chunks of samples."""
    sizes = [(first, min(AT_ONCE, n_samples - first)) for first in range(0, n_samples, AT_ONCE)]
    return run(
        [
            Call(f"samples from {first}", function, (first, n, *arguments), n * rows, n * rows * 8)
            for first, n in sizes
        ]
    )
