package reference

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/servegate/pipeline/steps"
)

// Events writes the page on the events that a run prints with --json and stores in events.jsonl.
func Events(w io.Writer) error {
	p := &page{}
	p.line("# Events", "", generated, "",
		"`pipeline run --json` prints an event a line, and `events.jsonl` of a run directory keeps those that are stored. The version of the "+
			"stream is "+event.Schema+
			": additions are minor, changes are major, and readers ignore what they do not know. Every event has "+
			fieldList([]string{"seq", "time", "type"})+", most have "+code("text")+".",
		"", "| type | when | fields | kept |", "|---|---|---|---|")
	for _, t := range event.Types {
		p.row(code(string(t.Type)), t.Doc, fieldList(t.Fields), t.Keep.String())
	}
	p.line("", "Of what is shown nothing is kept; what is synced is on the disk before the run goes on, because a resumed run relies on it.",
		"", "| field | meaning |", "|---|---|")
	for _, name := range slices.Sorted(maps.Keys(event.FieldDocs)) {
		p.row(code(name), event.FieldDocs[name])
	}
	p.line("", "## Lost places", "", "A run that loses its place, or gets none, ends as an infrastructure failure. The text of the failure "+
		"ends with one of these classes.", "", "| class | the place was lost, or not granted |", "|---|---|")
	for _, e := range steps.Evictions() {
		p.row(code(string(e.Class)), e.Doc)
	}
	return p.write(w)
}

func fieldList(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = code(name)
	}
	return strings.Join(out, ", ")
}

// Functions writes the functions for expressions.
func Functions(w io.Writer, functions []function.Doc) error {
	var p page
	p.line("# Functions", "", generated, "", "Names and meanings follow Terraform.", "", "| call | is |", "|---|---|")
	for _, f := range functions {
		text := []string{f.Description}
		for _, param := range f.Params {
			if param.Description != "" {
				text = append(text, code(param.Name)+": "+param.Description)
			}
		}
		p.row(code(f.Signature()), strings.Join(text, " "))
	}
	return p.write(w)
}

// Metrics writes the metrics, with units, definitions and sources.
func Metrics(w io.Writer, metrics []lang.MetricDoc) error {
	var p page
	p.line("# Metrics", "", generated, "",
		"Each is the value of one run or launch. Below *least requests* a gate on it is refused: fewer say nothing. Times are seconds in files "+
			"of results.", "")
	p.metrics(metrics)
	return p.write(w)
}

// MetricTable writes only the table of metrics.
func MetricTable(w io.Writer, metrics []lang.MetricDoc) error {
	var p page
	p.metrics(metrics)
	return p.write(w)
}

func (p *page) metrics(metrics []lang.MetricDoc) {
	p.line("| reference | label | unit | better | least requests | definition | source |", "|---|---|---|---|--:|---|---|")
	for _, m := range metrics {
		least := fmt.Sprint(m.MinRequests)
		if !m.Gated {
			least = "not gated"
		}
		p.row(code(m.Reference), m.Label, m.Unit, strings.TrimSuffix(m.Better, "_is_better"), least, m.Definition, m.Source)
	}
}
