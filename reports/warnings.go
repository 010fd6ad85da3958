package reports

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// warnings returns the warnings of the document and of its decisions, each once.
func (v *view) warnings() model.Section {
	places := map[string][]model.Line{}
	var order []string
	add := func(w string, place model.Line) {
		if _, ok := places[w]; !ok {
			order = append(order, w)
		}
		places[w] = append(places[w], place)
	}
	for _, w := range v.joined(v.doc.Warnings) {
		add(w, nil)
	}
	for _, r := range v.rows {
		for _, w := range r.d.Warnings {
			add(w, model.Join(" at ", model.Plain(metricLabel(r.d)), v.cellName(r)))
		}
		if r.d.MovedCost != "" {
			add("worse where no gate looks: "+r.d.MovedCost, v.cellName(r))
		}
	}
	s := model.Section{Title: model.Plain(humanize.Count(len(order), "warning")), Folded: len(order) > 5}
	for _, w := range order {
		line := model.Join(": ", places[w][0], model.Plain(w))
		if n := len(places[w]) - 1; n > 0 {
			line = append(line, model.Span{Text: " (and " + humanize.Count(n, "more time") + ")"})
		}
		s.Notes = append(s.Notes, line)
	}
	return s
}

// joined returns warnings of which those that say the same of several targets are one: "server.a and server.b: …".
func (v *view) joined(warnings []string) []string {
	var out []string
	targets, at := map[string][]string{}, map[string]int{} // by what is said of them
	for _, w := range warnings {
		addr, said, ok := strings.Cut(w, ": ")
		if !ok || !slices.ContainsFunc(v.doc.Targets, func(t result.Target) bool { return t.Addr == addr }) {
			out = append(out, w)
			continue
		}
		if targets[said] == nil {
			at[said] = len(out)
			out = append(out, "")
		}
		targets[said] = append(targets[said], addr)
		out[at[said]] = humanize.List(distinct(targets[said])) + ": " + said
	}
	return out
}
