"""The rule for vectors, slowly: the twin of each column, then what the columns have to agree upon."""

from __future__ import annotations

import math

from rule_twin import (
    answer_level,
    constant,
    divisors,
    enough_rows,
    file_set,
    given_set,
    location,
    lower_median,
    mad,
    merge,
    non_finite,
    row_set,
)

from distmom.theory.vectors import vector_factor

DELTA = 0.01


def limiting(columns, samples):
    """The sample of the column whose most frequent value is most frequent.

    Constant samples count only if no other column varies, and not at all if all rows are constant: blocks of
    constants need no number of rows, as in the rule of one column.
    """

    def most(sample):
        return max((sample.count(x) for x in set(sample)), default=0)

    varying = [s for s in samples if most(s) < len(s)]
    return [] if all(map(constant, columns)) else max(varying or samples, key=most)


def together(found, n, ladder, from_all):
    """Verdict and blocks of the columns of one vector."""
    count = len(found[0]["far"])
    wrong = [f["contradicted"] for f in found]
    far = [any(f["far"][i] and f["contradicted"] for f in found) for i in range(count)]
    out = {"contradicted": any(wrong), "far": far}
    out["beyond"] = any(
        w and (4 * f["k_hat"] > count or 4 * sum(far) > count or not f["D_near"] <= f["h"][0])
        for f, w in zip(found, wrong, strict=True)
    )
    levels = found[0]["levels"]
    k = answer_level(levels, n)
    kept = count - sum(far) if any(wrong) else count
    if any(wrong) and kept < k:
        fitting = [level for level in ladder if level <= kept]
        k = fitting[-1] if fitting else kept - 1 + kept % 2
    best = min(((j * vector_factor(j, DELTA) ** 2, j) for j in levels if j <= kept), default=(0, None))[1]
    out["blocks"], out["ball"], out["share"], out["estimate"] = [], [], [], []
    for f, blocks in zip(found, from_all, strict=True):
        left = [b for b, outlying in zip(f["finest"], far, strict=True) if not (outlying and any(wrong))]
        source = left if any(wrong) else blocks
        out["blocks"].append(merge(source, k))
        centre = lower_median(b[1] for b in out["blocks"][-1])
        out["estimate"].append(location(left, centre, len(out["blocks"][-1]), f["se"])[0])
        out["ball"].append(None if best is None else merge(source, best))
        shares = [s for s, outlying in zip(f["share"], far, strict=True) if not (outlying and any(wrong))]
        out["share"].append(sum(shares))
    return out


def vector_rule(columns, samples, cells=None, k_given=None, source="rows"):
    """One vector: rows and cells of each column as lists of (count, mean, m2), at confidence 0.99."""
    c = len(columns)
    n = sum(b[0] for b in columns[0])
    sample = limiting(columns, samples)
    between, filled = source != "rows", sum(b[0] > 0 for b in columns[0])
    if k_given is None:
        ladder = divisors(len(columns[0]), 5)
        levels = [k for k in ladder if enough_rows(n, k, sample) and (not between or k <= filled)]
        if not levels:
            return {"plain": [merge(blocks, 1)[0][1] for blocks in columns]}
        found = [row_set(blocks, levels, ladder, n, levels[-1], columns=c) for blocks in columns]
        for f, blocks in zip(found, columns, strict=True):
            f["finest"] = merge(blocks, levels[-1])
            f["share"] = [1 / len(f["finest"])] * len(f["finest"])
        out = together(found, n, ladder, columns)
        finite = found[0]["answerable"]
    else:
        ladder = [k_given * d for d in divisors(len(columns[0]) // k_given, 1)]
        good = [k for k in ladder if k >= 5 and enough_rows(n, k, sample) and (not between or k <= filled)]
        levels = ([k_given] if n >= k_given else []) + [k for k in good if k > k_given]
        k_now = min(k_given, n)
        f = max([*levels, k_now])
        found = [given_set(blocks, levels, ladder, n, f, k_now, bool(good), c) for blocks in columns]
        out = {
            "contradicted": any(f["contradicted"] for f in found),
            "beyond": any(f["beyond"] for f in found),
        }
        out["estimate"] = [f["estimate"] for f in found]
        out |= {"blocks": [f["blocks"] for f in found], "ball": [f["blocks"] for f in found], "far": []}
        out["share"] = [1.0] * c
        finite = True
    out["se"] = [f["se"] for f in found]
    out["files_first"] = False
    finite = finite and non_finite(out["blocks"][0]) <= math.ceil(len(out["blocks"][0]) / 2) - 1
    out["status"] = set()
    if not finite:
        out["status"] = {"no finite answer"}
    elif out["contradicted"]:
        out["status"] = {"contaminated"} | ({"breakdown point exceeded"} if out["beyond"] else set())
    if cells is not None and source != "units" and k_given is None:
        out = _files(out, found, cells, n, sample, finite, c)
    if "no finite answer" in out["status"]:
        out["estimate"] = [math.nan] * c
    out["spread"] = []
    for se, share, ball in zip(out["se"], out["share"], out["ball"], strict=True):
        if ball is None:
            out["spread"].append(math.nan)
            continue
        sd = se / math.sqrt(share) * math.sqrt(len(ball)) if share else math.inf
        seen = [b[1] for b in ball if math.isfinite(b[1]) or k_given is None]
        out["spread"].append(max(sd, mad(seen)) if between and not out["files_first"] else sd)
    return out


def _files(out, found, cells, n, sample, finite, c):
    files = [file_set(column, n, sample, len(column), c) for column in cells]
    if files[0] is None:
        return out
    for f in files:
        f["finest"] = f["merged"]
        f["share"] = [b[0] / n for b in f["merged"]]
    both = together(files, n, files[0]["ladder"], [f["merged"] for f in files])
    aim = 9 if files[0]["count"] < 54 else 27
    common = [k for k in files[0]["levels"] if k <= aim and k in found[0]["levels"]]
    if not common:
        return out
    differ = False
    answered = non_finite(both["blocks"][0]) <= math.ceil(len(both["blocks"][0]) / 2) - 1
    for i in range(c):
        row, file = found[i], files[i]
        comparable = (row["se"] > 0 and math.isfinite(row["se"])) or (not finite)
        if not (file["testable"] and answered and comparable):
            continue
        h_files = file["h"][file["levels"].index(common[-1])]
        h_rows = row["h"][row["levels"].index(common[-1])]
        row_se = row["se"] if finite else math.inf
        tamed = h_rows * (file["se"] / row_se) if row_se > 4.0 * file["se"] else h_rows
        row_answer = out["estimate"][i] if finite else math.nan
        file_answer = both["estimate"][i]
        apart = not abs(row_answer - file_answer) <= tamed + h_files
        differ = differ or ((apart or not finite) and file["se"] < row_se)
    if not differ:
        return out
    both["status"] = {"files disagree"}
    if both["contradicted"]:
        both["status"] |= {"contaminated"} | ({"breakdown point exceeded"} if both["beyond"] else set())
    both["se"] = [f["se"] for f in files]
    both["files_first"] = True
    return both
