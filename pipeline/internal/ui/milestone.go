package ui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// tone determines the mark and the colour of a line.
type tone int

const (
	neutral tone = iota
	good
	caution
	bad
	detail // belongs to the line before it
	logged // a line of a server's log
)

// line is one line of text that is safe to print.
type line struct {
	tone tone
	text string
}

// Limits for the output of one event.
const (
	maxText     = 600 // runes in a line
	maxName     = 160 // runes in an address, a label or a path within a line
	maxLogLines = 40
)

func clean(s string) string { return escape.Text(s, maxText) }
func name(s string) string  { return escape.Text(s, maxName) }

// milestones returns the permanent lines of an event. Intermediate stages are not among them (see stage).
func milestones(e event.Event) []line {
	switch e.Type {
	case event.PlanReady:
		return planned(e)
	case event.Diagnostic:
		return diagnosed(e)
	case event.StepEnd:
		return stepEnded(e)
	case event.ImageReady:
		return imageReady(e)
	case event.LaunchReady:
		return []line{{good, readyText(e)}}
	case event.LaunchFail:
		log := ""
		if e.Started != nil {
			log = e.Started.Log
		}
		return failed(name(e.Target)+" failed", e.Failure, log, e.Range)
	case event.RunEnd:
		return []line{runEnded(e)}
	case event.Look:
		return []line{{neutral, clean(e.Text)}}
	case event.GateResult:
		return []line{judged(e)}
	case event.ReportDone:
		return []line{{neutral, "wrote " + name(e.Path)}}
	case event.Interrupted:
		return []line{{caution, cmp.Or(clean(e.Text), "interrupted")}}
	case event.Summary:
		return []line{summed(e)}
	}
	return nil
}

// imageReady returns the line for an image that was pulled.
func imageReady(e event.Event) []line {
	if e.Image == nil || e.Image.Seconds < 1 {
		return nil
	}
	return []line{{good, clean(e.Text)}}
}

func planned(e event.Event) []line {
	lines := []line{{neutral, "plan of " + name(e.Text)}}
	p := e.Plan
	if p == nil {
		return lines
	}
	lines = append(lines, line{detail, fmt.Sprintf("%s, %s, %s: %s, %s, %s",
		humanize.Count(p.Benchmarks, "benchmark"), humanize.Count(p.Cells, "cell"), humanize.Count(p.Repeats, "repeat"),
		humanize.Count(p.Launches, "launch"), humanize.Count(p.Runs, "run"), about(p.Seconds))})
	switch {
	case p.Family > 0:
		lines = append(lines, line{detail, fmt.Sprintf("%s with %s", humanize.Count(p.Gates, "gate"), humanize.Count(p.Family, "comparison"))})
	case p.Gates > 0: // only comparisons that can fail are in the family
		lines = append(lines, line{detail, humanize.Count(p.Gates, "gate") + ", none of which fails the file by significance"})
	}
	switch {
	case p.Simulated == result.SimulatedVirtual:
		lines = append(lines, line{caution, "virtual time: model only, nothing is measured; times are those that the file would take"})
	case p.Simulated != "":
		lines = append(lines, line{caution, "simulated: no figure of it says anything about real hardware; --simulate=virtual ends in seconds"})
	}
	return lines
}

func diagnosed(e event.Event) []line {
	text, how := "warning: ", caution
	switch e.Severity {
	case event.Error:
		text, how = "error: ", bad
	case event.Note:
		text, how = "", neutral
	}
	lines := []line{{how, text + clean(e.Text)}}
	if e.Detail != "" {
		lines = append(lines, line{detail, clean(e.Detail)})
	}
	return append(lines, place(e.Range)...)
}

func stepEnded(e event.Event) []line {
	s := e.Step
	if s == nil {
		return []line{{neutral, clean(e.Text)}}
	}
	addr := name(s.Addr)
	switch s.Status {
	case result.StepDone:
		return []line{{good, fmt.Sprintf("%s done in %s", addr, span(s.Duration))}}
	case result.StepFailed:
		f := s.Failure
		if f == nil {
			f = e.Failure
		}
		return failed(addr+" failed", f, s.Log, e.Range)
	}
	return []line{{neutral, join(": ", addr+" "+name(string(s.Status)), otherThan(e.Text, s.Addr))}}
}

// otherThan returns text unless it only repeats an address.
func otherThan(text, addr string) string {
	if strings.HasPrefix(text, addr) {
		return ""
	}
	return clean(text)
}

func readyText(e event.Event) string {
	text := name(e.Target) + " is ready"
	if e.Started != nil && e.Started.Startup > 0 {
		text += " in " + span(e.Started.Startup)
	}
	if e.Started != nil && e.Started.Attempt > 1 {
		text += fmt.Sprintf(", at attempt %d", e.Started.Attempt)
	}
	return text
}

// failed formats a failure with all details.
func failed(what string, f *result.Failure, log string, at *result.Range) []line {
	if f == nil {
		return append([]line{{bad, what}}, place(at)...)
	}
	if f.Phase != "" {
		what += " (" + name(f.Phase) + ")"
	}
	lines := []line{{bad, join(": ", what, name(f.Class))}}
	if f.Evidence != "" {
		lines = append(lines, line{detail, clean(f.Evidence)})
	}
	if f.Exit != "" {
		lines = append(lines, line{detail, "ended with " + clean(f.Exit)})
	}
	tail := f.LogTail
	if len(tail) > maxLogLines {
		tail = tail[len(tail)-maxLogLines:]
	}
	for _, l := range tail {
		lines = append(lines, line{logged, escape.Line(l, maxText)})
	}
	if log != "" {
		lines = append(lines, line{detail, "the whole log: " + name(log)})
	}
	if at == nil {
		at = &f.Range
	}
	return append(lines, place(at)...)
}

// place formats where something is declared in the pipeline file.
func place(at *result.Range) []line {
	if at == nil || at.File == "" {
		return nil
	}
	return []line{{detail, fmt.Sprintf("at %s:%d", name(at.File), at.Line)}}
}

func runEnded(e event.Event) line {
	head := runName(e)
	r := e.Run
	if r == nil {
		return line{neutral, join(": ", head, clean(e.Text))}
	}
	switch r.Status {
	case result.RunOK:
	case result.RunVoid:
		return line{caution, join(": ", head, "void", clean(r.Reason))}
	case result.RunCancelled:
		return line{caution, join(": ", head, "cancelled", clean(r.Reason))}
	default:
		return line{bad, join(": ", head, name(string(r.Status)), clean(r.Reason))}
	}
	parts, sent, of := figures(r), r.Sent, ""
	if r.Search != nil { // the run counts only requests of probes that held
		parts, sent, of = []string{capacity.FoundText(r.Search), humanize.Count(len(r.Search.Probes), "probe")}, 0, " at loads that held"
		for _, p := range r.Search.Probes {
			sent += p.Sent
		}
	}
	requests := humanize.Count(sent, "request") + " in " + span(r.Duration)
	how := good
	if r.Failed > 0 {
		how = caution
		requests += fmt.Sprintf(", %d failed%s (%s)", r.Failed, of, name(tally(r.Failures)))
	}
	if r.Overloaded {
		how = caution
		requests += ", overloaded"
	}
	return line{how, head + ": " + strings.Join(append(parts, requests), ", ")}
}

// figures returns the most important figures of a run.
func figures(r *result.Run) []string {
	var parts []string
	for _, m := range []struct{ id, label string }{
		{"ttft.p50", "TTFT p50"}, {"ttft.p99", "p99"}, {"tpot.p50", "TPOT p50"},
	} {
		if v, ok := r.Metrics[m.id]; ok {
			parts = append(parts, m.label+" "+latency(v))
		}
	}
	return parts
}

// runName formats which run it is: "run 7/48 (repeat 2/6) chunked=on rate=4".
func runName(e event.Event) string {
	text := "run"
	if e.Total > 0 {
		text += fmt.Sprintf(" %d/%d", e.Index, e.Total)
	}
	if e.Repeat > 0 {
		text += " (" + repeatName(e) + ")"
	}
	if e.Pass > 0 {
		text += fmt.Sprintf(" pass %d", e.Pass)
	}
	if label := cellName(e); label != "" {
		text += " " + label
	}
	return text
}

// repeatName returns "repeat 2/6", or "repeat 2/6 again" if void runs of that repeat are measured again.
func repeatName(e event.Event) string {
	switch {
	case e.Repeat == 0:
		return ""
	case e.Replaces > 0:
		return fmt.Sprintf("repeat %d/%d again", e.Replaces, e.Repeats)
	case e.Repeats >= e.Repeat:
		return fmt.Sprintf("repeat %d/%d", e.Repeat, e.Repeats)
	}
	return fmt.Sprintf("repeat %d", e.Repeat)
}

// cellName returns the label of a cell, or the benchmark if it has no axes.
func cellName(e event.Event) string {
	if e.Label != "" {
		return name(e.Label)
	}
	return name(e.Addr)
}

func judged(e event.Event) line {
	text := join(": ", name(e.Addr), name(string(e.Verdict)))
	if e.Gate != nil && len(e.Gate.Decisions) > 0 {
		n := 0
		for i := range e.Gate.Decisions {
			if e.Gate.Decisions[i].Verdict == e.Verdict {
				n++
			}
		}
		text += fmt.Sprintf(" (%d of %s)", n, humanize.Count(len(e.Gate.Decisions), "comparison"))
	}
	return line{toneOf(e.Verdict), text}
}

func toneOf(v result.Verdict) tone {
	switch v {
	case result.Pass, result.Improvement:
		return good
	case result.Regression, result.Invalid, result.Missing:
		return bad
	case result.Inconclusive:
		return caution
	}
	return neutral
}

func summed(e event.Event) line {
	text := "no verdict"
	if e.Verdict != "" {
		text = "verdict: " + name(string(e.Verdict))
	}
	if e.ExitCode != nil {
		text += fmt.Sprintf(", exit status %d", *e.ExitCode)
	}
	how := toneOf(e.Verdict)
	if e.ExitCode != nil && *e.ExitCode != 0 {
		how = bad
	}
	return line{how, join(": ", text, clean(e.Text))}
}

// join joins the non-empty parts.
func join(sep string, parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}
