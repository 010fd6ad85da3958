// Package series reports how metrics developed over the stored sessions: as a document, a report, a
// page with charts, and the texts of issues.
package series

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/text"
)

// Schema is the version of the JSON that JSON writes.
const Schema = "pipeline/trends/1.0"

// History shows how metrics developed over the stored sessions, either real or simulated ones,
// never both.
type History struct {
	Schema string `json:"schema"`
	Branch string `json:"branch,omitempty"`
	// Simulated is set for simulated sessions, which allow no conclusion on a real server.
	Simulated bool      `json:"simulated,omitempty"`
	Sessions  int       `json:"sessions"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	// Warnings describe what was left out.
	Warnings []string `json:"warnings,omitempty"`
	Trends   []Trend  `json:"series"`
}

// Trend is one metric of one cell of a benchmark.
type Trend struct {
	// Key identifies a series: 16 hexadecimal digits, the same as long as the cell is.
	Key       string `json:"key"`
	Benchmark string `json:"benchmark"`
	Cell      string `json:"cell"`
	Label     string `json:"label"`
	Model     string `json:"model,omitempty"`
	Simulated string `json:"simulated,omitempty"`
	Metric    string `json:"metric"`
	// Properties of the metric, for readers that only have the document.
	MetricLabel string `json:"metric_label"`
	Unit        string `json:"unit,omitempty"`
	Direction   string `json:"direction"`
	Scale       string `json:"scale"`
	// Margin is the smallest change for the worse that matters.
	Margin float64 `json:"margin"`
	// Parts holds the sessions by kind of machine. Values of different machines are never compared,
	// because a change of the machine is not a change of the code.
	Parts []Part `json:"parts"`
}

// Part is a series on machines of one kind, oldest first.
type Part struct {
	Machine string `json:"machine"`
	// Retired parts have not been measured for many sessions, because the machine or the benchmark
	// is gone. They do not count in decisions.
	Retired bool     `json:"retired,omitempty"`
	Points  []Point  `json:"points"`
	Changes []Change `json:"changes,omitempty"`
	// Noise is the standard deviation of a session about its level: a ratio less one for times and
	// rates.
	Noise float64 `json:"noise"`
	trend.Standing
	Accepted *Acceptance `json:"accepted,omitempty"`
}

// Point is the value of one session.
type Point struct {
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
	Commit string    `json:"commit,omitempty"`
	// Dirty is set if the measured code had uncommitted changes.
	Dirty bool    `json:"dirty,omitempty"`
	Value float64 `json:"value"`
}

// Change is a change point between the session before Index and the one at Index.
type Change struct {
	Index  int         `json:"index"`
	State  trend.State `json:"state"`
	Before float64     `json:"before"`
	After  float64     `json:"after"`
	Change float64     `json:"change"`
	Worse  bool        `json:"worse"`
	P      float64     `json:"p"`
	// Accepted changes are part of the reference level.
	Accepted bool `json:"accepted,omitempty"`
}

// Acceptance is a person's decision that the level from a session on is the reference.
type Acceptance struct {
	ID     string    `json:"id"`
	Index  int       `json:"index"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	Author string    `json:"author"`
}

// rank orders conditions, the worst last.
var rank = map[trend.Condition]int{trend.Short: 1, trend.Steady: 2, trend.Suspicious: 3, trend.Regressed: 4}

// Condition returns the worst condition of the machines that still measure the series; Short if
// none does.
func (t *Trend) Condition() trend.Condition {
	worst := trend.Short
	for i := range t.Parts {
		if p := &t.Parts[i]; !p.Retired && rank[p.Condition] > rank[worst] {
			worst = p.Condition
		}
	}
	return worst
}

// Regressed returns the parts that make a series regressed.
func (t *Trend) Regressed() []*Part {
	var out []*Part
	for i := range t.Parts {
		if p := &t.Parts[i]; !p.Retired && p.Condition == trend.Regressed {
			out = append(out, p)
		}
	}
	return out
}

// Ends returns the commits around the last change for the worse that was not accepted, between
// which a culprit can be searched. It adds one session on each side, because the place of a change
// is known to about one session. ok is false if the commits are unknown.
func (t *Trend) Ends() (good, bad string, ok bool) {
	for i := range t.Parts {
		p := &t.Parts[i]
		at := -1
		for _, c := range p.Changes {
			if c.Worse && !c.Accepted {
				at = c.Index
			}
		}
		if at < 0 && p.Condition == trend.Regressed {
			at = p.Since
		}
		if p.Retired || at < 1 {
			continue
		}
		good, bad = lastCommit(p.Points[:max(1, at-1)]), firstCommit(p.Points[min(at+1, len(p.Points)-1):])
		if good != "" && bad != "" && good != bad {
			return good, bad, true
		}
	}
	return "", "", false
}

// lastCommit returns the commit of the last point with known code, "" if there is none.
func lastCommit(points []Point) string {
	for _, p := range slices.Backward(points) {
		if p.Commit != "" && !p.Dirty {
			return p.Commit
		}
	}
	return ""
}

// firstCommit returns the commit of the first point with known code, "" if there is none.
func firstCommit(points []Point) string {
	for _, p := range points {
		if p.Commit != "" && !p.Dirty {
			return p.Commit
		}
	}
	return ""
}

// daysFailing counts the calendar days from the first session of a regression to the last one, both
// included; 0 without a regression.
func (p *Part) daysFailing() int {
	if p.Condition != trend.Regressed || p.Since < 0 || p.Since >= len(p.Points) {
		return 0
	}
	day := func(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
	return 1 + int(day(p.Points[len(p.Points)-1].Time).Sub(day(p.Points[p.Since].Time))/(24*time.Hour))
}

// JSON writes h as JSON. It has no options.
func JSON(w io.Writer, h *History, _ model.Options) error {
	out := *h
	if out.Trends == nil {
		out.Trends = []Trend{} // never null
	}
	return model.JSON(w, &out)
}

// Markdown writes h as GitHub-flavoured markdown, within Options.Budget, or within
// markdown.SummaryBudget if that is 0. Of the other options it only uses Full.
func Markdown(w io.Writer, h *History, o model.Options) error {
	o.Budget = cmp.Or(o.Budget, markdown.SummaryBudget)
	return markdown.Write(w, newHistoryView(h).report(), o)
}

// Text writes h for a terminal. It uses the options Color, Width and Brief.
func Text(w io.Writer, h *History, o model.Options) error {
	return text.Write(w, newHistoryView(h).report(), o)
}
