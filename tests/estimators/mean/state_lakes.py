"""Lakes that grow, and runs that are cut short."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat import flat
from mean_lakes import results, write

import distmom as dm
from distmom.lake import Reader


def flat_lake(folder: Path, n_files: int = 11, rows: int = 60) -> Path:
    """Files of different sizes, one of them empty, with nulls, a NaN, an infinity, and two keys."""
    g = np.random.default_rng(5)
    for i in range(n_files):
        n = 0 if i == 4 else rows * (1 + i % 4) + i
        x = g.standard_t(3, n) + 1.0
        x[: int(i == 2)] = np.nan
        x[: int(i == 7)] = np.inf
        missing = g.random(n) < 0.05
        columns = {
            "x": np.ma.masked_array(x, missing),
            "y": g.normal(10.0, 1.0, n),
            "key": g.integers(0, 3 + i % 2, n),
            "name": g.choice(["a", "b", "ü"], n),
            "u": (u := g.random(n)),
            "w": np.ma.masked_array(np.floor(8.0 * u), u > 0.96),  # weights: some are null, some zero
        }
        write(folder / f"{i:03}.parquet", {name: _arrow(v) for name, v in columns.items()})
    return folder


def _arrow(values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, np.ma.MaskedArray):
        return pa.array(values.data, mask=np.ma.getmaskarray(values))
    return pa.array(values)


def some_files(source: Path, target: Path, numbers: Any) -> Path:
    """A lake of some files of another, with the times that these have there."""
    target.mkdir(exist_ok=True)
    names = sorted(path.name for path in source.iterdir())
    for number in numbers:
        shutil.copy2(source / names[number], target / names[number])
    return target


class Opened:
    """Notes which files a reader is asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        honest = Reader.batches

        def batches(reader: Reader, file: Any, *rows: Any) -> Any:
            self.paths.append(file.path)
            return honest(reader, file, *rows)

        monkeypatch.setattr(Reader, "batches", batches)

    def taken(self) -> list[str]:
        """Distinct paths since the last question."""
        found, self.paths = sorted(set(self.paths)), []
        return found


class CutShort:
    """A progress that interrupts the run once so many units are done."""

    def __init__(self, after: int) -> None:
        self.left = after

    def begin(self, n_units: int, n_bytes: int) -> None:
        if self.left == 0:
            raise KeyboardInterrupt

    def advance(self, n_rows: int, n_bytes: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def end(self) -> None: ...


def interrupted(lake: Any, state: Path, after: int, **options: Any) -> bool:
    """Run until so many units are done; whether the run was cut short."""
    try:
        flat(dm.mean)(lake, state=state, progress=CutShort(after), **options)
    except KeyboardInterrupt:
        return True
    return False


def touch(path: Path) -> None:
    """Another time of modification, whatever the clock's steps."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000))


N = 11
"""Files of the lake of these tests."""


def run(lake: Any, options: dict[str, Any], **more: Any) -> Any:
    """The mean on one thread, with a seed."""
    return flat(dm.mean)(lake, **{"column": "x", "rng": 7, "threads": 1, **options, **more})


def facts(found: Any) -> Any:
    """What a result says of its state."""
    return dm.Results.of(found).data["state"]


def grown(lake: Path, tmp_path: Path, **options: Any) -> tuple[Path, Path]:
    """A lake of six files, and the state of a run on it."""
    some, state = some_files(lake, tmp_path / "lake", range(6)), tmp_path / "s"
    run(some, options, state=state)
    return some, state


def refused(error: type[Exception], words: list[str], act: Callable[[], Any]) -> None:
    """It is refused by one line that has these words."""
    with pytest.raises(error) as caught:
        act()
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text


def close(found: Any, right: Any) -> None:
    """The same counts and blocks, and numbers up to rounding."""
    exact = ("group", "status", "n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_blocks", "block_size")
    for a, b in zip(results(found), results(right), strict=True):
        for name in exact:
            assert getattr(a, name) == getattr(b, name), name
        error = "radius" if isinstance(a, dm.VectorResult) else "interval"
        for name in ("estimate", "plain_estimate", "block_estimates", error):
            values = [np.array(getattr(r, name) or () if name == error else getattr(r, name)) for r in (a, b)]
            assert values[0] == pytest.approx(values[1], rel=1e-12, nan_ok=True), name
