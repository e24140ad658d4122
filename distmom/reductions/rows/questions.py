"""Evaluating several sets of blocks whose rows were kept by one unit of work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from distmom.numerics.arrays import Record
from distmom.numerics.pairs.regroup import CellRows


@dataclass(frozen=True)
class Answers:
    """States of some questions, each of consecutive blocks; questions are in the order of their numbers."""

    parts: tuple[tuple[int, Any], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the states."""
        return sum(int(state.nbytes) for _, state in self.parts)


@dataclass(frozen=True)
class AnswerEach:
    """Passes the rows of each question to its kernel.

    Attributes
    ----------
    numbers : tuple of int
        Numbers of the questions.
    kernels : tuple of callable
        ``kernel(*kept, between) -> state``, such as `BlockKernel`.
    """

    numbers: tuple[int, ...]
    kernels: tuple[Callable[..., Any], ...]

    def __call__(self, *kept: Any, between: Callable[[], None] = lambda: None) -> Answers:
        """States of the questions; `kept` has, for each sample, the rows of every question."""
        asked = zip(self.numbers, self.kernels, zip(*kept, strict=True), strict=True)
        return Answers(tuple((number, kernel(*rows, between=between)) for number, kernel, rows in asked))


@dataclass(frozen=True)
class HandedOver(Record):
    """The rows of the blocks of one question, of each sample."""

    kept: tuple[CellRows, ...]


def hand_over(*kept: tuple[CellRows, ...], between: Callable[[], None] = lambda: None) -> HandedOver:
    """Pass the rows on without evaluating them, for blocks that are too large for one unit of work."""
    return HandedOver(tuple(rows for (rows,) in kept))


@dataclass(frozen=True)
class JoinAnswers:
    """Merges the states of units; the left one has the lower numbers of questions and blocks.

    Attributes
    ----------
    merges : tuple of callable
        ``merge(left, right) -> state`` of each question.
    """

    merges: tuple[Callable[[Any, Any], Any], ...]

    def __call__(self, left: Answers, right: Answers) -> Answers:
        """The states of both; a question that was cut is whole again."""
        (number, last), (other, first) = left.parts[-1], right.parts[0]
        if number != other:
            return Answers(left.parts + right.parts)
        whole = self.merges[number](last, first)
        return Answers((*left.parts[:-1], (number, whole), *right.parts[1:]))
