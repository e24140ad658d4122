"""What a result reports on outlying rows: rows far from all others, and means without extremes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np

from distmom.lake.where.parse import KEYWORDS
from distmom.report.values import plain
from distmom.report.words import number

MISSING = (
    *(-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0),
    *(99.0, 999.0, 9999.0, 99999.0, 999999.0),
    *(2147483647.0, -2147483648.0, 32767.0, -32768.0, 9223372036854775807.0, -9223372036854775808.0),
    *(1e20, -1e20, 9.969209968386869e36, 3.4028234663852886e38, -3.4028234663852886e38),
    *(1.7976931348623157e308, -1.7976931348623157e308),
)
"""Usual codes for "missing": nines, ends of integers and floats, fill values of NetCDF and climate models."""


class Trimmed(NamedTuple):
    """A mean without some extreme rows.

    Attributes
    ----------
    share : float
        Share of the rows left out: those without which the others vary least.
    mean : float
        Mean of the other rows.
    low, high : float
        The smallest and the largest of these.
    of_variance, of_mean : float
        Share of the variance of all rows, and of their mean, due to the rows left out.
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
        """The same with numbers of the column formatted by `written`."""
        told = self._asdict()
        return told | {name: written(told[name]) for name in ("mean", "low", "high")}


Action = Literal["screened out", "borne", "told"]


@dataclass(frozen=True)
class FarRows:
    """Rows that stand apart from all others, as seen in a uniform sample of the rows.

    Attributes
    ----------
    action : {"screened out", "borne", "told"}
        Whether the answer leaves them out, tolerates them in its blocks, or includes them because they are
        nearer.
    n_rows : int or None
        Their number; None if only the sample shows their share.
    share : float
        Their share of the rows.
    share_interval : (float, float)
        Interval of that share (Clopper-Pearson), at the confidence level of the result.
    n_sampled : int
        Rows of the sample.
    low, high : float
        All other rows are strictly between these; infinite if nothing stands apart on that side.
    values : tuple of (float, float)
        Values shared by several of them, with their share of all rows; the most frequent first.
    estimate_with : float or ndarray
        The estimate including them.
    of_sample : bool
        Whether the answer is from the sampled rows, not from all rows.
    only_values : bool
        Whether each of them has one of these values.
    column : str or None
        For a vector, the coordinate in which most of them stand apart.
    times : float or None
        For a second group, powers of ten away: ratio of its distance from zero to that of the others, by
        medians.
    from_zero : bool
        Whether the distance is from zero; otherwise it is from the median.
    whose : tuple of str
        Conditions on other columns that are true for nearly all of its rows, and for hardly any others.
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
    only_values: bool = False
    column: str | None = None
    times: float | None = None
    from_zero: bool = True
    whose: tuple[str, ...] = ()

    def to_dict(self, written: Callable[[float], Any] = float) -> dict[str, Any]:
        """Plain values; numbers of the column are formatted by `written`."""
        names = [field.name for field in fields(self)]
        told = {name: getattr(self, name) for name in (names[:-3] if self.times is None else names)}
        told |= {name: written(told[name]) if math.isfinite(told[name]) else None for name in ("low", "high")}
        if self.estimate_with is not None and np.ndim(self.estimate_with) == 0:
            told["estimate_with"] = written(self.estimate_with)
        return told | {"values": [(written(value), share) for value, share in self.values]}

    def words(
        self, level: str, column: str, shown: Callable[[float], str] = number, *, numbers: bool = True
    ) -> list[str]:
        """What a reader should know; column values are formatted by `shown`, and compared with `numbers`."""
        of = column if self.column is None else self.column
        text = f"{self._share(level)} {self._where(shown)}"
        few = 0.0 if self.times is None else OFTEN * self.share  # some values are always frequent among sizes
        values = [(value, share) for value, share in self.values if share >= few]
        named = [f"{shown(value)} in {_percent(share)}{_code(value)}" for value, share in values]
        if named:
            text += f" ({', '.join(named)})"
        text += ACTIONS[self.action] if self.times is None else GROUP
        with_them = self.estimate_with is not None and np.ndim(self.estimate_with) == 0
        if self.action == "screened out" and with_them:
            text += f"; with them the estimate is {shown(self.estimate_with)}"
        if numbers:
            always = " of every command" if self.action == "screened out" else ""
            text += f"; where={self.condition(of)!r} leaves them out{always}"
        if self.of_sample:
            text += f". The answer is that of the sampled rows; {SECOND_PASS}"
        return [text if self.column is None else f"{of}: {text}"]

    def _share(self, level: str) -> str:
        if self.n_rows is not None:
            return f"{self.n_rows:,} rows ({_percent(self.share)})"
        low, high = (_percent(end) for end in self.share_interval)
        return f"{_percent(self.share)} of the rows ({level} interval {low} to {high})"

    def _where(self, shown: Callable[[float], str]) -> str:
        below = f"at or below {shown(self.low)}" if math.isfinite(self.low) else ""
        above = f"at or above {shown(self.high)}" if math.isfinite(self.high) else ""
        where = " or ".join(filter(None, (below, above)))
        if self.times is None:
            return f"lie far from all others, {where}"
        times = f"about {float(f'{self.times:.2g}'):,.10g} times as"
        far = "large as the others" if self.from_zero else "far from the median as the others"
        whose = f"; nearly all of them have {' or '.join(self.whose)}" if self.whose else ""
        return f"are a second group, {times} {far}, {where}{whose}"

    def condition(self, column: str) -> str:
        """The condition for all other rows: excludes their values, if they have no other values."""
        plainly = re.fullmatch(r"[^\W\d]\w*", column, re.ASCII) and column.lower() not in KEYWORDS
        column = column if plainly else '"{}"'.format(column.replace('"', '""'))
        if self.only_values:
            return " and ".join(f"{column} != {_literal(value)}" for value, _ in self.values)
        ends = [f"{column} > {self.low:.6g}"] * math.isfinite(self.low)
        return " and ".join([*ends, *[f"{column} < {self.high:.6g}"] * math.isfinite(self.high)])


ACTIONS = {
    "screened out": " and were left out",
    "borne": "; blocks tolerate them, and the estimate is unaffected",
    "told": "; at this distance they are as often real as wrong, so they are included in the estimate",
}
OFTEN = 0.1
"""A value of a second group is named if it has this share of its rows."""

GROUP = "; the data do not show whether it is in another unit or real, so it is included in the estimate"
SECOND_PASS = "mean without passes=1 (--passes 1) takes all rows that are left, where these can be read again"


def _literal(value: float) -> str:
    short = f"{value:.15g}"
    return short if float(short) == value else repr(value)


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _code(value: float) -> str:
    return ", a usual code for missing" if missing_code(value) else ""


def missing_code(value: float) -> bool:
    """Whether a value is a usual code for "missing". Used for wording, not for decisions.

    A widened float32 is recognised, too.

    Examples
    --------
    >>> missing_code(-9999.0), missing_code(9.96921e36), missing_code(42.0)
    (True, True, False)
    """
    return math.isfinite(value) and any(math.isclose(value, code, rel_tol=1e-7) for code in MISSING)


def column_of(result: Any) -> str:
    """The column with the outlying rows; for a difference the metric, since its name is that of variants."""
    return str(getattr(result, "metric", None) or getattr(result, "column", result.name))


def far_words(result: Any) -> list[str]:
    """The remarks on outlying rows, for a result that may have some."""
    if result.far_rows is None:
        return []
    timed = result.scale is not None if hasattr(result, "scale") else False
    words: list[str] = result.far_rows.words(
        result.level, column_of(result), result.shown_number, numbers=not timed
    )
    return words


def written_far(result: Any, written: Callable[[float], Any]) -> dict[str, Any]:
    """The same as plain values, with numbers of the column formatted by `written`."""
    far = result.far_rows
    return {
        "far_rows": None if far is None else plain(far.to_dict(written)),
        "without_extremes": [plain(one.written(written)) for one in result.without_extremes],
    }
