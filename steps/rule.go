package steps

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Rule is a condition on a known value of an argument beyond its type.
type Rule struct {
	must, detail string // must completes a sentence that begins with the argument's name
	number       func(*big.Float) bool
	text         *lazyregexp.Regexp
}

// Number returns a rule that accepts numbers for which holds returns true. must completes a sentence that
// begins with the argument's name.
func Number(must string, holds func(*big.Float) bool) *Rule { return &Rule{must: must, number: holds} }

// Whole returns a rule that accepts integers from low to high.
func Whole(low, high int64) *Rule {
	return Number(fmt.Sprintf("must be a whole number from %d to %d", low, high), func(f *big.Float) bool {
		i, acc := f.Int64()
		return acc == big.Exact && low <= i && i <= high
	})
}

// The rules of ports, positive numbers and numbers that may be zero.
var (
	PortRule    = Whole(1, 65535)
	AboveZero   = Number("must be above zero", func(f *big.Float) bool { return f.Sign() > 0 })
	NotNegative = Number("must not be negative", func(f *big.Float) bool { return f.Sign() >= 0 })
)

// Matching returns a rule that accepts a string, or a list of strings, that matches an expression. It compiles the
// expression when it is first used: each start of the program makes all rules, and uses few.
func Matching(expression, must, detail string) *Rule {
	return &Rule{must: must, detail: detail, text: lazyregexp.New(expression)}
}

func (r *Rule) holds(o Object, name string) bool {
	if r.number != nil {
		f, ok := o.number(name)
		return !ok || r.number(f)
	}
	return o.Text(name) == "" || r.text.MatchString(o.Text(name))
}

// Check returns the known arguments of a block that violate their rules. path leads to the block.
func (s Schema) Check(o Object, path ...string) []Problem {
	var found []Problem
	for _, a := range s.Attrs {
		if r := a.Rule; r != nil && !r.holds(o, a.Name) {
			found = append(found, Problem{Path: append(slices.Clip(path), a.Name), Summary: a.Name + " " + r.must, Detail: r.detail})
		}
	}
	for _, b := range s.Blocks {
		for i, inner := range o.Blocks[b.Type] {
			for _, p := range b.Schema.Check(inner, append(slices.Clip(path), b.Type)...) {
				if len(o.Blocks[b.Type]) > 1 {
					p.Block = i
				}
				found = append(found, p)
			}
		}
	}
	return found
}
