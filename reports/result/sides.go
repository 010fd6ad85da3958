package result

import "fmt"

// Sides says how the two sides of a comparison differ, by the plan.
type Sides struct {
	Baseline string `json:"baseline"` // address
	Axis     string `json:"axis"`     // that is compared
	Base     string `json:"base"`     // values of the axis
	Head     string `json:"head"`
	// BaseTarget and HeadTarget are addresses; equal where the sides differ in their work alone.
	BaseTarget  string           `json:"base_target"`
	HeadTarget  string           `json:"head_target"`
	Differences []SideDifference `json:"differences,omitempty"` // none where the sides are identical
	// KnownAfterSteps is whether some of what they are launched from is known only after steps.
	KnownAfterSteps bool `json:"known_after_steps,omitempty"`
	// Identical sides differ in nothing: a run of them compares a server with itself.
	Identical bool `json:"identical,omitempty"`
}

// SideDifference is one value that differs, absent where a side has none. Secrets are
// "(secret)".
type SideDifference struct {
	What string `json:"what"` // "image", "args.max_num_seqs", "work: max concurrency"
	Base string `json:"base,omitempty"`
	Head string `json:"head,omitempty"`
}

// Title is "side=head against side=base".
func (s Sides) Title() string {
	return fmt.Sprintf("%s=%s against %s=%s", s.Axis, s.Head, s.Axis, s.Base)
}

// Lines are the differences, one a line, the base's value first.
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

// value shortens a value, and names its absence.
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
