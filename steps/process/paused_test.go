package process_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// icySpawner starts children that are held up as the test says.
type icySpawner struct {
	fakeSpawner
	held atomic.Value // string
}

func (s *icySpawner) Spawn(ctx context.Context, c steps.Command) (steps.Child, error) {
	child, err := s.fakeSpawner.Spawn(ctx, c)
	return icyChild{child, s}, err
}

type icyChild struct {
	steps.Child
	by *icySpawner
}

func (c icyChild) Capabilities() steps.ChildCapabilities {
	look := func() string { return c.by.held.Load().(string) }
	return steps.ChildCapabilities{Frozen: func() func() string { return look }}
}

// A pause that is over when somebody asks is seen, once.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp := &icySpawner{}
		sp.held.Store("")
		ctx := t.Context()
		l := process.New(sp, process.Options{})
		server, err := l.Start(ctx, processOf(t, l), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Stop(ctx)
		watch, cancel := context.WithCancel(ctx)
		defer cancel()
		paused := server.Capabilities().WatchPauses(watch)
		ask := func(want string) {
			t.Helper()
			if got, err := paused(ctx); got != want || err != nil {
				t.Errorf("paused: %q, %v, want %q", got, err, want)
			}
		}
		hold := func(why string) {
			t.Helper()
			sp.held.Store(why)
			if err := steps.Sleep(ctx, 250*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		ask("")
		hold("stopped")
		hold("frozen")
		hold("")
		ask("stopped")
		ask("")
		sp.held.Store("stopped") // a moment ago
		ask("stopped")
	})
}

// A system that does not say which processes are stopped is no reason to fail.
func TestPausesUnseen(t *testing.T) {
	l := process.New(&fakeSpawner{}, process.Options{})
	server, err := l.Start(t.Context(), processOf(t, l), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop(t.Context())
	if got, err := server.Capabilities().WatchPauses(t.Context())(t.Context()); got != "" || err != nil {
		t.Errorf("paused: %q, %v", got, err)
	}
}
