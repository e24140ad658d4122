"""Tournaments among candidates: the public function."""

from __future__ import annotations

import os
from typing import Any

from distmom.cluster.executors.backends import as_backend
from distmom.designs.blocks import Blocks, as_design
from distmom.designs.match import Match
from distmom.designs.pairs import Pairs, as_pairs
from distmom.estimators.command import answer, command
from distmom.estimators.tournament.options import tournament_options
from distmom.estimators.tournament.question import TournamentQuestion
from distmom.passes.opening import Names
from distmom.passes.scan import as_scan
from distmom.report import TournamentResult

MATCH = Match()


@command
def tournament(
    data: Any,
    candidates: Any,
    target: str | None = None,
    *,
    loss: Any = "squared",
    features: Names = None,
    where: Any = None,
    match: Match = MATCH,
    pairs: Pairs = "complete",
    blocks: Blocks = "auto",
    contamination: int | float | None = None,
    confidence_level: float = 0.99,
    rng: Any = None,
    state: str | os.PathLike[str] | None = None,
    executor: Any = None,
) -> TournamentResult:
    """Choose among candidates by a median-of-means tournament, on data that cannot be cleaned.

    Every candidate predicts the target of a row, or has a loss on pairs of rows: a metric, a ranking, a
    partition. Blocks of rows decide each match by majority. So a few outliers or wrong labels decide nothing,
    while they may well decide which candidate has the smallest mean loss.

    Parameters
    ----------
    data
        As for `distmom.mean`.
    candidates : sequence, or dict of str to candidate
        Each is a column of predictions, a function ``f(features)`` of a dictionary of arrays that returns one
        number per row, a fitted model with ``predict`` (with ``loss="log"``: ``predict_proba``), or the path
        of a model's ``.skops`` file. In a sequence, columns, functions and models have their own names. For
        losses of pairs see `loss`.
    target : str, optional
        Column to predict. Rows in which it is null or NaN do not count.
    loss : str, Loss, callable or Kernel
        ``squared``, ``absolute``, ``huber``, ``pinball``, ``log`` (target 0 or 1, prediction the probability
        of 1), ``zero_one`` (a missing prediction is a miss), or a function of the arrays of truths and
        predictions that returns losses of at least 0. For pairs of rows: ``mahalanobis`` (candidates are
        matrices or ``.npy`` files of them; the target holds labels, and rows of equal labels should be near),
        ``ranking``, ``ranking_hinge``, ``ranking_logistic`` (candidates give scores that should order the
        target), ``clustering`` (candidates give the cell of a row from the features; no target; compare only
        partitions into equally many cells), a ranking or clustering kernel of `distmom.kernels` with other
        parameters, or ``kernel`` (candidates are kernels of pairs, of the target, if one is named, and the
        features). ``Loss(name, parameter)`` changes the threshold of ``huber`` (default 1), the quantile of
        ``pinball`` (default 0.5), or the squared distance between near and far of ``mahalanobis`` (default
        2).
    features : str or sequence of str, optional
        Columns for functions, and for models that do not record what they were fitted on; for matrices the
        coordinates, in the order of their rows.
    where : str or pyarrow.compute.Expression, optional
        Condition; only rows for which it is true are used.
    match : Match
        How the distance of candidates is measured, and how near ones do not meet.
    pairs : {"complete", "sampled"} or pair design
        For losses of pairs: all pairs of a block, or K samples of ``n`` pairs of a part (by default ten times
        the rows of a part, within the budget). The ``budget`` counts losses of pairs, over all candidates.
    blocks : {"auto"}, int, or block design
        As for `distmom.mean`: blocks of each part, by default 63, or fewer if they would have less than eight
        rows. A given number holds for the risks, too. With `UnitBlocks`, `FileBlocks` or chunks of rows,
        whole units or chunks share a part and a block. `SampledBlocks`, for losses of pairs only, have 256
        rows unless ``size`` is given.
    contamination : int or float, optional
        Number or share of rows (of units) that may be arbitrary: sets the number of blocks that is best for
        what may fall into one part.
    confidence_level : float
        Of the intervals of risks, and of what `contamination` allows for.
    rng, executor
        As for `distmom.mean` and, for losses of pairs on blocks that do not fit into memory together,
        `distmom.ustatistic`.
    state : str, path or State, optional
        File that keeps the completed rounds: an interrupted run resumes with the next one and gives the same
        bits; if `rng` is None, with the seed of the state. Functions and models are recognised by their
        names.

    Returns
    -------
    TournamentResult
        A sequence of the candidates, the best first, with champions, finalists and every duel;
        ``accused_files``, ``far_rows`` and ``remarks`` report what was left out.

    Raises
    ------
    ConfigError
        An option, a name, a candidate or the condition is wrong.
    DataError
        A file is damaged or changed, a candidate fails on its rows, a model's file holds types that are not
        trusted, a loss is negative, or the state belongs to another tournament.
    NoAnswerError
        There are no rows with a target, a part has none, no candidate has a finite loss, or ``beta_r`` is so
        small that every candidate loses an allowed match (the message gives the smallest possible value).
    ResourceError
        There is not enough memory, or the cluster was lost.

    Notes
    -----
    Rows are assigned at random to three parts of K blocks: the first decides which candidates are far enough
    apart to be compared, the second who wins by the majority of blocks, the third who is champion among the
    finalists. Losses of pairs have two parts. The guarantee is for the squared loss; with other losses the
    tournament is a robust comparison without a stated rate. See :doc:`/statistics/learning`.

    *Bad files and rows* spread over all blocks. Robust means of columns and losses are computed first, 34 in
    a pass: files that differ and rows that stand apart are left out before the matches, or the status is
    ``breakdown point exceeded``; a champion is then only named if the rows that are not far out decide. If
    only some candidates have such rows, the matches are played with and without them, and a champion that
    does not win both is ``not decided``.

    *Cost.* One pass for the losses of up to 128 candidates, or none if the survey finds nothing: they are
    then summed while it reads the rows. Each round of distances takes one more pass, and often there is none.
    Memory does not grow with the rows; a state has 32 K bytes per candidate.

    References
    ----------
    Lugosi & Mendelson (2020), Risk minimization by median-of-means tournaments, JEMS 22. Lecué & Lerasle
    (2019), Learning from MOM's principles: Le Cam's approach, SPA 129. Laforgue, Clémençon & Bertail (2019),
    On Medians of (Randomized) Pairwise Means, ICML, sections 2.1 and 3 (the theorem on pairwise tournaments).

    Examples
    --------
    >>> import numpy as np
    >>> import distmom as dm
    >>> x = np.random.default_rng(0).normal(size=3_000)
    >>> y = x + np.random.default_rng(1).normal(size=3_000)
    >>> y[::300], x[::300] = 1e6, 1e3
    >>> found = dm.tournament({"x": x, "y": y}, {"x": "x", "1000 x": lambda row: 1e3 * row["x"]}, "y",
    ...                       features="x", rng=0)
    >>> found.champions, min(found, key=lambda r: r.plain_estimate).name
    (('x',), '1000 x')
    >>> found.decided, len(found.far_rows)
    (True, 0)
    """
    scan = as_scan(data, where)
    promise = {"contamination": contamination, "confidence_level": confidence_level}
    options = tournament_options(scan, loss, match, as_pairs(pairs), as_design(blocks), **promise)
    limit = as_backend(executor).memory_limit
    question = TournamentQuestion(scan, candidates, target, features, options, state, limit, rng=rng)
    return answer(question, executor)  # type: ignore[no-any-return]
