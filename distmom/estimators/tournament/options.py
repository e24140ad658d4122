"""The options of a tournament, checked once at the boundary."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from distmom.errors import ConfigError
from distmom.estimators.options import MeanOptions, check_choice, check_fraction
from distmom.numerics.losses import LOSSES
from distmom.reductions.candidates import PARAMETERS, RowLoss

DISTANCES = ("auto", "prediction", "loss")
RULES = ("tournament", "champions_league")
TABLES = ("lazy", "full")
NUMERIC = ("squared", "absolute", "huber", "pinball")
"""Losses of numeric predictions, whose distance is that of the predictions."""

PARTS = 3
"""Of a regression tournament: distances, matches, matches of the finalists."""


@dataclass(frozen=True)
class TournamentOptions:
    """What to compute; see `distmom.tournament` for the meaning of each."""

    loss: str | Callable[[Any, Any], Any] = "squared"
    loss_parameter: float | None = None
    distance: str = "auto"
    rule: str = "tournament"
    r1: float | None = None
    beta_r: float | None = None
    table: str = "lazy"
    n_blocks: int | str = "auto"
    contamination: int | float | None = None
    chunk_rows: int = 1
    block_by: str | tuple[str, ...] | None = None
    missing: str = "error"
    on_bad_file: str = "error"
    confidence_level: float = 0.99

    def __post_init__(self) -> None:
        if isinstance(self.loss, str):
            check_choice("loss", self.loss, tuple(LOSSES))
        elif not callable(self.loss):
            raise ConfigError(
                f"loss: must be a name or a function of truths and predictions, not {self.loss!r}"
            )
        for name, allowed in (("distance", DISTANCES), ("rule", RULES), ("table", TABLES)):
            check_choice(name, getattr(self, name), allowed)
        self._check_parameter()
        for name in ("beta_r", "r1"):
            _check_level(name, getattr(self, name))
        if self.n_blocks == "paper":
            raise ConfigError("n_blocks: a tournament takes 'auto' or a number, not 'paper'")
        common = self.common
        for name in ("n_blocks", "contamination", "chunk_rows", "block_by"):
            object.__setattr__(self, name, getattr(common, name))
        self._check_rule()

    @property
    def common(self) -> MeanOptions:
        """Those that a mean has too."""
        return MeanOptions(
            n_blocks=self.n_blocks,
            contamination=self.contamination,
            chunk_rows=self.chunk_rows,
            block_by=self.block_by,
            missing=self.missing,
            on_bad_file=self.on_bad_file,
            confidence_level=self.confidence_level,
        )

    def _check_parameter(self) -> None:
        value = self.loss_parameter
        if value is None:
            return
        if not isinstance(self.loss, str) or self.loss not in PARAMETERS:
            raise ConfigError(
                f"loss_parameter: only {' and '.join(PARAMETERS)} have one, not {self.loss_name}; drop it"
            )
        below = 1.0 if self.loss == "pinball" else math.inf
        check_fraction("loss_parameter", value, below, f"the {PARAMETERS[self.loss][0]}")

    def _check_rule(self) -> None:
        league = self.rule == "champions_league"
        if league and self.r1 is None:
            raise ConfigError("r1: rule='champions_league' needs the radius r1; give it")
        if self.r1 is not None and not league:
            raise ConfigError("r1: only rule='champions_league' has a radius; drop it")
        if league and self.loss != "squared":
            raise ConfigError(
                f"rule='champions_league' is for the squared loss, not {self.loss_name}; use "
                "rule='tournament'"
            )

    @property
    def loss_name(self) -> str:
        """The loss in a word."""
        if isinstance(self.loss, str):
            return self.loss
        return str(getattr(self.loss, "__name__", type(self.loss).__name__))

    @property
    def measured(self) -> str:
        """What the distance is measured by."""
        if self.distance != "auto":
            return self.distance
        return "prediction" if self.loss in NUMERIC else "loss"

    def row_loss(self) -> RowLoss:
        """The loss of a row."""
        function = None if isinstance(self.loss, str) else self.loss
        return RowLoss(self.loss_name, self.loss_parameter, function)


def _check_level(name: str, value: Any) -> None:
    if value is None:
        return
    good = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value < 0.0:
        raise ConfigError(f"{name}: must be a finite number of at least 0, not {value!r}")
