package cli

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/spf13/cobra"
)

func (a *app) validateCommand() *cobra.Command {
	var flags configFlags
	var asJSON, allowIdentical bool
	cmd := &cobra.Command{
		Use:   "validate [FILE|DIR]...",
		Short: "Check a pipeline without starting anything",
		Long:  "Checks syntax, names, references, types, units and whether the gates can decide at all.\nStarts nothing and needs no GPU, no Docker and no network.",
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON {
				return a.validateJSON(flags, allowIdentical, args)
			}
			cfg, err := a.load(flags, args)
			if err != nil {
				return err
			}
			p, err := a.plan(cfg, planFlags{timeScale: 1, allowIdentical: allowIdentical, anySimulation: true}, args)
			if err != nil {
				return err
			}
			if err := a.report(cfg, target.ValidateSimulation(cfg, a.engines(), a.connectors)); err != nil {
				return err
			}
			for _, s := range p.Sides {
				fmt.Fprintf(a.Out, "%s: %s\n", escape.Line(s.Title(), 200), escape.Line(strings.Join(s.Lines(), "; "), 1000))
			}
			_, err = fmt.Fprintf(a.Out, "valid: %d servers, %d benchmarks, %d gates\n", len(cfg.Servers), len(cfg.Benchmarks), len(cfg.Gates))
			return err
		},
	}
	flags.register(cmd)
	allowIdenticalFlag(cmd, &allowIdentical)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the diagnostics as JSON")
	return cmd
}

func (a *app) validateJSON(flags configFlags, allowIdentical bool, paths []string) error {
	cfg, diags, err := a.read(flags, paths)
	if err != nil {
		return err
	}
	if !diags.HasErrors() {
		_, refused := plan.Build(cfg, plan.Options{TimeScale: 1, RefuseIdentical: !allowIdentical, AnySimulation: true, Argv: a.argv(false), Launch: target.Launch(a.places, a.engines(), a.connectors, "", 1)})
		diags = append(append(diags, refused...), target.ValidateSimulation(cfg, a.engines(), a.connectors)...)
	}
	if err := diag.JSON(a.Out, sources(cfg), diags); err != nil {
		return exit(exitInfrastructure, err)
	}
	if diags.HasErrors() {
		return exit(exitUsage, nil)
	}
	return nil
}
