package result

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/internal/members"
)

// maxProblems limits the number of problems in Validate's error.
const maxProblems = 20

// Validate checks that doc is consistent. Enumerations must hold known values; every number must be
// finite and within its bounds. Every reference must be valid: a run to its launch, a launch and a
// cell to their target, a gate to its benchmark, a decision to its head's cell and, for a baseline
// of the same session, to its base's. References may be empty if an importer has nothing to refer
// to.
//
// The error joins the problems, each with its path, at most 20 of them.
func Validate(doc *Document) error {
	v := newValidator(doc)
	v.document(doc)
	return errors.Join(v.problems...)
}

// validator collects problems and the possible targets of references.
type validator struct {
	problems  []error
	targets   map[string]bool
	launches  map[string]bool
	cells     map[string]map[string]bool // by benchmark address, hashes
	allHashes map[string]bool
}

func newValidator(doc *Document) *validator {
	v := &validator{
		targets: map[string]bool{}, launches: map[string]bool{},
		cells: map[string]map[string]bool{}, allHashes: map[string]bool{},
	}
	if path, ok := nonFinite(reflect.ValueOf(doc)); ok {
		v.addf("%s is not a finite number", path)
	}
	for i, t := range doc.Targets {
		v.unique(v.targets, t.Addr, "targets[%d].addr", i)
	}
	for i, l := range doc.Launches {
		v.unique(v.launches, l.ID, "launches[%d].id", i)
	}
	for i, b := range doc.Benchmarks {
		if v.cells[b.Addr] != nil {
			v.addf("benchmarks[%d].addr: %s is there twice", i, clip(b.Addr))
			continue
		}
		hashes := map[string]bool{}
		for j, c := range b.Cells {
			v.unique(hashes, c.Hash, "benchmarks[%d].cells[%d].hash", i, j)
			v.allHashes[c.Hash] = true
		}
		v.cells[b.Addr] = hashes
	}
	return v
}

func (v *validator) addf(format string, args ...any) {
	switch len(v.problems) {
	case maxProblems:
		v.problems = append(v.problems, errors.New("and more"))
	default:
		if len(v.problems) < maxProblems {
			v.problems = append(v.problems, fmt.Errorf(format, args...))
		}
	}
}

func (v *validator) unique(seen map[string]bool, id, path string, at ...any) {
	if id == "" {
		v.addf("%s is empty", fmt.Sprintf(path, at...))
	} else if seen[id] {
		v.addf("%s: %s is there twice", fmt.Sprintf(path, at...), clip(id))
	}
	seen[id] = true
}

func (v *validator) ref(known map[string]bool, id, what, path string, at ...any) {
	if id != "" && !known[id] {
		v.addf("%s: unknown %s %s", fmt.Sprintf(path, at...), what, clip(id))
	}
}

func (v *validator) document(doc *Document) {
	v.values(reflect.ValueOf(doc).Elem(), nil)
	v.references(doc)
}

// references checks references and the order of looks.
func (v *validator) references(doc *Document) {
	v.looks(doc.Looks, "looks")
	v.looks(doc.LooksTaken, "looks_taken")
	for i, l := range doc.Launches {
		v.ref(v.targets, l.Target, "target", "launches[%d].target", i)
	}
	for i := range doc.Benchmarks {
		v.benchmark(&doc.Benchmarks[i], fmt.Sprintf("benchmarks[%d]", i))
	}
	for i := range doc.Gates {
		v.gate(&doc.Gates[i], fmt.Sprintf("gates[%d]", i))
	}
}

// values checks every field against its type: the values of its enumeration, and its bounds.
// Integers are counts, and never negative.
func (v *validator) values(x reflect.Value, path *step) {
	next := step{before: path}
	switch x.Kind() {
	case reflect.Pointer:
		if !x.IsNil() {
			v.values(x.Elem(), path)
		}
	case reflect.Slice:
		for i := range x.Len() {
			next.index = i
			v.values(x.Index(i), &next)
		}
	case reflect.Int:
		if x.Int() < 0 {
			v.addf("%s: %d is negative", path.text(), x.Int())
		}
	case reflect.String:
		if allowed, ok := enums[x.Type()]; ok && !slices.Contains(allowed, x.String()) {
			v.addf("%s: %s must be one of %q", path.text(), clip(x.String()), allowed)
		}
	case reflect.Struct:
		for _, f := range members.Of(x.Type()) {
			field := x.FieldByIndex(f.Index)
			if f.Optional && field.IsZero() {
				continue
			}
			next.name = f.Name
			v.values(field, &next)
			v.bounds(field, f, &next)
		}
	}
}

// step is the last step of a path into a document: a member, or an element of a list. Its text is made for a problem only.
type step struct {
	before *step
	name   string // "" for an element
	index  int
}

func (s *step) text() string {
	switch {
	case s == nil:
		return ""
	case s.name == "":
		return fmt.Sprintf("%s[%d]", s.before.text(), s.index)
	}
	return strings.TrimPrefix(s.before.text()+"."+s.name, ".")
}

func (v *validator) bounds(field reflect.Value, f members.Member, path *step) {
	for field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	if !f.Bounded {
		return
	}
	x := field.Convert(reflect.TypeFor[float64]()).Float()
	if x < f.Low || x > f.High {
		v.addf("%s: %g is not in %g … %g", path.text(), x, f.Low, f.High)
	}
}

// looks checks that looks are positive and ascending.
func (v *validator) looks(looks []int, path string) {
	for i, n := range looks {
		if n < 1 || i > 0 && n <= looks[i-1] {
			v.addf("%s: %v are not positive and ascending", path, looks)
			return
		}
	}
}

func (v *validator) benchmark(b *Benchmark, path string) {
	for i, c := range b.Cells {
		v.ref(v.targets, c.Target, "target", "%s.cells[%d].target", path, i)
		for j, r := range c.Runs {
			at := fmt.Sprintf("%s.cells[%d].runs[%d]", path, i, j)
			v.ref(v.launches, r.Launch, "launch", "%s.launch", at)
			if r.Failed > r.Sent {
				v.addf("%s: %d of %d requests failed", at, r.Failed, r.Sent)
			}
		}
	}
}

func (v *validator) gate(g *Gate, path string) {
	hashes, ok := v.cells[g.Benchmark]
	if g.Benchmark != "" && !ok {
		v.addf("%s.benchmark: unknown benchmark %s", path, clip(g.Benchmark))
	}
	if g.Benchmark == "" {
		hashes = v.allHashes
	}
	for i := range g.Decisions {
		at := fmt.Sprintf("%s.decisions[%d]", path, i)
		d := &g.Decisions[i]
		if d.Lower != nil && d.Upper != nil && *d.Lower > *d.Upper {
			v.addf("%s: lower %g is above upper %g", at, *d.Lower, *d.Upper)
		}
		if ok || g.Benchmark == "" {
			v.ref(hashes, d.Cell, "cell", "%s.cell", at)
		}
		if g.BaselineKind == BaselinePaired {
			v.ref(v.allHashes, d.BaseCell, "cell", "%s.base_cell", at)
		}
	}
}
