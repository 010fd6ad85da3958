package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/spf13/cobra"
)

// cleanupCommand stops and removes what killed runs left behind.
func (a *app) cleanupCommand() *cobra.Command {
	var c place.Cleaning
	var cleaners []place.Cleaner
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what killed runs have left behind",
		Long: "Removes what runs of this program made and could not remove because they were killed: of runs whose program has\n" +
			"ended on this machine, and of those whose deadline has passed. Processes that a killed program left are ended, and\n" +
			"its temporary folders removed, unless --run-id or --expired ask for less: they know neither. Jobs and steps of\n" +
			"yours on a Slurm cluster are cancelled, unless --expired asks for less: their deadline is their time limit. A\n" +
			"Kubernetes cluster removes by itself what a run has left there that was not heard of for five minutes;\n" +
			"--kubernetes removes it at once.\n" +
			"Images of the simulator that no run has wanted for two days go as well; they are built again when they are wanted.\n" +
			"What a living run uses stays, and so do all other images and the volumes that a pipeline file names as caches.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, each := range cleaners {
				if each.Check == nil {
					continue
				}
				if err := each.Check(); err != nil {
					return exit(exitUsage, err)
				}
			}
			c.Environ, c.Version, c.Out, c.Err = a.Environ(), Version(), a.Out, a.Err
			left := 0
			var errs []error
			for _, each := range cleaners { // all are tried, even if another one fails
				n, err := each.Clean(cmd.Context(), c)
				left += n
				errs = append(errs, err)
			}
			if err := errors.Join(errs...); err != nil {
				return exit(exitInfrastructure, err)
			}
			if left == 0 {
				fmt.Fprintln(a.Out, "nothing is left")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&c.RunID, "run-id", "", "only what the run with this `ID` made, whether it still runs or not")
	cmd.Flags().BoolVar(&c.Expired, "expired", false, "only what has outlived its deadline, whoever made it")
	cmd.Flags().BoolVar(&c.DryRun, "dry-run", false, "only print what would be removed")
	cmd.MarkFlagsMutuallyExclusive("run-id", "expired")
	for _, kind := range slices.Backward(a.places) {
		if kind.Cleaner != nil {
			cleaners = append(cleaners, kind.Cleaner(cmd))
		}
	}
	return cmd
}
