package lang

import (
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// mostBetween is the upper limit of Machines.Between: beyond it no gate decides anything.
const mostBetween = 0.5

// machinesSchema describes the machines block.
func machinesSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "between", Type: cty.Number, Unit: steps.UnitPercent,
			Doc: "By how much what a change does differs from machine to machine, as a " +
				"standard deviation, for example \"3%\". Gates then judge what the change does on all machines like these, whatever these two or " +
				"three have in common; unset, they judge its mean over the machines of the run. For gates that judge pairs by t-test."},
	}}
}

// readMachines reads a machines block and checks it beyond types.
func readMachines(o steps.Object) (*config.Machines, []steps.Problem) {
	s := &config.Machines{Between: o.Float("between")}
	found := machinesSchema().Check(o)
	if o.Known("between") && !(s.Between > 0 && s.Between <= mostBetween) {
		found = append(found, steps.Problem{Path: []string{"between"}, Summary: "between must be above 0 and at most 50 %",
			Detail: fmt.Sprintf("It is %g %%. It is by how much what a change does differs from machine to machine; leave it out where the "+
				"verdict is to be about these machines.", 100*s.Between)})
	}
	return s, found
}
