"""The rule for vectors against its slow twin, and what a vector of one column, or of equal ones, must be."""

from __future__ import annotations

import math

import numpy as np
import rule_vector_twin
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rule_groups import DISTRIBUTIONS, OUTLYING, moments_of
from test_adaptive import close, lists

from distmom.inference.adaptive import answer_rule
from distmom.inference.status import NoInterval
from distmom.inference.status import flags_of as status_list
from distmom.numerics.blocks.moments import Moments

PROPERTY = settings(derandomize=True, deadline=None)


def make_vector(seed, n, kinds, n_fine, n_files, deal):
    """Columns of the same rows and blocks, non-finite together; distributions and damages differ."""
    g = np.random.default_rng(seed)
    file = np.sort(np.minimum(g.integers(0, n_files, n), g.integers(0, n_files, n)))
    if deal == "stratified":
        label = np.concatenate([g.permutation(n_fine) for _ in range(n // n_fine + 1)])[:n]
    else:
        label = (g.random(n) ** 2 * n_fine).astype(int)
    cell = g.integers(0, 105, n_files)[file]
    chosen = g.permutation(n)[:128]
    values = [
        OUTLYING[outlying](g, DISTRIBUTIONS[distribution](g, n), file) for distribution, outlying in kinds
    ]
    parts = []
    for places, size in ((label, n_fine), (cell, 105)):
        made = [moments_of(x, places, size) for x in values]
        non_finite = np.any([(m[0] > 0) & ~np.isfinite(m[1]) for m in made], axis=0)
        parts.append([(m[0], np.where(non_finite, np.nan, m[1]), m[2]) for m in made])
    return parts[0], parts[1], [x[chosen] for x in values]


def stacked(parts):
    return Moments(*(np.stack([part[i] for part in parts]) for i in range(3)))


def padded(samples):
    out = np.full((len(samples), max(max(map(len, samples)), 1)), np.nan)
    for line, sample in zip(out, samples, strict=True):
        line[: len(sample)] = sample
    return out, np.array([len(s) for s in samples], np.int64)


kind = st.tuples(st.sampled_from(sorted(DISTRIBUTIONS)), st.sampled_from(sorted(OUTLYING)))


@PROPERTY
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 7, 40, 200, 1500, 3000, 12000]),
    st.lists(kind, min_size=1, max_size=4),
    st.sampled_from([105, 945, 15]),
    st.sampled_from([12, 60, 400]),
    st.sampled_from(["stratified", "uneven"]),
    st.sampled_from(["rows", "units", "stored"]),
    st.sampled_from([None, None, (7, 105), (21, 105), (2, 90)]),
)
@example(0, 12_000, [("few values", "both infinite")], 945, 12, "uneven", "stored", None)
@example(0, 12_000, [("shifted", "files")], 945, 60, "uneven", "stored", None)
@example(0, 40, [("constant", "none"), ("normal", "both infinite")], 105, 12, "stratified", "rows", None)
def test_a_vector_is_its_twin(seed, n, kinds, n_fine, n_files, deal, source, given_number):
    k, n_fine = given_number or (None, n_fine)
    source = "rows" if k is not None and source == "units" else source
    rows, cells, samples = make_vector(seed, n, kinds, n_fine, n_files, deal)
    sample, n_sample = padded(samples)
    found = answer_rule(
        stacked(rows),
        sample,
        n_sample,
        0.99,
        files=stacked(cells) if k is None else None,
        n_blocks="auto" if k is None else k,
        block_source=source,
        intervals=("ball",),
        n_columns=len(kinds),
    )
    want = rule_vector_twin.vector_rule(
        [lists(r) for r in rows], [list(s) for s in samples], [lists(c) for c in cells], k, source
    )
    words = set(status_list(int(np.bitwise_or.reduce(found.status)))) - {"ok", "dominated by few rows"}
    if "plain" in want:
        assert "sample mean, no guarantee" in words
        assert all(close(a, b, 1.0) for a, b in zip(found.plain_estimate, want["plain"], strict=True))
        assert set(found.ball_reason) <= {NoInterval.SAMPLE_MEAN, NoInterval.NO_ANSWER}
        return
    assert words == want["status"]
    assert found.files_first.all() == found.files_first.any() == want["files_first"]
    for c, estimate in enumerate(want["estimate"]):
        scale = max(1.0, abs(estimate)) if math.isfinite(estimate) else 1.0
        assert close(found.estimate[c], estimate, scale)
        blocks = want["blocks"][c]
        assert list(found.block_rows[c, : len(blocks)]) == [b[0] for b in blocks]
        assert all(close(a, b[1], scale) for a, b in zip(found.block_estimates[c], blocks, strict=False))
        aside = want["contradicted"] and k is None
        assert found.n_screened_out[c] == (sum(want["far"]) if aside else 0)
        if math.isnan(estimate) or want["ball"][c] is None:
            continue
        ball = want["ball"][c]
        assert list(found.ball_rows[c][found.ball_rows[c] > 0]) == [b[0] for b in ball]
        assert all(close(a, b[1], scale) for a, b in zip(found.ball_means[c], ball, strict=False))
        assert close(found.ball_spread[c], want["spread"][c], scale)


def test_equal_columns_are_one_column_tested_more_strictly():
    """Three copies of a column have its verdict, its blocks and its estimate."""
    rows, cells, samples = make_vector(3, 12000, [("pareto", "rows")], 945, 400, "stratified")
    sample, n_sample = padded(samples)
    one = answer_rule(stacked(rows), sample, n_sample, 0.99, files=stacked(cells), intervals=("ball",))
    sample, n_sample = padded(samples * 3)
    three = answer_rule(
        stacked(rows * 3),
        sample,
        n_sample,
        0.99,
        files=stacked(cells * 3),
        intervals=("ball",),
        n_columns=3,
    )
    assert one.contradicted.all() and three.contradicted.all()
    assert three.estimate.tolist() == one.estimate.tolist() * 3
    assert np.array_equal(three.ball_means[2], one.ball_means[0])
    assert np.all(three.path_margin > one.path_margin), "each column at a third of the level"


def test_damage_in_one_column_is_screened_out_in_all():
    clean, bad = ("normal", "none"), ("normal", "rows")
    rows, _, samples = make_vector(5, 12000, [clean, bad], 945, 60, "stratified")
    sample, n_sample = padded(samples)
    both = answer_rule(stacked(rows), sample, n_sample, 0.99, n_columns=2)
    assert both.contradicted.all() and both.n_screened_out[0] == both.n_screened_out[1] > 100
    assert np.array_equal(both.block_rows[0], both.block_rows[1])
    apart = answer_rule(stacked(rows), sample, n_sample, 0.99)
    assert apart.contradicted.tolist() == [False, True]  # negative control: as two columns


def test_groups_of_vectors_are_answered_one_by_one():
    made = [
        make_vector(s, 3000, [("normal", "none"), ("pareto", w)], 105, 60, "uneven")
        for s, w in enumerate(("rows", "none", "files", "infinite"))
    ]
    sample, n_sample = padded([s for m in made for s in m[2]])
    rows, cells = ([part for m in made for part in m[i]] for i in (0, 1))
    options = {"intervals": ("order", "cantelli", "ball"), "n_columns": 2}
    whole = answer_rule(stacked(rows), sample, n_sample, 0.99, files=stacked(cells), **options)
    for g in range(4):
        part = slice(2 * g, 2 * g + 2)
        alone = answer_rule(
            stacked(rows[part]), sample[part], n_sample[part], 0.99, files=stacked(cells[part]), **options
        )
        assert np.array_equal(alone.estimate, whole.estimate[part])
        assert np.array_equal(alone.status, whole.status[part])
        assert np.array_equal(alone.ball_spread, whole.ball_spread[part], equal_nan=True)
        width = alone.ball_means.shape[1]
        assert np.array_equal(alone.ball_means, whole.ball_means[part, :width], equal_nan=True)


def test_a_constant_column_does_not_take_the_blocks_of_the_others():
    rows, _, samples = make_vector(
        1, 12000, [("constant", "none"), ("normal", "rows")], 945, 60, "stratified"
    )
    sample, n_sample = padded(samples)
    found = answer_rule(stacked(rows), sample, n_sample, 0.99, n_columns=2, intervals=("ball",))
    assert found.n_blocks[0] == 35 and found.contradicted.all() and found.estimate[0] == 0.1
    assert list(found.ball_reason) == [NoInterval.GIVEN] * 2 and found.constant.tolist() == [True, False]
    assert found.ball_spread[0] == 0.0 < found.ball_spread[1]
    sparse, _, samples = make_vector(1, 12000, [("rare", "none"), ("normal", "rows")], 945, 60, "stratified")
    sample, n_sample = padded(samples)
    found = answer_rule(stacked(sparse), sample, n_sample, 0.99, n_columns=2)
    assert np.isnan(found.path_estimate[:, -1]).all(), "a sparse column limits the levels"
