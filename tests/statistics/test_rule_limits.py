"""Bad files, exhausted capacity and moderate shifts: what the statuses say where the answer may be wrong."""

from __future__ import annotations

import numpy as np
import pytest
from rule_distributions import DAMAGES, REGULAR, lake, lake_answer, most_events, tally, times, to

from distmom.inference.status import Finding, flags_of

DISTRIBUTIONS = ("normal", "lognormal", "Pareto 3", "exponential")


def words(found):
    return [tuple(flags_of(s)) for s in found.status]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize(("uneven", "file_sd"), [(False, 0.0), (True, 0.0), (False, 1.0), (True, 3.0)])
@pytest.mark.one_in(3)
def test_clean_lakes_raise_no_alarm(name, uneven, file_sd):
    """Claim: at most 0.002 alarms, also with files that legitimately differ."""
    g = np.random.default_rng(11)
    x, file = lake(REGULAR[name], 500, 100, 25, g, uneven=uneven, file_sd=file_sd)
    found, _ = lake_answer(x, file, g)
    assert np.count_nonzero(found.status) <= most_events(25, 0.002), words(found)
    assert np.isfinite(found.file_estimate).all()
    assert np.count_nonzero(found.suspect_cells.any(axis=1)) <= most_events(25, 0.002)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize(
    ("bad", "change", "uneven", "file_sd"),
    [(5, to(1e6), False, 0.0), (5, to(np.inf), False, 0.0), (25, to(1e6), True, 1.0)],
)
@pytest.mark.one_in(3)
def test_bad_files_are_found_and_the_answer_by_files_is_right(name, bad, change, uneven, file_sd):
    """Bad files among 500 of about 200 rows. Claim: `files disagree` has probability >= 0.999.

    Random row blocks, the negative control, cannot see a file that is bad as a whole: their answer breaks.
    """
    distribution, g = REGULAR[name], np.random.default_rng(5)
    x, file = lake(distribution, 500, 200, 10, g, bad=bad, change=change, uneven=uneven, file_sd=file_sd)
    found, cell = lake_answer(x, file, g)
    missed = [w for w in words(found) if w[0] != "files disagree"]
    assert len(missed) <= most_events(10, 0.001), words(found)
    assert found.files_first.all()
    # an effect of each file adds variance file_sd^2/n_files, about three times that with uneven sizes
    se = distribution.sd * np.sqrt(1 / x.shape[1] + 3 * file_sd**2 / 500)
    np.testing.assert_array_less(np.abs(found.estimate - distribution.mean), 6 * se)
    assert not np.any(np.abs(found.row_estimate - distribution.mean) < 1000 * distribution.sd)
    for r in range(10):
        outlying = np.unique(cell[r][~(np.abs(x[r]) < 1e5)])
        assert set(outlying) == set(np.flatnonzero(found.suspect_cells[r]))
    inner = found.intervals
    if not file_sd:
        outside = (inner.cantelli_low > distribution.mean) | (inner.cantelli_high < distribution.mean)
        assert np.count_nonzero(outside) <= most_events(10, 0.01)


def test_one_file_of_fifty_in_other_units():
    """One file times 1000, the mean moves by 20 standard deviations of a row and no row block sees it."""
    distribution, g = REGULAR["exponential"], np.random.default_rng(6)
    x, file = lake(distribution, 50, 4000, 10, g, bad=1, change=times(1000.0))
    found, _ = lake_answer(x, file, g)
    assert all(w[0] == "files disagree" for w in words(found))
    assert (np.abs(found.row_estimate - 1.0) > 10).all()
    assert (np.abs(found.estimate - 1.0) < 0.1).all()


def test_few_small_bad_files_are_repaired_by_rows():
    """Five bad files of 500 with 20 rows each: their 100 rows are few enough for the row blocks."""
    distribution, g = REGULAR["normal"], np.random.default_rng(8)
    x, file = lake(distribution, 500, 20, 10, g, bad=5, change=to(1e6))
    found, _ = lake_answer(x, file, g)
    assert words(found) == [("contaminated",)] * 10
    assert (np.abs(found.estimate) < 6 / np.sqrt(x.shape[1]) * np.sqrt(2)).all()
    assert (found.suspect_cells.sum(axis=1) >= 4).all()


def test_a_given_number_keeps_its_answer_but_hears_the_files():
    distribution, g = REGULAR["normal"], np.random.default_rng(9)
    x, file = lake(distribution, 500, 200, 10, g, bad=5, change=to(1e6))
    found, _ = lake_answer(x, file, g, n_fine=1015, n_blocks=7)
    assert all("breakdown point exceeded" in w for w in words(found)), "blocks of rows leave no file out"
    assert found.disagree.all()
    assert not found.files_first.any() and (found.estimate == found.row_estimate).all()
    assert (np.abs(found.file_estimate) < 0.05).all()


@pytest.mark.parametrize("name", ["normal", "Student 3", "lognormal", "Pareto 3"])
def test_capacity(name):
    """5% outlying rows: at 1,000 and 10,000 rows nearly every spare block is used, and the answer still
    holds.

    At 30,000 most blocks are outlying, all levels agree on a wrong answer, and only the row sample tells.
    """
    distribution, damage = REGULAR[name], DAMAGES["rows 5% = 10⁶"]
    for n, repeats in ((1000, 60), (10_000, 30)):
        got = tally(distribution, damage, n, repeats, seed=4)
        assert repeats - got.beyond <= most_events(repeats, 0.001)
        assert got.nmse < 5.0 and got.row_sample == 0.0
    lost = tally(distribution, damage, 30_000, 12, seed=4)
    assert lost.nmse > 1e9 and lost.order == lost.exact == 0
    assert lost.flagged == 0 and lost.row_sample == 1.0
    clean = tally(distribution, DAMAGES["clean"], 30_000, 12, seed=4)
    assert clean.row_sample == 0.0


def test_moderate_shifts_stay_in_the_answer():
    """A limit to be known: 0.1% of the rows 100 standard deviations away, 100,000 rows; nothing is seen."""
    got = tally(REGULAR["normal"], DAMAGES["rows 0.1% at μ+100σ"], 100_000, 10, seed=4)
    assert got.nmse > 100 and got.order == 0


def test_zero_inflated_columns_are_dominated_by_few_rows():
    distribution = REGULAR["exponential"]
    g = np.random.default_rng(1)
    x = np.where(g.random((20, 20_000)) < 0.05, distribution.draw(g, (20, 20_000)), 0.0)
    file = np.broadcast_to(np.arange(20_000) // 40, x.shape)
    found, _ = lake_answer(x, file, g)
    assert (found.status == Finding.DOMINATED_BY_FEW_ROWS).all()
