package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/zclconf/go-cty/cty"
)

// reference is a traversal that refers to something in the file. Its first names are the address, the rest
// leads into its value.
type reference struct {
	root string
	addr string        // "server.vllm.sut"; for a metric "metric.ttft"
	path []string      // the address in parts, root first
	rest hcl.Traversal // an instance's key, attributes
	full hcl.Traversal
}

// root is the first name of a reference.
type root struct {
	name string
	// labels is the number of names that follow it in an address, 0 if it has no address.
	labels int
	RefDoc
	// absent explains where the name exists, if it does not exist everywhere.
	absent string
}

// roots are the first names of references, in the order of the documentation.
var roots = []root{
	{"var", 1, RefDoc{"var.NAME", "Value of a variable."}, ""},
	{"local", 1, RefDoc{"local.NAME", "Value of a named expression."}, ""},
	{"each", 0, RefDoc{"each.key, each.value", "Element of for_each, in a block that has it."}, "each exists only in a block with for_each."},
	{"matrix", 0, RefDoc{"matrix.AXIS", "Value of an axis in the cell: in the benchmark, and in where and assert of its gates."},
		"matrix exists only in a benchmark with a matrix block, and in where and assert of its gates. Arguments that hold for all cells cannot " +
			"use it: " +
			"give the block for_each, and refer to its instance from the benchmark, as in dataset.random.d[matrix.AXIS]."},
	{"self", 0, RefDoc{"self.GROUP.STAT, self.errors, self.requests, self.server.NAME",
		"What was measured, in assert; the servers of the deployment, in a deployment."},
		"self exists only in assert, where it holds the metrics, and in a deployment, where it holds the servers."},
	{"driver", 0, RefDoc{"driver.NAME", "A value that a load generator is given when it is run, in the driver block of a benchmark."},
		"driver exists only in the driver block of a benchmark, where it holds what the load generator is given."},
	{"router", 0, RefDoc{"router.NAME", "A value that a router's command is given when it is started: host, port, metrics_port, decode."},
		"router exists only in the router block of a deployment, where it holds what the router's command is given."},
	{"server", 2, RefDoc{"server.KIND.NAME, server.KIND.NAME[KEY]",
		"A server, with id, name, key, kind, model and url. The url exists once it has started."}, ""},
	{"step", 2, RefDoc{"step.KIND.NAME.outputs.OUTPUT", "What a step has written. It exists once the step has run."}, ""},
	{"deployment", 1, RefDoc{"deployment.NAME, deployment.NAME[KEY]", "A deployment, with the same parts as a server."}, ""},
	{"dataset", 2, RefDoc{"dataset.KIND.NAME", "A dataset."}, ""},
	{"benchmark", 1, RefDoc{"benchmark.NAME", "A benchmark."}, ""},
	{"answers", 1, RefDoc{"answers.NAME", "An answers block."}, ""},
	{"baseline", 2, RefDoc{"baseline.KIND.NAME", "A baseline."}, ""},
	{"gate", 1, RefDoc{"gate.NAME, gate.NAME[KEY]", "A gate."}, ""},
	{"metric", 1, RefDoc{"metric.GROUP.STAT, metric.measure.NAME", "A metric, of the registry or of a measure block."}, ""},
}

// rootNamed returns the root with a name, or the zero root if there is none.
func rootNamed(name string) root {
	for _, r := range roots {
		if r.name == name {
			return r
		}
	}
	return root{}
}

// parseReference splits a traversal. It returns a problem if the traversal does not have the form of an
// address. It does not check that the address exists.
func parseReference(t hcl.Traversal) (reference, *hcl.Diagnostic) {
	root := t.RootName()
	n := rootNamed(root).labels
	if n == 0 {
		return reference{}, unknownRoot(t)
	}
	r := reference{root: root, path: []string{root}, full: t}
	for i := 1; i <= n; i++ {
		name, ok := "", false
		if i < len(t) {
			name, ok = stepName(t[i])
		}
		if !ok {
			return r, problem(codeReference, t.SourceRange(), fmt.Sprintf("%s is not a whole reference", diag.TraversalText(t)),
				fmt.Sprintf("Write %s%s.", root, [...]string{".NAME", ".KIND.NAME"}[n-1]))
		}
		r.path = append(r.path, name)
	}
	r.addr = strings.Join(r.path, ".")
	r.rest = t[n+1:]
	return r, nil
}

func unknownRoot(t hcl.Traversal) *hcl.Diagnostic {
	root := t.RootName()
	names := make([]string, len(roots))
	for i, r := range roots {
		names[i] = r.name
	}
	detail := didYouMean(root, names, "things to refer to")
	if how := here(root, inRoot); how != "" {
		detail = how
	} else if len(t) == 1 {
		detail = fmt.Sprintf("If it is meant as text, write it in quotes: %q.", root)
	}
	return problem(codeReference, t.SourceRange(), fmt.Sprintf("unknown reference %s", diag.TraversalText(t)), detail)
}

// stepName returns the name in a step of a traversal: .name or ["name"].
func stepName(step hcl.Traverser) (string, bool) {
	switch s := step.(type) {
	case hcl.TraverseRoot:
		return s.Name, true
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.IsKnown() && !s.Key.IsNull() && !s.Key.IsMarked() && s.Key.Type() == cty.String {
			return s.Key.AsString(), true
		}
	}
	return "", false
}
