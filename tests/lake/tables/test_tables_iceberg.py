"""Iceberg tables: exactly the live rows of the snapshot asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType
from table_checks import check_mean, column, rows

import distmom as dm
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.lake import ReadOptions, as_filter, open_lake


def live(table: Any, snapshot: int | None = None) -> pa.Table:
    """The rows as the library reads them."""
    return table.scan(snapshot_id=snapshot).to_arrow()


def test_appends_overwrites_and_deletes_at_every_snapshot(catalog: Any) -> None:
    t = catalog.create_table("shop.t", schema=rows(1).schema)
    t.append(rows(50))
    t.append(rows(30, 1))
    t.delete("day == '1970-01-02'")
    t.overwrite(rows(20, 2), overwrite_filter="key == 'a'")
    t.overwrite(rows(15, 3))
    t.append(rows(10, 4))
    snapshots = [one.snapshot_id for one in t.snapshots()]
    assert len(snapshots) >= 6
    filled = [s for s in snapshots if live(t, s).num_rows]
    for snapshot in filled:
        result = check_mean(f"iceberg://local/shop.t@{snapshot}", column(live(t, snapshot)))
        assert result.data["tables"][0]["version"] == snapshot
    for data in ("iceberg://local/shop.t", t.metadata_location, t):
        check_mean(data, column(live(t)))
    check_mean(f"{t.metadata_location}@{snapshots[0]}", column(live(t, snapshots[0])))
    for empty in set(snapshots) - set(filled):
        with pytest.raises(NoAnswerError, match="no rows"):
            dm.mean(f"iceberg://local/shop.t@{empty}", "x")


def test_schema_evolution_goes_by_numbers(catalog: Any) -> None:
    """A renamed column, an added one, and one whose name a dropped column had."""
    t = catalog.create_table("shop.t", schema=pa.schema({"x": pa.float64(), "y": pa.float64()}))
    t.append(pa.table({"x": [1.0, 2.0], "y": [10.0, 20.0]}))
    with t.update_schema() as update:
        update.delete_column("x")
    with t.update_schema() as update:
        update.rename_column("y", "z")
        update.add_column("x", DoubleType())
        update.add_column("late", LongType())

    t.append(pa.table({"z": [30.0], "x": [5.0], "late": pa.array([7], pa.int64())}))
    table = live(t)
    for name in ("x", "z", "late"):
        check_mean(t, column(table, name), name)
    check_mean(t, [30.0], "z", where="x = 5 and late > 3")
    first = t.snapshots()[0].snapshot_id
    check_mean(f"iceberg://local/shop.t@{first}", [1.0, 2.0])  # the columns are those of then


def test_partitions_of_several_specs_prune_and_keep_every_row_that_passes(catalog: Any) -> None:
    t = catalog.create_table("shop.t", schema=rows(1).schema)
    with t.update_spec() as update:
        update.add_field("key", IdentityTransform(), "k")
        update.add_field("day", IdentityTransform(), "d")
    t.append(rows(60))
    lake: Any = open_lake(t)
    assert lake.partition_types == ("text", "date")
    condition = "day >= '1970-01-02' and not key = 'a'"
    reader = lake.reader(ReadOptions(("x",), where=as_filter(condition, lake)))
    assert 0 < sum(not reader.excludes(file) for file in lake.files) < len(lake.files)
    _check_filtered(t, condition)
    with t.update_spec() as update:  # another spec: the day is in the files alone now
        update.remove_field("d")
    t.append(rows(20, 1))
    assert open_lake(t).partition_names == ("key",)
    _check_filtered(t, condition)


def _check_filtered(t: Any, condition: str) -> None:
    table = live(t)
    late = pc.field("day") >= pa.scalar(1, pa.date32())
    check_mean(t, column(table.filter(late & (pc.field("key") != "a"))), where=condition)
    counts = {r.group["key"]: r.n_rows for r in dm.mean(t, "x", by="key", blocks=1)}
    assert counts == {k: column(table, "key").count(k) for k in set(column(table, "key"))}


def test_files_of_others_are_read_by_the_name_mapping(catalog: Any, tmp_path: Path) -> None:
    """Files that were not written for the table, without numbers of columns."""
    t = catalog.create_table("shop.t", schema=pa.schema({"x": pa.float64(), "k": pa.int64()}))
    with t.update_spec() as update:
        update.add_field("k", IdentityTransform(), "k")
    folder = Path(t.location().removeprefix("file://")) / "taken/k=3"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1.0, 5.0], "k": pa.array([3, 3])}), folder / "a.parquet")
    t.add_files([str(folder / "a.parquet")])
    check_mean(t, [1.0, 5.0], where="k = 3")
    elsewhere = tmp_path / "b.parquet"
    pq.write_table(pa.table({"x": [1.0], "k": pa.array([4])}), elsewhere)
    t.add_files([str(elsewhere)])
    with pytest.raises(DataError, match=r"b\.parquet', which is outside of its folder"):
        open_lake(t)


def test_delete_files_are_refused_by_name(catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyIceberg writes none: a scan that has some, as other engines leave them."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.table import DataScan

    t = catalog.create_table("shop.t", schema=pa.schema({"x": pa.float64()}))
    t.append(pa.table({"x": [1.0, 2.0]}))
    tasks = list(t.scan().plan_files())
    delete = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=f"{t.location()}/data/00000-deletes.parquet",
        file_format=FileFormat.PARQUET,
    )
    tasks[0].delete_files.add(delete)
    with monkeypatch.context() as patch:
        patch.setattr(DataScan, "plan_files", lambda scan: tasks)
        with pytest.raises(DataError, match=r"delete files, .*00000-deletes\.parquet deletes rows of 0"):
            dm.mean(t, "x")
    check_mean(t, [1.0, 2.0])


def test_names_of_tables(catalog: Any, tmp_path: Path) -> None:
    t = catalog.create_table("shop.t", schema=pa.schema({"x": pa.float64()}))
    with pytest.raises(DataError, match="no snapshot, so no rows yet"):
        dm.mean(t, "x")
    t.append(pa.table({"x": np.arange(9.0)}))
    folder = Path(t.location().removeprefix("file://"))
    with pytest.raises(DataError, match=r"is an Iceberg table: its folder .*metadata\.json or iceberg://"):
        dm.mean(folder, "x")  # which of its metadata is the newest, only its catalog knows
    hint = folder / "metadata/version-hint.text"
    hint.write_text(Path(t.metadata_location).name.removesuffix(".metadata.json"))
    check_mean(folder, np.arange(9.0))
    check_mean(f"{folder}@{t.current_snapshot().snapshot_id}", np.arange(9.0))
    with pytest.raises(DataError, match="is an Iceberg table: its folder"):
        dm.mean(folder / "data", "x")
    for name, error, words in (
        ("iceberg://local", ConfigError, "write iceberg://catalog/namespace.table"),
        ("iceberg://local/shop.t@v1", ConfigError, "write iceberg://"),
        (f"{folder}@v1", ConfigError, "with their number alone"),
        ("iceberg://local/shop.t@1", DataError, "has no snapshot 1"),
        ("iceberg://local/shop.none", DataError, "shop.none"),
        ("iceberg://nowhere/shop.t", DataError, "nowhere"),
        (f"{folder}/metadata/none.metadata.json", DataError, "none.metadata.json"),
    ):
        with pytest.raises(error, match=words):
            dm.mean(name, "x")
