package steps

import (
	"fmt"
	"sort"

	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// Kind describes one kind of block ("server" "vllm", "dataset" "random") as data.
// The language does not depend on kinds. A block is processed as follows:
//
//  1. The program lists the kind in its [Registry]. From then on the reference, `pipeline
//     schema` and the JSON Schema of files document it.
//  2. A file is read. The first label of a block finds the kind; its Schema selects the
//     arguments and nested blocks. Unknown ones are reported with a suggestion.
//  3. The arguments are evaluated, converted to their types and units, checked against
//     their Enum, and filled with their defaults. The result is an [Object].
//  4. Validate checks the object as a whole.
//  5. The object is converted: a server to a [ServerSpec] for the [Engine] of its name, a
//     dataset to a [Dataset], parts of a deployment to those of a [DeploymentSpec]. An
//     [Action] reads the object of a step directly.
//  6. If an argument is Late, steps 3 to 5 are repeated once the steps that it waits for
//     have run.
type Kind struct {
	// Block is the block type: "server", "step", "dataset", "service", "kv_transfer", "router", "report".
	Block string
	// Name is the block's first label.
	Name   string
	Doc    string
	Schema Schema
	// Program holds the words before a server's arguments in the command line of the kind's images. It is nil
	// if the engine is unknown: such a server is not simulated, and is not assumed to use GPUs.
	Program []string
	// Images are patterns of [path.Match] for the names of the kind's images, without registry and tag. The
	// tags of such images are versions of the engine.
	Images []string
	// Validate, if not nil, checks an evaluated block beyond its types. It must not do I/O. Attributes can be
	// unknown (cty.UnknownVal); it must skip those.
	Validate func(Object) []Problem
}

// Schema lists the arguments and nested blocks of a block.
type Schema struct {
	Attrs  []Attr
	Blocks []BlockSchema
}

// Attr finds an argument.
func (s Schema) Attr(name string) (Attr, bool) {
	for _, a := range s.Attrs {
		if a.Name == name {
			return a, true
		}
	}
	return Attr{}, false
}

// Attr describes one argument.
type Attr struct {
	Name string
	// Type after conversion. cty.DynamicPseudoType takes any value.
	Type     cty.Type
	Required bool
	// Default is cty.NilVal where there is none. With a Unit it is in the converted unit.
	Default cty.Value
	// Sensitive arguments may receive values marked as sensitive; all others may not.
	Sensitive bool
	// Late arguments may refer to values that exist only at run time (outputs of steps).
	Late bool
	// Unit of a string or number: "" or one of the Unit constants. Values are
	// converted: durations to nanoseconds, bytes to bytes, percent to a fraction (all numbers).
	Unit Unit
	// Rule is an additional condition on a known value, nil for none. [Schema.Check] applies it.
	Rule *Rule
	// Enum lists the allowed strings; for a list, the allowed strings of its elements.
	Enum enum.Values
	// Blank allows the empty string as a value. All other arguments reject it: an empty variable must not
	// turn a container into a process of this machine.
	Blank bool
	Doc   string
}

// Unit is the notation of a quantity in the file.
type Unit string

// The units of arguments.
const (
	UnitDuration Unit = "duration" // "800ms", "10m"
	UnitBytes    Unit = "bytes"    // "5GiB", "64MB"
	UnitPercent  Unit = "percent"  // "5%"
	// UnitMargin is a percentage or percentage points ("1pp") as a fraction, a time ("50ms") in
	// seconds, or a number of tokens or nats.
	UnitMargin Unit = "margin"
)

// BlockSchema describes a nested block.
type BlockSchema struct {
	Type   string
	Schema Schema
	Min    int
	Max    int // 0 means any number
	Doc    string
}

// Object is an evaluated block: every argument of the schema is present in Attrs
// (null where it was not set and has no default).
type Object struct {
	Labels []string
	Attrs  map[string]cty.Value
	Blocks map[string][]Object
}

// Problem is one finding of Validate. Path leads to it: names of nested blocks, then
// the argument, then a map key if any; an empty path means the block itself.
type Problem struct {
	Path []string
	// Block is the index, from 0, of the block if several share a name of the path.
	Block   int
	Summary string
	Detail  string
	Warning bool
}

// Registry holds the kinds of one program. It is a value that is handed down.
type Registry struct {
	kinds  map[[2]string]Kind
	layout func(DeploymentSpec) error
}

// NewRegistry returns a registry of the given kinds, or an error if two share a name.
func NewRegistry(kinds ...Kind) (*Registry, error) {
	r := &Registry{kinds: make(map[[2]string]Kind, len(kinds))}
	for _, k := range kinds {
		key := [2]string{k.Block, k.Name}
		if _, dup := r.kinds[key]; dup {
			return nil, fmt.Errorf("two kinds are registered as %s %q", k.Block, k.Name)
		}
		r.kinds[key] = k
	}
	return r, nil
}

// CheckDeployments sets the function that checks whether the parts of a deployment fit together, in addition
// to each kind's check of its block.
func (r *Registry) CheckDeployments(layout func(DeploymentSpec) error) { r.layout = layout }

// CheckDeployment returns an error if the parts of a deployment do not fit together.
func (r *Registry) CheckDeployment(d DeploymentSpec) error {
	if r.layout == nil {
		return nil
	}
	return r.layout(d)
}

// Lookup returns the kind of a block by its first label.
func (r *Registry) Lookup(block, name string) (Kind, bool) {
	k, ok := r.kinds[[2]string{block, name}]
	return k, ok
}

// Names lists the kinds of a block type, sorted.
func (r *Registry) Names(block string) []string {
	var names []string
	for key := range r.kinds {
		if key[0] == block {
			names = append(names, key[1])
		}
	}
	sort.Strings(names)
	return names
}

// Kinds lists all kinds, sorted by block and name.
func (r *Registry) Kinds() []Kind {
	kinds := make([]Kind, 0, len(r.kinds))
	for _, k := range r.kinds {
		kinds = append(kinds, k)
	}
	sort.Slice(kinds, func(i, j int) bool {
		if kinds[i].Block != kinds[j].Block {
			return kinds[i].Block < kinds[j].Block
		}
		return kinds[i].Name < kinds[j].Name
	})
	return kinds
}
