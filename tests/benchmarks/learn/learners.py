"""The learners of each task: ours as it is by default, the plain one, and others."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

from tests.benchmarks.learn.published import Centres, CoordinateDescent, MedianBlock

TRIM = 0.1
"""Share of rows, or at each end of derivatives, that trimming learners leave out: the most that is bad."""

Make = Callable[[int, int, int, int], Any]
"""A learner from a seed, the numbers of rows, of features and of classes; None where it takes too long."""


class Learners(NamedTuple):
    """Of one task; `rivals` are those that the summary compares us with."""

    ours: Make
    plain: Make
    peers: dict[str, Make]
    rivals: tuple[str, ...]


def scaled(learner: Any, robust: bool = True) -> Any:
    """A learner on scaled features."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler, StandardScaler

    return make_pipeline(RobustScaler() if robust else StandardScaler(), learner)


def regression() -> Learners:
    """Of numbers."""
    from sklearn.linear_model import (
        HuberRegressor,
        LinearRegression,
        RANSACRegressor,
        SGDRegressor,
        TheilSenRegressor,
    )

    import distmom as dm

    def theil_sen(seed: int, n: int, d: int, k: int) -> Any:
        if n > 2_000 or d > 10:
            return None
        return scaled(TheilSenRegressor(random_state=seed, max_subpopulation=2_000))

    return Learners(
        lambda s, n, d, k: dm.RobustLinearRegression(random_state=s),
        lambda s, n, d, k: LinearRegression(),
        {
            "Huber": lambda s, n, d, k: scaled(HuberRegressor(max_iter=1_000)),
            "RANSAC": lambda s, n, d, k: RANSACRegressor(random_state=s),
            "Theil–Sen": theil_sen,
            "SGD": lambda s, n, d, k: scaled(SGDRegressor(loss="huber", random_state=s)),
            "linlearn MoM": lambda s, n, d, k: scaled(CoordinateDescent(False, s)),
            "linlearn trimmed": lambda s, n, d, k: scaled(CoordinateDescent(False, s, TRIM)),
            "median block": lambda s, n, d, k: scaled(MedianBlock(False, s)),
        },
        ("Huber", "RANSAC"),
    )


def classes() -> Learners:
    """Of labels."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    import distmom as dm

    return Learners(
        lambda s, n, d, k: dm.RobustLogisticRegression(random_state=s),
        lambda s, n, d, k: scaled(LogisticRegression(max_iter=1_000), robust=False),
        {
            "modified Huber": lambda s, n, d, k: scaled(SGDClassifier(loss="modified_huber", random_state=s)),
            "SGD": lambda s, n, d, k: scaled(SGDClassifier(loss="log_loss", random_state=s)),
            "linlearn MoM": lambda s, n, d, k: scaled(CoordinateDescent(True, s)),
            "linlearn trimmed": lambda s, n, d, k: scaled(CoordinateDescent(True, s, TRIM)),
            "median block": lambda s, n, d, k: scaled(MedianBlock(True, s)),
        },
        ("modified Huber",),
    )


def metric() -> Learners:
    """Of a distance by labels."""
    from sklearn.preprocessing import StandardScaler

    import distmom as dm
    from tests.benchmarks.learn.metric_peers import metric_learn

    def peer(name: str, **options: Any) -> Make:
        def make(s: int, n: int, d: int, k: int) -> Any:
            if find_spec("metric_learn") is None or (name == "LMNN" and n * d > 10_000):
                return None  # it comes with what benchmarks need, not with what tests do
            return scaled(getattr(metric_learn(), name)(random_state=s, **options), robust=False)

        return make

    return Learners(
        lambda s, n, d, k: dm.MahalanobisMetric(random_state=s),
        lambda s, n, d, k: StandardScaler(),
        {
            "NCA": peer("NCA", max_iter=50),
            "LMNN": peer("LMNN", max_iter=50),
            "ITML": peer("ITML_Supervised", max_iter=100),
            "RCA": peer("RCA_Supervised", n_chunks=40),
        },
        (),
    )


def clusters() -> Learners:
    """Of rows without labels."""
    from sklearn.cluster import KMeans

    import distmom as dm

    def centres(trim: float | None, s: int, n: int, d: int, k: int) -> Any:
        return Centres(k, s, trim)

    return Learners(  # all on rows as they are, in whose units they are scored
        lambda s, n, d, k: dm.RobustKMeans(k, scaling="none", random_state=s),
        lambda s, n, d, k: KMeans(k, n_init=10, random_state=s),
        {
            "trimmed k-means": partial(centres, TRIM),
            "K-bMOM": partial(centres, None),
        },
        ("trimmed k-means",),
    )


LEARNERS: dict[str, Callable[[], Learners]] = {
    "regression": regression,
    "classes": classes,
    "metric": metric,
    "clusters": clusters,
}
