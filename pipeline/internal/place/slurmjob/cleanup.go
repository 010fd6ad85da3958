package slurmjob

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
	"github.com/spf13/cobra"
)

// cleaner cancels jobs and steps of this user.
func cleaner(*cobra.Command) place.Cleaner { return place.Cleaner{Clean: clean} }

// clean returns the number of cancelled jobs and steps. A machine without Slurm commands has none.
func clean(ctx context.Context, c place.Cleaning) (int, error) {
	if c.Expired || !hasProgram(c.Getenv("PATH"), "squeue") {
		return 0, nil
	}
	spawner := spawn.New(spawn.Options{Environ: c.Environ})
	defer spawner.Close()
	opt := slurm.Options{Spawner: spawner}
	if conf := c.Getenv(slurmConf); conf != "" {
		opt.Env = []steps.EnvVar{{Name: slurmConf, Value: conf}}
	}
	remove, done := slurm.Cleanup, "cancelled"
	if c.DryRun {
		remove, done = slurm.Leftovers, "would cancel"
	}
	found, err := remove(ctx, opt, func(m slurm.Mark) bool { return c.Selects(m.RunID, m.Owner) })
	for _, l := range found {
		fmt.Fprintf(c.Out, "%s Slurm %s %s of run %s\n", done, l.Kind, l.ID, l.Mark.RunID)
	}
	if err != nil && len(found) == 0 {
		// Slurm is installed but no cluster answers, so this machine has no jobs.
		fmt.Fprintf(c.Err, "warning: jobs of a Slurm cluster were not looked at: %v\n", err)
		return 0, nil
	}
	return len(found), err
}

// hasProgram reports whether a program is in one of the folders of PATH.
func hasProgram(path, name string) bool {
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}
