"""Going on with new rows: batches of arrays, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from threadpoolctl import threadpool_limits

from distmom.errors import ConfigError
from distmom.estimators.learn.learner import Learner
from distmom.estimators.learn.options import for_batches
from distmom.estimators.learn.row_counts import Met, Place
from distmom.estimators.learn.run import Learned, Prepared, walk
from distmom.estimators.learn.steps import StepStream
from distmom.numerics.random.virtual_order import VirtualOrder
from distmom.solvers import DescentState


@dataclass
class Begun:
    """What is kept between batches."""

    seed: int
    prepared: Prepared
    state: DescentState
    n_batches: int = 0
    met: Met = field(default_factory=Met)


class BatchLearner(Learner):
    """A learner that also takes batches of rows, with `partial_fit`."""

    _begun: Begun | None = None

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take as many steps as the rows give with each row in one of them, at least one.

        Scales, start and the size of steps come from the first batch, which should be a fair sample of some
        thousand rows; after `fit` they are those of its rows, and the steps go on where it ended. A batch of
        fewer rows than a step needs makes smaller blocks.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like, shape (n,)

        Raises
        ------
        ConfigError
            If the model was read from a file, which does not keep what it takes to go on.
        NoAnswerError
            If there are too few rows, or half or more of the blocks of several steps have no finite loss.
        """
        with threadpool_limits(1, "blas"):
            return self._go_on(X, y)

    def _go_on(self, X: Any, y: Any) -> Self:
        begun = self._begun
        rows = self._of_arrays(X, y, reset=begun is None)
        options = for_batches(self._options())
        if begun is None:
            if hasattr(self, "n_iter_"):
                raise ConfigError("partial_fit: a model from a file does not know how to go on; fit it anew")
            seed, self.seed_ = self._seed()
            prepared = self._prepare(rows, options, seed)
            begun = self._begun = Begun(seed, prepared, prepared.descent.begin(prepared.start))
            self.mode_, self.mode_reason_ = "resident", "rows come in batches"
        shape = begun.prepared.shape
        n_steps = rows.n_rows // (shape.n_blocks * shape.block_size)
        if not n_steps:
            least = self._least_size(rows.n_features)
            shape, n_steps = for_batches(options, any_size=True).shape(rows.n_rows, least), 1
        order = VirtualOrder(begun.seed, rows.n_rows)
        place = Place(begun.n_batches, 0, begun.met)
        stream = StepStream(order, rows, shape.n_blocks, shape.block_size, place, first_pass=begun.n_batches)
        begun.n_batches += 1
        prepared = replace(begun.prepared, shape=shape)
        found = walk(prepared, stream, begun.state, begun.state.step + n_steps)
        begun.met = found.met
        self._remember(found)
        self._settle(found)
        return self

    def _could_go_on(self, seed: int, prepared: Prepared, found: Learned) -> None:
        self._begun = Begun(seed, prepared, found.outcome.state, 1, found.met)

    def _has_begun(self) -> bool:
        """Whether there were rows before."""
        return self._begun is not None

    def _fit(self, X: Any, y: Any, lake: dict[str, Any]) -> Learned:
        self._begun = None
        return super()._fit(X, y, lake)
