package session

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/vllm"
)

const quickstart = "../../../examples/quickstart/quickstart.pipeline.hcl"

// TestEqualSidesInVirtualTime runs the quickstart with two equal sides 200 times, with
// the simulator's model in virtual time behind the real plan, reduction and judgement.
// A file may be called a regression in at most alpha of the runs: with 200 of them and
// alpha = 0.05 more than 20 happen with a chance below 0.1 %.
func TestEqualSidesInVirtualTime(t *testing.T) {
	v := newVirtual(t, "off", 5, 5)
	verdicts := map[result.Verdict]int{}
	for seed := range 200 {
		verdicts[v.run(t, seed).Verdict]++
	}
	t.Logf("200 files with equal sides: %v", verdicts)
	if n := verdicts[result.Regression]; n > 20 {
		t.Errorf("%d of 200 files with equal sides are called a regression; alpha allows about 10, and 20 by chance", n)
	}
	if n := verdicts[result.Missing] + verdicts[result.Invalid]; n > 0 {
		t.Errorf("%d files are missing or invalid, although nothing failed", n)
	}
}

// TestPlantedChangeInVirtualTime is the counterpart: the change that the quickstart is
// about is found.
func TestPlantedChangeInVirtualTime(t *testing.T) {
	v := newVirtual(t, "on", 5, 5)
	found := 0
	for seed := range 40 {
		if v.run(t, seed).Verdict == result.Regression {
			found++
		}
	}
	if found < 38 {
		t.Errorf("the planted change was found in %d of 40 files, want at least 38", found)
	}
}

// TestLooksInVirtualTime runs the quickstart with looks after 4, 6, 8, 10 and 12 repeats:
// the error of all looks together holds, the planted change is found, and most of the
// repeats are saved. Resuming judges as the looks did, since both see the same document.
func TestLooksInVirtualTime(t *testing.T) {
	for _, tt := range []struct {
		head    string
		files   int
		pairs   float64 // at most, on average
		verdict result.Verdict
		atLeast int
		atMost  int
	}{
		{"off", 100, 8, result.Regression, 0, 13}, // 5 % of 100, and 13 with a chance below 0.1 %
		{"on", 30, 5, result.Regression, 29, 30},
	} {
		v := newVirtual(t, tt.head, 4, 12)
		found, pairs := 0, 0
		for seed := range tt.files {
			doc := v.run(t, seed)
			pairs += doc.RepeatsDone
			if doc.Verdict == tt.verdict {
				found++
			}
			if n := len(doc.LooksTaken); n == 0 || doc.LooksTaken[n-1] != doc.RepeatsDone {
				t.Errorf("head %s, seed %d: looks %v of %d repeats", tt.head, seed, doc.LooksTaken, doc.RepeatsDone)
			}
		}
		mean := float64(pairs) / float64(tt.files)
		t.Logf("head %s: %d of %d files are called a %s, after %.2f repeats on average", tt.head, found, tt.files, tt.verdict, mean)
		if found < tt.atLeast || found > tt.atMost {
			t.Errorf("head %s: %d of %d files are called a %s, want %d to %d", tt.head, found, tt.files, tt.verdict, tt.atLeast, tt.atMost)
		}
		if mean > tt.pairs {
			t.Errorf("head %s: %.2f repeats on average, want at most %g", tt.head, mean, tt.pairs)
		}
	}
}

// virtual runs a plan with the model of the simulated servers in place of the servers.
type virtual struct {
	cfg    *lang.Config
	plan   *plan.Plan
	models map[string]simulate.Config
}

func newVirtual(t *testing.T, head string, least, most int) *virtual {
	t.Helper()
	registry, err := steps.NewRegistry(append(dataset.Kinds(), vllm.Kind(), sglang.Kind())...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{
		Paths: []string{quickstart}, Registry: registry, Env: func() []string { return nil },
		Vars: []lang.VarArg{{Name: "head", Text: head, Origin: "test"}},
	})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, b := range cfg.Benchmarks {
		b.RepeatMin, b.RepeatMax = least, most
	}
	p, diags := plan.Build(cfg, plan.Options{File: "quickstart", Simulated: "process", TimeScale: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	v := &virtual{cfg: cfg, plan: p, models: map[string]simulate.Config{}}
	for _, s := range cfg.Servers {
		argv, err := Argv(vllm.New(), s.Spec, true)
		if err != nil {
			t.Fatal(err)
		}
		for i := range argv {
			if argv[i] == "PORT" {
				argv[i] = "1"
			}
		}
		settings, err := settingsOf(s.Spec, 1, s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		server, err := simulate.NewServer(argv, simulate.Options{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		v.models[s.Addr] = server.Config()
	}
	return v
}

// run carries the plan out once, with its own noise of launches and steps.
func (v *virtual) run(t *testing.T, seed int) *result.Document {
	t.Helper()
	out := &engine.Outcome{Started: time.Unix(0, 0), Ended: time.Unix(1, 0), Status: "complete"}
	for _, r := range v.plan.Repeats {
		if v.decided(t, out, seed) {
			break
		}
		out.RepeatsDone++
		for _, l := range r.Launches {
			launched := engine.Launched{
				ID: l.ID, Repeat: r.Index, Target: l.Target,
				Attempts: []result.Launch{{ID: l.ID, Repeat: r.Index, Target: l.Target}},
			}
			for _, run := range l.Runs {
				launched.Runs = append(launched.Runs, engine.CellRun{Cell: run.Cell, Run: v.measure(t, seed, r.Index, l, run)})
			}
			out.Launched = append(out.Launched, launched)
		}
	}
	doc := v.document(out)
	if err := Judge(v.cfg, v.plan, doc, nil); err != nil {
		t.Fatal(err)
	}
	return doc
}

func (v *virtual) document(out *engine.Outcome) *result.Document {
	return engine.Document(v.plan, out, engine.About{Tool: "test", RunID: "virtual"})
}

// decided takes the look that is due, if one is.
func (v *virtual) decided(t *testing.T, out *engine.Outcome, seed int) bool {
	t.Helper()
	if len(v.plan.Looks) < 2 || !slices.Contains(v.plan.Looks, out.RepeatsDone) {
		return false
	}
	look, err := judge.Ask(v.plan, v.document(out), judging(v.cfg, nil))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return look.Stop
}

func (v *virtual) measure(t *testing.T, seed, repeat int, l plan.Launch, run plan.Run) result.Run {
	t.Helper()
	_, cell, _ := v.plan.Cell(run.Cell)
	w := cell.Workload
	var arrivals []simulate.Arrival
	for i, at := range load.Schedule(w.Load, load.Count(w.Load), run.ShapeSeed) {
		// Content is new in every request, as in a real run: no prefix is shared.
		arrivals = append(arrivals, simulate.Arrival{At: at, Input: w.Dataset.InputMin, Output: w.Dataset.OutputMin, Prompt: prompt(w.Dataset.InputMin, seed, repeat, i)})
	}
	timelines, err := simulate.Model{Config: v.models[l.Target]}.Replay(arrivals, noise("launch", seed, l.ID))
	if err != nil {
		t.Fatal(err)
	}
	requests := simulate.Records(arrivals, timelines)
	var end int64
	for _, r := range requests {
		end = max(end, r.Done)
	}
	return result.Run{
		Repeat: repeat, Launch: l.ID, Status: "ok", Sent: len(requests),
		Metrics: record.Reduce(record.Run{Duration: end, Requests: requests}),
	}
}

func prompt(n int, draw ...any) []int {
	ids := make([]int, n)
	first := int(noise(draw...) % 1_000_000)
	for i := range ids {
		ids[i] = first + i
	}
	return ids
}

func noise(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, parts...)
	return h.Sum64()
}
