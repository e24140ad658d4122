"""What to keep: fine blocks that merge to any level of the ladder, cells of files, samples of rows."""

from __future__ import annotations

from dataclasses import dataclass

from distmom.designs.design import check_most_blocks
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.mean.contamination import contaminated_blocks
from distmom.estimators.options import MeanOptions
from distmom.inference.samples import TAU
from distmom.reductions.layout import Layout
from distmom.reductions.layouts import SampledLayout
from distmom.theory.ladder import fine_blocks
from distmom.theory.paper import mom_blocks, morgu_blocks

FINE = {"standard": 945, "many": 10_395}
FINE_OF_GROUP = 105
CAP = {"standard": 1_023, "many": 10_395}
SAMPLE, SAMPLE_OF_GROUP = 1_024, 64
LEAST_FILES = 10
"""With fewer files, cells of whole files carry no information."""

PLENTY = 10**15
"""Placeholder for the number of rows if it is not known yet and does not matter."""

MOST_DRAWS = (1 << 31) - 1
"""Most draws with replacement that one block can take from one leaf."""


@dataclass(frozen=True)
class BlockPlan:
    """Contents of the state.

    Attributes
    ----------
    layout : Layout
    n_cells : int
        Cells of whole files.
    sample_size : int
        Rows of the sample of each group and column.
    n_blocks : int or None
        Number of blocks of the answer if it is fixed; None for the automatic rule.
    block_size : int or None
        Rows drawn for each sampled block.
    hears_files : bool
        Whether the cells of whole files, if there are some besides row blocks, carry information yet.
    outlying : int
        Rows (or units) that may be arbitrary; the intervals allow for them.
    """

    layout: Layout
    n_cells: int
    sample_size: int
    n_blocks: int | None = None
    block_size: int | None = None
    hears_files: bool = True
    outlying: int = 0

    @property
    def n_fine(self) -> int:
        """Fine blocks of each partition."""
        return self.layout.n_blocks // self.layout.repeats or self.n_cells


def choose_blocks(
    options: MeanOptions,
    *,
    seed: int,
    n_files: int,
    grouped: bool,
    n_rows: int | None,
    n_valid: int | None = None,
    n_units: int | None = None,
) -> BlockPlan:
    """Choose the blocks to keep for these options.

    `n_rows` is the number of rows of the lake, if counted, `n_valid` the number of rows that pass the filter,
    and `n_units` the number of units, such as files, that are assigned to blocks as a whole.
    """
    design = options.design
    passing = n_rows if n_valid is None else n_valid
    if design.sampled:
        assert n_rows is not None and passing is not None
        return _sampled(options, seed, n_rows, passing)
    n_blocks, outlying = _fixed_number(options, n_rows), 0
    if options.contamination is not None:
        of = passing if not design.of_units else n_units
        assert of is not None
        n_blocks, outlying = contaminated_blocks(options, n_blocks, of)
    sample = SAMPLE_OF_GROUP if grouped else SAMPLE
    n_fine, width = (
        (_unit_cells(n_blocks, grouped), 1) if design.of_units else _fine(design.fine, n_blocks, grouped)
    )
    n_cells = n_fine if design.by_file else 0
    if not design.of_units and n_files >= LEAST_FILES:
        n_cells = FINE_OF_GROUP if grouped else FINE["standard"]
    layout = design.layout(seed, n_fine, width, n_rows)
    return BlockPlan(layout, n_cells, sample, n_blocks, outlying=outlying)


def fixed_by(options: MeanOptions) -> str | None:
    """The option, in words, that makes the blocks depend on the number of rows or units; None if none does.

    Such blocks cannot take rows that arrive later.
    """
    design = options.design
    if design.sampled or design.stored or design.size is not None:
        return repr(design)
    if isinstance(options.contamination, float):
        return f"contamination={options.contamination}, a share,"
    counted = not design.columns  # the best number for many units is used anyway
    if options.contamination is not None and design.number is None and counted:
        return f"contamination={options.contamination} without a number of blocks"
    return None


def needs_row_counts(options: MeanOptions) -> bool:
    """Whether the rows must be counted before the main pass."""
    design = options.design
    return needs_passing_rows(options) or design.stored or design.size is not None


def needs_passing_rows(options: MeanOptions) -> bool:
    """Whether the number of rows that pass the filter matters."""
    design = options.design
    return design.sampled or (options.contamination is not None and not design.of_units)


def _fixed_number(options: MeanOptions, n_rows: int | None) -> int | None:
    design = options.design
    if design.size is not None:
        assert n_rows is not None
        return blocks_of_size(design.size, n_rows, "the data")
    if design.n == "paper":
        return mom_blocks(options.confidence_level, PLENTY if n_rows is None else n_rows)[0]
    return design.number


def blocks_of_size(size: int, n_rows: int, what: str) -> int:
    """Number of blocks of `size` rows; one less, with larger blocks, dominates an even number.

    NoAnswerError if there are none; ConfigError if there are too many.
    """
    if size > n_rows:
        raise NoAnswerError(f"blocks: size: {size} exceeds the {n_rows} rows of {what}; lower it")
    k = n_rows // size
    check_most_blocks(f"blocks: size: {size} of {n_rows} rows", k)
    return k - 1 + k % 2


def _fine(fine: str, n_blocks: int | None, grouped: bool) -> tuple[int, int]:
    """Fine blocks, and how many of them are merged if there are groups."""
    n_fine = FINE[fine] if n_blocks is None else fine_blocks(n_blocks, CAP[fine])
    if not grouped:
        return n_fine, 1
    if n_blocks is None:
        return n_fine, n_fine // FINE_OF_GROUP
    factor = n_fine // n_blocks
    small = max(
        d for d in range(1, factor + 1) if factor % d == 0 and (d == 1 or n_blocks * d <= FINE_OF_GROUP)
    )
    return n_fine, factor // small


def _unit_cells(n_blocks: int | None, grouped: bool) -> int:
    """Cells to which whole units are assigned."""
    if n_blocks is None:
        return FINE_OF_GROUP if grouped else FINE["standard"]
    return fine_blocks(n_blocks, FINE_OF_GROUP if grouped else CAP["standard"])


def _sampled(options: MeanOptions, seed: int, n_rows: int, n_valid: int) -> BlockPlan:
    """Numbers of the randomized median of means, given or from the proposition."""
    design = options.design
    replace = design.replace
    given = design.number
    k, size = given, design.size
    if k is None or size is None:
        tau = TAU if design.tau is None else design.tau
        # for a given size only the number is the proposition's, whatever the rows
        least, (most,) = morgu_blocks(options.confidence_level, tau, (n_valid if size is None else PLENTY,))
        k = least if k is None else k
        size = most if size is None else size
        check_most_blocks(f"blocks: tau: {tau:g}", k)
    refuse_more(size, n_rows, n_valid, replace=replace)
    # drawn from all rows, including those dropped by the filter: so proportionally more
    drawn = round(size * n_rows / n_valid) if n_valid else size
    if not replace:
        drawn = min(n_rows, drawn)
    else:
        refuse_many(drawn, n_rows)
    return BlockPlan(SampledLayout(seed, k, drawn, replace), 1, 0, k, drawn)


def refuse_more(size: int, n_rows: int, n_valid: int, *, replace: bool) -> None:
    """Raise NoAnswerError if a sample without replacement would need more rows than there are."""
    if size > n_valid and not replace:
        of = "rows" if n_valid == n_rows else "rows that pass the filter"
        raise NoAnswerError(
            f"blocks: size: {size} rows without replacement from {n_valid} {of} cannot be drawn; "
            f"use at most {n_valid}"
        )


def refuse_many(drawn: int, n_rows: int) -> None:
    """Raise ConfigError if a sample with replacement has more draws than can be numbered."""
    if drawn > max(n_rows, MOST_DRAWS):
        raise ConfigError(f"blocks: size: at most {MOST_DRAWS:,} draws or as many as rows, not {drawn:,}")
