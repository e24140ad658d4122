"""Files of which some columns are encrypted: the process lives, and the others are read."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

encryption = pytest.importorskip("pyarrow.parquet.encryption")


class Ended(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


X = pa.table({"x": np.arange(300.0), "g": ["a", "b", "c"] * 100, "y": np.arange(300.0) * 2})


class Keys(encryption.KmsClient):  # type: ignore[misc]
    """Wraps keys by writing them down."""

    def __init__(self, _: object) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, _: str) -> bytes:
        return base64.b64encode(key)


def write(path: Path, columns: list[str], *, plaintext_footer: bool = True) -> Path:
    config = encryption.EncryptionConfiguration(
        footer_key="foot", column_keys={"column": columns}, plaintext_footer=plaintext_footer
    )
    factory = encryption.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    with pq.ParquetWriter(path, X.schema, encryption_properties=properties) as writer:
        writer.write_table(X)
    return path


PROGRAM = """
import json, sys
from click.testing import CliRunner
from distmom.cli.program import program
for words in json.loads(sys.argv[1]):
    ended = CliRunner().invoke(program, words, prog_name="distmom")
    print(json.dumps([ended.exit_code, ended.stdout, ended.stderr]), flush=True)
"""


def commands(*several: Sequence[object]) -> list[Any]:
    """One after the other in a process of their own, which PyArrow may end."""
    words = json.dumps([list(map(str, one)) for one in several])
    told = [sys.executable, "-c", PROGRAM, words]
    done = subprocess.run(told, capture_output=True, text=True, timeout=240, check=True)
    return [Ended(*json.loads(line)) for line in done.stdout.splitlines()]


def command(*words: object) -> Ended:
    return commands(words)[0]


@pytest.mark.parametrize(
    "where", [["x"], *(pytest.param(names, marks=pytest.mark.slow) for names in (["g"], ["x", "g"]))]
)
def test_encrypted_columns_are_refused_and_others_read(tmp_path: Path, where: list[str]) -> None:
    (tmp_path / "lake").mkdir()
    write(tmp_path / "lake/0.parquet", where)
    write(tmp_path / "lake/1.parquet", where)
    mean = "mean", tmp_path / "lake"
    asked = [
        (name, [*mean, *words, *more])
        for name, words in (
            ("x", ["-c", "x"]),
            ("g", ["-c", "y", "--by", "g"]),
            ("g", ["-c", "y", "--where", "g = 'a'"]),
        )
        for more in ([], ["--dry-run"])
    ]
    found, *others = commands([*mean, "-c", "y", "--json"], *(words for _, words in asked))
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["results"][0]["n_rows"] == 600
    for (name, _), ended in zip(asked, others, strict=True):
        assert ended.returncode == (2 if name in where else 0), ended.stderr
        if name in where:
            assert f"encrypted, and so not read: {', '.join(map(repr, sorted(where)))}" in ended.stderr
            assert ended.stderr.count("\n") == 1


def test_the_commands_that_take_all_columns(tmp_path: Path) -> None:
    file, all_of_it = write(tmp_path / "0.parquet", ["x"]), write(tmp_path / "1.parquet", ["g", "x", "y"])
    table, planned, found, refused = commands(
        ["describe", file],
        ["describe", file, "--dry-run"],
        ["describe", file, "--json"],
        ["describe", all_of_it],
    )
    for ended in (table, planned, found):
        assert ended.returncode == 0, ended.stderr
    assert "encrypted, and so not read: 'x'" in table.stdout
    assert [one["column"] for one in json.loads(found.stdout)["results"]] == ["g", "y"]
    assert json.loads(found.stdout)["data"]["unread"] == "encrypted, and so not read: 'x'"
    assert refused.returncode == 2
    assert "encrypted, and so not read: 'g', 'x', 'y'" in refused.stderr


def test_a_file_that_is_encrypted_among_others(tmp_path: Path) -> None:
    pq.write_table(X, tmp_path / "0.parquet")
    write(tmp_path / "1.parquet", ["x"])
    mean = "mean", tmp_path, "-c", "x"
    ended, skipped = commands(mean, [*mean, "--on-bad-file", "skip", "--json"])
    assert ended.returncode == 3
    assert "1.parquet: column 'x' is encrypted" in ended.stderr
    assert skipped.returncode == 4, skipped.stderr
    assert json.loads(skipped.stdout)["results"][0]["n_rows"] == 300


def test_an_encrypted_footer(tmp_path: Path) -> None:
    ended = command("mean", write(tmp_path / "0.parquet", ["x"], plaintext_footer=False), "-c", "y")
    assert ended.returncode == 3
    assert "0.parquet is encrypted" in ended.stderr
