"""Argument checks of this package: a wrong argument is a programming mistake, hence a plain ValueError."""

from __future__ import annotations


def check_delta(delta: float) -> None:
    """Raise ValueError unless ``0 < delta < 1``."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta!r}")


def check_count(name: str, value: int, least: int = 1) -> None:
    """Raise ValueError unless the count ``value`` is at least ``least``."""
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")


def check_variance(name: str, value: float) -> None:
    """Raise ValueError if a variance is negative (NaN and inf pass: they are data, and propagate)."""
    if value < 0.0:
        raise ValueError(f"{name} is a variance and cannot be negative, got {value!r}")
