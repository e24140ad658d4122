"""Delta tables: exactly the live rows of the version asked for."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st
from table_checks import check_mean, column, rows

import distmom as dm
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.lake import as_filter, open_lake


def live(folder: Path, version: int | None = None) -> pa.Table:
    """The rows as the library reads them."""
    return DeltaTable(str(folder), version=version).to_pyarrow_table()


def test_appends_overwrites_updates_and_deletes_at_every_version(tmp_path: Path) -> None:
    t = tmp_path / "t"
    write_deltalake(str(t), rows(50))
    write_deltalake(str(t), rows(30, 1), mode="append")
    DeltaTable(str(t)).update({"x": "x + 100.0"}, predicate="key = 'a'")
    DeltaTable(str(t)).delete("day = '1970-01-02'")
    write_deltalake(str(t), rows(20, 2), mode="overwrite")
    write_deltalake(str(t), rows(10, 3), mode="append")
    DeltaTable(str(t)).optimize.compact()
    last = DeltaTable(str(t)).version()
    assert last >= 5
    for version in range(last + 1):
        result = check_mean(f"{t}@v{version}", column(live(t, version)))
        assert result.data["tables"] == [{"format": "delta", "version": version, "path": str(t)}]
    check_mean(t, column(live(t)))
    check_mean(DeltaTable(str(t), version=1), column(live(t, 1)))


def test_added_columns_are_null_in_older_files_and_partition_values_come_from_the_log(tmp_path: Path) -> None:
    t = tmp_path / "t"
    write_deltalake(str(t), rows(40), partition_by=["day", "key"])
    more = rows(9, 1).append_column("z", pa.array(np.arange(9.0)))
    write_deltalake(str(t), more, mode="append", schema_mode="merge")
    DeltaTable(str(t)).delete("key = 'ü' and x > 1")
    table = live(t)
    check_mean(t, column(table, "z"), "z")
    check_mean(t, column(table))
    by_key = {r.group["key"]: r.n_rows for r in dm.mean(t, "x", by="key", blocks=1)}
    assert by_key == {k: column(table, "key").count(k) for k in set(column(table, "key"))}
    late = dm.mean(t, "x", by="day", where="day > '1970-01-01'", blocks=1)
    days = column(table, "day")
    assert {r.group["day"]: r.n_rows for r in late} == {d: days.count(d) for d in sorted(set(days))[1:]}
    with pytest.raises(ConfigError, match="no column 'zz'"):
        dm.mean(t, "zz")
    shown = dm.mean(t, "day", blocks=1)
    assert str(shown.plain_estimate).startswith("1970-01-0")


def test_times_as_partition_values_are_times(tmp_path: Path) -> None:
    """As texts they compare as texts: '… 08:09:10' is more than '… 08:09:10.001'."""
    t = tmp_path / "t"
    moments = np.array(["1969-01-01T00:00:00", "2020-01-01T08:09:10.001", "2021-10-01T08:09:20"], "M8[us]")
    table = pa.table(
        {
            "x": np.arange(6.0),
            "utc": pa.array([*moments.tolist(), None, *moments.tolist()[1:]], pa.timestamp("us", "UTC")),
            "plain": pa.array(moments.tolist()[:2] * 3, pa.timestamp("us")),
        }
    )
    write_deltalake(str(t), table, partition_by=["utc", "plain"])
    memory = pa.table({name: live(t).column(name).combine_chunks() for name in ("x", "utc", "plain")})
    for condition in (
        "utc > '2020-01-01 08:09:10.001+00'", "utc >= '2020-01-01 10:09:10.001+02:00'", "utc is null",
        "utc != '2021-10-01T08:09:20Z'", "plain < '2000-01-01'", "plain = '2020-01-01T08:09:10.001'",
        "utc > '1970-01-01T00:00:00Z' and plain <= '2020-01-01'",
    ):  # fmt: skip
        found, right = (dm.mean(data, "x", where=condition, blocks=1) for data in (t, memory))
        assert (found.n_rows, found.plain_estimate) == (right.n_rows, right.plain_estimate), condition
    for name in ("utc", "plain"):
        assert dm.mean(t, name, blocks=1).plain_estimate == dm.mean(memory, name, blocks=1).plain_estimate
        found, right = (dm.mean(data, "x", by=name, blocks=1) for data in (t, memory))
        assert {r.group[name]: r.n_rows for r in found} == {r.group[name]: r.n_rows for r in right}


def test_dates_that_became_timestamps_and_times_without_a_zone(tmp_path: Path) -> None:
    """Files of before a column was widened, and INT96 beside times with a zone: the table has the type."""
    moments = [datetime(2020, 1, 1), datetime(2020, 1, 2, 12), None, datetime(1969, 12, 31, 23)]
    columns = {"x": np.arange(4.0), "d": moments, "t": moments}
    types = {"x": pa.float64(), "d": pa.timestamp("us"), "t": pa.timestamp("us", "UTC")}
    memory = pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})
    t = tmp_path / "t"
    write_deltalake(str(t), memory)
    old = memory.set_column(1, "d", memory["d"].cast(pa.date32(), safe=False))
    old = old.set_column(2, "t", memory["t"].cast(pa.timestamp("us")))
    pq.write_table(old, t / "old.parquet", use_deprecated_int96_timestamps=True)
    actions = [json.loads(line) for line in (t / "_delta_log" / f"{0:020}.json").read_text().splitlines()]
    log(
        t,
        *[one for one in actions if "add" not in one],
        add("old.parquet", 4),
        *[one for one in actions if "add" in one],
    )
    whole = [datetime(one.year, one.month, one.day) if one is not None else None for one in moments]
    right = pa.table(
        {
            "x": np.tile(np.arange(4.0), 2),
            "d": pa.array(whole + moments, types["d"]),
            "t": pa.array(moments * 2, types["t"]),
        }
    )
    for name in ("d", "t"):
        assert dm.mean(t, name, blocks=1).plain_estimate == dm.mean(right, name, blocks=1).plain_estimate
        found, wanted = (dm.mean(data, "x", by=name, blocks=1) for data in (t, right))
        assert {r.group[name]: r.n_rows for r in found} == {r.group[name]: r.n_rows for r in wanted}
    for condition in (
        "d = '2020-01-02'",
        "d < '1970-01-01'",
        "t >= '2020-01-01T01:00:00+01:00'",
        "t is null",
    ):
        assert (
            dm.mean(t, "x", where=condition, blocks=1).n_rows
            == dm.mean(right, "x", where=condition, blocks=1).n_rows
        )
    profiles = dm.describe(t)
    assert [one.column for one in profiles] == ["x", "d", "t"] and profiles["d"].n_used == 6
    assert dm.scan(t).schema.field("t").type == types["t"]
    for call in (  # as units, and as variants
        lambda data: dm.mean(data, "x", blocks=dm.UnitBlocks("d"), rng=0).n_units,
        lambda data: dm.describe(data, "x", by="d", rng=0)[0].plain_estimate,
        lambda data: [
            (one.variant, one.plain_estimate)
            for one in dm.difference(data, "x", by="d", control=datetime(2020, 1, 1), rng=0)
        ],
    ):
        assert call(t) == call(right)


def test_decimals_as_partition_values_are_exact_numbers(tmp_path: Path) -> None:
    """They were texts: neither averaged nor compared with numbers."""
    values = [Decimal("234.00"), Decimal("342342342342342342342342342342342.23423"), Decimal(0), None]
    table = pa.table({"part": pa.array(values * 30, pa.decimal128(38, 5)), "x": np.arange(120.0)})
    write_deltalake(str(tmp_path / "t"), table, partition_by=["part"])
    one = dm.RandomBlocks(1)
    mean = dm.mean(tmp_path / "t", "part", blocks=one, rng=0)
    right = dm.mean(table, "part", blocks=one, rng=0)
    assert (mean.n_rows, mean.n_null, mean.plain_estimate) == (120, 30, pytest.approx(right.plain_estimate))
    groups = {one.group["part"]: one.plain_estimate for one in dm.mean(tmp_path / "t", "x", by="part", rng=0)}
    assert groups == {value: np.arange(120.0)[i::4].mean() for i, value in enumerate(values)}
    for where, n in (
        ("part > 234", 30),
        ("part >= 234", 60),
        ("part = 342342342342342342342342342342342.23423", 30),
        ("part = 342342342342342342342342342342342.23424", 0),
        ("part is null", 30),
        ("part < 0.5", 30),
    ):
        try:
            assert dm.mean(tmp_path / "t", "x", where=where, blocks=one, rng=0).n_rows == n
        except dm.NoAnswerError:
            assert n == 0


PARTS: list[float | None] = [np.nan, -np.inf, -1.5, -0.0, 0.0, 2.0, None]


@pytest.fixture(scope="module")
def float_lake(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Floats as partition values (which only the log has), NaN and null among them."""
    folder = tmp_path_factory.mktemp("floats") / "t"
    table = pa.table(
        {
            "x": np.arange(14.0),
            "f": pa.array(PARTS * 2, from_pandas=False),
            "flag": pa.array([True, None, False] * 4 + [True, False]),
            "day": pa.array([0, 40, None] * 4 + [1, 2], pa.date32()),
        }
    )
    write_deltalake(str(folder), table, partition_by=["f", "flag", "day"])
    return open_lake(folder), table


OPERANDS = st.tuples(
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.sampled_from(["0", "-1.5", "1e300", "2"])
).map(lambda pair: f"f {pair[0]} {pair[1]}")
LEAVES = st.one_of(
    OPERANDS,
    st.sampled_from(
        [
            "f is null",
            "f in (0, 2)",
            "flag",
            "not flag",
            "flag is not null",
            "day >= '1970-01-02'",
            "x > 3",
            "day in ('1970-01-01', '1970-02-10')",
            "f < x",
            "day != '1970-01-01T10:00'",
            "f = f",
        ]
    ),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda c: f"not ({c})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
    ),
    max_leaves=4,
)


@settings(max_examples=60)
@given(CONDITIONS)
def test_pruned_files_hold_no_row_that_passes(float_lake: Any, condition: str) -> None:
    """The twin: the condition on every row in memory, NaN rows included, with nothing pruned."""
    from distmom.lake import ReadOptions

    lake, table = float_lake

    def passing(source: Any) -> list[float]:
        reader = source.reader(ReadOptions(("x",), where=as_filter(condition, source)))
        batches = [batch for file in source.files for batch in reader.batches(file)]
        return sorted(float(x) for b in batches for x in b.values[0][b.keep])

    assert passing(lake) == passing(open_lake(table))


def test_some_files_are_pruned(float_lake: Any) -> None:
    from distmom.lake import ReadOptions

    lake, _ = float_lake
    reader = lake.reader(ReadOptions(("x",), where=as_filter("f >= 0 and day > '1970-01-01'", lake)))
    kept = [file for file in lake.files if not reader.excludes(file)]
    assert 0 < len(kept) < len(lake.files) / 2


def log(folder: Path, *actions: dict[str, Any], number: int = 0) -> None:
    (folder / "_delta_log").mkdir(parents=True, exist_ok=True)
    text = "\n".join(map(json.dumps, actions))
    (folder / f"_delta_log/{number:020}.json").write_text(text)


def protocol(*features: str) -> dict[str, Any]:
    names = list(features)
    return {
        "protocol": {
            "minReaderVersion": 3 if names else 1,
            "minWriterVersion": 7 if names else 2,
            **({"readerFeatures": names, "writerFeatures": names} if names else {}),
        }
    }


def metadata(fields: list[dict[str, Any]], partitions: list[str], **configuration: str) -> dict[str, Any]:
    schema = {"type": "struct", "fields": [{"nullable": True, "metadata": {}, **field} for field in fields]}
    return {
        "metaData": {
            "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema),
            "partitionColumns": partitions,
            "configuration": {name.replace("_", "."): value for name, value in configuration.items()},
            "createdTime": 0,
        }
    }


def add(path: str, n_rows: int | None = None, **more: Any) -> dict[str, Any]:
    stats = {} if n_rows is None else {"stats": json.dumps({"numRecords": n_rows})}
    values = more.pop("values", {})
    action = {"path": path, "size": 1, "partitionValues": values, "modificationTime": 0, "dataChange": True}
    return {"add": {**action, **stats, **more}}


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping(tmp_path: Path, mode: str) -> None:
    """Renamed columns, and a dropped one whose name another column has now."""
    ids = {b"PARQUET:field_id": b"2"}
    stored = pa.schema(
        [
            pa.field("x", pa.float64(), metadata={b"PARQUET:field_id": b"1"}),  # dropped
            pa.field("col-2", pa.float64(), metadata=ids),
            pa.field("col-4", pa.string(), metadata={b"PARQUET:field_id": b"4"}),
        ]
    )
    t = tmp_path / "t"
    t.mkdir()
    values = [pa.array([9.0, 9.0]), pa.array([1.0, 3.0]), pa.array(["p", "q"])]
    pq.write_table(pa.Table.from_arrays(values, schema=stored), t / "a.parquet")

    def field(name: str, type_: str, number: int) -> dict[str, Any]:
        known = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": type_, "metadata": known}

    fields = [field("x", "double", 2), field("k", "string", 3), field("s", "string", 4)]
    fields.append(field("late", "double", 5))
    log(
        t,
        protocol("columnMapping"),
        metadata(fields, ["k"], delta_columnMapping_mode=mode),
        add("a.parquet", 2, values={"col-3": "7"}),
    )
    check_mean(t, [1.0, 3.0])
    check_mean(t, [1.0, 3.0], where="k = '7'")  # a text, as the log says, whatever it looks like
    check_mean(t, [3.0], where="s = 'q'")
    late = dm.describe(t)
    assert {r.column: r.n_null for r in late}["late"] == 2


def test_deletion_vectors_are_refused_by_name(tmp_path: Path) -> None:
    t = tmp_path / "t"
    t.mkdir()
    pq.write_table(pa.table({"x": np.arange(40.0)}), t / "a.parquet")
    begin = (
        protocol("deletionVectors"),
        metadata([{"name": "x", "type": "double"}], [], delta_enableDeletionVectors="true"),
    )
    log(t, *begin, add("a.parquet", 40))
    check_mean(t, np.arange(40.0))  # allowed, but there is none
    inline = {"storageType": "i", "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    log(t, *begin, add("a.parquet", 40, deletionVector={**inline, "sizeInBytes": 44, "cardinality": 6}))
    with pytest.raises(DataError, match=r"t has deletion vectors, .*rows of a\.parquet .*PURGE"):
        dm.mean(t, "x")
    beside = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4}
    log(t, *begin, add("a.parquet", 40, deletionVector={**beside, "sizeInBytes": 40, "cardinality": 6}))
    with pytest.raises(DataError, match=r"t has deletion vectors, which are not supported"):
        dm.mean(t, "x")


def test_what_the_log_says_and_what_is_there(tmp_path: Path) -> None:
    t = tmp_path / "t"
    t.mkdir()
    pq.write_table(pa.table({"x": [1.0, 2.0]}), t / "a.parquet")
    begin = protocol(), metadata([{"name": "x", "type": "double"}], [])
    for path in ("../b.parquet", "/etc/passwd", "file:///etc/passwd"):
        log(t, *begin, add(path))
        with pytest.raises(DataError, match="outside of its folder"):
            open_lake(t)
    log(t, *begin, add("a.parquet", 2), add("gone.parquet", 2))
    with pytest.raises(DataError, match=r"gone\.parquet is gone, which its log names at version 0"):
        open_lake(t)
    log(t, *begin, add("a.parquet", 3))
    with pytest.raises(DataError, match=r"a\.parquet has 2 rows, but the table's log says 3"):
        dm.mean(t, "x")
    log(t, *begin)
    with pytest.raises(NoAnswerError, match="has no rows at delta version 0"):
        dm.mean(t, "x")
    log(t, protocol("somethingNew"), begin[1], add("a.parquet", 2))
    with pytest.raises(DataError, match="somethingNew"):
        dm.mean(t, "x")


def test_an_odd_log_of_removed_files_gives_no_wrong_number(tmp_path: Path) -> None:
    """The smallest log: adds and a removal; read where it is whole, else refused."""
    t = tmp_path / "t"
    t.mkdir()
    pq.write_table(pa.table({"x": [100.0, 100.0]}), t / "part-0.parquet")
    pq.write_table(pa.table({"x": [1.0, 3.0]}), t / "part-1.parquet")
    remove = {"remove": {"path": "part-0.parquet", "dataChange": True}}
    log(t, add("part-0.parquet"))
    log(t, remove, add("part-1.parquet"), number=1)
    with pytest.raises(DataError, match=r"is a Delta table: its log cannot be read: .*@list\.txt"):
        dm.mean(t, "x")
    log(t, protocol(), metadata([{"name": "x", "type": "double"}], []), add("part-0.parquet"))
    check_mean(t, [1.0, 3.0])
    check_mean(f"{t}@v0", [100.0, 100.0])
    for wrong, words in ((f"{t}@v7", "at version 7 cannot be read"), (f"{tmp_path}@v1", "has no versions")):
        with pytest.raises(DataError, match=words):
            dm.mean(wrong, "x")
    with pytest.raises(ConfigError, match=r"are written .*t@v1"):
        dm.mean(f"{t}@1", "x")
    with pytest.raises(DataError, match="is a Delta table: its folder also holds"):
        dm.mean([t, t / "part-1.parquet"], "x")
    (tmp_path / "u@v1").mkdir()
    pq.write_table(pa.table({"x": [7.0]}), tmp_path / "u@v1/a.parquet")
    check_mean(tmp_path / "u@v1", [7.0])  # a folder of this very name
