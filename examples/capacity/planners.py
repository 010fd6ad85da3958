"""Drives the two search planners of aiperf on simulated servers, and prints their probes and errors.

    pip install aiperf==0.13.0
    python planners.py ../../gates/testdata/capacity_servers.json

A planner is asked for the next load and told what the server's probe there would have measured, so that
nothing but its own decisions is in the figures. They search whole numbers alone; loads are large here, so
that rounding is not in their errors.
"""

import json
import logging
import math
import random
import statistics
import sys

from aiperf.common.models.export_models import JsonMetricResult
from aiperf.config.sweep import AdaptiveSearchSweep, Objective
from aiperf.config.sweep.adaptive import SearchSpaceDimension, SLAFilter
from aiperf.orchestrator.aggregation.sweep import OptimizationDirection
from aiperf.orchestrator.models import RunResult
from aiperf.orchestrator.search_planner.monotonic import MonotonicSLASearchPlanner
from aiperf.orchestrator.search_planner.smooth_isotonic import SmoothIsotonicSLAPlanner

PATH = "phases.profiling.concurrency"
LIMIT = 500.0
SEARCHES = 300
# The most iterations that the recipe max-concurrency-under-sla gives to each.
PLANNERS = {"smooth_isotonic": (SmoothIsotonicSLAPlanner, 30), "monotonic": (MonotonicSLASearchPlanner, 20)}


def between(xs, ys, x):
    i = 0
    while i < len(xs) - 2 and x > xs[i + 1]:
        i += 1
    return ys[i] + (x - xs[i]) / (xs[i + 1] - xs[i]) * (ys[i + 1] - ys[i])


def search(planner, most, server, rng):
    capacity = math.exp(math.log(1400) + rng.random() * math.log(20))
    config = AdaptiveSearchSweep(
        search_space=[SearchSpaceDimension(path=PATH, lo=800, hi=40000, kind="int")],
        objectives=[Objective(metric="output_token_throughput", direction=OptimizationDirection.MAXIMIZE)],
        max_iterations=most,
        n_initial_points=2,
        sla_filters=[SLAFilter(metric_tag="time_to_first_token", stat="p95", op="lt", threshold=LIMIT)],
    )
    # No benchmark is configured, since none is run.
    p = type("Planner", (planner,), {"_mutate_base": lambda self, value: None})(None, config)
    probes = 0
    while not p.is_converged() and (proposal := p.ask()) is not None:
        load = proposal[1].values[PATH]
        probes += 1
        xs = server["ln_load"]
        u = math.log(load / capacity)
        headroom = between(xs, server["headroom"], u) + rng.gauss(0, 1) * between(xs, server["sd"], min(max(u, xs[0]), xs[-1]))
        ttft = LIMIT * math.exp(-min(max(headroom, -4), 4))
        metrics = {
            "time_to_first_token": JsonMetricResult(unit="ms", avg=ttft, p95=ttft),
            "output_token_throughput": JsonMetricResult(unit="tokens/sec", avg=float(load)),
        }
        p.tell(proposal[1], [RunResult(label="run", success=True, summary_metrics=metrics)])
    found = p.boundary_summary()["feasible_max"] if callable(p.boundary_summary) else p.boundary_summary["feasible_max"]
    return probes, abs(math.log(found["value"] / capacity)) if found else math.inf


def main():
    logging.disable(logging.CRITICAL)
    with open(sys.argv[1]) as f:
        servers = json.load(f)
    print("| planner | server | probes | median error, % | within 2 %, % |\n|---|---|---:|---:|---:|")
    for name, (planner, most) in PLANNERS.items():
        for server in servers:
            rng = random.Random(1)
            found = [search(planner, most, server, rng) for _ in range(SEARCHES)]
            errors = [e for _, e in found]
            close = sum(e <= math.log(1.02) for e in errors)
            print(f"| {name} | {server['server']} | {statistics.mean(n for n, _ in found):.1f} | {100 * statistics.median(errors):.1f} | {100 * close / SEARCHES:.0f} |")


if __name__ == "__main__":
    main()
