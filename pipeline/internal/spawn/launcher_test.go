//go:build unix

package spawn_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// log says when a server begins to write.
type log struct {
	begun chan struct{}
	once  sync.Once
}

func (l *log) Write(p []byte) (int, error) {
	l.once.Do(func() { close(l.begun) })
	return len(p), nil
}

// The launcher on real processes: one that ends when asked, one that must be killed with
// a worker that ignores the request as well, and one that ends by itself.
func TestLauncherOnRealProcesses(t *testing.T) {
	const long = 30 * time.Second
	s := spawn.New(spawn.Options{Environ: os.Environ(), Linger: 50 * time.Millisecond})
	defer s.Close()
	l := process.New(s, process.Options{})
	for name, tt := range map[string]struct {
		script string
		stop   bool
		grace  time.Duration
		want   string
	}{
		"asked": {"trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done", true, long, "exit status 0"},
		"killed": {"trap '' TERM; (trap '' TERM; while :; do sleep 0.01; done) & echo up; while :; do sleep 0.01; done", true,
			300 * time.Millisecond, "signal: killed"},
		"ended": {"echo up; exit 7", false, long, "exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			port, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			out := &log{begun: make(chan struct{})}
			server, err := l.Start(context.Background(), steps.Process{
				Name: name, Argv: []string{"sh", "-c", tt.script}, Host: "127.0.0.1", Port: port, StopGrace: tt.grace,
			}, out)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-out.begun:
			// real time: a limit on what real processes take
			case <-time.After(long):
				t.Fatal("the server wrote nothing")
			}
			if tt.stop {
				if err := server.Stop(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-server.Done():
			// real time: a limit on what real processes take
			case <-time.After(long):
				t.Fatal("the server did not end")
			}
			if got := server.ExitState(); got != tt.want {
				t.Errorf("ended with %s, want %s", got, tt.want)
			}
		})
	}
}
