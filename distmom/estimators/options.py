"""The options of a robust mean, checked once at the boundary."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from distmom.errors import ConfigError

IntervalKind = Literal["order", "exact", "paper", "none"]

CHOICES: dict[str, tuple[str, ...]] = {
    "scheme": ("partition", "swor"),
    "order": ("random", "stored"),
    "nan": ("omit", "raise", "keep"),
    "missing": ("error", "null"),
    "on_bad_file": ("error", "skip"),
    "interval": ("auto", "order", "exact", "paper", "none"),
    "fine": ("standard", "many"),
}

MOST_BLOCKS = 1_000_000

REFUSED: tuple[tuple[str, str, str], ...] = (
    ("scheme='swor'", "order='stored'", "samples are drawn at random; drop order"),
    ("scheme='swor'", "block_by", "samples are of rows; use scheme='partition' for blocks of whole files"),
    (
        "scheme='swor'",
        "interval='order'",
        "its blocks share rows, so their order statistics cover only the "
        "median given the data; use interval='exact'",
    ),
    ("order='stored'", "block_by", "both say which rows form a block; drop one"),
    ("n_blocks", "block_size", "with scheme='partition' one gives the other; drop one"),
    ("fine", "a given n_blocks", "the number of blocks is fixed; drop one"),
    ("tau", "scheme='partition'", "tau splits the error of sampled blocks; drop it or use scheme='swor'"),
)
"""Pairs of options that exclude each other, with the remedy: the only list of them."""


@dataclass(frozen=True)
class MeanOptions:
    """What to compute; see `distmom.mean` for the meaning of each."""

    scheme: str = "partition"
    n_blocks: int | str = "auto"
    block_size: int | None = None
    tau: float | None = None
    order: str = "random"
    block_by: str | None = None
    nan: str = "omit"
    missing: str = "error"
    on_bad_file: str = "error"
    interval: str = "auto"
    confidence_level: float = 0.99
    fine: str = "standard"

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        _check_n_blocks(self.n_blocks)
        if self.block_size is not None:
            check_count("block_size", self.block_size)
        for name in ("n_blocks", "block_size"):  # NumPy's whole numbers become Python's
            if isinstance(getattr(self, name), numbers.Integral):
                object.__setattr__(self, name, int(getattr(self, name)))
        check_fraction("confidence_level", self.confidence_level, 1.0, "such as 0.99")
        if self.tau is not None:
            check_fraction("tau", self.tau, 0.5, "such as 0.45")
        if self.block_by not in (None, "file"):
            raise ConfigError(
                f"block_by: must be 'file' (or left out), not {self.block_by!r}; "
                "blocks by the values of a column are not offered yet"
            )
        self._check_pairs()

    def _check_pairs(self) -> None:
        swor = self.scheme == "swor"
        given = isinstance(self.n_blocks, int)
        met = {
            "scheme='swor'": swor,
            "scheme='partition'": not swor,
            "order='stored'": self.order == "stored",
            "block_by": self.block_by is not None,
            "interval='order'": self.interval == "order",
            "n_blocks": given and not swor,
            "a given n_blocks": given or self.n_blocks == "paper" or self.block_size is not None or swor,
            "block_size": self.block_size is not None,
            "fine": self.fine != "standard",
            "tau": self.tau is not None,
        }
        for first, second, remedy in REFUSED:
            if met[first] and met[second]:
                raise ConfigError(f"{first} does not go with {second}: {remedy}")

    @property
    def delta(self) -> float:
        """Allowed failure probability, 1 - confidence_level, without the rounding of the subtraction."""
        return float(f"{1.0 - self.confidence_level:.12g}")


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    """ConfigError unless the value is one of the allowed words."""
    if value not in allowed:
        near = difflib.get_close_matches(str(value), allowed, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"{name}: must be one of {', '.join(map(repr, allowed))}, not {value!r}{hint}")


def check_count(name: str, value: Any, least: int = 1) -> None:
    """ConfigError unless the value is a whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise ConfigError(f"{name}: must be a whole number of at least {least}, not {value!r}")


def check_fraction(name: str, value: Any, below: float, example: str) -> None:
    """ConfigError unless the value lies strictly between 0 and `below`."""
    good = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or not 0.0 < value < below:
        raise ConfigError(f"{name}: must lie between 0 and {below:g}, {example}, not {value!r}")


def _check_n_blocks(value: Any) -> None:
    if isinstance(value, str):
        check_choice("n_blocks", value, ("auto", "paper"))
        return
    check_count("n_blocks", value)
    check_most_blocks("n_blocks", int(value))


def check_most_blocks(name: str, n_blocks: int) -> None:
    """ConfigError if so many blocks would make the states of units too large."""
    if n_blocks > MOST_BLOCKS:
        raise ConfigError(
            f"{name}: at most {MOST_BLOCKS:,} blocks, not {n_blocks:,}; each costs 24 bytes in every unit"
        )
