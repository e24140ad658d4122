"""States of units, merged on arrival in the canonical order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from distmom.cluster.plan import Unit
from distmom.numerics.tree import DyadicTree

S = TypeVar("S")


class UnitMerger(Generic[S]):
    """Merges ``(unit, state)`` pairs that come in any order: parts within their file first, then files.

    Parameters
    ----------
    n_files : int
        Files of the whole listing.
    merge : callable
        ``merge(left, right) -> state``.

    Notes
    -----
    Holds O(log n) states while units arrive nearly in order. A state ``None`` (nothing read) is left out.
    """

    def __init__(self, n_files: int, merge: Callable[[S, S], S]) -> None:
        self._merge = merge
        self._files: DyadicTree[S] | None = DyadicTree(n_files, merge) if n_files else None
        self._parts: dict[int, DyadicTree[S]] = {}
        self._lost: set[int] = set()

    @property
    def n_held(self) -> int:
        """Number of states held at present."""
        waiting = sum(tree.n_waiting for tree in self._parts.values())
        return waiting + (self._files.n_waiting if self._files else 0)

    def push(self, unit: Unit, state: S | None, *, skipped: bool = False) -> None:
        """Add the state of ``unit``.

        Parameters
        ----------
        unit : Unit
        state : object or None
        skipped : bool
            The unit left out a bad file. If it is a part of a file, the file's other parts are left out too:
            otherwise what counts of a bad file would depend on where it was cut.
        """
        if self._files is None:
            raise ValueError("a listing without files has no units")
        if unit.rows is None:
            self._files.push(unit.level, unit.index, state)
            return
        number = unit.index
        if skipped:
            self._lost.add(number)
        tree = self._parts.get(number)
        if tree is None:
            tree = self._parts[number] = DyadicTree(unit.n_leaves, self._merge)
        tree.push(unit.leaf_level, unit.leaf_index, state)
        if tree.complete:
            del self._parts[number]
            self._files.push(0, number, None if number in self._lost else tree.root)

    def result(self) -> S | None:
        """The root; ``None`` if nothing was read. ValueError while units are missing."""
        return self._files.root if self._files else None
