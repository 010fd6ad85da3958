// Package meter bounds what the evaluation of expressions may take: steps, which stand for
// time, and bytes. A pipeline file comes from a pull request of anyone, and a kilobyte of
// it is enough to ask for more memory than a machine has.
//
//	m := meter.New(meter.Default())
//	v, diags := m.Value(m.Expression(attr.Expr), ctx)
//
// Steps are counted and no clock is read, so that the same file ends in the same way on
// every machine. An expression is evaluated as a copy in which every node pays for itself
// and for the value that it makes; functions pay before they are called, where their result
// can be much larger than their arguments.
package meter
