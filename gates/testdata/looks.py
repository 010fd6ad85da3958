"""Writes looks.json: how often a group-sequential paired t-test of pairs without a
difference crosses its nominal level, by simulation. The tests of package gates hold the
joint law of the looks against it.

    pip install numpy scipy==1.17.1 && python looks.py > looks.json
"""

import json

import numpy
from scipy import stats

SEQUENCES, BATCH = 20_000_000, 1_000_000
SCHEDULES = [[4, 6, 8, 10, 12], [4, 6], [4, 6, 8], [2, 4, 6, 8, 10], [4, 5]]
LEVELS = [0.0125, 0.05 / 4.3 / 20]

rng = numpy.random.default_rng(20261121)
crossed = {(i, level): 0 for i in range(len(SCHEDULES)) for level in LEVELS}
for _ in range(SEQUENCES // BATCH):
    d = rng.standard_normal((BATCH, 12))
    total, squares = d.cumsum(axis=1), (d * d).cumsum(axis=1)
    p = {}
    for n in sorted({n for at in SCHEDULES for n in at}):
        s, q = total[:, n - 1], squares[:, n - 1]
        t = s / n / numpy.sqrt((q - s * s / n) / (n - 1) / n)
        p[n] = stats.t.sf(t, n - 1)
    for i, at in enumerate(SCHEDULES):
        smallest = numpy.minimum.reduce([p[n] for n in at])
        for level in LEVELS:
            crossed[i, level] += int((smallest <= level).sum())

cases = [{"at": SCHEDULES[i], "level": level, "crossed": c, "sequences": SEQUENCES} for (i, level), c in crossed.items()]
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
