"""The options of a tournament, checked once at the boundary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from distmom.checks import check_choice, check_count, check_fraction
from distmom.designs.blocks import RandomBlocks
from distmom.designs.design import BlockDesign
from distmom.designs.loss import Loss
from distmom.designs.match import Match
from distmom.designs.pairs import CompletePairs, DisjointPairs, PairDesign
from distmom.errors import ConfigError
from distmom.estimators.options import MeanOptions
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.losses.table import LOSSES, names_of
from distmom.passes.scan import Scan
from distmom.reductions.losses.candidates import RowLoss

PARTS, PAIR_PARTS = 3, 2
"""Of a tournament: distances, matches, and with losses of rows matches of the finalists."""

PAIR_BUDGET = 2 * 10**10
"""Losses of pairs that a run may evaluate unless it is told otherwise: ten minutes on two threads or so."""


@dataclass(frozen=True)
class TournamentOptions:
    """What to compute; see `distmom.tournament` for the meaning of each."""

    loss: str | Kernel | Callable[[Any, Any], Any] = "squared"
    loss_parameter: float | None = None
    distance: str = "auto"
    beta_r: float | None = None
    design: BlockDesign = field(default_factory=RandomBlocks)
    pairs: PairDesign = field(default_factory=CompletePairs)
    contamination: int | float | None = None
    missing: str = "error"
    on_bad_file: str = "error"
    confidence_level: float = 0.99

    def __post_init__(self) -> None:
        if isinstance(self.loss, str):
            check_choice("loss", self.loss, (*row_losses(), *pair_losses(), "kernel"))
        elif not self.pairwise and not callable(self.loss):
            raise ConfigError(
                f"loss: must be a name or a function of truths and predictions, not {self.loss!r}"
            )
        self._check_parameter()
        self._check_design()
        object.__setattr__(self, "contamination", self.common.contamination)
        self._check_pairs()

    @property
    def pairwise(self) -> bool:
        """Whether it is pairs of rows that have a loss."""
        return isinstance(self.loss, Kernel) or (
            isinstance(self.loss, str) and self.loss in (*pair_losses(), "kernel")
        )

    @property
    def n_parts(self) -> int:
        """Disjoint parts of the rows."""
        return PAIR_PARTS if self.pairwise else PARTS

    @property
    def sampled(self) -> bool:
        """Whether blocks are samples of the rows or pairs of a part."""
        return self.design.sampled

    @property
    def common(self) -> MeanOptions:
        """Those that a mean has too."""
        return MeanOptions(
            RandomBlocks(self.design.number or "auto") if self.sampled else self.design,
            contamination=self.contamination,
            missing=self.missing,
            on_bad_file=self.on_bad_file,
            confidence_level=self.confidence_level,
        )

    @property
    def pair_budget(self) -> int:
        """Losses of pairs that a run may evaluate."""
        return self.pairs.budget or PAIR_BUDGET

    def _check_design(self) -> None:
        design = self.design
        if isinstance(self.pairs, DisjointPairs):
            raise ConfigError("pairs: a tournament takes complete or sampled pairs; use SampledPairs(n)")
        if design.stored or design.repeats > 1 or design.fine != "standard" or design.tau is not None:
            raise ConfigError(
                f"blocks: a tournament has its rows in random parts, so {design!r} does not fit; "
                "use RandomBlocks, UnitBlocks, FileBlocks or, for losses of pairs, SampledBlocks(n, size)"
            )
        if design.n == "paper":
            raise ConfigError("blocks: a tournament takes 'auto' or a number, not 'paper'")
        if design.size is not None and not design.sampled:
            raise ConfigError(
                f"blocks: a tournament takes a number of blocks, not {design!r}; use n in place of size"
            )

    def _check_parameter(self) -> None:
        value = self.loss_parameter
        if value is None:
            return
        if self.loss == "mahalanobis":
            check_fraction("Loss: parameter", value, math.inf, "the squared distance between near and far")
            return
        have = {name: loss.parameter for name in row_losses() if (loss := LOSSES[name]).parameter is not None}
        parameter = have.get(self.loss) if isinstance(self.loss, str) else None
        if parameter is None:
            raise ConfigError(
                f"Loss: parameter: only {' and '.join(have)} have one, not {self.loss_name}; drop it"
            )
        check_fraction("Loss: parameter", value, parameter.below, f"the {parameter.name}")

    def _check_pairs(self) -> None:
        """What is only for losses of pairs, or not for these."""
        if not self.pairwise:
            for word, sampled in (("pairs", self.pairs.name != "complete"), ("blocks", self.sampled)):
                if sampled:
                    raise ConfigError(
                        f"{word}: samples are for losses of pairs, not {self.loss_name}; drop them"
                    )
        if self.pairwise and self.distance == "prediction":
            raise ConfigError("match: distance='prediction': pairs are compared by roots of losses; drop it")
        if self.design.size is not None:
            check_count("SampledBlocks: size", self.design.size, 2)
        if self.sampled and self.contamination is not None:
            raise ConfigError("contamination: is for a partition of the rows, not for samples; drop it")

    @property
    def loss_name(self) -> str:
        """The loss in a word."""
        if isinstance(self.loss, str):
            return self.loss
        if isinstance(self.loss, Kernel):
            return self.loss.name
        return str(getattr(self.loss, "__name__", type(self.loss).__name__))

    @property
    def measured(self) -> str:
        """What the distance is measured by."""
        if self.distance != "auto":
            return self.distance
        return "prediction" if self.loss in names_of("residual") else "loss"

    def row_loss(self) -> RowLoss:
        """The loss of a row."""
        assert not isinstance(self.loss, Kernel)
        function = None if isinstance(self.loss, str) else self.loss
        return RowLoss(self.loss_name, self.loss_parameter, function)


def row_losses() -> tuple[str, ...]:
    """Names of the losses of single rows."""
    return names_of("residual", "labels")


def rankings() -> dict[str, str]:
    """Names of the losses of a ranking, with the loss of a pair's margin."""
    return {"ranking": "zero-one", **{f"ranking_{name}": name for name in names_of("margin")}}


def pair_losses() -> tuple[str, ...]:
    """Names of the losses of pairs of rows that need nothing but their names."""
    return ("mahalanobis", *rankings(), "clustering")


def tournament_options(
    scan: Scan,
    loss: Any,
    match: Any,
    pairs: PairDesign,
    design: BlockDesign,
    *,
    contamination: int | float | None,
    confidence_level: float,
) -> TournamentOptions:
    """Options from the arguments of `distmom.tournament`.

    Raises
    ------
    ConfigError
        If a value is out of range, or the design is one that a tournament does not take.
    """
    if not isinstance(match, Match):
        raise ConfigError(f"match: must be a Match, not {match!r}; such as Match(beta_r=0.1)")
    parameter = loss.parameter if isinstance(loss, Loss) else None
    return TournamentOptions(
        loss=loss.name if isinstance(loss, Loss) else loss,
        loss_parameter=parameter,
        distance=match.distance,
        beta_r=match.beta_r,
        design=pairs.blocks(design),
        pairs=pairs,
        contamination=contamination,
        missing=scan.missing,
        on_bad_file=scan.on_bad_file,
        confidence_level=confidence_level,
    )
