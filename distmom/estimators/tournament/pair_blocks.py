"""How many blocks losses of pairs have, what is drawn for each, and what all of them cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.ustat.cost import in_words
from distmom.numerics.arrays import Ints
from distmom.passes.cell_map import given_numbers
from distmom.passes.census import column_share
from distmom.theory.planning import joined_blocks
from distmom.theory.tuples import default_tuples

if TYPE_CHECKING:
    from distmom.cluster import Executor
    from distmom.estimators.tournament.plan import TournamentPlan

PAIR_ROWS = 4
"""Times as many rows as blocks of single rows have at least, since pairs of few rows are alike."""

SAMPLED_ROWS = 256
"""Rows of a sampled block unless another number is given."""

RATE = 3e7
"""Losses a second on one thread, roughly."""


def blocks_of_part(plan: TournamentPlan, n_used: int) -> tuple[int, bool]:
    """How many blocks of a part so many rows can fill, and whether they are fewer than were asked for.

    Raises
    ------
    NoAnswerError
        If that is none.
    """
    options, n_parts, wanted = plan.options, plan.options.n_parts, plan.n_blocks
    if n_used < 2 * n_parts:
        raise NoAnswerError(f"{n_used:,} rows that count are too few for {n_parts} parts; use more rows")
    if options.design.number is None and options.contamination is None and not options.design.of_units:
        wanted = joined_blocks(n_used // (n_parts * PAIR_ROWS))
    numbers, lowered = given_numbers(np.array([n_used]), n_parts * wanted, 2)
    return wanted if options.sampled else int(numbers[0]) // n_parts, bool(lowered[0])


def rows_drawn(plan: TournamentPlan, n_rows: int, n_used: int, n_blocks: int) -> int | None:
    """Rows or pairs to draw for a sampled block: more than are asked for, as some rows will not count.

    Raises
    ------
    ConfigError
        If a part has fewer.
    """
    options, n_parts, m = plan.options, plan.options.n_parts, len(plan.field.candidates)
    if not options.sampled:
        return None
    n_part, n_good, share = n_rows // n_parts, n_used // n_parts, n_used / n_rows
    again = options.design.replace
    if options.pairs.name == "incomplete":
        most = max(1, options.pair_budget // (n_parts * n_blocks * m))
        default = default_tuples(n_good, n_parts * n_blocks, replacement=again)
        drawn = math.ceil((options.pairs.n or min(most, default)) / share**2)
        return drawn if again else min(drawn, n_part * (n_part - 1) // 2)
    size = options.design.size or min(SAMPLED_ROWS, n_good)
    if not again and size > n_good:
        raise ConfigError(
            f"blocks: size: {size:,} rows without replacement from a part of {n_good:,} cannot be drawn; "
            "use fewer"
        )
    drawn = math.ceil(size / share)
    return drawn if again else min(n_part, drawn)


def n_losses(plan: TournamentPlan, sizes: Ints, drawn: int | None) -> int:
    """Losses to be evaluated on blocks of these sizes, or as large as was drawn; distances apart."""
    if drawn is None:
        exact = sizes.astype(object)
        n_pairs = int((exact * (exact - 1) // 2).sum())
    else:
        n_pairs = len(sizes) * (
            drawn if plan.options.pairs.name == "incomplete" else drawn * (drawn - 1) // 2
        )
    return n_pairs * len(plan.field.candidates)


def check_budget(plan: TournamentPlan, n: int, threads: int) -> None:
    """ConfigError if more losses than the budget would be evaluated."""
    budget = plan.options.pair_budget
    if n > budget:
        raise ConfigError(
            f"{len(plan.field.candidates):,} candidates on all pairs of the blocks are {n:.2g} losses, "
            f"{in_words(n / (RATE * threads))} or so on {threads} threads and more than "
            f"the budget of {budget:.2g}; use SampledBlocks(size=…), SampledPairs(n), more blocks, or a "
            "larger budget"
        )


def describe_pairs(plan: TournamentPlan, executor: Executor) -> dict[str, Any]:
    """What the blocks cost, if all rows of the files count."""
    assert plan.rows is not None
    n = sum(plan.rows)
    n_blocks, _ = blocks_of_part(plan, n)
    drawn, cells = rows_drawn(plan, n, n, n_blocks), plan.options.n_parts * n_blocks
    needed = n_losses(plan, np.full(cells, n // cells), drawn)
    share = column_share(plan.source, plan.read)
    return {
        "n_bytes": int(sum(f.size for f in plan.source.files) * share),
        "n_blocks": n_blocks,
        "scheme": plan.options.design.scheme,
        "drawn": drawn,
        "n_losses": needed,
        "seconds": round(needed / (RATE * executor.threads), 1),
    }


def check_pairs(plan: TournamentPlan, executor: Executor) -> None:
    """Refuse what would be refused if all rows of the files counted; with a filter that is not known.

    Raises
    ------
    ConfigError
        More losses than the budget would be evaluated, or a sample is larger than a part.
    NoAnswerError
        There are too few rows.
    """
    told = describe_pairs(plan, executor)
    if plan.read.where is None:
        check_budget(plan, told["n_losses"], executor.threads)
