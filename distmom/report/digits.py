"""Rounding to the digits that an interval supports."""

from __future__ import annotations

import math

MOST = 15
SCIENTIFIC = 1e9
"""Numbers from here on are shown with six digits and an exponent."""


def in_digits(low: float | None, high: float | None) -> int | None:
    """Decimals that show two digits of half the width of an interval, negative before the point; None: six.

    Examples
    --------
    >>> in_digits(3.15, 8.91), in_digits(1000.0, 90000.0), in_digits(None, None)
    (1, -3, None)
    """
    if low is None or high is None or not math.isfinite(high - low) or high <= low:
        return None
    return max(-MOST, min(MOST, 1 - math.floor(math.log10(0.5 * (high - low)))))


def fixed(value: float | None, decimals: int | None) -> str:
    """A number with `decimals` decimals; a dash for None.

    Examples
    --------
    >>> fixed(5.2837, 1), fixed(20353.71, 1), fixed(1234.0, -3), fixed(1.5e12, 2), fixed(None, 1)
    ('5.3', '20,353.7', '1,234', '1.5e+12', '-')
    >>> fixed(-0.004, 2)
    '0.00'
    """
    if value is None or math.isnan(value):
        return "-"
    if decimals is None or math.isinf(value) or abs(value) >= SCIENTIFIC or decimals > 6:
        return f"{value:,.6g}"
    return f"{value:z,.{max(decimals, 0)}f}"


def quantity(value: float) -> str:
    """A number for a sentence: four digits, with thousands separators.

    Examples
    --------
    >>> quantity(123456.7), quantity(1.23456), quantity(-999.0), quantity(3.2e12)
    ('123,457', '1.235', '-999', '3.2e+12')
    """
    if not math.isfinite(value) or abs(value) >= SCIENTIFIC:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) >= 1_000.0 else f"{value:.4g}"


def fixed_span(interval: tuple[float, float] | None, decimals: int | None) -> str:
    """The ends of an interval with `decimals` decimals; a dash for None.

    A nonzero end gets as many more decimals as are needed to show its sign.

    Examples
    --------
    >>> fixed_span((-22.9, -0.42), 0)
    '-23 … -0.4'
    """
    if interval is None:
        return "-"
    low, high = (fixed(end, _signed(end, decimals)) for end in interval)
    return f"{low} … {high}"


def _signed(value: float, decimals: int | None) -> int | None:
    if decimals is None or not math.isfinite(value) or value == 0.0 or round(value, decimals) != 0.0:
        return decimals
    return -math.floor(math.log10(abs(value)))


def three(
    estimate: float | None, interval: tuple[float, float] | None, plain: float | None
) -> tuple[str, str, str]:
    """Estimate, interval and plain estimate with the digits the interval supports; six digits without one.

    Examples
    --------
    >>> three(5.27694, (3.14699, 8.91424), 20353.8), three(11.931, None, 11.931)
    (('5.3', '3.1 … 8.9', '20,353.8'), ('11.931', '-', '11.931'))
    """
    decimals = in_digits(*(interval or (None, None)))
    return fixed(estimate, decimals), fixed_span(interval, decimals), fixed(plain, decimals)
