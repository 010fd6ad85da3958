package session

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/virtual"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/vllm"
)

// onTwoMachines has a head that is slower by 15 % on both machines.
const onTwoMachines = `
pipeline {
  docker {
    host { url = "ssh://gpu-a" }
    host { url = "ssh://gpu-b" }
  }
  machines { confirm = true }
}
server "vllm" "sut" {
  for_each = { base = "0%", head = "15%" }
  image    = "vllm:${each.key}"
  version  = "0.11.0"
  model    = "Qwen/Qwen3-8B"
  simulate {
    profile      = "h100"
    startup      = "1m"
    launch_noise = "1%"
    slowdown     = each.value
  }
}
dataset "random" "chat" {
  input_len  = 32
  output_len = 32
}
benchmark "b" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.chat
  load {
    rate     = 4
    requests = 32
  }
  repeat {
    min = 4
    max = MOST
  }
}
baseline "paired" "base" {
  axis  = "side"
  value = "base"
}
gate "g" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.tpot.p50]
  margin    = "5%"
}
`

// confirming carries onTwoMachines out in a run directory, with so many repeats at most.
func confirming(t *testing.T, ctx context.Context, out, most string, resume bool, view event.Handler) *result.Document {
	t.Helper()
	file := filepath.Join(t.TempDir(), "two.pipeline.hcl")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(onTwoMachines, "MOST", most)), 0o600); err != nil {
		t.Fatal(err)
	}
	registry, err := steps.NewRegistry(append(dataset.All().Blocks(), vllm.Kind())...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{Paths: []string{file}, Registry: registry, Formats: reports.AllFormats().Names(), Env: func() []string { return nil }})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := plan.Build(cfg, plan.Options{File: "two", Simulated: plan.SimulateVirtual, TimeScale: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	now := time.Unix(1_800_000_000, 0)
	got, err := Run(ctx, Options{
		Config: cfg, Plan: p, Dir: filepath.Dir(file), Out: out, Resume: resume, Engines: simulators, Formats: reports.AllFormats(),
		Places: []place.Kind{virtual.Kind()}, Self: "pipeline", Now: func() time.Time { return now }, Random: rand.Reader,
		Views: []event.Handler{view}, InterruptCode: func(error) int { return 130 },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := judge.Verify(got.Document, nil); err != nil {
		t.Errorf("the document does not follow from its runs: %v", err)
	}
	return got.Document
}

// stoppingAt interrupts a run at the n-th event of a type on the second machine.
type stoppingAt struct {
	at   event.Type
	n    int
	stop context.CancelCauseFunc
	seq  int // of the last event; later ones have larger ones
	back int // events that had not
}

// Handle implements event.Handler.
func (s *stoppingAt) Handle(e event.Event) {
	if e.Seq <= s.seq {
		s.back++
	}
	s.seq = e.Seq
	if e.Type == s.at && strings.HasPrefix(e.Launch, plan.ConfirmPrefix) {
		if s.n--; s.n == 0 {
			s.stop(errors.New("stopped by hand"))
		}
	}
}

// TestAConfirmationIsGoneOnWith: a run that is interrupted on its second machine has no verdict yet, and one
// that is resumed launches only what is missing there and comes to what it would have come to.
func TestAConfirmationIsGoneOnWith(t *testing.T) {
	seen := new(stoppingAt)
	want := confirming(t, t.Context(), filepath.Join(t.TempDir(), "run"), "4", false, seen)
	if want.Verdict != result.Regression || want.Confirmation == nil || len(want.Confirmation.Launches) != 8 || len(want.Launches) != 8 {
		t.Fatalf("%s with %d launches, and %+v", want.Verdict, len(want.Launches), want.Confirmation)
	}
	records := map[string]bool{}
	for _, b := range append(want.Benchmarks, want.Confirmation.Benchmarks...) {
		for _, c := range b.Cells {
			for _, r := range c.Runs {
				records[r.Records] = true
			}
		}
	}
	if len(records) != 16 {
		t.Errorf("16 runs have %d files of records", len(records))
	}
	if reason := want.Gates[0].Decisions[0].Reason; !strings.Contains(reason, "on machine 0") || !strings.Contains(reason, "on machine 1") {
		t.Errorf("the reason is %q", reason)
	}
	for _, at := range []stoppingAt{{at: event.LaunchStart, n: 1}, {at: event.RunStart, n: 3}, {at: event.RunEnd, n: 4}, {at: event.LaunchDone, n: 7}} {
		t.Run(string(at.at), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			at.stop = cancel
			cut := confirming(t, ctx, out, "4", false, &at)
			d := cut.Gates[0].Decisions[0]
			if cut.Status != result.StatusInterrupted || cut.ExitCode != 130 || d.Verdict != result.Inconclusive || !strings.Contains(d.Reason, "not confirmed yet") {
				t.Errorf("%s, exit status %d, %s: %s", cut.Status, cut.ExitCode, d.Verdict, d.Reason)
			}
			again := new(stoppingAt)
			whole := confirming(t, t.Context(), out, "4", true, again)
			if seen.back+at.back+again.back > 0 {
				t.Errorf("events are not numbered in one row: %d, %d and %d go back", seen.back, at.back, again.back)
			}
			d, w := whole.Gates[0].Decisions[0], want.Gates[0].Decisions[0]
			if d.Verdict != w.Verdict || d.Reason != w.Reason || len(whole.Launches) != 8 || len(whole.Confirmation.Launches) != 8 {
				t.Errorf("%s: %s with %d launches on the second machine, want %s: %s", d.Verdict, d.Reason, len(whole.Confirmation.Launches), w.Verdict, w.Reason)
			}
		})
	}
}

// TestAConfirmationThatHadNoPlanYetBegins: a run may be killed between the directory and the plan.
func TestAConfirmationThatHadNoPlanYetBegins(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	confirming(t, t.Context(), out, "4", false, new(stoppingAt))
	if err := os.Remove(filepath.Join(out, "confirm", "plan.json")); err != nil {
		t.Fatal(err)
	}
	whole := confirming(t, t.Context(), out, "4", true, new(stoppingAt))
	if whole.Verdict != result.Regression || len(whole.Confirmation.Launches) != 8 {
		t.Errorf("%s after %d launches on the second machine", whole.Verdict, len(whole.Confirmation.Launches))
	}
}

// TestMoreRepeatsAreConfirmedAnew: a run that is given more repeats has another plan for its second machine.
func TestMoreRepeatsAreConfirmedAnew(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	confirming(t, t.Context(), out, "6", false, new(stoppingAt))
	longer := confirming(t, t.Context(), out, "8", true, new(stoppingAt))
	if longer.Verdict != result.Regression || longer.Confirmation.RepeatsPlanned != 8 {
		t.Errorf("%s, %d repeats planned on the second machine", longer.Verdict, longer.Confirmation.RepeatsPlanned)
	}
	for _, name := range []string{"confirm", "confirm-2"} {
		if _, err := os.Stat(filepath.Join(out, name, "events.jsonl")); err != nil {
			t.Error(err)
		}
	}
}
