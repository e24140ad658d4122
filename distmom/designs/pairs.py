"""Which pairs (or larger tuples) of rows a U-statistic takes: one frozen object for each way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

from distmom.checks import check_choice, check_count, whole
from distmom.designs.blocks import RandomBlocks, SampledBlocks
from distmom.designs.design import BlockDesign
from distmom.errors import ConfigError


class PairDesign:
    """What all pair designs share; see `CompletePairs`, `SampledPairs` and `DisjointPairs`."""

    name: ClassVar[str] = "complete"
    n: int | None = None
    budget: int | None = None

    def blocks(self, design: BlockDesign) -> BlockDesign:
        """How rows form the blocks in which these pairs lie."""
        return design


@dataclass(frozen=True)
class CompletePairs(PairDesign):
    """All pairs of the rows of a block: a complete U-statistic.

    Parameters
    ----------
    budget : int, optional
        Maximum number of pairs to evaluate one by one, if the kernel has no fast form: a run that needs more
        is refused before it starts. By default about an hour's work on two threads.

    Raises
    ------
    ConfigError
        If the budget is no whole number of at least 1.

    Examples
    --------
    >>> CompletePairs(budget=10**9).budget
    1000000000
    """

    budget: int | None = None

    def __post_init__(self) -> None:
        _check_budget(self)


@dataclass(frozen=True)
class SampledPairs(PairDesign):
    """Each block is a sample of pairs, drawn from all pairs of all rows: an incomplete U-statistic.

    It replaces the block design: `blocks` is then the number of samples, or omitted.

    Parameters
    ----------
    n : int, optional
        Pairs per sample; by default ten times the number of rows, capped by the budget.
    replace : bool
        Whether pairs are drawn with replacement.
    budget : int, optional
        As for `CompletePairs`.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Examples
    --------
    >>> SampledPairs(10_000).n
    10000
    """

    n: int | None = None
    replace: bool = False
    budget: int | None = field(default=None, kw_only=True)

    name: ClassVar[str] = "incomplete"

    def __post_init__(self) -> None:
        if self.n is not None:
            object.__setattr__(self, "n", whole(self.n))
            check_count("SampledPairs: n", self.n)
        if not isinstance(self.replace, bool):
            raise ConfigError(f"SampledPairs: replace: must be True or False, not {self.replace!r}")
        _check_budget(self)

    def blocks(self, design: BlockDesign) -> SampledBlocks:
        """The design of the samples: how many there are, and whether pairs may repeat.

        Raises
        ------
        ConfigError
            If the design says more than a number.
        """
        if isinstance(design, SampledBlocks) and design.size is None:
            return replace(design, replace=self.replace)
        if isinstance(design, RandomBlocks) and design == RandomBlocks(design.n):
            return SampledBlocks(design.n if isinstance(design.n, int) else None, replace=self.replace)
        raise ConfigError(
            f"blocks: samples of pairs are drawn from all rows, so {design!r} cannot be combined "
            "with SampledPairs; "
            "give a number of samples, or SampledBlocks(n, tau=…) without a size"
        )


@dataclass(frozen=True)
class DisjointPairs(PairDesign):
    """The rows of a block in random pairs, each row in one: as many values as rows, halved, and independent.

    Examples
    --------
    >>> DisjointPairs()
    DisjointPairs()
    """

    name: ClassVar[str] = "disjoint"


PAIRS = ("complete", "sampled", "disjoint")

Pairs: TypeAlias = Literal["complete", "sampled", "disjoint"] | PairDesign


def as_pairs(pairs: Any) -> PairDesign:
    """The design that a value of ``pairs=`` means.

    Raises
    ------
    ConfigError
        If it is neither of the three words nor a design.

    Examples
    --------
    >>> as_pairs("complete"), as_pairs(DisjointPairs())
    (CompletePairs(budget=None), DisjointPairs())
    """
    if isinstance(pairs, PairDesign):
        return pairs
    if isinstance(pairs, type) and issubclass(pairs, PairDesign):
        raise ConfigError(f"pairs: {pairs.__name__} is a class; give an object, such as {pairs.__name__}()")
    if pairs == "incomplete":
        raise ConfigError("pairs: 'incomplete' is now 'sampled', or SampledPairs(n)")
    check_choice("pairs", pairs, PAIRS)
    kinds = {"complete": CompletePairs, "sampled": SampledPairs, "disjoint": DisjointPairs}
    made: PairDesign = kinds[pairs]()
    return made


def _check_budget(design: Any) -> None:
    if design.budget is not None:
        object.__setattr__(design, "budget", whole(design.budget))
        check_count(f"{type(design).__name__}: budget", design.budget)
