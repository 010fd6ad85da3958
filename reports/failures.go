package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"

	"github.com/servegate/pipeline/reports/result"
)

// maxTail bounds the lines of a log that a report shows.
const maxTail = 40

// failures are the servers and steps that failed, with evidence and the end of the log,
// and the requests that servers failed.
func (v *view) failures() *Section {
	s := &Section{Kind: Failures}
	groups := v.failureGroups()
	for _, g := range groups {
		s.Notes = append(s.Notes, g.note())
		if tail := lastLines(g.failure.LogTail, maxTail); len(tail) > 0 {
			s.Logs = append(s.Logs, Log{Title: g.logTitle(len(tail)), Lines: tail})
		}
	}
	requests, failed, sent := v.requestFailures()
	s.Notes = append(s.Notes, v.failedRuns()...)
	if len(requests.Rows) > 0 {
		s.Tables = append(s.Tables, requests)
	}
	var title []string
	if n := len(groups); n > 0 {
		title = append(title, humanize.Count(n, "failure")+" of servers and steps")
	}
	if failed > 0 {
		title = append(title, fmt.Sprintf("%s of %s failed", humanize.Commas(fmt.Sprint(failed)), humanize.Count(sent, "request")))
	}
	if len(s.Notes) == 0 && len(s.Tables) == 0 {
		return nil
	}
	s.Title = plain(cmp.Or(strings.Join(title, " · "), "Failed runs"))
	return s
}

// failureGroup is a failure and where it happened: the same one of several launches is
// told once.
type failureGroup struct {
	addr, log string
	failure   *result.Failure
	repeats   []string
	launches  int // of the target, 0 for a step
}

func (v *view) failureGroups() []*failureGroup {
	var groups []*failureGroup
	launches := map[string]int{}
	for _, l := range v.doc.Launches {
		launches[l.Target]++
	}
	byKey := map[string]*failureGroup{}
	for i := range v.doc.Launches {
		l := &v.doc.Launches[i]
		if l.Failure == nil {
			continue
		}
		key := strings.Join([]string{l.Target, l.Failure.Phase, l.Failure.Class, l.Failure.Evidence, l.Failure.Exit}, "\x00")
		g := byKey[key]
		if g == nil {
			g = &failureGroup{addr: l.Target, launches: launches[l.Target]}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.failure, g.log = l.Failure, l.Log // the last one is shown
		g.repeats = append(g.repeats, fmt.Sprint(l.Repeat))
	}
	for i := range v.doc.Steps {
		if st := &v.doc.Steps[i]; st.Failure != nil {
			groups = append(groups, &failureGroup{addr: st.Addr, log: st.Log, failure: st.Failure})
		}
	}
	return groups
}

// phases in words; "%s" of an unknown one is shown as it is.
var phases = map[string]string{
	"start": "did not start",
	"ready": "did not become ready",
	"run":   "died during a run",
	"stop":  "did not stop",
	"step":  "failed",
}

func (g *failureGroup) note() Line {
	f := g.failure
	line := join(" ", code(g.addr), plain(cmp.Or(phases[f.Phase], "failed in phase "+f.Phase)))
	if g.launches > 0 {
		line = append(line, Span{Text: fmt.Sprintf(" in %d of %s (repeat %s)", len(g.repeats), humanize.Count(g.launches, "launch"), strings.Join(g.repeats, ", "))})
	}
	var what []Line
	if f.Class != "" {
		what = append(what, Line{{Text: f.Class, Style: Strong}})
	}
	if f.Exit != "" {
		exit := code(f.Exit)
		if !strings.HasPrefix(f.Exit, "exit") { // as in "exit status 3"
			exit = join(" ", plain("exit"), exit)
		}
		what = append(what, exit)
	}
	if f.Evidence != "" {
		what = append(what, code(f.Evidence))
	}
	line = join(": ", line, join(", ", what...))
	return join(" — ", line, place(f.Range))
}

func (g *failureGroup) logTitle(n int) Line {
	l := join(" ", plain("last "+humanize.Count(n, "line")+" of"), code(cmp.Or(g.log, "the log of "+g.addr)))
	return l
}

// place is where a block stands in the file: "perf.hcl:12".
func place(r result.Range) Line {
	if r.File == "" {
		return nil
	}
	return code(location(r))
}

func location(r result.Range) string {
	if r.File == "" || r.Line <= 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

func lastLines(lines []string, n int) []string {
	return lines[max(0, len(lines)-n):]
}

// failedRuns are the runs that the server did not survive, by reason.
func (v *view) failedRuns() []Line {
	return v.runsByReason(result.RunFailed, "run", "failed")
}

// runsByReason counts runs of one status by target and reason.
func (v *view) runsByReason(status result.RunStatus, noun, verb string) []Line {
	type key struct{ target, reason string }
	counts := map[key]int{}
	var order []key
	v.eachRun(allRuns, func(at cellAt, r *result.Run) {
		if r.Status != status {
			return
		}
		k := key{at.cell.Target, r.Reason}
		if counts[k] == 0 {
			order = append(order, k)
		}
		counts[k]++
	})
	var notes []Line
	for _, k := range order {
		head := plain(humanize.Count(counts[k], noun) + " " + verb)
		if k.target != "" {
			head = join(" on ", head, code(k.target))
		}
		notes = append(notes, join(": ", head, nonEmpty(k.reason)))
	}
	return notes
}

// eachRun calls f for the runs of every cell: all of them, or those that count.
func (v *view) eachRun(which func(result.Cell) []result.Run, f func(at cellAt, r *result.Run)) {
	for i := range v.doc.Benchmarks {
		b := &v.doc.Benchmarks[i]
		for j := range b.Cells {
			for _, r := range which(b.Cells[j]) {
				f(cellAt{b, &b.Cells[j]}, &r)
			}
		}
	}
}

// allRuns of a cell, also those that were measured again.
func allRuns(c result.Cell) []result.Run { return c.Runs }

// requestFailures are the failed requests of each target by class, over the runs that
// count.
func (v *view) requestFailures() (t Table, failed, sent int) {
	type sum struct {
		sent, failed int
		classes      map[string]int
	}
	sums := map[string]*sum{}
	v.eachRun(result.Cell.Current, func(at cellAt, r *result.Run) {
		if r.Status != result.RunOK && r.Status != result.RunFailed {
			return
		}
		s := sums[at.cell.Target]
		if s == nil {
			s = &sum{classes: map[string]int{}}
			sums[at.cell.Target] = s
		}
		s.sent += r.Sent
		s.failed += r.Failed
		for c, n := range r.Failures {
			s.classes[c] += n
		}
	})
	t = Table{Columns: []Column{{Title: "target", Wrap: true}, {Title: "requests", Align: Right}, {Title: "failed", Align: Right}, {Title: "by class", Wrap: true}}}
	for _, target := range slices.Sorted(maps.Keys(sums)) {
		s := sums[target]
		failed, sent = failed+s.failed, sent+s.sent
		if s.failed == 0 {
			continue
		}
		var classes []string
		for _, c := range slices.Sorted(maps.Keys(s.classes)) {
			classes = append(classes, fmt.Sprintf("%s %d", c, s.classes[c]))
		}
		t.Rows = append(t.Rows, Row{Cells: []Line{
			code(target), plain(humanize.Commas(fmt.Sprint(s.sent))), plain(humanize.Commas(fmt.Sprint(s.failed))), plain(strings.Join(classes, ", ")),
		}})
	}
	return t, failed, sent
}
