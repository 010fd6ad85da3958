package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/process"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/vllm"
	"go.uber.org/goleak"
)

// TestMain also plays the servers of the tests in this file: real processes on real
// sockets.
func TestMain(m *testing.M) {
	if os.Getenv(simulate.SettingsEnv) != "" {
		os.Exit(simulate.Simulator{}.Main(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr)) //nolint:forbidigo // this is the main of a server process
	}
	goleak.VerifyTestMain(m)
}

// timeScale makes the simulated servers and the schedule this much faster.
const timeScale = 20

// realSession is a session whose servers, launcher and load generator are the real ones.
// fail is what goes wrong with the simulated server of a target.
func realSession(t *testing.T, p *plan.Plan, fail map[string][]string) *session {
	t.Helper()
	p.Simulated, p.TimeScale = "process", timeScale
	p.Benchmarks[0].Limits = map[string]float64{"lag_p99": 60, "rate_share": 1e-6, "clock_step": 60} // of a busy machine
	for i := range p.Benchmarks[0].Cells {
		p.Benchmarks[0].Cells[i].Workload.IgnoreEOS = true
		p.Benchmarks[0].Cells[i].Workload.Load.Requests = 12
	}
	s := newSession(t, p)
	spawner := spawn.New(spawn.Options{Environ: os.Environ(), OnSpawn: engine.JournalSpawn(s.bus, spawn.Owner())})
	t.Cleanup(spawner.Close)
	launcher := process.New(spawner, process.Options{})
	s.o.Load, s.o.Ports = load.Run, new(process.Ports)
	s.o.Target = func(addr string, _ config.Outputs) (engine.TargetSpec, error) {
		t := single(engine.Member{
			Name: addr, Role: result.RoleServer,
			Spec: steps.ServerSpec{
				Addr: addr, Engine: "vllm", Executable: []string{"vllm"}, Model: "m", StopGrace: 10 * time.Second,
				Ready: steps.Readiness{Timeout: time.Minute, Interval: 20 * time.Millisecond},
			},
			Engine: vllm.New(), Launcher: launcher,
		})
		render := t.Render
		t.Render = func(launch string, ports map[kv.Port]int) (map[string]engine.Process, error) {
			out, err := render(launch, ports)
			if err != nil {
				return nil, err
			}
			settings, err := json.Marshal(simulate.Settings{TimeScale: timeScale, Fail: fail[addr]})
			p := out[addr]
			p.Argv = append([]string{os.Args[0]}, p.Argv...)
			p.Env = append(p.Env, steps.EnvVar{Name: simulate.SettingsEnv, Value: string(settings)})
			out[addr] = p
			return out, err
		}
		return t, nil
	}
	return s
}

func TestRealProcesses(t *testing.T) {
	for _, tc := range []struct {
		name       string
		fail       map[string][]string
		base, head string
		status     result.Status
		class      string
	}{
		{name: "all good", base: "1 ok, 2 ok", head: "1 ok, 2 ok", status: "complete"},
		{
			name: "head dies in the run", fail: map[string][]string{head: {"crash_after=6"}},
			base: "1 ok, 2 ok", head: "1 failed, 2 failed", status: "complete", class: "*",
		},
		{
			name: "head runs out of memory", fail: map[string][]string{head: {"oom"}},
			base: "1 ok, 2 ok", head: "1 failed, 2 failed", status: "complete", class: "*",
		},
		{
			name: "both exit at once", fail: map[string][]string{head: {"exit_at_start"}, base: {"exit_at_start"}},
			base: "1 failed, 2 failed", head: "1 failed, 2 failed", status: "failed", class: "*",
		},
		{
			name: "head answers garbage", fail: map[string][]string{head: {"garbage"}},
			base: "1 ok, 2 ok", head: "1 failed, 2 failed", status: "complete",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := makePlan(t, []string{base, head}, []float64{8}, 2)
			s := realSession(t, p, tc.fail)
			if tc.name == "head answers garbage" {
				s.o.Target = impatient(s.o.Target)
			}
			s.bus.Start("test", "run-1", "")
			out, err := engine.Run(t.Context(), s.o, s.look)
			if err != nil {
				t.Fatal(err)
			}
			if out.Status != tc.status {
				t.Errorf("%s (%s), want %s", out.Status, out.Reason, tc.status)
			}
			if got := strings.Join(statuses(p, out, base), ", "); got != tc.base {
				t.Errorf("base: %s, want %s", got, tc.base)
			}
			if got := strings.Join(statuses(p, out, head), ", "); got != tc.head {
				t.Errorf("head: %s, want %s", got, tc.head)
			}
			if living := s.living(); len(living) > 0 {
				t.Errorf("processes %v are left", living)
			}
			for _, e := range s.events.of(event.LaunchFail) {
				if tc.class != "" && (e.Failure.Class == "unknown" || e.Failure.Exit == "" || len(e.Failure.LogTail) == 0) {
					t.Errorf("failure %+v", e.Failure)
				}
			}
			if t.Failed() {
				for _, e := range s.events.events {
					t.Log(e.Type, e.Text)
				}
			}
		})
	}
}

// impatient gives servers 2 s to become ready, for those that never do.
func impatient(resolve func(string, config.Outputs) (engine.TargetSpec, error)) func(string, config.Outputs) (engine.TargetSpec, error) {
	return func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
		spec, err := resolve(addr, outputs)
		if addr == head {
			spec.Members[0].Spec.Ready.Timeout = 2 * time.Second
		}
		return spec, err
	}
}

func TestRealInterrupt(t *testing.T) {
	t.Parallel()
	p := makePlan(t, []string{base, head}, []float64{1}, 2)
	s := realSession(t, p, map[string][]string{base: {"ignore_sigterm"}, head: {"ignore_sigterm"}})
	ctx, cancel := context.WithCancelCause(t.Context())
	var at time.Time
	s.bus.Attach(handlerFunc(func(e event.Event) {
		if e.Type == event.RunProgress && e.Progress.Sent > 0 && at.IsZero() {
			at = time.Now()
			cancel(errors.New("interrupt"))
		}
	}))
	s.bus.Start("test", "run-1", "")
	out, err := engine.Run(ctx, s.o, s.look)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(at); at.IsZero() || took > 9*time.Second { // their own grace is 10 s
		t.Errorf("the end took %v", took)
	}
	if out.Status != result.StatusInterrupted || !slices.Equal(statuses(p, out, base), []string{"1 cancelled"}) {
		t.Errorf("%s (%s), base %v", out.Status, out.Reason, statuses(p, out, base))
	}
	if living := s.living(); len(living) > 0 {
		t.Errorf("processes %v are left", living)
	}
}

// living are the process groups that were started and have not ended.
func (s *session) living() []int {
	var out []int
	for _, e := range s.events.of(event.ProcessStart) {
		if syscall.Kill(-e.Process.PID, 0) == nil {
			out = append(out, e.Process.PID)
		}
	}
	return out
}

type handlerFunc func(event.Event)

func (f handlerFunc) Handle(e event.Event) { f(e) }
