// Package lang implements the language of pipeline files. It turns HCL into a [Config], or into diagnostics
// that show where the file is wrong and how to correct it.
//
//	cfg, diags := lang.Load(lang.Options{Paths: []string{"nightly.pipeline.hcl"}, Registry: kinds})
//	if diags.HasErrors() {
//		diag.Text(os.Stderr, cfg.Sources.Map(), diags, diag.Options{})
//	}
//
// Loading has four phases, and each reports all of its problems. Files become blocks, sorted by their schemas
// (block.go). Names are indexed (program.go). Expressions are evaluated on demand along the references between
// blocks, depth first, so that order does not matter and a cycle is printed as a path (evaluator.go).
// Benchmarks are expanded into cells (matrix.go), and gates are checked against them.
//
// There are two times. At plan time variables, locals, names and identities are known. Run time begins when
// steps have run. Values that depend on their outputs stay unknown until [Config.ResolveServer] and
// [Config.ResolveStep]. Only arguments that their schema calls late may hold such values.
//
// The package knows no kind of server, step or dataset by name: the kinds are data in a steps.Registry. It
// starts nothing, opens no connection and reads no environment.
package lang
