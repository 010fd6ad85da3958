package machine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

const (
	gib = 1 << 30
	mib = 1 << 20
)

// bench is a machine of two GPUs whose state a test changes over time.
type bench struct {
	change  func(s *probe.Snapshot)
	looks   int
	warned  []string
	started time.Time
}

// gpus returns what looks after the GPUs of a target with some requests. Processes below
// 100 are ours, those below 200 foreign, of others it is not known.
func (b *bench) gpus(requests ...doctor.Request) *gpus {
	b.started = time.Now()
	return &gpus{
		requests: map[string][]doctor.Request{"server.a": requests},
		warn:     func(text string) { b.warned = append(b.warned, text) },
		look: func(context.Context) probe.Snapshot {
			b.looks++
			s := probe.Snapshot{At: time.Now(), GPUs: []probe.GPU{
				{Index: 0, UUID: "GPU-a", MemoryUsed: 5 * mib, SMClock: 1980, Power: 650, Temperature: 60, Utilization: 99, SlowdownKnown: true},
				{Index: 1, UUID: "GPU-b", MemoryUsed: 5 * mib, SMClock: probe.Unknown, SlowdownKnown: true},
			}}
			b.change(&s)
			return s
		},
		owner: func(context.Context) func(int) probe.Owner {
			return func(pid int) probe.Owner {
				switch {
				case pid < 100:
					return probe.OwnerUs
				case pid < 200:
					return probe.OwnerForeign
				}
				return probe.OwnerUnknown
			}
		},
	}
}

// since is the time that has passed for the machine.
func (b *bench) since() time.Duration { return time.Since(b.started) }

func hold(s *probe.Snapshot, gpu, pid int, memory int64) {
	s.GPUs[gpu].MemoryUsed += memory
	s.Processes = append(s.Processes, probe.Process{GPU: s.GPUs[gpu].UUID, PID: pid, Name: "python3", Memory: memory})
}

func TestAfterWaitsUntilMemoryIsBack(t *testing.T) {
	one := doctor.Request{IDs: []string{"0"}}
	tests := map[string]struct {
		request doctor.Request
		change  func(b *bench, s *probe.Snapshot)
		waits   time.Duration
		fails   string
	}{
		"free at once": {one, func(*bench, *probe.Snapshot) {}, 0, ""},
		"a little is left": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				s.GPUs[0].MemoryUsed += 200 * mib
			}
		}, 0, ""},
		"back after a while": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 && b.since() < 10*time.Second {
				hold(s, 0, 7, 20*gib)
			}
		}, 10 * time.Second, ""},
		"never back": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 7, 20*gib)
			}
		}, FreeWait, "GPU 0 (GPU-a) still has 20.0 GiB in use (5 MiB before the launch), held by process 7 (python3) with 20.0 GiB, after " +
			"server.a was stopped 1m0s ago"},
		"a process that cannot be told": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 300, 2*gib)
			}
		}, FreeWait, "process 300"},
		"memory without a process": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				s.GPUs[0].MemoryUsed += gib
			}
		}, FreeWait, "still has 1.0 GiB in use (5 MiB before the launch) after"},
		"somebody else has come": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 150, 20*gib)
			}
		}, 0, ""},
		"somebody was there before": {one, func(_ *bench, s *probe.Snapshot) { hold(s, 0, 150, 20*gib) }, 0, ""},
		"on a GPU that is not ours": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 1, 300, 20*gib)
			}
		}, 0, ""},
		"a lost GPU": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				s.GPUs = s.GPUs[1:]
			}
		}, FreeWait, "GPU 0 (GPU-a) is not there any longer"},
		"a lost driver": {one, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				*s = probe.Snapshot{Err: errors.New("exit status 9")}
			}
		}, FreeWait, "do not answer any longer (exit status 9)"},
		"nothing was asked for": {doctor.Request{Count: steps.AllGPUs, Maybe: true}, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 300, 20*gib)
			}
		}, 0, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bench{}
				b.change = func(s *probe.Snapshot) { tt.change(b, s) }
				g := b.gpus(tt.request)
				g.Before(t.Context(), "server.a")
				err := g.After(t.Context(), "server.a")
				if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				if b.since() < tt.waits || b.since() > tt.waits+2*FreeEvery {
					t.Errorf("waited %s, want %s", b.since(), tt.waits)
				}
			})
		})
	}
}

// An interrupted run has no time to wait for a driver.
func TestAfterEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{}
		b.change = func(s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 7, 20*gib)
			}
		}
		g := b.gpus(doctor.Request{IDs: []string{"0"}})
		g.Before(t.Context(), "server.a")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := g.After(ctx, "server.a"); err != nil || b.since() > 3*time.Second {
			t.Errorf("%v after %s", err, b.since())
		}
	})
}

func TestWatch(t *testing.T) {
	count := doctor.Request{Count: 1}
	tests := map[string]struct {
		request doctor.Request
		change  func(b *bench, s *probe.Snapshot)
		void    string
		gpu     string // whose series there are
	}{
		"quiet": {count, func(_ *bench, s *probe.Snapshot) { hold(s, 0, 7, 60*gib) }, "", "gpu0"},
		"throttled": {count, func(b *bench, s *probe.Snapshot) {
			if b.since() > 30*time.Second {
				s.GPUs[0].Slowdown = probe.HardwareThermal
			}
		}, "was throttled in 6 of 13 looks", "gpu0"},
		"power cap": {count, func(_ *bench, s *probe.Snapshot) { s.GPUs[0].Slowdown = probe.PowerCap }, "", "gpu0"},
		"foreign": {count, func(b *bench, s *probe.Snapshot) {
			if b.since() > 20*time.Second {
				hold(s, 0, 150, gib)
			}
		}, "process 150 (python3) with 1.0 GiB used GPU 0", "gpu0"},
		"foreign, elsewhere": {count, func(_ *bench, s *probe.Snapshot) { hold(s, 1, 150, gib) }, "", "gpu0"},
		"foreign, where we really are": {count, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 1, 8, gib)
				hold(s, 1, 150, gib)
			}
		}, "process 150 (python3) with 1.0 GiB used GPU 1", ""},
		"nothing asked for, nothing used": {doctor.Request{Count: steps.AllGPUs, Maybe: true}, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 150, gib)
			}
		}, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bench{}
				b.change = func(s *probe.Snapshot) { tt.change(b, s) }
				g := b.gpus(tt.request)
				g.Before(t.Context(), "server.a")
				void, got := watchFor(t, g, time.Minute-time.Second/2, 50*time.Second)
				if !strings.Contains(void, tt.void) || (void == "") != (tt.void == "") {
					t.Errorf("void %q, want %q", void, tt.void)
				}
				if tt.gpu == "" {
					return
				}
				if len(got.Series) == 0 || got.Series[0].Name != tt.gpu+"_sm_clock_mhz" || got.Series[0].Source != "machine" {
					t.Fatalf("series %+v", got.Series)
				}
				first := got.Series[0]
				if len(first.T) != len(first.V) || len(first.T) != 13 || first.T[0] != -9.5 || first.V[0] != 1980 {
					t.Errorf("points %v, %v", first.T, first.V)
				}
			})
		})
	}
}

// watchFor watches server.a for some time, in which a run lasted, and returns why the run is void and what it was told.
func watchFor(t *testing.T, g engine.Machine, watched, lasted time.Duration) (void string, run result.Run) {
	t.Helper()
	w := g.Watch(t.Context(), "server.a")
	time.Sleep(watched)
	w.After(t.Context(), lasted)
	_, void = w.Void()
	w.Tell(&run)
	return void, run
}

// A driver that cannot be asked during a run is said, and voids nothing.
func TestWatchWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{}
		b.change = func(s *probe.Snapshot) {
			if b.looks > 1 {
				*s = probe.Snapshot{Err: errors.New("exit status 9")}
			}
		}
		g := b.gpus(doctor.Request{Count: 2})
		g.Before(t.Context(), "server.a")
		if void, got := watchFor(t, g, 7*time.Second, time.Second); void != "" || len(got.Series) != 0 {
			t.Errorf("void %q, %+v", void, got)
		}
		if diff := cmp.Diff([]string{"the GPUs could not be looked at in 3 of 3 looks during a run"}, b.warned); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLockNames(t *testing.T) {
	all := []probe.GPU{{Index: 0, UUID: "GPU-b"}, {Index: 1, UUID: "GPU-a"}, {Index: 2, UUID: "../x"}}
	needs := func(requests ...doctor.Request) doctor.Needs {
		return doctor.Needs{Targets: []doctor.Target{{Addr: "server.url"}, {Addr: "server.a", GPUs: requests}}}
	}
	tests := map[string]struct {
		needs doctor.Needs
		gpus  []probe.GPU
		want  []string
	}{
		"named, in one order":        {needs(doctor.Request{IDs: []string{"0", "1"}}), all, []string{"gpu-GPU-a.lock", "gpu-GPU-b.lock"}},
		"by the beginning of a UUID": {needs(doctor.Request{IDs: []string{"GPU-a"}}), all, []string{"gpu-GPU-a.lock"}},
		"a number locks all":         {needs(doctor.Request{Count: 1}), all, []string{"gpu-GPU-a.lock", "gpu-GPU-b.lock", "gpu-___x.lock"}},
		"nothing asked for":          {needs(doctor.Request{Count: steps.AllGPUs, Maybe: true}), all[:1], []string{"gpu-GPU-b.lock"}},
		"GPUs that cannot be seen":   {needs(doctor.Request{Count: 1}), nil, []string{"gpus.lock"}},
		"none at all":                {needs(), all, nil},
		"maybe, and there are none":  {needs(doctor.Request{Count: steps.AllGPUs, Maybe: true}), nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range lockNames(tt.needs, tt.gpus) {
				got = append(got, l.file)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a launch takes of its GPUs is what they hold beyond what was there before, less what
// others have taken meanwhile.
func TestMemoryOfALaunch(t *testing.T) {
	count := doctor.Request{Count: 1}
	tests := map[string]struct {
		request doctor.Request
		change  func(b *bench, s *probe.Snapshot)
		want    float64
		ok      bool
	}{
		"of its GPU": {count, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 7, 60*gib)
			}
		}, 60 * gib, true},
		"others were there before": {count, func(b *bench, s *probe.Snapshot) {
			hold(s, 0, 150, 8*gib)
			if b.looks > 1 {
				hold(s, 0, 7, 60*gib)
			}
		}, 60 * gib, true},
		"others came": {count, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 7, 60*gib)
				hold(s, 0, 150, 8*gib)
			}
		}, 60 * gib, true},
		"on two": {doctor.Request{Count: 2}, func(b *bench, s *probe.Snapshot) {
			if b.looks > 1 {
				hold(s, 0, 7, 60*gib)
				hold(s, 1, 8, 50*gib)
			}
		}, 110 * gib, true},
		"not told": {count, func(_ *bench, s *probe.Snapshot) { s.GPUs[0].MemoryUsed = probe.Unknown }, 0, false},
		"none":     {count, func(*bench, *probe.Snapshot) {}, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := &bench{}
			b.change = func(s *probe.Snapshot) { tt.change(b, s) }
			g := b.gpus(tt.request)
			g.Before(t.Context(), "server.a")
			if got, ok := g.Memory(t.Context(), "server.a"); ok != tt.ok || ok && got != tt.want {
				t.Errorf("%v, %v; want %v, %v", got, ok, tt.want, tt.ok)
			}
			if _, ok := g.Memory(t.Context(), "server.other"); ok {
				t.Error("a target without GPUs has memory of them")
			}
		})
	}
}
