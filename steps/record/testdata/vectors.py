"""Makes run.json and expected.json.

run.json is a run as a client would have recorded it: 40 requests at Poisson times,
some failed, some of one token, chunks of one to four tokens. expected.json holds what
the formulas of `vllm bench serve` 0.33 (calculate_metrics) make of it but for requests in one piece, computed here
with numpy from the same nanoseconds, plus SGLang 0.5.23's per-token gaps and its steady
state (sglang.benchmark.steady_state with a ratio of 0.8, found here by trying all spans).

    python3 vectors.py   (needs numpy; written with numpy 2)
"""
import json

import numpy as np

rng = np.random.default_rng(20260102)
SECOND = 1_000_000_000
LIMITS = {"ttft": 130_000_000, "tpot": 12_000_000, "e2el": 400_000_000}


def make_request(i, planned):
    sent = planned + int(rng.integers(20_000, 900_000))
    want = int(rng.choice([1, 2, 8, 16, 33]))
    t = sent + int(rng.gamma(4.0, 0.03) * SECOND)
    events, n = [], 0
    while n < want:
        n = min(want, n + int(rng.choice([1, 1, 1, 2, 4])))
        events.append({"t": t, "n": n})
        t += int(rng.gamma(9.0, 0.0015) * SECOND)
    r = {"i": i, "planned": planned, "sent": sent, "headers": events[0]["t"] - 1_000, "done": events[-1]["t"] + 250_000,
         "ev": events, "prompt": int(rng.integers(50, 400)), "want": want, "output": want, "cached": -1,
         "status": 200, "finish": "length"}
    if i % 13 == 5:
        r.update(failure="cut", finish="", ev=events[:1])
    if i == 7:
        r.update(failure="status", status=503, ev=[], output=0, finish="", headers=sent + 5, done=sent + 9)
    return r


def stats(out, name, v):
    out[name + ".mean"], out[name + ".std"] = float(np.mean(v)), float(np.std(v))
    for p in (50, 90, 95, 99):
        out[f"{name}.p{p}"] = float(np.percentile(v, p))


def expect(requests, duration):
    ok = [r for r in requests if not r.get("failure")]
    ttft, tpot, itl, itl_token, e2el, ttft_s, e2el_s, queue = ([] for _ in range(8))
    for r in ok:
        at = [e["t"] / SECOND for e in r["ev"]]
        first, latency = at[0] - r["sent"] / SECOND, at[-1] - r["sent"] / SECOND
        ttft.append(first)
        e2el.append(latency)
        if r["output"] > 1 and at[-1] > at[0]:  # vLLM counts 0 where all came in one piece
            tpot.append((latency - first) / (r["output"] - 1))
        for k in range(1, len(at)):
            itl.append(at[k] - at[k - 1])
            new = r["ev"][k]["n"] - r["ev"][k - 1]["n"]
            itl_token += [(at[k] - at[k - 1]) / new] * new
        wait = (r["sent"] - r["planned"]) / SECOND
        queue.append(wait)
        ttft_s.append(first + wait)
        e2el_s.append(latency + wait)
    out = {}
    for name, v in [("ttft", ttft), ("tpot", tpot), ("itl", itl), ("itl_token", itl_token), ("e2el", e2el),
                    ("ttft_from_schedule", ttft_s), ("e2el_from_schedule", e2el_s), ("queue", queue)]:
        stats(out, name, v)
    d = duration / SECOND
    tin, tout = sum(r["prompt"] for r in ok), sum(r["output"] for r in ok)
    out["request_throughput.mean"] = len(ok) / d
    out["input_throughput.mean"], out["output_throughput.mean"] = tin / d, tout / d
    out["total_throughput.mean"] = (tin + tout) / d
    out["success.rate"] = len(ok) / len(requests)
    edges = sorted([(r["sent"], 1) for r in requests] + [(r["done"], -1) for r in requests])
    out["concurrency.peak"] = float(max(np.cumsum([e[1] for e in edges])))
    out["concurrency.mean"] = sum(r["done"] - r["sent"] for r in requests) / duration
    out.update(goodput(ok, len(requests), d), **steady(ok, duration))
    return out


def goodput(ok, sent, d):
    n = 0
    for r in ok:
        first, last = r["ev"][0]["t"], r["ev"][-1]["t"]
        tpot = (last - first) / (r["output"] - 1) if r["output"] > 1 else 0
        n += first - r["sent"] <= LIMITS["ttft"] and tpot <= LIMITS["tpot"] and last - r["sent"] <= LIMITS["e2el"]
    return {"goodput.rate": n / d, "goodput.share": n / sent}


def steady(ok, duration):
    flights = [(r["sent"], r["ev"][-1]["t"]) for r in ok]
    times = sorted({t for f in flights for t in f})
    level = [sum(a <= x < b for a, b in flights) for x in times[:-1]]
    least = max(1, int(np.ceil(0.8 * max(level))))
    spans = [(times[i], times[j + 1]) for i in range(len(level)) for j in range(i, len(level)) if min(level[i:j + 1]) >= least]
    start, end = max(spans, key=lambda s: s[1] - s[0])
    tokens = 0
    for r in ok:
        before = 0
        for e in r["ev"]:
            tokens += (e["n"] - before) * (start <= e["t"] <= end)
            before = e["n"]
    return {"steady_window.share": (end - start) / duration, "steady_output_throughput.mean": tokens / ((end - start) / SECOND)}


planned, requests = 0, []
for i in range(40):
    planned += int(rng.exponential(0.03) * SECOND)
    requests.append(make_request(i, planned))
duration = max(r["done"] for r in requests) - min(r["sent"] for r in requests)
with open("run.json", "w") as f:
    json.dump({"duration": duration, "goodput": LIMITS, "requests": requests}, f)
    f.write("\n")
with open("expected.json", "w") as f:
    json.dump(expect(requests, duration), f, indent=1, sort_keys=True)
    f.write("\n")
