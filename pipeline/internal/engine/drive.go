package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/cgroup"
	"github.com/servegate/pipeline/steps/record"
)

// DriveOptions describes one run of another load generator.
type DriveOptions struct {
	Driver *steps.Driver
	// Values holds the steps.DriverVars that depend on the run. The driver adds those of its folder.
	Values map[string]string
	// Name is the name of the driver's files in the run directory.
	Name string
	// Log receives the program's output.
	Log io.Writer
	// Run runs the program of the target, see [steps.ServerCapabilities]; nil for a driver that loads a server.
	Run func(ctx context.Context, words []string, output string) ([]byte, error)
}

// measurement is a measured run of any load generator.
type measurement struct {
	run     result.Run
	records record.Run // of our own load generator
	start   time.Time  // of the first planned request, zero if unknown
	// first is when the first request was sent, last is when all were answered; zero if unknown.
	first, last time.Time
	cause       error // why the server cannot be used any longer
	// distributed means that the run has histograms of its records, which keep makes.
	distributed bool
}

// succeeded returns the number of successful requests and the number of their prompt tokens.
func (m *measurement) succeeded() (requests int, promptTokens float64) {
	for _, q := range m.records.Requests.All() {
		if q.Failure == "" {
			requests++
			promptTokens += float64(q.PromptTokens)
		}
	}
	if requests == 0 && m.records.Requests.Len() == 0 { // another load generator reports sums
		promptTokens, _ = m.run.Audit["input_tokens"].(float64)
		return m.run.Sent - m.run.Failed, promptTokens
	}
	return requests, promptTokens
}

// counts returns the number of sent requests, the number of output tokens, and the duration in seconds. Another load
// generator reports the tokens itself.
func (m *measurement) counts() (requests, outputTokens, seconds float64) {
	for _, q := range m.records.Requests.All() {
		outputTokens += float64(q.OutputTokens)
	}
	if m.records.Requests.Len() == 0 {
		outputTokens, _ = m.run.Audit["output_tokens"].(float64)
	}
	return float64(m.run.Sent), outputTokens, m.run.Duration
}

// runOwnLoad measures a cell with our load generator.
func (r *runner) runOwnLoad(ctx context.Context, s *server, bm plan.Benchmark, cell plan.Cell, run plan.Run,
	w *watch) (measurement, error) {
	got, cause, err := r.send(ctx, s, bm, cell, run, w)
	if config, ok := errors.AsType[*ConfigError](err); ok {
		return measurement{}, config
	}
	measured := r.measure(bm, cell.Workload, got.Run, got.Warmup, cause, err)
	if s.lane.LoadNode != "" {
		measured.Audit["load_node"] = s.lane.LoadNode
	}
	return measurement{
		run: measured, records: got.Run, start: got.Start, first: got.First, last: got.Last, cause: cause,
		distributed: measured.Metrics != nil && cell.Workload.Answers == nil && !r.o.Bare,
	}, nil
}

// driven measures a cell with another load generator. If that fails while the server still serves, the run is void,
// since the server is not known to be the cause.
func (r *runner) driven(ctx context.Context, s *server, bm plan.Benchmark, cell plan.Cell, run plan.Run, w *watch) (measurement, error) {
	if r.o.Drive == nil {
		return measurement{}, &ConfigError{Addr: bm.Addr, Err: errors.New("it has a driver, and there is nothing to run one with")}
	}
	values, err := driverValues(s, run)
	if err != nil {
		return measurement{}, &ConfigError{Addr: bm.Addr, Err: err}
	}
	name, program, late := r.runName(s, run), s.front.capabilities().Run, errDriverTimeout
	log, closeLog := s.front.log, func() error { return nil } // a program of the target writes the target's log
	if program != nil {
		late = errProgramTimeout
	} else {
		if log, err = r.o.Store.Log(name + "-driver"); err != nil {
			return measurement{}, err
		}
		closeLog = log.Close
	}
	inner, stop := s.within(ctx, bm, late)
	defer stop()
	w.begin(inner)
	begun, quota := s.lane.Clock.Now(), r.o.Groups.CPUOf(os.Getpid())
	measured, err := r.o.Drive(inner, DriveOptions{Driver: cell.Workload.Driver, Values: values, Name: name, Log: log, Run: program})
	if len(measured.Scores) == 0 && program == nil {
		r.warnThrottled(s.Target, w.label(), quota, s.lane.Clock.Now().Sub(begun))
	}
	if len(measured.Scores) > 0 || program != nil { // other load generators report how long they measured
		measured.Duration = s.lane.Clock.Now().Sub(begun).Seconds()
	}
	out := measurement{run: measured}
	failed, isProgram := errors.AsType[*steps.ProgramError](err)
	switch {
	case ctx.Err() != nil:
	case isProgram:
		out.cause = failed
	case inner.Err() != nil && !errors.Is(context.Cause(inner), errDriverTimeout):
		out.cause = context.Cause(inner) // the server has ended
	case err != nil || measured.Failed > 0:
		out.cause = r.alive(ctx, s)
	}
	switch {
	case out.cause != nil:
		out.run.Status, out.run.Reason, out.run.Metrics, out.run.Histograms = result.RunFailed, out.cause.Error(), nil, nil
	case err != nil:
		out.run.Status, out.run.Reason, out.run.VoidCause = result.RunVoid, r.o.Redact.String(err.Error()), result.VoidClient
	}
	if out.run.Audit == nil {
		out.run.Audit = map[string]any{}
	}
	out.run.Audit["driver_log"] = log.Path()
	return out, closeLog()
}

// throttledShare is the share of the time of another load generator for which its control group may be stopped without a warning.
const throttledShare = 0.02

// warnThrottled warns, once per cell, of a load generator of others that ran out of CPU quota. Its run is not void: it may have been
// stopped before it sent a request, and which of the times of the group's processes are its own is not known.
func (r *runner) warnThrottled(target, label string, quota *cgroup.CPU, took time.Duration) {
	stopped := quota.Throttled(math.MaxInt64)
	if stopped.Seconds() > throttledShare*took.Seconds() && r.first(r.warned, target+" throttled "+label) {
		r.warn(fmt.Sprintf("%s: processes of the load generator's control group were stopped for %s in all, since its CPU quota was used up: "+
			"times that it measured can be too long; raise the CPU limit of its container", cellOf(target, label), short(stopped)))
	}
}

// driverValues returns the variables of a driver that depend on the server and the run.
func driverValues(s *server, run plan.Run) (map[string]string, error) {
	u, err := url.Parse(s.front.endpoint.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the address of the server: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return map[string]string{
		"base_url": s.front.endpoint.BaseURL, "host": u.Hostname(), "port": port, "model": s.front.endpoint.Model,
		"seed": strconv.FormatUint(run.Seed>>33, 10), "repeat": strconv.Itoa(s.repeat), // numpy takes 32 bits
	}, nil
}

// driverText describes a driver by its program and the words before the first flag, such as "driven by vllm bench
// serve".
func driverText(d *steps.Driver) string {
	words := []string{"driven by"}
	if d.Kind == steps.DriverOffline {
		words = []string{"offline"}
	}
	if d.Evaluation != nil {
		words = []string{humanize.Count(d.Evaluation.Questions, "question") + ", asked by"}
	}
	for i, word := range d.Command {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "${") || i > 2 {
			break
		}
		words = append(words, filepath.Base(word))
	}
	return strings.Join(words, " ")
}

// runName returns the name of a run's files in the run directory.
func (r *runner) runName(s *server, run plan.Run) string {
	name := fmt.Sprintf("r%d-%s", s.repeat, run.Cell)
	if run.Pass > 0 {
		name += fmt.Sprintf("-pass%d", run.Pass)
	}
	if s.probe > 0 {
		name += fmt.Sprintf("-probe%d", s.probe)
	}
	if s.attempt > 1 {
		name += fmt.Sprintf("-try%d", s.attempt)
	}
	return name
}
