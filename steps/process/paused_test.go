package process

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/steps"
)

// icyChild is a child that is held up as the test says.
type icyChild struct {
	*fakeChild
	held atomic.Value // string
}

func (c *icyChild) Capabilities() steps.ChildCapabilities {
	look := func() string { return c.held.Load().(string) }
	return steps.ChildCapabilities{Frozen: func() func() string { return look }}
}

// A pause that is over when somebody asks is seen, once.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child := &icyChild{fakeChild: &fakeChild{done: make(chan struct{})}}
		child.held.Store("")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		paused := (&server{child: child}).watchPauses(ctx)
		ask := func(want string) {
			t.Helper()
			if got, err := paused(ctx); got != want || err != nil {
				t.Errorf("paused: %q, %v, want %q", got, err, want)
			}
		}
		hold := func(why string) {
			t.Helper()
			child.held.Store(why)
			if err := steps.Sleep(ctx, pauseLook); err != nil {
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
		child.held.Store("stopped") // a moment ago
		ask("stopped")
	})
}

// A system that does not say which processes are stopped is no reason to fail.
func TestPausesUnseen(t *testing.T) {
	paused := (&server{child: &fakeChild{}}).watchPauses(t.Context())
	if got, err := paused(t.Context()); got != "" || err != nil {
		t.Errorf("paused: %q, %v", got, err)
	}
}
