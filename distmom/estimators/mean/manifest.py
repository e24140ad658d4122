"""The files in the sums of a saved run, and the files still to be read.

Files are numbered in the order of their paths, and the state has nodes of the tree over these numbers: the
merge after an interruption, or for a lake that grew at its end, is that of one run over everything. New files
that sort between numbered ones are read into a tree of their own, and merged into a *base* at the end of the
run: all counts and blocks are then those of one run, and the sums equal up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from distmom.cluster import Merged, Unit, UnitMerger
from distmom.errors import DataError
from distmom.estimators.mean.fingerprint import LakeCounts
from distmom.lake.source import FileRef
from distmom.numerics.tree import covered

if TYPE_CHECKING:
    from distmom.cluster.work import SkippedFile

NOBODY = FileRef("", 0, 0)
"""Placeholder for a number that no longer has a file."""

Merge = Callable[[Any, Any], Any]


class Left(NamedTuple):
    """A file that was skipped."""

    file: FileRef
    reason: str


class Numbered:
    """Numbered files and their states.

    Attributes
    ----------
    files : dict of int to FileRef
        A number may no longer have a file.
    n : int
        Numbers given so far.
    """

    def __init__(
        self, files: dict[int, FileRef] | None = None, n: int = 0, held: Merged[Any] | None = None
    ) -> None:
        self.files = files or {}
        self.n = n
        self._held: Merged[Any] = Merged({}, {}, frozenset()) if held is None else held
        self.merger: UnitMerger[Any] | None = None

    @property
    def held(self) -> Merged[Any]:
        """Current nodes and partly read files."""
        return self._held if self.merger is None else self.merger.merged()

    def touched(self) -> bytearray:
        """For each number, 1 if the file, or a part of it, is in the sums or was skipped as bad."""
        held = self.held
        marks = covered(self.n, held.files)
        for number in held.parts:
            marks[number] = 1
        return marks

    def unread(self) -> list[FileRef]:
        """Files that are not, or not completely, read."""
        done = covered(self.n, self.held.files)
        return [self.files[number] for number in sorted(n for n in self.files if not done[n])]

    def in_order(self) -> list[FileRef]:
        """The files that still have a number, in that order."""
        return [self.files[number] for number in sorted(self.files)]

    def add(self, files: Sequence[FileRef]) -> None:
        """Give the next numbers to these files."""
        self.files.update(enumerate(files, self.n))
        self.n += len(files)

    def drop(self, paths: set[str]) -> None:
        """Remove the files of numbers from which nothing has been read."""
        self.files = {number: file for number, file in self.files.items() if file.path not in paths}

    def start(self, merge: Merge) -> UnitMerger[Any]:
        """A merger that continues from the current nodes; numbers without a file are done."""
        self.merger = self._resumed(merge)
        done = self.touched()
        for number in range(self.n):
            if not done[number] and number not in self.files:
                self.merger.push(Unit(0, 0, number, (NOBODY,)), None)
        return self.merger

    def listing(self) -> list[FileRef]:
        """The file of each number."""
        return [self.files.get(number, NOBODY) for number in range(self.n)]

    def result(self, merge: Merge) -> Any:
        """The state of all files; ValueError if some are unread."""
        return (self._resumed(merge) if self.merger is None else self.merger).result()

    def _resumed(self, merge: Merge) -> UnitMerger[Any]:
        merger: UnitMerger[Any] = UnitMerger(self.n, merge)
        merger.add(self._held)
        return merger


@dataclass
class Ledger:
    """What a saved run knows about its files.

    Attributes
    ----------
    main, late : Numbered
        Files in the order of their paths, and new files that the present run found between them.
    base : object
        State of files that have no number, or no longer have one; None if there are none.
    base_files : list of (int, FileRef)
        Those files, each with the number of its root.
    left : dict of str to Left
        Files skipped because they are bad, by path.
    counted : LakeCounts or None
        Rows and units of the lake, if the blocks depend on them.
    """

    main: Numbered = field(default_factory=Numbered)
    late: Numbered = field(default_factory=Numbered)
    base: Any = None
    base_files: list[tuple[int, FileRef]] = field(default_factory=list)
    left: dict[str, Left] = field(default_factory=dict)
    counted: LakeCounts | None = None
    _new: tuple[list[FileRef], list[FileRef]] = field(default=([], []), repr=False)

    def all_files(self) -> list[FileRef]:
        """All files that are in the sums or will be."""
        return [*self.main.in_order(), *self.late.in_order(), *(file for _, file in self.base_files)]

    def unread(self) -> list[FileRef]:
        """Numbered files that are not completely read."""
        return self.main.unread() + self.late.unread()

    def known(self, *, fixed: bool) -> list[FileRef]:
        """Files on which the sums depend: those in them, or all if the blocks are `fixed` by their rows."""
        if fixed:
            return [*self.all_files(), *(left.file for left in self.left.values())]
        found = [file for _, file in self.base_files]
        for tree in (self.main, self.late):
            touched = tree.touched()
            found += [f for i, f in tree.files.items() if touched[i] and f.path not in self.left]
        return found

    def take_up(self, files: Sequence[FileRef], *, fixed: bool) -> tuple[FileRef, ...]:
        """Compare with the listing; return the files to read (if `fixed`, those whose rows are counted)."""
        now = {file.path: file for file in files}
        known = {file.path for _, file in self.base_files}
        for tree in (self.main, self.late):
            touched = tree.touched()
            for number, file in list(tree.files.items()):
                if file.path in now:
                    tree.files[number] = now[file.path]
                    known.add(file.path)
                elif not touched[number] or file.path in self.left:
                    del tree.files[number]  # none of its rows are in the sums
        self.left = {path: left for path, left in self.left.items() if path in now}
        new = [file for file in files if file.path not in known]
        if fixed and self.main.n:
            return tuple(self.main.in_order()) if self.unread() else ()
        last = max((file.path for file in self.main.files.values()), default="")
        after = [f for f in new if f.path > last and f.path not in self.left]
        between = [f for f in new if f.path <= last or f.path in self.left]
        self._new = (after, between)
        return (*self.unread(), *after, *between)

    def number(self, bad: Sequence[SkippedFile]) -> None:
        """Give numbers to the new files, except those with bad footers.

        DataError if a footer is bad and the blocks depend on the rows counted in this file before.
        """
        if bad and self.counted is not None:
            raise DataError(bad[0].reason)
        listed = {file.path: file for file in (*self.all_files(), *self._new[0], *self._new[1])}
        self.leave(bad, listed)
        paths = {skipped.file for skipped in bad}
        for tree, new in zip((self.main, self.late), self._new, strict=True):
            tree.drop(paths)
            good = [file for file in new if file.path not in paths]
            tree.add(good)
            for file in good:  # some were skipped by the previous run
                self.left.pop(file.path, None)
        self._new = ([], [])

    def leave(self, skipped: Sequence[SkippedFile], listed: Mapping[str, FileRef]) -> None:
        """Record files that were skipped."""
        self.left.update({s.file: Left(listed[s.file], s.reason) for s in skipped})

    @property
    def begun(self) -> bool:
        """Whether any files are partly read."""
        return any(tree.held.parts for tree in (self.main, self.late))

    def units(
        self,
        merge: Merge,
        files: Sequence[FileRef],
        row_counts: Sequence[int] | None,
        cut: Callable[..., tuple[Unit, ...]],
        *,
        may_cut: bool,
    ) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
        """The files to be read, cut into units: for the main tree and for the late one.

        `row_counts` are the rows of `files`, if known; unless `may_cut`, only files that are partly read are
        cut.
        """
        known = {} if row_counts is None else dict(zip((f.path for f in files), row_counts, strict=True))
        found = []
        for tree in (self.main, self.late):
            held = tree.start(merge).merged()
            listing = tree.listing()
            counts = [
                known.get(file.path, -1) if may_cut or number in held.parts else -1
                for number, file in enumerate(listing)
            ]
            found.append(cut(listing, counts, done=held.done))
        return found[0], found[1]

    def finish(self, merge: Merge) -> Any:
        """After reading: merge late files into the base, and return the complete state (None: no rows)."""
        late = self.late.result(merge)
        if late is not None:
            self.base = late if self.base is None else merge(self.base, late)
        for tree in (self.main, self.late):
            tree.drop(set(self.left))
        self.base_files += [(0, file) for file in self.late.files.values()]
        self.late = Numbered()
        main = self.main.result(merge)
        if main is None or self.base is None:
            return self.base if main is None else main
        return merge(main, self.base)
