package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// maxTail bounds the lines of a log that a report shows.
const maxTail = 40

// failures returns the section on failed servers and steps, with evidence and the end of the log, and on failed
// requests.
func (v *view) failures() model.Section {
	s := model.Section{}
	groups := v.failureGroups()
	for _, g := range groups {
		s.Notes = append(s.Notes, g.note())
		if tail := g.failure.LogTail[max(0, len(g.failure.LogTail)-maxTail):]; len(tail) > 0 {
			s.Logs = append(s.Logs, model.Log{Title: g.logTitle(len(tail)), Lines: tail})
		}
	}
	requests, failed, sent := v.requestFailures()
	s.Notes = append(s.Notes, v.runsByReason(result.RunFailed, "failed")...)
	s.Tables = []model.Table{requests}
	var title []string
	if n := len(groups); n > 0 {
		title = append(title, humanize.Count(n, "failure")+" of servers and steps")
	}
	if n := v.runsWith(result.RunFailed); n > 0 {
		title = append(title, humanize.Count(n, "failed run"))
	}
	if failed > 0 {
		title = append(title, fmt.Sprintf("%s of %s failed", humanize.Commas(fmt.Sprint(failed)), humanize.Count(sent, "request")))
	}
	s.Title = model.Plain(strings.Join(title, " · "))
	return s
}

// numbers matches what differs between log lines of the same failure in several launches: times, process IDs, addresses.
var numbers = lazyregexp.New(`[0-9]+`)

// failureGroup is a failure and where it happened. It groups failures of several launches that are equal but for numbers.
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
		key := strings.Join([]string{l.Target, l.Failure.Phase, l.Failure.Class,
			numbers.ReplaceAllString(l.Failure.Evidence, "0"), l.Failure.Exit}, "\x00")
		g := byKey[key]
		if g == nil {
			g = &failureGroup{addr: l.Target, launches: launches[l.Target]}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.failure, g.log = l.Failure, l.Log // shows the last one
		repeat, again := v.doc.Planned(l.Repeat)
		text := fmt.Sprint(repeat)
		if again {
			text += " again"
		}
		g.repeats = append(g.repeats, text)
	}
	for i := range v.doc.Steps {
		if st := &v.doc.Steps[i]; st.Failure != nil {
			groups = append(groups, &failureGroup{addr: st.Addr, log: st.Log, failure: st.Failure})
		}
	}
	return groups
}

// phases describes the phases of failures. Unknown phases are shown verbatim.
var phases = map[string]string{
	"start": "did not start",
	"ready": "did not become ready",
	"run":   "died during a run",
	"stop":  "did not stop",
	"step":  "failed",
}

func (g *failureGroup) note() model.Line {
	f := g.failure
	line := model.Join(" ", model.Code(g.addr), model.Plain(cmp.Or(phases[f.Phase], "failed in phase "+f.Phase)))
	if g.launches > 0 {
		line = append(line, model.Span{Text: fmt.Sprintf(" in %d of %s (repeat %s)", len(g.repeats), humanize.Count(g.launches, "launch"),
			strings.Join(g.repeats, ", "))})
	}
	var what []model.Line
	if f.Class != "" {
		what = append(what, model.Line{{Text: f.Class, Style: model.Strong}})
	}
	if f.Exit != "" {
		exit := model.Code(f.Exit)
		if !strings.HasPrefix(f.Exit, "exit") { // as in "exit status 3"
			exit = model.Join(" ", model.Plain("exit"), exit)
		}
		what = append(what, exit)
	}
	if f.Evidence != "" {
		what = append(what, model.Code(f.Evidence))
	}
	line = model.Join(": ", line, model.Join(", ", what...))
	return model.Join(" — ", line, place(f.Range))
}

func (g *failureGroup) logTitle(n int) model.Line {
	return model.Join(" ", model.Plain("last "+humanize.Count(n, "line")+" of"), model.Code(cmp.Or(g.log, "the log of "+g.addr)))
}

// place returns the location of a block in its file: "perf.hcl:12".
func place(r result.Range) model.Line {
	if r.File == "" {
		return nil
	}
	return model.Code(location(r))
}

func location(r result.Range) string {
	if r.File == "" || r.Line <= 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// runsByReason counts runs of one status by target and reason.
func (v *view) runsByReason(status result.RunStatus, verb string) []model.Line {
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
	var notes []model.Line
	for _, k := range order {
		head := model.Plain(humanize.Count(counts[k], "run") + " " + verb)
		if k.target != "" {
			head = model.Join(" on ", head, model.Code(k.target))
		}
		notes = append(notes, model.Join(": ", head, nonEmpty(k.reason)))
	}
	return notes
}

// runsWith counts the runs of a status.
func (v *view) runsWith(status result.RunStatus) int {
	n := 0
	v.eachRun(allRuns, func(_ cellAt, r *result.Run) {
		if r.Status == status {
			n++
		}
	})
	return n
}

// eachRun calls f for the runs of every cell that which selects.
func (v *view) eachRun(which func(result.Cell) []result.Run, f func(at cellAt, r *result.Run)) {
	for _, at := range allCells(v.doc) {
		runs := which(*at.cell)
		for i := range runs {
			f(at, &runs[i])
		}
	}
}

// allRuns returns all runs of a cell, including those that were measured again.
func allRuns(c result.Cell) []result.Run { return c.Runs }

// requestFailures counts the failed requests of each target by class, over the runs that count.
func (v *view) requestFailures() (t model.Table, failed, sent int) {
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
	t = model.Table{Columns: []model.Column{{Title: "target", Wrap: true}, {Title: "requests", Align: model.Right},
		{Title: "failed", Align: model.Right}, {Title: "by class", Wrap: true}}}
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
		t.Add(model.Code(target), model.Plain(humanize.Commas(fmt.Sprint(s.sent))), model.Plain(humanize.Commas(fmt.Sprint(s.failed))),
			model.Plain(strings.Join(classes, ", ")))
	}
	return t, failed, sent
}
