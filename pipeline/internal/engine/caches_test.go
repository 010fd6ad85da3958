package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
)

// keeping gives each target a cache of its own, which grows by a file with each of its launches.
func keeping(s *session) map[string]int {
	files := map[string]int{}
	resolve := s.o.Target
	s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
		spec, err := resolve(addr, outputs)
		spec.Caches = []engine.Cache{{Name: "cache of " + addr, At: "CACHE", State: func() (result.CacheState, error) {
			n := files[addr]
			return result.CacheState{Files: n, Bytes: 10 * n, Digest: fmt.Sprint(n)}, nil
		}}, {Name: "unused", At: "UNUSED", State: func() (result.CacheState, error) { return result.CacheState{}, nil }}}
		return spec, err
	}
	s.w.behave = func(target string, _ int) behaviour {
		files[target]++
		return behaviour{}
	}
	return files
}

// startups are the launches by repeat and side: whether they filled their caches, and whether their runs
// have a start-up time.
func startups(out *engine.Outcome) string {
	var parts []string
	for _, l := range out.Launched {
		side := map[string]string{base: "base", head: "head"}[l.Target]
		a := l.Attempts[len(l.Attempts)-1]
		_, counts := l.Runs[0].Run.Metrics["startup.time"]
		before := "unknown"
		if c := a.Caches[0]; c.Before != nil {
			before = fmt.Sprintf("%d to %d", c.Before.Files, c.After.Files)
		}
		parts = append(parts, fmt.Sprintf("%d %s %s filling=%t counts=%t", l.Repeat, side, before, a.Filling, counts))
	}
	return strings.Join(parts, "\n")
}

// ordered sorts the lines of a repeat: which side begins is the seed's.
func ordered(text string) string {
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		if lines[i] > lines[i+1] {
			lines[i], lines[i+1] = lines[i+1], lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// The first launch of each side fills its cache, whatever an earlier version left there, and a later one
// that finds it empty does: those start-up times do not count, and all else that they measure does.
func TestTheFirstLaunchFillsCaches(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 3)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		files := keeping(s)
		files[head] = 5 // of an older version
		grow := s.w.behave
		s.w.behave = func(target string, launch int) behaviour {
			b := grow(target, launch)
			if target == base && launch == 2 {
				files[target] = 0 // somebody empties it meanwhile
			}
			return b
		}
		out := s.run(t, t.Context())
		want := `1 base 0 to 1 filling=true counts=false
1 head 5 to 6 filling=true counts=false
2 base 1 to 0 filling=false counts=true
2 head 6 to 7 filling=false counts=true
3 base 0 to 1 filling=true counts=false
3 head 7 to 8 filling=false counts=true`
		if got := ordered(startups(out)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		for _, l := range out.Launched {
			if _, ok := l.Runs[0].Run.Metrics["ttft.p50"]; !ok {
				t.Errorf("repeat %d of %s has no TTFT", l.Repeat, l.Target)
			}
		}
		checkDocument(t, p, out)
	})
}

// Each machine has caches of its own.
func TestMachinesFillCachesOfTheirOwn(t *testing.T) {
	p := inLanes(t, 4, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		resolve := s.o.Target
		s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
			spec, err := resolve(addr, outputs)
			spec.Caches = []engine.Cache{{Name: "volume c", At: "/c"}}
			return spec, err
		}
		s.onNodes()
		out := s.run(t, t.Context())
		for _, l := range out.Launched {
			if got := l.Attempts[0].Filling; got != (l.Repeat <= 2) {
				t.Errorf("repeat %d of %s on %s: filling %t", l.Repeat, l.Target, l.Runs[0].Run.Nodes, got)
			}
		}
	})
}

// A run that goes on knows which caches were filled before.
func TestAResumedRunHasFilledItsCaches(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		keeping(s)[base] = 1
		s.o.Resume = &engine.Outcome{Plan: p}
		for _, l := range p.Repeats[0].Launches {
			if l.Target == base {
				s.o.Resume.Launched = []engine.Launched{{
					ID: l.ID, Repeat: 1, Target: base,
					Attempts: []result.Launch{{ID: l.ID, Repeat: 1, Target: base, Startup: 5, Filling: true, Caches: []result.Cache{{Name: "c"}}}},
					Runs:     []engine.CellRun{{l.Runs[0].Cell, result.Run{Repeat: 1, Launch: l.ID, Status: result.RunOK}}},
				}}
			}
		}
		out := s.run(t, t.Context())
		for _, l := range out.Launched {
			if want := l.Repeat == 1; l.Attempts[0].Filling != want {
				t.Errorf("repeat %d of %s: filling %t", l.Repeat, l.Target, l.Attempts[0].Filling)
			}
		}
	})
}

// A start that failed has filled nothing, and a cache that cannot be looked into is said once.
func TestAFailedStartFillsNoCache(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 3)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		keeping(s)
		resolve := s.o.Target
		s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
			spec, err := resolve(addr, outputs)
			spec.Caches[0].State = func() (result.CacheState, error) { return result.CacheState{}, errors.New("permission denied") }
			return spec, err
		}
		s.w.behave = func(target string, launch int) behaviour {
			return behaviour{refuse: map[bool]error{true: errors.New("no")}[target == head && launch == 1]}
		}
		out := s.run(t, t.Context())
		for _, l := range out.Launched {
			a := l.Attempts[0]
			if want := l.Repeat == 1 || l.Target == head && l.Repeat == 2; a.Filling != want || a.Caches[0].Before != nil {
				t.Errorf("repeat %d of %s: %+v", l.Repeat, l.Target, a)
			}
		}
		if n := strings.Count(strings.Join(out.Warnings, "\n"), "the state of its cache is not known: permission denied"); n != 2 {
			t.Errorf("warnings %q", out.Warnings)
		}
	})
}

// A folder that cannot be made is the machine's fault, and nothing is started.
func TestACacheThatCannotBeMade(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		resolve := s.o.Target
		s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
			spec, err := resolve(addr, outputs)
			spec.Caches = []engine.Cache{{Name: "c", Make: func() error { return errors.New("read-only file system") }}}
			return spec, err
		}
		out := s.run(t, t.Context())
		if out.Status != result.StatusFailed || out.Reason != "the folder of a cache cannot be made: read-only file system" ||
			len(s.w.launched) > 0 {
			t.Errorf("%s (%s), launched %v", out.Status, out.Reason, s.w.launched)
		}
	})
}
