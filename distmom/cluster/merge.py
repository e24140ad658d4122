"""States of units, merged on arrival in the canonical order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from distmom.cluster.plan import Done, Unit
from distmom.numerics.tree import DyadicTree, Node

S = TypeVar("S")


class Part(NamedTuple, Generic[S]):
    """What is read of one file: nodes of the tree over its leaves."""

    n_leaves: int
    nodes: Mapping[Node, S | None]


class Held(NamedTuple, Generic[S]):
    """What a merger holds: nodes of the tree over the files, and the files that are read in part."""

    nodes: Mapping[Node, S | None]
    parts: Mapping[int, Part[S]]

    @property
    def done(self) -> Done:
        """What needs no reading any more."""
        return Done(self.nodes.keys(), {number: part.nodes.keys() for number, part in self.parts.items()})


class UnitMerger(Generic[S]):
    """Merges ``(unit, state)`` pairs that come in any order: parts within their file first, then files.

    Parameters
    ----------
    n_files : int
        Files of the whole listing.
    merge : callable
        ``merge(left, right) -> state``.
    held : Held, optional
        What another merger held of these files, or of the first of them.

    Notes
    -----
    Holds O(log n) states while units arrive nearly in order. A state ``None`` (nothing read) is left out.
    """

    def __init__(self, n_files: int, merge: Callable[[S, S], S], held: Held[S] | None = None) -> None:
        held = Held({}, {}) if held is None else held
        self._merge = merge
        self._files: DyadicTree[S] | None = DyadicTree(n_files, merge, held.nodes) if n_files else None
        self._parts = {n: DyadicTree(part.n_leaves, merge, part.nodes) for n, part in held.parts.items()}
        self._n_leaves = {n: part.n_leaves for n, part in held.parts.items()}
        self._lost: set[int] = set()

    @property
    def held(self) -> Held[S]:
        """What is held at present: all that a later merger needs in order to go on."""
        parts = {n: Part(self._n_leaves[n], tree.nodes) for n, tree in self._parts.items()}
        return Held(self._files.nodes if self._files else {}, parts)

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
            self._n_leaves[number] = unit.n_leaves
        tree.push(unit.leaf_level, unit.leaf_index, state)
        if tree.complete:
            del self._parts[number], self._n_leaves[number]
            self._files.push(0, number, None if number in self._lost else tree.root)

    def result(self) -> S | None:
        """The root; ``None`` if nothing was read. ValueError while units are missing."""
        return self._files.root if self._files else None
