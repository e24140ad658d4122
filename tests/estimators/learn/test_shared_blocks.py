"""Blocks that others compute: the bits of blocks that are computed here, and who does it when."""

from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from distmom.cluster import ThreadExecutor
from distmom.errors import ConfigError
from distmom.estimators.learn.parameters import Shape
from distmom.estimators.learn.shared import SharedBlocks, place_of_blocks
from distmom.numerics.losses.block_risk import UserRisk
from distmom.numerics.losses.cell_risks import QuantisationRisk, SoftCellRisk
from distmom.numerics.losses.pair_risks import MetricRisk, PairLabelRisk, RankingRisk
from distmom.numerics.losses.row_risks import LinearRisk, LogisticRisk, SoftmaxRisk
from distmom.solvers.blocks import RiskBlocks

RISKS = [
    MetricRisk(),
    MetricRisk("logistic", balanced=True),
    PairLabelRisk(),
    RankingRisk(),
    LinearRisk("huber"),
    LogisticRisk(0.1),
    SoftmaxRisk(2),
    QuantisationRisk(3),
    SoftCellRisk(3),
]


@pytest.mark.parametrize("threads", [1, 3, 20])
@pytest.mark.parametrize("risk", RISKS, ids=lambda r: type(r).__name__)
@pytest.mark.one_in(3)
def test_parts_have_the_bits_of_the_whole(risk, threads):
    g = np.random.default_rng(0)
    rows, targets = g.normal(size=(7, 33, 5)), g.integers(0, 2, (7, 33)).astype(float)
    rows[2, 3] = 1e300  # a non-finite block
    here = RiskBlocks(risk, rows, targets)
    x = np.abs(g.normal(size=risk.n_parameters(5)))
    with closing(ThreadExecutor(threads)) as crew:
        shared = SharedBlocks(risk, rows, targets, crew)
        assert shared.usable.tolist() == here.usable.tolist()
        assert shared.losses(x).tobytes() == here.losses(x).tobytes()
        for blocks in ([3], [0, 1, 4, 6], list(range(7))):
            assert shared.gradients(x, blocks).tobytes() == here.gradients(x, blocks).tobytes()


def test_workers_are_reached_late_and_threads_of_this_process_at_once(monkeypatch):
    far = SimpleNamespace(far=True, threads=2)
    for n_cpus, size, wanted in ((3, 16, None), (3, 800, 3), (1, 800, None), (3, 2_000, 2), (1, 2_000, 2)):
        monkeypatch.setattr("distmom.estimators.learn.shared.usable_cpus", lambda n=n_cpus: n)
        crew, _ = place_of_blocks(MetricRisk(), Shape(11, size, 0, 0), 16, far)
        assert (crew if crew is None else crew.threads) == wanted
        assert (crew is far) == (size == 2_000)


def test_who_computes():
    small, large = Shape(11, 16, 0, 0), Shape(11, 800, 0, 0)
    two, one = ThreadExecutor(2), ThreadExecutor(1)
    own = UserRisk(lambda x, rows, targets: (0.0, x), 3)

    def who(*case):
        crew, _ = place_of_blocks(*case)
        return None if crew is None else crew.threads

    assert who(MetricRisk(), small, 16, two) is None
    assert who(MetricRisk(), large, 16, two) == 2
    assert who(LinearRisk(), large, 16, two) is None  # as many rows, but no pairs
    assert who(MetricRisk(), large, 16, one) is None
    assert who(MetricRisk(), large, 16, two, "here") is None
    assert who(MetricRisk(), small, 16, two, "workers") == 2
    assert who(MetricRisk(), large, 16, None) is None  # arrays
    assert who(own, large, 16, two) is None
    with pytest.raises(ConfigError, match="compute: a loss of your own"):
        who(own, large, 16, two, "workers")
