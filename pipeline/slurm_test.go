package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// needSlurm skips the test unless PIPELINE_SLURM is the folder of a cluster that
// .ci/slurm.sh has started, and returns a rig of it.
func needSlurm(t *testing.T) *slurmRig {
	t.Helper()
	r := &slurmRig{dir: os.Getenv("PIPELINE_SLURM")}
	if r.dir == "" {
		skipOrFail(t, "slurm", "PIPELINE_SLURM does not name the folder of a cluster; start one with .ci/slurm.sh up DIR")
	}
	t.Setenv("SLURM_CONF", filepath.Join(r.dir, "slurm.conf"))
	if _, err := r.command("sinfo", "--noheader"); err != nil {
		skipOrFail(t, "slurm", err.Error())
	}
	return r
}

// slurmRig is a cluster and what tests do to it.
type slurmRig struct{ dir string }

// command runs one of Slurm's, or the cluster's script.
func (r *slurmRig) command(argv ...string) (string, error) {
	out, err := exec.Command("timeout", append([]string{"60"}, argv...)...).CombinedOutput()
	if err != nil {
		err = errors.Join(err, errors.New(strings.Join(argv, " ")+": "+string(out)))
	}
	return string(out), err
}

func (r *slurmRig) must(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := r.command(argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *slurmRig) script(t *testing.T, command string, args ...string) {
	t.Helper()
	r.must(t, append([]string{filepath.Join("..", ".ci", "slurm.sh"), command, r.dir}, args...)...)
}

// empty waits until the cluster has no job and all its nodes are idle.
func (r *slurmRig) empty(t *testing.T) {
	t.Helper()
	// Slurm drains a node whose step does not end within a minute.
	var jobs, idle string
	if !within(3*time.Minute, 100*time.Millisecond, func() bool {
		jobs = r.must(t, "squeue", "--noheader")
		idle = r.must(t, "sinfo", "--noheader", "--Node", "--partition=main", "--states=idle", "--format=%n")
		if jobs == "" && len(strings.Fields(idle)) == 2 {
			return true
		}
		r.resume(t)
		return false
	}) {
		t.Fatalf("jobs are left: %s\nidle nodes: %s", jobs, idle)
	}
}

// resume takes nodes back that Slurm has drained, because a step took more than a minute to
// end: one hang of its daemons must not fail every test after it.
func (r *slurmRig) resume(t *testing.T) {
	t.Helper()
	drained := r.must(t, "sinfo", "--noheader", "--Node", "--partition=main", "--states=drained", "--format=%n")
	for node := range strings.FieldsSeq(drained) {
		t.Logf("node %s was drained: %s", node, r.must(t, "sinfo", "--noheader", "--nodes="+node, "--format=%E"))
		r.must(t, "scontrol", "update", "nodename="+node, "state=resume")
	}
}

// file puts the pipeline files into a folder that the nodes see, too.
func (r *slurmRig) file(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{"slurm.pipeline.hcl": "f.hcl", "slurm-places.pipeline.hcl": "places.hcl",
		"slurm-search.pipeline.hcl": "search.hcl"} {
		content, err := os.ReadFile(filepath.Join("testdata", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func slurmRun(t *testing.T, more ...string) []string {
	t.Helper()
	self, err := exec.LookPath("pipeline") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"run", "f.hcl", "--out", "out", "--progress", "plain", "--var", "program=" + self}, more...)
}

// meanwhile runs the program, and something else at a moment of it: a word of its journal.
func (r *slurmRig) meanwhile(t *testing.T, dir, moment string, do func(program *os.Process), args ...string) (string, int) {
	t.Helper()
	cmd, out := markedCommand(t, dir, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitJournal(t, dir, moment)
	do(cmd.Process)
	err := cmd.Wait()
	return out.String(), exitStatus(t, err)
}

func awaitJournal(t *testing.T, dir, moment string) {
	t.Helper()
	if !within(time.Minute, 5*time.Millisecond, fileHolds(filepath.Join(dir, "out", "events.jsonl"), moment)) {
		t.Fatalf("the journal never held %s", moment)
	}
}

func machineOf(t *testing.T, dir string) *result.Document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "out", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc result.Document
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return &doc
}

// loadStep waits until the load of a run is a step of the job, and returns its number.
func (r *slurmRig) loadStep(t *testing.T) string {
	t.Helper()
	step := ""
	if !within(time.Minute, 100*time.Millisecond, func() bool {
		for line := range strings.Lines(r.must(t, "squeue", "--noheader", "--steps", "--format=%i %j")) {
			if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "load.") {
				step = id
			}
		}
		return step != ""
	}) {
		t.Fatal("the load never was a step of the job")
	}
	return step
}

const (
	runStarts    = `"type":"run_start"`
	loadStarts   = "load-worker"
	secondLaunch = `"type":"launch_done"`
)

// TestSlurm carries pipelines out on a cluster of two nodes and ends them in every way:
// each ends as named, and nothing is left on the cluster.
func TestSlurm(t *testing.T) {
	r := needSlurm(t)
	many := []string{"--var", "requests=300"}
	pairs := append([]string{"--var", "target=pairs"}, many...)
	for _, tt := range []struct {
		name string
		code int
		want string // in what the program prints
		run  func(t *testing.T, dir string) (string, int)
	}{
		{"servers", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := marked(t, dir, slurmRun(t)...)
			if code != 0 {
				return text, code
			}
			if got := machineOf(t, dir).Machine; got["slurm.node0"] != "n1" || got["slurm.node1"] != "n2" || got["load_generator"] == "" {
				t.Errorf("the result's machine is %v", got)
			}
			return text, code
		}},
		{"pairs", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := marked(t, dir, slurmRun(t, "--var", "target=pairs")...)
			if code != 0 {
				return text, code
			}
			for _, target := range machineOf(t, dir).Targets {
				if target.Describe["prefill/slurm.node"] != "n1" || target.Describe["decode/slurm.node"] != "n2" {
					t.Errorf("%s ran elsewhere: %v", target.Addr, target.Describe)
				}
			}
			return text, code
		}},
		{"the same file rehearsed on this machine", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return marked(t, dir, slurmRun(t, "--var", "target=pairs", "--simulate")...)
		}},
		{"two settings by one command", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			self, err := exec.LookPath("pipeline")
			if err != nil {
				t.Fatal(err)
			}
			text, code := marked(t, dir, "ab", self+" simulate -- vllm", "--engine", "vllm", "--model", "tiny", "--head-arg", "max_num_seqs=64",
				"--input-len", "32", "--output-len", "8", "--concurrency", "2", "--requests", "20", "--repeats", "2", "--fail-on", "never",
				"--slurm", "main", "--out", "out", "--progress", "plain")
			if code != 0 {
				return text, code
			}
			if doc := machineOf(t, dir); !strings.HasPrefix(doc.Machine["slurm.node0"], "n") || len(doc.Launches) != 4 {
				t.Errorf("%d launches on %v", len(doc.Launches), doc.Machine)
			}
			return text, code
		}},
		{"inside an allocation", 0, "is used on n1, n2", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			job := strings.TrimSpace(r.must(t, "sbatch", "--parsable", "--nodes=2", "--gres=gpu:2", "--exclusive", "--output=/dev/null",
				"--wrap=exec sleep 1000"))
			if !within(time.Minute, 100*time.Millisecond, func() bool {
				return strings.Contains(r.must(t, "squeue", "--noheader", "--jobs="+job, "--format=%T"), "RUNNING")
			}) {
				t.Fatal("the allocation never ran")
			}
			t.Setenv("SLURM_JOB_ID", job)
			text, code := marked(t, dir, slurmRun(t, "--var", "target=pairs")...)
			steps := ""
			if !within(20*time.Second, 100*time.Millisecond, func() bool {
				steps = strings.TrimSpace(r.must(t, "squeue", "--noheader", "--steps", "--jobs="+job, "--format=%j"))
				return steps == "batch"
			}) {
				t.Errorf("of the allocation is left: %q", steps)
			}
			r.must(t, "scancel", job)
			return text, code
		}},
		{"a server that crashes", 1, "verdict: regression", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return marked(t, dir, slurmRun(t, "--var", "repeats=4", "--var", `fails=["crash_after=9"]`)...)
		}},
		{"side by side", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := marked(t, dir, slurmRun(t, "--var", "side_by_side=true", "--var", "repeats=4", "--var", "requests=100")...)
			if code == 0 {
				checkLanes(t, dir)
			}
			return text, code
		}},
		{"load from a node", 0, "load from n2", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := marked(t, dir, slurmRun(t, "--var", "load_node=1", "--var", "target=pairs")...)
			if code == 0 {
				checkLoadNode(t, dir, map[int]string{1: "n2", 2: "n2"})
			}
			return text, code
		}},
		{"load from a node, side by side", 0, "load from n1, n2", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := marked(t, dir, slurmRun(t, "--var", "load_node=0", "--var", "side_by_side=true")...)
			if code == 0 {
				checkLoadNode(t, dir, map[int]string{1: "n1", 2: "n2"})
			}
			return text, code
		}},
		{"load from a node, its step cancelled", 0, "load_generator_lost", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := r.meanwhile(t, dir, loadStarts, func(*os.Process) {
				r.must(t, "scancel", r.loadStep(t))
			}, slurmRun(t, append(many, "--var", "load_node=1")...)...)
			if code == 0 {
				checkReplaced(t, dir)
			}
			return text, code
		}},
		{"load from a node that is lost", 4, "node_lost", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := r.meanwhile(t, dir, loadStarts, func(*os.Process) {
				r.loadStep(t)
				r.script(t, "lose", "n2")
			}, slurmRun(t, append(many, "--var", "load_node=1")...)...)
			r.script(t, "node", "n2")
			return text, code
		}},
		{"load from a node, interrupted", 130, "interrupted", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return r.meanwhile(t, dir, loadStarts, func(p *os.Process) {
				r.loadStep(t)
				if err := p.Signal(syscall.SIGINT); err != nil {
					t.Error(err)
				}
			}, slurmRun(t, append(many, "--var", "load_node=1")...)...)
		}},
		{"load from a node, killed and resumed", 0, "left by the interrupted run, was cancelled", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			args := slurmRun(t, append(many, "--var", "load_node=1")...)
			r.meanwhile(t, dir, secondLaunch, func(p *os.Process) { _ = p.Kill() }, args...)
			text, code := marked(t, dir, append(args, "--resume")...)
			if code == 0 {
				checkLoadNode(t, dir, map[int]string{1: "n2", 2: "n2"})
			}
			return text, code
		}},
		{"side by side, a node lost", 4, "node_lost", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := r.meanwhile(t, dir, runStarts, func(*os.Process) { r.script(t, "lose", "n2") },
				slurmRun(t, append(many, "--var", "side_by_side=true")...)...)
			r.script(t, "node", "n2")
			return text, code
		}},
		{"side by side on unlike nodes", 4, "node n1 has gpu_name NVIDIA H100 and node n2 has gpu_name NVIDIA A100",
			func(t *testing.T, dir string) (string, int) {
				t.Helper()
				unlikeGPUs(t)
				return marked(t, dir, slurmRun(t, "--var", "side_by_side=true")...)
			}},
		{"unlike nodes for unlike roles", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			unlikeGPUs(t)
			text, code := marked(t, dir, slurmRun(t, "--var", "target=pairs")...)
			if code == 0 {
				m := machineOf(t, dir).Machine
				if m["slurm.node0.gpu_name"] != "NVIDIA H100" || m["slurm.node1.gpu_name"] != "NVIDIA A100" || m["gpu"] != "NVIDIA H100" {
					t.Errorf("the result's machine is %v", m)
				}
			}
			return text, code
		}},
		{"a capacity is searched", 0, "side=head: at least 40 req/s, 2 probes", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			args := slurmRun(t)
			args[1] = "search.hcl"
			return marked(t, dir, args...)
		}},
		{"one server on one node and on two", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			args := slurmRun(t)
			args[1] = "places.hcl"
			text, code := marked(t, dir, args...)
			if code == 0 {
				checkPlaces(t, dir)
			}
			return text, code
		}},
		{"one of a server's processes fails", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			args := slurmRun(t, "--var", `fails=["node_dies=3"]`)
			args[1] = "places.hcl"
			text, code := marked(t, dir, args...)
			// Of two starts: one whose end is heard of late may be blamed on the other node.
			if !slices.ContainsFunc(machineOf(t, dir).Launches, func(l result.Launch) bool {
				f := l.Failure
				return f != nil && strings.HasPrefix(f.Evidence, "node1: ") && strings.Contains(f.Evidence, "illegal memory access")
			}) {
				t.Error("the node that failed is not blamed")
			}
			return text, code
		}},
		{"one of a server's nodes lost", 4, "node_lost", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			args := slurmRun(t, "--only", "place=two")
			args[1] = "places.hcl"
			text, code := r.meanwhile(t, dir, runStarts, func(*os.Process) { r.script(t, "lose", "n2") }, args...)
			r.script(t, "node", "n2")
			return text, code
		}},
		{"a real engine", 1, "verdict: regression", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			args := llamaArgs(t, realLlama(t), filepath.Join(dir, "llama.hcl"), "pipeline {\n  slurm {\n    time = \"20m\"\n  }\n}\n\n")
			return marked(t, dir, append(args, "--only", "side=slow")...)
		}},
		{"no such partition", 4, "allocation_refused", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return marked(t, dir, slurmRun(t, "--var", "partition=nope")...)
		}},
		{"too many GPUs", 4, "allocation_refused", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return marked(t, dir, slurmRun(t, "--var", "gpus=9")...)
		}},
		{"too much time", 4, "job_pending", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return marked(t, dir, slurmRun(t, "--var", "partition=brief")...)
		}},
		{"nodes that are taken", 4, "job_pending", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			job := strings.TrimSpace(r.must(t, "sbatch", "--parsable", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=exec sleep 1000"))
			defer r.must(t, "scancel", job)
			return marked(t, dir, slurmRun(t, "--var", "queue_timeout=2s")...)
		}},
		{"a node drained before", 4, "drained, and given to no job: n2 (bad NIC)", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			r.must(t, "scontrol", "update", "nodename=n2", "state=drain", "reason=bad NIC")
			defer r.must(t, "scontrol", "update", "nodename=n2", "state=resume")
			return marked(t, dir, slurmRun(t, append(pairs, "--var", "queue_timeout=2s")...)...)
		}},
		{"a node drained during a run", 0, "node n2 (bad NIC) is being drained: Slurm job ", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			defer r.resume(t)
			return r.meanwhile(t, dir, runStarts, func(*os.Process) {
				r.must(t, "scontrol", "update", "nodename=n2", "state=drain", "reason=bad NIC")
			}, slurmRun(t, pairs...)...)
		}},
		{"pre-empted", 4, "preempted", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return r.meanwhile(t, dir, runStarts, func(*os.Process) {
				r.must(t, "sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=exec sleep 3")
			}, slurmRun(t, pairs...)...)
		}},
		{"too little time", 4, "time_limit", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return marked(t, dir, slurmRun(t, "--var", "partition=brief", "--var", "time=1m", "--var", "requests=3000")...)
		}},
		{"job cancelled", 4, "job_cancelled", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return r.meanwhile(t, dir, runStarts, func(*os.Process) {
				r.must(t, "bash", "-c", "scancel $(squeue --noheader --format=%i)")
			}, slurmRun(t, pairs...)...)
		}},
		{"step cancelled", 4, "step_cancelled", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return r.meanwhile(t, dir, runStarts, func(*os.Process) {
				r.must(t, "bash", "-c", "scancel $(squeue --noheader --steps --format='%i %j' | grep decode | cut -d' ' -f1)")
			}, slurmRun(t, pairs...)...)
		}},
		{"node lost", 4, "node_lost", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := r.meanwhile(t, dir, runStarts, func(*os.Process) { r.script(t, "lose", "n2") }, slurmRun(t, pairs...)...)
			r.script(t, "node", "n2")
			return text, code
		}},
		{"controller away for 10 seconds during a run", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return r.meanwhile(t, dir, runStarts, func(*os.Process) {
				r.script(t, "stop")
				away := time.Now()
				awaitJournal(t, dir, `"type":"run_end"`)
				// real time: the controller is away for as long as the name says
				time.Sleep(time.Until(away.Add(10 * time.Second)))
				r.script(t, "start")
			}, slurmRun(t, pairs...)...)
		}},
		{"suspended and resumed during a run", 0, "exit status 0", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			text, code := r.meanwhile(t, dir, runStarts, func(*os.Process) {
				// real time: into the middle of a run of ten seconds
				time.Sleep(2 * time.Second)
				r.must(t, "bash", "-c", "scontrol suspend $(squeue --noheader --format=%i)")
				// real time: for so long the servers stand still
				time.Sleep(3 * time.Second)
				r.must(t, "bash", "-c", "scontrol resume $(squeue --noheader --format=%i)")
			}, slurmRun(t, "--var", "target=pairs", "--var", "requests=1000")...)
			if code == 0 {
				checkReplaced(t, dir)
				for _, cell := range machineOf(t, dir).Benchmarks[0].Cells {
					for _, run := range cell.Runs {
						if run.Status == result.RunVoid && (run.VoidCause != result.VoidSuspended ||
							!strings.Contains(run.Reason, "was suspended and resumed (it did not run for about ")) {
							t.Errorf("void for %q (%s)", run.Reason, run.VoidCause)
						}
					}
				}
			}
			return text, code
		}},
		{"interrupted", 130, "interrupted", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			return r.meanwhile(t, dir, runStarts, func(p *os.Process) {
				if err := p.Signal(syscall.SIGINT); err != nil {
					t.Error(err)
				}
			}, slurmRun(t, pairs...)...)
		}},
		{"killed", 0, "cancelled Slurm job", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			r.meanwhile(t, dir, runStarts, func(p *os.Process) { _ = p.Kill() }, slurmRun(t, pairs...)...)
			return marked(t, dir, "cleanup")
		}},
		{"killed and resumed", 0, "left by the interrupted run, was cancelled", func(t *testing.T, dir string) (string, int) {
			t.Helper()
			// The second launch is cut off; the first, which is complete, is not made again.
			r.meanwhile(t, dir, secondLaunch, func(p *os.Process) { _ = p.Kill() }, slurmRun(t, pairs...)...)
			text, code := marked(t, dir, slurmRun(t, append(pairs, "--resume")...)...)
			if launches := len(machineOf(t, dir).Launches); launches != 4 || strings.Count(text, "launch_start") > 0 {
				t.Errorf("%d launches are in the result of two targets and two repeats\n%s", launches, text)
			}
			return text, code
		}},
	} {
		for round := range slurmTimes(t) {
			t.Run(fmt.Sprintf("%s/%d", tt.name, round+1), func(t *testing.T) {
				dir := r.file(t)
				r.empty(t)
				text, code := tt.run(t, dir)
				if code != tt.code || !strings.Contains(text, tt.want) {
					t.Errorf("exit status %d, want %d and %q\n%s", code, tt.code, tt.want, text)
				}
				r.empty(t)
			})
		}
	}
}

// checkLanes sees that repeats ran at once, each with both sides on one node, in turn.
func checkLanes(t *testing.T, dir string) {
	t.Helper()
	doc := machineOf(t, dir)
	for _, cell := range doc.Benchmarks[0].Cells {
		for _, run := range cell.Runs {
			if want := []string{"n2", "n1"}[run.Repeat%2]; run.Nodes != want || run.Audit["lag_p99_s"] == nil {
				t.Errorf("repeat %d of %v ran on %q, want %q; audit %v", run.Repeat, cell.Values, run.Nodes, want, run.Audit)
			}
		}
	}
	journal, err := os.ReadFile(filepath.Join(dir, "out", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	ready, done := `"type":"launch_ready"`, `"type":"launch_done"`
	if before, _, ok := strings.Cut(string(journal), done); !ok || strings.Count(before, ready) < 2 {
		t.Errorf("no two launches were ready before the first was done")
	}
}

// checkLoadNode sees that the load of each repeat came from its node, that both sides got the
// same, and that nothing is left of what the load generators were given.
func checkLoadNode(t *testing.T, dir string, want map[int]string) {
	t.Helper()
	doc := machineOf(t, dir)
	work := map[int]any{}
	for _, cell := range doc.Benchmarks[0].Cells {
		for _, run := range cell.Runs {
			if run.Audit["load_node"] != want[run.Repeat] || run.Audit["clock"] != "kernel" {
				t.Errorf("repeat %d got its load from %v by clock %v, want %s", run.Repeat, run.Audit["load_node"],
					run.Audit["clock"], want[run.Repeat])
			}
			if other := work[run.Repeat]; other != nil && other != run.Audit["work_hash"] {
				t.Errorf("the sides of repeat %d got %v and %v", run.Repeat, other, run.Audit["work_hash"])
			}
			work[run.Repeat] = run.Audit["work_hash"]
		}
	}
	if m := doc.Machine; m["load_generator.node"] == "" || m["load_generator.cpus"] == "" || m["command.cpus"] == "" ||
		m["slurm.node1.cpus"] == "" {
		t.Errorf("the result's machine is %v", doc.Machine)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "out", "files", "load-*")); len(left) > 0 || err != nil {
		t.Errorf("of load generators is left %q, %v", left, err)
	}
}

// checkReplaced sees that one run was void and its repeat measured again, with both sides.
func checkReplaced(t *testing.T, dir string) {
	t.Helper()
	void, again := 0, 0
	for _, cell := range machineOf(t, dir).Benchmarks[0].Cells {
		for _, run := range cell.Runs {
			if run.Status == result.RunVoid {
				void++
			}
			if run.Replaces > 0 && run.Status == result.RunOK {
				again++
			}
		}
	}
	if void != 1 || again != 2 {
		t.Errorf("%d runs are void and %d were measured again, want 1 and 2", void, again)
	}
}

// checkPlaces sees that a server ran on both nodes where it should, and that the network
// between them makes its tokens several times as slow. It was published as 3.4 times.
func checkPlaces(t *testing.T, dir string) {
	t.Helper()
	doc := machineOf(t, dir)
	tpot := map[string]float64{}
	for _, cell := range doc.Benchmarks[0].Cells {
		tpot[cell.Values[0].Value] = cell.Summary["tpot.mean"]
	}
	if ratio := tpot["two"] / tpot["one"]; !(ratio > 2 && ratio < 5) {
		t.Errorf("TPOT is %.1f ms in one node and %.1f ms over two: ×%.2f, published ×3.4", 1000*tpot["one"], 1000*tpot["two"], ratio)
	} else {
		t.Logf("TPOT is %.1f ms in one node and %.1f ms over two: ×%.2f, published ×3.4", 1000*tpot["one"], 1000*tpot["two"], ratio)
	}
	var at []string
	for _, l := range doc.Launches {
		for _, m := range l.Members {
			at = append(at, m.Role+" on "+m.Describe["slurm.node"])
		}
	}
	slices.Sort(at)
	if want := []string{"node on n2", "server on n1"}; !slices.Equal(at, want) {
		t.Errorf("the processes of the server of two nodes: %q, want %q", at, want)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "out", "logs", "*two-node0*"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log of the first node: %v", err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil || !strings.Contains(string(text), "node 1 joined from 10.77.0.12") {
		t.Errorf("the nodes met elsewhere: %v\n%s", err, text)
	}
}

// unlikeGPUs gives the nodes an nvidia-smi that knows another GPU on each.
func unlikeGPUs(t *testing.T) {
	t.Helper()
	script := `#!/bin/sh
case "$*" in
*--query-gpu=name*)
  name="NVIDIA H100"
  if [ "$(hostname)" = n2 ]; then name="NVIDIA A100"; fi
  echo "$name, 81559, 550.54.15, 700.00, 1980, 5, 16, Disabled, Enabled, Enabled" ;;
*) exit 1 ;;
esac
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// slurmTimes is how often each case runs: once, or PIPELINE_SLURM_TIMES.
func slurmTimes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PIPELINE_SLURM_TIMES")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PIPELINE_SLURM_TIMES = %q is not a number of rounds", text)
	}
	return n
}
