package curves

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// The bounds of curves.
const (
	maxCurvePoints = 200 // of a line
	maxCurveRows   = 100 // of the table
	maxCurveLines  = 6
	maxLimits      = 4 // of a figure
)

// Section draws at most this many charts.
func Section(charts []Chart, most int) model.Section {
	shown := charts[:min(len(charts), most)]
	s := model.Section{Title: model.Plain("Curves over the load")}
	for i := range shown {
		s.Parts = append(s.Parts, part(&shown[i], fmt.Sprintf("curve%d", i+1), i == 0))
	}
	if n := len(charts) - len(shown); n > 0 {
		s.Omitted = []model.Line{model.Plain(humanize.Count(n, "more workload") + " left out here; report --format curves has all.")}
	}
	return s
}

// part draws one workload.
func part(c *Chart, id string, open bool) model.Part {
	d := drawing{c: c, id: id}
	p := model.Part{ID: id, Open: open, Title: model.Code(c.Name()), Summary: model.Plain(c.Load.Title), Parts: d.latencies()}
	if charts := d.throughput(); len(charts) > 0 {
		p.Parts = append(p.Parts, model.Part{Title: model.Plain("Throughput"), Charts: charts})
	}
	table := tableOf(c).First(maxCurveRows)
	p.Parts = append(p.Parts, model.Part{Title: model.Plain("The points in figures"), Tables: []model.Table{table}})
	for _, note := range notesOf(c) {
		p.Footnotes = append(p.Footnotes, model.Plain(note))
	}
	return p
}

// notesOf returns notes on the dots, bands and bars, and on what is missing.
func notesOf(c *Chart) []string {
	notes := []string{dotsNote(c)}
	if slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Searched && l.Launches() > 1 }) {
		notes[0] = fmt.Sprintf("Dots: what each launch measured at the loads that its search tried; at a load of several launches their "+
			"geometric mean. Lines: mean over launches of each launch's own curve, straight between its loads on log scales, where %d launches or "+
			"more reach. Bands: %g %% interval of that mean with the launch as the unit (Student's t on the log scale), at each load by itself.",
			Fewest, 100*Confidence)
	}
	if k := capacityWords(c); k != "" {
		notes = append(notes, k)
	}
	if slices.ContainsFunc(c.Lines, func(l Line) bool { return slices.ContainsFunc(l.Points, Point.Overloaded) }) {
		notes = append(notes,
			"At dots with a red edge more was asked than the server could answer: the wait grows with the length of the run there.")
	}
	if n := len(c.WithoutGPUs); n > 0 && c.Throughput != nil {
		notes = append(notes, "Tokens per second and GPU are not drawn: nothing says how many GPUs served "+
			humanize.List(c.WithoutGPUs[:min(n, maxCurveLines)])+".")
	}
	if slices.ContainsFunc(c.Lines, func(l Line) bool { return len(l.Points) > maxCurvePoints }) {
		notes = append(notes, fmt.Sprintf("Of each line %d points are drawn, evenly spread; report --format curves has all.", maxCurvePoints))
	}
	if c.Unplaced > 0 {
		notes = append(notes, humanize.Count(c.Unplaced, "cell")+" without a bound on the load cannot be placed, and left out.")
	}
	return notes
}

// dotsNote describes the dots of measured cells and their bands.
func dotsNote(c *Chart) string {
	fewest, largest := math.MaxInt, 0
	for _, l := range c.Lines {
		for _, p := range l.Points {
			fewest, largest = min(fewest, len(p.Launches)), max(largest, len(p.Launches))
		}
	}
	launches := humanize.Count(largest, "launch")
	if fewest < largest {
		launches = fmt.Sprintf("%d to %s", fewest, launches)
	}
	note := "Dots: geometric means over launches, " + launches + " behind each."
	if largest == 1 {
		note = "Dots: one launch each, or results of which nothing says what launch they are of, so that nothing says how much they vary."
	}
	if largest < Fewest {
		return note + fmt.Sprintf(" No band: it needs %d launches.", Fewest)
	}
	note += fmt.Sprintf(" Bands, and bars beside dots of throughput: %g %% interval of that mean with the launch as the unit "+
		"(Student's t on the log scale), for each dot by itself, where there are %d launches or more.", 100*Confidence, Fewest)
	if slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Role != Other }) {
		note += " Gates compare launches in pairs, which is sharper than two bands."
	}
	return note
}

// capacityWords returns a sentence on the capacities that searches found, "" for none.
func capacityWords(c *Chart) string {
	var parts []string
	interval := ""
	for _, l := range c.Lines {
		k := l.Capacity
		if k == nil {
			continue
		}
		text := humanize.Number(k.Value)
		switch {
		case k.Bound == result.AtLeast:
			text = "at least " + text
		case k.Bound == result.AtMost:
			text = "at most " + text
		case k.Interval():
			text += fmt.Sprintf(" (%s … %s)", humanize.Number(k.Lower), humanize.Number(k.Upper))
			interval = "; the zone is its 95 % interval, over launches"
			if k.OneLaunch {
				interval = "; the zone is its 95 % interval, of the fit of one launch"
			}
		}
		parts = append(parts, l.Name+" "+text)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Dotted: the capacity, the highest load within all limits (%s): %s%s.", c.Load.Unit,
		strings.Join(parts, ", "), interval)
}

// tableOf returns a table of the values in the charts.
func tableOf(c *Chart) model.Table {
	figures := slices.Clone(c.Latencies)
	for _, f := range []*Figure{c.PerUser, c.PerGPU, c.Throughput} {
		if f != nil {
			figures = append(figures, *f)
		}
	}
	t := model.Table{Columns: []model.Column{{Title: "line", Wrap: true}, {Title: c.Load.Title, Align: model.Right},
		{Title: "GPUs", Align: model.Right, Aside: true}, {Title: "launches", Align: model.Right}}}
	for _, f := range figures {
		t.Columns = append(t.Columns, model.Column{Title: f.Label, Align: model.Right})
	}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			gpus := humanize.None
			if p.GPUs > 0 {
				gpus = fmt.Sprint(p.GPUs)
			}
			load := humanize.Exact(p.Load)
			if p.Overloaded() {
				load += " overloaded"
			}
			row := model.Row{Cells: []model.Line{model.Code(l.Name), model.Plain(load), model.Plain(gpus), model.Plain(fmt.Sprint(len(p.Launches)))}}
			for _, f := range figures {
				row.Cells = append(row.Cells, model.Plain(valueOf(p, f)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// valueOf formats an estimate with its interval.
func valueOf(p Point, f Figure) string {
	e, ok := p.Estimate(f)
	if !ok {
		return humanize.None
	}
	s := humanize.ScaleFor(f.Unit, e.Value)
	if !e.Interval() {
		return s.Value(e.Value)
	}
	return fmt.Sprintf("%s (%s … %s)", s.Value(e.Value), humanize.Number(e.Lower*s.Factor), humanize.Number(e.Upper*s.Factor))
}
