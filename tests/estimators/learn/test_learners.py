"""The learners on arrays: scikit-learn's own checks, known answers, outlying rows, refused options."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import distmom as dm
from distmom.errors import ConfigError, DataError, NoAnswerError
from distmom.estimators import survey
from distmom.estimators.learn.parameters import SharedParameters
from distmom.estimators.learn.rows import ArrayRows
from distmom.estimators.learn.steps import step_rows
from distmom.numerics.random.virtual_order import VirtualOrder

sklearn = pytest.importorskip("sklearn")

PAPER = {"aggregator": "median_block", "scaling": "robust"}

LEARNERS = [
    dm.MahalanobisMetric(),
    dm.PairwiseRanker(),
    dm.RobustKMeans(),
    dm.RobustLinearRegression(max_iter=300),
    dm.RobustLogisticRegression(max_iter=300),
]


@pytest.fixture
def no_survey(monkeypatch):
    """What blocks bear alone: rows far out stay in."""
    monkeypatch.setattr(survey.Surveyor, "survey", lambda self, scan, columns: survey.Survey(scan))


def name(learner):
    return type(learner).__name__


@pytest.mark.slow
@pytest.mark.timeout(400)  # eleven seconds of work, which on a busy machine took two minutes
@pytest.mark.parametrize("learner", LEARNERS, ids=name)
def test_scikit_learn_finds_no_fault(learner):
    from sklearn.utils.estimator_checks import check_estimator

    found = check_estimator(learner, on_fail=None, on_skip=None)
    assert not [(r["check_name"], r["exception"]) for r in found if r["status"] == "failed"]
    assert len(found) > 30


@pytest.mark.parametrize("learner", [*LEARNERS, dm.RobustMinimizer(len, [0.0], radius=2.0)], ids=name)
def test_shared_parameters_are_parameters_like_others(learner):
    from sklearn.base import clone

    kind = type(learner)
    shared = list(inspect.signature(SharedParameters).parameters)
    parameters = list(inspect.signature(kind).parameters)
    own = [parameter for parameter in parameters if parameter not in shared]
    assert parameters == [*own, *shared]
    known = set(parameters)
    assert {"n_blocks", "clip", "random_state"} < known == learner.get_params().keys()
    again = clone(learner.set_params(n_blocks=5))
    assert again.get_params() == learner.get_params() and again != learner and hash(again) != hash(learner)
    assert "n_blocks=5" in repr(again) and "clip" not in repr(again)
    entries = [line.partition(" : ")[0] for line in kind.__doc__.splitlines()]
    assert all(entries.count(parameter) == 1 for parameter in (*known, "status_"))  # told once, in full
    learner.set_params(n_blocks=11)


@pytest.mark.slow
@pytest.mark.usefixtures("no_survey")
def test_outlying_targets_leave_the_coefficients_alone():
    g = np.random.default_rng(0)
    X, w = g.normal(size=(2000, 10)), np.arange(1.0, 11)
    y = X @ w
    y[g.choice(2000, 40, replace=False)] = 1e6
    for options in ({}, {"step_rule": "adam"}, {"step_rule": "backtracking"}, {"loss": "pinball"}):
        one, two = (dm.RobustLinearRegression(random_state=3, **options).fit(X, y) for _ in range(2))
        assert np.abs(one.coef_ - w).max() < 0.2, options
        assert one.coef_.tobytes() == two.coef_.tobytes()
    plain = dm.RobustLinearRegression(
        aggregator="plain", loss="squared", scaling="robust", random_state=3
    ).fit(X, y)
    assert np.abs(plain.coef_ - w).max() > 10.0  # the negative control


@pytest.mark.parametrize("scale", [1e-150, 1e12, 1e150])
@pytest.mark.one_in(4)
def test_features_and_targets_of_any_size(scale):
    g = np.random.default_rng(1)
    X = g.normal(size=(600, 3))
    y = X @ [1.0, 2.0, 3.0] + 5.0
    found = dm.RobustLinearRegression(random_state=0).fit(X * scale, y)
    assert found.coef_ * scale == pytest.approx([1.0, 2.0, 3.0], rel=1e-3)
    found = dm.RobustLinearRegression(random_state=0).fit(X, y * scale)
    assert found.coef_ / scale == pytest.approx([1.0, 2.0, 3.0], rel=1e-3)


@pytest.mark.usefixtures("no_survey")
@pytest.mark.parametrize("value", [1e300, pytest.param(-1.7e308, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_few_huge_values_give_finite_models(value):
    g = np.random.default_rng(2)
    X = g.normal(size=(600, 3))
    labels = (X[:, 0] > 0).astype(int)
    y = X @ [1.0, 2.0, 3.0]
    X[::60, 1] = value
    assert np.abs(dm.RobustLinearRegression(random_state=0).fit(X, y).coef_ - [1, 2, 3]).max() < 0.01
    assert np.isfinite(dm.RobustLogisticRegression(random_state=0).fit(X, labels).coef_).all()
    assert np.isfinite(dm.PairwiseRanker(random_state=0).fit(X, y).coef_).all()
    assert np.isfinite(dm.MahalanobisMetric(random_state=0).fit(X, labels).components_).all()
    assert np.isfinite(dm.RobustKMeans(2, random_state=0).fit(X).cluster_centers_).all()


@pytest.mark.usefixtures("no_survey")
def test_more_huge_values_than_blocks_can_bear_are_an_error_at_the_step():
    g = np.random.default_rng(2)
    X, y = g.normal(size=(600, 3)), g.normal(size=600)
    X[::3, 1] = 1e300
    with (
        pytest.warns(UserWarning, match="outlying|accused"),
        pytest.raises(NoAnswerError, match="step 5: no finite"),
    ):
        dm.RobustLinearRegression(random_state=0, block_size=16, **PAPER).fit(X, y)


@pytest.mark.usefixtures("no_survey")
@pytest.mark.slow
def test_a_metric_of_clean_and_of_dirty_rows():
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(0).choice(len(X), 4, replace=False)
    dirty = X.copy()
    dirty[rows] += 1e5
    clean = dm.MahalanobisMetric(random_state=0).fit(X, y)
    robust = dm.MahalanobisMetric(random_state=0).fit(dirty, y)
    plain = dm.MahalanobisMetric(random_state=0, aggregator="plain", clip=1e9).fit(dirty, y)
    assert clean.score(X, y) > 0.98 and robust.score(X, y) > 0.98 > plain.score(X, y) + 0.05
    M = robust.get_mahalanobis_matrix()
    assert np.linalg.eigvalsh(M)[0] >= -1e-12 * np.abs(M).max()
    away = X[0] - X[1]
    assert robust.pair_distance(X[None, :2])[0] == pytest.approx(np.sqrt(away @ M @ away))
    assert robust.pair_distance([[0, 1]], X)[0] == -robust.pair_score(X[None, :2])[0]
    moved = robust.transform(X[:2])
    assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(robust.pair_distance(X[None, :2])[0])


def test_pairs_with_given_labels_and_pairs_of_equal_rows():
    g = np.random.default_rng(0)
    X = g.normal(size=(400, 3)) * [1.0, 5.0, 1.0]
    pairs = g.integers(0, 400, (900, 2))
    pairs[:3, 1] = pairs[:3, 0]
    away = np.abs(X[pairs[:, 0], 0] - X[pairs[:, 1], 0])
    y = np.where(away < 1.0, 1, -1)
    found = dm.MahalanobisMetric(random_state=0).fit_pairs(pairs, y, X)
    assert found.n_skipped_pairs_ >= 3
    M = found.get_mahalanobis_matrix()
    assert M[0, 0] > 20 * M[1, 1]
    again = dm.MahalanobisMetric(random_state=0).fit_pairs(X[pairs], y)
    assert again.components_.tobytes() == found.components_.tobytes()
    with pytest.raises(DataError, match="both kinds"):
        found.fit_pairs(pairs[3:], np.ones(897), X)
    with pytest.raises(ConfigError, match="y: must be 1 or -1"):
        found.fit_pairs(pairs, np.arange(900), X)
    with pytest.raises(ConfigError, match="row numbers must lie"):
        found.pair_distance([[0, 400]], X)


def test_a_metric_of_pairs_is_fitted_again_and_anew():
    g = np.random.default_rng(1)
    frame = pd.DataFrame(g.normal([0.0, 0.0, 9.0], 1.0, (300, 3)), columns=list("abc"))
    X, labels = frame.to_numpy(), np.arange(300) % 2
    frame["a"] += 3.0 * labels
    pairs = np.sort(g.integers(0, 300, (600, 2)), axis=1)
    y = np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1)
    found = dm.MahalanobisMetric(max_iter=40).fit(frame, labels)
    found.fit_pairs(pairs, y, frame[["a", "b"]])  # of other columns than before
    assert found.feature_names_in_.tolist() == ["a", "b"] and found.transform(frame[["a", "b"]]).shape == (
        300,
        2,
    )
    again = dm.MahalanobisMetric(max_iter=40, random_state=found.seed_).fit_pairs(pairs, y, frame[["a", "b"]])
    assert (
        again.components_.tobytes() == found.components_.tobytes()
        and again.mode_ == found.mode_ == "resident"
    )
    found.set_params(random_state=0).fit_pairs(X[pairs], y)
    assert not hasattr(found, "feature_names_in_") and found.transform(X).shape == (300, 3)
    with pytest.raises(ConfigError, match="pairs: of rows with 2 features, but the metric is of 3"):
        found.pair_distance(X[pairs][:, :, :2])
    turned = np.where((np.arange(600) % 3 == 0)[:, None], pairs[:, ::-1], pairs)
    other = dm.MahalanobisMetric(max_iter=40, random_state=0).fit_pairs(turned, y, X)
    assert other.components_.tobytes() == found.components_.tobytes()  # a pair has no first row
    with pytest.raises(ConfigError, match="partial_fit: the metric was learned from pairs"):
        found.partial_fit(X, labels)  # its loss would be that of pairs
    found.fit(frame, labels)
    fresh = dm.MahalanobisMetric(max_iter=40, random_state=0).fit(frame, labels)
    assert (
        found.components_.tobytes() == fresh.components_.tobytes()
        and vars(found).keys() == vars(fresh).keys()
    )


def test_labels_of_which_no_pair_can_be_formed():
    X = np.arange(8.0)[:, None]
    with pytest.raises(DataError, match="no label occurs twice"):
        dm.MahalanobisMetric().fit(X, np.arange(8))
    with pytest.raises(DataError, match="one class only"):
        dm.MahalanobisMetric().fit(X, np.ones(8))
    with pytest.raises(DataError, match="all outcomes are equal"):
        dm.PairwiseRanker().fit(X, np.ones(8))
    with pytest.raises(DataError, match="one class only"):
        dm.RobustLogisticRegression().fit(X, np.ones(8))


@pytest.mark.slow
@pytest.mark.usefixtures("no_survey")
def test_rankers_and_classifiers_in_spite_of_outlying_rows():
    g = np.random.default_rng(4)
    X = g.normal(size=(900, 4))
    z = X @ [1.0, -1.0, 0.5, 0.0]
    labels = np.select([z < -0.7, z < 0.7], ["a", "b"], "c")
    dirty, outlying = X.copy(), g.choice(900, 15, replace=False)
    dirty[outlying] *= -1e5
    clean = np.setdiff1d(np.arange(900), outlying)
    ranker = dm.PairwiseRanker(random_state=0).fit(dirty, np.exp(z))
    assert ranker.score(X[clean], z[clean]) > 0.99
    for y in (labels, labels == "a"):
        found = dm.RobustLogisticRegression(random_state=0).fit(dirty, y)
        assert found.score(X[clean], y[clean]) > 0.93
        assert found.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(900))


@pytest.mark.usefixtures("no_survey")
@pytest.mark.parametrize("loss", ["kmeans", "pairs"])
def test_centres_are_not_drawn_to_outlying_rows(loss):
    g = np.random.default_rng(5)
    middles = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    X = np.concatenate([g.normal(size=(200, 2)) + middle for middle in middles])
    X[::60] = 1e6
    found = dm.RobustKMeans(3, loss=loss, random_state=0).fit(X)
    near = ((found.cluster_centers_[:, None] - middles) ** 2).sum(axis=2)
    assert sorted(near.argmin(axis=1).tolist()) == [0, 1, 2] and near.min(axis=1).max() < 1.0
    assert found.labels_.shape == (600,)


CORNERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def blobs(sizes, seed):
    g = np.random.default_rng(seed)
    y = g.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return CORNERS[y] + g.normal(size=(y.size, 2))


def farthest(centres):
    """From a corner to the nearest centre."""
    return np.sqrt(((CORNERS[:, None] - centres) ** 2).sum(axis=2)).min(axis=1).max()


def test_a_small_cluster_is_kept():
    X = blobs([2_700, 250, 50], 0)
    X[::20] += np.random.default_rng(1).normal(0.0, 60.0, (150, 2))
    found = dm.RobustKMeans(3, random_state=0).fit(X)
    assert farthest(found.cluster_centers_) < 0.75  # of 50 rows: more with probability 1e-6
    assert found.advice_.startswith("converged") and found.block_size_ * 50 / 3_000 >= 3
    assert (
        found.status_ == "share far out" == found.flags_[0] and "lie far from all centres" in found.notes_[-1]
    )
    with pytest.warns(UserWarning, match="block_size"):
        small = dm.RobustKMeans(3, random_state=0, block_size=16, aggregator="median_block").fit(X)
    assert small.status_ == "cluster too small" and "0.3 of a block of 16" in small.advice_


def test_a_cluster_without_a_centre_is_told():
    X = np.concatenate([blobs([3_000, 3_000, 3_000], 2), 300.0 + blobs([15], 2)])
    found = dm.RobustKMeans(3, random_state=0, scaling="none").fit(X)
    assert farthest(found.cluster_centers_) < 0.2
    assert found.status_ == "cluster too small" and "form a cluster far from all centres" in found.advice_


@pytest.mark.slow
@pytest.mark.parametrize("times", [20.0, 1e3])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "blobs"])
def test_centres_are_as_good_as_those_of_scikit_learn_on_clean_rows(name, share, times):
    """Measured: at most 1.006, except where the control is."""
    from sklearn import datasets
    from sklearn.cluster import KMeans

    X = blobs([2_700, 250, 50], 3) if name == "blobs" else getattr(datasets, f"load_{name}")().data
    k = {"iris": 3, "wine": 3, "breast_cancer": 2, "digits": 10, "blobs": 3}[name]
    X = X / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    Z, g = X.copy(), np.random.default_rng(1)
    bad = g.choice(len(X), round(share * len(X)), replace=False)
    Z[bad] += g.normal(0.0, times, (bad.size, X.shape[1]))
    clean = np.delete(X, bad, axis=0)

    def inertia(centres):
        return ((clean[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()

    plain = KMeans(k, n_init=10, random_state=0)
    right = inertia(plain.fit(X).cluster_centers_)
    found = dm.RobustKMeans(k, scaling="none", random_state=0).fit(Z)
    assert inertia(found.cluster_centers_) <= 1.01 * right
    if share:
        assert inertia(plain.fit(Z).cluster_centers_) > 1.05 * right  # the control


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_what_is_transformed_may_be_a_frame(kind):
    g = np.random.default_rng(0)
    X, y = g.normal(size=(200, 3)), np.repeat([0, 1], 100)
    for learner in (dm.MahalanobisMetric(random_state=0, max_iter=5), dm.RobustKMeans(2, random_state=0)):
        found = learner.fit(X, y)
        array, score = found.transform(X), found.score(X, y)
        names = [f"{type(found).__name__.lower()}{j}" for j in range(array.shape[1])]
        assert found.get_feature_names_out().tolist() == names
        frame = found.set_output(transform=kind).transform(X)
        assert type(frame).__module__.startswith(kind) and list(frame.columns) == names
        assert (frame.to_numpy() == array).all() and found.score(X, y) == score
        assert (found.predict(X) == found.labels_).all() if hasattr(found, "predict") else True


@pytest.mark.slow
def test_history_status_and_seed():
    g = np.random.default_rng(6)
    X = g.normal(size=(4000, 3))
    y = X @ [1.0, 2.0, 3.0] + g.normal(size=4000)
    found = dm.RobustLinearRegression(random_state=1).fit(X, y)
    assert set(found.history_["block"].tolist()) == {-1}
    by_block = dm.RobustLinearRegression(random_state=1, **PAPER).fit(X, y)
    for model in (found, by_block):
        history = model.history_
        assert model.status_ == "converged" and model.n_iter_ == len(history["objective"]) < 1000
        assert (history["gradient_norm"] > 0).all()
    assert set(history["block"].tolist()) <= set(range(11))
    assert history["held_out_step"].tolist() == list(range(25, by_block.n_iter_ + 1, 25))
    again = dm.RobustLinearRegression(random_state=found.seed_).fit(X, y)
    assert again.coef_.tobytes() == found.coef_.tobytes()
    fresh = dm.RobustLinearRegression(**PAPER).fit(X, y)
    same = dm.RobustLinearRegression(random_state=fresh.seed_, **PAPER).fit(X, y)
    assert same.coef_.tobytes() == fresh.coef_.tobytes() != by_block.coef_.tobytes()
    short = dm.RobustLinearRegression(random_state=1, max_iter=26, step_size=0.01, **PAPER).fit(X, y)
    assert short.status_ == "still improving" and "more steps" in short.advice_


def test_single_precision_rows_give_what_double_gives():
    g = np.random.default_rng(7)
    X = g.normal(size=(500, 3)).astype(np.float32)
    y = X[:, 0] > 0
    one = dm.MahalanobisMetric(random_state=0).fit(X, y)
    two = dm.MahalanobisMetric(random_state=0).fit(X.astype(np.float64), y)
    assert one.components_.tobytes() == two.components_.tobytes()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_blocks": 0}, ConfigError, "n_blocks"),
        ({"block_size": 1}, ConfigError, "block_size: must be at least 6"),
        ({"block_size": 50, "contamination": 0.02}, ConfigError, "take at most 17"),
        ({"contamination": 0.7}, ConfigError, "contamination"),
        ({"aggregator": "mean"}, ConfigError, "aggregator"),
        ({"step_size": 0.0}, ConfigError, "step_size"),
        ({"init": np.zeros((2, 2))}, ConfigError, "use 'identity'"),
        ({"init": "zero"}, ConfigError, "init"),
        ({"loss": "squared"}, ConfigError, "loss"),
        ({"random_state": -1}, ConfigError, "random_state"),
        ({"block_size": 60}, NoAnswerError, "660 rows, not 400"),
    ],
)
def test_options_that_cannot_work_are_refused(options, error, words):
    g = np.random.default_rng(8)
    with pytest.raises(error, match=words):
        dm.MahalanobisMetric(**options).fit(g.normal(size=(400, 2)), np.arange(400) % 2)


@pytest.mark.usefixtures("no_survey")
def test_options_that_are_dangerous_warn():
    g = np.random.default_rng(8)
    X, y = g.normal(size=(400, 2)), np.arange(400) % 2
    with pytest.warns(UserWarning, match="10 is even"):
        dm.MahalanobisMetric(n_blocks=10, random_state=0, max_iter=20).fit(X, y)
    with pytest.warns(UserWarning, match="take at most 17"):
        dm.MahalanobisMetric(block_size=30, contamination=0.02, random_state=0, max_iter=20).fit(X, y)
    X[:12] = 1e4
    with pytest.warns(UserWarning, match=r"3.00% of the rows .* take at most 11"):
        dm.MahalanobisMetric(block_size=30, random_state=0, max_iter=20).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", dm.DoubtfulResultWarning)  # of rows that were left out
        found = dm.MahalanobisMetric(random_state=0, max_iter=20).fit(X, y)
    assert (found.block_size_, found.accused_share_) == (16, 0.03)  # blocks with such rows are passed over


def test_lake_options_with_arrays_are_refused():
    with pytest.raises(ConfigError, match="where: is for lakes"):
        dm.RobustKMeans(2).fit(np.zeros((9, 2)), where="x > 1")


@pytest.mark.parametrize("kind", ["linear", pytest.param("ranker", marks=pytest.mark.slow), "logistic"])
def test_batches_of_rows_one_after_the_other(kind):
    g = np.random.default_rng(9)
    X = g.normal(size=(6000, 3))
    z = X @ [1.0, -2.0, 0.5]
    X[::100] = 1e5
    clean = np.arange(6000) % 100 > 0
    model, y = {
        "linear": (dm.RobustLinearRegression(random_state=0), z),
        "ranker": (dm.PairwiseRanker(random_state=0), z),
        "logistic": (dm.RobustLogisticRegression(random_state=0), np.where(z > 0, "yes", "no")),
    }[kind]
    for start in range(0, 6000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
    n_iter = 12 * (500 // (model.n_blocks_ * model.block_size_))
    assert model.n_iter_ == n_iter > 0
    assert model.score(X[clean], y[clean]) > 0.95
    model.partial_fit(X[:20], y[:20])  # too few for a step of its own blocks
    assert model.n_iter_ == n_iter + 1
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :2], y)
    whole = model.fit(X, y)
    assert whole.n_iter_ > 100


@pytest.mark.slow
def test_batches_go_on_from_a_fit():
    """Steps of few rows after it leave a good model good; two steps from nothing do not make one."""
    g = np.random.default_rng(13)
    X = g.normal(size=(6000, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0
    model = dm.RobustLinearRegression(random_state=0).fit(X, y)
    found, steps, used = model.coef_.copy(), model.n_iter_, model.n_used_
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[:400], y[:400])
    model.partial_fit(X[:400], y[:400])
    assert model.n_iter_ == steps + 1 and model.n_used_ > used
    assert np.abs(model.coef_ - found).max() < 0.01 and np.array_equal(model.coef_, again.coef_)
    new = dm.RobustLinearRegression(random_state=0).partial_fit(X[:400], y[:400])
    assert np.abs(new.coef_ - found).max() < 0.01  # it begins at a fit
    new = dm.RobustLinearRegression(random_state=0, **PAPER).partial_fit(X[:400], y[:400])
    assert np.abs(new.coef_ - found).max() > 0.1
    kinds = np.select([X[:, 0] < -0.5, X[:, 0] < 0.5], ["low", "middle"], "high")
    classifier = dm.RobustLogisticRegression(random_state=0).fit(X, kinds)
    two = kinds != "high"
    assert classifier.partial_fit(X[two], kinds[two]).classes_.tolist() == ["high", "low", "middle"]


@pytest.mark.slow
def test_batches_for_a_metric_and_for_centres():
    g = np.random.default_rng(11)
    y = g.integers(0, 3, 6000)
    X = g.normal(size=(6000, 2)) * [1.0, 5.0]
    X[:, 0] += 6.0 * y
    X[::100] = 1e5
    clean = np.arange(6000) % 100 > 0
    metric, centres = dm.MahalanobisMetric(random_state=0), dm.RobustKMeans(3, random_state=0)
    for start in range(0, 6000, 1000):
        metric.partial_fit(X[start : start + 1000], y[start : start + 1000])
        centres.partial_fit(X[start : start + 1000])
    assert metric.n_iter_ == centres.n_iter_ == 6 * (1000 // 176) and centres.labels_.shape == (1000,)
    assert metric.score(X[clean], y[clean]) > 0.97
    assert np.isfinite(centres.cluster_centers_).all() and np.abs(centres.cluster_centers_).max() < 30.0


def test_steps_go_by_blocks_with_both_kinds_of_pairs_and_count_the_others():
    g = np.random.default_rng(12)
    X, y = (
        g.normal(size=(2000, 2)),
        (np.arange(2000) % 20 == 0).astype(int),
    )  # 5%: 54% of blocks of 12 have none
    found = dm.MahalanobisMetric(random_state=0, block_size=12, max_iter=50, early_stopping=False).fit(X, y)
    assert found.n_skipped_blocks_ == found.history_["skipped"].sum()
    # 550 blocks, sd 12; six of them
    assert abs(found.n_skipped_blocks_ - 550 * 0.95**12) < 72
    stream = step_rows(VirtualOrder(found._seed()[0], 2000), ArrayRows(X, y.astype(float)), 11, 12)
    skipped = 0
    for block in found.history_["block"]:
        labels = next(stream)[1]
        kinds = [len(set(b.tolist())) == 2 for b in labels]
        skipped += kinds.count(False)
        assert kinds[block]
    assert skipped == found.n_skipped_blocks_


def test_classes_may_be_named_before_they_come():
    g = np.random.default_rng(10)
    X = g.normal(size=(600, 2))
    y = np.select([X[:, 0] < -0.5, X[:, 0] < 0.5], ["low", "middle"], "high")
    first = y != "high"
    model = dm.RobustLogisticRegression(random_state=0)
    model.partial_fit(X[first], y[first], classes=["high", "low", "middle"])
    for _ in range(20):
        model.partial_fit(X, y)
    assert model.classes_.tolist() == ["high", "low", "middle"] and model.score(X, y) > 0.9
    with pytest.raises(DataError, match="'strange' is not among"):
        model.partial_fit(X, np.full(600, "strange"))
