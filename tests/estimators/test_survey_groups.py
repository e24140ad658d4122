"""The survey of groups: each has its own cuts and its own words; files are left out of all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.lake.keys.keyvalues import components
from distmom.lake.within import Within

N_FILES, N = 40, 500
BAD = ("03.parquet", "11.parquet", "17.parquet", "23.parquet", "38.parquet")
CODE = -9_999.0


def write(folder: Path, damage: str = "nothing") -> Path:
    """Three groups of other means; ``rare`` has few rows, all of them at 10^5."""
    g, of_damage = np.random.default_rng(0), np.random.default_rng(1)
    folder.mkdir()
    for number in range(N_FILES):
        k = np.array(["a", "b", "c"], object)[g.integers(0, 3, N)]
        k[:12] = "rare"
        x = g.gamma(2.0, 5.0, N) + 10.0 * (k == "b") + 20.0 * (k == "c") + 1e5 * (k == "rare")
        hit = of_damage.random(N) < 0.02
        if damage == "codes":
            x = np.where(hit & (k != "rare"), CODE, x)
        elif damage == "codes of b":
            x = np.where(hit & (k == "b"), CODE, x)
        elif damage == "bad files" and f"{number:02}.parquet" in BAD:
            x = 60_000.0 * x
        pq.write_table(pa.table({"x": x, "k": k, "j": np.arange(N) % 2}), folder / f"{number:02}.parquet")
    return folder


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("groups")
    return {
        name: write(root / name.replace(" ", "-"), name)
        for name in ("nothing", "codes", "codes of b", "bad files")
    }


def gini(lake: Path, **options: object) -> dm.Results:
    found = dm.ustatistic(lake, "x", by="k", kernel="gini", rng=0, **options)
    assert isinstance(found, dm.Results)
    return found


def near(found: dm.Results, clean: dm.Results) -> bool:
    return all(
        abs(one.estimate - other.estimate) < 2.0 * (other.interval[1] - other.interval[0])
        for one, other in zip(found, clean, strict=True)
    )


def test_clean_groups_and_a_rare_one_far_away_say_nothing(lakes: dict[str, Path]) -> None:
    found = gini(lakes["nothing"])
    assert [str(one.status) for one in found] == ["ok"] * 4
    assert all(one.far_rows is None and one.accused_files == () for one in found)
    assert found["rare"].n_used == 12 * N_FILES


def test_a_code_of_all_groups_is_left_out_of_each(lakes: dict[str, Path]) -> None:
    clean, found = gini(lakes["nothing"]), gini(lakes["codes"])
    assert [str(one.status) for one in found] == ["share screened out"] * 3 + ["ok"] and near(found, clean)
    assert found["rare"].estimate == clean["rare"].estimate and found["rare"].n_used == 12 * N_FILES
    for one in list(found)[:3]:
        assert one.far_rows.values[0][0] == CODE and one.far_rows.share == pytest.approx(
            0.02, rel=0.4
        )  # 130 rows: 4.6 sd
        assert one.n_used == one.n_rows < clean[one.group["k"]].n_used


@pytest.mark.slow
def test_batches_and_threads_change_no_bit(lakes: dict[str, Path]) -> None:
    found = gini(lakes["codes of b"])
    again = gini(dm.scan(lakes["codes of b"], batch_rows=77), executor=dm.Threads(2))
    assert all(one == other for one, other in zip(again, found, strict=True))


@pytest.mark.slow
def test_groups_of_two_columns_too(lakes: dict[str, Path]) -> None:
    two = dm.ustatistic(lakes["codes"], "x", by=["k", "j"], kernel="gini", rng=0)
    assert [str(one.status) for one in two] == ["share screened out"] * 6 + ["ok"] * 2


def test_what_is_wrong_in_one_group_changes_that_alone(lakes: dict[str, Path], tmp_path: Path) -> None:
    clean, found = gini(lakes["nothing"]), gini(lakes["codes of b"])
    assert [str(one.status) for one in found] == ["ok", "share screened out", "ok", "ok"] and near(
        found, clean
    )
    for one, other in zip(found, clean, strict=True):
        assert one.group["k"] == "b" or (one.estimate, one.interval) == (other.estimate, other.interval)
    for name, read in (("out.csv", "utf-8"), ("out.html", "utf-8"), ("out.json", "utf-8")):
        dm.write_results(found, tmp_path / name)
        assert (tmp_path / name).read_text(read).count("share screened out") >= 1
    dm.write_results(found, tmp_path / "out.parquet")
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["status"] for row in rows] == [str(one.status) for one in found]


@pytest.mark.slow
def test_bad_files_are_left_out_of_all_groups(lakes: dict[str, Path]) -> None:
    clean, found = gini(lakes["nothing"]), gini(lakes["bad files"])
    assert near(found, clean)
    for one in found:
        assert "files disagree" in one.flags and one.accused_files == BAD and one.files_named
    differences = [
        dm.difference(lakes[name], "x", by="k", control="a", rng=0) for name in ("nothing", "bad files")
    ]
    for one, other in zip(*differences, strict=True):
        assert other.status == "files disagree" and other.accused_files == BAD
        assert abs(one.estimate - other.estimate) < 2.0 * (one.interval[1] - one.interval[0])


def test_variants_in_files_of_their_own_are_not_bad_files(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    for number in range(120):
        name = "b" if number < 12 else "a"
        (tmp_path / f"v={name}").mkdir(exist_ok=True)
        x = g.normal(1_000.0 if name == "b" else 0.0, 1.0, 300)
        pq.write_table(pa.table({"x": x}), tmp_path / f"v={name}" / f"{number:03}.parquet")
    found = dm.difference(tmp_path, "x", by="v", rng=0)
    assert found.interval[0] < 1_000.0 < found.interval[1] and found.accused_files == ()
    assert found.flags == ("share far out",), "that one variant is 1,000 times as large is told"


@pytest.mark.slow
def test_what_cannot_be_repaired_is_beyond_the_breakdown_point_in_its_group(
    lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from distmom.estimators.survey import Surveyor

    monkeypatch.setattr(Surveyor, "_bad_files", lambda *_: ())
    found = gini(lakes["bad files"])
    assert {str(one.status) for one in list(found)[:3]} == {
        "breakdown point exceeded"
    } and found.exit_code == 5


def test_rows_within_the_bounds_of_their_group() -> None:
    rows = {"x": pa.array([1.0, 9.0, None, 9.0, float("nan"), 9.0]), "k": pa.array([1, 1, 1, 2, 1, None])}
    [one] = components(pa.array([1]))
    mine = Within((), None, ("k",), (((one,), "x", -np.inf, 5.0),))
    assert mine.mask(rows, 6).tolist() == [True, False, True, True, True, True]
    assert mine.columns == ("x", "k") and mine.keys == ("k",) and mine.text == "-inf < x < 5 of 1"
    whole = {"x": rows["x"], "k": pa.array([1])}  # one value of a folder stands for all rows
    assert mine.mask(whole, 6).tolist() == [True, False, True, False, True, False]
    assert mine.identity != Within((), None, ("k",), (((one,), "x", -np.inf, 5.5),)).identity


KEYS = {
    "texts": pa.array(["a", "b", "c"]),
    "nanoseconds": pa.array([1, 11, 21], pa.timestamp("ns")),
    "times of day": pa.array([1, 11, 21], pa.time64("ns")),
    "beyond 63 bits": pa.array([2**64 - 3, 2**64 - 2, 2**64 - 1], pa.uint64()),
    "no UTF-8": pa.array([b"\xfd", b"\xfe", b"\xff"], pa.binary()).view(pa.string()),
}


@pytest.mark.parametrize("kind", KEYS)
def test_groups_are_found_whatever_their_keys_are(kind: str) -> None:
    """Keys that no value of Python stands for are shown as texts: their bad rows stayed in."""
    g, n = np.random.default_rng(0), 6_000
    group = g.integers(0, 3, n)
    bad = (group == 1) & (g.random(n) < 0.1)
    data = pa.table({"x": np.where(bad, 1e6, g.normal(10.0, size=n)), "k": KEYS[kind].take(pa.array(group))})
    found = dm.ustatistic(data, "x", kernel="gini", by="k", rng=0)
    assert [one.status for one in found] == ["ok", "share screened out", "ok"]
    assert all(1.0 < one.estimate < 1.3 for one in found)  # Gini's difference of a normal is 1.13
    differences = dm.difference(data, "x", by="k", rng=0)
    assert [one.status for one in differences] == ["share far out", "ok"]
