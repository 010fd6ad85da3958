package place

import (
	"context"
	"io"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/spf13/cobra"
)

// Cleaner removes what killed runs have left in places of a kind, for `pipeline cleanup`.
type Cleaner struct {
	// Check returns why the flags of the kind contradict each other; nil accepts them.
	Check func() error
	// Clean removes what is left, or only prints it, and returns how much that is.
	Clean func(context.Context, Cleaning) (int, error)
}

// NewCleaner adds the flags of a kind to the command and returns its cleaner.
type NewCleaner func(*cobra.Command) Cleaner

// Cleaning selects what to remove: by default what runs left whose program has ended on this machine, and what has
// outlived its deadline.
type Cleaning struct {
	// RunID selects what one run made, "" all runs.
	RunID string
	// Expired selects only what has outlived its deadline.
	Expired bool
	// DryRun only prints what would be removed.
	DryRun bool

	Environ []string
	Version string
	// Out receives a line for each removed object, and Err warnings.
	Out, Err io.Writer
}

// Selects reports whether to remove what a run made. owner is the mark of its program.
func (c Cleaning) Selects(run, owner string) bool {
	if c.RunID != "" {
		return run == c.RunID
	}
	return spawn.Gone(owner)
}

// Getenv returns a variable of the environment.
func (c Cleaning) Getenv(name string) string { return spawn.Getenv(c.Environ)(name) }
