"""A saved mean as a container, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.cluster import Merged
from distmom.errors import DataError, DistmomError
from distmom.estimators.mean.fingerprint import Counted, Made
from distmom.estimators.mean.manifest import Ledger, Left, Numbered
from distmom.estimators.versions import versions
from distmom.lake.keys.keytext import key_from_bytes, key_to_bytes
from distmom.lake.saved.container import Container
from distmom.lake.source import FileRef
from distmom.reductions.saving import Arrays, from_arrays, to_arrays
from distmom.reductions.state import MeanState, sizes_of
from distmom.reductions.stream import StreamState

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan

KIND = "mean"
MAIN, LATE, BASE, NOWHERE = range(4)
"""Where a file is: numbered in the main tree or the late one, in the base, or left out without a number."""

MOST_FILES, MOST_LEAVES = 1 << 28, 1 << 45
"""More than any lake or stream has."""


@dataclass
class SavedMean:
    """What a state holds.

    Attributes
    ----------
    made : Made
    sums : dict
        Description of the sums, see `made.described`.
    ledger : Ledger
    stream : StreamState or None
        Rows of an accumulator, whose name is the one path of the main tree.
    sizes : tuple of int or None
        Of its states, as `sizes_of` gives them; known once it was read, None if there are no states.
    """

    made: Made
    sums: dict[str, Any]
    ledger: Ledger
    stream: StreamState | None = None
    sizes: tuple[int, ...] | None = None

    def check(self, plan: MeanPlan, what: str) -> None:
        """DataError if its states are not of the size that the plan's have, although made alike."""
        reduction = plan.reduction
        n_blocks, weighted = reduction.layout.n_blocks + reduction.n_cells, reduction.weights is not None
        if self.sizes is not None and self.sizes[:3] != (len(reduction.columns), n_blocks, weighted):
            raise DataError(f"{what} does not hold what it says; delete it to start afresh")


def to_container(saved: SavedMean) -> Container:
    """The container of a state."""
    arrays: Arrays = {}
    ledger = saved.ledger
    _put_files(ledger, arrays)
    nodes = [_node(BASE, -1, 0, 0, 0, ledger.base, arrays)] if ledger.base is not None else []
    for place, tree in ((MAIN, ledger.main), (LATE, ledger.late)):
        held = tree.held
        nodes += [_node(place, -1, 0, *node, state, arrays) for node, state in _ordered(held.files)]
        nodes += [
            _node(place, number, held.parts[number][0], *node, state, arrays)
            for number in sorted(held.parts)
            for node, state in _ordered(held.parts[number][1])
        ]
    facts = {
        "made": saved.made.to_facts(),
        "sums": saved.sums,
        "counted": ledger.counted,
        "numbered": [ledger.main.n, ledger.late.n],
        "lost": [sorted(tree.held.lost) for tree in (ledger.main, ledger.late)],
        "nodes": nodes,
        "stream": to_arrays(saved.stream, "stream", arrays, key_to_bytes),
        "versions": versions(),
    }
    return Container(KIND, facts, arrays)


def from_container(container: Container, what: str) -> SavedMean:
    """The state in a container.

    Raises
    ------
    DataError
        If it is of another kind, or does not hold what it should.
    """
    if container.kind != KIND:
        raise DataError(f"{what} is the state of a {container.kind!r}, not of a mean; name another file")
    try:
        return _saved(container)
    except (DistmomError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{what} does not hold what this version of distmom expects ({type(error).__name__}: {reason}); "
            "delete it to start afresh"
        ) from error


def _saved(container: Container) -> SavedMean:
    facts, arrays = container.facts, container.arrays
    ledger = Ledger(counted=None if facts["counted"] is None else Counted(*facts["counted"]))
    held: list[Merged[MeanState]] = [Merged({}, {}, frozenset(lost)) for lost in facts["lost"]]
    numbered = [_whole(n, MOST_FILES) for n in facts["numbered"]]
    states: list[MeanState | None] = []
    for place, number, n_leaves, level, index, name, form in facts["nodes"]:
        state = from_arrays(form, name, arrays, key_from_bytes)
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
    _take_files(ledger, arrays)
    stream = from_arrays(facts["stream"], "stream", arrays, key_from_bytes)
    if not (stream is None or isinstance(stream, StreamState)):
        raise ValueError("stream is no stream")
    for node in () if stream is None else stream.nodes:
        states.append(node.state)
        _check_node(node.level, node.index, MOST_LEAVES)
    made = Made.from_facts(facts["made"])
    return SavedMean(made, dict(facts["sums"]), ledger, stream, _sizes(states))


def _whole(number: Any, below: int) -> int:
    if type(number) is not int or not 0 <= number < below:
        raise ValueError(f"{number!r} is no number below {below}")
    return number


def _check_node(level: Any, index: Any, n: int) -> None:
    """A node that is out of bounds would ask for any amount of memory."""
    _whole(_whole(index, MOST_LEAVES) << _whole(level, MOST_LEAVES.bit_length()), n)


def _sizes(states: list[MeanState | None]) -> tuple[int, ...] | None:
    """The sizes of all states: if they differed, the kernels that merge them would crash."""
    if not all(state is None or isinstance(state, MeanState) for state in states):
        raise ValueError("a node is no state")
    found = {sizes_of(state) for state in states if state is not None}
    if len(found) > 1:
        raise ValueError("its states differ in size")
    return next(iter(found), None)


def _ordered(
    nodes: dict[tuple[int, int], MeanState | None],
) -> list[tuple[tuple[int, int], MeanState | None]]:
    return sorted(nodes.items(), key=lambda item: item[0])


def _node(
    place: int, number: int, n_leaves: int, level: int, index: int, state: MeanState | None, arrays: Arrays
) -> list[Any]:
    name = f"{('main', 'late', 'base')[place]}/{number if number >= 0 else 'files'}/{level}/{index}"
    return [place, number, n_leaves, level, index, name, to_arrays(state, name, arrays, key_to_bytes)]


def _put_files(ledger: Ledger, arrays: Arrays) -> None:
    rows = [
        (place, number, file)
        for place, tree in ((MAIN, ledger.main), (LATE, ledger.late))
        for number, file in sorted(tree.files.items(), key=lambda item: item[0])
    ]
    rows += [(BASE, root, file) for root, file in ledger.base_files]
    numbered = {file.path for _, _, file in rows}
    rows += [(NOWHERE, -1, left.file) for left in ledger.left.values() if left.file.path not in numbered]
    arrays["files.place"] = np.array([place for place, _, _ in rows], np.int8)
    arrays["files.number"] = np.array([number for _, number, _ in rows], np.int64)
    arrays["files.path"] = tuple(_bytes(file.path) for _, _, file in rows)
    arrays["files.size"] = np.array([file.size for _, _, file in rows], np.int64)
    arrays["files.mtime_ns"] = np.array([file.mtime_ns for _, _, file in rows], np.int64)
    arrays["left.path"] = tuple(map(_bytes, ledger.left))
    arrays["left.reason"] = tuple(_bytes(left.reason) for left in ledger.left.values())


def _take_files(ledger: Ledger, arrays: Any) -> None:
    columns = [arrays[f"files.{name}"] for name in ("place", "number", "path", "size", "mtime_ns")]
    by_path: dict[str, FileRef] = {}
    trees = {MAIN: ledger.main, LATE: ledger.late}
    for place, number, path, size, mtime in zip(*columns, strict=True):
        file = FileRef(_text(path), int(size), int(mtime))
        by_path[file.path] = file
        if place in trees:
            trees[place].files[int(number)] = file
        elif place == BASE:
            ledger.base_files.append((int(number), file))
    for path, reason in zip(arrays["left.path"], arrays["left.reason"], strict=True):
        ledger.left[_text(path)] = Left(by_path[_text(path)], _text(reason))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
