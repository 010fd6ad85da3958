package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load/calibrate"
	"github.com/servegate/pipeline/steps/load/mock"
)

// calibrationSchedule imitates a server on a busy GPU. The calibration takes some 20 seconds.
var calibrationSchedule = mock.Schedule{First: 200 * time.Millisecond, Gap: 50 * time.Millisecond}

const (
	calibrationRate     = 60
	calibrationRequests = 600
	calibrationTokens   = 100
	calibrationBurst    = 500
)

// calibrateClient measures the client's own overhead on this machine.
func (a *app) calibrateClient(ctx context.Context, f loadFlags) (err error) {
	url, stop, err := a.startMock(ctx, calibrationSchedule)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	var reports []calibrate.Report
	for _, c := range []calibrate.Case{
		calibrate.Steady(calibrationSchedule, calibrationRate, calibrationRequests, calibrationTokens),
		calibrate.Burst(calibrationSchedule, calibrationBurst, calibrationTokens),
	} {
		r, err := calibrate.Run(ctx, url, c)
		if err != nil {
			return exit(exitInfrastructure, err)
		}
		reports = append(reports, r)
		if !f.asJSON {
			if err := r.WriteText(a.Out); err != nil {
				return exit(exitInfrastructure, err)
			}
		}
	}
	if f.asJSON {
		return a.writeJSON(reports)
	}
	return nil
}

// startMock starts the mock server as a separate process and returns its address.
func (a *app) startMock(ctx context.Context, s mock.Schedule) (url string, stop func() error, err error) {
	self, err := ownPath()
	if err != nil {
		return "", nil, err
	}
	spawner := spawn.New(spawn.Options{Environ: a.Environ()})
	out, in := io.Pipe()
	child, err := spawner.Spawn(ctx, steps.Command{
		Argv: []string{self, "mock-server", "--ttft", s.First.String(), "--itl", s.Gap.String()}, Stdout: in, Stderr: a.Err,
	})
	if err != nil {
		spawner.Close()
		return "", nil, fmt.Errorf("start the mock server: %w", err)
	}
	go func() {
		<-child.Done()
		_ = in.Close()
	}()
	stop = func() error {
		err := child.Signal("TERM")
		<-child.Done()
		spawner.Close()
		return err
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return "", nil, errors.Join(errors.New("the mock server printed no address"), stop())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.TrimSpace(lines.Text()), stop, nil
}
