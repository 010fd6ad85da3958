package exec

import (
	"fmt"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Name is the name of the kind.
const Name = "exec"

// DefaultTimeout is the timeout of a command that sets none.
const DefaultTimeout = 10 * time.Minute

// Kind describes step "exec" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "step", Name: Name,
		Doc:    "Runs a command once before the first launch: builds an image, fetches a model.",
		Schema: schema(), Validate: validate,
	}
}

func schema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "command", Type: cty.List(cty.String), Required: true, Late: true,
			Doc: "The program and its arguments, one word each. No shell reads them; use [\"sh\", \"-c\", \"…\"] for one."},
		{Name: "dir", Type: cty.String, Late: true, Doc: "Working directory; the pipeline file's folder unless set."},
		{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Late: true, Doc: "Environment variables of the command. Secrets belong here."},
		{Name: "timeout", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration,
			Default: cty.NumberIntVal(DefaultTimeout.Nanoseconds()), Doc: "Longest time the command may take."},
		{Name: "cache", Type: cty.String, Late: true,
			Doc: "Key under which success is remembered: the step is skipped where the key has succeeded before for a pipeline of the same " +
				"folder, and its outputs are taken from then. With --gate-source=base only runs that the base judged count."},
		{Name: "outputs", Type: cty.Set(cty.String),
			Doc: "Names of the values that the command writes, as lines name=value, to the file named by PIPELINE_OUTPUT."},
	}}
}

var outputName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func validate(o steps.Object) []steps.Problem {
	found := schema().Check(o)
	if o.Known("command") {
		words, err := o.Texts("command")
		if err != nil || len(words) == 0 || words[0] == "" {
			found = append(found, steps.Problem{
				Path: []string{"command"}, Summary: "command names no program",
				Detail: `Write the program and its arguments as a list: command = ["make", "image"].`,
			})
		}
	}
	names, err := o.Texts("outputs")
	if err != nil {
		found = append(found, steps.Problem{Path: []string{"outputs"}, Summary: err.Error()})
	}
	for _, name := range names {
		if !outputName.MatchString(name) {
			found = append(found, steps.Problem{
				Path: []string{"outputs"}, Summary: fmt.Sprintf("%q cannot be the name of an output", name),
				Detail: "Names have letters, digits, underscores and dashes and do not begin with a digit.",
			})
		}
	}
	return found
}
