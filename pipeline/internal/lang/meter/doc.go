// Package meter limits the cost of evaluating expressions: steps, which represent time, and bytes.
// A pipeline file can come from any pull request, and a kilobyte of it can ask for more memory than
// a machine has.
//
//	m := meter.New(meter.Default())
//	v, diags := m.Value(m.Expression(attr.Expr), ctx)
//
// Steps are counted and no clock is read, so that the same file has the same result on every
// machine. An expression is evaluated as a copy in which every node pays for itself and for its
// value. Functions pay before they are called if their result can be much larger than their
// arguments.
package meter
