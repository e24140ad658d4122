"""Block designs check themselves, print as the call that makes them, and have short forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import distmom as dm
from distmom.designs.blocks import DESIGNS, as_design

ALL = [
    dm.RandomBlocks(),
    dm.RandomBlocks(101),
    dm.RandomBlocks("paper"),
    dm.RandomBlocks(size=400, chunk_rows=10),
    dm.RandomBlocks(11, repeats=5),
    dm.RandomBlocks(fine="many"),
    dm.StoredBlocks(),
    dm.StoredBlocks(size=1_000),
    dm.UnitBlocks("user"),
    dm.UnitBlocks(["month", "day"], 31),
    dm.FileBlocks(),
    dm.FileBlocks(9),
    dm.SampledBlocks(),
    dm.SampledBlocks(35, 2_000),
    dm.SampledBlocks(tau=0.3, replace=True),
]


@pytest.mark.parametrize("design", ALL, ids=repr)
def test_a_design_prints_as_the_call_that_makes_it(design: Any) -> None:
    again = eval(repr(design), {one.__name__: one for one in DESIGNS})
    assert again == design and repr(again) == repr(design) and hash(again) == hash(design)


def test_designs_are_frozen_and_numbers_of_numpy_are_numbers() -> None:
    design = dm.RandomBlocks(np.int64(7))  # type: ignore[arg-type]
    assert type(design.n) is int
    with pytest.raises(AttributeError):
        design.n = 9  # type: ignore[misc]


def test_short_forms() -> None:
    assert as_design("auto") == dm.RandomBlocks() and not as_design("auto").fixed
    assert as_design("paper") == dm.RandomBlocks("paper")
    assert as_design(np.int32(7)) == dm.RandomBlocks(7) and as_design(7).fixed
    assert as_design(dm.FileBlocks(5)) == dm.FileBlocks(5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dm.RandomBlocks("papers"), ["RandomBlocks: n", "did you mean 'paper'?"]),
        (lambda: dm.RandomBlocks(0), ["RandomBlocks: n", "at least 1", "0"]),
        (lambda: dm.RandomBlocks(2.5), ["RandomBlocks: n", "2.5"]),
        (lambda: dm.RandomBlocks(True), ["RandomBlocks: n", "True"]),
        (lambda: dm.RandomBlocks(None), ["RandomBlocks: n", "None"]),
        (lambda: dm.RandomBlocks(10**7), ["RandomBlocks: n", "1,000,000", "10,000,000"]),
        (lambda: dm.RandomBlocks(size=0), ["size", "at least 1"]),
        (lambda: dm.RandomBlocks(9, size=50), ["n and size", "drop one"]),
        (lambda: dm.RandomBlocks(chunk_rows=0), ["chunk_rows", "at least 1"]),
        (lambda: dm.RandomBlocks(chunk_rows=1 << 50), ["chunk_rows", "at most"]),
        (lambda: dm.RandomBlocks(repeats=0), ["repeats", "at least 1"]),
        (lambda: dm.RandomBlocks(repeats=3, chunk_rows=3), ["repeats", "chunk_rows"]),
        (lambda: dm.RandomBlocks(fine="more"), ["fine", "'more'"]),
        (lambda: dm.RandomBlocks(9, fine="many"), ["fine", "drop one"]),
        (lambda: dm.StoredBlocks(9, 50), ["StoredBlocks", "n and size"]),
        (lambda: dm.UnitBlocks([]), ["UnitBlocks: columns", "FileBlocks"]),
        (lambda: dm.UnitBlocks(5), ["UnitBlocks: columns", "5"]),
        (lambda: dm.UnitBlocks(["u", "u"]), ["UnitBlocks: columns", "twice"]),
        (lambda: dm.SampledBlocks(tau=0.5), ["tau", "0.5", "such as 0.45"]),
        (lambda: dm.SampledBlocks(5, 50, tau=0.3), ["tau", "n and size"]),
        (lambda: dm.SampledBlocks("auto"), ["SampledBlocks: n", "'auto'"]),
        (lambda: dm.SampledBlocks(5, replace=1), ["replace", "1"]),
        (lambda: as_design("file"), ["blocks", "'file'", "FileBlocks()"]),
        (lambda: as_design("sensor"), ["blocks", "UnitBlocks('sensor')"]),
        (lambda: as_design("autp"), ["blocks", "'auto'"]),
        (lambda: as_design(dm.FileBlocks), ["blocks", "is a class", "FileBlocks(…)"]),
        (lambda: as_design(True), ["blocks", "True"]),
        (lambda: as_design(2.5), ["blocks", "2.5"]),
        (lambda: as_design(0), ["blocks", "at least 1"]),
        (lambda: dm.SampledPairs(0), ["SampledPairs: n", "at least 1"]),
        (lambda: dm.CompletePairs(0.5), ["CompletePairs: budget", "0.5"]),
        (lambda: dm.Permutations(0), ["Permutations: n", "at least 1"]),
        (lambda: dm.Match(distance="near"), ["Match: distance", "'near'"]),
        (lambda: dm.Match(beta_r=-1.0), ["Match: beta_r", "-1.0"]),
        (lambda: dm.Loss("huber", float("nan")), ["Loss: parameter", "nan"]),
    ],
)
def test_what_is_wrong_ends_in_one_line(make: Any, words: list[str]) -> None:
    with pytest.raises(dm.ConfigError) as caught:
        make()
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text
