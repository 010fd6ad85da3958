package dockerhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/spf13/cobra"
)

// cleaner removes objects of Docker daemons, and sockets that were forwarded.
func cleaner(cmd *cobra.Command) place.Cleaner {
	var hosts []string
	cmd.Flags().StringArrayVar(&hosts, "docker-host", nil, "clean up the Docker daemon at this `URL`, as the docker block writes it, "+
		"instead of the one of DOCKER_HOST; ?certs=FOLDER for TLS; can be repeated")
	return place.Cleaner{Clean: func(ctx context.Context, c place.Cleaning) (int, error) {
		removed, err := clean(ctx, c, hosts)
		if c.RunID == "" && !c.Expired && !c.DryRun {
			err = errors.Join(err, removeSockets(socketBase()))
		}
		return removed, err
	}}
}

// unusedImages is how long an image of the simulator may be unused before it is removed. A run needs its image at the
// start, and may take a day.
const unusedImages = 48 * time.Hour

// filter selects what to remove from a Docker daemon.
func filter(c place.Cleaning, now time.Time) docker.Filter {
	switch {
	case c.RunID != "":
		return docker.Filter{RunID: c.RunID}
	case c.Expired:
		return docker.Filter{Expired: now}
	default:
		return docker.Filter{Expired: now, Gone: spawn.Gone, Unused: now.Add(-unusedImages)}
	}
}

// clean returns the number of objects removed from all daemons. A machine without a daemon has none.
func clean(ctx context.Context, c place.Cleaning, hosts []string) (int, error) {
	chosen := len(hosts) > 0
	if !chosen {
		hosts = []string{docker.HostFromEnv(c.Getenv)}
	}
	if !chosen && noDaemon(hosts[0]) {
		fmt.Fprintln(c.Err, "no Docker daemon on this machine; set DOCKER_HOST to use another")
		return 0, nil
	}
	spawner := spawn.New(spawn.Options{Environ: c.Environ})
	defer spawner.Close()
	removed := 0
	var errs []error
	for _, host := range hosts {
		reached, done, err := reach(ctx, spawner, c.Environ, host)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		n, err := cleanDaemon(ctx, c, reached)
		removed += n
		errs = append(errs, err, done())
	}
	return removed, errors.Join(errs...)
}

// cleanDaemon returns the number of objects removed from one daemon.
func cleanDaemon(ctx context.Context, c place.Cleaning, host string) (int, error) {
	remove, done := docker.Cleanup, "removed"
	if c.DryRun {
		remove, done = docker.Leftovers, "would remove"
	}
	found, err := remove(ctx, host, filter(c, time.Now()))
	for _, l := range found {
		of := ""
		if l.RunID != "" {
			of = " of run " + l.RunID
		}
		fmt.Fprintf(c.Out, "%s %s %s%s\n", done, l.Kind, l.Name, of)
	}
	return len(found), err
}

// noDaemon reports whether host is the default and its socket does not exist.
func noDaemon(host string) bool {
	path, unix := strings.CutPrefix(host, "unix://")
	_, err := os.Stat(path)
	return host == docker.DefaultHost && unix && errors.Is(err, fs.ErrNotExist)
}
