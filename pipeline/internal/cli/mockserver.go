package cli

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/servegate/pipeline/steps/load/mock"
	"github.com/spf13/cobra"
)

// mockServerCommand is the server of `load --calibrate`. It is hidden: nothing else
// needs it.
func mockServerCommand() *cobra.Command {
	var s mock.Schedule
	var listen string
	cmd := &cobra.Command{
		Use: "mock-server", Short: "Answer completions at known times", Hidden: true, Args: cobra.NoArgs,
		Long: "Streams max_tokens tokens for every completions request, at times counted from its arrival, prints its address, and\nanswers GET /truth with what it saw.",
	}
	cmd.RunE = interruptible(func(ctx context.Context, _ []string) error {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return exit(exitInfrastructure, err)
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "http://%s\n", l.Addr()); err != nil {
			return exit(exitInfrastructure, err)
		}
		return mock.New(s).Serve(ctx, l)
	})
	cmd.Flags().DurationVar(&s.First, "ttft", 200*time.Millisecond, "time to the first token")
	cmd.Flags().DurationVar(&s.Gap, "itl", 50*time.Millisecond, "time between tokens")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`address` to listen on")
	return cmd
}
