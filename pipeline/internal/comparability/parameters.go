package comparability

import (
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// Parameter begins the facts whose meaning is not known: other columns of a table, other keys of a result.
const Parameter = "parameter."

// ParametersOf adds parameters of unknown meaning to the facts.
func (f Facts) ParametersOf(params map[string]string) {
	for name, v := range params {
		f.Set(Parameter+name, v)
	}
}

// CompareCells compares cells of two documents, whose sides may differ in their sessions, too.
func CompareCells(baseDoc, headDoc *result.Document, base, head *result.Cell, declared Declared) Differences {
	return append(Compare(OfCell(baseDoc, base), OfCell(headDoc, head), declared), Settings(base, head, declared)...)
}

// Settings compares the parameters of two cells whose meaning is not known, pass by pass. A parameter was set,
// and not measured, if it has one value in all repeats of a side; then the sides must agree in it. Two repeats of
// each side are needed to see that. A parameter that varies within a side is a measurement, and may differ.
func Settings(base, head *result.Cell, declared Declared) Differences {
	bases, heads := factsByPass(base), factsByPass(head)
	of := map[string]Difference{}
	for pass, b := range bases {
		for _, name := range parameters(b, heads[pass]) {
			was, setB := setting(name, b)
			is, setH := setting(name, heads[pass])
			if setB && setH && was != is {
				label, _ := strings.CutPrefix(name, Parameter)
				of[name] = Difference{Field: name, Label: "parameter " + label, Base: was, Head: is, Declared: declared[name]}
			}
		}
	}
	var out Differences
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[name])
	}
	return unified(out)
}

// unified joins settings that each side has under a name of its own, as "batch" and "batch_size": names of which one has
// all words of the other are taken to be one setting.
func unified(list Differences) Differences {
	out := list.filter(func(d Difference) bool { return !d.Unknown() })
	heads := list.filter(func(d Difference) bool { return d.Base == "" })
	for _, b := range list.filter(func(d Difference) bool { return d.Head == "" }) {
		i := slices.IndexFunc(heads, func(h Difference) bool { return sameWords(b.Field, h.Field) })
		if i < 0 {
			out = append(out, b)
			continue
		}
		h := heads[i]
		heads = slices.Delete(heads, i, i+1)
		if !(&Field{}).equal(b.Base, h.Head) {
			out = append(out, Difference{Field: b.Field, Label: b.Label + " and " + h.Label, Base: b.Base, Head: h.Head,
				Declared: b.Declared || h.Declared})
		}
	}
	return append(out, heads...)
}

// sameWords reports whether one name of a parameter has all words of another.
func sameWords(a, b string) bool {
	words := func(name string) []string {
		list := strings.Split(strings.TrimPrefix(name, Parameter), "_")
		for i := range list {
			list[i] = strings.TrimSuffix(list[i], "s")
		}
		return list
	}
	x, y := words(a), words(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	return !slices.ContainsFunc(x, func(word string) bool { return !slices.Contains(y, word) })
}

// factsByPass returns the facts of a cell's valid runs.
func factsByPass(cell *result.Cell) map[int][]Facts {
	out := map[int][]Facts{}
	for _, r := range cell.Current() {
		if r.Status == result.RunOK {
			out[r.Pass] = append(out[r.Pass], r.Work)
		}
	}
	return out
}

// parameters lists the parameters of unknown meaning in the facts of two sides.
func parameters(base, head []Facts) []string {
	names := map[string]bool{}
	for _, f := range slices.Concat(base, head) {
		for name := range f {
			if strings.HasPrefix(name, Parameter) {
				names[name] = true
			}
		}
	}
	return slices.Collect(maps.Keys(names))
}

// setting returns the only value of a parameter, "" if no repeat has it; false if it varies, or if one repeat
// cannot show whether it does.
func setting(name string, runs []Facts) (string, bool) {
	if len(runs) < 2 {
		return "", false
	}
	for _, f := range runs[1:] {
		if f[name] != runs[0][name] {
			return "", false
		}
	}
	return runs[0][name], true
}
