package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place/dockerhost"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/slurm"
	"github.com/spf13/cobra"
)

type cleanupFlags struct {
	runID   string
	expired bool
	dryRun  bool
	hosts   []string
	cluster kubernetesFlags
}

// cleanupCommand stops and removes what killed runs left behind.
func (a *app) cleanupCommand() *cobra.Command {
	var f cleanupFlags
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what killed runs have left: containers, networks, volumes, processes, Slurm jobs and Pods",
		Long: "Removes what runs of this program made and could not remove because they were killed: of runs whose program has\n" +
			"ended on this machine, and of those whose deadline has passed. Processes that a killed program left are ended,\n" +
			"unless --run-id or --expired ask for less: processes know neither. Jobs and steps of yours on a Slurm cluster are\n" +
			"cancelled, unless --expired asks for less: their deadline is their time limit. A Kubernetes cluster removes by itself what\n" +
			"a run has left there that was not heard of for five minutes; --kubernetes removes it at once.\n" +
			"Images of the simulator that no run has wanted for two days go as well; they are built again when they are wanted.\n" +
			"What a living run uses stays, and so do all other images and the volumes that a pipeline file names as caches.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.cluster.check(); err != nil {
				return exit(exitUsage, err)
			}
			// Every kind is tried, even if another one fails.
			left, dockerErr := a.cleanDocker(cmd.Context(), f)
			var ended int
			var processErr error
			if f.runID == "" && !f.expired {
				ended, processErr = a.cleanProcesses(f)
				if !f.dryRun {
					processErr = errors.Join(processErr, dockerhost.RemoveSockets())
				}
			}
			cancelled, slurmErr := a.cleanSlurm(cmd.Context(), f)
			jobs, podsErr := a.cleanKubernetes(cmd.Context(), f)
			if err := errors.Join(dockerErr, processErr, slurmErr, podsErr); err != nil {
				return exit(exitInfrastructure, err)
			}
			if left+ended+cancelled+jobs == 0 {
				fmt.Fprintln(a.Out, "nothing is left")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&f.runID, "run-id", "", "only what the run with this `ID` made, whether it still runs or not")
	cmd.Flags().BoolVar(&f.expired, "expired", false, "only what has outlived its deadline, whoever made it")
	cmd.Flags().StringArrayVar(&f.hosts, "docker-host", nil, "clean up the Docker daemon at this `URL`, as the docker block writes it, "+
		"instead of the one of DOCKER_HOST; ?certs=FOLDER for TLS; can be repeated")
	f.cluster.add(cmd.Flags())
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only print what would be removed")
	cmd.MarkFlagsMutuallyExclusive("run-id", "expired")
	cmd.MarkFlagsMutuallyExclusive("kubernetes", "expired") // a cluster enforces its deadlines itself
	return cmd
}

// unusedImages is how long an image of the simulator may be unused before it is removed. A run needs its image at the
// start, and may take a day.
const unusedImages = 48 * time.Hour

// filter selects what to remove from a Docker daemon.
func (f cleanupFlags) filter(now time.Time) docker.Filter {
	switch {
	case f.runID != "":
		return docker.Filter{RunID: f.runID}
	case f.expired:
		return docker.Filter{Expired: now}
	default:
		return docker.Filter{Expired: now, Gone: spawn.Gone, Unused: now.Add(-unusedImages)}
	}
}

// cleanDocker returns the number of objects removed from all daemons. A machine without a daemon has none.
func (a *app) cleanDocker(ctx context.Context, f cleanupFlags) (int, error) {
	hosts := f.hosts
	if len(hosts) == 0 {
		hosts = []string{docker.HostFromEnv(a.Getenv)}
	}
	if noDaemon(hosts[0]) && len(f.hosts) == 0 {
		fmt.Fprintln(a.Err, "no Docker daemon on this machine; set DOCKER_HOST to use another")
		return 0, nil
	}
	spawner := spawn.New(spawn.Options{Environ: a.Environ()})
	defer spawner.Close()
	removed := 0
	var errs []error
	for _, host := range hosts {
		reached, done, err := dockerhost.Reach(ctx, spawner, a.Environ(), host)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		n, err := a.cleanDaemon(ctx, f, reached)
		removed += n
		errs = append(errs, err, done())
	}
	return removed, errors.Join(errs...)
}

// cleanDaemon returns the number of objects removed from one daemon.
func (a *app) cleanDaemon(ctx context.Context, f cleanupFlags, host string) (int, error) {
	clean, done := docker.Cleanup, "removed"
	if f.dryRun {
		clean, done = docker.Leftovers, "would remove"
	}
	found, err := clean(ctx, host, f.filter(time.Now()))
	for _, l := range found {
		of := ""
		if l.RunID != "" {
			of = " of run " + l.RunID
		}
		fmt.Fprintf(a.Out, "%s %s %s%s\n", done, l.Kind, l.Name, of)
	}
	return len(found), err
}

// noDaemon reports whether host is the default and its socket does not exist.
func noDaemon(host string) bool {
	path, unix := strings.CutPrefix(host, "unix://")
	_, err := os.Stat(path)
	return host == docker.DefaultHost && unix && errors.Is(err, fs.ErrNotExist)
}

// cleanProcesses returns the number of processes ended: those left by a program that has ended.
func (a *app) cleanProcesses(f cleanupFlags) (int, error) {
	find, done := func() ([]spawn.Orphan, error) { return spawn.EndOrphans() }, "ended"
	if f.dryRun {
		find, done = spawn.FindOrphans, "would end"
	}
	found, err := find()
	for _, o := range found {
		fmt.Fprintf(a.Out, "%s process %d: %q\n", done, o.PID, o.Command())
	}
	return len(found), err
}

// cleanSlurm returns the number of cancelled jobs and steps. A machine without Slurm commands has none.
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
		// Slurm is installed but no cluster answers, so this machine has no jobs.
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
