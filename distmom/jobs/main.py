"""Running a module as a job: ``python -m MODULE CONFIG.toml``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from distmom.errors import leave
from distmom.jobs.job import Job
from distmom.jobs.run import run_config
from distmom.json_lines import failure
from distmom.signals import endings


def main(job: Job, words: list[str] | None = None) -> NoReturn:
    """Run a custom job and end the process."""
    with endings.heard():
        try:
            code = _run_words(job, words)
        except KeyboardInterrupt:  # before the run began, or a second one while it ended
            word, code = endings.told()
            with suppress(OSError):  # the terminal may be gone
                sys.stderr.write(f"{failure(sys.argv[1:] if words is None else words, word, code)}\n")
        leave(code)


def _run_words(job: Job, words: list[str] | None) -> int:
    program = _program()
    parser = _JobParser(prog=" ".join(program), description=f"Run the batch job {job.name!r}.")
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument("--dry-run", action="store_true", help="check the configuration and log the plan")
    parser.add_argument("--log-json", action="store_true", help="log one JSON object per line")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run there, whatever the file says")
    parser.add_argument("--workers", metavar="N", type=int, help="run on N processes of this machine")
    parser.add_argument("--quiet", action="store_true", help="log warnings and errors only")
    parser.words = sys.argv[1:] if words is None else words
    given = parser.parse_args(words)
    if not os.environ.get("DISTMOM_DEBUG"):
        warnings.simplefilter("ignore")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
        os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
    return run_config(
        given.config,
        dry_run=given.dry_run,
        log_json=given.log_json,
        quiet=given.quiet,
        scheduler=given.scheduler,
        workers=given.workers,
        job=job,
        command=program,
    )


def _program() -> list[str]:
    """The words that started this process, without its arguments."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return ["python", "-m", spec.name] if spec else ["python", Path(sys.argv[0]).name]


class _JobParser(argparse.ArgumentParser):
    words: Sequence[str] = ()
    """The command line."""

    def error(self, message: str) -> NoReturn:
        """One line."""
        self.exit(2, failure(self.words, f"{message}; see '{self.prog} --help'", 2) + "\n")
