"""What a robust U-statistic would do and cost, told without doing it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from distmom.estimators.arguments import arguments_of
from distmom.estimators.options import MeanOptions, check_count
from distmom.estimators.place import imagined_place
from distmom.estimators.ustat.options import ustat_options
from distmom.estimators.ustat.plan import UStatPlan
from distmom.estimators.ustat.samples import sample_data
from distmom.estimators.ustat.ustatistic import ustatistic
from distmom.numerics.random.philox import resolve_seed
from distmom.passes.opening import open_data

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
    how: Any = {name: wanted[name] for name in ("weights", "storage_options")}
    how["joint"] = chosen.joint_rows
    samples = [
        open_data(one, column, by, where, missing, batch_rows, chosen.rows.block_by, **how)
        for one in sample_data(data, chosen.kernel)
    ]
    with imagined_place(wanted, in_memory=any(source.in_memory for source, _ in samples)) as executor:
        return {**UStatPlan(samples, chosen, seed).describe(executor), "seed": shown}
