"""``distmom difference``: options, streams, JSON, output files, exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_cli_mean import strict_json

import distmom as dm

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    g = np.random.default_rng(0)
    for i in range(3):
        arm = g.integers(0, 3, 2_000)
        x = g.lognormal(size=2_000) + 0.3 * (arm == 2)
        table = {"x": pa.array(x, mask=np.arange(2_000) % 200 == 0), "arm": arm}
        pq.write_table(pa.table({**table, "user": g.integers(0, 900, 2_000)}), folder / f"{i}.parquet")
    return folder


def test_the_table_and_the_document_say_what_python_says(distmom: Run, shop: Path) -> None:
    words = (
        "difference",
        shop,
        "-c",
        "x",
        "--by",
        "arm",
        "--unit",
        "user",
        "--control",
        "1",
        "--where",
        "arm > 0",
    )
    found = dm.difference(shop, "x", by="arm", unit="user", control=1, where="arm > 0", rng=0)
    ended = distmom(*words)
    assert (ended.code, ended.err) == (0, f"2 − 1: {found.n_null} null of {found.n_rows:,} rows\n")
    assert ended.out.splitlines() == str(found).splitlines()[:-1]
    document = strict_json(distmom(*words, "--json").out)
    assert list(document) == ["schema_version", "results", "data", "run"]
    assert document["results"] == [found.to_dict()]
    assert document["run"]["seed"] == 0 and document["data"]["n_files"] == 3


def test_several_variants_go_to_a_file(distmom: Run, shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    ended = distmom("difference", shop, "-c", "x", "--by", "arm", "--output", target, "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    table = pq.read_table(target)
    assert table["control"].to_pylist() == ["0", "0"] and table["variant"].to_pylist() == ["1", "2"]
    for ending in (".csv", ".html", ".json"):
        assert (
            distmom("difference", shop, "-c", "x", "--by", "arm", "--output", tmp_path / f"a{ending}").code
            == 0
        )


def test_a_dry_run_reads_no_rows(distmom: Run, shop: Path) -> None:
    ended = distmom("difference", shop, "-c", "x", "--by", "arm", "--unit", "file", "--dry-run", "--json")
    document = strict_json(ended.out)
    assert (ended.code, document["results"]) == (0, [])
    assert document["plan"]["fine_blocks"] == 945


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--by", "arm"], 2, "missing option '-c'"),
        (["-c", "x"], 2, "missing option '--by'"),
        (
            ["-c", "x", "--by", "arm", "--control", "7"],
            2,
            "control: no '7' in column 'arm', which has 0, 1, 2",
        ),
        (["-c", "x", "--by", "arm", "--interval", "paper"], 2, "paper"),
        (["-c", "x", "--by", "arm", "--where", "arm = 1"], 5, "only one variant, '1'"),
        (["-c", "x", "--by", "arm", "--denominator", "y"], 2, "'y'"),
    ],
)
def test_failures_are_one_line(distmom: Run, shop: Path, words: list[str], code: int, text: str) -> None:
    ended = distmom("difference", shop, *words)
    assert (ended.code, ended.out) == (code, "")
    assert text in ended.err and ended.err.count("\n") == 1


def test_a_bad_file_stops_or_is_skipped(distmom: Run, shop: Path, tmp_path: Path) -> None:
    for file in shop.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "2.parquet").write_bytes((shop / "2.parquet").read_bytes()[:-20])
    words = ("difference", tmp_path, "-c", "x", "--by", "arm")
    assert distmom(*words).code == 3
    ended = distmom(*words, "--on-bad-file", "skip")
    assert ended.code == 4 and "skipped 2.parquet" in ended.err
