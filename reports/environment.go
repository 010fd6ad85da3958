package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// maxTargetColumns is the maximum number of targets that a table of differences shows side by side.
const maxTargetColumns = 4

// environment returns the section on the targets (start-up times, capacities, router delays, differences), the
// preparatory steps and the machine.
func (v *view) environment() model.Section {
	s := model.Section{Title: model.Plain("Environment"), Folded: true, Tables: []model.Table{
		v.targets(), v.comparedSides(), v.phases(), v.capacities(), v.routers(), v.differences(), v.steps(), v.machine(),
	}}
	if n := len(v.doc.Targets); n > 0 {
		s.Title = model.Plain("Environment: " + humanize.Count(n, "target") + ", " + humanize.Count(len(v.doc.Launches), "launch"))
	}
	return s
}

func (v *view) targets() model.Table {
	t := model.Table{Columns: []model.Column{
		{Title: "target", Wrap: true}, {Title: "engine", Wrap: true}, {Title: "version", Wrap: true}, {Title: "model", Wrap: true},
		{Title: "launches", Align: model.Right}, {Title: "start-up", Align: model.Right}, {Title: "slowest", Align: model.Right},
		{Title: "place", Wrap: true},
	}}
	for _, target := range v.doc.Targets {
		launches, failed := 0, 0
		var startups []float64
		for _, l := range v.doc.Launches {
			if l.Target != target.Addr {
				continue
			}
			launches++
			if l.Failure != nil {
				failed++
			}
			if l.Startup > 0 {
				startups = append(startups, l.Startup*max(v.doc.TimeScale, 1))
			}
		}
		slices.Sort(startups)
		mid, slowest := humanize.None, humanize.None
		if n := len(startups); n > 0 {
			s := humanize.ScaleFor("s", startups[n-1])
			mid, slowest = s.Value(median(startups)), s.Value(startups[n-1])
		}
		number := fmt.Sprint(launches)
		if failed > 0 {
			number += fmt.Sprintf(" (%d failed)", failed)
		}
		t.Add(model.Code(target.Addr), model.Plain(target.Engine), model.Plain(cmp.Or(target.Describe["version"], humanize.None)),
			model.Plain(cmp.Or(target.Model, humanize.None)), model.Plain(number), model.Plain(mid), model.Plain(slowest), place(target.Range))
	}
	return t
}

// comparedSides returns the planned differences between the sides of comparisons, which a change is the effect of.
func (v *view) comparedSides() model.Table {
	const most = 100
	t := model.Table{Title: model.Plain("What the compared sides differ in"), Columns: []model.Column{
		{Title: "sides", Wrap: true}, {Title: "what", Wrap: true}, {Title: "base", Wrap: true}, {Title: "head", Wrap: true},
	}}
	for _, s := range v.doc.Sides {
		for _, d := range s.Differences {
			if len(t.Rows) == most {
				return t
			}
			t.Add(model.Plain(s.Names(v.doc.Targets).String()), model.Code(d.What), model.Plain(cmp.Or(d.Base, humanize.None)),
				model.Plain(cmp.Or(d.Head, humanize.None)))
		}
		if s.Identical {
			t.Add(model.Plain(s.Names(v.doc.Targets).String()), model.Plain("nothing: a server is compared with itself"), model.Plain(humanize.None),
				model.Plain(humanize.None))
		}
	}
	return t
}

// differences returns the settings in which the targets differ.
func (v *view) differences() model.Table {
	targets := v.doc.Targets
	if len(targets) < 2 || len(targets) > maxTargetColumns {
		return model.Table{}
	}
	t := model.Table{Title: model.Plain("Differences"), Columns: []model.Column{{Title: "setting", Wrap: true}}}
	settings := make([]map[string]string, len(targets))
	keys := map[string]bool{}
	for i, target := range targets {
		t.Columns = append(t.Columns, model.Column{Title: target.Addr, Wrap: true})
		settings[i] = settingsOf(target)
		for k := range settings[i] {
			keys[k] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		row := model.Row{Cells: []model.Line{model.Code(k)}}
		differ := false
		for _, s := range settings {
			differ = differ || s[k] != settings[0][k]
			if value, ok := s[k]; ok {
				row.Cells = append(row.Cells, model.Code(value))
			} else {
				row.Cells = append(row.Cells, model.Plain(humanize.None))
			}
		}
		if differ {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// settingsOf returns the settings that the server reported and the flags that it was started with.
func settingsOf(t result.Target) map[string]string {
	settings := maps.Clone(t.Describe)
	if settings == nil {
		settings = map[string]string{}
	}
	for i := 0; i < len(t.Argv); i++ {
		name, value, ok := strings.Cut(t.Argv[i], "=")
		if !strings.HasPrefix(name, "-") || name == "--port" {
			continue
		}
		if !ok && i+1 < len(t.Argv) && !strings.HasPrefix(t.Argv[i+1], "-") {
			i++
			value = t.Argv[i]
		}
		settings[name] = cmp.Or(value, "set")
	}
	if t.Model != "" {
		settings["model"] = t.Model
	}
	return settings
}

func (v *view) steps() model.Table {
	t := model.Table{Title: model.Plain("Steps"), Columns: []model.Column{{Title: "step", Wrap: true}, {Title: "status", Wrap: true},
		{Title: "took", Align: model.Right}}}
	for _, st := range v.doc.Steps {
		t.Add(model.Code(st.Addr), model.Plain(string(st.Status)), model.Plain(humanize.ScaleFor("s", st.Duration).Value(st.Duration)))
	}
	return t
}

func (v *view) machine() model.Table {
	t := model.Table{Title: model.Plain("Machine"), Columns: []model.Column{{Title: "property", Wrap: true}, {Title: "value", Wrap: true}}}
	for _, k := range slices.Sorted(maps.Keys(v.doc.Machine)) {
		t.Add(model.Plain(k), model.Plain(v.doc.Machine[k]))
	}
	return t
}
