package history

import (
	"errors"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

// FromDocument returns the record of a session. It returns an error for sessions that must not
// become a baseline: interrupted or failed ones, and those without a valid run.
func FromDocument(doc *result.Document, src Source) (Record, error) {
	if doc.Status != result.StatusComplete {
		return Record{}, fmt.Errorf("run %s is %s: only complete ones are kept", doc.RunID, doc.Status)
	}
	if doc.RunID == "" || doc.Started.IsZero() {
		return Record{}, errors.New("the results have no run id or no time: only runs of this program are kept")
	}
	r := Record{
		ID: doc.RunID, Kind: Session, Time: doc.Started, Tool: doc.Tool, File: doc.File, Source: src,
		Simulated: SimulatedAs(doc), Machine: doc.Machine, Measures: doc.Measures,
	}
	r.Attempt = doc.Attempt
	if doc.Bill != nil && doc.Simulated == "" {
		r.GPUHours = doc.Bill.Spent.GPUHours
	}
	for i := range doc.Gates {
		g := &doc.Gates[i]
		r.Gates = append(r.Gates, Verdict{Gate: g.Addr, Verdict: string(g.Verdict), Fails: g.On(g.Verdict) == result.Fail})
	}
	if r.Cells = CellsOf(doc); len(r.Cells) == 0 {
		return Record{}, fmt.Errorf("run %s has no cell with a valid run", doc.RunID)
	}
	return r, nil
}

// CellsOf returns the cells of a document that have a valid run.
func CellsOf(doc *result.Document) []Cell {
	targets := map[string]result.Target{}
	for _, t := range doc.Targets {
		targets[t.Addr] = t
	}
	var out []Cell
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			if cell := cellOf(doc, b, &c, targets[c.Target]); cell.Runs > 0 {
				out = append(out, cell)
			}
		}
	}
	return out
}

func cellOf(doc *result.Document, b result.Benchmark, c *result.Cell, t result.Target) Cell {
	out := Cell{Benchmark: b.Addr, Hash: c.Hash, Label: result.Coordinates(c.Values, " "), Engine: t.Engine, Version: t.Version(),
		Model: t.Model, Metrics: c.Summary, Work: comparability.WorkOf(doc, c)}
	for _, r := range c.Current() {
		switch r.Status {
		case result.RunOK:
			out.Runs++
			out.Sent, out.Failed = out.Sent+r.Sent, out.Failed+r.Failed
		case result.RunFailed:
			out.Sent, out.Failed = out.Sent+r.Sent, out.Failed+r.Failed
		}
	}
	return out
}

// SimulatedAs returns how a document's servers were simulated: "" or, for example, "process×10".
func SimulatedAs(doc *result.Document) string { return Simulated(doc.Simulated, doc.TimeScale) }

// Simulated returns the same for a kind of simulation and its time scale.
func Simulated(kind string, scale float64) string {
	if kind == "" || scale == 0 || scale == 1 {
		return kind
	}
	return fmt.Sprintf("%s×%g", kind, scale)
}
