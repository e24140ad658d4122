"""What a result says of rows far out: those that stand apart from all others, and means without extremes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np

from distmom.report.words import number

USUAL_CODES = frozenset(
    [
        *(-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0),
        *(2147483647.0, -2147483648.0, 32767.0, -32768.0, 1e20, 9.96921e36, 3.4028235e38),
    ]
)
"""Values that often stand for "missing": good for words, not for deciding."""


class Trimmed(NamedTuple):
    """A mean without some extreme rows.

    Attributes
    ----------
    share : float
        Of the rows, left out: those without which the others vary least.
    mean : float
        Of the others.
    low, high : float
        The least and the largest of these.
    of_variance, of_mean : float
        Share of the variance of all rows, and of their mean, that left with them.
    """

    share: float
    mean: float
    low: float
    high: float
    of_variance: float
    of_mean: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return self._asdict()

    def written(self, written: Callable[[float], Any]) -> dict[str, Any]:
        """The same with numbers of the column as they are `written`."""
        told = self._asdict()
        return told | {name: written(told[name]) for name in ("mean", "low", "high")}


Action = Literal["set aside", "borne", "told"]


@dataclass(frozen=True)
class FarRows:
    """Rows that stand apart from all others, as a uniform sample of the rows shows them.

    Attributes
    ----------
    action : {"set aside", "borne", "told"}
        Whether the answer leaves them out, bears them in its blocks, or holds them because they are nearer.
    n_rows : int or None
        How many they are; None where the sample alone tells their share.
    share : float
        Of the rows.
    share_interval : (float, float)
        Of that share (Clopper-Pearson), at the confidence level of the result.
    n_sampled : int
        Rows of the sample.
    low, high : float
        All others lie strictly between; infinite where nothing stands apart on that side.
    values : tuple of (float, float)
        Values that several of them have, with their share of all rows; the most frequent first.
    estimate_with : float or ndarray
        The estimate with them.
    of_sample : bool
        Whether the answer is that of the sampled rows, not of all.
    column : str or None
        Of a vector the coordinate in which most stand apart.
    """

    action: Action
    n_rows: int | None
    share: float
    share_interval: tuple[float, float]
    n_sampled: int
    low: float
    high: float
    values: tuple[tuple[float, float], ...]
    estimate_with: Any
    of_sample: bool = False
    column: str | None = None

    def to_dict(self, written: Callable[[float], Any] = float) -> dict[str, Any]:
        """Plain values; numbers of the column are `written`."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        told |= {name: written(told[name]) if math.isfinite(told[name]) else None for name in ("low", "high")}
        if self.estimate_with is not None and np.ndim(self.estimate_with) == 0:
            told["estimate_with"] = written(self.estimate_with)
        return told | {"values": [(written(value), share) for value, share in self.values]}

    def words(
        self, level: str, column: str, shown: Callable[[float], str] = number, *, numbers: bool = True
    ) -> list[str]:
        """What a reader should know; values of the column are `shown`, and may be compared with `numbers`."""
        of = column if self.column is None else self.column
        text = f"{self._share(level)} {self._where(shown)}"
        named = [f"{shown(value)} in {_percent(share)}{_code(value)}" for value, share in self.values]
        if named:
            text += f" ({', '.join(named)})"
        text += ACTIONS[self.action]
        if self.action == "set aside":
            if self.estimate_with is not None and np.ndim(self.estimate_with) == 0:
                text += f"; with them the estimate is {shown(self.estimate_with)}"
            if self.of_sample:
                text += f". The answer is that of the sampled rows; {SECOND_PASS}"
        elif self.action == "told" and numbers:
            text += f"; where={self._condition(of)!r} leaves them out"
        return [text if self.column is None else f"{of}: {text}"]

    def _share(self, level: str) -> str:
        if self.n_rows is not None:
            return f"{self.n_rows:,} rows ({_percent(self.share)})"
        low, high = (_percent(end) for end in self.share_interval)
        return f"{_percent(self.share)} of the rows ({level} interval {low} to {high})"

    def _where(self, shown: Callable[[float], str]) -> str:
        below = f"at or below {shown(self.low)}" if math.isfinite(self.low) else ""
        above = f"at or above {shown(self.high)}" if math.isfinite(self.high) else ""
        return f"lie far from all others, {' or '.join(filter(None, (below, above)))}"

    def _condition(self, column: str) -> str:
        ends = [f"{column} > {self.low:.6g}"] * math.isfinite(self.low)
        return " and ".join([*ends, *[f"{column} < {self.high:.6g}"] * math.isfinite(self.high)])


ACTIONS = {
    "set aside": " and were left out",
    "borne": "; blocks bear them, and the estimate is not moved",
    "told": "; so near as this they are as often real as wrong, and they are in the estimate",
}
SECOND_PASS = "passes=2 (--passes 2) reads the data once more and takes all rows that are left"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _code(value: float) -> str:
    return ", a usual code for missing" if value in USUAL_CODES else ""
