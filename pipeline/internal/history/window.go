package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
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
	ID    string
	Time  time.Time
	Cell  Cell
	Value float64 // of the metric
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
	var left tally
	otherWork := ""
	baseline := h.baseline(q)
	for _, r := range h.Records {
		i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Hash == q.Cell })
		if r.Kind != Session || r.ID == q.Exclude || i < 0 {
			continue
		}
		cell := r.Cells[i]
		why, work := baseline.excludes(r, cell)
		if otherWork = cmp.Or(work, otherWork); why != "" {
			left.add(why)
			continue
		}
		w.Points = append(w.Points, Point{ID: r.ID, Time: r.Time, Cell: cell, Value: cell.Metrics[q.Metric]})
	}
	w.keepReference(q, &left)
	if n := len(w.Points) - q.Sessions; q.Sessions > 0 && n > 0 {
		w.Points = w.Points[n:]
	}
	w.Note = left.text()
	if len(w.Points) == 0 {
		w.OtherWork = otherWork
	}
	for _, p := range w.Points {
		if p.Cell.Work == nil {
			w.Unknown++
		}
	}
	return w
}

// baseline is a query with what persons said about the sessions.
type baseline struct {
	Query
	dropped  map[string]bool
	from     time.Time // earlier sessions do not count, because the session accepted was accepted
	accepted string
	until    time.Time // later sessions do not count, if the session pinned is pinned
	pinned   string
}

func (h *History) baseline(q Query) baseline {
	b := baseline{Query: q, dropped: h.dropped()}
	b.from, b.accepted = h.begin(q)
	b.until, b.pinned = h.pinned(q.Now)
	return b
}

// excludes returns why a session does not count, "" if it does, and how its cell did other work if that is the reason.
func (b baseline) excludes(r Record, c Cell) (why, otherWork string) {
	if b.dropped[r.ID] {
		return "dropped", ""
	}
	if why := b.differs(r, c); why != "" {
		return why, ""
	}
	if work := b.otherWork(c); work != "" {
		return "of other work (" + work + ")", work
	}
	value, measured := c.Metrics[b.Metric]
	switch {
	case b.Metric != "" && !measured:
		why = "without this metric"
	case value == 0 && betweenTokens(b.Metric):
		why = "of tokens that came in one piece"
	case r.Measures.Definition(b.Metric) != b.Measures.Definition(b.Metric):
		why = "by another definition of this metric"
	case !b.Before.IsZero() && !r.Time.Before(b.Before):
		why = "later"
	case r.Time.Before(b.from):
		why = "from before " + b.accepted + ", which was accepted"
	case b.pinned != "" && r.Time.After(b.until):
		why = "from after " + b.pinned + ", which is pinned"
	}
	return why, ""
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
