"""The options of a robust mean, checked once at the boundary."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from distmom.checks import check_choice, check_count, check_fraction
from distmom.designs.blocks import Blocks, RandomBlocks
from distmom.designs.design import BlockDesign
from distmom.errors import ConfigError
from distmom.passes.scan import NAN, Scan

INTERVALS = ("auto", "order", "cantelli", "closed-form", "none")
RETIRED_INTERVALS = {"exact": "cantelli", "paper": "closed-form"}
"""Words of states and calls of before 0.1.0, and what they are now."""


MOST_IN_WINDOW = 0.33
"""A window must leave out less than a third of the rows."""

JOINT = ("geometric", "coordinatewise")
"""How block mean vectors become one; True means the first."""

PLAIN_INTERVALS = ("auto", "order", "cantelli", "none")
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
        "median given the data; use interval='cantelli'",
    ),
    (
        "SampledBlocks(replace=True)",
        "interval='closed-form'",
        "the paper has no bound for samples with replacement; use interval='cantelli'",
    ),
    (
        "blocks of units",
        "interval='closed-form'",
        "the proposition is for independent rows; use interval='cantelli'",
    ),
    (
        "chunk_rows",
        "interval='closed-form'",
        "the proposition is for independent rows; use interval='cantelli'",
    ),
    ("repeats", "weights", "partitions of weighted rows are not repeated; drop one"),
    (
        "repeats",
        "interval='order'",
        "blocks of different partitions share rows, so their order statistics cover too little; "
        "use interval='cantelli'",
    ),
    (
        "repeats",
        "interval='closed-form'",
        "the paper has no bound for repeated partitions; use interval='cantelli'",
    ),
    (
        "UnitBlocks",
        "a share as contamination",
        "units are only counted while they are read; give a number",
    ),
    ("contamination", "blocks='paper'", "the proposition knows no outlying rows; use blocks='auto'"),
    (
        "contamination",
        "interval='closed-form'",
        "the proposition knows no outlying rows; use interval='cantelli'",
    ),
    ("weights", "interval='closed-form'", "the proposition is for unweighted means; use interval='cantelli'"),
    ("joint", "blocks='paper'", "the proposition is for single means; use blocks='auto' or a number"),
    (
        "joint='geometric'",
        "interval='order'",
        "vectors have no order; use interval='cantelli', or joint='coordinatewise'",
    ),
    ("joint", "interval='closed-form'", "the paper has no bound for vectors; use interval='cantelli'"),
)
"""Pairs of options that exclude each other, with the remedy: the only list of them."""


class RowKeywords(TypedDict, total=False):
    """Arguments of statistics of blocks of rows that do not decide what they return."""

    where: Any
    weights: str | None
    blocks: Blocks
    contamination: int | float | None
    interval: Literal["auto", "order", "cantelli", "closed-form", "none"]
    confidence_level: float
    rng: Any
    executor: Any


@dataclass(frozen=True)
class MeanOptions:
    """What to compute of rows in blocks of a design; see `distmom.mean` for the meaning of each."""

    design: BlockDesign = field(default_factory=RandomBlocks)
    contamination: int | float | None = None
    weights: str | None = None
    joint: bool | str = False
    nan: str = "omit"
    missing: str = "error"
    on_bad_file: str = "error"
    interval: str = "auto"
    confidence_level: float = 0.99
    passes: int | None = None
    window: float | None = None

    @classmethod
    def of(cls, scan: Scan, design: BlockDesign, **promise: Any) -> MeanOptions:
        """Options of the rows of a scan; `promise` are the other fields.

        Raises
        ------
        ConfigError
            If a value is out of range, or two exclude each other.
        """
        return cls(design, nan=scan.nan, missing=scan.missing, on_bad_file=scan.on_bad_file, **promise)

    def __post_init__(self) -> None:
        check_choice("nan", self.nan, NAN)
        check_choice("interval", self.interval, INTERVALS, RETIRED_INTERVALS)
        check_fraction("confidence_level", self.confidence_level, 1.0, "such as 0.99")
        if self.passes is not None:
            check_count("passes", self.passes, least=1, most=2)
        self._check_contamination()
        if self.weights is not None and not isinstance(self.weights, str):
            raise ConfigError(f"weights: must be a column's name, not {self.weights!r}")
        if not isinstance(self.joint, bool):
            check_choice("joint", self.joint, JOINT)
        elif self.joint:
            object.__setattr__(self, "joint", JOINT[0])
        self._check_pairs()

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
        design = self.design
        met = {
            "SampledBlocks": design.sampled,
            "SampledBlocks(replace=True)": design.replace,
            "UnitBlocks": bool(design.columns),
            "blocks of units": design.of_units,
            "chunk_rows": design.chunk_rows > 1,
            "repeats": design.repeats > 1,
            "contamination": self.contamination is not None,
            "a share as contamination": isinstance(self.contamination, float),
            "weights": self.weights is not None,
            "joint": bool(self.joint),
            "joint='geometric'": self.joint == "geometric",
            "interval='order'": self.interval == "order",
            "interval='closed-form'": self.interval == "closed-form",
            "blocks='paper'": design.n == "paper",
        }
        refuse_pairs(REFUSED, met, {})

    def by_window(self) -> MeanOptions:
        """The same, a share of rows that may be arbitrary being borne by a window of the row sample.

        So it is where nothing else decides about blocks; else blocks are made as many as that share asks for.
        """
        plain = self.design == RandomBlocks() and not self.joint and self.weights is None
        if not isinstance(self.contamination, float) or not plain:
            return self
        if self.contamination >= MOST_IN_WINDOW:
            raise ConfigError(
                f"contamination: a share of rows must be below {MOST_IN_WINDOW:g}, not {self.contamination}; "
                "give blocks=FileBlocks() if whole files are bad"
            )
        return replace(self, contamination=None, window=self.contamination)

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
        Two options, and what to do instead; the first one "" if the second cannot be combined with anything.
    met : mapping of str to bool
        Which of them were given.
    said : mapping of str to str
        How messages call those that are not called by their own words.
    """
    for first, second, remedy in refused:
        if (not first or met[first]) and met[second]:
            raise ConfigError(f"{said.get(first, first)} cannot be combined with {second}: {remedy}")
