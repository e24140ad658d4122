"""Means of stretches: in any cutting the same bits, and those of a slow twin."""

from __future__ import annotations

import numpy as np
import pytest

from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.samples.stretches import (
    FREE_ROWS,
    LEAST_ROWS,
    MOST,
    Stretches,
    StretchSums,
    stretch_rows,
)

KEY = np.uint64(7)
Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def part(first: int, n: int, seed: int = 0) -> Part:
    g = np.random.default_rng(seed)
    numbers = np.arange(first, first + n)
    return np.full(n, KEY), numbers, g.integers(1, 9, n).astype(float), g.standard_normal(n)


def bits(found: Stretches) -> tuple[bytes, ...]:
    return tuple(a.tobytes() for a in (found.files, found.numbers, found.mass, found.mean))


def test_stretches_get_longer_alike_in_any_cutting() -> None:
    n = 4 * MOST
    whole = tuple(a for a in part(0, n))
    cut = [tuple(a[i : i + n // 8] for a in whole) for i in range(0, n, n // 8)]
    pieces = [Stretches.of(32, one).few() for one in cut]  # type: ignore[arg-type]
    while len(pieces) > 1:
        pieces = [a.merge(b) for a, b in zip(pieces[::2], pieces[1::2], strict=True)]
    once = Stretches.of(32, whole).few()  # type: ignore[arg-type]
    assert once.files.size == MOST and once.rows == 128 and bits(once) == bits(pieces[0])
    assert np.sum(once.mass * once.mean) == pytest.approx(np.sum(whole[2] * whole[3]), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("holes", [False, True])
def test_means_are_those_of_a_slow_twin(weighted: bool, holes: bool) -> None:
    g = np.random.default_rng(1)
    x, w = g.standard_normal(1_000), g.random(1_000)
    gone = g.random(1_000) < 0.3 if holes else None
    if gone is not None:
        gone[64:128] = True
    sums = StretchSums(32)
    columns = [(x[:137], x[137:])] + ([(w[:137], w[137:])] if weighted else [])
    sums.offer(KEY, 0, gone, (0.0, 0.0), *columns)
    found = sums.result()
    used = np.ones(1_000, bool) if gone is None else ~gone
    for number, mass, mean in zip(found.numbers, found.mass, found.mean, strict=True):
        mine = slice(32 * number, 32 * number + 32)
        weight = (w if weighted else np.ones(1_000))[mine][used[mine]]
        assert mass == pytest.approx(weight.sum()) and mean == pytest.approx(
            weight @ x[mine][used[mine]] / weight.sum()
        )
    assert found.numbers.size == (30 if holes else 32)


def test_too_many_files_leave_nothing() -> None:
    keys = np.arange(MOST + 1, dtype=np.uint64)
    one = Stretches.of(
        32, (keys, np.zeros(keys.size, np.int64), np.ones(keys.size), np.ones(keys.size))
    ).few()
    assert one.rows == 0 and one.files.size == 0
    assert one.merge(Stretches.of(32, part(0, 3))).rows == 0 == Stretches.of(32, part(0, 3)).merge(one).rows


def test_a_lake_and_a_state_that_grows_have_the_same_means() -> None:
    """A lake knows its rows beforehand, a state does not: below `FREE_ROWS` that makes no difference."""
    n = 40 * LEAF_ROWS + 1_000
    assert MOST * LEAST_ROWS < n < FREE_ROWS
    x = np.random.default_rng(4).standard_normal(n)

    def sums(rows: int, leaves: range) -> Stretches:
        found = StretchSums(rows)
        for leaf in leaves:
            part = x[leaf * LEAF_ROWS : (leaf + 1) * LEAF_ROWS]
            found.offer(KEY, leaf * LEAF_ROWS, None, (0.0, 0.0), (part, part[:0]))
        return found.result()

    lake = sums(stretch_rows(n), range(41))
    state = sums(LEAST_ROWS, range(17)).merge(sums(LEAST_ROWS, range(17, 41)))
    assert bits(lake) == bits(state) and lake.rows == state.rows == 1_024
    coarse = sums(1_024, range(41))  # negative control: means that begin there have other roundings
    assert bits(coarse) != bits(state) and np.allclose(coarse.mean, state.mean)
