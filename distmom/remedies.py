"""Options of a command that its results may advise, in the notation of the command line or of Python."""

from __future__ import annotations

from typing import Literal, NamedTuple

WHERE = "--where (where)"
FILES = "--block-by file (blocks=FileBlocks())"
UNIT = "--unit file (unit='file')"
WHOLE_FILES = "FileBlocks() or unit='file'"
SCATTERED = "--fine many (blocks=RandomBlocks(fine='many'))"
ALLOWED = "--contamination N (contamination=N)"


class Remedies(NamedTuple):
    """Options of the command that made a result; empty if it has no such option.

    Attributes
    ----------
    where : str
        The option that leaves rows out.
    files : str
        The option that keeps the rows of a file together in a block.
    scattered : str
        The option for scattered bad rows.
    allowed : str
        The option for an interval that allows for N bad rows.
    """

    where: str = WHERE
    files: str = ""
    scattered: str = ""
    allowed: str = ""


OF_BLOCKS = Remedies(files=FILES, scattered=SCATTERED, allowed=ALLOWED)
"""Options of means and U-statistics."""

Sums = Literal["run", "states", "batches"]
"""Where the sums of an answer come from: a run over files, merged states, or batches of a stream."""

AGAIN: dict[Sums, str] = {
    "run": "run again",
    "states": "make the states again",
    "batches": "begin again, before the first batch,",
}
"""How to obtain a result with other options."""
