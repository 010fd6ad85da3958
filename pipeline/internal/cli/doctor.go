package cli

import (
	"context"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/dockerhost"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/spf13/cobra"
)

// doctorCommand prints what this machine lacks and how to fix it.
func (a *app) doctorCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [FILE|DIR]...",
		Short: "Check what this machine lacks, and how to fix it",
		Long: "Looks at the machine: GPUs, networks, disks, the Docker daemon. With a pipeline file it checks what that file needs.\n" +
			"Starts no server and changes nothing. Exits with 4 if something that is needed is missing.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			return a.doctor(ctx, flags, args, asJSON)
		}),
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the checks as JSON")
	return cmd
}

func (a *app) doctor(ctx context.Context, flags configFlags, args []string, asJSON bool) error {
	spawner := spawn.New(spawn.Options{Environ: a.Environ()})
	defer spawner.Close()
	var needs doctor.Needs
	var hosts []doctor.Check
	dir := "."
	if len(args) > 0 {
		cfg, err := a.load(flags, args)
		if err != nil {
			return err
		}
		needs, dir = doctor.NeedsOf(cfg.Config, nil), cfg.Folder
		hosts = doctor.ExamineAttached(ctx, cfg.Config, a.engines())
		opt := place.Options{Plan: &plan.Plan{Config: cfg.Config}, Connectors: a.connectors, Spawner: spawner,
			Environ: a.Environ(), Version: Version()}
		for _, kind := range slices.Backward(a.places) {
			if kind.Examine != nil {
				hosts = append(hosts, kind.Examine(ctx, opt)...)
			}
		}
	}
	getenv, done, err := dockerhost.ReachedEnv(ctx, spawner, a.Environ(), a.Getenv)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	defer done()
	facts := doctor.Gather(ctx, needs, doctor.Options{
		Spawner: spawner, Daemon: dockerhost.Inspect(getenv), Out: ".", Dir: dir, Hub: a.hubFolder(),
		Locks: func() (string, error) { return machine.LockDir(a.Getenv) },
	})
	if ctx.Err() != nil {
		return exit(interruptCode(context.Cause(ctx)), context.Cause(ctx))
	}
	checks := append(doctor.Examine(needs, facts), hosts...)
	write := doctor.Text
	if asJSON {
		write = doctor.JSON
	}
	if err := write(a.Out, checks); err != nil {
		return exit(exitInfrastructure, err)
	}
	if doctor.MissingError(checks) != nil {
		return exit(exitInfrastructure, nil)
	}
	return nil
}
