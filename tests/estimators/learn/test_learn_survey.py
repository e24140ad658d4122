"""Bad files and shares of rows are left out before a descent, or the model and its result tell of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.errors import DoubtfulResultWarning
from distmom.estimators import survey
from distmom.estimators.learn import survey as learn_survey
from distmom.estimators.learn.survey import MOST_LOSSES, loss_flags
from distmom.numerics.losses.row_risks import LinearRisk
from distmom.solvers.held_out import HeldOut

pytest.importorskip("sklearn")

N_FILES, N = 40, 500
BAD = (3, 11, 17, 23, 38)
Damage = Callable[[np.ndarray, np.random.Generator, int], np.ndarray]
FEATURES = ["a", "b"]


def nothing(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return x


def bad_files(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return -60_000.0 * x if number in BAD else x


def codes(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return np.where(g.random(x.shape) < 0.12, -9_999.0, x)


def factor(x: np.ndarray, g: np.random.Generator, number: int) -> np.ndarray:
    return np.where(g.random(x.shape) < 0.12, 1_000.0 * x, x)


DAMAGES: dict[str, Damage] = {"bad files": bad_files, "codes": codes, "factor": factor}
WORDS = {"bad files": "files disagree", "codes": "share screened out", "factor": "share screened out"}


def write(folder: Path, damage: Damage = nothing) -> Path:
    """Two features about 20, of which the first is damaged, a target, and a label."""
    g, of_damage = np.random.default_rng(0), np.random.default_rng(1)
    folder.mkdir()
    for number in range(N_FILES):
        a, b = 20.0 + 5.0 * g.normal(size=(2, N))
        noise = g.normal(size=N)
        y, late = 2.0 * a - b + noise, (a - b + 5.0 * noise > 0.0)
        columns = {"a": damage(a, of_damage, number), "b": b, "y": y, "late": late}
        pq.write_table(pa.table(columns), folder / f"{number:02}.parquet")
    return folder


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("learn-survey")
    each = {"clean": nothing, **DAMAGES}
    return {name: write(root / name.replace(" ", "-"), damage) for name, damage in each.items()}


LEARNERS: dict[str, tuple[Callable[..., Any], str | None]] = {
    "regression": (dm.RobustLinearRegression, "y"),
    "classification": (dm.RobustLogisticRegression, "late"),
    "ranking": (dm.PairwiseRanker, "y"),
    "metric": (dm.MahalanobisMetric, "late"),
    "clusters": (lambda **how: dm.RobustKMeans(2, **how), None),
}


def fitted(name: str, data: Any, *, columns: list[str] = FEATURES, **how: Any) -> Any:
    make, target = LEARNERS[name]
    data = data if isinstance(data, pa.Table) else str(data)
    known = ("mode", "compute", "executor", "state")
    lake = {key: how.pop(key) for key in known if key in how}
    return make(random_state=0, **{"max_iter": 200, **how}).fit(data, target, columns=columns, **lake)


def numbers(model: Any) -> np.ndarray:
    if hasattr(model, "components_"):
        return np.linalg.inv(model.get_mahalanobis_matrix()).ravel()
    return np.concatenate([np.ravel(model.coef_), np.ravel(getattr(model, "intercept_", 0.0)) / 20.0])


def bits(model: Any) -> bytes:
    names = ("components_", "coef_", "cluster_centers_")
    return b"".join(getattr(model, name).tobytes() for name in names if hasattr(model, name))


def without_survey(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey.Surveyor, "survey", lambda self, scan, columns: survey.Survey(scan))


def table(lake: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in sorted(lake.iterdir())])


TOLERANCE = {"regression": 0.15, "classification": 0.35, "ranking": 0.25, "metric": 0.6}
"""Of the largest number of the clean model: blocks of 24 rows, 200 steps."""


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", TOLERANCE)
@pytest.mark.one_in(18)
def test_a_model_is_that_of_the_good_rows(
    name: str, damage: str, lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    how: dict[str, Any] = {"block_size": 24}
    clean, found = (fitted(name, lakes[lake], **how) for lake in ("clean", damage))
    wide = TOLERANCE[name] * np.abs(numbers(clean)).max()
    assert clean.flags_ == [] and clean.notes_ == []
    assert np.abs(numbers(found) - numbers(clean)).max() < wide
    assert found.flags_ == [WORDS[damage]] and found.outlier_share_ == clean.outlier_share_ == 0.0
    if damage == "bad files":
        assert found.accused_files_ == [f"{number:02}.parquet" for number in BAD]
    else:
        assert found.n_dropped_ == pytest.approx(0.12 * (found.n_used_ + found.n_dropped_), rel=0.1)
    without_survey(monkeypatch)
    if name in ("regression", "classification"):
        assert (
            np.abs(numbers(fitted(name, lakes[damage])) - numbers(clean)).max() < wide
        )  # it finds them, too
    monkeypatch.setattr(dm.MahalanobisMetric, "_screened", False)  # as do metrics
    with pytest.warns(UserWarning, match="are accused|robust standard deviations"):
        alone = fitted(name, lakes[damage], aggregator="median_block", scaling="robust", **how)
    assert np.abs(numbers(alone) - numbers(clean)).max() > wide  # the control


@pytest.mark.slow
def test_what_is_clean_has_the_bits_of_a_model_without_a_survey(
    lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    g = np.random.default_rng(2)
    heavy = g.standard_t(2.5, size=(5_000, 3)), np.exp(g.normal(size=5_000))  # no damage: real tails

    def models() -> list[Any]:
        found = [fitted(name, lakes["clean"], max_iter=9) for name in LEARNERS]
        for make, y in ((dm.RobustLinearRegression, heavy[1]), (dm.RobustKMeans, None)):
            found.append(make(random_state=0, max_iter=9).fit(heavy[0], y))
        return found

    asked = models()
    told = [one.flags_ for one in asked]
    assert told.pop(-2) == ["residuals skewed"] and told == [[]] * len(told)  # log-normal: not the mean
    assert all(one.n_dropped_ == 0 for one in asked)
    without_survey(monkeypatch)
    assert [bits(one) for one in asked] == [bits(one) for one in models()]


def test_the_same_bits_from_files_streams_threads_and_memory(lakes: dict[str, Path]) -> None:
    how: dict[str, Any] = {"max_iter": 40}
    resident = fitted("regression", lakes["codes"], **how)
    streaming = fitted("regression", lakes["codes"], mode="streaming", executor=dm.Threads(1), **how)
    rows = table(lakes["codes"])
    memory = fitted("regression", rows, **how)
    X = np.stack([rows[name].to_numpy() for name in FEATURES], axis=1)
    arrays = dm.RobustLinearRegression(random_state=0, **how).fit(X, rows["y"].to_numpy())
    for found in (streaming, memory, arrays):
        assert (found.flags_, bits(found)) == (resident.flags_, bits(resident))
        assert found.n_dropped_ == resident.n_dropped_ > 0
    assert memory.notes_ == [text.replace("x0", "a") for text in arrays.notes_]


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
@pytest.mark.parametrize("damage", ["bad files", "codes"])
def test_the_same_bits_on_processes(damage: str, lakes: dict[str, Path]) -> None:
    here = fitted("regression", lakes[damage], max_iter=40)
    there = fitted("regression", lakes[damage], max_iter=40, executor=dm.Processes(2), compute="workers")
    assert (there.flags_, there.notes_, bits(there)) == (here.flags_, here.notes_, bits(here))


@pytest.mark.slow
def test_a_run_goes_on_from_a_state_after_the_same_survey(lakes: dict[str, Path], tmp_path: Path) -> None:
    whole = fitted("regression", lakes["codes"], max_iter=40)
    fitted("regression", lakes["codes"], max_iter=15, state=tmp_path / "state")
    further = fitted("regression", lakes["codes"], max_iter=40, state=tmp_path / "state")
    assert bits(further) == bits(whole) and further.flags_ == ["share screened out"]


def test_data_in_memory_is_read_once_where_it_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = survey.Surveyor.means

    def means(self: Any, *given: Any) -> Any:
        asked.append(1)
        return original(self, *given)

    monkeypatch.setattr(survey.Surveyor, "means", means)
    X = np.random.default_rng(0).normal(size=(2_000, 3))
    dm.RobustLinearRegression(random_state=0, max_iter=5).fit(X, X[:, 0])
    assert len(asked) == 1
    dm.RobustLinearRegression(random_state=0, max_iter=5).partial_fit(X, X[:, 0])
    assert len(asked) == 1  # batches are a stream


@pytest.mark.slow
def test_a_label_or_a_cluster_that_lies_far_out_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    g = np.random.default_rng(0)
    X, y = g.normal(size=(3_000, 2)), np.repeat([0, 1, 2], [1_400, 1_300, 300])
    X[y == 1] += [4.0, 0.0]
    X[y == 2, 1] += 400.0
    with pytest.warns(DoubtfulResultWarning, match="share far out"):
        found = dm.RobustLogisticRegression(random_state=0).fit(X, y)
    assert found.flags_ == ["share far out"] and "they are included in the estimate" in found.notes_[0]
    assert found.n_dropped_ == 0 and found.score(X[y == 2], y[y == 2]) == 1.0
    pairs = dm.MahalanobisMetric(random_state=0, max_iter=20, contamination=0.1).fit(X, y)
    assert pairs.flags_ == ["share far out"]
    centres = dm.RobustKMeans(3, random_state=0, contamination=0.1).fit(X)
    assert centres.flags_ == ["share far out"] and centres.cluster_centers_[:, 1].max() > 390.0
    X[::25] = -9_999.0  # a code is no cluster
    codes = dm.RobustKMeans(3, random_state=0, contamination=0.1).fit(X)
    assert codes.flags_ == ["share screened out", "share far out"] and codes.cluster_centers_.min() > -10.0
    monkeypatch.setattr(learn_survey, "far_labels", lambda *_: [])
    X[y == 2, 1] = 400.0 + g.normal(size=300)
    blind = dm.RobustLogisticRegression(random_state=0).fit(X, y)
    assert blind.flags_ == ["share screened out"] and blind.n_dropped_ > 300  # the control


def test_given_pairs_and_own_losses_are_surveyed() -> None:
    g = np.random.default_rng(0)
    pairs, near = g.normal(size=(2_000, 2, 2)), np.where(np.arange(2_000) % 2, 1, -1)
    pairs[near == 1, 1] = pairs[near == 1, 0] + 0.1 * g.normal(size=(1_000, 2))
    pairs[::20, 0, 0] = 1e6
    found = dm.MahalanobisMetric(random_state=0, max_iter=20).fit_pairs(pairs, near)
    assert found.flags_ == ["share screened out"] and "x0: 100 rows" in found.notes_[0]

    def squared(mean: Any, rows: Any, targets: Any) -> Any:
        return ((mean - rows) ** 2).sum(axis=1).mean() / 2, (mean - rows).mean(axis=0)

    own = dm.RobustMinimizer(squared, start=[0, 0], random_state=0, max_iter=20).fit(pairs[:, 0])
    assert (
        own.flags_ == ["share screened out"] and own.loss_flags_ == []
    )  # it is not known of what it is a mean


def test_what_cannot_be_repaired_is_told_by_code_page_and_warning(
    lakes: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    call: dict[str, Any] = {"target": "y", "columns": FEATURES, "rng": 0, "options": {"max_iter": 20}}
    with pytest.warns(DoubtfulResultWarning, match="files disagree"):
        found = dm.train(str(lakes["bad files"]), "regression", model=tmp_path / "model", **call)
    assert "files disagree" in found.flags and dm.Results.of(found).exit_code == 0
    assert "5 files that differ from the rest were left out: 03.parquet" in found.notes[0]
    assert dm.load_model(tmp_path / "model").flags_ == ["files disagree"]
    assert "a pass for the mean" in dm.explain(dm.train, str(lakes["clean"]), "regression", **call)["survey"]
    monkeypatch.setattr(survey.Surveyor, "_bad_files", lambda *_: ())
    monkeypatch.setattr(survey.Surveyor, "_cuts", lambda *_: False)
    with pytest.warns(DoubtfulResultWarning, match="breakdown point exceeded"):
        beyond = dm.train(str(lakes["bad files"]), "regression", **call)
    assert beyond.status == "breakdown point exceeded" and dm.Results.of(beyond).exit_code == 5
    page = tmp_path / "page.html"
    dm.write_results(dm.Results.of(beyond), page)
    assert "Do not rely on the model" in page.read_text("utf-8")
    config = tmp_path / "train.toml"
    config.write_text(
        f"""pipeline = "train"
[data]
paths = {json.dumps([str(lakes["bad files"])])}
[train]
learner = "regression"
target = "y"
columns = ["a", "b"]
[options]
steps = 20
[output]
files = [{json.dumps(str(tmp_path / "found.json"))}]
""",
        "utf-8",
    )
    from distmom.jobs.run import run_config

    assert run_config(config) == 5
    [told] = json.loads((tmp_path / "found.json").read_text("utf-8"))["results"]
    assert told["status"] == "breakdown point exceeded" and told["flags"][0] == "breakdown point exceeded"


@pytest.mark.parametrize("share", [0.0, 0.03, pytest.param(0.003, marks=pytest.mark.slow)])
def test_the_loss_has_the_statuses_of_the_mean_of_the_losses(share: float) -> None:
    g = np.random.default_rng(1)
    rows, x = g.normal(size=(MOST_LOSSES, 2)), np.array([1.0, -1.0, 0.5])
    targets = rows @ x[:2] + 0.5 + g.normal(size=MOST_LOSSES)
    targets[g.random(MOST_LOSSES) < share] += 1e4
    losses = np.array([(y - row @ x[:2] - 0.5) ** 2 / 2 for row, y in zip(rows, targets, strict=True)])
    wanted = [str(flag) for flag in dm.mean(losses, rng=3).flags]
    found = loss_flags(LinearRisk("squared"), x, rows, targets, 3)
    assert [*found] == ["share far out" if flag == "share screened out" else flag for flag in wanted]
    assert bool(found) == (share > 0.0)


def test_held_out_rows_judge_the_loss_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    g = np.random.default_rng(0)
    X = g.normal(size=(4_000, 2))
    y = X[:, 0] + g.normal(size=4_000)
    y[g.random(4_000) < 0.02] *= 12.0  # too near to be told from tails
    seen: list[int] = []
    original = HeldOut.rows.fget  # type: ignore[attr-defined]

    def rows(self: Any) -> Any:
        found = original(self)
        seen.append(len(found[1]))
        return found

    monkeypatch.setattr(HeldOut, "rows", property(rows))
    held = dm.RobustLinearRegression(random_state=0, loss="squared", max_iter=30).fit(X, y)
    assert held.flags_ == [] and seen == [31 * 25]  # a fifth of them
    none = dm.RobustLinearRegression(random_state=0, loss="squared", max_iter=30, early_stopping=False)
    assert len(none.fit(X, y).history_["held_out"]) == 0 and len(seen) == 1
    assert "contaminated" in held.loss_flags_ or "contaminated" in none.loss_flags_


def test_a_tenth_of_wide_rows_in_another_unit_is_told() -> None:
    g = np.random.default_rng(0)
    X, y = np.exp(g.normal(size=(20_000, 2))), np.arange(20_000) % 2
    clean = dm.RobustLogisticRegression(random_state=0, max_iter=20).fit(X, y)
    assert clean.flags_ == [] and clean.outlier_share_ < 0.02
    wide = dm.RobustLogisticRegression(random_state=0, max_iter=20).fit(X**2, y)
    assert "share far out" not in wide.flags_ and wide.outlier_share_ > 0.05  # a few in each column
    X[g.random(20_000) < 0.17] *= 60.0
    found = dm.RobustLogisticRegression(random_state=0, max_iter=20).fit(X, y)
    assert found.flags_ == ["share far out"] and any("check their unit" in note for note in found.notes_)
