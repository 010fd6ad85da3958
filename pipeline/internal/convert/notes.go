package convert

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// severity of a note: how much of what a reader would conclude depends on it.
type severity int

const (
	// serious notes say that a figure is not what its file says, or was concluded.
	serious severity = iota
	// moderate ones say what was left out or is incomplete.
	moderate
	// informative ones explain.
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

// Warnings for people: what was left out or concluded.
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

// passOn takes over what the results warn of. Warnings that differ in their numbers and names
// alone are one note, with where the first is and how many there are.
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

// passOnDefinitions says which figures are no metrics of the registry: one note for each tool.
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
		d.notef(informative, "not defined as the metrics of the registry are, in results of %s: %s", cmp.Or(tool, "a tool that is not said"),
			strings.Join(byTool[tool], "; "))
	}
}

// definitions are those of a result, one for all statistics that share it.
func definitions(r *Run) []string {
	var out []string
	for id, definition := range r.Definitions {
		group, stat, _ := strings.Cut(id, ".")
		if m, ok := metric.Lookup(group + ".mean"); ok && m.Tool == "" && stat != "peak_second" && stat != unstated && group != "itl_token" {
			continue // another statistic of what the registry has
		}
		if why, ok := strings.CutPrefix(definition, stat+" of "); ok {
			id, definition = group, strings.TrimPrefix(why, r.Tool+": ")
		}
		out = append(out, id+" ("+definition+")")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var varies = regexp.MustCompile(`"[^"]*"|[-+]?\d[\d.,e+-]*|\b[a-z_]+\.[a-z]\w*\b`)

// pattern is a warning without what differs between like ones.
func pattern(text string) string { return varies.ReplaceAllString(text, "#") }

// maxNotes is how many notes a document has.
const maxNotes = 100

// warnings are the notes of the document, the most serious first.
func (d *document) warnings() []string {
	slices.SortStableFunc(d.notes, func(a, b note) int { return cmp.Compare(a.severity, b.severity) })
	out := texts(d.notes[:min(len(d.notes), maxNotes)])
	if more := len(d.notes) - maxNotes; more > 0 {
		out = append(out, fmt.Sprintf("%d more notes are left out", more))
	}
	return out
}

// Notes are what results warn of, the most serious first, similar ones together.
func Notes(runs []Run) []string {
	d := &document{}
	d.distinct(runs)
	return d.warnings()
}
