package cli

import (
	"errors"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// failOn returns what a gate does at one verdict, for --fail-on to change. That of "never"
// returns nil.
type failOn func(*lang.Gate) *result.Action

var failOnOptions = []option[failOn]{
	{name: string(result.Regression), value: func(g *lang.Gate) *result.Action { return &g.OnRegression }},
	{name: string(result.Inconclusive), value: func(g *lang.Gate) *result.Action { return &g.OnInconclusive }},
	{name: string(result.Missing), value: func(g *lang.Gate) *result.Action { return &g.OnMissing }},
	{name: string(result.Invalid), value: func(g *lang.Gate) *result.Action { return &g.OnInvalid }},
	{name: "never", value: func(*lang.Gate) *result.Action { return nil }},
}

func failOnFlag(cmd *cobra.Command, list *[]failOn) {
	enumListFlag(cmd, list, "fail-on", failOnOptions, "fail on these `verdicts` alone, whatever the gates say, with commas between")
}

// setFailOn lets the gates of a file fail on the listed verdicts alone and warn of the
// others; an empty list leaves them as the file says. It comes before the plan, because
// the family that shares the error rate is that of the gates that can fail. Faults of the
// file and of the machine fail in any case: they are no verdicts.
func setFailOn(cfg *lang.Config, list []failOn) error {
	never := func(on failOn) bool { return on(&lang.Gate{}) == nil }
	if len(list) > 1 && slices.ContainsFunc(list, never) {
		return errors.New("--fail-on: never cannot be combined with other values")
	}
	if len(list) == 0 {
		return nil
	}
	for _, g := range cfg.Gates {
		for _, o := range failOnOptions {
			if action := o.value(g); action != nil {
				*action = result.Warn
			}
		}
		for _, on := range list {
			if action := on(g); action != nil {
				*action = result.Fail
			}
		}
	}
	return nil
}
