"""The options of a robust U-statistic, checked once at the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from distmom.checks import check_choice
from distmom.designs.design import BlockDesign
from distmom.designs.pairs import CompletePairs, PairDesign
from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import PLENTY
from distmom.estimators.options import JOINT, MeanOptions, refuse_pairs
from distmom.lake import ReadOptions
from distmom.numerics.kernels.kernel import Kernel
from distmom.passes.scan import Scan
from distmom.theory.paper import mogu_blocks

STATISTICS = ("u", "v")
PROJECTIONS = ("psd", "correlation")

REFUSED: tuple[tuple[str, str, str], ...] = (
    ("DisjointPairs", "weights", "its pairs are formed with equal chances; use CompletePairs"),
    ("DisjointPairs", "SampledBlocks", "its blocks partition the rows; use RandomBlocks, or SampledPairs"),
    ("SampledPairs", "interval='closed-form'", "the paper has no bound for it; use interval='cantelli'"),
    ("SampledPairs", "statistic='v'", "rows are not paired with themselves; use statistic='u'"),
    ("DisjointPairs", "statistic='v'", "rows are not paired with themselves; use statistic='u'"),
    ("SampledBlocks", "a kernel with a matrix as value", "all its pairs take one pass; use RandomBlocks"),
    ("DisjointPairs", "StoredBlocks", "its pairs are formed at random; use RandomBlocks"),
    ("DisjointPairs", "a kernel with a matrix as value", "all its pairs take one pass; use CompletePairs"),
)
"""Options that cannot be combined, with the remedy, besides those of `MeanOptions`; "" for any others."""

DEGENERATE_BLOCKS = 9
"""Blocks for kernels that are degenerate if both samples have the same distribution."""

PAIR_BUDGET = 5 * 10**12
"""Default limit for pairs evaluated one by one: about an hour on two threads."""


@dataclass(frozen=True)
class UStatOptions:
    """What to compute; see `distmom.ustatistic` for the meaning of each.

    `rows` describes how rows form blocks and how the answer is formed, as for the mean of the same rows.
    """

    kernel: Kernel
    statistic: str = "u"
    pairs: PairDesign = field(default_factory=CompletePairs)
    rows: MeanOptions = field(default_factory=MeanOptions)
    joint: str = "coordinatewise"
    project: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ConfigError(
                f"kernel: must be a name of the catalogue or a kernel object, not {self.kernel!r}; "
                "make one of a function by distmom.kernels.kernel"
            )
        check_choice("statistic", self.statistic, STATISTICS)
        check_choice("joint", self.joint, JOINT)
        if self.project is not None:
            check_choice("project", self.project, PROJECTIONS)
        self._check_matrix()
        self._check_supported()
        _ = self.counted  # the proposition may not reach the level

    def _check_matrix(self) -> None:
        """Check options that are only for matrix-valued kernels, or not available for them."""
        if self.kernel.shape(2):
            if self.joint == "geometric" and self.rows.interval == "order":
                raise ConfigError(
                    "joint='geometric' cannot be combined with interval='order': matrices have no order; "
                    "use interval='cantelli', or joint='coordinatewise'"
                )
            if self.rows.interval == "closed-form":
                raise ConfigError(
                    "interval='closed-form' takes numbers; the kernel has a matrix; use interval='cantelli'"
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
            "SampledPairs": self.pairs.name == "incomplete",
            "DisjointPairs": self.pairs.name == "disjoint",
            "StoredBlocks": self.rows.design.stored,
            "SampledBlocks": self.sampled,
            "a kernel with a matrix as value": bool(self.kernel.shape(2)),
            "statistic='v'": self.statistic == "v",
            "interval='closed-form'": self.rows.interval == "closed-form",
            "weights": self.rows.weights is not None,
        }
        refuse_pairs(REFUSED, met, {"SampledBlocks": "SampledBlocks or SampledPairs"})

    @property
    def complete(self) -> bool:
        """Whether blocks use all pairs of their rows."""
        return self.pairs.name == "complete"

    @property
    def pair_budget(self) -> int:
        """Pairs that may be evaluated one by one."""
        return self.pairs.budget or PAIR_BUDGET

    @property
    def by_paper(self) -> bool:
        """Whether the number of blocks is that of the proposition; samples have their own."""
        return self.rows.design.n == "paper"

    @property
    def counted(self) -> MeanOptions:
        """How rows are counted in blocks, with the number of blocks of the proposition for kernels."""
        if not self.by_paper:
            return self.rows
        k = mogu_blocks(self.rows.confidence_level, (PLENTY,), (self.degree,))[0]
        return replace(self.rows, design=self.rows.design.with_number(k))

    @property
    def sampled(self) -> bool:
        """Whether blocks are samples that share rows."""
        return self.rows.design.sampled

    @property
    def few_blocks(self) -> int | None:
        """Few blocks for a kernel of degrees (2, 2), degenerate if both samples have the same distribution.

        A block's statistic then has a skewed distribution of order 1/size: with more blocks its median falls
        farther below its mean (simulated: about half of K/n in units of the statistic of n rows). None for
        other kernels, and if something else sets the number.
        """
        rows = self.rows
        free = not rows.design.fixed and rows.contamination is None
        return DEGENERATE_BLOCKS if free and self.kernel.degrees == (2, 2) else None

    def column_sets(self, read: ReadOptions) -> list[tuple[str, ...]]:
        """The columns of each statistic, among those that are read; weights come after them."""
        names = read.columns if self.rows.weights is None else read.columns[:-1]
        return [names] if self.joint_rows else [(name,) for name in names]

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.rows.weights is not None

    @property
    def joint_rows(self) -> bool:
        """Whether the columns form one row rather than several statistics."""
        return self.kernel.columns != 1

    @property
    def degree(self) -> int:
        """Most rows that the kernel takes from one sample: the smallest size of a block."""
        return max(self.kernel.degrees)


def ustat_options(
    kernel: Kernel,
    scans: Sequence[Scan],
    design: BlockDesign,
    pairs: PairDesign,
    *,
    statistic: str,
    joint: str,
    project: str | None,
    **promise: Any,
) -> UStatOptions:
    """Options from the arguments of `distmom.ustatistic`; `promise` are arguments of `MeanOptions`."""
    check_scans(scans)
    rows = MeanOptions.of(scans[0], pairs.blocks(design), **promise)
    return UStatOptions(kernel, statistic, pairs, rows, joint, project)


def check_scans(scans: Sequence[Scan]) -> None:
    """Raise ConfigError if samples are read under different policies."""
    for name in ("nan", "missing", "on_bad_file"):
        words = list(dict.fromkeys(getattr(scan, name) for scan in scans))
        if len(words) > 1:
            raise ConfigError(
                f"{name}: the samples have {words[0]!r} and {words[1]!r}; read all of them in one way"
            )
