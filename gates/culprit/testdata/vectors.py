"""Reference vectors of package culprit: posteriors by linear algebra instead of sums.

Given the variance s2 of a pair, the differences of a hypothesis are normal with mean 0 and covariance
s2 (I + g Z Z'), where Z has a column for each segment behind a step. Integrated over s2 with
density 1/s2, their likelihood is |V|^(-1/2) (d' V^-1 d)^(-n/2).

    python3 vectors.py > vectors.json
"""
import itertools
import json
import random

from fractions import Fraction as F


def determinant_and_solve(v, d):
    """Gauss over fractions, which is exact."""
    n = len(d)
    a = [row[:] + [d[i]] for i, row in enumerate(v)]
    det = F(1)
    for i in range(n):
        p = next(r for r in range(i, n) if a[r][i] != 0)
        if p != i:
            a[i], a[p], det = a[p], a[i], -det
        det *= a[i][i]
        a[i] = [x / a[i][i] for x in a[i]]
        for r in range(n):
            if r != i and a[r][i] != 0:
                a[r] = [x - a[r][i] * y for x, y in zip(a[r], a[i])]
    return det, [row[n] for row in a]


def posterior(last, probes):
    at = [c for c, _ in probes]
    d = [F(x) for _, x in probes]
    n = len(d)
    end = [x for c, x in zip(at, d) if c == last]
    g = F(4)
    if len(end) > 1:
        m = sum(end) / len(end)
        g = max(g, m * m / (sum((x - m) ** 2 for x in end) / (len(end) - 1)))
    pairs = last * (last - 1) // 2
    hypotheses = [((), 0.05)]
    hypotheses += [((k,), (0.85 if pairs else 0.95) / last) for k in range(1, last + 1)]
    hypotheses += [(kl, 0.10 / pairs) for kl in itertools.combinations(range(1, last + 1), 2)]
    weights = []
    for steps, prior in hypotheses:
        segment = [sum(c >= s for s in steps) for c in at]
        v = [[F(i == j) + (g if segment[i] == segment[j] > 0 else 0) for j in range(n)] for i in range(n)]
        det, x = determinant_and_solve(v, d)
        quadratic = sum(p * q for p, q in zip(d, x))
        weights.append(prior * float(det) ** -0.5 * float(quadratic) ** (-n / 2))
    total = sum(weights)
    step = [0.0] * (last + 1)
    two = 0.0
    for (steps, _), w in zip(hypotheses, weights):
        for s in steps:
            step[s] += w / total
        two += w / total if len(steps) == 2 else 0
    return {"candidates": last, "probes": [{"candidate": c, "d": float(x)} for c, x in probes], "none": weights[0] / total, "two": two, "step": step}


def draw(r, levels, probes):
    return [(c, round(levels[c] + r.gauss(0, 0.02), 6)) for c in probes]


r = random.Random(1)
out = [
    posterior(1, draw(r, [0, 0.08], [1, 1, 1, 1])),
    posterior(8, draw(r, [0] * 5 + [0.08] * 4, [8, 8, 8, 8, 4, 6, 5, 4])),
    posterior(8, draw(r, [0] * 3 + [0.08] * 3 + [0.16] * 3, [8, 8, 8, 8, 4, 6, 5, 2, 3, 1])),
    posterior(6, draw(r, [0] * 7, [6, 6, 6, 6, 3, 5, 2])),
]
print(json.dumps(out, indent=1))
