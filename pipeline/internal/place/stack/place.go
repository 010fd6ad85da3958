// Package stack is the place of servers that commands start and remove.
package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/stack"
	"github.com/spf13/cobra"
)

// Kind returns the place of servers that commands start.
func Kind() place.Kind {
	return place.Kind{
		Name: "stack", Cleaner: cleaner,
		Containers: []steps.ContainerSupport{{Place: "stack", Every: "A stack has no container of this program: its up starts what it needs."}},
		Applied: func(ctx context.Context, o place.Options, spec steps.ServerSpec) (*steps.Applied, error) {
			folder := o.Plan.Config.Folder
			return stack.Render(ctx, o.Spawner, place.InFolder(spec, folder), folder, os.Stderr)
		},
		Takes: func(_ place.Options, p place.Process) bool { return p.Spec.Stack != nil },
		New: func(o place.Options) (place.Place, error) {
			dir, err := folder()
			return commands{opt: o, journal: stack.Journal{Dir: dir}}, err
		},
	}
}

// folder returns the user's folder of the journal. All runs of the user share it, so that any of them can clean up.
func folder() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("stacks are recorded in the user's cache folder: %w", err)
	}
	return filepath.Join(base, "pipeline", "stacks"), nil
}

type commands struct {
	place.Base
	opt     place.Options
	journal stack.Journal
}

// Here implements Place: the server may be anywhere.
func (commands) Here(place.Process) bool { return false }

// GPUs implements Place: what up applies asks for them.
func (commands) GPUs(place.Target, place.Process) place.GPUs { return place.GPUs{} }

// Unprofiled implements Place.
func (commands) Unprofiled(place.Process, bool) error {
	return errors.New("a stack is started by its own commands, which know no profiler")
}

// Preflight implements Place. It removes what a killed part of this run left.
func (c commands) Preflight(ctx context.Context) error {
	interrupted := func(r stack.Record) bool { return r.RunID == c.opt.RunID && spawn.Gone(r.Owner) }
	cleaned, err := c.journal.Clean(ctx, c.opt.Spawner, os.Stderr, c.opt.Getenv, interrupted)
	for _, r := range cleaned {
		c.opt.Info(fmt.Sprintf("removed the stack %s of %s, which an interrupted part of this run left", r.ID, r.Server))
	}
	return err
}

// Assign implements Place.
func (c commands) Assign(_ place.Target, p place.Process, _ []string) (place.Slot, error) {
	spec := place.InFolder(p.Spec, c.opt.Plan.Config.Folder)
	return place.Slot{Spec: spec, Self: place.Self{Program: c.opt.Self}, Launcher: stack.NewLauncher(spec, stack.Options{
		Spawner: c.opt.Spawner, Journal: c.journal, Owner: spawn.Owner(), RunID: c.opt.RunID, Dir: c.opt.Plan.Config.Folder,
	})}, nil
}

func cleaner(*cobra.Command) place.Cleaner { return place.Cleaner{Clean: clean} }

// clean runs the down of stacks whose program has ended, or of one run. Stacks have no deadline.
func clean(ctx context.Context, c place.Cleaning) (int, error) {
	if c.Expired {
		return 0, nil
	}
	dir, err := folder()
	if err != nil {
		return 0, nil // without a folder nothing was recorded
	}
	journal := stack.Journal{Dir: dir}
	pick := func(r stack.Record) bool {
		return c.RunID == "" && spawn.Gone(r.Owner) || c.RunID != "" && r.RunID == c.RunID
	}
	if c.DryRun {
		all, err := journal.Records()
		n := 0
		for _, r := range all {
			if pick(r) {
				n++
				fmt.Fprintf(c.Out, "would remove the stack %s of %s\n", r.ID, r.Server)
			}
		}
		return n, err
	}
	spawner := spawn.New(spawn.Options{Environ: c.Environ})
	defer spawner.Close()
	cleaned, err := journal.Clean(ctx, spawner, c.Err, c.Getenv, pick)
	for _, r := range cleaned {
		fmt.Fprintf(c.Out, "removed the stack %s of %s\n", r.ID, r.Server)
	}
	return len(cleaned), err
}
