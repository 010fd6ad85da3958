package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/servegate/pipeline/pipeline/internal/place/slurmjob"
	"github.com/servegate/pipeline/steps/load/remote"
	"github.com/spf13/cobra"
)

// loadWorkerCommand generates the load of one run in a process of its own, as a run with
// load_node starts it. It is hidden: nothing else needs it.
func (a *app) loadWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use: slurmjob.LoadWorker + " FOLDER", Short: "Generate the load of one run, as a file in FOLDER orders", Hidden: true, Args: cobra.ExactArgs(1),
		Long: "Reads an order from FOLDER, waits after the warm-up until SIGUSR1 lets it begin, reports its progress in lines of JSON, and\nwrites what it recorded into FOLDER. SIGTERM ends it with what it has.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			begin := make(chan os.Signal, 1)
			signal.Notify(begin, syscall.SIGUSR1)
			defer signal.Stop(begin)
			host, err := os.Hostname()
			if err != nil {
				host = "this machine"
			}
			fmt.Fprintf(a.Err, "load is generated on %s\n", host)
			// Not a.Out, which outlives its reader: a run without a reader is to end.
			if err := (remote.Worker{Folder: args[0], Getenv: a.Getenv, Begin: begin, Out: os.Stdout}).Work(ctx); err != nil {
				return exit(exitInfrastructure, err)
			}
			return nil
		}),
	}
}
