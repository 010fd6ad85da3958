package result

import "fmt"

// Sides describes how the two sides of a comparison differ in the plan.
type Sides struct {
	Baseline string `json:"baseline"` // address
	Axis     string `json:"axis"`     // compared axis
	Base     string `json:"base"`     // values of the axis
	Head     string `json:"head"`
	// BaseTarget and HeadTarget are addresses, equal if the sides only differ in their work.
	BaseTarget  string           `json:"base_target"`
	HeadTarget  string           `json:"head_target"`
	Differences []SideDifference `json:"differences,omitempty"` // none if the sides are identical
	// KnownAfterSteps is true if some of their launch parameters are only known after steps.
	KnownAfterSteps bool `json:"known_after_steps,omitempty"`
	// Identical is true if the sides are equal: a run compares a server with itself.
	Identical bool `json:"identical,omitempty"`
}

// SideDifference is one value that differs, absent if a side has none. Secrets are "(secret)".
type SideDifference struct {
	What string `json:"what"` // "image", "args.max_num_seqs", "work: max concurrency"
	Base string `json:"base,omitempty"`
	Head string `json:"head,omitempty"`
}

// Title names the sides by what differs: "v0.11.0 against v0.10.2".
func (s Sides) Title() string { return s.Names(nil).String() }

// Lines returns the differences, one per line, the base's value first.
func (s Sides) Lines() []string {
	const most = 20
	var out []string
	for i, d := range s.Differences {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(s.Differences)-most))
			break
		}
		out = append(out, fmt.Sprintf("%s: %s → %s", d.What, value(d.Base), value(d.Head)))
	}
	switch {
	case s.Identical:
		out = append(out, "the same in everything: this compares a server with itself")
	case s.KnownAfterSteps:
		out = append(out, "and what is known only after steps have run")
	}
	return out
}

// value shortens a value; an empty one becomes "none".
func value(v string) string {
	const most = 100
	if v == "" {
		return "none"
	}
	if r := []rune(v); len(r) > most {
		return string(r[:most]) + "…"
	}
	return v
}
