package judge_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// foreignFacts are facts of another load generator with another value of every field that must
// agree.
func foreignFacts() comparability.Facts {
	out := comparability.Facts{}
	for _, name := range comparability.Declarable() {
		out[name] = "4"
	}
	return out
}

// imported makes the runs of a session those of another load generator.
func (s session) imported() {
	for cell := range 2 {
		s.each(cell, func(r *result.Run) {
			r.Audit = map[string]any{"source": "f.json:1"}
			r.Work = foreignFacts()
		})
	}
}

// A side that differs in any field is invalid, with both values; where the baseline declares
// the field, or the axis is it, the sides are judged.
func TestSidesThatDifferInTheirWork(t *testing.T) {
	for _, name := range comparability.Declarable() {
		if comparability.Lookup(name).Session {
			continue // of the servers, which are what is compared
		}
		for _, declared := range []bool{false, true} {
			s := newSession()
			s.imported()
			s.each(1, func(r *result.Run) { r.Work[name] = "8" })
			want, exit := result.Invalid, 5
			if declared {
				s.plan.Gates[0].Differ, want, exit = []string{name}, result.Pass, 0
			}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			d := s.doc.Gates[0].Decisions[0]
			if d.Verdict != want || s.doc.ExitCode != exit {
				t.Errorf("%s, declared %v: %s %q, exit %d", name, declared, d.Verdict, d.Reason, s.doc.ExitCode)
			}
			if label := comparability.Lookup(name).Label; !declared && !strings.Contains(d.Reason, label+": base 4, head 8") {
				t.Errorf("%s: the reason %q does not name both values", name, d.Reason)
			}
		}
	}
}

// One side that agrees with the other in every repeat can still mix two workloads.
func TestRepeatsThatDifferInTheirWork(t *testing.T) {
	s := newSession()
	s.imported()
	for cell := range 2 {
		s.doc.Benchmarks[0].Cells[cell].Runs[2].Work["request_rate"] = "8"
		s.each(cell, func(r *result.Run) { r.Work = maps.Clone(r.Work); r.Work["seed"] = fmt.Sprint(r.Repeat) })
	}
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	d := s.doc.Gates[0].Decisions[0]
	if want := "request rate: repeat 1 4, repeat 3 8"; d.Verdict != result.Invalid || !strings.Contains(d.Reason, want) {
		t.Errorf("%s %q, want invalid with %q", d.Verdict, d.Reason, want)
	}
}

// What is unknown of one side is no difference.
func TestFieldsThatAreUnknownOfOneSide(t *testing.T) {
	s := newSession()
	s.imported()
	s.each(1, func(r *result.Run) { delete(r.Work, "tokenizer") })
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	d := s.doc.Gates[0].Decisions[0]
	if d.Verdict != result.Pass || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "tokenizer") {
		t.Errorf("%s, warnings %q, want a pass with a warning", d.Verdict, d.Warnings)
	}
}
