package spawn

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/servegate/pipeline/steps"
	"golang.org/x/sys/unix"
)

// A child outlives the thread of the goroutine that asked for it: the parent death
// signal must not be tied to that thread.
func TestSurvivesTheCallersThread(t *testing.T) {
	s := newSpawner(t, Options{})
	type result struct {
		child steps.Child
		err   error
		tid   int
	}
	results := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		child, err := s.Spawn(context.Background(), steps.Command{Argv: []string{"sleep", "1000"}})
		results <- result{child, err, unix.Gettid()}
	}()
	r := <-results
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() {
		if err := r.child.Signal("KILL"); err != nil {
			t.Error(err)
		}
		await(t, r.child.Done())
	})
	if r.tid == os.Getpid() {
		t.Skip("the goroutine ran on the main thread, which does not end")
	}
	eventually(t, "the thread has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", r.tid))
		return err != nil
	})
	if err := r.child.Signal("TERM"); err != nil {
		t.Fatal(err)
	}
	if err := r.child.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the child ended with %v before it was asked to", err)
	}
}
