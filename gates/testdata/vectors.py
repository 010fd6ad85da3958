"""Writes vectors.json, the reference values that the tests of package gates check.

    pip install scipy==1.17.1 && python vectors.py > vectors.json

Fisher's test and Holm's procedure are computed in exact rational arithmetic, the rest
with SciPy and numpy. Fisher's values are checked against scipy.stats.fisher_exact.
"""

import itertools
import json
import math
import random
from fractions import Fraction

import numpy
from scipy import integrate, optimize, special, stats

rng = random.Random(20261121)


def t_tests():
    base = [101.2, 99.8, 100.5, 100.1, 99.4]
    head = [105.9, 104.2, 106.1, 103.8, 105.0]
    samples = [[math.log(h) - math.log(b) for b, h in zip(base, head)]]
    for n, mean, sd in [(2, 0, 1), (3, 0.1, 0.02), (4, -0.05, 0.02), (8, 0.01, 0.03), (30, 0.3, 0.05), (12, 1e6, 1)]:
        samples.append([rng.gauss(mean, sd) for _ in range(n)])
    for d in samples:
        greater = stats.ttest_1samp(d, 0, alternative="greater")
        less = stats.ttest_1samp(d, 0, alternative="less")
        lower, upper = greater.confidence_interval(0.95).low, less.confidence_interval(0.95).high
        yield {"d": d, "t": greater.statistic, "greater": greater.pvalue, "less": less.pvalue, "lower": lower, "upper": upper}


def t_criticals():
    for df in [1, 2, 3, 4, 5, 7, 9, 11, 29, 99, 1000]:
        for alpha in [0.05, 0.025, 0.0125, 0.05 / 20, 0.05 / 500]:
            yield {"df": df, "alpha": alpha, "t": stats.t.isf(alpha, df)}


def powers():
    for n in [2, 3, 4, 5, 6, 8, 10, 12, 30, 100]:
        for alpha in [0.05, 0.0125, 0.0025]:
            for effect in [0, 0.02, 0.048790164169432, 0.1]:
                for sd in [0.01, 0.02, 0.05]:
                    delta = math.sqrt(n) * effect / sd
                    power = stats.nct.sf(stats.t.isf(alpha, n - 1), n - 1, delta) if effect else alpha
                    yield {"n": n, "alpha": alpha, "effect": effect, "sd": sd, "power": power}


def integral_power(n, alpha, delta):
    """P(T > t) by integrating over chi, for noncentralities where series fail."""
    df, t = n - 1, stats.t.isf(alpha, n - 1)
    f = lambda z: stats.norm.pdf(z) * stats.chi2.cdf(df * ((z + delta) / t) ** 2, df)
    return integrate.quad(f, max(-12, -delta), 12, epsabs=1e-13, epsrel=1e-12, limit=500)[0]


def detectables():
    for n in [2, 3, 4, 5, 6, 8, 10, 12, 50]:
        for alpha in [0.05, 0.0125, 0.0025, 0.0001]:
            for power in [0.8, 0.95]:
                t = stats.t.isf(alpha, n - 1)
                delta = optimize.brentq(lambda d: integral_power(n, alpha, d) - power, 0, 10 * t + 10, xtol=1e-13, rtol=1e-13)
                yield {"n": n, "alpha": alpha, "power": power, "sd": 0.02, "change": delta * 0.02 / math.sqrt(n)}


def fisher_exact(x1, n1, x2, n2):
    hits = x1 + x2
    tail = sum(math.comb(n1, k) * math.comb(n2, hits - k) for k in range(x1, min(hits, n1) + 1))
    return float(Fraction(tail, math.comb(n1 + n2, hits)))


def fishers():
    tables = [(6, 1000, 0, 1000), (0, 1000, 6, 1000), (1, 1, 0, 1), (0, 5, 0, 7), (5, 5, 7, 7), (3, 10, 3, 10), (40, 200, 20, 200),
              (10, 10, 0, 10), (2, 4000, 0, 4000), (300, 100000, 240, 100000), (60, 1000000, 20, 900000), (999, 1000, 980, 1000)]
    for _ in range(30):
        n1, n2 = rng.randint(1, 400), rng.randint(1, 400)
        tables.append((rng.randint(0, n1), n1, rng.randint(0, n2), n2))
    for x1, n1, x2, n2 in tables:
        p = fisher_exact(x1, n1, x2, n2)
        if n1 < 10000:
            q = stats.fisher_exact([[x1, n1 - x1], [x2, n2 - x2]], alternative="greater").pvalue
            assert math.isclose(p, q, rel_tol=1e-8, abs_tol=1e-200), (x1, n1, x2, n2, p, q)
        yield {"x1": x1, "n1": n1, "x2": x2, "n2": n2, "p": p}


def holm(p):
    order, adjusted, largest = sorted(range(len(p)), key=lambda i: p[i]), [0] * len(p), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted


def adjustments():
    lists = [[0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205], [], [0.03], [1.0, 1.0], [0.5, 0.01, 0.01, 0.0], [rng.random() ** 3 for _ in range(40)]]
    for p in lists:
        yield {"p": p, "holm": holm(p)}


def quantiles():
    for n in [1, 2, 3, 10, 97, 1000]:
        x = sorted(rng.lognormvariate(-1, 0.5) for _ in range(n))
        q = [0, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1]
        yield {"sorted": x, "q": q, "value": numpy.quantile(x, q).tolist()}


def two_samples():
    known = [([101.2, 99.8, 100.5, 100.1, 99.4], [105.9, 104.2, 106.1, 103.8, 105.0]), ([1, 3, 5, 7, 9, 11], [2, 4, 6, 8, 10, 15])]
    for base, head in known:
        yield [math.log(x) for x in base], [math.log(x) for x in head]
    for n, m, shift, sd in [(2, 2, 0, 1), (3, 4, 0.05, 0.02), (5, 5, -0.03, 0.05), (8, 6, 0.01, 0.02), (10, 10, 0.02, 0.02), (12, 3, 1, 1)]:
        yield [rng.gauss(0, 0.02) for _ in range(n)], [rng.gauss(shift, sd) for _ in range(m)]


def welch_and_ranks():
    for base, head in two_samples():
        w = stats.ttest_ind(head, base, equal_var=False, alternative="greater")
        less = stats.ttest_ind(head, base, equal_var=False, alternative="less")
        u = stats.mannwhitneyu(head, base, alternative="greater", method="exact")
        u_less = stats.mannwhitneyu(head, base, alternative="less", method="exact")
        for alpha in [0.05, 0.0125]:
            # By definition: the shifts that the exact test does not reject.
            differences = sorted(h - b for h in head for b in base)
            c = 0
            while c < len(differences) and exact_u_cdf(len(head), len(base), c) <= alpha:
                c += 1
            yield {
                "base": base, "head": head, "alpha": alpha,
                "t": w.statistic, "df": w.df, "greater": w.pvalue, "less": less.pvalue,
                "lower": w.confidence_interval(1 - alpha).low, "upper": less.confidence_interval(1 - alpha).high,
                "u": u.statistic, "u_greater": u.pvalue, "u_less": u_less.pvalue, "shift": float(numpy.median(differences)),
                "u_bounds": [differences[c - 1], differences[-c]] if c else None,
            }


def exact_u_cdf(n, m, u):
    """P(U <= u) by counting, in exact arithmetic."""
    counts = {(0, k): {0: 1} for k in range(m + 1)} | {(k, 0): {0: 1} for k in range(n + 1)}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            total = dict(counts[i, j - 1])
            for v, c in counts[i - 1, j].items():
                total[v + j] = total.get(v + j, 0) + c
            counts[i, j] = total
    return float(Fraction(sum(c for v, c in counts[n, m].items() if v <= u), math.comb(n + m, n)))


def sign_flips():
    for n, shift in [(2, 0.01), (4, 0.05), (5, 0), (8, 0.02), (12, -0.01), (15, 0.008)]:
        d = [rng.gauss(shift, 0.02) for _ in range(n)]
        p = {a: stats.permutation_test((d,), numpy.mean, permutation_type="samples", alternative=a, n_resamples=numpy.inf, vectorized=True).pvalue for a in ["greater", "less"]}
        means = sorted(numpy.mean([d[i] for i in range(n) if mask >> i & 1]) for mask in range(1, 2**n))
        k = int(0.05 * 2**n)
        yield {"d": d, "greater": p["greater"], "less": p["less"], "bounds": [means[k - 1], means[-k]] if k else None}


def predictions():
    for h, k, x in [(10, 1, 0.03), (10, 1, -0.01), (12, 3, 0.02), (30, 1, 0.05), (2, 1, 0.01)]:
        history, new = [rng.gauss(0, 0.01) for _ in range(h)], [rng.gauss(x, 0.01) for _ in range(k)]
        se = numpy.std(history, ddof=1) * math.sqrt(1 / k + 1 / h)
        shift, width = numpy.mean(new) - numpy.mean(history), se * stats.t.isf(0.05, h - 1)
        yield {"history": history, "sessions": new, "se": se, "greater": stats.t.sf(shift / se, h - 1), "lower": shift - width, "upper": shift + width}


def trigammas():
    for x in [0.05, 0.5, 1, 1.5, 2.5, 5.5, 9.99, 10, 100, 1e6]:
        y = float(special.polygamma(1, x))
        yield {"x": x, "trigamma": y}


def priors():
    """limma's fitFDist without covariates, and the moderated variance of the first cell."""
    for cells, n, d0, s0 in [(8, 4, 4, 0.02), (12, 6, 8, 0.01), (20, 4, 3, 0.03), (40, 5, 20, 0.02)]:
        d = n - 1
        variances = [s0**2 * rng.gammavariate(d / 2, 2) / d / (rng.gammavariate(d0 / 2, 2) / d0) for _ in range(cells)]
        e = numpy.log(variances) - special.digamma(d / 2) + math.log(d / 2)
        excess = numpy.var(e, ddof=1) - special.polygamma(1, d / 2)
        if excess <= 0:
            continue
        prior = 2 * optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, 1e9, xtol=1e-14, rtol=1e-14)
        scale = math.exp((numpy.mean(e) + special.digamma(prior / 2) - math.log(prior / 2)) / 2)
        yield {"variances": variances, "df": d, "prior_df": prior, "prior_sd": scale}


def permutations():
    for n, m, shift in [(2, 3, 0.01), (4, 4, 0.05), (5, 5, 0), (8, 3, 0.02), (8, 8, -0.01), (10, 10, 0.015)]:
        base, head = [rng.gauss(0, 0.02) for _ in range(n)], [rng.gauss(shift, 0.02) for _ in range(m)]
        difference = lambda h, b, axis: numpy.mean(h, axis=axis) - numpy.mean(b, axis=axis)
        p = {a: stats.permutation_test((head, base), difference, alternative=a, n_resamples=numpy.inf, vectorized=True).pvalue for a in ["greater", "less"]}
        # By definition: the shifts that the test does not reject, from all exchanges of equally many.
        exchanges = sorted(
            numpy.mean(h) - numpy.mean(b)
            for k in range(1, min(n, m) + 1) for h in itertools.combinations(head, k) for b in itertools.combinations(base, k)
        )
        k = int(0.05 * math.comb(n + m, n))
        yield {
            "base": base, "head": head, "shift": numpy.mean(head) - numpy.mean(base),
            "greater": p["greater"], "less": p["less"], "bounds": [exchanges[k - 1], exchanges[-k]] if k else None,
        }


print(json.dumps({
    "t_test": list(t_tests()), "t_critical": list(t_criticals()), "power": list(powers()),
    "detectable": list(detectables()), "fisher": list(fishers()),
    "adjust": list(adjustments()), "quantile": list(quantiles()),
    "two_samples": list(welch_and_ranks()), "sign_flips": list(sign_flips()), "predictions": list(predictions()),
    "trigamma": list(trigammas()), "priors": list(priors()), "permutations": list(permutations()),
}, indent=None, separators=(",", ":")).replace('},{', '},\n{').replace(':[{', ':[\n{'))
