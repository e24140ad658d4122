"""Conversion of a saved mean to arrays and facts, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.cluster import Merged
from distmom.errors import DataError
from distmom.estimators.mean.fingerprint import LakeCounts, Made, recounted
from distmom.estimators.mean.manifest import Ledger, Left, Numbered
from distmom.lake.source import FileRef
from distmom.reductions.roots import turned
from distmom.reductions.state import MeanState, sizes_of
from distmom.reductions.stream import LeafStream, StreamState
from distmom.state import Saved
from distmom.state.arrays import from_arrays, to_arrays
from distmom.state.checkpoint import Content
from distmom.state.fingerprint import check_same
from distmom.state.saved import texts_from_bytes, texts_to_bytes, understood

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan

KIND = "mean"
MAIN, LATE, BASE, NOWHERE = range(4)
"""Place of a file: numbered in the main tree or the late one, in the base, or skipped without a number."""

MOST_FILES, MOST_LEAVES = 1 << 28, 1 << 45
"""Larger than in any lake or stream."""

Node = tuple[int, int, int, int, int, MeanState | None]
"""Place; number and leaves of the file (-1 and 0 for a node over files); level, index and state."""


@dataclass
class SavedMean:
    """The content of a state.

    Attributes
    ----------
    name : str
        Its name in messages.
    sums : dict
        Description of the sums, see `MeanPlan.sums`.
    stream : StreamState or None
        Rows of an accumulator; its name is the only path of the main tree.
    sizes : tuple of int or None
        Sizes of its states, from `sizes_of`; known once it has been read, None if there are no states.
    """

    name: str
    made: Made
    sums: dict[str, Any]
    ledger: Ledger
    stream: StreamState | None = None
    sizes: tuple[int, ...] | None = None

    @property
    def files(self) -> list[tuple[str, FileRef]]:
        """The files, or streams, in it, with their folders."""
        roots, ledger = self.made.roots, self.ledger
        numbered = [*ledger.main.files.values(), *ledger.late.files.values()]
        return [(roots[0], f) for f in numbered] + [(roots[number], f) for number, f in ledger.base_files]

    @property
    def unread(self) -> list[FileRef]:
        """Files still to be read; a stream has none."""
        return self.ledger.unread() if self.stream is None else []

    def check(self, plan: MeanPlan) -> None:
        """Raise DataError if the sizes of its states differ from the plan's, although the options agree."""
        reduction = plan.reduction
        n_blocks, weighted = reduction.layout.n_blocks + reduction.n_cells, reduction.weights is not None
        if self.sizes is not None and self.sizes[:3] != (len(reduction.columns), n_blocks, weighted):
            raise DataError(f"{self.name} does not hold what it says; delete it to start afresh")

    def total(self, plan: MeanPlan) -> MeanState | None:
        """The state of all its rows, with the plan's time scales and folders; None without rows."""
        ledger, stream, roots = self.ledger, self.stream, self.made.roots
        if stream is None:
            total = ledger.finish(plan.reduction.merge)
        else:
            own = LeafStream(plan.reduction, ledger.main.files[0].path, plan.leaf_rows, stream)
            total = plan.joined(own.total(), ledger.base)
        total = recounted(total, plan.reduction.columns, self.made.read, plan.reader.options)
        if total is None or len(roots) > 1 or not plan.roots:
            return total
        return turned(total, plan.reduction, roots[0])

    def content(self) -> Content:
        """The content to save besides its fingerprint."""
        ledger = self.ledger
        arrays: dict[str, Any] = {}
        files = _files(ledger, arrays)
        base: list[Node] = [] if ledger.base is None else [(BASE, -1, 0, 0, 0, ledger.base)]
        trees = (ledger.main, ledger.late)
        nodes = (*base, *(node for place, tree in enumerate(trees) for node in _nodes(place, tree.held)))
        facts = {
            "made": self.made.to_facts(),
            "counted": ledger.counted,
            "numbered": [tree.n for tree in trees],
            "lost": [sorted(tree.held.lost) for tree in trees],
            "nodes": to_arrays(nodes, "nodes", arrays),
            "stream": to_arrays(self.stream, "stream", arrays),
        }
        return Content(tuple(files), facts, arrays)

    def saved(self) -> Saved:
        """The same in the form of a file."""
        return Saved(KIND, self.made.fingerprint.with_sums(self.sums), *self.content())

    @classmethod
    def of(cls, saved: Saved, what: str) -> SavedMean:
        """The content of a file; DataError, which names it `what`, if the content is not valid."""
        return understood(what, lambda: _mean(saved, what))


def check_alike(then: SavedMean, now: SavedMean, second: str, remedy: str) -> None:
    """Raise ConfigError, which calls `now` the `second` one, if the sums of two cannot be merged."""
    one, other = then.made.fingerprint, replace(now.made, roots=then.made.roots).fingerprint
    check_same(then.name, one, other, design=then.sums != now.sums, second=second, remedy=remedy)


def _nodes(place: int, held: Merged[MeanState]) -> list[Node]:
    """All nodes of a tree, in a fixed order."""
    nodes: list[Node] = [(place, -1, 0, *node, held.files[node]) for node in sorted(held.files)]
    for number in sorted(held.parts):
        n_leaves, part = held.parts[number]
        nodes += [(place, number, n_leaves, *node, part[node]) for node in sorted(part)]
    return nodes


def _mean(saved: Saved, what: str) -> SavedMean:
    facts, arrays = saved.facts, saved.arrays
    ledger = Ledger(counted=None if facts["counted"] is None else LakeCounts(*facts["counted"]))
    held: list[Merged[MeanState]] = [Merged({}, {}, frozenset(lost)) for lost in facts["lost"]]
    numbered = [_whole(n, MOST_FILES) for n in facts["numbered"]]
    states: list[MeanState | None] = []
    for place, number, n_leaves, level, index, state in from_arrays(facts["nodes"], "nodes", arrays):
        states.append(state)
        _check_node(level, index, MOST_LEAVES if number >= 0 or place == BASE else numbered[place])
        if place == BASE:
            ledger.base = state
        elif number < 0:
            held[place].files[level, index] = state
        else:
            part = held[place].parts.setdefault(_whole(number, numbered[place]), (n_leaves, {}))
            part[1][level, index] = state
    ledger.main, ledger.late = (Numbered({}, n, h) for n, h in zip(numbered, held, strict=True))
    _take_files(ledger, saved)
    stream = from_arrays(facts["stream"], "stream", arrays)
    if not (stream is None or isinstance(stream, StreamState)):
        raise ValueError("stream is not a stream")
    for node in () if stream is None else stream.nodes:
        states.append(node.state)
        _check_node(node.level, node.index, MOST_LEAVES)
    made = Made.from_facts(facts["made"])
    return SavedMean(what, made, dict(saved.fingerprint.sums), ledger, stream, _sizes(states))


def _whole(number: Any, below: int) -> int:
    if type(number) is not int or not 0 <= number < below:
        raise ValueError(f"{number!r} is not a number below {below}")
    return number


def _check_node(level: Any, index: Any, n: int) -> None:
    """Refuse a node that is out of bounds: it could require any amount of memory."""
    _whole(_whole(index, MOST_LEAVES) << _whole(level, MOST_LEAVES.bit_length()), n)


def _sizes(states: list[MeanState | None]) -> tuple[int, ...] | None:
    """The common sizes of all states: if they differed, the kernels that merge them would crash."""
    if not all(state is None or isinstance(state, MeanState) for state in states):
        raise ValueError("a node is not a state")
    found = {sizes_of(state) for state in states if state is not None}
    if len(found) > 1:
        raise ValueError("its states differ in size")
    return next(iter(found), None)


def _files(ledger: Ledger, arrays: dict[str, Any]) -> list[FileRef]:
    """All files; their places, and why some were skipped, go to the arrays."""
    rows = [
        (place, number, tree.files[number])
        for place, tree in ((MAIN, ledger.main), (LATE, ledger.late))
        for number in sorted(tree.files)
    ]
    rows += [(BASE, root, file) for root, file in ledger.base_files]
    numbered = {file.path for _, _, file in rows}
    rows += [(NOWHERE, -1, left.file) for path, left in ledger.left.items() if path not in numbered]
    arrays["place"] = np.array([place for place, _, _ in rows], np.int8)
    arrays["number"] = np.array([number for _, number, _ in rows], np.int64)
    arrays["left.path"] = texts_to_bytes(ledger.left)
    arrays["left.reason"] = texts_to_bytes(left.reason for left in ledger.left.values())
    return [file for _, _, file in rows]


def _take_files(ledger: Ledger, saved: Saved) -> None:
    places, numbers = saved.arrays["place"].tolist(), saved.arrays["number"].tolist()
    for place, number, file in zip(places, numbers, saved.files, strict=True):
        if place in (MAIN, LATE):
            (ledger.main, ledger.late)[place].files[number] = file
        elif place == BASE:
            ledger.base_files.append((number, file))
    by_path = {file.path: file for file in saved.files}
    paths, reasons = (texts_from_bytes(saved.arrays[f"left.{name}"]) for name in ("path", "reason"))
    ledger.left = {path: Left(by_path[path], why) for path, why in zip(paths, reasons, strict=True)}
