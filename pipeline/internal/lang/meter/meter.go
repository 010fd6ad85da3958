package meter

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Limits of an evaluation.
type Limits struct {
	// Steps of all expressions together: evaluated nodes and visited elements. A step takes about
	// 100 ns.
	Steps int64
	// Bytes that one expression may allocate, including temporary values.
	Bytes int64
	// Kept bytes of all values that outlive their expression.
	Kept int64
}

// Default returns the limits of a pipeline. A file of 10,000 cells takes a tenth of them.
func Default() Limits {
	return Limits{Steps: 20_000_000, Bytes: 64 << 20, Kept: 128 << 20}
}

// Meter counts the cost of evaluation. It is not safe for concurrent use.
type Meter struct {
	limits   Limits
	steps    int64
	bytes    int64 // of the present expression
	kept     int64
	exceeded *Limit
	// originals maps copies to the expressions of the file.
	originals map[hcl.Expression]hcl.Expression
}

// Limit reports the exceeded limit, and its place once known.
type Limit struct {
	Summary, Detail string
	At              *hcl.Range
	// Final reports that nothing more can be evaluated.
	Final bool
}

func (e *Limit) Error() string { return e.Summary }

// New returns a meter at zero.
func New(limits Limits) *Meter {
	return &Meter{limits: limits, originals: map[hcl.Expression]hcl.Expression{}}
}

// whatIsAllowed describes the limits of a single value.
var whatIsAllowed = fmt.Sprintf("A value has at most %d MiB, an element counting as %d bytes, %d levels, and numbers below 1e%d. Values "+
	"of a pipeline are settings: keep data in files of their own.",
	MaxValue>>20, ElementBytes, maxDepth, maxExponent*3/10)

// Spent reports whether no steps are left for any expression.
func (m *Meter) Spent() bool { return m.exceeded != nil && m.exceeded.Final }

// Exceeded reports whether the last expression exceeded a limit.
func (m *Meter) Exceeded() bool { return m.exceeded != nil }

// Spend uses steps, and returns an error if too few are left.
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
			fmt.Sprintf("All expressions of a pipeline together have %d steps. Loop over fewer elements here, or nest fewer loops.",
				m.limits.Steps), true)
		return m.exceeded
	}
	return nil
}

// exceed records the first limit that an expression exceeds.
func (m *Meter) exceed(summary, detail string, final bool) {
	if m.exceeded == nil {
		m.exceeded = &Limit{Summary: summary, Detail: detail, Final: final}
	}
}

// pay pays for a new value.
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

// Keep pays for a value that stays in memory. It returns a limit if all such values together would
// be too large.
func (m *Meter) Keep(v cty.Value) *Limit {
	size, err := Measure(v)
	if err != nil {
		return &Limit{Summary: err.Error(), Detail: whatIsAllowed}
	}
	// Small values are part of the cost of a cell, and cells are limited elsewhere.
	const free = 1 << 10
	if m.kept += max(0, size.Bytes-free); m.kept > m.limits.Kept {
		return &Limit{
			Summary: "values of the pipeline are too large",
			Detail:  fmt.Sprintf("All of them together may have %d MiB; those of a matrix count once for each cell.", m.limits.Kept>>20),
		}
	}
	return nil
}

// Limits of a single value.
const (
	// MaxValue is the size of the largest value, in bytes.
	MaxValue = 4 << 20
	// maxDepth of nested collections: much of cty recurses over it.
	maxDepth = 150
	// maxExponent of a number, in bits: converting a larger one to text takes too long. All
	// literals are below.
	maxExponent = 4096
	// MaxDigits of a text that is converted to a number, which takes quadratic time.
	MaxDigits = 1000
)

// ElementBytes is the approximate size of an element without its text.
const ElementBytes = 64

// Problems of a single value.
var (
	errTooLarge = errors.New("value is too large")
	errTooDeep  = errors.New("value is nested too deeply")
	errTooFar   = errors.New("number is too large")
	errTooLong  = errors.New("text is too long for a number")
	errTooMany  = errors.New("too many elements")
)

// Size of a value. Shared parts count as often as they are reachable, because every walk visits
// them as often.
type Size struct {
	Bytes, Elements int64
}

// Measure returns the size of a value. If it exceeds a limit, it stops and returns an error.
func Measure(v cty.Value) (Size, error) {
	var s Size
	err := s.add(v, 0)
	return s, err
}

func (s *Size) add(v cty.Value, depth int) error {
	v, _ = v.Unmark()
	s.Elements++
	s.Bytes += ElementBytes
	switch {
	case depth > maxDepth:
		return errTooDeep
	case s.Bytes > MaxValue:
		return errTooLarge
	case v.IsNull() || !v.IsKnown():
	case v.Type() == cty.String:
		s.Bytes += int64(len(v.AsString()))
		if s.Bytes > MaxValue {
			return errTooLarge
		}
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		if e := f.MantExp(nil); e > maxExponent || e < -maxExponent {
			return errTooFar
		}
	case v.CanIterateElements():
		return s.addElements(v, depth)
	}
	return nil
}

func (s *Size) addElements(v cty.Value, depth int) error {
	n := int64(v.LengthInt())
	if v.Type().IsSetType() {
		if n > maxSet {
			return errTooLarge
		}
		s.Elements += n * setSteps
	}
	if n*ElementBytes > MaxValue {
		return errTooLarge
	}
	keyed := v.Type().IsMapType() || v.Type().IsObjectType()
	for it := v.ElementIterator(); it.Next(); {
		k, elem := it.Element()
		if keyed {
			s.Bytes += int64(len(k.AsString()))
		}
		if err := s.add(elem, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// CheckNumbers returns an error for a value to be converted to a type with numbers, if it contains
// text that is too long for a number.
func CheckNumbers(v cty.Value, want cty.Type) error {
	if holdsNumbers(want) && longText(v) {
		return errTooLong
	}
	return nil
}

// A set is sorted on every walk.
const (
	maxSet   = 5000
	setSteps = 16
)

// maxUnified is the largest number of elements to unify without a meter: see UnifySteps.
const maxUnified = 5000

// CheckConversion returns an error for a value whose conversion takes too long.
func CheckConversion(v cty.Value, want cty.Type) error {
	if UnifySteps(v) > maxUnified*maxUnified {
		return errTooMany
	}
	return CheckNumbers(v, want)
}

func longText(v cty.Value) bool {
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
		return false
	case v.Type() == cty.String:
		return len(v.AsString()) > MaxDigits
	case !v.CanIterateElements():
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, elem := it.Element(); longText(elem) {
			return true
		}
	}
	return false
}

// UnifySteps returns the steps for unifying the types of the elements of a tuple or object: cty
// compares all pairs.
func UnifySteps(v cty.Value) int64 {
	v, _ = v.Unmark()
	if t := v.Type(); !v.IsKnown() || v.IsNull() || !t.IsTupleType() && !t.IsObjectType() {
		return 0
	}
	n := int64(v.LengthInt())
	return n * n
}

// holdsNumbers reports whether a type is a number or a collection with numbers.
func holdsNumbers(t cty.Type) bool {
	switch {
	case t == cty.Number:
		return true
	case t.IsCollectionType():
		return holdsNumbers(t.ElementType())
	case t.IsTupleType():
		return slices.ContainsFunc(t.TupleElementTypes(), holdsNumbers)
	case t.IsObjectType():
		for _, e := range t.AttributeTypes() {
			if holdsNumbers(e) {
				return true
			}
		}
	}
	return false
}
