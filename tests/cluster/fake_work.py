"""Work that reads nothing, importable by worker processes."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from distmom.cluster import Unit, UnitOutcome, check_stopped
from distmom.lake.source import FileRef
from distmom.numerics.tree import StreamingTree

LEAF_ROWS = 100


def listing(sizes: list[int]) -> tuple[FileRef, ...]:
    return tuple(FileRef(f"t/{number}.parquet", size, 0) for number, size in enumerate(sizes))


def record(left: str, right: str) -> str:
    """Neither associative nor commutative: the string spells the order of all merges."""
    return f"({left} {right})"


def file_state(number: int, n_leaves: int) -> str | None:
    tree = StreamingTree(record)
    for leaf in range(n_leaves):
        tree.push(f"{number}.{leaf}")
    return tree.close()


def expected(rows: list[int], skipped: frozenset[int] = frozenset()) -> str | None:
    """The merge of a whole listing, from the definition."""

    def node(level: int, index: int) -> str | None:
        if index << level >= len(rows):
            return None
        if level == 0:
            return None if index in skipped else file_state(index, -(-rows[index] // LEAF_ROWS))
        left, right = node(level - 1, 2 * index), node(level - 1, 2 * index + 1)
        if left is None or right is None:
            return right if left is None else left
        return record(left, right)

    return node(len(rows).bit_length(), 0)


@dataclass(frozen=True)
class Spell:
    """The honest work: spells the tree of its unit."""

    rows: tuple[int, ...]
    skipped: frozenset[int] = frozenset()
    padding: bytes = b""

    def __call__(self, unit: Unit) -> UnitOutcome:
        if unit.rows is not None:
            start, stop = unit.rows
            tree = StreamingTree(record)
            for leaf in range(start // LEAF_ROWS, -(-stop // LEAF_ROWS)):
                tree.push(f"{unit.index}.{leaf}")
            # Only the reader of the first leaf finds the bad place.
            bad = (unit.files[0].path,) if unit.index in self.skipped and start == 0 else ()
            return UnitOutcome(None if bad else tree.close(), stop - start, unit.n_bytes, bad)
        tree, n_rows, bad = StreamingTree(record), 0, []
        for number, file in enumerate(unit.files, unit.first_file):
            if number in self.skipped:
                bad.append(file.path)
                tree.push(None)
                continue
            tree.push(file_state(number, -(-self.rows[number] // LEAF_ROWS)))
            n_rows += self.rows[number]
        return UnitOutcome(tree.close(), n_rows, unit.n_bytes, tuple(bad))


class Large(str):
    """A state that says that it is large."""

    nbytes = 2_000_000


def record_large(left: str, right: str) -> Large:
    return Large(record(left, right))


@dataclass(frozen=True)
class SpellLarge(Spell):
    """The same with states that say that they are large."""

    def __call__(self, unit: Unit) -> UnitOutcome:
        done = super().__call__(unit)
        state = None if done.state is None else Large(done.state)
        return UnitOutcome(state, done.n_rows, done.n_bytes, done.skipped)


def count_call(folder: str, unit: Unit) -> int:
    """How often this unit was called before, counted in files: processes share nothing else."""
    for call in range(1000):
        try:
            os.close(os.open(f"{folder}/{unit.number}-{call}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return call
    raise AssertionError("too many calls")


def calls(folder: Path, unit: Unit) -> int:
    return len(list(folder.glob(f"{unit.number}-*")))


@dataclass(frozen=True)
class Flaky:
    """Raises ``error`` on the first ``n_times`` calls for one file."""

    honest: Spell
    folder: str
    bad_file: int
    error: BaseException
    n_times: int = 1000

    def __call__(self, unit: Unit) -> UnitOutcome:
        call = count_call(self.folder, unit)
        if self.bad_file in range(unit.first_file, unit.first_file + len(unit.files)) and call < self.n_times:
            raise self.error
        return self.honest(unit)


@dataclass(frozen=True)
class Deadly:
    """Ends its process, as the kernel does with one that takes too much memory."""

    honest: Spell
    folder: str
    bad_file: int
    n_times: int = 1000

    def __call__(self, unit: Unit) -> UnitOutcome:
        call = count_call(self.folder, unit)
        if self.bad_file in range(unit.first_file, unit.first_file + len(unit.files)) and call < self.n_times:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.honest(unit)


@dataclass(frozen=True)
class Endless:
    """One file never ends by itself, another fails at once."""

    endless_file: int
    failing_file: int
    folder: str

    def __call__(self, unit: Unit) -> UnitOutcome:
        if unit.first_file == self.failing_file:
            time.sleep(0.2)
            raise ZeroDivisionError("division by zero")
        if unit.first_file == self.endless_file:
            try:
                while True:
                    check_stopped()
                    time.sleep(0.01)
            finally:
                Path(self.folder, "ended").touch()
        return UnitOutcome("x")
