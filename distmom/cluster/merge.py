"""States of units, merged on arrival in the canonical order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from distmom.cluster.plan import Done, Unit
from distmom.numerics.tree import DyadicTree

S = TypeVar("S")


Nodes = dict[tuple[int, int], S | None]


@dataclass(frozen=True, slots=True)
class Merged(Generic[S]):
    """The result of a merger for part of the units; picklable if the states are.

    Attributes
    ----------
    files : dict
        Nodes of the tree over file numbers.
    parts : dict
        For each incomplete file, by number: its leaves, and the nodes of its own tree.
    lost : frozenset of int
        Files with a bad part.
    """

    files: Nodes[S]
    parts: dict[int, tuple[int, Nodes[S]]]
    lost: frozenset[int]

    @property
    def done(self) -> Done:
        """What does not need reading any more."""
        return Done(self.files.keys(), {number: nodes.keys() for number, (_, nodes) in self.parts.items()})

    @property
    def states(self) -> list[S]:
        """All its states."""
        nodes = [self.files, *(nodes for _, nodes in self.parts.values())]
        return [state for some in nodes for state in some.values() if state is not None]


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
    It holds O(log n) states if units arrive nearly in order. A state ``None`` (nothing read) is left out.
    """

    def __init__(self, n_files: int, merge: Callable[[S, S], S]) -> None:
        self.n_files = n_files
        self._merge = merge
        self._files = DyadicTree(max(n_files, 1), merge)
        self._parts: dict[int, DyadicTree[S]] = {}
        self._lost: set[int] = set()

    @property
    def n_held(self) -> int:
        """Number of states held at present."""
        return sum(tree.n_waiting for tree in (self._files, *self._parts.values()))

    def push(self, unit: Unit, state: S | None, *, skipped: bool = False) -> None:
        """Add the state of ``unit``.

        Parameters
        ----------
        skipped : bool
            The unit skipped a bad file. If the unit is a part of a file, the other parts are left out too:
            otherwise the rows that count would depend on where the bad file was cut.
        """
        if not self.n_files:
            raise ValueError("a listing without files has no units")
        if unit.rows is None:
            self._files.push(unit.level, unit.index, state)
            return
        if skipped:
            self._lost.add(unit.index)
        self._push_part(unit.index, unit.n_leaves, {(unit.leaf_level, unit.leaf_index): state})

    def _push_part(self, number: int, n_leaves: int, nodes: Nodes[S]) -> None:
        tree = self._parts.get(number)
        if tree is None:
            tree = self._parts[number] = DyadicTree(n_leaves, self._merge)
        for (level, index), state in nodes.items():
            tree.push(level, index, state)
        if tree.complete:
            del self._parts[number]
            self._files.push(0, number, None if number in self._lost else tree.root)

    def merged(self) -> Merged[S]:
        """The merged units so far, for `add` of another merger."""
        parts = {number: (tree.n, tree.waiting) for number, tree in self._parts.items()}
        return Merged(self._files.waiting, parts, frozenset(self._lost))

    def add(self, merged: Merged[S]) -> None:
        """Add the result of another merger for units that this one has not seen.

        The other may be for a shorter listing, the start of this one, if its units were whole nodes.
        """
        if not self.n_files and (merged.files or merged.parts):
            raise ValueError("a listing without files has no units")
        self._lost |= merged.lost
        for (level, index), state in merged.files.items():
            self._files.push(level, index, state)
        for number, (n_leaves, nodes) in merged.parts.items():
            self._push_part(number, n_leaves, nodes)

    def result(self) -> S | None:
        """The root; ``None`` if nothing was read. ValueError while units are missing."""
        return self._files.root if self.n_files else None
