package convert

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// weight of a note: how much of what a reader would conclude depends on it.
type weight int

const (
	// heavy notes say that a figure is not what its file says, or was concluded.
	heavy weight = iota
	// middling ones say what was left out or is incomplete.
	middling
	// light ones explain.
	light
)

// note is a line for people.
type note struct {
	weight weight
	text   string
}

// warnf adds a note of the middle weight to a result, alarmf a heavy and remarkf a light one.
func (r *Run) warnf(format string, args ...any)   { r.notef(middling, format, args...) }
func (r *Run) alarmf(format string, args ...any)  { r.notef(heavy, format, args...) }
func (r *Run) remarkf(format string, args ...any) { r.notef(light, format, args...) }

func (r *Run) notef(w weight, format string, args ...any) {
	const limit = 20 // a hostile file must not flood a report
	if len(r.Warnings) >= limit {
		return
	}
	text := fmt.Sprintf(format, args...)
	if r.weights == nil {
		r.weights = map[string]weight{}
	}
	r.weights[text] = w
	r.Warnings = append(r.Warnings, text)
}

// weightOf is that of a warning; one that was put there by hand has the middle one.
func (r *Run) weightOf(text string) weight {
	if w, ok := r.weights[text]; ok {
		return w
	}
	return middling
}

// notef adds a note to the document.
func (d *document) notef(w weight, format string, args ...any) {
	n := note{w, fmt.Sprintf(format, args...)}
	if !slices.Contains(d.notes, n) {
		d.notes = append(d.notes, n)
	}
}

func (d *document) warnf(format string, args ...any) { d.notef(middling, format, args...) }

// passOn takes over what the results warn of. Warnings that differ in their numbers and names
// alone are one note, with where the first is and how many there are.
func (d *document) passOn() {
	type group struct {
		weight weight
		first  string
		more   int
	}
	groups := map[string]*group{}
	var order []string
	for _, r := range d.runs {
		for _, text := range r.Warnings {
			key := pattern(text)
			g := groups[key]
			if g == nil {
				g = &group{weight: r.weightOf(text), first: r.At() + ": " + text, more: -1}
				groups[key] = g
				order = append(order, key)
			}
			g.more++
		}
	}
	for _, key := range order {
		g := groups[key]
		switch g.more {
		case 0:
			d.notef(g.weight, "%s", g.first)
		default:
			d.notef(g.weight, "%s (and %d more like it)", g.first, g.more)
		}
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
	tools := make([]string, 0, len(byTool))
	for tool := range byTool {
		tools = append(tools, tool)
	}
	slices.Sort(tools)
	for _, tool := range tools {
		slices.Sort(byTool[tool])
		d.notef(light, notDefined+", in results of %s: %s", cmp.Or(tool, "a tool that is not said"), strings.Join(byTool[tool], "; "))
	}
}

// definitions are those of a result, one for all statistics that share it.
func definitions(r *Run) []string {
	var out []string
	for id, definition := range r.Definitions {
		group, stat, _ := strings.Cut(id, ".")
		if m, ok := metric.Lookup(group + ".mean"); ok && m.Tool == "" && stat != "peak_second" && group != "itl_token" {
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

// warnings are the notes of the document, the heaviest first.
func (d *document) warnings() []string {
	slices.SortStableFunc(d.notes, func(a, b note) int { return cmp.Compare(a.weight, b.weight) })
	var out []string
	for _, n := range d.notes[:min(len(d.notes), maxNotes)] {
		out = append(out, n.text)
	}
	if more := len(d.notes) - maxNotes; more > 0 {
		out = append(out, fmt.Sprintf("%d more notes are left out", more))
	}
	return out
}

// Explains reports that a note of a document only explains: it comes after those of other
// documents that say what a figure is not.
func Explains(text string) bool { return strings.HasPrefix(text, notDefined) }

// notDefined begins the note on definitions.
const notDefined = "not defined as the metrics of the registry are"

// Notes are what results warn of, the heaviest first, like ones together.
func Notes(runs []Run) []string {
	d := &document{}
	d.distinct(runs)
	return d.warnings()
}
