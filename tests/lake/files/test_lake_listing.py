from __future__ import annotations

import os
import pickle
import time
import unicodedata
from pathlib import Path

import pytest

from distmom.errors import ConfigError, DataError
from distmom.lake import FileRef, Lake, ReadOptions, open_lake

X = {"x": [1.0, 3.0]}


def paths(data: object) -> list[str]:
    return [file.path for file in open_lake(data).files]


def test_folder_is_listed_recursively_and_sorted_by_path(write, tmp_path):
    for name in ("t/b.parquet", "t/a/z.parquet", "t/a.parquet", "t/no_extension"):
        write(name, X)
    lake = open_lake(tmp_path / "t")
    assert [file.path for file in lake.files] == ["a.parquet", "a/z.parquet", "b.parquet", "no_extension"]
    assert lake.files[0].mtime_ns == (tmp_path / "t/a.parquet").stat().st_mtime_ns
    assert lake.root == str(tmp_path / "t")


def test_names_with_underscore_or_dot_are_skipped_at_every_level(write, tmp_path, read):
    write("t/part-0.parquet", X)
    for name in ("_SUCCESS", ".part-0.parquet.crc", "_committed_1", ".DS_Store"):
        (tmp_path / "t" / name).write_bytes(b"")
    write("t/_temporary/part-1.parquet", {"x": [99.0]})
    lake = open_lake(tmp_path / "t")
    assert [file.path for file in lake.files] == ["part-0.parquet"]
    assert read(tmp_path / "t", ("x",)).mean() == 2.0


def test_folders_above_the_root_may_start_with_an_underscore(write, tmp_path):
    write("_private/.hidden/t/a.parquet", X)
    assert paths(tmp_path / "_private/.hidden/t") == ["a.parquet"]
    assert paths(str(tmp_path / "_private/.hidden/*/a.parquet")) == ["t/a.parquet"]


def test_file_named_by_itself_is_never_skipped(write, tmp_path):
    assert paths(write("t/_odd.parquet", X)) == ["_odd.parquet"]
    assert paths([write("t/_odd.parquet", X), write("t/a.parquet", X)]) == ["_odd.parquet", "a.parquet"]


def test_patterns(write, tmp_path):
    for name in ("d1/a.parquet", "d2/b.parquet", "d2/deep/c.parquet", "e.parquet", "f.txt"):
        write(f"t/{name}", X)
    write("t/d2/_skip/d.parquet", X)
    root = f"{tmp_path}/t"
    assert paths(f"{root}/*.parquet") == ["e.parquet"]
    assert paths(f"{root}/d*/*.parquet") == ["d1/a.parquet", "d2/b.parquet"]
    assert paths(f"{root}/d*") == ["d1/a.parquet", "d2/b.parquet", "d2/deep/c.parquet"]
    assert paths(f"{root}/d[2-9]/**") == ["d2/b.parquet", "d2/deep/c.parquet"]
    everything = ["d1/a.parquet", "d2/b.parquet", "d2/deep/c.parquet"]
    assert paths(f"{root}/d*/**/*.parquet") == everything
    assert paths(f"{root}/**/?.parquet") == [*everything, "e.parquet"]
    assert open_lake(f"{root}/d*/*.parquet").root == root
    assert open_lake(f"{root}/d1/*.parquet").partition_names == ()
    with pytest.raises(DataError, match=r"no Parquet file under .*x\*"):
        open_lake(f"{root}/x*")
    with pytest.raises(DataError, match=r"no such folder: .*/nowhere"):
        open_lake(f"{tmp_path}/nowhere/*.parquet")


def test_name_that_looks_like_a_pattern_but_exists_is_taken_as_it_is(write, tmp_path):
    assert paths(write("t/a[1].parquet", X)) == ["a[1].parquet"]


def test_list_file_and_lists(write, tmp_path, monkeypatch):
    write("t/a/1.parquet", X)
    write("t/b/2.parquet", X)
    (tmp_path / "list.txt").write_text("# two\n\nt/a/1.parquet\n  t/b  \n")
    monkeypatch.chdir(tmp_path)
    assert paths("@list.txt") == ["a/1.parquet", "b/2.parquet"]
    assert paths(["t/a", Path("t/b/2.parquet")]) == ["a/1.parquet", "b/2.parquet"]
    assert paths(("t/a/*",)) == ["1.parquet"]
    assert open_lake("@list.txt").root == f"{tmp_path}/t"
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(DataError, match=r"empty\.txt names no file"):
        open_lake("@empty.txt")
    (tmp_path / "nested.txt").write_text("@list.txt\n")
    with pytest.raises(ConfigError, match="names another list"):
        open_lake("@nested.txt")
    with pytest.raises(DataError, match=r"cannot read the list of files missing\.txt"):
        open_lake("@missing.txt")
    with pytest.raises(ConfigError, match="the list of paths is empty"):
        open_lake([])


def test_the_same_file_twice_is_refused(write, tmp_path):
    path = write("t/a.parquet", X)
    with pytest.raises(DataError, match=r"file a\.parquet is given twice"):
        open_lake([path, tmp_path / "t"])
    with pytest.raises(DataError, match=r"file a\.parquet is given twice"):
        open_lake([path, f"{tmp_path}/t/../t/a.parquet"])


def test_adding_files_to_a_folder_leaves_the_other_paths_alone(write, tmp_path):
    write("t/deep/a.parquet", X)
    before = paths(tmp_path / "t")
    write("t/b.parquet", X)
    assert before == ["deep/a.parquet"]
    assert paths(tmp_path / "t") == ["b.parquet", "deep/a.parquet"]


def test_paths_are_decoded_and_normalised_but_opened_as_they_are(write, tmp_path, read):
    write("t/a%20b.parquet", X)
    write("t/" + unicodedata.normalize("NFD", "größe.parquet"), X)
    lake = open_lake(tmp_path / "t")
    assert [file.path for file in lake.files] == [
        "a b.parquet",
        unicodedata.normalize("NFC", "größe.parquet"),
    ]
    assert all(file.location is not None for file in lake.files)
    assert read(tmp_path / "t", ("x",)).mean() == 2.0
    write("t/a b.parquet", X)
    assert [file.path for file in open_lake(tmp_path / "t").files][:2] == ["a b.parquet", "a%20b.parquet"]


def test_nothing_there(tmp_path):
    with pytest.raises(DataError, match=r"no such file or folder: .*absent") as caught:
        open_lake(tmp_path / "absent")
    assert "\n" not in str(caught.value)
    (tmp_path / "empty/_hidden").mkdir(parents=True)
    with pytest.raises(DataError, match=r"no Parquet file under .*empty"):
        open_lake(tmp_path / "empty")
    with pytest.raises(ConfigError, match="a path must be a text that is not empty"):
        open_lake("")


def test_urls(write, tmp_path):
    path = write("t/a b.parquet", X)
    assert paths(path.as_uri()) == ["a b.parquet"]
    for url in ("hdfs://name/t", "https://example.org/a.parquet"):
        with pytest.raises(ConfigError, match="is not supported"):
            open_lake(url)
    with pytest.raises(ConfigError, match="must be local"):
        open_lake("file://elsewhere/t")


def test_delta_table_is_refused_by_folder_but_read_by_its_list(write, tmp_path, read):
    write("t/part-0.parquet", {"x": [100.0, 100.0]})
    live = write("t/part-1.parquet", {"x": [1.0, 3.0]})
    (tmp_path / "t/_delta_log").mkdir()
    for data in (tmp_path / "t", tmp_path, f"{tmp_path}/t/*.parquet", f"{tmp_path}/**/*.parquet"):
        with pytest.raises(DataError, match=r"is a Delta table: .*@list\.txt"):
            open_lake(data)
    (tmp_path / "t/day=1").mkdir()
    write("t/day=1/part-2.parquet", X)
    with pytest.raises(DataError, match="/t is a Delta table"):
        open_lake(tmp_path / "t/day=1")
    assert read([live], ("x",)).mean() == 2.0


def test_iceberg_and_hudi_tables_are_refused(write, tmp_path):
    write("t/data/a.parquet", X)
    (tmp_path / "t/metadata").mkdir()
    (tmp_path / "t/metadata/notes.txt").write_text("no table yet")
    assert paths(tmp_path / "t/data") == ["a.parquet"]
    (tmp_path / "t/metadata/v1.metadata.json").write_text("{}")
    for data in (tmp_path / "t", tmp_path, tmp_path / "t/data", f"{tmp_path}/t/data/*"):
        with pytest.raises(DataError, match="/t is an Iceberg table"):
            open_lake(data)
    write("h/a.parquet", X)
    (tmp_path / "h/.hoodie").mkdir()
    with pytest.raises(DataError, match="/h is a Hudi table"):
        open_lake(tmp_path / "h")


def test_links_that_lead_back_and_pipes_are_refused(write, tmp_path):
    write("t/a/b.parquet", X)
    os.mkfifo(tmp_path / "t/pipe")
    with pytest.raises(DataError, match="pipe is neither a file nor a folder"):
        open_lake(tmp_path / "t")
    (tmp_path / "t/pipe").unlink()
    (tmp_path / "t/a/up").symlink_to(tmp_path / "t")
    with pytest.raises(DataError, match="a link leads back"):
        open_lake(tmp_path / "t")


def test_file_references_are_small_and_picklable(write, tmp_path):
    lake = open_lake(write("t/part-000000.parquet", X))
    assert isinstance(lake, Lake)
    files = [FileRef(f"day=1/part-{i:06}.parquet", 1000 + i, 10**18 + i, ("1",)) for i in range(1000)]
    data = pickle.dumps(files)
    assert pickle.loads(data) == files
    assert len(data) < 100 * len(files)


def test_thousands_of_files_list_quickly(tmp_path):
    for i in range(2_000):
        os.close(os.open(tmp_path / f"p{i:06}.parquet", os.O_CREAT | os.O_WRONLY))
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        lake = open_lake(tmp_path)
        best = min(best, time.thread_time() - start)
    assert len(lake.files) == 2_000
    assert best < 0.2  # 0.02 s on a quiet machine


def test_hive_null_key_beside_integers(write, tmp_path, read):
    for key, x in (("20", 1.0), ("25", 2.0), ("__HIVE_DEFAULT_PARTITION__", 6.0)):
        write(f"t/age={key}/part-0.parquet", {"x": [x]})
    rows = read(tmp_path / "t", ("x",), ("age",))
    assert rows.mean() == 3.0
    assert dict(zip(rows.keys, rows.column(), strict=True)) == {(20,): 1.0, (25,): 2.0, (None,): 6.0}
    assert open_lake(tmp_path / "t").schema().field("age").type == "int64"


def test_hive_values_stay_text_unless_all_are_canonical_integers(write, tmp_path, read):
    for key in ("01001", "11164", "2A001"):
        write(f"t/code={key}/part-0.parquet", {"x": [float(len(key))]})
    assert [key for (key,) in read(tmp_path / "t", ("x",), ("code",)).keys] == ["01001", "11164", "2A001"]
    for hour in ("00", "07"):
        write(f"u/hour={hour}/part-0.parquet", {"x": [1.0]})
    assert open_lake(tmp_path / "u").partition_types == ("text",)
    assert len(read(tmp_path / "u", ("x",), where="hour = '07'").values) == 1
    with pytest.raises(ConfigError, match=r"column 'hour' is text, not a number; write its exact text"):
        read(tmp_path / "u", ("x",), where="hour = 7")
    for hour in ("0", "7"):
        write(f"v/hour={hour}/part-0.parquet", {"x": [1.0]})
    assert len(read(tmp_path / "v", ("x",), where="hour = 7").values) == 1
    with pytest.raises(ConfigError, match="column 'hour' is a number, not text"):
        read(tmp_path / "v", ("x",), where="hour = '07'")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["0", "-5", "12"], "int"),
        (["0", "+1"], "text"),
        (["1", "-0"], "text"),
        (["1", "1.0"], "text"),
        (["1", ""], "text"),
        (["1", "9223372036854775807"], "int"),
        (["1", "9223372036854775808"], "text"),
        (["1", "١"], "text"),
        (["__HIVE_DEFAULT_PARTITION__"], "text"),
    ],
)
def test_types_of_hive_keys(write, tmp_path, values, kind):
    for i, value in enumerate(values):
        write(f"t/k={value}/{i}.parquet", X)
    assert open_lake(tmp_path / "t").partition_types == (kind,)


def test_hive_keys_are_decoded_and_other_folders_passed_over(write, tmp_path):
    write("t/raw/a%3Db=x%2Fy/a.parquet", X)
    lake = open_lake(tmp_path / "t")
    assert lake.partition_names == ("a=b",)
    assert lake.files[0].partition == ("x/y",)


def test_hive_keys_in_another_order_are_aligned(write, tmp_path):
    write("t/a=1/b=2/f.parquet", X)
    write("t/b=3/a=4/f.parquet", X)
    lake = open_lake(tmp_path / "t")
    assert lake.partition_names == ("a", "b")
    assert [file.partition for file in lake.files] == [("1", "2"), ("4", "3")]


def test_hive_keys_that_differ_between_files_are_refused_where_one_is_asked_for(write, tmp_path, read):
    write("t/day=1/a.parquet", X)
    write("t/month=1/b.parquet", X)
    with pytest.raises(ConfigError, match=r"'day' in day=1/a\.parquet but 'month' in month=1/b\.parquet"):
        open_lake(tmp_path / "t").reader(ReadOptions(("x",), by=("month",)))
    write("u/day=1/a.parquet", X)
    write("u/b.parquet", X)
    with pytest.raises(ConfigError, match=r"none in b\.parquet but 'day' in day=1/a\.parquet"):
        open_lake(tmp_path / "u").reader(ReadOptions(("day",)))
    for folder in ("t", "u"):
        assert open_lake(tmp_path / folder).partition_names == ()
        assert len(read(tmp_path / folder, ("x",)).values) == 2 * len(X["x"])
    write("v/day=1/day=2/a.parquet", X)
    with pytest.raises(DataError, match="give the partition key 'day' twice"):
        open_lake(tmp_path / "v")


def test_path_and_stored_column_must_agree(write, tmp_path, read):
    write("t/year=2024/a.parquet", {"x": [1.0, 3.0], "year": [2024, 2024]})
    assert read(tmp_path / "t", ("x",), ("year",)).keys == [(2024,), (2024,)]
    write("t/year=2025/b.parquet", {"x": [5.0, 7.0], "year": [2025, 2023]})
    with pytest.raises(
        DataError, match=r"file year=2025/b\.parquet: its folder says year=2025 but its stored .* holds 2023"
    ):
        read(tmp_path / "t", ("x",), ("year",))
    assert read(tmp_path / "t", ("x",)).mean() == 4.0  # not asked for, not compared
    assert read(tmp_path / "t", ("x",), where="year = 2024").mean() == 2.0


@pytest.mark.parametrize(
    ("folder", "stored", "agree"),
    [
        ("07", ["07"], True),
        ("07", [7], False),
        ("7", [7.0], True),
        ("7", ["7"], True),
        ("__HIVE_DEFAULT_PARTITION__", [None], True),
        ("__HIVE_DEFAULT_PARTITION__", [1], False),
        ("7", [None], False),
    ],
)
def test_how_path_and_stored_values_are_compared(write, tmp_path, read, folder, stored, agree):
    write(f"t/k={folder}/a.parquet", {"x": [1.0], "k": stored})
    if agree:
        read(tmp_path / "t", ("x",), ("k",))
    else:
        with pytest.raises(DataError, match="its folder says k="):
            read(tmp_path / "t", ("x",), ("k",))


def test_partition_column_as_a_value(write, tmp_path, read):
    write("t/k=2/a.parquet", X)
    write("t/k=__HIVE_DEFAULT_PARTITION__/b.parquet", X)
    assert read(tmp_path / "t", ("k", "x")).values == [(2.0, 1.0), (2.0, 3.0), (None, 1.0), (None, 3.0)]
    assert read(tmp_path / "t", ("k",)).values == [(2.0,), (2.0,), (None,), (None,)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a\0b.parquet", "a text that is not empty"),
        ("a\udcff.parquet", "is not UTF-8"),
        (["a.parquet", "\ud800"], "is not UTF-8"),
        ("@\udcff.txt", "is not UTF-8"),
        ("s3://bucket\udcff/lake", "is not UTF-8"),
        ("a" * 5000, "File name too long"),
        ("@" + "a" * 5000, "File name too long"),
    ],
)
def test_names_that_no_file_can_have_are_one_line(tmp_path: Path, name: object, said: str) -> None:
    with pytest.raises((ConfigError, DataError), match=said) as caught:
        open_lake(name)
    assert "\n" not in str(caught.value)


def test_a_list_with_a_zero_byte_names_its_line(tmp_path: Path) -> None:
    names = tmp_path / "list.txt"
    names.write_text("# files\na.parquet\nb\0.parquet\n")
    with pytest.raises(DataError, match=r"list\.txt has a zero byte in line 3"):
        open_lake(f"@{names}")
