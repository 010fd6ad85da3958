package local

import (
	"context"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/spf13/cobra"
)

// cleaner ends processes of this machine.
func cleaner(*cobra.Command) place.Cleaner { return place.Cleaner{Clean: clean} }

// clean returns the number of processes ended: those left by a program that has ended.
func clean(_ context.Context, c place.Cleaning) (int, error) {
	if c.RunID != "" || c.Expired {
		return 0, nil // processes know neither
	}
	find, done := func() ([]spawn.Orphan, error) { return spawn.EndOrphans() }, "ended"
	if c.DryRun {
		find, done = spawn.FindOrphans, "would end"
	}
	found, err := find()
	for _, o := range found {
		fmt.Fprintf(c.Out, "%s process %d: %q\n", done, o.PID, o.Command())
	}
	return len(found), err
}
