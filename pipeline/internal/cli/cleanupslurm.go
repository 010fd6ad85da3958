package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
)

// cleanSlurm returns how many jobs and steps it cancelled. A machine without Slurm's
// commands has none.
func (a *app) cleanSlurm(ctx context.Context, f cleanupFlags) (int, error) {
	if f.expired || !hasProgram(a.Getenv("PATH"), "squeue") {
		return 0, nil
	}
	spawner := spawn.New(spawn.Options{Environ: a.Environ()})
	defer spawner.Close()
	opt := slurm.Options{Spawner: spawner}
	if conf := a.Getenv("SLURM_CONF"); conf != "" {
		opt.Env = []steps.EnvVar{{Name: "SLURM_CONF", Value: conf}}
	}
	fits := func(m slurm.Mark) bool { return spawn.Gone(m.Owner) }
	if f.runID != "" {
		fits = func(m slurm.Mark) bool { return m.RunID == f.runID }
	}
	clean, done := slurm.Cleanup, "cancelled"
	if f.dryRun {
		clean, done = slurm.Leftovers, "would cancel"
	}
	found, err := clean(ctx, opt, fits)
	for _, l := range found {
		fmt.Fprintf(a.Out, "%s Slurm %s %s of run %s\n", done, l.Kind, l.ID, l.Mark.RunID)
	}
	if err != nil && len(found) == 0 {
		// Its programs are there and no cluster answers: a machine that has no jobs on one.
		fmt.Fprintf(a.Err, "warning: jobs of a Slurm cluster were not looked at: %v\n", err)
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
