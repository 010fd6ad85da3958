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
	return out
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
