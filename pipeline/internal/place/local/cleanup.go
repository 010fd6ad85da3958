package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/scratch"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/spf13/cobra"
)

// cleaner ends processes of this machine and removes temporary folders.
func cleaner(*cobra.Command) place.Cleaner { return place.Cleaner{Clean: clean} }

// clean returns how many processes it ended and folders it removed: those left by programs that have ended.
func clean(_ context.Context, c place.Cleaning) (int, error) {
	if c.RunID != "" || c.Expired {
		return 0, nil // neither processes nor folders know them
	}
	find, ended, removed := func() ([]spawn.Orphan, error) { return spawn.EndOrphans() }, "ended", "removed"
	if c.DryRun {
		find, ended, removed = spawn.FindOrphans, "would end", "would remove"
	}
	found, err := find()
	for _, o := range found {
		fmt.Fprintf(c.Out, "%s process %d: %q\n", ended, o.PID, o.Command())
	}
	folders, failed := scratch.Sweep(c.DryRun)
	for _, path := range folders {
		fmt.Fprintf(c.Out, "%s %s\n", removed, path)
	}
	return len(found) + len(folders), errors.Join(err, failed)
}
