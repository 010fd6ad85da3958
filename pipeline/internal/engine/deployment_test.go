package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/load"
)

// group is a deployment of fakes: a service, a prefill and a decode server, a router.
type group struct {
	s *session

	mu       sync.Mutex
	started  []string // "NAME at SECONDS"
	stopped  []string
	ports    []map[kv.Port]int
	canaries []int
	refuse   int // how many canaries fail
	began    time.Time
}

// watchedLauncher notes when its members start and stop.
type watchedLauncher struct {
	steps.Launcher
	g    *group
	name string
}

func (l watchedLauncher) Start(ctx context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	l.g.mu.Lock()
	l.g.started = append(l.g.started, fmt.Sprintf("%s at %.0f", l.name, time.Since(l.g.began).Seconds()))
	l.g.mu.Unlock()
	s, err := l.Launcher.Start(ctx, p, log)
	if err != nil {
		return nil, err
	}
	return watchedServer{s, l}, nil
}

type watchedServer struct {
	steps.Server
	l watchedLauncher
}

func (s watchedServer) Stop(ctx context.Context) error {
	s.l.g.mu.Lock()
	s.l.g.stopped = append(s.l.g.stopped, s.l.name)
	s.l.g.mu.Unlock()
	return s.Server.Stop(ctx)
}

// groupSession is a session of one benchmark on a deployment, with what each member does.
func groupSession(t *testing.T, members map[string]behaviour) *group {
	t.Helper()
	p := makePlan(t, []string{"deployment.pd"}, []float64{2}, 1)
	g := &group{s: newSession(t, p), began: time.Now()}
	g.s.w.behave = func(name string, _ int) behaviour { return members[name] }
	g.s.o.Target = func(string, config.Outputs) (engine.TargetSpec, error) { return g.target(), nil }
	send := g.s.o.Load
	g.s.o.Load = func(ctx context.Context, o load.Options) (load.Result, error) {
		o.Begin(ctx)
		return send(ctx, o)
	}
	return g
}

func (g *group) target() engine.TargetSpec {
	t := engine.TargetSpec{
		Order: [][]string{{"etcd"}, {"prefill", "decode"}, {"router"}}, Front: "router",
		Ports:    []kv.PortNeed{{Port: kv.Port{Process: "router", Purpose: "http"}, Count: 1, Fixed: 8000}},
		Canaries: 2, Transfer: &kv.Evidence{Transfer: steps.TransferSpec{Connector: "nixl", Transport: kv.TCP}, Engine: "vllm"},
	}
	for i, m := range []struct{ name, role string }{
		{"etcd", result.RoleService}, {"prefill", steps.RoleProducer}, {"decode", steps.RoleConsumer}, {"router", result.RoleRouter},
	} {
		t.Members = append(t.Members, engine.Member{
			Name: m.name, Role: m.role, Range: result.Range{File: "pd.hcl", Line: 10 * (i + 1)},
			Spec:   steps.ServerSpec{Addr: m.name, Model: "m", Ready: steps.Readiness{Timeout: 2 * time.Minute, Interval: time.Second}},
			Engine: fakeEngine{g.s.w}, Launcher: watchedLauncher{fakeLauncher{g.s.w, m.name}, g, m.name},
		})
		if m.name != "router" {
			t.Ports = append(t.Ports, kv.PortNeed{Port: kv.Port{Process: m.name, Purpose: "http"}, Count: 1, Spacing: 300})
		}
	}
	t.Render = func(_ string, ports map[kv.Port]int) (map[string]engine.Process, error) {
		g.ports = append(g.ports, ports)
		out := map[string]engine.Process{}
		for _, m := range t.Members {
			out[m.Name] = engine.Process{Process: steps.Process{Name: m.Name, Argv: []string{m.Name}, Host: "127.0.0.1",
				Port: ports[kv.Port{Process: m.Name, Purpose: "http"}]}}
		}
		return out, nil
	}
	t.Canary = func(_ context.Context, front steps.Endpoint, n int) error {
		g.canaries = append(g.canaries, n)
		if !strings.HasPrefix(front.BaseURL, "http://router:") {
			return fmt.Errorf("sent to %s", front.BaseURL)
		}
		if len(g.canaries) <= g.refuse {
			return errors.New("502 from prefill")
		}
		return nil
	}
	return t
}

// Members of a wave report when each is ready, or in turn in the order of the wave.
func TestOrderOfReadyMembers(t *testing.T) {
	for _, tc := range []struct {
		inTurn bool
		want   string
	}{
		{false, "etcd, decode, prefill, router"},
		{true, "etcd, prefill, decode, router"},
	} {
		t.Run(fmt.Sprintf("in turn %t", tc.inTurn), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := groupSession(t, map[string]behaviour{"prefill": {startup: 30 * time.Second}, "decode": {startup: 10 * time.Second}})
				g.s.o.InTurn = tc.inTurn
				g.s.run(t, t.Context())
				var order []string
				for _, e := range g.s.events.of(event.LaunchState) {
					if name, ok := strings.CutSuffix(e.State, " "+steps.StateReady); ok {
						order = append(order, name)
					}
				}
				if got := strings.Join(order, ", "); got != tc.want {
					t.Errorf("ready in the order %s, want %s", got, tc.want)
				}
			})
		})
	}
}

func TestDeploymentIsStartedInWaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := groupSession(t, map[string]behaviour{
			"etcd": {startup: 2 * time.Second}, "prefill": {startup: 30 * time.Second},
			"decode": {startup: 10 * time.Second}, "router": {startup: time.Second},
		})
		g.began = time.Now()
		g.refuse = 1 // a first request that fails is tried again
		out := g.s.run(t, t.Context())
		want := []string{"etcd at 0", "prefill at 2", "decode at 2", "router at 32"}
		if diff := cmp.Diff(want, g.started); diff != "" {
			t.Errorf("starts:\n%s", diff)
		}
		if got := strings.Join(g.stopped, " "); got != "router decode prefill etcd" {
			t.Errorf("stopped in the order %s", got)
		}
		if fmt.Sprint(g.canaries) != "[0 0 1]" {
			t.Errorf("canaries %v", g.canaries)
		}
		if g.ports[0][kv.Port{Process: "router", Purpose: "http"}] != 8000 ||
			g.ports[0][kv.Port{Process: "decode", Purpose: "http"}] == g.ports[0][kv.Port{Process: "prefill", Purpose: "http"}] {
			t.Errorf("ports %v", g.ports)
		}
		checkMembers(t, out.Launched[0].Attempts[0])
		run := out.Launched[0].Runs[0].Run
		if run.Status != result.RunOK || run.Transport == nil || run.Transport.Status != result.TransportUnproven ||
			run.Transport.Intent != kv.TCP {
			t.Errorf("a run of servers that tell nothing: %s, %+v", run.Status, run.Transport)
		}
		state, err := engine.Replay(g.s.dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(out.Launched[0].Attempts, state.Launched[0].Attempts); diff != "" {
			t.Errorf("the journal tells another launch:\n%s", diff)
		}
	})
}

func checkMembers(t *testing.T, launch result.Launch) {
	t.Helper()
	var names []string
	for _, m := range launch.Members {
		names = append(names, fmt.Sprintf("%s %s %.0f", m.Name, m.Role, m.Startup))
		if len(m.States) == 0 || m.States[len(m.States)-1].Name != steps.StateReady && m.Name != "router" || m.Log == "" ||
			m.Describe["version"] != "1" {
			t.Errorf("%+v", m)
		}
	}
	want := []string{"etcd service 2", "prefill producer 30", "decode consumer 10", "router router 1"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("members:\n%s", diff)
	}
	if launch.Startup < 33 || launch.Startup > 35 || launch.Log != launch.Members[3].Log {
		t.Errorf("launch of %v s with log %s", launch.Startup, launch.Log)
	}
}

func TestMemberFailures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		members map[string]behaviour
		refuse  int
		class   string
		text    string // that the evidence begins with
		line    int
		exit    string
		within  time.Duration // of the first failure
	}{
		{
			name: "decode dies while prefill loads",
			members: map[string]behaviour{"prefill": {startup: 100 * time.Second}, "decode": {exitAfter: 3 * time.Second,
				log: "CUDA out of memory"}},
			class: "oom", text: "decode: CUDA out of memory", line: 30, exit: "exit status 1", within: 10 * time.Second,
		},
		{
			name:    "a service dies while servers load",
			members: map[string]behaviour{"etcd": {startup: time.Second, exitAfter: 8 * time.Second}, "prefill": {startup: 100 * time.Second}},
			class:   "exited", text: "etcd: the process has ended", line: 10, exit: "exit status 1", within: 10 * time.Second,
		},
		{
			name:    "a server that waits for its peer knows less than the peer",
			members: map[string]behaviour{"prefill": {never: true}, "decode": {log: "CUDA out of memory"}},
			class:   "oom", text: "decode: CUDA out of memory", line: 30, within: 3 * time.Minute,
		},
		{
			name:    "prefill is never ready",
			members: map[string]behaviour{"prefill": {never: true}},
			class:   "not_ready", text: "prefill: not ready in time", line: 20, within: 3 * time.Minute,
		},
		{
			name:    "the router cannot be started",
			members: map[string]behaviour{"router": {refuse: errors.New("no such program")}},
			class:   "start_failed", text: "router: no such program", line: 40, within: time.Minute,
		},
		{
			name: "no request comes through", refuse: 100,
			class: "canary_failed", text: "router: a request through the router failed (1 of 2): 502 from prefill", line: 40, within: time.Minute,
		},
		{
			name:    "decode dies in a run",
			members: map[string]behaviour{"decode": {exitAfter: 13 * time.Second, startup: 5 * time.Second}, "router": {startup: 5 * time.Second}},
			class:   "exited", text: "decode: the process has ended", line: 30, exit: "exit status 1", within: time.Minute,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := groupSession(t, tt.members)
				g.refuse = tt.refuse
				began := time.Now()
				out := g.s.run(t, t.Context())
				failed := g.s.events.of(event.LaunchFail)
				if len(failed) == 0 {
					t.Fatalf("%s (%s): no launch failed", out.Status, out.Reason)
				}
				f := out.Launched[0].Attempts[0].Failure
				if f.Class != tt.class || !strings.HasPrefix(f.Evidence, tt.text) || f.Range.Line != tt.line || f.Exit != tt.exit {
					t.Errorf("%s at line %d: %q, exit %q", f.Class, f.Range.Line, f.Evidence, f.Exit)
				}
				first := slices.IndexFunc(g.s.events.events, func(e event.Event) bool { return e.Type == event.LaunchFail })
				if took := g.s.events.events[first].Time.Sub(began); took > tt.within {
					t.Errorf("seen after %s", took)
				}
				for _, r := range out.Launched[0].Runs {
					if r.Run.Transport != nil {
						t.Errorf("a failed run has a transport: %+v", r.Run.Transport)
					}
				}
			})
		})
	}
}

// An interrupted deployment is gone within the seconds that are left, however deaf its
// members are: they are stopped at the same time.
func TestInterruptedDeploymentEndsInTime(t *testing.T) {
	deaf := behaviour{ignores: true, startup: time.Second}
	synctest.Test(t, func(t *testing.T) {
		g := groupSession(t, map[string]behaviour{"etcd": deaf, "prefill": deaf, "decode": deaf, "router": deaf})
		ctx, cancel := context.WithCancelCause(t.Context())
		var told time.Time
		g.s.w.onRun = func(int) { told = time.Now(); cancel(errors.New("SIGTERM")) }
		out := g.s.run(t, ctx)
		if out.Status != result.StatusInterrupted || len(g.stopped) != 4 {
			t.Errorf("%s, stopped %v", out.Status, g.stopped)
		}
		if took := time.Since(told); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
