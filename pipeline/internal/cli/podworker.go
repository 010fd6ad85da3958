package cli

import (
	"context"
	"os"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/kubernetes"
	"github.com/servegate/pipeline/steps/probe"
	"github.com/spf13/cobra"
)

// podWorkerCommand runs in the Pods of a run that are not servers. It is hidden, because a run with a kubernetes
// block starts it.
func (a *app) podWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use: kubernetes.Worker + " keep FILE SILENCE | look | wait", Short: "Serve a run in a Pod of its cluster", Hidden: true,
		Args: cobra.MinimumNArgs(1),
		Long: "keep ends when FILE has not changed for SILENCE, look describes the machine, and wait keeps the Pod of the load generator.",
		RunE: interruptible(func(ctx context.Context, words []string) error {
			self, err := os.Executable()
			if err != nil {
				return exit(exitInfrastructure, err)
			}
			spawner := spawn.New(spawn.Options{Environ: a.Environ()})
			defer spawner.Close()
			w := kubernetes.InPod{
				Self: self, Version: Version(), Out: os.Stdout,
				Facts: func(ctx context.Context) map[string]string { return probe.Machine(ctx, spawner) },
			}
			if err := w.Work(ctx, words); err != nil {
				return exit(exitInfrastructure, err)
			}
			return nil
		}),
	}
}
