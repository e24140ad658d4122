"""Labels of lakes: which there are, and rows with the numbers of their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distmom.errors import DataError
from distmom.estimators.learn.rows import Fetched, Floats, Ints, TrainingRows
from distmom.estimators.learn.run import SAMPLE
from distmom.numerics.virtual_order import VirtualOrder

if TYPE_CHECKING:
    from distmom.cluster.stop import Flag


@dataclass(frozen=True)
class CodedRows:
    """Rows whose targets are numbers of classes.

    Attributes
    ----------
    rows : TrainingRows
    classes : ndarray of float64
        Sorted.
    """

    rows: TrainingRows
    classes: Floats

    @property
    def n_rows(self) -> int:  # noqa: D102
        return self.rows.n_rows

    @property
    def n_features(self) -> int:  # noqa: D102
        return self.rows.n_features

    def at_once(self, step_rows: int) -> int:  # noqa: D102
        return self.rows.at_once(step_rows)

    @property
    def far(self) -> bool:  # noqa: D102
        return self.rows.far

    def fetch(self, rows: Ints, stop: Flag | None = None) -> Fetched:
        """These rows.

        Raises
        ------
        DataError
            If one has a label that is not among the classes.
        """
        found = self.rows.fetch(rows, stop)
        codes = np.minimum(np.searchsorted(self.classes, found.targets), len(self.classes) - 1)
        strange = np.flatnonzero((self.classes[codes] != found.targets) & found.used)
        if strange.size:
            raise DataError(
                f"y: label {found.targets[strange[0]]:g} does not occur in a sample of {SAMPLE:,} rows; "
                "leave rare labels out with where="
            )
        return Fetched(found.features, codes.astype(np.float64), found.used)


def sampled_classes(rows: TrainingRows, seed: int) -> Floats:
    """Distinct labels of a random sample of rows."""
    found = rows.fetch(VirtualOrder(seed, rows.n_rows).rows(0, 0, SAMPLE))
    return np.unique(found.targets[found.used])
