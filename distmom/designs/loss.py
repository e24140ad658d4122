"""A loss by name, with its parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from distmom.errors import ConfigError


@dataclass(frozen=True)
class Loss:
    """A loss of the catalogue with a parameter other than its default.

    Parameters
    ----------
    name : str
        As ``loss=`` takes it: ``"huber"``, ``"pinball"``, ``"mahalanobis"``.
    parameter : float
        Threshold of ``huber``, quantile of ``pinball``, squared distance between near and far of
        ``mahalanobis``.

    Raises
    ------
    ConfigError
        If the parameter is no finite number.

    Examples
    --------
    >>> Loss("pinball", 0.9)
    Loss(name='pinball', parameter=0.9)
    """

    name: str
    parameter: float

    def __post_init__(self) -> None:
        value: Any = self.parameter
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ConfigError(f"Loss: parameter: must be a finite number, not {value!r}")
