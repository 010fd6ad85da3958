package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/cgroup"
)

// drivenSession measures one cell of one target by another load generator.
func drivenSession(t *testing.T, drive func(context.Context, engine.DriveOptions) (result.Run, error)) *session {
	t.Helper()
	p := makePlan(t, []string{"server.fake.one"}, []float64{2}, 1)
	for i := range p.Benchmarks[0].Cells {
		w := &p.Benchmarks[0].Cells[i].Workload
		*w = steps.Workload{Driver: &steps.Driver{Kind: steps.DriverExec, Command: []string{"/opt/bin/vllm", "bench", "serve", "--seed", "1"}}}
	}
	p.Gates = nil
	s := newSession(t, p)
	s.o.Drive = drive
	return s
}

func imported(context.Context, engine.DriveOptions) (result.Run, error) {
	return result.Run{
		Status: result.RunOK, Duration: 3, Sent: 4, Failed: 0, Metrics: map[string]float64{"ttft.p50": 0.02},
		Audit: map[string]any{"source": "files/r1/results.json:1", "input_tokens": 64.0},
	}, nil
}

// A run of another load generator is a run like ours: it has the launch, the repeat, the
// metrics, and no records.
func TestDriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told engine.DriveOptions
		s := drivenSession(t, func(ctx context.Context, opt engine.DriveOptions) (result.Run, error) {
			told = opt
			fmt.Fprintln(opt.Log, "a progress bar with top-secret in it")
			return imported(ctx, opt)
		})
		run := onlyRun(t, s.run(t, t.Context()))
		if run.Status != result.RunOK || run.Metrics["ttft.p50"] != 0.02 || run.Launch == "" || run.Repeat != 1 || run.Records != "" {
			t.Errorf("run %+v", run)
		}
		for name := range steps.DriverVars {
			if name != "dir" && name != "output" && told.Values[name] == "" {
				t.Errorf("driver.%s is not told", name)
			}
		}
		if seed := told.Values["seed"]; len(seed) > 10 {
			t.Errorf("seed %s has more than 32 bits, which numpy refuses", seed)
		}
		log, _ := run.Audit["driver_log"].(string)
		if !strings.HasPrefix(log, "logs/") {
			t.Errorf("log %q", log)
		}
	})
}

// A load generator that fails while the server serves voids the run: it is no result of
// the server, good or bad. When the server is what ended, the run has failed.
func TestDrivenFails(t *testing.T) {
	broken := func(context.Context, engine.DriveOptions) (result.Run, error) {
		return result.Run{}, errors.New("exit status 2 with top-secret")
	}
	hangs := func(ctx context.Context, _ engine.DriveOptions) (result.Run, error) {
		<-ctx.Done()
		return result.Run{}, context.Cause(ctx)
	}
	for name, tt := range map[string]struct {
		drive   func(context.Context, engine.DriveOptions) (result.Run, error)
		exits   time.Duration
		status  result.RunStatus
		because string
	}{
		"exits with 2":             {broken, 0, result.RunVoid, "exit status 2 with"},
		"hangs":                    {hangs, 0, result.RunVoid, "did not end in time: raise the benchmark's timeout"},
		"while the server dies":    {hangs, 20 * time.Second, result.RunFailed, "the process has ended"},
		"no request of it succeed": {allFail, 0, result.RunFailed, "no request succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := drivenSession(t, tt.drive)
				if tt.exits > 0 {
					s.w.behave = func(string, int) behaviour { return behaviour{exitAfter: tt.exits} }
				}
				out := s.run(t, t.Context())
				run := out.Launched[0].Runs[0].Run
				if run.Status != tt.status || !strings.Contains(run.Reason, tt.because) || len(run.Metrics) > 0 {
					t.Errorf("run %s: %s, metrics %v", run.Status, run.Reason, run.Metrics)
				}
				if strings.Contains(run.Reason, "top-secret") {
					t.Errorf("the reason tells a secret: %s", run.Reason)
				}
			})
		})
	}
}

// A load generator whose CPU quota was used up measured its own stops, too, which is said.
func TestDrivenThrottled(t *testing.T) {
	for throttled, want := range map[string]int{"7000100": 0, "9000000": 1} { // microseconds, after 7 s
		dir := t.TempDir()
		groups := cgroup.System{Proc: filepath.Join(dir, "proc"), Groups: filepath.Join(dir, "cgroup")}
		write := func(path, text string) {
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(fmt.Sprintf("proc/%d/cgroup", os.Getpid()), "0::/pod\n")
		write("cgroup/pod/cpu.max", "20000 100000\n")
		write("cgroup/pod/cpu.stat", "usage_usec 50\nthrottled_usec 7000000\n")
		synctest.Test(t, func(t *testing.T) {
			s := drivenSession(t, func(ctx context.Context, opt engine.DriveOptions) (result.Run, error) {
				time.Sleep(time.Minute)
				write("cgroup/pod/cpu.stat", "usage_usec 90\nthrottled_usec "+throttled+"\n")
				return imported(ctx, opt)
			})
			s.o.Groups = groups
			run, told := onlyRun(t, s.run(t, t.Context())), 0
			for _, e := range s.events.events {
				if e.Severity == event.Warning && strings.Contains(e.Text, "were stopped for 2.0 s in all, since its CPU quota was used up") {
					told++
				}
			}
			if run.Status != result.RunOK || told != want {
				t.Errorf("throttled for %s µs: told %d times, want %d; the run is %s", throttled, told, want, run.Status)
			}
		})
	}
}

func allFail(context.Context, engine.DriveOptions) (result.Run, error) {
	return result.Run{Status: result.RunFailed, Reason: "no request succeeded", Sent: 4, Failed: 4}, nil
}
