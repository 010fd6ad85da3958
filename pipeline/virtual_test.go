package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// virtualExamples are the arguments and exit statuses of the examples in virtual time where
// they are not the plain ones: what the README of each promises. Without -full there are two
// repeats, or what quick says.
var virtualExamples = map[string]struct {
	args, quick []string
	exit        int
	// sockets is true if an example has no model in virtual time, and is rehearsed with processes.
	sockets bool
}{
	"quickstart":        {exit: 1, quick: []string{}}, // a later first token is what it shows
	"vllm-cpu":          {exit: 1, quick: []string{}}, // one of its sides may hold one sequence only
	"vllm-cpu-answers":  {exit: 1, quick: []string{}}, // its head answers otherwise
	"vllm-cpu-bisect":   {exit: 1, quick: []string{}}, // as for bisect
	"vllm-cpu-capacity": {exit: 1, quick: []string{}}, // its head carries less
	"bisect":            {exit: 1, quick: []string{}}, // its two ends differ, which is what a search is for
	"profile":           {exit: 1, quick: []string{}}, // and of a regression it shows a profile
	"drivers":           {exit: 3},                    // other generators than ours have no model
	"routers":           {exit: 3, sockets: true},     // nor have routers
	"kubernetes":        {quick: []string{}},          // with its own repeats it passes
	"ray-two-nodes":     {args: []string{"--var", "quick=true"}},
	"length-sweep":      {quick: []string{"--var", "quick=true", "--repeat", "2"}},
	"mooncake-a10":      {quick: []string{"--var", "repeats=2"}},
	"sharegpt-soak":     {args: []string{"--var", "minutes=5"}},
}

// TestExamplesInVirtualTime carries every example out whole, from its plan to its reports,
// with the exit status that its README promises.
func TestExamplesInVirtualTime(t *testing.T) {
	t.Parallel() // its parts beside those of others, as some wait
	for _, file := range examples(t) {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, run := filepath.Dir(file), filepath.Join(t.TempDir(), "run")
			want := virtualExamples[name]
			args := append([]string{"run", "--simulate=virtual", "--progress", "quiet", "--out", run, filepath.Base(file)}, want.args...)
			if want.quick == nil {
				want.quick = []string{"--repeat", "2"}
			}
			if !*full {
				args = append(args, want.quick...)
			}
			out, code := pipeline(t, dir, args...)
			if code != want.exit {
				t.Fatalf("exit status %d, want %d:\n%s", code, want.exit, out)
			}
			if code == 3 {
				return
			}
			for _, bad := range []string{"invalid", "no verdict", "void"} {
				if strings.Contains(out, bad) {
					t.Errorf("%q in a run where nothing can go wrong:\n%s", bad, out)
				}
			}
			if name == "mooncake-a10" && *full {
				publishedComparison(t, run)
			}
		})
	}
}

// publishedComparison sets a run of the example of the published comparison beside it: the
// test of the simulator that does so for runs through real sockets does it for this one.
func publishedComparison(t *testing.T, run string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "./steps/simulate", "-run", "^TestSeed000Live$", "-v", "-count=1")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "PIPELINE_SEED000_RESULTS="+run)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSeed000Live") {
		t.Errorf("the published comparison is not kept: %v", err)
	}
}

// TestVirtualTimeRepeatsItself: two runs of a file differ in their names and dates alone, to
// the last token of every request.
func TestVirtualTimeRepeatsItself(t *testing.T) {
	t.Parallel()
	var results [2]map[string]any
	var records [2]map[string]string
	for i := range results {
		run := filepath.Join(t.TempDir(), "run")
		if out, code := pipeline(t, filepath.Join("..", "examples", "quickstart"), "run", "quickstart.pipeline.hcl", "--simulate=virtual",
			"--progress", "quiet", "--out", run); code != 1 {
			t.Fatalf("exit status %d: %s", code, out)
		}
		text, err := os.ReadFile(filepath.Join(run, "results.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &results[i]); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"run_id", "started", "ended"} {
			delete(results[i], name)
		}
		files, err := filepath.Glob(filepath.Join(run, "records", "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no records: %v", err)
		}
		records[i] = map[string]string{}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			records[i][filepath.Base(f)] = string(text)
		}
	}
	if diff := cmp.Diff(results[0], results[1]); diff != "" {
		t.Errorf("results differ: %s", diff)
	}
	if diff := cmp.Diff(records[0], records[1]); diff != "" {
		t.Errorf("records differ")
	}
}

// TestSelftestOfDeployments: the gates of files with prefill and decode servers are tried by
// planted slow-downs as well.
func TestSelftestOfDeployments(t *testing.T) {
	t.Parallel()
	names := []string{"sglang-pd"}
	if *full {
		names = append(names, "nccl-tcp-rdma")
	}
	for _, name := range names {
		out, code := pipeline(t, filepath.Join("..", "examples", name), "selftest", "--sessions", "1", name+".pipeline.hcl")
		if code != 0 || !strings.Contains(out, "the gates find a change of twice their margin of 10 % and invent none") {
			t.Errorf("%s: exit status %d:\n%s", name, code, out)
		}
	}
}
