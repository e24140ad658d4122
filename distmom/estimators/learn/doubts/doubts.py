"""What a fit to the sample leaves in doubt."""

from __future__ import annotations

from dataclasses import dataclass

from distmom.estimators.learn.doubts.odd_clump import odd_clump
from distmom.estimators.learn.doubts.odd_files import named_odd_files
from distmom.estimators.learn.doubts.skew import mean_residual
from distmom.estimators.learn.rows import FileRanges
from distmom.estimators.learn.scale import Scale
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.solvers.coordinates import Accused


@dataclass(frozen=True)
class Doubts:
    """Of one training.

    Attributes
    ----------
    mean_residual : float
        In standard deviations of the targets, if it is far from zero.
    odd_clump : bool
        Whether many targets have one value that the others do not lead to.
    odd_files : tuple of str
        Files whose rows are fitted otherwise than those of the rest.
    n_files : int
        All files.
    """

    mean_residual: float = 0.0
    odd_clump: bool = False
    odd_files: tuple[str, ...] = ()
    n_files: int = 0


def doubts_of(
    risk: BlockRisk,
    x: Floats,
    sample: tuple[Floats, Floats],
    accused: Accused | None,
    scale: Scale,
    files: FileRanges | None,
    numbers: Ints | None,
) -> Doubts:
    """Look at the rows of the sample, scaled; with `files` the numbers of the rows say which they are of."""
    rows, targets, clump = *sample, scale.clumped_target
    odd = clump is not None and odd_clump(
        risk, x, rows, targets, clump, accused, natural=scale.clump[0] == 0.0
    )
    mean = mean_residual(risk, x, rows, targets, accused, clumped=clump is not None)
    if files is None or numbers is None:
        return Doubts(mean, odd)
    return Doubts(mean, odd, *named_odd_files(files, numbers, risk, x, rows, targets, accused))
