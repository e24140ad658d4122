"""The bits of a group do not depend on which other groups stand beside it, however many blocks these have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rule_groups import make_group, stack
from test_fieller import K, quotients, rule

from distmom.inference.adaptive import answer_rule
from distmom.inference.answers import RAGGED, Intervals
from distmom.inference.fieller import Quotients, fieller_ends

ROWS = (40, 200, 700, 1_500, 4_000, 9_000)
"""Of the groups, whose finest levels have 5 to 945 blocks."""

KINDS = [("pareto", "rows"), ("normal", "moderate"), ("pareto", "one"), ("normal", "none")]
ASKED: dict[str, dict[str, Any]] = {
    "auto": {},
    "vectors": {"intervals": ("order", "cantelli", "ball")},
    "given": {"n_blocks": 315},
    "units": {"block_source": "units"},
    "stored": {"block_source": "stored", "n_blocks": 315},
}


def differing(alone: Any, beside: Any, g: int) -> list[str]:
    """Fields of the answer of one group that are not those of the g-th of several, bit by bit."""
    found = []
    for name, one in vars(alone).items():
        many = getattr(beside, name)
        if isinstance(one, Intervals):
            found += [f"{name}.{inner}" for inner in differing(one, many, g)]
        elif name != "levels":
            mine = many[g : g + 1]
            if name in RAGGED:
                mine = mine[:, : one.shape[1]]
            found += [] if np.array_equal(one, mine, equal_nan=one.dtype.kind == "f") else [name]
    return found


def all_differing(seeds: range, weights: str | None, asked: dict[str, Any]) -> tuple[set[str], int]:
    """Such fields of all groups, and in how many groups blocks were screened out."""
    found, n_aside = set(), 0
    for seed in seeds:
        distribution, outlying = KINDS[seed % len(KINDS)]
        made = [
            make_group(seed + n, n, distribution, outlying, 945, 105, 400, "random", weights) for n in ROWS
        ]
        rows, files, sample, n_sample = stack(made)
        beside = answer_rule(rows, sample, n_sample, 0.99, files=files, **asked)
        n_aside += int(np.count_nonzero(beside.n_screened_out))
        for g in range(len(ROWS)):
            part = slice(g, g + 1)
            given = (rows.at(part), sample[part], n_sample[part])
            found.update(differing(answer_rule(*given, 0.99, files=files.at(part), **asked), beside, g))
    return found, n_aside


@pytest.mark.parametrize("weights", [None, "lognormal"])
@pytest.mark.one_in(2)
def test_groups_beside_wider_ones(weights: str | None) -> None:
    found, n_aside = all_differing(range(4), weights, ASKED["vectors"])
    assert not found and n_aside >= 5


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "lognormal", "heavy", "by value"])
@pytest.mark.parametrize("asked", sorted(ASKED))
def test_groups_beside_wider_ones_whatever_is_asked(asked: str, weights: str | None) -> None:
    found, n_aside = all_differing(range(4, 16), weights, ASKED[asked])
    assert not found and (n_aside >= 10 or "n_blocks" in ASKED[asked])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_ends_of_a_ratio(seed: int) -> None:
    """Each search for an end stops by itself, not with the last of all."""
    means = [5.0, 2.5, 1.6, 40.0]
    blocks, estimate = quotients(np.random.default_rng(seed), means, 1.0), np.full(4, 0.7)
    beside = fieller_ends(blocks, estimate, lambda x, v: rule(4, x, v)).intervals
    for g in range(4):
        mine = slice(g * K, g * K + K)
        one = Quotients(
            blocks.numerator[mine], blocks.denominator[mine], blocks.components[mine], np.zeros(K, np.int64)
        )
        alone = fieller_ends(one, estimate[:1], lambda x, v: rule(1, x, v)).intervals
        assert (
            alone.cantelli_low[0] == beside.cantelli_low[g]
            and alone.cantelli_high[0] == beside.cantelli_high[g]
        )
