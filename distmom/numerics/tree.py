"""Merging in one fixed order: the aligned dyadic tree.

Floating-point merges are associative only up to rounding. Numbering the leaves 0, 1, 2, ... and merging
node ``(level, index)`` from its children ``(level - 1, 2 * index)`` and ``(level - 1, 2 * index + 1)``
fixes the order by the numbers alone, whatever the order of arrival and however the leaves are divided into
aligned ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from distmom.memory import look_ahead_at

ENDLESS = 1 << 62
"""Number of leaves of a tree without an end."""

S = TypeVar("S")
Node = tuple[int, int]
"""Level and index: the leaves ``index << level`` to ``((index + 1) << level) - 1``."""


def _join(merge: Callable[[S, S], S], left: S | None, right: S | None) -> S | None:
    if left is None:
        return right
    if right is None:
        return left
    look_ahead_at(left, right)
    return merge(left, right)


def fold(nodes: Mapping[Node, S | None], merge: Callable[[S, S], S]) -> S | None:
    """The root over adjacent nodes, largest first, as a tree of complete nodes leaves them.

    The ragged right edge is folded from the right, which is the same as treating a missing right child as
    empty.
    """
    carry: S | None = None
    for level, index in sorted(nodes, key=lambda node: node[1] << node[0], reverse=True):
        carry = _join(merge, nodes[level, index], carry)
    return carry


def covered(n: int, nodes: Iterable[Node]) -> bytearray:
    """For each of ``n`` leaves, 1 if a node covers it, else 0."""
    found = bytearray(n)
    for level, index in nodes:
        start, stop = index << level, min((index + 1) << level, n)
        found[start:stop] = b"\1" * (stop - start)
    return found


class DyadicTree(Generic[S]):
    """Canonical merge of ``n`` leaves, pushed as nodes of any level in any order.

    Node ``(level, index)`` covers the leaves ``[index << level, min((index + 1) << level, n))``. If a right
    child is missing (beyond ``n``) the node is its left child alone. A state ``None`` is a node without
    content: its sibling counts for both.

    Parameters
    ----------
    n : int
        Number of leaves, at least 1.
    merge : callable
        ``merge(left, right) -> state``; called with the left node first, and only on siblings before the root
        is requested.

    Attributes
    ----------
    n : int

    Notes
    -----
    A node is merged once its sibling has arrived, so pushes that are nearly in order keep O(log n) states.
    Nodes that are cut by ``n`` wait until the root is requested: those kept at the end are the start of every
    larger tree.

    Examples
    --------
    >>> tree = DyadicTree(3, lambda left, right: f"({left}{right})")
    >>> for number in (2, 0, 1):
    ...     tree.push(0, number, "abc"[number])
    >>> tree.root
    '((ab)c)'
    >>> larger = DyadicTree(4, lambda left, right: f"({left}{right})")
    >>> for node, state in tree.waiting.items():
    ...     larger.push(*node, state)
    >>> larger.push(0, 3, "d")
    >>> larger.root
    '((ab)(cd))'
    """

    def __init__(self, n: int, merge: Callable[[S, S], S]) -> None:
        if n < 1:
            raise ValueError(f"a tree needs at least one leaf, not {n}")
        self.n = n
        self._merge = merge
        self._top = (n - 1).bit_length()
        self._waiting: dict[Node, S | None] = {}
        self._covered = 0

    @property
    def waiting(self) -> dict[Node, S | None]:
        """The waiting nodes: those whose sibling has not arrived yet."""
        return dict(self._waiting)

    @property
    def n_waiting(self) -> int:
        """Number of waiting nodes."""
        return len(self._waiting)

    def change(self, change: Callable[[S], S]) -> None:
        """Replace each waiting state."""
        self._waiting = {
            node: None if state is None else change(state) for node, state in self._waiting.items()
        }

    @property
    def complete(self) -> bool:
        """Whether every leaf has arrived."""
        return self._covered == self.n

    @property
    def root(self) -> S | None:
        """The merge of all leaves; ``None`` if all were ``None``. ValueError while leaves are missing."""
        if not self.complete:
            raise ValueError(f"not all of the {self.n} leaves have been pushed")
        return fold(self._waiting, self._merge)

    def push(self, level: int, index: int, state: S | None) -> None:
        """Add node ``(level, index)``; ValueError if it is outside the tree or repeats a waiting node."""
        if index < 0 or level < 0 or index << level >= self.n:
            raise ValueError(f"node ({level}, {index}) lies outside a tree of {self.n} leaves")
        level, index = min(level, self._top), index if level <= self._top else 0
        if (level, index) in self._waiting:
            raise ValueError(f"node ({level}, {index}) was pushed twice")
        self._covered += min((index + 1) << level, self.n) - (index << level)
        while (level, index ^ 1) in self._waiting:
            other = self._waiting.pop((level, index ^ 1))
            state = _join(self._merge, other, state) if index & 1 else _join(self._merge, state, other)
            level, index = level + 1, index >> 1
        self._waiting[level, index] = state


class StreamingTree(Generic[S]):
    """The same merge for leaves that arrive in order and whose number is not known beforehand.

    Parameters
    ----------
    merge : callable
        ``merge(left, right) -> state``.

    Notes
    -----
    Keeps at most one state per bit of the number of leaves so far.

    Examples
    --------
    >>> tree = StreamingTree(lambda left, right: f"({left}{right})")
    >>> for leaf in "abcde":
    ...     tree.push(leaf)
    >>> tree.close()
    '(((ab)(cd))e)'
    """

    def __init__(self, merge: Callable[[S, S], S]) -> None:
        self._merge = merge
        self._n = 0
        self._waiting: list[
            S | None
        ] = []  # one for each bit that is set in the number of leaves, largest first

    def push(self, state: S | None) -> None:
        """Add the next leaf."""
        full = self._n
        while full & 1:
            state = _join(self._merge, self._waiting.pop(), state)
            full >>= 1
        self._waiting.append(state)
        self._n += 1

    @property
    def states(self) -> list[S]:
        """The states kept."""
        return [state for state in self._waiting if state is not None]

    def change(self, change: Callable[[S], S]) -> None:
        """Replace each state that is kept."""
        self._waiting = [None if state is None else change(state) for state in self._waiting]

    def close(self) -> S | None:
        """Fold the ragged right edge, smallest node first; ``None`` if there were no leaves. Starts anew."""
        carry: S | None = None
        while self._waiting:
            carry = _join(self._merge, self._waiting.pop(), carry)
        self._n = 0
        return carry
