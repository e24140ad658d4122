"""Blocks that others compute: the bits of blocks that are computed here, and who does it when."""

import numpy as np
import pytest

from distmom.cluster import ThreadExecutor
from distmom.cluster.executors.crew import CrewLostError, ThreadCrew
from distmom.errors import ConfigError
from distmom.estimators.learn.parameters import Shape
from distmom.estimators.learn.shared import place_of_blocks, share
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


class Nobody(ThreadCrew):
    def ask(self, questions):
        raise CrewLostError("they went home")


@pytest.mark.parametrize(
    "crew", [ThreadCrew(1), ThreadCrew(3), ThreadCrew(20), Nobody(2)], ids=lambda c: c.size
)
@pytest.mark.parametrize("risk", RISKS, ids=lambda r: type(r).__name__)
@pytest.mark.one_in(3)
def test_parts_have_the_bits_of_the_whole(risk, crew, caplog):
    g = np.random.default_rng(0)
    rows, targets = g.normal(size=(4, 7, 33, 5)), g.integers(0, 2, (4, 7, 33)).astype(float)
    rows[1, 2, 3] = 1e300  # a ruined block
    here = [RiskBlocks(risk, *step) for step in zip(rows, targets, strict=True)]
    x = np.abs(g.normal(size=risk.n_parameters(5)))
    for step, shared in zip(here, share(here, crew), strict=True):
        assert shared.usable.tolist() == step.usable.tolist()
        assert shared.losses(x).tobytes() == step.losses(x).tobytes()
        for blocks in ([3], [0, 1, 4, 6], list(range(7))):
            assert shared.gradients(x, blocks).tobytes() == step.gradients(x, blocks).tobytes()


def test_who_computes():
    small, large = Shape(11, 16, 0), Shape(11, 800, 0)
    two, one = ThreadExecutor(2), ThreadExecutor(1)
    own = UserRisk(lambda x, rows, targets: (0.0, x), 3)

    def who(*case):
        crew, _ = place_of_blocks(*case)
        return None if crew is None else crew.size

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
