"""Learning from lakes: the same bits in every mode, for any fetching, any executor, after interruptions."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators.learn import rows as learn_rows
from distmom.estimators.learn.rows import ArrayRows
from distmom.estimators.learn.run import Watch
from distmom.estimators.learn.steps import StepPosition, step_rows
from distmom.numerics.random.virtual_order import VirtualOrder
from distmom.reductions.rows.gather import NULL, USED

pytest.importorskip("sklearn")


def table(n=3000):
    g = np.random.default_rng(0)
    X = g.normal(size=(n, 3))
    return pa.table(
        {
            "a": X[:, 0],
            "b": [None if i % 97 == 0 else v for i, v in enumerate(X[:, 1].tolist())],
            "c": pa.array(X[:, 2], pa.float32()),
            "name": ["text"] * n,
            "label": (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int),
        }
    )


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "lake"
    folder.mkdir()
    for i in range(5):
        pq.write_table(table().slice(i * 600, 600), folder / f"{i}.parquet", row_group_size=200)
    return folder


LEARNERS = [
    dm.MahalanobisMetric(random_state=0, max_iter=60),
    dm.PairwiseRanker(random_state=0, max_iter=60),
    dm.RobustKMeans(2, random_state=0, max_iter=60),
    dm.RobustLinearRegression(random_state=0, max_iter=60),
    dm.RobustLogisticRegression(random_state=0, max_iter=60),
]


def model(learner):
    names = ("components_", "coef_", "cluster_centers_")
    return next(getattr(learner, n) for n in names if hasattr(learner, n)).tobytes()


def fitted(learner, data, **options):
    from sklearn.base import clone

    y = None if isinstance(learner, dm.RobustKMeans) else "label"
    if y is None:
        options["columns"] = ["a", "b", "c"]
    return clone(learner).fit(data, y, **options)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
@pytest.mark.one_in(6)
def test_modes_and_fetching_change_no_bit(learner, lake, monkeypatch):
    resident = fitted(learner, str(lake))
    assert resident.mode_ == "resident" and list(resident.feature_names_in_) == ["a", "b", "c"]
    right = model(resident)
    assert model(fitted(learner, table())) == right  # the same rows in the same order, in memory
    assert model(fitted(learner, lake, mode="streaming", executor=dm.Threads(1))) == right
    monkeypatch.setattr(learn_rows, "MOST_GATHERED", 1)
    monkeypatch.setattr(learn_rows, "STEPS_AT_ONCE", 1)
    streaming = fitted(learner, sorted(lake.iterdir()), mode="streaming", executor=dm.Threads(2))
    assert streaming.mode_ == "streaming" and model(streaming) == right


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
@pytest.mark.one_in(2)
def test_threads_that_compute_blocks_change_no_bit(learner, lake, monkeypatch):
    alone = fitted(learner, lake, compute="here")
    assert "computed here" in alone.mode_reason_
    monkeypatch.setattr(learn_rows, "MOST_GATHERED", 1)
    together = fitted(learner, lake, compute="workers", executor=dm.Threads(3), mode="streaming")
    assert "blocks are computed by 3 threads" in together.mode_reason_
    assert model(together) == model(alone)
    assert together.history_["objective"].tobytes() == alone.history_["objective"].tobytes()


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("learner", [LEARNERS[0], LEARNERS[3]], ids=["metric", "linear"])
def test_any_number_of_workers_in_any_mode_changes_no_bit(learner, lake, workers, client_of):
    right = model(fitted(learner, lake))
    for executor, mode, compute in (
        (client_of(workers), "resident", "here"),
        (client_of(workers), "resident", "workers"),
        (client_of(workers), "streaming", "here"),
        (dm.Processes(workers), "streaming", "workers"),
    ):
        assert model(fitted(learner, lake, executor=executor, mode=mode, compute=compute)) == right


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
@pytest.mark.parametrize("aggregator", ["median_block", "geometric_median"])
def test_a_worker_that_is_killed_changes_no_bit(aggregator, lake, monkeypatch):
    from distributed import Client, LocalCluster

    learner = dm.MahalanobisMetric(random_state=0, max_iter=60, aggregator=aggregator)
    right = model(fitted(learner, lake))
    original, killed = Watch.__call__, []

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=60,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):

        def kill(self, descent_state):
            original(self, descent_state)
            if descent_state.step in (10, 30):
                victim = min(client.run(os.getpid).values())
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        monkeypatch.setattr(Watch, "__call__", kill)
        monkeypatch.setattr(learn_rows, "MOST_GATHERED", 1)
        monkeypatch.setattr(learn_rows, "STEPS_AT_ONCE", 8)
        found = fitted(learner, lake, executor=client, mode="streaming", compute="workers")
    assert len(killed) == 2 and model(found) == right


def test_rows_are_fetched_while_steps_run(lake, monkeypatch):
    """And nothing is fetched for steps that will not come."""
    asked = []
    original = learn_rows.LakeRows.fetch

    def fetch(self, rows, stop=None):
        asked.append((rows.size, threading.current_thread() is threading.main_thread()))
        return original(self, rows, stop)

    monkeypatch.setattr(learn_rows.LakeRows, "fetch", fetch)
    monkeypatch.setattr(learn_rows, "MOST_GATHERED", 1)
    monkeypatch.setattr(learn_rows, "STEPS_AT_ONCE", 4)
    learner = dm.RobustLinearRegression(random_state=0, max_iter=12, early_stopping=False, block_size=16)
    found = fitted(learner, lake, mode="streaming")
    assert found.n_iter_ == 12
    assert [here for _, here in asked[:2]] == [True, True]  # the sample, the first steps
    assert len(asked) in (5, 6) and not any(here for _, here in asked[2:])  # a few rows do not count


def test_rows_with_missing_values_and_filters_leave_blocks_full():
    whole = table()
    g = np.array(whole["a"]), np.array(whole["b"].to_numpy(zero_copy_only=False)), np.array(whole["c"])
    used = ~np.isnan(g[1])
    fates = np.where(used, USED, NULL).astype(np.uint8)
    stream = step_rows(VirtualOrder(1, 3000), ArrayRows(np.stack(g, axis=1), None, fates), 11, 16)
    seen = []
    for _ in range(int(used.sum()) // 176):
        features, _, place = next(stream)
        assert features.shape == (11, 16, 3) and np.isfinite(features).all()
        assert place.number == 0
        seen.append(features.reshape(-1, 3))
    assert len(np.unique(np.concatenate(seen), axis=0)) == 176 * len(seen)  # no row twice in a pass
    *_, place = next(stream)
    assert place.number == 1 and place.met == (used.sum(), 3000 - used.sum(), 0, 0, 0)


def test_a_stream_goes_on_from_any_place():
    source = ArrayRows(np.arange(500.0)[:, None], None, (np.arange(500) % 7 == 0).astype(np.uint8))
    stream, place = step_rows(VirtualOrder(1, 500), source, 3, 20), StepPosition()
    for _ in range(20):
        again, _, _ = next(step_rows(VirtualOrder(1, 500), source, 3, 20, place))
        features, _, place = next(stream)
        assert again.tobytes() == features.tobytes()


def test_every_row_is_drawn_equally_often():
    """5,000 steps of 30 of 150 rows; one step a pass would draw each row 1,000 times with sd 28."""
    source = ArrayRows(np.arange(150.0)[:, None])
    counts = np.zeros(150)
    for seed in range(1000):
        stream = step_rows(VirtualOrder(seed, 150), source, 3, 40)  # 120 of the 150 rows of each pass
        features, _, _ = next(stream)
        counts[features[0, :, 0].astype(int)] += 1
    expected, sd = 1000 * 40 / 150, np.sqrt(1000 * (40 / 150) * (110 / 150))
    assert np.abs(counts - expected).max() < 6.0 * sd  # 150 rows: fails by chance with 3e-7


def test_too_few_rows_that_count_are_an_error():
    source = ArrayRows(np.zeros((500, 1)), None, (np.arange(500) >= 40).astype(np.uint8))
    with pytest.raises(NoAnswerError, match="40 usable rows are too few for a step of 3 blocks of 20"):
        next(step_rows(VirtualOrder(1, 500), source, 3, 20))


COUNTS = ("n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_dropped")


@pytest.mark.parametrize("name", ["metric", "ranking", "regression", "classification", "clustering"])
@pytest.mark.one_in(6)
def test_rows_are_told_as_they_were(name, tmp_path, monkeypatch):
    """Whether they were held, gathered, or met before an interruption."""
    i = np.arange(4000)
    X = np.random.default_rng(0).normal(size=(4000, 2))
    X[i % 100 == 1, 0], X[i % 100 == 2, 1] = np.nan, np.inf
    b = [None if k % 100 in (3, 4) else v for k, v in enumerate(X[:, 1].tolist())]
    whole = pa.table({"a": X[:, 0], "b": b, "keep": i % 100 >= 7, "label": (i % 2).astype("i4")})
    (tmp_path / "lake").mkdir()
    for k in range(4):
        pq.write_table(whole.slice(1000 * k, 1000), tmp_path / "lake" / f"{k}.parquet")
    (tmp_path / "lake" / "4.parquet").write_text("no Parquet")

    def run(steps, data=tmp_path / "lake", **more):
        target = None if name == "clustering" else "label"
        options = {"max_iter": steps, "block_size": 16, **({"n_clusters": 2} if target is None else {})}
        given = {"columns": ["a", "b"], "where": "keep", "rng": 0} | more
        return dm.train(dm.scan(data, on_bad_file="skip"), name, target=target, options=options, **given)

    long = run(60)  # more than a pass
    # of the rows 7 in 100 are dropped (the null, NaN and infinite ones 1 to 6 with them)
    assert [getattr(long, n) for n in COUNTS] == [3720, 3720, 0, 0, 0, 280]
    assert long.data["n_rows"] == 4000 and long.data["n_files"] == 5 and len(long.data["skipped"]) == 1
    every = run(60, where=None)
    assert [getattr(every, n) for n in COUNTS] == [4000, 3880, 80, 40, 40, 0]
    record = every.to_arrow().to_pylist()[0]
    assert [record[n] for n in COUNTS] == [4000, 3880, 80, 40, 40, 0]
    assert [getattr(run(60, data=whole, where=None), n) for n in COUNTS] == [4000, 3880, 80, 40, 40, 0]
    monkeypatch.setattr(learn_rows, "MOST_GATHERED", 1)
    short = run(12, where=None)
    assert 12 * 11 * 16 < short.n_rows < 3200 and f"{short.n_rows:,} of 4,000" in " ".join(short.notes)
    state = tmp_path / "s.state"
    run(5, where=None, mode="streaming", state=state)
    again = run(12, where=None, mode="streaming", state=state)
    assert [getattr(again, n) for n in COUNTS] == [getattr(short, n) for n in COUNTS]


def test_a_filter_and_chosen_columns(lake):
    found = dm.RobustLinearRegression(random_state=0, max_iter=50).fit(
        lake, "a", columns=["c"], where="a > 0"
    )
    assert list(found.feature_names_in_) == ["c"] and found.intercept_ > 0.4


def test_the_target_may_go_without_saying(lake):
    one = fitted(LEARNERS[0], lake)
    two = dm.MahalanobisMetric(random_state=0, max_iter=60).fit(lake)
    assert model(one) == model(two)


@pytest.mark.parametrize(
    ("y", "options", "error", "words"),
    [
        ("nothing", {}, ConfigError, "nothing"),
        ("name", {}, DataError, "one class only"),
        ("label", {"columns": ["label"]}, ConfigError, "columns: 'label' is also the target"),
        ("label", {"column": ["a"]}, TypeError, "column: now columns="),
        ("label", {"nan": "keep"}, TypeError, r"nan: now dm\.scan\(data, nan=.*MahalanobisMetric\.fit"),
        ("label", {"threads": 2}, TypeError, r"threads: now executor=dm\.Threads"),
        ("label", {"checkpoint_seconds": 1.0}, TypeError, r"checkpoint_seconds: now state=dm\.State"),
        ("label", {"wher": "a > 0"}, TypeError, "did you mean 'where'"),
        ("label", {"mode": "fast"}, ConfigError, "mode"),
        ("label", {"where": "a > 99"}, NoAnswerError, "none of"),
    ],
)
def test_what_cannot_be_learned_from(lake, y, options, error, words):
    with pytest.raises(error, match=words):
        dm.MahalanobisMetric(random_state=0).fit(lake, y, **options)


def test_a_lake_without_an_obvious_target(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0], "z": [1, 2]}), tmp_path / "x.parquet")
    with pytest.raises(ConfigError, match="y: name the column of targets, one of a, z"):
        dm.PairwiseRanker().fit(tmp_path)


class Interrupt(Exception):
    pass


@pytest.mark.parametrize("learner", [LEARNERS[0], LEARNERS[3]], ids=["metric", "linear"])
def test_an_interrupted_run_goes_on_with_the_same_bits(learner, lake, tmp_path, monkeypatch):
    whole = fitted(learner, lake)
    state = tmp_path / "s.state"
    original = Watch.__call__

    def stop_now_and_then(self, descent_state):
        original(self, descent_state)
        if descent_state.step % 23 == 0:
            raise Interrupt

    monkeypatch.setattr(Watch, "__call__", stop_now_and_then)
    times = 0
    while True:
        try:
            found = fitted(learner, lake, state=state, mode="streaming" if times else "resident")
            break
        except Interrupt:
            times += 1
    assert times == 2 and model(found) == model(whole)
    assert found.history_["objective"].tobytes() == whole.history_["objective"].tobytes()
    longer = learner.get_params() | {"max_iter": 70}
    monkeypatch.undo()
    more = fitted(type(learner)(**longer), lake, state=state)
    assert more.n_iter_ == 70 and model(more) == model(fitted(type(learner)(**longer), lake))


def test_a_state_of_something_else_is_refused(lake, tmp_path):
    state = tmp_path / "s.state"
    first = dm.MahalanobisMetric(max_iter=30).fit(lake, state=state)
    second = dm.MahalanobisMetric(max_iter=30).fit(lake, state=state)  # takes the seed of the state
    assert model(first) == model(second)
    with pytest.raises(ConfigError, match="made with other options: loss was 'hinge', now"):
        dm.MahalanobisMetric(loss="logistic").fit(lake, state=state)
    with pytest.raises(ConfigError, match="made with other options: columns was"):
        dm.MahalanobisMetric().fit(lake, state=state, columns=["a"])
    with pytest.raises(ConfigError, match="state: data in memory"):
        dm.MahalanobisMetric().fit(table(), state=tmp_path / "t.state")
    half = tmp_path / "half.state"
    options = {"state": half, "where": "a>0"}
    nulls = dm.scan(lake, missing="null")
    filtered = dm.MahalanobisMetric(max_iter=30).fit(nulls, **options)
    options["where"] = "( a > 0 )"  # the same
    assert model(dm.MahalanobisMetric(max_iter=30).fit(nulls, **options)) == model(filtered)
    changed = r"where was '\( a > 0 \)', now 'a > 1'; use the same, or name another state"
    for scan, other, words in (
        (nulls, {"where": "a > 1"}, changed),
        (nulls, {"where": None}, r"where was '\( a > 0 \)', now None"),
        (lake, {}, "missing was 'null', now 'error'"),
        (dm.scan(lake, missing="null", nan="raise"), {}, "nan was 'omit', now 'raise'"),
    ):
        with pytest.raises(ConfigError, match=words):
            dm.MahalanobisMetric(max_iter=30).fit(scan, **options | other)
    os.utime(lake / "0.parquet", (1, 1))
    with pytest.raises(DataError, match=r"1 of its files has changed since .first: 0.parquet"):
        dm.MahalanobisMetric().fit(lake, state=state)
    dm.mean(lake, "a", state=tmp_path / "mean.state", rng=0)
    with pytest.raises(DataError, match="is of kind 'mean', not 'training'"):
        dm.MahalanobisMetric().fit(lake, state=tmp_path / "mean.state")


def test_a_stream_is_opened_once():
    whole = table()
    for name in ("metric", "regression"):
        right = dm.train(whole, name, target="label", options={"max_iter": 20}, rng=0)
        found = dm.train(whole.to_reader(500), name, target="label", options={"max_iter": 20}, rng=0)
        assert model(found.model) == model(right.model) and found.n_rows == right.n_rows
    fit = dm.RobustLinearRegression(random_state=0, max_iter=20).fit(whole.to_reader(500), "label")
    assert model(fit) == model(right.model)
    told = dm.explain(dm.train, whole.to_reader(), "regression")
    assert told["n_rows"] is None and told["columns"] == ["a", "b", "c"]


def test_data_in_memory_is_read_as_files_are(lake):
    """NaN is refused where it is to be, and rows may be gathered for some steps at a time."""
    learner = dm.RobustLinearRegression(random_state=0, max_iter=20)
    right = model(learner.fit(lake, "label"))
    for data in (table(), table().to_reader(700)):
        assert model(learner.fit(data, "label", mode="streaming")) == right and learner.mode_ == "streaming"
    broken = table().set_column(0, "a", pa.array(np.where(np.arange(3000) == 1, np.nan, 0.5)))
    for data in (broken, broken.to_reader(700)):
        with pytest.raises(DataError, match="column 'a' is NaN in row 1, and nan="):
            learner.fit(dm.scan(data, nan="raise"), "label")


def test_data_in_memory_is_not_sent_to_a_cluster():
    class NoClient:
        """It looks like a client; anything asked of it is a mistake."""

        def scheduler_info(self):
            raise AssertionError

    learner = dm.RobustLinearRegression(random_state=0, max_iter=20)
    found = learner.fit(table(), "label", executor=NoClient(), compute="workers")
    assert "threads" in found.mode_reason_
    with dm.options(executor=NoClient()):
        assert model(learner.fit(table(), "label")) == model(found)


def test_the_plan_of_a_training_reads_no_row(lake, tmp_path):
    told = dm.explain(dm.train, lake, "regression", columns=["a", "c"], model=tmp_path / "m", rng=0)
    assert (told["n_files"], told["n_rows"], told["mode"], told["seed"]) == (5, 3000, "resident", 0)
    assert not (tmp_path / "m").exists()
    found = dm.train(dm.scan(lake, where="a > 0"), "regression", columns=["a", "c"], rng=0)
    assert found.run["call"]["arguments"]["where"] == "a > 0" and found.run["seconds"] > 0
    with pytest.raises(ConfigError, match="target: clustering has none"):
        dm.train(lake, "clustering", target="label")
    with pytest.raises(TypeError, match=r"missing: now dm\.scan"):
        dm.train(lake, "regression", missing="null")


def test_importing_distmom_does_not_import_scikit_learn():
    code = "import distmom, sys; distmom.mean; assert 'sklearn' not in sys.modules"
    root = Path(dm.__file__).parent.parent
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_whatever_exports_a_stream_of_batches_is_a_lake_to_all_learners() -> None:
    """Also without the name of a target, by which arrays are told from lakes."""
    rows = np.random.default_rng(0).normal(size=(400, 2)) + np.repeat([0.0, 9.0], 200)[:, None]
    table = pa.table({"a": rows[:, 0], "b": rows[:, 1]})

    class Once:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            batches = table.to_batches(max_chunksize=70)
            return pa.RecordBatchReader.from_batches(table.schema, batches).__arrow_c_stream__(schema)

    found, right = (
        dm.RobustKMeans(2, max_iter=20, random_state=0).fit(data, columns=["a", "b"])
        for data in (Once(), table)
    )
    assert (found.cluster_centers_ == right.cluster_centers_).all()


def test_a_feature_that_is_null_throughout_the_first_file_is_one(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    x, z = g.normal(size=(2, 2_000))
    y = pa.array(x + 2.0 * z)
    for name, first in (("0", pa.nulls(2_000)), ("1", pa.array(x))):
        pq.write_table(pa.table({"x": first, "z": z, "y": y}), tmp_path / f"{name}.parquet")
    found = dm.RobustLinearRegression(random_state=0).fit(tmp_path, "y")
    assert found.feature_names_in_.tolist() == ["x", "z"]
    assert np.allclose(found.coef_, [1.0, 2.0])
    with pytest.raises(dm.ConfigError, match="missing; choose one of 'x', 'z', 'y'"):
        dm.mean(tmp_path)
