"""The cost of a kernel without a fast form, reported before the run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from distmom.errors import ConfigError
from distmom.estimators.ustat.options import UStatOptions
from distmom.numerics.kernels.evaluate import one_by_one
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import count_tuples

COMPILED_RATE, NUMPY_RATE, TUPLE_RATE = 8e8, 4e7, 4e6
"""Rough pairs per second on one thread, compiled or not, and tuples of more rows: kernels differ by a factor
of three in both directions."""


def tuples_to_take(
    kernel: Kernel, columns: int, blocks: Sequence[tuple[int, ...]], *, weighted: bool = False
) -> int:
    """Tuples of rows that are evaluated one by one, over blocks of these sizes (one size per sample)."""
    slow = one_by_one(kernel, columns, weighted=weighted)
    return sum(
        count_tuples(part.kernel.degrees, tuple(sizes[s] for s in part.samples))
        for part in slow
        for sizes in blocks
    )


def seconds_for(kernel: Kernel, n_tuples: int, threads: int) -> float:
    """Rough seconds for `n_tuples` tuples."""
    compiled = all(part.kernel.compiled is not None for part in kernel.parts)
    pairs = max(sum(part.kernel.degrees) for part in kernel.parts) < 3
    rate = COMPILED_RATE if compiled else NUMPY_RATE if pairs else TUPLE_RATE
    return n_tuples / (rate * threads)


def check_budget(options: UStatOptions, n_tuples: int, n_rows: int, n_blocks: int, threads: int) -> None:
    """Raise ConfigError, with the cost and an affordable choice, for more tuples than allowed."""
    remedy = affordable(options, n_tuples, n_blocks)
    if remedy is None:
        return
    kernel = options.kernel
    how = " with weights" if options.rows.weights is not None else ""
    raise ConfigError(
        f"kernel {kernel.name!r} has no fast form{how}: {n_blocks:,} blocks of {n_rows:,} rows make "
        f"{n_tuples:.2g} tuples, about {in_words(seconds_for(kernel, n_tuples, threads))} on {threads} "
        f"threads, which exceeds the budget of {options.pair_budget:.2g}; use {remedy}"
    )


def affordable(options: UStatOptions, n_tuples: int, n_blocks: int) -> str | None:
    """What to request instead of `n_tuples` tuples, or None if they are allowed."""
    if n_tuples <= options.pair_budget:
        return None
    few = "SampledPairs, which draws some, "
    if options.sampled:
        remedy = "a smaller size, " + few
    else:
        blocks = math.ceil(n_blocks * n_tuples / options.pair_budget)
        remedy = f"{blocks | 1:,} blocks or more, {few}fewer rows by where, "
    return remedy + "or allow a larger budget"


def in_words(seconds: float) -> str:
    """``3 hours``, ``20 minutes``."""
    for name, length in (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.2g} {name}"
    return f"{max(seconds, 0.01):.2g} seconds"
