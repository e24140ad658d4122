"""The rule for the number of blocks, slowly: one group at a time, plain loops, nothing of the package.

A block is (count, mean, m2), or with weights (count, mean, m2 with the masses w^2, sum w, sum w^2, mean with
the masses w^2).
"""

from __future__ import annotations

import math
from fractions import Fraction

from scipy import stats

INF, NAN = math.inf, math.nan


def lower_median(values):
    values = sorted(v for v in values if not math.isnan(v))
    return values[math.ceil(len(values) / 2) - 1] if values else NAN


def middle(values):
    values = sorted(v for v in values if not math.isnan(v))
    if not values:
        return NAN
    a, b = values[(len(values) - 1) // 2], values[len(values) // 2]
    return a if a == b else a / 2 + b / 2


def mad(values):
    values = [v for v in values if not math.isnan(v)]
    if not values:
        return 0.0
    centre = middle(values)
    found = middle([INF if math.isinf(v) else abs(v - centre) for v in values])
    return 0.0 if math.isnan(found) else 1.4826 * found


def effective(block):
    """Effective rows."""
    if not block[0] or len(block) == 3:
        return block[0]
    return min(max(block[3] * (block[3] / block[4]), 1.0), block[0])


def row_variance(block):
    """Variance of an effective row; None where the block does not tell."""
    if block[0] < 2 or not math.isfinite(block[2]):
        return None
    if len(block) == 3:
        return block[2] / (block[0] - 1)
    n = effective(block)
    return (block[2] + block[4] * (block[5] - block[1]) ** 2) / (max(n, 2.0) - 1) * (n / block[4])


def efficiency(blocks):
    """Effective rows of the typical block, as a share of its rows."""
    return lower_median(effective(b) / b[0] for b in blocks if b[0])


def average_efficiency(blocks):
    """Effective rows of all blocks, as a share of their rows."""
    return sum(map(effective, blocks)) / sum(b[0] for b in blocks)


def sizes(blocks):
    """What is balanced when blocks are merged: rows, or sixteenths of effective ones if these are few."""
    if 2 * math.floor(sum(map(effective, blocks))) < sum(b[0] for b in blocks):
        return [round(16 * effective(b)) for b in blocks]
    return [b[0] for b in blocks]


def union(masses, means, squares):
    """Mean and second moment of several blocks together, for one kind of mass: the mean exactly."""
    exact = [Fraction(w) for w in masses]
    mean = float(sum(w * Fraction(a) for w, a in zip(exact, means, strict=True)) / sum(exact))
    return mean, math.fsum([*squares, *(w * (a - mean) ** 2 for w, a in zip(masses, means, strict=True))])


def join(blocks):
    """Moments of several blocks together: two passes."""
    n = sum(b[0] for b in blocks)
    if len(blocks[0]) == 6:
        weight, weight2 = math.fsum(b[3] for b in blocks), math.fsum(b[4] for b in blocks)
        if not all(math.isfinite(b[1]) for b in blocks):
            non_finite_mean = sum(b[1] for b in blocks if not math.isfinite(b[1]))
            return n, non_finite_mean, NAN, weight, weight2, non_finite_mean
        mean, _ = union([b[3] for b in blocks], [b[1] for b in blocks], [])
        mean2, m2 = union([b[4] for b in blocks], [b[5] for b in blocks], [b[2] for b in blocks])
        return n, mean, m2, weight, weight2, mean2
    if not all(math.isfinite(b[1]) for b in blocks):
        return n, sum(b[1] for b in blocks if not math.isfinite(b[1])), NAN
    first = blocks[0][1]
    mean = first + math.fsum(b[0] * (b[1] - first) for b in blocks) / n
    return n, mean, math.fsum([b[2] for b in blocks] + [b[0] * (b[1] - mean) * (b[1] - mean) for b in blocks])


def merge(blocks, k):
    """Level k: blocks with rows, in the order of their numbers."""
    size = sizes(blocks)
    n = sum(size)
    bags = {}
    before = 0
    for block, own in zip(blocks, size, strict=True):
        if block[0]:
            bags.setdefault(k * (2 * before + own) // (2 * n), []).append(block)
            before += own
    return [join(bags[number]) for number in sorted(bags)]


def divisors(n, least):
    return [d for d in range(1, n + 1, 2) if n % d == 0 and d >= least]


def factor(k, delta, o=0):
    m = math.ceil(k / 2)
    if k < 1 or m - o < 1:
        return INF
    p = stats.beta.ppf(delta, m - o, k - m + 1)
    sharp = delta <= 0.1 and k >= 2 and (m - o >= 2 or (k == 2 and o == 0))
    return math.sqrt(1 / p - 1) if sharp else math.sqrt(1 / p)


def non_finite(blocks):
    return sum(not math.isfinite(b[1]) for b in blocks)


def enough_rows(n, k, sample):
    """n/K >= max(8, 5/(1-q)) in integers."""
    v = len(sample)
    c = max((sample.count(x) for x in set(sample)), default=0)
    return n >= 8 * k and (n * (v - c) >= 5 * v * k if v else n >= 5 * k)


def answer_level(levels, n, least=9):
    enough = [k for k in levels if k >= min(63, max(9, math.sqrt(n) / 4))]
    return next((k for k in enough if k >= least), enough[0] if enough else levels[-1])


def ladder_test(medians, margins, levels):
    """K_hat: the first level whose interval meets those of all larger levels."""
    for i, k in enumerate(levels):
        low = max(medians[j] - margins[j] for j in range(i, len(levels)))
        high = min(medians[j] + margins[j] for j in range(i, len(levels)))
        if any(math.isnan(medians[j] - margins[j]) for j in range(i, len(levels))):
            continue
        if low <= high:
            return k
    return levels[0]


def rows_at(blocks, k):
    """Effective rows of the group, as the typical block of level k tells."""
    return math.floor(sum(b[0] for b in blocks) * efficiency(merge(blocks, k)))


def run_set(
    merge_from,
    finest,
    levels,
    whole_ladder,
    n,
    se,
    spread,
    share,
    typical,
    k_answer=None,
    columns=1,
    least=9,
    located=True,
):
    """Steps 2 to 5 on one set: returns a dict. `typical` is the efficiency of the finest blocks."""
    out = {"levels": levels, "medians": [], "h": [], "counts": [], "se": se, "efficiency": typical}
    out["inflation"] = []
    for k in levels:
        blocks = merge(merge_from, k)
        out["medians"].append(lower_median(b[1] for b in blocks))
        out["counts"].append(len(blocks))
        out["inflation"].append(math.sqrt(typical / efficiency(blocks)))
        h = se * math.sqrt(len(blocks)) * factor(len(blocks), 0.001 / len(levels) / columns)
        out["h"].append(h * out["inflation"][-1])
    f_count = len(finest)
    centre = lower_median(b[1] for b in finest)
    r = non_finite(finest)
    out["answerable"] = r <= math.ceil(f_count / 2) - 1
    out["testable"] = out["answerable"] and se > 0 and math.isfinite(se)
    out["n_non_finite_finest"] = r
    far, d, d_near = [False] * f_count, 0.0, 0.0
    t = max(8.0, math.sqrt(f_count) / 2)
    if out["testable"]:
        for i, b in enumerate(finest):
            away = b[1] - centre
            if not abs(away) <= t * spread[i]:
                far[i] = True
                d += away * share[i]
            elif abs(away) > 8 * spread[i]:
                d_near += away * share[i]
    out["far"], out["D"], out["D_near"] = far, abs(d), abs(d_near)
    out["k_hat"] = ladder_test(out["medians"], out["h"], levels) if levels else 0
    wrong = out["testable"] and bool(levels)
    if wrong:
        wrong = out["k_hat"] > levels[0] or not out["D"] <= out["h"][0] or r > 0
    out["contradicted"] = wrong
    out["beyond"] = wrong and (
        4 * out["k_hat"] > f_count or 4 * sum(far) > f_count or not out["D_near"] <= out["h"][0]
    )
    kept = [b for b, outlying in zip(finest, far, strict=True) if not (outlying and wrong)]
    out["kept"] = kept
    source = kept if wrong else merge_from
    k0 = k_answer if k_answer is not None else answer_level(levels, n, least)
    if wrong and len(kept) < k0:
        fitting = [k for k in whole_ladder if k <= len(kept)]
        k0 = fitting[-1] if fitting else len(kept) - 1 + len(kept) % 2
    out["source"] = source
    out["blocks"] = merge(source, k0)
    out["centre"] = lower_median(b[1] for b in out["blocks"])
    out["estimate"], out["around"] = out["centre"], None
    if located:
        out["estimate"], out["around"] = location(kept, out["centre"], len(out["blocks"]), se)
    out["finite"] = non_finite(out["blocks"]) <= math.ceil(len(out["blocks"]) / 2) - 1
    out["kept_share"] = sum(s for s, outlying in zip(share, far, strict=True) if not (outlying and wrong))
    return out


def cutoff(pulls, z):
    """sum min(p^2/T^2, 1) = z, by bisection; infinite where every T is too small."""
    big = max(map(abs, pulls))
    if big == 0.0 or z >= sum(p != 0.0 for p in pulls):
        return 0.0
    low, high = 0.0, big * math.sqrt(2 * len(pulls) / z)
    for _ in range(200):
        t = 0.5 * (low + high)
        if sum(min((p / t) ** 2, 1.0) for p in pulls) > z:
            low = t
        else:
            high = t
    return high


def location(kept, centre, k, se):
    """Huber's estimate, two steps from the median; and what the interval takes."""
    if k < 2 or non_finite(kept) or not math.isfinite(centre):
        return centre, None
    masses = [b[3] if len(b) == 6 else b[0] for b in kept]
    shares = [m / math.fsum(masses) for m in masses]
    many = 1 / math.fsum(s * s for s in shares)
    narrow = min(k, many / 1.25**2)
    few = min(5.0, many / 4.0, narrow)
    at = centre
    for _ in range(2):
        pulls = [s * (b[1] - at) for s, b in zip(shares, kept, strict=True)]
        far = sorted(map(abs, pulls), reverse=True)
        gaps = (
            j <= narrow and 2 * j <= len(far) and far[j - 1] > far[j] * (5 * j) ** (1 / j) and far[j] > 0
            for j in range(1, len(far))
        )
        cut = cutoff(pulls, few)
        if any(gaps):
            cut = min(cut, se / math.sqrt(narrow))
        pulls = [max(-cut, min(cut, p)) for p in pulls]
        at += math.fsum(pulls)
    whole = math.fsum(pulls)
    pulls = [p - s * whole for p, s in zip(pulls, shares, strict=True)]
    spread = math.sqrt(math.fsum(p * p for p in pulls))
    if spread == 0.0 or many <= 1.0:
        return at, None
    skewness = math.fsum((p / spread) ** 3 for p in pulls)
    return at, (spread * math.sqrt(many / (many - 1)), 0.7 * skewness, many - 1)


def around(order, found, delta):
    """Order statistics moved with the estimate, and at least Student's interval with Hall's correction."""
    if order is None:
        return None
    low, high = (end + found["estimate"] - found["centre"] for end in order[:2])
    if found["around"] is not None:
        se, g, freedom = found["around"]
        t = stats.t.ppf(1 - delta / 2, max(freedom, 1.0))
        ends = (t, -t)
        if abs(g) >= 1e-6:
            ends = [3 / g * (math.cbrt(1 + g * (u - g / 6)) - 1) for u in (t, -t)]
        low = min(low, found["estimate"] - se * max(t, ends[0]))
        high = max(high, found["estimate"] + se * max(t, -ends[1]))
    return low, high, *order[2:]


def row_scale(finest):
    within = [row_variance(b) / effective(b) for b in finest if row_variance(b) is not None]
    s = math.sqrt(lower_median(within)) if within else 0.0
    return max(s, mad([b[1] for b in finest]))


def row_set(fine, levels, whole_ladder, n, f, k_answer=None, columns=1, least=9, located=True):
    finest = merge(fine, f)
    s = row_scale(finest)
    count = len(finest)
    se = s * math.sqrt(1.0 / count)
    typical = efficiency(finest)
    n = math.floor(typical * n)
    scale = (se, [s] * count, [1 / count] * count, typical)
    return run_set(fine, finest, levels, whole_ladder, n, *scale, k_answer, columns, least, located)


def file_cells(cells, n, sample):
    """Merge small cells; returns (merged cells, for each cell the merged one or None)."""
    filled = [i for i, c in enumerate(cells) if c[0]]
    v = len(sample)
    c = max((sample.count(x) for x in set(sample)), default=0)
    n = math.floor(sum(map(effective, cells)))
    target = min(n // 8, n * (v - c) // (5 * v) if v else n // 5)
    if target >= len(filled):
        place = {i: number for number, i in enumerate(filled)}
        return [cells[i] for i in filled], place
    place, bags, before, size = {}, {}, 0, sizes(cells)
    for i in filled:
        number = target * (2 * before + size[i]) // (2 * sum(size))
        bags.setdefault(number, []).append(cells[i])
        place[i] = number
        before += size[i]
    order = {number: j for j, number in enumerate(sorted(bags))}
    return [join(bags[number]) for number in sorted(bags)], {i: order[place[i]] for i in filled}


def file_set(cells, n, sample, n_cells, columns=1, located=True):
    merged, place = file_cells(cells, n, sample)
    count = len(merged)
    if count < 10:
        return None
    centre = lower_median(b[1] for b in merged)
    # of a vector a cell is non-finite where another column is
    within = [row_variance(b) for b in merged if row_variance(b) is not None and math.isfinite(b[1])]
    rows = [effective(b) for b in merged]
    z = [(b[1] - centre) * math.sqrt(r) for b, r in zip(merged, rows, strict=True)]
    deviation = max(math.sqrt(lower_median(within)) if within else 0.0, mad(z))
    ladder = divisors(n_cells, 5)
    levels = [k for k in ladder if k <= count / 2 and enough_rows(rows_at(merged, k), k, sample)]
    if not levels:
        return None
    whole = sum(rows)
    se = deviation / math.sqrt(whole)
    scale = (se, [deviation / math.sqrt(r) for r in rows], [r / whole for r in rows], whole / n)
    out = run_set(merged, merged, levels, ladder, math.floor(whole), *scale, columns=columns, located=located)
    out["ladder"], out["merged"] = ladder, merged
    out["place"], out["count"] = place, count
    out["active"] = out["testable"] and out["finite"]
    return out


def order_interval(blocks, delta, o):
    k = len(blocks)
    rank = 0
    while rank + 1 <= k - o and 1 - 2 * stats.binom.cdf(rank, k - o, 0.5) >= (1 - delta) - 1e-12:
        rank += 1
    if rank == 0:
        return None, "few"
    values = sorted(b[1] for b in blocks if not math.isnan(b[1]))
    if rank > len(values) or not (math.isfinite(values[rank - 1]) and math.isfinite(values[-rank])):
        return None, "non-finite ends"
    return (values[rank - 1], values[-rank], 1 - 2 * stats.binom.cdf(rank - 1, k - o, 0.5), rank), ""


def cantelli_auto(found, delta, between):
    scores = [
        (k * factor(k, delta) ** 2 * more**2, k)
        for k, more in zip(found["levels"], found["inflation"], strict=True)
        if k <= len(found["kept"])
    ]
    if not scores:
        return None, "few"
    blocks = merge(found["source"], min(scores)[1])
    k = len(blocks)
    sd = found["se"] / math.sqrt(found["kept_share"]) * math.sqrt(k)
    centre = lower_median(b[1] for b in blocks)
    if not between:
        half = sd * math.sqrt(found["efficiency"] / efficiency(blocks)) * factor(k, delta)
        return (centre - half, centre + half, centre, k), ""
    sd *= math.sqrt(found["efficiency"] / average_efficiency(blocks))
    sd = max(sd, mad([b[1] for b in blocks]))
    return sized(found, blocks, sd, centre, delta, 0), ""


def cantelli_given(found, delta, between):
    blocks = found["blocks"]
    k, o = len(blocks), non_finite(blocks)
    m = math.ceil(k / 2)
    sd = found["se"] * math.sqrt(k) * math.sqrt(found["efficiency"] / average_efficiency(blocks))
    if between:
        sd = max(sd, mad([b[1] for b in blocks if math.isfinite(b[1])]))
    if m - o < 1:
        return None, "vacuous"
    return sized(found, blocks, sd, found["estimate"], delta, o), ""


def sized(found, blocks, sd, centre, delta, o):
    """The interval for blocks of these sizes."""
    k = len(blocks)
    rows = sorted(map(effective, blocks))
    average = sum(rows) / k
    if rows[-1] > 1.1 * rows[0]:  # checked against the package's scalar bound instead
        found["unequal"] = (rows, o)
        return ("unequal", sd, centre, k)
    half = sd * math.sqrt(average / rows[0]) * factor(k, delta, o)
    return (centre - half, centre + half, centre, k)


def constant(rows):
    """Whether all rows of some blocks have one value."""
    return len({b[1] for b in rows if b[0]}) == 1 and not any(b[2] for b in rows if b[0])


def rule(rows, sample, confidence, cells=None, k_given=None, source="rows"):
    """One group. rows, cells: lists of blocks; sample: list of used rows."""
    n = sum(b[0] for b in rows)
    out = {"n": n, "status": set(), "files_first": False, "suspects": set(), "order": None, "cantelli": None}
    if n == 0:
        out["status"].add("no rows")
        return out
    out["plain"] = merge(rows, 1)[0][1]
    out["between"] = source != "rows"
    out["constant"] = constant(rows) and math.isfinite(out["plain"])
    told = [] if out["constant"] else sample
    if k_given is None:
        least = math.ceil(1.0 + math.log2(1.0 / (1.0 - confidence)) - 1e-9)
        found, levels = automatic(out, rows, told, least)
        if found is None:
            _few(out, sample)
            return out
    else:
        found, levels = given(out, rows, told, k_given)
    finite, wrong = found["sure"], found["contradicted"]
    out["row"] = found
    out["k"] = len(found["blocks"])
    out["estimate"] = out["row_estimate"] = found["estimate"] if finite else NAN
    out["n_screened_out"] = sum(found["far"]) if wrong and k_given is None else 0
    out["n_non_finite"] = (
        found["n_non_finite_finest"] if wrong and k_given is None else non_finite(found["blocks"])
    )
    if not finite:
        out["status"].add("no finite answer")
    elif wrong:
        out["status"].add("contaminated")
        if found["beyond"]:
            out["status"].add("breakdown point exceeded")
    if finite and k_given is not None and n < k_given and not out["constant"]:  # blocks of one row
        out["status"].add("dominated by few rows")
    shown = found
    if cells is not None and source != "units" and levels and (k_given is None or n >= k_given):
        shown = _files(out, found, finite, cells, n, told, k_given)
    _intervals(out, found, shown, 1 - confidence, k_given)
    out["shown"] = shown
    _few(out, sample)
    return out


def automatic(out, rows, sample, least):
    """The steps where the number of blocks is free; no blocks where they are too few."""
    filled = sum(b[0] > 0 for b in rows)
    ladder = divisors(len(rows), 5)
    levels = [k for k in ladder if enough_rows(rows_at(rows, k), k, sample)]
    levels = [k for k in levels if not out["between"] or k <= filled]
    if levels:
        found = row_set(rows, levels, ladder, out["n"], levels[-1], least=least)
        found["sure"] = found["finite"] and found["answerable"]
        return found, levels
    finite = math.isfinite(out["plain"])
    out["status"].add("sample mean, no guarantee")
    out["estimate"] = out["plain"] if finite else NAN
    if not finite:
        out["status"].add("no finite answer")
    out["k"] = 1
    out["why"] = ("plain",) * 2 if finite else ("no answer",) * 2
    return None, levels


def given(out, rows, sample, k_given):
    """The steps where the number of blocks is given."""
    n, filled = out["n"], sum(b[0] > 0 for b in rows)
    ladder = [k_given * d for d in divisors(len(rows) // k_given, 1)]
    k_now = min(k_given, n)
    good = [k for k in ladder if k >= 5 and enough_rows(rows_at(rows, k), k, sample)]
    good = [k for k in good if not out["between"] or k <= filled]
    levels = ([k_given] if n >= k_given else []) + [k for k in good if k > k_given]
    found = given_set(rows, levels, ladder, n, max([*levels, k_now]), k_now, bool(good))
    found["sure"] = found["finite"]
    return found, levels


def _intervals(out, found, shown, delta, k_given):
    """Both intervals of the answer that is shown, or why there are none."""
    if not found["sure"] and shown is found:
        out["why"] = ("no answer",) * 2
    elif k_given is not None and out["n"] < k_given:
        out["why"] = ("fewer rows",) * 2
    elif shown is found and found["se"] == 0 and not out["constant"]:
        out["why"] = ("constant",) * 2
    else:
        o = non_finite(shown["blocks"]) if k_given is not None else 0
        out["order"], why_order = order_interval(shown["blocks"], delta, o)
        if k_given is None:
            out["order"] = around(out["order"], shown, delta)
            out["cantelli"], why_cantelli = cantelli_auto(shown, delta, out["between"] and shown is found)
        else:
            out["cantelli"], why_cantelli = cantelli_given(shown, delta, out["between"])
        out["why"] = (why_order, why_cantelli)


def given_set(rows, levels, ladder, n, f, k_now, some_good, columns=1):
    """A given K: step 3's rule for a fixed K, nothing screened out."""
    found = row_set(rows, levels, ladder, n, f, k_now, columns, located=False)
    wrong = False
    if found["testable"] and some_good and levels and levels[0] <= n:
        theta, h = found["medians"], found["h"]
        wrong = not found["D"] <= h[0]
        for j in range(1, len(levels)):
            wrong = wrong or not abs(theta[0] - theta[j]) <= h[0] + h[j]
    found["contradicted"] = wrong
    f_count = len(found["far"])
    found["beyond"] = wrong and (4 * sum(found["far"]) > f_count or not found["D_near"] <= found["h"][0])
    found["source"], found["kept"] = rows, None
    found["blocks"] = merge(rows, k_now)
    found["estimate"] = lower_median(b[1] for b in found["blocks"])
    found["finite"] = non_finite(found["blocks"]) <= math.ceil(len(found["blocks"]) / 2) - 1
    return found


def _files(out, found, finite, cells, n, sample, k_given):
    files = file_set(cells, n, sample, len(cells), located=k_given is None)
    if files is None or not files["active"]:
        return found
    if finite and not (found["se"] > 0 and math.isfinite(found["se"])):
        return found
    aim = 9 if files["count"] < 54 else 27
    if k_given is None:
        common = [k for k in files["levels"] if k <= aim and k in found["levels"]]
    else:
        common = [k for k in files["levels"] if k <= aim]
    if not common:
        return found
    kd = common[-1]
    h_files = files["h"][files["levels"].index(kd)]
    h_rows = found["h"][found["levels"].index(kd if k_given is None else k_given)]
    out["file_estimate"], out["file_h"], out["row_h"] = files["estimate"], h_files, h_rows
    row_se = found["se"] if finite else INF
    tamed = h_rows * (files["se"] / row_se) if row_se > 4.0 * files["se"] else h_rows
    differ = not (finite and abs(found["estimate"] - files["estimate"]) <= tamed + h_files)
    sharper = files["se"] < row_se
    if files["contradicted"] and (not differ or sharper):
        out["suspects"] = {i for i, j in files["place"].items() if files["far"][j]}
    if not (differ and sharper):
        return found
    if k_given is not None:
        out["status"].add("breakdown point exceeded")
        return found
    out["files_first"] = True
    out["status"] = {"files disagree"}
    if files["contradicted"]:
        out["status"].add("contaminated")
        if files["beyond"]:
            out["status"].add("breakdown point exceeded")
    out["estimate"], out["k"] = files["estimate"], len(files["blocks"])
    out["n_screened_out"] = sum(files["far"]) if files["contradicted"] else 0
    out["n_non_finite"] = (
        files["n_non_finite_finest"] if files["contradicted"] else non_finite(files["blocks"])
    )
    return files


def _few(out, sample):
    below = sum(x < out["estimate"] for x in sample)
    above = sum(x > out["estimate"] for x in sample)
    if sample and (10 * below > 9 * len(sample) or 10 * above > 9 * len(sample)):
        out["status"].add("dominated by few rows")
