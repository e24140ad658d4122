"""Compiled sums of the weights of concordant and discordant rows; see ``order_weights.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from distmom.numerics._jit import entry, njit
from distmom.numerics.ranks.descent_compiled import SMALL_GROUP, groups


@njit
def _finish(ranks, runs, rows, masses, concordant, discordant, first, last, at, alike, unlike):
    """Process a small group pair by pair, in the order of x, and write the sums of its rows."""
    for i in range(first, last):
        for j in range(first, i):
            if runs[at, j] == runs[at, i] or ranks[at, j] == ranks[at, i]:
                continue
            if ranks[at, j] < ranks[at, i]:
                concordant[at, i] += masses[at, j]
                concordant[at, j] += masses[at, i]
            else:
                discordant[at, i] += masses[at, j]
                discordant[at, j] += masses[at, i]
    for i in range(first, last):
        alike[rows[at, i]] = concordant[at, i]
        unlike[rows[at, i]] = discordant[at, i]


@njit
def _forwards(ranks, runs, masses, concordant, discordant, first, last, bit, at):
    """Add the rows of the group with a smaller x: those of the same run of x wait until it ends."""
    lacking = having = wait_lacking = wait_having = 0.0
    run = -1
    for i in range(first, last):
        if runs[at, i] != run:
            run = runs[at, i]
            lacking += wait_lacking
            having += wait_having
            wait_lacking = wait_having = 0.0
        if (ranks[at, i] >> bit) & 1:
            concordant[at, i] += lacking
            wait_having += masses[at, i]
        else:
            discordant[at, i] += having
            wait_lacking += masses[at, i]


@njit
def _backwards(ranks, runs, rows, masses, concordant, discordant, first, middle, last, bit, at):
    """Add the rows with a greater x, and move those that lack the bit before those that have it."""
    to = 1 - at
    lacking = having = wait_lacking = wait_having = 0.0
    run = -1
    zero, one = middle, last
    for i in range(last - 1, first - 1, -1):
        if runs[at, i] != run:
            run = runs[at, i]
            lacking += wait_lacking
            having += wait_having
            wait_lacking = wait_having = 0.0
        alike, unlike, mass = concordant[at, i], discordant[at, i], masses[at, i]
        if (ranks[at, i] >> bit) & 1:
            unlike += lacking
            wait_having += mass
            one -= 1
            place = one
        else:
            alike += having
            wait_lacking += mass
            zero -= 1
            place = zero
        ranks[to, place], runs[to, place], rows[to, place] = ranks[at, i], runs[at, i], rows[at, i]
        masses[to, place], concordant[to, place], discordant[to, place] = mass, alike, unlike


@entry("i4[,] i4[,] i4[,] f8[,] f8[,] f8[,] i8[] f8[] f8[]")
def sweep(ranks, runs, rows, masses, concordant, discordant, starts, alike, unlike):
    """Weights of the concordant and discordant rows of each row into `alike` and `unlike`.

    All arrays but the last three have shape (2, n); their first lines are the ranks of y, the runs of x, the
    numbers and the weights of the rows in the order of x, and zeros.
    """
    for first, middle, last, bit, at in groups(starts):
        if bit >= 0:
            _forwards(ranks, runs, masses, concordant, discordant, first, last, bit, at)
            _backwards(ranks, runs, rows, masses, concordant, discordant, first, middle, last, bit, at)
        elif bit == SMALL_GROUP:
            _finish(ranks, runs, rows, masses, concordant, discordant, first, last, at, alike, unlike)
        else:  # one rank: nothing to add
            for i in range(first, last):
                alike[rows[at, i]] = concordant[at, i]
                unlike[rows[at, i]] = discordant[at, i]
