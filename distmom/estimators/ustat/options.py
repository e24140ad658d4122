"""The options of a robust U-statistic, checked once at the boundary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import PLENTY
from distmom.estimators.options import JOINT, SAMPLING, MeanOptions, check_choice, check_count
from distmom.numerics.kernels.catalogue import named
from distmom.numerics.kernels.kernel import Kernel
from distmom.theory import mou_blocks

PAIRS = ("complete", "incomplete", "disjoint")
STATISTICS = ("u", "v")
PROJECTIONS = ("psd", "correlation")

DEGENERATE_BLOCKS = 9
"""Blocks of kernels that are degenerate where both samples have one law."""

PAIR_BUDGET = 5 * 10**12
"""Pairs that a run may evaluate one by one unless it is told otherwise: an hour on two threads or so."""


@dataclass(frozen=True)
class UStatOptions:
    """What to compute; see `distmom.ustatistic` for the meaning of each.

    `rows` says how rows form blocks, and what the answer is made of; it is what the mean of the same rows
    would have, but for the number of blocks by the proposition.
    """

    kernel: Kernel
    statistic: str = "u"
    pairs: str = "complete"
    n_pairs: int | None = None
    pair_budget: int = PAIR_BUDGET
    rows: MeanOptions = field(default_factory=MeanOptions)
    by_paper: bool = False
    joint: str = "coordinatewise"
    project: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ConfigError(
                f"kernel: must be a name of the catalogue or a kernel object, not {self.kernel!r}; "
                "make one of a function by distmom.kernels.kernel"
            )
        check_choice("statistic", self.statistic, STATISTICS)
        check_choice("pairs", self.pairs, PAIRS)
        check_count("pair_budget", self.pair_budget)
        check_choice("joint", self.joint, JOINT)
        if self.project is not None:
            check_choice("project", self.project, PROJECTIONS)
        self._check_matrix()
        self._check_two()
        self._check_supported()

    def _check_matrix(self) -> None:
        """What is only for kernels with a matrix as value, and what is not."""
        if self.kernel.shape(2):
            if self.joint == "geometric" and self.rows.interval == "order":
                raise ConfigError(
                    "joint='geometric' does not go with interval='order': matrices have no order; "
                    "use interval='exact', or joint='coordinatewise'"
                )
            if self.rows.interval == "paper":
                raise ConfigError(
                    "interval='paper' is for numbers, and the kernel has a matrix; use interval='exact'"
                )
            return
        for name, plain in (("joint", "coordinatewise"), ("project", None)):
            if getattr(self, name) != plain:
                raise ConfigError(
                    f"{name} is for kernels with a matrix as value, and {self.kernel.name!r} has none; "
                    f"drop {name}, or use kernel='covariance'"
                )

    def _check_two(self) -> None:
        """What is not for kernels of two samples."""
        if len(self.kernel.degrees) == 1:
            return
        given = {"contamination": self.rows.contamination, "block_size": self.rows.block_size}
        for name, value in given.items():
            if value is not None:
                raise ConfigError(
                    f"{name} is for one sample, and kernel {self.kernel.name!r} takes two; use n_blocks"
                )

    def _check_supported(self) -> None:
        if self.n_pairs is not None and self.pairs != "incomplete":
            raise ConfigError(f"n_pairs goes with pairs='incomplete' only, not {self.pairs!r}; drop one")
        if self.pairs != "complete":
            raise ConfigError(f"pairs={self.pairs!r} is not there yet; use pairs='complete'")
        if self.rows.scheme in SAMPLING:
            raise ConfigError(f"scheme={self.rows.scheme!r} is not there yet; use scheme='partition'")
        if self.rows.repeats > 1:
            raise ConfigError("repeats: U-statistics of several partitions are not there yet; drop repeats")
        if self.rows.weights is not None:
            raise ConfigError("weights: U-statistics of weighted rows are not there yet; drop weights")

    @property
    def degree(self) -> int:
        """Most rows that the kernel takes from one sample: the least size of a block."""
        return max(self.kernel.degrees)


def ustat_options(
    kernel: str | Kernel,
    *,
    statistic: str,
    pairs: str,
    n_pairs: int | None,
    pair_budget: int | float,
    n_blocks: int | str,
    confidence_level: float,
    joint: str,
    project: str | None,
    **rows: Any,
) -> UStatOptions:
    """Options from the arguments of `distmom.ustatistic`; `rows` are those of `MeanOptions`."""
    made = named(kernel) if isinstance(kernel, str) else kernel
    budget: Any = (
        int(pair_budget) if isinstance(pair_budget, float) and pair_budget.is_integer() else pair_budget
    )
    by_paper = n_blocks == "paper"
    if isinstance(made, Kernel):
        n_blocks = degenerate_blocks(made, n_blocks)
    # all but the number of blocks is checked first: the proposition needs a good confidence level
    blank = MeanOptions(n_blocks="auto" if by_paper else n_blocks, confidence_level=confidence_level, **rows)
    options = UStatOptions(made, statistic, pairs, n_pairs, budget, blank, by_paper, joint, project)
    if not by_paper:
        return options
    if blank.contamination is not None:
        raise ConfigError(
            "contamination does not go with n_blocks='paper': the proposition knows no outlying rows; "
            "use n_blocks='auto'"
        )
    k = mou_blocks(confidence_level, PLENTY, options.degree)[0]
    return replace(options, rows=replace(blank, n_blocks=k))


def degenerate_blocks(kernel: Kernel, n_blocks: int | str) -> int | str:
    """Few blocks for a kernel of degrees (2, 2), which is degenerate where both samples have one law.

    The law of a block's statistic is then skewed and of the order of 1/size: the more blocks, the farther its
    median is below its mean (simulated: about half of K/n in units of the statistic of n rows).
    """
    return DEGENERATE_BLOCKS if n_blocks == "auto" and kernel.degrees == (2, 2) else n_blocks
