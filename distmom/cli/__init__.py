"""The command line: words in, exit code out (`distmom explain exit`); no mathematics."""

from __future__ import annotations

import sys
from contextlib import suppress

from distmom.errors import leave
from distmom.json_lines import failure
from distmom.signals import endings

__all__ = ["main"]


def main() -> None:
    """Run the program ``distmom`` and end the process."""
    with endings.heard():
        try:
            from distmom.cli.program import prepare_process, program

            prepare_process()
            code = program.run(sys.argv[1:])
        except KeyboardInterrupt:  # while it was still loading
            word, code = endings.told()
            with suppress(OSError):  # the terminal may be gone
                sys.stderr.write(f"{failure(sys.argv[1:], word, code)}\n")
        leave(code)
