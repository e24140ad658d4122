"""What all block designs share."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from distmom.checks import check_choice, check_count
from distmom.errors import ConfigError

if TYPE_CHECKING:
    from distmom.reductions.layout import Layout

Number: TypeAlias = int | Literal["auto", "paper"]
Fine: TypeAlias = Literal["standard", "many"]

MOST_BLOCKS = 1_000_000
MOST_CHUNK_ROWS = 1 << 40
"""More rows than any file has."""


class BlockDesign:
    """What all block designs share.

    Attributes
    ----------
    of_units : bool
        Whether whole units (rows that agree in some columns, or files) share a block.
    by_file : bool
        Whether these units are files.
    sampled : bool
        Whether blocks are samples that share rows, not a partition.
    stored : bool
        Whether blocks are contiguous, in the order in which rows are stored.
    columns : tuple of str
        Whose values make the units.
    n, size, chunk_rows, repeats, fine, tau, replace
        As for the designs that have them.
    """

    of_units: ClassVar[bool] = False
    by_file: ClassVar[bool] = False
    sampled: ClassVar[bool] = False
    stored: ClassVar[bool] = False
    n: Number | None
    size: int | None = None
    columns: Any = ()
    chunk_rows: int = 1
    repeats: int = 1
    fine: Fine = "standard"
    tau: float | None = None
    replace: bool = False

    @property
    def blind(self) -> bool:
        """Whether blocks keep neither cells of files nor a sample that stands for their rows."""
        return self.sampled or bool(self.columns)

    @property
    def fixed(self) -> bool:
        """Whether the caller sets the number of blocks."""
        return self.n not in (None, "auto") or self.size is not None

    @property
    def number(self) -> int | None:
        """The number of blocks, if the caller sets it."""
        return self.n if isinstance(self.n, int) else None

    @property
    def unit(self) -> str | tuple[str, ...] | None:
        """What stays together in a block: ``file``, columns whose values make a unit, or None for rows."""
        return "file" if self.by_file else self.columns or None

    @property
    def scheme(self) -> str:
        """``partition``, or how samples are drawn: ``swor`` or ``monte_carlo``."""
        return "partition" if not self.sampled else "monte_carlo" if self.replace else "swor"

    def layout(self, seed: int, n_fine: int, width: int, n_rows: int | None) -> Layout:
        """How the rows of a leaf find their blocks.

        Parameters
        ----------
        seed : int
            Of all draws.
        n_fine : int
            Fine blocks (cells of units), of which the blocks are made.
        width : int
            Neighbouring fine blocks that are kept together.
        n_rows : int or None
            Rows of the lake, where they have been counted.
        """
        raise NotImplementedError

    def with_number(self, n: Number) -> BlockDesign:
        """The same with this number of blocks, whatever gave it before."""
        return replace(self, n=n, size=None)  # type: ignore[type-var]

    def __repr__(self) -> str:
        """The call that makes it, without what is a default."""
        first, *others = [f for f in fields(self) if f.repr]  # type: ignore[arg-type]
        given = [f for f in others if getattr(self, f.name) != f.default]
        words = [f"{f.name}={getattr(self, f.name)!r}" for f in given]
        value = getattr(self, first.name)
        if isinstance(value, tuple):  # columns
            value = value[0] if len(value) == 1 else list(value)
        if value != first.default:
            words.insert(0, repr(value))
        return f"{type(self).__name__}({', '.join(words)})"

    def __post_init__(self) -> None:
        self._check_number()

    def _check_number(self) -> None:
        name, value = f"{type(self).__name__}: n", self.n
        if isinstance(value, str):
            check_choice(name, value, ("auto", "paper"))
        elif value is not None or not self.sampled:
            check_count(name, value)
            check_most_blocks(name, int(value))  # type: ignore[arg-type]
            object.__setattr__(self, "n", int(value))  # type: ignore[arg-type]
        if self.size is not None:
            check_count(f"{type(self).__name__}: size", self.size)
            object.__setattr__(self, "size", int(self.size))
            if self.n != "auto" and not self.sampled:
                raise ConfigError(f"{type(self).__name__}: n and size determine each other; drop one")


def check_most_blocks(name: str, n_blocks: int) -> None:
    """ConfigError if so many blocks would make the states of units too large."""
    if n_blocks > MOST_BLOCKS:
        raise ConfigError(
            f"{name}: at most {MOST_BLOCKS:,} blocks, not {n_blocks:,}; each costs 24 bytes in every unit"
        )
