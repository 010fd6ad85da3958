package meter

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Limits of an evaluation.
type Limits struct {
	// Steps of all expressions together: nodes that are evaluated and elements that are
	// looked at. A step takes about 100 ns.
	Steps int64
	// Bytes that one expression may make, what it throws away included.
	Bytes int64
	// Kept bytes of all values that outlive their expression.
	Kept int64
}

// Default returns the limits of a pipeline. A file of 10,000 cells takes a tenth of them.
func Default() Limits {
	return Limits{Steps: 20_000_000, Bytes: 64 << 20, Kept: 128 << 20}
}

// Meter counts what evaluation takes. It belongs to one goroutine.
type Meter struct {
	limits   Limits
	steps    int64
	bytes    int64 // of the expression at hand
	kept     int64
	exceeded *Limit
	// originals are the expressions of the file by their copies.
	originals map[hcl.Expression]hcl.Expression
}

// Limit says which limit was passed, and where once that is known.
type Limit struct {
	Summary, Detail string
	At              *hcl.Range
	// Final says that nothing more can be evaluated.
	Final bool
}

func (e *Limit) Error() string { return e.Summary }

// New returns a meter at zero.
func New(limits Limits) *Meter {
	return &Meter{limits: limits, originals: map[hcl.Expression]hcl.Expression{}}
}

// whatIsAllowed says what a single value may be.
var whatIsAllowed = fmt.Sprintf("A value has at most %d MiB, an element counting as %d bytes, %d levels, and numbers below 1e%d. Values of a pipeline are settings: keep data in files of their own.",
	MaxValue>>20, ElementBytes, MaxDepth, MaxExponent*3/10)

// Spent reports whether there are no steps left for any expression.
func (m *Meter) Spent() bool { return m.exceeded != nil && m.exceeded.Final }

// Exceeded reports whether the last expression passed a limit.
func (m *Meter) Exceeded() bool { return m.exceeded != nil }

// Spend takes steps, and fails where not enough are left.
func (m *Meter) Spend(steps int64) error {
	if m == nil {
		return nil
	}
	if m.exceeded != nil {
		return m.exceeded
	}
	m.steps += steps
	if m.steps > m.limits.Steps || m.steps < 0 {
		m.exceed("evaluation takes too many steps",
			fmt.Sprintf("All expressions of a pipeline together have %d steps. Loop over fewer elements here, or nest fewer loops.", m.limits.Steps), true)
		return m.exceeded
	}
	return nil
}

// exceed notes the first limit that an expression passes.
func (m *Meter) exceed(summary, detail string, final bool) {
	if m.exceeded == nil {
		m.exceeded = &Limit{Summary: summary, Detail: detail, Final: final}
	}
}

// pay takes what a value costs that was just made.
func (m *Meter) pay(v cty.Value) error {
	size, err := Measure(v)
	if spendErr := m.Spend(size.Elements); spendErr != nil {
		return spendErr
	}
	if err != nil {
		m.exceed(err.Error(), whatIsAllowed, false)
		return m.exceeded
	}
	m.bytes += size.Bytes
	if m.bytes > m.limits.Bytes {
		m.exceed("expression makes too much data",
			fmt.Sprintf("An expression may make %d MiB in all, intermediate values included. Split it, or make less.", m.limits.Bytes>>20), false)
		return m.exceeded
	}
	return nil
}

// Keep takes the bytes of a value that stays in memory. It fails where all such values
// together would be too large.
func (m *Meter) Keep(v cty.Value) *Limit {
	size, err := Measure(v)
	if err != nil {
		return &Limit{Summary: err.Error(), Detail: whatIsAllowed}
	}
	// Small values are part of what a cell costs, and cells are counted elsewhere.
	const free = 1 << 10
	if m.kept += max(0, size.Bytes-free); m.kept > m.limits.Kept {
		return &Limit{
			Summary: "values of the pipeline are too large",
			Detail:  fmt.Sprintf("All of them together may have %d MiB; those of a matrix count once for each cell.", m.limits.Kept>>20),
		}
	}
	return nil
}
