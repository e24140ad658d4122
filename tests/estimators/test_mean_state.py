"""Saved states: interrupted runs go on, grown lakes are read where they have grown, all bit by bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mean_lakes import cut_work, dirty_lake, results, same, write
from small_leaves import patch_leaves
from state_lakes import Opened, flat_lake, interrupted, some_files, touch
from test_mean_bits import VARIANTS

import distmom as dm
from distmom.estimators.mean import keeper
from distmom.estimators.mean import plan as mean_plan
from distmom.estimators.mean.blocks import fixed_by
from distmom.estimators.options import MeanOptions

FLAT = VARIANTS | {"units of three columns": {"block_by": ["name", "u", "key"], "column": "y"}}  # no folders
GROWS = {
    name: options
    for name, options in FLAT.items()
    if not fixed_by(MeanOptions(**{k: v for k, v in options.items() if k not in ("column", "by", "where")}))
} | {"contamination, given blocks": {"contamination": 2, "n_blocks": 9, "where": "u > 0.1"}}
EACH = pytest.mark.parametrize("options", FLAT.values(), ids=FLAT)
EACH_THAT_GROWS = pytest.mark.parametrize("options", GROWS.values(), ids=GROWS)
N = 11


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flat_lake(tmp_path_factory.mktemp("states") / "lake", N)


def run(lake: Any, options: dict[str, Any], **more: Any) -> Any:
    return dm.mean(lake, **{"column": "x", "rng": 7, "threads": 1, **options, **more})


def facts(found: Any) -> Any:
    return dm.Results.of(found).data["state"]


@EACH
def test_a_state_changes_no_bit_and_is_shown_again_without_reading(
    lake: Path, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run(lake, options)
    state = tmp_path / "s"
    assert same(right, run(lake, options, state=state))
    bytes_before = state.read_bytes()
    opened = Opened(monkeypatch)
    again = run(lake, options, state=state)
    assert same(right, again) and opened.taken() == []
    assert (facts(again)["n_files_before"], facts(again)["n_files_read"]) == (N, 0)
    assert state.read_bytes() == bytes_before
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


@EACH
def test_interrupted_after_any_unit_and_cut_anew(
    lake: Path, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run(lake, options)
    opened = Opened(monkeypatch)
    for after in (1, 4, 8):
        state = tmp_path / f"{after}"
        cut_work(monkeypatch, max_files=1)
        assert interrupted(lake, state, after, **{"column": "x", "rng": 7, "threads": 1, **options})
        opened.taken()
        cut_work(monkeypatch, max_files=3)
        assert same(right, run(lake, options, state=state)), after
        if "where" not in options:  # else rows are counted by reading
            assert len(opened.taken()) <= N - after


@pytest.mark.parametrize("options", [{}, {"by": "key"}, {"order": "stored"}], ids=str)
def test_interrupted_within_a_file(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are cut into leaves, at other places before and after."""
    patch_leaves(monkeypatch)
    monkeypatch.setattr(mean_plan, "LARGE_FILE", 0)
    monkeypatch.setattr(mean_plan, "SHARES", 1_000_000)
    g = np.random.default_rng(0)
    for i, n in enumerate((2_500, 100, 1_100)):
        write(tmp_path / "lake" / f"{i}.parquet", {"x": g.normal(size=n), "key": g.integers(0, 4, n)})
    right = run(tmp_path / "lake", options)
    for after in (1, 2, 3):
        state = tmp_path / f"{after}"
        cut_work(monkeypatch, unit_bytes=6_000)
        assert interrupted(tmp_path / "lake", state, after, column="x", rng=7, threads=1, **options)
        cut_work(monkeypatch, unit_bytes=11_000)
        assert interrupted(tmp_path / "lake", state, 1, column="x", rng=7, threads=1, **options)
        cut_work(monkeypatch, unit_bytes=3_000)
        assert same(right, run(tmp_path / "lake", options, state=state, on_bad_file="skip")), after


@EACH_THAT_GROWS
def test_a_lake_that_grows_at_its_end_gives_the_bits_of_one_run(
    lake: Path, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Opened(monkeypatch)
    some, state = tmp_path / "lake", tmp_path / "s"
    for first, last in ((0, 3), (3, 4), (4, 9), (9, N)):
        some_files(lake, some, range(first, last))
        right = run(some, options)
        opened.taken()
        found = run(some, options, state=state)
        assert same(right, found), (first, last)
        assert opened.taken() == [f"{i:03}.parquet" for i in range(first, last)]
        assert (facts(found)["n_files_before"], facts(found)["n_files_read"]) == (first, last - first)


def test_one_file_a_day_reads_the_bytes_of_one_file(tmp_path: Path) -> None:
    class Counted:
        total = read = 0

        def begin(self, n_units: int, n_bytes: int) -> None:
            self.total += n_bytes

        def advance(self, n_rows: int, n_bytes: int) -> None:
            self.read += n_rows

        def end(self) -> None: ...

    for day in range(20):
        g = np.random.default_rng(day)
        file = write(tmp_path / "lake" / f"day={day:03}" / "a.parquet", {"x": g.normal(size=200 + day)})
        counted = Counted()
        found = dm.mean(tmp_path / "lake", "x", rng=0, state=tmp_path / "s", progress=counted)
        assert counted.read == 200 + day
        assert counted.total <= file.stat().st_size
    assert same(found, dm.mean(tmp_path / "lake", "x", rng=0))


@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=8)
def test_any_history_of_growth_and_interruptions(
    tmp_path_factory: pytest.TempPathFactory, lake: Path, chance: int, max_files: int
) -> None:
    """Files come in any order, runs are cut short anywhere: all counts are those of one run."""
    dice = random.Random(chance)
    folder = tmp_path_factory.mktemp("history")
    order = list(range(N))
    if dice.random() < 0.7:
        dice.shuffle(order)
    ordered = order == sorted(order)
    there, state, some = 0, folder / "s", folder / "lake"
    with pytest.MonkeyPatch.context() as patch:
        while there < N:
            step = dice.randint(1, 4)
            some_files(lake, some, order[there : there + step])
            there += step
            cut_work(patch, max_files=dice.randint(1, max_files))
            if dice.random() < 0.5:
                interrupted(some, state, dice.randint(1, 3), column="x", rng=7, by="key")
        found = run(some, {"by": "key"}, state=state)
    right = run(some, {"by": "key"})
    if ordered:
        assert same(found, right)
    close(found, right)


def close(found: Any, right: Any) -> None:
    """The same counts and blocks, and numbers up to rounding."""
    exact = ("group", "status", "n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_blocks", "block_size")
    for a, b in zip(results(found), results(right), strict=True):
        for name in exact:
            assert getattr(a, name) == getattr(b, name), name
        error = "radius" if isinstance(a, dm.VectorResult) else "interval"
        for name in ("estimate", "plain_estimate", "block_estimates", error):
            values = [np.array(getattr(r, name) or () if name == error else getattr(r, name)) for r in (a, b)]
            assert values[0] == pytest.approx(values[1], rel=1e-12, nan_ok=True), name


@EACH_THAT_GROWS
def test_files_that_come_in_between(lake: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    some, state = tmp_path / "lake", tmp_path / "s"
    for numbers in ((1, 4, 9), (0, 6, 10), (2, 3, 5, 7, 8)):
        some_files(lake, some, numbers)
        found = run(some, options, state=state)
        close(found, run(some, options))
        assert facts(found)["n_files_read"] == len(numbers)


def test_a_run_interrupted_among_late_files(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, cut = tmp_path / "lake", {"column": "x", "rng": 7}
    some_files(lake, some, (2, 5, 8))
    run(some, {}, state=tmp_path / "s")
    some_files(lake, some, (0, 1, 3, 6, 9, 10))
    cut_work(monkeypatch, max_files=1)
    for after in range(1, 6):
        copy = tmp_path / f"{after}"
        copy.write_bytes((tmp_path / "s").read_bytes())
        assert interrupted(some, copy, after, **cut)
        right = tmp_path / f"{after}-right"
        right.write_bytes((tmp_path / "s").read_bytes())
        assert same(run(some, {}, state=copy), run(some, {}, state=right))


def test_files_of_a_lake_may_change_while_it_is_not_read_yet(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unread files hold nothing that is believed: they may go, or be rewritten."""
    some, state = some_files(lake, tmp_path / "lake", range(N)), tmp_path / "s"
    cut_work(monkeypatch, max_files=1)
    assert interrupted(some, state, 3, column="x", rng=7, threads=1)
    (some / "008.parquet").unlink()
    write(some / "009.parquet", {"x": np.arange(5.0)})
    close(run(some, {}, state=state), run(some, {}))


# --- when the lake has changed


def grown(lake: Path, tmp_path: Path, **options: Any) -> tuple[Path, Path]:
    some, state = some_files(lake, tmp_path / "lake", range(6)), tmp_path / "s"
    run(some, options, state=state)
    return some, state


def refused(error: type[Exception], words: list[str], act: Callable[[], Any]) -> None:
    with pytest.raises(error) as caught:
        act()
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text


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
    "scheme='swor'": {"scheme": "swor", "n_blocks": 5, "block_size": 20},
    "order='stored'": {"order": "stored"},
    "block_size=50": {"block_size": 50},
    "scheme='monte_carlo'": {"scheme": "monte_carlo", "n_blocks": 5, "block_size": 20},
    "contamination=0.01, a share,": {"contamination": 0.01},
    "contamination=2 without n_blocks": {"contamination": 2},
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
        ["folders day= of type 'int'", "'text'"],
        lambda: dm.mean(tmp_path / "lake", **options),
    )
    unused = {"column": "x", "state": tmp_path / "t"}
    dm.mean(tmp_path / "lake", rng=0, **unused)


# --- when something else was asked for


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ({"n_blocks": 5}, {}, ["was made with n_blocks=5, now n_blocks='auto'"]),
        ({}, {"n_blocks": 5, "confidence_level": 0.9}, ["n_blocks='auto', now n_blocks=5; use"]),
        ({}, {"column": ["x", "y"]}, ["columns='x', now columns='x', 'y'"]),
        ({}, {"by": "key"}, ["by=nothing, now by='key'"]),
        ({"where": "u > 0.3"}, {}, ["where='u > 0.3', now where=None"]),
        ({"where": "u > 0.3"}, {"where": "u > 0.4"}, ["where='u > 0.3', now where='u > 0.4'"]),
        ({}, {"rng": 8}, ["rng=7, now rng=8"]),
        ({}, {"nan": "keep"}, ["nan='omit', now nan='keep'"]),
        ({"missing": "null"}, {}, ["missing='null', now missing='error'"]),
        ({}, {"order": "stored"}, ["order='random', now order='stored'"]),
        ({}, {"scheme": "swor"}, ["scheme='partition', now scheme='swor'"]),
        ({}, {"block_by": "file"}, ["block_by=None, now block_by='file'"]),
        ({"block_by": "u"}, {"block_by": ["u", "key"]}, ["with block_by='u', now block_by='u', 'key'; use"]),
        ({}, {"chunk_rows": 4}, ["chunk_rows=1, now chunk_rows=4"]),
        ({}, {"fine": "many"}, ["fine='standard', now fine='many'"]),
        (
            {"n_blocks": "paper"},
            {"n_blocks": "paper", "confidence_level": 0.9},
            ["confidence_level=0.99, now"],
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
        ({}, {"interval": "exact"}),
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
            dm.ConfigError, ["files below", str(lake), str(other)], lambda o=other: run(o, {}, state=state)
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
    refused(dm.ConfigError, ["on_change", "state"], lambda: run(lake, {}, on_change="restart"))
    refused(
        dm.ConfigError, ["on_change", "'restart'?"], lambda: run(lake, {}, state="s", on_change="restrat")
    )
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
    run(pattern, {}, state=some / "s")
    refused(dm.ConfigError, ["among the files"], lambda: run(pattern, {}, state=some / "s"))


# --- bad files


def test_files_left_out_are_tried_again(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    whole = (some / "003.parquet").read_bytes()
    (some / "003.parquet").write_bytes(whole[:-20])
    refused(dm.BadFileError, ["003.parquet"], lambda: run(some, {}, state=state))
    skip = {"on_bad_file": "skip"}
    found = run(some, skip, state=state)
    assert same(found, run(some, skip))
    assert [s["file"] for s in found.data["skipped"]] == ["003.parquet"]
    opened = Opened(monkeypatch)
    again = run(some, skip, state=state)
    assert same(found, again) and opened.taken() == ["003.parquet"]
    assert [s["file"] for s in again.data["skipped"]] == ["003.parquet"]
    refused(dm.BadFileError, ["003.parquet"], lambda: run(some, {}, state=state))
    some_files(lake, some, (8, 9))
    assert same(run(some, skip, state=state), run(some, skip)), "the end still grows as it would"
    (some / "003.parquet").write_bytes(whole)
    healed = run(some, {}, state=state)
    close(healed, run(some, {}))
    assert healed.data["skipped"] == [] and healed.data["n_files"] == 10
    (some / "003.parquet").write_bytes(whole[:-20])
    refused(dm.DataError, ["003.parquet (size", "changed since"], lambda: run(some, skip, state=state))


def test_a_bad_file_may_go(lake: Path, tmp_path: Path) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    (some / "003.parquet").write_bytes(b"no Parquet")
    run(some, {"on_bad_file": "skip"}, state=state)
    (some / "003.parquet").unlink()
    found = run(some, {}, state=state)
    close(found, run(some, {}))
    assert found.data["skipped"] == [] and found.data["n_files"] == 7


def test_bad_footers_where_rows_are_counted(lake: Path, tmp_path: Path) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    (some / "003.parquet").write_bytes(b"no Parquet")
    options = {"order": "stored", "on_bad_file": "skip"}
    right = run(some, options)
    for _ in range(2):
        found = run(some, options, state=state)
        assert same(found, right)
        assert [s["file"] for s in found.data["skipped"]] == ["003.parquet"]
    some_files(lake, some, [3])
    refused(dm.DataError, ["003.parquet", "changed"], lambda: run(some, options, state=state))
    assert same(run(some, options, state=state, on_change="restart"), run(some, options))


def test_a_bad_file_may_go_while_the_run_is_interrupted(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    whole = (some / "001.parquet").read_bytes()
    for then in ("gone", "healed"):
        (some / "001.parquet").write_bytes(whole[:-20])
        with monkeypatch.context() as patch:
            cut_work(patch, max_files=1)
            assert interrupted(some, state, 4, column="x", rng=7, threads=1, on_bad_file="skip")
        if then == "gone":
            (some / "001.parquet").unlink()
        else:
            (some / "001.parquet").write_bytes(whole)
        run(some, {}, state=state)
        found = run(some, {}, state=state)
        close(found, run(some, {}))
        assert found.data["skipped"] == []
        state.unlink()


def test_an_error_saves_what_was_read(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, state = some_files(lake, tmp_path / "lake", range(8)), tmp_path / "s"
    whole = (some / "006.parquet").read_bytes()
    (some / "006.parquet").write_bytes(whole[:-20])
    cut_work(monkeypatch, max_files=1)
    opened = Opened(monkeypatch)
    refused(dm.BadFileError, ["006.parquet"], lambda: run(some, {}, state=state))
    (some / "006.parquet").write_bytes(whole)
    opened.taken()
    assert same(run(some, {}, state=state), run(some, {}))
    assert state.exists()


def test_a_run_that_fails_at_once_leaves_no_state(lake: Path, tmp_path: Path) -> None:
    refused(dm.ConfigError, ["nope"], lambda: dm.mean(lake, "nope", state=tmp_path / "s"))
    assert list(tmp_path.iterdir()) == []


def test_without_rows_the_files_are_still_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "lake" / "0.parquet", {"x": np.empty(0)})
    with pytest.raises(dm.NoAnswerError):
        dm.mean(tmp_path / "lake", rng=0, state=tmp_path / "s")
    write(tmp_path / "lake" / "1.parquet", {"x": np.arange(9.0)})
    opened = Opened(monkeypatch)
    found = dm.mean(tmp_path / "lake", state=tmp_path / "s")
    assert opened.taken() == ["1.parquet"]
    assert same(found, dm.mean(tmp_path / "lake", rng=0))


# --- groups


def test_groups_of_every_type_of_key(tmp_path: Path) -> None:
    import datetime
    from decimal import Decimal

    import pyarrow as pa

    day = datetime.date(2024, 2, 29)
    moment = datetime.datetime(2024, 2, 29, 1, 2, 3, 456_789)
    keys: dict[str, pa.Array] = {
        "int": pa.array([2**62 + 1, -5, None]),
        "uint": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "float": pa.array([0.1, float("nan"), float("inf")]),
        "decimal": pa.array([Decimal("1.50"), Decimal("-9.99"), None]),
        "bool": pa.array([True, False, None]),
        "text": pa.array(["", "ü\n'", None]),
        "bytes": pa.array([b"\xff\0", b"", None]),
        "date": pa.array([day, datetime.date(1, 1, 1), None]),
        "moment": pa.array([moment, datetime.datetime(1900, 1, 1), None], pa.timestamp("us")),
        "far": pa.array([2**62, -(2**62), None], pa.timestamp("us")),
        "zoned": pa.array([moment, moment, None], pa.timestamp("us", "UTC")),
        "time": pa.array([moment.time(), datetime.time(0), None], pa.time64("us")),
        "span": pa.array([datetime.timedelta(days=-3, microseconds=1), None, None], pa.duration("us")),
        "nulls": pa.nulls(3),
    }
    for number in range(2):
        columns = {name: array.take(pa.array([0, 1, 2] * 8)) for name, array in keys.items()}
        write(tmp_path / "lake" / f"{number}.parquet", {"x": np.arange(24.0), **columns})
    for by in [*([name] for name in keys), ["text", "date", "float"]]:
        state = tmp_path / "-".join(by)
        right = run(tmp_path / "lake", {"by": by})
        assert same(right, run(tmp_path / "lake", {"by": by}, state=state)), by
        again = run(tmp_path / "lake", {"by": by}, state=state)
        assert same(right, again), by
        assert [list(map(type, r.group.values())) for r in again] == [
            list(map(type, r.group.values())) for r in right
        ]


def test_many_groups(tmp_path: Path) -> None:
    g = np.random.default_rng(3)
    for i in range(4):
        write(
            tmp_path / "lake" / f"{i}.parquet",
            {"x": g.normal(size=4_000), "key": g.integers(0, 1_500, 4_000)},
        )
    options = {"by": "key", "n_blocks": 5}
    some = some_files(tmp_path / "lake", tmp_path / "some", range(3))
    run(some, options, state=tmp_path / "s")
    some_files(tmp_path / "lake", some, [3])
    assert same(run(some, options, state=tmp_path / "s"), run(some, options))


def test_a_state_larger_than_the_memory_allows(lake: Path, tmp_path: Path) -> None:
    run(lake, {}, state=tmp_path / "s")
    refused(
        dm.ResourceError,
        ["state", "memory_limit"],
        lambda: run(lake, {}, state=tmp_path / "s", memory_limit=300_000),
    )


# --- checkpoints


def test_checkpoints_are_written_while_the_run_goes_on(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = []
    honest = keeper.write_state

    def note(path: Path, container: Any) -> None:
        honest(path, container)
        saved.append(path.stat().st_size)

    monkeypatch.setattr(keeper, "write_state", note)
    cut_work(monkeypatch, max_files=1)
    run(lake, {}, state=tmp_path / "quick")
    assert len(saved) == 1
    monkeypatch.setattr(keeper, "EVERY", -1.0)
    monkeypatch.setattr(keeper, "REST", 0)
    saved.clear()
    run(lake, {}, state=tmp_path / "often")
    assert len(saved) == N + 1
    assert (tmp_path / "quick").read_bytes() == (tmp_path / "often").read_bytes()


def test_a_dry_run_tells_what_a_run_would_read(lake: Path, tmp_path: Path) -> None:
    some, state = grown(lake, tmp_path)
    some_files(lake, some, (6, 7))
    before = state.read_bytes()
    plan = dm.explain_mean(some, "x", rng=7, state=state)
    assert (plan["n_files"], plan["n_files_to_read"], state.read_bytes()) == (8, 2, before)
    refused(dm.ConfigError, ["n_blocks"], lambda: dm.explain_mean(some, "x", rng=7, state=state, n_blocks=5))


def test_hive_folders_grow_at_their_end(tmp_path: Path) -> None:
    lake = dirty_lake(tmp_path / "lake", 9)
    state = tmp_path / "s"
    run(lake, {"by": "part"}, state=state)
    write(lake / "part=3" / "000.parquet", {"x": np.arange(40.0), "key": np.arange(40)})
    assert same(run(lake, {"by": "part"}, state=state), run(lake, {"by": "part"}))
