"""Parameters that all learners share, and what follows from them for a number of rows."""

from __future__ import annotations

import inspect
import math
import re
import warnings
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from distmom.checks import check_choice, check_count, check_fraction, check_positive
from distmom.errors import ConfigError, NoAnswerError
from distmom.solvers.aggregators import AGGREGATORS
from distmom.solvers.step_sizes import Adam, Backtracking, Decaying, StepSize

STEP_RULES = ("decaying", "constant", "adam", "backtracking")
AVERAGING = ("mean", "geometric_median", "none")

SAFE, LEAST = 0.35, 0.69
"""B <= 0.35/contamination leaves 70% of the blocks clean; above 0.69/contamination fewer than half are."""

BLOCK_SIZE, MOST_BLOCK_SIZE = 16, 256
MOST_STEP_SHARE = 0.8
"""Of the rows that the blocks of one step may take, where they are large because something is rare."""

HELD_OUT_BLOCKS, HELD_OUT_SHARE = 31, 0.2
FEWEST_HELD_OUT = 8
"""Rows of a held-out block that is smaller than those of a step."""

C = TypeVar("C", bound=type)


@dataclass(eq=False, repr=False, kw_only=True)
class SharedParameters:
    """What every learner takes beside parameters of its own.

    Parameters
    ----------
    n_blocks : int
        K, the blocks of a step; odd.
    block_size : int, optional
        B, the rows of a block; by default 0.35/contamination. Without a contamination: 16; for linear models,
        enough for ten rows of the rarest label or four of the rarest level (64 to 1,024; 32 for pairs); for
        clusters, five rows of the smallest. Fewer if too many of these blocks would hold outlying rows.
    contamination : float or "auto"
        Share of rows that may be outlying; "auto" estimates it from a sample of the rows.
    aggregator : {"median_block", "geometric_median", "coordinatewise_median", "trimmed_mean", "plain"}
        The gradient of the block with the lower-median loss (the paper's); a median of the gradients of all
        blocks; their mean without blocks more than three median distances from that median; or the mean of
        all, which is not robust. The first two kinds ignore what is rare: labels and levels that most blocks
        lack.
    step_rule : {"decaying", "constant", "adam", "backtracking"}
        ``decaying`` divides by sqrt(1 + t/20) in step t.
    step_size : float
        In units of the natural step of the problem.
    max_iter : int
        Maximum number of steps.
    averaging : {"mean", "geometric_median", "none"}
        How the last half of the iterates is averaged; "none" takes the last iterate.
    clip : float
        Gradients longer than this multiple of their running median length are shortened to it.
    early_stopping : bool or "auto"
        Whether to hold out 31 blocks (fewer if they would take more than a fifth of the rows), to evaluate
        them every 25 steps, and to stop once the median of the paired changes of their losses has not fallen
        at five evaluations in a row. ``"auto"`` does so if 31 blocks are at most a fifth of the rows. With
        "whitened" scaling, held-out blocks may be smaller, evaluations come sooner if steps are large, and if
        nothing is held out "auto" evaluates blocks of the sample.
    tol : float
        Relative fall of the held-out loss that counts as progress.
    scaling : {"whitened", "robust", "none"}
        Whether features are divided by their median absolute deviations; "whitened" (linear models only) also
        decorrelates them, starts at a robust fit to a sample of 8,192 rows, and skips blocks with rows that
        this fit accuses. The fit to all other rows is the model if there are no more, or if steps end at a
        worse one.
    random_state : int, RandomState, Generator, SeedSequence or None
        Decides which rows share a block.

    Attributes
    ----------
    n_iter_ : int
        Steps taken.
    status_ : str
        The most serious of ``flags_`` and of how the descent ended: ``"converged"``, ``"not converged"``,
        ``"still improving"``, ``"all steps taken"`` or ``"stationary"``; of ``loss_flags_``, which concern a
        mean, only ``"no finite answer"``. For linear models the gradient decides the end, on held-out blocks
        or else on blocks of the sample: at a minimum its square is that of its noise, in whitened
        coordinates.
    advice_ : str
        How the descent ended, what that means, and what to do about it.
    history_ : dict of ndarray
        For each step ``objective`` (the loss that decided it, of the chosen block, which is biased low),
        ``block`` (-1 for a combination, -2 if the step was skipped), ``gradient_norm`` (before clipping) and
        ``skipped`` (blocks that could not be used); ``held_out_step`` and ``held_out``, the evaluations of
        held-out blocks.
    flags_ : list of str
        What the survey of the columns found, as flags of other results; also ``share far out`` if more than a
        tenth of the values of a column are more than 20 robust standard deviations from its centre.
    notes_ : list of str
        The same in sentences.
    accused_files_ : list of str
        Files that were left out.
    loss_flags_ : list of str
        What the mean reports about the losses of held-out rows, or else of sampled ones, at the end; for
        losses of pairs, about pairs that share no row.
    n_skipped_blocks_ : int
        Sum of ``skipped``.
    n_blocks_, block_size_ : int
        As used.
    accused_share_ : float
        Share of the sampled rows that are accused: far out with a large residual, or farther out than all
        others. Blocks with such rows are skipped.
    outlier_share_ : float
        Share of the rows of a sample with a value more than 20 robust standard deviations from the centre.
    step_seconds_ : float
        Mean time of a step, including fetching its rows.
    n_used_, n_null_, n_nan_, n_inf_, n_dropped_ : int
        Rows that were read, in held-out blocks or in the first pass over the data up to the last step: those
        used; those with a null, or a NaN; used rows with an infinite value; rows that were dropped (by the
        filter, as far out, or with their file). If the steps end early, not all rows are read.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If the data has names.
    seed_ : int or str
        Pass it as ``random_state`` to repeat the draws.
    mode_, mode_reason_ : str
        Whether rows were held in memory, and why; also who computed the blocks.
    """

    n_blocks: int = 11
    block_size: int | None = None
    contamination: float | str | None = "auto"
    aggregator: str = "median_block"
    step_rule: str = "decaying"
    step_size: float = 1.0
    max_iter: int = 500
    averaging: str = "mean"
    clip: float = 3.0
    early_stopping: bool | str = "auto"
    tol: float = 1e-3
    scaling: str = "robust"
    random_state: Any = None


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def with_shared_parameters(kind: C) -> C:
    """A learner whose ``__init__`` takes the annotated parameters of its class and the shared ones.

    It only stores them, as scikit-learn requires; its signature begins with those of the class. Shared
    parameters that the class does not document are added to its docstring.
    """
    parts = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    for section in inspect.cleandoc(SharedParameters.__doc__ or "").split("\n\n")[1:]:
        title, _, *entries = re.split(r"\n(?=\S)", section)
        for place, part in enumerate(parts):
            if part.startswith(f"{title}\n"):
                told = {entry.partition(" : ")[0] for entry in part.splitlines()}
                parts[place] = "\n".join([part, *(e for e in entries if e.partition(" : ")[0] not in told)])
    kind.__doc__ = "\n\n".join(parts)
    dataclass(eq=False, repr=False, kw_only=True)(kind)
    init: Any = vars(kind)["__init__"]
    signature, shared = inspect.signature(init), {one.name for one in fields(SharedParameters)}
    own_first = sorted(signature.parameters.values(), key=lambda p: (p.kind, p.name in shared))
    init.__signature__ = signature.replace(parameters=own_first)
    return kind


class Shape(NamedTuple):
    """Blocks of a step, their rows, and blocks that are held out."""

    n_blocks: int
    block_size: int
    n_held_out: int
    held_out_size: int  # rows of each of these

    def warn(self) -> None:
        """Warn of a number of blocks that has no middle."""
        if self.n_blocks % 2 == 0:
            warnings.warn(
                f"n_blocks: {self.n_blocks} is even, so the block of the step is not in the middle; take an "
                "odd number",
                stacklevel=2,
            )


@dataclass(kw_only=True)
class LearnOptions(SharedParameters):
    """The shared parameters, checked."""

    def __post_init__(self) -> None:
        for name in ("n_blocks", "max_iter", *(["block_size"] if self.block_size is not None else [])):
            check_count(name, getattr(self, name))
            setattr(self, name, int(getattr(self, name)))
        if self.contamination is None or isinstance(self.contamination, str):
            check_choice("contamination", self.contamination or "auto", ("auto",))
        else:
            check_fraction("contamination", self.contamination, 0.5, "such as 0.01")
        check_choice("aggregator", self.aggregator, tuple(AGGREGATORS))
        check_choice("step_rule", self.step_rule, STEP_RULES)
        check_choice("averaging", self.averaging, AVERAGING)
        check_choice("scaling", self.scaling, ("whitened", "robust", "none"))
        check_positive("step_size", self.step_size)
        check_positive("clip", self.clip, finite=False)
        check_positive("tol", self.tol, zero=True)
        if not isinstance(self.early_stopping, bool):
            check_choice("early_stopping", self.early_stopping, ("auto",))

    def steps(self, unit: float, after: float = 20.0) -> StepSize:
        """The rule of step sizes, given the natural size of a step of the problem."""
        size = self.step_size * unit
        if self.step_rule == "adam":
            return Adam(0.05 * self.step_size, after)
        if self.step_rule == "constant":
            return Decaying(0.3 * size, math.inf)
        return Backtracking(size) if self.step_rule == "backtracking" else Decaying(size, after)

    @property
    def given_share(self) -> float | None:
        """The contamination if it is given."""
        share = self.contamination
        return None if share is None or isinstance(share, str) else float(share)

    def shape(
        self,
        n_rows: int,
        least_size: int,
        share: float = 0.0,
        wanted: int = BLOCK_SIZE,
        *,
        accused: bool = False,
        passed_over: bool = False,
        bounded: bool = False,
    ) -> Shape:
        """Blocks for so many rows; `least_size` rows make a block that says something.

        They have the `wanted` rows, or fewer where that is more than a step can have, or too many to be
        clean. Where neither block size nor contamination are given, the `share` of rows that look outlying,
        or are `accused`, is taken for the latter. Then held-out blocks may be smaller; blocks with accused
        rows may be `passed_over`, and half of them are to be clean. Where the loss of a row is `bounded`,
        blocks need not be clean.

        Refuses a given block size that cannot be combined with the contamination or is below `least_size`,
        and too few rows.
        """
        n_blocks, safe = self.n_blocks, SAFE
        if passed_over:
            wanted = min(wanted, max(least_size, int(MOST_STEP_SHARE * n_rows) // n_blocks))
            safe = LEAST if self.given_share is None else SAFE
        size = self._block_size(least_size, int(safe / max(self.given_share or share, 1e-9)), wanted, bounded)
        if self.given_share is None and self.aggregator != "plain" and share * size > safe:
            self._warn(size, share, accused=accused, bounded=bounded)
        if n_rows < n_blocks * size:
            if self.block_size is not None:
                raise NoAnswerError(
                    f"block_size: {n_blocks} blocks of {size} rows need {n_blocks * size:,} rows, not "
                    f"{n_rows:,}; take fewer or smaller blocks"
                )
            n_blocks = min(n_blocks, max(1, n_rows // least_size))
            n_blocks -= 1 - n_blocks % 2
            size = max(1, n_rows // n_blocks)
        held_out = size
        if accused:
            free = min(int(HELD_OUT_SHARE * n_rows), n_rows - n_blocks * size)
            smaller = min(size, free // HELD_OUT_BLOCKS)
            held_out = smaller if smaller >= max(least_size, FEWEST_HELD_OUT) else size
        return Shape(n_blocks, size, self._held_out(n_rows, n_blocks * size, held_out), held_out)

    def _block_size(self, least_size: int, clean: int, wanted: int, bounded: bool) -> int:
        """Rows of a block; those of more than `clean` are too many, which a given size may have."""
        eta, size = self.given_share, self.block_size
        if size is None:
            most = MOST_BLOCK_SIZE if eta is not None else BLOCK_SIZE if bounded else wanted
            return max(least_size, min(most, clean), wanted if bounded else 0)
        if size < least_size:
            raise ConfigError(f"block_size: must be at least {least_size} for this loss, not {size}")
        if eta is not None and self.aggregator != "plain" and size > SAFE / eta:
            text = (
                f"block_size: with a share of {eta:g} outlying rows only {(1 - eta) ** size:.0%} of blocks "
                f"of {size} rows are clean; take at most {max(1, int(SAFE / eta))}"
            )
            if size > LEAST / eta:
                raise ConfigError(text)
            warnings.warn(text, stacklevel=3)
        return size

    def _warn(self, size: int, share: float, *, accused: bool, bounded: bool) -> None:
        """Too few blocks can be clean: the size was given, or smaller ones say nothing."""
        if self.block_size is None and bounded:
            return
        why = (
            "are accused"
            if accused
            else "have a value more than 20 robust standard deviations from the centre"
        )
        warnings.warn(
            f"block_size: {share:.2%} of the rows {why}, so only {(1 - share) ** size:.0%} of blocks of "
            f"{size} rows are without one; take at most {max(1, int(SAFE / share))}, or give contamination",
            stacklevel=3,
        )

    def _held_out(self, n_rows: int, n_step: int, size: int) -> int:
        """Number of held-out blocks of a size, beside the rows of a step."""
        if self.early_stopping is False:
            return 0
        free = min(int(HELD_OUT_SHARE * n_rows), n_rows - n_step) // size
        if self.early_stopping == "auto":
            return HELD_OUT_BLOCKS if free >= HELD_OUT_BLOCKS else 0
        if free < 3:
            raise NoAnswerError(
                f"early_stopping: {n_rows:,} rows are too few to hold out 3 blocks of {size}; "
                "use early_stopping=False"
            )
        return min(HELD_OUT_BLOCKS, free - 1 + free % 2)


def for_batches(options: LearnOptions, *, any_size: bool = False) -> LearnOptions:
    """The options without held-out blocks, and if `any_size` with blocks as large as the rows allow."""
    size = None if any_size else options.block_size
    return replace(options, early_stopping=False, block_size=size)
