"""Exit codes."""

from __future__ import annotations

from typing import NamedTuple


class ExitCode(NamedTuple):
    """An exit code.

    Attributes
    ----------
    number : int
    meaning, do : str
        What it means, and what to do about it.
    """

    number: int
    meaning: str
    do: str = ""


CODES = (
    ExitCode(0, "done", "nothing; statuses that are not ok are in the table"),
    ExitCode(
        1, "internal error", "run again with DISTMOM_DEBUG=1 in the environment, and report the traceback"
    ),
    ExitCode(2, "usage or configuration", "correct the option, the key or the name that the message gives"),
    ExitCode(3, "data refused", "correct the file that the message names, or leave it out with --exclude"),
    ExitCode(
        4,
        "done, but files were skipped, or columns of a profile left out",
        "look at the list of what is missing",
    ),
    ExitCode(5, "no answer to rely on", "look at the status and the notes; 5 takes precedence over 7 and 4"),
    ExitCode(6, "memory, disk or cluster", "free what the message names and run the same command again"),
    ExitCode(
        7,
        "a status of --fail-on",
        "look at the status and the report; outputs are written; 7 takes precedence over 4",
    ),
    ExitCode(130, "interrupted (Ctrl-C, SIGINT)", "run the same command again; with a state it resumes"),
    ExitCode(143, "terminated (SIGTERM)", "run the same command again; with a state it resumes"),
    ExitCode(129, "hung up (SIGHUP)", "run the same command again, under nohup or tmux"),
)
