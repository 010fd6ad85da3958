package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/term"
	"github.com/servegate/pipeline/steps"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded are the events of testdata/events.jsonl: a night in which one launch fails.
func recorded(t *testing.T) []event.Event {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var events []event.Event
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// fakeClock shows the time of the event at hand.
type fakeClock struct{ at time.Time }

func (c *fakeClock) now() time.Time { return c.at }

// still is a ticker that never ticks.
func still() <-chan time.Time { return make(chan time.Time) }

func replay(t *testing.T, view View, clock *fakeClock, events []event.Event, after func(event.Event)) {
	t.Helper()
	for _, e := range events {
		clock.at = e.Time
		view.Handle(e)
		if after != nil {
			after(e)
		}
	}
	if err := view.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPlain(t *testing.T) {
	for name, opt := range map[string]Options{
		"plain.txt":       {},
		"plain-color.txt": {Color: true},
		"github.txt":      {GitHubActions: true},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			clock := &fakeClock{}
			replay(t, NewPlain(&b, opt), clock, recorded(t), nil)
			golden.Equal(t, "testdata/"+name, b.String())
		})
	}
}

// The screen is shown at the moments that differ, and at the end.
func TestTTY(t *testing.T) {
	for _, width := range []int{80, 44} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			s := newScreen(t, width)
			clock := &fakeClock{}
			view := NewTTY(s, Options{Width: func() int { return width }, Now: clock.now, Tick: still()})
			var b strings.Builder
			replay(t, view, clock, recorded(t), func(e event.Event) {
				switch {
				case e.Type == event.StepStart, e.Type == event.LaunchState && e.Seq < 20,
					e.Type == event.RunProgress && e.Repeat == 1 && e.Label == "rate=8" && e.Progress.Done > 100,
					e.Type == event.LaunchFail, e.Type == event.GateResult:
					fmt.Fprintf(&b, "=== after event %d, %s\n%s", e.Seq, e.Type, s.tail(14))
				}
			})
			fmt.Fprintf(&b, "=== closed\n%s", s)
			golden.Equal(t, "testdata/"+fmt.Sprintf("tty-%d.txt", width), b.String())
		})
	}
}

func TestTTYColor(t *testing.T) {
	var b strings.Builder
	clock := &fakeClock{}
	view := NewTTY(&b, Options{Color: true, Now: clock.now, Tick: still()})
	replay(t, view, clock, recorded(t), nil)
	// The coloured lines, without what moves the cursor: a screen keeps no colours.
	plainText := regexp.MustCompile(`\r|\x1b\[[0-9]*[AJK]`).ReplaceAllString(b.String(), "")
	var lines []string
	for l := range strings.SplitSeq(plainText, "\n") {
		if strings.Contains(l, "\x1b") {
			lines = append(lines, l)
		}
	}
	golden.Equal(t, "testdata/tty-color.txt", strings.Join(lines, "\n")+"\n")
}

// A run that is cut off leaves its last state, and no live area.
func TestTTYClosedEarly(t *testing.T) {
	s := newScreen(t, 80)
	clock := &fakeClock{}
	events := recorded(t)
	cut := 0
	for i, e := range events {
		if e.Type == event.RunProgress && e.Index == 2 {
			cut = i + 1
		}
	}
	view := NewTTY(s, Options{Now: clock.now, Tick: still()})
	replay(t, view, clock, events[:cut], nil)
	if err := view.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	want := "· stopped after 2:17, 1 of 8 runs done\n"
	if got := s.String(); !strings.HasSuffix(got, want) || strings.Contains(got, "elapsed") {
		t.Errorf("the screen ends with\n%s", got)
	}
}

func TestTTYFrames(t *testing.T) {
	s := newScreen(t, 80)
	clock := &fakeClock{at: time.Unix(1_000_000, 0)}
	ticks := make(chan time.Time)
	view := NewTTY(s, Options{Now: clock.now, Tick: ticks}).(*tty)
	progress := event.Event{Type: event.RunProgress, Label: "rate=4", Index: 1, Total: 2, Progress: &event.Progress{Sent: 1, Total: 10,
		Rate: 12.34, TTFTp50: 0.05, TTFTp99: 0.2}}
	for range 100 { // in half a second
		clock.at = clock.at.Add(5 * time.Millisecond)
		progress.Time = clock.at
		view.Handle(progress)
	}
	if s.writes > 6 {
		t.Errorf("%d frames in half a second", s.writes)
	}
	// A tick moves the clock.
	clock.at = clock.at.Add(time.Minute)
	view.redraw()
	if !strings.Contains(s.String(), "1:00 elapsed") {
		t.Errorf("the clock stands still:\n%s", s)
	}
	if !strings.Contains(s.String(), "12.3 requests/s, TTFT p50 50") {
		t.Errorf("no rate:\n%s", s)
	}
	before := s.writes
	view.redraw()
	if s.writes != before {
		t.Error("two ticks at once draw twice")
	}
	ticks <- clock.at // the goroutine listens
	if err := view.Close(); err != nil {
		t.Error(err)
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	events := recorded(t)
	replay(t, NewJSON(&b), &fakeClock{}, events, nil)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(events) {
		t.Fatalf("%d lines for %d events", len(lines), len(events))
	}
	for i, l := range lines {
		var got event.Event
		if err := json.Unmarshal([]byte(l), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(events[i], got); d != "" {
			t.Errorf("event %d: %s", i, d)
		}
		if term.Escape(l) != l || strings.Contains(l, "\x7f") {
			t.Errorf("control characters in %q", l)
		}
	}
}

func TestQuiet(t *testing.T) {
	replay(t, NewQuiet(), &fakeClock{}, recorded(t), nil)
}

type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) { f.writes++; return 0, errors.New("gone") }

// A view whose writer fails goes silent and says so at the end.
func TestWriteErrors(t *testing.T) {
	for name, open := range map[string]func(*failing) View{
		"tty":   func(f *failing) View { return NewTTY(f, Options{Tick: still()}) },
		"plain": func(f *failing) View { return NewPlain(f, Options{}) },
		"json":  func(f *failing) View { return NewJSON(f) },
	} {
		f := &failing{}
		view := open(f)
		for _, e := range recorded(t) {
			view.Handle(e)
		}
		if err := view.Close(); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("%s: error %v", name, err)
		}
		if f.writes != 1 {
			t.Errorf("%s went on writing", name)
		}
	}
}

// Whatever the events hold, views do not crash, frames fit, and no control character
// and no workflow command comes through.
func TestAnyEvents(t *testing.T) {
	hostile := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "\x1b[2J", "a\nb", "::error::x", "##[error]", "\u009b31m", "\u202e", strings.Repeat("日本", 200), "server.vllm.x",
	}))
	number := rapid.OneOf(rapid.IntRange(-3, 300), rapid.Just(1<<40))
	seconds := rapid.OneOf(rapid.Float64Range(-10, 1e6), rapid.Float64())
	types := []event.Type{
		event.Version, event.PlanReady, event.Diagnostic, event.StepStart, event.StepEnd, event.ImageStart, event.ImageReady,
		event.LaunchStart, event.LaunchState,
		event.LaunchReady, event.LaunchFail, event.LaunchStop, event.LaunchDone, event.ProcessStart, event.RunStart, event.RunProgress,
		event.RunEnd, event.RepeatEnd, event.Look, event.GateResult, event.ReportDone, event.Interrupted, event.Heartbeat, event.Summary, "new",
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := func() string { return hostile.Draw(rt, "text") }
		width := rapid.IntRange(1, 120).Draw(rt, "width")
		clock := &fakeClock{at: time.Unix(0, 0)}
		s := newScreen(t, max(width, 8))
		var b strings.Builder
		views := []View{
			NewTTY(s, Options{Now: clock.now, Tick: still(), Width: func() int { return max(width, 8) }}),
			NewPlain(&b, Options{GitHubActions: true}),
		}
		for range rapid.IntRange(1, 10).Draw(rt, "events") {
			clock.at = clock.at.Add(time.Second)
			e := event.Event{
				Time: clock.at, Type: rapid.SampledFrom(types).Draw(rt, "type"), Addr: text(), Text: text(), Program: text(), RunID: text(),
				Repeat: number.Draw(rt, "n"), Repeats: number.Draw(rt, "n"), Target: text(), Label: text(), State: text(),
				Index: number.Draw(rt, "n"), Total: number.Draw(rt, "n"), Elapsed: seconds.Draw(rt, "s"), Left: seconds.Draw(rt, "s"),
				Verdict: result.Verdict(text()), Severity: event.Severity(text()), Detail: text(), Path: text(),
			}
			if rapid.Bool().Draw(rt, "whole") {
				at := result.Range{File: text(), Line: number.Draw(rt, "n")}
				failure := result.Failure{Phase: text(), Class: text(), Evidence: text(), Exit: text(), LogTail: []string{text(), text()}, Range: at}
				e.Failure, e.Range = &failure, &at
				e.Progress = &event.Progress{Sent: number.Draw(rt, "n"), Done: number.Draw(rt, "n"), Total: number.Draw(rt, "n"),
					TTFTp50: seconds.Draw(rt, "s"), Rate: seconds.Draw(rt, "s")}
				e.Run = &result.Run{Status: rapid.SampledFrom([]result.RunStatus{"ok", "failed", "void", "cancelled", "x"}).Draw(rt, "status"),
					Reason: text(), Duration: seconds.Draw(rt, "s"),
					Failed: number.Draw(rt, "n"), Failures: map[string]int{text(): 1}, Metrics: map[string]float64{"ttft.p50": seconds.Draw(rt, "s")}}
				e.Step = &result.Step{Addr: text(), Status: rapid.SampledFrom([]result.StepStatus{"done", "cached", "failed", "x"}).Draw(rt,
					"status"), Failure: &failure, Log: text()}
				e.Plan = &event.PlanTotals{Runs: number.Draw(rt, "n"), Seconds: seconds.Draw(rt, "s"), Simulated: text()}
				e.Started = &result.Launch{Startup: seconds.Draw(rt, "s"), Log: text()}
				e.Image = &result.Image{Image: text(), Seconds: seconds.Draw(rt, "s")}
			}
			for _, view := range views {
				view.Handle(e)
			}
			state := &views[0].(*tty).state
			frame := state.frame(clock.at, width)
			if len(frame) > maxFrame {
				rt.Fatalf("%d lines", len(frame))
			}
			for _, l := range frame {
				if term.Width(l) > width || term.Escape(l) != l {
					rt.Fatalf("line %q at width %d", l, width)
				}
			}
		}
		for _, view := range views {
			if err := view.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		for l := range strings.SplitSeq(b.String(), "\n") {
			ours := strings.HasPrefix(l, "::group::last lines of the log") || l == "::endgroup::"
			if !ours && (strings.HasPrefix(strings.TrimSpace(l), "::") || strings.Contains(l, "##[")) {
				rt.Fatalf("a workflow command: %q", l)
			}
			if plainText := strings.ReplaceAll(l, "\u2060", ""); term.Escape(plainText) != plainText {
				rt.Fatalf("control characters: %q", l)
			}
		}
	})
}

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		clock(0): "0:00", clock(59.9): "0:59", clock(3723): "1:02:03", clock(-5): "0:00",
		about(0.4): "less than 1 s", about(59): "about 59 s", about(90): "about 2 min", about(3569): "about 59 min",
		about(3600): "about 1 h 00 min", about(9000): "about 2 h 30 min",
		latency(0.0451234): "45.1 ms", latency(0.00012): "0.12 ms", latency(0.9996): "1.00 s", latency(0.9994): "999 ms",
		latency(12.34): "12.3 s",
		span(41.23):    "41.2 s", span(125): "2:05",
		tally(map[string]int{"b": 1, "a": 1, "c": 2}): "c 2, a 1, b 1",
		bar(1, 4, 8): "██░░░░░░", bar(9, 4, 4): "████", bar(1, 0, 4): "░░░░",
		percent(1, 3): "33 %", percent(1, 0): "0 %",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Gates that only warn have no family: their comparisons are not said to be none.
func TestPlannedGates(t *testing.T) {
	for want, p := range map[string]event.PlanTotals{
		"2 gates with 6 comparisons":                            {Gates: 2, Family: 6},
		"2 gates, none of which fails the file by significance": {Gates: 2},
	} {
		var got []string
		for _, l := range planned(event.Event{Plan: &p}) {
			got = append(got, l.text)
		}
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
}

// A server alone is said to be ready once; the members of a pair each.
func TestReadyIsSaidOnce(t *testing.T) {
	var b strings.Builder
	v := NewPlain(&b, Options{})
	for _, e := range []event.Event{
		{Type: event.LaunchState, Target: "pair", State: "prefill ready"},
		{Type: event.LaunchState, Target: "one", State: steps.StateReady},
		{Type: event.LaunchReady, Target: "one"},
	} {
		v.Handle(e)
	}
	if got := b.String(); strings.Count(got, "ready") != 2 || !strings.Contains(got, "pair: prefill ready") ||
		!strings.Contains(got, "one is ready") {
		t.Errorf("got %q", got)
	}
}

// TestRepeatName: a repeat is told by its number in the plan, also where it is measured again.
func TestRepeatName(t *testing.T) {
	for want, e := range map[string]event.Event{
		"":                 {},
		"repeat 2/6":       {Repeat: 2, Repeats: 6},
		"repeat 2/6 again": {Repeat: 1001, Repeats: 6, Replaces: 2},
	} {
		if got := repeatName(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
