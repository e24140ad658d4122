"""Which options of a command its results may advise, as the command line and Python say them."""

from __future__ import annotations

from typing import Literal, NamedTuple

WHERE = "--where (where)"
FILES = "--block-by file (blocks=FileBlocks())"
UNIT = "--unit file (unit='file')"
WHOLE_FILES = "FileBlocks() or unit='file'"
SCATTERED = "--fine many (blocks=RandomBlocks(fine='many'))"
ALLOWED = "--contamination N (contamination=N)"


class Remedies(NamedTuple):
    """What the command that made a result takes; empty where it has no such option.

    Attributes
    ----------
    where : str
        That leaves rows out.
    files : str
        That keeps the rows of a file together in a block.
    scattered : str
        For bad rows that are scattered.
    allowed : str
        For an interval that allows for N bad rows.
    """

    where: str = WHERE
    files: str = ""
    scattered: str = ""
    allowed: str = ""


OF_BLOCKS = Remedies(files=FILES, scattered=SCATTERED, allowed=ALLOWED)
"""Of means and U-statistics."""

Sums = Literal["run", "states", "batches"]
"""Where the sums of an answer come from: of a run that read them, merged states, batches of a stream."""

AGAIN: dict[Sums, str] = {
    "run": "run again",
    "states": "make the states again",
    "batches": "begin again, before the first batch,",
}
"""What one does to have a result with other options."""
