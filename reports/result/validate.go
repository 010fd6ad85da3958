package result

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// maxProblems bounds the length of Validate's error.
const maxProblems = 20

// Validate checks that doc is consistent: enumerations hold known values, every number is
// finite and in its range, and every reference leads somewhere (a run to its launch, a
// launch and a cell to their target, a gate to its benchmark, a decision to its head's
// cell, and, against a baseline of the same session, to its base's). References may be
// empty where an importer has nothing to refer to.
//
// The error joins the problems, each with its path, at most 20 of them.
func Validate(doc *Document) error {
	v := newValidator(doc)
	v.document(doc)
	return errors.Join(v.problems...)
}

// validator collects problems and knows what can be referred to.
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
		v.addf("%s: there is no %s %s", fmt.Sprintf(path, at...), what, clip(id))
	}
}

// oneOf checks an enumeration.
func oneOf[T ~string](v *validator, got T, path string, want ...T) {
	if !slices.Contains(want, got) {
		v.addf("%s: %s is none of %q", path, clip(string(got)), want)
	}
}

// atMost checks 0 <= x <= hi.
func (v *validator) atMost(x, hi float64, path string, at ...any) {
	if x < 0 || x > hi {
		v.addf("%s: %g is not in 0 … %g", fmt.Sprintf(path, at...), x, hi)
	}
}

func (v *validator) document(doc *Document) {
	oneOf(v, doc.Status, "status", StatusComplete, StatusInterrupted, StatusFailed)
	oneOf(v, doc.Verdict, "verdict", append(slices.Clone(severity), "")...)
	v.atMost(doc.Alpha, 1, "alpha")
	v.atMost(doc.TimeScale, math.MaxFloat64, "time_scale")
	v.count(doc.FamilySize, "family_size")
	v.count(doc.RepeatsPlanned, "repeats_planned")
	v.count(doc.RepeatsDone, "repeats_done")
	v.looks(doc.Looks, "looks")
	v.looks(doc.LooksTaken, "looks_taken")
	for i, l := range doc.Launches {
		v.ref(v.targets, l.Target, "target", "launches[%d].target", i)
		v.count(l.Repeat, "launches[%d].repeat", i)
		v.atMost(l.Startup, math.MaxFloat64, "launches[%d].startup_s", i)
	}
	for i := range doc.Benchmarks {
		v.benchmark(&doc.Benchmarks[i], fmt.Sprintf("benchmarks[%d]", i))
	}
	for i := range doc.Gates {
		v.gate(&doc.Gates[i], fmt.Sprintf("gates[%d]", i))
	}
}

// looks are positive and ascending.
func (v *validator) looks(looks []int, path string) {
	for i, n := range looks {
		if n < 1 || i > 0 && n <= looks[i-1] {
			v.addf("%s: %v are not positive and ascending", path, looks)
			return
		}
	}
}

func (v *validator) count(n int, path string, at ...any) {
	if n < 0 {
		v.addf("%s: %d is negative", fmt.Sprintf(path, at...), n)
	}
}

func (v *validator) benchmark(b *Benchmark, path string) {
	for i, c := range b.Cells {
		v.ref(v.targets, c.Target, "target", "%s.cells[%d].target", path, i)
		for j, r := range c.Runs {
			at := fmt.Sprintf("%s.cells[%d].runs[%d]", path, i, j)
			oneOf(v, r.Status, at+".status", RunOK, RunFailed, RunVoid, RunCancelled)
			v.ref(v.launches, r.Launch, "launch", "%s.launch", at)
			v.count(r.Repeat, "%s.repeat", at)
			v.count(r.Sent, "%s.sent", at)
			v.count(r.Failed, "%s.failed", at)
			if r.Failed > r.Sent {
				v.addf("%s: %d of %d requests failed", at, r.Failed, r.Sent)
			}
			v.atMost(r.Duration, math.MaxFloat64, "%s.duration_s", at)
		}
	}
}

func (v *validator) gate(g *Gate, path string) {
	oneOf(v, g.Verdict, path+".verdict", severity...)
	oneOf(v, g.BaselineKind, path+".baseline_kind", "", "paired", "file", "stored")
	for _, on := range []struct{ name, action string }{
		{"on_regression", g.OnRegression}, {"on_inconclusive", g.OnInconclusive},
		{"on_missing", g.OnMissing}, {"on_invalid", g.OnInvalid},
	} {
		oneOf(v, Action(on.action), path+"."+on.name, Fail, Warn, Ignore, "")
	}
	v.atMost(g.Alpha, 1, "%s.alpha", path)
	hashes, ok := v.cells[g.Benchmark]
	if g.Benchmark != "" && !ok {
		v.addf("%s.benchmark: there is no benchmark %s", path, clip(g.Benchmark))
	}
	if g.Benchmark == "" {
		hashes = v.allHashes
	}
	for i := range g.Decisions {
		at := fmt.Sprintf("%s.decisions[%d]", path, i)
		d := &g.Decisions[i]
		v.decision(d, at)
		if ok || g.Benchmark == "" {
			v.ref(hashes, d.Cell, "cell", "%s.cell", at)
		}
		if g.BaselineKind == "paired" {
			v.ref(v.allHashes, d.BaseCell, "cell", "%s.base_cell", at)
		}
	}
}

func (v *validator) decision(d *Decision, at string) {
	oneOf(v, d.Kind, at+".kind", KindMetric, KindSuccess, KindAssert)
	oneOf(v, d.Verdict, at+".verdict", severity...)
	oneOf(v, d.Direction, at+".direction", "lower", "higher", "")
	oneOf(v, d.Scale, at+".scale", "log", "difference", "proportion", "")
	oneOf(v, d.LimitOp, at+".limit_op", "<", "<=", ">", ">=", "==", "!=", "")
	v.count(d.N, "%s.n", at)
	v.count(d.SuiteCells, "%s.suite_cells", at)
	v.count(d.NeedPairs, "%s.need_pairs", at)
	v.atMost(d.Level, 1, "%s.level", at)
	v.atMost(d.HolmLevel, 1, "%s.holm_level", at)
	v.count(d.Look, "%s.look", at)
	if d.P != nil {
		v.atMost(*d.P, 1, "%s.p", at)
	}
	if d.PHolm != nil {
		v.atMost(*d.PHolm, 1, "%s.p_holm", at)
	}
	if d.Lower != nil && d.Upper != nil && *d.Lower > *d.Upper {
		v.addf("%s: lower %g is above upper %g", at, *d.Lower, *d.Upper)
	}
}
