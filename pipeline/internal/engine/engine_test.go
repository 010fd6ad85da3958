package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// statuses lists the runs of a target: "repeat status", in order.
func statuses(p *plan.Plan, o *engine.Outcome, target string) []string {
	var out []string
	for _, l := range o.Launched {
		for _, cr := range l.Runs {
			if _, c, _ := p.Cell(cr.Cell); c.Target == target {
				out = append(out, fmt.Sprintf("%d %s", cr.Run.Repeat, cr.Run.Status))
			}
		}
	}
	return out
}

func TestAllGood(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2, 4}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		out := s.run(t, t.Context())
		if out.Status != result.StatusComplete || out.Reason != "" || out.RepeatsDone != 2 {
			t.Errorf("%s (%s), %d repeats", out.Status, out.Reason, out.RepeatsDone)
		}
		if diff := cmp.Diff([]string{base, head, head, base}, s.w.launched); diff != "" {
			t.Errorf("order of launches:\n%s", diff)
		}
		if s.w.resets != 8 || len(s.w.loads) != 8 {
			t.Errorf("%d resets, %d loads; want 8", s.w.resets, len(s.w.loads))
		}
		for _, target := range []string{base, head} {
			if got := statuses(p, out, target); !slices.Equal(got, []string{"1 ok", "1 ok", "2 ok", "2 ok"}) {
				t.Errorf("%s: %v", target, got)
			}
		}
		if got := out.Describe[head]; got["version"] != "1" || got["api_key"] != event.Mask {
			t.Errorf("described as %v", got)
		}
		checkSeeds(t, s.w.loads)
		checkDocument(t, p, out)
		for _, l := range out.Launched {
			for _, a := range l.Attempts {
				if a.Startup < 5 || a.Startup > 7 {
					t.Errorf("start-up of %v s for a server that takes 5", a.Startup)
				}
				if a.Held < a.Startup+20 || a.Held > a.Startup+200 {
					t.Errorf("held for %v s after a start of %v", a.Held, a.Startup)
				}
				if text, err := os.ReadFile(filepath.Join(s.dir.Path(), a.Log)); err != nil || !bytes.Contains(text, []byte("fake m")) {
					t.Errorf("log %s: %q, %v", a.Log, text, err)
				}
			}
		}
	})
}

// checkSeeds: the same content on both sides of a repeat, in the same order of cells, and
// other content in the next repeat.
func checkSeeds(t *testing.T, loads []string) {
	t.Helper()
	work := make([]string, len(loads))
	for i, l := range loads {
		_, work[i], _ = strings.Cut(l, " ")
	}
	if !slices.Equal(work[0:2], work[2:4]) || !slices.Equal(work[4:6], work[6:8]) {
		t.Errorf("the sides of a repeat did different work: %q", loads)
	}
	if slices.Contains(work[4:], work[0]) {
		t.Errorf("two repeats had the same content: %q", loads)
	}
}

func checkDocument(t *testing.T, p *plan.Plan, out *engine.Outcome) *result.Document {
	t.Helper()
	doc := out.Document()
	if err := result.Validate(doc); err != nil {
		t.Errorf("the document is not consistent: %v", err)
	}
	if err := result.Encode(new(bytes.Buffer), doc); err != nil {
		t.Error(err)
	}
	cell := doc.Benchmarks[0].Cells[0]
	if got := cell.Workload; got != "poisson 2/s, 4 requests, random 8→2" {
		t.Errorf("workload %q", got)
	}
	if v := cell.Summary["ttft.p50"]; v < 0.0199 || v > 0.0201 {
		t.Errorf("summary of ttft.p50 %v, want 0.020", v)
	}
	return doc
}

func TestRecordsAndEvents(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		out := s.run(t, t.Context())
		run := out.Launched[0].Runs[0].Run
		f, err := os.Open(filepath.Join(s.dir.Path(), run.Records))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		unpacked, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		var header record.Header
		if err := json.NewDecoder(unpacked).Decode(&header); err != nil || header.Requests != 4 || header.Meta["target"] != base ||
			header.Meta["repeat"] != "1" {
			t.Errorf("records: %+v, %v", header, err)
		}
		if run.Sent != 4 || run.Failed != 0 || run.Duration != 10 || run.Metrics["success.rate"] != 1 || run.Histograms["ttft"] == "" {
			t.Errorf("run: %+v", run)
		}
		var types []string
		for _, e := range s.events.events {
			if len(types) == 0 || types[len(types)-1] != string(e.Type) {
				types = append(types, string(e.Type))
			}
		}
		launch := []string{"launch_start", "launch_state", "launch_ready", "run_start", "run_progress", "run_end",
			"launch_stopped", "launch_done"}
		first := slices.Clone(launch)
		first = slices.Insert(first, 4, "diagnostic") // caches cannot be cleared
		want := slices.Concat([]string{"version", "plan"}, first, launch[:3], []string{"run_start", "diagnostic"}, launch[4:],
			[]string{"repeat_end"})
		if diff := cmp.Diff(want, types); diff != "" {
			t.Errorf("events:\n%s", diff)
		}
		for _, e := range s.events.of(event.RunEnd) {
			if e.Total != 2 || e.Index < 1 || e.Index > 2 || e.Text == "" || e.Label == "" || e.Cell == "" {
				t.Errorf("run_end: %+v", e)
			}
		}
		if text := journalText(t, s.dir); strings.Contains(text, "run_progress") || strings.Contains(text, "top-secret") {
			t.Error("the journal holds progress, or a secret")
		}
	})
}

// trouble is a behaviour for one target, in some of its launches.
func trouble(target string, b behaviour, launches ...int) func(string, int) behaviour {
	return func(addr string, n int) behaviour {
		if addr == target && (len(launches) == 0 || slices.Contains(launches, n)) {
			return b
		}
		return behaviour{}
	}
}

func both(b behaviour) func(string, int) behaviour {
	return func(string, int) behaviour { return b }
}

func TestFailurePolicy(t *testing.T) {
	oom := behaviour{exitAfter: 2 * time.Second, log: "torch.OutOfMemoryError: CUDA out of memory"}
	die := behaviour{runs: map[int]string{1: "die"}}
	for _, tc := range []struct {
		name      string
		sides     []string
		rates     []float64
		repeats   int
		keepGoing bool
		behave    func(string, int) behaviour

		status     result.Status
		reason     string // reason: a part of it
		launches   string // b, h, s in order
		base, head string // statuses of runs, "1 ok, …"
		class      string // of the first failure
	}{
		{
			name: "head never starts", repeats: 6, behave: trouble(head, oom),
			status: "complete", reason: "ended early after repeat 4 of 6", launches: "bhhbbhhb",
			base: "1 ok, 2 ok, 3 ok, 4 ok", head: "1 failed, 2 failed, 3 failed, 4 failed", class: "oom",
		},
		{
			name: "head never starts, keep going", repeats: 5, keepGoing: true, behave: trouble(head, oom),
			status: "complete", launches: "bhhbbhhbb",
			base: "1 ok, 2 ok, 3 ok, 4 ok, 5 ok", head: "1 failed, 2 failed, 3 failed, 4 failed", class: "oom",
		},
		{
			name: "head fails once", repeats: 3, behave: trouble(head, oom, 1),
			status: "complete", launches: "bhhbbh",
			base: "1 ok, 2 ok, 3 ok", head: "1 failed, 2 ok, 3 ok", class: "oom",
		},
		{
			name: "head fails in two repeats that are apart", repeats: 4, behave: trouble(head, oom, 1, 3),
			status: "complete", launches: "bhhbbhhb",
			base: "1 ok, 2 ok, 3 ok, 4 ok", head: "1 failed, 2 ok, 3 failed, 4 ok", class: "oom",
		},
		{
			name: "both fail", repeats: 4, behave: both(oom),
			status: "failed", reason: "no target works", launches: "bhhb",
			base: "1 failed, 2 failed", head: "1 failed, 2 failed", class: "oom",
		},
		{
			name: "both fail, keep going", repeats: 4, keepGoing: true, behave: both(oom),
			status: "failed", reason: "no target works", launches: "bhhb",
			base: "1 failed, 2 failed", head: "1 failed, 2 failed", class: "oom",
		},
		{
			name: "the base alone fails", repeats: 4, behave: trouble(base, oom),
			status: "failed", reason: "is what others are compared with", launches: "bhhb",
			base: "1 failed, 2 failed", head: "1 ok, 2 ok", class: "oom",
		},
		{
			name: "the base alone fails, keep going", repeats: 3, keepGoing: true, behave: trouble(base, oom),
			status: "failed", reason: "is what others are compared with", launches: "bhhbh",
			base: "1 failed, 2 failed", head: "1 ok, 2 ok, 3 ok", class: "oom",
		},
		{
			name: "one of three fails", sides: []string{base, same, head}, repeats: 6, behave: trouble(head, oom),
			status: "complete", reason: "ended early after repeat 5 of 6", launches: "bhsbshhsbbhshsb",
			base: "1 ok, 2 ok, 3 ok, 4 ok, 5 ok", head: "1 failed, 2 failed, 3 failed, 4 failed, 5 failed", class: "oom",
		},
		{
			name: "one repeat, head fails once", repeats: 1, behave: trouble(head, oom, 1),
			status: "complete", launches: "bhh", base: "1 ok", head: "1 failed, 1 ok", class: "oom",
		},
		{
			name: "one repeat, head fails", repeats: 1, behave: trouble(head, oom),
			status: "complete", launches: "bhh", base: "1 ok", head: "1 failed, 1 failed", class: "oom",
		},
		{
			name: "one repeat, both fail", repeats: 1, behave: both(oom),
			status: "failed", reason: "no target works", launches: "bbhh", base: "1 failed, 1 failed", head: "1 failed, 1 failed", class: "oom",
		},
		{
			name: "never ready", repeats: 2, behave: trouble(head, behaviour{never: true}),
			status: "complete", launches: "bhhb", base: "1 ok, 2 ok", head: "1 failed, 2 failed", class: "not_ready",
		},
		{
			name: "cannot be started", repeats: 2, behave: trouble(head, behaviour{refuse: errors.New("fake: not found")}),
			status: "complete", launches: "bhhb", base: "1 ok, 2 ok", head: "1 failed, 2 failed", class: "start_failed",
		},
		{
			name: "dies in a run, the other cells get another launch", rates: []float64{2, 4}, repeats: 2, behave: trouble(head, die, 1),
			status: "complete", launches: "bhhhb", base: "1 ok, 1 ok, 2 ok, 2 ok", head: "1 failed, 1 ok, 2 ok, 2 ok", class: "exited",
		},
		{
			name: "dies in every run", rates: []float64{2, 4, 8}, repeats: 2, behave: trouble(head, die),
			status: "complete", launches: "bhhhhb",
			base: "1 ok, 1 ok, 1 ok, 2 ok, 2 ok, 2 ok", head: "1 failed, 1 failed, 1 failed, 2 failed, 2 failed, 2 failed", class: "exited",
		},
		{
			name: "one repeat, dies in the run once", repeats: 1, behave: trouble(head, die, 1),
			status: "complete", launches: "bhh", base: "1 ok", head: "1 failed, 1 ok", class: "exited",
		},
		{
			name: "one repeat, dies in every run", rates: []float64{2, 4}, repeats: 1, behave: trouble(head, die),
			status: "complete", launches: "bhh", base: "1 ok, 1 ok", head: "1 failed, 1 failed, 1 failed", class: "exited",
		},
		{
			name: "dies after its requests failed", repeats: 2, behave: trouble(head, behaviour{runs: map[int]string{1: "die late"}}),
			status: "complete", launches: "bhhb", base: "1 ok, 2 ok", head: "1 failed, 2 failed", class: "exited",
		},
		{
			name: "lives but serves no longer", repeats: 2, behave: trouble(head, behaviour{runs: map[int]string{1: "sick"}}),
			status: "complete", launches: "bhhb", base: "1 ok, 2 ok", head: "1 failed, 2 failed", class: "unhealthy",
		},
		{
			name: "hangs", repeats: 2, behave: trouble(head, behaviour{runs: map[int]string{1: "hang"}}),
			status: "complete", launches: "bhhb", base: "1 ok, 2 ok", head: "1 failed, 2 failed", class: "hung",
		},
		{
			name: "answers garbage and stays up", repeats: 2, behave: trouble(head, behaviour{runs: map[int]string{1: "garbage"}}),
			status: "complete", launches: "bhhb", base: "1 ok, 2 ok", head: "1 failed, 2 failed",
		},
		{
			name: "no connection for lack of descriptors", repeats: 2, behave: trouble(head, behaviour{runs: map[int]string{1: "exhausted"}}, 1),
			status: "complete", launches: "bhhbbh", base: "1 ok, 2 ok, 1001 ok", head: "1 void, 2 ok, 1001 ok",
		},
		{
			name: "the client stands still until requests time out", repeats: 2,
			behave: trouble(head, behaviour{runs: map[int]string{1: "stopped"}}, 1),
			status: "complete", launches: "bhhbbh", base: "1 ok, 2 ok, 1001 ok", head: "1 void, 2 ok, 1001 ok",
		},
		{
			name: "answers garbage in each of many repeats", repeats: 6, behave: trouble(head, behaviour{runs: map[int]string{1: "garbage"}}),
			status: "complete", reason: "no request succeeded: 4 × garbage: status 400: no such key (redacted)", launches: "bhhbbhhb",
			base: "1 ok, 2 ok, 3 ok, 4 ok", head: "1 failed, 2 failed, 3 failed, 4 failed",
		},
		{
			name: "one of its cells is answered with garbage", rates: []float64{2, 4}, repeats: 3,
			behave: trouble(head, behaviour{runs: map[int]string{1: "garbage"}}),
			status: "complete", launches: "bhhbbh", base: "1 ok, 1 ok, 2 ok, 2 ok, 3 ok, 3 ok",
			head: "1 failed, 1 ok, 2 failed, 2 ok, 3 failed, 3 ok",
		},
		{
			name: "all answer garbage", repeats: 6, behave: func(string, int) behaviour { return behaviour{runs: map[int]string{1: "garbage"}} },
			status: "failed", reason: "no target works", launches: "bhhb", base: "1 failed, 2 failed", head: "1 failed, 2 failed",
		},
		{
			name: "drops a request", repeats: 2, behave: trouble(head, behaviour{runs: map[int]string{1: "drop"}}),
			status: "complete", launches: "bhhb", base: "1 ok, 2 ok", head: "1 ok, 2 ok",
		},
		{
			name: "the load cannot be carried out", repeats: 2, behave: trouble(head, behaviour{runs: map[int]string{1: "refuse"}}),
			status: "complete", launches: "bhhb", base: "1 ok, 2 ok", head: "1 failed, 2 failed",
		},
		{
			name: "a server that cannot be stopped", repeats: 4, behave: trouble(head, behaviour{unstop: true}),
			status: "failed", reason: "could not be stopped", launches: "bh", base: "1 ok", head: "1 ok",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sides, rates := tc.sides, tc.rates
			if sides == nil {
				sides = []string{base, head}
			}
			if rates == nil {
				rates = []float64{2}
			}
			p := makePlan(t, sides, rates, tc.repeats)
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				s.w.behave = tc.behave
				s.o.KeepGoing = tc.keepGoing
				out := s.run(t, t.Context())
				if out.Status != tc.status || !strings.Contains(out.Reason, tc.reason) || (tc.reason == "") != (out.Reason == "") {
					t.Errorf("%s (%q), want %s (%q)", out.Status, out.Reason, tc.status, tc.reason)
				}
				var launches strings.Builder
				for _, l := range s.w.launched {
					launches.WriteByte(map[string]byte{base: 'b', head: 'h', same: 's'}[l])
				}
				if launches.String() != tc.launches {
					t.Errorf("launches %s, want %s", &launches, tc.launches)
				}
				if got := strings.Join(statuses(p, out, base), ", "); got != tc.base {
					t.Errorf("base: %s, want %s", got, tc.base)
				}
				if got := strings.Join(statuses(p, out, head), ", "); got != tc.head {
					t.Errorf("head: %s, want %s", got, tc.head)
				}
				checkFailures(t, p, s, out, tc.class)
			})
		})
	}
}

func checkFailures(t *testing.T, p *plan.Plan, s *session, out *engine.Outcome, class string) {
	t.Helper()
	if err := result.Validate(out.Document()); err != nil {
		t.Errorf("the document is not consistent: %v", err)
	}
	failed := s.events.of(event.LaunchFail)
	if class == "" {
		if len(failed) != 0 {
			t.Errorf("failure %+v", failed[0].Failure)
		}
		return
	}
	if len(failed) == 0 {
		t.Fatal("no failure is told of")
	}
	f := failed[0].Failure
	if f.Class != class || f.Evidence == "" {
		t.Errorf("failure %+v, want class %s", f, class)
	}
	if class == "oom" && (f.Exit != "exit status 1" || len(f.LogTail) != 2) {
		t.Errorf("failure %+v", f)
	}
	for _, l := range out.Launched {
		for _, cr := range l.Runs {
			if cr.Run.Status == result.RunFailed && (cr.Run.Reason == "" || cr.Run.Metrics != nil) {
				t.Errorf("failed run without a reason, or with metrics: %+v", cr.Run)
			}
		}
	}
}

func TestAServerThatDiesFailsItsRequests(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.behave = trouble(head, behaviour{runs: map[int]string{1: "die"}}, 1)
		out := s.run(t, t.Context())
		run := out.Launched[1].Runs[0].Run
		if run.Sent != 4 || run.Failed != 2 || run.Failures["cancelled"] != 2 || run.Records == "" {
			t.Errorf("%+v", run)
		}
		f := out.Launched[1].Attempts[0].Failure
		if f.Phase != "run" || f.Exit != "exit status 139" {
			t.Errorf("%+v", f)
		}
	})
}

func TestVoidRunsAreMeasuredAgain(t *testing.T) {
	late := func(runs ...int) behaviour {
		b := behaviour{runs: map[int]string{}}
		for _, n := range runs {
			b.runs[n] = "late"
		}
		return b
	}
	for _, tc := range []struct {
		name     string
		rates    []float64
		behave   func(string, int) behaviour
		launches string
		base     string
		head     string
		warns    bool
	}{
		{
			name: "base of an even repeat: same orientation", behave: trouble(base, late(1), 2),
			launches: "bhhbbhhb" + "hb", base: "1 ok, 2 void, 3 ok, 4 ok, 1001 ok", head: "1 ok, 2 ok, 3 ok, 4 ok, 1001 ok",
		},
		{
			name: "void twice", behave: trouble(head, late(1), 3, 5),
			launches: "bhhbbhhb" + "bh" + "bh", base: "1 ok, 2 ok, 3 ok, 4 ok, 1001 ok, 1002 ok",
			head: "1 ok, 2 ok, 3 void, 4 ok, 1001 void, 1002 ok",
		},
		{
			name: "beyond the cap", behave: trouble(head, late(1)), warns: true,
			launches: "bhhbbhhb" + "bh" + "bh", base: "1 ok, 2 ok, 3 ok, 4 ok, 1001 ok, 1002 ok",
			head: "1 void, 2 void, 3 void, 4 void, 1001 void, 1002 void",
		},
		{
			name: "only the cells concerned", rates: []float64{2, 4}, behave: trouble(head, late(2), 1),
			launches: "bhhbbhhb" + "bh", base: "1 ok, 1 ok, 2 ok, 2 ok, 3 ok, 3 ok, 4 ok, 4 ok, 1001 ok",
			head: "1 ok, 1 void, 2 ok, 2 ok, 3 ok, 3 ok, 4 ok, 4 ok, 1001 ok",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.rates == nil {
				tc.rates = []float64{2}
			}
			p := makePlan(t, []string{base, head}, tc.rates, 4)
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				s.w.behave = tc.behave
				out := s.run(t, t.Context())
				var launches strings.Builder
				for _, l := range s.w.launched {
					launches.WriteByte(map[string]byte{base: 'b', head: 'h'}[l])
				}
				if launches.String() != tc.launches {
					t.Errorf("launches %s, want %s", &launches, tc.launches)
				}
				if got := strings.Join(statuses(p, out, base), ", "); got != tc.base {
					t.Errorf("base: %s, want %s", got, tc.base)
				}
				if got := strings.Join(statuses(p, out, head), ", "); got != tc.head {
					t.Errorf("head: %s, want %s", got, tc.head)
				}
				if out.Status != result.StatusComplete || out.RepeatsDone != 4 {
					t.Errorf("%s, %d repeats", out.Status, out.RepeatsDone)
				}
				if warned := slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, "void") }); warned != tc.warns {
					t.Errorf("warnings: %q", out.Warnings)
				}
				checkReplacements(t, p, out, s.w.loads)
				for _, e := range s.events.all() {
					if e.Repeat > len(p.Repeats) && (e.Replaces < 1 || e.Replaces > len(p.Repeats)) && e.Type != event.LaunchDone {
						t.Errorf("%s of repeat %d does not say which repeat it measures again", e.Type, e.Repeat)
					}
					if strings.Contains(e.Text, "100") || strings.HasPrefix(e.Text, ":") {
						t.Errorf("%s: %q", e.Type, e.Text)
					}
				}
			})
		})
	}
}

// checkReplacements: after them, each planned repeat has one current run a cell, and a
// replacement sends the content of the repeat that it replaces.
func checkReplacements(t *testing.T, p *plan.Plan, out *engine.Outcome, loads []string) {
	t.Helper()
	doc := out.Document()
	for _, c := range doc.Benchmarks[0].Cells {
		var pairs []int
		for _, r := range c.Current() {
			pairs = append(pairs, r.Pair())
		}
		slices.Sort(pairs)
		if !slices.Equal(pairs, []int{1, 2, 3, 4}) {
			t.Errorf("cell %v counts for repeats %v", c.Values, pairs)
		}
	}
	planned := loads[:len(loads)-(len(out.Launched)-8)]
	for _, l := range loads[len(planned):] {
		if !slices.Contains(planned, l) {
			t.Errorf("replacement %q sends other content than any planned run", l)
		}
	}
}

// signalCause is a cause as the program's signal handler sets it.
type signalCause struct{ sig syscall.Signal }

func (c signalCause) Error() string { return c.sig.String() }

func TestInterrupt(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2, 4}, 2)
	for _, tc := range []struct {
		name   string
		after  time.Duration
		stubby bool // servers that ignore SIGTERM
		base   string
		head   string
	}{
		{"while the first server starts", 2 * time.Second, false, "", ""},
		{"in the first run", 8 * time.Second, false, "1 cancelled", ""},
		{"in the second run", 18 * time.Second, true, "1 ok, 1 cancelled", ""},
		{"while a server stops that does not want to", 30 * time.Second, true, "1 ok, 1 ok", ""},
		{"in the second launch", 48 * time.Second, false, "1 ok, 1 ok", "1 ok, 1 cancelled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				s.w.behave = both(behaviour{ignores: tc.stubby})
				ctx, cancel := context.WithCancelCause(t.Context())
				var at time.Time
				time.AfterFunc(tc.after, func() { at = time.Now(); cancel(signalCause{syscall.SIGTERM}) })
				out := s.run(t, ctx)
				if took := time.Since(at); took > 5*time.Second {
					t.Errorf("the end took %v", took)
				}
				var cause signalCause
				if out.Status != result.StatusInterrupted || !errors.As(out.Cause, &cause) || out.Reason != "terminated" {
					t.Errorf("%s, %v, %q", out.Status, out.Cause, out.Reason)
				}
				if got := strings.Join(statuses(p, out, base), ", "); got != tc.base {
					t.Errorf("base: %q, want %q", got, tc.base)
				}
				if got := strings.Join(statuses(p, out, head), ", "); got != tc.head {
					t.Errorf("head: %q, want %q", got, tc.head)
				}
				if len(s.events.of(event.Interrupted)) != 1 {
					t.Error("the interruption is not in the events")
				}
				if err := result.Validate(out.Document()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestPipelineTimeout(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 4)
	p.Timeout = 25
	synctest.Test(t, func(t *testing.T) {
		out := newSession(t, p).run(t, t.Context())
		if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "timeout") || len(out.Launched) != 2 {
			t.Errorf("%s (%s), %d launches", out.Status, out.Reason, len(out.Launched))
		}
	})
}

func TestAFullDiskEndsTheRun(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 4)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.onRun = func(n int) {
			if n == 2 { // records can no longer be written
				if err := os.RemoveAll(filepath.Join(s.dir.Path(), "records")); err != nil {
					t.Error(err)
				}
			}
		}
		out := s.run(t, t.Context())
		if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "records") || len(s.w.loads) != 2 {
			t.Errorf("%s (%s) after %d runs", out.Status, out.Reason, len(s.w.loads))
		}
	})
}

func TestABrokenJournalEndsTheRun(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 4)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		broken := &brokenFile{after: 6}
		s.bus.Attach(event.NewJournal(broken, nil))
		out := s.run(t, t.Context())
		if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "no space left") || len(s.w.launched) != 1 {
			t.Errorf("%s (%s) after %d launches", out.Status, out.Reason, len(s.w.launched))
		}
	})
}

type brokenFile struct{ after int }

func (f *brokenFile) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

func (f *brokenFile) Sync() error { return nil }

func TestConfigErrors(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	for name, change := range map[string]func(*session){
		"a dataset that comes later": func(s *session) {
			s.w.behave = both(behaviour{runs: map[int]string{1: "unsupported"}})
		},
		"a target that cannot be resolved": func(s *session) {
			s.o.Target = func(string, config.Outputs) (engine.TargetSpec, error) {
				return engine.TargetSpec{}, errors.New("unknown value")
			}
		},
		"a launcher that comes later": func(s *session) {
			s.w.behave = both(behaviour{refuse: steps.Unsupported(base, "another machine is not supported yet")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				change(s)
				out, err := s.tryRun(t, t.Context())
				var config *engine.ConfigError
				if !errors.As(err, &config) || config.Addr != base && config.Addr != "benchmark.serve" || out.Status != result.StatusFailed {
					t.Errorf("%v, %+v", err, out)
				}
			})
		})
	}
}

func TestHeartbeatAndEstimate(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.behave = both(behaviour{startup: 90 * time.Second})
		s.run(t, t.Context())
		beats := s.events.of(event.Heartbeat)
		if len(beats) < 5 {
			t.Fatalf("%d heartbeats in some 7 minutes", len(beats))
		}
		for i, b := range beats {
			if b.Total != 4 || b.Index < 1 || b.Elapsed <= 0 || b.Left < 0 {
				t.Errorf("heartbeat %d: %+v", i, b)
			}
		}
		ends := s.events.of(event.RunEnd)
		if last := ends[len(ends)-1]; last.Left > 1 {
			t.Errorf("%v s are said to be left behind the last run", last.Left)
		}
	})
}

func TestAServerThatAnswersAlready(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		// Two servers that are already running.
		launcher := map[string]steps.Server{}
		for i, addr := range []string{base, head} {
			server, err := fakeLauncher{s.w, addr}.Start(t.Context(), steps.Process{Port: 100 + i}, new(bytes.Buffer))
			if err != nil {
				t.Fatal(err)
			}
			launcher[addr] = server
		}
		s.w.launched = nil
		resolve := s.o.Target
		s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
			spec, err := resolve(addr, outputs)
			m := spec.Members[0]
			m.Launcher, m.Spec.URL = nil, launcher[addr].BaseURL()+"/"
			return single(m), err
		}
		s.bus.Start("test", "run-1", "")
		out, err := engine.Run(t.Context(), s.o, s.look)
		if err != nil || out.Status != result.StatusComplete || len(s.w.launched) != 0 || len(s.w.living) != 2 {
			t.Errorf("%+v, %v; %d servers were started, %d live", out, err, len(s.w.launched), len(s.w.living))
		}
		if a := out.Launched[0].Attempts[0]; a.Startup != 0 || a.Held != 0 {
			t.Errorf("a start-up of %v s is claimed, and a bill for %v s", a.Startup, a.Held)
		}
	})
}

// TestKilledForMemory: what the kernel has killed explains a server that only says that something failed, and not
// one that names another cause.
func TestKilledForMemory(t *testing.T) {
	const killed = "a process was killed by the memory limit of its cgroup (/job, memory.max 8.0 GiB)"
	for name, tt := range map[string]struct {
		behaviour
		class, evidence string
	}{
		"a worker": {behaviour{exitAfter: time.Second, log: "EngineDeadError: see above", starved: killed}, "host_out_of_memory",
			killed},
		"without a word":    {behaviour{exitAfter: time.Second, starved: killed}, "host_out_of_memory", killed},
		"not ready in time": {behaviour{never: true, starved: killed}, "host_out_of_memory", killed},
		"in a run":          {behaviour{runs: map[int]string{1: "die"}, starved: killed}, "host_out_of_memory", killed},
		"another cause":     {behaviour{exitAfter: time.Second, log: "CUDA out of memory", starved: killed}, "oom", "CUDA out of memory"},
		"nothing was killed": {behaviour{exitAfter: time.Second, log: "EngineDeadError: see above"}, "engine_failed",
			"EngineDeadError: see above"},
		"nobody says anything": {behaviour{exitAfter: time.Second}, "exited", "the process has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			p := makePlan(t, []string{base, head}, []float64{2}, 2)
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				s.w.behave = trouble(head, tt.behaviour, 1)
				s.run(t, t.Context())
				failed := s.events.of(event.LaunchFail)
				if len(failed) == 0 {
					t.Fatal("no failure is told of")
				}
				if f := failed[0].Failure; f.Class != tt.class || f.Evidence != tt.evidence {
					t.Errorf("%s: %s, want %s: %s", f.Class, f.Evidence, tt.class, tt.evidence)
				}
			})
		})
	}
}

// failed reports whether an attempt of a launch failed.
func failed(l engine.Launched) bool {
	return slices.ContainsFunc(l.Attempts, func(a result.Launch) bool { return a.Failure != nil })
}
