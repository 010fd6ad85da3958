package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/lazyregexp"
)

// severity of a note: how much it may change a conclusion.
type severity int

const (
	// serious notes report a figure that differs from its file, or was derived.
	serious severity = iota
	// moderate notes report what was omitted or is incomplete.
	moderate
	// informative notes explain.
	informative
)

// note is a line for people.
type note struct {
	severity severity
	text     string
}

// warnf adds a moderate note to a result, seriousf a serious one and infof an informative one.
func (r *Run) warnf(format string, args ...any)    { r.notef(moderate, format, args...) }
func (r *Run) seriousf(format string, args ...any) { r.notef(serious, format, args...) }
func (r *Run) infof(format string, args ...any)    { r.notef(informative, format, args...) }

func (r *Run) notef(w severity, format string, args ...any) {
	const limit = 20 // a hostile file must not flood a report
	if len(r.notes) < limit {
		r.notes = append(r.notes, note{w, fmt.Sprintf(format, args...)})
	}
}

// Warnings returns notes for people: what was omitted or derived.
func (r *Run) Warnings() []string { return texts(r.notes) }

func texts(notes []note) []string {
	var out []string
	for _, n := range notes {
		out = append(out, n.text)
	}
	return out
}

// notef adds a note to the document.
func (d *document) notef(w severity, format string, args ...any) {
	n := note{w, fmt.Sprintf(format, args...)}
	if !slices.Contains(d.notes, n) {
		d.notes = append(d.notes, n)
	}
}

func (d *document) warnf(format string, args ...any) { d.notef(moderate, format, args...) }

// passOn copies the warnings of the results. Warnings that differ only in numbers and names become
// one note, with the first place and the count.
func (d *document) passOn() {
	type group struct {
		note
		more int
	}
	groups := map[string]*group{}
	var order []string
	for _, r := range d.runs {
		for _, n := range r.notes {
			key := pattern(n.text)
			if groups[key] == nil {
				groups[key] = &group{note{n.severity, r.At() + ": " + n.text}, -1}
				order = append(order, key)
			}
			groups[key].more++
		}
	}
	for _, key := range order {
		g := groups[key]
		if g.more > 0 {
			g.text += fmt.Sprintf(" (and %d more like it)", g.more)
		}
		d.notef(g.severity, "%s", g.text)
	}
}

// passOnDefinitions adds a note for each tool with the figures that are not metrics of the
// registry.
func (d *document) passOnDefinitions() {
	byTool := map[string][]string{}
	for _, r := range d.runs {
		for _, text := range definitions(r) {
			if !slices.Contains(byTool[r.Tool], text) {
				byTool[r.Tool] = append(byTool[r.Tool], text)
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(byTool)) {
		slices.Sort(byTool[tool])
		d.notef(informative, "not defined as the metrics of the registry are, in results of %s: %s", cmp.Or(tool, "an unnamed tool"),
			strings.Join(byTool[tool], "; "))
	}
}

// definitions returns the definitions of a result, one for all statistics with the same.
func definitions(r *Run) []string {
	var out []string
	for id, definition := range r.Definitions {
		group, stat, _ := strings.Cut(id, ".")
		if m, ok := metric.Lookup(group + ".mean"); ok && m.Tool == "" && stat != "peak_second" && stat != unstated && group != "itl_token" {
			continue // another statistic of a metric in the registry
		}
		if why, ok := strings.CutPrefix(definition, stat+" of "); ok {
			id, definition = group, strings.TrimPrefix(why, r.Tool+": ")
		}
		out = append(out, id+" ("+definition+")")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var varies = lazyregexp.New(`"[^"]*"|[-+]?\d[\d.,e+-]*|\b[a-z_]+\.[a-z]\w*\b`)

// pattern returns a warning without the parts that differ between similar ones.
func pattern(text string) string { return varies.ReplaceAllString(text, "#") }

// maxNotes is the most notes of a document.
const maxNotes = 100

// warnings returns the notes of the document, the most serious first.
func (d *document) warnings() []string {
	slices.SortStableFunc(d.notes, func(a, b note) int { return cmp.Compare(a.severity, b.severity) })
	out := texts(d.notes[:min(len(d.notes), maxNotes)])
	if more := len(d.notes) - maxNotes; more > 0 {
		out = append(out, fmt.Sprintf("%d more notes are left out", more))
	}
	return out
}

// Notes returns the warnings of results, the most serious first, similar ones together.
func Notes(runs []Run) []string {
	d := &document{}
	d.distinct(runs)
	return d.warnings()
}
