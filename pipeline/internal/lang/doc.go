// Package lang is the language of pipeline files: it turns HCL into a [Config], or into
// diagnostics that say where the file is wrong and what would be right.
//
//	cfg, diags := lang.Load(lang.Options{Paths: []string{"nightly.pipeline.hcl"}, Registry: kinds})
//	if diags.HasErrors() {
//		diag.Text(os.Stderr, cfg.Sources.Map(), diags, diag.Options{})
//	}
//
// Loading has four phases, each with all of its problems reported: files become blocks
// that are sorted out by their schemas (block.go), names are indexed (program.go),
// expressions are evaluated on demand along the references between blocks, depth first,
// so that order does not matter and a cycle is printed as a path (evaluator.go), and
// benchmarks are expanded into cells (matrix.go) that gates are checked against.
//
// There are two times. Plan time is now: variables, locals, names and identities are
// known. Run time begins when steps have run: what depends on their outputs stays
// unknown until [Config.ResolveServer] and [Config.ResolveStep], and only arguments that
// their schema calls late may hold it.
//
// The package knows no kind of server, step or dataset by name: those are data in a
// steps.Registry. It starts nothing, opens no connection and reads no environment.
package lang
