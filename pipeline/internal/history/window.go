package history

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/probe"
)

// Query selects the sessions that a cell may be compared with.
type Query struct {
	// Cell is the cell's hash, Metric the compared metric; an empty Metric only selects the cell.
	Cell, Metric string
	// Branch to use, "" for all.
	Branch string
	// Facts that must be equal: the machine's hard facts and those of Match, the model and the kind
	// of simulation.
	Machine   map[string]string
	Match     []string
	Model     string
	Simulated string
	// Work of the cell in this session, nil if unknown. Sessions that did other work are excluded.
	Work *comparability.Work
	// Sessions is the number of last sessions to use, 0 for all. Before excludes sessions from that
	// time on, and Exclude the session itself.
	Sessions int
	Before   time.Time
	Exclude  string
	// Now decides whether acceptances have expired.
	Now time.Time
	// Margin is the smallest loss that counts. If it is set, sessions at a level worse than the
	// reference are excluded: a baseline is an accepted level, not the result of drift.
	Margin float64
	// Measures describe the metrics of this session's file. Sessions with other definitions are
	// excluded.
	Measures result.Measures
}

// Point is the cell of one session.
type Point struct {
	ID     string
	Time   time.Time
	Source Source
	Cell   Cell
	Value  float64 // of the metric
}

// Window is the result of a query, oldest first.
type Window struct {
	Points []Point
	// Note describes in one sentence what was excluded and why, "" for nothing.
	Note string
	// OtherWork describes how the newest excluded session did other work, if no session is left and this is why.
	OtherWork string
	// Unknown counts the points whose record does not state its work.
	Unknown int
}

// Window returns the sessions that a query selects.
func (h *History) Window(q Query) Window {
	var w Window
	out := tally{}
	other := ""
	from, accepted := h.begin(q)
	dropped := h.dropped()
	until, pinned := h.pinned(q.Now)
	for _, r := range h.Records {
		if r.Kind != Session || r.ID == q.Exclude {
			continue
		}
		i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Hash == q.Cell })
		if i < 0 {
			continue
		}
		value, has := r.Cells[i].Metrics[q.Metric]
		why := q.differs(r, r.Cells[i])
		work := ""
		if why == "" && !dropped[r.ID] {
			work = q.otherWork(r.Cells[i])
		}
		switch {
		case dropped[r.ID]:
			why = "dropped"
		case why != "":
		case work != "":
			why = "of other work (" + work + ")"
			other = work
		case q.Metric != "" && !has:
			why = "without this metric"
		case value == 0 && betweenTokens(q.Metric):
			why = "of tokens that came in one piece"
		case r.Measures.Definition(q.Metric) != q.Measures.Definition(q.Metric):
			why = "by another definition of this metric"
		case !q.Before.IsZero() && !r.Time.Before(q.Before):
			why = "later"
		case r.Time.Before(from):
			why = "from before " + accepted + ", which was accepted"
		case pinned != "" && r.Time.After(until):
			why = "from after " + pinned + ", which is pinned"
		}
		if why != "" {
			out.add(why)
			continue
		}
		w.Points = append(w.Points, Point{ID: r.ID, Time: r.Time, Source: r.Source, Cell: r.Cells[i], Value: value})
	}
	w.keepReference(q, &out)
	if n := len(w.Points) - q.Sessions; q.Sessions > 0 && n > 0 {
		w.Points = w.Points[n:]
	}
	w.Note = out.text()
	if len(w.Points) == 0 {
		w.OtherWork = other
	}
	for _, p := range w.Points {
		if p.Cell.Work == nil {
			w.Unknown++
		}
	}
	return w
}

// betweenTokens reports whether 0 is not a valid value of a metric.
func betweenTokens(id string) bool {
	m, _ := metric.Lookup(id)
	return m.BetweenTokens() && !m.Informational
}

// differs returns why a session cannot be compared with the query's, "" if it can.
func (q Query) differs(r Record, c Cell) string {
	if q.Branch != "" && r.Source.Branch != q.Branch {
		return "of another branch"
	}
	found := comparability.Compare(facts(r.Machine, r.Simulated), facts(q.Machine, q.Simulated), nil).Invalid()
	if len(found) > 0 {
		return "not like this one (" + found.Text("then", "now") + ")"
	}
	switch {
	case (len(r.Machine) == 0) != (len(q.Machine) == 0):
		return "on a machine of which nothing is known"
	case q.Model != "" && c.Model == "":
		return "of a model that is not known"
	}
	for _, fact := range q.Match {
		if r.Machine[fact] != q.Machine[fact] {
			return "on a machine with another " + fact
		}
	}
	return ""
}

// otherWork returns how the cell of a session did other work than the query's, "" if it did not. The cell's identity
// covers the requested work. The rest is the model, the servers, and what the requests turned out to be.
func (q Query) otherWork(c Cell) string {
	models := comparability.Compare(model(c.Model), model(q.Model), nil)
	return append(models, comparability.Sessions(c.Work, q.Work)...).Invalid().Text("then", "now")
}

func model(name string) comparability.Facts {
	out := comparability.Facts{}
	out.Set(comparability.Model, name)
	return out
}

// facts returns the facts of the place that comparable sessions share.
func facts(machine map[string]string, simulated string) comparability.Facts {
	out := comparability.OfMachine(machine)
	out.Set(comparability.Simulated, simulated)
	return out
}

// begin returns the first session of a baseline: the last one with an accepted change.
func (h *History) begin(q Query) (from time.Time, run string) {
	for _, r := range h.Acceptances(q.Cell, q.Metric) {
		if !r.Annotation.Expired(q.Now) && r.Annotation.Measured.After(from) {
			from, run = r.Annotation.Measured, r.Annotation.Run
		}
	}
	return from, run
}

// pinned returns the last session that counts if the baseline is pinned, and its ID. The newest
// annotation decides.
func (h *History) pinned(now time.Time) (until time.Time, run string) {
	for _, r := range slices.Backward(h.Records) {
		switch {
		case r.Kind == Unpin:
			return time.Time{}, ""
		case r.Kind == Pin && !r.Annotation.Expired(now):
			return r.Annotation.Measured, r.Annotation.Run
		}
	}
	return time.Time{}, ""
}

// Expired reports whether the annotation has expired.
func (a Annotation) Expired(now time.Time) bool { return !a.Expires.IsZero() && now.After(a.Expires) }

// Acceptances returns the acceptances for a metric of a cell, oldest first.
func (h *History) Acceptances(cell, metric string) []Record {
	var out []Record
	for _, r := range h.Records {
		if a := r.Annotation; r.Kind == Acceptance && (a.Cell == "" || a.Cell == cell) && (a.Metric == "" || a.Metric == metric) {
			out = append(out, r)
		}
	}
	return out
}

// Sessions returns the valid sessions of a branch ("" for all), oldest first.
func (h *History) Sessions(branch string) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		dropped := h.dropped()
		for _, r := range h.Records {
			if r.Kind == Session && !dropped[r.ID] && (branch == "" || r.Source.Branch == branch) && !yield(r) {
				return
			}
		}
	}
}

// dropped returns the sessions that do not count.
func (h *History) dropped() map[string]bool {
	out := map[string]bool{}
	for _, r := range h.Records {
		if r.Kind == Drop {
			out[r.Annotation.Run] = true
		}
	}
	return out
}

// Find returns a session by its ID or a prefix of it.
func (h *History) Find(id string) (Record, error) {
	var found []Record
	for _, r := range h.Records {
		if r.Kind == Session && id != "" && strings.HasPrefix(r.ID, id) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return Record{}, fmt.Errorf("the history has no session %q; `pipeline baseline list` shows them", id)
	case 1:
		return found[0], nil
	}
	return Record{}, fmt.Errorf("%d sessions begin with %q; give more of the id", len(found), id)
}

// NoiseOf returns the newest calibration of a metric of a cell on machines like this one.
func (h *History) NoiseOf(q Query) (n Noise, at time.Time, ok bool) {
	for _, r := range slices.Backward(h.Records) {
		if r.Kind != Calibration || r.Simulated != q.Simulated {
			continue
		}
		if hard, _ := probe.Differences(r.Machine, q.Machine); q.Machine != nil && len(hard) > 0 {
			continue
		}
		for _, n := range r.Noise {
			if n.Cell == q.Cell && n.Metric == q.Metric {
				return n, r.Time, true
			}
		}
	}
	return Noise{}, time.Time{}, false
}

// startupMetric is the time from the start of a launch to its readiness.
const startupMetric = "startup.time"

// LaunchTime returns how long launches took in the newest sessions and calibrations on machines
// like this one that measured one of the cells: their median in seconds, and the number of
// sessions.
func (h *History) LaunchTime(q Query, cells []string) (seconds float64, sessions int) {
	var found []float64
	for _, r := range slices.Backward(h.Records) {
		if r.Kind != Session && r.Kind != Calibration || len(found) == launchSessions {
			continue
		}
		i := slices.IndexFunc(r.Cells, func(c Cell) bool { return slices.Contains(cells, c.Hash) && c.Metrics[startupMetric] > 0 })
		if i >= 0 && q.differs(r, r.Cells[i]) == "" && q.otherWork(r.Cells[i]) == "" {
			found = append(found, r.Cells[i].Metrics[startupMetric])
		}
	}
	if len(found) == 0 {
		return 0, 0
	}
	slices.Sort(found)
	return found[len(found)/2], len(found)
}

// launchSessions is the number of sessions for an estimate of the launch time.
const launchSessions = 10

// SimulatedAs returns how a document's servers were simulated: "" or, for example, "process×10".
func SimulatedAs(doc *result.Document) string { return Simulated(doc.Simulated, doc.TimeScale) }

// Simulated returns the same for a kind of simulation and its time scale.
func Simulated(kind string, scale float64) string {
	if kind == "" || scale == 0 || scale == 1 {
		return kind
	}
	return fmt.Sprintf("%s×%g", kind, scale)
}

// tally counts exclusions, in order of first appearance.
type tally struct {
	reasons []string
	counts  map[string]int
}

func (t *tally) add(why string) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	if t.counts[why] == 0 {
		t.reasons = append(t.reasons, why)
	}
	t.counts[why]++
}

func (t *tally) text() string {
	var parts []string
	for _, why := range t.reasons {
		parts = append(parts, fmt.Sprintf("%d %s", t.counts[why], why))
	}
	if len(parts) == 0 {
		return ""
	}
	return "left out: " + strings.Join(parts, ", ")
}
