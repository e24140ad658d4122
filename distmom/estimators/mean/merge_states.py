"""Merging the saved states of several lakes, and answering from a state without the data."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

from distmom.cluster.memory import memory_bytes
from distmom.errors import ConfigError, DataError
from distmom.estimators.mean.blocks import fixed_by
from distmom.estimators.mean.fingerprint import with_times_of
from distmom.estimators.mean.manifest import Ledger, Left
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.state import KIND, SavedMean, check_alike
from distmom.estimators.mean.without_data import answer, plan_without_data
from distmom.report import MeanResult, Results, VectorResult
from distmom.state import Saved, State
from distmom.state.saved import with_states
from distmom.state.state import check_state_path, read_state


def merge_states(
    *states: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    interval: str | None = None,
    confidence_level: float | None = None,
) -> MeanResult | VectorResult | Results:
    """Merge saved states of `distmom.mean`, and answer from the merged one as `mean` would.

    Parts of a lake that are stored separately (by site, month or machine) are read where they are; only their
    states are merged. A single state gives its answer without the data.

    Parameters
    ----------
    *states : str or path
        Files saved by `distmom.mean` or this function, or with the bytes of a `MeanAccumulator`; all with the
        same columns, options and seed.
    output : str or path, optional
        Save the merged state there; it may be one of the inputs.
    interval : {"auto", "order", "cantelli", "closed-form", "none"}, optional
        Kind of interval; by default that of the states.
    confidence_level : float, optional
        In (0, 1); by default that of the states. It cannot be changed if it determined the blocks.

    Returns
    -------
    MeanResult or Results
        One result for one column without groups, else a sequence with one for each column and group.

    Raises
    ------
    ConfigError
        If no state is given, or they were made with different options, or there are several and their blocks
        depend on the number of rows.
    DataError
        If a state is damaged or unfinished, or two of them contain the same file.
    NoAnswerError
        If there are no rows, or no finite answer.
    ResourceError
        If the merged state cannot be written.

    Notes
    -----
    States are merged in the order of their folders and files, whatever the order of the arguments, so the
    same states give bit-for-bit identical results. Merging some of them first changes sums only by rounding,
    and does not change counts. Two files are the same if their full paths are equal. Times that count from
    different days are converted.

    Files in different folders may have the same names. So the assignment of rows and files to blocks depends
    on the folder, too, and a bad file is found among a hundred ``part-0.parquet``. Blocks therefore differ
    from those of one run over a parent folder; only the units of `UnitBlocks` stay together across folders.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import distmom as dm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for site in ("north", "south"):
    ...     (folder / site).mkdir()
    ...     pq.write_table(pa.table({"x": np.arange(100.0)}), folder / site / "a.parquet")
    ...     _ = dm.mean(folder / site, "x", rng=0, state=folder / f"{site}.state")
    >>> dm.merge_states(folder / "north.state", folder / "south.state").n_rows
    200
    """
    started = time.perf_counter()
    if not states:
        raise ConfigError("states: name the files of the states to merge")
    for path in states:
        if not isinstance(path, str | os.PathLike):
            raise ConfigError(f"states: each must be a path, not a {type(path).__name__}")
    if output is not None:
        check_state_path(output, "output")
    chosen = {"interval": interval, "confidence_level": confidence_level}
    return with_states(lambda: _merged(states, output, chosen, started))


def _merged(
    states: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None,
    given: dict[str, Any],
    started: float,
) -> MeanResult | VectorResult | Results:
    """The result from all rows of the states, saved to `output` if given."""
    parts = sorted(map(_finished, states), key=_order)
    first = parts[0]
    for other in parts[1:]:
        _check_pair(first, other)
    _check_overlap(parts)
    chosen = _answer_options(parts, given)
    made = replace(
        first.made,
        options=replace(first.made.options, **chosen),
        read=reduce(with_times_of, (part.made.read for part in parts)),
        roots=tuple(sorted({root for part in parts for root in part.made.roots})),
    )
    merged = Ledger(counted=first.ledger.counted)
    merged.base_files = [(made.roots.index(root), file) for part in parts for root, file in part.files]
    plan = plan_without_data(made, merged.base_files, merged.counted)
    for part in parts:
        _check_plan(part, plan)
        merged.base = plan.joined(merged.base, part.total(plan))
        merged.left.update(_left_out(part, named=len(plan.roots) > 0))
    if output is not None:
        kept = replace(made, options=first.made.options)
        State(output).save(SavedMean("output", kept, first.sums, merged).saved())
    skipped = [{"file": path, "reason": left.reason} for path, left in merged.left.items()]
    return answer(plan, made, merged.base, time.perf_counter() - started, skipped, sums="states")


def _finished(path: str | os.PathLike[str]) -> SavedMean:
    """A state to be merged. DataError if some of its files are not read yet."""
    state = State.of(path)
    saved = Saved.of(read_state(Path(state).expanduser(), memory_bytes() // 3), KIND, state.name)
    found = SavedMean.of(saved, state.name)
    if found.unread:
        raise DataError(
            f"{state.name} is incomplete: {len(found.unread):,} of its files have not been read (first: "
            f"{found.unread[0].path}); rerun the command that wrote it"
        )
    return found


def _order(part: SavedMean) -> Any:
    """Sort key of a state, whatever the order of the arguments."""
    return part.made.roots, sorted(file.path for _, file in part.files)[:1], len(part.files)


def _check_plan(part: SavedMean, plan: MeanPlan) -> None:
    """Raise ConfigError if this version would keep other sums for the same options."""
    if part.sums != plan.sums:
        raise ConfigError(
            f"{part.name} was made by another version of distmom, or the confidence level decides its "
            "blocks; recompute it, or leave confidence_level as it is"
        )
    part.check(plan)


def _left_out(part: SavedMean, *, named: bool) -> dict[str, Left]:
    """Skipped files, `named` with their folder if others may have files of the same name."""
    left, roots = part.ledger.left, part.made.roots
    if not named or len(roots) > 1:
        return left
    found = {f"{roots[0].rstrip('/')}/{path}": one for path, one in left.items()}
    return {full: Left(replace(one.file, path=full), one.reason) for full, one in found.items()}


def _check_pair(first: SavedMean, other: SavedMean) -> None:
    """Raise ConfigError if the sums of two states cannot be merged."""
    check_alike(first, other, f"in {other.name}", "only such can be merged as agree")
    fixed = fixed_by(first.made.options)
    if fixed is not None:
        raise ConfigError(
            f"{first.name}: {fixed} makes blocks that depend on the number of rows, which cannot be merged; "
            "use blocks of random rows that do not depend on it"
        )


def _check_overlap(parts: list[SavedMean]) -> None:
    """Raise DataError if two states contain the same file."""
    seen: dict[str, str] = {}
    twice: list[tuple[str, str, str]] = []
    for part in parts:
        for root, file in part.files:
            place = f"{root.rstrip('/')}/{file.path}"
            if place in seen:
                twice.append((place, seen[place], part.name))
            seen[place] = part.name
    if twice:
        place, one, other = twice[0]
        raise DataError(
            f"{one} and {other} both hold {place} ({len(twice):,} such file{'s' * (len(twice) > 1)}): its "
            "rows would count twice; merge states of different files"
        )


def _answer_options(parts: list[SavedMean], given: dict[str, Any]) -> dict[str, Any]:
    """Options of the answer: as given, else those shared by all states."""
    chosen = {name: value for name, value in given.items() if value is not None}
    first = parts[0]
    for name, other in product(given.keys() - chosen.keys(), parts[1:]):
        a, b = (getattr(part.made.options, name) for part in (first, other))
        if a != b:
            raise ConfigError(
                f"{name}: {first.name} was made with {a!r}, {other.name} with {b!r}; say which is wanted"
            )
    return chosen
