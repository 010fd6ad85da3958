#!/usr/bin/env python3
"""Runs sessions of vllm-cpu-answers.pipeline.hcl and prints a line for each.

    campaign.py DIR nothing=20 dtype=5 weight=5 template=5 penalty=5 [-- --var repeats=3 ...]

DIR gets a folder for each session, and sessions.csv. A session that is there is not run again,
and one that was interrupted is resumed: the same command goes on. What follows -- is given to
`pipeline run`. The kinds take turns, so that an early end has some of all.
"""

import csv
import json
import pathlib
import subprocess
import sys

FILE = pathlib.Path(__file__).resolve().parent / "vllm-cpu-answers.pipeline.hcl"
COLUMNS = ["session", "verdict", "startup s", "agreement base", "agreement head", "nats base", "nats head", "p words", "p nats"]


def sessions(wanted):
    """Names of sessions in the order in which they run: nothing-1, dtype-1, ..., nothing-2."""
    counts = {kind: int(count) for kind, count in (word.split("=") for word in wanted)}
    for number in range(1, max(counts.values()) + 1):
        for kind, count in counts.items():
            if number <= count:
                yield kind, f"{kind}-{number}"


def run(folder, altered, arguments):
    command = ["pipeline", "run", str(FILE), "--out", str(folder), "--allow-identical", "--progress", "quiet"]
    command += ["--var", f"altered={altered}", *arguments]
    if (folder / "plan.json").exists():
        command.append("--resume")
    with open(folder.with_suffix(".log"), "a", encoding="utf-8") as log:
        subprocess.run(command, stdout=log, stderr=log, check=False)


def line(session, results):
    """Figures of a session, as its results.json has them."""
    decisions = {d["metric"]: d for gate in results["gates"] for d in gate["decisions"] if d["kind"] == "metric"}
    words, nats = decisions["agreement.share"], decisions["logprob_difference.mean"]
    startup = sum(launch.get("startup_s", 0) for launch in results["launches"])
    figures = [words.get("base_value"), words.get("head_value"), nats.get("base_value"), nats.get("head_value")]
    figures += [words.get("p_holm"), nats.get("p_holm")]
    return [session, results["verdict"], round(startup), *("" if f is None else f"{f:.6g}" for f in figures)]


def main():
    arguments = sys.argv[1:]
    extra = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, extra = arguments[:at], arguments[at + 1 :]
    if len(arguments) < 2:
        sys.exit(__doc__)
    target = pathlib.Path(arguments[0])
    target.mkdir(parents=True, exist_ok=True)
    table = target / "sessions.csv"
    if not table.exists():
        table.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    print(table.read_text(encoding="utf-8"), end="")
    done = {row["session"] for row in csv.DictReader(table.open(encoding="utf-8"))}
    for altered, session in sessions(arguments[1:]):
        if session in done:
            continue
        run(target / session, altered, extra)
        document = target / session / "results.json"
        if not document.exists():
            sys.exit(f"{session} did not finish: {target / session}.log says why")
        row = line(session, json.loads(document.read_text(encoding="utf-8")))
        with table.open("a", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(row)
        print(",".join(map(str, row)), flush=True)


main()
