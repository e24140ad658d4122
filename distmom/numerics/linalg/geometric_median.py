"""The geometric median: the point of least mean distance to some points, with a proven optimality gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Floats

EPS = float(np.finfo(np.float64).eps)
CLOSE = 2.0**-8
"""If it is nearer to a point than this, in scales, the iterate is kept as a difference to it."""

WARM_STEPS = 3
"""Steps of Weiszfeld before the first of Newton: the former approach quickly, the latter finish."""

FAR = 2.0**400
"""Points this many scales away act through their direction alone: nearer ones there do as well."""

MOST_ITERATIONS = 100
SMALL_GAP = 1e-12
"""If points nearly lie on a line the iteration cannot settle; it then ends at this gap, in scales."""


class GeometricMedian(NamedTuple):
    """The result of `geometric_median`.

    Attributes
    ----------
    point : ndarray of float64, shape (d,)
    gap : float
        Upper bound of the mean distance from `point` minus its minimum, in units of the points.
    iterations : int
    converged : bool
        Whether the iteration ended on its own: only rounding errors remain.
    """

    point: Floats
    gap: float
    iterations: int
    converged: bool


def geometric_median(points: Floats, weights: Floats | None = None) -> GeometricMedian:
    """Point y that minimises sum_i w_i ||x_i - y|| / sum_i w_i.

    Parameters
    ----------
    points : ndarray of float64, shape (K, d)
        Finite; K and d at least 1.
    weights : ndarray of float64, shape (K,), optional
        Not negative, one positive; 1 by default.

    Returns
    -------
    GeometricMedian

    Notes
    -----
    The minimiser is unique unless the points lie on one line. In that case the minimisers form an interval
    between two neighbouring points if half of the weight lies on either side, and its middle is returned
    (lower and upper would depend on the direction of the axes). Points count as lying on a line if they do
    up to the rounding of their coordinates; in one dimension they always do.

    Equal points become one point with their weights added, in lexicographic order, so that no permutation
    changes a bit. Starts at the coordinatewise median: steps of Weiszfeld (1937), those of Vardi & Zhang
    (2000) if the iterate meets a point, then Newton's with conjugate gradients and backtracking on exact
    differences of distances. Each point that comes near is tested once for being the minimum itself (the
    pull of the others is at most its weight). About 15 passes of K d operations, several arrays of that
    size. Equivariant under shifts, rotations and scaling up to rounding, exactly under powers of two. The
    breakdown point is half of the weight.

    Gap: with g a subgradient at y and y* the minimiser, f(y) - f(y*) <= ||g|| ||y - y*||; and if at most
    alpha < 1/2 of the weight is farther than r from y, then ||y - y*|| <= (1 - alpha)/sqrt(1 - 2 alpha) r
    (Minsker 2015, lemma 2.1). The gap is the product for the best r, with ||g|| increased by its own rounding
    error, plus the rounding of the result. Instead of its unit vector the nearest point may contribute any
    vector u of length up to 1 to g, at the cost of w (rho - <u, y - x>) in the gap.

    References
    ----------
    Weiszfeld (1937); Vardi & Zhang (2000), PNAS 97, 1423-1426; Minsker (2015), Bernoulli 21, 2308-2335.

    Examples
    --------
    >>> import numpy as np
    >>> cross = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1e9]])
    >>> found = geometric_median(cross)
    >>> found.point.tolist(), found.gap, found.converged
    ([0.0, 0.0], 0.0, True)
    """
    x, w = _distinct(points, weights)
    shrink = 0.25 if np.abs(x).max(initial=0.0) > 2.0**1020 else 1.0  # differences must not overflow
    x = x * shrink
    w = w / w.sum()
    centre = _coordinatewise(x, w)
    away = x - centre
    widest = np.abs(away).max(axis=1)
    if not widest.any():
        return GeometricMedian(centre / shrink, 0.0, 0, True)
    scale = _weighted_median(widest, w) or float(widest[widest > 0.0].min())
    scale = 2.0 ** max(float(np.floor(np.log2(scale))), -1000.0)
    with np.errstate(over="ignore"):  # overflow means far: the line below gives the direction
        nearer = np.where(widest / scale > FAR, FAR / np.maximum(widest, scale), 1.0 / scale)
    z = away * nearer[:, None]
    line = _line(z, np.abs(x) * nearer[:, None], w)
    found = _minimum(z, w) if line is None else _Found(line[0], 0.5 * (z[line[1]] - z[line[0]]), 0, True)
    base, seen = (centre, z) if found.origin is None else (x[found.origin], z - z[found.origin])
    place = base + found.y * scale
    gap = _gap(seen, w, found.y)
    rounding = EPS * _length(place) if found.y.any() else 0.0
    converged = found.converged or gap <= SMALL_GAP
    return GeometricMedian(place / shrink, (gap * scale + rounding) / shrink, found.iterations, converged)


def _distinct(points: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Distinct points of positive weight in lexicographic order, and their weights."""
    x = points + 0.0  # one zero, not two
    w = np.ones(len(x)) if weights is None else np.asarray(weights, np.float64)
    x, w = x[w > 0.0], w[w > 0.0]
    order = np.lexsort((w, *x.T[::-1]))
    x, w = x[order], w[order]
    new = np.concatenate([[True], (x[1:] != x[:-1]).any(axis=1)])
    first = np.flatnonzero(new)
    return x[first], np.add.reduceat(w, first)


def _coordinatewise(x: Floats, w: Floats) -> Floats:
    """Weighted lower median of each coordinate."""
    return np.array([_weighted_median(column, w) for column in x.T])


def _weighted_median(values: Floats, w: Floats) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(w[order]) >= 0.5 * (1.0 - w.size * EPS)
    return float(values[order[np.argmax(reached)]])


def _norms(rows: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("kd,kd->k", rows, rows)))


def _dot(a: Floats, b: Floats) -> float:
    return float(np.einsum("d,d->", a, b))  # one order of summation, whatever the BLAS


def _length(a: Floats) -> float:
    return float(np.sqrt(_dot(a, a)))


def _line(z: Floats, size: Floats, w: Floats) -> tuple[int, int] | None:
    """If all points lie on a line: the two that bound its median interval (which may be the same).

    ``size`` are the magnitudes of the original coordinates, in units of z: if they are large, their rounding
    moves a point off the line. This possible error in each coordinate is compared with the point's distance
    from the line, for the point itself, for the two that span the line, and for its projection.
    """
    start = int(np.argmin(_norms(z)))
    along = z - z[start]
    length = _norms(along)
    end = int(np.argmax(length))
    if length[end] == 0.0:
        return start, start
    unit = along[end] / length[end]
    place = np.einsum("kd,d->k", along, unit)
    lever = (length / length[end])[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        moved = size + size[start] + lever * (size[end] + size[start])
        projected = np.einsum("kd,d->k", moved, np.abs(unit)) + unit.size * length
        off = np.abs(along - place[:, None] * unit) > 8.0 * EPS * (moved + projected[:, None] * np.abs(unit))
    if off.any():
        return None
    order = np.argsort(place, kind="stable")
    total = np.cumsum(w[order])
    slack = w.size * EPS
    low, high = int(np.argmax(total >= 0.5 - slack)), int(np.argmax(total > 0.5 + slack))
    return int(order[low]), int(order[max(low, high)])


class _Pull(NamedTuple):
    """Differences to the points and distances from a place, and the downhill direction there.

    ``down`` is minus the gradient over the points that are not at the place; ``stiff`` the sum of their
    weights over their distances, ``here`` the weight at the place.
    """

    away: Floats
    rho: Floats
    down: Floats
    stiff: float
    here: float


def _pull(z: Floats, w: Floats, y: Floats) -> _Pull:
    away = z - y
    rho = _norms(away)
    apart = rho > 0.0
    strength = np.where(apart, w, 0.0) / np.where(apart, rho, 1.0)
    down = np.einsum("k,kd->d", strength, away)
    return _Pull(away, rho, down, float(strength.sum()), float(w[~apart].sum()))


def _slack(w: Floats) -> float:
    """Rounding error of the norm of a sum of weighted unit vectors whose weights sum to 1."""
    return EPS * (4.0 + float(np.sqrt(w.size)))


class _Found(NamedTuple):
    """A place as point number ``origin`` (None: the centre) plus a difference, and how it was found."""

    origin: int | None
    y: Floats
    iterations: int
    converged: bool


def _minimum(z: Floats, w: Floats) -> _Found:
    """The minimum for points that do not lie on a line.

    Close to a point the iterate is kept as a difference to it, or its direction from there would be lost.
    """
    y = np.zeros(z.shape[1])
    here = z  # the points as seen from the origin
    origin: int | None = None
    asked: set[int] = set()
    for number in range(MOST_ITERATIONS):
        pull = _pull(here, w, y)
        nearest = int(np.argmin(pull.rho))
        jump = None
        if nearest not in asked:
            asked.add(nearest)
            there = _pull(z, w, z[nearest])
            strength = _length(there.down)
            if strength <= there.here + _slack(w):
                return _Found(nearest, np.zeros_like(y), number, True)
            # the step of Vardi and Zhang from that point: taken if it gives a lower value than the iterate
            jump = (1.0 - there.here / strength) / there.stiff * there.down
            jump = jump if _change(pull, w, jump + pull.away[nearest]) < 0.0 else None
        if nearest != origin and (jump is not None or pull.rho[nearest] < CLOSE):
            y, origin, here = -pull.away[nearest], nearest, z - z[nearest]
        if jump is not None:
            y = jump
            continue
        if _length(pull.down) <= _slack(w):
            return _Found(origin, y, number, True)
        warm = number < WARM_STEPS and origin is None
        step = pull.down / pull.stiff if warm else _newton(pull, w)
        if not warm and np.abs(step).max() <= EPS * np.abs(y).max():
            return _Found(origin, y + step, number, True)
        slope, share = _dot(pull.down, step), 1.0
        while share > EPS and _change(pull, w, share * step) > -1e-4 * share * slope:
            share *= 0.5
        y = y + share * step
    return _Found(origin, y, MOST_ITERATIONS, False)


def _change(pull: _Pull, w: Floats, step: Floats) -> float:
    """How much the mean distance grows by a step, from differences of squares: accurate even if tiny."""
    after = pull.away - step
    both = pull.rho + _norms(after)
    grown = -np.einsum("kd,d->k", pull.away + after, step) / np.where(both > 0.0, both, 1.0)
    return float((w * grown).sum())


def _newton(pull: _Pull, w: Floats) -> Floats:
    """The Newton step by conjugate gradients; the Hessian is sum of w/rho (I - u u^T) over the points."""
    apart = pull.rho > 0.0
    unit = pull.away / np.where(apart, pull.rho, 1.0)[:, None]
    stiff = np.where(apart, w / np.where(apart, pull.rho, 1.0), 0.0)
    x = np.zeros_like(pull.down)
    rest = pull.down.copy()
    direction = rest.copy()
    size = first = _dot(rest, rest)
    for _ in range(3 * min(unit.shape) + 10):
        along = stiff * np.einsum("kd,d->k", unit, direction)
        bent = pull.stiff * direction - np.einsum("k,kd->d", along, unit)
        curvature = _dot(direction, bent)
        if curvature <= 0.0:
            break
        x += size / curvature * direction
        rest -= size / curvature * bent
        before, size = size, _dot(rest, rest)
        if size <= EPS**2 * first:
            break
        direction = rest + size / before * direction
    return x if x.any() else pull.down / pull.stiff


def _gap(z: Floats, w: Floats, y: Floats) -> float:
    """Upper bound of the excess of the mean distance from y over its minimum; see `geometric_median`."""
    pull = _pull(z, w, y)
    error = EPS * (sum(z.shape) + 8.0)
    residual = max(0.0, _length(pull.down) + error - pull.here)
    if residual == 0.0:
        return 0.0
    order = np.argsort(pull.rho, kind="stable")
    farther = np.maximum(1.0 - np.cumsum(w[order]), 0.0) + w.size * EPS
    good = farther < 0.5
    reach = float(((1.0 - farther[good]) / np.sqrt(1.0 - 2.0 * farther[good]) * pull.rho[order][good]).min())
    gap = residual * reach
    nearest = int(order[0])
    rho, weight, away = float(pull.rho[nearest]), float(w[nearest]), pull.away[nearest]
    if rho > 0.0:
        # close to a point its direction is lost in rounding: let it balance the others instead
        others = pull.down - weight / rho * away
        strength = max(_length(others), weight)
        idle = max(0.0, weight * (rho + _dot(others, away) / strength))
        gap = min(gap, idle + (max(0.0, strength - weight) + error) * reach)
    return gap
