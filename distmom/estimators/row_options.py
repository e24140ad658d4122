"""From the objects of a call (scan, block design, promise) to the options of the passes over rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from distmom.designs.blocks import (
    BlockDesign,
    FileBlocks,
    RandomBlocks,
    SampledBlocks,
    StoredBlocks,
    UnitBlocks,
)
from distmom.designs.pairs import SampledPairs
from distmom.errors import ConfigError
from distmom.estimators.options import MeanOptions
from distmom.passes.scan import Scan


def row_options(scan: Scan, design: BlockDesign, **promise: Any) -> MeanOptions:
    """Options of the mean of the rows of a scan in blocks of this design.

    Parameters
    ----------
    scan : Scan
    design : BlockDesign
    **promise
        `contamination`, `weights`, `joint`, `interval`, `confidence_level`.

    Raises
    ------
    ConfigError
        If a value is out of range, or two exclude each other.
    """
    return MeanOptions(
        nan=scan.nan, missing=scan.missing, on_bad_file=scan.on_bad_file, **design_words(design), **promise
    )


def design_words(design: BlockDesign) -> dict[str, Any]:
    """The fields of `MeanOptions` that a design means."""
    words: dict[str, Any] = {"n_blocks": "auto" if design.n is None else design.n, "block_size": design.size}
    if isinstance(design, RandomBlocks):
        words |= {"chunk_rows": design.chunk_rows, "repeats": design.repeats, "fine": design.fine}
    elif isinstance(design, StoredBlocks):
        words["order"] = "stored"
    elif isinstance(design, UnitBlocks):
        words["block_by"] = design.columns
    elif isinstance(design, FileBlocks):
        words["block_by"] = "file"
    elif isinstance(design, SampledBlocks):
        words |= {"scheme": "monte_carlo" if design.replace else "swor", "tau": design.tau}
    return words


def design_of(options: MeanOptions) -> BlockDesign:
    """The design that options of rows came from."""
    n, size = options.n_blocks, options.block_size
    if options.scheme != "partition":
        return SampledBlocks(
            None if isinstance(n, str) else n, size, options.tau, options.scheme == "monte_carlo"
        )
    if options.order == "stored":
        return StoredBlocks(n, size)  # type: ignore[arg-type]
    if options.block_by == "file":
        return FileBlocks(n, size)  # type: ignore[arg-type]
    if options.block_by is not None:
        return UnitBlocks(options.block_by, n, size)  # type: ignore[arg-type]
    plain = RandomBlocks(n, size, options.chunk_rows, options.repeats)  # type: ignore[arg-type]
    return plain if options.fine == "standard" else replace(plain, fine=options.fine)  # type: ignore[arg-type]


def samples_of_pairs(design: BlockDesign, pairs: SampledPairs) -> SampledBlocks:
    """The design of samples of pairs: how many there are, and whether pairs may repeat.

    Raises
    ------
    ConfigError
        If the design says more than a number.
    """
    if isinstance(design, SampledBlocks) and design.size is None:
        return replace(design, replace=pairs.replace)
    if isinstance(design, RandomBlocks) and design == RandomBlocks(design.n):
        return SampledBlocks(design.n if isinstance(design.n, int) else None, replace=pairs.replace)
    raise ConfigError(
        f"blocks: samples of pairs are drawn from all rows, so {design!r} does not go with SampledPairs; "
        "give a number of samples, or SampledBlocks(n, tau=…) without a size"
    )
