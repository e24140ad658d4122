"""Damaged and hostile files: no crash, no hang, no code executed, one line that names the file.

Hypothesis damages whole files; what is left must give an answer or a `DistmomError`. A hang ends by the time
limit of every test, a crash of a library with this process. The slow half tries more, and logs of tables.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import ROOT

import distmom as dm
from distmom.errors import ConfigError, DataError, DistmomError
from distmom.jobs.config import checked, named_job
from distmom.jobs.job import kind_names
from distmom.jobs.kinds.summary import JOB
from distmom.jobs.toml_file import read_toml
from distmom.lake import parse_filter

AMOUNTS = [pytest.param(1, id="some"), pytest.param(6, id="many", marks=pytest.mark.slow)]
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


def tried(action: Callable[[], object], *names: str) -> None:
    """An answer, or one line that names one of these."""
    try:
        action()
    except DistmomError as error:
        text = str(error)
        assert "\n" not in text and len(text) < 2_000
        assert not isinstance(error, DataError) or any(name in text for name in names), text


DAMAGE = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "insert", "zero"]), st.floats(0, 1), st.binary(min_size=1, max_size=8)
    ),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, damage: list[tuple[str, float, bytes]], start: int = 0) -> bytes:
    """Bytes from `start` on changed, left out, put in or set to zero."""
    found = bytearray(data)
    for kind, share, noise in damage:
        place = start + int(share * max(len(found) - start - 1, 0))
        end = place + len(noise)
        if kind == "flip":
            found[place:end] = bytes(a ^ (b or 1) for a, b in zip(found[place:end], noise, strict=False))
        elif kind == "cut":
            del found[place:end]
        elif kind == "insert":
            found[place:place] = noise
        else:
            found[place:end] = bytes(len(found[place:end]))
    return bytes(found)


def parquet() -> bytes:
    g = np.random.default_rng(0)
    table = pa.table({"x": g.normal(size=300), "k": pa.array(g.choice(["a", "b"], 300)), "n": np.arange(300)})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=100)
    return sink.getvalue()


@pytest.mark.parametrize("amount", AMOUNTS)
def test_footers(tmp_path: Path, amount: int) -> None:
    whole = parquet()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")

    @settings(max_examples=40 * amount, suppress_health_check=QUIET)
    @given(DAMAGE, st.sampled_from([0, footer, footer, len(whole) - 8]))
    def check(damage: list[tuple[str, float, bytes]], start: int) -> None:
        path = tmp_path / "bad.parquet"
        path.write_bytes(damaged(whole, damage, start))
        tried(
            lambda: dm.mean(path, "x", by="k", where="n > 3", blocks=5, executor=dm.Threads(1)), "bad.parquet"
        )

    check()


@pytest.mark.parametrize("amount", AMOUNTS)
def test_states(tmp_path: Path, amount: int) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/a.parquet").write_bytes(parquet())
    state = tmp_path / "x.state"
    dm.mean(tmp_path / "t", "x", by="k", rng=0, state=state)
    whole = state.read_bytes()

    @settings(max_examples=40 * amount, suppress_health_check=QUIET)
    @given(DAMAGE, st.booleans())
    def check(damage: list[tuple[str, float, bytes]], merge: bool) -> None:
        state.write_bytes(damaged(whole, damage))
        if merge:
            tried(lambda: dm.merge_states([state]), "x.state")
        else:
            tried(lambda: dm.mean(tmp_path / "t", "x", by="k", rng=0, state=state), "x.state")

    check()


NAMES = [
    "x",
    "k",
    '"a b"',
    "'text'",
    "''",
    "1",
    "-2.5e3",
    "1e999999",
    "day",
    "'2024-01-31'",
    "'2024-99T25:61'",
]
SIGNS = ["(", ")", ",", "=", "!=", "<", ">=", "==", ";", "--", "/*", "\0", "\n", "é", "\U0001f600"]
KEYWORDS = ["and", "or", "not", "in", "is", "null", "true", "between"]
TEMPTING = ["__import__", "('os').system('touch fuzzed')", "{x}", "%s"]
SENTENCES = st.lists(st.sampled_from(NAMES + SIGNS + KEYWORDS + TEMPTING), max_size=14).map(" ".join)
NESTED = st.integers(1, 5_000).map(lambda depth: "(" * depth + "x = 1" + ")" * depth)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_filters(tmp_path: Path, amount: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {"x": np.arange(5.0), "k": np.arange(5)}

    @settings(max_examples=100 * amount, suppress_health_check=QUIET)
    @given(SENTENCES | st.text(max_size=40) | NESTED | NESTED.map(lambda text: text.replace("(", "not (")))
    def check(text: str) -> None:
        try:
            parse_filter(text)
        except ConfigError as error:
            assert str(error).startswith("where") and "\n" not in str(error)
        else:
            tried(lambda: dm.mean(rows, "x", where=text, blocks=1, executor=dm.Threads(1)))

    check()
    assert not list(tmp_path.iterdir())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_configurations(tmp_path: Path, amount: int) -> None:
    whole = (ROOT / "distmom/jobs/templates/summary.toml").read_bytes().replace(b"\n# ", b"\n")
    whole = whole[whole.index(b"pipeline =") :]
    path = tmp_path / "job.toml"

    @settings(max_examples=150 * amount, suppress_health_check=QUIET)
    @given(DAMAGE.map(lambda damage: damaged(whole, damage)) | st.binary(max_size=60))
    def check(text: bytes) -> None:
        path.write_bytes(text)
        for read in (
            lambda file: named_job(read_toml(file), kind_names()),
            lambda file: checked(read_toml(file), JOB.tables),
        ):
            try:
                read(path)
            except ConfigError as error:
                assert "job.toml" in str(error) and "\n" not in str(error)

    check()


def _replaced(action: Any, path: list[int], value: Any) -> Any:
    """The value at some place of nested mappings and lists put in for another."""
    if not path or not isinstance(action, (dict, list)) or not action:
        return value
    keys = list(action) if isinstance(action, dict) else list(range(len(action)))
    key = keys[path[0] % len(keys)]
    new = dict(action) if isinstance(action, dict) else list(action)
    new[key] = _replaced(action[key], path[1:], value)
    return new


CHANGES = st.lists(
    st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=1, max_size=4), VALUES), max_size=3
)


@pytest.mark.slow
@pytest.mark.parametrize("amount", AMOUNTS)
def test_delta_logs(tmp_path: Path, amount: int) -> None:
    from deltalake import write_deltalake

    t = tmp_path / "lake"
    write_deltalake(str(t), pa.table({"x": np.arange(6.0), "k": list("aabbcc")}), partition_by=["k"])
    write_deltalake(str(t), pa.table({"x": np.arange(2.0), "k": list("ab")}), mode="append")
    logs = sorted((t / "_delta_log").glob("*.json"))
    wholes = [log.read_bytes() for log in logs]

    @settings(max_examples=40 * amount, suppress_health_check=QUIET)
    @given(CHANGES, st.none() | DAMAGE)
    def check(changes: list[tuple[int, list[int], Any]], damage: Any) -> None:
        actions = [json.loads(line) for line in wholes[0].splitlines()]
        for number, path, value in changes:
            actions[number % len(actions)] = _replaced(actions[number % len(actions)], path, value)
        data = "\n".join(json.dumps(action) for action in actions).encode()
        logs[0].write_bytes(data if damage is None else damaged(data, damage))
        tried(lambda: dm.mean(t, "x", by="k", blocks=1, executor=dm.Threads(1)), str(t), ".parquet")

    check()


@pytest.mark.slow
@pytest.mark.parametrize("amount", AMOUNTS)
def test_iceberg_metadata(tmp_path: Path, amount: int) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("fuzz", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/lake")
    catalog.create_namespace("s")
    table = catalog.create_table("s.t", schema=pa.schema({"x": pa.float64()}))
    table.append(pa.table({"x": [1.0, 2.0]}))
    catalog.close()
    file = Path(table.metadata_location.removeprefix("file://"))
    whole = json.loads(file.read_text())
    copy = shutil.copy(file, file.with_name("00009-copy.metadata.json"))

    @settings(max_examples=25 * amount, suppress_health_check=QUIET)
    @given(CHANGES, st.none() | DAMAGE)
    def check(changes: list[tuple[int, list[int], Any]], damage: Any) -> None:
        found: Any = whole
        for number, path, value in changes:
            found = _replaced(found, [number, *path], value)
        data = json.dumps(found).encode()
        Path(copy).write_bytes(data if damage is None else damaged(data, damage))
        tried(lambda: dm.mean(copy, "x", blocks=1, executor=dm.Threads(1)), "00009-copy", ".parquet")

    check()
