"""Outlying rows in grouped means: the cuts of the column apply to each group that loses few rows by them.

A code for "missing" is the same in all groups, so a sample of the column shows it, whatever the number of
groups. A rare group in another currency is beyond the cuts as a whole, and is kept. A group with many rows in
the sample also has cuts of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.estimators.mean.counts import PerGroup, n_effective, n_used_of
from distmom.estimators.mean.far_rows import Cuts
from distmom.estimators.mean.partition import errors_allowed, partition_fields, screened_out, stands
from distmom.estimators.mean.rule.answers import answer_columns, row_and_cell_blocks
from distmom.inference.share.gaps import FEWEST, MOST, NEAR, Apart, rows_apart
from distmom.inference.share.look import Look, near_apart
from distmom.inference.share.ranks import share_interval
from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.blocks.small_files import file_moments
from distmom.numerics.ranks.order import run_starts
from distmom.numerics.samples.pool import RowPool
from distmom.numerics.samples.sample import RowSample
from distmom.reductions.layouts import RandomLayout
from distmom.reductions.state import Key, MeanState, aligned
from distmom.report.far_rows import Action, FarRows
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan

HALF = 0.5

OWN = 512
"""A group with this many rows in the sample is examined by itself."""


@dataclass(frozen=True)
class GroupsLook:
    """The sampled rows of a column, from all groups, and the rows among them that stand apart.

    Attributes
    ----------
    look : Look
        The look at the column, whatever the groups.
    n_groups : int
    pool : RowPool
        The rows of these groups, with the numbers of their groups, in the order of the rows' keys.
    """

    look: Look
    n_groups: int
    pool: RowPool

    @cached_property
    def codes(self) -> Ints:
        """Group codes of the rows."""
        return np.zeros(0, np.int64) if self.pool.codes is None else self.pool.codes

    @cached_property
    def n_sampled(self) -> Ints:
        """Sampled rows of each group."""
        return np.bincount(self.codes, minlength=self.n_groups)

    @cached_property
    def apart(self) -> tuple[Apart, dict[int, Apart]]:
        """What is screened out: by the column's cuts, and by some groups' own cuts in their rows."""
        return self.look.apart, self._own(self.look.apart, rows_apart)

    @cached_property
    def near(self) -> tuple[Apart, dict[int, Apart]]:
        """What is reported if nothing is screened out: second groups of rows within a single group.

        Groups may differ by powers of ten.
        """
        column = rows_apart(self.look.ordered, NEAR, modes=True)
        return column, self._own(column, near_apart)

    def _own(self, all_rows: Apart, find: Any) -> dict[int, Apart]:
        """Cuts of the groups with many sampled rows, if they differ from those of the column."""
        many = np.flatnonzero(self.n_sampled >= OWN)
        if not many.size:
            return {}
        x = self.pool.values
        good = np.isfinite(x) & (self.n_sampled[self.codes] >= OWN)
        codes, values = self.codes[good], x[good]
        order = np.lexsort((values, codes))
        starts = run_starts(codes[order])
        found = {}
        for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            y = values[order[start:stop]]
            first = int(np.searchsorted(y, all_rows.lo, side="right"))
            last = int(np.searchsorted(y, all_rows.hi))
            spared = y.size - (last - first) > MOST * y.size
            own = find(y if spared else y[first:last])
            if own.n:
                both = (own.lo, own.hi) if spared else (max(own.lo, all_rows.lo), min(own.hi, all_rows.hi))
                found[int(codes[order[start]])] = replace(own, lo=both[0], hi=both[1])
        return found

    def ends(self, apart: tuple[Apart, dict[int, Apart]]) -> tuple[Floats, Floats]:
        """Lower and upper cut of each group; infinite if they would remove too much of it."""
        column, own = apart
        lows, highs = np.full(self.n_groups, column.lo), np.full(self.n_groups, column.hi)
        for g, one in own.items():
            lows[g], highs[g] = one.lo, one.hi
        return lows, highs

    def most(self, apart: tuple[Apart, dict[int, Apart]]) -> Floats:
        """The share of each group's rows that may be beyond its cuts: half for a second group of rows."""
        most = np.full(self.n_groups, MOST)
        most[[g for g, one in apart[1].items() if one.times is not None]] = HALF
        return most

    def cut(self, apart: tuple[Apart, dict[int, Apart]]) -> Bools:
        """Groups that have a cut."""
        return np.asarray(np.isfinite(self.ends(apart)).any(axis=0))

    def kept(self, apart: tuple[Apart, dict[int, Apart]]) -> Bools:
        """Sampled rows within the cuts of their group."""
        (lows, highs), x = self.ends(apart), self.pool.values
        return np.asarray((x > lows[self.codes]) & (x < highs[self.codes]))


def look_at_groups(looks: Sequence[Look], n_groups: int) -> list[GroupsLook]:
    """Looks at `n_groups` groups; the rows of the samples have the numbers of these groups."""
    return [GroupsLook(look, n_groups, look.pool) for look in looks]


def look_at_hashes(looks: Sequence[Look], hashes: Words) -> list[GroupsLook]:
    """Looks at the groups whose keys have these ascending hashes, which are the codes of sampled rows."""
    found = []
    for look in looks:
        pool = look.pool
        if pool.codes is not None:
            words = pool.codes.view(np.uint64)
            places = np.searchsorted(hashes, words)
            mine = np.flatnonzero(places < hashes.size)
            mine = mine[hashes[places[mine]] == words[mine]]
            pool = replace(pool, codes=places).at(mine)
        found.append(GroupsLook(look, hashes.size, pool))
    return found


def cuts_of_groups(looks: Sequence[GroupsLook]) -> tuple[tuple[Cuts, ...], list[int]]:
    """Cuts for a second pass over the rows, and the numbers of the groups with cuts of their own."""
    own = sorted({g for look in looks for g in look.apart[1]})
    cuts = []
    for look in looks:
        lows, highs = look.ends(look.apart)
        low, high = look.look.cut
        cuts.append(((*lows[own].tolist(), low), (*highs[own].tolist(), high)))
    return tuple(cuts), own


def settle_groups(
    plan: MeanPlan,
    look: GroupsLook,
    column: int,
    shared: PerGroup,
    first: PerGroup,
    state: MeanState,
    second: MeanState | None,
) -> dict[int, dict[str, Any]]:
    """The fields that change, for the groups whose results change because of outlying rows.

    Parameters
    ----------
    plan : MeanPlan
    look : GroupsLook
        The sampled rows of the column, from all groups.
    column : int
    shared, first : PerGroup
        Fields of the results from all rows: those that do not depend on the blocks, and the others.
    state : MeanState
        State of all rows.
    second : MeanState, optional
        State of the rows within the cuts, if all could be read again.
    """
    found: dict[int, dict[str, Any]] = {}
    settled = _Settled(plan, look, column, shared, first, state.keys, second)
    if any_cut(look.apart):
        found = settled.fields(look.kept(look.apart))
    if not any_cut(look.near):
        return found
    near = np.bincount(look.codes[~look.kept(look.near)], minlength=len(first))
    told = (near > 0) & (near <= look.most(look.near) * look.n_sampled) & look.cut(look.near)
    for g in np.flatnonzero(told).tolist():
        if g not in found and math.isfinite((own := first[g])["estimate"]):
            far = settled.told(g, "told", look.near, int(near[g]), None)
            found[g] = {"far_rows": far, "flags": (*own["flags"], Status.SHARE_FAR_OUT)}
    return found


def any_cut(apart: tuple[Apart, dict[int, Apart]]) -> bool:
    """Whether there is any cut."""
    return bool(apart[0].n or apart[1])


@dataclass(frozen=True)
class _Settled:
    """The answers from all rows next to those from the remaining rows."""

    plan: MeanPlan
    look: GroupsLook
    column: int
    shared: PerGroup
    first: PerGroup
    keys: tuple[Key, ...]
    second: MeanState | None

    @property
    def complete(self) -> bool:
        """Whether the sample contains all rows."""
        return bool(np.isinf(self.look.pool.below))

    def fields(self, every: Bools) -> dict[int, dict[str, Any]]:
        """The fields that change, for the groups with some, but not too many, rows beyond the cuts."""
        if self.second is None:
            lost = np.bincount(self.look.codes[~every], minlength=len(self.first))
            of = self.look.n_sampled
        else:
            state = aligned(self.second, self.keys)
            moments = state.moments.at((self.column, slice(None), slice(self.plan.blocks.layout.n_blocks)))
            of = n_used_of(self.shared)
            lost = of - moments.count.sum(axis=1) // self.plan.blocks.layout.repeats
        some = (lost > 0) & (lost <= MOST * of) & self.look.cut(self.look.apart)
        if self.second is None and not self.complete:
            some &= of - lost >= FEWEST
        finite = [g for g in np.flatnonzero(some).tolist() if math.isfinite(self.first[g]["estimate"])]
        groups = np.array(finite, np.int64)
        if not groups.size:
            return {}
        if self.second is None:
            plan, state = _of_sample(self.plan, self.look.pool, every, groups)
            columns = slice(0, 1)
        else:
            columns = slice(self.column, self.column + 1)
            plan, state = self.plan, state.some_groups(groups)
        return self._settle(plan, state, columns, groups.tolist(), lost[groups].tolist(), of[groups].tolist())

    def _settle(
        self,
        plan: MeanPlan,
        state: MeanState,
        columns: slice,
        groups: list[int],
        lost: list[int],
        of: list[int],
    ) -> dict[int, dict[str, Any]]:
        kept = [n - out for n, out in zip(of, lost, strict=True)]
        within = [self.shared[g] | {"n_used": n} for g, n in zip(groups, kept, strict=True)]
        again = list(partition_fields(plan, state, columns, within, answer_columns(plan, state, columns)))
        rows, _, _ = row_and_cell_blocks(plan, state.moments.at(columns.start))
        found: dict[int, dict[str, Any]] = {}
        for i, (g, other) in enumerate(zip(groups, again, strict=True)):
            own = self.first[g]
            variances = rows.at(i).row_variance
            spread = float(np.nanmedian(variances)) if np.isfinite(variances).any() else math.nan
            allowed = errors_allowed(own["flags"]) * math.sqrt(spread / kept[i])
            agree = abs(own["estimate"] - other["estimate"]) <= allowed
            moved = not stands(own["flags"], agree=agree)
            exact = lost[i] if self.second is not None or self.complete else None
            far = self.told(g, "screened out" if moved else "borne", self.look.apart, lost[i], exact)
            told: dict[str, Any] = {"far_rows": far}
            if moved:
                told |= screened_out(own, other, of_sample=self.second is None)
                told |= {"n_used": kept[i], "plain_estimate": own["plain_estimate"]}
                if plan.options.weights is not None:
                    told["n_effective"] = n_effective(plan, state, columns.start, i)
            found[g] = told
        return found

    def told(
        self, g: int, action: Action, apart: tuple[Apart, dict[int, Apart]], lost: int, n_rows: int | None
    ) -> FarRows:
        """Report of what stands apart: rows of the group; values of the column or of its own cuts."""
        look, own, level = self.look, apart[1].get(g, apart[0]), self.plan.options.confidence_level
        m, n_used = int(look.n_sampled[g]), self.shared[g]["n_used"]
        if n_rows is None and self.complete:
            n_rows = lost
        share = lost / m if n_rows is None else n_rows / n_used
        of = m if g in apart[1] else look.look.ordered.size
        return FarRows(
            action=action,
            n_rows=n_rows,
            share=share,
            share_interval=share_interval(lost, m, level) if n_rows is None else (share, share),
            estimate_with=self.first[g]["estimate"],
            of_sample=action == "screened out" and self.second is None and not self.complete,
            **(look.look.facts(own, of) | {"n_sampled": m}),
        )


def _of_sample(plan: MeanPlan, pool: RowPool, kept: Bools, groups: Ints) -> tuple[MeanPlan, MeanState]:
    """The kept rows of some groups of the sample in blocks, like the state of a pass over them alone."""
    assert pool.codes is not None
    place = np.full(int(pool.codes.max()) + 1, -1)
    place[groups] = np.arange(groups.size)
    mine = np.flatnonzero(kept & (place[pool.codes] >= 0))
    codes = place[pool.codes[mine]]
    mine, codes = mine[order := np.argsort(codes, kind="stable")], codes[order]
    n = np.bincount(codes, minlength=groups.size)
    rank = np.arange(codes.size) - (np.cumsum(n) - n)[codes]
    n_fine, size = plan.blocks.n_fine, plan.blocks.sample_size
    x, weights = pool.values[mine], None if pool.weights is None else pool.weights[mine]
    labels = codes * n_fine + rank * n_fine // n[codes]
    moments = file_moments(x, labels, n_fine * groups.size, weights)
    sample, few = RowSample.empty(groups.size, size), rank < size
    sample.keys[codes[few], rank[few]], sample.values[codes[few], rank[few]] = pool.keys[mine][few], x[few]
    state = MeanState(
        tuple((g,) for g in range(groups.size)),
        n,
        np.zeros((1 + (pool.weights is not None), groups.size, 3), np.int64),
        moments.each(lambda a: a.reshape(1, groups.size, n_fine)),
        (sample,),
    )
    blocks = replace(plan.blocks, layout=RandomLayout(0, n_fine), n_cells=0, hears_files=False)
    return replace(plan, blocks=blocks), state
