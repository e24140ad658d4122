"""The options of a robust U-statistic, checked once at the boundary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import PLENTY
from distmom.estimators.options import (
    JOINT,
    SAMPLING,
    MeanOptions,
    check_choice,
    check_count,
    refuse_pairs,
    whole,
)
from distmom.numerics.kernels.catalogue import named
from distmom.numerics.kernels.kernel import Kernel
from distmom.theory import mou_blocks

if TYPE_CHECKING:
    from distmom.lake import ReadOptions

PAIRS = ("complete", "incomplete", "disjoint")
STATISTICS = ("u", "v")
PROJECTIONS = ("psd", "correlation")

REFUSED: tuple[tuple[str, str, str], ...] = (
    ("pairs='disjoint'", "weights", "its pairs are formed with equal chances; use pairs='complete'"),
    ("pairs='complete'", "n_pairs", "all pairs are taken; drop it or use pairs='incomplete'"),
    ("pairs='disjoint'", "n_pairs", "every row is in one pair; drop it or use pairs='incomplete'"),
    (
        "pairs='incomplete'",
        "scheme='partition'",
        "its samples are drawn from the pairs of all rows; use scheme='swor' or scheme='monte_carlo'",
    ),
    (
        "pairs='disjoint'",
        "a sampling scheme",
        "its blocks partition the rows; use scheme='partition', or pairs='incomplete'",
    ),
    ("pairs='incomplete'", "block_size", "a sample is one of pairs; use n_pairs"),
    ("pairs='incomplete'", "interval='paper'", "the paper has no bound for it; use interval='exact'"),
    ("pairs='incomplete'", "statistic='v'", "rows are not paired with themselves; use statistic='u'"),
    ("pairs='disjoint'", "statistic='v'", "rows are not paired with themselves; use statistic='u'"),
    (
        "a sampling scheme",
        "a kernel with a matrix as value",
        "all its pairs take one pass; use scheme='partition'",
    ),
    (
        "pairs='disjoint'",
        "order='stored'",
        "its pairs are formed at random; use order='random'",
    ),
    (
        "pairs='disjoint'",
        "a kernel with a matrix as value",
        "all its pairs take one pass; use pairs='complete'",
    ),
)
"""Options that exclude each other, with the remedy, beside those of `MeanOptions`; "" for any others."""

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

    def _check_supported(self) -> None:
        met = {
            "pairs='incomplete'": self.pairs == "incomplete",
            "pairs='complete'": self.pairs == "complete",
            "pairs='disjoint'": self.pairs == "disjoint",
            "order='stored'": self.rows.order == "stored",
            "a sampling scheme": self.sampled,
            "scheme='partition'": not self.sampled,
            "a kernel with a matrix as value": bool(self.kernel.shape(2)),
            "statistic='v'": self.statistic == "v",
            "n_pairs": self.n_pairs is not None,
            "block_size": self.rows.block_size is not None,
            "interval='paper'": self.rows.interval == "paper",
            "weights": self.rows.weights is not None,
        }
        refuse_pairs(REFUSED, met, {"": "ustatistic", "a sampling scheme": f"scheme={self.rows.scheme!r}"})
        if self.n_pairs is not None:
            check_count("n_pairs", self.n_pairs)

    @property
    def sampled(self) -> bool:
        """Whether blocks are samples that share rows."""
        return self.rows.scheme in SAMPLING

    @property
    def few_blocks(self) -> int | None:
        """Few blocks for a kernel of degrees (2, 2), which is degenerate where both samples have one law.

        The law of a block's statistic is then skewed and of the order of 1/size: the more blocks, the farther
        its median is below its mean (simulated: about half of K/n in units of the statistic of n rows). None
        for other kernels, and where something else sets the number.
        """
        rows = self.rows
        free = rows.n_blocks == "auto" and rows.contamination is None and rows.block_size is None
        return DEGENERATE_BLOCKS if free and self.kernel.degrees == (2, 2) else None

    def column_sets(self, read: ReadOptions) -> list[tuple[str, ...]]:
        """The columns of each statistic, among those that are read; weights are behind them."""
        names = read.columns if self.rows.weights is None else read.columns[:-1]
        return [names] if self.joint_rows else [(name,) for name in names]

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.rows.weights is not None

    @property
    def joint_rows(self) -> bool:
        """Whether the columns that are read make one row, not several statistics."""
        return self.kernel.columns != 1

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
    # samples have the number of their own proposition unless it is given
    by_paper = n_blocks == "paper" and rows["scheme"] not in SAMPLING
    # all but the number of blocks is checked first: the proposition needs a good confidence level
    blank = MeanOptions(n_blocks="auto" if by_paper else n_blocks, confidence_level=confidence_level, **rows)
    options = UStatOptions(
        made, statistic, pairs, n_pairs, whole(pair_budget), blank, by_paper, joint, project
    )
    if not by_paper:
        return options
    if blank.contamination is not None:
        raise ConfigError(
            "contamination does not go with n_blocks='paper': the proposition knows no outlying rows; "
            "use n_blocks='auto'"
        )
    k = mou_blocks(confidence_level, PLENTY, options.degree)[0]
    return replace(options, rows=replace(blank, n_blocks=k))
