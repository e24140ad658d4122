"""What a robust U-statistic would do and cost, told without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.cluster.memory import in_words as bytes_in_words
from distmom.estimators.arguments import arguments_of
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.options import MeanOptions, check_count
from distmom.estimators.place import imagined_place
from distmom.estimators.ustat.comoments import from_comoments
from distmom.estimators.ustat.cost import affordable, in_words, seconds_for, tuples_to_take
from distmom.estimators.ustat.options import UStatOptions, ustat_options
from distmom.estimators.ustat.run import check_columns, first_plan
from distmom.estimators.ustat.sampled import planned_samples
from distmom.estimators.ustat.sampled_several import planned_draws
from distmom.estimators.ustat.several import numbers_of_all, sample_data
from distmom.estimators.ustat.ustatistic import ustatistic
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.cell_map import CellMap, map_blocks
from distmom.passes.census import count_rows
from distmom.passes.opening import open_data
from distmom.passes.ranges import Piece
from distmom.passes.regrouping import planned_regrouping

if TYPE_CHECKING:
    from distmom.cluster import Executor
    from distmom.lake import ReadOptions, Source

OPTIONS = ("kernel", "statistic", "pairs", "n_pairs", "pair_budget", "project")


def explain_ustatistic(data: Any, column: Any = None, **options: Any) -> dict[str, Any]:
    """The plan of `distmom.ustatistic` for the same arguments: blocks, tuples, passes, memory, time.

    The listing and all footers are read, no row is, and no worker process is started. Nulls, filters and
    groups are not known before a run; the numbers are those of all rows in one group.

    Parameters
    ----------
    data, column, **options
        As for `distmom.ustatistic`.

    Returns
    -------
    dict
        The first entries are those of `distmom.explain_mean`; ``kernel``, ``statistic``, ``pairs``;
        ``tuples_one_by_one`` (tuples of rows that a kernel without a fast form, or any kernel of drawn or
        disjoint pairs, is evaluated on, else 0),
        ``seconds_one_by_one`` (roughly, in words), ``pair_budget``, ``affordable`` (what to ask for instead
        where these are more, else None); ``passes`` (over the lake: one that counts, and one for each range
        of blocks, or one that sorts rows on disk, or those in which rows of samples are gathered);
        ``sorted_on_disk`` (how many bytes and where, or why not although it would be faster, else None);
        ``n_pairs`` of each sample of pairs;
        ``projected_memory_per_process``, ``seed``, ``skipped``.

    Raises
    ------
    ConfigError, DataError, NoAnswerError, ResourceError
        As `distmom.ustatistic`, for what can be known beforehand; not for too many tuples.

    Examples
    --------
    >>> import numpy as np
    >>> from distmom.estimators.ustat.explain import explain_ustatistic
    >>> plan = explain_ustatistic(np.zeros((1000, 2)), kernel="distance", n_blocks=5)
    >>> plan["tuples_one_by_one"]
    99500
    """
    wanted = arguments_of(ustatistic, data, column, **options)
    of_rows = {f.name: wanted[f.name] for f in fields(MeanOptions) if f.name in wanted}
    chosen = ustat_options(**{name: wanted[name] for name in OPTIONS}, **of_rows)
    check_count("batch_rows", wanted["batch_rows"])
    seed, shown = resolve_seed(wanted["rng"])
    by, where, missing, batch_rows = (wanted[name] for name in ("by", "where", "missing", "batch_rows"))
    joint = chosen.joint_rows
    several = len(chosen.kernel.degrees) > 1
    opened = []
    for one in sample_data(data, chosen.kernel) if several else (data,):
        how: Any = {
            "joint": joint,
            "weights": wanted["weights"],
            "storage_options": wanted["storage_options"],
        }
        source, read = open_data(one, column, by, where, missing, batch_rows, chosen.rows.block_by, **how)
        check_columns(source.reader(read), chosen)
        opened.append((source, replace(read, where=None)))
    in_memory = any(source.in_memory for source, _ in opened)
    with imagined_place(wanted, in_memory=in_memory) as executor:
        if several and not chosen.sampled:
            chosen = numbers_of_all(opened, chosen, executor, None)
        samples = [
            (source, first_plan(source, read, chosen, seed, executor, None)) for source, read in opened
        ]
        told = _first([plan for _, plan in samples], executor)
        if chosen.sampled:
            told |= _sampled(opened, samples[0][1], chosen, seed, executor)
        else:
            told |= _second(samples, chosen, executor)
    return {**told, "seed": shown, "skipped": [s._asdict() for _, plan in samples for s in plan.skipped]}


ADDED = ("n_files", "n_bytes", "n_units")


def _first(plans: list[MeanPlan], executor: Executor) -> dict[str, Any]:
    """The first passes of all samples."""
    told = [plan.describe(executor) for plan in plans]
    return {**told[0], **{name: sum(one[name] for one in told) for name in ADDED}}


def _cells(source: Source, plan: MeanPlan, options: UStatOptions, executor: Executor) -> CellMap:
    """The blocks of a sample if all its rows were complete and in one group."""
    n = int(np.maximum(count_rows(source, executor, options.rows.on_bad_file).rows, 0).sum())
    layout = plan.blocks.layout
    k = plan.blocks.n_blocks or layout.n_blocks // layout.repeats or plan.blocks.n_cells
    count = np.full((1, k), n // k, np.int64)
    count[0, : n % k] += 1
    return map_blocks(count, np.array([k]), np.zeros(1, np.bool_))


def _second(
    samples: list[tuple[Source, MeanPlan]], options: UStatOptions, executor: Executor
) -> dict[str, Any]:
    """Blocks, tuples and passes if all rows were complete and in one group."""
    kernel = options.kernel
    cells = [_cells(source, plan, options, executor) for source, plan in samples]
    plan = samples[0][1]
    width = len(plan.reduction.columns)
    n_columns, lines = (width, 1) if options.joint_rows else (1, width)
    blocks = list(zip(*(one.sizes.tolist() for one in cells), strict=True))
    complete = options.pairs == "complete"
    lines *= options.rows.repeats
    n_tuples = lines * (
        tuples_to_take(kernel, n_columns, blocks, weighted=options.weighted)
        if complete
        else sum(min(n // d for n, d in zip(sizes, kernel.degrees, strict=True)) for sizes in blocks)
    )
    n_passes, needed, spilled = 1, plan.unit_memory, None
    if not (complete and from_comoments(plan, options)):
        sizes = np.sum([one.sizes for one in cells], axis=0)
        names = plan.reader.options.value_names
        each = [names] if options.joint_rows else [(name, *names[width:]) for name in names[:width]]
        pieces = [Piece(sizes, mine, plan.reader.options.batch_rows) for mine in each]
        on_disk = not any(source.in_memory for source, _ in samples)
        regrouping = planned_regrouping(pieces * options.rows.repeats, executor, on_disk=on_disk)
        n_passes, needed, spilled = 1 + regrouping.passes, regrouping.needed, regrouping.note
    seconds = in_words(seconds_for(kernel, n_tuples, executor.threads)) if n_tuples else None
    return {
        "n_rows": int(sum(one.sizes.sum() for one in cells)),
        "kernel": kernel.name,
        "statistic": options.statistic,
        "pairs": options.pairs,
        "tuples_one_by_one": n_tuples,
        "seconds_one_by_one": seconds,
        "pair_budget": options.pair_budget,
        "affordable": affordable(options, n_tuples, cells[0].sizes.size),
        "passes": n_passes,
        "sorted_on_disk": spilled,
        "projected_memory_per_process": bytes_in_words(needed * executor.threads_per_process),
    }


def _sampled(
    opened: Sequence[tuple[Source, ReadOptions]],
    plan: MeanPlan,
    options: UStatOptions,
    seed: int,
    executor: Executor,
) -> dict[str, Any]:
    """The samples, their tuples and the passes that gather their rows."""
    if len(opened) > 1:
        width = len(plan.reduction.columns)
        n_columns, lines = (width, 1) if options.joint_rows else (1, width)
        told = planned_draws(opened, options, n_columns, lines, plan.unit_memory, executor)
    else:
        told = planned_samples(*opened[0], plan, options, seed, executor)
    needed, n_tuples = told.pop("memory"), told["tuples_one_by_one"]
    return {
        **told,
        "kernel": options.kernel.name,
        "statistic": options.statistic,
        "pairs": options.pairs,
        "seconds_one_by_one": in_words(seconds_for(options.kernel, n_tuples, executor.threads))
        if n_tuples
        else None,
        "pair_budget": options.pair_budget,
        "affordable": affordable(options, n_tuples, told["n_blocks"])
        if options.pairs == "complete"
        else None,
        "projected_memory_per_process": bytes_in_words(needed),
    }
