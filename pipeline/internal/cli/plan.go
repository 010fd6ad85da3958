package cli

import (
	"context"
	"io"
	"strings"

	"github.com/servegate/pipeline/reports/term"
	"github.com/spf13/cobra"
)

func (a *app) planCommand() *cobra.Command {
	var flags configFlags
	var options planFlags
	var where historyFlag
	var asJSON, launch bool
	cmd := &cobra.Command{
		Use:   "plan [FILE|DIR]...",
		Short: "Show what would be launched, measured and decided, and its cost",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			cfg, err := a.load(flags, args)
			if err != nil {
				return err
			}
			past, err := a.openHistory(ctx, where, cfg)
			if err != nil {
				return err
			}
			options.noise, options.launchTime, options.calibration = a.noise(ctx, past, options), a.launchTime(ctx, past, options),
				a.calibration(ctx, past, options)
			p, err := a.plan(cfg, options, args)
			if err != nil {
				return err
			}
			if asJSON {
				return a.writeJSON(p)
			}
			if launch {
				if err := p.WriteLaunch(a.Out); err != nil {
					return err
				}
				return a.writeApplied(ctx, p)
			}
			return a.printPlan(p.WriteText)
		}),
	}
	flags.register(cmd)
	flags.registerGates(cmd)
	where.register(cmd)
	options.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
	cmd.Flags().BoolVar(&launch, "launch", false,
		"print how every process of every target is started: command line, environment, files, order; runs render of stacks")
	return cmd
}

// printPlan prints one of a plan's forms in lines that fit the terminal.
func (a *app) printPlan(write func(io.Writer) error) error {
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	_, err := io.WriteString(a.Out, term.Hang(text.String(), a.OutWidth()))
	return err
}
