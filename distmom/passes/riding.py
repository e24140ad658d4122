"""Sums of another kind computed in the same pass over the same rows, so that these are read once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from distmom.memory import Memory
from distmom.reductions.beside import Beside

if TYPE_CHECKING:
    from distmom.lake import BatchReader, Source
    from distmom.reductions import Reduction


@dataclass
class Rider:
    """A second reduction that shares a pass without groups.

    Attributes
    ----------
    columns : tuple of str
        Columns of the source, in the order in which the reduction takes them.
    reduction : Reduction
        Without a window.
    memory : Memory
        What it holds besides the pass.
    state : object
        Its result, once the pass has read all files.
    mounted : (BatchReader, Beside), optional
        Reads and sums the rows for both.
    """

    columns: tuple[str, ...]
    reduction: Reduction
    memory: Memory
    state: Any = None
    mounted: tuple[BatchReader, Beside] | None = None

    def mount(self, source: Source, first: BatchReader, reduction: Reduction) -> bool:
        """Join the pass of this reader and reduction; not possible if columns contain several values."""
        read = first.options
        names = tuple(dict.fromkeys((*read.columns, *self.columns)))
        reader = first if names == read.columns else source.reader(replace(read, columns=names))
        if reader.options.value_names != names:
            return False
        places = {name: i for i, name in enumerate(names)}
        of_both = [tuple(places[name] for name in mine) for mine in (read.columns, self.columns)]
        self.mounted = reader, Beside(reduction, self.reduction, (of_both[0], of_both[1]))
        return True
