"""What all questions about rows share: their seed, where the rows lie, and what evaluating them takes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from distmom.estimators.mean.plan import worth_compiling
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.census import column_share
from distmom.reductions.block_means import load_kernels

if TYPE_CHECKING:
    from distmom.lake import ReadOptions, Source


@dataclass(kw_only=True)
class RowsQuestion:
    """A question about rows of one scan or several.

    Attributes
    ----------
    rng : object
    seed, shown_seed : int, int or str
        The seed of all draws, and how results print it.
    opened : tuple or list
        The source and what to read of it; of several samples one pair each.
    """

    rng: Any = None
    seed: int = field(init=False)
    shown_seed: int | str = field(init=False)

    def __post_init__(self) -> None:
        self.seed, self.shown_seed = resolve_seed(self.rng)

    def about(self, **changes: Any) -> Self:
        """The same question, with the same seed, about other rows or columns."""
        new = copy.copy(self)
        for name in ("opened", "share"):
            vars(new).pop(name, None)
        vars(new).update(changes)
        return new

    @property
    def opened(self) -> Any:
        """As above; a cached property, as nothing is opened before it is needed."""
        raise NotImplementedError

    @property
    def sources(self) -> Sequence[tuple[Source, ReadOptions]]:
        """The source of each sample, and what to read of it."""
        return self.opened if isinstance(self.opened, list) else [self.opened[:2]]

    @cached_property
    def share(self) -> float:
        """Share of a file's bytes that is read."""
        return column_share(*self.sources[0])

    @property
    def in_memory(self) -> bool:
        """Whether some of the data is in this process."""
        return any(source.in_memory for source, _ in self.sources)

    def load(self) -> Callable[[], None] | None:
        """The kernels, where they will be used."""
        files = tuple(file for source, _ in self.sources for file in source.files)
        grouped = any(read.by for _, read in self.sources)
        return load_kernels if worth_compiling(files, self.share, grouped=grouped) else None
