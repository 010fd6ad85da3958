package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// cut makes a run directory as a kill leaves it: the plan, and a journal that ends
// somewhere.
func cut(t *testing.T, path string, p *plan.Plan, journal []byte) *store.Dir {
	t.Helper()
	dir, err := store.Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	if err := dir.WriteJSON(store.PlanFile, p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, store.EventsFile), journal, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sameOutcome compares what was measured. When it was is left out.
var sameOutcome = cmp.Options{
	cmpopts.IgnoreFields(engine.Outcome{}, "RunID", "Started", "Ended", "Seq", "Last", "Took"),
	cmpopts.IgnoreUnexported(engine.Outcome{}),
	cmpopts.IgnoreTypes(&plan.Plan{}),
	cmpopts.IgnoreFields(result.Launch{}, "Startup"),
	cmpopts.IgnoreFields(result.Run{}, "At"),         // later by what was cut off
	cmpopts.IgnoreFields(plan.Spending{}, "Seconds"), // with those of what was cut off
	cmpopts.EquateEmpty(),
}

// troubled is a run with everything in it that resume must get right: a failed launch, a
// server that dies, a void run that is measured again.
func troubled(target string, repeat int, attempt int) behaviour {
	switch {
	case target == head && repeat == 1 && attempt == 1:
		return behaviour{runs: map[int]string{1: "die"}}
	case target == base && repeat == 2:
		return behaviour{runs: map[int]string{2: "late"}}
	}
	return behaviour{}
}

// byLaunch makes behave a function of the launch and not of how many there were before,
// since a resumed run has fewer.
func (s *session) byLaunch(behave func(target string, repeat, attempt int) behaviour) {
	s.w.behave = func(target string, _ int) behaviour {
		started := s.events.of(event.LaunchStart)
		e := started[len(started)-1]
		attempt := 1
		if strings.Contains(e.Launch, "~") {
			attempt = 2
		}
		return behave(target, e.Repeat, attempt)
	}
}

func TestResumeFromEveryLine(t *testing.T) {
	for _, passes := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d passes", passes), func(t *testing.T) {
			step := 1 + 6*passes // odd: runs start and end in turn
			if *full {
				step = 1
			}
			p := makePlan(t, []string{base, head}, []float64{2, 4}, 2)
			p.Benchmarks[0].Passes = passes
			p.Reschedule()
			p.Seal()
			resumeFromEveryLine(t, p, step)
		})
	}
}

// resumeFromEveryLine resumes a run after a kill behind each step-th line of its journal.
func resumeFromEveryLine(t *testing.T, p *plan.Plan, step int) {
	t.Helper()
	var whole []byte
	var want *engine.Outcome
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.byLaunch(troubled)
		want = s.run(t, t.Context())
		whole = []byte(journalText(t, s.dir))
	})
	if got := len(want.Launched); got != 6 || want.Status != result.StatusComplete {
		t.Fatalf("%d launches, %s: the run is not the one this test needs", got, want.Status)
	}
	line := 0
	for end := 0; end <= len(whole); end++ {
		if end > 0 && whole[end-1] != '\n' {
			continue // TestReplayAtTornLines: a torn line is as none
		}
		if line++; line%step != 0 && end > 0 && end < len(whole) {
			continue
		}
		synctest.Test(t, func(t *testing.T) { resumeFrom(t, p, whole[:end], want) })
		if t.Failed() {
			t.Fatalf("after a kill at byte %d, behind\n%.200s", end, lastLine(whole[:end]))
		}
	}
}

func resumeFrom(t *testing.T, p *plan.Plan, journal []byte, want *engine.Outcome) {
	t.Helper()
	dir := cut(t, t.TempDir(), p, journal)
	state, err := engine.Replay(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := sessionIn(t, p, dir, state.Seq)
	s.byLaunch(troubled)
	s.o.Resume = state
	out := s.run(t, t.Context())
	if diff := cmp.Diff(want, out, sameOutcome); diff != "" {
		t.Errorf("resumed run differs:\n%s", diff)
	}
	closed := bytes.Count(journal, []byte(`"type":"`+event.LaunchDone+`"`))
	started := map[string]bool{}
	for _, e := range s.events.of(event.LaunchStart) {
		started[strings.TrimSuffix(e.Launch, "~2")] = true
	}
	if len(started) != len(want.Launched)-closed {
		t.Errorf("%d launches were closed of %d, but %d were carried out again", closed, len(want.Launched), len(started))
	}
	checkJournal(t, dir, out)
}

// checkJournal checks that the journal of a run tells of everything that the run has done: a second kill right at the end
// would lose nothing.
func checkJournal(t *testing.T, dir *store.Dir, want *engine.Outcome) {
	t.Helper()
	replayed, err := engine.Replay(dir)
	if err != nil {
		t.Fatal(err)
	}
	notInJournal := cmpopts.IgnoreFields(engine.Outcome{}, "Status", "Reason", "StoppedBy", "Cause", "Machine")
	if diff := cmp.Diff(want, replayed, sameOutcome, notInJournal); diff != "" {
		t.Errorf("the journal of the resumed run tells of something else:\n%s", diff)
	}
	last := 0
	if err := dir.Events(func(e event.Event) error {
		if e.Seq <= last {
			return fmt.Errorf("event %d behind event %d", e.Seq, last)
		}
		last = e.Seq
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func lastLine(b []byte) []byte {
	b = bytes.TrimRight(b, "\n")
	return b[bytes.LastIndexByte(b, '\n')+1:]
}

// TestReplayAtTornLines cuts at both ends of every line and at places within; package
// event cuts at every byte.
func TestReplayAtTornLines(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	var whole []byte
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.run(t, t.Context())
		whole = []byte(journalText(t, s.dir))
	})
	path := t.TempDir()
	dir := cut(t, path, p, nil)
	var atLine *engine.Outcome
	for end := range len(whole) + 1 {
		near := whole[max(0, end-2):min(len(whole), end+2)]
		if !bytes.Contains(near, []byte("\n")) && end%97 != 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(path, store.EventsFile), whole[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		state, err := engine.Replay(dir)
		if err != nil {
			t.Fatalf("cut at byte %d: %v", end, err)
		}
		if end == 0 || whole[end-1] == '\n' {
			atLine = state
		} else if state.Seq != atLine.Seq || len(state.Launched) != len(atLine.Launched) {
			t.Fatalf("cut at byte %d: the torn line counts", end)
		}
	}
	if len(atLine.Launched) != 2 || atLine.RunID != "run-1" {
		t.Errorf("the whole journal: %+v", atLine)
	}
}

func TestResumeOfAnotherPlan(t *testing.T) {
	before := makePlan(t, []string{base, head}, []float64{2}, 2)
	now := makePlan(t, []string{base, head}, []float64{2}, 3)
	synctest.Test(t, func(t *testing.T) {
		dir := cut(t, t.TempDir(), before, nil)
		state, err := engine.Replay(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := sessionIn(t, now, dir, state.Seq)
		s.o.Resume = state
		if _, err := s.tryRun(t, t.Context()); !errors.Is(err, engine.ErrPlanChanged) {
			t.Errorf("got %v", err)
		}
		if len(s.w.launched) != 0 {
			t.Error("something was launched")
		}
	})
}

func TestResumeAfterAnInterrupt(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2, 4}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(48*time.Second, func() { cancel(errors.New("interrupt")) })
		first := s.run(t, ctx)
		if got := strings.Join(statuses(p, first, head), ", "); got != "1 ok, 1 cancelled" {
			t.Fatalf("head: %s", got)
		}
		state, err := engine.Replay(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		again := sessionIn(t, p, s.dir, state.Seq)
		again.o.Resume = state
		out := again.run(t, t.Context())
		if got := strings.Join(statuses(p, out, head), ", "); got != "1 ok, 1 ok, 2 ok, 2 ok" {
			t.Errorf("head: %s", got)
		}
		if !out.Started.Equal(first.Started) || len(again.w.launched) != 3 {
			t.Errorf("started %v, then %v; %d launches", first.Started, out.Started, len(again.w.launched))
		}
	})
}

func TestResumeTriesAgainWhatTheMachineBroke(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 3)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		broken := behaviour{exitAfter: time.Second, log: "CUDA out of memory"}
		s.byLaunch(func(_ string, repeat, _ int) behaviour {
			if repeat >= 2 {
				return broken
			}
			return behaviour{}
		})
		if out := s.run(t, t.Context()); out.Status != result.StatusFailed {
			t.Fatalf("%s (%s)", out.Status, out.Reason)
		}
		state, err := engine.Replay(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		again := sessionIn(t, p, s.dir, state.Seq)
		again.o.Resume = state
		out := again.run(t, t.Context())
		if out.Status != result.StatusComplete || strings.Join(statuses(p, out, head), ", ") != "1 ok, 2 ok, 3 ok" || len(again.w.launched) != 4 {
			t.Errorf("%s (%s), head %v, launches %v", out.Status, out.Reason, statuses(p, out, head), again.w.launched)
		}
	})
}

func TestResumeEndsOrphans(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.bus.Start("test", "run-1", "")
		if err := s.dir.WriteJSON(store.PlanFile, p); err != nil {
			t.Fatal(err)
		}
		note := engine.JournalSpawn(s.bus, "boot/pid:[1]/7:9")
		note(11, 100, []string{"fake"})
		note(12, 200, []string{"fake"})
		state, err := engine.Replay(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		again := sessionIn(t, p, s.dir, state.Seq)
		again.o.Resume = state
		var asked []string
		again.o.EndLeft = func(owners []string) ([]string, error) {
			asked = append(asked, owners...)
			return []string{"12 (fake)"}, nil
		}
		out := again.run(t, t.Context())
		if diff := cmp.Diff([]string{"boot/pid:[1]/7:9"}, asked); diff != "" {
			t.Error(diff)
		}
		if len(out.Warnings) == 0 || !strings.Contains(out.Warnings[0], "12 (fake)") {
			t.Errorf("warnings %q", out.Warnings)
		}
	})
}

// A resumed run opens its places and writes its reports again, so the warnings about those of the session before are not
// its own. Those from the measurement are.
func TestResumeForgetsWarningsOfReports(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		if err := s.dir.WriteJSON(store.PlanFile, p); err != nil {
			t.Fatal(err)
		}
		warn := func(text string) {
			s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: text})
		}
		for _, session := range []string{"first", "second"} {
			s.bus.Start("test", "run-1", "")
			warn("the " + session + " waited for the machine")
			s.bus.Emit(event.Event{Type: event.PlanReady})
			warn("the " + session + " measured on a busy machine")
			s.bus.Emit(event.Event{Type: event.GateResult, Addr: "gate.a"})
			warn("the " + session + " wrote no report")
		}
		state, err := engine.Replay(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"the first measured on a busy machine", "the second measured on a busy machine"},
			state.Warnings); diff != "" {
			t.Error(diff)
		}
	})
}

// Warnings of others, such as the watcher of GPUs, are in the outcome whether or not the run is resumed.
func TestWarningsOfOthersDuringTheRun(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.onRun = func(int) {
			s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: "a process of others uses GPU 0"})
		}
		out := s.run(t, t.Context())
		if !slices.Contains(out.Warnings, "a process of others uses GPU 0") {
			t.Errorf("warnings %q", out.Warnings)
		}
		checkJournal(t, s.dir, out)
	})
}
