package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/steps"
)

// played is a spawner whose child copies its order into an answer and says something.
type played struct {
	signals chan string
	failed  error
}

type playedChild struct {
	*played
	done chan struct{}
}

func (p *played) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	child := playedChild{p, make(chan struct{})}
	go func() {
		defer close(child.done)
		folder := c.Argv[len(c.Argv)-1]
		<-p.signals
		order, err := os.ReadFile(filepath.Join(folder, "order.json"))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "answer.json"), append(order, c.Env[0].Value...), 0o600)
		}
		_, _ = io.WriteString(c.Stdout, strings.Join(c.Argv[:len(c.Argv)-1], " ")+"\n")
		if err != nil {
			_, _ = io.WriteString(c.Stderr, err.Error())
		}
	}()
	return child, nil
}

func (playedChild) PID() int                              { return 1 }
func (playedChild) Capabilities() steps.ChildCapabilities { return steps.ChildCapabilities{} }
func (c playedChild) Done() <-chan struct{}               { return c.done }
func (c playedChild) Wait() error                         { <-c.done; return c.failed }
func (c playedChild) Signal(name string) error {
	select {
	case c.signals <- name:
	case <-c.done:
	}
	return nil
}

// TestTask: a command elsewhere gets the files of its folder, its environment and signals, and what it
// leaves comes back.
func TestTask(t *testing.T) {
	for name, failed := range map[string]error{"success": nil, "failure": errors.New("exit status 3")} {
		t.Run(name, func(t *testing.T) {
			here, there := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(here, "order.json"), []byte("order"), 0o600); err != nil {
				t.Fatal(err)
			}
			order, err := newOrder(steps.Command{Argv: []string{"/any/pipeline", "load-worker", here},
				Env: []steps.EnvVar{{Name: "H", Value: "=ders"}}}, here)
			if err != nil {
				t.Fatal(err)
			}
			var in, out, said bytes.Buffer
			if err := order.send(&in); err != nil {
				t.Fatal(err)
			}
			in.WriteString("USR1\n")
			frames := &frameReader{stdout: &out, stderr: &said, folder: here}
			w := InPod{Self: "/pipeline", In: &in, Out: frames, Folder: there, Spawner: &played{make(chan string), failed}}
			if err := w.Work(t.Context(), []string{workerTask}); err != nil {
				t.Fatal(err)
			}
			err = frames.end(nil)
			answer, readErr := os.ReadFile(filepath.Join(here, "answer.json"))
			if string(answer) != "order=ders" || readErr != nil || out.String() != "/pipeline load-worker\n" || said.Len() > 0 {
				t.Errorf("answer %q (%v), output %q, said %q", answer, readErr, out.String(), said.String())
			}
			if (err == nil) != (failed == nil) || failed != nil && err.Error() != failed.Error() {
				t.Errorf("it ended with %v", err)
			}
			if left, err := os.ReadDir(there); len(left) > 0 || err != nil {
				t.Errorf("left there: %v, %v", left, err)
			}
		})
	}
}

// TestPropertyFrames: however a stream is cut, what was written arrives whole; one that is cut off is a failure,
// and names of files lead nowhere else.
func TestPropertyFrames(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var stream bytes.Buffer
		w := &frameWriter{out: &stream}
		text := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 1, 40)).Draw(t, "text")
		var want []byte
		for _, piece := range text {
			want = append(want, piece...)
			if _, err := w.stream(streamOut).Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		ended := ""
		if err := w.write(frame{Ended: &ended}, nil); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		r := &frameReader{stdout: &got, stderr: io.Discard, folder: dir}
		whole := stream.Bytes()
		cut := rapid.IntRange(0, len(whole)).Draw(t, "cut")
		for rest := whole[:cut]; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if _, err := r.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		err := r.end(nil)
		if (cut == len(whole)) != (err == nil) || cut == len(whole) && !bytes.Equal(got.Bytes(), want) || !bytes.HasPrefix(want, got.Bytes()) {
			t.Fatalf("cut at %d of %d: %v, %q", cut, len(whole), err, got.Bytes())
		}
	})
	r := &frameReader{stdout: io.Discard, stderr: io.Discard, folder: dir}
	if _, err := r.Write([]byte(`{"file":"../x","size":1}` + "\nx")); err == nil {
		t.Error("a file outside of the folder was written")
	}
	if _, err := (&frameReader{}).Write(bytes.Repeat([]byte("x"), 2*maxFrame)); err == nil {
		t.Error("a line without end was taken")
	}
	if _, err := receive(bufio.NewReader(strings.NewReader(`{"args":["x"],"files":[{"name":"../x","size":1}]}`+"\nx")), dir); err == nil {
		t.Error("an order wrote outside of its folder")
	}
}

// TestKeeper: it waits while the file changes, and no longer than the silence when it does not.
func TestKeeper(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beat")
	var out bytes.Buffer
	began := time.Unix(0, 0)
	now := began
	w := InPod{Out: &out, Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error {
		now = now.Add(d)
		if past := now.Sub(began); past <= 10*time.Minute && int(past.Seconds())%200 == 0 {
			return os.WriteFile(file, []byte(past.String()), 0o600)
		}
		return nil
	}}
	if err := w.Work(t.Context(), []string{workerKeep, file, "5m"}); err != nil {
		t.Fatal(err)
	}
	if lived := now.Sub(began); lived != 15*time.Minute+time.Second && lived != 15*time.Minute ||
		!strings.Contains(out.String(), "has not been heard of for 5m0s") {
		t.Errorf("it lived for %s: %q", lived, out.String())
	}
}
