"""The command line: words in, exit code out; no mathematics.

Exit codes: 0 done; 1 internal error; 2 usage or configuration; 3 data refused; 4 done, files skipped; 5 no
finite answer, too few rows, or an answer beyond capacity (5 wins over 4); 6 resources; 130 interrupted;
143 terminated (SIGTERM); 129 hung up (SIGHUP).
"""

from __future__ import annotations

import sys
from contextlib import suppress

from distmom.errors import leave
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
                sys.stderr.write(f"distmom: {word}\n")
        leave(code)
