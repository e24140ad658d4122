"""What stands apart in several columns: the estimates from their samples are computed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distmom.estimators.mean.far_rows import Found
from distmom.estimators.mean.rule.sample import estimates_at_once
from distmom.inference.share.growth import PARTS


def fields_of_columns(found: Sequence[Found]) -> list[dict[str, Any]]:
    """The fields of each column that change; estimates from samples are computed together."""
    together: dict[tuple[int, bool], list[Found]] = {}
    for one in found:
        pool = one.looks[0].pool
        alone = len(one.looks) > 1 or one.units is not None or pool.weights is not None
        if not alone and one.unsure and one.kept.all():
            together.setdefault((pool.values.size, pool.files is None), []).append(one)
    for several in together.values():
        _take_together(several, 1)
        _take_together([one for one in several if one.doubted], PARTS)
    return [one.fields() for one in found]


def _take_together(found: Sequence[Found], n_parts: int) -> None:
    """Compute the estimates from `n_parts` parts of each column's sample, without parts with odd files."""
    if not found:
        return
    pools = [one.looks[0].pool for one in found]
    for one, estimates in zip(found, estimates_at_once(found[0].plan, pools, n_parts), strict=True):
        if estimates is not None and n_parts == 1:
            [vars(one)["of_all"]] = estimates
        elif estimates is not None:
            vars(one)["of_each_part"] = estimates
