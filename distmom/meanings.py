"""Statuses: meaning, action taken, advice. Reports, ``distmom explain`` and the docs use this table."""

from __future__ import annotations

import re
from typing import NamedTuple

from distmom.remedies import AGAIN, OF_BLOCKS, Remedies
from distmom.status import Status

IN_GENERAL = Remedies(*(re.sub(r"(.+) \((.+)\)", r"`\1` (`\2`)", option) for option in OF_BLOCKS))
"""Options in Markdown, for texts without a particular command."""


class StatusMeaning(NamedTuple):
    """A row of the table of statuses.

    Attributes
    ----------
    statuses : tuple of Status
        One, or several that mean nearly the same.
    meaning, done, do : str
        Meaning, action taken and advice; empty if there is none.
    ways : tuple of str
        More advice, for commands that have the option in braces, a field of `Remedies`; ``{again}`` stands
        for how to run again with other options.
    """

    statuses: tuple[Status, ...]
    meaning: str
    done: str = ""
    do: str = ""
    ways: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """Exit code of a command with such a result, without --fail-on."""
        return 5 if any(status.no_answer for status in self.statuses) else 0

    def advice(self, of: Remedies = IN_GENERAL, again: str = AGAIN["run"]) -> str:
        """The advice, with the options of a command."""
        options = {name: option for name, option in of._asdict().items() if option}
        known = [way for way in self.ways if {*re.findall(r"{(\w+)}", way)} <= {*options, "again"}]
        return "; ".join([self.do, *(way.format(**options, again=again) for way in known)])


STATUSES = (
    StatusMeaning(
        (Status.OK,),
        "no sign of damage; also if all values are identical",
        do="nothing to do: use the estimate with its interval",
    ),
    StatusMeaning(
        (Status.CONTAMINATED,),
        "some values are so far out that their blocks contradict the others: they are wrong, or the data has "
        "extremely heavy tails",
        "outlying blocks were left out",
        "use the robust estimate, not the sample mean; look for outliers",
    ),
    StatusMeaning(
        (Status.SHARE_SCREENED_OUT,),
        "a share of the rows lies far from all others and would move the mean",
        "these rows were left out; the notes name them",
        "check these rows",
        ("if they are real, estimate them separately with {where}",),
    ),
    StatusMeaning(
        (Status.SHARE_FAR_OUT,),
        "some rows are separated from the others, but only by 10 to 30 standard deviations, or form a second "
        "group decades away; for a model: over a tenth of a column is 20 standard deviations from the "
        "centre, a tenth of the rows does not fit the model of the others, or a tenth of the targets has one "
        "value that the others do not approach",
        "these rows are in the estimate",
        "check these rows",
        ("if they are wrong, leave them out with {where}",),
    ),
    StatusMeaning(
        (Status.RESIDUALS_SKEWED,),
        "for a regression with the Huber loss: the mean of the residuals is far from zero, because their "
        "noise is skewed or the targets of some rows are wrong",
        "nothing: the model is not that of the mean",
        "check the rows with large residuals; if they are real, use the squared loss",
    ),
    StatusMeaning(
        (Status.FILES_DISAGREE,),
        "some files hold other values than the rest: file-level and row-level estimates disagree, or a file "
        "is far from all others",
        "these files were left out, or whole files are the blocks, or, if only a model's losses reveal them, "
        "they were kept; the notes name them",
        "inspect these files, correct or exclude them, and run again",
    ),
    StatusMeaning(
        (Status.ROWS_CORRELATED,),
        "rows within a file or folder, or neighbouring rows, are correlated",
        "the interval of a mean is based on whole files, folders or stretches of rows; with fewer than 24 of "
        "them there is none. Other statistics, and intervals of given blocks, assume independent rows",
        "use the estimate with its interval if that allows for the correlation; add files if there is none",
        ("if the notes say that it does not, {again} with {files}",),
    ),
    StatusMeaning(
        (Status.ROWS_IN_ORDER,),
        "for statistics of pairs: the order of the rows depends on their values, which biases random blocks",
        "nothing",
        "rewrite the lake in random order (DuckDB: ORDER BY random(), Polars: sample(fraction=1, "
        "shuffle=True)), and run again",
    ),
    StatusMeaning(
        (Status.DOMINATED_BY_FEW_ROWS,),
        "fewer than about 30 rows decide the mean, and nearly all others lie on one side of it; in groups, "
        "fewer than 10% of the rows; or blocks hold few rows of a sample",
        "nothing",
        "check that the largest values are real; take more rows or fewer blocks",
    ),
    StatusMeaning(
        (Status.SAMPLE_MEAN,),
        "too few rows, or too few different values, for five blocks; one outlier can move the result "
        "anywhere",
        "the ordinary mean is shown, without an interval",
        "inspect the values; take more rows",
    ),
    StatusMeaning(
        (Status.BREAKDOWN_POINT_EXCEEDED,),
        "too many blocks are outlying, or files disagree with a given number of blocks and could not be left "
        "out: the estimate may be wrong",
        "there is no p-value and no lift",
        "do not rely on the estimate; find and remove the bad rows or files",
        (
            "if whole files are bad, {again} with {files}",
            "if bad rows are scattered, {again} with {scattered}",
        ),
    ),
    StatusMeaning(
        (Status.NO_FINITE_ANSWER,),
        "half or more of the blocks are infinite or NaN",
        "there is no estimate",
        "find out where infinite values and NaN come from",
        ("filter these rows out with {where}",),
    ),
    StatusMeaning(
        (Status.NO_ROWS,), "no row is left", "there is no estimate", "check filter, column and data"
    ),
    StatusMeaning(
        (Status.COUNTED_ONLY,), "`describe`: neither numbers nor times", "missing values were counted"
    ),
    StatusMeaning((Status.NO_VALUES,), "`describe`: all rows are null or NaN", "", "check the column"),
    StatusMeaning((Status.CHAMPION, Status.FINALIST, Status.BEATEN), "the candidate's place in a tournament"),
    StatusMeaning(
        (Status.NOT_DECIDED,),
        "others may be as good as the champion, or rows that may be bad decide",
        "the notes name them",
        "take more rows; check the rows that decide",
    ),
    StatusMeaning(
        (Status.CYCLE,),
        "candidates beat each other in a circle",
        "the champion is the one whose farthest winning opponent is nearest",
        "take more rows",
    ),
    StatusMeaning((Status.CONVERGED, Status.STATIONARY), "how a training ended"),
    StatusMeaning(
        (Status.ALL_STEPS_TAKEN,),
        "a training ended, and nothing shows whether more steps would help",
        "",
        "hold rows out, which decide when to stop",
    ),
    StatusMeaning(
        (Status.STILL_IMPROVING, Status.NOT_CONVERGED),
        "a training ended while the loss still fell, or while its gradient was more than noise",
        "",
        "take more steps; linear models converge sooner with the scaling 'whitened'",
    ),
    StatusMeaning(
        (Status.CLUSTER_TOO_SMALL,),
        "blocks hold fewer than three rows of the smallest cluster, or rows that lie together have no centre",
        "its centre is less certain, or is missing",
        "take larger blocks, more rows, or another number of clusters",
    ),
)
