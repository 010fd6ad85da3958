package meter

import (
	"errors"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Limits of a single value.
const (
	// MaxValue is what the largest value takes, in bytes.
	MaxValue = 4 << 20
	// MaxDepth of collections in each other: much of cty recurses with it.
	MaxDepth = 150
	// MaxExponent of a number, in bits: to write a larger one as text takes longer than
	// anyone waits. Whatever literals can say is below.
	MaxExponent = 4096
	// MaxDigits of a text that is read as a number, which takes quadratic time.
	MaxDigits = 1000
)

// ElementBytes is about what an element takes beside its text.
const ElementBytes = 64

// What is wrong with a single value.
var (
	errTooLarge = errors.New("value is too large")
	errTooDeep  = errors.New("value is nested too deeply")
	errTooFar   = errors.New("number is too large")
	errTooLong  = errors.New("text is too long for a number")
	errTooMany  = errors.New("too many elements")
)

// Size of a value: parts that are shared count as often as they can be reached, since
// whatever walks the value walks them as often.
type Size struct {
	Bytes, Elements int64
}

// Measure returns the size of a value, and an error if that passes a limit. It stops
// there.
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
	case depth > MaxDepth:
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
		if e := f.MantExp(nil); e > MaxExponent || e < -MaxExponent {
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

// CheckNumbers refuses a value that is about to be converted to a type with numbers, if
// it holds text that is too long to be one.
func CheckNumbers(v cty.Value, want cty.Type) error {
	if holdsNumbers(want) && longText(v) {
		return errTooLong
	}
	return nil
}

// A set is sorted whenever it is walked.
const (
	maxSet   = 5000
	setSteps = 16
)

// maxUnified elements get one type where no meter is at hand: see UnifySteps.
const maxUnified = 5000

// CheckConversion refuses a value whose conversion takes too long.
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

// UnifySteps is what it takes to find one type for the elements of a tuple or object: cty
// compares each with the others.
func UnifySteps(v cty.Value) int64 {
	v, _ = v.Unmark()
	if t := v.Type(); !v.IsKnown() || v.IsNull() || !t.IsTupleType() && !t.IsObjectType() {
		return 0
	}
	n := int64(v.LengthInt())
	return n * n
}

// holdsNumbers reports whether a type is a number or a collection of some.
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
