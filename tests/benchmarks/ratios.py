"""Coverage of the intervals of a ratio whose denominators are small, as Markdown.

python -m tests.benchmarks.ratios                  # 2,000 data sets a line: a minute or two
python -m tests.benchmarks.ratios --data-sets 200

The concordance index of a rare outcome, 0 or 1, and a normal score that is one standard deviation higher
where it is 1, or three: a block with few ones has a small denominator. ``Fieller``: ``interval="cantelli"``,
``linearised`` what it would be about the ratios of blocks with the jackknife's variance.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import RuleAnswer
from distmom.inference.fieller import Quotients, fieller_ends
from distmom.numerics.blocks.moments import Moments

ROWS = 400
"""Of a block."""


class Blocks(NamedTuple):
    """Of shape (data sets, K): N, D, their (co)variances by the jackknife, and that of N/D."""

    numerator: np.ndarray
    denominator: np.ndarray
    components: np.ndarray
    of_ratio: np.ndarray


def draw(rng: np.random.Generator, n_sets: int, n_blocks: int, share: float, shift: float) -> Blocks:
    """Blocks of `ROWS` rows, in which each outcome is 1 with this probability, and the score higher there."""
    ones = rng.random((n_sets * n_blocks, ROWS)) < share
    order = np.argsort(rng.normal(size=ones.shape) + shift * ones, axis=1)
    ones = np.take_along_axis(ones, order, axis=1)
    n_ones = ones.sum(axis=1, keepdims=True)
    above, below = n_ones - np.cumsum(ones, axis=1), np.cumsum(~ones, axis=1)
    at_rows = np.where(ones, below, above), np.where(ones, ROWS - n_ones, n_ones)
    rows = [one / (ROWS - 1.0) for one in at_rows]
    means = [one.mean(axis=1) for one in rows]
    with np.errstate(invalid="ignore", divide="ignore"):
        left = [(ROWS * m[:, None] - 2.0 * r) / (ROWS - 2.0) for m, r in zip(means, rows, strict=True)]
        left.append(left[0] / left[1])
        away = [one - one.mean(axis=1, keepdims=True) for one in left]
        scale = (ROWS - 1.0) / ROWS
        spread = [scale * (away[a] * away[b]).sum(axis=1) for a, b in ((0, 0), (0, 1), (1, 1), (2, 2))]
    shape = (n_sets, n_blocks)
    components = np.stack(spread[:3], axis=-1).reshape(*shape, 3)
    return Blocks(*(m.reshape(shape) for m in means), components, spread[3].reshape(shape))


def rule(n_blocks: int, level: float, values: np.ndarray, variance: np.ndarray) -> RuleAnswer:
    """The rule on blocks of these values and variances, one group a data set."""
    values, variance = values.reshape(-1, n_blocks), variance.reshape(-1, n_blocks)
    blocks = Moments(np.full(values.shape, ROWS), values, variance * ROWS * (ROWS - 1.0))
    return answer_rule(blocks, None, None, level, n_blocks=n_blocks, block_source="statistics")


def line(n_sets: int, n_blocks: int, ones: float, level: float, shift: float) -> str:
    """Coverage by each kind of interval, among the data sets that have one."""
    truth = float(norm.cdf(shift / np.sqrt(2.0)))
    drawn = draw(np.random.default_rng(1), n_sets, n_blocks, ones / ROWS, shift)
    with np.errstate(invalid="ignore", divide="ignore"):
        answer = rule(n_blocks, level, drawn.numerator / drawn.denominator, drawn.of_ratio)
    group = np.repeat(np.arange(n_sets), n_blocks)
    flat = drawn.numerator.ravel(), drawn.denominator.ravel(), drawn.components.reshape(-1, 3), group
    found = fieller_ends(Quotients(*flat), answer.estimate, partial(rule, n_blocks, level))
    plain = answer.intervals
    ends = {
        "order": (plain.order_low, plain.order_high),
        "linearised": (plain.cantelli_low, plain.cantelli_high),
        "Fieller": (found.intervals.cantelli_low, found.intervals.cantelli_high),
    }
    cells = [f"{truth:.3f}", f"{n_blocks}", f"{ones:g}", f"{level:g}"]
    for name, (low, high) in ends.items():
        given = np.isfinite(low) & np.isfinite(high)
        if name == "Fieller":
            given &= ~found.unbounded
        if given.any():
            covers, width = ((low <= truth) & (high >= truth))[given].mean(), np.median((high - low)[given])
            cells.append(f"{covers:.3f} ({given.mean():.2f}, {width:.2f})")
        else:
            cells.append("none")
    cells.append(f"{found.unbounded.mean():.2f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=2_000)
    n_sets = parser.parse_args().data_sets
    print("Coverage (share of data sets with an interval, median width):\n")
    print("| index | blocks | ones in a block | level | order | linearised | Fieller | no end |")
    print("|---" * 8 + "|")
    for shift, level, n_blocks in product((1.0, 3.0), (0.9, 0.99), (9, 21)):
        for ones in (1, 2, 4, 8, 30):
            print(line(n_sets, n_blocks, ones, level, shift), flush=True)


if __name__ == "__main__":
    main()
