"""Profiles of lakes, comparisons of samples, and differences of variants."""

from __future__ import annotations

from typing import Any

import distmom as dm
from tests.contract.cases_mean import DAMAGED, SEED, Case, lakes_of
from tests.contract.ways import Way

CASES: dict[str, Case] = {}


def described(lake: str, *arguments: Any, **options: Any) -> Case:
    return lambda way: way.run(dm.describe, way.lakes[lake], *arguments, rng=SEED, **options)


SOME = ["x", "y", "n", "time", "took", "key"]
for _lake in ("clean", *DAMAGED):
    CASES[f"describe/some columns/{_lake}"] = described(_lake, SOME)
CASES |= {
    "describe/all columns/second": described("second"),
    "describe/units/bad file": described("bad file", ["x", "y"], by="unit"),
    "describe/filter, many fine blocks/scattered": described("scattered", "y", where="u > 0.2", fine="many"),
    "describe/a bad file is skipped/spoilt": described(
        "spoilt", ["y", "z"], on_bad_file="skip", missing="null"
    ),
}

DRAWN: dict[str, Any] = {"n_permutations": 99, "test_rows": 400, "rng": SEED}
COMPARED: dict[str, dict[str, Any]] = {
    "all": {},
    "mean": {"statistics": "mean"},
    "auc": {"statistics": "auc", "n_blocks": 9},
    "energy": {"statistics": "energy"},
    "discrepancy": {"statistics": "mmd", "column": "y"},
    "discrepancy by laplace": {"statistics": dm.kernels.mmd(1.0, "laplace"), "column": "y"},
    "two columns": {"column": ["x", "y"], "statistics": ("mean", "auc")},
    "few test rows": {"column": ["x", "y"], "test_rows": 150},
    "units": {"block_by": "unit", "column": "y", "statistics": ("mean", "auc")},
    "files": {"block_by": "file", "column": "y", "statistics": "mean"},
    "filter": {"where": "u > 0.5", "statistics": ("mean", "energy")},
    "exact interval": {"interval": "cantelli", "confidence_level": 0.9, "statistics": "mean"},
}


def compared(lakes: tuple[str, ...], options: dict[str, Any]) -> Case:
    given = {"column": "x", **DRAWN, **options}

    def case(way: Way) -> Any:
        both = [way.lakes[lake] for lake in lakes]
        return way.run(dm.compare, both if len(both) > 1 else both[0], **given)

    return case


for _name, _options in COMPARED.items():
    CASES[f"compare/{_name}/clean"] = compared(("clean", "second"), _options)
    if len(lakes_of(_name)) > 1:
        CASES[f"compare/{_name}/scattered"] = compared(("second", "scattered"), _options)
CASES |= {
    "compare/values of a column/clean": compared(("clean",), {"by": "label", "column": ["y", "q0"]}),
    "compare/two of four values/bad file": compared(("bad file",), {"by": "key", "samples": ("a", "c")}),
    "compare/two conditions/clean": compared(("clean",), {"where": ["u < 0.3", "u > 0.4"], "column": "y"}),
    "compare/number as text/clean": compared(
        ("clean",), {"by": "group", "samples": ("0", "2"), "column": "y"}
    ),
}

VARIED: dict[str, dict[str, Any]] = {
    "rows": {},
    "units": {"unit": "unit"},
    "units of two columns": {"unit": ["key", "day"]},
    "files": {"unit": "file"},
    "ratio": {"unit": "unit", "denominator": "size"},
    "ratio of rows": {"denominator": "size", "control": "old"},
    "control": {"unit": "unit", "control": "old"},
    "filter": {"unit": "unit", "where": "u > 0.2"},
    "two variants": {"where": "arm != 'newer'", "unit": "unit", "confidence_level": 0.95},
    "exact": {"unit": "unit", "interval": "cantelli"},
    "no interval": {"interval": "none"},
    "groups of numbers": {"by": "group", "unit": "unit", "control": 1},
    "labels": {"by": "label", "unit": "day"},
}


def varied(lake: str, options: dict[str, Any]) -> Case:
    given = {"by": "arm", "rng": SEED, "confidence_level": 0.99, **options}
    return lambda way: way.run(dm.difference, way.lakes[lake], "y", **given)


for _name, _options in VARIED.items():
    for _lake in lakes_of(_name, always=True):
        CASES[f"difference/{_name}/{_lake}"] = varied(_lake, _options)
