"""Saved states of something else, or of lakes that have changed: told in one line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mean_lakes import same, write
from state_lakes import N, Opened, facts, flat_lake, grown, refused, run, some_files, touch

import distmom as dm


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flat_lake(tmp_path_factory.mktemp("states") / "lake", N)


def remove(some: Path) -> None:
    (some / "003.parquet").unlink()
    (some / "001.parquet").unlink()


def rewrite(some: Path) -> None:
    write(some / "002.parquet", {"x": np.arange(50.0)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (remove, ["2 of its files have gone", "001.parquet", "on_change='restart'"]),
        (rewrite, ["1 of its files has changed since", "002.parquet (size", "on_change='restart'"]),
        (lambda some: touch(some / "005.parquet"), ["005.parquet (rewritten, same size)"]),
        (
            lambda some: (remove(some), rewrite(some)),
            ["has changed", "002.parquet", "and 2 of", "001.parquet"],
        ),
    ],
    ids=["gone", "rewritten", "touched", "both"],
)
def test_files_that_are_gone_or_changed(
    lake: Path, tmp_path: Path, change: Callable[[Path], Any], words: list[str]
) -> None:
    some, state = grown(lake, tmp_path)
    before = state.read_bytes()
    change(some)
    refused(dm.DataError, ["state", str(state), *words], lambda: run(some, {}, state=state))
    assert state.read_bytes() == before
    found = run(some, {}, state=state, on_change="restart")
    assert same(found, run(some, {}))
    assert facts(found)["restarted"] and facts(found)["n_files_before"] == 0
    assert same(found, run(some, {}, state=state)), "and the new state is like any other"


FIXED: dict[str, dict[str, Any]] = {
    "SampledBlocks(5, size=20) makes": {"blocks": dm.SampledBlocks(5, 20)},
    "StoredBlocks() makes": {"blocks": dm.StoredBlocks()},
    "RandomBlocks(size=50) makes": {"blocks": dm.RandomBlocks(size=50)},
    "SampledBlocks(5, size=20, replace=True)": {"blocks": dm.SampledBlocks(5, 20, replace=True)},
    "contamination=2 without a number of blocks": {"contamination": 2},
}


@pytest.mark.parametrize("name", FIXED)
def test_blocks_that_depend_on_the_number_of_rows_take_no_new_files(
    lake: Path, tmp_path: Path, name: str
) -> None:
    options = FIXED[name]
    some, state = grown(lake, tmp_path, **options)
    some_files(lake, some, (7, 8))
    words = [name, "2 new files (first: 007.parquet)", "on_change='restart'"]
    refused(dm.DataError, words, lambda: run(some, options, state=state))
    assert same(run(some, options, state=state, on_change="restart"), run(some, options))


def test_a_folder_that_makes_a_key_a_text(tmp_path: Path) -> None:
    for day in ("1", "2"):
        write(tmp_path / "lake" / f"day={day}" / "a.parquet", {"x": np.arange(50.0)})
    options = {"column": "x", "by": "day", "state": tmp_path / "s"}
    dm.mean(tmp_path / "lake", rng=0, **options)
    write(tmp_path / "lake" / "day=2b" / "a.parquet", {"x": np.arange(50.0)})
    refused(
        dm.ConfigError,
        ["type of folders day= was 'int', now 'text'"],
        lambda: dm.mean(tmp_path / "lake", **options),
    )
    unused = {"column": "x", "state": tmp_path / "t"}
    dm.mean(tmp_path / "lake", rng=0, **unused)


# --- when something else was asked for


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        (
            {"n_blocks": 5},
            {},
            ["was made with other options: blocks was RandomBlocks(5), now RandomBlocks(); use"],
        ),
        (
            {},
            {"n_blocks": 5, "confidence_level": 0.9},
            ["blocks was RandomBlocks(), now RandomBlocks(5); use"],
        ),
        ({}, {"column": ["x", "y"]}, ["columns was 'x', now 'x', 'y'"]),
        ({}, {"by": "key"}, ["by was nothing, now 'key'"]),
        ({"where": "u > 0.3"}, {}, ["where was 'u > 0.3', now None"]),
        ({"where": "u > 0.3"}, {"where": "u > 0.4"}, ["where was 'u > 0.3', now 'u > 0.4'"]),
        ({}, {"rng": 8}, ["rng was 7, now 8"]),
        ({}, {"nan": "keep"}, ["nan was 'omit', now 'keep'"]),
        ({"missing": "null"}, {}, ["missing was 'null', now 'error'"]),
        ({}, {"order": "stored"}, ["blocks was RandomBlocks(), now StoredBlocks()"]),
        ({}, {"scheme": "swor"}, ["blocks was RandomBlocks(), now SampledBlocks()"]),
        ({}, {"block_by": "file"}, ["blocks was RandomBlocks(), now FileBlocks()"]),
        (
            {"block_by": "u"},
            {"block_by": ["u", "key"]},
            ["blocks was UnitBlocks('u'), now UnitBlocks(['u', 'key']); use"],
        ),
        ({}, {"chunk_rows": 4}, ["blocks was RandomBlocks(), now RandomBlocks(chunk_rows=4)"]),
        ({}, {"fine": "many"}, ["blocks was RandomBlocks(), now RandomBlocks(fine='many')"]),
        (
            {"n_blocks": "paper"},
            {"n_blocks": "paper", "confidence_level": 0.9},
            ["confidence_level was 0.99, now"],
        ),
        ({}, {"nan": "keep", "by": "key", "where": "u > 0", "rng": 1}, ["; and 1 more; use the same"]),
    ],
    ids=str,
)
def test_a_state_of_something_else_is_refused_with_the_difference(
    lake: Path, tmp_path: Path, then: dict[str, Any], now: dict[str, Any], words: list[str]
) -> None:
    state = tmp_path / "s"
    run(lake, then, state=state)
    before = state.read_bytes()
    for change in ("error", "restart"):
        again = partial(run, lake, now, state=state, on_change=change)
        refused(dm.ConfigError, ["state", *words], again)
    assert state.read_bytes() == before


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ({}, {"confidence_level": 0.9}),
        ({}, {"interval": "cantelli"}),
        ({}, {"on_bad_file": "skip"}),
        ({}, {"threads": 2, "batch_rows": 7, "memory_limit": "3GB"}),
        ({"n_blocks": 945}, {}),
        ({"where": "u > 0.3"}, {"where": "(u>0.3)"}),
        (
            {"scheme": "swor", "n_blocks": 5, "block_size": 20},
            {"scheme": "swor", "n_blocks": 5, "block_size": 20, "confidence_level": 0.9},
        ),
    ],
    ids=str,
)
def test_options_that_only_shape_the_answer_may_change(
    lake: Path, tmp_path: Path, then: dict[str, Any], now: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(lake, then, state=tmp_path / "s")
    opened = Opened(monkeypatch)
    found = run(lake, now, state=tmp_path / "s")
    assert opened.taken() == []
    assert same(found, run(lake, now))


def test_an_arrow_expression_is_known_again(lake: Path, tmp_path: Path) -> None:
    import pyarrow.compute as pc

    long = list(range(60))
    state = tmp_path / "s"
    right = run(lake, {"where": pc.field("key").isin(long)}, state=state)
    assert same(right, run(lake, {"where": pc.field("key").isin(long)}, state=state))
    other = pc.field("key").isin([*long[:30], 77, *long[31:]])  # which Arrow prints alike
    refused(dm.ConfigError, ["where"], lambda: run(lake, {"where": other}, state=state))


def test_another_root_is_another_lake(lake: Path, tmp_path: Path) -> None:
    state = tmp_path / "s"
    run(lake, {}, state=state)
    for other in (some_files(lake, tmp_path / "copy", range(N)), lake.parent):
        refused(
            dm.ConfigError,
            ["folder of the files", str(lake), str(other)],
            lambda o=other: run(o, {}, state=state),
        )
    assert same(run(f"{lake}/*.parquet", {}, state=state), run(lake, {}, state=state))


def test_without_a_seed_that_of_the_state_goes_on(lake: Path, tmp_path: Path) -> None:
    first = run(lake, {}, rng=None, state=tmp_path / "s")
    second = run(lake, {}, rng=None, state=tmp_path / "s")
    assert same(first, second) and first.run["seed"] == second.run["seed"]
    assert same(first, run(lake, {}, rng=first.run["seed"], state=tmp_path / "s"))


def test_what_cannot_have_a_state(lake: Path, tmp_path: Path) -> None:
    x = np.arange(100.0)
    refused(dm.ConfigError, ["state", "memory", "MeanAccumulator"], lambda: dm.mean(x, state=tmp_path / "s"))
    refused(dm.ConfigError, ["on_change", "'restart'?"], lambda: dm.State("s", on_change="restrat"))
    refused(dm.ConfigError, ["state", "no folder"], lambda: run(lake, {}, state=tmp_path / "no" / "s"))
    refused(dm.ConfigError, ["state", "a folder of that name"], lambda: run(lake, {}, state=tmp_path))
    for wrong in ("", 3, "a\0b"):
        refused(dm.ConfigError, ["state"], lambda w=wrong: run(lake, {}, state=w))
    assert list(tmp_path.iterdir()) == []


def test_a_state_among_the_files_that_it_is_of(lake: Path, tmp_path: Path) -> None:
    some = some_files(lake, tmp_path / "lake", range(3))
    run(some, {}, state=some / "_state")
    run(some, {}, state=some / "_state")
    assert not {*tmp_path.iterdir()} - {some}
    refused(dm.ConfigError, ["among the files", "'_'"], lambda: run(some, {}, state=some / "s"))
    assert not (some / "s").exists()
    pattern = f"{some}/*"
    refused(dm.ConfigError, ["among the files"], lambda: run(pattern, {}, state=some / "s"))
    assert not (some / "s").exists()
