"""The vectorised rule against its slow twin, and what it owes to symmetry and to strange data."""

from __future__ import annotations

import math

import numpy as np
import pytest
import rule_twin
from hypothesis import given, settings
from hypothesis import strategies as st

from distmom.estimators.rule import answer_rule
from distmom.estimators.rule_answer import Intervals
from distmom.estimators.rule_status import REASON_WORDS, NoInterval, Status, status_list
from distmom.numerics.moments import Moments
from distmom.theory.partition import partition_halfwidth

PROPERTY = settings(derandomize=True, deadline=None, max_examples=40)


def moments_of(x, label, n_blocks):
    """Moments of the rows of each label, straight from NumPy."""
    count, mean, m2 = np.zeros(n_blocks, np.int64), np.zeros(n_blocks), np.zeros(n_blocks)
    for block in range(n_blocks):
        part = x[label == block]
        if part.size:
            with np.errstate(all="ignore"):
                first = part[0] if np.isfinite(part[0]) else 0.0
                count[block], mean[block] = part.size, first + np.mean(part - first)
                finite = np.isfinite(mean[block])
                m2[block] = np.sum((part - mean[block]) ** 2) if finite else np.nan
    return count, mean, m2


LAWS = {
    "normal": lambda g, n: g.normal(size=n),
    "shifted": lambda g, n: 1e6 + g.normal(size=n),
    "pareto": lambda g, n: g.pareto(2.1, n),
    "constant": lambda g, n: np.full(n, 0.1),
    "mostly zero": lambda g, n: np.where(g.random(n) < 0.8, 0.0, g.exponential(size=n)),
    "rare": lambda g, n: (g.random(n) < 0.02) * 1.0,
    "few values": lambda g, n: g.integers(0, 3, n) * 1.0,
}
WILD = {
    "none": lambda g, x, file: x,
    "one": lambda g, x, file: np.where(np.arange(x.size) == 0, 1e9, x),
    "rows": lambda g, x, file: np.where(g.random(x.size) < 0.02, 1e6, x),
    "many rows": lambda g, x, file: np.where(g.random(x.size) < 0.2, 1e6, x),
    "moderate": lambda g, x, file: np.where(g.random(x.size) < 0.05, x + 30.0, x),
    "infinite": lambda g, x, file: np.where(g.random(x.size) < 0.005, np.inf, x),
    "both infinite": lambda g, x, file: np.where(
        g.random(x.size) < 0.01, np.inf * g.choice([-1, 1], x.size), x
    ),
    "nearly all infinite": lambda g, x, file: np.where(g.random(x.size) < 0.3, np.inf, x),
    "files": lambda g, x, file: np.where(file % 23 == 5, 1e6, x),
    "infinite files": lambda g, x, file: np.where(file % 23 == 5, -np.inf, x),
}


def make_group(seed, n, law, wild, n_fine, n_cells, n_files, deal):
    """Rows of one group in fine blocks, cells of files, and a sample."""
    g = np.random.default_rng(seed)
    file = np.sort(np.minimum(g.integers(0, n_files, n), g.integers(0, n_files, n)))
    x = WILD[wild](g, LAWS[law](g, n), file)
    if deal == "stratified":
        label = np.concatenate([g.permutation(n_fine) for _ in range(n // n_fine + 1)])[:n]
    else:
        label = g.integers(0, n_fine, n) if deal == "random" else (g.random(n) ** 2 * n_fine).astype(int)
    cell_of_file = g.integers(0, n_cells, n_files)
    cell = cell_of_file[file] if n else np.zeros(0, int)
    sample = g.permutation(x)[:128]
    return moments_of(x, label, n_fine), moments_of(x, cell, n_cells), sample


def stack(groups):
    """Arrays of all groups for the package, lists for the twin."""
    rows = Moments(*(np.stack([group[0][i] for group in groups]) for i in range(3)))
    files = Moments(*(np.stack([group[1][i] for group in groups]) for i in range(3)))
    n_sample = np.array([group[2].size for group in groups], np.int64)
    sample = np.full((len(groups), max(n_sample.max(initial=0), 1)), np.nan)
    for line, group in zip(sample, groups, strict=True):
        line[: group[2].size] = group[2]
    return rows, files, sample, n_sample


def lists(moments):
    return [(int(a), float(b), float(c)) for a, b, c in zip(*moments, strict=True)]


def close(a, b, scale):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-11 * scale


WHY = {
    "": NoInterval.GIVEN,
    "plain": NoInterval.PLAIN_MEAN,
    "no answer": NoInterval.NO_ANSWER,
    "fewer rows": NoInterval.FEWER_ROWS_THAN_BLOCKS,
    "constant": NoInterval.CONSTANT_BLOCKS,
    "few": NoInterval.TOO_FEW_BLOCKS,
    "vacuous": NoInterval.VACUOUS,
    "ruined ends": NoInterval.RUINED_ENDS,
}


def compare(found, g, want, confidence):
    """All that the package says about group g is what the twin says."""
    scale = max(
        (abs(v) for v in (want.get("row_estimate", 0.0), want.get("estimate", 0.0)) if math.isfinite(v)),
        default=0,
    )
    words = set(status_list(found.status[g])) - {"ok"}
    assert words == want["status"]
    assert found.n_used[g] == want["n"]
    if want["n"] == 0:
        assert np.isnan(found.estimate[g]) and found.n_blocks[g] == 0
        return
    assert close(found.plain_estimate[g], want["plain"], scale)
    assert close(found.estimate[g], want["estimate"], scale)
    assert found.n_blocks[g] == want["k"]
    assert bool(found.files_first[g]) == want["files_first"]
    assert set(np.flatnonzero(found.suspect_cells[g])) == want["suspects"]
    assert close(found.file_estimate[g], want.get("file_estimate", math.nan), scale)
    assert close(found.file_halfwidth[g], want.get("file_h", math.nan), scale)
    if "row" in want:
        row, shown = want["row"], want["shown"]
        assert found.k_hat[g] == row["k_hat"]
        assert bool(found.contradicted[g]) == row["contradicted"]
        assert found.n_set_aside[g] == want["n_set_aside"]
        assert found.n_ruined[g] == want["n_ruined"]
        usable = [list(found.levels).index(k) for k in row["levels"]]
        for column in range(found.levels.size):
            at = usable.index(column) if column in usable else None
            assert close(
                found.path_estimate[g, column], math.nan if at is None else row["medians"][at], scale
            )
            assert close(found.path_halfwidth[g, column], math.nan if at is None else row["h"][at], scale)
        blocks = shown["blocks"]
        assert list(found.block_rows[g, : len(blocks)]) == [b[0] for b in blocks]
        assert not found.block_rows[g, len(blocks) :].any()
        assert all(close(a, b[1], scale) for a, b in zip(found.block_estimates[g], blocks, strict=False))
        assert list(found.block_size[g]) == [min(b[0] for b in blocks), max(b[0] for b in blocks)]
    got = found.intervals
    assert got.order_reason[g] == WHY[want["why"][0]]
    if want["order"]:
        low, high, level, rank = want["order"]
        assert close(got.order_low[g], low, scale) and close(got.order_high[g], high, scale)
        assert got.order_rank[g] == rank and got.order_level[g] == pytest.approx(level, abs=1e-12)
    else:
        assert np.isnan(got.order_low[g]) and np.isnan(got.order_high[g]) and got.order_rank[g] == 0
    assert got.exact_reason[g] == WHY[want["why"][1]]
    if not want["exact"]:
        assert np.isnan(got.exact_low[g]) and np.isnan(got.exact_centre[g]) and got.exact_blocks[g] == 0
        return
    low, high, centre, k = want["exact"]
    assert close(got.exact_centre[g], centre, scale) and got.exact_blocks[g] == k
    if low == "unequal":  # never below the Poisson-binomial bound, and not far above it
        blocks = want["shown"]["blocks"]
        sharp = partition_halfwidth(1.0, k, 1 - confidence, rule_twin.ruined(blocks), [b[0] for b in blocks])
        half = 0.5 * (got.exact_high[g] - got.exact_low[g])
        assert high * sharp * (1 - 1e-6) - 1e-11 * scale <= half <= 1.062 * high * sharp + 1e-9 * scale
    else:
        assert close(got.exact_low[g], low, scale + high - low) and close(
            got.exact_high[g], high, scale + high - low
        )


group_args = st.tuples(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 2, 7, 39, 40, 63, 200, 500, 1500, 3000, 12000]),
    st.sampled_from(sorted(LAWS)),
    st.sampled_from(sorted(WILD)),
)


@PROPERTY
@given(
    st.lists(group_args, min_size=1, max_size=5),
    st.sampled_from([105, 945, 15]),
    st.sampled_from([105, 45]),
    st.sampled_from([1, 12, 60, 400]),
    st.sampled_from(["stratified", "random", "uneven"]),
    st.sampled_from(["rows", "units", "stored"]),
    st.sampled_from([0.9, 0.99, 0.999, 0.7]),
)
def test_automatic_rule_is_its_twin(groups, n_fine, n_cells, n_files, deal, source, confidence):
    made = [make_group(*args, n_fine, n_cells, n_files, deal) for args in groups]
    rows, files, sample, n_sample = stack(made)
    found = answer_rule(rows, sample, n_sample, confidence, files=files, block_source=source)
    for g, (row_part, file_part, x) in enumerate(made):
        want = rule_twin.rule(lists(row_part), list(x), confidence, lists(file_part), source=source)
        if source == "units":
            want["suspects"] = set()
        else:
            assert found.suspect_cells.shape == (len(made), n_cells)
        compare(found, g, want, confidence)


@PROPERTY
@given(
    st.lists(group_args, min_size=1, max_size=5),
    st.sampled_from([(1, 105), (2, 90), (5, 105), (7, 105), (10, 110), (21, 105), (35, 945), (101, 909)]),
    st.sampled_from([1, 60, 400]),
    st.sampled_from(["stratified", "random", "uneven"]),
    st.sampled_from(["rows", "stored"]),
    st.sampled_from([0.9, 0.99, 0.7]),
)
def test_given_number_is_its_twin(groups, numbers, n_files, deal, source, confidence):
    k, n_fine = numbers
    made = [make_group(*args, n_fine, 105, n_files, deal) for args in groups]
    rows, files, sample, n_sample = stack(made)
    found = answer_rule(rows, sample, n_sample, confidence, files=files, n_blocks=k, block_source=source)
    for g, (row_part, file_part, x) in enumerate(made):
        want = rule_twin.rule(lists(row_part), list(x), confidence, lists(file_part), k, source)
        compare(found, g, want, confidence)
        assert found.lowered[g] == (0 < want["n"] < k)


def test_the_examples_reach_every_status_and_reason():
    """The twin tests above would be worth little if they saw only quiet groups."""
    seen, reasons = set(), set()
    for seed, wild in enumerate(sorted(WILD) * 4):
        law = sorted(LAWS)[seed % len(LAWS)]
        n = [0, 3, 500, 1500, 12000][seed % 5]
        made = [make_group(seed, n, law, wild, 105, 105, [60, 400][seed % 2], "stratified")]
        rows, files, sample, n_sample = stack(made)
        for k in ("auto", 7, 35):
            found = answer_rule(rows, sample, n_sample, 0.99, files=files, n_blocks=k)
            seen |= set(status_list(found.status[0]))
            reasons |= {int(found.intervals.order_reason[0]), int(found.intervals.exact_reason[0])}
    assert seen >= {
        "ok", "no rows", "no finite answer", "beyond capacity", "files disagree", "contaminated",
        "carried by few rows", "plain mean, no guarantee",
    }  # fmt: skip
    assert reasons >= {0, *(int(r) for r in list(NoInterval)[2:7])}


def a_batch(law="pareto", wild="rows", n_groups=6, n=2000, n_fine=105):
    made = [make_group(seed, n, law, wild, n_fine, 105, 400, "stratified") for seed in range(n_groups)]
    return stack(made)


def same(a, b):
    for name in a.__slots__:
        x, y = getattr(a, name), getattr(b, name)
        if isinstance(x, Intervals):
            same(x, y)
        else:
            np.testing.assert_array_equal(x, y, err_msg=name)


def pick(found, order):
    """Rows of an answer in another order."""
    values = {}
    for name in found.__slots__:
        value = getattr(found, name)
        if name == "intervals":
            value = Intervals(*(getattr(value, inner)[order] for inner in value.__slots__))
        elif name != "levels":
            value = value[order]
        values[name] = value
    return type(found)(**values)


@pytest.mark.parametrize("k", ["auto", 7])
@pytest.mark.parametrize("wild", sorted(WILD))
def test_groups_do_not_see_each_other(wild, k):
    rows, files, sample, n_sample = a_batch(wild=wild)
    whole = answer_rule(rows, sample, n_sample, 0.99, files=files, n_blocks=k)
    order = np.array([3, 0, 5, 1, 4, 2])
    moved = answer_rule(
        Moments(*(a[order] for a in rows)), sample[order], n_sample[order], 0.99,
        files=Moments(*(a[order] for a in files)), n_blocks=k,
    )  # fmt: skip
    same(moved, pick(whole, order))
    width = whole.block_rows.shape[1]
    for g in range(6):
        part = slice(g, g + 1)
        alone = answer_rule(
            Moments(*(a[part] for a in rows)), sample[part], n_sample[part], 0.99,
            files=Moments(*(a[part] for a in files)), n_blocks=k,
        )  # fmt: skip
        own = alone.block_rows.shape[1]
        expected = pick(whole, part)
        assert own <= width and not expected.block_rows[:, own:].any()
        np.testing.assert_array_equal(alone.block_estimates, expected.block_estimates[:, :own])
        for name in ("estimate", "status", "path_estimate", "path_halfwidth", "file_estimate", "n_set_aside"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(expected, name), err_msg=name)
        same(alone.intervals, expected.intervals)


def test_portions_do_not_matter(monkeypatch):
    rows, files, sample, n_sample = a_batch(wild="files", n=12_000)
    whole = answer_rule(rows, sample, n_sample, 0.99, files=files)
    assert whole.files_first.all()
    monkeypatch.setattr("distmom.estimators.rule.CELLS_AT_ONCE", 300)
    monkeypatch.setattr("distmom.estimators.rule_set.LEVELS_AT_ONCE", 300)
    same(answer_rule(rows, sample, n_sample, 0.99, files=files), whole)


def transform(moments, a, b=0.0):
    return Moments(
        moments.count, np.where(moments.count > 0, a * moments.mean + b, 0.0), moments.m2 * (a * a)
    )


@pytest.mark.parametrize("k", ["auto", 7, 21])
@pytest.mark.parametrize("wild", ["none", "rows", "files", "infinite"])
def test_scale_by_a_power_of_two_is_exact(wild, k):
    rows, files, sample, n_sample = a_batch(wild=wild)
    plain = answer_rule(rows, sample, n_sample, 0.99, files=files, n_blocks=k)
    factor = 2.0**-7
    scaled = answer_rule(
        transform(rows, factor), sample * factor, n_sample, 0.99, files=transform(files, factor), n_blocks=k
    )
    np.testing.assert_array_equal(scaled.status, plain.status)
    for name in (
        "estimate",
        "plain_estimate",
        "path_estimate",
        "path_halfwidth",
        "block_estimates",
        "file_estimate",
    ):
        np.testing.assert_array_equal(getattr(scaled, name), factor * getattr(plain, name), err_msg=name)
    for name in ("order_low", "order_high", "exact_low", "exact_high", "exact_centre"):
        np.testing.assert_array_equal(
            getattr(scaled.intervals, name), factor * getattr(plain.intervals, name)
        )


@pytest.mark.parametrize("k", ["auto", 7])
@pytest.mark.parametrize("wild", ["none", "rows", "files"])
def test_shift_and_mirror(wild, k):
    """Odd numbers of blocks throughout: the lower median is the middle one, and mirrors."""
    rows, _, sample, n_sample = a_batch(law="normal", wild=wild, n=105 * 20)
    plain = answer_rule(rows, sample, n_sample, 0.99, files=None, n_blocks=k)
    assert (plain.n_blocks % 2 == 1).all()
    moved = answer_rule(transform(rows, 1.0, 64.0), sample + 64.0, n_sample, 0.99, n_blocks=k)
    np.testing.assert_array_equal(moved.status, plain.status)
    np.testing.assert_allclose(moved.estimate, plain.estimate + 64.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(moved.intervals.exact_low, plain.intervals.exact_low + 64.0, rtol=0, atol=1e-9)
    mirror = answer_rule(transform(rows, -1.0), -sample, n_sample, 0.99, n_blocks=k)
    np.testing.assert_array_equal(mirror.status, plain.status)
    for got, want in (
        (mirror.estimate, -plain.estimate),
        (mirror.intervals.order_low, -plain.intervals.order_high),
        (mirror.intervals.exact_high, -plain.intervals.exact_low),
    ):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def blocks_of(x):
    """One group, equal blocks: x has shape (n_fine, rows)."""
    with np.errstate(all="ignore"):
        away = x / 2 - x[:, :1] / 2
        mean = 2 * (x[:, 0] / 2 + (away / x.shape[1]).sum(axis=1))
        mean = np.where(np.isfinite(x).all(axis=1), mean, x.sum(axis=1))
        m2 = np.where(np.isfinite(mean), ((x - mean[:, None]) ** 2).sum(axis=1), np.nan)
    return Moments(np.full((1, x.shape[0]), x.shape[1]), mean[None], m2[None])


def test_strange_data_gives_words_not_warnings():
    g = np.random.default_rng(0)
    cases = {
        "huge": g.choice([-1.7e308, 1.7e308, 1e308], (105, 20)),
        "tiny": g.normal(size=(105, 20)) * 1e-300,
        "subnormal": g.normal(size=(105, 20)) * 1e-310,
        "constant": np.full((105, 20), 1.7e308),
        "all infinite": np.full((105, 20), np.inf),
        "all nan": np.full((105, 20), np.nan),
        "one row": np.full((105, 1), 3.0),
        "huge and quiet": np.where(
            np.arange(2100).reshape(105, 20) % 97 == 0, -1.7e308, g.normal(size=(105, 20))
        ),
    }
    for name, x in cases.items():
        sample = x.reshape(1, -1)[:, :1024]
        for k in ("auto", 1, 7, 105):
            found = answer_rule(
                blocks_of(x), sample, np.array([sample.size]), 0.99, files=blocks_of(x), n_blocks=k
            )
            inner = found.intervals
            assert (np.isnan(inner.order_low) == (inner.order_reason > 0)).all(), (name, k)
            assert (np.isnan(inner.exact_low) == (inner.exact_reason > 0)).all(), (name, k)
            assert np.isnan(found.estimate[0]) == bool(found.status[0] & Status.NO_FINITE_ANSWER), (name, k)
            assert np.isfinite(found.estimate[0]) == (name not in ("all infinite", "all nan")), (
                name,
                k,
            )
    quiet = answer_rule(blocks_of(cases["huge and quiet"]), None, None, 0.99)
    assert abs(quiet.estimate[0]) < 0.2 and quiet.n_set_aside[0] == 22


def test_no_groups_and_no_rows():
    nothing = answer_rule(
        Moments.empty(0, 105), np.empty((0, 9)), np.empty(0, np.int64), 0.99, files=Moments.empty(0, 45)
    )
    assert nothing.n_groups == 0 and nothing.suspect_cells.shape == (0, 45)
    for k in ("auto", 7):
        found = answer_rule(Moments.empty(2, 105), None, None, 0.99, files=Moments.empty(2, 105), n_blocks=k)
        assert [status_list(s) for s in found.status] == [["no rows"]] * 2
        assert np.isnan(found.estimate).all() and np.isnan(found.plain_estimate).all()
        assert (found.n_blocks == 0).all() and (found.block_size == 0).all()
        assert (found.intervals.order_reason == NoInterval.NO_ANSWER).all()


def test_a_constant_column_is_a_plain_mean():
    found = answer_rule(blocks_of(np.full((945, 20), 0.1)), np.full((1, 1024), 0.1), np.array([1024]), 0.99)
    assert found.estimate[0] == 0.1 and found.plain_estimate[0] == 0.1
    assert status_list(found.status[0]) == ["plain mean, no guarantee"]
    given = answer_rule(
        blocks_of(np.full((945, 20), 0.1)), np.full((1, 1024), 0.1), np.array([1024]), 0.99, n_blocks=7
    )
    assert given.estimate[0] == 0.1 and status_list(given.status[0]) == ["ok"]
    assert (
        REASON_WORDS[NoInterval(given.intervals.exact_reason[0])]
        == "more than half of the blocks are constant"
    )


def test_fewer_rows_than_blocks_lowers_the_number():
    x = np.arange(10.0)
    count = np.zeros((1, 101), np.int64)
    count[0, ::10] = [1] * 10 + [0]
    mean = np.zeros((1, 101))
    mean[0, ::10] = [*x, 0]
    found = answer_rule(Moments(count, mean, np.zeros((1, 101))), x[None], np.array([10]), 0.99, n_blocks=101)
    assert found.lowered[0] and found.n_blocks[0] == 10 and found.estimate[0] == 4.0
    assert found.intervals.order_reason[0] == NoInterval.FEWER_ROWS_THAN_BLOCKS


def test_ruined_blocks_up_to_just_below_half():
    g = np.random.default_rng(5)
    x = g.normal(size=(105, 20))
    for k, most in ((7, 3), (10, 4)):
        n_fine = k * (105 // k)
        for ruined in range(1, k):
            y = x[:n_fine].copy()
            y[:: n_fine // k][:ruined, 0] = np.inf
            found = answer_rule(blocks_of(y), None, None, 0.99, n_blocks=k)
            assert found.n_ruined[0] == ruined
            assert bool(np.isfinite(found.estimate[0])) == (ruined <= most)
            words = status_list(found.status[0])
            assert words[0] == ("contaminated" if ruined <= most else "no finite answer")


def test_ruined_blocks_widen_both_intervals():
    g = np.random.default_rng(6)
    x = g.normal(size=(945, 20))
    clean = answer_rule(blocks_of(x), None, None, 0.99, n_blocks=63).intervals
    x[::150, 0] = np.nan
    rough = answer_rule(blocks_of(x), None, None, 0.99, n_blocks=63)
    assert rough.n_ruined[0] == 7
    assert rough.intervals.order_rank[0] < clean.order_rank[0]
    assert rough.intervals.exact_high[0] - rough.intervals.exact_low[0] > 1.1 * (
        clean.exact_high[0] - clean.exact_low[0]
    )


def test_dependent_blocks_use_the_spread_between_them():
    """A walk: rows vary little inside contiguous blocks, and much between them."""
    x = np.cumsum(np.random.default_rng(1).normal(size=945 * 20)).reshape(945, 20)
    rows = answer_rule(blocks_of(x), None, None, 0.99, block_source="rows").intervals
    stored = answer_rule(blocks_of(x), None, None, 0.99, block_source="stored").intervals
    assert stored.exact_high[0] - stored.exact_low[0] > 3 * (rows.exact_high[0] - rows.exact_low[0])


def test_units_need_as_many_cells_as_blocks():
    g = np.random.default_rng(2)
    count = np.zeros((1, 945), np.int64)
    filled = np.sort(g.choice(945, 20, replace=False))
    count[0, filled] = 1000
    mean = np.where(count > 0, g.normal(size=(1, 945)), 0.0)
    found = answer_rule(Moments(count, mean, count * 1.0), None, None, 0.99, block_source="units")
    assert np.isfinite(found.path_estimate[0]).sum() == 4 and found.n_blocks[0] == 15  # 5, 7, 9, 15


def test_unwanted_intervals_say_so():
    found = answer_rule(
        blocks_of(np.random.default_rng(0).normal(size=(105, 9))), None, None, 0.99, intervals=()
    )
    assert (found.intervals.order_reason == NoInterval.NOT_WANTED).all()
    assert (found.intervals.exact_reason == NoInterval.NOT_WANTED).all()


def test_mistakes_of_the_caller():
    blocks = Moments.empty(1, 105)
    for change in (
        {"n_blocks": 10},
        {"block_source": "x"},
        {"intervals": ("normal",)},
        {"files": Moments.empty(2, 9)},
    ):
        with pytest.raises(ValueError):
            answer_rule(blocks, None, None, 0.99, **change)
    with pytest.raises(ValueError):
        answer_rule(blocks, None, None, 1.0)


def test_every_code_has_words():
    assert all(REASON_WORDS[code] or code == 0 for code in NoInterval)
    assert status_list(0) == ["ok"]
    assert [status_list(flag) for flag in Status] and all(len(status_list(flag)) == 1 for flag in Status)
