"""The options of a robust mean, checked once at the boundary."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from distmom.checks import check_choice, check_count, check_fraction
from distmom.designs.blocks import MOST_CHUNK_ROWS, check_most_blocks
from distmom.errors import ConfigError

CHOICES: dict[str, tuple[str, ...]] = {
    "scheme": ("partition", "swor", "monte_carlo"),
    "order": ("random", "stored"),
    "nan": ("omit", "raise", "keep"),
    "missing": ("error", "null"),
    "on_bad_file": ("error", "skip"),
    "interval": ("auto", "order", "exact", "paper", "none"),
    "fine": ("standard", "many"),
}

JOINT = ("geometric", "coordinatewise")
"""How block mean vectors become one; True means the first."""

PLAIN_INTERVALS = ("auto", "order", "exact", "none")
"""Intervals of differences and comparisons: all but the paper's."""

REFUSED: tuple[tuple[str, str, str], ...] = (
    (
        "SampledBlocks",
        "contamination",
        "an outlying row may be in many samples, and no bound allows for that; use RandomBlocks",
    ),
    ("SampledBlocks", "weights", "samples are of rows with equal chances; use RandomBlocks"),
    (
        "SampledBlocks",
        "interval='order'",
        "its blocks share rows, so their order statistics cover only the "
        "median given the data; use interval='exact'",
    ),
    (
        "SampledBlocks(replace=True)",
        "interval='paper'",
        "the paper has no bound for samples with replacement; use interval='exact'",
    ),
    ("blocks of units", "interval='paper'", "the proposition is for independent rows; use interval='exact'"),
    ("chunk_rows", "interval='paper'", "the proposition is for independent rows; use interval='exact'"),
    ("repeats", "weights", "partitions of weighted rows are not repeated; drop one"),
    (
        "repeats",
        "interval='order'",
        "blocks of different partitions share rows, so their order statistics cover too little; "
        "use interval='exact'",
    ),
    ("repeats", "interval='paper'", "the paper has no bound for repeated partitions; use interval='exact'"),
    (
        "UnitBlocks",
        "a share as contamination",
        "units are counted only as they are read; give a number",
    ),
    ("contamination", "blocks='paper'", "the proposition knows no outlying rows; use blocks='auto'"),
    ("contamination", "interval='paper'", "the proposition knows no outlying rows; use interval='exact'"),
    ("weights", "interval='paper'", "the proposition is for unweighted means; use interval='exact'"),
    ("joint", "blocks='paper'", "the proposition is for single means; use blocks='auto' or a number"),
    (
        "joint='geometric'",
        "interval='order'",
        "vectors have no order; use interval='exact', or joint='coordinatewise'",
    ),
    ("joint", "interval='paper'", "the paper has no bound for vectors; use interval='exact'"),
)
"""Pairs of options that exclude each other, with the remedy: the only list of them."""

SAMPLING = ("swor", "monte_carlo")
"""Schemes whose blocks are independent samples of the rows."""

Share = float
BlockBy = tuple[str, ...]


@dataclass(frozen=True)
class MeanOptions:
    """What to compute; see `distmom.mean` for the meaning of each."""

    scheme: str = "partition"
    n_blocks: int | str = "auto"
    block_size: int | None = None
    tau: float | None = None
    order: str = "random"
    block_by: str | BlockBy | None = None
    chunk_rows: int = 1
    repeats: int = 1
    contamination: int | Share | None = None
    weights: str | None = None
    joint: bool | str = False
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
        check_count("chunk_rows", self.chunk_rows)
        if self.chunk_rows > MOST_CHUNK_ROWS:
            raise ConfigError(f"chunk_rows: at most {MOST_CHUNK_ROWS:,} rows, not {self.chunk_rows:,}")
        check_count("repeats", self.repeats)
        for name in (
            "n_blocks",
            "block_size",
            "chunk_rows",
            "repeats",
        ):  # NumPy's whole numbers become Python's
            if isinstance(getattr(self, name), numbers.Integral):
                object.__setattr__(self, name, int(getattr(self, name)))
        check_fraction("confidence_level", self.confidence_level, 1.0, "such as 0.99")
        if self.tau is not None:
            check_fraction("tau", self.tau, 0.5, "such as 0.45")
        self._check_block_by()
        self._check_contamination()
        if self.weights is not None and not isinstance(self.weights, str):
            raise ConfigError(f"weights: must be a column's name, not {self.weights!r}")
        if not isinstance(self.joint, bool):
            check_choice("joint", self.joint, JOINT)
        elif self.joint:
            object.__setattr__(self, "joint", JOINT[0])
        self._check_pairs()

    def _check_block_by(self) -> None:
        """The word "file", or names of columns as a tuple; a column called file is given in a list."""
        value = self.block_by
        if value is None or value == "file":
            return
        names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
        if not names or not all(isinstance(name, str) for name in names):
            raise ConfigError(f"block_by: must be 'file' or names of columns, not {value!r}")
        object.__setattr__(self, "block_by", names)

    def _check_contamination(self) -> None:
        """A whole number of rows or units, or a share of them in (0, 1/2)."""
        value: Any = self.contamination
        if value is None:
            return
        if isinstance(value, numbers.Integral):  # a bool too, which is refused as a number
            check_count("contamination", value, least=0)
            object.__setattr__(self, "contamination", int(value))
        else:
            check_fraction("contamination", value, 0.5, "such as 0.01, or be a whole number of rows or units")
            object.__setattr__(self, "contamination", float(value))

    def _check_pairs(self) -> None:
        sampled = self.scheme in SAMPLING
        met = {
            "SampledBlocks": sampled,
            "SampledBlocks(replace=True)": self.scheme == "monte_carlo",
            "UnitBlocks": isinstance(self.block_by, tuple),
            "blocks of units": self.block_by is not None,
            "chunk_rows": self.chunk_rows > 1,
            "repeats": self.repeats > 1,
            "contamination": self.contamination is not None,
            "a share as contamination": isinstance(self.contamination, float),
            "weights": self.weights is not None,
            "joint": bool(self.joint),
            "joint='geometric'": self.joint == "geometric",
            "interval='order'": self.interval == "order",
            "interval='paper'": self.interval == "paper",
            "blocks='paper'": self.n_blocks == "paper" and not sampled,
        }
        refuse_pairs(REFUSED, met, {})

    @property
    def delta(self) -> float:
        """Allowed failure probability, 1 - confidence_level, without the rounding of the subtraction."""
        return float(f"{1.0 - self.confidence_level:.12g}")


def refuse_pairs(
    refused: Sequence[tuple[str, str, str]], met: Mapping[str, bool], said: Mapping[str, str]
) -> None:
    """ConfigError for the first pair of options that were both given and exclude each other.

    Parameters
    ----------
    refused : sequence of (str, str, str)
        Two options, and what to do instead; the first one "" if the second does not go with anything.
    met : mapping of str to bool
        Which of them were given.
    said : mapping of str to str
        How messages call those that are not called by their own words.
    """
    for first, second, remedy in refused:
        if (not first or met[first]) and met[second]:
            raise ConfigError(f"{said.get(first, first)} does not go with {second}: {remedy}")


def _check_n_blocks(value: Any) -> None:
    if isinstance(value, str):
        check_choice("n_blocks", value, ("auto", "paper"))
        return
    check_count("n_blocks", value)
    check_most_blocks("n_blocks", int(value))
