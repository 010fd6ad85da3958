package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Difference is an argument that two files write differently, or a block that one of them
// does not have: its argument is "new" or "removed" then.
type Difference struct {
	Addr     string // "baseline.paired.base", "local.rates", "pipeline"
	Argument string // "load.rate"
	Old, New string // as they are written; "" for an argument that is not there
}

// Differences lists what a change does to a file, in the order of the addresses. It
// compares what is written: an argument that is unchanged can still have another value
// through a local or a variable, which is listed itself.
func Differences(before, after *Config) []Difference {
	was, is := before.written(), after.written()
	var out []Difference
	for _, addr := range union(was, is) {
		switch {
		case is[addr] == nil:
			out = append(out, Difference{Addr: addr, Argument: "removed"})
			continue
		case was[addr] == nil:
			out = append(out, Difference{Addr: addr, Argument: "new"})
			continue
		}
		for _, name := range union(was[addr], is[addr]) {
			if o, n := was[addr][name], is[addr][name]; o != n {
				out = append(out, Difference{addr, name, o, n})
			}
		}
	}
	return out
}

// union are the sorted keys of two maps.
func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// written are the arguments of all blocks as they are written, by address and name.
func (c *Config) written() map[string]map[string]string {
	out := map[string]map[string]string{}
	if c.prog == nil {
		return out
	}
	add := func(addr string, b *block) {
		out[addr] = map[string]string{}
		c.writtenIn(b, "", out[addr])
	}
	if c.prog.settings != nil {
		add("pipeline", c.prog.settings)
	}
	for _, b := range c.prog.variables {
		add(address(b), b)
	}
	for _, ent := range c.prog.order {
		add(ent.addr, ent.block)
	}
	for addr, a := range c.prog.locals {
		out[addr] = map[string]string{"value": c.writtenText(a.Expr)}
	}
	return out
}

// writtenIn adds the arguments of a block and of those in it. Blocks of one type and name are
// told apart by their number.
func (c *Config) writtenIn(b *block, path string, into map[string]string) {
	for name, a := range b.attrs {
		into[path+name] = c.writtenText(a.Expr)
	}
	count := map[string]int{}
	for _, nested := range b.blocks {
		name := strings.Join(append([]string{nested.typ.name}, nested.labels...), ".")
		if count[name]++; count[name] > 1 {
			name += fmt.Sprintf("[%d]", count[name])
		}
		into[path+name] = "block"
		c.writtenIn(nested, path+name+".", into)
	}
}

// writtenText is an expression on one line, a plain string without its quotes.
func (c *Config) writtenText(expr hclsyntax.Expression) string {
	text := c.Sources.Text(expr.Range())
	if literal, ok := expr.(*hclsyntax.TemplateExpr); ok && literal.IsStringLiteral() {
		return strings.Trim(text, `"`)
	}
	return text
}
