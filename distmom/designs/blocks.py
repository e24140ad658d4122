"""How rows form blocks: one frozen object for each way.

``blocks=`` takes one of them, or the short forms ``"auto"``, ``"paper"`` and a number, which mean
`RandomBlocks`.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from distmom.checks import check_choice, check_count, check_fraction, names_of
from distmom.designs.design import MOST_CHUNK_ROWS, BlockDesign, Fine, Number, check_most_blocks
from distmom.errors import ConfigError

if TYPE_CHECKING:
    from distmom.reductions.layout import Layout


@dataclass(frozen=True, repr=False)
class RandomBlocks(BlockDesign):
    """Rows are randomly assigned to blocks; every row is in one of them.

    Parameters
    ----------
    n : int or {"auto", "paper"}
        Number of blocks. ``"auto"`` compares several numbers of blocks, screens out outlying blocks and
        reports what it found; ``"paper"`` is the number of the proposition: ceil(log(1/delta)).
    size : int, optional
        Rows per block, instead of the number of blocks.
    chunk_rows : int
        Rows that stay together (the block length of a block bootstrap): rows j c … (j + 1) c - 1 of a file go
        to one block. For bursts of bad rows (L of them touch at most (L - 1)/c + 2 chunks) and for rows that
        are correlated with their neighbours (c several times as long as the correlation).
    repeats : int
        Number of random partitions; the estimate is the median of the block values of all of them. With five,
        its variance is close to that of the sample mean.
    fine : {"standard", "many"}
        Blocks are made of 945 fine blocks, or of 10,395 if scattered bad rows are expected.

    Raises
    ------
    ConfigError
        If a value is out of range, or two of them exclude each other.

    Examples
    --------
    >>> RandomBlocks(101), RandomBlocks(chunk_rows=1000)
    (RandomBlocks(101), RandomBlocks(chunk_rows=1000))
    """

    n: Number = "auto"
    size: int | None = None
    chunk_rows: int = 1
    repeats: int = 1
    fine: Fine = "standard"

    def __post_init__(self) -> None:
        self._check_number()
        for name in ("chunk_rows", "repeats"):
            check_count(f"RandomBlocks: {name}", getattr(self, name))
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.chunk_rows > MOST_CHUNK_ROWS:
            raise ConfigError(
                f"RandomBlocks: chunk_rows: at most {MOST_CHUNK_ROWS:,} rows, not {self.chunk_rows:,}"
            )
        check_choice("RandomBlocks: fine", self.fine, ("standard", "many"))
        if self.fine != "standard" and self.fixed:
            raise ConfigError(
                "RandomBlocks: fine cannot be combined with n or size, which fix the number of "
                "blocks; drop one"
            )
        if self.repeats > 1 and self.chunk_rows > 1:
            raise ConfigError(
                "RandomBlocks: repeats cannot be combined with chunk_rows: partitions are of rows; drop one"
            )

    def layout(self, seed: int, n_fine: int, width: int, n_rows: int | None) -> Layout:  # noqa: D102
        from distmom.reductions.layouts import RandomLayout, RepeatedLayout

        if self.repeats == 1:
            return RandomLayout(seed, n_fine, width, self.chunk_rows)
        kept = n_fine // width
        check_most_blocks(f"RandomBlocks: repeats: {self.repeats} of {kept} fine blocks", self.repeats * kept)
        return RepeatedLayout(seed, n_fine, self.repeats, width)


@dataclass(frozen=True, repr=False)
class StoredBlocks(BlockDesign):
    """Contiguous blocks, in the order in which rows are stored: cheapest, for exchangeable rows.

    Parameters
    ----------
    n : int or {"auto", "paper"}
        Number of blocks, as for `RandomBlocks`.
    size : int, optional
        Rows per block, instead of the number of blocks.

    Raises
    ------
    ConfigError
        If a value is out of range, or both are given.

    Examples
    --------
    >>> StoredBlocks(size=1_000)
    StoredBlocks(size=1000)
    """

    n: Number = "auto"
    size: int | None = None

    stored: ClassVar[bool] = True

    def layout(self, seed: int, n_fine: int, width: int, n_rows: int | None) -> Layout:  # noqa: D102
        from distmom.reductions.layouts import StoredLayout

        assert n_rows is not None
        return StoredLayout(n_rows, n_fine // width)


@dataclass(frozen=True, repr=False)
class UnitBlocks(BlockDesign):
    """Whole units share a block: rows that agree in these columns (a sensor, a user), in whatever files.

    For dependence or damage by unit. Null is a unit, too. The interval is based on the variance between
    blocks, and the result reports the number of units.

    Parameters
    ----------
    columns : str or sequence of str
        Columns whose values define a unit.
    n : int or {"auto", "paper"}
        Number of blocks, as for `RandomBlocks`.

    Raises
    ------
    ConfigError
        If a name is no text or given twice, or a number is out of range.

    Examples
    --------
    >>> UnitBlocks("sensor"), UnitBlocks(["month", "day"], 31).columns
    (UnitBlocks('sensor'), ('month', 'day'))
    """

    columns: str | Sequence[str]
    n: Number = "auto"
    size: int | None = None

    of_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        names = names_of("UnitBlocks: columns", self.columns)
        if not names:
            raise ConfigError(
                "UnitBlocks: columns: name the columns whose values make a unit; for files use FileBlocks()"
            )
        object.__setattr__(self, "columns", names)
        self._check_number()

    def layout(self, seed: int, n_fine: int, width: int, n_rows: int | None) -> Layout:  # noqa: D102
        from distmom.reductions.layouts import UnitLayout

        return UnitLayout(n_fine)


@dataclass(frozen=True, repr=False)
class FileBlocks(BlockDesign):
    """Whole files share a block: a bad file then spoils one block only.

    Parameters
    ----------
    n : int or {"auto", "paper"}
        Number of blocks, as for `RandomBlocks`.
    size : int, optional
        Rows per block, instead of the number of blocks.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Examples
    --------
    >>> FileBlocks()
    FileBlocks()
    """

    n: Number = "auto"
    size: int | None = None

    of_units: ClassVar[bool] = True
    by_file: ClassVar[bool] = True

    def layout(self, seed: int, n_fine: int, width: int, n_rows: int | None) -> Layout:  # noqa: D102
        from distmom.reductions.layouts import FileLayout

        return FileLayout()


@dataclass(frozen=True, repr=False)
class SampledBlocks(BlockDesign):
    """Independent samples of the rows, each without or with replacement (the paper's randomized blocks).

    Parameters
    ----------
    n : int, optional
        Number of blocks; by default the number of the proposition for `tau`.
    size : int, optional
        Rows per block; by default as the proposition says.
    tau : float, optional
        Sampling parameter in (0, 1/2), default 0.45. It sets number and size of the blocks by the
        proposition, which draw 4 tau^2 n / (9 (1/2 - tau)^2) rows in total: 36 n at 0.45.
    replace : bool
        Whether rows are drawn with replacement.

    Raises
    ------
    ConfigError
        If a value is out of range, or `tau` is given although `n` and `size` say all.

    Examples
    --------
    >>> SampledBlocks(35, 2_000), SampledBlocks(tau=0.3, replace=True)
    (SampledBlocks(35, size=2000), SampledBlocks(tau=0.3, replace=True))
    """

    n: int | None = None
    size: int | None = None
    tau: float | None = None
    replace: bool = False

    sampled: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.n, str):  # of callers without types
            raise ConfigError(
                f"SampledBlocks: n: must be a whole number, not {self.n!r}; "
                "omit it for the number of the proposition"
            )
        self._check_number()
        if self.tau is not None:
            check_fraction("SampledBlocks: tau", self.tau, 0.5, "such as 0.45")
        if self.tau is not None and self.n is not None and self.size is not None:
            raise ConfigError("SampledBlocks: tau: n and size already determine the blocks; drop tau")
        if not isinstance(self.replace, bool):
            raise ConfigError(f"SampledBlocks: replace: must be True or False, not {self.replace!r}")


DESIGNS = (RandomBlocks, StoredBlocks, UnitBlocks, FileBlocks, SampledBlocks)

Blocks: TypeAlias = int | Literal["auto", "paper"] | BlockDesign


def as_design(blocks: Any) -> BlockDesign:
    """The design that a value of ``blocks=`` means.

    Raises
    ------
    ConfigError
        If it is neither ``"auto"``, ``"paper"``, a number, nor a design.

    Examples
    --------
    >>> as_design("auto"), as_design(101), as_design(FileBlocks())
    (RandomBlocks(), RandomBlocks(101), FileBlocks())
    """
    if isinstance(blocks, BlockDesign):
        return blocks
    if isinstance(blocks, type) and issubclass(blocks, BlockDesign):
        raise ConfigError(
            f"blocks: {blocks.__name__} is a class; give an object, such as {blocks.__name__}(…)"
        )
    if isinstance(blocks, str) and blocks not in ("auto", "paper"):
        words = {
            "file": "FileBlocks()",
            "files": "FileBlocks()",
            "stored": "StoredBlocks()",
            "swor": "SampledBlocks()",
        }
        # names of columns are no misspelt words
        near = difflib.get_close_matches(blocks.lower(), ("auto", "paper", *words), 1, cutoff=0.75)
        hint = f"UnitBlocks({blocks!r}) for units of a column"
        if near:
            hint = words.get(near[0], repr(near[0]))
        raise ConfigError(
            f"blocks: must be 'auto', 'paper', a number or a block design, not {blocks!r}; use {hint}"
        )
    if not isinstance(blocks, str) and (isinstance(blocks, bool) or not isinstance(blocks, numbers.Integral)):
        raise ConfigError(
            f"blocks: must be 'auto', 'paper', a number or a design such as FileBlocks(), not {blocks!r}"
        )
    if not isinstance(blocks, str):
        check_count("blocks", blocks)
        check_most_blocks("blocks", int(blocks))
    return RandomBlocks(blocks)  # type: ignore[arg-type]
