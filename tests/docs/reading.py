"""A reader who types all that a page shows, in order, in one folder and one Python session.

In ``console`` blocks commands stand after ``$``, and below what they print. A ``python`` block is a session
with ``>>>``, or a script that prints the ``text`` block after it. A ``toml`` block whose first line is
``# NAME.toml`` is that file. Three dots stand for any text. Blocks of ``sh`` and ``py`` need what a test has
not, such as a bucket: they are read, not run.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from contextvars import copy_context
from pathlib import Path
from typing import Any

from documents import Block

from distmom.cli.program import program

SILENCED = " 2> /dev/null"


def is_of_distmom_alone(command: str) -> bool:
    """Whether a command needs no shell: the program runs in this process then, which is quicker."""
    words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
    return words[0] == "distmom" and not any(set(word) <= set("();<>|&") for word in words)


class Terminal(io.StringIO):
    """What a program prints, as on a terminal that can show all characters."""

    encoding = "utf-8"


class Reader:
    """Runs blocks one after the other; the folder is the current one."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.code, self.n_run = 0, 0

    def read(self, blocks: list[Block]) -> None:
        """Run all of them; options that a page sets for its session end with it."""
        copy_context().run(self._read, blocks)

    def _read(self, blocks: list[Block]) -> None:
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            if block.language == "console":
                self._console(block)
            elif block.language == "python" and ">>>" in block.text:
                self._session(block)
            elif block.language == "python":
                self._script(block, after.text if after and after.language == "text" else None)
            elif block.language == "toml" and (named := re.match(r"# ([\w-]+\.toml)\n", block.text)):
                (self.folder / named[1]).write_text(block.text, "utf-8")
            else:
                continue
            self.n_run += 1

    def _console(self, block: Block) -> None:
        for command, want in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.M):
            self._same(command, self._printed(command), want, block)

    def _printed(self, command: str) -> str:
        """What a command prints; remarks too, unless they are thrown away."""
        if command == "echo $?":
            return f"{self.code}\n"
        words = command.removesuffix(SILENCED)
        if not is_of_distmom_alone(words):
            return self._by_shell(command)
        out, remarks = Terminal(), Terminal()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(remarks):
            self.code = program.run(shlex.split(words)[1:])
        return out.getvalue() + ("" if command != words else remarks.getvalue())

    def _by_shell(self, command: str) -> str:
        here = self.folder / ".bin"
        here.mkdir(exist_ok=True)
        (here / "distmom").write_text(f'#!/bin/sh\nexec {sys.executable} -m distmom "$@"\n')
        (here / "distmom").chmod(0o755)
        path = os.pathsep.join([str(here), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-c", command],
            env=os.environ | {"PATH": path, "COLUMNS": "110"},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self.code = done.returncode
        return done.stdout

    def _session(self, block: Block) -> None:
        example = doctest.DocTestParser().get_doctest(
            block.text, self.names, self.page, self.page, block.line - 1
        )
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        assert runner.run(example, clear_globs=False).failed == 0
        self.names = example.globs

    def _script(self, block: Block, want: str | None) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block.text, f"{self.page}:{block.line}", "exec"), self.names)
        if want is not None:
            self._same("python", out.getvalue(), want, block)

    def _same(self, what: str, seen: str, want: str, block: Block) -> None:
        """The same lines; remarks may come before the table."""
        there = seen.rstrip().splitlines()
        missing = []
        for line in want.rstrip().splitlines():
            pattern = re.compile(re.escape(line).replace(re.escape("..."), ".*"))
            found = next((one for one in there if pattern.fullmatch(one)), None)
            if found is None:
                missing.append(line)
            else:
                there.remove(found)
        place = f"{self.page}:{block.line}, {what!r}"
        assert not missing and not there, f"{place} printed\n{seen}\nnot shown: {there}\nmissing: {missing}"
