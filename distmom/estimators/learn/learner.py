"""What all learners share: options, data, one run, and what is known of it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from distmom.cluster.executors.backends import as_backend
from distmom.errors import ConfigError, DataError
from distmom.estimators.command import answer
from distmom.estimators.learn.checkpoint import DescentKeeper
from distmom.estimators.learn.data import LakeFacts, Wanted, is_lake, lake_arguments
from distmom.estimators.learn.options import LearnOptions
from distmom.estimators.learn.question import LearnQuestion
from distmom.estimators.learn.rows import ArrayRows, TrainingRows
from distmom.estimators.learn.run import Learned, Prepared, Problem, Sample, learn, prepare
from distmom.estimators.learn.shared import place_of_blocks
from distmom.estimators.learn.watch import Watch
from distmom.numerics.arrays import Floats
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.scan import Scan, as_scan
from distmom.report.result import plain
from distmom.state import Fingerprint, shown

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
    from threadpoolctl import threadpool_limits  # comes with scikit-learn
except ImportError as error:  # pragma: no cover
    raise ImportError("the learners need scikit-learn: pip install 'distmom[learn]'") from error

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress


@dataclass(frozen=True)
class Around:
    """What there is around a run on a lake.

    Attributes
    ----------
    keeper : DescentKeeper, optional
    watch : Watch, optional
    executor : Executor, optional
    compute : {"auto", "here", "workers"}
    """

    keeper: DescentKeeper | None = None
    watch: Watch | None = None
    executor: Executor | None = None
    compute: str = "auto"


ALONE = Around()


class Learner(BaseEstimator):  # type: ignore[misc]
    """Base of the learners; see `distmom.MahalanobisMetric` for the options that all of them have.

    Attributes
    ----------
    n_iter_ : int
        Steps taken.
    status_ : str
        How the descent ended: ``"converged"``, ``"still improving"``, ``"all steps taken"`` or
        ``"stationary"``.
    advice_ : str
        What that means, and what to do about it.
    history_ : dict of ndarray
        For each step ``objective`` (the loss that it went by, of the chosen block, which is biased low),
        ``block`` (-1 for a combination, -2 where the step was left out), ``gradient_norm`` (before clipping)
        and ``skipped`` (blocks that could not be used); ``held_out_step`` and ``held_out``, the looks at
        held-out blocks.
    n_skipped_blocks_ : int
        Sum of ``skipped``.
    n_blocks_, block_size_ : int
        As used.
    wild_share_ : float
        Share of the rows of a sample with a value more than 20 spreads from the middle.
    step_seconds_ : float
        Mean time of a step, fetching its rows included.
    n_used_, n_null_, n_nan_, n_inf_, n_dropped_ : int
        Rows that were met, in the first pass over the data up to the last step or in held-out blocks: those
        that count; with a value that is null, or NaN; of those that count, with an infinite value; those that
        the filter drops or whose file was left out. Not all rows are met where steps end before.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where the data has names.
    seed_ : int or str
        What ``random_state`` to pass for the same draws.
    mode_, mode_reason_ : str
        Whether rows were held in memory, and why; also who computed the blocks.
    """

    _needs_target = True
    _scale_targets = False
    _any_target = False
    """Whether targets may be anything that can be told apart."""
    _most_labels = 1_000_000
    """Different targets of a lake at most, where they are told apart."""

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Keep the parameters as they were given: what ``__init__`` of a learner of scikit-learn may do."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def fit(self, X: Any, y: Any = None, **lake: Any) -> Self:
        """Learn from the rows of arrays, or of anything that `distmom.mean` reads.

        Parameters
        ----------
        X : array_like, shape (n, d), or path, glob, list of paths, Arrow table, frame, …, or Scan
        y : array_like, shape (n,), or str
            Targets; with a lake the name of their column (default ``label``, ``target`` or ``y``): numbers;
            labels may also be true and false or text.
        **lake
            With a lake: ``columns``, the features (default: all columns of numbers but y); ``where``, a
            condition as for `distmom.mean`; ``mode``, "resident" to hold all rows in memory, "streaming" to
            gather those of many steps at a time, or "auto", which never changes a bit; ``compute``, "workers"
            to have threads or workers compute the losses and gradients of blocks, "here" to compute them in
            the process that takes the steps, or "auto", by what a step costs; ``executor``, where to run, as
            for `distmom.mean`; ``state``, a file of checkpoints from which a run that was interrupted goes on
            with the same bits, and ``checkpoint_seconds`` between them. How the lake is read (missing values,
            bad files, object stores) is said by `distmom.scan`.

        Raises
        ------
        ConfigError
            If an option is wrong.
        DataError
            If the data cannot be read, or its targets cannot be learned from.
        NoAnswerError
            If there are too few rows, or half or more of the blocks of a step have no finite loss.
        """
        self._settle(self._fit(X, y, lake))
        return self

    def _options(self) -> LearnOptions:
        known = {field.name for field in fields(LearnOptions)}
        return LearnOptions(**{k: v for k, v in self.get_params(deep=False).items() if k in known})

    def _seed(self) -> tuple[int, int | str]:
        state = self.random_state
        if isinstance(state, np.random.RandomState):
            state = int(state.randint(2**31 - 1))
        try:
            return resolve_seed(state)
        except ConfigError as error:
            raise ConfigError(str(error).replace("rng", "random_state", 1)) from error

    def _fit(self, X: Any, y: Any, lake: dict[str, Any]) -> Learned:
        """Check, open, run, and keep what is common."""
        self._options()  # checked before the data is opened
        if is_lake(X, y):
            where, executor, options = lake_arguments(type(self).__name__, lake)
            limit = as_backend(executor).memory_limit
            question = LearnQuestion(self, as_scan(X, where), y, options, limit)
            return answer(question, executor)  # type: ignore[no-any-return]
        if lake:
            name = next(iter(lake))
            raise ConfigError(f"{name}: is for lakes; with arrays, choose rows and columns yourself")
        return self._fit_rows(self._of_arrays(X, y))

    def _fit_rows(self, rows: ArrayRows) -> Learned:
        """Run on rows in memory."""
        seed, self.seed_ = self._seed()
        found = self._run(rows, self._options(), seed)
        self.mode_, self.mode_reason_ = "resident", "the data is in memory"
        return found

    def _learn_from(
        self,
        rows: TrainingRows,
        facts: LakeFacts,
        question: LearnQuestion,
        executor: Executor,
        progress: Progress | None,
    ) -> Learned:
        """Run on rows of a lake, with checkpoints where a file for them is named."""
        options, self.seed_ = self._options(), question.shown_seed
        self._name_features(facts.names)
        if facts.labels is not None:
            self._know(facts.labels)
        watch = Watch(options.max_iter, progress)
        around = Around(question.keeper, watch, executor, question.options.compute)
        found = self._run(rows, options, question.seed, around)
        self.mode_, self.mode_reason_ = facts.mode, f"{facts.reason}; {self.mode_reason_}"
        self._facts = replace(facts, where=None, source=None)
        return found

    def _wanted(self) -> Wanted:
        """What the targets of a lake are to be."""
        return Wanted(self._needs_target, self._most_labels if self._any_target else None)

    def _fingerprint(self, facts: LakeFacts, read: Scan, seed: int, shown_seed: int | str) -> Fingerprint:
        """What a checkpoint must have been made with."""
        where = facts.where
        question = {
            "learner": type(self).__name__,
            "columns": facts.names,
            "y": facts.target,
            "missing": read.missing,
            "nan": read.nan,
            "where": shown(None if where is None else where.identity, None if where is None else where.text),
        }
        params = self.get_params(deep=False).items()
        design = {
            name: plain(value.__qualname__ if callable(value) else value)
            for name, value in params
            if name not in ("max_iter", "random_state")
        }
        return Fingerprint.of(question, design, seed, shown_seed)

    def _name_features(self, names: tuple[str, ...]) -> None:
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)

    def _of_arrays(self, X: Any, y: Any, *, reset: bool = True) -> ArrayRows:
        """Rows of arrays, checked as scikit-learn does."""
        checks: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2, "reset": reset}
        if y is None and not self._needs_target:
            return ArrayRows(validate_data(self, X, **checks))
        X, y = validate_data(self, X, y, y_numeric=not self._any_target, **checks)
        return ArrayRows(X, self._codes(y))

    def _codes(self, y: NDArray[Any]) -> Floats:
        """Targets as numbers."""
        return np.asarray(y, np.float64)

    def _know(self, labels: NDArray[Any]) -> None:
        """Called with the labels of a lake, in the order of the numbers that stand for them."""

    def _run(self, rows: TrainingRows, options: LearnOptions, seed: int, around: Around = ALONE) -> Learned:
        # several threads would divide the products of matrices, which may change bits
        with threadpool_limits(1, "blas"):
            prepared = self._prepare(rows, options, seed)
            place = place_of_blocks(
                prepared.risk, prepared.shape, rows.n_features, around.executor, around.compute
            )
            try:
                found = learn(rows, prepared, options, seed, around.keeper, around.watch, place.crew)
            finally:
                if place.crew is not None:
                    place.crew.close()
        self._remember(found)
        self._could_go_on(seed, prepared, found)
        self.mode_reason_ = place.reason
        return found

    def _could_go_on(self, seed: int, prepared: Prepared, found: Learned) -> None:
        """Called with what it takes to go on with other rows."""

    def _prepare(self, rows: TrainingRows, options: LearnOptions, seed: int) -> Prepared:
        return prepare(
            rows,
            self._problem,
            options,
            seed,
            least_size=self._least_size(rows.n_features),
            scale_targets=self._scale_targets,
            centred=self._centred(),
        )

    def _least_size(self, n_features: int) -> int:
        """Rows that make a block."""
        return 2

    def _centred(self) -> bool:
        """Whether features have a middle that means nothing."""
        return True

    def _problem(self, sample: Sample) -> Problem:
        raise NotImplementedError

    def _settle(self, found: Learned) -> None:
        """Attributes of the model."""
        raise NotImplementedError

    def _remember(self, found: Learned) -> None:
        """Attributes that all learners have."""
        state, status = found.outcome.state, found.outcome.status
        self.n_iter_ = state.step
        self.status_, self.advice_ = status.name, status.advice
        self.history_ = {name: np.array(values) for name, values in vars(state.history).items()}
        self.n_skipped_blocks_ = int(np.sum(state.history.skipped))
        self.n_blocks_, self.block_size_ = found.shape.n_blocks, found.shape.block_size
        self.wild_share_ = found.scale.wild_share
        self.step_seconds_ = found.step_seconds
        for name, count in found.met._asdict().items():
            setattr(self, f"{name}_", count)

    def _checked(self, X: Any) -> Floats:
        """Rows to apply the model to."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))


def labels_of(y: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
    """Distinct labels, sorted, and the number of each row's label."""
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.float64)


def codes_among(classes: NDArray[Any], y: NDArray[Any]) -> Floats:
    """Numbers of the labels among known classes, which are sorted."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    strange = np.flatnonzero(classes[codes] != y)
    if strange.size:
        label = y[strange[0]]
        raise DataError(f"y: label {str(label)!r} is not among the classes of the first batch; name them all")
    return codes.astype(np.float64)


def check_sample_of_labels(labels: Floats, what: str) -> None:
    """Refuse labels of which no pair can be formed."""
    counts = np.unique(labels, return_counts=True)[1]
    if counts.size < 2:
        raise DataError(f"{what}: there is one class only, so no pair of different labels can be formed")
    if counts.max() < 2:
        raise DataError(f"{what}: no label occurs twice, so no pair of equal labels can be formed")


def largest_curvature(blocks: Floats, extra: float = 0.0) -> float:
    """Lower median over blocks of the largest eigenvalue of X^T X / B, with a column of ones, plus `extra`.

    A step of one over it cannot overshoot on most blocks.
    """
    from distmom.numerics.median import lower_median

    n, size, width = blocks.shape
    whole = np.concatenate([blocks, np.ones((n, size, 1))], axis=2)
    good = np.isfinite(whole).all(axis=(1, 2))
    whole = whole[good][:101]
    if not len(whole):
        return 1.0 + extra
    with np.errstate(over="ignore"):
        if size <= width:
            gram = whole @ whole.transpose(0, 2, 1) / size
        else:
            gram = whole.transpose(0, 2, 1) @ whole / size
    finite = np.isfinite(gram).all(axis=(1, 2))
    if not finite.any():
        return 1.0 + extra
    return float(lower_median(np.linalg.eigvalsh(gram[finite])[:, -1])) + extra
