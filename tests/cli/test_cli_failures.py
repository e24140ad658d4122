"""Exit codes, and failures in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
import distmom.estimators.mean.mean as room
from distmom.report import MeanResult

Run = Callable[..., Any]


def one_line(text: str) -> str:
    assert text.startswith("distmom: "), text
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text


USAGE = {
    "unknown option": (("--blcks", "3"), "did you mean --blocks?"),
    "near option": (("--confidense", "0.9"), "did you mean --confidence?"),
    "not a number": (("--threads", "many"), "--threads"),
    "no block number": (("--blocks", "some"), "auto"),
    "no seed": (("--seed", "some"), "--seed"),
    "negative seed": (("--seed", "-1"), "--seed must be a non-negative"),
    "odd hexadecimal seed": (("--seed", "0x12"), "hexadecimal"),
    "no choice": (("--nan", "drop"), "omit"),
    "no value": (("--where",), "--where"),
    "confidence": (("--confidence", "99"), "--confidence: must lie between 0 and 1"),
    "confidence nan": (("--confidence", "nan"), "--confidence: must"),
    "zero blocks": (("--blocks", "0"), "--blocks: must be a whole number of at least 1, not 0"),
    "pair": (
        ("--scheme", "swor", "--order", "stored"),
        "--order stored cannot be combined with --scheme swor",
    ),
    "two places": (("--workers", "1", "--threads", "1"), "--workers cannot be combined with --threads"),
    "no workers": (("--workers", "0"), "--workers: must be"),
    "condition": (("--where", "x >"), "--where: "),
    "unknown column": (("--by", "kins"), "did you mean 'kind'"),
    "twice": (("-c", "x"), "--column: 'x' is given twice"),
    "memory": (("--memory-limit", "lots"), "--memory-limit: "),
    "batch": (("--batch-rows", "0"), "--batch-rows: "),
    "block_by": (("--block-by", "kins"), "did you mean 'kind'"),
    "block_by itself": (("--block-by", "x"), "--block-by: 'x' is also a column to average"),
    "chunk": (("--chunk-rows", "0"), "--chunk-rows: must be"),
    "repeats": (("--repeats", "0"), "--repeats: must be"),
    "tau": (("--scheme", "swor", "--tau", "0.7"), "--tau: must lie"),
    "two numbers": (("--blocks", "5", "--block-size", "9"), "--blocks and --block-size determine each other"),
    "samples of weighted rows": (
        ("--scheme", "monte_carlo", "--weights", "x", "-c", "y"),
        "--scheme cannot be combined with --weights: samples are of rows with equal chances; use "
        "random blocks",
    ),
    "contaminated samples": (
        ("--scheme", "swor", "--contamination", "3"),
        "--scheme cannot be combined with --contamination",
    ),
    "order of samples": (
        ("--scheme", "swor", "--interval", "order"),
        "--scheme cannot be combined with --interval order",
    ),
    "remedy": (("--repeats", "3", "--interval", "closed-form"), "use --interval cantelli"),
    "share of units": (
        ("--block-by", "kind", "--contamination", "0.1"),
        "--block-by cannot be combined with a share as contamination",
    ),
    "outvoted": (("--blocks", "9", "--contamination", "9"), "--contamination: 9 arbitrary rows"),
    "state": (("--on-change", "restart"), "--on-change: needs a state, and there is none; drop it"),
}


@pytest.mark.parametrize("name", USAGE)
def test_usage_is_two(distmom: Run, lake: Path, name: str) -> None:
    words, hint = USAGE[name]
    ended = distmom("mean", lake, "-c", "x", *words)
    assert (ended.code, ended.out) == (2, "")
    assert hint in one_line(ended.err)


def test_commands_are_suggested(distmom: Run) -> None:
    ended = distmom("maen", "x")
    assert ended.code == 2
    assert "did you mean 'mean'" in one_line(ended.err)
    assert distmom("zzz").code == 2
    assert distmom("mean").code == 2
    assert distmom("--nothing").code == 2


def test_a_column_must_be_named_where_there_are_several(distmom: Run, lake: Path) -> None:
    ended = distmom("mean", lake)
    assert ended.code == 2
    assert "column" in one_line(ended.err)


def test_refused_data_is_three(distmom: Run, lake: Path, bad_lake: Path, tmp_path: Path) -> None:
    for words in (
        (tmp_path / "nothing",),
        (lake, "-c", "kind"),
        (bad_lake, "-c", "x"),
        (f"{tmp_path}/*.parquet", "-c", "x"),
        (f"@{tmp_path}/no-list.txt",),
    ):
        ended = distmom("mean", *words)
        assert (ended.code, ended.out) == (3, "")
        one_line(ended.err)
    assert "f2.parquet" in distmom("mean", bad_lake, "-c", "x").err


def test_skipped_files_are_four(distmom: Run, bad_lake: Path) -> None:
    ended = distmom("mean", bad_lake, "-c", "x", "--on-bad-file", "skip")
    assert ended.code == 4
    assert "900" in ended.out
    assert "skipped f2.parquet" in ended.err


def test_no_answer_is_five(distmom: Run, lake: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "empty.parquet")
    pq.write_table(pa.table({"x": [np.inf] * 40}), tmp_path / "inf.parquet")
    for words in (
        (tmp_path / "empty.parquet",),
        (tmp_path / "inf.parquet",),
        (lake, "-c", "x", "--where", "x < -1"),
        (lake, "-c", "x", "--block-size", "5000"),
    ):
        ended = distmom("mean", *words)
        assert (ended.code, ended.out) == (5, ""), ended.err
        one_line(ended.err)


def fake(*status: str) -> MeanResult:
    rows: dict[str, Any] = {"n_rows": 10, "n_used": 10, "n_null": 0, "n_nan": 0, "n_inf": 0}
    blocks: dict[str, Any] = {"n_blocks": 5, "block_size": (2, 2), "n_non_finite_blocks": 0}
    answer: dict[str, Any] = {"estimate": 1.0, "plain_estimate": 1.0, "interval_kind": "order"}
    return MeanResult(column="x", flags=tuple(map(dm.Status, status)), **rows, **blocks, **answer)


@pytest.mark.parametrize(
    ("statuses", "skipped", "code"),
    [
        ([()], False, 0),
        ([()], True, 4),
        ([("contaminated",), ("files disagree", "contaminated"), ("dominated by few rows",)], False, 0),
        ([("sample mean, no guarantee",)], False, 0),
        ([("breakdown point exceeded", "contaminated")], False, 5),
        ([(), ("no finite answer",)], False, 5),
        ([(), ("no rows",)], False, 5),
        ([("breakdown point exceeded",)], True, 5),
    ],
)
def test_the_first_status_decides(
    distmom: Run,
    monkeypatch: pytest.MonkeyPatch,
    statuses: list[tuple[str, ...]],
    skipped: bool,
    code: int,
) -> None:
    data = {"n_files": 1, "n_bytes": 1, "skipped": [{"file": "f", "reason": "bad"}] if skipped else []}
    results = dm.Results([fake(*status) for status in statuses], data, {})
    assert results.exit_code == code
    monkeypatch.setattr(room, "mean", lambda *_, **__: results)
    assert distmom("mean", "anything").code == code


@pytest.mark.parametrize(
    ("words", "flags", "code"),
    [
        ("contaminated", ("files disagree", "contaminated"), 7),
        ("share screened out,contaminated", ("contaminated",), 7),
        ("sample mean, no guarantee", ("sample mean, no guarantee",), 7),
        ("contaminated, sample mean, no guarantee", (), 0),
        ("any", ("dominated by few rows",), 7),
        ("breakdown point exceeded", ("breakdown point exceeded",), 5),
        ("any", ("no finite answer",), 5),
        ("any", (), 0),
        ("share far out", ("contaminated",), 0),
        ("contaminatd", (), 2),
    ],
)
def test_statuses_that_make_a_failure(
    distmom: Run, monkeypatch: pytest.MonkeyPatch, words: str, flags: tuple[str, ...], code: int
) -> None:
    results = dm.Results([fake(), fake(*flags)], {"n_files": 1, "n_bytes": 1, "skipped": []}, {})
    monkeypatch.setattr(room, "mean", lambda *_, **__: results)
    ended = distmom("mean", "anything", "--fail-on", words)
    assert ended.code == code
    if code == 2:
        assert "did you mean 'contaminated'?" in one_line(ended.err)


def test_resources_are_six(distmom: Run, lake: Path) -> None:
    ended = distmom("mean", lake, "-c", "x", "--memory-limit", "1MB")
    assert (ended.code, ended.out) == (6, "")
    assert "memory" in one_line(ended.err)
    ended = distmom("mean", lake, "-c", "x", "--scheduler", "nonsense://a")
    assert ended.code in (2, 6)
    one_line(ended.err)


def raising(error: BaseException) -> Callable[..., None]:
    def mean(*_: object, **__: object) -> None:
        raise error

    return mean


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (RuntimeError("a\nb"), 1, "internal error: RuntimeError: a\\nb; set DISTMOM_DEBUG=1"),
        (dm.DistmomError("f: unexpected KeyError"), 1, "unexpected KeyError; set DISTMOM_DEBUG=1"),
        (MemoryError(), 6, "out of memory"),
        (dm.ResourceError("the disk\x1b[2J is full"), 6, "the disk\\x1b[2J is full"),
        (KeyboardInterrupt(), 130, "distmom: interrupted\n"),
    ],
)
def test_whatever_happens_is_one_line(
    distmom: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    monkeypatch.delenv("DISTMOM_DEBUG", raising=False)
    monkeypatch.setattr(room, "mean", raising(error))
    ended = distmom("mean", "anything")
    assert (ended.code, ended.out) == (code, "")
    assert text in one_line(ended.err)


def test_debug_shows_the_traceback(distmom: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISTMOM_DEBUG", "1")
    monkeypatch.setattr(room, "mean", raising(RuntimeError("why")))
    ended = distmom("mean", "anything")
    assert ended.code == 1
    assert "Traceback" in ended.err
    assert ended.err.splitlines()[-1].startswith("distmom: internal error: RuntimeError: why")
