"""Laws of rows for the gap rule: clean ones, sizes with modes decades apart, and what damage does to them."""

from __future__ import annotations

import numpy as np


def mixture(*parts):
    """Rows of several distributions: (share, distribution); the last takes what is left."""

    def draw(g, n):
        u, out, low = g.random(n), np.empty(n), 0.0
        for i, (share, distribution) in enumerate(parts):
            high = 1.0 if i == len(parts) - 1 else low + share
            rows = (u >= low) & (u < high)
            out[rows] = distribution(g, int(rows.sum()))
            low = high
        return out

    return draw


def sizes(centre, sigma):
    """Log-normal about a centre."""
    return lambda g, n: centre * np.exp(sigma * g.standard_normal(n))


def zeros(g, n):
    return np.zeros(n)


def signed(distribution):
    return lambda g, n: distribution(g, n) * g.choice([-1.0, 1.0], n)


def rounded(distribution, digits):
    """Amounts as people write them: so many digits count."""

    def draw(g, n):
        x = distribution(g, n)
        unit = 10.0 ** (np.floor(np.log10(x)) - digits + 1)
        return np.round(x / unit) * unit

    return draw


def whole(distribution):
    return lambda g, n: np.floor(distribution(g, n))


def normal(mean, sd):
    return lambda g, n: g.normal(mean, sd, n)


def ones(p):
    return lambda g, n: (g.random(n) < p) * 1.0


def student(df):
    return lambda g, n: g.standard_t(df, n)


def pareto(a):
    return lambda g, n: g.pareto(a, n)


PRICES = np.array([0.99, 1.99, 2.49, 4.99, 9.99, 19.99, 49.99, 99.99, 499.99, 999.99])

SPECIFIED = {
    "normal": normal(0, 1),
    "Student 3": student(3.0),
    "Student 2.5": student(2.5),
    "Student 2.1": student(2.1),
    "log-normal 1": sizes(1, 1),
    "log-normal 2": sizes(1, 2),
    "Pareto 3": pareto(3.0),
    "Pareto 2.5": pareto(2.5),
    "Pareto 2.1": pareto(2.1),
    "Pareto 1.5": pareto(1.5),
    "exponential": lambda g, n: g.standard_exponential(n),
    "gamma 0.2": lambda g, n: g.standard_gamma(0.2, n),
    "uniform": lambda g, n: g.random(n),
    "Poisson 0.3": lambda g, n: g.poisson(0.3, n) * 1.0,
    "Poisson 0.01": lambda g, n: g.poisson(0.01, n) * 1.0,
    "Bernoulli 0.01": ones(0.01),
    "Bernoulli 0.001": ones(0.001),
    "90% zeros, log-normal 1": mixture((0.9, zeros), (0.1, sizes(1, 1))),
    "99% zeros, log-normal 1": mixture((0.99, zeros), (0.01, sizes(1, 1))),
    "99% zeros, log-normal 2": mixture((0.99, zeros), (0.01, sizes(1, 2))),
    "30% N(8, 4)": mixture((0.3, normal(8, 2)), (0.7, normal(0, 1))),
    "5% N(0, 100)": mixture((0.05, normal(0, 10)), (0.95, normal(0, 1))),
    "list of ten prices": lambda g, n: g.choice(PRICES, n),
}
"""Clean distributions of the specification."""

TUNED = {
    "10³ and 5% 10⁶, σ 1": mixture((0.05, sizes(1e6, 1)), (0.95, sizes(1e3, 1))),
    "10³ and 0.5% 10⁶, σ 1": mixture((0.005, sizes(1e6, 1)), (0.995, sizes(1e3, 1))),
    "10³ and 5% 10⁶, σ 0.5": mixture((0.05, sizes(1e6, 0.5)), (0.95, sizes(1e3, 0.5))),
    "50 and 1% 10⁵, σ 1": mixture((0.01, sizes(1e5, 1)), (0.99, sizes(50, 1))),
    "90% zeros, 100, 0.5% 10⁶": mixture((0.9, zeros), (0.095, sizes(100, 1)), (0.005, sizes(1e6, 1))),
}
"""Sizes with modes decades apart, on which the constants of `modes` were chosen."""

REPAIRED = {
    "files: 4 kB, 19% 200 kB, 1% 1 GB": mixture(
        (0.80, sizes(4e3, 1.5)), (0.19, sizes(2e5, 1)), (0.01, sizes(1e9, 0.8))
    ),
    "whole bytes 2^N(12, 3), 5% 2^N(32, 1.5)": mixture(
        (0.95, whole(sizes(2.0**12, 3 * np.log(2)))), (0.05, whole(sizes(2.0**32, 1.5 * np.log(2))))
    ),
    "payments 30, 2% 20,000": mixture((0.98, sizes(30, 0.9)), (0.02, sizes(2e4, 0.5))),
    "transfers 200, 0.5% 5·10⁶": mixture((0.995, sizes(200, 1.2)), (0.005, sizes(5e6, 0.7))),
    "rents 900, 3% houses 300,000": mixture((0.97, sizes(900, 0.35)), (0.03, sizes(3e5, 0.4))),
    "99% zeros, 500, 0.1% 10⁷": mixture((0.99, zeros), (0.009, sizes(500, 1.3)), (0.001, sizes(1e7, 1))),
    "claims: 95% zeros, gamma 2, 0.1% Pareto 1.5": mixture(
        (0.95, zeros),
        (0.049, lambda g, n: 1e3 * g.standard_gamma(2.0, n)),
        (0.001, lambda g, n: 1e6 * (1 + g.pareto(1.5, n))),
    ),
    "two digits, 40, 3% 30,000": rounded(mixture((0.97, sizes(40, 1)), (0.03, sizes(3e4, 1))), 2),
    "one digit, 40, 3% 30,000": rounded(mixture((0.97, sizes(40, 1)), (0.03, sizes(3e4, 1))), 1),
    "2% refunds, 30, 2% 30,000": mixture(
        (0.02, lambda g, n: -sizes(30, 0.8)(g, n)), (0.96, sizes(30, 0.8)), (0.02, sizes(3e4, 0.6))
    ),
    "both signs, 100, 2% 10⁶": signed(mixture((0.98, sizes(100, 1)), (0.02, sizes(1e6, 1)))),
    "debits −100, 2% −10⁶": lambda g, n: -mixture((0.98, sizes(100, 1)), (0.02, sizes(1e6, 1)))(g, n),
    "100, 9% 10⁵, 1% 10⁸": mixture((0.9, sizes(100, 0.6)), (0.09, sizes(1e5, 0.6)), (0.01, sizes(1e8, 0.6))),
    "10³, 0.02% 10⁸": mixture((0.9998, sizes(1e3, 1)), (0.0002, sizes(1e8, 1))),
    "10³ and 5% 10⁶, σ 0.3": mixture((0.95, sizes(1e3, 0.3)), (0.05, sizes(1e6, 0.3))),
    "10³ and 5% 3·10⁶, σ 0.3": mixture((0.95, sizes(1e3, 0.3)), (0.05, sizes(3e6, 0.3))),
    "Weibull 0.3": lambda g, n: g.weibull(0.3, n),
    "log-logistic 2": lambda g, n: (1 / g.random(n) - 1) ** -0.5,
    "Cauchy": student(1.0),
    "Beta(0.1, 0.1)": lambda g, n: g.beta(0.1, 0.1, n),
    "inverse Gaussian": lambda g, n: g.wald(1.0, 0.05, n),
    "Zipf 1.8": lambda g, n: g.zipf(1.8, n) * 1.0,
    "negative binomial": lambda g, n: g.negative_binomial(0.1, 0.01, n) * 1.0,
    "Pareto 0.7": pareto(0.7),
    "steps of a walk of Student 2.1": lambda g, n: np.cumsum(g.standard_t(2.1, n)),
}
"""Laws that no constant was chosen on, but that showed what had to be repaired."""

JUDGED = {
    "calls 60 s, 0.3% 11 h": mixture((0.003, sizes(4e4, 0.6)), (0.997, sizes(60, 1.1))),
    "wages 3,000, 1% bonuses 10⁶": mixture((0.01, sizes(1e6, 0.8)), (0.99, sizes(3e3, 0.4))),
    "places 800, 3% towns 400,000": mixture((0.03, sizes(4e5, 0.9)), (0.97, sizes(800, 1.2))),
    "views 50, 0.1% 10⁸": mixture((0.001, sizes(1e8, 1)), (0.999, sizes(50, 1.6))),
    "gamma 0.5, 4% gamma 3 · 10⁵": mixture(
        (0.04, lambda g, n: 1e5 * g.standard_gamma(3.0, n)), (0.96, lambda g, n: g.standard_gamma(0.5, n))
    ),
    "Weibull 0.7, 1% Weibull 1.5 · 10⁴": mixture(
        (0.01, lambda g, n: 1e4 * g.weibull(1.5, n)), (0.99, lambda g, n: g.weibull(0.7, n))
    ),
    "log-uniform 1 to 100, 2% 10⁶ to 10⁷": mixture(
        (0.02, lambda g, n: 10 ** g.uniform(6, 7, n)), (0.98, lambda g, n: 10 ** g.uniform(0, 2, n))
    ),
    "masses 1, 5% 10⁴, σ 0.6": mixture((0.05, sizes(1e4, 0.6)), (0.95, sizes(1, 0.6))),
    "98% zeros, 20, 0.5% 10⁵": mixture((0.98, zeros), (0.015, sizes(20, 1)), (0.005, sizes(1e5, 1))),
    "packets of 40 and 1500 bytes, 10% flows 10⁷": mixture(
        (0.1, whole(sizes(1e7, 1))),
        (0.3, lambda g, n: np.full(n, 40.0)),
        (0.6, lambda g, n: np.full(n, 1500.0)),
    ),
    "list of ten prices, 1% 10⁶": mixture((0.01, sizes(1e6, 0.8)), (0.99, lambda g, n: g.choice(PRICES, n))),
    "Student 4": student(4.0),
    "Burr 1, 2": lambda g, n: (1 / g.random(n) - 1) ** 0.5,
    "Gumbel": lambda g, n: g.gumbel(size=n),
    "von Mises": lambda g, n: g.vonmises(0.0, 0.5, n),
    "log-gamma 3": lambda g, n: np.exp(g.standard_gamma(3.0, n)),
    "Skellam": lambda g, n: 1.0 * g.poisson(0.2, n) - g.poisson(0.1, n),
    "half Cauchy": lambda g, n: np.abs(g.standard_cauchy(n)),
}
"""Laws that no constant was chosen on; they showed that few rows prove no copy."""


def seasonal(g, n):
    """Sales by the hour: a day, a week, a trend, and noise that grows with them."""
    t = np.sort(g.uniform(0, 52 * 7, n))
    level = 100 * (1 + 0.8 * np.sin(2 * np.pi * t)) * (1 + 0.5 * (t % 7 > 5)) * np.exp(t / 365)
    return level * np.exp(0.2 * g.standard_normal(n))


def heaped(g, n):
    """Ages as people say them: every third a multiple of ten; 0 for those not yet one year old."""
    x = np.floor(g.gamma(4.0, 9.0, n))
    tens = g.random(n) < 0.3
    return np.where(tens, 10 * np.round(x / 10), x)


def sentinels(g, n):
    """Days since the last visit: −1 for never, 0 for today, which are true."""
    return np.where(g.random(n) < 0.2, -1.0, np.where(g.random(n) < 0.3, 0.0, g.geometric(0.02, n)))


def dates(g, n):
    """Days since 1970: customers since a start, few of them from before."""
    return np.floor(18_000 + 2_000 * g.beta(2.0, 1.0, n) - 4_000 * (g.random(n) < 0.05) * g.random(n))


OWN = {
    "files: 10 kB, 3% 1 GB": mixture((0.03, sizes(1e9, 0.9)), (0.97, whole(sizes(1e4, 1.4)))),
    "payments: 70% none, 20, 1% 5,000": mixture(
        (0.7, zeros), (0.01, sizes(5e3, 0.7)), (0.29, sizes(20, 0.9))
    ),
    "counts, one in ten busy": mixture(
        (0.1, lambda g, n: 1.0 * g.negative_binomial(2, 0.02, n)), (0.9, lambda g, n: 1.0 * g.poisson(3.0, n))
    ),
    "three sorts of rows": mixture((0.2, normal(50, 3)), (0.3, normal(20, 8)), (0.5, sizes(10, 0.4))),
    "seasonal": seasonal,
    "rounded to quarters": lambda g, n: np.round(4 * g.standard_t(4, n)) / 4,
    "heaped ages": heaped,
    "dates": dates,
    "−1 and 0 are true": sentinels,
    "shares": lambda g, n: np.round(g.beta(0.5, 3.0, n), 2),
}
"""Clean distributions of daily work, on which nothing was tuned."""


def random_sizes(g, narrow=False):
    """A random distribution: 0.1 to 10% of the rows in a second mode, two to six decades away."""
    sigma = g.uniform(0.1, 0.4) if narrow else g.uniform(0.5, 2.0)
    centre, apart = 10 ** g.uniform(0, 4), 10 ** g.uniform(2, 6)
    far_out = sizes(centre * apart, g.uniform(0.3, 1.5))
    return mixture((10 ** g.uniform(-3, -1), far_out), (1.0, sizes(centre, sigma)))


UNDECIDABLE = {"10³ and 5% 10⁶, σ 0.3"}
"""Of these real rows are accused: they look exactly like damage."""

KEPT = {
    "normal": normal(0, 1),
    "N(20, 2)": normal(20, 2),
    "N(1000, 10)": normal(1000, 10),
    "Student 3": student(3.0),
    "log-normal 0.3": sizes(5, 0.3),
    "gamma 5": lambda g, n: g.standard_gamma(5.0, n),
    "Poisson 0.3": lambda g, n: g.poisson(0.3, n) * 1.0,
    "log-normal 1": sizes(1, 1),
    "exponential": lambda g, n: g.standard_exponential(n),
}
"""Laws that damage is done to: the last two span decades."""


def to(*values):
    return lambda x, g, all_rows: g.choice(np.array(values, float), x.size)


def times(factor):
    return lambda x, g, all_rows: x * factor


DAMAGES = {
    "−9999": to(-9999),
    "10⁶": to(1e6),
    "999, 9999, 99999": to(999, 9999, 99999),
    "× 1000": times(1000.0),
    "μ+100σ": lambda x, g, all_rows: np.full(x.size, all_rows.mean() + 100 * all_rows.std()),
    "N(μ+100σ, σ²)": lambda x, g, all_rows: g.normal(
        all_rows.mean() + 100 * all_rows.std(), all_rows.std(), x.size
    ),
    "±10⁴σ": lambda x, g, all_rows: all_rows.mean() + 1e4 * all_rows.std() * g.choice([-1.0, 1.0], x.size),
    "Cauchy × 10⁴σ": lambda x, g, all_rows: 1e4 * all_rows.std() * g.standard_cauchy(x.size),
}


def damaged(distribution, damage, share, n, g):
    """Rows of a distribution of which a share was changed, exactly so many; and which."""
    x = distribution(g, n)
    bad = np.zeros(n, bool)
    bad[g.permutation(n)[: max(1, round(share * n))]] = True
    clean = x.copy()
    x[bad] = damage(x[bad], g, clean)
    return x, bad
