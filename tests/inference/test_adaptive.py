"""The vectorised rule against its slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
import rule_twin
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_groups import DISTRIBUTIONS, OUTLYING, WEIGHTS, make_group, stack

from distmom.inference.adaptive import answer_rule
from distmom.inference.status import NoInterval, flags_of
from distmom.theory.partition import unequal_factor

PROPERTY = settings(derandomize=True, deadline=None)


def lists(moments):
    """Blocks as the twin has them."""
    if len(moments) == 3:
        return [(int(a), float(b), float(c)) for a, b, c in zip(*moments, strict=True)]
    return [
        (int(n), float(mean), float(m2), float(w), float(w2), float(mean2))
        for n, w, mean, w2, mean2, m2 in zip(*moments, strict=True)
    ]


def close(a, b, scale):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-11 * scale


WHY = {
    "": NoInterval.GIVEN,
    "plain": NoInterval.SAMPLE_MEAN,
    "no answer": NoInterval.NO_ANSWER,
    "fewer rows": NoInterval.FEWER_ROWS_THAN_BLOCKS,
    "constant": NoInterval.CONSTANT_BLOCKS,
    "few": NoInterval.TOO_FEW_BLOCKS,
    "vacuous": NoInterval.VACUOUS,
    "non-finite ends": NoInterval.NON_FINITE_ENDS,
}


def compare(found, g, want, confidence, rows):
    """All that the package says about group g is what the twin says."""
    # means are taken about the middle one of the blocks: to its precision, where weights make them tiny
    middle = rule_twin.lower_median(abs(b[1]) for b in rows if len(b) > 3 and b[0] and math.isfinite(b[1]))
    some = (want.get("row_estimate", 0.0), want.get("estimate", 0.0), middle)
    scale = max((abs(v) for v in some if math.isfinite(v)), default=0)
    words = set(flags_of(found.status[g]))
    assert words == want["status"]
    assert found.n_used[g] == want["n"]
    if want["n"] == 0:
        assert np.isnan(found.estimate[g]) and found.n_blocks[g] == 0
        return
    assert close(found.plain_estimate[g], want["plain"], scale)
    assert bool(found.constant[g]) == want["constant"]
    assert close(found.estimate[g], want["estimate"], scale)
    assert found.n_blocks[g] == want["k"]
    assert bool(found.files_first[g]) == want["files_first"]
    assert set(np.flatnonzero(found.suspect_cells[g])) == want["suspects"]
    assert close(found.file_estimate[g], want.get("file_estimate", math.nan), scale)
    assert close(found.file_margin[g], want.get("file_h", math.nan), scale)
    if "row" in want:
        row, shown = want["row"], want["shown"]
        assert found.k_hat[g] == row["k_hat"]
        assert bool(found.contradicted[g]) == row["contradicted"]
        assert found.n_screened_out[g] == want["n_screened_out"]
        assert found.n_non_finite[g] == want["n_non_finite"]
        usable = [list(found.levels).index(k) for k in row["levels"]]
        for column in range(found.levels.size):
            at = usable.index(column) if column in usable else None
            assert close(
                found.path_estimate[g, column], math.nan if at is None else row["medians"][at], scale
            )
            assert close(found.path_margin[g, column], math.nan if at is None else row["h"][at], scale)
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
    assert got.cantelli_reason[g] == WHY[want["why"][1]]
    if not want["cantelli"]:
        assert (
            np.isnan(got.cantelli_low[g]) and np.isnan(got.cantelli_centre[g]) and got.cantelli_blocks[g] == 0
        )
        return
    low, high, centre, k = want["cantelli"]
    assert close(got.cantelli_centre[g], centre, scale) and got.cantelli_blocks[g] == k
    if low == "unequal":  # never below the Poisson-binomial bound, and not far above it
        sizes, non_finite = want["shown"]["unequal"]
        sharp = unequal_factor(sizes, 1 - confidence, non_finite)
        half = 0.5 * (got.cantelli_high[g] - got.cantelli_low[g])
        assert high * sharp * (1 - 1e-6) - 1e-11 * scale <= half <= 1.062 * high * sharp + 1e-9 * scale
    else:
        assert close(got.cantelli_low[g], low, scale + high - low) and close(
            got.cantelli_high[g], high, scale + high - low
        )


weighted = st.one_of(st.none(), st.sampled_from(sorted(WEIGHTS)))
group_args = st.tuples(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 2, 7, 39, 40, 63, 200, 500, 1500, 3000, 12000]),
    st.sampled_from(sorted(DISTRIBUTIONS)),
    st.sampled_from(sorted(OUTLYING)),
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
    weighted,
)
def test_automatic_rule_is_its_twin(groups, n_fine, n_cells, n_files, deal, source, confidence, weights):
    made = [make_group(*args, n_fine, n_cells, n_files, deal, weights) for args in groups]
    rows, files, sample, n_sample = stack(made)
    found = answer_rule(rows, sample, n_sample, confidence, files=files, block_source=source)
    for g, (row_part, file_part, x) in enumerate(made):
        want = rule_twin.rule(lists(row_part), list(x), confidence, lists(file_part), source=source)
        if source == "units":
            want["suspects"] = set()
        else:
            assert found.suspect_cells.shape == (len(made), n_cells)
        compare(found, g, want, confidence, lists(row_part))


@PROPERTY
@given(
    st.lists(group_args, min_size=1, max_size=5),
    st.sampled_from([(1, 105), (2, 90), (5, 105), (7, 105), (10, 110), (21, 105), (35, 945), (101, 909)]),
    st.sampled_from([1, 60, 400]),
    st.sampled_from(["stratified", "random", "uneven"]),
    st.sampled_from(["rows", "units", "stored"]),
    st.sampled_from([0.9, 0.99, 0.7]),
    weighted,
)
def test_given_number_is_its_twin(groups, numbers, n_files, deal, source, confidence, weights):
    k, n_fine = numbers
    made = [make_group(*args, n_fine, 105, n_files, deal, weights) for args in groups]
    rows, files, sample, n_sample = stack(made)
    found = answer_rule(rows, sample, n_sample, confidence, files=files, n_blocks=k, block_source=source)
    for g, (row_part, file_part, x) in enumerate(made):
        want = rule_twin.rule(lists(row_part), list(x), confidence, lists(file_part), k, source)
        compare(found, g, want, confidence, lists(row_part))
        assert found.lowered[g] == (0 < want["n"] < k)


def test_the_examples_reach_every_status_and_reason():
    """The twin tests above would be worth little if they saw only quiet groups."""
    seen, reasons = set(), set()
    for seed, outlying in enumerate(sorted(OUTLYING) * 4):
        distribution = sorted(DISTRIBUTIONS)[seed % len(DISTRIBUTIONS)]
        n = [0, 3, 500, 1500, 12000][seed % 5]
        made = [make_group(seed, n, distribution, outlying, 105, 105, [60, 400][seed % 2], "stratified")]
        rows, files, sample, n_sample = stack(made)
        for k in ("auto", 7, 35):
            found = answer_rule(rows, sample, n_sample, 0.99, files=files, n_blocks=k)
            seen |= set(flags_of(found.status[0])) or {"ok"}
            reasons |= {int(found.intervals.order_reason[0]), int(found.intervals.cantelli_reason[0])}
    assert seen >= {
        "ok", "no rows", "no finite answer", "breakdown point exceeded", "files disagree", "contaminated",
        "dominated by few rows", "sample mean, no guarantee",
    }  # fmt: skip
    assert reasons >= {0, *(int(r) for r in list(NoInterval)[2:7])}
