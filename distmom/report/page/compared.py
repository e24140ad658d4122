"""Two samples compared: the estimate as for any U-statistic, and the result of the permutation test."""

from __future__ import annotations

from dataclasses import replace

from distmom.report.kinds.compare import CompareResult
from distmom.report.page.numbers import tell_ustat
from distmom.report.page.telling import Telling
from distmom.report.words import cell

WORDS = {
    "mean": "the mean of {column} in {second} minus its mean in {first}",
    "auc": "the probability of superiority of {second} over {first} in {column} (ties count half)",
    "energy": "the energy distance between {column} in {first} and in {second}",
    "mmd": "the squared mean discrepancy between {column} in {first} and in {second}",
}
DRIFTED = "The samples differ; the difference is unlikely to be due to chance. Find out what changed."
SAME_DISTRIBUTION = "No significant difference; this does not show that the distributions are equal."


def tell_compare(r: CompareResult) -> Telling:
    """One column compared by one statistic."""
    names = {"column": cell(r.column), "first": cell(r.first), "second": cell(r.second)}
    subject = WORDS[r.compared_by.split("-")[0]].format(**names)
    told = tell_ustat(r, subject)
    rows = " and ".join(f"{n:,}" for n in r.n_test_rows)
    units = " and ".join(f"{n:,}" for n in r.n_test_units)
    facts = [("p-value", _p(r.p_value)), ("Holm-adjusted p-value", _p(r.p_holm))]
    facts.append(("test", f"{r.n_permutations:,} permutations of {units} units of {rows} rows"))
    if r.p_value is None:
        verdict = f"There is no p-value: {r.p_reason}."
    else:
        verdict = DRIFTED if r.drifted else SAME_DISTRIBUTION
    exchangeable = (
        "The test holds for any distribution if what it permutes is independent: rows, or clusters where "
        "blocks keep these whole."
    )
    told = replace(told, answer=(*told.answer, verdict), facts=(*facts, *told.facts))
    told = replace(told, assumptions=(exchangeable, *told.assumptions))
    if not r.drifted:
        return told
    return replace(told, mood="look" if told.mood == "good" else told.mood, do=(verdict, *told.do))


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
