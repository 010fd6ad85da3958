package cli

import (
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/spf13/cobra"
)

func (a *app) graphCommand() *cobra.Command {
	var flags configFlags
	var format string
	cmd := &cobra.Command{
		Use:   "graph [FILE|DIR]...",
		Short: "Print what needs what, for Graphviz or Mermaid",
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := a.load(flags, args)
			if err != nil {
				return err
			}
			switch format {
			case "dot":
				return plan.WriteDOT(a.Out, cfg)
			case "mermaid":
				return plan.WriteMermaid(a.Out, cfg)
			default:
				return exit(exitUsage, fmt.Errorf("--format %q is neither dot nor mermaid", format))
			}
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&format, "format", "dot", "`dot` or mermaid")
	return cmd
}
