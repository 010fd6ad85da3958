"""Try what pipeline does with a GPU: python acceptance.py DIR

Each check is a function that returns what it saw, and raises Failed or Skipped. Their results are written into
DIR/acceptance.json and DIR/acceptance.md. Exit status 1 if one failed. PIPELINE names the program, ENGINE what serves:
transformers (unless set), vllm or llamacpp, of which VLLM and LLAMA_SERVER name the programs.
"""

import datetime
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PIPELINE = os.environ.get("PIPELINE", "pipeline")
ENGINE = os.environ.get("ENGINE", "transformers")
PLANT_MS = 10.0  # of transformers; the other engines have an argument that slows them
# A rehearsal is for a machine without a GPU: a small model, and no claim about times.
REHEARSAL = os.environ.get("ACCEPTANCE_REHEARSAL") == "1"
SIZE = ("64", "2") if REHEARSAL else ("1024", "16")
LAG = "60s" if REHEARSAL else "50ms"
# A rehearsal's model is so small that a busy machine would see short answers of llama.cpp in one piece.
REHEARSED = {"repeats": 2, "rate": 8, "output_len": 16 if ENGINE == "transformers" else 128}
SETTINGS = REHEARSED if REHEARSAL else {"transformers": {}, "vllm": {"rate": 8, "repeats": 3}, "llamacpp": {"rate": 8}}[ENGINE]
# Where the search for the capacity begins and ends, and the requests of a probe: a probe has to last seconds and no more.
SEARCH = {"transformers": (2, 8, 20), "vllm": (32, 1024, 400), "llamacpp": (8, 256, 100)}[ENGINE]
SLACK_MIB = 256  # of memory that a driver may keep


class Failed(Exception):
    """A check did not find what must hold."""


class Skipped(Exception):
    """A check cannot be made on this machine."""


def smi(*query: str) -> list[list[str]]:
    """Rows of a query of nvidia-smi."""
    out = subprocess.run(["nvidia-smi", *query, "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True)
    return [[cell.strip() for cell in line.split(",")] for line in out.stdout.splitlines() if line.strip()]


def memory_used() -> int:
    """Used memory of the first GPU in MiB."""
    return int(smi("--query-gpu=memory.used")[0][0])


def computing() -> list[str]:
    """Process IDs that compute on a GPU."""
    return [row[0] for row in smi("--query-compute-apps=pid")]


def until(holds, seconds: float, what: str, beside: subprocess.Popen | None = None):
    """Wait for a true value, and return it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := holds():
            return value
        if beside is not None and beside.poll() is not None:
            raise Failed(f"the run ended with status {beside.returncode} before {what}")
        time.sleep(0.1)
    raise Failed(f"not within {seconds:.0f} s: {what}")


class Energy(threading.Thread):
    """Reads NVML's energy counter of the first GPU ten times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        import pynvml

        pynvml.nvmlInit()
        self.handle, self.read = pynvml.nvmlDeviceGetHandleByIndex(0), pynvml.nvmlDeviceGetTotalEnergyConsumption
        self.readings = [(time.time(), self.read(self.handle) / 1000)]
        self.start()

    def run(self):
        while True:
            time.sleep(0.1)
            self.readings.append((time.time(), self.read(self.handle) / 1000))

    def joules(self, began: float, ended: float) -> float:
        """Energy between two times, linear between readings."""

        def at(when: float) -> float:
            before = max((r for r in self.readings if r[0] <= when), default=self.readings[0])
            after = min((r for r in self.readings if r[0] >= when), default=self.readings[-1])
            if after[0] == before[0]:
                return before[1]
            return before[1] + (after[1] - before[1]) * (when - before[0]) / (after[0] - before[0])

        return at(ended) - at(began)


class Acceptance:
    """The checks, in the order in which they are made."""

    def __init__(self, out: pathlib.Path):
        self.out = out
        self.model = out / ("model.gguf" if ENGINE == "llamacpp" else "model")
        self.facts: dict = {}
        self.energy: Energy | None = None
        self.no_energy = ""
        self.free_mib = 0
        self.running: list[subprocess.Popen] = []
        cache = out / "hf"
        (cache / "hub").mkdir(parents=True, exist_ok=True)  # transformers serve lists the models of a folder that must exist
        self.env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(cache), "PIPELINE_LOCK_DIR": str(out / "locks")}

    def words(self, file: str, **more) -> list[str]:
        """The engine's file, a file of the benchmark, and their variables."""
        values = {"model": self.model, "lag": LAG} | more
        if ENGINE == "transformers":
            values |= {"python": sys.executable, "plant_ms": PLANT_MS}
        elif ENGINE == "vllm":
            values["vllm"] = json.dumps(shlex.split(os.environ.get("VLLM", "vllm")))
        else:
            values["llama_server"] = os.environ.get("LLAMA_SERVER", "llama-server")
        return [f"{ENGINE}.hcl", file, *(word for name, value in values.items() for word in ("--var", f"{name}={value}"))]

    def plan(self) -> list[str]:
        return self.words("acceptance.hcl", **SETTINGS)

    def search(self) -> list[str]:
        return self.words("capacity.hcl", **dict(zip(("min", "max", "requests"), SEARCH)))

    def begin(self, name: str, files: list[str], *flags: str) -> subprocess.Popen:
        """Start `pipeline run` in the background; its output goes to a file."""
        words = [PIPELINE, "run", *files, "--out", str(self.out / name), "--progress", "plain", *flags]
        with open(self.out / f"{name}.log", "ab") as log:
            run = subprocess.Popen(words, cwd=HERE, env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.running.append(run)
        return run

    def end(self):
        """Interrupt what runs, as Ctrl-C does, and wait until its servers have ended."""
        for run in self.running:
            if run.poll() is None:
                run.send_signal(signal.SIGINT)
                run.wait()

    def events(self, name: str) -> list[dict]:
        path = self.out / name / "events.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def count(self, name: str, kind: str) -> int:
        return sum(event["type"] == kind for event in self.events(name))

    def results(self, name: str) -> dict:
        path = self.out / name / "results.json"
        if not path.exists():
            raise Failed(f"no {path}; see {self.out / name}.log")
        return json.loads(path.read_text())

    def machine(self):
        """doctor finds the GPU and nothing missing."""
        words = [PIPELINE, "doctor", "--json", *self.plan()]
        done = subprocess.run(words, cwd=HERE, env=self.env, capture_output=True, text=True)
        (self.out / "doctor.json").write_text(done.stdout)
        if done.returncode != 0:
            raise Failed(f"pipeline doctor ended with status {done.returncode}: {done.stdout}{done.stderr}")
        found = {check["name"]: check["found"] for check in json.loads(done.stdout)["checks"]}
        self.facts = {
            "gpu": smi("--query-gpu=name,memory.total,driver_version,power.limit,clocks.max.sm")[0],
            "doctor": found,
        }
        self.free_mib = memory_used()
        return found.get("GPUs", "")

    def killed(self):
        """A second run waits for the GPU's lock. After kill -9 and cleanup nothing computes, and the memory is free."""
        run = self.begin("main", self.plan())
        until(lambda: self.count("main", "run_start") >= 2, 600, "the second run of the session begins", run)
        waiting = self.begin("second", self.search())
        until(lambda: any("waiting for GPU" in e.get("text", "") for e in self.events("second")), 60, "a second run waits", waiting)
        waiting.send_signal(signal.SIGINT)
        waiting.wait(60)
        held, pids = memory_used(), computing()
        if not pids:
            raise Failed("nvidia-smi lists no process, though a server runs")
        run.kill()
        run.wait()
        cleanup = subprocess.run([PIPELINE, "cleanup"], env=self.env, capture_output=True, text=True)
        if cleanup.returncode != 0:
            raise Failed(f"cleanup: status {cleanup.returncode}: {cleanup.stdout}{cleanup.stderr}")
        began = time.monotonic()
        until(lambda: memory_used() <= self.free_mib + SLACK_MIB and not set(pids) & set(computing()), 60, "the GPU's memory is free again")
        return (
            f"a second run waited for the GPU; before kill -9 process {', '.join(pids)} held {held - self.free_mib} MiB; "
            f"it is ended, and the memory was free {time.monotonic() - began:.1f} s later"
        )

    def resumed(self):
        """The killed run is resumed. It finds what was planted, and nothing where nothing was changed."""
        run = self.begin("main", self.plan(), "--resume")
        run.wait(1200)
        decisions = {d["head"]: d for gate in self.results("main")["gates"] for d in gate["decisions"] if d["kind"] == "metric"}
        seen = ", ".join(
            f"{side}: {d['verdict']}, {1000 * (d['head_value'] - d['base_value']):+.2f} ms a token" for side, d in decisions.items() if "head_value" in d
        )
        if REHEARSAL and run.returncode in (0, 1):
            return f"status {run.returncode}"
        if run.returncode != 1 or decisions["planted"]["verdict"] != "regression" or decisions["again"]["verdict"] == "regression":
            raise Failed(f"status {run.returncode}; {seen}; see {self.out}/main.log")
        planted = 1000 * (decisions["planted"]["head_value"] - decisions["planted"]["base_value"])
        if ENGINE != "transformers":
            return f"planted by an argument; {seen}"
        if abs(planted - PLANT_MS) > 0.3 * PLANT_MS:
            raise Failed(f"{PLANT_MS:g} ms were planted for each token, {planted:.2f} ms were measured")
        return f"{PLANT_MS:g} ms planted; {seen}"

    def runs(self, name: str) -> list[dict]:
        return [run for b in self.results(name)["benchmarks"] for cell in b["cells"] for run in cell["runs"]]

    def counted(self):
        """The state of the GPU is in the result of each run, and the energy is that of NVML's counter."""
        runs = [run for run in self.runs("main") if run["status"] == "ok"]
        for run in runs:
            if wanted := {"gpu0_power_w", "gpu0_sm_clock_mhz", "gpu0_temperature_c"} - {s["name"] for s in run.get("series", [])}:
                raise Failed(f"a run has no {', '.join(sorted(wanted))}")
        if not all("energy.per_output_token" in run["metrics"] for run in runs):
            raise Failed("a run has no energy")
        if self.energy is None:
            raise Skipped(self.no_energy)
        ends = {}
        for e in self.events("main"):
            if e["type"] == "run_end":
                ends[e["launch"]] = datetime.datetime.fromisoformat(e["time"][:26].rstrip("Z") + "+00:00").timestamp()
        ratios = []
        for run in runs:
            tokens = run["metrics"]["output_throughput.mean"] * run["duration_s"]
            ended = ends[run["launch"]]
            ratios.append(run["metrics"]["energy.per_output_token"] * tokens / self.energy.joules(ended - run["duration_s"], ended))
        self.facts["energy_ratios"] = ratios
        text = f"energy of {len(ratios)} runs by nvidia-smi's power against NVML's counter: {min(ratios):.3f} to {max(ratios):.3f}"
        if not all(0.8 <= ratio <= 1.25 for ratio in ratios):
            raise Failed(text)
        return text

    def foreign(self):
        """A run is void if another process computes on its GPU."""
        run = self.begin("foreign", self.plan(), "--repeat", "1", "--only", "side=base")
        until(lambda: self.count("foreign", "run_start") >= 1, 600, "the run begins", run)
        other = subprocess.Popen([sys.executable, HERE / "hold_gpu.py"], stdout=subprocess.PIPE, text=True)
        try:
            other.stdout.readline()  # it computes
            until(lambda: self.count("foreign", "run_end") >= 1, 300, "the run ends", run)
        finally:
            other.kill()
            other.wait()
        run.wait(600)
        reasons = [r.get("reason", "") for r in self.runs("foreign") if r["status"] == "void"]
        for reason in reasons:
            if str(other.pid) in reason:
                return reason
        raise Failed(f"no run is void because of process {other.pid}: {reasons}; see {self.out}/foreign.log")

    def throttled(self):
        """The reasons for lower clocks are read; throttling cannot be forced without changing the GPU's settings."""
        for query in ("clocks_event_reasons.active", "clocks_throttle_reasons.active"):
            try:
                return f"{query}: {smi('--query-gpu=' + query)[0][0]}"
            except subprocess.CalledProcessError:
                continue
        raise Failed("nvidia-smi reports no reasons for lower clocks")

    def capacity(self):
        """A search finds the highest rate at which first tokens come in time."""
        run = self.begin("capacity", self.search())
        run.wait(900)
        found = [r["metrics"].get("capacity.rate") for r in self.runs("capacity") if r["status"] == "ok"]
        if REHEARSAL and run.returncode in (0, 1):
            return f"status {run.returncode}"
        if run.returncode != 0 or not found or not found[0]:
            raise Failed(f"status {run.returncode}, capacity {found}; see {self.out}/capacity.log")
        return f"{found[0]:.2f} requests per second with a median TTFT within the limit"

    def all(self) -> list[dict]:
        """Make the checks one after the other. A failed one does not stop the next."""
        made = []
        for check in (self.machine, self.killed, self.resumed, self.counted, self.foreign, self.throttled, self.capacity):
            began = time.monotonic()
            try:
                status, saw = "ok", check()
            except Skipped as e:
                status, saw = "skipped", str(e)
            except (Failed, OSError, KeyError, IndexError, ValueError, subprocess.SubprocessError) as e:
                status, saw = "failed", str(e) if isinstance(e, Failed) else repr(e)
            took = time.monotonic() - began
            print(f"{status:8} {check.__name__:10} {took:6.1f} s  {saw}", flush=True)
            made.append({"check": check.__name__, "asks": check.__doc__, "status": status, "saw": saw, "seconds": round(took, 1)})
        return made


def write(out: pathlib.Path, facts: dict, made: list[dict]):
    """Write what was seen as JSON and as a page."""
    (out / "acceptance.json").write_text(json.dumps({"facts": facts, "checks": made}, indent=2) + "\n")
    lines = [f"# GPU acceptance of {ENGINE}: {', '.join(facts.get('gpu', ['no GPU']))}", "", "| check | status | seen | time |", "|:--|:--|:--|--:|"]
    for c in made:
        saw = c["saw"].replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {c['asks']} | {c['status']} | {saw} | {c['seconds']:.0f} s |")
    (out / "acceptance.md").write_text("\n".join(lines) + "\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    if any((out / name).exists() for name in ("main", "foreign", "capacity", "second")):
        sys.exit(f"acceptance.py: {out} holds an earlier acceptance; name another folder")
    a = Acceptance(out)
    if ENGINE == "llamacpp":
        maker = [sys.executable, HERE.parent / "llamacpp" / "make_model.py", a.model, SIZE[1], SIZE[0]]
    else:
        maker = [sys.executable, HERE.parent / "vllm-cpu" / "make_model.py", a.model, "--hidden", SIZE[0], "--layers", SIZE[1], "--endless"]
    subprocess.run(maker, env=a.env, check=True, stdout=subprocess.DEVNULL)
    try:
        a.energy = Energy()
    except Exception as e:  # pynvml has its own errors, and may be absent
        a.no_energy = f"NVML's energy counter cannot be read: {e}"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        made = a.all()
    finally:
        a.end()
    write(out, a.facts, made)
    print(f"wrote {out}/acceptance.json and {out}/acceptance.md")
    sys.exit(1 if any(c["status"] == "failed" for c in made) else 0)


if __name__ == "__main__":
    main()
