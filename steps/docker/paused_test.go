package docker_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/docker/dockertest"
)

func TestPauses(t *testing.T) {
	f := dockertest.New(t)
	f.Events = make(chan chan string)
	l, err := docker.New(docker.Options{Host: f.Host, RunID: "r1", Poll: time.Millisecond, Lost: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Start(context.Background(), dockertest.Process(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	paused := s.(*docker.Server).WatchPauses(ctx)
	// until asks until the answer begins with a text; "" waits for an answer that is empty.
	until := func(want string) {
		t.Helper()
		// real time: a connection to the fake
		for limit := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			got, err := paused(ctx)
			if err != nil {
				got = err.Error()
			}
			if got == want || want != "" && strings.HasPrefix(got, want) {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("paused: %q, want %q", got, want)
			}
		}
	}
	event := func(action, signal string) string {
		return `{"Type":"container","Action":"` + action + `","Actor":{"ID":"c1","Attributes":{"name":"x","signal":"` + signal + `"}},"time":1}`
	}
	events := <-f.Events
	for _, of := range []string{"container%22%3A%5B%22c1%22", "pause", "kill"} {
		if len(f.Seen(of)) == 0 {
			t.Errorf("no request for events has %s: %q", of, f.Seen("/events"))
		}
	}
	if got, err := paused(ctx); got != "" || err != nil {
		t.Errorf("before: %q, %v", got, err)
	}
	events <- event("kill", "15")
	events <- event("pause", "")
	until("its container was paused")
	if got, _ := paused(ctx); got == "" {
		t.Error("it is still paused, and that is not said again")
	}
	events <- event("unpause", "")
	until("")
	events <- event("pause", "")
	events <- event("unpause", "")
	until("its container was paused")
	until("")
	events <- event("kill", "19")
	until("its container got SIGSTOP")
	close(events) // the daemon restarts
	until("reading the events of its container: ")
	events = <-f.Events
	events <- event("kill", "SIGSTOP")
	until("its container got SIGSTOP")
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
