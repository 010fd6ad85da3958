package spawn

import (
	"context"
	"os"
	"testing"

	"github.com/servegate/pipeline/steps"
)

func TestOwnerOf(t *testing.T) {
	s := New(Options{Environ: os.Environ()})
	defer s.Close()
	ready := make(chan struct{})
	child, err := s.Spawn(context.Background(), steps.Command{Argv: []string{"sh", "-c", "echo up; sleep 100 & wait"},
		Stdout: &firstWrite{ready}})
	if err != nil {
		t.Fatal(err)
	}
	<-ready
	if got := OwnerOf(child.PID()); got != Ours {
		t.Errorf("our child: %v", got)
	}
	if ControlGroup(child.PID()) == "" {
		t.Error("our child is in no control group")
	}
	if err := child.Signal("KILL"); err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	for _, pid := range []int{0, -1, child.PID()} {
		if got := OwnerOf(pid); got != Unknown {
			t.Errorf("process %d, which is not there: %v", pid, got)
		}
	}
	// Of a process that we did not start nothing is certain but where all of the machine's
	// processes can be seen.
	want := Unknown
	if namespace, _ := os.Readlink("/proc/self/ns/pid"); namespace == hostNamespace {
		want = Others
	}
	if got := OwnerOf(os.Getppid()); got != want {
		t.Errorf("our parent: %v, want %v", got, want)
	}
}

// firstWrite signals the first write.
type firstWrite struct{ told chan struct{} }

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.told != nil {
		close(w.told)
		w.told = nil
	}
	return len(p), nil
}
