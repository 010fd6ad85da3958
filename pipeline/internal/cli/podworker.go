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
		Use: kubernetes.Worker + " keep FILE SILENCE | look | wait | task", Short: "Serve a run in a Pod of its cluster", Hidden: true,
		Args: cobra.MinimumNArgs(1),
		Long: "keep ends when FILE has not changed for SILENCE, look describes the machine, wait holds a place for tasks, and task " +
			"carries\nout a command of this program on a folder that comes by standard input and goes by standard output.",
		RunE: interruptible(func(ctx context.Context, words []string) error {
			self, err := os.Executable()
			if err != nil {
				return exit(exitInfrastructure, err)
			}
			spawner := spawn.New(spawn.Options{Environ: a.Environ()})
			defer spawner.Close()
			w := kubernetes.InPod{
				Self: self, Version: Version(), Spawner: spawner, In: os.Stdin, Out: os.Stdout, Folder: kubernetes.TaskFolder,
				Facts: func(ctx context.Context) map[string]string { return probe.Machine(ctx, spawner) },
			}
			if err := w.Work(ctx, words); err != nil {
				return exit(exitInfrastructure, err)
			}
			return nil
		}),
	}
}
