package trends

import (
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/series"
	"github.com/servegate/pipeline/reports/site"
	"github.com/servegate/pipeline/steps/probe"
)

// Site prepares the pages of a history whose series were judged. Sessions that a person dropped are runs of the site
// too: the scoreboard of the gates counts them as false alarms.
func Site(h *history.History, judged *series.History, q Query) *site.Site {
	out := &site.Site{History: judged}
	machines := map[string]int{}
	machine := func(r history.Record) *site.Machine {
		key := probe.HardKey(r.Machine)
		i, ok := machines[key]
		if !ok {
			i = len(out.Machines)
			machines[key] = i
			out.Machines = append(out.Machines, site.Machine{Key: machineKey(key), Name: machineName(r.Machine), Facts: r.Machine})
		}
		return &out.Machines[i]
	}
	labels := map[string]string{} // of cells
	for _, r := range h.Records {
		for _, c := range r.Cells {
			labels[c.Hash] = c.Label
		}
	}
	said := annotations(h)
	shown := map[string]bool{}
	for _, t := range judged.Trends {
		shown[t.Key] = true
	}
	for _, r := range h.Records {
		otherKind := r.Annotation == nil && (r.Simulated != "") != q.Simulated
		if otherKind || r.Kind == history.Session && q.Branch != "" && r.Source.Branch != q.Branch {
			continue
		}
		switch r.Kind {
		case history.Acceptance, history.Pin:
			a := r.Annotation
			out.Baselines = append(out.Baselines, site.Baseline{Run: a.Run, Reason: a.Reason, Author: a.Author, Time: r.Time,
				Of: strings.TrimSpace(labels[a.Cell] + " " + metricLabel(a.Metric)), Ends: r.Kind == history.Pin, Expired: a.Expired(q.Now)})
		case history.Unpin:
			for i := range out.Baselines {
				out.Baselines[i].Expired = out.Baselines[i].Expired || out.Baselines[i].Ends
			}
		case history.Session:
			run := runOf(r, shown)
			run.Machine = machine(r).Key
			run.Noise, run.Accepted = said[r.ID].noise, said[r.ID].accepted
			out.Runs = append(out.Runs, run)
		case history.Calibration:
			m := machine(r)
			for _, n := range r.Noise {
				m.Calibrations = append(m.Calibrations, site.Calibration{Time: r.Time, Cell: n.Label, Metric: label(n.Metric), Pairs: n.Pairs,
					PairSD: n.PairSD})
			}
		}
	}
	return out
}

// machineKey returns the key of a kind of machine as a short name.
func machineKey(hard string) string { return trendKey(history.Cell{Hash: hard}, "machine", "", "") }

// runOf returns a session as a run of the site. Values have the series that are shown.
func runOf(r history.Record, shown map[string]bool) site.Run {
	run := site.Run{ID: r.ID, Time: r.Time, File: r.File, Commit: r.Source.Commit, Branch: r.Source.Branch, Attempt: r.Attempt,
		GPUHours: r.GPUHours}
	for _, g := range r.Gates {
		run.Verdicts = append(run.Verdicts, site.Verdict{Gate: g.Gate, Verdict: g.Verdict, Fails: g.Fails})
	}
	declared := r.Measures.Declared()
	for _, c := range r.Cells {
		cell := site.Cell{Name: strings.TrimSpace(model.ShortAddr(c.Benchmark) + " " + c.Label), Runs: c.Runs, Sent: c.Sent, Failed: c.Failed}
		for _, id := range slices.Sorted(maps.Keys(c.Metrics)) {
			m, ok := declared.Lookup(id)
			if !ok {
				continue
			}
			v := site.Value{Metric: m.Label, Text: humanize.ScaleFor(string(m.Unit), c.Metrics[id]).Value(c.Metrics[id])}
			if key := trendKey(c, id, r.Simulated, r.Measures.Definition(id)); shown[key] {
				v.Series = key
			}
			cell.Values = append(cell.Values, v)
		}
		run.Cells = append(run.Cells, cell)
	}
	return run
}

// statement is what persons have said on a session.
type statement struct{ noise, accepted string }

// annotations returns what persons have said, by session.
func annotations(h *history.History) map[string]statement {
	out := map[string]statement{}
	for _, r := range h.Records {
		if r.Annotation == nil {
			continue
		}
		s := out[r.Annotation.Run]
		switch {
		case r.Kind == history.Drop, r.Kind == history.Acceptance && strings.HasPrefix(strings.ToLower(r.Annotation.Reason), "noise"):
			s.noise = r.Annotation.Reason
		case r.Kind == history.Acceptance:
			s.accepted = r.Annotation.Reason
		}
		out[r.Annotation.Run] = s
	}
	return out
}

// metricLabel returns the label of a metric, "" if there is none.
func metricLabel(id string) string {
	if id == "" {
		return ""
	}
	return label(id)
}

// label returns the label of a metric, or its ID if it is a declared one.
func label(id string) string {
	if m, ok := metric.Lookup(id); ok {
		return m.Label
	}
	return id
}
