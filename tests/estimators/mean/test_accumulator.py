"""Streams of rows: the same bits in any pieces, saved at any row, merged under names of their own."""

from __future__ import annotations

import datetime
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mean_lakes import same, write
from small_leaves import LEAF, patch_leaves
from state_lakes import close, refused

import distmom as dm
from distmom.estimators.mean import accumulator as room

OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "two columns": {"columns": ["x", "y"]},
    "groups": {"by": "key"},
    "two keys and a filter": {"by": ["name", "key"], "where": "u > 0.3"},
    "NaN kept": {"nan": "keep", "blocks": 301},
    "seven blocks": {"blocks": 7},
    "paper": {"blocks": "paper", "interval": "closed-form"},
    "many fine blocks": {"blocks": dm.RandomBlocks(fine="many")},
    "repeated": {"blocks": dm.RandomBlocks(repeats=3)},
    "repeated, grouped": {"blocks": dm.RandomBlocks(repeats=2), "by": "key"},
    "contamination": {"contamination": 2, "blocks": 45},
    "chunks": {"blocks": dm.RandomBlocks(chunk_rows=7)},
    "units": {"blocks": dm.UnitBlocks("u")},
    "units of two columns, groups": {"blocks": dm.UnitBlocks(["name", "u"]), "by": "key", "where": "u > 0.1"},
    "contaminated units": {"blocks": dm.UnitBlocks("u"), "contamination": 2},
    "vectors": {"columns": ["x", "y"], "joint": True},
    "vectors by coordinates, groups": {"columns": ["x", "y"], "joint": "coordinatewise", "by": "key"},
    "lists": {"columns": "v", "joint": True},
    "lists of fixed size beside numbers, groups and a filter": {
        "columns": ["y", "f"],
        "joint": "coordinatewise",
        "by": "key",
        "where": "u > 0.3",
    },
}
EACH = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def rows(n: int = 1_500, seed: int = 0) -> pa.Table:
    g = np.random.default_rng(seed)
    x = g.standard_t(3, n) + 1.0
    x[g.random(n) < 0.03] = np.nan
    columns = {
        "x": pa.array(x, mask=g.random(n) < 0.05),
        "y": g.normal(10.0, 1.0, n),
        "key": pa.array(g.integers(0, 4, n), mask=g.random(n) < 0.1),
        "name": g.choice(["a", "b", "ü"], n),
        "u": g.random(n),
    }
    cloud = g.standard_t(3, (n, 3))
    null = g.random(n) < 0.05
    null[0] = False  # the first row tells how long lists are
    columns["v"] = pa.array([None if gone else list(row) for gone, row in zip(null, cloud, strict=True)])
    columns["f"] = columns["v"].cast(pa.list_(pa.float64(), 3))
    return pa.table(columns)


ROWS = rows()


def stream(options: dict[str, Any], **more: Any) -> dm.MeanAccumulator:
    return dm.MeanAccumulator(**{"columns": "x", "rng": 7, **options, **more})


def whole(data: Any, options: dict[str, Any]) -> Any:
    options = {"columns": "x", "rng": 7, **options}
    scan = dm.scan(data, nan=options.pop("nan", "omit"))
    return dm.mean(scan, options.pop("columns"), **options)


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_leaves(monkeypatch)


@EACH
@pytest.mark.one_in(12)
def test_any_pieces_give_the_bits_of_the_whole(options: dict[str, Any]) -> None:
    right = whole(ROWS, options)
    for sizes in ([1] * 40 + [700] * 3, [LEAF] * 30, [7] * 60 + [2_000], [8 * LEAF, 3, 2_000]):
        mine, start = stream(options), 0
        for size in sizes:
            mine.update(ROWS.slice(start, size))
            start += size
        assert mine.n_rows == 1_500
        assert same(mine.result(), right), sizes[:3]
        assert same(mine.result(), right), "and may be asked again"


@given(st.integers(0, 2**32), st.sampled_from(sorted(OPTIONS)))
@settings(max_examples=8)
def test_saved_and_asked_at_any_row(chance: int, name: str) -> None:
    dice, options = random.Random(chance), OPTIONS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch_leaves(patch)
        patch.setattr(room, "COMPILED_ROWS", dice.choice([0, 1 << 20]))
        mine, start = stream(options), 0
        while start < ROWS.num_rows:
            stop = start + dice.choice([0, 1, 5, LEAF - 1, LEAF, 200, 900])
            mine.update(ROWS.slice(start, stop - start))
            start = stop
            if dice.random() < 0.3:
                mine = dm.MeanAccumulator.from_bytes(mine.to_bytes())
            if dice.random() < 0.3 and start > 100:
                assert same(mine.result(), whole(ROWS.slice(0, start), options))
        assert same(mine.result(), whole(ROWS, options))


def test_a_stream_with_a_name_is_a_file_of_that_name(tmp_path: Path) -> None:
    write(tmp_path / "day=1" / "a.parquet", ROWS)
    write(tmp_path / "day=2" / "b.parquet", ROWS.slice(0, 3))
    right = dm.mean([tmp_path / "day=1", tmp_path / "day=2"], "x", rng=7, where="day = 1")
    mine = stream({}, name="day=1/a.parquet")
    mine.update(ROWS)
    assert same(mine.result(), right)


def test_batches_of_every_kind() -> None:
    x = np.arange(300.0)
    right = dm.mean(x, rng=7)
    for batch in (
        x,
        x.astype(np.int32),
        pa.array(x),
        {"x": x},
        pa.table({"x": x}),
        list(x),
        Frame(pa.table({"x": x})),
    ):
        mine = stream({})
        mine.update(batch)
        assert same(mine.result(), right), type(batch)
    two = stream({"columns": ["0", "1"]})
    two.update(np.column_stack([x, -x]))
    assert [r.plain_estimate for r in two.result()] == [149.5, -149.5]


class Frame:
    """Nothing but the Arrow PyCapsule interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def test_what_was_given_may_be_used_again() -> None:
    x = np.arange(30.0)
    mine = stream({})
    for _ in range(5):
        mine.update(x)
        x += 30.0
    assert same(mine.result(), dm.mean(np.arange(150.0), rng=7))


def test_keys_of_every_type_are_pending_too() -> None:
    day, moment = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3)
    keys = {
        "int": [2**62, None],
        "float": [0.5, float("nan")],
        "bool": [True, None],
        "text": ["ü", None],
        "bytes": [b"\xff", None],
        "day": [day, None],
        "moment": [moment, None],
    }
    for name, values in keys.items():
        table = pa.table({"x": np.arange(20.0), "k": pa.array(values * 10)})
        mine = stream({"by": "k"})
        mine.update(table.slice(0, 11))
        mine = dm.MeanAccumulator.from_bytes(mine.to_bytes())
        mine.update(table.slice(11))
        assert same(mine.result(), dm.mean(table, "x", by="k", rng=7)), name


def test_many_groups_in_small_pieces() -> None:
    g = np.random.default_rng(0)
    table = pa.table(
        {"x": g.normal(size=3_000), "k": g.integers(0, 700, 3_000), "l": g.integers(0, 3, 3_000)}
    )
    mine = stream({"by": ["k", "l"], "blocks": 5})
    for start in range(0, 3_000, 123):
        mine.update(table.slice(start, 123))
        if start % 2:
            mine = dm.MeanAccumulator.from_bytes(mine.to_bytes())
    assert same(mine.result(), dm.mean(table, "x", by=["k", "l"], rng=7, blocks=5))


# --- several streams


@EACH
@pytest.mark.one_in(12)
def test_streams_merge_to_the_lake_of_their_files(options: dict[str, Any], tmp_path: Path) -> None:
    streams = []
    for number in range(12):
        table = rows(40 + 30 * number, number)
        write(tmp_path / "lake" / f"{number:02}", table)
        streams.append(stream(options, name=f"{number:02}"))
        streams[-1].update(table)
    right = whole(tmp_path / "lake", options)
    random.Random(1).shuffle(streams)
    first, second = streams[0], streams[6]
    for other in streams[1:6]:
        first.merge(other)
    for other in streams[7:]:
        second.merge(dm.MeanAccumulator.from_bytes(other.to_bytes()))
    first.merge(second)
    close(first.result(), right)
    assert sorted(first.names) == [f"{number:02}" for number in range(12)]
    again = dm.MeanAccumulator.from_bytes(first.to_bytes())
    assert same(again.result(), first.result()) and again.names == first.names
    assert dm.Results.of(first.result()).data["n_files"] == 12
    (tmp_path / "acc").write_bytes(first.to_bytes())
    assert same(dm.merge_states(tmp_path / "acc"), first.result())


def test_a_stream_goes_on_after_others_were_merged() -> None:
    one, other = stream({}, name="a"), stream({}, name="b")
    one.update(ROWS.slice(0, 100))
    other.update(rows(200, 1))
    before = other.result()
    one.merge(other)
    one.update(ROWS.slice(100))
    other.update(rows(10, 2))
    assert one.result().n_rows == 1_700
    assert before.n_rows == 200 and other.result().n_rows == 210
    late = stream({}, name="a")
    late.update(ROWS)
    fresh = stream({}, name="b")
    fresh.update(rows(200, 1))
    late.merge(fresh)
    assert same(one.result(), late.result())


def test_accumulators_on_disk_merge(tmp_path: Path) -> None:
    for name in "ab":
        mine = stream({}, name=name)
        mine.update(rows(100, ord(name)))
        (tmp_path / name).write_bytes(mine.to_bytes())
    found = dm.merge_states(tmp_path / "a", tmp_path / "b", output=tmp_path / "both")
    assert found.n_rows == 200 and same(found, dm.merge_states(tmp_path / "both"))
    words = ["streams/a", "twice"]
    refused(dm.DataError, words, lambda: dm.merge_states(tmp_path / "a", tmp_path / "both"))
    refused(
        dm.DataError,
        ["run over files"],
        lambda: dm.MeanAccumulator.from_bytes((tmp_path / "both").read_bytes()),
    )


def test_what_does_not_merge() -> None:
    one = stream({}, name="a")
    refused(dm.ConfigError, ["other", "'a'", "its own name"], lambda: one.merge(stream({}, name="a")))
    refused(dm.ConfigError, ["other", "'a'"], lambda: one.merge(one))
    for options, words in (
        ({"rng": 8}, ["rng was 8, here 7"]),
        ({"blocks": 5}, ["blocks was RandomBlocks(5), here RandomBlocks()"]),
        ({"columns": "y"}, ["columns was 'y', here 'x'"]),
        ({"where": "u > 0"}, ["where was 'u > 0', here None"]),
    ):
        other = stream(options, name="b")
        refused(dm.ConfigError, ["other", *words], lambda o=other: one.merge(o))
    refused(dm.ConfigError, ["other", "MeanAccumulator"], lambda: one.merge(ROWS))  # type: ignore[arg-type]
    one.merge(stream({"confidence_level": 0.9}, name="c"))


# --- what is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": []}, ["columns"]),
        ({"columns": 3}, ["columns", "3"]),
        ({"columns": ["x", "x"]}, ["columns", "twice"]),
        ({"by": "x"}, ["by", "'x'"]),
        ({"blocks": dm.UnitBlocks(["u", "x"])}, ["UnitBlocks: columns", "'x'", "also a column"]),
        (
            {"blocks": dm.UnitBlocks("u"), "contamination": 0.1},
            ["UnitBlocks", "a share as contamination"],
        ),
        ({"blocks": 0}, ["blocks", "at least 1"]),
        ({"confidence_level": 2}, ["confidence_level"]),
        ({"where": "x >"}, ["where"]),
        ({"where": 3}, ["where", "int"]),
        ({"rng": -1}, ["rng"]),
        ({"name": None}, ["name"]),
        ({"contamination": 0.1}, ["contamination=0.1, a share, depends on the number of rows"]),
        ({"contamination": 2}, ["contamination=2 without a number of blocks depends"]),
        ({"blocks": dm.UnitBlocks("x")}, ["UnitBlocks: columns", "'x'"]),
    ],
    ids=str,
)
def test_wrong_options(options: dict[str, Any], words: list[str]) -> None:
    refused(dm.ConfigError, words, lambda: stream(options))


@pytest.mark.parametrize(
    "blocks",
    [dm.RandomBlocks(size=5), dm.StoredBlocks(), dm.StoredBlocks(size=5), dm.FileBlocks(size=5)],
    ids=repr,
)
def test_blocks_that_need_the_number_of_rows(blocks: Any) -> None:
    refused(
        dm.ConfigError,
        [f"{blocks!r} depends on the number of rows", "drop it"],
        lambda: dm.MeanAccumulator("x", blocks=blocks),
    )


def test_names_of_the_past_have_an_answer() -> None:
    with pytest.raises(TypeError, match=r"^n_blocks: now blocks=…; see help\(dm\.MeanAccumulator\)"):
        dm.MeanAccumulator("x", n_blocks=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"no parameter 'wher'; did you mean 'where'\?"):
        dm.MeanAccumulator("x", wher="x > 0")  # type: ignore[call-arg]


def test_a_batch_is_rows_and_no_scan() -> None:
    mine = stream({})
    refused(dm.ConfigError, ["batch", "rows", "not a scan"], lambda: mine.update(dm.scan(ROWS)))
    assert mine.n_rows == 0


def test_nothing_of_a_batch_that_is_refused_is_added() -> None:
    mine = stream({"nan": "raise", "where": "u >= 0"})
    good = rows(100, 3)
    good = good.set_column(0, "x", pa.array(np.arange(100.0)))
    mine.update(good)
    before = mine.to_bytes()
    for wrong, error, words in (
        (good.set_column(0, "x", pa.array(["a"] * 100)), dm.DataError, ["'x'", "string"]),
        (good.drop_columns(["x"]), dm.ConfigError, ["'x'"]),
        (good.drop_columns(["u"]), dm.ConfigError, ["'u'"]),
        (
            good.set_column(0, "x", pa.array([1.0] * 70 + [float("nan")] * 30)),
            dm.DataError,
            ["'x'", "row 70"],
        ),
        ("lake/", dm.ConfigError, ["path"]),
        (Path("lake"), dm.ConfigError, ["path"]),
        (None, dm.ConfigError, ["NoneType"]),
    ):
        refused(error, words, lambda w=wrong: mine.update(w))
        assert mine.to_bytes() == before
    dropped = good.set_column(0, "x", pa.array([float("nan")] * 100)).set_column(
        4, "u", pa.array([-1.0] * 100)
    )
    mine.update(dropped)
    assert (mine.n_rows, mine.result().n_rows) == (200, 100)


def test_no_rows_no_answer() -> None:
    mine = stream({})
    for _ in range(2):
        with pytest.raises(dm.NoAnswerError, match="no rows"):
            mine.result()
        mine.update(ROWS.slice(0, 0))
        mine = dm.MeanAccumulator.from_bytes(mine.to_bytes())
    grouped = stream({"by": "key", "where": "u > 2"})
    grouped.update(ROWS)
    with pytest.raises(dm.NoAnswerError, match="no rows"):
        grouped.result()


def test_bytes_that_are_no_accumulator(tmp_path: Path) -> None:
    mine = stream({})
    mine.update(ROWS)
    data = mine.to_bytes()
    assert mine.to_bytes() == data
    for wrong in (b"", data[:-1], data[:100] + b"\0" + data[101:]):
        refused(dm.DataError, ["accumulator"], lambda w=wrong: dm.MeanAccumulator.from_bytes(w))
    refused(dm.ConfigError, ["bytes"], lambda: dm.MeanAccumulator.from_bytes("text"))  # type: ignore[arg-type]
    assert same(dm.MeanAccumulator.from_bytes(bytearray(data)).result(), mine.result())  # type: ignore[arg-type]


def test_a_seed_of_its_own_is_kept() -> None:
    mine = stream({"rng": None})
    mine.update(ROWS)
    assert same(mine.result(), dm.mean(ROWS, "x", rng=mine.result().run["seed"]))
    again = dm.MeanAccumulator.from_bytes(mine.to_bytes())
    assert same(again.result(), mine.result())


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream() -> None:
    """At most one node a binary digit of the number of leaves, and the rows of one leaf."""
    mine, x = stream({}), np.arange(float(LEAF))
    sizes = []
    for _ in range(260):
        mine.update(x)
        sizes.append(len(mine.to_bytes()))
    large_sample = 16_384 * 32  # keys, values, and where the rows lie
    assert max(sizes) <= 9 * sizes[0] + large_sample


# --- list columns


LISTS = {
    "lists": pa.list_(pa.float64()),
    "large lists": pa.large_list(pa.float32()),
    "fixed size": pa.list_(pa.float64(), 3),
}


@pytest.mark.parametrize("options", [{}, {"by": "k"}, {"weights": "w"}, {"nan": "raise"}], ids=str)
@pytest.mark.parametrize("type_", LISTS.values(), ids=LISTS)
@pytest.mark.one_in(15)
def test_lists_are_vectors(type_: pa.DataType, options: dict[str, Any]) -> None:
    g = np.random.default_rng(0)
    v = pa.array([None if i % 11 == 0 else g.normal(size=3).tolist() for i in range(2_000)], type_)
    table = pa.table({"v": v, "k": g.integers(0, 3, 2_000), "w": g.random(2_000)})
    options = {"joint": True, "rng": 0, **options}
    mine, early = stream(options, columns="v"), stream(options, columns="v", name="early")
    for start in range(0, 2_000, 300):
        mine.update(table.slice(start, 300))
    found, right = mine.result(), whole(table, {"columns": "v", **options})
    assert same(found, right) and same(dm.MeanAccumulator.from_bytes(mine.to_bytes()).result(), right)
    early.merge(mine)  # has not seen a list yet
    early.update(table)
    first, *_ = dm.Results.of(early.result())
    assert first.columns == ("v[0]", "v[1]", "v[2]") and early.n_rows == 2_000
    assert sum(r.n_rows for r in dm.Results.of(early.result())) == 4_000


def lists(*rows: Any, type_: pa.DataType | None = None) -> pa.Table:
    return pa.table({"v": pa.array(rows, type_ or pa.list_(pa.float64()))})


def test_lists_without_joint_are_refused() -> None:
    refused(dm.DataError, ["'v'", "joint=True"], lambda: dm.MeanAccumulator("v").update(lists([1.0, 2.0])))


def test_the_first_batch_with_rows_tells_the_length_of_lists() -> None:
    mine = dm.MeanAccumulator("v", joint=True, rng=0)
    mine.update(lists())
    mine = dm.MeanAccumulator.from_bytes(mine.to_bytes())
    before = mine.to_bytes()
    for wrong, words in (
        (lists(None, None), ["'v'", "no row", "lists of fixed size"]),
        (lists([1.0, 2.0], [1.0]), ["'v'", "length 1 in row 1", "length 2"]),
        (lists([], [1.0]), ["'v'", "empty list in row 0"]),
    ):
        refused(dm.DataError, words, lambda w=wrong: mine.update(w))
        assert mine.to_bytes() == before, "a batch that is refused tells nothing"
    fixed = dm.MeanAccumulator("v", joint=True, rng=0)
    fixed.update(lists(None, None, type_=pa.list_(pa.float64(), 2)))
    with pytest.raises(dm.NoAnswerError):
        fixed.result()
    cloud = [[float(i), float(i * i)] for i in range(200)]
    for stream_, head in ((mine, []), (fixed, [None, None])):
        stream_.update(lists(*cloud))
        assert same(stream_.result(), dm.mean(lists(*head, *cloud), joint=True, rng=0))


def test_lists_keep_their_length() -> None:
    mine = dm.MeanAccumulator("v", joint=True, rng=0)
    mine.update(lists(*[[1.0, float(i)] for i in range(100)]))
    before = mine.to_bytes()
    for wrong, words in (
        (lists([1.0, 2.0], [1.0, 2.0, 3.0]), ["'v'", "length 3 in row 1", "length 2"]),
        (lists([1.0] * 3, type_=pa.list_(pa.float64(), 3)), ["'v'", "length 3", "length 2"]),
        (pa.table({"v": [1.0]}), ["'v'", "only lists of numbers"]),
    ):
        refused(dm.DataError, words, lambda w=wrong: mine.update(w))
        assert mine.to_bytes() == before
    mine.update(pa.table({"v": pa.nulls(3)}))
    assert mine.result().n_rows == 103 and mine.result().n_used == 100
    numbers = stream({"columns": ["x", "y"], "joint": True})
    numbers.update(ROWS)
    mixed = ROWS.set_column(0, "x", ROWS["v"])
    refused(dm.DataError, ["'x'", "not in earlier ones"], lambda: numbers.update(mixed))


def test_streams_of_lists_merge_with_those_that_have_no_rows() -> None:
    options = {"columns": "v", "joint": True}
    full, longer = stream(options, name="full"), stream(options, name="longer")
    full.update(ROWS)
    longer.update(lists([1.0] * 4))
    right = full.result()
    empty = stream(options, name="empty")
    empty.merge(stream(options, name="also empty"))
    empty.merge(full)
    full.merge(stream(options, name="late"))
    close(empty.result(), right)
    close(full.result(), right)
    close(dm.MeanAccumulator.from_bytes(empty.to_bytes()).result(), right)
    refused(dm.DataError, ["'v'", "length 4", "length 3"], lambda: empty.update(lists([1.0] * 4)))
    refused(dm.ConfigError, ["other", "vectors"], lambda: full.merge(longer))
    plain = stream({"columns": "v"}, name="plain")
    refused(dm.ConfigError, ["other", "joint"], lambda: full.merge(plain))


def test_a_refused_batch_of_lists_adds_no_row() -> None:
    mine = dm.MeanAccumulator("v", joint=True, nan="raise", rng=0)
    with pytest.raises(dm.DataError, match="NaN in row 1"):
        mine.update(lists([1.0, 2.0, 3.0], [1.0, math.nan, 3.0]))
    assert mine.n_rows == 0
    mine.update(lists([1.0, 2.0], [3.0, 4.0]))  # the length is settled by rows that were added
    assert mine.n_rows == 2 and mine.result().plain_estimate.tolist() == [2.0, 3.0]
    weighted = dm.MeanAccumulator("v", joint=True, weights="w", rng=0)
    both = pa.table({"v": pa.array([[1.0, 2.0]]), "w": pa.array([[1.0, 2.0]])})
    refused(dm.DataError, ["weights", "'w'", "lists"], lambda: weighted.update(both))
    assert weighted.n_rows == 0
