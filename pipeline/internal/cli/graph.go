package cli

import (
	"io"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/spf13/cobra"
)

var graphFormats = []option[func(io.Writer, *lang.Config) error]{
	{"dot", plan.WriteDOT, "Graphviz"},
	{"mermaid", plan.WriteMermaid, "GitHub shows it"},
}

func (a *app) graphCommand() *cobra.Command {
	var flags configFlags
	var write func(io.Writer, *lang.Config) error
	cmd := &cobra.Command{
		Use:   "graph [FILE|DIR]...",
		Short: "Print what needs what, for Graphviz or Mermaid",
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := a.load(flags, args)
			if err != nil {
				return err
			}
			return write(a.Out, cfg)
		},
	}
	flags.register(cmd)
	enumFlag(cmd, &write, "format", "dot", graphFormats, "`format`")
	return cmd
}
