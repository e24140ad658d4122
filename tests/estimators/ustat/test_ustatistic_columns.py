"""Several columns of one call have the bits of calls for each, and share their passes over the lake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mean_lakes import dirty_lake, same

import distmom as dm
from distmom.lake.reader import Reader
from distmom.passes import regrouping

COLUMNS = ["x", "y", "u"]
VARIANTS: dict[str, dict[str, Any]] = {
    "random": {},
    "grouped and filtered": {"by": "name", "where": "u > 0.1"},
    "moments alone": {"kernel": "variance", "by": "key"},
    "units": {"blocks": dm.UnitBlocks(["name", "part"], 3)},
    "NaN kept": {"nan": "keep", "blocks": 101},
    "sampled pairs": {"pairs": dm.SampledPairs(50, replace=True), "blocks": 3},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.one_in(8)
def test_columns_together_are_columns_alone(
    lake: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"kernel": "gini", "rng": 7, "executor": dm.Threads(2), **options}
    scan = dm.scan(lake, nan=options.pop("nan", "omit"))
    alone = [result for name in COLUMNS for result in _each(dm.ustatistic(scan, name, **options))]
    together = list(dm.ustatistic(scan, COLUMNS, **options))
    monkeypatch.setattr(regrouping, "RANGE_BYTES", 2_000)  # of one column, of two, and of a part of one
    cut = list(dm.ustatistic(scan, COLUMNS, **options))
    assert len(together) == len(alone) == len(cut)
    for one, other, third in zip(alone, together, cut, strict=True):
        assert same(one, other) and same(one, third), one.column


def _each(found: Any) -> list[Any]:
    return list(found) if isinstance(found, dm.Results) else [found]


def test_two_samples(lake: Path, tmp_path: Path) -> None:
    both = [lake, dirty_lake(tmp_path / "other", seed=9, rows=80)]
    options: dict[str, Any] = {"kernel": "auc", "rng": 7, "executor": dm.Threads(2)}
    together = dm.ustatistic(both, COLUMNS, **options)
    for name, found in zip(COLUMNS, together, strict=True):
        assert same(dm.ustatistic(both, name, **options), found), name


def test_files_are_read_three_times_however_many_columns(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = Reader.batches

    def counting(self: Reader, file: Any, *part: Any) -> Any:
        read.append(file.path)
        return plain(self, file, *part)

    monkeypatch.setattr(Reader, "batches", counting)
    dm.ustatistic(lake, COLUMNS, kernel="gini", rng=0, executor=dm.Threads(1))
    assert len(read) == 3 * len(set(read))  # surveyed, counted, regrouped
