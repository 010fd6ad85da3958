package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/steps/probe"
)

// Series is the history of one metric of one cell under one fingerprint, oldest first.
type Series struct {
	Benchmark string        `json:"benchmark"`
	Cell      string        `json:"cell"`
	Label     string        `json:"label"`
	Model     string        `json:"model,omitempty"`
	Machine   string        `json:"machine"`
	Simulated string        `json:"simulated,omitempty"`
	Metric    metric.Metric `json:"-"`
	MetricID  string        `json:"metric"`
	Points    []Value       `json:"points"`
	Changes   []Change      `json:"changes,omitempty"`
	// Noise is the standard deviation of a session about its segment, on the scale of
	// comparison: a ratio less one for times and rates.
	Noise float64 `json:"noise"`
	// Found is what the search for changes gave.
	Found trend.Series `json:"-"`
}

// Value of a series.
type Value struct {
	Run    string  `json:"run"`
	Time   string  `json:"time"`
	Commit string  `json:"commit,omitempty"`
	Value  float64 `json:"value"`
	// At is Time without its rounding.
	At time.Time `json:"-"`
}

// Change between the point before Index and the one at it.
type Change struct {
	Index  int     `json:"index"`
	Run    string  `json:"run"`
	State  string  `json:"state"` // suspected, confirmed
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Change float64 `json:"change"`
	Worse  bool    `json:"worse"`
	P      float64 `json:"p"`
	// Accepted is the reason for which it was accepted.
	Accepted string `json:"accepted,omitempty"`
}

// minSeries is the least number of sessions in which changes are looked for.
const minSeries = 6

// SeriesOf groups the sessions of a branch ("" for all) into series. Where the fingerprint
// changes a new series begins: a change of the machine is no change of the code.
func (h *History) SeriesOf(branch string, metrics []string) ([]Series, error) {
	all := map[string]*Series{}
	var order []string
	dropped := h.dropped()
	for _, r := range h.Records {
		if r.Kind != Session || dropped[r.ID] || branch != "" && r.Source.Branch != branch {
			continue
		}
		for _, c := range r.Cells {
			for id, v := range c.Metrics {
				m, ok := metric.Lookup(id)
				if !ok || len(metrics) > 0 && !slices.Contains(metrics, id) {
					continue
				}
				key := fmt.Sprintf("%q %q %q %q %q", c.Hash, id, c.Model, r.Simulated, probe.HardKey(r.Machine))
				s := all[key]
				if s == nil {
					s = &Series{Benchmark: c.Benchmark, Cell: c.Hash, Label: c.Label, Model: c.Model, Machine: machineName(r.Machine), Simulated: r.Simulated, Metric: m, MetricID: id}
					all[key] = s
					order = append(order, key)
				}
				s.Points = append(s.Points, Value{r.ID, r.Time.UTC().Format("2006-01-02 15:04"), r.Source.Commit, v, r.Time})
			}
		}
	}
	out := make([]Series, 0, len(order))
	for _, key := range order {
		if err := h.detect(all[key]); err != nil {
			return nil, err
		}
		out = append(out, *all[key])
	}
	slices.SortStableFunc(out, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Label, b.Label), cmp.Compare(a.MetricID, b.MetricID), cmp.Compare(a.Machine, b.Machine))
	})
	return out, nil
}

// detect fills in the change points of a series.
func (h *History) detect(s *Series) error {
	if len(s.Points) < minSeries {
		return nil
	}
	values := make([]float64, len(s.Points))
	for i, p := range s.Points {
		values[i] = p.Value
		if s.Metric.Scale == metric.Log && p.Value <= 0 {
			return nil // a metric of time that is 0: shown, not searched
		}
	}
	found, err := trend.Detect(s.Metric, values)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Label, err)
	}
	s.Noise, s.Found = found.Noise, found
	for _, c := range found.ChangePoints {
		s.Changes = append(s.Changes, Change{
			Index: c.Index, Run: s.Points[c.Index].Run, State: string(c.State), Before: c.Before, After: c.After,
			Change: c.Change, Worse: c.Worse, P: c.P, Accepted: h.acceptedAt(s, c.Index),
		})
	}
	return nil
}

// acceptedAt is the reason for which a change was accepted: by an annotation of a session of the
// segment that begins with it.
func (h *History) acceptedAt(s *Series, index int) string {
	for _, r := range h.Acceptances(s.Cell, s.MetricID) {
		if slices.ContainsFunc(s.Points[index:], func(p Value) bool { return p.Run == r.Annotation.Run }) {
			return r.Annotation.Reason
		}
	}
	return ""
}

func machineName(facts map[string]string) string {
	if gpu := facts["gpu_name"]; gpu != "" && gpu != probe.Unavailable {
		return facts["gpu_count"] + "× " + gpu
	}
	return cmp.Or(facts["cpu_model"], "unknown")
}
