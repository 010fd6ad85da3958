package function

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// checker returns the steps of a call besides reading its arguments, and an error if its result
// would be too large. Arguments may be unknown, null or marked.
type checker func(args []cty.Value) (steps int64, err error)

// stepBytes is the number of bytes of text per step.
const stepBytes = 16

// errLarge is the error of a call whose result would be too large.
var errLarge = fmt.Errorf("the result would be larger than %d MiB", meter.MaxValue>>20)

// admit runs all checks that can reject a call.
func admit(f function.Function, check checker, m *meter.Meter, args []cty.Value) error {
	// Functions with many arguments compare their types with each other.
	steps := 1 + int64(len(args))*int64(len(args))/4
	for i, arg := range args {
		size, err := meter.Measure(arg)
		if err != nil {
			return function.NewArgError(i, err)
		}
		steps += size.Elements + size.Bytes/stepBytes
		want := parameterType(f, i)
		if err := meter.CheckNumbers(arg, want); err != nil {
			return function.NewArgError(i, err)
		}
		if want.IsCollectionType() && want.ElementType() == cty.DynamicPseudoType {
			steps += meter.UnifySteps(arg)
		}
	}
	// The steps of reading come first, because they limit the cost of check itself.
	if err := m.Spend(steps); err != nil || check == nil {
		return err
	}
	more, err := check(args)
	if err != nil {
		return err
	}
	return m.Spend(more)
}

// parameterType returns the type that an argument is converted to.
func parameterType(f function.Function, i int) cty.Type {
	switch params := f.Params(); {
	case i < len(params):
		return params[i].Type
	case f.VarParam() != nil:
		return f.VarParam().Type
	}
	return cty.DynamicPseudoType
}

// fits returns an error if a result is too large.
func fits(bytes int64) error {
	if bytes < 0 || bytes > meter.MaxValue {
		return errLarge
	}
	return nil
}

// stringArg returns an argument that is a known string.
func stringArg(args []cty.Value, i int) (string, bool) {
	if i >= len(args) {
		return "", false
	}
	return textOf(args[i])
}

func textOf(v cty.Value) (string, bool) {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// elementsOf lists the elements of a known collection.
func elementsOf(v cty.Value) []cty.Value {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return nil
	}
	out := make([]cty.Value, 0, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		out = append(out, elem)
	}
	return out
}

// bytesOf returns the size of a value that was measured before.
func bytesOf(v cty.Value) int64 {
	size, _ := meter.Measure(v) // admit has rejected values without a size
	return size.Bytes
}

// largest returns the size of the largest element, or of a value without elements.
func largest(v cty.Value) int64 {
	most := int64(0)
	elements := elementsOf(v)
	for _, elem := range elements {
		most = max(most, bytesOf(elem))
	}
	if elements == nil {
		return bytesOf(v)
	}
	return most
}

// product multiplies sizes. It saturates on overflow.
func product(a, b int64) int64 {
	const most = 1 << 62
	if a > 0 && b > most/a {
		return most
	}
	return a * b
}

func checkJoin(args []cty.Value) (int64, error) {
	sep, ok := stringArg(args, 0)
	if !ok {
		return 0, nil
	}
	elements, bytes := int64(0), int64(0)
	for _, list := range args[1:] {
		for _, elem := range elementsOf(list) {
			text, _ := textOf(elem)
			elements++
			bytes += int64(len(text))
		}
	}
	return 0, fits(bytes + product(elements, int64(len(sep))))
}

func checkSplit(args []cty.Value) (int64, error) {
	sep, ok := stringArg(args, 0)
	text, known := stringArg(args, 1)
	if !ok || !known {
		return 0, nil
	}
	parts := int64(strings.Count(text, sep)) + 1
	return parts, fits(parts*meter.ElementBytes + int64(len(text)))
}

// checkTrim: each character at the ends is compared with all characters to remove.
func checkTrim(args []cty.Value) (int64, error) {
	text, _ := stringArg(args, 0)
	cut, _ := stringArg(args, 1)
	return product(int64(len(text)), int64(len(cut))) / stepBytes, nil
}

func checkFormat(args []cty.Value) (int64, error) {
	bytes, err := formatted(args)
	if err != nil {
		return 0, err
	}
	return bytes / stepBytes, fits(bytes)
}

func checkFormatList(args []cty.Value) (int64, error) {
	bytes, err := formatted(args)
	if err != nil {
		return 0, err
	}
	most := int64(1)
	for _, arg := range args {
		most = max(most, int64(len(elementsOf(arg))))
	}
	bytes = product(bytes, most)
	return bytes / stepBytes, fits(bytes)
}

// verbWidth matches the widths, precisions and indices of a format.
var verbWidth = lazyregexp.New(`%[^a-zA-Z%]*`)

// formatted returns the largest possible size of a formatted text.
func formatted(args []cty.Value) (int64, error) {
	format, ok := stringArg(args, 0)
	if !ok {
		return 0, nil
	}
	bytes, most := int64(len(format)), int64(0)
	for _, arg := range args[1:] {
		most = max(most, largest(arg))
	}
	for _, verb := range verbWidth.FindAllString(format, -1) {
		bytes += most
		for _, digits := range strings.FieldsFunc(verb, func(r rune) bool { return r < '0' || r > '9' }) {
			width, err := strconv.Atoi(digits)
			if err != nil || width > 9999 {
				return 0, function.NewArgError(0, errors.New("a width or precision in a format has at most 4 digits"))
			}
			bytes += int64(width)
		}
	}
	return bytes, nil
}

// checkReplace counts the replacements, and for a regular expression the references of the
// replacement to its match.
func checkReplace(args []cty.Value) (int64, error) {
	text, ok := stringArg(args, 0)
	part, okPart := stringArg(args, 1)
	with, okWith := stringArg(args, 2)
	if !ok || !okPart || !okWith {
		return 0, nil
	}
	if len(part) < 2 || part[0] != '/' || part[len(part)-1] != '/' {
		return 0, fits(int64(len(text)) + product(int64(strings.Count(text, part)), int64(len(with))))
	}
	steps, matches, err := matching(part[1:len(part)-1], text, 1)
	if err != nil {
		return 0, err
	}
	again := product(int64(len(text)), int64(strings.Count(with, "$")))
	return steps, fits(int64(len(text)) + again + product(matches, int64(len(with))))
}

func checkRegex(args []cty.Value) (int64, error) {
	pattern, ok := stringArg(args, 0)
	text, known := stringArg(args, 1)
	if !ok || !known {
		return 0, nil
	}
	steps, matches, err := matching(pattern, text, 0)
	if err != nil {
		return 0, err
	}
	groups := int64(strings.Count(pattern, "(")) + 1
	return steps, fits(product(product(matches, groups), meter.ElementBytes) + product(int64(len(text)), groups))
}

// Limits of a regular expression: RE2 takes time in proportion to its size times the text.
const (
	maxPattern      = 1000
	maxInstructions = 10_000
	maxMatching     = 100_000_000
)

// matching returns the steps to apply a regular expression, and its number of matches. arg is the
// index of the expression. The function reports invalid expressions.
func matching(pattern, text string, arg int) (steps, matches int64, err error) {
	if len(pattern) > maxPattern {
		return 0, 0, function.NewArgErrorf(arg, "a regular expression has at most %d bytes", maxPattern)
	}
	parsed, parseErr := syntax.Parse(pattern, syntax.Perl)
	if parseErr != nil {
		return 0, 0, nil
	}
	size := instructions(parsed)
	if size > maxInstructions {
		return 0, 0, function.NewArgErrorf(arg, "the regular expression repeats too much: use smaller counts in { }")
	}
	work := product(size, int64(len(text)))
	if work > maxMatching {
		return 0, 0, function.NewArgErrorf(arg, "the regular expression is too large for a text of %d bytes", len(text))
	}
	re, compileErr := regexp.Compile(pattern)
	if compileErr != nil {
		return 0, 0, nil
	}
	return work / 4, int64(len(re.FindAllStringIndex(text, -1))), nil
}

// instructions returns the approximate size of a compiled regular expression.
func instructions(re *syntax.Regexp) int64 {
	n := int64(1 + len(re.Rune)/2)
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n = product(n, int64(max(re.Min, re.Max, 1)))
	}
	return n
}

// checkDistinct: every element is compared with the kept ones.
func checkDistinct(args []cty.Value) (int64, error) {
	return product(int64(len(elementsOf(args[0]))), bytesOf(args[0])/meter.ElementBytes*8), nil
}

// checkSearch: every element is compared with the searched value, after unifying their types.
func checkSearch(args []cty.Value) (int64, error) {
	const unify = 16 // steps per element of the searched value
	size, _ := meter.Measure(args[1])
	return product(int64(len(elementsOf(args[0]))), size.Elements*unify), nil
}

// maxProduct is the largest number of elements from setproduct.
const maxProduct = 10_000

func checkProduct(args []cty.Value) (int64, error) {
	total, each := int64(1), int64(meter.ElementBytes)
	for _, arg := range args {
		elements := elementsOf(arg)
		if elements == nil {
			return 0, nil
		}
		if total = product(total, int64(len(elements))); total > maxProduct {
			return 0, fmt.Errorf("more than %d combinations", maxProduct)
		}
		each += largest(arg)
	}
	unify, _ := checkUnified(args)
	return product(total, int64(len(args))) + unify, fits(product(total, each))
}

// checkDigits rejects long texts that would be converted to a number in quadratic time.
func checkDigits(args []cty.Value) (int64, error) {
	if text, ok := stringArg(args, 0); ok && len(text) > meter.MaxDigits {
		return 0, function.NewArgErrorf(0, "a number has at most %d digits", meter.MaxDigits)
	}
	return 0, nil
}

// checkConversion is checkDigits for functions that convert themselves. The types of the elements
// of a collection are unified, which compares all pairs.
func checkConversion(to cty.Type) checker {
	return func(args []cty.Value) (int64, error) {
		switch {
		case to == cty.Number:
			return checkDigits(args)
		case to.IsCollectionType():
			return checkUnified(args)
		}
		return 0, nil
	}
}

// checkUnified checks functions that unify the types of all elements of their arguments.
func checkUnified(args []cty.Value) (steps int64, err error) {
	for _, arg := range args {
		steps += meter.UnifySteps(arg)
	}
	return steps, nil
}
