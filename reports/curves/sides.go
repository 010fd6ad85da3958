package curves

import (
	"slices"

	"github.com/servegate/pipeline/reports/result"
)

// Side is a document in a comparison, with the name of its lines.
type Side struct {
	Name string
	Doc  *result.Document
}

// sideAxis is the coordinate that distinguishes documents; no axis of a file can have this name.
const sideAxis = "\x00side"

// OfSides returns the charts that compare documents, with a line for each. The caller checks
// whether their requests are comparable. Coordinates other than the load distinguish the charts.
func OfSides(sides []Side) []Chart {
	c := comparison{axis: sideAxis, roles: map[string]Role{}}
	if len(sides) == 2 {
		c.roles[sides[0].Name], c.roles[sides[1].Name] = Base, Head
	}
	var all []sample
	shared := sharedBenchmarks(sides)
	for _, s := range sides {
		for i := range s.Doc.Benchmarks {
			b := &s.Doc.Benchmarks[i]
			samples, _ := placed(s.Doc, b)
			copies := map[*result.Cell]*result.Cell{}
			for _, sample := range samples {
				if copies[sample.cell] == nil {
					cell := *sample.cell
					cell.Values = append([]result.AxisValue{{Name: sideAxis, Value: s.Name}}, cell.Values...)
					copies[sample.cell] = &cell
				}
				sample.cell, sample.shape = copies[sample.cell], ""
				if slices.Contains(shared, b.Addr) {
					sample.shape = b.Addr
				}
				all = append(all, sample)
			}
		}
	}
	var out []Chart
	for _, group := range groupBy(all, func(s sample) string { return s.shape + "\x00" + s.load.Name }) {
		for _, chart := range c.charts(group) {
			chart.Benchmark = group[0].shape
			chart.limits(&result.Document{})
			chart.figures()
			out = append(out, chart)
		}
	}
	return out
}

// sharedBenchmarks returns the addresses that all documents have.
func sharedBenchmarks(sides []Side) []string {
	count := map[string]int{}
	for _, s := range sides {
		for _, b := range s.Doc.Benchmarks {
			count[b.Addr]++
		}
	}
	var out []string
	for addr, n := range count {
		if n == len(sides) {
			out = append(out, addr)
		}
	}
	return out
}
