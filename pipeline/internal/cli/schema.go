package cli

import (
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/spf13/cobra"
)

func (a *app) schemaCommand() *cobra.Command {
	var functions bool
	cmd := &cobra.Command{
		Use: "schema", Short: "Print the language's blocks and arguments, or its functions, as JSON", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			registry, err := kinds()
			if err != nil {
				return exit(exitUsage, err)
			}
			if functions {
				return a.writeJSON(function.Docs())
			}
			return a.writeJSON(lang.Schema(registry))
		},
	}
	cmd.Flags().BoolVar(&functions, "functions", false, "print the functions instead of the blocks")
	cmd.Flags().Bool("json", true, "print JSON (the only form there is)")
	return cmd
}
