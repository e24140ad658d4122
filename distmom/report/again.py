"""How to repeat a result: the call and the command, optionally without some files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from distmom.report import excluded
from distmom.report.shell import joined, quoted


@dataclass(frozen=True)
class Again:
    """The parts of the call that made a result, and the command line if there was one.

    Attributes
    ----------
    before, after : str
        Text of the call before the data, and after it.
    data : str
        The data, as Python code.
    scan : tuple of str
        How the data are read: arguments of ``dm.scan`` other than `exclude`.
    exclude : tuple of str
        Files that the call leaves out.
    of_files : bool
        Whether the data are files that can be excluded by name.
    shell : tuple of str
        Words of the command line, with the seed; empty without a command line.
    shell_excludes : bool
        Whether that command takes ``--exclude``.
    """

    before: str = ""
    data: str = ""
    after: str = ""
    scan: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    of_files: bool = False
    shell: tuple[str, ...] = ()
    shell_excludes: bool = False

    def python(self, without: Sequence[str] = ()) -> str:
        """The call, optionally without some files; empty if there was none.

        Examples
        --------
        >>> Again("dm.mean(", "'lake'", ", 'x')").python(["bad.parquet"])
        "dm.mean(dm.scan('lake', exclude=['bad.parquet']), 'x')"
        """
        names = [*self.exclude, *excluded.words(without)]
        words = [self.data, *self.scan, *[f"exclude={names!r}"] * bool(names)]
        data = f"dm.scan({', '.join(words)})" if len(words) > 1 else self.data
        return f"{self.before}{data}{self.after}"

    def command(self, without: Sequence[str] = ()) -> str:
        """The command line, optionally without some files; empty if none, or it cannot exclude files."""
        if without and not self.shell_excludes:
            return ""
        more = [f"--exclude {quoted(word)}" for word in excluded.words(without)]
        return " ".join([joined(self.shell), *more]) if self.shell else ""
