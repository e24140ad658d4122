"""How candidates of a tournament meet."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, Literal

from distmom.checks import check_choice
from distmom.errors import ConfigError

DISTANCES = ("auto", "prediction", "loss")


@dataclass(frozen=True)
class Match:
    """Which candidates of a tournament meet each other, and how their distance is measured.

    Parameters
    ----------
    distance : {"auto", "prediction", "loss"}
        E|f - g|, or E|sqrt(loss f) - sqrt(loss g)|. By default the former for the squared, absolute, huber
        and pinball losses, the latter for all others.
    beta_r : float, optional
        Candidates closer than this do not meet. By default the smallest value that leaves a finalist.

    Raises
    ------
    ConfigError
        If the distance is not one of these, or the level is negative.

    Examples
    --------
    >>> Match(beta_r=0.1)
    Match(distance='auto', beta_r=0.1)
    """

    distance: Literal["auto", "prediction", "loss"] = "auto"
    beta_r: float | None = None

    def __post_init__(self) -> None:
        check_choice("Match: distance", self.distance, DISTANCES)
        value: Any = self.beta_r
        good = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if value is not None and not (good and 0.0 <= value < math.inf):
            raise ConfigError(f"Match: beta_r: must be a finite number of at least 0, not {value!r}")
