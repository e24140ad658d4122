"""The options of a tournament, checked once at the boundary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from distmom.checks import check_choice, check_count, check_fraction
from distmom.designs.blocks import RandomBlocks
from distmom.designs.design import BlockDesign
from distmom.designs.loss import Loss
from distmom.designs.match import Match
from distmom.designs.pairs import DisjointPairs, PairDesign
from distmom.errors import ConfigError
from distmom.estimators.options import MeanOptions
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.risk import Clustering, Ranking
from distmom.numerics.losses.table import LOSSES, names_of
from distmom.passes.scan import Scan
from distmom.reductions.losses.candidates import RowLoss

PARTS, PAIR_PARTS = 3, 2
"""Of a tournament: distances, matches, and with losses of rows matches of the finalists."""

PAIR_BUDGET = 2 * 10**10
"""Default budget of losses of pairs: about ten minutes on two threads."""


@dataclass(frozen=True)
class TournamentOptions:
    """What to compute; see `distmom.tournament` for the meaning of each."""

    loss: str | Kernel | Callable[[Any, Any], Any]
    loss_parameter: float | None
    match: Match
    pairs: PairDesign
    design: BlockDesign  # with samples of pairs, how many there are
    rows: MeanOptions  # what a mean has too; of samples as of random blocks

    @property
    def kind(self) -> str:
        """What is compared: ``row`` losses, or losses of pairs by what their candidates are."""
        loss = self.loss
        if isinstance(loss, Kernel):
            for kind, kinds in (("ranking", Ranking), ("clustering", Clustering)):
                if isinstance(loss, kinds):
                    return kind
            raise ConfigError(
                f"loss: the kernel {loss.name!r} takes no candidates; use a ranking or clustering kernel, or "
                "give kernels as candidates with loss='kernel'"
            )
        return loss if self.pairwise and isinstance(loss, str) else "row"

    @property
    def pairwise(self) -> bool:
        """Whether the loss is one of pairs of rows."""
        named = isinstance(self.loss, str) and self.loss in (*pair_losses(), "kernel")
        return named or isinstance(self.loss, Kernel)

    @property
    def n_parts(self) -> int:
        """Disjoint parts of the rows."""
        return PAIR_PARTS if self.pairwise else PARTS

    @property
    def by_pairs(self) -> bool:
        """Whether blocks are samples of pairs."""
        return self.pairs.name == "incomplete"

    @property
    def pair_budget(self) -> int:
        """Losses of pairs that a run may evaluate."""
        return self.pairs.budget or PAIR_BUDGET

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
        if self.match.distance != "auto":
            return self.match.distance
        return "prediction" if self.loss in names_of("residual") else "loss"

    def row_loss(self) -> RowLoss:
        """The loss of a row."""
        assert not isinstance(self.loss, Kernel)
        function = None if isinstance(self.loss, str) else self.loss
        return RowLoss(self.loss_name, self.loss_parameter, function)

    def __post_init__(self) -> None:
        if isinstance(self.loss, str):
            check_choice("loss", self.loss, (*row_losses(), *pair_losses(), "kernel"))
        elif not self.pairwise and not callable(self.loss):
            raise ConfigError(
                f"loss: must be a name or a function of truths and predictions, not {self.loss!r}"
            )
        self._check_parameter()
        self._check_design()
        if not self.pairwise:
            for word, sampled in (("pairs", self.by_pairs), ("blocks", self.design.sampled)):
                if sampled:
                    raise ConfigError(
                        f"{word}: samples are for pairwise losses, not {self.loss_name}; drop them"
                    )
        elif self.match.distance == "prediction":
            raise ConfigError("match: distance='prediction': pairs are compared by roots of losses; drop it")
        if self.design.sampled and self.rows.contamination is not None:
            raise ConfigError("contamination: is for a partition of the rows, not for samples; drop it")

    def _check_parameter(self) -> None:
        value, below, what = self.loss_parameter, math.inf, "squared distance between near and far"
        if value is None:
            return
        have = {name: loss.parameter for name in row_losses() if (loss := LOSSES[name]).parameter is not None}
        if self.loss != "mahalanobis":
            parameter = have.get(self.loss) if isinstance(self.loss, str) else None
            if parameter is None:
                raise ConfigError(
                    f"Loss: parameter: only {' and '.join(have)} have one, not {self.loss_name}; drop it"
                )
            below, what = parameter.below, parameter.name
        check_fraction("Loss: parameter", value, below, f"the {what}")

    def _check_design(self) -> None:
        design = self.design
        if isinstance(self.pairs, DisjointPairs):
            raise ConfigError("pairs: a tournament takes complete or sampled pairs; use SampledPairs(n)")
        if design.stored or design.repeats > 1 or design.fine != "standard" or design.tau is not None:
            raise ConfigError(
                f"blocks: a tournament splits its rows at random, so {design!r} does not fit; "
                "use RandomBlocks, UnitBlocks, FileBlocks or, for losses of pairs, SampledBlocks(n, size)"
            )
        if design.n == "paper":
            raise ConfigError("blocks: a tournament takes 'auto' or a number, not 'paper'")
        if design.size is not None:
            if not design.sampled:
                raise ConfigError(
                    f"blocks: a tournament takes a number of blocks, not {design!r}; use n in place of size"
                )
            check_count("SampledBlocks: size", design.size, 2)


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
    scan: Scan, loss: Any, match: Any, pairs: PairDesign, design: BlockDesign, **promise: Any
) -> TournamentOptions:
    """Options from the arguments of `distmom.tournament`.

    ConfigError if a value is out of range, or the design is one that a tournament does not take.
    """
    if not isinstance(match, Match):
        raise ConfigError(f"match: must be a Match, not {match!r}; such as Match(beta_r=0.1)")
    name, parameter = (loss.name, loss.parameter) if isinstance(loss, Loss) else (loss, None)
    design = pairs.blocks(design)
    of_rows = RandomBlocks(design.number or "auto") if design.sampled else design
    rows = MeanOptions(of_rows, missing=scan.missing, on_bad_file=scan.on_bad_file, **promise)
    return TournamentOptions(name, parameter, match, pairs, design, rows)
