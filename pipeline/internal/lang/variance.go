package lang

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// varianceSchema describes the variance block.
func varianceSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "calibration", Type: cty.String, Doc: "File that `pipeline calibrate --save` wrote, meant from the pipeline file's folder; the " +
			"newest calibration of the history on such a machine unless set, and none before there is one. It is an error where the machine is " +
			"another one."},
		{Name: "within", Type: cty.Number, Default: cty.NumberFloatVal(gates.DefaultWithin), Doc: "How many times as large as in the " +
			"calibration the spread of pairs may be today. The error rates hold up to there: 1.5 is a variance of 2.25 times. From 1.1 to 3."},
	}}
}

// readVariance reads a variance block and checks it beyond types.
func readVariance(o steps.Object) (*config.Variance, []steps.Problem) {
	s := &config.Variance{Calibration: o.Text("calibration"), Within: gates.DefaultWithin}
	found := varianceSchema().Check(o)
	if o.Known("within") {
		s.Within = o.Float("within")
	}
	if !(s.Within >= gates.LeastWithin && s.Within <= gates.MostWithin) {
		found = append(found, steps.Problem{Path: []string{"within"},
			Summary: fmt.Sprintf("within must be from %g to %d", gates.LeastWithin, gates.MostWithin),
			Detail:  fmt.Sprintf("It is %g. It is a factor on the spread of pairs: 1.5 unless set.", s.Within)})
	}
	return s, found
}
