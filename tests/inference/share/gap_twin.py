"""The gap rule in plain loops: every distance is tried, every count counted."""

from __future__ import annotations

import math

import numpy as np

from distmom.inference.share.gaps import ANOTHER, FAR, GAP, MOST, OTHERS, ROUNDS, TRIES, J, R
from distmom.inference.share.modes import second_mode


def mode(rows):
    counts = {}
    for x in rows:
        counts[x] = counts.get(x, 0) + 1
    best = max(counts.values(), default=0)
    return next(((x, k) for x, k in sorted(counts.items()) if k == best), (0.0, 0))


def spread(rows):
    mean = sum(rows) / len(rows)
    variance = sum((x - mean) * (x - mean) for x in rows) / len(rows)
    return math.sqrt(variance) if math.isfinite(variance) else math.inf


def gaps(d, side, most, far, least):
    """All (rows in the gap for each beyond, distance, rows beyond) that are admitted."""
    u = sorted(x * side if side else abs(x) for x in d)
    u = [x for x in u if x > 0 or (side == 0 and x >= 0)]
    found = {}
    for t in u[max(len(u) - most, 0) :]:
        beyond = sum(x >= t for x in u)
        if beyond > most or t <= 0:
            continue
        ratio = max(R, math.exp(min(J / beyond, 700.0)))
        inside = sum(t / ratio < x < t for x in u)
        rest = [x for x in d if not (x * side if side else abs(x)) > t / R]
        s = spread(rest) if rest else math.inf
        if inside * GAP <= beyond and s > 0 and far * s <= t and far * least <= t:
            found[t] = (inside / beyond, t, beyond)
    return sorted(found.values())


def rows_apart(y, far=FAR, modes=False):
    """Least and greatest kept row, rows accused on either side, rows of second modes."""
    n = len(y)
    kept = list(y)
    most_left = 0
    if n < 64:
        return kept, most_left
    for _ in range(ROUNDS):
        value, count = mode(kept)
        most_common = 2 * count > len(kept)
        bulk = [x for x in kept if x != value] if most_common else kept
        if len(bulk) < 32:
            break
        c = bulk[len(bulk) // 2]
        d = [x - c for x in bulk]
        most = min(int(MOST * n), len(bulk) // 3)
        found = [
            (side, gaps(d, side, most, far, abs(value - c) if most_common else 0.0)) for side in (1, -1, 0)
        ]
        found = sorted(((s, g) for s, g in found if g), key=lambda item: (-item[1][0][1], -abs(item[0])))
        peeled = stays = None
        for side, admitted in found:
            for _ in range(TRIES):
                if not admitted or peeled is not None:
                    break
                _, t, beyond = admitted[0]
                admitted = [gap for gap in admitted if gap[2] <= ANOTHER * beyond]
                cut = t / math.sqrt(R)
                left = [x for x in kept if (side > 0 or x > c - cut) and (side < 0 or x < c + cut)]
                accused = n - len(left)
                if (
                    len(left) == len(kept)
                    or accused > MOST * n
                    or OTHERS * accused > len(left) - mode(left)[1]
                ):
                    break
                if modes or not is_mode(y, kept, left, c, cut, side):
                    peeled = left
                else:
                    above, below = [x for x in kept if x > left[-1]], [x for x in kept if x < left[0]]
                    without = kept[: -len(above)] if len(above) >= len(below) else kept[len(below) :]
                    if stays is None or len(without) < len(stays):
                        stays = without
        if stays is not None:
            most_left = max(most_left, len(kept) - len(stays))
        if peeled is None:
            if stays is not None:
                kept = beside(y, kept, stays, far)
            break
        kept = peeled
    return kept, most_left


def beside(y, kept, stays, far):
    above = kept[-1] != stays[-1]
    inner = rows_apart(stays, far)[0]
    left = [x for x in kept if (x >= inner[0] if above else x <= inner[-1])]
    accused = len(y) - len(left)
    return kept if accused > MOST * len(y) or OTHERS * accused > len(left) - mode(left)[1] else left


def is_mode(y, kept, left, c, cut, side):
    gone = [x for x in kept if x not in set(left)]
    above, below = [x for x in gone if x > c], [x for x in gone if x < c]
    inside = [x for x in left if c - cut < x < c + cut]
    if len(above) >= len(below):
        return second_mode(*map(np.array, (inside, above)), np.array([x for x in y if x <= c - cut]), c + cut)
    up = [-x for x in reversed(below)]
    far_up = [-x for x in reversed(y) if x >= c + cut]
    return second_mode(np.array([-x for x in reversed(inside)]), np.array(up), np.array(far_up), cut - c)
