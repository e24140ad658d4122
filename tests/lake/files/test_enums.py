"""Columns of Parquet's type ENUM are texts, wherever texts are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from thrift_footer import STRUCT, Struct, edited

import distmom as dm

X = np.random.default_rng(0).normal(size=300)
K = ["red", "green", "blue"] * 100


def as_enum(footer: Struct) -> None:
    """What Avro's and Protocol Buffers' writers say of such a column: the old way and the new one."""
    element = footer[2][1][1][2]
    element[6][1], element[10][1] = 4, {4: [STRUCT, {}]}


def write(path: Path, keys: pa.Array, *, enum: bool = True, dictionary: bool = True) -> Path:
    path.parent.mkdir(exist_ok=True)
    table = pa.table({"x": X, "k": keys})
    pq.write_table(table, path, store_schema=False, use_dictionary=dictionary, row_group_size=100)
    if enum:
        edited(path, path, as_enum)
        assert pq.read_schema(path).field("k").type == pa.binary()
    return path


@pytest.mark.parametrize("dictionary", [True, False])
def test_they_give_what_texts_give(tmp_path: Path, dictionary: bool) -> None:
    text = write(tmp_path / "text/0.parquet", pa.array(K), enum=False)
    enum = write(tmp_path / "enum/0.parquet", pa.array(K), dictionary=dictionary)
    for call in (
        lambda data: dm.mean(data, "x", by="k", rng=0),
        lambda data: dm.mean(data, "x", where="k = 'red' or k in ('blue')", rng=0),
        lambda data: dm.mean(data, "x", blocks=dm.UnitBlocks("k"), rng=0),
        lambda data: dm.difference(data, "x", by="k", rng=0, where="k != 'blue'"),
        lambda data: dm.describe(data, rng=0),
    ):
        assert call(enum) == call(text)


def test_they_are_the_groups_of_texts_in_other_files(tmp_path: Path) -> None:
    write(tmp_path / "lake/0.parquet", pa.array(K), enum=False)
    write(tmp_path / "lake/1.parquet", pa.array([*K[:-1], None]))
    found = dm.mean(tmp_path / "lake", "x", by="k", rng=0)
    assert {one.group["k"]: one.n_rows for one in found} == {"red": 200, "green": 200, "blue": 199, None: 1}


def test_what_is_no_text_is_a_bad_file(tmp_path: Path) -> None:
    path = write(tmp_path / "lake/0.parquet", pa.array([*K[:-1], "??"]))
    path.write_bytes(path.read_bytes().replace(b"??", b"\xff\xfe"))
    with pytest.raises(dm.DataError, match=r"0\.parquet.*damaged") as refused:
        dm.mean(path, "x", by="k", rng=0)
    assert "\n" not in str(refused.value)


def test_bytes_stay_bytes(tmp_path: Path) -> None:
    """The negative control."""
    path = write(tmp_path / "0.parquet", pa.array([key.encode() for key in K]), enum=False)
    assert {one.group["k"] for one in dm.mean(path, "x", by="k", rng=0)} == {b"red", b"green", b"blue"}
    with pytest.raises(dm.DataError, match="cannot stand in a condition"):
        dm.mean(path, "x", where="k = 'red'", rng=0)
