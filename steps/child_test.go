package steps_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
)

// signalled is a child that only signals end.
type signalled struct {
	ends   string           // the signal that does
	fails  map[string]error // signals that cannot be sent
	got    []string
	done   chan struct{}
	status error
}

func (*signalled) PID() int                              { return 1 }
func (*signalled) Capabilities() steps.ChildCapabilities { return steps.ChildCapabilities{} }
func (c *signalled) Done() <-chan struct{}               { return c.done }
func (c *signalled) Wait() error                         { <-c.done; return c.status }

func (c *signalled) Signal(name string) error {
	c.got = append(c.got, name)
	if err := c.fails[name]; err != nil {
		return err
	}
	if name == c.ends {
		close(c.done)
	}
	return nil
}

func TestAwaitChild(t *testing.T) {
	refused, stopped := errors.New("not permitted"), errors.New("stopped")
	for name, tt := range map[string]struct {
		child *signalled
		grace time.Duration
		got   []string
		err   error // beside that of the context
	}{
		"listens":          {&signalled{ends: "TERM"}, time.Hour, []string{"TERM"}, nil},
		"does not listen":  {&signalled{ends: "KILL"}, time.Nanosecond, []string{"TERM", "KILL"}, nil},
		"cannot be asked":  {&signalled{ends: "KILL", fails: map[string]error{"TERM": refused}}, time.Hour, []string{"TERM", "KILL"}, nil},
		"cannot be killed": {&signalled{fails: map[string]error{"KILL": refused}}, time.Nanosecond, []string{"TERM", "KILL"}, refused},
		"cannot be reached": {&signalled{fails: map[string]error{"TERM": refused, "KILL": refused}}, time.Hour,
			[]string{"TERM", "KILL"}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(stopped)
			tt.child.done = make(chan struct{})
			err := steps.AwaitChild(ctx, tt.child, tt.grace)
			if !slices.Equal(tt.child.got, tt.got) {
				t.Errorf("signals %v, want %v", tt.child.got, tt.got)
			}
			if !errors.Is(err, stopped) || errors.Is(err, refused) != (tt.err != nil) {
				t.Errorf("error %v", err)
			}
			if tt.err == nil && !steps.Ended(tt.child.done) {
				t.Error("it has not ended")
			}
		})
	}
}

func TestAwaitChildThatEndsByItself(t *testing.T) {
	c := &signalled{done: make(chan struct{}), status: errors.New("exit status 1")}
	close(c.done)
	if err := steps.AwaitChild(t.Context(), c, 0); !errors.Is(err, c.status) || len(c.got) > 0 {
		t.Errorf("%v after %v", err, c.got)
	}
}
