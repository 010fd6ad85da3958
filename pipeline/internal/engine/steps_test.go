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

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// fakeAction writes to its log and returns its outputs, or fails.
type fakeAction struct {
	outputs map[string]string
	err     error
	calls   *int
}

func (a fakeAction) Run(_ context.Context, env steps.ActionEnv, _ steps.Object) (map[string]string, error) {
	*a.calls++
	fmt.Fprintln(env.Log, "building with top-secret in", env.Dir)
	return a.outputs, a.err
}

// withStep gives a session one step with a cache key.
func withStep(t *testing.T, p *plan.Plan, s *session, a fakeAction, key string) *int {
	t.Helper()
	p.Steps = []plan.Step{{Addr: "step.exec.build", Kind: "exec", Range: result.Range{File: "a.hcl", Line: 3}}}
	calls := new(int)
	a.calls = calls
	s.o.Env = steps.ActionEnv{Dir: "/somewhere"}
	s.o.Step = func(addr string, _ config.Outputs) (engine.StepSpec, error) {
		if addr != "step.exec.build" {
			t.Errorf("asked for %s", addr)
		}
		return engine.StepSpec{Action: a, Object: steps.Object{Attrs: map[string]cty.Value{"cache": cty.StringVal(key)}}}, nil
	}
	return calls
}

func openCache(t *testing.T) *store.Cache {
	t.Helper()
	c, err := store.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStepOutputsReachTargets(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		calls := withStep(t, p, s, fakeAction{outputs: map[string]string{"digest": "sha256:1"}}, "")
		var seen []config.Outputs
		resolve := s.o.Target
		s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
			seen = append(seen, outputs)
			return resolve(addr, outputs)
		}
		out := s.run(t, t.Context())
		want := config.Outputs{"step.exec.build": {"digest": "sha256:1"}}
		if diff := cmp.Diff([]config.Outputs{want, want, want, want}, seen); diff != "" {
			t.Error(diff)
		}
		if *calls != 1 || len(out.Steps) != 1 || out.Steps[0].Status != "done" {
			t.Errorf("%d calls, %+v", *calls, out.Steps)
		}
		text, err := os.ReadFile(filepath.Join(s.dir.Path(), out.Steps[0].Log))
		if err != nil || !strings.HasPrefix(string(text), "building") {
			t.Errorf("log: %q, %v", text, err)
		}
	})
}

func TestStepCache(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	cache := openCache(t)
	for i, tc := range []struct {
		key    string
		status result.StepStatus
		calls  int
	}{{"v1", "done", 1}, {"v1", "cached", 0}, {"v2", "done", 1}, {"", "done", 1}, {"", "done", 1}} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, p)
			calls := withStep(t, p, s, fakeAction{outputs: map[string]string{"a": "1"}}, tc.key)
			s.o.Cache = cache
			var got config.Outputs
			resolve := s.o.Target
			s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
				got = outputs
				return resolve(addr, outputs)
			}
			out := s.run(t, t.Context())
			if *calls != tc.calls || out.Steps[0].Status != tc.status || got["step.exec.build"]["a"] != "1" {
				t.Errorf("run %d: %d calls, %+v, outputs %v", i, *calls, out.Steps, got)
			}
		})
	}
}

func TestAStepThatFails(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		withStep(t, p, s, fakeAction{err: errors.New("exit status 2")}, "v1")
		s.o.Cache = openCache(t)
		out := s.run(t, t.Context())
		if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "step.exec.build: exit status 2") || len(s.w.launched) != 0 {
			t.Errorf("%s (%s), launches %v", out.Status, out.Reason, s.w.launched)
		}
		f := out.Steps[0].Failure
		if f == nil || len(f.LogTail) != 1 || f.Range.Line != 3 || f.Phase != "step" {
			t.Errorf("%+v", f)
		}
		if _, ok := s.o.Cache.Load("step.exec.build", "v1"); ok {
			t.Error("a failed step is cached")
		}
	})
}

func TestStepsAreSkippedInSimulation(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	p.Simulated = "process"
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		calls := withStep(t, p, s, fakeAction{}, "")
		out := s.run(t, t.Context())
		if *calls != 0 || out.Steps[0].Status != "skipped" || out.Status != result.StatusComplete {
			t.Errorf("%d calls, %+v, %s", *calls, out.Steps, out.Reason)
		}
	})
}

func TestResumeKeepsStepOutputs(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	for _, tc := range []struct {
		output string
		calls  int
	}{
		{"sha256:1", 0},
		{event.Mask, 1}, // masked in the journal: it has to be made again
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, p)
			withStep(t, p, s, fakeAction{outputs: map[string]string{"digest": tc.output}}, "")
			s.run(t, t.Context())
			state, err := engine.Replay(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			state.Launched = nil
			again := sessionIn(t, p, s.dir, state.Seq)
			again.o.Resume = state
			calls := withStep(t, p, again, fakeAction{outputs: map[string]string{"digest": "sha256:2"}}, "")
			out := again.run(t, t.Context())
			if *calls != tc.calls || len(out.Steps) != 1 || out.Steps[0].Status != "done" {
				t.Errorf("output %q: %d calls, want %d; %+v", tc.output, *calls, tc.calls, out.Steps)
			}
		})
	}
}
