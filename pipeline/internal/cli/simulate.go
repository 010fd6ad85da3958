package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps/load/mock"
	"github.com/servegate/pipeline/steps/load/remote"
	"github.com/servegate/pipeline/steps/offline"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/spf13/cobra"
)

// simulateCommand simulates a vLLM or SGLang server, or a service that KV transfers need. --simulate starts it with
// the command line of the simulated program.
func (a *app) simulateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "simulate -- vllm serve MODEL [FLAG]...",
		Short: "Play a server of vLLM, SGLang or llama.cpp",
		Long: "Takes the command line of a vLLM or SGLang server and behaves like it, with a modelled GPU.\nIt stands in for the " +
			"services of KV transfers as well: etcd, mooncake_master and python3 -m mooncake.http_metadata_server\nlisten and are healthy. " +
			"Connectors that are not simulated over sockets are refused: --simulate=virtual rehearses them.\nAll of them listen on 127.0.0.1 " +
			"unless a flag names another address, also where the program itself would listen on all.\nThe environment variable PIPELINE_SIMULATE " +
			"holds the model's settings as JSON.",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
				return cmd.Help()
			}
			if len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			if offline.Simulates(args) {
				return exit(offline.Main(args, a.Getenv, a.Out, a.Err), nil)
			}
			// The simulated server handles signals itself, like a real one.
			return exit(simulate.Simulator{Connectors: a.connectors}.Main(cmd.Context(), args, a.Getenv, a.Out, a.Err), nil)
		},
	}
}

// mockServerCommand is the server of `load --calibrate`. It is hidden, because only that command needs it.
func mockServerCommand() *cobra.Command {
	var s mock.Schedule
	var listen string
	cmd := &cobra.Command{
		Use: "mock-server", Short: "Answer completions at known times", Hidden: true, Args: cobra.NoArgs,
		Long: "Streams max_tokens tokens for every completions request, at times counted from its arrival, prints its address, and\nanswers " +
			"GET /truth with what it saw.",
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

// loadWorkerCommand generates the load of one run in a separate process, which a run with load_node starts. It is
// hidden, because only such a run needs it.
func (a *app) loadWorkerCommand() *cobra.Command {
	var streamed bool
	cmd := &cobra.Command{
		Use: place.LoadWorker + " FOLDER", Short: "Generate the load of one run, as a file in FOLDER orders", Hidden: true,
		Args: cobra.ExactArgs(1),
		Long: "Reads an order from FOLDER, waits after the warm-up until SIGUSR1 lets it begin, reports its progress in lines of JSON, " +
			"and\nwrites what it recorded into FOLDER. SIGTERM ends it with what it has. With --stream the order and the names of signals\n" +
			"come by standard input, the record goes to standard output, and FOLDER is for temporary files.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			begin := make(chan os.Signal, 1)
			signal.Notify(begin, syscall.SIGUSR1)
			defer signal.Stop(begin)
			host, err := os.Hostname()
			if err != nil {
				host = "this machine"
			}
			fmt.Fprintf(a.Err, "load is generated on %s\n", host)
			// Not a.Out, which survives its reader: a run without a reader must end.
			w := remote.Worker{Folder: args[0], Getenv: a.Getenv, Begin: begin, Out: os.Stdout}
			if streamed {
				w.In = os.Stdin
			}
			if err := w.Work(ctx); err != nil {
				return exit(exitInfrastructure, err)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&streamed, strings.TrimPrefix(place.LoadStreamed, "--"), false, "take the order from standard input")
	return cmd
}
