package comparability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps/probe"
)

// Difference is a field in which two sides differ.
type Difference struct {
	Field string // name in Fields, or of the machine's fact
	Label string
	// Base and Head are the two values; "" means not reported.
	Base, Head string
	// Declared means that the sides are declared to differ in it.
	Declared bool
	// Shown differences do not prevent a comparison.
	Shown bool
	// Lacking means that one side lacks a setting of the load that the other side has, and that no outcome shows
	// whether the load was the same.
	Lacking bool
}

// Unknown reports whether one side lacks the field.
func (d Difference) Unknown() bool { return d.Base == "" || d.Head == "" }

// Differences lists the differences of two sides, in the order of Fields.
type Differences []Difference

// Declared is the set of fields in which two sides are declared to differ.
type Declared map[string]bool

// Declare returns the fields with the given names. A name without a field stands for a parameter of unknown
// meaning.
func Declare(names ...string) Declared {
	out := Declared{}
	for _, name := range names {
		if f := Lookup(name); f != nil {
			out[f.Name] = true
			continue
		}
		bare := strings.TrimPrefix(name, Parameter)
		if f := Lookup(bare); f != nil { // it has got a meaning since the file was written
			out[f.Name] = true
			continue
		}
		out[Parameter+bare] = true
	}
	return out
}

// And returns d with further declarations.
func (d Declared) And(names ...string) Declared {
	out := Declare(names...)
	for name := range d {
		out[name] = true
	}
	return out
}

// Compare lists every field in which two sides differ. If they differ in the work as declared, it does not
// compare outcomes of the work. A bound on concurrency is not work, because the same requests arrive at the
// same times.
func Compare(base, head Facts, declared Declared) Differences {
	var out Differences
	meant := false
	for i := range Fields {
		f := &Fields[i]
		d, differs := f.compare(base, head)
		if !differs || f.Outcome && meant {
			continue
		}
		d.Declared = declared[f.Name]
		meant = meant || d.Declared && f.Name != MaxConcurrency
		out = append(out, d)
	}
	return append(out, compareMachines(base.machine(), head.machine())...)
}

// compare reports whether the sides differ in a field.
func (f *Field) compare(base, head Facts) (Difference, bool) {
	b, h := base[f.Name], head[f.Name]
	if b == "" && h == "" || f.equal(b, h) {
		return Difference{}, false
	}
	d := Difference{Field: f.Name, Label: f.Label, Base: b, Head: h, Shown: f.Rule == Shown}
	if !d.Unknown() {
		return d, true
	}
	if f.Absent != "" {
		d.Base, d.Head = cmp.Or(b, f.Absent), cmp.Or(h, f.Absent)
		return d, true
	}
	if f.Default != "" && f.equal(b+h, f.Default) {
		return Difference{}, false // the other side most likely uses the default
	}
	if f.Default != "" && base[Tool] != "" && base[Tool] == head[Tool] {
		unset := f.Default + " (not given)"
		d.Base, d.Head = cmp.Or(b, unset), cmp.Or(h, unset)
	}
	d.Lacking = f.Load && base[Tool] == head[Tool] && (f.ShownBy == "" || base[f.ShownBy] == "" || head[f.ShownBy] == "")
	return d, true
}

// equal compares two known values, as numbers if both are.
func (f *Field) equal(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return false
	}
	return math.Abs(x-y) <= f.Tolerance*math.Min(math.Abs(x), math.Abs(y))
}

// compareMachines compares the facts of two machines, if both are known.
func compareMachines(base, head map[string]string) Differences {
	if len(base) == 0 || len(head) == 0 {
		return nil
	}
	hard, soft := probe.Differences(base, head)
	var out Differences
	add := func(name string, shown bool) {
		out = append(out, Difference{
			Field: machinePrefix + name, Label: "machine's " + name, Shown: shown,
			Base: cmp.Or(base[name], probe.Unavailable), Head: cmp.Or(head[name], probe.Unavailable),
		})
	}
	for _, name := range hard {
		add(name, false)
	}
	for _, name := range soft {
		add(name, true)
	}
	return out
}

func (d Differences) filter(keep func(Difference) bool) Differences {
	return slices.DeleteFunc(slices.Clone(d), func(x Difference) bool { return !keep(x) })
}

// Invalid returns the differences that prevent a comparison: fields that both sides report, that must agree,
// and that are not declared to differ, and settings of the load that one side lacks.
func (d Differences) Invalid() Differences {
	return d.filter(func(x Difference) bool { return !x.Declared && !x.Shown && (!x.Unknown() || x.Lacking) })
}

// Known returns the differences in fields that both sides report.
func (d Differences) Known() Differences {
	return d.filter(func(x Difference) bool { return !x.Unknown() })
}

// Meant reports whether the sides differ in the work as declared. A bound on concurrency is not work, because
// the same requests arrive.
func (d Differences) Meant() bool {
	return slices.ContainsFunc(d, func(x Difference) bool { return x.Declared && x.Field != MaxConcurrency })
}

// Unreported returns the fields that must agree and that one side does not report.
func (d Differences) Unreported() Differences {
	return d.filter(func(x Difference) bool { return !x.Declared && !x.Shown && x.Unknown() && !x.Lacking })
}

// Within returns the differences that matter between two measurements of one side. It omits fields that may
// change between repeats.
func (d Differences) Within() Differences {
	return d.filter(func(x Difference) bool { f := Lookup(x.Field); return f == nil || !f.PerRepeat })
}

// Text formats the differences with both values, "" for none.
func (d Differences) Text(base, head string) string {
	const most = 4
	var parts []string
	for _, x := range d[:min(len(d), most)] {
		parts = append(parts, fmt.Sprintf("%s: %s %s, %s %s", x.Label, base, cmp.Or(clip(x.Base), "not reported"), head,
			cmp.Or(clip(x.Head), "not reported")))
	}
	if n := len(d) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(parts, "; ")
}

// Labels lists the labels of the differences.
func (d Differences) Labels() []string {
	var out []string
	for _, x := range d {
		out = append(out, x.Label)
	}
	return out
}

// clip shortens a value from a file.
func clip(v string) string {
	const most = 120
	if runes := []rune(v); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return v
}
