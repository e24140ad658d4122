"""Risks of pairs: of a ranking, of a partition into cells, of a metric."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.association import counted, signs, weighed
from distmom.numerics.kernels.distance import mean_distance
from distmom.numerics.kernels.kernel import Inlined, Kernel, Weights
from distmom.numerics.kernels.moment import SquaredDistance, squared_distance
from distmom.numerics.kernels.sums import Mass, PairSums, count_tuples
from distmom.numerics.losses.table import LOSSES, LossFunction, hinge, names_of
from distmom.numerics.ranks.order import order_counts
from distmom.numerics.ranks.order_weights import order_masses, untied_masses


@cache
def _at_zero(loss: LossFunction) -> float:
    return float(loss.value(np.float64(0.0), 0.0))


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {value!r}; choose one of them")


@dataclass(frozen=True)
class Ranking(Kernel):
    """Risk of ranking rows (outcome, score) by their scores: a loss of ``z = -(s - s') g``, over all pairs.

    Parameters
    ----------
    loss : {"hinge", "logistic", "zero-one"}
        ``max(0, 1 + z)``, ``log(1 + exp(z))``, or 1 for z > 0 and 1/2 for equal scores.
    margin : {"sign", "magnitude"}
        g is the sign of y - y', or y - y' itself. No difference for the zero-one loss.
    ties : {"drop", "half"}
        Contribution of pairs of equal outcomes, which no score can rank: 0, or half of the loss at z = 0 (1,
        log 2, 1). They count in the denominator, as all pairs do.
    """

    loss: Literal["hinge", "logistic", "zero-one"] = "zero-one"
    margin: Literal["sign", "magnitude"] = "sign"
    ties: Literal["drop", "half"] = "drop"
    name: ClassVar[str] = "ranking"
    columns: ClassVar[int | None] = 2

    def __post_init__(self) -> None:
        _check_choice("loss", self.loss, (*names_of("margin"), "zero-one"))
        _check_choice("margin", self.margin, ("sign", "magnitude"))
        _check_choice("ties", self.ties, ("drop", "half"))

    @property
    def _tied(self) -> float:
        if self.ties == "drop":
            return 0.0
        return 0.5 if self.loss == "zero-one" else 0.5 * _at_zero(LOSSES[self.loss])

    @property
    def compiled(self) -> Inlined | None:
        """Loss, margin and contribution of ties; the zero-one loss is counted by sorting."""
        if self.loss == "zero-one":
            return None
        return Inlined(self.loss, (float(self.margin == "magnitude"), self._tied))

    def value(self, *rows: Floats) -> Floats:
        """The loss of one pair."""
        a, b = rows
        order = signs(rows, 0)
        if self.loss == "zero-one":
            loss = np.asarray(0.5 - 0.5 * (order * signs(rows, 1)))
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                weight = a[..., 0] - b[..., 0] if self.margin == "magnitude" else order
                z = -((a[..., 1] - b[..., 1]) * weight)
                loss = LOSSES[self.loss].value(z, 0.0)
        return np.where(order == 0, self._tied, loss)

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums | None:
        """The zero-one loss from exact counts or sums of weights, the other losses from tiles."""
        if self.loss != "zero-one":
            return None
        x = samples[0]
        if weights is not None:
            return self._weighed(x[:, 0].copy(), x[:, 1].copy(), weights[0])
        tie = 1 if self.ties == "half" else 0  # twice the contribution
        pairs, by_row = order_counts(x[:, 0].copy(), x[:, 1].copy(), rows=rows)
        halves = (pairs.y_tied - pairs.both_tied) + tie * pairs.x_tied
        second = (4 * pairs.discordant + halves) / (4 * count_tuples((2,), (x.shape[0],)))
        twice_rows = None
        if by_row is not None:
            twice_rows = 2 * by_row.discordant + (by_row.y_tied - by_row.both_tied) + tie * by_row.x_tied
        return counted(x.shape[0], 2 * pairs.discordant + halves, second, twice_rows)

    def _weighed(self, outcome: Floats, score: Floats, weights: Floats) -> PairSums:
        """The zero-one loss of weighted rows."""
        alike, unlike = order_masses(outcome, score, weights)
        untied = untied_masses(outcome, weights)
        tied = Mass(outcome.size, weights).others - untied
        rest = untied - alike  # in the wrong order, and ties of the score, which count half
        sums, second = 0.5 * (rest + unlike), 0.25 * (rest + 3.0 * unlike)
        return weighed(weights, sums + self._tied * tied, second + self._tied**2 * tied)


@dataclass(frozen=True)
class Clustering(Kernel):
    """Risk of a partition: the distance of two rows of the same cell, 0 for rows of different cells.

    Rows are (label of the cell, coordinates). It falls with every split of a cell, so only partitions into
    the same number of cells can be compared.

    Parameters
    ----------
    distance : {"squared", "euclidean"}
    """

    distance: Literal["squared", "euclidean"] = "squared"
    name: ClassVar[str] = "clustering"
    columns: ClassVar[int | None] = None
    least_columns: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _check_choice("distance", self.distance, ("squared", "euclidean"))

    @property
    def compiled(self) -> Inlined:
        """Whether distances are squared."""
        return Inlined("cells", (float(self.distance == "squared"),), labelled=True)

    def value(self, *rows: Floats) -> Floats:
        """The distance within a cell."""
        a, b = rows
        squares = squared_distance(a[..., 1:], b[..., 1:])
        with np.errstate(invalid="ignore"):
            distance = squares if self.distance == "squared" else np.sqrt(squares)
        return np.where(a[..., 0] == b[..., 0], distance, 0.0)

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums | None:
        """Cell by cell: squared distances from moments, distances in one dimension by sorting."""
        x = samples[0]
        if weights is not None or (self.distance == "euclidean" and x.shape[1] > 2):
            return None
        order = np.argsort(x[:, 0], kind="stable")
        edges = np.flatnonzero(np.diff(x[order, 0], prepend=np.nan) != 0.0)
        n_pairs = count_tuples((2,), (x.shape[0],))
        total = second = 0.0
        sums = np.zeros(x.shape[0])
        with np.errstate(invalid="ignore", over="ignore"):
            for members in np.split(order, edges[1:]):
                if members.size < 2:
                    continue
                found = self._cell(x[members, 1:], rows)
                total += found.mean * found.n_tuples
                second += found.second * found.n_tuples  # type: ignore[operator]
                if found.row_means is not None:
                    sums[members] = found.row_means[0] * (members.size - 1)
            row_means = (sums / (x.shape[0] - 1),) if rows else None
            return PairSums(n_pairs, total / n_pairs, second / n_pairs, row_means)

    def _cell(self, points: Floats, rows: bool) -> PairSums:
        if self.distance == "squared":
            return SquaredDistance().complete(points, rows=rows)
        return mean_distance(points[:, 0].copy(), rows=rows)


@dataclass(frozen=True)
class MetricLoss(Kernel):
    """Hinge loss of a Mahalanobis metric: ``max(0, 1 + s (d^2 - threshold))``, d^2 = (x - x')^T M (x - x').

    Rows are (label, features); s is 1 for equal labels, which should be near, else -1.

    Parameters
    ----------
    matrix : array_like, shape (c, c)
        Symmetric and positive semi-definite.
    threshold : float
        Squared distance between near and far.
    """

    matrix: tuple[tuple[float, ...], ...]
    threshold: float = 2.0
    name: ClassVar[str] = "mahalanobis"

    def __post_init__(self) -> None:
        try:
            rows = np.asarray(self.matrix, np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"matrix must have rows of numbers, got {self.matrix!r}; pass one row and column for each "
                "feature, such as [[1, 0], [0, 1]]"
            ) from error
        if (
            rows.ndim != 2
            or rows.shape[0] != rows.shape[1]
            or not np.isfinite(rows).all()
            or (rows != rows.T).any()
        ):
            raise ConfigError(
                f"matrix must be square, symmetric and finite, got shape {rows.shape}; "
                "pass one row and column for each feature"
            )
        object.__setattr__(self, "matrix", tuple(map(tuple, rows.tolist())))
        _factor(rows)

    @property
    def columns(self) -> int | None:
        """The label and one column for each feature of the matrix."""
        return len(self.matrix) + 1

    @property
    def compiled(self) -> Inlined:
        """The threshold; the matrix is in the prepared rows."""
        return Inlined("metric", (float(self.threshold),), labelled=True)

    def prepare(self, sample: Floats) -> Floats:
        """Rows (label, L^T features) with M = L L^T: d^2 is then an ordinary squared distance."""
        factor = _factor(np.array(self.matrix))
        out = np.zeros((*sample.shape[:-1], factor.shape[1] + 1))
        out[..., 0] = sample[..., 0]
        with np.errstate(invalid="ignore", over="ignore"):
            for k in range(factor.shape[1]):
                for c in range(factor.shape[0]):
                    if factor[c, k] != 0.0:
                        out[..., k + 1] += sample[..., c + 1] * factor[c, k]
        return out

    def value(self, *rows: Floats) -> Floats:
        """The loss of one pair."""
        return self.prepared_value(*(self.prepare(row) for row in rows))

    def prepared_value(self, *rows: Floats) -> Floats:
        """The loss of one pair of prepared rows."""
        a, b = rows
        side = np.where(a[..., 0] == b[..., 0], 1.0, -1.0)
        with np.errstate(invalid="ignore", over="ignore"):
            squares = squared_distance(a[..., 1:], b[..., 1:])
            return np.asarray(hinge(side * (squares - self.threshold), 0.0))


def _factor(matrix: Floats) -> Floats:
    """L with M = L L^T: Cholesky's factor with pivots, in basic arithmetic: the same bits everywhere.

    Raises
    ------
    ConfigError
        If the matrix has a negative eigenvalue beyond rounding.
    """
    rest = matrix.copy()
    size = matrix.shape[0]
    tolerance = 1e-12 * float(np.abs(matrix).max(initial=0.0)) * size
    columns = []
    for _ in range(size):
        pivot = int(np.argmax(np.diagonal(rest)))
        if rest[pivot, pivot] <= tolerance:
            break
        column = rest[:, pivot] / np.sqrt(rest[pivot, pivot])
        rest = rest - column[:, None] * column[None, :]
        rest[pivot, :] = rest[:, pivot] = 0.0
        columns.append(column)
    if float(np.abs(rest).max(initial=0.0)) > tolerance:
        raise ConfigError(
            "matrix must be positive semi-definite, got one with a negative eigenvalue; "
            "project it: set negative eigenvalues to 0"
        )
    return np.stack(columns, axis=1) if columns else np.zeros((size, 1))
