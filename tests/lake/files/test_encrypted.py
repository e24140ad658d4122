"""Files of which some columns are encrypted: the process lives, and the others are read."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

encryption = pytest.importorskip("pyarrow.parquet.encryption")

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


def command(*words: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which PyArrow may end."""
    told = [sys.executable, "-m", "distmom", *map(str, words)]
    return subprocess.run(told, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "where", [["x"], *(pytest.param(names, marks=pytest.mark.slow) for names in (["g"], ["x", "g"]))]
)
def test_encrypted_columns_are_refused_and_others_read(tmp_path: Path, where: list[str]) -> None:
    (tmp_path / "lake").mkdir()
    write(tmp_path / "lake/0.parquet", where)
    write(tmp_path / "lake/1.parquet", where)
    found = command("mean", tmp_path / "lake", "-c", "y", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["results"][0]["n_rows"] == 600
    for words in (["-c", "x"], ["-c", "y", "--by", "g"], ["-c", "y", "--where", "g = 'a'"]):
        for more in ([], ["--dry-run"]):
            ended = command("mean", tmp_path / "lake", *words, *more)
            asked = "x" if words == ["-c", "x"] else "g"
            assert ended.returncode == (2 if asked in where else 0), ended.stderr
            if asked in where:
                assert f"encrypted, and so not read: {', '.join(map(repr, sorted(where)))}" in ended.stderr
                assert ended.stderr.count("\n") == 1


def test_the_commands_that_take_all_columns(tmp_path: Path) -> None:
    file = write(tmp_path / "0.parquet", ["x"])
    for words in ([], ["--dry-run"]):
        ended = command("describe", file, *words)
        assert ended.returncode == 0, ended.stderr
    assert "encrypted, and so not read: 'x'" in command("describe", file).stdout
    ended = command("describe", file, "--json")
    assert [one["column"] for one in json.loads(ended.stdout)["results"]] == ["g", "y"]
    assert json.loads(ended.stdout)["data"]["unread"] == "encrypted, and so not read: 'x'"
    ended = command("describe", write(tmp_path / "0.parquet", ["g", "x", "y"]))
    assert ended.returncode == 2
    assert "encrypted, and so not read: 'g', 'x', 'y'" in ended.stderr


def test_a_file_that_is_encrypted_among_others(tmp_path: Path) -> None:
    pq.write_table(X, tmp_path / "0.parquet")
    write(tmp_path / "1.parquet", ["x"])
    ended = command("mean", tmp_path, "-c", "x")
    assert ended.returncode == 3
    assert "1.parquet: column 'x' is encrypted" in ended.stderr
    skipped = command("mean", tmp_path, "-c", "x", "--on-bad-file", "skip", "--json")
    assert skipped.returncode == 4, skipped.stderr
    assert json.loads(skipped.stdout)["results"][0]["n_rows"] == 300


def test_an_encrypted_footer(tmp_path: Path) -> None:
    ended = command("mean", write(tmp_path / "0.parquet", ["x"], plaintext_footer=False), "-c", "y")
    assert ended.returncode == 3
    assert "0.parquet is encrypted" in ended.stderr
