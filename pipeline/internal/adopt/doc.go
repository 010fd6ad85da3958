// Package adopt turns what people already have into a pipeline file: the command line of a server, a compose file, a
// manifest, a suite of benchmarks.
//
//	d, err := adopt.Read(adopt.Source{Name: "serve.sh", Data: text})
//	file := d.HCL("gate.pipeline.hcl")
//
// A form is a file of this package and a row of forms. Each reads its source into a [Definition], which one writer turns
// into HCL. What a form cannot carry over it leaves with a reason: nothing is dropped without a word.
package adopt
