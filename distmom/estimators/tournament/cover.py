"""Candidates that cover a class of parameters, for a tournament on a finite part of it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.arrays import Floats

MOST = 100_000
"""Candidates: a tournament among more would not end."""


def epsilon_cover(
    make: Callable[..., Any], axes: Mapping[str, Any], epsilon: float | None = None
) -> dict[str, Any]:
    """Candidates for `distmom.tournament` that cover a box of parameters, or stand on a grid.

    Parameters
    ----------
    make : callable
        ``make(name=value, ...)`` gives a candidate for one value of each parameter: a function of the
        features, a matrix, a model.
    axes : dict of str to (low, high) or list
        Of each parameter the ends of its range, as a tuple of two, which is covered; or a list of values,
        which are taken as they are.
    epsilon : float, optional
        No point of the ranges is farther than this from one that is taken (Euclidean). Needed for ranges.

    Returns
    -------
    dict of str to candidate
        Called such as ``"slope=0.5, shift=1"``, the last parameter changing fastest.

    Raises
    ------
    ConfigError
        A range or epsilon is no finite number, a range is the wrong way round, or there are more than 100,000
        candidates.

    Notes
    -----
    A range of width w among d ranges takes ceil(w sqrt(d) / (2 epsilon)) values, so candidates grow as
    epsilon^-d. If predictions differ by at most L times the distance of their parameters, the best candidate
    is at most L epsilon from the best of the class in mean square, and by the squared loss its risk exceeds
    that one's by at most L epsilon (L epsilon + 2 sqrt R).

    References
    ----------
    Laforgue, Clémençon & Bertail (2019), On Medians of (Randomized) Pairwise Means, ICML, section 3: a
    tournament on an epsilon-coverage of the class.

    Examples
    --------
    >>> import distmom as dm
    >>> lines = dm.epsilon_cover(lambda slope: lambda row: slope * row["x"], {"slope": (0.0, 1.0)}, 0.25)
    >>> list(lines)
    ['slope=0.25', 'slope=0.75']
    >>> list(dm.epsilon_cover(lambda a, b: [[a, 0], [0, b]], {"a": [1, 2], "b": [3]}))
    ['a=1, b=3', 'a=2, b=3']
    """
    if not axes:
        raise ConfigError("axes: name at least one parameter")
    ranges = {name: _range(name, axis) for name, axis in axes.items() if isinstance(axis, tuple)}
    if ranges and not (_finite(epsilon) and epsilon > 0):  # type: ignore[operator]
        raise ConfigError(f"epsilon: must be a number above 0 where ranges are covered, not {epsilon!r}")
    step = 0.0 if epsilon is None else 2.0 * epsilon / math.sqrt(max(len(ranges), 1))
    number = math.prod(
        max(1.0, (ranges[name][1] - ranges[name][0]) / step) if name in ranges else len(axis)
        for name, axis in axes.items()
    )
    if number > MOST:
        raise ConfigError(
            f"epsilon: about {number:.2g} candidates are needed, more than {MOST:,}; take a larger epsilon, "
            "shorter ranges or fewer parameters"
        )
    covered = (
        dict(zip(ranges, box_cover(list(ranges.values()), epsilon or 0.0), strict=True)) if ranges else {}
    )
    values = [covered[name].tolist() if name in covered else list(axis) for name, axis in axes.items()]
    found = {}
    for chosen in product(*values):
        given = dict(zip(axes, chosen, strict=True))
        found[", ".join(f"{name}={_shown(value)}" for name, value in given.items())] = make(**given)
    if len(found) < math.prod(map(len, values)):
        raise ConfigError("axes: a value stands twice in a list; name each once")
    return found


def _finite(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def _range(name: str, axis: tuple[Any, ...]) -> tuple[float, float]:
    if len(axis) != 2 or not all(map(_finite, axis)) or axis[0] > axis[1]:
        raise ConfigError(
            f"axes: {name!r} must be (low, high), finite numbers in this order, or a list of values, not "
            f"{axis!r}"
        )
    return float(axis[0]), float(axis[1])


def _shown(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, numbers.Real) else str(value)


def box_cover(edges: Sequence[tuple[float, float]], epsilon: float) -> list[Floats]:
    """Coordinates along each axis of a grid that covers a box.

    Parameters
    ----------
    edges : sequence of (low, high)
        Ends of each axis.
    epsilon : float
        No point of the box is farther than this from its nearest grid point (Euclidean).

    Returns
    -------
    list of ndarray
        The centres of equal cells, whose half diagonal is at most epsilon.

    Examples
    --------
    >>> [axis.tolist() for axis in box_cover([(0.0, 4.0), (1.0, 1.0)], 1.0)]
    [[1.0, 3.0], [1.0]]
    """
    wide = sum(high > low for low, high in edges)
    step = 2.0 * epsilon / math.sqrt(max(wide, 1))
    axes = []
    for low, high in edges:
        k = max(1, math.ceil((high - low) / step * (1.0 - 1e-12)))
        axes.append(low + (high - low) * (np.arange(k) + 0.5) / k)
    return axes
