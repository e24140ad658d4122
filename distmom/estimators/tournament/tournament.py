"""Tournaments among candidates: the public function."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from distmom.cluster import connect
from distmom.estimators.arguments import arguments_of
from distmom.estimators.facts import data_facts, run_facts
from distmom.estimators.mean.plan import worth_compiling
from distmom.estimators.options import check_count
from distmom.estimators.place import imagined_place, place_of
from distmom.estimators.recorded import recorded
from distmom.estimators.tournament.answer import tournament_result
from distmom.estimators.tournament.candidates import Field, find_candidates
from distmom.estimators.tournament.options import PAIR_BUDGET, TournamentOptions
from distmom.estimators.tournament.pair_candidates import find_pair_candidates
from distmom.estimators.tournament.plan import plan_tournament
from distmom.estimators.tournament.state import KIND, RoundKeeper, fingerprint
from distmom.lake import BATCH_ROWS, ReadOptions
from distmom.lake.filters import as_filter
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.census import column_share
from distmom.passes.opening import Names, open_source, unit_columns
from distmom.reductions.block_means import load_kernels
from distmom.state import open_checkpoint

if TYPE_CHECKING:
    from distmom.cluster import Progress
    from distmom.lake import Source
    from distmom.report import TournamentResult


@recorded
def tournament(
    data: Any,
    candidates: Any,
    target: str | None = None,
    *,
    loss: Any = "squared",
    loss_parameter: float | None = None,
    features: Names = None,
    where: Any = None,
    distance: str = "auto",
    beta_r: float | None = None,
    n_blocks: int | str = "auto",
    contamination: int | float | None = None,
    chunk_rows: int = 1,
    block_by: Names = None,
    missing: str = "error",
    on_bad_file: str = "error",
    confidence_level: float = 0.99,
    scheme: str = "partition",
    block_size: int | None = None,
    pairs: str = "complete",
    n_pairs: int | None = None,
    pair_budget: int | float = PAIR_BUDGET,
    rng: Any = None,
    state: str | os.PathLike[str] | None = None,
    client: Any = None,
    workers: int | None = None,
    scheduler: str | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    storage_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> TournamentResult:
    """Choose among candidates by a median-of-means tournament, on data that nobody can clean.

    Every candidate predicts the target of a row, or has a loss on pairs of rows: a metric, a ranking, a
    partition. Blocks of rows decide each match by majority, so a few wild rows or labels decide nothing, as
    they do where the least mean loss is taken.

    Parameters
    ----------
    data
        As for `distmom.mean`.
    candidates : sequence, or dict of str to candidate
        Each a column of predictions, a function ``f(features)`` of a dictionary of arrays that gives one
        number a row, a fitted model with ``predict`` (with ``loss="log"``: ``predict_proba``), or the path of
        a model's ``.skops`` file. In a sequence, columns go by their names, functions and models by theirs.
        With losses of pairs: what the loss says.
    target : str, optional
        Column that they predict. Rows where it is null or NaN do not count.
    loss : str, callable or Kernel
        ``squared``, ``absolute``, ``huber``, ``pinball``, ``log`` (target 0 or 1, prediction the probability
        of 1), ``zero_one`` (a missing prediction is a miss), or a function of the arrays of truths and
        predictions that gives losses of at least 0. Of pairs of rows: ``mahalanobis`` (candidates are
        matrices or ``.npy`` files of them; the target holds labels, whose equality should mean nearness),
        ``ranking``, ``ranking_hinge``, ``ranking_logistic`` (candidates give scores that should order the
        target), ``clustering`` (candidates give the cell of a row among the features; no target; compare only
        partitions into equally many cells), a ranking or clustering kernel of `distmom.kernels` with other
        parameters, or ``kernel`` (candidates are kernels of pairs that are the loss of the target, if one is
        named, and the features).
    loss_parameter : float, optional
        Threshold of ``huber`` (default 1), quantile of ``pinball`` (default 0.5), squared distance between
        near and far of ``mahalanobis`` (default 2).
    features : str or sequence of str, optional
        Columns that functions take, and models that do not say what they were fitted on; coordinates, in the
        order of a matrix's rows.
    where : str or pyarrow.compute.Expression, optional
        Condition; rows for which it is true count.
    distance : {"auto", "prediction", "loss"}
        What keeps candidates apart: E|f - g|, or E|sqrt(loss f) - sqrt(loss g)|. By default the former for
        squared, absolute, huber and pinball losses, the latter for all others.
    beta_r : float, optional
        Candidates no farther apart than this do not meet. By default the smallest value that leaves a
        finalist.
    n_blocks : int or "auto"
        Blocks of each part: 63, or fewer where they would have less than eight rows.
    contamination : int or float, optional
        Number or share of rows (of units, with `block_by`) that may be arbitrary: takes the number of blocks
        that is best for what may fall into one part.
    chunk_rows, block_by
        Rows or units that stay together in one part and block, as for `distmom.mean`.
    missing, on_bad_file, rng, client, workers, scheduler, threads, memory_limit, batch_rows,
    storage_options, progress
        As for `distmom.mean`.
    scratch : path, optional
        As for `distmom.ustatistic`: for losses of pairs on blocks that do not fit into memory together.
    confidence_level : float
        Of the intervals of risks, and of what `contamination` allows for.
    scheme : {"partition", "swor", "monte_carlo"}
        Blocks of losses of pairs: all rows of a part, or K samples of its rows (or pairs) without or with
        replacement.
    block_size : int, optional
        Rows of a sampled block, by default 256.
    pairs : {"complete", "incomplete"}
        All pairs of a block, or K samples of `n_pairs` pairs of all pairs of a part.
    n_pairs : int, optional
        By default ten times the rows of a part, as far as the budget goes.
    pair_budget : int
        Losses of pairs, of all candidates, that a run may evaluate.
    state : str, path or State, optional
        File that keeps the rounds that are done: a run that was stopped goes on with the next one and gives
        the same bits; where `rng` is None, with the seed of the state. Functions and models are taken for the
        same if their names are.

    Returns
    -------
    TournamentResult
        A sequence of the candidates, the best first, with champions, finalists and every duel.

    Raises
    ------
    ConfigError
        An option, a name, a candidate or the condition is wrong.
    DataError
        A file is damaged or changed, a candidate fails on its rows, a model's file holds types that are not
        trusted, a loss is negative, or the state belongs to another tournament.
    NoAnswerError
        There are no rows with a target, a part has none, no candidate has a finite loss, or `beta_r` is so
        small that every candidate loses an allowed match (the smallest possible value is told).
    ResourceError
        The memory does not suffice, or the cluster was lost.

    Notes
    -----
    The rows are cut at random into three disjoint parts of K blocks. On the second, f loses to g if its loss
    is larger on more than half of the blocks (both directions are counted). On the first, Phi(f, g) is the
    lower median of the block means of their distance; their match is allowed if Phi(f, g) > beta r. With
    t_f = max Phi(f, g) over the g that beat f, the finalists are H = {f: t_f <= beta r}, and beta r, if not
    given, is min t_f: Le Cam's criterion. Champions are the finalists that lose to no finalist on the third
    part; if there is a cycle, those of least max Phi over the finalists that beat them. A loss that is not
    finite is infinite: a candidate may be so on a minority of blocks and still win; where both are infinite
    the block is a draw.

    The guarantee (excess risk of the order r^2 with probability 1 - exp(-c n min(1, r^2)), for heavy-tailed
    rows) is for the squared loss; beta r found by the data has that of Le Cam's procedure. Otherwise the
    tournament is a robust comparison without a stated rate.

    With a loss l of pairs there are two parts, and Phi(f, g) is the lower median of the complete (or
    incomplete) U-statistics of the distance of sqrt l_f and sqrt l_g: champions are the finalists.
    ``partition`` is MoU, the samples are MoRU and MoIU. Then R(f) - R(f*) <= c r (c r + 2 sqrt R(f*)) with
    probability 1 - 2 exp(-c0 n min(1, r^2)); the printed bound c r drops the square. Rows count with all
    columns that any candidate takes, or not at all. The plain risk is the mean of the block statistics.
    Three passes, and one for each round of distances; the time is that of m times the pairs of all blocks.

    One pass for the losses of up to 128 candidates, linear in their number; one more for each round of
    distances, of which often none is asked: only those of pairs (loser, winner) matter, and block means give
    lower bounds. Memory does not grow with the rows; a state has 8 (3 K + K) bytes a candidate, and 1,680 for
    cells of whole files.

    A file that is bad as a whole has rows in all blocks of rows. From ten files on, cells of whole files are
    compared with these by the rule of `distmom.mean`, on each candidate's losses (of pairs: on
    the columns); where they tell another story the status of the candidate also is ``files disagree``, and
    `block_by` "file" is the remedy.

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
    """
    started = time.perf_counter()
    options = TournamentOptions(
        loss=loss,
        loss_parameter=loss_parameter,
        distance=distance,
        beta_r=beta_r,
        n_blocks=n_blocks,
        contamination=contamination,
        chunk_rows=chunk_rows,
        block_by=block_by,  # type: ignore[arg-type]
        missing=missing,
        on_bad_file=on_bad_file,
        confidence_level=confidence_level,
        scheme=scheme,
        block_size=block_size,
        pairs=pairs,
        n_pairs=n_pairs,
        pair_budget=pair_budget,  # type: ignore[arg-type]
    )
    check_count("batch_rows", batch_rows)
    checkpoint = open_checkpoint(state, KIND, memory_limit)
    seed, shown = resolve_seed(rng) if checkpoint is None else checkpoint.seed(rng)
    source, read, field = _open(
        data, candidates, target, features, where, options, batch_rows, storage_options
    )
    keeper = RoundKeeper(checkpoint)
    keeper.begin(data, source, fingerprint(read, options, field.described(), seed, shown))
    place = place_of(source.in_memory, client, workers, scheduler, threads)
    load = load_kernels if worth_compiling(source.files, column_share(source, read)) else None
    with connect(*place, memory_limit, load=load, scratch=scratch) as executor:
        plan = plan_tournament(source, read, field, options, seed, executor, progress)
        found = plan.run(executor, progress, keeper)
        n_threads = executor.threads
    data_told = data_facts(source.files, found.skipped, source) | keeper.facts()
    run_told = run_facts(time.perf_counter() - started, shown, n_threads)
    names = tuple(c.name for c in field.candidates)
    return tournament_result(names, options, plan.outlying, found, data_told, run_told)


def _open(
    data: Any,
    candidates: Any,
    target: Any,
    features: Names,
    where: Any,
    options: TournamentOptions,
    batch_rows: int,
    storage_options: Mapping[str, object] | None,
) -> tuple[Source, ReadOptions, Field]:
    """The source, all columns of all candidates, and the candidates."""
    source = open_source(data, storage_options)
    names = source.schema().names
    if options.pairwise:
        field = find_pair_candidates(candidates, target, features, names, options)
    else:
        field = find_candidates(candidates, target, features, names, options.loss)
    units = unit_columns(options.block_by, field.columns)
    read = ReadOptions(
        field.columns,
        (),
        as_filter(where, source),
        options.missing,  # type: ignore[arg-type]
        batch_rows,
        None,
        units,
    )
    return source, read, field


def explain_tournament(
    data: Any, candidates: Any, target: str | None = None, **options: Any
) -> dict[str, Any]:
    """The plan of `distmom.tournament` for the same arguments: files, bytes, units, memory, blocks.

    Footers are read as a run would, no rows; no worker is started. Losses of pairs are told as if all rows of
    the files counted.
    """
    wanted = arguments_of(tournament, data, candidates, target, **options)
    chosen = TournamentOptions(**{f.name: wanted[f.name] for f in fields(TournamentOptions)})
    check_count("batch_rows", wanted["batch_rows"])
    seed, shown = resolve_seed(wanted["rng"])
    source, read, field = _open(
        *(data, candidates, target, wanted["features"], wanted["where"], chosen),
        *(wanted["batch_rows"], wanted["storage_options"]),
    )
    with imagined_place(wanted, in_memory=source.in_memory) as executor:
        plan = plan_tournament(source, read, field, chosen, seed, executor, None)
        told = plan.describe(executor)
    return told | {"seed": shown, "skipped": [s._asdict() for s in plan.skipped]}
