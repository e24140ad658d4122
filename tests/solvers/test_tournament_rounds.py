"""Lazy rounds give what evaluating everything gives, and the numerics behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tournament_twin as twin
from hypothesis import given, settings
from hypothesis import strategies as st

from distmom.errors import NoAnswerError
from distmom.numerics.arrays import Floats
from distmom.numerics.losses.cell_sums import (
    ABREAST,
    add_distances,
    add_losses,
    add_measures,
    add_to_cells,
    padded,
    row_losses,
)
from distmom.numerics.losses.duels import duels, least_distances
from distmom.numerics.losses.table import LOSSES, names_of
from distmom.reductions.losses.candidates import RowLoss
from distmom.solvers.tournament import Distances, play, play_tournament


def instance(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Block losses of two parts, and block means of predictions, with ties and infinities."""
    g = np.random.default_rng(seed)
    m, k = int(g.integers(1, 9)), int(g.integers(1, 8))
    small = g.random() < 0.5
    values = [g.integers(0, 4, (m, k)).astype(float) if small else g.random((m, k)) for _ in range(3)]
    for v in values[:2]:
        v[g.random((m, k)) < 0.05] = np.inf
    return values[0], values[1], values[2]


class Known:
    """An oracle that knows all answers, and keeps what it was asked."""

    def __init__(self, losses: list[np.ndarray], bounds: np.ndarray, phi: np.ndarray) -> None:
        self.n_parts, self._losses, self._bounds, self._phi = len(losses), losses, bounds, phi
        self.asked: list[tuple[int, int]] = []

    def losses(self, part: int) -> np.ndarray:
        return self._losses[part]

    def bounds(self) -> np.ndarray:
        return self._bounds

    def distances(self, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
        self.asked.extend(pairs)
        return np.array([self._phi[p] for p in pairs])


def compare(seed: int, level: float | None) -> None:
    losses, last, means = instance(seed)
    g = np.random.default_rng(seed + 1)
    bounds = least_distances(means, np.abs(means).max(axis=1))
    # distances as unlike their bounds as they may be
    phi = np.median(np.abs(means[:, None] - means[None]), axis=2) + bounds + g.random(bounds.shape)
    phi = np.round(np.maximum(phi, phi.T), 1) + bounds + bounds.T
    np.fill_diagonal(phi, 0.0)
    loses, last_loses = twin.beaten(losses.tolist()), twin.beaten(last.tolist())
    want = twin.play(loses, last_loses, phi.tolist(), level)
    # losses of pairs have no last part: the finalists are the champions
    oracle = Known([losses, losses, last] if seed % 3 else [losses, losses], bounds, phi)
    if not want[2]:
        with pytest.raises(
            NoAnswerError, match=f"the smallest beta_r that leaves one is {min(want[0]):.17g}"
        ):
            play_tournament(oracle, level)
        return
    found = play_tournament(oracle, level)
    rounds = found.rounds
    assert found.loses.tolist() == loses and ((found.margins > 0) == found.loses).all()
    assert (rounds.level, rounds.finalists) == want[1:3]
    if found.last_loses is None:
        assert (found.champions, found.cycle) == (rounds.finalists, False)
    else:
        assert (found.last_loses.tolist(), found.champions, found.cycle) == (last_loses, *want[3:])
    assert len(set(oracle.asked)) == len(oracle.asked)
    exact = ~np.isnan(rounds.thresholds)
    assert rounds.thresholds[exact].tolist() == np.array(want[0])[exact].tolist()


@pytest.mark.parametrize("level", [None, 0.0, 0.3, 1.0, 2.5])
@pytest.mark.one_in(6)
def test_lazy_rounds_give_what_all_pairs_give(level: float | None) -> None:
    for seed in range(600):  # 3,000 instances over the levels
        compare(seed, level)


@given(st.integers(10_000, 10**9), st.one_of(st.none(), st.floats(0.0, 4.0)))
@settings(max_examples=200)
def test_lazy_rounds_on_drawn_instances(seed: int, level: float | None) -> None:
    compare(seed, level)


def test_nothing_is_asked_where_somebody_is_unbeaten() -> None:
    def oracle(pairs: list[tuple[int, int]]) -> np.ndarray:
        raise AssertionError("nothing was to be asked")

    losses = np.array([[1.0] * 5, [2.0] * 5, [3.0] * 5])
    loses, _ = duels(losses)
    known = Distances(oracle, least_distances(losses, np.full(3, 3.0)))
    assert play(loses, known).finalists == (0,)


@pytest.mark.parametrize("level", [None, 0.15])
def test_many_candidates_take_few_rounds(level: float | None) -> None:
    # slopes on a line, apart at least by their own noise: lower bounds say nothing, nobody is unbeaten
    m = 400
    g = np.random.default_rng(0)
    slopes = np.linspace(0.5, 1.5, m)
    phi = np.sqrt((slopes[:, None] - slopes) ** 2 + 0.02 * g.uniform(0.9, 1.1, (m, m)))
    phi = np.maximum(phi, phi.T)
    np.fill_diagonal(phi, 0.0)
    losses = ((slopes - 1.0) ** 2)[:, None] + g.normal(scale=0.01, size=(m, 63))
    loses, margins = duels(losses)
    assert loses.any(axis=1).all()
    known = Distances(lambda pairs: np.array([phi[p] for p in pairs]), np.zeros((m, m)), margins)
    rounds = play(loses, known, level)
    want = twin.play(loses.tolist(), loses.tolist(), phi.tolist(), level)
    assert (rounds.level, rounds.finalists) == want[1:3]
    n_asked = (~np.isnan(known.known)).sum() // 2
    assert known.n_rounds <= 6 and n_asked <= 16 * m  # of 200 m


def test_compiled_sums_have_the_bits_of_their_twins() -> None:
    g = np.random.default_rng(0)
    a, b = g.standard_cauchy(5_000), g.standard_cauchy(5_000)
    for place, value in ((3, np.nan), (4, np.inf), (5, -np.inf), (6, np.nan)):
        a[place] = value
    b[6], b[7] = np.inf, np.nan
    cells = g.integers(0, 11, 5_000).astype(np.int32)
    pairs = np.array([[0, 1], [0, 0], [1, 0], [1, 1], [0, 1], [1, 0]], np.int32)  # four together, and others
    mine, theirs, cut = np.ones(11), np.ones(11), np.ones(11)
    add_to_cells(a, cells, mine, compiled=True)
    add_to_cells(a, cells, theirs)
    for start in range(0, 5_000, 700):
        add_to_cells(a[start : start + 700], cells[start : start + 700], cut)
    assert np.array_equal(mine, theirs, equal_nan=True) and np.array_equal(mine, cut, equal_nan=True)
    both = np.stack([a, b])
    mine, theirs, cut, by_cell = np.ones((4, 6, 11))
    add_distances(both, pairs, cells, mine, compiled=True)
    add_distances(both, pairs, cells, theirs)
    for start in range(0, 5_000, 700):
        part = slice(start, start + 700)
        add_distances(both[:, part], pairs, cells[part], cut)
    order = np.argsort(cells, kind="stable")  # the rows of each cell keep their order
    add_distances(np.ascontiguousarray(both[:, order]), pairs, cells[order], by_cell, compiled=True)
    assert np.array_equal(mine, theirs) and np.array_equal(mine, cut) and np.array_equal(mine, by_cell)
    assert np.isinf(theirs).any() and not np.isnan(theirs).any() and (theirs[1] == 1.0).all()


def _sums_in_cells(
    truth: Floats,
    predicted: list[Floats],
    cells: Any,
    rows: Any,
    loss: Any,
    measure: Any,
    named: Any,
    root: bool,
) -> tuple[Floats, Floats, Floats]:
    """Sums of losses and of what distances compare, from ones on, and the largest sizes; in two pieces."""
    m = len(predicted)
    losses, measures, reach = np.ones((7, padded(m))), np.ones((7, padded(m))), np.zeros(padded(m))
    for piece in (slice(0, 1_000), slice(1_000, 3_000)):
        mine = rows[(rows >= piece.start) & (rows < piece.stop)] - piece.start
        y, at = truth[piece], cells[piece]
        for c in range(0, m, ABREAST):
            some = [one[piece] for one in predicted[c : c + ABREAST]]
            add_losses(y, some, at, c, losses, loss, named)
            add_measures(y, some, at[mine], mine, c, measures, reach, measure, named, root=root)
    return losses.T[:m], measures.T[:m], reach[:m]


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("name", [name for name in names_of("residual", "labels") if LOSSES[name].compiled])
def test_compiled_losses_have_the_bits_of_the_named_ones(name: str, root: bool) -> None:
    g = np.random.default_rng(1)
    truth, predicted = g.standard_t(2.1, 3_000), g.standard_t(2.1, 3_000)
    predicted[:50] = truth[:50]
    cells = g.integers(0, 7, 3_000).astype(np.int32)
    rows = np.flatnonzero(g.random(3_000) < 0.3)
    loss = RowLoss(name, 0.8 if name in ("huber", "pinball") else None)
    named = loss.compiled
    assert named is not None

    def measure(y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.sqrt(loss(y, f)) if root else f

    for odd in (None, np.nan, np.inf):
        if odd is not None:
            predicted[7:9] = odd
        some = [predicted, 0.5 * predicted, -predicted, truth[::-1].copy(), predicted + 1.0, truth]
        found = [_sums_in_cells(truth, some, cells, rows, loss, measure, one, root) for one in (named, None)]
        slow = np.ones((2, len(some), 7))  # the twin: row by row
        with np.errstate(all="ignore"):
            for c, one in enumerate(some):
                for cell, value in zip(cells, loss(truth, one), strict=True):
                    slow[0, c, cell] += value
                for cell, value in zip(cells[rows], measure(truth, one)[rows], strict=True):
                    slow[1, c, cell] += value
        for losses, measures, reach in found:
            assert np.array_equal(losses, slow[0], equal_nan=True)
            assert np.array_equal(measures, slow[1], equal_nan=True)
            sizes = [np.abs(measure(truth, one)[rows]).max() for one in some]
            assert np.array_equal(reach, np.where(np.isnan(sizes), np.inf, sizes))
        each = row_losses(truth, predicted, loss, named)
        assert np.array_equal(each, row_losses(truth, predicted, loss))
        assert not np.isnan(each).any()
