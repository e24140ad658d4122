"""A column that a file has damaged hinders those alone who ask for it, and no profile of all columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem
from thrift_footer import Struct, edited

import distmom as dm
from distmom.cli.program import program
from distmom.jobs import run_config
from distmom.lake.files import footer_checks
from distmom.lake.files.footers import open_parquet

NAMES = ("b", "x", "y", "k", "z")
"""The damaged column is the first one, by which row groups are told apart."""


def lake(folder: Path, n_files: int = 3, group_rows: int = 200) -> Path:
    folder.mkdir(parents=True)
    for number in range(n_files):
        rng = np.random.default_rng(number)
        columns: dict[str, Any] = {name: rng.normal(size=400) for name in NAMES}
        columns["k"] = rng.choice(["u", "v"], 400)
        plain = {
            "compression": "none",
            "use_dictionary": ["k"],
            "row_group_size": group_rows,
            "store_schema": False,
        }
        pq.write_table(pa.table(columns), folder / f"{number}.parquet", **plain)
    return folder


def pages(file: Path, *columns: int) -> None:
    """Overwrite the head of a page of the second row group."""
    data, group = bytearray(file.read_bytes()), pq.read_metadata(file).row_group(1)
    for column in columns or (0,):
        at = group.column(column).data_page_offset
        data[at : at + 40] = b"\xff" * 40
    file.write_bytes(data)


def levels(file: Path) -> None:
    """Let the footer speak of a repetition that there is not: PyArrow cannot take its chunks apart."""

    def unknown(footer: Struct) -> None:
        footer[2][1][1][1][3][1] = 7

    edited(file, file, unknown)


DAMAGES: dict[str, Callable[[Path], None]] = {"pages": pages, "levels": levels}
CALLS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda data: dm.mean(data, ["x", "y"], rng=0),
    "where": lambda data: dm.mean(data, "x", where="y > 0 and k = 'u'", rng=0),
    "groups": lambda data: dm.mean(data, "x", by="k", rng=0),
    "units": lambda data: dm.mean(data, "x", blocks=dm.UnitBlocks("y"), rng=0),
    "memory limit": lambda data: dm.mean(data, "x", rng=0, executor=dm.Threads(memory_limit="1GB")),
    "statistic": lambda data: dm.ustatistic(data, ["x", "y"], kernel="kendall", rng=0),
    "samples": lambda data: dm.compare(data, "x", by="k", test=dm.Permutations(99), rng=0),
    "difference": lambda data: dm.difference(data, "x", by="k", rng=0),
    "tournament": lambda data: dm.tournament(data, ["x", "z"], "y", rng=0),
    "profile": lambda data: dm.describe(data, ["x", "y", "k", "z"], rng=0),
}


def told(found: Any) -> Any:
    """Results without what is said of the run."""
    return dm.Results.of(found).to_dict()["results"]


@pytest.mark.parametrize(
    "n_files", [1, pytest.param(3, marks=pytest.mark.slow)], ids=["the only file", "among others"]
)
@pytest.mark.parametrize("damage", [pytest.param("pages", marks=pytest.mark.slow), "levels"])
def test_who_does_not_ask_for_it_has_the_same_answer(tmp_path: Path, damage: str, n_files: int) -> None:
    sound, broken = lake(tmp_path / "sound/lake", n_files), lake(tmp_path / "broken/lake", n_files)
    DAMAGES[damage](broken / "0.parquet")
    with dm.options(executor=dm.Threads(1), warn=False):
        for name, call in CALLS.items():
            right, found = call(sound), call(broken)
            assert told(found) == told(right), name
            assert dm.explain(dm.mean, broken, "x")["n_rows"] in (None, 400 * n_files)
        for asked in ({"column": "b"}, {"column": "x", "where": "b > 0"}, {"column": "x", "by": "b"}):
            with pytest.raises(dm.DataError, match=r"0\.parquet") as refused:
                dm.mean(broken, **asked)
            assert "\n" not in str(refused.value)


def test_many_row_groups_are_looked_at_in_one_call(tmp_path: Path) -> None:
    sound, broken = (lake(tmp_path / name / "lake", 1, 20) for name in ("sound", "broken"))
    levels(broken / "0.parquet")
    for folder, good in ((sound, (0, 1)), (broken, (1,))):
        scan = dm.scan(folder).source
        with open_parquet(LocalFileSystem(), str(folder), scan.files[0]) as parquet:
            assert parquet.metadata.num_row_groups == 20
            for position in (0, 1):
                assert footer_checks._all_sound(parquet, range(20), [position]) == (position in good)
    mine = dm.mean(broken, "x", rng=0, executor=dm.Threads(memory_limit="1GB"))
    assert told(mine) == told(dm.mean(sound, "x", rng=0))
    with pytest.raises(dm.DataError, match=r"0\.parquet"):
        dm.mean(broken, "b", rng=0)


@pytest.mark.slow
def test_batch_jobs_and_learners(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    broken = lake(tmp_path / "lake", 1)
    levels(broken / "0.parquet")
    learned = dm.train(broken, "regression", target="y", columns=["x"], rng=0)
    assert np.isfinite(learned.estimate).all()
    job = tmp_path / "job.toml"
    job.write_text('pipeline = "summary"\ndata.path = "lake"\nmean.columns = "x"\noutput.files = "o.json"\n')
    assert run_config(job, quiet=True) == 0


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_profile_of_all_columns_leaves_it_out(tmp_path: Path, damage: str) -> None:
    sound, broken = lake(tmp_path / "sound/lake"), lake(tmp_path / "broken/lake")
    DAMAGES[damage](broken / "1.parquet")
    found = dm.describe(broken, rng=0)
    assert found.exit_code == 4
    [left] = found.data["left_out"]
    assert left["column"] == "b" and "1.parquet" in left["reason"]
    assert told(found) == told(dm.describe(sound, ["x", "y", "k", "z"], rng=0))
    assert "damaged, and so left out: 'b'\n" in str(found)
    for asked in (["b"], ["x", "b"]):
        with pytest.raises(dm.DataError, match=r"1\.parquet"):
            dm.describe(broken, asked, rng=0)
    with pytest.raises(dm.DataError, match=r"1\.parquet"):  # the condition needs it
        dm.describe(broken, where="b > 0", rng=0)


def test_the_command_says_which_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = lake(tmp_path / "lake")
    pages(broken / "1.parquet", 0, 2)
    page = tmp_path / "out.html"
    assert program.run(["describe", str(broken), "--seed", "0", "--output", str(page)]) == 4
    out = capsys.readouterr().out
    assert "damaged, and so left out: 'b', 'y'\n" in out
    assert "1.parquet is damaged in row group 1, column 'b'" in out
    assert "1.parquet is damaged in row group 1, column 'y'" in out
    assert "Columns left out: 2." in page.read_text()
    assert program.run(["describe", str(broken), "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert [one["column"] for one in document["data"]["left_out"]] == ["b", "y"]
    assert [one["column"] for one in document["results"]] == ["x", "k", "z"]


def test_a_seed_that_was_drawn_repeats_such_a_profile(tmp_path: Path) -> None:
    broken = lake(tmp_path / "lake")
    pages(broken / "1.parquet")
    found = dm.describe(broken)
    assert told(dm.describe(broken, rng=found.run["seed"])) == told(found)


def test_a_file_of_damaged_columns_is_refused(tmp_path: Path) -> None:
    table = pa.table({f"c{i}": np.random.default_rng(i).normal(size=400) for i in range(13)})
    file = tmp_path / "a.parquet"
    pq.write_table(table, file, compression="none", use_dictionary=False, row_group_size=200)
    pages(file, *range(12))
    with pytest.raises(dm.DataError, match=r"a\.parquet is damaged in row group 1"):
        dm.describe(file, rng=0)


def test_times_that_cannot_be_held_are_such_a_column(tmp_path: Path) -> None:
    times = pa.array(np.full(400, np.datetime64("2020-01-01", "us")))
    file = tmp_path / "a.parquet"
    options = {"compression": "none", "use_dictionary": False, "use_deprecated_int96_timestamps": True}
    pq.write_table(pa.table({"t": times, "x": np.arange(400.0)}), file, **options)
    data = file.read_bytes().replace((2_458_850).to_bytes(4, "little"), b"\xff" * 4, 1)
    file.write_bytes(data)
    found = dm.describe(file, rng=0)
    assert list(found.columns) == ["x"] and "INT96" in found.data["left_out"][0]["reason"]


def test_two_columns_of_one_name_hinder_those_alone_who_ask_for_it(tmp_path: Path) -> None:
    rows = [pa.array(np.random.default_rng(k).normal(size=100)) for k in range(3)]
    for folder in ("alone", "twice"):
        (tmp_path / folder).mkdir()
    pq.write_table(pa.table({"y": rows[2]}), tmp_path / "alone/a.parquet")
    twice = tmp_path / "twice"
    pq.write_table(pa.Table.from_arrays(rows, names=["x", "x", "y"]), twice / "a.parquet")
    assert dm.mean(twice, "y", rng=0) == dm.mean(tmp_path / "alone", "y", rng=0)
    found = dm.describe(twice, rng=0)
    assert [one.name for one in found] == ["y"] and found.exit_code == 4
    reason = "file a.parquet has 2 columns called 'x'; rename them"
    assert found.data["left_out"] == [{"column": "x", "reason": reason}]
    for ask in (lambda: dm.mean(twice, "x", rng=0), lambda: dm.describe(twice, ["x", "y"], rng=0)):
        with pytest.raises(dm.BadFileError, match="2 columns called 'x'"):
            ask()
