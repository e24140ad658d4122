"""Compare columns of two samples, such as this month and the last, as a batch job."""

from __future__ import annotations

import distmom as dm
from distmom.jobs.job import job_of
from distmom.jobs.keys import BLOCKS, DATA, PROMISE, SCRATCH, STATE, Key, only, refusing
from distmom.jobs.log_lines import log

DRIFT = {
    "columns": Key("texts", "column", required=True),
    "by": Key("text"),
    "samples": Key("texts"),
    "statistics": Key("texts"),
    "bandwidth": Key("number"),
    "permutations": Key("whole number", "n_permutations"),
    "n_permutations": Key("whole number"),
    "test_rows": Key("whole number"),
}
"""Keys of the table ``drift``."""

TABLES = {
    "drift": DRIFT,
    "blocks": only(BLOCKS, "design", "n", "columns"),
    "promise": only(PROMISE, "interval", "confidence", "confidence_level"),
}


def tell(results: dm.Results) -> None:
    """Log one line per drifted column."""
    for one in results.to_dict()["results"]:
        if one["drifted"]:
            what = {key: one[key] for key in ("column", "compared_by", "estimate", "p_holm")}
            number = "not finite" if one["estimate"] is None else f"{one['estimate']:.6g}"
            said = f"{one['column']} drifted: {one['compared_by']} {number}"
            log("drift", f"{said}, Holm-adjusted p {one['p_holm']:.3g}", level="warning", **what)


JOB = job_of(
    "drift",
    "compare",
    TABLES,
    data={**DATA, "where": Key("texts")},
    n_samples=lambda config: 1 if "by" in config.table("drift") else 2,
    run=refusing(SCRATCH, "a comparison reads all its rows again", *STATE),
    tell=tell,
)
