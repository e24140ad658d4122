"""All that is reported of a training beside how it ended."""

from __future__ import annotations

from distmom.estimators.learn.doubts import odd_clump, odd_files
from distmom.estimators.learn.doubts.skew import residuals_skewed
from distmom.estimators.learn.run import Training
from distmom.estimators.learn.survey import far_from_the_middle, screened_out
from distmom.estimators.surveyed import Survey
from distmom.inference.status import in_order
from distmom.status import Status


def told(seen: Survey | None, found: Training) -> tuple[list[Status], list[str]]:
    """Flags and notes from the survey, the sample of the remaining rows, and a fit to it."""
    doubts = found.doubts
    every = [
        ([], []) if seen is None else (seen.flags(), seen.words()),
        far_from_the_middle(found.scale.largest_share),
        odd_clump.told(*found.scale.clump, doubts.odd_clump),
        odd_files.told(doubts.odd_files, doubts.n_files),
        screened_out(found.accused_share, found.too_many),
        residuals_skewed(doubts.mean_residual),
    ]
    return list(in_order(flag for flags, _ in every for flag in flags)), [n for _, ns in every for n in ns]
