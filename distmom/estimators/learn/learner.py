"""What all learners share: options, data, one run, and what is known of it afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits  # comes with scikit-learn

from distmom.cluster.executors.backends import as_backend
from distmom.errors import ConfigError
from distmom.estimators.command import answer
from distmom.estimators.learn import parameters
from distmom.estimators.learn.bases import BaseEstimator
from distmom.estimators.learn.data import is_lake, lake_arguments
from distmom.estimators.learn.doubts.told import told
from distmom.estimators.learn.parameters import LearnOptions, Shape, SharedParameters, for_batches
from distmom.estimators.learn.question import LearnPlan, LearnQuestion
from distmom.estimators.learn.rows import ArrayRows, TrainingRows
from distmom.estimators.learn.run import (
    Problem,
    ScaledSample,
    Training,
    Watch,
    learn,
    seeing_start,
    walk,
)
from distmom.estimators.learn.scale import robust_scale
from distmom.estimators.learn.shared import place_of_blocks
from distmom.estimators.learn.start.look import comparable, look, look_at_distances
from distmom.estimators.learn.start.sample import SAMPLE, sample_of
from distmom.estimators.learn.start.whitened import judging, whitened
from distmom.estimators.learn.steps import StepPosition
from distmom.estimators.learn.survey import (
    MOST_LOSSES,
    Real,
    Sample,
    columns_of,
    labels_stay,
    survey_of_arrays,
    warn,
)
from distmom.estimators.surveyed import Survey
from distmom.inference.status import in_order
from distmom.numerics.arrays import Floats
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.scan import as_scan
from distmom.solvers.aggregators import AGGREGATORS
from distmom.solvers.descent import Descent
from distmom.solvers.status import DescentStatus, advised
from distmom.state.saved import with_states
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress


class Learner(SharedParameters, BaseEstimator):
    """Base of the learners; see `SharedParameters` for the options that all of them have."""

    _needs_target = True
    _scale_targets = False
    _most_labels: int | None = None
    """Most distinct targets of a lake, for learners of labels."""
    _pairs_given = False
    """Whether rows are differences of two rows in either order: their centre is then zero."""
    _linear = False
    """Whether parameters are those of linear predictors, so that features may be whitened."""
    _screened = False
    """Whether blocks with far outlying rows are skipped even without a linear predictor."""
    _of_pairs = False
    """Whether the loss of a linear model is one of pairs of rows."""
    _begun: Training | None = None

    def fit(self, X: Any, y: Any = None, **lake: Any) -> Self:
        """Learn from the rows of arrays, or of anything that `distmom.mean` reads.

        The means of the columns (not of lists and labels) are estimated first. Files that they accuse and
        that alone differ are left out (``files disagree``), as is a share of the rows far from all others
        (``share screened out``). Far rows that may be real are kept and reported (``share far out``): nearer
        ones, most rows of a label, a possible cluster. If there is more damage than can be identified, the
        model is ``breakdown point exceeded``.

        Parameters
        ----------
        X : array_like, shape (n, d), or path, glob, list of paths, Arrow table, frame, …, or Scan
        y : array_like, shape (n,), or str
            Targets; with a lake the name of their column (default ``label``, ``target`` or ``y``): numbers;
            labels may also be true and false or text.
        **lake
            For lakes only: ``columns``, the features (default: all numeric columns except y); ``where``, a
            condition as for `distmom.mean`; ``mode``: "resident" holds all rows in memory, "streaming"
            gathers those of many steps at a time, and "auto" decides (the model is bit-for-bit the same);
            ``compute``: "workers" has threads or workers compute the losses and gradients of blocks, "here"
            the process that takes the steps, and "auto" decides by the cost of a step; ``executor``, where to
            run, as for `distmom.mean`; ``state``, a checkpoint file (or a `State`) from which an interrupted
            run resumes with the same bits. How the lake is read (missing values, bad files, object stores) is
            said by `distmom.scan`.

        Raises
        ------
        ConfigError
            If an option is wrong.
        DataError
            If the data cannot be read, or its targets cannot be learned from.
        NoAnswerError
            If there are too few rows, or half or more of the blocks of a step have no finite loss.
        """
        self._begun = None
        self._options()  # checked before the data is opened
        if is_lake(X, y):
            where, executor, options = lake_arguments(type(self).__name__, lake)
            limit = as_backend(executor).memory_limit
            question = LearnQuestion(self, as_scan(X, where), y, options, limit)
            with_states(lambda: answer(question, executor))
            warn(self)
            return self
        if lake:
            name = next(iter(lake))
            raise ConfigError(f"{name}: is for lakes; with arrays, choose rows and columns yourself")
        self._run_surveyed(self._of_arrays(X, y), getattr(self, "feature_names_in_", None))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take the steps that one pass over the rows of a batch gives, at least one.

        Batches are not surveyed; blocks tolerate bad rows. Scales, start and step size come from the first
        batch, which should be a fair sample of some thousand rows. After `fit` they are those of its rows,
        and the steps continue from its model. If a batch has fewer rows than a step needs, its blocks are
        smaller.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like, shape (n,)

        Raises
        ------
        ConfigError
            If the model was read from a file, which does not keep the state of the descent.
        NoAnswerError
            If there are too few rows, or half or more of the blocks of several steps have no finite loss.
        """
        begun = self._begun
        rows = self._of_arrays(X, y, reset=begun is None)
        options = for_batches(self._options())
        with threadpool_limits(1, "blas"):
            if begun is None:
                if hasattr(self, "n_iter_"):
                    raise ConfigError(
                        "partial_fit: a model from a file cannot be trained further; fit it again"
                    )
                seed, self.seed_ = self._seed()
                begun = self._begun = self._prepare(rows, options, seed)
                self._tell(None, begun)
                self.mode_, self.mode_reason_ = "resident", "rows come in batches"
            shape, place = begun.shape._replace(n_held_out=0), begun.place
            n_steps = rows.n_rows // (shape.n_blocks * shape.block_size)
            if not n_steps:
                shape = for_batches(options, any_size=True).shape(rows.n_rows, self._least_size)
                n_steps = 1
            begun.place = StepPosition(place.number + 1, 0, place.met)
            found = replace(begun, shape=shape, place=place)
            walk(found, rows, begun.state.step + n_steps, place.number)
        begun.place = begun.place._replace(met=found.place.met)
        self._remember(found)
        return self

    def _options(self) -> LearnOptions:
        """The shared parameters; all have been checked."""
        self._check_own()
        if self.scaling == "whitened" and not self._linear:
            raise ConfigError(
                f'scaling: "whitened" is for linear models, not {type(self).__name__}; take "robust"'
            )
        return LearnOptions(**{field.name: getattr(self, field.name) for field in fields(LearnOptions)})

    def _seed(self) -> tuple[int, int | str]:
        state = self.random_state
        if isinstance(state, np.random.RandomState):
            state = int(state.randint(2**31 - 1))
        try:
            return resolve_seed(state)
        except ConfigError as error:
            raise ConfigError(str(error).replace("rng", "random_state", 1)) from error

    def _run_surveyed(self, rows: ArrayRows, names: Sequence[str] | None) -> None:
        """Steps on rows in memory, without those far from all others."""
        seed, shown_seed = self._seed()
        columns = columns_of(rows, names, targets=self._most_labels is None)
        real = self._real(list(columns), lambda: sample_of(rows, seed)[:2], seed)
        seen, left = survey_of_arrays(rows, columns, seed, real)
        self._run(left, seed, shown_seed, seen)
        warn(self)

    def _real(self, columns: Sequence[str], sample: Sample, seed: int) -> Real | None:
        """Finds far rows that are to be learned; None if there cannot be any."""
        return None if self._most_labels is None else labels_stay(columns, sample)

    def _run(
        self,
        rows: TrainingRows,
        seed: int,
        shown_seed: int | str,
        seen: Survey,
        plan: LearnPlan | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Steps on rows; for a lake as planned, with checkpoints if there is a file for them."""
        options, self.seed_ = self._options(), shown_seed
        compute, keeper = ("here", None) if plan is None else (plan.question.options.compute, plan.keeper)
        # several threads would divide the products of matrices, which may change bits
        with threadpool_limits(1, "blas"):
            found = self._prepare(rows, options, seed)
            crew, why = place_of_blocks(found.risk, found.shape, rows.n_features, executor, compute)
            watch = Watch(options.max_iter, progress)
            with nullcontext() if crew is None or crew is executor else closing(crew):
                learn(found, rows, options, keeper, watch, crew)
        self._tell(seen, found)
        self._remember(found)
        found.place = StepPosition(1, 0, found.place.met)
        self._begun = found
        self.mode_, self.mode_reason_ = "resident", "the data is in memory"
        if plan is not None:
            self.mode_, self.mode_reason_ = plan.mode, f"{plan.reason}; {why}"

    def _name_features(self, names: tuple[str, ...]) -> None:
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)

    def _of_arrays(self, X: Any, y: Any, *, reset: bool = True) -> ArrayRows:
        """Rows of arrays, checked as scikit-learn does."""
        checks = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2, "reset": reset}
        if y is None and not self._needs_target:
            return ArrayRows(validate_data(self, X, **checks))
        X, y = validate_data(self, X, y, y_numeric=self._most_labels is None, **checks)
        return ArrayRows(X, self._codes(y))

    def _codes(self, y: NDArray[Any]) -> Floats:
        """Targets as numbers."""
        return np.asarray(y, np.float64)

    def _know(self, labels: NDArray[Any]) -> None:
        """Called with the labels of a lake, in the order of the numbers that stand for them."""

    def _prepare(self, rows: TrainingRows, options: LearnOptions, seed: int) -> Training:
        """Scales, blocks, start and step size from a sample of the rows."""
        features, targets, share, numbers = sample_of(rows, seed)
        scaled, centred = options.scaling != "none", not self._pairs_given
        of = features, targets if self._scale_targets else None
        labels = self._most_labels is not None
        scale = robust_scale(*of, scaled=scaled, centred=centred, penalised=labels and self._linear)
        n_rows = math.floor(share * rows.n_rows)
        of_sample = scale.features(features), scale.targets(targets)
        shape = Shape(options.n_blocks, parameters.BLOCK_SIZE, 0, 0)  # not known yet
        sample = ScaledSample(*of_sample, shape, seed, scale.clumped_target)
        problem, seen, whitens = self._problem(sample), None, options.scaling == "whitened"
        sizes: dict[str, Any] = {"share": scale.outlier_share, "wanted": problem.wanted}
        # blocks of a given size may all have rows that are far out
        free = options.block_size is None and options.aggregator != "plain"
        if self._linear:
            seen = look(problem, comparable(sample, features, scaled), scale.outlier_share, labels=labels)
            wanted = max(seen.wanted, problem.wanted if whitens else 0)
            sizes = {"share": seen.share, "wanted": wanted, "accused": True, "passed_over": whitens}
        elif self._screened and free and not self._pairs_given:
            seen = look_at_distances(comparable(sample, features, scaled))
            sizes |= {"share": max(seen.share, scale.outlier_share), "passed_over": seen.share > 0.0}
        shape = options.shape(n_rows, self._least_size, bounded=self._bounded, **sizes)
        shape.warn()
        sample = replace(sample, shape=shape)
        judges = sample.features[: 2 * MOST_LOSSES], sample.targets[: 2 * MOST_LOSSES]
        begun: dict[str, Any] = {"judges": judges, "judge": judging(problem, sample.features)}
        begun |= {"sample": (sample.features, sample.targets), "numbers": numbers, "even": problem.even}
        if seen is not None and whitens:
            white = whitened(problem, sample, seen, whole=rows.n_rows <= SAMPLE)
            begun |= white.of_training()
            problem, start, step = replace(problem, risk=white.risk), white.start, white.step
        else:
            if self._screened and seen is not None and seen.accused_share:
                begun |= {"accused": seen.pilot.screen, "accused_share": seen.accused_share}
            problem = self._problem(sample) if self._linear else problem
            start = seeing_start(problem, sample) if problem.blind else problem.start
            step = problem.step
        rules = AGGREGATORS[options.aggregator], options.steps(step), problem.projection, options.clip
        descent = Descent(*rules, options.averaging)
        begun |= {"too_many": 0.0 if seen is None else seen.too_many}
        return Training(seed, scale, shape, problem.risk, descent, descent.begin(start), **begun)

    def _check_own(self) -> None:
        """Raise ConfigError if a parameter of this learner is wrong, before any row is read."""

    _bounded = False
    """Whether the loss of a row is bounded."""

    @property
    def _least_size(self) -> int:
        """Fewest rows that make a block."""
        return 2

    def _problem(self, sample: ScaledSample) -> Problem:
        raise NotImplementedError

    def _settle(self, found: Training) -> None:
        """Attributes of the model."""
        raise NotImplementedError

    def _remember(self, found: Training) -> None:
        """Attributes of the model, and those that all learners have; the flags are known."""
        self._settle(found)
        state, shape, end = found.state, found.shape, self._end(found)
        self.n_iter_ = state.step
        self.history_ = {name: np.array(values) for name, values in vars(state.history).items()}
        self.n_skipped_blocks_ = int(np.sum(state.history.skipped))
        self.n_blocks_, self.block_size_ = shape.n_blocks, shape.block_size
        self.outlier_share_, self.accused_share_ = found.scale.outlier_share, found.accused_share
        self.step_seconds_ = found.step_seconds
        self.loss_flags_ = list(map(str, found.loss_flags))
        of_losses = [Status.NO_FINITE_ANSWER] * (Status.NO_FINITE_ANSWER in found.loss_flags)
        words = in_order([Status(end.name), *map(Status, self.flags_), *of_losses])
        self.status_, self.advice_ = str(words[0]), str(end)
        for name, count in found.place.met._asdict().items():
            setattr(self, f"{name}_", count)

    def _end(self, found: Training) -> DescentStatus:
        """How the training ended."""
        return advised(found.status, whiten=self._linear and self.scaling != "whitened")

    def _tell(self, seen: Survey | None, found: Training) -> None:
        """Set what the survey, the sample of the remaining rows and a fit to it found, as attributes."""
        flags, self.notes_ = told(seen, found)
        self.flags_ = list(map(str, flags))
        self.accused_files_ = [] if seen is None else list(seen.files)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_target
        return tags

    def _checked(self, X: Any) -> Floats:
        """Rows to apply the model to."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
