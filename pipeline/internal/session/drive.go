package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/driver"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// handedOver reports whether a benchmark's results come from elsewhere, so that nothing is run for it.
func handedOver(b *config.Benchmark) bool {
	return slices.ContainsFunc(b.Cells, func(c config.Cell) bool {
		return c.Workload.Driver != nil && c.Workload.Driver.Kind == steps.DriverResults
	})
}

// driveFunc carries out one run of a driver.
type driveFunc = func(context.Context, engine.DriveOptions) (result.Run, error)

// driveOnly runs the program of a target and keeps no file of it.
func driveOnly(ctx context.Context, opt engine.DriveOptions) (result.Run, error) {
	return driver.Driver{}.Run(ctx, driver.Options{Driver: opt.Driver, Values: opt.Values, Name: opt.Name, Program: opt.Run})
}

// drive runs an external load generator for one run.
func (s *session) drive(ctx context.Context, opt engine.DriveOptions) (result.Run, error) {
	d := driver.Driver{Spawner: s.spawner, Dir: s.opt.Plan.Config.Folder, Keep: s.dir.Folder, Tools: s.opt.Tools, Redact: s.redact}
	run, err := d.Run(ctx, driver.Options{Driver: opt.Driver, Values: opt.Values, Name: opt.Name, Log: opt.Log, Program: opt.Run})
	if source, ok := run.Audit["source"].(string); ok { // make it relative to the run directory, which may be moved
		run.Audit["source"] = strings.TrimPrefix(source, s.base()+string(filepath.Separator))
	}
	return run, err
}

// modelledDrive returns a drive function in virtual time, for one of several sessions. drive runs the programs of targets.
func modelledDrive(session int, drive driveFunc) driveFunc {
	return func(ctx context.Context, opt engine.DriveOptions) (result.Run, error) {
		if opt.Run != nil {
			return drive(ctx, opt)
		}
		return driver.Model(*opt.Driver.Evaluation, fmt.Sprintf("%s of session %d", opt.Name, session)), nil
	}
}

// base returns the absolute path of the run directory.
func (s *session) base() string {
	if abs, err := filepath.Abs(s.dir.Path()); err == nil {
		return abs
	}
	return s.dir.Path()
}

// driven returns why a benchmark's driver cannot be used in a run, nil if it can.
func driven(opt Options, b *config.Benchmark) error {
	switch {
	case handedOver(b):
		return errors.New("its results are measured elsewhere, and a run measures nothing for it: judge them with pipeline gate FILE " +
			"--results, and keep the benchmarks that are run in a file of their own")
	case opt.Plan.TimeScale > 1 && slices.ContainsFunc(b.Cells, func(c config.Cell) bool { return c.Workload.Driver != nil }):
		return errors.New("its driver lives in real time: run it with --time-scale 1")
	}
	return nil
}
