"""Philox words, uniform numbers, bounded integers and permutations: frozen, exact, and uniform."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.numerics.random.philox import (
    bounded32,
    bounded64,
    bounded_in_order,
    closed_open,
    open_closed,
    permutation,
    philox,
    take_in_order,
    uniform,
    words,
)

KEY = 0x0123456789ABCDEF
FAILURE = 1e-6  # chance that a correct sampler fails one test, had its seed been drawn anew

properties = settings(derandomize=True, deadline=None)
bits64 = st.integers(0, 2**64 - 1)
address = st.tuples(bits64, st.integers(0, 2**32 - 1), bits64)


def slow_philox(counter, key):
    """The paper's definition on Python integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 % 2**32, (p0 >> 32) ^ c[3] ^ k[1], p0 % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def slow_word(key, block, node, place):
    c = slow_philox((place // 2, block, node % 2**32, node >> 32), (key % 2**32, key >> 32))
    return c[2 * (place % 2)] | c[2 * (place % 2) + 1] << 32


def integers(key, block, bound, size, *, node=0):
    return bounded_in_order(key, block, node, np.full(size, bound, np.uint64))


def slow_integers(key, block, node, bounds):
    place, out = 0, []
    for bound in bounds:
        while True:
            product = slow_word(key, block, node, place) * bound
            place += 1
            if product % 2**64 >= 2**64 % bound:
                break
        out.append(product >> 64)
    return out


def one(value):
    return np.array([value], dtype=np.uint64)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers_of_philox(counter, key, expected):
    got = philox(key[0] | key[1] << 32, one(counter[0]), one(counter[1]), one(counter[2] | counter[3] << 32))
    assert tuple(int(w[0]) for w in got) == expected
    assert tuple(slow_philox(counter, key)) == expected


def test_words_are_frozen():
    assert [f"{w:016x}" for w in words(KEY, 3, 5, node=2**40 + 7)] == FROZEN_WORDS


@properties
@given(address, st.integers(0, 50), st.integers(0, 20))
def test_words_follow_the_definition_from_any_place(where, first, size):
    key, block, node = where
    slow = [slow_word(key, block, node, first + i) for i in range(size)]
    assert words(key, block, size, node=node, first=first).tolist() == slow


def test_addresses_do_not_share_words():
    starts = [words(KEY, b, 4, node=n, first=f) for b in (0, 1) for n in (0, 1, 2**32) for f in (0, 4)]
    starts.append(words(KEY + 1, 0, 4))
    assert len(set(np.concatenate(starts).tolist())) == 4 * len(starts)


@pytest.mark.parametrize(("block", "node"), [(-1, 0), (2**32, 0), (0, -1), (0, 2**64)])
def test_addresses_out_of_range_are_refused(block, node):
    for draw in (words, uniform, permutation):
        with pytest.raises(ValueError, match="a block has 32 bits"):
            draw(KEY, block, 3, node=node)


def test_an_exhausted_stream_is_refused():
    assert words(KEY, 0, 2, first=2**33 - 2).size == 2
    with pytest.raises(ValueError, match="2\\*\\*33 words"):
        words(KEY, 0, 3, first=2**33 - 2)


def test_uniform_numbers_are_frozen_and_within_their_ends():
    assert uniform(KEY, 1, 3).tolist() == FROZEN_UNIFORM
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert closed_open(ends).tolist() == [0.0, 1.0 - 2.0**-53]
    assert open_closed(ends).tolist() == [2.0**-53, 1.0]


def test_uniform_numbers_are_uniform():
    draws = uniform(KEY, 2, 200_000)
    assert stats.kstest(draws, "uniform").pvalue > FAILURE
    assert stats.kstest(draws**1.02, "uniform").pvalue < FAILURE  # negative control
    serial = np.corrcoef(draws[:-1], draws[1:])[0, 1]
    assert abs(serial) < stats.norm.isf(FAILURE / 2) / math.sqrt(draws.size)


def test_integers_are_frozen():
    assert integers(KEY, 0, 10, 12).tolist() == FROZEN_DIGITS
    assert integers(KEY, 0, 10**15, 3).tolist() == FROZEN_BIG


@properties
@given(address, st.one_of(st.integers(1, 100), st.integers(1, 2**63 - 1), st.just(3 << 61)))
def test_integers_follow_the_definition_with_its_rejections(where, bound):
    key, block, node = where
    slow = slow_integers(key, block, node, [bound] * 12)
    assert integers(key, block, bound, 12, node=node).tolist() == slow


@pytest.mark.parametrize("n", [12_000, pytest.param(60_000, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_bound_with_many_rejections_is_uniform(n):
    """A quarter of the words is rejected for 3 * 2**61; plain multiplication would favour some thirds."""
    bound = 3 << 61
    draws = integers(KEY, 4, bound, n)
    assert stats.chisquare(np.bincount(draws >> 61, minlength=3)).pvalue > FAILURE
    third = np.bincount(draws % 3, minlength=3)
    assert stats.chisquare(third).pvalue > FAILURE
    unrejected, _ = bounded64(words(KEY, 4, n), np.full(n, bound, dtype=np.uint64))
    biased = np.bincount((unrejected % np.uint64(3)).astype(int), minlength=3)
    assert stats.chisquare(biased).pvalue < FAILURE  # negative control


@properties
@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 2**32)), min_size=1, max_size=50))
def test_bounded_32_bit_numbers_are_lemires(pairs):
    word, bound = (np.array(column, dtype=np.uint64) for column in zip(*pairs, strict=True))
    numbers, accepted = bounded32(word, bound)
    assert numbers.tolist() == [w * b >> 32 for w, b in pairs]
    assert accepted.tolist() == [w * b % 2**32 >= 2**32 % b for w, b in pairs]


@properties
@given(st.integers(0, 2**32), st.integers(0, 60))
def test_rejected_words_are_skipped_in_order(seed, size):
    stream = np.random.default_rng(seed).integers(0, 2**32, 1000, dtype=np.uint64)
    bounds = np.full(size, 3 << 30, dtype=np.uint64)
    accepted = [int(w) * (3 << 30) >> 32 for w in stream if int(w) * (3 << 30) % 2**32 >= 1 << 30]
    got = take_in_order(lambda first, n: stream[first : first + n], bounds, bounded32)
    assert got.tolist() == accepted[:size]


def test_permutations_are_frozen():
    assert permutation(KEY, 0, 10).tolist() == FROZEN_PERMUTATION


@properties
@given(address, st.integers(0, 40))
def test_permutations_are_fisher_yates(where, n):
    key, block, node = where
    order = list(range(n))
    for last, partner in zip(
        range(n - 1, 0, -1), slow_integers(key, block, node, range(n, 1, -1)), strict=True
    ):
        order[last], order[partner] = order[partner], order[last]
    for compiled in (False, True):
        assert permutation(key, block, n, node=node, compiled=compiled).tolist() == order


@pytest.mark.slow
def test_all_permutations_are_equally_likely():
    def chi2_pvalue(draw):
        seen = Counter(draw(block) for block in range(12_000))
        return stats.chisquare([seen[p] for p in permutations(range(4))]).pvalue

    def naive(block):
        """Swaps every place with any other one: 4**4 outcomes cannot spread evenly over 24 orders."""
        order = list(range(4))
        for place, partner in enumerate(integers(KEY, block, 4, 4).tolist()):
            order[place], order[partner] = order[partner], order[place]
        return tuple(order)

    assert chi2_pvalue(lambda block: tuple(permutation(KEY, block, 4, compiled=True).tolist())) > FAILURE
    assert chi2_pvalue(naive) < FAILURE  # negative control


FROZEN_WORDS = [
    "ef23aeb580b0213b",
    "93c149a074f9f331",
    "3f3ceca20391d46c",
    "041a7652f39bb1d3",
    "576e3e09620aa60c",
]
FROZEN_UNIFORM = [0.3510322218874121, 0.3638895660672241, 0.3746204849536565]
FROZEN_DIGITS = [7, 4, 3, 6, 5, 1, 4, 9, 8, 6, 8, 9]
FROZEN_BIG = [771677988516160, 478591917334283, 321259350906793]
FROZEN_PERMUTATION = [6, 5, 9, 1, 0, 3, 8, 2, 4, 7]
