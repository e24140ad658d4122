"""What a robust mean would do, told without doing it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from distmom.estimators.arguments import arguments_of
from distmom.estimators.mean.blocks import needs_passing_rows
from distmom.estimators.mean.checkpoint import open_keeper
from distmom.estimators.mean.mean import mean
from distmom.estimators.mean.plan import plan_mean
from distmom.estimators.options import MeanOptions, check_count
from distmom.estimators.place import imagined_place
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.census import column_share
from distmom.passes.opening import open_data


def explain_mean(data: Any, column: Any = None, **options: Any) -> dict[str, Any]:
    """The plan of `distmom.mean` for the same arguments: files, bytes, units, memory, blocks.

    The listing is read, one footer for the columns' types, and the footers of all files where blocks or units
    depend on the number of rows. No row is read (but the first ones of a column of times, and those up to the
    first vector of a list column whose type does not tell its length), and no worker process is started.

    Parameters
    ----------
    data, column, **options
        As for `distmom.mean`.

    Returns
    -------
    dict
        ``n_files``, ``n_bytes`` (of the columns to read), ``n_rows`` (None where it need not be known),
        ``n_units``, ``largest_unit_bytes``, ``merge_depth`` (merges one after the other, at most),
        ``bytes_to_scheduler`` (of all units, where a cluster runs them), ``scheme``, ``n_blocks``,
        ``block_size``, ``fine_blocks``,
        ``repeats`` (where there are several partitions), ``contamination`` (rows or units that the interval
        allows for), ``rows_drawn`` (by all samples together) and ``rows_drawn_per_row``,
        ``projected_memory_per_process`` (in words), ``threads``, ``engine``, ``seed``, ``skipped`` (files
        whose footer is bad, under ``on_bad_file="skip"``), and ``filter``: a sentence where blocks depend on
        how many rows pass, which only a run can tell; with a state also ``n_files_to_read``.

    Raises
    ------
    ConfigError, DataError, NoAnswerError, ResourceError
        As `distmom.mean`, for what can be known beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> from distmom.estimators.mean.explain import explain_mean
    >>> plan = explain_mean(np.zeros(1000), n_blocks=5)
    >>> plan["n_rows"], plan["n_blocks"]
    (1000, 5)
    """
    wanted = arguments_of(mean, data, column, **options)
    chosen = MeanOptions(**{f.name: wanted[f.name] for f in fields(MeanOptions)})
    check_count("batch_rows", wanted["batch_rows"])
    keeper = open_keeper(wanted["state"], wanted["on_change"], wanted["memory_limit"])
    seed, shown = resolve_seed(wanted["rng"]) if keeper is None else keeper.seed(wanted["rng"])
    by, where, missing, batch_rows = (wanted[name] for name in ("by", "where", "missing", "batch_rows"))
    source, read = open_data(
        data,
        column,
        by,
        where,
        missing,
        batch_rows,
        chosen.block_by,
        joint=bool(chosen.joint),
        weights=chosen.weights,
        storage_options=wanted["storage_options"],
    )
    source.reader(read)  # names and the condition are checked with the filter still in place
    ledger = None
    if keeper is not None:
        ledger, read = keeper.begin(data, source, read, chosen, seed, shown)
    filter_counts = needs_passing_rows(chosen) and read.where is not None
    counted = replace(read, where=None) if filter_counts else read
    with imagined_place(wanted, in_memory=source.in_memory) as executor:
        share = column_share(source, counted)
        plan = plan_mean(source, counted, chosen, seed, executor, None, share, ledger)
        told = plan.describe(executor)
    if keeper is not None:
        keeper.check(plan)
        told["n_files_to_read"] = len(keeper.ledger.unread())
    told["seed"] = shown
    told["skipped"] = [s._asdict() for s in plan.skipped]
    told["filter"] = (
        "the rows that pass the filter are counted when it runs; the numbers here are those without it"
        if filter_counts
        else None
    )
    return told
