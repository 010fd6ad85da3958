package cli

import (
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/spf13/cobra"
)

// simulateCommand plays a vLLM or SGLang server, or a service that KV transfers need.
// --simulate starts it; it takes the command line of the program that it stands for.
func (a *app) simulateCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "simulate -- vllm serve MODEL [FLAG]...",
		Short:              "Play a vLLM or SGLang server",
		Long:               "Takes the command line of a vLLM or SGLang server and behaves like it, with a modelled GPU.\nIt plays the services of KV transfers as well: etcd, mooncake_master and python3 -m mooncake.http_metadata_server,\nwith their own flags.\nThe environment variable PIPELINE_SIMULATE holds the model's settings as JSON.",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
				return cmd.Help()
			}
			if len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			// The simulated server answers signals itself, as the real one would.
			return exit(simulate.Simulator{Connectors: a.connectors}.Main(cmd.Context(), args, a.Getenv, a.Out, a.Err), nil)
		},
	}
}
