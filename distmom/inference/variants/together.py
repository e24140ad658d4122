"""Requests of many calculations to the rule, asked together: each calculation is a generator of requests.

The rule costs about as much for one line of blocks as for a hundred. A thousand variants that each ask a
dozen times, the next question depending on the last answer, are therefore asked in step.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import RuleAnswer
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.moments import Moments

T = TypeVar("T")


class Asked(NamedTuple):
    """Blocks of one distribution, whose scale is that between them; one group for each line of values.

    Without a finest level blocks get one unit each: too few, so the rule takes the sample mean.
    """

    values: Floats
    finest: int | None
    n_independent: int

    @property
    def size(self) -> int:
        """Units of a block."""
        return 1 if self.finest is None else self.n_independent // self.values.shape[1]


class Answered(NamedTuple):
    """The answer to a question: the lines from `first` on of one that many share."""

    every: RuleAnswer
    first: int
    n_lines: int

    def estimate(self, line: int = 0) -> float:
        """The estimate of a line."""
        return float(self.every.estimate[self.first + line])

    def status(self, line: int = 0) -> int:
        """The findings about a line."""
        return int(self.every.status[self.first + line])

    def alone(self) -> RuleAnswer:
        """These lines by themselves."""
        return self.every.subset(np.arange(self.first, self.first + self.n_lines))


Steps = Generator[Asked, Answered, T]
"""A calculation that asks the rule, and returns its result."""


def all_answered(calculations: Sequence[Steps[T]], confidence_level: float) -> list[T]:
    """The results of the calculations, bit-for-bit as if asked one by one.

    Questions with equal numbers of blocks are asked together.
    """
    found: dict[int, T] = {}
    waiting: dict[int, Answered | None] = dict.fromkeys(range(len(calculations)))
    while waiting:
        asked: dict[int, dict[int, Asked]] = {}
        for number, answer in waiting.items():
            try:
                one = next(calculations[number]) if answer is None else calculations[number].send(answer)
            except StopIteration as end:
                found[number] = end.value
                continue
            asked.setdefault(one.values.shape[1], {})[number] = one
        waiting = {}
        for some in asked.values():
            lines = [len(one.values) for one in some.values()]
            sizes = np.repeat([one.size for one in some.values()], lines)
            every = rule_of(np.concatenate([one.values for one in some.values()]), sizes, confidence_level)
            first = 0
            for number, n_lines in zip(some, lines, strict=True):
                waiting[number] = Answered(every, first, n_lines)
                first += n_lines
    return [found[number] for number in range(len(calculations))]


def answered(calculation: Steps[T], confidence_level: float) -> T:
    """The result of one calculation."""
    return all_answered([calculation], confidence_level)[0]


def rule_of(values: Floats, sizes: Ints, confidence_level: float) -> RuleAnswer:
    """The rule's answer for blocks; each line of values is a group whose blocks have one size in units."""
    count = np.broadcast_to(sizes[:, None], values.shape)
    blocks = Moments(np.ascontiguousarray(count), values, np.zeros(values.shape))
    return answer_rule(blocks, None, None, confidence_level, block_source="units")
