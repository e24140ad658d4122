"""The same lake and seed give the same bits of a tournament, however the work is cut and whoever does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from mean_lakes import KillWorkers, write
from small_leaves import patch_leaves

import distmom as dm
from distmom.cluster import plan_units
from distmom.estimators.tournament import plan as tournament_plan
from distmom.estimators.tournament import row_oracle
from distmom.estimators.tournament.row_oracle import RowOracle
from distmom.passes.riding import Rider

FAR = dm.Match(beta_r=1e9)
VARIANTS: dict[str, dict[str, Any]] = {
    "found": {},
    "every distance": {"match": FAR},
    "given level": {"match": dm.Match(beta_r=0.05)},
    "chunks and a filter": {"blocks": dm.RandomBlocks(chunk_rows=5), "where": "u > 0.2", "match": FAR},
    "units": {"blocks": dm.UnitBlocks("key", 7), "match": FAR},
    "files": {"blocks": dm.FileBlocks(3), "match": FAR},
    "roots of losses": {"match": dm.Match("loss", 1e9), "blocks": 5},
    "contaminated": {"contamination": 5},
}
NAMES = ["p0", "p1", "p2", "p3"]


def lake(folder: Path) -> Path:
    g = np.random.default_rng(0)
    for i in range(9):
        n = 0 if i == 4 else 130 * (1 + i % 4) + i
        x = g.normal(size=n)
        y = x + g.standard_t(2.1, n)
        columns: dict[str, Any] = {
            "y": pa.array(y, mask=g.random(n) < 0.02),
            "x": x,
            "u": g.random(n),
            "key": g.integers(0, 90, n),
        }
        for j, name in enumerate(NAMES):
            columns[name] = pa.array(x * (0.8 + 0.1 * j) + 0.1 * g.normal(size=n), mask=g.random(n) < 0.001)
        write(folder / f"part={i % 2}" / f"{i}.parquet", columns, row_group_size=70)
    return folder


def twice(row: dict[str, np.ndarray]) -> np.ndarray:
    return 1.1 * row["x"]


def play(data: Any, options: dict[str, Any], **how: Any) -> dm.TournamentResult:
    candidates = {**{name: name for name in NAMES}, "twice": twice}
    return dm.tournament(data, candidates, "y", features="x", rng=3, **options, **how)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_cuts_threads_and_batches_change_no_bit(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lake(tmp_path)
    patch_leaves(monkeypatch)
    options = VARIANTS[variant]
    want = play(folder, options, executor=dm.Threads(1))
    assert play(dm.scan(folder, batch_rows=37), options, executor=dm.Threads(3)) == want
    cut = _cut(monkeypatch)
    assert play(dm.scan(folder, batch_rows=50), options, executor=dm.Threads(2)) == want
    assert cut[0] > 9
    monkeypatch.setattr(row_oracle, "worth_compiling", lambda *_: True)
    monkeypatch.setattr(row_oracle, "TOGETHER", 2)
    monkeypatch.setattr(row_oracle, "COLUMNS_TOGETHER", 2)
    found = play(folder, options, executor=dm.Threads(2))
    assert found == want


def _cut(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have files cut into units of one leaf."""
    seen = [0]

    def finer(files: Any, rows: Any, **options: Any) -> Any:
        rows = [1 << 20 if rows is None else n for n in rows] if rows is not None else None
        units = plan_units(files, rows, **{**options, "unit_bytes": 1_000, "max_files": 1})
        seen[0] = max(seen[0], len(units))
        return units

    monkeypatch.setattr(row_oracle, "plan_units", finer)
    monkeypatch.setattr(tournament_plan, "LARGE_FILE", 1)
    return seen


def test_other_seeds_give_other_parts(tmp_path: Path) -> None:
    folder = lake(tmp_path)
    a, b = (dm.tournament(folder, NAMES, "y", rng=seed) for seed in (0, 1))
    assert a != b
    assert a == dm.tournament(folder, NAMES, "y", rng=0)


def test_rounds_are_resumed_from_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, state = lake(tmp_path / "lake"), tmp_path / "s"
    monkeypatch.setattr(row_oracle, "TOGETHER", 3)
    want = play(folder, {"match": FAR})
    monkeypatch.setattr(Rider, "mount", lambda *_: False)  # the first rounds take passes of their own
    options = {"match": FAR, "state": state}
    whole, passes = RowOracle._run, [0]

    def stop_at(number: int) -> Any:
        def run(self: RowOracle, *arguments: Any) -> Any:
            passes[0] += 1
            if passes[0] == number:
                raise KeyboardInterrupt
            return whole(self, *arguments)

        return run

    for number in (2, 2, 99):  # the first round only, then one more, then the rest
        passes[0] = 0
        monkeypatch.setattr(RowOracle, "_run", stop_at(number))
        if number < 99:
            with pytest.raises(KeyboardInterrupt):
                play(folder, options)
    found = play(folder, options)
    assert found == want and passes[0] == 1
    assert found.data["rounds"]["n_rounds_before"] == 2
    passes[0] = 0
    assert play(folder, options) == want and passes[0] == 0
    with pytest.raises(dm.ConfigError, match="loss was 'squared', now 'absolute'"):
        play(folder, {**options, "loss": "absolute"})
    write(folder / "part=0" / "new.parquet", {"y": [1.0]})
    with pytest.raises(
        dm.DataError, match=r"1 new file .*cannot be added; use State\(path, on_change=.restart.\)"
    ):
        play(folder, options)
    state.write_bytes(b"nothing")
    with pytest.raises(dm.DataError, match="is not a saved state"):
        play(folder, options)


@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
def test_workers_give_the_bits_of_threads(client_of: Any, tmp_path: Path) -> None:
    folder = lake(tmp_path / "lake")
    want = dm.tournament(folder, NAMES, "y", rng=0, executor=dm.Threads(1), match=FAR)
    assert dm.tournament(folder, NAMES, "y", rng=0, executor=client_of(2), match=FAR) == want
    client = client_of(4)
    client.register_plugin(KillWorkers(tmp_path, 1))
    try:
        found = dm.tournament(folder, NAMES, "y", rng=0, executor=client, match=FAR)
    finally:
        client.unregister_worker_plugin("kill-workers")
    assert found == want
    assert len(list(tmp_path.glob("_death-*"))) == 1, "nobody was killed"
