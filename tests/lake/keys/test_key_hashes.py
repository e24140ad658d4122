"""Hashes of keys: equal for equal keys of any type, different for others, uniform."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from distmom.lake.keys.encoder import KeyEncoder
from distmom.lake.keys.key_hashes import KeyHashes
from distmom.lake.keys.ranges import RangeEncoder
from distmom.numerics.hash_ranges import ALL_WORDS, HashRange

SEED = 3 << 90


def hashes(values: list[Any], type_: Any, *, compiled: bool = False) -> list[int]:
    found: list[int] = KeyHashes(1, SEED, compiled=compiled).of([pa.array(values, type_)]).tolist()
    return found


NUMBERS: list[Any] = [0, 1, 77, -3, None, 100]


@pytest.mark.parametrize("compiled", [False, True])
def test_equal_numbers_have_one_hash_in_any_type(compiled: bool) -> None:
    first = hashes(NUMBERS, pa.int64(), compiled=compiled)
    assert len(set(first)) == len(NUMBERS)
    types = [pa.int8(), pa.int32(), pa.float32(), pa.float64(), pa.decimal128(6, 2)]
    for type_ in [*types, pa.dictionary(pa.int32(), pa.int64()), pa.dictionary(pa.int8(), pa.float64())]:
        assert hashes(NUMBERS, type_, compiled=compiled) == first
    assert hashes([0, 1, 77], pa.uint64()) == first[:3]
    assert hashes([-0.0], pa.float64()) == first[:1]
    odd = [0.5, float("inf"), 1e300, float("nan")]
    assert hashes(odd, pa.float64()) == hashes(odd, pa.dictionary(pa.int32(), pa.float64()))
    assert hashes([0.5], pa.float64()) == hashes([Decimal("0.5")], pa.decimal128(3, 1))
    assert hashes([2**63 + 2**12], pa.uint64()) == hashes([float(2**63 + 2**12)], pa.float64())


def test_other_keys_have_other_hashes() -> None:
    day = datetime.date(2024, 1, 1)
    kinds = [([1], pa.int64()), (["1"], pa.string()), ([True], pa.bool_()), ([b"1"], pa.binary())]
    found = [
        h
        for values, type_ in [*kinds, ([day], pa.date32()), ([None], pa.null())]
        for h in hashes(values, type_)
    ]
    assert len(set(found)) == len(found)
    pairs = [pa.array([1, 2, 1]), pa.array([2, 1, 1])]
    assert len(set(KeyHashes(2, SEED).of(pairs).tolist())) == 3
    assert hashes(["a"], pa.string()) == hashes(["a"], pa.large_string()) != hashes(["b"], pa.string())


def test_they_are_uniform() -> None:
    shares = np.array(hashes(list(range(40_000)), pa.int64()), np.uint64) / ALL_WORDS
    counts = np.bincount((shares * 20).astype(int), minlength=20)
    # chi-squared with 19 degrees of freedom lies above 60 with probability 4e-6
    assert ((counts - 2_000.0) ** 2 / 2_000.0).sum() < 60.0


def test_a_range_encoder_numbers_the_keys_of_its_range_alone() -> None:
    keys = pa.array([5, 6, 7, 8, 5, None, 6, 9])
    words = KeyHashes(1, SEED).of([keys])
    middle = int(np.sort(words)[4])
    within = HashRange(high=middle)
    encoder = RangeEncoder(KeyEncoder(1, [((1, 9),)]), KeyHashes(1, SEED), within, 1)
    keep = np.array([True] * 7 + [False])
    codes, found = encoder.encode([keys], keep)
    assert (found == words).all() and codes[-1] == -1
    inside = within.holds(words) & keep
    assert (codes[~inside & keep] == encoder.others).all() and (codes[inside] > 1).all()
    met = np.flatnonzero(encoder.inside)
    assert sorted(encoder.keys_of(met)) == sorted(
        {((1, v),) if v else ((0,),) for v in keys.filter(pa.array(inside)).to_pylist()}
    )
    encoder.within = within.narrowed(0.5)
    codes, _ = encoder.encode([keys], None)
    assert (codes[encoder.within.holds(words)] > 1).all()
    assert (codes[~encoder.within.holds(words)] == encoder.others).all()


def test_ranges_follow_each_other_to_the_end() -> None:
    within, n = HashRange().narrowed(0.3), 1
    while not within.last:
        within, low = within.next(within.width), within.high
        assert within.low == low
        n += 1
    assert n == 4 and within.high == ALL_WORDS
